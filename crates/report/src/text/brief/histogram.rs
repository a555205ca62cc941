//! Percentiles, next to a histogram of latency with as many bars as there are percentiles.

use super::super::line::{Ink, TextLine};
use super::super::spark::bar;
use super::super::{MARGIN, WIDTH};
use super::NAMES;
use super::rows::{PERCENTILES, figure_of};
use crate::wording::share;
use crate::wrap::{left, right, width};
use model::histogram::Histogram;
use model::run::{Point, Run};
use model::units::show_ns;

/// Bars are not drawn with less room.
const BAR_MIN: usize = 8;

/// Lines of percentiles and bars; nothing when the full distribution was not kept, or when it has a
/// single value.
pub(super) fn lines(run: &Run, point: &Point) -> Option<Vec<TextLine>> {
    let at = run.record.points.iter().position(|one| std::ptr::eq(one, point))?;
    let bins = bins(run.latencies.get(at)?)?;
    let values = PERCENTILES.map(|(_, figure)| figure_of(point, figure));
    let values_width = values.iter().map(|value| width(value)).max()?;
    let edges = bins.each_ref().map(|bin| format!("≤ {}", show_ns(bin.to_ns as f64)));
    let edges_width = edges.iter().map(|edge| width(edge)).max()?;
    let names = PERCENTILES.iter().map(|(name, _)| width(name)).max()?;
    let taken = MARGIN + NAMES + names + 2 + values_width + 4 + edges_width + 2 + SHARE;
    let room = WIDTH.checked_sub(taken).filter(|room| *room >= BAR_MIN)?;
    let (most, all) = (bins.iter().map(|bin| bin.count).max()?, bins.iter().map(|bin| bin.count));
    let all: u64 = all.sum();
    let mut lines = Vec::new();
    for (at, bin) in bins.iter().enumerate() {
        let label = if at == 0 { "Latency" } else { "" };
        let label = left(&format!("{}{label}", " ".repeat(MARGIN)), MARGIN + NAMES);
        let value = right(&values[at], values_width);
        let drawn = left(&bar(bin.count as f64 / most.max(1) as f64, room), room);
        let spread = format!("  │ {}  ", right(&edges[at], edges_width));
        lines.push(
            TextLine::painted(Ink::Faint, label)
                .then(Ink::Plain, format!("{}  {value}", left(PERCENTILES[at].0, names)))
                .then(Ink::Faint, spread)
                .then(Ink::Command, drawn)
                .then(Ink::Faint, right(&format!("{} %", share(bin.count, all)), SHARE)),
        );
    }
    Some(lines)
}

/// Width of a share: ` >99.9 %`.
const SHARE: usize = 8;

/// Values up to an edge and above the previous edge.
struct Bin {
    to_ns: u64,
    count: u64,
}

/// Bins of equal factors from the smallest value to the 99.9th percentile, and a last bin above it:
/// a single slow response must not put all others into one bar. With few values, the bins cover all
/// of them.
fn bins(histogram: &Histogram) -> Option<[Bin; PERCENTILES.len()]> {
    let (least, most) = (histogram.quantile_ns(0.0)?.max(1), histogram.quantile_ns(1.0)?);
    let usual = histogram.quantile_ns(0.999)?;
    let steps = if usual < most { PERCENTILES.len() - 1 } else { PERCENTILES.len() };
    if usual <= least {
        return None;
    }
    let factor = (usual as f64 / least as f64).powf(1.0 / steps as f64);
    let mut below = 0;
    Some(std::array::from_fn(|at| {
        let is_last = at + 1 == PERCENTILES.len();
        let exact = least as f64 * factor.powi(at as i32 + 1);
        let to_ns = if is_last { most } else { exact.round() as u64 };
        let up_to = if is_last { histogram.count() } else { histogram.count_up_to(to_ns) };
        let count = up_to.saturating_sub(below);
        below = up_to.max(below);
        Bin { to_ns, count }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_bin() {
        let mut histogram = Histogram::new();
        for value in 1..=10_000u64 {
            histogram.record_n(value * 1000, 3);
        }
        let bins = bins(&histogram).unwrap();
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 30_000);
        assert!(bins.is_sorted_by_key(|bin| bin.to_ns), "edges rise");
        assert_eq!(bins[4].to_ns, 10_000_000);
        let mut one = Histogram::new();
        one.record_n(5, 9);
        assert!(super::bins(&one).is_none() && super::bins(&Histogram::new()).is_none());
    }
}
