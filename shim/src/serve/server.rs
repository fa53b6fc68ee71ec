//! The fork server: at the warm point the process becomes a zygote, which forks runs and tells how they end.

use crate::files::{descriptors, input};
use crate::serve::run::{self, Descriptors};
use crate::serve::standby::{self, Standby};
use crate::serve::{channel, cores, large_pages, libraries, processes};
use crate::start::config::config;
use crate::sys::{self, allocator, message};
use hearth_shim_abi::{
    CONTROL_FD, EARLY_INPUT, EARLY_PID, EARLY_PROCESSES, EARLY_SHARED, EARLY_STDIN, EVENT_CLEARED,
    EVENT_ENDED, EVENT_FORKED, EVENT_NOT_FORKED, EVENT_THREADS, EVENT_WARM, Event, REQUEST_CLEAR,
    REQUEST_EXPECT, REQUEST_KILL, REQUEST_LIMIT, REQUEST_MARK, REQUEST_RUN, ZygoteRequest,
};
use hearth_shim_pure::numbers;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The process that serves is the first one of its process namespace, if the sandbox has one.
const FIRST_PROCESS: c_int = 1;
/// Rounds of killing what is left of a run: one for each process, where there is a process namespace.
const CLEAR_ROUNDS: usize = 1 << 20;

/// Has the warm point been reached?
static SERVED: AtomicBool = AtomicBool::new(false);
/// Is this process a run?
static IS_RUN: AtomicBool = AtomicBool::new(false);
/// The C library's `_Fork`, which runs no handlers of the subject; 0 if it has none.
static FORK: AtomicUsize = AtomicUsize::new(0);

/// The last request, with its text; a run keeps using its copy.
struct Packet(UnsafeCell<[u8; REQUEST_LIMIT]>);

// SAFETY: a zygote has one thread; a run only reads it.
unsafe impl Sync for Packet {}

static PACKET: Packet = Packet(UnsafeCell::new([0; REQUEST_LIMIT]));

/// Is this process a run, not a zygote or a plain process?
pub fn is_run() -> bool {
    IS_RUN.load(Ordering::Relaxed)
}

/// Has the warm point been reached?
pub fn is_warm() -> bool {
    SERVED.load(Ordering::Relaxed)
}

/// Is this a subject under Hearth that has not reached its warm point?
pub fn is_early() -> bool {
    config().is_some() && !is_warm()
}

/// A program that a run has executed is one, too.
pub fn become_run() {
    SERVED.store(true, Ordering::Relaxed);
    IS_RUN.store(true, Ordering::Relaxed);
}

/// Tells the daemon something about the zygote.
pub fn tell(kind: u32, value: c_int) {
    send(&Event { kind, value, time_ns: sys::now_ns(), ..Event::default() }, &[]);
}

fn send(event: &Event, fds: &[c_int]) {
    // Without a daemon there is nobody to tell, and the next read says so.
    let _ = message::send(CONTROL_FD, event, &[], fds);
}

/// Serves at the warm point. Returns only in a run.
pub fn serve() {
    if SERVED.swap(true, Ordering::Relaxed) {
        return;
    }
    match sys::thread_count() {
        Ok(1) => {}
        count => {
            tell(EVENT_THREADS, count.map_or(0, |count| count as c_int));
            sys::exit(libc::EXIT_FAILURE);
        }
    }
    // What is in the subject's buffers would otherwise be written by every run.
    // SAFETY: a null pointer stands for all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    FORK.store(processes::raw_fork(), Ordering::Relaxed);
    allocator::close();
    let mask = sys::set_signal_mask(u64::MAX);
    descriptors::remember();
    let Ok(signals) = sys::child_signals() else { sys::die("hearth: no signalfd on this system\n") };
    // Where there is no process namespace, orphans of a run come to the zygote all the same.
    let _ = sys::set_property(libc::PR_SET_CHILD_SUBREAPER, 1);
    large_pages::settle();
    cores::remember();
    announce();
    // A run has the same user, and must not reach into the zygote.
    let _ = sys::set_property(libc::PR_SET_DUMPABLE, 0);
    let server = Server { signals, run: 0, standby: None };
    server.serve();
    sys::set_signal_mask(mask);
}

