//! `/proc/PID/task/TID/{syscall,stat,wchan}`: what threads of the server do at this instant.
//!
//! `syscall` holds `running`, or the number of the system call that a sleeping thread is in and its
//! arguments (`fs/proc/base.c`, `proc_pid_syscall`); the numbers are those of the architecture. For
//! a read or write it shows only which descriptor, so the link of the descriptor tells a socket
//! from a pipe. Whether a whole process is stopped is asked once per process and round. A sleep on
//! a futex has its time-out in the memory of the process (`/proc/PID/mem`, which needs the same
//! rights). A poll of descriptors that only the process itself can write, with a time-out, is a
//! sleep: Ruby lets its threads sleep so.
//!
//! Caveats. A snapshot of one thread after the other, not of all at once. With more than 256
//! threads each round reads the next 256. Asking about a sleeping thread takes the lock of its run
//! queue for a moment. A stopped or frozen thread shows the call it was stopped in; a single thread
//! held by a debugger is taken for asleep in that call. 32-bit programs on a 64-bit kernel have
//! other numbers and come out as something else. `syscall` needs the rights of a debugger: without
//! them, which is reported once, the state letter and the wait channel are used instead. The
//! channel is a kernel function whose name changes between versions, and the kernel may refuse it
//! as well (then it reads `0`).

#![allow(unsafe_code, reason = "a test stops a child")]

mod timeout;

use super::{Round, Scope, Source, threads};
use crate::kernel_file::{KernelFile, is_gone};
use crate::process::parse_stat;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Doing, ThreadNow};
use model::root::Root;
use model::unit::Unit;
use model::units::NS_PER_S;
use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The content of a `syscall` file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The thread runs or wants to.
    Running,
    /// It sleeps in a system call, with these first arguments.
    Inside {
        /// Number of the call.
        number: i64,
        /// Its first argument: a descriptor, or the address of a futex.
        first: u64,
        /// Its second argument: the operation on a futex, or the number of polled descriptors.
        second: u64,
        /// Its third argument: the time-out of a poll.
        third: u64,
        /// Its fourth argument: the address of the time-out of a futex.
        fourth: u64,
    },
    /// It sleeps outside a call, for example to get a page from storage.
    Outside,
}

/// Parses a `syscall` file.
pub fn parse(bytes: &[u8]) -> Result<Call, ParseError> {
    let error = || ParseError::new("'running' or a call and its arguments", bytes);
    let mut words = scan::words(bytes);
    match words.next() {
        Some(b"running") => Ok(Call::Running),
        Some(b"-1") => Ok(Call::Outside),
        word => {
            let number = word.and_then(scan::number).and_then(|number| i64::try_from(number).ok());
            let hex = |word: &[u8]| scan::hex64(word.strip_prefix(b"0x")?);
            let first = words.next().and_then(hex);
            let (number, first) = number.zip(first).ok_or_else(error)?;
            let mut argument = || words.next().and_then(hex).unwrap_or(0);
            let (second, third, fourth) = (argument(), argument(), argument());
            Ok(Call::Inside { number, first, second, third, fourth })
        }
    }
}

/// What a call alone means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Known(Doing),
    /// Depends on what the descriptor is.
    Reads,
    Writes,
}

/// Whether a call is one of `poll(2)`.
fn polls(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    let poll = libc::SYS_poll;
    #[cfg(not(target_arch = "x86_64"))]
    let poll = libc::SYS_ppoll;
    number == poll || number == libc::SYS_ppoll
}

/// A poll of more descriptors is not looked into: a runtime that lets a thread sleep in one names
/// the pipe that wakes it, and no more.
const POLLED_MAX: u64 = 4;
/// A thread that holds a request sleeps for part of the request. Idle threads wait for longer, or
/// without end; what takes over a second is rare, and is then taken for idle.
const SLEEP_MAX_NS: u64 = NS_PER_S;

