//! What happens before the warm point, and what a run starts besides itself: it is every run's, or counted, or named.

use crate::{hearth, run, run_ok};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compiles a program, and returns its directory.
struct Program {
    directory: tempfile::TempDir,
}

impl Program {
    fn new(source: &str, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("small.c"), source).expect("written");
        let mut command = Command::new("gcc");
        command.current_dir(directory.path()).args(["-w", "-O0", "-o", "small", "small.c"]).args(options);
        run_ok(&mut command);
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn hearth(&self, arguments: &[&str]) -> Output {
        let cache: PathBuf = self.path().join("cache");
        run(Command::new(hearth()).current_dir(self.path()).env("HEARTH_CACHE", cache).args(arguments))
    }

    fn add(&self) {
        let added = self.hearth(&["subject", "add", "small", "--binary", "small", "--notes", "."]);
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_is_written_before_the_warm_point_is_every_runs() {
    let program = Program::new(
        "#include <stdio.h>\nint work(void) { puts(\"late\"); return 3; }\n\
         int main(void) { puts(\"early\"); fputs(\"warning\\n\", stderr); return work(); }\n",
        &[],
    );
    let order = "{\"subject\": \"./small\", \"warm\": \"symbol:work\"}\n";
    fs::write(program.path().join("orders"), order.repeat(3)).expect("written");
    let output = program.hearth(&["exec", "--jobs", "1", "orders"]);
    let answers = text(&output.stdout);
    assert_eq!(answers.lines().count(), 3, "{answers}");
    for line in answers.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).expect("an answer is JSON");
        assert_eq!(answer["stdout"], "early\nlate\n", "{line}");
        assert_eq!(answer["stderr"], "warning\n", "{line}");
    }
}

