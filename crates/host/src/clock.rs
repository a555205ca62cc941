//! Clocks: monotonic for readings and ticks, since the boot for deadlines, since 1970 for people.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Monotonic time, nanoseconds: the clock behind `std::time::Instant`, which does not expose its
/// number. It puts readings and ticks on one axis.
pub fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// Unix time, nanoseconds: the wall clock, which may be set at any time.
pub fn wall_ns() -> i64 {
    i64::try_from(ns(clock_gettime(ClockId::Realtime))).unwrap_or(i64::MAX)
}

/// CPU time of the calling thread, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// Milliseconds since the boot, including those in which the host slept.
pub fn boot_ms() -> u64 {
    ns(clock_gettime(ClockId::Boottime)) / 1_000_000
}

/// Milliseconds since 1970.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

fn ns(time: Timespec) -> u64 {
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
