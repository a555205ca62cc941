//! Whether a measured window shows one rate, or several.

use crate::stats;
use model::run::Point;

/// A shift of the mean larger than this share makes the window unsteady.
pub const SHIFT_MAX: f64 = 0.10;
/// Standard errors above which a shift is not chance, over all places where it could be.
const SCORE_MIN: f64 = 4.5;
/// Variation of half-second rates larger than this makes the window unsteady.
pub const VARIATION_MAX: f64 = 0.15;
/// Tenths of a second per batch, at most; short windows are cut into shorter batches.
const BATCH_MAX: usize = 5;
/// Batches a window must have.
const BATCHES_MIN: usize = 4;

/// What the series of a window looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    /// One rate, within the noise of the series.
    Steady {
        /// Standard deviation over mean of half-second rates.
        variation: f64,
    },
    /// The rate changed for good inside the window.
    Shifted {
        /// When, seconds from the start of the window.
        at_s: f64,
        /// Rate after over rate before.
        ratio: f64,
    },
    /// The rate never settled.
    Restless {
        /// Standard deviation over mean of half-second rates.
        variation: f64,
    },
    /// Too short or too few responses to tell.
    Unknown,
}

/// Judges a point. In closed loop, requests that were sent together come back together and continue
/// in step: a server that takes 300 ms shows a burst every 300 ms, which is one rate. So tenths are
/// averaged over one round, the median response time, before they are judged. A window of fewer
/// than four rounds shows nothing.
pub fn steadiness_of(point: &Point) -> Steadiness {
    let tenths = &point.per_100ms;
    match round_of(point) {
        0 | 1 => steadiness(tenths),
        round if 4 * round > tenths.len() => Steadiness::Unknown,
        round => {
            let sums = tenths.windows(round).map(|round| round.iter().sum::<u64>());
            steadiness(&sums.map(|sum| sum / round as u64).collect::<Vec<_>>())
        }
    }
}

/// Judges completions per tenth of a second. A few responses scatter by themselves, so the share
/// that counting alone explains is allowed on top.
pub fn steadiness(tenths: &[u64]) -> Steadiness {
    // The end of the window cuts off the last tenth.
    let whole = &tenths[..tenths.len().saturating_sub(1)];
    let rates: Vec<f64> = whole.iter().map(|count| *count as f64).collect();
    let batch = (rates.len() / BATCHES_MIN).clamp(1, BATCH_MAX);
    let batches = stats::batch_means(&rates, batch);
    let (Some(mean), Some(variation)) = (stats::mean(&rates), stats::variation(&batches)) else {
        return Steadiness::Unknown;
    };
    if rates.len() < 3 * BATCHES_MIN || mean * (batch as f64) < 10.0 {
        return Steadiness::Unknown;
    }
    let by_chance = 3.0 / (mean * batch as f64).sqrt();
    if let Some(change) = stats::strongest_change(&rates, rates.len() / 5) {
        let share = (change.ratio - 1.0).abs();
        let correlation = stats::lag_one_correlation(&rates).unwrap_or(0.0).clamp(0.0, 0.9);
        // A correlated series holds less information than its length suggests.
        let score = change.score * ((1.0 - correlation) / (1.0 + correlation)).sqrt();
        if share > SHIFT_MAX + by_chance && score > SCORE_MIN {
            return Steadiness::Shifted { at_s: change.at as f64 / 10.0, ratio: change.ratio };
        }
    }
    if variation > VARIATION_MAX + by_chance {
        return Steadiness::Restless { variation };
    }
    Steadiness::Steady { variation }
}

/// Rates per second of the half seconds of a window; an incomplete last one is left out.
pub fn half_second_rates(tenths: &[u64]) -> Vec<f64> {
    let counts: Vec<f64> = tenths.iter().map(|count| *count as f64).collect();
    stats::batch_means(&counts, BATCH_MAX).into_iter().map(|mean| mean * 10.0).collect()
}

/// Nearly independent rates per second of parts of a point's window. Responses that arrive in
/// rounds are counted over four rounds at a time; a window with fewer than five such parts has
/// none.
pub fn independent_rates_of(point: &Point) -> Vec<f64> {
    let rate = point.headline_rate();
    match round_of(point) {
        0 => independent_rates(&point.per_100ms, rate),
        round => {
            let counts: Vec<f64> = whole_tenths(&point.per_100ms);
            let parts = stats::batch_means(&counts, ROUNDS * round);
            if parts.len() < PARTS_MIN { Vec::new() } else { scaled(parts, rate) }
        }
    }
}