/// Hands the zygote's memory to the daemon.
fn announce() {
    let mut fds = [-1; 3];
    let paths: [&[u8]; 3] = [b"/proc/self/mem\0", b"/proc/self/pagemap\0", b"/proc/self/maps\0"];
    for (fd, path) in fds.iter_mut().zip(paths) {
        match sys::open_at(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC, 0) {
            Ok(opened) => *fd = opened,
            Err(_) => sys::die("hearth: the files of /proc/self cannot be opened\n"),
        }
    }
    let did = |done: bool, bit: c_int| if done { bit } else { 0 };
    let value = did(input::was_opened(), EARLY_INPUT)
        | did(descriptors::was_stdin_read(), EARLY_STDIN)
        | did(descriptors::has_shared(), EARLY_SHARED)
        | did(processes::was_pid_asked(), EARLY_PID)
        | did(processes::were_others_made(), EARLY_PROCESSES);
    let (address, untold) = (libraries::end(), channel::untold());
    send(
        &Event { kind: EVENT_WARM, value, time_ns: sys::now_ns(), address, untold, ..Event::default() },
        &fds,
    );
    fds.into_iter().for_each(sys::close);
}

struct Server {
    /// Readable when a child has ended.
    signals: c_int,
    /// The run under way, 0 if none.
    run: c_int,
    /// The process that will be the next run.
    standby: Option<Standby>,
}

impl Server {
    /// Answers requests until the daemon is gone. Returns only in a run.
    fn serve(mut self) {
        loop {
            let [asked, ended] = sys::poll([CONTROL_FD, self.signals]);
            if ended {
                self.reap();
            }
            if asked && self.answer() {
                return;
            }
        }
    }

    /// Takes note of children that have ended.
    fn reap(&mut self) {
        let mut drained = [0_u8; 128];
        while sys::read(self.signals, &mut drained).is_ok() {}
        while let Ok(Some((pid, status, usage))) = sys::wait(libc::WNOHANG) {
            self.ended(pid, status, &usage);
        }
    }

    fn ended(&mut self, pid: c_int, status: c_int, usage: &libc::rusage) {
        if self.standby.as_ref().is_some_and(|standby| standby.pid == pid) {
            self.standby = None;
        }
        if pid != self.run {
            return;
        }
        self.run = 0;
        stop_all();
        let microseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        let event = Event {
            kind: EVENT_ENDED,
            value: status,
            time_ns: sys::now_ns(),
            user_us: microseconds(usage.ru_utime),
            system_us: microseconds(usage.ru_stime),
            faults: usage.ru_minflt as u64,
            peak_kib: usage.ru_maxrss as u64,
            ..Event::default()
        };
        send(&event, &[]);
    }

    /// Does what the daemon asks. Returns true in a run.
    fn answer(&mut self) -> bool {
        // SAFETY: a zygote has one thread, and nothing else uses the packet while this function runs.
        let packet = unsafe { &mut *PACKET.0.get() };
        let mut fds = [-1; Descriptors::COUNT];
        let length = message::receive(CONTROL_FD, packet, &mut fds).unwrap_or(0);
        let head = size_of::<ZygoteRequest>();
        if length < head {
            self.clear();
            sys::exit(libc::EXIT_SUCCESS);
        }
        let request: ZygoteRequest = bytemuck::pod_read_unaligned(&packet[..head]);
        match request.kind {
            REQUEST_RUN => return self.start(&request, &mut packet[head..length], &fds),
            REQUEST_KILL if self.run != 0 => {
                stop_all();
                sys::kill(self.run, libc::SIGKILL);
            }
            REQUEST_MARK => {
                let byte = request.address as *mut u8;
                // SAFETY: the daemon found gcov's root there, through the symbols of what is mapped.
                let marked = unsafe { byte.read_volatile() } | 1;
                // SAFETY: as above; gcov itself writes it when the process ends.
                unsafe { byte.write_volatile(marked) };
            }
            REQUEST_CLEAR => {
                let killed = self.clear();
                tell(EVENT_CLEARED, killed);
                return self.prepare();
            }
            REQUEST_EXPECT => standby::expect(&packet[head..length]),
            _ => {}
        }
        false
    }

