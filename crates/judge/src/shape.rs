//! Which curve the levels of a ramp lie on: linear, hard cap, USL or cliff.
//!
//! The forms are fitted in log space, where a residual is a share of the rate, and compared by
//! Akaike's criterion corrected for few levels (Hurvich and Tsai 1989). Intervals are from a
//! parametric bootstrap: the levels of a ramp are chosen, not drawn, so each level's rate is drawn
//! anew around the fitted curve and the form is fitted again.
//!
//! The result is for the page; no verdict rests on it. All that a verdict needs from a ramp is
//! whether it still rises, which `ramp.rs` says. A good fit says nothing about the side: USL fits
//! the published ramp of a web server within a few percent (see the tests), yet the whole curve was
//! the generator's.

mod bootstrap;
mod forms;

use crate::{gates, last_visits, ramp, stats, steady};
use forms::{Fit, FitLevel, Form};
use model::load::LoadModel;
use model::load::{Question, Trial};
use model::order::OrderBy as _;
use model::ramp_fit::{Estimate, FittedLevel, FittedShape, ShapeFit, ShapeKind, Superlinear};
use model::run::Point;

/// Levels that a form with three parameters needs, on both sides of the knee.
const USL_LEVELS_MIN: usize = 6;
/// A form whose residuals are larger than this does not describe the ramp, even if it is the best.
const RESIDUAL_MAX: f64 = 0.15;
/// Lower bound of a level's error: two visits of one level differ by about this much.
const ERROR_MIN: f64 = 0.005;
/// Residuals over this many errors of the levels are not chance.
const BEYOND: f64 = 2.0;
/// Efficiency over that of the lowest level, above which it counts, on top of the levels' errors.
const SUPERLINEAR: f64 = 1.05;

/// The curve of a ramp: the last visits of its levels that broke no gate. None for any other run.
pub fn of_ramp(trial: &Trial, points: &[Point]) -> Option<ShapeFit> {
    if trial.question != Question::Ramp {
        return None;
    }
    let mut chosen = last_visits(points);
    chosen.retain(|index| gates::is_rate_known(&points[*index]));
    fit(points, &chosen)
}

/// The curve of closed-loop points: `chosen` are indexes into `points`, one per level, valid ones
/// only. None in open loop, for devices, or with fewer than four different levels.
fn fit(points: &[Point], chosen: &[usize]) -> Option<ShapeFit> {
    let mut chosen = chosen.to_vec();
    let in_flight = |index: &usize| in_flight_of(&points[*index]);
    chosen.order_by(|left, right| in_flight(left).total_cmp(&in_flight(right)));
    chosen.retain(|index| points[*index].rate > 0.0 && in_flight(index) > 0.0);
    chosen.dedup_by_key(|index| ramp::load_of(&points[*index]));
    let is_ramp = |index: &usize| {
        let point = &points[*index];
        point.load.model == LoadModel::Closed && !point.is_churn()
    };
    if chosen.len() < 4 || !chosen.iter().all(is_ramp) {
        return None;
    }
    let levels: Vec<FitLevel> = chosen.iter().map(|index| level_of(&points[*index])).collect();
    Some(of_levels(&levels, &chosen))
}

fn in_flight_of(point: &Point) -> f64 {
    point.in_flight.mean.unwrap_or(ramp::load_of(point) as f64)
}

fn level_of(point: &Point) -> FitLevel {
    let rates = steady::independent_rates_of(point);
    let half = stats::mean_interval(&rates).map_or(0.0, |(low, high)| (high - low) / 2.0);
    FitLevel {
        in_flight: in_flight_of(point),
        rate: point.rate,
        error: (half / 2.0 / point.rate).max(ERROR_MIN),
    }
}

/// Fits levels sorted by requests in flight; `points` are their indexes in the record.
fn of_levels(levels: &[FitLevel], points: &[usize]) -> ShapeFit {
    let superlinear = superlinear(levels);
    let from = superlinear.map_or(0, |(index, _)| index);
    let used = &levels[from..];
    let mut fits: Vec<(f64, Fit)> = ShapeKind::ALL
        .into_iter()
        .filter(|kind| *kind != ShapeKind::Usl || used.len() >= USL_LEVELS_MIN)
        .filter_map(|kind| best_of_kind(kind, used))
        .collect();
    fits.order_by(|left, right| left.0.total_cmp(&right.0));
    let best = fits.first().filter(|(_, fit)| fit.rms(used) <= RESIDUAL_MAX);
    let fitted = |index: usize| {
        let (_, fit) = best.filter(|_| index >= from)?;
        Some(fit.rate(index - from, levels[index].in_flight))
    };
    let lowest = fits.first().map_or(0.0, |(aicc, _)| *aicc);
    let shown: Vec<FittedShape> =
        fits.iter().map(|(aicc, fit)| describe(fit, used, aicc - lowest)).collect();
    ShapeFit {
        best: best.map(|(_, fit)| fit.form.kind()),
        levels: (0..levels.len())
            .map(|index| FittedLevel {
                point: points[index],
                in_flight: levels[index].in_flight,
                rate: levels[index].rate,
                fitted: fitted(index),
            })
            .collect(),
        superlinear: superlinear.map(|(_, seen)| seen),
        cautions: cautions(best.and(shown.first()), used, superlinear.is_some()),
        fits: shown,
    }
}

