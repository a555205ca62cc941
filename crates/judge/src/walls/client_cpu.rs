//! C1: all CPUs the generator may use are busy, or its control group is throttled.
//!
//! Signals: throttling of the generator's control groups, busy share of the CPUs it may use, time
//! its workers ran and waited for a CPU.
//! Rule: a control group of the generator was throttled in more than half of its periods and for
//! more than 5 % of the time. Or the CPUs that the generator may use are over 90 % busy on average,
//! and either as many workers as CPUs never slept, or a worker waited for a CPU most of the time.
//! Our workers sleep as soon as nothing is left to do, so one that never sleeps always had work
//! queued.
//! Mimics: neighbours on the same CPUs (C11: looked at here); S1 when server and client share them.
//! Confirm: a second client host at the same load raises the rate by more than 15 %.
//! Source: Gregg, The USE Method; Linux Documentation/scheduler/sched-bwc.rst.
//! Name: client CPUs
//! Reason: the generator's CPUs are full
//! Fix: give the generator more CPUs (--cpus, -t), a second host, or cheaper requests

use super::{Family, Seen, Test, client_neighbours};
use crate::case::{Case, HOT, WARM, Whose, percent};

/// A worker that waits for a CPU most of the time is held up by other processes, even if it rests a
/// little.
const WAITS: f64 = 0.5;

pub fn test(case: &Case<'_>) -> Test {
    if !case.point.agents.is_empty() {
        // The readings are those of the controller. Each agent judges its own host.
        return Test::Untested;
    }
    if let Some(seen) =
        super::cpu_quota::throttled(case.observed.client_quotas.as_deref(), "client")
    {
        return Test::Seen(seen.fixed_by(
            "raise the CPU quota of the generator's group, or run it outside that group",
        ));
    }
    let allowed = case.client_cpus();
    let (Some(busy), Some(load)) = (case.busy(Whose::Client, &allowed), case.worker_load()) else {
        return Test::Untested;
    };
    let waits = case.hottest_worker().is_some_and(|worker| worker.wait > WAITS);
    let covers_cpus = case.trial.threads as usize >= allowed.len();
    let full = if waits { WARM } else { HOT };
    if busy < 0.90 || load < full || !(covers_cpus || waits) || client_neighbours::is_seen(case) {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::ThreadStates,
            "client",
            ("/proc/stat", ["cpus"]),
            "busy share of the CPUs the generator may use",
            percent(busy),
            "over 90 %",
        )
        .with(
            Family::QueueLocation,
            "client",
            ("schedstat", ["client_threads"]),
            match case.is_reported() {
                true => "time its busiest thread, or all threads per CPU, ran or waited",
                false => "time the busiest worker ran or waited for a CPU: it never slept",
            },
            percent(load),
            &format!("over {:.0} %", full * 100.0),
        );
    Test::Seen(
        seen.saying(format!(
            "the generator's CPUs are full: {} of their time is used",
            percent(busy)
        )),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::fleet::AgentPoint;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.trial.cpus = vec![1];
            scene.fixture.worker(0.97, 0.02);
            scene.fixture.cpu(1, 0.99);
        },
        without: &[
            ("a busy CPU", |scene| scene.fixture.cpu(1, 0.60)),
            ("a worker that never sleeps", |scene| scene.fixture.worker(0.6, 0.02)),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    };

    #[test]
    fn busy_cpus_and_a_worker_that_never_sleeps_are_seen() {
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![1];
        fixture.trial.threads = 1;
        fixture.worker(0.97, 0.02);
        fixture.cpu(1, 0.99);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.cpu(1, 0.60);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "an idle CPU");
        fixture.cpu(1, 0.99);
        fixture.worker(0.60, 0.02);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a worker that sleeps");
    }

    #[test]
    fn one_worker_that_waits_most_of_the_time_on_full_cpus_is_seen() {
        let mut fixture = Fixture::good();
        fixture.trial.threads = 1;
        fixture.worker(0.05, 0.90);
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C11: they are not the server's");
        fixture.server_threads(&[(7, 0.95), (8, 0.90)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.cpu(0, 0.30);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "an idle CPU");
    }

    #[test]
    fn a_throttled_generator_is_seen_although_its_host_is_idle() {
        let mut fixture = Fixture::good();
        fixture.throttle_client(0.9, 0.7);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
    }

    #[test]
    fn the_cpus_of_a_controller_are_not_those_of_its_agents() {
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        fixture.trial.threads = 2;
        fixture.throttle_client(0.9, 0.7);
        let busy = AgentPoint { worker_busy: Some(0.99), ..AgentPoint::default() };
        fixture.point.agents = vec![busy];
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }

    #[test]
    fn without_readings_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.cpus = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
