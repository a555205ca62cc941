//! Threads that must stay out of the way of a measurement on the same host.

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The lowest priority.
const NICE: i32 = 19;

/// Makes the calling thread yield to everything else on this host: the lowest priority, and other
/// CPUs than those in `taken`, where there are any. Where the host forbids it, nothing changes.
pub fn stand_back(taken: &[usize]) {
    let _ = setpriority_process(None, NICE);
    let Ok(allowed) = sched_getaffinity(None) else { return };
    if let Some(rest) = without(&allowed, taken) {
        let _ = sched_setaffinity(None, &rest);
    }
}

/// What is left of a set; nothing when that is empty or the whole set.
fn without(allowed: &CpuSet, taken: &[usize]) -> Option<CpuSet> {
    let mut rest = CpuSet::new();
    let left = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu) && !taken.contains(cpu));
    left.for_each(|cpu| rest.set(cpu));
    (rest.count() > 0 && rest.count() < allowed.count()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_others_are_left_to_them_while_there_are_more() {
        let mut allowed = CpuSet::new();
        [1, 2, 5].into_iter().for_each(|cpu| allowed.set(cpu));
        let rest = without(&allowed, &[2, 7]).expect("two are left");
        assert!(rest.is_set(1) && rest.is_set(5) && rest.count() == 2);
        assert!(without(&allowed, &[]).is_none(), "nothing is taken");
        assert!(without(&allowed, &[1, 2, 5]).is_none(), "nothing is left");
    }
}
