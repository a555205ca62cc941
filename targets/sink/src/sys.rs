//! Everything the standard library does not offer: the only file with `unsafe`.
//!
//! Each function is a thin safe wrapper of one system call. Arguments are plain values or borrowed
//! descriptors, results are `io::Result`. There is no logic here.

use std::fs::File;
use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Turns the -1 convention of C into a result.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes ownership of a descriptor that a system call has just returned.
fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the kernel has just opened `fd` for this call, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result, which lives until after the call.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of every timestamp of this program.
#[inline]
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds this thread has spent on a CPU.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user mode.
    pub user_ns: u64,
    /// Time in the kernel on behalf of this process.
    pub system_ns: u64,
}

/// CPU time of this process so far, all threads.
pub fn usage() -> Usage {
    // SAFETY: an all-zero `rusage` is a valid value of a struct of integers.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is a valid place for the result.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}

/// Position of the first `needle`, by the vectorised search of the C library.
#[inline]
pub fn find_byte(needle: u8, haystack: &[u8]) -> Option<usize> {
    let begin = haystack.as_ptr();
    // SAFETY: the call reads at most `len` bytes from `begin`, which is the slice.
    let found = unsafe { libc::memchr(begin.cast(), needle.into(), haystack.len()) };
    // A pointer into the slice is not before its begin.
    (!found.is_null()).then(|| found as usize - begin as usize)
}

/// A TCP socket that does not block.
pub fn tcp_socket(addr: IpAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    own(unsafe { libc::socket(family, kind, 0) })
}

/// A socket option of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketOption {
    /// Bind although old connections of the port are in TIME_WAIT.
    ReuseAddress,
    /// Let several sockets listen on one port; the kernel spreads connections over them.
    ReusePort,
    /// Send small segments at once. Accepted sockets inherit it from the listening one.
    NoDelay,
}

/// Switches an option on.
pub fn enable(fd: BorrowedFd<'_>, option: SocketOption) -> io::Result<()> {
    let (level, name) = match option {
        SocketOption::ReuseAddress => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
        SocketOption::ReusePort => (libc::SOL_SOCKET, libc::SO_REUSEPORT),
        SocketOption::NoDelay => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    };
    set_option(fd, level, name, &1 as &libc::c_int)
}

/// Makes the next close of this socket send RST instead of FIN.
pub fn reset_on_close(fd: BorrowedFd<'_>) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    set_option(fd, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

fn set_option<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let size = mem::size_of::<T>() as libc::socklen_t;
    let value: *const T = value;
    // SAFETY: `value` points to `size` readable bytes for the time of the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value.cast(), size) })?;
    Ok(())
}

/// Gives a socket its address.
pub fn bind(fd: BorrowedFd<'_>, addr: SocketAddr) -> io::Result<()> {
    let fd = fd.as_raw_fd();
    let result = match addr {
        SocketAddr::V4(addr) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: addr.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*addr.ip()).to_be() },
                sin_zero: [0; 8],
            };
            let size = mem::size_of_val(&raw) as libc::socklen_t;
            // SAFETY: `raw` is a complete address of `size` bytes that outlives the call.
            unsafe { libc::bind(fd, (&raw const raw).cast(), size) }
        }
        SocketAddr::V6(addr) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: addr.port().to_be(),
                sin6_flowinfo: addr.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: addr.ip().octets() },
                sin6_scope_id: addr.scope_id(),
            };
            let size = mem::size_of_val(&raw) as libc::socklen_t;
            // SAFETY: as above.
            unsafe { libc::bind(fd, (&raw const raw).cast(), size) }
        }
    };
    check(result).map(drop)
}

/// Starts to accept connections, at most `backlog` waiting (the kernel caps it at somaxconn).
pub fn listen(fd: BorrowedFd<'_>, backlog: u32) -> io::Result<()> {
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    // SAFETY: no memory is passed.
    check(unsafe { libc::listen(fd.as_raw_fd(), backlog) }).map(drop)
}

/// Takes one connection from the queue, without blocking.
pub fn accept(fd: BorrowedFd<'_>) -> io::Result<TcpStream> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let none = std::ptr::null_mut();
    // SAFETY: null for address and length means that the caller does not want them.
    let result = unsafe { libc::accept4(fd.as_raw_fd(), none, none.cast(), flags) };
    own(result).map(TcpStream::from)
}

/// What epoll reports for one descriptor.
pub type Event = libc::epoll_event;

/// Bytes, or the end, can be read.
pub const READABLE: u32 = libc::EPOLLIN as u32;
/// Bytes can be written again.
pub const WRITABLE: u32 = libc::EPOLLOUT as u32;
/// The other side has sent FIN.
pub const ENDED: u32 = libc::EPOLLRDHUP as u32;
/// The connection is dead.
pub const DEAD: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
/// Report a change once, not a state repeatedly.
pub const EDGE: u32 = libc::EPOLLET as u32;

/// A set of watched descriptors.
pub fn epoll() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

/// Whether a descriptor is new in the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// It is not yet watched.
    Add,
    /// It is watched for something else.
    Change,
}

/// Watches `fd` for `interest`; its events carry `token`.
pub fn watch(
    epoll: BorrowedFd<'_>,
    watch: Watch,
    fd: BorrowedFd<'_>,
    interest: u32,
    token: u64,
) -> io::Result<()> {
    let operation = match watch {
        Watch::Add => libc::EPOLL_CTL_ADD,
        Watch::Change => libc::EPOLL_CTL_MOD,
    };
    let mut event = Event { events: interest, u64: token };
    // SAFETY: `event` is a valid value that outlives the call; the kernel copies it.
    check(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), operation, fd.as_raw_fd(), &mut event) })?;
    Ok(())
}

