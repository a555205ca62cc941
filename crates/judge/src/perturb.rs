//! Experiments that confirm a wall: which are worth making, what their blocks say, and how they
//! change a verdict.
//!
//! A resource is made slightly smaller or larger in interleaved blocks (base, changed, changed,
//! base), and the elasticity d ln(rate) / d ln(capacity) is taken pair by pair. At a single wall it
//! is 1 for the resource that limits and 0 for the others. "No effect" is also a claim: the whole
//! interval must be near 0.

mod apply;
mod plan;
mod table;

#[cfg(test)]
mod tests;

use crate::stats::{mean, mean_interval};
use model::perturbation::{Perturbation, Says};

pub use apply::{Outcome, apply, confirms};
pub use plan::{BlockChange, Experiment, Facts, base_point, plan};

/// An elasticity in this range counts as 1: changing a resource also changes batching, so it is not
/// exactly 1 even at a pure wall.
const ONE: (f64, f64) = (0.7, 1.3);
/// Elasticities of resources that limit together.
const SHARED: (f64, f64) = (0.25, 0.75);
/// An interval within this distance of 0 is no effect.
const ZERO: f64 = 0.25;
/// Capacities closer to their base than this show nothing: noise is divided by the change.
const CHANGE_MIN: f64 = 0.05;

/// How a rate follows a capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elasticity {
    /// d ln(rate) / d ln(capacity), the mean over the pairs.
    pub value: f64,
    /// Its 95 % interval, with three pairs or more.
    pub interval: Option<(f64, f64)>,
}

/// The elasticity of a capacity that was `factor` times its base in the changed blocks. None if the
/// change was too small to show an effect or a block had no good response.
pub fn elasticity(factor: f64, base: &[f64], changed: &[f64]) -> Option<Elasticity> {
    let change = factor.ln();
    let is_change = change.is_finite() && (factor - 1.0).abs() >= CHANGE_MIN;
    if !is_change || base.iter().chain(changed).any(|rate| rate.is_nan() || *rate <= 0.0) {
        return None;
    }
    let pairs = base.iter().zip(changed).map(|(base, changed)| (changed / base).ln() / change);
    let pairs: Vec<f64> = pairs.collect();
    Some(Elasticity { value: mean(&pairs)?, interval: mean_interval(&pairs) })
}

/// What one experiment says about its resource; if it is open, more blocks may decide.
pub fn response(made: &Perturbation) -> Says {
    let inside = |value: f64, bounds: (f64, f64)| bounds.0 <= value && value <= bounds.1;
    let (Some(value), Some(low), Some(high)) = (made.elasticity, made.low, made.high) else {
        return Says::Open;
    };
    if made.failure.is_some() {
        Says::Open
    } else if low >= -ZERO && high <= ZERO {
        Says::DoesNotLimit
    } else if inside(value, ONE) && low > ZERO {
        Says::Limits
    } else if inside(value, SHARED) && low > 0.0 && high < 1.0 {
        Says::LimitsInPart
    } else {
        Says::Open
    }
}