    /// Starts a run: the standby, or a new process. Returns true in it.
    fn start(
        &mut self,
        request: &ZygoteRequest,
        text: &'static mut [u8],
        fds: &[c_int; Descriptors::COUNT],
    ) -> bool {
        let asked_ns = sys::now_ns();
        let started = match self.standby.take().and_then(|standby| standby.start(request, text, fds).ok()) {
            Some(pid) => Ok(pid),
            None => fork(),
        };
        match started {
            Ok(0) => {
                self.leave();
                run::begin(request, text, fds);
                return true;
            }
            Ok(pid) => {
                self.run = pid;
                let time_ns = sys::now_ns();
                send(&Event { kind: EVENT_FORKED, value: pid, time_ns, asked_ns, ..Event::default() }, &[]);
            }
            Err(error) => tell(EVENT_NOT_FORKED, error),
        }
        fds.iter().filter(|&&fd| fd >= 0).for_each(|&fd| sys::close(fd));
        // The next run is not to find it in its memory.
        text.fill(0);
        false
    }

    /// Makes the standby, if runs are expected to need one. Returns true in it, when it has become a run.
    fn prepare(&mut self) -> bool {
        if !standby::is_worthwhile() {
            return false;
        }
        let Ok([own, its]) = sys::socket_pair() else { return false };
        match fork() {
            Ok(0) => {
                self.leave();
                sys::close(own);
                // SAFETY: a process of its own with one thread, which uses its copy of the packet only here.
                let packet = unsafe { &mut *PACKET.0.get() };
                standby::wait_to_run(its, packet);
                return true;
            }
            Ok(pid) => self.standby = Some(Standby { pid, socket: own }),
            // The next run is forked when it is asked for.
            Err(_) => sys::close(own),
        }
        sys::close(its);
        false
    }

    /// A new process is no zygote.
    fn leave(&self) {
        sys::close(CONTROL_FD);
        sys::close(self.signals);
        IS_RUN.store(true, Ordering::Relaxed);
    }

    /// Kills everything that is left of a run. Returns how many processes that was, without the run's own two.
    fn clear(&mut self) -> c_int {
        let mut ended = 0;
        for _ in 0..CLEAR_ROUNDS {
            kill_children();
            match sys::wait(0) {
                Ok(Some((pid, status, usage))) => {
                    ended += 1;
                    self.ended(pid, status, &usage);
                }
                // No children are left, and in a process namespace the killed have no children either.
                _ => break,
            }
        }
        // What it has sent to this process, too, counts against a limit of its user's.
        sys::drop_signals(CLEAR_ROUNDS);
        ended - 1
    }
}

/// Stops all other processes: nothing goes on while a run is ended and its counters are read.
fn stop_all() {
    if sys::pid() == FIRST_PROCESS {
        sys::kill(-1, libc::SIGSTOP);
    }
}

fn kill_children() {
    if sys::pid() == FIRST_PROCESS {
        // Everything in the namespace but this process.
        sys::kill(-1, libc::SIGKILL);
        return;
    }
    let mut children = [0_u8; 4096];
    let path = b"/proc/thread-self/children\0";
    let Ok(fd) = sys::open_at(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC, 0) else { return };
    let length = sys::read(fd, &mut children).unwrap_or(0);
    sys::close(fd);
    // A number cut off at the end of the buffer is left for the next round.
    for pid in numbers::listed(&children[..length]) {
        sys::kill(pid, libc::SIGKILL);
    }
}

fn fork() -> sys::Result<c_int> {
    let fork = FORK.load(Ordering::Relaxed);
    if fork == 0 {
        let flags = libc::SIGCHLD as usize;
        // SAFETY: a plain fork of a process with one thread.
        return unsafe { sys::call(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]) }.map(|pid| pid as c_int);
    }
    // SAFETY: it is the address of `pid_t _Fork(void)`.
    let fork = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn() -> c_int>(fork) };
    // SAFETY: the function has no requirements.
    match unsafe { fork() } {
        -1 => Err(sys::errno()),
        pid => Ok(pid),
    }
}