/// Calls by number on the architecture this is built for, with the first two arguments.
fn meaning(number: i64, first: u64, second: u64) -> Meaning {
    #[cfg(target_arch = "x86_64")]
    let (select, epoll) = (libc::SYS_select, libc::SYS_epoll_wait);
    #[cfg(not(target_arch = "x86_64"))]
    let (select, epoll) = (libc::SYS_pselect6, libc::SYS_epoll_pwait);
    // Without a descriptor these calls only let time pass.
    let selects = number == select || number == libc::SYS_pselect6;
    let polls = polls(number);
    if selects && first == 0 || polls && second == 0 {
        return Meaning::Known(Doing::Timer);
    }
    if selects || polls || number == epoll {
        return Meaning::Known(Doing::Events);
    }
    // Newer than what libc names everywhere; above 424 the numbers are the same on all.
    const IO_URING_ENTER: i64 = 426;
    const EPOLL_PWAIT2: i64 = 441;
    const FUTEX_WAITV: i64 = 449;
    const FUTEX_WAIT: i64 = 455;
    match number {
        libc::SYS_futex | FUTEX_WAITV | FUTEX_WAIT => Meaning::Known(Doing::Futex),
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Meaning::Known(Doing::Timer),
        libc::SYS_epoll_pwait => Meaning::Known(Doing::Events),
        IO_URING_ENTER | EPOLL_PWAIT2 | libc::SYS_io_getevents => Meaning::Known(Doing::Events),
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => {
            Meaning::Known(Doing::Receive)
        }
        libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg | libc::SYS_sendfile => {
            Meaning::Known(Doing::Send)
        }
        libc::SYS_accept | libc::SYS_accept4 => Meaning::Known(Doing::Accept),
        libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync | libc::SYS_syncfs => {
            Meaning::Known(Doing::Storage)
        }
        libc::SYS_sync_file_range | libc::SYS_msync => Meaning::Known(Doing::Storage),
        libc::SYS_pread64 | libc::SYS_pwrite64 | libc::SYS_preadv | libc::SYS_pwritev => {
            Meaning::Known(Doing::Storage)
        }
        libc::SYS_read | libc::SYS_readv => Meaning::Reads,
        libc::SYS_write | libc::SYS_writev => Meaning::Writes,
        _ => Meaning::Known(Doing::Other),
    }
}

/// The target of a descriptor, as `/proc/PID/fd/N` links to it. A pipe with a name links to its
/// path.
fn link_of(descriptor: &Path) -> Option<String> {
    let is_pipe = || fs::metadata(descriptor).is_ok_and(|file| file.file_type().is_fifo());
    match fs::read_link(descriptor).ok()?.to_string_lossy().into_owned() {
        link if link.starts_with('/') && is_pipe() => Some(format!("pipe:{link}")),
        link => Some(link),
    }
}

/// What a read or a write waits for, by the target of its descriptor.
fn by_link(meaning: Meaning, link: &str) -> Doing {
    let is_write = meaning == Meaning::Writes;
    match link {
        _ if link.starts_with("socket:") && is_write => Doing::Send,
        _ if link.starts_with("socket:") => Doing::Receive,
        _ if link.starts_with("pipe:") && is_write => Doing::PipeWrite,
        "anon_inode:[timerfd]" => Doing::Timer,
        _ if link.starts_with("anon_inode:") => Doing::Events,
        // A regular file makes its reader sleep only for storage. Devices are terminals.
        _ if link.starts_with('/') && !link.starts_with("/dev/") => Doing::Storage,
        _ => Doing::Other,
    }
}

