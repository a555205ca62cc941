//! K9: the server's side lets no more packets through, however small the packets are.
//!
//! Signals: the counters, the backlog and the mean packet of the server's queueing disciplines.
//! Rule: a discipline that carries the load's responses held packets back in the window, packets
//! waited in it in more than half of the reads or were dropped (over 0.1 %), and its packets are
//! under 300 bytes on average. Or packets are over 90 % of the limit that the user states for the
//! link (`--link`).
//! Mimics: K8 with a very low limit (listed against it: the kernel does not tell a discipline's
//! unit), N4 (a provider's allowance of packets).
//! Confirm: longer responses, or several requests per packet (-p): packets stay, bytes and requests
//! grow.
//! Source: Linux net/sched/sch_tbf.c (mpu), tc(8).
//! Name: server packet rate
//! Reason: the server's link carries no more packets
//! Fix: send several requests at once (-p)

use super::Test;
use super::shaping::{self, ShapedUnit};
use crate::case::Case;
use model::units::show_count;

pub fn test(case: &Case<'_>) -> Test {
    let links = case.server_links();
    if let Some(seen) = shaping::full_of_packets(&links, case.server_host_name()) {
        return Test::Seen(seen.fixed_by(fix(case)));
    }
    let Some(server) = case.server_side().filter(|server| server.qdiscs.is_some()) else {
        let is_stated = links.iter().any(|one| one.packets_s.is_some());
        return if is_stated { Test::NotSeen } else { Test::Untested };
    };
    let responses_bytes_s = case.point.bytes.received as f64 / case.window_s();
    let qdisc = shaping::at_limit(case, server, responses_bytes_s);
    let Some(qdisc) = qdisc.filter(|qdisc| shaping::unit(qdisc) == ShapedUnit::Packets) else {
        return Test::NotSeen;
    };
    let seen = shaping::held_back(qdisc, case.server_host_name());
    let mut seen = shaping::with_unsent(case, seen);
    seen.against.push(format!(
        "a limit of {} bytes per second would look the same (K8)",
        show_count(qdisc.bytes_s)
    ));
    Test::Seen(
        seen.next("request longer responses: if the rate stays, packets are the limit")
            .fixed_by(fix(case)),
    )
}

fn fix(case: &Case<'_>) -> String {
    format!("send several requests at once: -p {}", case.point.load.depth * 4)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.shaper(150.0, 0.9),
        without: &[
            ("packets that wait", |scene| scene.fixture.shaper(150.0, 0.1)),
            ("small packets", |scene| scene.fixture.shaper(1200.0, 0.9)),
            ("disciplines", |scene| scene.fixture.observed.qdiscs = None),
        ],
    };

    #[test]
    fn a_shaper_full_of_small_packets_is_seen() {
        let mut fixture = Fixture::good();
        fixture.shaper(150.0, 0.9);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.shaper(1200.0, 0.9);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "K8: bytes");
        fixture.shaper(150.0, 0.1);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "packets rarely wait");
    }

    #[test]
    fn without_disciplines_it_is_untested() {
        assert_eq!(super::test(&Fixture::good().case()), Test::Untested);
    }
}
