//! Where throughput stops growing, and how accurately its rate is known.
//!
//! Executive summary: the unit is a visit of a level, because the same level visited again gives
//! another rate, and that scatter is larger than the one inside a window. The plateau is a range of
//! loads. Its ends are the least and the greatest load that come near the best two neighbouring
//! levels; every visit between them counts, whatever its rate. The interval is Student's t over the
//! visits.
//!
//! How near is near follows the noise: three standard deviations of a visit, at least 5 % and at
//! most 25 %. The noise is taken from how far a level is off the line between its neighbours and
//! from visits of the same level, so neither a trend nor a rise counts as noise. Only at the ends
//! of the range does the result of a visit decide whether it counts; the simulated coverage
//! includes what that costs (`tests.rs`).
//!
//! This file only handles loads and rates, so that it can be simulated.

use crate::stats::{mean, student_95};
use model::verdict::IntervalKind;

/// Levels this near to the top are examined for the noise, before the noise is known.
const NEAR_AT_FIRST: f64 = 0.10;
/// Levels this near to the top belong to the plateau, however small the noise is.
const NEAR_MIN: f64 = 0.05;
/// Levels farther from the top do not mark an end of the plateau, however large the noise is.
const NEAR_MAX: f64 = 0.25;
/// Standard deviations of a visit within which levels are near.
const NEAR_DEVIATIONS: f64 = 3.0;
/// Rounds after which the noise and the range it is taken from have settled.
const ROUNDS_MAX: usize = 20;
/// From this many visits on, an interval is one of the mean.
pub const VISITS_MIN: usize = 3;
/// Change over the plateau that is worth reporting, as a share of its rate.
const DRIFT_MIN: f64 = 0.02;

/// One load, and the rate of each of its visits.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRates {
    /// Requests in flight, or requests per second asked for.
    pub load: u64,
    /// One per visit, never empty.
    pub rates: Vec<f64>,
}

impl LoadRates {
    fn rate(&self) -> f64 {
        mean(&self.rates).unwrap_or(0.0)
    }

    /// Where the level is on a scale on which doubling the load is one step.
    fn place(&self) -> f64 {
        (self.load.max(1) as f64).log2()
    }
}

/// A range of levels, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// Index of the least load.
    pub first: usize,
    /// Index of the greatest.
    pub last: usize,
    /// How near to the top its ends are, as a share.
    near: f64,
}

/// A range of loads narrower than this does not show that the rate has stopped growing.
const SPAN_MIN: f64 = 1.5;
/// Growth of the rate over that of the load, in logarithms, below which nine of ten added requests
/// only wait. The rate grows by 7 % when the load doubles.
const GROWTH_MAX: f64 = 0.10;

impl Plateau {
    /// Whether the rate has stopped growing: it falls at greater loads, or a much smaller load
    /// gives nearly as much as the greatest, or added requests only wait (by Little's law the
    /// duration of a request grows by what the rate does not).
    pub fn is_flat(&self, levels: &[LoadRates]) -> bool {
        let most = &levels[self.last];
        let declines = self.last + 1 < levels.len();
        let is_less = |level: &&LoadRates| most.load as f64 >= SPAN_MIN * level.load.max(1) as f64;
        let mut less = levels[self.first..=self.last].iter().filter(is_less);
        let growth = |level: &LoadRates| {
            let load = most.load as f64 / level.load.max(1) as f64;
            (most.rate() / level.rate()).ln() / load.ln()
        };
        let is_near = |level: &LoadRates| level.rate() >= (1.0 - self.near) * most.rate();
        declines || less.any(|level| is_near(level) || growth(level) < GROWTH_MAX)
    }
}

/// The range of levels, in order of rising load, whose ends come near the top. None without levels.
pub fn find(levels: &[LoadRates]) -> Option<Plateau> {
    let rates: Vec<f64> = levels.iter().map(LoadRates::rate).collect();
    let top = top(&rates)?;
    let range = |near: f64| {
        let is_near = |rate: &f64| *rate >= (1.0 - near) * top;
        let first = rates.iter().position(is_near)?;
        Some(Plateau { first, last: rates.iter().rposition(is_near)?, near })
    };
    let mut found = range(NEAR_AT_FIRST)?;
    let mut near = 0.0;
    for _ in 0..ROUNDS_MAX {
        let noise = noise(&levels[found.first..=found.last]).unwrap_or(0.0);
        let wanted = (NEAR_DEVIATIONS * noise / top).clamp(NEAR_MIN, NEAR_MAX);
        if wanted <= near {
            break;
        }
        near = wanted;
        found = range(near)?;
    }
    Some(found)
}

