//! The longest that a thread sleeps on a futex: runtimes make it sleep for a time this way.
//!
//! In: the arguments of its call (`futex(2)`) and the memory of its process, where the time-out is.
//! Out: what is left of it; all of it where it was given as a duration. The kernel keeps no other
//! account of it.
//! Never: a time-out that could not be read. A process in another time namespace has another clock,
//! and what is left by ours can be wrong or nothing.

use host::clock;
use model::units::NS_PER_S;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Flags beside the operation: private to a process, and by the wall clock.
const FUTEX_CLOCK_REALTIME: u64 = 256;
const FLAGS: u64 = 128 | FUTEX_CLOCK_REALTIME;
/// Waits for a duration.
const FUTEX_WAIT: u64 = 0;
/// Waits until an instant.
const FUTEX_WAIT_BITSET: u64 = 9;

/// What is left of the time-out at `address` in the memory of a process, nanoseconds; nothing for a
/// sleep without end.
pub(super) fn left_ns(memory: &File, operation: u64, address: u64) -> Option<u64> {
    let now_ns = match operation & !FLAGS {
        FUTEX_WAIT => 0,
        FUTEX_WAIT_BITSET if operation & FUTEX_CLOCK_REALTIME != 0 => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
            u64::try_from(now.as_nanos()).ok()?
        }
        FUTEX_WAIT_BITSET => clock::monotonic_ns(),
        _ => return None,
    };
    if address == 0 {
        return None;
    }
    let mut timespec = [0; 16];
    memory.read_exact_at(&mut timespec, address).ok()?;
    let (seconds, ns) = timespec.split_at(8);
    let seconds = u64::from_ne_bytes(seconds.try_into().ok()?);
    let ns = u64::from_ne_bytes(ns.try_into().ok()?);
    let whole_ns = seconds.checked_mul(NS_PER_S)?.checked_add(ns)?;
    Some(whole_ns.saturating_sub(now_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_and_an_instant_are_read_from_memory() {
        let memory = File::open("/proc/self/mem").unwrap();
        let left =
            |operation, timespec: &[u64; 2]| left_ns(&memory, operation, timespec.as_ptr() as u64);
        assert_eq!(left(128, &[2, 5]), Some(2_000_000_005));
        let later_s = clock::monotonic_ns() / NS_PER_S + 3600;
        let hour = left(FUTEX_WAIT_BITSET | 128, &[later_s, 0]).unwrap();
        assert!(hour > 1800 * NS_PER_S && hour <= 3600 * NS_PER_S, "{hour}");
        assert_eq!(left(FUTEX_WAIT_BITSET, &[0, 1]), Some(0), "it is over");
        assert!(left(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, &[later_s, 0]) == Some(0));
        assert_eq!(left(6, &[2, 5]), None, "another operation");
        assert_eq!(left_ns(&memory, 0, 0), None, "without end");
    }
}
