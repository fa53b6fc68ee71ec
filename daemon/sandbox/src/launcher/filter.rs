//! The system-call filter: what no compiler needs gives an error, not death, in zygotes and runs alike.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::io;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// System calls from here on are those of the x32 ABI, by which the numbers below could be gone around.
const X32_CALLS: u32 = 0x4000_0000;
/// `AUDIT_ARCH_X86_64`.
const ARCHITECTURE: u32 = 0xc000_003e;

/// The kernel answers as if it did not have them. `clone3` has its flags in memory, where no filter sees them; the C
/// library takes `clone` instead. Shared memory, semaphores and queues of System V and POSIX queues outlive a run.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
];

/// Mounts, namespaces, other processes' descriptors, keys, and what is for administrators.
const FORBIDDEN: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_fanotify_init,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
];

/// What these do to the process that an argument names, they may not do to the zygote: the runs after this one have it from there.
const OF_A_PROCESS: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];
/// These also take groups of processes and users, among which the zygote would be: the call, and what says that it is one process.
const OF_PROCESSES: &[(i64, u64)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];
/// The zygote is the first process of its namespace.
const ZYGOTE: u64 = 1;

/// Puts the filter on this process and all that come from it. It must have given up new privileges.
///
/// # Errors
/// If the kernel takes none.
pub fn apply() -> io::Result<()> {
    let plain = |calls: &[i64]| calls.iter().map(|&call| (call, Vec::new())).collect::<Rules>();
    let mut forbidden = plain(FORBIDDEN);
    forbidden.insert(libc::SYS_clone, namespaces().collect::<Result<_, _>>().map_err(io::Error::other)?);
    forbidden.extend(against_zygote().map_err(io::Error::other)?);
    let mut families = plain(&[libc::SYS_socket]);
    families.insert(libc::SYS_socketpair, pairs().map_err(io::Error::other)?);
    for (rules, error) in
        [(plain(UNKNOWN), libc::ENOSYS), (forbidden, libc::EPERM), (families, libc::EAFNOSUPPORT)]
    {
        install(&program(rules, error)?)?;
    }
    Ok(())
}

/// A `clone` that would make a namespace.
fn namespaces() -> impl Iterator<Item = seccompiler::Result<SeccompRule>> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    flags.into_iter().map(|flag| {
        let flag = flag as u64;
        SeccompRule::new(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?]).map_err(Into::into)
    })
}

/// Calls that would change the zygote.
fn against_zygote() -> seccompiler::Result<Rules> {
    let rule = |argument, operator, value| -> seccompiler::Result<SeccompRule> {
        Ok(SeccompRule::new(vec![condition(argument, operator, value)?])?)
    };
    let mut rules = Rules::new();
    for &call in OF_A_PROCESS {
        rules.insert(call, vec![rule(0, SeccompCmpOp::Eq, ZYGOTE)?]);
    }
    for &(call, process) in OF_PROCESSES {
        rules.insert(call, vec![rule(0, SeccompCmpOp::Ne, process)?, rule(1, SeccompCmpOp::Eq, ZYGOTE)?]);
    }
    Ok(rules)
}

/// All pairs of sockets but local streams and packets: a pair of datagram sockets can be turned to others.
fn pairs() -> seccompiler::Result<Vec<SeccompRule>> {
    const TYPE: u64 = 0xf;
    let mut rules = vec![SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?])?];
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM] {
        rules.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(TYPE), kind as u64)?])?);
    }
    Ok(rules)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> seccompiler::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(Into::into)
}

/// A program that gives an error for calls, and for all calls of another ABI.
fn program(rules: Rules, error: i32) -> io::Result<BpfProgram> {
    let action = SeccompAction::Errno(error.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, TargetArch::x86_64);
    let own: BpfProgram = filter.and_then(TryInto::try_into).map_err(io::Error::other)?;
    let mut program = other_abi();
    program.extend(own);
    Ok(program)
}

/// The beginning of a program: an error for calls of other ABIs, which the crate would kill for, or let through.
fn other_abi() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_NOT_LESS: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const NUMBER_OFFSET: u32 = 0;
    const ARCHITECTURE_OFFSET: u32 = 4;
    let error = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, ARCHITECTURE_OFFSET),
        step(JUMP_IF_EQUAL, 0, 2, ARCHITECTURE),
        step(LOAD, 0, 0, NUMBER_OFFSET),
        step(JUMP_IF_NOT_LESS, 0, 1, X32_CALLS),
        step(RETURN, 0, 0, error),
    ]
}

fn install(program: &BpfProgram) -> io::Result<()> {
    #[repr(C)]
    struct FilterProgram {
        length: u16,
        steps: *const sock_filter,
    }
    let program = FilterProgram { length: program.len() as u16, steps: program.as_ptr() };
    // Without this flag older kernels turn off speculation for every filtered process.
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the kernel copies the program, which lives until the call returns.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