/// What a wait channel means: the kernel function a thread sleeps in. Names are those of Linux 3.10
/// to 6.18, cut where versions differ.
pub fn by_channel(channel: &[u8]) -> Doing {
    const NAMES: [(&[u8], Doing); 28] = [
        (b"futex_", Doing::Futex),
        (b"do_nanosleep", Doing::Timer),
        (b"hrtimer_nanosleep", Doing::Timer),
        (b"ep_poll", Doing::Events),
        (b"do_epoll_wait", Doing::Events),
        (b"do_poll", Doing::Events),
        (b"do_sys_poll", Doing::Events),
        (b"do_select", Doing::Events),
        (b"poll_schedule_timeout", Doing::Events),
        (b"io_cqring_wait", Doing::Events),
        (b"sk_wait_data", Doing::Receive),
        (b"tcp_recvmsg", Doing::Receive),
        (b"unix_stream_read", Doing::Receive),
        (b"unix_stream_data_wait", Doing::Receive),
        (b"sk_stream_wait_memory", Doing::Send),
        (b"sock_alloc_send", Doing::Send),
        (b"inet_csk_accept", Doing::Accept),
        (b"inet_csk_wait_for_connect", Doing::Accept),
        (b"unix_accept", Doing::Accept),
        (b"pipe_write", Doing::PipeWrite),
        (b"anon_pipe_write", Doing::PipeWrite),
        (b"io_schedule", Doing::Storage),
        (b"folio_wait", Doing::Storage),
        (b"wait_on_page", Doing::Storage),
        (b"jbd2_", Doing::Storage),
        (b"do_signal_stop", Doing::Stopped),
        (b"do_freezer_trap", Doing::Stopped),
        (b"__refrigerator", Doing::Stopped),
    ];
    let known = NAMES.iter().find(|(name, _)| channel.starts_with(name));
    known.map_or(Doing::Other, |(_, doing)| *doing)
}

/// How often to look for new threads.
const SCAN_NS: u64 = NS_PER_S;

/// Whether we may see system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rights {
    Assumed,
    Refused,
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("server_threads_now", "/proc/PID/task/TID/{syscall,stat,wchan}")
        .each("doing")
        .sum("#", Unit::Count, "Sampled threads of the server that did this.")
}

struct ThreadsNow {
    root: Root,
    /// Threads by process and number.
    threads: BTreeMap<(u32, u32), Files>,
    /// For this many threads the files stay open.
    kept_threads: usize,
    /// Where the last sample ended.
    last: (u32, u32),
    scan_due_ns: u64,
    rights: Rights,
}

/// The files of one thread, each opened when it is first needed.
struct Files {
    syscall: KernelFile,
    stat: KernelFile,
    wchan: KernelFile,
}

/// What is known in this round already.
#[derive(Default)]
struct Learnt {
    stopped: BTreeMap<u32, bool>,
    links: BTreeMap<(u32, u64), Option<String>>,
    memories: BTreeMap<u32, Option<fs::File>>,
}

impl Learnt {
    /// The memory of a process, where it may be read.
    fn memory(&mut self, root: &Root, pid: u32) -> Option<&fs::File> {
        let opened = || fs::File::open(root.process(pid, "mem")).ok();
        self.memories.entry(pid).or_insert_with(opened).as_ref()
    }

    /// The target of a descriptor of a process.
    fn link(&mut self, root: &Root, pid: u32, descriptor: u64) -> Option<&str> {
        let path = || root.process(pid, &format!("fd/{descriptor}"));
        let link = self.links.entry((pid, descriptor));
        link.or_insert_with(|| link_of(&path())).as_deref()
    }
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let now = || ThreadsNow::of(scope.root.clone(), scope.kept_files);
    scope.server().map(|_| Box::new(now()) as Box<dyn Source>)
}

impl Source for ThreadsNow {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let pids = round.server()?.pids();
        if round.due_ns >= self.scan_due_ns {
            let rest_ns = threads::scan(&self.root, pids, &mut self.threads, Files::below)?;
            self.scan_due_ns = round.due_ns + SCAN_NS.max(rest_ns);
        }
        let mut learnt = Learnt::default();
        let mut now = Vec::with_capacity(self.threads.len().min(ThreadNow::ROUND_MAX));
        for thread in self.sample() {
            match self.look(thread, &mut learnt)? {
                Some(thread) => now.push(thread),
                None => drop(self.threads.remove(&thread)),
            }
        }
        if now.is_empty() {
            let source = "what threads of the server do".to_string();
            return Err(Unreadable { source, why: "no thread is left".to_string() });
        }
        Ok(Data::ServerThreadsNow(now))
    }
}

