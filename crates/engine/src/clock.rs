//! The one clock of the data plane: CLOCK_MONOTONIC in nanoseconds.
//!
//! It cannot be stepped, it is the same on every CPU, and reading it is a function call into the
//! vDSO, not a system call.

#![allow(unsafe_code, reason = "the cycle counter")]

/// Monotonic time now, nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling process so far, all threads, nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[inline]
fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call, and these clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// User and kernel CPU time of the calling thread so far, nanoseconds. The split is sampled by
/// the kernel, the sum is exact.
pub fn thread_cpu_ns() -> (u64, u64) {
    // SAFETY: all-zero bytes are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

/// Sleeps for a fixed time. Only for pauses that a job asks for; all other waits are the driver's.
pub fn pause_ns(duration_ns: u64) {
    let duration = libc::timespec {
        tv_sec: (duration_ns / 1_000_000_000) as _,
        tv_nsec: (duration_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `duration` outlives the call, and no remainder is requested.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &duration, std::ptr::null_mut()) };
}

/// Makes the calling thread's sleeps end on time instead of up to 50 us late (prctl(2)).
pub fn sleep_precisely() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
