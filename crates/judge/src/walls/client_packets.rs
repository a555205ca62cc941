//! C6: the generator's link lets no more packets through, however small the packets are.
//!
//! Signals: packets of the generator's interface, both ways, against the limit that the user states
//! for its link (`--link client=..pps`). No counter of a host shows that limit.
//! Rule: over 90 % of that limit, and not over 105 %, which would refute the statement.
//! Mimics: C5 (bytes), K9 (the same on the server's host), N4 (a provider that counts the packets
//! it refuses), C1.
//! Confirm: with several requests per packet (-p), packets stay and requests grow; a second client
//! host.
//! Source: Amazon EC2 User Guide, Monitor network performance for ENA (`pps_allowance_exceeded`).
//! Name: client packet rate
//! Reason: the generator's link carries no more packets
//! Fix: send several requests at once (-p), or use a second client host

use super::Test;
use super::shaping;
use crate::case::Case;

pub fn test(case: &Case<'_>) -> Test {
    if case.is_one_host() {
        return Test::NotSeen;
    }
    let links = case.client_links();
    if !links.iter().any(|one| one.packets_s.is_some()) {
        return Test::Untested;
    }
    let Some(seen) = shaping::full_of_packets(&links, "client") else { return Test::NotSeen };
    let depth = case.point.load.depth * 4;
    Test::Seen(
        seen.fixed_by(format!("send several requests at once: -p {depth}"))
            .next("use a second client host, or one whose link carries more packets"),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.unwatched();
            scene.fixture.link("eth0", 12e6);
            scene.fixture.packets_limit(Some(20_000));
        },
        without: &[
            ("packets near the limit", |scene| scene.fixture.packets_limit(Some(40_000))),
            ("a limit that holds", |scene| scene.fixture.packets_limit(Some(10_000))),
            ("a stated limit", |scene| scene.fixture.packets_limit(None)),
        ],
    };

    #[test]
    fn packets_count_against_what_was_stated() {
        let mut fixture = Fixture::good();
        fixture.unwatched();
        fixture.link("eth0", 12e6);
        assert_eq!(super::test(&fixture.case()), Test::Untested, "nothing was stated");
        fixture.packets_limit(Some(20_000));
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "10 000 each way");
        fixture.packets_limit(Some(40_000));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.packets_limit(Some(10_000));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "twice the limit went through");
    }
}
