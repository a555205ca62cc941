//! S6: other processes use the server's CPUs, and its threads wait for their turn.
//!
//! Signals: time of the server's threads on a CPU and waiting for one, CPU time on its CPUs that
//! belongs to other processes: not to the server, to interrupts or to the generator (also if the
//! generator runs in another namespace of the same machine).
//! Rule: other processes used more than 15 % of the server's CPUs; its threads waited for a CPU for
//! more than 25 % of the time in which they were runnable, so that they could do a third more
//! without the others; and they were always runnable: one thread for over 95 % of the window, or
//! all together for over 90 % of the time of those CPUs. The server itself may look half idle.
//! Neighbours delay a server that needs little CPU, but do not limit it; a server whose threads
//! take turns at a lock has the CPU it can use (A1). Threads of a throttled group wait for their
//! quota: that is S3.
//! A server that always wants its CPUs would be limited by them without the others (S1, S2, S4):
//! that is named first, and the neighbour together with it.
//! Mimics: S1 (its own threads wait for each other), C1 (the generator on the same CPUs), K4 (work
//! for packets), S5 (time taken by the hypervisor).
//! Confirm: stop or move the neighbour, or give the server more weight (cpu.shares): the rate
//! rises.
//! Source: Linux Documentation/scheduler/sched-stats.rst; Gregg, The USE Method.
//! Name: a neighbour on the server's CPUs
//! Reason: other processes use the server's CPUs
//! Fix: stop or move other processes on the server's CPUs (top), and repeat

use super::{Family, Seen, Test, application_lock, cpu_quota};
use crate::case::{Case, HOT, SLACK, percent};
use observe::ThreadShare;

/// Share of the server's CPUs that others use.
const OTHERS_MIN: f64 = 0.15;
/// Share of their runnable time that its threads wait for a CPU.
const WAITING_MIN: f64 = 1.0 - SLACK;
/// Share of the CPUs' time for which its threads must be runnable, all together.
const WANTED_MIN: f64 = 0.90;

pub fn test(case: &Case<'_>) -> Test {
    let Some(crowd) = Crowd::of(case) else { return Test::Untested };
    if !crowd.takes_part(case) || crowd.waiting < WAITING_MIN {
        return Test::NotSeen;
    }
    let seen = super::waiting::with_unread(case, crowd.seen());
    Test::Seen(seen.next("give the server's group more weight (cpu.shares, cpu.weight)"))
}

/// The evidence that other processes take part of the CPUs that the server always wants, also where
/// its threads wait little for their turn.
pub(crate) fn beside(case: &Case<'_>) -> Option<Seen> {
    Crowd::of(case).filter(|crowd| crowd.takes_part(case)).map(|crowd| crowd.seen())
}

/// The server's CPUs with others on them.
struct Crowd {
    /// Share of the time of those CPUs that others used.
    others: f64,
    /// Share of their runnable time that the server's threads waited for a CPU.
    waiting: f64,
    /// Their runnable time over the time of those CPUs.
    wanted: f64,
    /// Share of the window in which the busiest of them was runnable.
    hottest: f64,
}

impl Crowd {
    /// Nothing if it was not read.
    fn of(case: &Case<'_>) -> Option<Self> {
        let (others, cpus) = (case.neighbours()?, case.server_cpus()?);
        let threads = case.far().server_threads.as_ref()?;
        let run: f64 = threads.iter().map(|thread| thread.run).sum();
        let wait: f64 = threads.iter().map(|thread| thread.wait).sum();
        Some(Self {
            others,
            waiting: wait / (run + wait).max(f64::MIN_POSITIVE),
            wanted: (run + wait) / cpus.len().max(1) as f64,
            hottest: case.hottest_server_thread().map_or(0.0, ThreadShare::wanted),
        })
    }

    /// Whether the server would use what the others take.
    fn takes_part(&self, case: &Case<'_>) -> bool {
        let quotas = case.far().server_quotas.as_deref();
        let has_its_time = cpu_quota::throttled(quotas, "server").is_some()
            || application_lock::by_turns(case).is_some();
        let wants_all = self.wanted >= WANTED_MIN || self.hottest >= HOT;
        self.others >= OTHERS_MIN && wants_all && !has_its_time
    }

    fn seen(&self) -> Seen {
        let sentence = format!("other processes use {} of the server's CPUs", percent(self.others));
        Seen::default()
            .saying(sentence)
            .with(
                Family::ThreadStates,
                "server",
                ("/proc/stat, schedstat", ["cpus", "server_threads"]),
                "of its CPUs' time others used; its threads wanted",
                format!("{}; {}", percent(self.others), percent(self.wanted)),
                "over 15 %; over 90 %, or one thread always runnable",
            )
            .with(
                Family::QueueLocation,
                "server",
                ("schedstat", ["server_threads"]),
                "share of their runnable time that its threads waited for a CPU",
                percent(self.waiting),
                "over 25 %",
            )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::facts::ClockOffset;
    use model::reading::CpuShares;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
            scene.fixture.trial.cpus = vec![1];
            scene.fixture.cpu(0, 0.99);
            scene.fixture.server_thread(0.50, 0.49);
        },
        without: &[
            ("others on its CPU", |scene| scene.fixture.cpu(0, 0.52)),
            ("threads that wait", |scene| scene.fixture.server_thread(0.50, 0.02)),
            ("times of threads", |scene| scene.fixture.observed.server_threads = None),
        ],
    };

    #[test]
    fn a_neighbour_on_the_servers_only_cpu_is_seen() {
        let mut fixture = Fixture::good();
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.trial.cpus = vec![1];
        fixture.cpu(0, 0.99);
        fixture.server_thread(0.50, 0.49);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.throttle_server(0, 0.9, 0.4);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S3: they wait for their quota");
        fixture.throttle_server(0, 0.0, 0.0);
        fixture.server_thread(0.97, 0.02);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S1: the CPU is its own");
        fixture.server_thread(0.50, 0.02);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it did not wait");
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0, 1];
        fixture.server_thread(0.96, 0.02);
        fixture.cpu(1, 0.80);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S2: the other CPU is theirs");
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.trial.cpus = vec![0];
        fixture.server_thread(0.50, 0.49);
        fixture.worker(0.48, 0.4);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C1: it is the generator");
        fixture.apart();
        let at = |offset_ns| ClockOffset { offset_ns, error_ns: 50_000, round_trips: 9 };
        let test = |clock: &ClockOffset| {
            super::test(&crate::case::Case { clock: Some(clock), ..fixture.case() })
        };
        assert_eq!(test(&at(20_000)), Test::NotSeen, "C1: another namespace of one machine");
        assert!(matches!(test(&at(9_000_000)), Test::Seen(_)), "another machine");
    }

    #[test]
    fn a_server_that_wants_little_is_delayed_and_not_limited() {
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        fixture.server_thread(0.05, 0.15);
        assert_eq!(
            super::test(&fixture.case()),
            Test::NotSeen,
            "it needs little CPU: A2, for example"
        );
    }

    #[test]
    fn time_that_the_hypervisor_takes_is_no_neighbours() {
        let mut fixture = Fixture::good();
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.trial.cpus = vec![1];
        fixture.server_thread(0.50, 0.49);
        for share in fixture.observed.cpus.iter_mut().flatten() {
            share.shares = CpuShares { user: 0.5, steal: 0.5, ..CpuShares::default() };
        }
        assert_eq!(fixture.case().neighbours(), Some(0.0));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn an_unwatched_server_leaves_it_untested() {
        let mut fixture = Fixture::good();
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
