//! Building the programs, once, in the user's cache: an interrupted call goes on with the program it had begun.

use super::recipe::{Origin, Package, Recipe, named};
use anyhow::{Context, bail};
use hearth_subject::{Addition, Store, Subject, source};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;

/// A program that was built, and is a subject of a store of its own.
#[derive(Debug)]
pub struct Built {
    /// The subject.
    pub subject: Subject,
    /// The directory the store is in.
    pub cache: PathBuf,
    /// A library that makes processes slow in places, at random.
    pub pauses: PathBuf,
    /// Its package's source; none for a program that was built beside a subject.
    pub source: Option<PathBuf>,
}

/// Builds a program that is not built yet, with those it executes, and makes them a subject.
pub fn build(store: &Store, recipe: &Recipe) -> anyhow::Result<Built> {
    let root = store.root().join("verify");
    let cache = root.join("cache");
    let addition = match &recipe.origin {
        Origin::Beside(subject, path) => {
            let beside = crate::needs::subject(store, subject)?;
            Addition {
                name: recipe.name.to_owned(),
                binary: beside.notes_directory().join(path),
                with: vec![beside.binary()],
                notes: vec![beside.notes_directory()],
                source: beside.source_directory(),
            }
        }
        Origin::Package(_) => {
            let mut binaries = Vec::new();
            for recipe in std::iter::once(Some(recipe)).chain(recipe.with.iter().map(|name| named(name))) {
                let recipe = recipe.context("a program of no recipe")?;
                if let Origin::Package(package) = &recipe.origin {
                    compile(store, recipe.name, package)?;
                }
                binaries.push(binary(store, recipe.name));
            }
            let notes = binaries.iter().filter_map(|binary| Some(binary.parent()?.to_owned())).collect();
            let with = binaries.split_off(1);
            let source = Some(root.join(recipe.name).join("source"));
            Addition { name: recipe.name.to_owned(), binary: binaries.remove(0), with, notes, source }
        }
    };
    let own = Store::at(cache.clone())?;
    if let Ok(id) = own.resolve(recipe.name) {
        own.remove(&id)?;
    }
    let source = matches!(recipe.origin, Origin::Package(_)).then(|| root.join(recipe.name).join("source"));
    Ok(Built { subject: own.add(&addition)?, cache, pauses: pauses(&root)?, source })
}

/// Every process of a program that this is preloaded into is slow in places. `PAUSES` says where: `1`, a process that has
/// forked waits until the child may have ended; `2`, the child waits; `3`, it hears of ended children late, and of several at
/// once; any greater number, at random: after a fork on both sides, before another program is executed, and at the end, with
/// streams closed or still open. It leaves no trace in the environment, which shells read.
const PAUSES: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_FORKS_PARENT = 1, AT_FORKS_CHILD, AT_SIGNALS, LONG_MS = 150, SHORT_MS = 40 };

static char preload[4096], kind_text[32];
static unsigned kind, state;

static unsigned next(void) {
  state = (state ^ getpid()) * 2654435761u + 1;
  return state >> 16;
}

static void pause_for(unsigned ms) {
  struct timespec time = {0, ms * 1000000};
  nanosleep(&time, 0);
}

static void pause_perhaps(void) {
  if (kind > AT_SIGNALS && next() % 2)
    pause_for(next() % SHORT_MS);
}

__attribute__((constructor)) static void begin(void) {
  char *seed = getenv("PAUSES"), *own = getenv("LD_PRELOAD");
  if (seed)
    kind = state = strtoul(seed, 0, 10);
  if (own)
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", own);
  unsetenv("PAUSES");
  unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void) {
  if (kind <= AT_SIGNALS)
    return;
  fflush(0);
  if (next() % 2)
    for (int stream = 0; stream < 3; stream++)
      close(stream);
  pause_perhaps();
}

static void hold_back(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  if (kind == AT_SIGNALS)
    sigprocmask(how, &set, 0);
}

int fork(void) {
  int (*real)(void) = dlsym(RTLD_NEXT, "fork");
  int pid = real();
  hold_back(pid ? SIG_BLOCK : SIG_UNBLOCK);
  if (pid > 0 && kind == AT_FORKS_PARENT || pid == 0 && kind == AT_FORKS_CHILD)
    pause_for(LONG_MS);
  pause_perhaps();
  return pid;
}

