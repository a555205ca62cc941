//! The checks that every account gets.
//!
//! One file per check, all of the same shape. A check is silent about a figure that it cannot
//! examine. *Cannot be* is used only if no value that rounds to the printed digits agrees with the
//! other figures, and if the text names those figures.

mod added;
mod bytes;
mod calls;
mod conservation;
mod cpu;
mod defects;
mod failures;
mod hardware;
mod held_back;
mod link;
mod littles_law;
mod omission;
mod order;
mod pace;
mod possible;
mod resolution;
mod spread;
mod support;
mod survivors;
mod together;
mod window;

pub(crate) use link::between as links;
pub(crate) use possible::rest;
pub(crate) use together::check as together;

use crate::audit::bounds::Range;
use model::audit::{Finding, Foreign, Given, Outcome};

const AGAIN: &str = "use the unedited output of the tool; one of these figures was changed";

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

/// Every check. The others do not see what the first one refutes.
pub const CHECKS: &[Listed] = &[
    possible::LISTED,
    defects::LISTED,
    littles_law::LISTED,
    held_back::LISTED,
    conservation::LISTED,
    bytes::LISTED,
    order::LISTED,
    spread::LISTED,
    failures::LISTED,
    calls::LISTED,
    survivors::LISTED,
    added::LISTED,
    omission::LISTED,
    pace::LISTED,
    window::LISTED,
    resolution::LISTED,
    support::LISTED,
    hardware::LISTED,
    cpu::LISTED,
    link::LISTED,
];

/// A finding without the name of its check, which the registry adds.
fn settled(outcome: Outcome, claims: &[impl AsRef<str>], arithmetic: String) -> Finding {
    Finding {
        check: String::new(),
        claims: claims.iter().map(|claim| claim.as_ref().to_string()).collect(),
        outcome,
        arithmetic,
        settle: String::new(),
        bound: None,
    }
}

/// A finding that says what to run.
pub(crate) fn open(
    outcome: Outcome,
    claims: &[impl AsRef<str>],
    arithmetic: String,
    settle: &str,
) -> Finding {
    Finding { settle: settle.into(), ..settled(outcome, claims, arithmetic) }
}

/// Whether a reported figure can be what others give by calculation.
fn compared(
    calculated: Range,
    report: Range,
    claims: &[impl AsRef<str>],
    words: String,
) -> Finding {
    match calculated.excludes(report) {
        true => open(Outcome::Impossible, claims, words, AGAIN),
        false => settled(Outcome::Holds, claims, words),
    }
}

/// The claims of all percentiles, at or above a share.
fn percentiles(latency: &model::audit::Latencies, share_min: f64) -> Vec<String> {
    let above = latency.percentiles.iter().filter(|one| one.share >= share_min);
    above.map(|one| latency.claim(&one.name())).collect()
}
