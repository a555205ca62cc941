//! A server with N hands: at most N requests are served at a time, the others wait.
//!
//! First come, first served over all connections and threads. Because no request overtakes another,
//! its start and end follow at its arrival from earlier requests: it starts when it has arrived and
//! a hand is free. So the queue is one number per hand, and the capacity is exact: a late response
//! keeps no hand busy.
//!
//! Called once per request, behind a lock that all threads share. A server with a known capacity is
//! slow on purpose; without `--serve-at-once` there is no lock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};

/// The hands of all threads.
#[derive(Debug)]
pub struct Capacity {
    /// When each hand becomes free, earliest first.
    free_at_ns: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl Capacity {
    /// This many hands, all free.
    pub fn new(hands: usize) -> Arc<Self> {
        let free_at_ns = std::iter::repeat_n(Reverse(0), hands).collect();
        Arc::new(Self { free_at_ns: Mutex::new(free_at_ns) })
    }

    /// When a request that arrived at `arrival_ns` is done. `end_ns` returns the end of a service
    /// that starts at a given time.
    pub fn serve(&self, arrival_ns: u64, end_ns: impl FnOnce(u64) -> u64) -> u64 {
        let mut free_at_ns = self.free_at_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let soonest_ns = free_at_ns.pop().map_or(0, |Reverse(ns)| ns);
        let end_ns = end_ns(arrival_ns.max(soonest_ns));
        free_at_ns.push(Reverse(end_ns));
        end_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn ends(hands: usize, arrivals_ns: &[u64], service_ns: u64) -> Vec<u64> {
        let capacity = Capacity::new(hands);
        let serve = |&arrival_ns| capacity.serve(arrival_ns, |begin_ns| begin_ns + service_ns);
        arrivals_ns.iter().map(serve).collect()
    }

    #[test]
    fn a_free_hand_serves_at_once() {
        assert_eq!(ends(2, &[5, 6, 100], 20), [25, 26, 120]);
    }

    #[test]
    fn without_a_free_hand_a_request_waits_for_the_next() {
        assert_eq!(ends(2, &[0, 5, 6, 7, 8], 20), [20, 25, 40, 45, 60]);
    }

    #[test]
    fn eight_hands_of_20_ms_serve_400_a_second() {
        let last_ns = ends(8, &[0; 4_000], 20 * MS).into_iter().max();
        assert_eq!(last_ns, Some(10_000 * MS));
    }

    proptest! {
        /// The definition of a queue with N hands: never more than N requests are served at a time,
        /// and all hands are busy while a request waits.
        #[test]
        fn all_hands_work_and_no_more(
            hands in 1_usize..5,
            gaps in prop::collection::vec(0_u64..30, 1..60),
            services in prop::collection::vec(1_u64..50, 60),
        ) {
            let capacity = Capacity::new(hands);
            let mut arrival = 0;
            let mut served: Vec<(u64, u64, u64)> = Vec::new();
            for (gap, service) in gaps.iter().zip(&services) {
                arrival += gap;
                let end = capacity.serve(arrival, |begin| begin + service);
                served.push((arrival, end - service, end));
            }
            for (index, &(arrival, begin, _)) in served.iter().enumerate() {
                prop_assert!(begin >= arrival);
                let before = &served[..index];
                prop_assert!(before.iter().all(|other| other.1 <= begin), "no request overtakes");
                let busy = |at| before.iter().filter(|other| other.1 <= at && at < other.2).count();
                prop_assert!(busy(begin) < hands);
                prop_assert!(begin == arrival || busy(begin - 1) == hands, "no hand is idle");
            }
        }
    }
}
