//! A core for each run, where there are as many runs under way as cores.
//!
//! A run goes through several hands: the thread that asks for it, its zygote, its standby. They wander between cores, and
//! find little of what the one before them left in a core's cache. Where all cores have runs, those of one run stay on one
//! core; else they are left alone, because another core may be idle. A run itself may be wherever its zygote was
//! started: it is only begun there, so that what it can find out about its cores does not depend on other runs.

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The calling thread.
const THIS_THREAD: Pid = Pid::from_raw(0);

/// Which cores have runs.
#[derive(Debug, Default)]
pub struct Cores {
    under_way: Arc<AtomicUsize>,
    taken: Mutex<Vec<usize>>,
}

/// Says whether there is a core without a run.
#[derive(Debug, Clone, Default)]
pub struct Idle {
    under_way: Arc<AtomicUsize>,
    cores: usize,
}

impl Idle {
    /// Is there one?
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) < self.cores
    }
}

/// A run's seat; it is free again when this is dropped.
#[derive(Debug)]
pub struct Seat<'c> {
    cores: &'c Cores,
    /// The cores that the calling thread may use.
    allowed: CpuSet,
    core: Option<usize>,
    idle: Idle,
}

/// Where processes that serve a run are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Binding {
    /// The core, if it is a certain one.
    pub core: Option<usize>,
    /// All cores that they may use.
    set: CpuSet,
}

/// A thread at a run's seat; it is where it was before when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Bound<'p> {
    seat: &'p Seat<'p>,
}

impl Cores {
    /// A seat for a run that begins, on a core of its own if all of those that the calling thread may use have runs.
    pub fn enter(&self) -> Seat<'_> {
        // Without an answer of the kernel's no core is allowed, and so none is chosen.
        let allowed = sched_getaffinity(THIS_THREAD).unwrap_or_default();
        let may_use: Vec<usize> =
            (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false)).collect();
        let mut taken = self.lock();
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let idle = Idle { under_way: self.under_way.clone(), cores: may_use.len() };
        let is_full = !idle.is_there() && may_use.len() > 1;
        // Runs that began before all cores had one may be on any; the calling thread is on the core it is on.
        let here = sched_getcpu().ok().filter(|core| may_use.contains(core));
        let mut free = here.into_iter().chain(may_use).filter(|core| !taken.contains(core));
        let core = free.next().filter(|_| is_full);
        taken.extend(core);
        Seat { cores: self, allowed, core, idle }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        // The list is whole between statements, so a thread that died with the lock did no harm to it.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat<'_> {
    /// The core, if it is a certain one.
    #[must_use]
    pub fn core(&self) -> Option<usize> {
        self.core
    }

    /// Says, from now on, whether there is a core without a run.
    #[must_use]
    pub fn idle(&self) -> Idle {
        self.idle.clone()
    }

    /// Where processes that serve the run are to be.
    #[must_use]
    pub fn binding(&self) -> Binding {
        let mut set = CpuSet::new();
        match self.core.map(|core| set.set(core)) {
            Some(Ok(())) => Binding { core: self.core, set },
            _ => Binding { core: None, set: self.allowed },
        }
    }

    /// Binds the calling thread. What it starts meanwhile is bound, too.
    pub fn bind_thread(&self) -> Bound<'_> {
        if self.core.is_some() {
            self.binding().bind(THIS_THREAD);
        }
        Bound { seat: self }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut taken = self.cores.lock();
        self.cores.under_way.fetch_sub(1, Ordering::Relaxed);
        taken.retain(|&core| Some(core) != self.core);
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if self.seat.core.is_some() {
            Binding { core: None, set: self.seat.allowed }.bind(THIS_THREAD);
        }
    }
}

impl Binding {
    /// Puts a process there.
    pub fn bind(&self, process: Pid) {
        // A process that is anywhere is slower, and no worse.
        let _ = sched_setaffinity(process, &self.set);
    }
}

/// A thread that has left its core to another; it may be anywhere again when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Aside {
    allowed: Binding,
}

/// Leaves the core that the calling thread is on to the thread it has just started, which else may wait there for it
/// to pause, beside an idle core.
pub fn step_aside() -> Option<Aside> {
    let allowed = sched_getaffinity(THIS_THREAD).ok()?;
    let mut others = allowed;
    others.unset(sched_getcpu().ok()?).ok()?;
    sched_setaffinity(THIS_THREAD, &others).ok()?;
    Some(Aside { allowed: Binding { core: None, set: allowed } })
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.allowed.bind(THIS_THREAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_have_cores_of_their_own_where_all_cores_have_runs() {
        let allowed = sched_getaffinity(THIS_THREAD).expect("the kernel tells");
        let count = (0..CpuSet::count()).filter(|&core| allowed.is_set(core) == Ok(true)).count();
        if count < 2 {
            return;
        }
        let cores = Cores::default();
        let mut seats: Vec<Seat<'_>> = (1..count).map(|_| cores.enter()).collect();
        assert!(seats.iter().all(|seat| seat.core().is_none()), "there is room: {seats:?}");
        let idle = seats[0].idle();
        assert!(idle.is_there());
        seats.extend((0..count).map(|_| cores.enter()));
        let chosen: Vec<usize> = seats.iter().filter_map(Seat::core).collect();
        let different: BTreeSet<usize> = chosen.iter().copied().collect();
        assert_eq!((chosen.len(), different.len()), (count, count), "one run for each core: {seats:?}");
        assert_eq!(cores.enter().core(), None, "no core is left");
        assert!(!idle.is_there());
        let bound = seats[count].bind_thread();
        assert_eq!(sched_getaffinity(THIS_THREAD), Ok(seats[count].binding().set));
        drop(bound);
        assert_eq!(sched_getaffinity(THIS_THREAD), Ok(allowed), "the thread is free again");
        drop(seats);
        assert_eq!((cores.under_way.load(Ordering::Relaxed), cores.lock().len()), (0, 0));
        assert!(idle.is_there());
    }
    #[test]
    fn a_thread_steps_aside_and_comes_back() {
        let allowed = sched_getaffinity(THIS_THREAD).expect("the kernel tells");
        let aside = step_aside();
        let count = (0..CpuSet::count()).filter(|&core| allowed.is_set(core) == Ok(true)).count();
        assert_eq!(aside.is_some(), count > 1, "an only core is nobody else's");
        let others = sched_getaffinity(THIS_THREAD).expect("the kernel tells");
        let left = (0..CpuSet::count()).filter(|&core| others.is_set(core) == Ok(true)).count();
        assert_eq!(left, (count - 1).max(1));
        drop(aside);
        assert_eq!(sched_getaffinity(THIS_THREAD), Ok(allowed));
    }
}