/// The best-fitting variant of a form; none if there are too few levels for it.
fn best_of_kind(kind: ShapeKind, levels: &[FitLevel]) -> Option<(f64, Fit)> {
    let scored = Form::variants(kind, levels.len())
        .into_iter()
        .filter_map(|form| Some((aicc(&Fit::of(form, levels, None)?, levels)?, form)));
    let (aicc, form) = scored.min_by(|left, right| left.0.total_cmp(&right.0))?;
    Some((aicc, Fit::of(form, levels, None)?))
}

/// Akaike's criterion, corrected; less is better. Residuals below the levels' own error are no
/// better than that error.
fn aicc(fit: &Fit, levels: &[FitLevel]) -> Option<f64> {
    let count = levels.len() as f64;
    // The scatter is a parameter as well.
    let parameters = fit.form.parameters() as f64 + 1.0;
    let freedom = count - parameters - 1.0;
    let squares = fit.rms(levels).max(forms::error(levels)).powi(2);
    (freedom > 0.0).then(|| {
        count * squares.ln() + 2.0 * parameters + 2.0 * parameters * (parameters + 1.0) / freedom
    })
}

/// The level at which a request in flight yields the most, if that is clearly more than at the
/// lowest level, and the index of the first level that is nearly as good.
fn superlinear(levels: &[FitLevel]) -> Option<(usize, Superlinear)> {
    let worth = |level: &FitLevel| level.rate / level.in_flight;
    let first = levels.first()?;
    let efficiency = |index: &usize| worth(&levels[*index]) / worth(first);
    let best =
        (0..levels.len()).max_by(|left, right| efficiency(left).total_cmp(&efficiency(right)))?;
    let seen = Superlinear { in_flight: levels[best].in_flight, efficiency: efficiency(&best) };
    let bound = SUPERLINEAR + 2.0 * (first.error + levels[best].error);
    let from = (0..=best).find(|index| efficiency(index) * SUPERLINEAR >= seen.efficiency);
    (seen.efficiency > bound).then_some((from.unwrap_or(best), seen))
}

fn describe(fit: &Fit, levels: &[FitLevel], aicc_behind: f64) -> FittedShape {
    let parameters = bootstrap::parameters(fit, levels);
    let worst = fit.residuals(levels).into_iter().fold(0.0, |worst: f64, residual| {
        if residual.abs() > worst.abs() { residual } else { worst }
    });
    let is_tried = |peak: &Estimate| peak.value <= reach(levels);
    FittedShape {
        kind: fit.form.kind(),
        unloaded_s: parameters.unloaded_s,
        cap: parameters.cap,
        knee_in_flight: parameters.knee,
        serial_share: parameters.serial,
        crosstalk_share: parameters.crosstalk,
        peak_in_flight: parameters.peak.filter(is_tried),
        breaks_at_in_flight: fit.form.breaks_at().map(|at| {
            let (low, high) = (levels[at - 1].in_flight, levels[at].in_flight);
            Estimate { value: (low * high).sqrt(), low, high }
        }),
        aicc_behind,
        residual_worst: worst,
        residual_rms: fit.rms(levels),
        is_beyond_error: fit.rms(levels) > BEYOND * forms::error(levels).max(2.0 * ERROR_MIN),
    }
}

/// The most requests in flight about which anything is said.
fn reach(levels: &[FitLevel]) -> f64 {
    model::ramp_fit::REACH * levels.last().map_or(0.0, |level| level.in_flight)
}

fn cautions(best: Option<&FittedShape>, levels: &[FitLevel], is_superlinear: bool) -> Vec<String> {
    let mut cautions = Vec::new();
    if is_superlinear {
        cautions.push(
            "a request in flight yields more at a higher level: the lowest levels are badly \
             measured, or cost falls when work comes in batches; the fit leaves them out"
                .to_string(),
        );
    }
    if levels.len() < USL_LEVELS_MIN {
        cautions.push(format!(
            "the scalability law (USL) needs {USL_LEVELS_MIN} levels, and there are {}",
            levels.len()
        ));
    }
    let Some(best) = best else {
        cautions.push("no form describes the levels".to_string());
        return cautions;
    };
    if best.is_beyond_error {
        cautions.push(format!(
            "residuals of up to {:+.1} % are larger than the error of the levels: another form, \
             or levels that do not repeat",
            best.residual_worst * 100.0
        ));
    }
    let most = levels.last().map_or(0.0, |level| level.in_flight);
    if best.knee_in_flight.is_some_and(|knee| knee.value > most) {
        cautions.push("the knee is beyond the highest level".to_string());
    }
    cautions
}

#[cfg(test)]
mod tests;
