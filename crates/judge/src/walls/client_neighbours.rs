//! C11: other processes use the generator's CPUs, and its workers wait for their turn.
//!
//! Signals: time of the workers on a CPU and waiting for one, CPU time on the generator's CPUs that
//! belongs to other processes: not to the generator, to interrupts, to the hypervisor or to a
//! server that runs there.
//! Rule: other processes used more than 15 % of the CPUs that the generator may use; its busiest
//! worker waited for a CPU for more than 25 % of the time in which it was runnable, so that it
//! could do a third more without the others; and that mattered: the worker was runnable for over
//! 90 % of the window or waited for over half of it, or the generator was late (C4). A generator
//! that is always runnable would be limited by its own CPUs or thread without the others (C1, C2),
//! which are named first. A throttled group waits for its quota (C1).
//! A worker that is only late limits nothing that a wall of the server shows: that is named first.
//! Mimics: C1 and C2 (a generator that has its CPUs and fills them), C4 (late for another reason),
//! S6 (the same others, on a server that shares these CPUs).
//! Confirm: stop or move the neighbour: the delay of the generator collapses.
//! Source: Linux Documentation/scheduler/sched-stats.rst; Gregg, The USE Method.
//! Name: a neighbour on the generator's CPUs
//! Reason: other processes use the generator's CPUs
//! Fix: stop other processes on the generator's host (top), or give it CPUs of its own (--cpus)

use super::{Family, Seen, Test, cpu_quota, late_generator};
use crate::case::{Case, SLACK, WARM, percent};
use model::wall::WallId;
use observe::ThreadShare;

/// Share of the generator's CPUs that others use.
const OTHERS_MIN: f64 = 0.15;
/// Share of its runnable time that its busiest worker waits for a CPU.
const WAITING_MIN: f64 = 1.0 - SLACK;

/// Share of the window that a worker waits for a CPU and with it every response.
const WAITS: f64 = 0.5;

pub fn test(case: &Case<'_>) -> Test {
    let is_server_unknown = case.server.is_none() && case.server_side().is_some();
    if !case.point.agents.is_empty() || is_server_unknown {
        // The readings are those of the controller, and each agent judges its own host. A server on
        // this host that was not watched would be one of the others.
        return Test::Untested;
    }
    let (Some(others), Some(worker)) = (case.client_neighbours(), case.hottest_worker()) else {
        return Test::Untested;
    };
    let waiting = worker.wait / worker.wanted().max(f64::MIN_POSITIVE);
    let is_throttled =
        cpu_quota::throttled(case.observed.client_quotas.as_deref(), "client").is_some();
    let is_late = || late_generator::limited(case) && explains_delay(case, worker);
    let matters = is_full(case) || worker.wait > WAITS || is_late();
    if others < OTHERS_MIN || waiting < WAITING_MIN || is_throttled || !matters {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::ThreadStates,
            "client",
            ("/proc/stat, schedstat", ["cpus", "client_threads"]),
            "share of the generator's CPUs that other processes used",
            percent(others),
            "over 15 %",
        )
        .with(
            Family::QueueLocation,
            "client",
            ("schedstat", ["client_threads"]),
            &format!("share of its runnable time that {} waited for a CPU", worker.name),
            percent(waiting),
            "over 25 %",
        );
    Test::Seen(seen.saying(format!(
        "other processes use {} of the generator's CPUs, and it spends {} of its time waiting for \
         one",
        percent(others),
        percent(waiting)
    )))
}

/// Whether the waits of its workers for a CPU can be half of the delay of all requests. A generator
/// that does not run for another reason (it is stopped, swapped, or its host is) is late for that.
fn explains_delay(case: &Case<'_>, worker: &ThreadShare) -> bool {
    let delay = case.point.generator_delay_ns.as_ref();
    let Some((mean, longest, count)) =
        delay.and_then(|delay| Some((delay.mean?, delay.max?, delay.count)))
    else {
        return true;
    };
    let workers = f64::from(case.trial.threads.max(1));
    let (window_s, all) = (case.window_s().max(f64::MIN_POSITIVE), count as f64);
    let delayed_s = mean as f64 / 1e9 * all;
    let due_in_wait = all / window_s / workers * longest as f64 / 1e9 / 2.0;
    worker.wait * window_s * workers * (1.0 + due_in_wait) >= delayed_s / 2.0
}