/// Waits for events, for at most `timeout_ms`; -1 waits forever. Returns how many arrived.
pub fn wait_ms(epoll: BorrowedFd<'_>, events: &mut [Event], timeout_ms: i32) -> io::Result<usize> {
    let room = events.len() as libc::c_int;
    // SAFETY: `events` has room for `room` events, which the kernel fills from the front.
    let count = check(unsafe {
        libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), room, timeout_ms)
    })?;
    Ok(count as usize)
}

/// Waits for events, for at most `timeout_ns`. Needs Linux 5.11; older kernels return `ENOSYS`.
pub fn wait_ns(epoll: BorrowedFd<'_>, events: &mut [Event], timeout_ns: u64) -> io::Result<usize> {
    let room = events.len() as libc::c_int;
    let timeout = timespec(timeout_ns);
    let no_mask = std::ptr::null::<libc::sigset_t>();
    // SAFETY: `events` has room for `room` events, `timeout` outlives the call, and a null signal
    // mask of size zero leaves the mask alone.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            events.as_mut_ptr(),
            room,
            &raw const timeout,
            no_mask,
            0_usize,
        )
    };
    check(count as libc::c_int).map(|count| count as usize)
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// A descriptor that becomes readable when a thread writes eight bytes to it.
pub fn event_fd() -> io::Result<File> {
    // SAFETY: no memory is passed.
    own(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) }).map(File::from)
}

/// A descriptor that becomes readable at a set time.
pub fn timer_fd() -> io::Result<OwnedFd> {
    let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
    // SAFETY: no memory is passed.
    own(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })
}

/// Sets a timer to `in_ns` from now.
pub fn set_timer(timer: BorrowedFd<'_>, in_ns: u64) -> io::Result<()> {
    // Zero would switch the timer off.
    let value = libc::itimerspec { it_interval: timespec(0), it_value: timespec(in_ns.max(1)) };
    let no_old = std::ptr::null_mut();
    // SAFETY: `value` outlives the call; the old value is not asked for.
    check(unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &value, no_old) }).map(drop)
}

/// Lets the kernel round the timers of this thread by at most one nanosecond.
pub fn sharpen_timers() -> io::Result<()> {
    // SAFETY: this operation takes an integer and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) }).map(drop)
}

/// Pins this thread to one CPU.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: an all-zero set is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `cpu` was checked to lie inside the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` outlives the call and its size is given; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set), &set) }).map(drop)
}

/// Sets how many descriptors this process may open; `None` means the hard limit.
pub fn limit_fds(wanted: Option<u64>) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the result.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    limit.rlim_cur = wanted.unwrap_or(limit.rlim_max);
    if limit.rlim_cur > limit.rlim_max {
        limit.rlim_max = limit.rlim_cur;
    }
    // SAFETY: `limit` outlives the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }).map(drop)
}

/// The signals that end this program.
pub struct StopSignals {
    set: libc::sigset_t,
}

impl StopSignals {
    /// Blocks SIGTERM and SIGINT in this thread and in those it starts from now on.
    pub fn hold() -> io::Result<Self> {
        // SAFETY: an all-zero set is valid memory for `sigemptyset` to fill.
        let mut set: libc::sigset_t = unsafe { mem::zeroed() };
        // SAFETY: `set` is valid for all three calls, the signal numbers exist.
        unsafe {
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::sigaddset(&mut set, libc::SIGINT);
        }
        Self::mask(libc::SIG_BLOCK, &set)?;
        Ok(Self { set })
    }

    /// Waits for one of them. The next one has its usual effect again.
    pub fn wait(self) -> io::Result<()> {
        let mut signal = 0;
        // SAFETY: both places are valid for the time of the call.
        let error = unsafe { libc::sigwait(&self.set, &mut signal) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        Self::mask(libc::SIG_UNBLOCK, &self.set)
    }

    fn mask(how: libc::c_int, set: &libc::sigset_t) -> io::Result<()> {
        // SAFETY: `set` is initialised; the old mask is not asked for.
        let error = unsafe { libc::pthread_sigmask(how, set, std::ptr::null_mut()) };
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

/// Whether the kernel does not know a system call.
pub fn is_unknown_call(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOSYS)
}

/// Counts the allocations of a thread, for tests that must make none.
#[cfg(test)]
pub mod allocations {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    struct Counting;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    // SAFETY: every call is passed on to the allocator of the system unchanged.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            COUNT.set(COUNT.get() + 1);
            // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
            // SAFETY: as above; `place` came from `System`.
            unsafe { System.dealloc(place, layout) }
        }
    }

    /// How often `task` allocates in this thread.
    pub fn during(task: impl FnOnce()) -> u64 {
        let before = COUNT.get();
        task();
        COUNT.get() - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_where_they_are() {
        assert_eq!(find_byte(b'\n', b"one\ntwo\n"), Some(3));
        assert_eq!(find_byte(b'\n', b"one"), None);
        assert_eq!(find_byte(b'\n', b""), None);
    }

    #[test]
    fn clocks_go_forward() {
        let (wall, cpu) = (now_ns(), thread_cpu_ns());
        while thread_cpu_ns() < cpu + 100_000 {}
        assert!(now_ns() >= wall + 100_000);
        let usage = usage();
        assert!(usage.user_ns + usage.system_ns > 0);
    }

    #[test]
    fn a_cpu_that_cannot_exist_is_an_error() {
        assert!(pin_to(100_000).is_err());
    }
}
