//! S5: the hypervisor takes the time of the server's CPUs, which have none left.
//!
//! Signals: the states of the server's CPUs, as its own kernel counts them.
//! Rule: of the time of its CPUs the hypervisor took at least 25 %, so that the server could do a
//! third more without that, and at most 10 % was idle.
//! Mimics: S6 (other processes of the same host), S3 (a quota of its own group), S1 (its own
//! threads use all of it).
//! Confirm: the same server on dedicated CPUs; the rate rises as the share that was taken falls.
//! Source: Linux Documentation/filesystems/proc.rst (steal), man 5 proc_stat.
//! Name: CPU taken by the hypervisor
//! Reason: the hypervisor takes CPU time from the server's host
//! Fix: use dedicated CPUs, or a quieter host

use super::{Family, Seen, Test};
use crate::case::{Case, Whose, percent};
use crate::stats;
use observe::CpuShare;

/// Share of the CPUs' time that the hypervisor takes.
const TAKEN_MIN: f64 = 0.25;
/// Share of it that may be idle.
const IDLE_MAX: f64 = 0.10;

pub fn test(case: &Case<'_>) -> Test {
    let shares = case.server_cpus().and_then(|cpus| case.cpus(Whose::Server, &cpus));
    let Some(shares) = shares else { return Test::Untested };
    let mean = |of: fn(&CpuShare) -> f64| {
        stats::mean(&shares.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let (taken, busy) = (mean(|cpu| cpu.shares.steal), mean(CpuShare::busy));
    if taken < TAKEN_MIN || busy < 1.0 - IDLE_MAX {
        return Test::NotSeen;
    }
    let seen = Seen::default().with(
        Family::HardCounter,
        "server",
        ("/proc/stat", ["cpus"]),
        "of its CPUs' time the hypervisor took; in use altogether",
        format!("{}; {}", percent(taken), percent(busy)),
        "over 25 %; over 90 %",
    );
    let seen = seen.saying(format!(
        "the hypervisor takes {} of the time of the server's CPUs",
        percent(taken)
    ));
    Test::Seen(super::with_unread(case, seen))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::reading::CpuShares;

    fn taken(fixture: &mut Fixture, user: f64, steal: f64) {
        for share in fixture.observed.cpus.iter_mut().flatten() {
            let idle = 1.0 - user - steal;
            share.shares = CpuShares { user, steal, idle, ..CpuShares::default() };
        }
    }

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            taken(&mut scene.fixture, 0.6, 0.38);
            scene.fixture.server_thread(0.6, 0.0);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("time that is taken", |scene| taken(&mut scene.fixture, 0.97, 0.01)),
            ("full CPUs", |scene| taken(&mut scene.fixture, 0.3, 0.38)),
        ],
    };

    #[test]
    fn time_that_is_taken_matters_where_none_is_left() {
        let mut fixture = Fixture::good();
        for (user, steal, is_seen) in
            [(0.6, 0.35, true), (0.75, 0.2, false), (0.3, 0.35, false), (0.95, 0.0, false)]
        {
            taken(&mut fixture, user, steal);
            let test = super::test(&fixture.case());
            assert_eq!(matches!(test, Test::Seen(_)), is_seen, "{user} {steal}");
        }
        fixture.observed.cpus = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
