//! M1: the reported number is not a rate of completed work.
//!
//! Signals: requests in flight against rate x latency, bytes against responses, counts against each
//! other, the generator's stamps against its turns.
//! Rule: a gate fails that leaves nothing of the rate: two independent accounts of the same thing
//! disagree. It is the verdict only if no cause on the generator is known.
//! Mimics: retries or ramp phases inside the window; a median used as a mean.
//! Confirm: measure again for longer; with half the requests in flight, rate x latency must halve.
//! Source: J. D. C. Little, A Proof for the Queuing Formula L = lambda W (1961).
//! Name: invalid measurement
//! Reason: the rate is not known
//! Fix: measure again, for longer: -d 20

use super::{Family, Seen, Test};
use crate::case::Case;
use crate::gates::{self, GATES, bytes};
use model::figure::Figure;
use model::verdict::{Evidence, Gate};
use model::wall::WallId;

pub fn test(case: &Case<'_>) -> Test {
    if gates::is_rate_known(case.point) {
        return Test::NotSeen;
    }
    let striking = gates::striking(case.point, Figure::Rate);
    let Some(seen) = evidence(striking, WallId::M1) else { return Test::NotSeen };
    // A longer run does not mend a server that responds twice.
    Test::Seen(match bytes::advice(case.point) {
        Some(advice) => seen.fixed_by(advice),
        None => seen,
    })
}

/// The failed gates that are evidence of this wall.
pub(super) fn broken(case: &Case<'_>, wall: WallId) -> Option<Seen> {
    let shows = |gate: &&Gate| {
        let mut listed = GATES.iter().filter(|listed| listed.id == gate.id);
        gate.ok == Some(false) && listed.any(|listed| listed.breaks == wall)
    };
    evidence(case.point.gates.iter().filter(shows), wall)
}

/// The first gate that is broken says what is wrong.
fn evidence<'a>(broken: impl Iterator<Item = &'a Gate>, wall: WallId) -> Option<Seen> {
    let add = |seen: Seen, gate: &Gate| {
        let (source, rule) = (format!("gate {}", gate.id), format!("holds: {}", gate.bound));
        let (family, field) = (Family::HardCounter, Evidence::FINDING);
        seen.with(family, "client", &source, field, gate.why.clone(), &rule)
    };
    let seen = broken.fold(Seen::default(), add);
    let first = seen.findings.first()?.evidence.value.clone();
    Some(seen.saying(format!("{}: {first}", wall.reason())))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.point.rate *= 10.0,
        without: &[("more responses than were in flight", |scene| {
            scene.fixture.point.rate /= 10.0
        })],
    };

    #[test]
    fn a_rate_that_counts_batches_is_seen() {
        let mut fixture = Fixture::good();
        fixture.check_gates();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        // Ten times the completions with the same latency cannot have been in flight.
        fixture.point.rate *= 10.0;
        fixture.check_gates();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.findings[0].evidence.source, "gate littles_law");
        assert_eq!(seen.fix, None, "measure again");
        fixture.point.connections.faults.insert("extra-response".to_string(), 3);
        fixture.check_gates();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.fix.as_deref(), Some("look for a handler that responds twice"));
    }
}