/// Files that the subject has written before its warm point are among each run's, unless the run removes or changes them.
#[test]
fn files_of_before_the_warm_point_are_every_runs() {
    let program = Program::new(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/stat.h>\n#include <unistd.h>\n\
         static void put(const char *path, const char *text) {\n  FILE *file = fopen(path, \"w\");\n  fputs(text, file);\n  \
         fclose(file);\n}\n\
         int work(const char *what) {\n  put(\"late\", \"late\");\n  if (!strcmp(what, \"remove\")) remove(\"early\");\n  \
         if (!strcmp(what, \"change\")) put(\"early\", \"changed\");\n  \
         if (!strcmp(what, \"tree\")) {\n    remove(\"d/early\");\n    rmdir(\"d\");\n  }\n  \
         if (!strcmp(what, \"anew\")) {\n    remove(\"d/early\");\n    rmdir(\"d\");\n    mkdir(\"d\", 0700);\n  }\n  \
         return 0;\n}\n\
         int main(void) {\n  put(\"early\", \"early\");\n  mkdir(\"d\", 0700);\n  put(\"d/early\", \"early\");\n  \
         char line[20];\n  FILE *input = fopen(\"input\", \"r\");\n  fgets(line, 20, input);\n  return work(line);\n}\n",
        &[],
    );
    let expected = [
        ("nothing", "d/early=early early=early late=late"),
        ("remove", "d/early=early late=late"),
        ("change", "d/early=early early=changed late=late"),
        ("tree", "early=early late=late"),
        ("anew", "early=early late=late"),
        ("nothing", "d/early=early early=early late=late"),
    ];
    let order = |what: &str| {
        format!(
            "{{\"subject\": \"./small\", \"args\": [\"input\"], \"input\": \"input\", \"input_text\": \"{what}\"}}\n"
        )
    };
    let orders: String = expected.iter().map(|(what, _)| order(what)).collect();
    fs::write(program.path().join("orders"), orders).expect("written");
    let output = program.hearth(&["exec", "--jobs", "1", "orders"]);
    let answers = text(&output.stdout);
    assert_eq!(answers.lines().count(), expected.len(), "{answers} {}", text(&output.stderr));
    for (line, (what, files)) in answers.lines().zip(expected) {
        let answer: serde_json::Value = serde_json::from_str(line).expect("an answer is JSON");
        let name = |file: &serde_json::Value| {
            let path = Path::new(file["path"].as_str().expect("a path"));
            let below = path.strip_prefix(program.path()).expect("a path in the directory");
            format!("{}={}", below.display(), file["bytes"].as_str().expect("text"))
        };
        let found: Vec<String> = answer["files"].as_array().expect("files").iter().map(name).collect();
        assert_eq!(found.join(" "), files, "{what}: {line}");
    }
    assert!(!program.path().join("late").exists() && !program.path().join("early").exists());
}

#[test]
fn what_was_read_or_asked_before_the_warm_point_is_named() {
    let program = Program::new(
        "#include <stdio.h>\n#include <unistd.h>\nint work(void) { return 3; }\n\
         int main(void) { int id = getpid(); while (getchar() != EOF); return work() + 0 * id; }\n",
        &[],
    );
    let output = program.hearth(&["run", "./small", "--warm", "symbol:work"]);
    let said = text(&output.stderr);
    assert!(said.contains("standard input") && said.contains("process numbers"), "{said}");
    let output = program.hearth(&["run", "./small"]);
    assert!(!text(&output.stderr).contains("missing"), "{}", text(&output.stderr));
}

/// Programs that a run executes are counted; those that cannot be are named, whatever way they are started in.
#[test]
fn other_programs_that_a_run_starts_are_counted_or_named() {
    const MAIN: &str = "#include <stdlib.h>\n#include <unistd.h>\n#include <spawn.h>\n#include <sys/wait.h>\n\
        extern char **environ;\nstatic void crash(void) { abort(); }\nint main(int c, char **v) {\n  \
        char *arguments[] = { \"true\", 0 };\n  int child;\n  \
        switch (v[1][0]) {\n  case 's': return system(\"true\");\n  \
        case 'e': execl(\"/proc/self/exe\", \"small\", \"n\", (char *) 0); return 1;\n  \
        case 'v': execv(\"/bin/true\", arguments); return 1;\n  \
        case 'p': posix_spawnp(&child, \"true\", 0, 0, arguments, environ); wait(0); return 0;\n  \
        case 'a': if (fork() == 0) execl(\"/proc/self/exe\", \"small\", \"x\", (char *) 0); wait(0); return 0;\n  \
        case 'x': crash();\n  \
        case 't': execl(\"./static\", \"static\", (char *) 0); return 1;\n  \
        case 'c': for (int i = 3; i < 1024; i++) close(i);\n    execv(\"/bin/true\", arguments); return 1;\n  }\n  \
        return 0;\n}\n";
    let program = Program::new(MAIN, &["--coverage"]);
    fs::write(program.path().join("static.c"), "int main(void) { return 0; }\n").expect("written");
    let mut compile = Command::new("gcc");
    run_ok(compile.current_dir(program.path()).args(["-static", "-o", "static", "static.c"]));
    program.add();
    for (way, is_named) in [
        ("s", false),
        ("e", false),
        ("v", false),
        ("p", false),
        ("a", false),
        ("n", false),
        ("t", true),
        ("c", false),
    ] {
        let output = program.hearth(&["run", "small", "--", way]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{way}: {said}");
        assert_eq!(said.contains("missing: what other programs executed"), is_named, "{way}: {said}");
        assert_eq!(said.contains("missing"), is_named, "{way}: {said}");
        assert!(said.contains("executed") && !said.contains("made"), "{way}: {said}");
        // The one that crashes is counted like all others.
        let functions = if way == "a" { "in 2 of 2 functions" } else { "in 1 of 2 functions" };
        assert!(said.contains(functions), "{way}: {said}");
    }
}

/// Processes that have gcov write their counters and then set them back to zero lose what they had counted; those that only set
/// them back lose it in a plain run, too.
#[test]
fn what_processes_have_counted_before_they_start_anew_is_named() {
    const MAIN: &str = "#include <stdlib.h>\n#include <unistd.h>\n#include <sys/wait.h>\n\
        void __gcov_dump(void);\nvoid __gcov_reset(void);\n\
        static void anew(void) { __gcov_dump(); __gcov_reset(); }\nint main(int c, char **v) {\n  char way = v[1][0];\n  \
        if (way == 'o') anew();\n  if (way == 'n' || way == 'o') return 0;\n  if (fork() == 0) {\n    switch (way) {\n    \
        case 'd': anew(); exit(0);\n    case 'q': anew(); _exit(0);\n    case 'r': __gcov_reset(); exit(0);\n    \
        case 'w': __gcov_dump(); exit(0);\n    \
        case 'f': execl(\"/nowhere\", \"x\", (char *) 0); execl(\"/nowhere\", \"x\", (char *) 0); exit(0);\n    \
        case 'x': execl(\"/proc/self/exe\", \"small\", \"o\", (char *) 0);\n    \
        case 'y': execl(\"/proc/self/exe\", \"small\", \"n\", (char *) 0);\n    }\n  }\n  wait(0);\n  return 0;\n}\n";
    let program = Program::new(MAIN, &["--coverage"]);
    program.add();
    let ways = [
        ("o", true),
        ("n", false),
        ("d", true),
        ("q", true),
        ("r", false),
        ("w", false),
        ("f", false),
        ("x", true),
        ("y", false),
    ];
    for (way, is_named) in ways {
        let output = program.hearth(&["run", "small", "--", way]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{way}: {said}");
        assert_eq!(
            said.contains("before they set their counters back")
                || said.contains("before it set its counters back"),
            is_named,
            "{way}: {said}"
        );
        assert_eq!(said.contains("missing"), is_named, "{way}: {said}");
    }
}

/// A run may have few processes at a time, and any number one after another: all are counted.
#[test]
fn many_processes_one_after_another_are_counted() {
    const MAIN: &str = "#include <stdlib.h>\n#include <unistd.h>\n#include <sys/wait.h>\n\
        static void child(void) {\n  exit(0);\n}\nint main(int c, char **v) {\n  if (c > 1)\n    child();\n  \
        for (int i = 0; i < 1000; i++) {\n    if (fork() == 0) {\n      if (i % 10 == 0)\n        \
        execl(\"/proc/self/exe\", \"small\", \"x\", (char *) 0);\n      child();\n    }\n    wait(0);\n  }\n  return 7;\n}\n";
    let program = Program::new(MAIN, &["--coverage"]);
    program.add();
    let output = program.hearth(&["run", "small", "--processes", "100", "--report", "report.info"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(!said.contains("missing"), "{said}");
    let report = fs::read_to_string(program.path().join("report.info")).expect("a report");
    // In 900 that are forked, and 100 that they execute.
    assert!(report.contains("FNDA:1000,child") && report.contains("FNDA:101,main"), "{report}");
}

/// A process ends after what it has open: who reads from its pipe sees the end of that before it is told of the process.
#[test]
fn pipes_end_before_the_processes_that_wrote_to_them() {
    let program = Program::new(
        "#include <errno.h>\n#include <signal.h>\n#include <sys/wait.h>\n#include <unistd.h>\nvoid ended(int signal) {}\n\
         int main(void) {\n  struct sigaction action = { .sa_handler = ended };\n  sigaction(SIGCHLD, &action, 0);\n  \
         int early = 0;\n  for (int i = 0; i < 200; i++) {\n    int ends[2];\n    char byte;\n    pipe(ends);\n    \
         if (fork() == 0) {\n      write(ends[1], \"x\", 1);\n      _exit(0);\n    }\n    close(ends[1]);\n    long got;\n    \
         while ((got = read(ends[0], &byte, 1)) != 0)\n      early += got < 0 && errno == EINTR;\n    close(ends[0]);\n    \
         while (wait(0) < 0 && errno == EINTR);\n  }\n  return early > 100 ? 100 : early;\n}\n",
        &["--coverage"],
    );
    program.add();
    let output = program.hearth(&["run", "small"]);
    assert_eq!(output.status.code(), Some(0), "that often it was too early: {}", text(&output.stderr));
}

/// The address sanitizer reserves terabytes, and wants to be loaded before anything else.
#[test]
fn programs_with_the_address_sanitizer_are_subjects() {
    let program = Program::new(
        "#include <stdlib.h>\nint main(int c, char **v) {\n  char *p = calloc(8, 1);\n  int r = p[c > 1 ? 9 : 1] + 3;\n  \
         free(p);\n  return r;\n}\n",
        &["--coverage", "-fsanitize=address"],
    );
    program.add();
    let output = program.hearth(&["run", "small", "--repeat", "5"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("executed 5 of 5 lines"), "{said}");
    let said = text(&program.hearth(&["run", "small", "--", "beyond"]).stderr);
    assert!(said.contains("heap-buffer-overflow") && said.contains("lines"), "{said}");
}

#[test]
fn temporary_files_and_files_that_are_made_read_only() {
    let program = Program::new(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
         int main(void) {\n  char name[32];\n  for (int i = 0; i < 1000; i++) {\n    strcpy(name, \"/tmp/xXXXXXX\");\n    \
         int fd = mkstemp(name);\n    if (fd < 0 || write(fd, name, 5) != 5 || close(fd) || unlink(name))\n      return 1;\n    \
         if (access(name, F_OK) == 0)\n      return 2;\n  }\n  int fd = open(\"read-only\", O_CREAT | O_WRONLY, 0444);\n  \
         if (fd < 0 || write(fd, \"text\", 4) != 4)\n    return 3;\n  return 7;\n}\n",
        &[],
    );
    let output = program.hearth(&["run", "./small", "--write"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(fs::read(program.path().join("read-only")).expect("written"), b"text");
}

/// What a run makes can be put where it belongs: new directories, programs; but nothing over what runs do not see.
#[test]
fn files_that_a_run_makes_are_put_in_their_places() {
    let program = Program::new("int main(void) { return 0; }\n", &[]);
    let home = program.path().join("home");
    fs::create_dir_all(home.join(".ssh")).expect("a directory");
    fs::write(home.join(".ssh/key"), "real").expect("written");
    let script = "mkdir -p out/deep $HOME/.ssh && echo a > out/deep/file && cp small out/program && echo other > $HOME/.ssh/key; \
                  echo said";
    let mut command = Command::new(hearth());
    command
        .current_dir(program.path())
        .env("HOME", &home)
        .args(["run", "/bin/sh", "--write", "--", "-c", script]);
    let output = run(&mut command);
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), "said\n", "{said}");
    assert_eq!(fs::read(program.path().join("out/deep/file")).expect("written"), b"a\n");
    assert!(run(&mut Command::new(program.path().join("out/program"))).status.success());
    assert_eq!(fs::read(home.join(".ssh/key")).expect("it is there"), b"real");
    assert!(said.contains("runs do not see what is there"), "{said}");
}

/// Only root can mount.
mod as_root {
    use super::*;

    /// A mount below a directory takes nothing from the others, whatever is hidden there.
    #[test]
    #[ignore = "needs root: tools/test runs it as root"]
    fn mounts_below_the_home_directory() {
        let program = Program::new("int main(void) { return 0; }\n", &[]);
        let home = program.path().join("home");
        for name in [".ssh", "mounted", "work"] {
            fs::create_dir_all(home.join(name)).expect("a directory");
        }
        let script = format!(
            "mount -t tmpfs none mounted && cd work && {} run /bin/sh -- -c 'echo text > f && cat f && mkdir d && ls ../.ssh'",
            hearth().display()
        );
        let mut command = Command::new("unshare");
        let output =
            run(command.args(["--mount", "sh", "-c", &script]).current_dir(&home).env("HOME", &home));
        let said = text(&output.stderr);
        assert_eq!(text(&output.stdout), "text\n", "{said}");
        assert!(said.contains(".ssh") && !said.contains("missing"), "{said}");
    }
}

#[test]
fn what_is_shown_or_named_is_seen() {
    let program = Program::new(
        "#include <stdio.h>\nint main(void) { return fopen(\"home/.config/token\", \"r\") ? 3 : 4; }\n",
        &[],
    );
    let home = program.path().join("home");
    fs::create_dir_all(home.join(".config")).expect("a directory");
    fs::write(home.join(".config/token"), "text").expect("written");
    let code = |arguments: &[&str]| {
        let mut command = Command::new(hearth());
        run(command.current_dir(program.path()).env("HOME", &home).args(arguments)).status.code()
    };
    assert_eq!(code(&["run", "./small"]), Some(4), "it is hidden");
    assert_eq!(code(&["run", "./small", "--show", "home/.config"]), Some(3), "it is shown");
    for named in ["home/.config/token", "./home/../home/.config", "--settings=home/.config/token"] {
        assert_eq!(code(&["run", "./small", "--", named]), Some(3), "the order names it: {named}");
    }
}

/// A program that is several by its names, such as lld, is run by the name that it was ordered by.
#[test]
fn programs_keep_the_name_they_are_called_by() {
    let program =
        Program::new("#include <stdio.h>\nint main(int c, char **v) { puts(v[0]); return 0; }\n", &[]);
    std::os::unix::fs::symlink("small", program.path().join("other")).expect("linked");
    for name in ["./small", "./other"] {
        assert_eq!(text(&program.hearth(&["run", name]).stdout), format!("{name}\n"));
    }
}
