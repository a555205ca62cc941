//! Walls that cannot be tested when another tool made the load.
//!
//! In: a case. Out: whether the test of a wall applies to it. Never: a test itself.

use super::Test;
use crate::case::Case;
use model::wall::WallId;

/// Walls whose tests need what no tool reports: outcomes of connections, our classes of errors,
/// good responses by tenths of a second, send delays, bytes sent.
const UNTOLD: [WallId; 12] = [
    WallId::C4,
    WallId::C5,
    WallId::C7,
    WallId::C8,
    WallId::K1,
    WallId::K3,
    WallId::K14,
    WallId::A4,
    WallId::A5,
    WallId::A8,
    WallId::M3,
    WallId::M4,
];

/// Walls whose tests need the received bytes, which some tools report.
const OF_BYTES: [WallId; 2] = [WallId::K8, WallId::K9];

/// The test of a wall in a case, or the result that its readings are missing.
pub(super) fn test(wall: WallId, test: fn(&Case<'_>) -> Test, case: &Case<'_>) -> Test {
    let lacks_bytes = || case.point.bytes.received == 0 && OF_BYTES.contains(&wall);
    match case.is_told() && (UNTOLD.contains(&wall) || lacks_bytes()) {
        true => Test::Untested,
        false => test(case),
    }
}
