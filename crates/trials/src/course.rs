//! Whether the rate drifted over an experiment, and whether consecutive blocks resemble each other.
//!
//! - A trend over the blocks, whatever the cell: the test of Mann and Kendall on the mean of each
//!   block, with the median slope of Theil and Sen. A trend is in both visits of a pair, so
//!   contrasts do not contain it; medians of cells do.
//! - Intervals of contrasts treat the ratios of blocks as independent. Each contrast is tested by
//!   the correlation of each ratio with the next, against randomly drawn orders.

use crate::visited::{Logs, Visited};
use judge::stats;
use model::analysis::{Course, Serial, Trend};
use model::experiment::Design;
use model::figure::Figure;
use model::maps::IntoMap;
use model::random::Random;
use statrs::distribution::{ContinuousCDF, Normal};
use std::collections::BTreeMap;

/// Chance below which a trend or a correlation counts.
const RISK: f64 = 0.05;
/// With fewer blocks, no order is unlikely enough.
const TREND_MIN: usize = 5;
/// With fewer ratios, no correlation is worth reporting.
const SERIAL_MIN: usize = 6;
/// Number of orders drawn.
const ORDERS: usize = 1999;
/// The correlation is capped at this: beyond it, all ratios would count as one visit.
const CORRELATION_MAX: f64 = 0.9;
/// The purpose of the seed of those orders.
const SEED: u64 = 0x6f72_6472;

/// The course of the rates of all visits that count.
pub(crate) fn of(design: &Design, visits: &[Visited<'_>]) -> Course {
    let logs = Logs::of(visits, Figure::Rate);
    let cells: Vec<&String> = design.compared().collect();
    let series = |cell: &&String| {
        let ratios = logs.series(&[(cell.as_str(), 1.0), (&design.baseline, -1.0)]);
        (ratios.len() >= SERIAL_MIN).then(|| (cell.to_string(), ratios))
    };
    let tested: Vec<(String, Vec<f64>)> = cells.iter().filter_map(series).collect();
    let risk = RISK / tested.len().max(1) as f64;
    let serial = tested.iter().filter_map(|(cell, ratios)| {
        let (correlation, chance) = serial(ratios)?;
        let bounded = correlation.min(CORRELATION_MAX);
        let wider = ((1.0 + bounded) / (1.0 - bounded)).sqrt();
        (chance < risk).then(|| Serial { cell: cell.clone(), correlation, chance, wider })
    });
    Course {
        trend: trend(&block_means(&logs)),
        serial: serial.collect(),
        tested: tested.len() as u64,
    }
}

/// The mean, for each block, of how far its visits are from the means of their cells.
fn block_means(logs: &Logs<'_>) -> Vec<f64> {
    let mut of_cells: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (cell, value) in logs.blocks().flat_map(|(_, cells)| cells) {
        of_cells.entry(cell).or_default().push(*value);
    }
    let means: BTreeMap<&str, f64> =
        of_cells.iter().filter_map(|(cell, values)| Some((*cell, stats::mean(values)?))).into_map();
    let of_block = |(_, cells): (u32, &BTreeMap<&str, f64>)| {
        let apart: Vec<f64> = cells.iter().map(|(cell, value)| value - means[cell]).collect();
        stats::mean(&apart)
    };
    logs.blocks().filter_map(of_block).collect()
}

/// Mann and Kendall's test and the median slope.
fn trend(values: &[f64]) -> Option<Trend> {
    let count = values.len();
    if count < TREND_MIN {
        return None;
    }
    let pairs = || (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
    let sign = |(one, other): (usize, usize)| match values[other] - values[one] {
        apart if apart > 0.0 => 1.0,
        apart if apart < 0.0 => -1.0,
        _ => 0.0,
    };
    let score: f64 = pairs().map(sign).sum();
    let n = count as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let normal = Normal::standard();
    let chance = 2.0 * (1.0 - normal.cdf((score.abs() - 1.0).max(0.0) / deviation));
    let slopes: Vec<f64> =
        pairs().map(|(one, other)| (values[other] - values[one]) / (other - one) as f64).collect();
    let change = (stats::median(&slopes)? * (n - 1.0)).exp_m1();
    Some(Trend { change, chance: chance.min(1.0), is_seen: chance < RISK })
}

/// Correlation of each value with the next, and the share of random orders with one as large.
fn serial(values: &[f64]) -> Option<(f64, f64)> {
    let found = stats::lag_one_correlation(values)?;
    let mut random = Random::new(values.len() as u64, SEED);
    let mut drawn = values.to_vec();
    let mut as_large = 1;
    for _ in 0..ORDERS {
        for last in (1..drawn.len()).rev() {
            drawn.swap(last, random.between(0, last as u64) as usize);
        }
        as_large += usize::from(stats::lag_one_correlation(&drawn)? >= found - 1e-12);
    }
    Some((found, as_large as f64 / (ORDERS + 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64, count: usize, carry: f64) -> Vec<f64> {
        let mut random = Random::new(seed, 0x6e6f);
        let mut last = random.normal();
        (0..count)
            .map(|_| {
                last = carry * last + (1.0 - carry * carry).sqrt() * random.normal();
                last
            })
            .collect()
    }

    #[test]
    fn a_trend_that_is_none_is_seldom_seen() {
        for count in [5, 12] {
            let seen = |seed: &u64| trend(&noise(*seed, count, 0.0)).unwrap().is_seen;
            let wrong = (0..2000).filter(seen).count();
            eprintln!("trends: {wrong} of 2000 with {count} blocks");
            assert!(wrong <= 125, "{wrong} of 2000 with {count} blocks");
        }
        assert_eq!(trend(&[1.0; 4]), None);
        assert!(!trend(&[1.0; 9]).unwrap().is_seen, "nothing moved");
    }

    #[test]
    fn a_trend_has_its_size() {
        let values: Vec<f64> = noise(3, 12, 0.0)
            .iter()
            .enumerate()
            .map(|(at, n)| 0.002 * n - 0.01 * at as f64)
            .collect();
        let found = trend(&values).unwrap();
        assert!(found.is_seen && (found.change + 0.104).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn ratios_that_carry_over_are_seen_and_others_seldom() {
        let seen = |seed: u64, carry: f64| serial(&noise(seed, 12, carry)).unwrap().1 < RISK;
        let wrong = (0..100).filter(|seed| seen(*seed, 0.0)).count();
        let right = (0..100).filter(|seed| seen(*seed, 0.8)).count();
        assert!(wrong <= 12 && right >= 50, "{wrong} and {right} of 100");
    }
}
