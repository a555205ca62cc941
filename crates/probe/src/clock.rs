//! The two clocks of the probe.

/// Monotonic time, nanoseconds: the clock behind `std::time::Instant`, which does not show its
/// number, so that readings and ticks can be laid on one axis.
pub fn monotonic_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the length of the call.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    // Both clocks exist on every Linux this compiles for, so failure is a programmer's error.
    assert_eq!(result, 0, "clock_gettime refused clock {clock}");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_forward() {
        let (wall, cpu) = (monotonic_ns(), thread_cpu_ns());
        let sum: u64 = std::hint::black_box((0..10_000u64).sum());
        assert!(sum > 0);
        assert!(monotonic_ns() > wall);
        assert!(thread_cpu_ns() > cpu);
    }
}
