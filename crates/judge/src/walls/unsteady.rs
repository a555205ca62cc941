//! M3: the window does not show a single rate, so it has no ceiling either.
//!
//! Signals: good responses in each tenth of a second.
//! Rule: the steadiness gate fails. Causes: warm-up, burst credit, a neighbour, caches filling.
//! Mimics: A5 (pauses of the server, which are regular; looked at first), C1 (a throttled
//! generator).
//! Confirm: measure again for longer, and look at when the rate changes.
//! Source: Law and Kelton, Simulation Modeling and Analysis, chapter 9.
//! Name: not stationary
//! Reason: the rate changed during the window
//! Fix: measure for longer (-d), and look at when the rate changes

use super::Test;
use super::not_a_rate::broken;
use crate::case::Case;
use model::wall::WallId;

pub fn test(case: &Case<'_>) -> Test {
    let step = "measure again with a longer warm-up and window: --warmup 10s -d 30";
    broken(case, WallId::M3).map_or(Test::NotSeen, |seen| Test::Seen(seen.next(step)))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            for tenth in &mut scene.fixture.point.per_100ms[25..] {
                *tenth = *tenth * 2 / 3;
            }
        },
        without: &[("the change", |scene| {
            scene.fixture.point.per_100ms = Fixture::good().point.per_100ms;
        })],
    };

    #[test]
    fn a_rate_that_changes_is_seen() {
        let mut fixture = Fixture::good();
        let half = fixture.point.per_100ms.len() / 2;
        for tenth in &mut fixture.point.per_100ms[half..] {
            *tenth = *tenth * 2 / 3;
        }
        fixture.check_gates();
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
    }
}
