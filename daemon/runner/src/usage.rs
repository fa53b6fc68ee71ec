//! The memory of a run: all its processes, what they share, and files in memory that nobody has mapped.
//!
//! A look costs some reads of `/proc`; a second, careful look, by which nothing counts twice, is taken only when the first
//! is above the limit.

use crate::memory::PAGE_BYTES;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// Files of `/proc` give blocks of this size.
const BLOCK_BYTES: u64 = 512;
/// How the kernel names a file in memory.
const MEMORY_FILE: &str = "/memfd:";
/// How mappings are named whose pages are shared memory, besides [`MEMORY_FILE`].
const SHARED: &[&str] = &["/dev/zero (deleted)", "/SYSV", "/dev/shm/"];

/// The processes of a zygote's runs.
#[derive(Debug, Clone)]
pub struct Usage {
    /// The zygote, as the daemon numbers it.
    zygote: i32,
    /// Processes and their keepers, as the namespace numbers them: a keeper has its process's memory, which would count
    /// twice while that lives.
    kept: Vec<(u32, u32)>,
}

impl Usage {
    /// Of the run under way of a zygote.
    #[must_use]
    pub fn new(zygote: i32, kept: Vec<(u32, u32)>) -> Self {
        Self { zygote, kept }
    }

    /// Is the run's memory, with what it has from its zygote, more than so many bytes?
    #[must_use]
    pub fn is_above(&self, limit: u64) -> bool {
        let processes = self.processes();
        let resident: u64 = processes.iter().map(|&process| resident_bytes(process)).sum();
        let files = file_bytes(&processes);
        // Pages that two have count twice in the first look.
        resident + files > limit && self.careful_bytes(&processes) + files > limit
    }

    /// The run's processes, without the keepers of those that live.
    fn processes(&self) -> Vec<i32> {
        let found = processes_inside(self.zygote);
        let of_living = self.kept.iter().filter(|(process, _)| found.contains_key(process));
        let doubles: BTreeSet<u32> = of_living.map(|(_, keeper)| *keeper).collect();
        found.iter().filter(|(inside, _)| !doubles.contains(inside)).map(|(_, process)| *process).collect()
    }

    /// Memory of which every page counts once. What is shared with the zygote is the run's, too.
    fn careful_bytes(&self, processes: &[i32]) -> u64 {
        processes.iter().chain([&self.zygote]).map(|&process| proportional_bytes(process)).sum()
    }
}

fn read(process: i32, name: &str) -> String {
    // A process that has ended has no memory.
    fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default()
}

/// The children of all threads of a process.
fn children(process: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().filter_map(Result::ok);
    let list = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    let parse = |list: String| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    threads.flat_map(|thread| -> Vec<i32> { parse(list(thread)) }).collect()
}

/// All processes below a zygote, by their numbers in its namespace.
#[must_use]
pub fn processes_inside(zygote: i32) -> BTreeMap<u32, i32> {
    let mut found = BTreeMap::new();
    let mut left = children(zygote);
    while let Some(process) = left.pop() {
        found.extend(number_inside(process).map(|number| (number, process)));
        left.extend(children(process));
    }
    found
}