int wait3(int *status, int options, struct rusage *usage) {
  int (*real)(int *, int, struct rusage *) = dlsym(RTLD_NEXT, "wait3");
  if (kind == AT_SIGNALS)
    pause_for(LONG_MS);
  hold_back(SIG_UNBLOCK);
  return real(status, options, usage);
}

int execve(const char *path, char *const arguments[], char *const environment[]) {
  int (*real)(const char *, char *const[], char *const[]) = dlsym(RTLD_NEXT, "execve");
  int count = 0;
  while (environment && environment[count])
    count++;
  char *all[count + 3];
  memcpy(all, environment, count * sizeof *all);
  snprintf(kind_text, sizeof kind_text, "PAUSES=%u", kind);
  all[count] = preload;
  all[count + 1] = kind_text;
  all[count + 2] = 0;
  pause_perhaps();
  return real(path, arguments, all);
}
"#;

fn pauses(root: &Path) -> anyhow::Result<PathBuf> {
    let (code, library) = (root.join("pauses.c"), root.join("pauses.so"));
    fs::create_dir_all(root).with_context(|| format!("cannot make {}", root.display()))?;
    fs::write(&code, PAUSES).with_context(|| format!("cannot write {}", code.display()))?;
    succeed(Command::new("gcc").args(["-w", "-shared", "-fPIC", "-o"]).args([&library, &code]).arg("-ldl"))?;
    Ok(library)
}

/// Where a program of a package is.
pub fn binary(store: &Store, name: &str) -> PathBuf {
    store.root().join("verify").join(name).join("build").join(name)
}

/// Compiles a program of a package, unless that was done in the very same way.
fn compile(store: &Store, name: &str, package: &Package) -> anyhow::Result<()> {
    let directory = store.root().join("verify").join(name);
    let (source, build, stamp) = (directory.join("source"), directory.join("build"), directory.join("built"));
    let compiler = Command::new(package.compiler).arg("--version").output();
    let compiler = compiler.with_context(|| format!("cannot run {}", package.compiler))?;
    let way = format!("{package:?}\n{}", String::from_utf8_lossy(&compiler.stdout));
    if fs::read_to_string(&stamp).is_ok_and(|known| known == way) {
        return Ok(());
    }
    println!("building {name} {}", package.flags.join(" "));
    for old in [&stamp, &build] {
        let _ = if old.is_dir() { fs::remove_dir_all(old) } else { fs::remove_file(old) };
    }
    fs::create_dir_all(&build).with_context(|| format!("cannot make {}", build.display()))?;
    source::unpack_package(store, package.name, &source)?;
    if !package.prepare.is_empty() {
        let mut shell = Command::new("sh");
        shell.args(["-c", package.prepare]).env("SOURCE", &source).env("LC_ALL", "C").current_dir(&build);
        succeed(&mut shell)?;
    }
    let mut objects = compile_sources(package, &source, &build)?;
    objects.sort();
    let mut link = Command::new(package.compiler);
    link.args(["--coverage", "-g1", "-w"])
        .args(flags(package, &source))
        .arg("-o")
        .arg(build.join(name))
        .args(&objects);
    succeed(link.args(package.libraries).current_dir(&build))?;
    fs::write(&stamp, way).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Compiles all sources, on all cores.
fn compile_sources(package: &Package, source: &Path, build: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let pending = Mutex::new(package.sources.iter());
    let compile = || -> anyhow::Result<Vec<PathBuf>> {
        let mut objects = Vec::new();
        loop {
            let next = pending.lock().ok().and_then(|mut pending| pending.next());
            let Some(file) = next else { return Ok(objects) };
            let place = if file.starts_with("./") { build } else { source };
            let path = place.join(file.trim_start_matches("./"));
            let object = build.join(path.file_stem().unwrap_or_default()).with_extension("o");
            let mut command = Command::new(package.compiler);
            command.args(["--coverage", "-g1", "-w", "-c"]).args(flags(package, source));
            succeed(command.arg(&path).arg("-o").arg(&object).current_dir(build))?;
            objects.push(object);
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(compile)).collect();
        let mut objects = Vec::new();
        for worker in workers {
            objects.extend(worker.join().unwrap_or_else(|_| bail!("a panic"))?);
        }
        Ok(objects)
    })
}

fn flags(package: &Package, source: &Path) -> Vec<String> {
    let source = source.display().to_string();
    package.flags.iter().map(|flag| flag.replace("$SOURCE", &source)).collect()
}

/// Runs a command that must succeed.
fn succeed(command: &mut Command) -> anyhow::Result<Output> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}
