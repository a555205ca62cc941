//! Intervals of fitted parameters: the levels are redrawn around the curve and fitted again.

use super::forms::{self, Fit, FitLevel};
use crate::stats;
use model::ramp_fit::Estimate;
use model::random::Random;

/// Draws. The ends of a 95 % interval are then the tenth from below and from above.
const DRAWS: usize = 400;
/// The same levels give the same intervals.
const SEED: u64 = 0x5ca1_ab1e;

/// The parameters of a form with their intervals.
pub struct Parameters {
    /// Duration of a request that meets no queue, seconds.
    pub unloaded_s: Estimate,
    /// The cap, per second.
    pub cap: Option<Estimate>,
    /// Requests in flight at the knee.
    pub knee: Option<Estimate>,
    /// s of USL.
    pub serial: Option<Estimate>,
    /// k of USL.
    pub crosstalk: Option<Estimate>,
    /// Requests in flight at the peak of USL.
    pub peak: Option<Estimate>,
}

/// Draws and fits again. The scatter is that of the residuals or of the levels themselves,
/// whichever is larger, widened as Student's t is for few levels.
pub fn parameters(fit: &Fit, levels: &[FitLevel]) -> Parameters {
    let freedom = levels.len().saturating_sub(fit.form.parameters()).max(1);
    let residual = fit.rms(levels) * (levels.len() as f64 / freedom as f64).sqrt();
    let widened = stats::student_95(freedom) / stats::student_95(usize::MAX);
    let scatter = residual.max(forms::error(levels)) * widened;
    let mut random = Random::new(SEED, levels.len() as u64);
    let drawn: Vec<Fit> = (0..DRAWS)
        .filter_map(|_| {
            let around = |(index, level): (usize, &FitLevel)| FitLevel {
                rate: fit.rate(index, level.in_flight) * (scatter * random.normal()).exp(),
                ..*level
            };
            let anew: Vec<FitLevel> = levels.iter().enumerate().map(around).collect();
            Fit::of(fit.form, &anew, Some(fit))
        })
        .collect();
    let estimate = |of: &dyn Fn(&Fit) -> Option<f64>| Some(interval(of(fit)?, &drawn, of));
    Parameters {
        unloaded_s: interval(fit.unloaded_s(), &drawn, &|fit| Some(fit.unloaded_s())),
        cap: estimate(&Fit::cap),
        knee: estimate(&Fit::knee),
        serial: estimate(&|fit| Some(fit.shares()?.0)),
        crosstalk: estimate(&|fit| Some(fit.shares()?.1)),
        peak: estimate(&Fit::peak).filter(|peak| peak.high.is_finite()),
    }
}

fn interval(value: f64, drawn: &[Fit], of: &dyn Fn(&Fit) -> Option<f64>) -> Estimate {
    let mut values: Vec<f64> = drawn.iter().filter_map(of).collect();
    values.sort_by(f64::total_cmp);
    let beyond = values.len() / 40;
    let at = |index: usize| values.get(index).copied().unwrap_or(value);
    let (low, high) = (at(beyond), at(values.len().saturating_sub(1 + beyond)));
    Estimate { value, low: low.min(value), high: high.max(value) }
}
