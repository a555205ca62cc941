//! A9: the server is short of memory, and its threads wait while the kernel reclaims some.
//!
//! Signals: pressure stall time for memory, pages read back after eviction, hits of the limit of
//! the server's control group, times it was held back at memory.high.
//! Rule: something stalled for memory for more than 5 % of the window, while pages were read back
//! (workingset_refault, pswpin), the server's group hit its limit, or the kernel held its threads
//! back because it used more than memory.high.
//! Mimics: S1 (reclaim is CPU time of the kernel), A6 (pages come from storage), a neighbour that
//! fills the memory: the pressure is that of the host.
//! Confirm: a higher limit, or more memory, ends the stalls.
//! Source: Linux accounting/psi.rst, admin-guide/cgroup-v1/memory.rst, admin-guide/cgroup-v2.rst.
//! Name: memory reclaim
//! Reason: the server's host is short of memory
//! Fix: give the server's group more memory, and see whether the stalls end

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::show_things;

const STALLED_MIN: f64 = 0.05;

/// Share of the window in which something on the server's host waited for memory.
fn stalled(case: &Case<'_>) -> Option<f64> {
    case.server_side()?.pressure.as_ref()?.get("memory.some").copied()
}

/// The stalls, if there are many and the readings of their cause are absent.
pub(crate) fn unexplained(case: &Case<'_>) -> Option<f64> {
    stalled(case).filter(|share| *share >= STALLED_MIN && test(case) == Test::Untested)
}

pub fn test(case: &Case<'_>) -> Test {
    let Some(server) = case.server_side() else { return Test::Untested };
    let (Some(stalled), Some(memory)) = (stalled(case), &server.memory) else {
        return Test::Untested;
    };
    let sum = |is_one: fn(&str) -> bool| {
        memory.iter().filter(|(name, _)| is_one(name)).map(|(_, count)| count).sum::<u64>()
    };
    let read_back = sum(|name| name.starts_with("workingset_refault") || name == "pswpin");
    let hits = sum(|name| ["server.failcnt", "server.events_max"].contains(&name));
    let held_back = sum(|name| name == "server.events_high");
    if stalled < STALLED_MIN || read_back + hits + held_back == 0 {
        return Test::NotSeen;
    }
    let mut seen = Seen::default()
        .with(
            Family::ThreadStates,
            case.server_host_name(),
            ("/proc/pressure/memory", ["pressure"]),
            "time in which something waited for memory",
            percent(stalled),
            "over 5 %",
        )
        .with(
            Family::HardCounter,
            "server",
            ("/proc/vmstat, memory.failcnt, memory.events", ["memory"]),
            "pages read back; times its group hit its limit; times it was over memory.high",
            format!("+{read_back}; +{hits}; +{held_back}"),
            "any",
        );
    seen = seen.saying(format!(
        "programs on the server's host waited for memory in {} of the time, and read {} back from \
         disk",
        percent(stalled),
        show_things(read_back, "page")
    ));
    if hits + held_back == 0 {
        seen.against.push(
            "its own group hit no limit: the host or another group is short of memory".to_string(),
        );
    }
    Test::Seen(seen)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use observe::Observed;
    use std::collections::BTreeMap;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            let observed: &mut Observed = &mut scene.fixture.observed;
            observed.pressure = Some(BTreeMap::from([("memory.some".to_string(), 0.3)]));
            observed.memory = Some(BTreeMap::from([("server.failcnt".to_string(), 500)]));
        },
        without: &[
            ("stalls", |scene| scene.fixture.observed.pressure = None),
            ("hits of the limit", |scene| scene.fixture.observed.memory = Some(BTreeMap::new())),
        ],
    };

    #[test]
    fn stalls_with_hits_of_the_limit_are_seen() {
        let mut fixture = Fixture::good();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        let counted = |name: &str, hits| Some(BTreeMap::from([(name.to_string(), hits)]));
        let memory = |hits| counted("server.failcnt", hits);
        fixture.observed.pressure = Some(BTreeMap::from([("memory.some".to_string(), 0.3)]));
        fixture.observed.memory = memory(500);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.observed.memory = memory(0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "nothing is short");
        fixture.observed.memory = counted("server.events_high", 40);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("held back") };
        assert_eq!((&*seen.findings[1].evidence.value, seen.against.len()), ("+0; +0; +40", 0));
        fixture.observed.memory = memory(500);
        fixture.observed.pressure = Some(BTreeMap::from([("memory.some".to_string(), 0.001)]));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no task waits");
        assert_eq!(super::unexplained(&fixture.case()), None);
        fixture.observed.memory = None;
        assert_eq!(super::unexplained(&fixture.case()), None);
        fixture.observed.pressure = Some(BTreeMap::from([("memory.some".to_string(), 0.3)]));
        assert_eq!(super::unexplained(&fixture.case()), Some(0.3));
    }
}