/// Rounds that are counted together.
const ROUNDS: usize = 4;
/// Parts of a window that are needed to show how much it varies.
const PARTS_MIN: usize = 5;

/// Tenths of a second of one round, if responses arrive in rounds; otherwise 0. In closed loop,
/// requests that were sent together come back together.
fn round_of(point: &Point) -> usize {
    let is_stepped = point.is_closed_loop() && point.is_of_requests();
    let round_ns = point.service_ns.p50.filter(|_| is_stepped).unwrap_or(0);
    (round_ns as f64 / 1e8).round() as usize
}

/// The end of the window cuts off the last tenth.
fn whole_tenths(tenths: &[u64]) -> Vec<f64> {
    let whole = &tenths[..tenths.len().saturating_sub(1)];
    whole.iter().map(|count| *count as f64).collect()
}

/// The rates of parts of a window that depend little on each other, per second.
fn independent_rates(tenths: &[u64], rate: f64) -> Vec<f64> {
    scaled(stats::independent_batches(&whole_tenths(tenths)), rate)
}

/// Scaled so that their mean is `rate`: they do not include the cut tenth.
fn scaled(batches: Vec<f64>, rate: f64) -> Vec<f64> {
    let Some(mean) = stats::mean(&batches).filter(|mean| *mean > 0.0) else { return Vec::new() };
    batches.into_iter().map(|batch| batch / mean * rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(level: impl Fn(usize) -> u64) -> Vec<u64> {
        // A small deterministic wobble: no measured series is constant.
        (0..50).map(|at| level(at) + (at as u64 * 7919) % 13).collect()
    }

    #[test]
    fn one_rate_is_steady() {
        assert!(matches!(steadiness(&series(|_| 1000)), Steadiness::Steady { .. }));
    }

    #[test]
    fn a_step_is_a_shift_and_noise_is_restless() {
        let step = series(|at| if at < 25 { 1000 } else { 1300 });
        match steadiness(&step) {
            Steadiness::Shifted { at_s, ratio } => {
                assert!((at_s - 2.5).abs() < 0.2 && (ratio - 1.3).abs() < 0.02);
            }
            other => panic!("{other:?}"),
        }
        let restless = series(|at| if at / 5 % 2 == 0 { 700 } else { 1300 });
        assert!(matches!(steadiness(&restless), Steadiness::Restless { .. }));
    }

    #[test]
    fn a_regular_stall_inside_each_second_is_steady() {
        let stalls = series(|at| if at % 10 == 0 { 0 } else { 1000 });
        let steadiness = steadiness(&stalls);
        assert!(matches!(steadiness, Steadiness::Steady { .. }), "{steadiness:?}");
    }

    #[test]
    fn requests_in_step_are_one_rate() {
        // 1000 places at a server that takes 301 ms, all started together, for 3 s.
        let judged = |round_ns: u64, extra: fn(u64) -> u64| {
            let mut point = crate::fixture::Fixture::good().point;
            let mut tenths = vec![0; 30];
            for round in 1..=9u64 {
                tenths[(round * round_ns / 100_000_000) as usize] += 1000 * extra(round);
            }
            (point.per_100ms, point.service_ns.p50) = (tenths, Some(round_ns));
            steadiness_of(&point)
        };
        let steady = judged(301_000_000, |_| 1);
        assert!(matches!(steady, Steadiness::Steady { .. }), "{steady:?}");
        // A server that slows down for good is still detected.
        let slower = judged(301_000_000, |round| if round < 5 { 3 } else { 1 });
        assert!(!matches!(slower, Steadiness::Steady { .. }), "{slower:?}");
        let mut short = crate::fixture::Fixture::good().point;
        short.service_ns.p50 = Some(2_000_000_000);
        assert_eq!(steadiness_of(&short), Steadiness::Unknown, "two rounds and a half");
    }

    #[test]
    fn little_is_not_judged() {
        assert_eq!(steadiness(&[1000; 10]), Steadiness::Unknown);
        assert_eq!(steadiness(&[1; 50]), Steadiness::Unknown);
        assert_eq!(steadiness(&[]), Steadiness::Unknown);
        assert!(independent_rates(&[], 1.0).is_empty());
    }

    #[test]
    fn parts_of_a_window_have_its_rate() {
        let rates = independent_rates(&series(|_| 1000), 10_000.0);
        assert!(rates.len() >= 5);
        assert!((stats::mean(&rates).unwrap() - 10_000.0).abs() < 1e-6);
    }
}
