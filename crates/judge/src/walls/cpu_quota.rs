//! S3: the CPU quota of a control group throttles the server; any group up to the root can do so.
//!
//! Signals: periods and throttled periods of the server's control groups, CPU time it used.
//! Rule: throttled in more than half of the periods and for more than 5 % of the window, in any
//! group from the server's own to the root. Meanwhile both the host and the server look idle.
//! Mimics: A2 (a pool that waits), A5 (pauses), S5 (time taken by the hypervisor).
//! Confirm: a quota 20 % larger raises the rate by 20 %.
//! Source: Linux Documentation/scheduler/sched-bwc.rst.
//! Name: server CPU quota
//! Reason: the server has used up its CPU quota
//! Fix: raise the quota of that group by 20 %: the rate should rise as much

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use observe::QuotaShare;

pub fn test(case: &Case<'_>) -> Test {
    let Some(quotas) = case.far().server_quotas.as_deref() else { return Test::Untested };
    let Some(mut seen) = throttled(Some(quotas), "server") else { return Test::NotSeen };
    let allowed = quotas.iter().filter_map(|quota| quota.allowed_cpus).reduce(f64::min);
    if let (Some(allowed), Some(used)) = (allowed, case.far().server_cpus()) {
        if (0.80..=1.20).contains(&(used / allowed)) {
            seen = seen.with(
                Family::ThreadStates,
                "server",
                ("schedstat", ["server_threads"]),
                "CPUs used, and allowed by the quota",
                format!("{used:.2} of {allowed:.2}"),
                "all of the quota",
            );
        } else {
            seen.against.push(format!("it used {used:.2} CPUs of the {allowed:.2} allowed"));
        }
    }
    Test::Seen(seen)
}

/// The group of a chain that throttles, with the evidence.
pub(super) fn throttled(quotas: Option<&[QuotaShare]>, host: &str) -> Option<Seen> {
    let quota = quotas?
        .iter()
        .filter(|quota| quota.throttled_periods > 0.5 && quota.throttled_time > 0.05)
        .max_by(|left, right| left.throttled_periods.total_cmp(&right.throttled_periods))?;
    let allowed = quota.allowed_cpus.map(|cpus| format!("{cpus:.2} CPUs"));
    let group = if host == "client" { "generator" } else { "server" };
    let sentence = format!(
        "the {group} used up its CPU quota{} in {} of the periods",
        allowed.as_ref().map_or(String::new(), |cpus| format!(" of {cpus}")),
        percent(quota.throttled_periods)
    );
    let allowed = allowed.unwrap_or("a quota".to_string());
    Some(Seen::default().saying(sentence).with(
        Family::HardCounter,
        host,
        (&format!("cgroup cpu.stat of {}", quota.group), ["server_quota", "client_quota"]),
        &format!("periods throttled, with {allowed} allowed"),
        percent(quota.throttled_periods),
        "over 50 % of periods, over 5 % of the time",
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.throttle_server(1, 0.9, 0.6),
        without: &[
            ("throttled periods", |scene| scene.fixture.throttle_server(1, 0.1, 0.6)),
            ("throttled time", |scene| scene.fixture.throttle_server(1, 0.9, 0.01)),
            ("the groups", |scene| scene.fixture.observed.server_quotas = None),
        ],
    };

    #[test]
    fn a_throttled_group_is_seen_wherever_it_is_in_the_chain() {
        let mut fixture = Fixture::good();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        for level in 0..2 {
            fixture.throttle_server(level, 0.9, 0.6);
            let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
            assert_eq!(seen.findings[0].evidence.host, "server");
            fixture.throttle_server(level, 0.3, 0.6);
            assert_eq!(super::test(&fixture.case()), Test::NotSeen, "rarely throttled");
            fixture.throttle_server(level, 0.9, 0.01);
            assert_eq!(super::test(&fixture.case()), Test::NotSeen, "briefly throttled");
        }
    }

    #[test]
    fn without_the_chain_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.server_quotas = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
