//! M4: responses with a good status failed a check, or answer no whole request.
//!
//! Signals: responses with a status 2xx or 3xx that failed a check (--check-*), or that came before
//! their request was out and ended it.
//! Rule: the gate `checks` fails: more than 0.1 % of them; or the gate `early`: more than 1 %.
//! Such responses are failures and not part of the rate, or answer only a part of a request; a
//! server that serves something else is not at its ceiling. It is the verdict only if no other
//! cause is known. Error statuses, resets and timeouts are results.
//! Mimics: a check that is wrong; a login page or a maintenance page; a truncated body.
//! Confirm: look at one response.
//! Source: RFC 9110 section 15.
//! Name: responses are not what was asked for
//! Reason: responses failed a check
//! Fix: look at one response, and mend the check or the server

use super::Test;
use super::not_a_rate::broken;
use crate::case::Case;
use crate::next::look_at;
use model::wall::WallId;
use std::slice;

pub fn test(case: &Case<'_>) -> Test {
    let look = look_at("-i", case.trial, slice::from_ref(case.point));
    let step = format!("look at one response: {look}");
    broken(case, WallId::M4).map_or(Test::NotSeen, |seen| Test::Seen(seen.next(step)))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.mismatch(0.02);
        },
        without: &[
            ("responses that fail a check", |scene| scene.fixture.mismatch(0.0)),
            ("a good status", |scene| scene.fixture.refuse(0.02)),
        ],
    };

    #[test]
    fn responses_that_fail_a_check_are_seen_and_failures_are_not() {
        let mut fixture = Fixture::good();
        fixture.refuse(0.5);
        fixture.check_gates();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "failures are results");
        fixture.mismatch(0.002);
        fixture.check_gates();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.next[0].text().contains("curl"), "{seen:?}");
    }
}
