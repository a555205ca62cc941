//! What is known to be wrong with figures of a tool, from its source.

use super::Listed;
use model::audit::{Finding, Foreign, Given};

pub(super) const LISTED: Listed = Listed {
    id: "known_defect",
    asks: "Is this account a case of what the tool's own source gets wrong?",
    source: "the source of each tool, named in crates/audit/src/formats",
    check,
};

fn check(told: &Foreign, _: &Given) -> Vec<Finding> {
    told.meaning.defects.clone()
}
