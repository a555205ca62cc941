//! The longest that a thread sleeps on a futex: runtimes make it sleep for a time this way.
//!
//! In: the arguments of its call (`futex(2)`) and the memory of its process, where the time-out is.
//! Out: what is left of it; all of it where it was given as a duration. The kernel keeps no other
//! account of it.
//! Never: a time-out that could not be read. A process in another time namespace has another clock,
//! and what is left by ours can be wrong or nothing.

use host::clock;
use model::units::{NS_PER_MS, NS_PER_S};
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
    Some(timespec_ns(memory, address)?.saturating_sub(now_ns))
}

/// A `struct timespec` in the memory of a process.
fn timespec_ns(memory: &File, address: u64) -> Option<u64> {
    let mut timespec = [0; 16];
    memory.read_exact_at(&mut timespec, address).ok()?;
    let (seconds, ns) = timespec.split_at(8);
    let seconds = u64::from_ne_bytes(seconds.try_into().ok()?);
    let ns = u64::from_ne_bytes(ns.try_into().ok()?);
    seconds.checked_mul(NS_PER_S)?.checked_add(ns)
}

/// The time-out of a `ppoll(2)`: the address of a duration. Nothing for one without end.
pub(super) fn duration_ns(memory: &File, address: u64) -> Option<u64> {
    (address != 0).then(|| timespec_ns(memory, address)).flatten()
}

/// The time-out of a `poll(2)`: the register has a 32-bit number of milliseconds, and a negative
/// one is without end.
pub(super) fn of_ms(argument: u64) -> Option<u64> {
    let ms = u64::try_from(argument as u32 as i32).ok()?;
    ms.checked_mul(NS_PER_MS)
}

/// The descriptors in an array of `struct pollfd`; negative ones are ignored, as by the kernel.
pub(super) fn polled(memory: &File, address: u64, count: u64) -> Option<Vec<u64>> {
    let entry = |number: u64| {
        let mut descriptor = [0; 4];
        let at = address.checked_add(number * size_of::<libc::pollfd>() as u64)?;
        memory.read_exact_at(&mut descriptor, at).ok()?;
        Some(i32::from_ne_bytes(descriptor))
    };
    let all: Option<Vec<i32>> = (0..count).map(entry).collect();
    Some(all?.into_iter().filter_map(|descriptor| u64::try_from(descriptor).ok()).collect())
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
