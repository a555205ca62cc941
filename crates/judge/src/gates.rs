//! Validity checks: each tells whether a number may be believed at all, before anybody asks what
//! limited it.
//!
//! One file per gate, all of one shape. A broken gate makes a measurement wall (M1, M3 or M4) the
//! verdict of its point, unless a limit with a count (ports, descriptors, accept queue) explains
//! it.

mod bytes;
mod connections;
mod conservation;
mod cpu_states;
mod delivery;
mod errors;
mod littles_law;
mod percentiles;
pub(crate) mod release;
mod resolution;
mod samples;
mod steadiness;
mod subscribers;
mod tuning;
mod window;

use crate::case::Case;
use model::verdict::Gate;
use model::wall::WallId;

/// A gate as listed.
pub struct Listed {
    /// Stable name.
    pub id: &'static str,
    /// What the measurement is when the gate breaks.
    pub breaks: WallId,
    /// The check.
    pub check: fn(&Case<'_>) -> Outcome,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Whether it holds; nothing when it could not be checked.
    pub ok: Option<bool>,
    /// The figure compared.
    pub measured: Option<f64>,
    /// What it was compared with.
    pub bound: String,
    /// One sentence.
    pub why: String,
}

impl Outcome {
    /// There is nothing to compare.
    pub fn unchecked(bound: &str, why: &str) -> Self {
        Self { ok: None, measured: None, bound: bound.to_string(), why: why.to_string() }
    }
}

/// Every gate, in the order of the record.
pub const GATES: &[Listed] = &[
    Listed { id: "conservation", breaks: WallId::M1, check: conservation::check },
    Listed { id: "littles_law", breaks: WallId::M1, check: littles_law::check },
    Listed { id: "bytes", breaks: WallId::M1, check: bytes::check },
    Listed { id: "samples", breaks: WallId::M1, check: samples::check },
    Listed { id: "percentiles", breaks: WallId::M1, check: percentiles::check },
    Listed { id: "resolution", breaks: WallId::M1, check: resolution::check },
    Listed { id: "release", breaks: WallId::M1, check: release::check },
    Listed { id: "window", breaks: WallId::M1, check: window::check },
    Listed { id: "cpu_states", breaks: WallId::M1, check: cpu_states::check },
    Listed { id: "connections", breaks: WallId::M1, check: connections::check },
    Listed { id: "errors", breaks: WallId::M4, check: errors::check },
    Listed { id: "steadiness", breaks: WallId::M3, check: steadiness::check },
    Listed { id: "tuning", breaks: WallId::M3, check: tuning::check },
    Listed { id: "subscribers", breaks: WallId::M4, check: subscribers::check },
    // What is said of the generator then is what its own walls say.
    Listed { id: "delivery", breaks: WallId::C2, check: delivery::check },
];

/// Gates of points with subscribers; others do not have them.
const OF_EVENTS: [&str; 2] = ["subscribers", "delivery"];

/// Runs every gate on a point.
pub fn check_all(case: &Case<'_>) -> Vec<Gate> {
    let gate = |listed: &Listed| {
        let Outcome { ok, measured, bound, why } = (listed.check)(case);
        Gate { id: listed.id.to_string(), ok, measured, bound, why }
    };
    let is_asked = |listed: &&Listed| match listed.id {
        // Where nothing was changed nothing can drift.
        "tuning" => tuning::is_asked(case),
        id => case.point.events.is_some() || !OF_EVENTS.contains(&id),
    };
    GATES.iter().filter(is_asked).map(gate).collect()
}

/// The wall a set of gates makes of a measurement: that of the first broken one.
pub fn broken(gates: &[Gate]) -> Option<WallId> {
    let broken = gates.iter().find(|gate| gate.ok == Some(false))?;
    GATES.iter().find(|listed| listed.id == broken.id).map(|listed| listed.breaks)
}
