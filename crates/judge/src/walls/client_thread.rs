//! C2: one worker thread of the generator is saturated while its host has CPU to spare.
//!
//! Signals: time each worker ran and waited for a CPU, busy share of the CPUs it may use.
//! Rule: a worker ran or waited for more than 95 % of the window while the CPUs it may use are less
//! than 90 % busy, or outnumber the workers and the worker ran for longer than it waited. Our
//! workers sleep when nothing is left to do, so one that never sleeps always had work queued; one
//! that mostly waits on full CPUs lacks a CPU, not a second thread. Over a ramp, 90 % is enough if
//! the rate no longer follows the load and the server is less than a quarter busy.
//! Mimics: C10 (receive work charged to the thread), C1 (all CPUs busy).
//! Confirm: the same load on twice the threads raises the rate by more than 15 %.
//! Source: Gregg, Thread State Analysis; Linux Documentation/scheduler/sched-stats.rst.
//! Name: one client thread
//! Reason: one thread of the generator is full
//! Fix: use more threads (-t)

use super::{Family, Seen, Test, client_neighbours};
use crate::case::{Case, HOT, WARM, Whose, percent};

/// A server that uses less of its CPUs is far from any CPU limit.
const IDLE: f64 = 0.25;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(hottest), Some(load)) = (case.hottest_worker(), case.worker_load()) else {
        return Test::Untested;
    };
    let allowed = case.client_cpus();
    let has_cpus_left = (case.trial.threads as usize) < allowed.len() && hottest.run >= load / 2.0;
    let has_spare_cpus =
        has_cpus_left || case.busy(Whose::Client, &allowed).is_none_or(|busy| busy < 0.90);
    let full = if is_alone(case) { WARM } else { HOT };
    if load < full || !has_spare_cpus || client_neighbours::is_seen(case) {
        return Test::NotSeen;
    }
    let mut seen = Seen::default()
        .with(
            Family::ThreadStates,
            "client",
            ("schedstat", ["client_threads"]),
            &format!("on-CPU share of {}", hottest.name),
            percent(hottest.run),
            &format!("with waiting over {:.0} %", full * 100.0),
        )
        .with(
            Family::QueueLocation,
            "client",
            ("schedstat", ["client_threads"]),
            &format!("share of the time {} slept: work was always queued", hottest.name),
            percent((1.0 - load).max(0.0)),
            &format!("under {:.0} %", (1.0 - full) * 100.0),
        );
    seen = seen.saying(format!(
        "one thread of the generator ({}) is always busy, and its host has CPU time left",
        hottest.name
    ));
    if load < HOT {
        seen.against.push("it rested now and then: something else may contribute".to_string());
    }
    if let Some(workers) = case.workers().filter(|workers| workers.len() > 1) {
        let calm = workers.iter().filter(|worker| worker.wanted() < 0.8).count();
        if calm > 0 {
            seen.against.push(format!("{calm} other workers have slack: are connections uneven?"));
        }
    }
    let threads = (case.trial.threads * 2).min(case.host.cpus_online.len() as u32);
    let step = if threads > case.trial.threads {
        format!("use more threads: -t {threads}")
    } else {
        "run the generator on a host with more CPUs".to_string()
    };
    Test::Seen(seen.fixed_by(step))
}

/// Whether the rate is flat over a ramp while the server does next to nothing.
fn is_alone(case: &Case<'_>) -> bool {
    let is_idle = case.server_utilisation().is_some_and(|share| share < IDLE);
    is_idle && case.server_has_slack() == Some(true) && case.still_grows() == Some(false)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.worker(0.98, 0.01),
        without: &[
            ("a worker that never sleeps", |scene| scene.fixture.worker(0.6, 0.01)),
            ("times of threads", |scene| scene.fixture.observed.client_threads = None),
        ],
    };

    #[test]
    fn one_hot_worker_on_an_idle_host_is_seen() {
        let mut fixture = Fixture::good();
        fixture.trial.threads = 1;
        fixture.worker(0.98, 0.01);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(
            seen.families() == 2 && seen.fix == Some("use more threads: -t 2".into()),
            "{seen:?}"
        );
        fixture.worker(0.80, 0.01);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn a_worker_that_waits_for_a_full_cpu_lacks_no_thread() {
        let mut fixture = Fixture::good();
        fixture.trial.threads = 1;
        fixture.worker(0.05, 0.92);
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.worker(0.60, 0.37);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C11");
        fixture.server_threads(&[(7, 0.95), (8, 0.35)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
    }

    #[test]
    fn nearly_hot_workers_are_seen_where_the_rate_is_flat_and_the_server_idle() {
        let mut fixture = Fixture::good();
        fixture.worker(0.92, 0.01);
        fixture.server_thread(0.05, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "one level");
        let test = |fixture: &Fixture, rate| {
            let lighter = Fixture::point(2, rate);
            let ramp = [&lighter, &fixture.point];
            super::test(&crate::case::Case { ramp: &ramp, ..fixture.case() })
        };
        let Test::Seen(seen) = test(&fixture, 990.0) else { panic!("not seen") };
        assert!(seen.against[0].contains("rested"), "{seen:?}");
        assert_eq!(test(&fixture, 260.0), Test::NotSeen, "the rate follows the load");
        fixture.server_thread(0.70, 0.0);
        assert_eq!(test(&fixture, 990.0), Test::NotSeen, "the server works too");
    }

    #[test]
    fn without_thread_readings_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.client_threads = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
