//! What is asked of every account.
//!
//! One file per check, all of one shape. A check is silent about a figure that it cannot look at.
//! *Cannot be* is said only where no value that rounds to the printed digits agrees with the
//! others, and where the words say which other figures these are.

mod conservation;
mod littles_law;

use model::audit::{Account, Finding, Foreign, Given, Outcome};

/// A check as listed.
pub struct Listed {
    /// Its name.
    pub id: &'static str,
    /// What it asks.
    pub asks: &'static str,
    /// Where the arithmetic or the fact behind it comes from.
    pub source: &'static str,
    /// The check.
    pub check: fn(&Foreign, &Given) -> Vec<Finding>,
}

/// Every check.
pub const CHECKS: &[Listed] = &[littles_law::LISTED, conservation::LISTED];

/// What can be said of several accounts together.
pub(crate) fn together(_: &[Account]) -> Vec<Finding> {
    Vec::new()
}

/// A finding without the name of its check, which the registry adds.
fn said(outcome: Outcome, claims: &[&str], arithmetic: String) -> Finding {
    Finding {
        check: String::new(),
        claims: claims.iter().map(|claim| claim.to_string()).collect(),
        outcome,
        arithmetic,
        settle: String::new(),
        bound: None,
    }
}

/// A finding that says what to run.
fn open(outcome: Outcome, claims: &[&str], arithmetic: String, settle: &str) -> Finding {
    Finding { settle: settle.into(), ..said(outcome, claims, arithmetic) }
}

/// The claims of all percentiles, at or above a share.
fn percentiles(latency: &model::audit::Latencies, share_min: f64) -> Vec<String> {
    let above = latency.percentiles.iter().filter(|one| one.share >= share_min);
    above.map(|one| latency.claim(&one.name())).collect()
}
