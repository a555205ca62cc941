//! The rate did not change during the window.
//!
//! The mean over an unsteady window is still the mean over that window. The gate strikes only the
//! claim that it is the ceiling, which then lies between the lowest and the highest half-second
//! rate.

use super::Checked;
use crate::case::Case;
use crate::steady::{self, Steadiness};
use model::figure::Figure;
use model::standing::Standing;

pub fn check(case: &Case<'_>) -> Checked {
    let bound = format!(
        "no shift over {:.0} %, variation up to {:.0} %",
        steady::SHIFT_MAX * 100.0,
        steady::VARIATION_MAX * 100.0
    );
    if case.point.load.curve.is_some() {
        return Checked::unchecked(&bound, "the planned rate changes");
    }
    if case.point.stopped.is_some() {
        return Checked::unchecked(&bound, "the target stopped responding");
    }
    match steady::steadiness_of(case.point) {
        Steadiness::Steady { variation } => {
            let why = format!("half-second rates vary by {:.1} %", variation * 100.0);
            Checked { ok: Some(true), measured: Some(variation * 100.0), bound, why }
        }
        Steadiness::Shifted { at_s, ratio } => {
            let shift = (ratio - 1.0) * 100.0;
            let why = format!("the rate changed by {shift:+.0} % after {at_s:.1} s");
            Checked { ok: Some(false), measured: Some(shift), bound, why }
        }
        Steadiness::Restless { variation } => {
            let why = format!("half-second rates vary by {:.0} %", variation * 100.0);
            Checked { ok: Some(false), measured: Some(variation * 100.0), bound, why }
        }
        Steadiness::Unknown => Checked::unchecked(&bound, "too short, or too few responses"),
    }
}

/// The lowest and the highest half-second rate.
pub fn leaves(case: &Case<'_>, _: Figure) -> Option<Standing> {
    let rates: Vec<f64> = steady::half_second_rates(&case.point.per_100ms);
    let low = rates.iter().copied().reduce(f64::min)?;
    let high = rates.iter().copied().reduce(f64::max);
    let by = "the rate was not steady".to_string();
    Some(Standing::Bounded { low, high, by })
}