impl ThreadsNow {
    fn of(root: Root, kept_files: usize) -> Self {
        Self {
            root,
            // The other half is for the times of threads; the third file is rarely asked for.
            kept_threads: kept_files / 2,
            threads: BTreeMap::new(),
            last: (0, 0),
            scan_due_ns: 0,
            rights: Rights::Assumed,
        }
    }

    /// All threads, or the next ones of very many, in turn.
    fn sample(&mut self) -> Vec<(u32, u32)> {
        let (pid, tid) = self.last;
        let after = self.threads.range((pid, tid.saturating_add(1))..);
        let circle = after.chain(self.threads.range(..=self.last));
        let sample: Vec<_> = circle.map(|(thread, _)| *thread).take(ThreadNow::ROUND_MAX).collect();
        self.last = sample.last().copied().unwrap_or_default();
        sample
    }

    /// What one thread does; nothing when it has ended.
    fn look(
        &mut self,
        (pid, tid): (u32, u32),
        learnt: &mut Learnt,
    ) -> Result<Option<ThreadNow>, Unreadable> {
        let now = match self.rights {
            Rights::Assumed => match self.call((pid, tid))? {
                Some(call) => self.judge((pid, tid), call, learnt),
                None => None,
            },
            Rights::Refused => {
                let doing = self.by_state_and_channel((pid, tid));
                doing.map(|doing| ThreadNow { pid, tid, doing, futex: None, timeout_ns: None })
            }
        };
        if self.threads.len() > self.kept_threads
            && let Some(files) = self.threads.get_mut(&(pid, tid))
        {
            files.close();
        }
        Ok(now)
    }

    /// The content of its `syscall` file; nothing when it has ended. A refusal is reported once, as
    /// an error.
    fn call(&mut self, thread: (u32, u32)) -> Result<Option<Call>, Unreadable> {
        let Some(files) = self.threads.get_mut(&thread) else { return Ok(None) };
        let file = &mut files.syscall;
        match file.read(parse) {
            Ok(call) => call.map(Some).map_err(|why| file.unreadable(why)),
            Err(why) if is_gone(&why) => Ok(None),
            Err(why) if is_refused(&why) => {
                self.rights = Rights::Refused;
                let source = "system calls of the server's threads".to_string();
                let why = format!("{why}; what they wait for is taken from state and wait channel");
                Err(Unreadable { source, why })
            }
            Err(why) => Err(file.unreadable(why)),
        }
    }

    fn judge(
        &mut self,
        (pid, tid): (u32, u32),
        call: Call,
        learnt: &mut Learnt,
    ) -> Option<ThreadNow> {
        let now = |doing, futex| {
            let timeout_ns = None;
            Some(ThreadNow { pid, tid, doing, futex, timeout_ns })
        };
        let (number, first, second, third, fourth) = match call {
            Call::Running => return now(Doing::Running, None),
            Call::Inside { number, first, second, third, fourth } => {
                (number, first, second, third, fourth)
            }
            Call::Outside => return now(self.by_state_and_channel((pid, tid))?, None),
        };
        if self.is_stopped(pid, learnt) {
            return now(Doing::Stopped, None);
        }
        match meaning(number, first, second) {
            Meaning::Known(Doing::Events) if polls(number) && second <= POLLED_MAX => {
                let is_sleep = self.only_passes_time(pid, (number, first, second, third), learnt);
                now(if is_sleep { Doing::Timer } else { Doing::Events }, None)
            }
            Meaning::Known(Doing::Futex) => {
                let has_timeout = number == libc::SYS_futex && fourth != 0;
                let timeout_ns = has_timeout.then(|| {
                    let memory = learnt.memory(&self.root, pid)?;
                    timeout::left_ns(memory, second, fourth)
                });
                let timeout_ns = timeout_ns.flatten();
                Some(ThreadNow { timeout_ns, ..now(Doing::Futex, Some(first))? })
            }
            Meaning::Known(Doing::Other) => now(self.by_state_and_channel((pid, tid))?, None),
            Meaning::Known(doing) => now(doing, None),
            by_descriptor => match learnt.link(&self.root, pid, first) {
                Some(link) => now(by_link(by_descriptor, link), None),
                None => now(self.by_state_and_channel((pid, tid))?, None),
            },
        }
    }

