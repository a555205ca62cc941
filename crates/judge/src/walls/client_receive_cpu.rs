//! C10: one CPU of the generator takes in the packets of all connections, and it is full.
//!
//! Signals: softirq share of each CPU of the generator's host, packets taken in by each CPU.
//! Rule: as for K4: one CPU is busy over 95 % of the time, over 80 % of it in softirq, and the
//! other CPUs spend less than half as much in softirq on average; and it takes in over half of the
//! packets of the host. Where the server runs under the same kernel in another network namespace,
//! only a CPU on which the generator runs and the server does not; on one host with it, all packets
//! are the server's as well (K4). Kernel threads that take in packets (threaded NAPI) hide it.
//! Mimics: C1 and C2 (a thread that takes in packets itself is charged for it), C4 (a worker that
//! shares that CPU is late; looked at after this), one or few connections, whose packets belong to
//! one queue.
//! Confirm: spread the work (RPS, more queues) or use more connections or a second client host: the
//! rate rises.
//! Source: Linux networking/scaling.rst, networking/napi.rst.
//! Name: client receive softirq
//! Reason: one CPU of the generator takes in most packets
//! Fix: spread receive work over its CPUs: more queues (ethtool -L), or RPS (rps_cpus)

use super::Test;
use super::receive_cpu::{Found, MOST, full_of_softirq, is_the_generators};
use crate::case::{Case, Whose};

pub fn test(case: &Case<'_>) -> Test {
    if case.is_one_host() {
        return Test::NotSeen;
    }
    let found = full_of_softirq(case, Whose::Client, case.host, case.observed);
    let Found::Cpu(full) = found else { return found.test(case.host) };
    if case.is_one_kernel() && !is_the_generators(case, full.cpu) {
        return Test::NotSeen;
    }
    match full.taken_in {
        None => return Test::Untested,
        Some(share) if share < MOST => return Test::NotSeen,
        Some(_) => {}
    }
    let seen = full.seen("client", "the generator's host");
    Test::Seen(seen.next("use more connections, so that they spread over more queues"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::case::Case;
    use crate::fixture::Fixture;
    use crate::walls::evidence_tests::Signs;
    use crate::walls::{Test, receive_cpu};
    use model::facts::ClockOffset;

    pub const SIGNS: Signs = Signs {
        shown: |scene| full(&mut scene.fixture),
        without: &[
            ("a CPU full of interrupts", |scene| {
                let cpus = scene.fixture.far().cpus.clone();
                scene.fixture.observed.cpus = cpus;
            }),
            ("packets on one CPU", |scene| scene.fixture.observed.softnet = None),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    };

    /// A generator on a host of its own, whose CPU 0 is full of packets.
    fn full(fixture: &mut Fixture) {
        fixture.apart();
        let far = fixture.observed.far.take();
        fixture.softirq(0, 0.90, 0.08);
        fixture.softnet(&[(90_000, 0), (5_000, 0)]);
        fixture.observed.far = far;
    }

    #[test]
    fn one_cpu_full_of_softirq_is_seen() {
        let mut fixture = Fixture::good();
        full(&mut fixture);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2, "{seen:?}");
        let of_server = receive_cpu::test(&fixture.case());
        assert_eq!(of_server, Test::NotSeen, "not the server's");
        fixture.observed.far = None;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "on one host it is K4");
        fixture.observed.cpus = None;
        fixture.apart();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }

    #[test]
    fn under_one_kernel_the_cpu_tells_whose_packets_they_are() {
        let mut fixture = Fixture::good();
        fixture.softirq(0, 0.90, 0.08);
        fixture.softnet(&[(90_000, 0), (5_000, 0)]);
        fixture.apart();
        let clock = ClockOffset { offset_ns: 0, error_ns: 0, round_trips: 1 };
        let both = |fixture: &Fixture| {
            let case = Case { clock: Some(&clock), ..fixture.case() };
            let is_seen = |test| matches!(test, Test::Seen(_));
            (is_seen(super::test(&case)), is_seen(receive_cpu::test(&case)))
        };
        assert_eq!(both(&fixture), (false, true), "both may run there");
        fixture.trial.cpus = vec![0];
        fixture.server.as_mut().unwrap().cpus_allowed = vec![1];
        assert_eq!(both(&fixture), (true, false));
        fixture.trial.cpus = vec![1];
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        assert_eq!(both(&fixture), (false, true));
    }
}
