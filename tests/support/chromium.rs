//! A headless Chromium, driven over its DevTools pipe: what a page looks like, asks for and complains about.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// All that is asked of one browser is done by then.
const LONGEST: Duration = Duration::from_secs(60);

/// Chromium takes commands from descriptor 3 and answers on 4.
const START: &str = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A browser with one tab; it ends with this.
pub struct Browser {
    process: Child,
    commands: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What it told without being asked, since the last page was opened.
    events: Vec<Value>,
    tab: Option<String>,
    last_id: u64,
    deadline: Instant,
    _profile: TempDir,
}

impl Browser {
    pub fn start() -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        let mut process = Command::new("sh")
            // Without a sandbox it also runs as root.
            .args(["-c", START, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--disable-breakpad", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("sh starts");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("DevTools speak JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            commands: process.stdin.take(),
            process,
            messages,
            events: Vec::new(),
            tab: None,
            last_id: 0,
            deadline: Instant::now() + LONGEST,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.tab = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a page as wide as this, on light or dark paper, and waits until it is there.
    pub fn open(&mut self, page: &Path, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", scheme);
        self.events.clear();
        self.call("Page.navigate", json!({"url": address(page)}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next_message();
            self.events.push(event);
        }
    }

    /// What an expression is on the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The addresses that the page asked for, itself left out.
    pub fn requests(&self, page: &Path) -> Vec<String> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let addresses = requests.filter_map(|event| event["params"]["request"]["url"].as_str());
        addresses.filter(|&asked| asked != address(page)).map(str::to_owned).collect()
    }

    /// What stands in the console.
    pub fn complaints(&self) -> Vec<&Value> {
        let methods = ["Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"];
        self.events.iter().filter(|event| methods.iter().any(|&method| event["method"] == method)).collect()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(tab) = &self.tab {
            command["sessionId"] = json!(tab);
        }
        let commands = self.commands.as_mut().expect("it has not ended");
        // If it is not there, the missing answer tells so.
        let _ = write!(commands, "{command}\0").and_then(|()| commands.flush());
        loop {
            let message = self.next_message();
            if message["id"] == self.last_id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn next_message(&mut self) -> Value {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.messages.recv_timeout(left).unwrap_or_else(|error| {
            let status = self.process.try_wait();
            panic!(
                "chromium does not answer ({error}, {status:?}); if it is missing: apt-get install chromium"
            )
        })
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without its pipe it ends by itself; if not, with all it has started.
        drop(self.commands.take());
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.process.id())]).output();
        let _ = self.process.wait();
    }
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}