    /// Whether a poll ends within a second, and before that only by what its own process writes:
    /// its descriptors are pipes, event descriptors or timers, and none is a socket or a set of
    /// events.
    fn only_passes_time(
        &self,
        pid: u32,
        (number, at, count, timeout): (i64, u64, u64, u64),
        learnt: &mut Learnt,
    ) -> bool {
        let Some(memory) = learnt.memory(&self.root, pid) else { return false };
        let timeout_ns = match number == libc::SYS_ppoll {
            true => timeout::duration_ns(memory, timeout),
            false => timeout::of_ms(timeout),
        };
        let Some(polled) = timeout::polled(memory, at, count) else { return false };
        let is_own = |link: &str| {
            link.starts_with("pipe:")
                || ["anon_inode:[eventfd]", "anon_inode:[timerfd]"].contains(&link)
        };
        let is_short = timeout_ns.is_some_and(|timeout_ns| timeout_ns <= SLEEP_MAX_NS);
        is_short
            && polled
                .into_iter()
                .all(|descriptor| learnt.link(&self.root, pid, descriptor).is_some_and(is_own))
    }

    /// Whether the process as a whole is stopped, as its first thread shows, or frozen.
    fn is_stopped(&mut self, pid: u32, learnt: &mut Learnt) -> bool {
        if let Some(&known) = learnt.stopped.get(&pid) {
            return known;
        }
        let doing = self.by_state_and_channel((pid, pid));
        let is_stopped = doing == Some(Doing::Stopped);
        learnt.stopped.insert(pid, is_stopped);
        is_stopped
    }

    /// What state and wait channel mean; nothing when the thread has ended.
    fn by_state_and_channel(&mut self, thread: (u32, u32)) -> Option<Doing> {
        let files = self.threads.get_mut(&thread)?;
        let state = files.stat.read(parse_stat).ok()?.ok()?.state;
        match state {
            b'R' => return Some(Doing::Running),
            b'T' | b't' => return Some(Doing::Stopped),
            b'Z' | b'X' | b'x' => return None,
            _ => {}
        }
        let doing = files.wchan.read(by_channel).unwrap_or(Doing::Other);
        // Uninterruptible sleep is storage unless the wait channel shows something else.
        let is_storage = state == b'D' && doing == Doing::Other;
        Some(if is_storage { Doing::Storage } else { doing })
    }
}

impl Files {
    fn below(folder: PathBuf) -> Self {
        let file = |name| KernelFile::one_piece(folder.join(name));
        Self { syscall: file("syscall"), stat: file("stat"), wchan: file("wchan") }
    }

    fn close(&mut self) {
        self.syscall.close();
        self.stat.close();
        self.wchan.close();
    }
}