/// A process's number in its own namespace.
fn number_inside(process: i32) -> Option<u32> {
    let status = read(process, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// The processor time of a run's processes, looked at again and again: what one had that has ended counts, also if nobody waited
/// for it.
#[derive(Debug, Default)]
pub struct ProcessorTimes {
    /// What each had when it was last seen, in ticks.
    seen: BTreeMap<u32, u64>,
    /// What those had whose numbers others have now.
    past: u64,
}

impl ProcessorTimes {
    /// What all processes below a zygote have had so far.
    pub fn look(&mut self, zygote: i32) -> Duration {
        let processes = processes_inside(zygote);
        let states = processes.into_iter().map(|(number, process)| (number, read(process, "stat")));
        let ticks = self.add(states);
        Duration::from_millis(ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second())
    }

    /// Those that live know the time of what they have waited for; others were seen before they ended.
    fn add(&mut self, states: impl Iterator<Item = (u32, String)>) -> u64 {
        let mut living = 0;
        for (number, state) in states {
            let (own, waited_for) = processor_ticks(&state);
            living += own + waited_for;
            let seen = self.seen.entry(number).or_default();
            if own < *seen {
                self.past += *seen;
            }
            *seen = own;
        }
        living.max(self.past + self.seen.values().sum::<u64>())
    }
}

/// The fields of a process's state that tell of time: its own and that of children it has waited for, each in the program and in
/// the kernel. The second field is a name in parentheses, which may have any others in it.
fn processor_ticks(state: &str) -> (u64, u64) {
    let rest = state.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut ticks = rest.split_ascii_whitespace().skip(11).map_while(|ticks| ticks.parse::<u64>().ok());
    let mut two = || ticks.next().unwrap_or(0) + ticks.next().unwrap_or(0);
    (two(), two())
}

/// What a process has in memory that a file on a disk is behind, in bytes, by its `status`.
#[must_use]
pub fn mapped_bytes(status: &str) -> u64 {
    fields(status, &["RssFile"])
}

/// The sum of fields of a table with a line `Name: 123 kB` for each, in bytes.
fn fields(table: &str, names: &[&str]) -> u64 {
    let value = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let number = rest.split_ascii_whitespace().next()?;
        names.contains(&name).then(|| number.parse::<u64>().ok()).flatten()
    };
    table.lines().filter_map(value).sum::<u64>() << 10
}

/// What a process has in memory that no file on a disk is behind, in bytes.
#[must_use]
pub fn resident_bytes(process: i32) -> u64 {
    fields(&read(process, "status"), &["RssAnon", "RssShmem"])
}

/// The same, each page divided by how many processes have it. Files in memory are left out: they count by themselves.
fn proportional_bytes(process: i32) -> u64 {
    let own = fields(&read(process, "smaps_rollup"), &["Pss_Anon"]);
    let mappings = read(process, "smaps");
    let mut is_shared = false;
    let mut shared = 0;
    for line in mappings.lines() {
        // A mapping's first line begins with an address, the others with a name and a colon.
        if line.split_ascii_whitespace().next().is_some_and(|first| !first.ends_with(':')) {
            is_shared = SHARED.iter().any(|name| line.contains(name));
        } else if is_shared {
            shared += fields(line, &["Pss"]);
        }
    }
    own + shared
}

/// Files in memory that processes have open, each once.
fn file_bytes(processes: &[i32]) -> u64 {
    let mut seen = BTreeSet::new();
    let mut bytes = 0;
    for process in processes {
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().filter_map(Result::ok);
        for descriptor in open.map(|entry| entry.path()) {
            let is_memory = fs::read_link(&descriptor)
                .is_ok_and(|link| link.as_os_str().as_encoded_bytes().starts_with(MEMORY_FILE.as_bytes()));
            if is_memory
                && let Ok(data) = fs::metadata(&descriptor)
                && seen.insert((data.dev(), data.ino()))
            {
                bytes += data.blocks() * BLOCK_BYTES;
            }
        }
    }
    // A file of a page or less is not worth a second look.
    if bytes <= PAGE_BYTES { 0 } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_added_up() {
        let table = "Name:\tcc1\nRssAnon:\t     100 kB\nRssFile:\t 7 kB\nRssShmem:\t 3 kB\n";
        assert_eq!(fields(table, &["RssAnon", "RssShmem"]), 103 << 10);
        assert_eq!(fields("", &["RssAnon"]), 0);
    }

    #[test]
    fn times_stand_behind_a_name_of_any_kind() {
        let state = "7 (a) 1 2) S 1 7 7 0 -1 4194560 90 0 1 0 100 20 3 4 20 0 1 0 5";
        assert_eq!(processor_ticks(state), (120, 7));
        assert_eq!(processor_ticks(""), (0, 0));
    }

    #[test]
    fn processor_time_of_those_that_have_ended_counts() {
        let state =
            |own: u64, waited_for: u64| format!("7 (a) S 1 7 7 0 -1 0 0 0 0 0 {own} 0 {waited_for} 0 20 0");
        let mut times = ProcessorTimes::default();
        let mut look = |processes: &[(u32, u64, u64)]| {
            let states = processes.iter().map(|&(number, own, waited_for)| (number, state(own, waited_for)));
            times.add(states)
        };
        assert_eq!(look(&[(2, 1, 0), (3, 5, 0)]), 6);
        // Nobody has waited for the third, and its number is another's now; then for the fourth somebody has.
        assert_eq!(look(&[(2, 1, 0), (3, 2, 0), (4, 6, 0)]), 14);
        assert_eq!(look(&[(2, 1, 20)]), 21);
        assert_eq!(look(&[]), 14);
    }

    /// Other tests of this process take memory meanwhile, so there is no upper bound.
    #[test]
    fn both_ways_of_measuring_see_what_a_process_takes() {
        let own = std::process::id().cast_signed();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        for bytes in [resident_bytes(own), proportional_bytes(own)] {
            assert!(bytes >= memory.len() as u64, "{bytes} of {}", memory.len());
        }
    }
}