/// Whether other processes are what the generator waits for: it is then neither full nor late of
/// itself.
pub(super) fn is_seen(case: &Case<'_>) -> bool {
    matches!(test(case), Test::Seen(_))
}

/// What would limit the generator without the others: its one thread where it may use more CPUs
/// than it has threads, else its CPUs.
pub(crate) fn alone(case: &Case<'_>) -> (WallId, Seen) {
    let is_one = (case.trial.threads as usize) < case.client_cpus().len();
    (if is_one { WallId::C2 } else { WallId::C1 }, Seen::default())
}

/// Whether its busiest worker always had work: not only its punctuality suffers, but what it can
/// send.
pub(crate) fn is_full(case: &Case<'_>) -> bool {
    case.worker_load().is_some_and(|load| load >= WARM)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::histogram::Summary;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.trial.cpus = vec![1];
            scene.fixture.worker(0.40, 0.58);
            scene.fixture.cpu(1, 0.99);
        },
        without: &[
            ("others on its CPUs", |scene| scene.fixture.cpu(1, 0.45)),
            ("a worker that waits", |scene| scene.fixture.worker(0.97, 0.02)),
            ("work for it", |scene| scene.fixture.worker(0.05, 0.04)),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    };

    #[test]
    fn a_generator_that_waits_for_others_is_not_a_generator_that_is_full() {
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![1];
        fixture.trial.threads = 1;
        fixture.worker(0.40, 0.58);
        fixture.cpu(1, 0.99);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.throttle_client(0.9, 0.7);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C1: it waits for its quota");
        fixture.throttle_client(0.0, 0.0);
        fixture.worker(0.15, 0.60);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "most of the time it waits");
        fixture.worker(0.15, 0.40);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it rests, and is not late");
        fixture.worker(0.97, 0.02);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C1: the CPU is its own");
        fixture.worker(0.40, 0.58);
        fixture.observed.client_threads = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }

    /// 1,000 requests in 1 s by one worker; it waits 5 % of that. With a longest delay of 40 ms, 20
    /// fall due in half of a wait, so that the waits explain at most 1.05 s of delay.
    #[test]
    fn a_generator_that_is_stopped_beside_others_is_late_for_the_stops() {
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![1];
        fixture.trial.threads = 1;
        fixture.worker(0.10, 0.05);
        let ms = 1_000_000;
        fixture.point.window_ns = (0, 1_000 * ms);
        let late = |mean_ns| {
            let of = Summary { count: 1_000, max: Some(40 * ms), ..Summary::default() };
            Some(Summary { mean: Some(mean_ns), ..of })
        };
        fixture.point.generator_delay_ns = late(2 * ms);
        let explained = |fixture: &Fixture| {
            let case = fixture.case();
            super::explains_delay(&case, case.hottest_worker().unwrap())
        };
        assert!(explained(&fixture), "2 s of delay: half of it");
        fixture.point.generator_delay_ns = late(3 * ms);
        assert!(!explained(&fixture), "3 s: something else stops it");
        fixture.point.generator_delay_ns = None;
        assert!(explained(&fixture), "nothing is planned");
        // The rule as a whole: late in open loop, for a median that a punctual one halves.
        fixture.cpu(1, 0.99);
        let point = &mut fixture.point;
        point.load.model = model::load::LoadModel::Open;
        point.latency_punctual_ns = Some(Summary { p50: Some(0), ..Summary::default() });
        point.requests.planned = Some(point.requests.sent);
        point.requests.unsent = point.requests.sent / 10;
        fixture.point.generator_delay_ns = late(2 * ms);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "C11");
        fixture.point.generator_delay_ns = late(3 * ms);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C4");
    }

    #[test]
    fn the_server_on_shared_cpus_is_no_other_process() {
        let mut fixture = Fixture::good();
        fixture.trial.cpus = vec![0, 1];
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0, 1];
        fixture.worker(0.40, 0.58);
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        fixture.server_threads(&[(7, 0.9), (8, 0.6)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.server_threads(&[(7, 0.3)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
    }
}
