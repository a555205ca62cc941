//! How the latency of good responses is spread, in one row.

use super::super::spark::step;
use super::{MARGIN, NAMES};
use crate::wrap::NO_BREAK;
use model::histogram::Histogram;
use model::run::{Point, Run};
use model::units::show_ns;

/// Most bars.
const BARS_MAX: usize = 24;
/// Fewest bars.
const BARS_MIN: usize = 8;

/// Bars from the shortest latency to the longest, each as many times longer than the one before,
/// and where half of the responses are; nothing when the full distribution was not kept, or when it
/// has a single value.
pub(super) fn spread(run: &Run, point: &Point, columns: usize) -> Option<String> {
    let at = run.record.points.iter().position(|one| std::ptr::eq(one, point))?;
    let histogram = run.latencies.get(at)?;
    let shown = |quantile: f64| Some(show_ns(histogram.quantile_ns(quantile)? as f64));
    let ends = (shown(0.0)?, shown(1.0)?);
    let room = columns.saturating_sub(MARGIN + NAMES + ends.0.len() + ends.1.len() + 4);
    let counts = counts(histogram, room.clamp(BARS_MIN, BARS_MAX))?;
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let bar = |count: &u64| if *count == 0 { NO_BREAK } else { step(*count as f64 / most as f64) };
    let bars: String = counts.iter().map(bar).collect();
    let (low, high) = (shown(0.25)?, shown(0.75)?);
    let (from, to) = ends;
    Some(format!("{from}{NO_BREAK}{bars}{NO_BREAK}{to}, half from {low} to {high}"))
}

/// How many values are in each of `bars` ranges of equal factors.
fn counts(histogram: &Histogram, bars: usize) -> Option<Vec<u64>> {
    let (least, most) = (histogram.quantile_ns(0.0)?.max(1), histogram.quantile_ns(1.0)?);
    if most <= least {
        return None;
    }
    let factor = (most as f64 / least as f64).powf(1.0 / bars as f64);
    let up_to = |bar: usize| match bar == bars {
        true => histogram.count(),
        false => histogram.count_up_to((least as f64 * factor.powi(bar as i32)).round() as u64),
    };
    let below = |bar: usize| if bar == 0 { 0 } else { up_to(bar) };
    Some((0..bars).map(|bar| up_to(bar + 1).saturating_sub(below(bar))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_under_one_bar() {
        let mut histogram = Histogram::new();
        for value in 1..=10_000u64 {
            histogram.record_n(value * 1000, 3);
        }
        let counts = counts(&histogram, 24).unwrap();
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (24, 30_000));
        let mut one = Histogram::new();
        one.record_n(5, 9);
        assert!(super::counts(&one, 24).is_none());
        assert!(super::counts(&Histogram::new(), 24).is_none());
    }
}
