//! M4: errors would be counted as success, or many requests had no good answer.
//!
//! Signals: answers by status, errors by class, requests without an answer.
//! Rule: the errors gate breaks: more than 0.1 % failed or were unanswered. The rate counts good
//! answers only, but a server that refuses is not a server at its ceiling.
//! Mimics: A4 (a limiter refuses on purpose, evenly; looked at first), a gain after a change.
//! Confirm: find the errors in the server's log.
//! Source: RFC 9110 section 15.

use super::Test;
use super::m1::broken;
use crate::case::Case;
use model::wall::WallId;

pub fn test(case: &Case<'_>) -> Test {
    let worst = case.point.errors.iter().max_by_key(|(_, count)| **count);
    let bad_status: u64 =
        ["4xx", "5xx"].iter().filter_map(|class| case.point.status.get(*class)).sum();
    let step = match worst {
        Some((class, count)) if *count > bad_status => {
            format!("find out why requests fail: most are '{class}'")
        }
        _ => format!("look at one answer: curl -i {}", case.trial.url),
    };
    broken(case, WallId::M4).map_or(Test::NotSeen, |seen| Test::Seen(seen.next(step)))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;

    #[test]
    fn failures_over_a_thousandth_are_seen() {
        let mut fixture = Fixture::good();
        let failed = fixture.point.requests.sent / 500;
        fixture.point.requests.failed += failed;
        fixture.point.requests.completed -= failed;
        fixture.check_gates();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.next[0].contains("curl"), "{seen:?}");
    }
}