/// The best mean of two neighbouring levels. A single level would be the luckiest visit.
fn top(rates: &[f64]) -> Option<f64> {
    let pairs = rates.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    pairs.max_by(f64::total_cmp).or_else(|| rates.first().copied()).filter(|top| *top > 0.0)
}

/// Standard deviation of one visit, from what neither a level nor a straight line explains.
fn noise(levels: &[LoadRates]) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for three in levels.windows(3) {
        let [before, at, after] = three else { continue };
        // How near the middle level is to the last: levels need not be evenly spaced.
        let near = (at.place() - before.place()) / (after.place() - before.place());
        let bend = at.rate() - (1.0 - near) * before.rate() - near * after.rate();
        let share = |level: &LoadRates, weight: f64| weight * weight / level.rates.len() as f64;
        squares += bend * bend / (share(before, 1.0 - near) + share(at, 1.0) + share(after, near));
        freedom += 1.0;
    }
    for level in levels {
        let rate = level.rate();
        squares += level.rates.iter().map(|one| (one - rate) * (one - rate)).sum::<f64>();
        freedom += level.rates.len() as f64 - 1.0;
    }
    (freedom > 0.0).then(|| (squares / freedom).sqrt())
}

/// The mean of visits and how accurately it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean over all visits.
    pub mean: f64,
    /// Lower and upper end, and what they are. None for one visit.
    pub interval: Option<(f64, f64, IntervalKind)>,
    /// Visits.
    pub visits: usize,
    /// Change from the least to the greatest load as a share of the mean, if it is more than the
    /// visits scatter.
    pub drift: Option<f64>,
}

/// What the visits of a plateau say. None without a visit.
pub fn estimate(levels: &[LoadRates]) -> Option<Estimate> {
    let rates: Vec<f64> = levels.iter().flat_map(|level| level.rates.iter().copied()).collect();
    let visits = rates.len();
    let mean = mean(&rates)?;
    let interval = match visits {
        1 => None,
        _ if visits < VISITS_MIN => {
            let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let high = rates.iter().copied().fold(0.0, f64::max);
            Some((low, high, IntervalKind::MinMax))
        }
        _ => {
            let half = half_width(levels, mean, visits);
            Some(((mean - half).max(0.0), mean + half, IntervalKind::Visits95))
        }
    };
    Some(Estimate { mean, interval, visits, drift: drift(levels, mean) })
}

/// Half of the 95 % interval of the mean. Visits of one level may share an effect of the level, and
/// consecutive visits one of the host. If levels differ by more than their visits explain, the
/// levels are counted, not the visits.
fn half_width(levels: &[LoadRates], mean: f64, visits: usize) -> f64 {
    let count = visits as f64;
    let off = |level: &LoadRates| level.rates.iter().map(|rate| rate - mean).sum::<f64>();
    let squares: f64 =
        levels.iter().flat_map(|level| &level.rates).map(|rate| (rate - mean).powi(2)).sum();
    let by_visit = squares / (count - 1.0) / count;
    let number = levels.len() as f64;
    if levels.len() < VISITS_MIN || visits == levels.len() {
        return student_95(visits - 1) * by_visit.sqrt();
    }
    let by_level = levels.iter().map(|level| off(level).powi(2)).sum::<f64>() * number
        / (number - 1.0)
        / (count * count);
    match by_level > by_visit {
        true => student_95(levels.len() - 1) * by_level.sqrt(),
        false => student_95(visits - 1) * by_visit.sqrt(),
    }
}

/// The change from the first level to the last along a straight line through the levels, if chance
/// gives such a slope less than one time in twenty.
fn drift(levels: &[LoadRates], mean: f64) -> Option<f64> {
    if levels.len() < VISITS_MIN || mean <= 0.0 {
        return None;
    }
    let places = levels.iter().map(LoadRates::place);
    let middle = places.sum::<f64>() / levels.len() as f64;
    let off: Vec<(f64, f64)> =
        levels.iter().map(|level| (level.place() - middle, level.rate() - mean)).collect();
    let spread: f64 = off.iter().map(|(at, _)| at * at).sum();
    let slope = off.iter().map(|(at, off)| at * off).sum::<f64>() / spread;
    let height = off.iter().map(|(_, off)| off).sum::<f64>() / off.len() as f64;
    let rest: f64 = off.iter().map(|(at, off)| (off - height - slope * at).powi(2)).sum();
    let freedom = levels.len() - 2;
    let error = (rest / freedom as f64 / spread).sqrt();
    let change = slope * (off[off.len() - 1].0 - off[0].0) / mean;
    let is_real = slope.abs() > student_95(freedom) * error && change.abs() >= DRIFT_MIN;
    is_real.then_some(change)
}

#[cfg(test)]
mod tests;
