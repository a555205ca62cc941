//! Sends a signal to a program at one of its steps, just before a system call that changes
//! something. Just after one such call is the same as just before the next: in between the program
//! only reads. The program has no hook for this; the tests run what users run.

#![allow(unsafe_code, reason = "a program traced by its system calls")]

use libc::{c_int, c_long, c_void, pid_t};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::{fs, mem, ptr};

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It ended before that step, with this exit code.
    Earlier(i32),
    /// It got the signal and ended with this exit code, or `None` if it was killed.
    Hit(Option<i32>),
}

/// Runs a command and sends it a signal at step `step`, counted from 0. The command may first exec
/// other programs; only steps of `program` count.
#[expect(clippy::zombie_processes, reason = "waitpid is called with its id, to see its stops too")]
pub fn signal_at(command: &mut Command, program: &str, signal: c_int, step: usize) -> End {
    let program = identity(Path::new(program)).expect("the program is there");
    // SAFETY: between fork and exec only ptrace(2) is called.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let child = command.spawn().expect("it starts, and may be traced");
    let mut traced = Traced { pid: child.id() as pid_t, steps: 0 };
    let mut status = traced.wait();
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
    traced.ask(libc::PTRACE_SETOPTIONS as _, options as c_long);
    let (mut is_program, mut is_hit, mut deliver) = (false, false, 0);
    loop {
        if let Some(code) = ended(status) {
            return if is_hit { End::Hit(code) } else { End::Earlier(code.unwrap_or(-1)) };
        }
        is_program = is_program || traced.runs(program);
        if is_program && !is_hit && traced.is_step(status) {
            if traced.steps == step {
                is_hit = true;
                // SAFETY: the process is our child, and it is stopped, so it is still that one.
                unsafe { libc::kill(traced.pid, signal) };
            }
            traced.steps += 1;
        }
        traced.ask(libc::PTRACE_SYSCALL as _, deliver);
        status = traced.wait();
        deliver = signal_of(status);
    }
}

/// The signal that stopped it, which must be delivered; none if tracing stopped it.
fn signal_of(status: ExitStatus) -> c_long {
    match status.stopped_signal() {
        Some(signal) if signal != libc::SIGTRAP && signal != libc::SIGTRAP | 0x80 => signal.into(),
        _ => 0,
    }
}

/// Whether it has ended, and its exit code if it has one.
fn ended(status: ExitStatus) -> Option<Option<i32>> {
    let is_over = status.code().is_some() || status.signal().is_some();
    (is_over && status.stopped_signal().is_none()).then(|| status.code())
}

/// Device and inode of a file. A path is not enough: `ip netns exec` runs programs in another mount
/// namespace, and the path differs when these tests run under another root.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let of = fs::metadata(path)?;
    Ok((of.dev(), of.ino()))
}

struct Traced {
    pid: pid_t,
    steps: usize,
}

impl Traced {
    fn wait(&self) -> ExitStatus {
        let mut status = 0;
        // SAFETY: the pointer is to a local variable.
        let waited = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
        assert_eq!(waited, self.pid, "{}", io::Error::last_os_error());
        ExitStatus::from_raw(status)
    }

    fn ask(&self, request: libc::c_uint, data: c_long) {
        // SAFETY: these requests take a number and no memory of ours.
        unsafe { libc::ptrace(request as _, self.pid, ptr::null_mut::<c_void>(), data) };
    }

    fn runs(&self, program: (u64, u64)) -> bool {
        let exe = format!("/proc/{}/exe", self.pid);
        identity(Path::new(&exe)).is_ok_and(|exe| exe == program)
    }

    /// Whether it is about to make a system call that changes something.
    fn is_step(&self, status: ExitStatus) -> bool {
        if status.stopped_signal() != Some(libc::SIGTRAP | 0x80) {
            return false;
        }
        // SAFETY: the structure is plain numbers.
        let mut info: libc::ptrace_syscall_info = unsafe { mem::zeroed() };
        let size = mem::size_of_val(&info);
        // SAFETY: the kernel writes `size` bytes at most, and the structure has as many.
        let read = unsafe {
            libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO as _, self.pid, size, &raw mut info)
        };
        assert!(read > 0, "{}", io::Error::last_os_error());
        if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
            return false;
        }
        // SAFETY: at an entry this is the member that was written.
        let (number, arguments) = unsafe { (info.u.entry.nr, info.u.entry.args) };
        match number as c_long {
            libc::SYS_ioctl => {
                arguments[1] == libc::SIOCETHTOOL && !self.asks_the_driver(arguments[2])
            }
            number => changes(number, &arguments),
        }
    }

    /// Whether an ethtool request only reads, as far as we know it.
    fn asks_the_driver(&self, request: u64) -> bool {
        const ETHTOOL_GSTRINGS: u32 = 0x1b;
        const ETHTOOL_GSSET_INFO: u32 = 0x37;
        const ETHTOOL_GFEATURES: u32 = 0x3a;
        let (mut order, mut word) = ([0; 8], [0; 4]);
        let memory = fs::File::open(format!("/proc/{}/mem", self.pid)).expect("it is traced");
        // The name of a device, then the address of an order.
        memory.read_exact_at(&mut order, request + libc::IFNAMSIZ as u64).expect("a request");
        memory.read_exact_at(&mut word, u64::from_ne_bytes(order)).expect("an order");
        let word = u32::from_ne_bytes(word);
        [ETHTOOL_GSTRINGS, ETHTOOL_GSSET_INFO, ETHTOOL_GFEATURES].contains(&word)
    }
}

/// Whether a system call changes something on disk, in the kernel or for another process that stays
/// after this process is killed. Locks do not stay; written data stays even without fsync(2).
fn changes(number: c_long, arguments: &[u64; 6]) -> bool {
    let creates = (libc::O_CREAT | libc::O_TRUNC) as u64;
    match number {
        libc::SYS_openat => arguments[2] & creates != 0,
        // The first three descriptors are its output, not a change.
        libc::SYS_write => arguments[0] > 2,
        // A null pointer for the new limit only reads it.
        libc::SYS_prlimit64 => arguments[2] != 0,
        libc::SYS_renameat2 | libc::SYS_renameat | libc::SYS_mkdirat | libc::SYS_unlinkat => true,
        libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_ftruncate => true,
        libc::SYS_sched_setaffinity | libc::SYS_kill => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename | libc::SYS_mkdir | libc::SYS_unlink => true,
        _ => false,
    }
}

/// How many transactions of a journal are open. Counted without the command under test, which takes
/// a second in an emulated machine.
pub fn open_transactions(journal: &str) -> usize {
    let is_open = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|end| end == "jsonl");
    fs::read_dir(journal).map_or(0, |entries| entries.flatten().filter(is_open).count())
}