fn is_refused(error: &io::Error) -> bool {
    // ENOSYS: a kernel without CONFIG_HAVE_ARCH_TRACEHOOK. ENOENT would be an ended thread.
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use crate::testing::{Child, Folder, fixture};
    use crate::tree::Tree;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::process::Command;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    #[test]
    fn a_wait_for_no_descriptor_is_a_sleep() {
        let timer = Meaning::Known(Doing::Timer);
        let events = Meaning::Known(Doing::Events);
        assert_eq!(meaning(libc::SYS_pselect6, 0, 0), timer, "select(0, ..) of Perl and Ruby");
        assert_eq!(meaning(libc::SYS_pselect6, 9, 0), events);
        assert_eq!(meaning(libc::SYS_ppoll, 0x7f00, 0), timer);
        assert_eq!(meaning(libc::SYS_ppoll, 0x7f00, 2), events);
    }

    #[test]
    fn a_poll_that_only_the_process_itself_can_end_is_a_sleep() {
        let now = ThreadsNow::of(Root::default(), 0);
        let (pipe, _writer) = io::pipe().unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let of = |descriptor: i32| libc::pollfd { fd: descriptor, events: 1, revents: 0 };
        let passes = |polled: &[libc::pollfd], ms: i32| {
            let (at, count) = (polled.as_ptr() as u64, polled.len() as u64);
            let call = (libc::SYS_poll, at, count, u64::from(ms as u32));
            now.only_passes_time(std::process::id(), call, &mut Learnt::default())
        };
        let own = of(pipe.as_raw_fd());
        assert!(passes(&[own], 20));
        assert!(passes(&[of(-1), own], 20), "a negative one is ignored");
        assert!(!passes(&[own], -1), "without end: it waits for another thread");
        assert!(!passes(&[own], 30_000), "as long as an idle thread of a pool");
        assert!(!passes(&[own, of(socket.as_raw_fd())], 20), "a request may come");
        let hour = [3600_u64, 0];
        let call = (libc::SYS_ppoll, [own].as_ptr() as u64, 1, hour.as_ptr() as u64);
        assert!(!now.only_passes_time(std::process::id(), call, &mut Learnt::default()));
    }

    #[test]
    fn calls_and_their_first_argument() {
        let (first, second) = (0x00c0_0005_4150, 0x80);
        let call = Call::Inside { number: 202, first, second, third: 0, fourth: 0 };
        assert_eq!(parse(&fixture("linux-6.18-vm/thread_syscall")), Ok(call));
        assert_eq!(parse(b"running\n"), Ok(Call::Running));
        assert_eq!(parse(b"-1 0x7ffc0 0x7f2b\n"), Ok(Call::Outside));
        for text in ["", "sleeping", "1", "1 7", "1 0x", "x 0x1", "1 0x11111111111111111"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pipe_with_a_name_is_a_pipe_and_no_file() {
        let folder = Folder::new("fifo");
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::write(&file, "x").unwrap();
        // Opened both ways a pipe does not wait for its other end.
        let opened =
            |path: &PathBuf| fs::File::options().read(true).write(true).open(path).unwrap();
        let says = |path: &PathBuf| {
            let file = opened(path);
            let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
            by_link(Meaning::Writes, &link_of(Path::new(&descriptor)).unwrap())
        };
        assert_eq!((says(&pipe), says(&file)), (Doing::PipeWrite, Doing::Storage));
    }

    #[test]
    fn descriptors_tell_reads_and_writes_apart() {
        assert_eq!(by_link(Meaning::Reads, "socket:[7]"), Doing::Receive);
        assert_eq!(by_link(Meaning::Writes, "socket:[7]"), Doing::Send);
        assert_eq!(by_link(Meaning::Writes, "pipe:[7]"), Doing::PipeWrite);
        assert_eq!(by_link(Meaning::Reads, "pipe:[7]"), Doing::Other);
        assert_eq!(by_link(Meaning::Reads, "/srv/data"), Doing::Storage);
        assert_eq!(by_link(Meaning::Writes, "/dev/pts/1"), Doing::Other);
    }

    #[test]
    fn wait_channels_of_several_kernels() {
        for (channel, doing) in [
            ("futex_wait_queue_me", Doing::Futex),
            ("futex_do_wait", Doing::Futex),
            ("poll_schedule_timeout.constprop.0", Doing::Events),
            ("anon_pipe_write", Doing::PipeWrite),
            ("do_freezer_trap", Doing::Stopped),
            ("0", Doing::Other),
        ] {
            assert_eq!(by_channel(channel.as_bytes()), doing, "{channel}");
        }
    }

    /// Waits until what the threads of a tree do is right; returns what they did instead, if it
    /// never is.
    fn seen(
        tree: &Tree,
        rights: Rights,
        is_right: impl Fn(&[ThreadNow]) -> bool,
    ) -> Result<(), Vec<ThreadNow>> {
        let mut source = ThreadsNow::of(Root::default(), 512);
        source.rights = rights;
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut due_ns = 0;
        loop {
            due_ns += NS_PER_S;
            let round = Round { due_ns, server: Some(Ok(tree)) };
            let Ok(Data::ServerThreadsNow(now)) = source.read(&round) else { panic!("no threads") };
            if is_right(&now) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(now);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn doing(now: &[ThreadNow], tid: u32) -> Option<Doing> {
        now.iter().find(|thread| thread.tid == tid).map(|thread| thread.doing)
    }

    #[test]
    fn our_own_threads_wait_for_a_lock_a_socket_and_a_connection() {
        let lock = Mutex::new(());
        let held = lock.lock().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let tree = Tree::of(std::process::id()).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (lock, listener) = (&lock, &listener);
            for _ in 0..2 {
                scope.spawn(move || drop(lock.lock()));
            }
            scope.spawn(move || client.read(&mut [0]));
            scope.spawn(move || listener.accept().map(drop));
            let is_over = &is_over;
            scope.spawn(move || while !is_over.load(Relaxed) {});
            let result = seen(&tree, Rights::Assumed, |now| {
                let futexes = now.iter().filter_map(|thread| thread.futex);
                let mut same = BTreeMap::<u64, u32>::new();
                futexes.for_each(|address| *same.entry(address).or_default() += 1);
                let has = |doing| now.iter().any(|thread| thread.doing == doing);
                same.values().any(|&count| count >= 2)
                    && [Doing::Running, Doing::Receive, Doing::Accept].into_iter().all(has)
            });
            // All must end before anything is asserted.
            is_over.store(true, Relaxed);
            drop((held, accepted));
            drop(TcpStream::connect(address));
            assert_eq!(result, Ok(()));
        });
    }

    #[test]
    fn a_full_pipe_a_timer_and_a_stop() {
        let child = Child::spawn(Command::new("sh").args(["-c", "yes | sleep 60 & wait"]));
        child.wait_for("yes", 1);
        child.wait_for("sleep", 1);
        let tree = Tree::of(child.id()).unwrap();
        let pid_of = |name: &str| {
            let is_named = |pid: &&u32| process::stat(**pid).is_ok_and(|stat| stat.name == name);
            *tree.pids().iter().find(is_named).unwrap()
        };
        let (yes, sleep) = (pid_of("yes"), pid_of("sleep"));
        for rights in [Rights::Assumed, Rights::Refused] {
            seen(&tree, rights, |now| {
                let both = (doing(now, yes), doing(now, sleep));
                both == (Some(Doing::PipeWrite), Some(Doing::Timer))
            })
            .unwrap();
        }
        // SAFETY: kill takes no pointers; the process is ours.
        assert_eq!(unsafe { libc::kill(sleep as i32, libc::SIGSTOP) }, 0);
        for rights in [Rights::Assumed, Rights::Refused] {
            seen(&tree, rights, |now| doing(now, sleep) == Some(Doing::Stopped)).unwrap();
        }
    }

    #[test]
    fn very_many_threads_are_looked_at_in_turn() {
        let mut source = ThreadsNow::of(Root::default(), 512);
        for tid in 1..=600 {
            source.threads.insert((1 + tid / 300, tid), Files::below("none".into()));
        }
        let mut looked: Vec<_> = (0..3).flat_map(|_| source.sample()).collect();
        assert_eq!(looked.len(), 3 * ThreadNow::ROUND_MAX);
        looked.sort_unstable();
        looked.dedup();
        assert_eq!(looked.len(), 600);
    }
}
