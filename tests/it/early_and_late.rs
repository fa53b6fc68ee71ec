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

#[test]
fn other_programs_that_a_run_starts_are_named() {
    const MAIN: &str = "#include <stdlib.h>\n#include <unistd.h>\n#include <spawn.h>\n#include <sys/wait.h>\n\
        extern char **environ;\nint main(int c, char **v) {\n  char *arguments[] = { \"true\", 0 };\n  int child;\n  \
        switch (v[1][0]) {\n  case 's': return system(\"true\");\n  \
        case 'e': execl(\"/proc/self/exe\", \"small\", \"n\", (char *) 0); return 1;\n  \
        case 'v': execv(\"/bin/true\", arguments); return 1;\n  \
        case 'p': posix_spawnp(&child, \"true\", 0, 0, arguments, environ); wait(0); return 0;\n  }\n  return 0;\n}\n";
    let program = Program::new(MAIN, &["--coverage"]);
    program.add();
    for (way, is_named) in [("s", true), ("e", true), ("v", true), ("p", true), ("n", false)] {
        let output = program.hearth(&["run", "small", "--", way]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{way}: {said}");
        assert_eq!(said.contains("missing: what other programs executed"), is_named, "{way}: {said}");
        assert!(said.contains("executed") && !said.contains("made"), "{way}: {said}");
    }
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
