//! A program that gets a signal at one of its steps: before, or after, a system call that changes
//! something. There is no hook in the program itself; what is tested is what users run.

#![allow(unsafe_code, reason = "a program traced by its system calls")]

use libc::{c_int, c_long, c_void, pid_t};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::{fs, mem, ptr};

/// What became of a program.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It did not get as far as that step.
    Earlier(i32),
    /// It got the signal, and ended in this way: the exit code, or nothing when it was killed.
    Hit(Option<i32>),
}

/// Runs a command and sends it a signal at step `step`, from 0. The command may go through other
/// programs; steps are those of `program`.
#[expect(clippy::zombie_processes, reason = "it is waited for by its id, with what stops it")]
pub fn signal_at(command: &mut Command, program: &str, signal: c_int, step: usize) -> End {
    // SAFETY: between fork and exec only ptrace(2) is called.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let child = command.spawn().expect("it starts, and may be traced");
    let mut traced = Traced { pid: child.id() as pid_t, steps: 0, is_change: false };
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

/// The signal that stopped it, which it must get; none when tracing stopped it.
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

struct Traced {
    pid: pid_t,
    steps: usize,
    /// Whether the system call under way is one that changes something.
    is_change: bool,
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

    fn runs(&self, program: &str) -> bool {
        let exe = fs::read_link(format!("/proc/{}/exe", self.pid));
        exe.is_ok_and(|exe| exe == *program)
    }

    /// Whether it stands before or after a system call that changes something.
    fn is_step(&mut self, status: ExitStatus) -> bool {
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
        if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY {
            // SAFETY: at an entry this is the member that was written.
            let entry = unsafe { info.u.entry };
            self.is_change = changes(entry.nr as c_long, &entry.args);
        }
        self.is_change
    }
}

/// Whether a system call changes something on disk, in the kernel or for another process.
fn changes(number: c_long, arguments: &[u64; 6]) -> bool {
    let writes = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT) as u64;
    match number {
        libc::SYS_openat => arguments[2] & writes != 0,
        libc::SYS_write | libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_ftruncate => true,
        libc::SYS_renameat2 | libc::SYS_renameat | libc::SYS_mkdirat | libc::SYS_unlinkat => true,
        libc::SYS_flock | libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_ioctl => true,
        libc::SYS_sched_setaffinity | libc::SYS_prlimit64 => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename | libc::SYS_mkdir | libc::SYS_unlink => true,
        _ => false,
    }
}
