//! Known errors in the figures of a tool, from its source.

use super::Listed;
use model::audit::{Finding, Foreign, Given};

pub(super) const LISTED: Listed = Listed {
    id: "known_defect",
    asks: "Does a known error in the tool's source affect this account?",
    source: "the source of each tool, named in crates/tools/src/audit/formats",
    check,
};

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    report.meaning.defects.clone()
}
