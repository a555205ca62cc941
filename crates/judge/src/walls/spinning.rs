//! S7: the server burns CPU time waiting for itself, in spinning locks of the kernel or its own.
//!
//! Signals: CPU time per request at rising load, the rate of the ramp, busy share of the server's
//! CPUs.
//! Rule: over a ramp, a request costs the server over 30 % more CPU time than at a quarter of the
//! load, while the rate no longer follows the load and the CPUs it may use are busy over 85 %,
//! mostly with the server itself.
//! Mimics: S1 (a request costs the same or less as load rises), S8 (CPUs that wait for memory burn
//! time too: a profile tells), S6 (a neighbour spoils caches).
//! Confirm: fewer CPUs for the server give the same rate, or more.
//! Source: Gunther, Guerrilla Capacity Planning (coherency); Linux Documentation/locking/.
//! Name: kernel or user spin
//! Reason: the server's CPUs spin: more work on them brings no higher rate
//! Fix: let it use fewer CPUs, or find what spins (perf top)

use super::{Family, Seen, Test};
use crate::case::{Case, Whose, percent};
use model::run::Point;

/// Cost per request here over the cost at a quarter of the load.
const GROWTH_MIN: f64 = 1.30;
const BUSY_MIN: f64 = 0.85;
/// Share of the busy time that must be the server's own: beside other processes a request also
/// costs more.
const OWN_MIN: f64 = 0.5;

pub fn test(case: &Case<'_>) -> Test {
    let cost_us = |point: &Point| point.cpu.server_us_per_request.filter(|cost| *cost > 0.0);
    let is_quarter = |point: &&&Point| point.load_size() * 4 <= case.point.load_size();
    let lighter = case.ramp.iter().filter(is_quarter).max_by_key(|point| point.load_size());
    let (Some(lighter), Some(here_us)) = (lighter, cost_us(case.point)) else {
        return Test::Untested;
    };
    let (Some(lighter_us), Some(grows), Some(cpus)) =
        (cost_us(lighter), case.still_grows(), case.server_cpus())
    else {
        return Test::Untested;
    };
    let Some(busy) = case.busy(Whose::Server, &cpus) else { return Test::Untested };
    let growth = here_us / lighter_us;
    let own = case.server_utilisation().unwrap_or(0.0);
    if growth < GROWTH_MIN || grows || busy < BUSY_MIN || own < OWN_MIN * busy {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::RampShape,
            "server",
            ("schedstat, engine", ["server_threads"]),
            &format!(
                "CPU time per request, from {} to {}",
                lighter.load_size(),
                case.point.load_phrase()
            ),
            format!("{lighter_us:.1} us to {here_us:.1} us, {:+.0} %", (growth - 1.0) * 100.0),
            "over 30 % more while the rate no longer follows the load",
        )
        .with(
            Family::ThreadStates,
            "server",
            ("/proc/stat", ["cpus"]),
            "busy share of its CPUs",
            percent(busy),
            "over 85 %",
        );
    let seen = seen.saying(format!(
        "a request costs {:.0} % more CPU time than at a quarter of the load, and the rate no \
         longer grows",
        (growth - 1.0) * 100.0
    ));
    let seen = super::waiting::with_unread(case, seen);
    Test::Seen(
        seen.next(
            "profile the server (perf top): does a lock spin, or do CPUs wait for memory (S8)?",
        ),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.cpu(0, 0.99);
            scene.fixture.cpu(1, 0.99);
            scene.fixture.server_threads(&[(7, 0.95), (8, 0.93)]);
            scene.fixture.point.cpu.server_us_per_request = Some(1900.0);
            let mut lighter = Fixture::point(2, 1000.0);
            lighter.cpu.server_us_per_request = Some(900.0);
            scene.lighter = vec![lighter];
        },
        without: &[
            ("a cost that grows", |scene| {
                scene.lighter[0].cpu.server_us_per_request = Some(1800.0);
            }),
            ("a flat rate", |scene| scene.lighter[0].rate = 250.0),
            ("busy CPUs", |scene| {
                scene.fixture.cpu(0, 0.4);
                scene.fixture.cpu(1, 0.4);
            }),
            ("a ramp", |scene| scene.lighter.clear()),
        ],
    };

    #[test]
    fn a_request_that_costs_more_as_load_rises_is_seen() {
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.95);
        fixture.cpu(1, 0.95);
        let point = |connections, rate, cost_us| {
            let mut point = Fixture::point(connections, rate);
            point.cpu.server_us_per_request = Some(cost_us);
            point
        };
        fixture.server_threads(&[(7, 0.9), (7, 0.9)]);
        let test = |fixture: &Fixture, lighter, rate, cost_us| {
            let (lighter, point) = (lighter, point(8, rate, cost_us));
            let ramp = [&lighter, &point];
            super::test(&crate::case::Case { point: &point, ramp: &ramp, ..fixture.case() })
        };
        assert!(matches!(test(&fixture, point(2, 1000.0, 900.0), 1000.0, 1900.0), Test::Seen(_)));
        assert_eq!(test(&fixture, point(2, 1000.0, 1900.0), 1000.0, 1900.0), Test::NotSeen, "S1");
        assert_eq!(
            test(&fixture, point(2, 250.0, 900.0), 1000.0, 1900.0),
            Test::NotSeen,
            "it grows"
        );
        assert_eq!(
            test(&fixture, point(4, 1000.0, 900.0), 1000.0, 1900.0),
            Test::Untested,
            "too close"
        );
        fixture.server_threads(&[(7, 0.3)]);
        let costly = test(&fixture, point(2, 1000.0, 900.0), 1000.0, 1900.0);
        assert_eq!(costly, Test::NotSeen, "others keep the CPUs busy");
    }

    #[test]
    fn idle_cpus_do_not_spin_and_one_load_tells_nothing() {
        let mut fixture = Fixture::good();
        let mut lighter = Fixture::point(2, 1000.0);
        lighter.cpu.server_us_per_request = Some(100.0);
        fixture.point.cpu.server_us_per_request = Some(300.0);
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        let ramp = [&lighter, &fixture.point];
        let case = crate::case::Case { ramp: &ramp, ..fixture.case() };
        assert_eq!(super::test(&case), Test::NotSeen);
    }
}
