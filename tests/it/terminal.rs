//! What terminals get: no colours and nothing drawn anew where that is not wanted, and no line wider than they are.

use crate::command_line::World;
use crate::run_ok;
use std::process::Command;

/// What a command writes to a terminal, both streams.
fn on_terminal(command: &Command, variable: (&str, &str)) -> String {
    let script = "import pty, sys; pty.spawn(sys.argv[1:])";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(command.get_program()).args(command.get_args());
    python.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    python.current_dir(command.get_current_dir().expect("it was given"));
    python.env_remove("NO_COLOR").env_remove("COLUMNS").env("TERM", "xterm").env(variable.0, variable.1);
    run_ok(&mut python)
}

#[test]
fn dumb_terminals_get_plain_text() {
    let world = World::new();
    for arguments in [
        "diff mine.c build/mine --subject mine",
        "top --count 2 --interval 10",
        "localize mine.c --subject mine --fail -O1 --pass -O0",
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let shown = |variable| on_terminal(&world.hearth(&arguments), variable);
        let fancy = shown(("NO_COLOR", ""));
        assert!(fancy.contains('\x1b'), "{arguments:?}: {fancy:?}");
        for variable in [("TERM", "dumb"), ("NO_COLOR", "1")] {
            let plain = shown(variable).replace("\r\n", "\n");
            assert!(
                !plain.is_empty() && !plain.contains(['\x1b', '\r']),
                "{arguments:?} {variable:?}: {plain:?}"
            );
        }
    }
}

#[test]
fn status_fits_the_terminal() {
    let world = World::new();
    let words: Vec<String> = (0..100).map(|number| format!("argument-{number}")).collect();
    let mut arguments = vec!["cover", "mine.c", "--subject", "mine", "--", "{}"];
    arguments.extend(words.iter().map(String::as_str));
    run_ok(&mut world.hearth(&arguments));
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
    let status = |arguments: &[&str], columns: &str| run_ok(world.hearth(arguments).env("COLUMNS", columns));
    for (columns, expected) in [("", 120), ("70", 70), ("1000", 1000)] {
        let text = status(&["status"], columns);
        assert_eq!(widest(&text), Some(expected), "{text}");
        assert!(
            text.contains("argument-0") && text.contains("… ") && text.contains(" MiB, unused for"),
            "{text}"
        );
    }
    assert!(status(&["status", "--json"], "70").contains("argument-99"));
    assert!(status(&["status"], "5000").contains("argument-99  at input"));
    let narrow = on_terminal(&world.hearth(&["top", "--count", "1"]), ("COLUMNS", "40"));
    assert!(widest(&narrow) <= Some(50), "{narrow}");
}
