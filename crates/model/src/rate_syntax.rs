//! Shapes of an open loop's rate as people write them: steps, ramps, spikes, waves, recordings.
//!
//! Each parses to a [`Curve`]; as in [`units`](crate::units), the error for a value says what is
//! accepted and gives an example.

use crate::curve::{Curve, Leg};
use crate::units::{LEVELS_MAX, Levels, RATE_MAX, UnitError, parse_duration_ns, parse_rate};

/// Straight pieces that approximate one period of a wave; they differ from it by less than a
/// thousandth of its height.
const WAVE_PIECES: u32 = 100;
/// Longest recording and longest wave that are read, legs.
const LEGS_MAX: usize = 1_000_000;

/// A rate that may be zero.
fn rate(text: &str) -> Option<f64> {
    match text.trim() {
        "0" | "0/s" => Some(0.0),
        text => parse_rate(text).ok(),
    }
}

fn duration(text: &str) -> Option<u64> {
    parse_duration_ns(text.trim()).ok().filter(|ns| *ns > 0)
}

fn level(duration_ns: u64, rate: f64) -> Leg {
    Leg { duration_ns, from: rate, to: rate }
}

/// Steps of one length: `1k,5k,2k/10s` or `1k..10k+1k/10s` (a range as for levels).
pub fn parse_steps(text: &str) -> Result<Curve, UnitError> {
    const ACCEPTED: &str = "steps: rates or a range of them, then / and the length of each";
    let error = || UnitError::new(text, ACCEPTED, "1k,5k,2k/10s or 1k..10k+1k/10s");
    let (rates, each) = text.rsplit_once('/').ok_or_else(error)?;
    let each_ns = duration(each).ok_or_else(error)?;
    let rates: Vec<f64> = if rates.contains("..") {
        let levels = Levels::parse(rates).ok().filter(|all| all.highest() as f64 <= RATE_MAX);
        levels.ok_or_else(error)?.all().iter().map(|rate| *rate as f64).collect()
    } else {
        rates.split(',').map(rate).collect::<Option<_>>().ok_or_else(error)?
    };
    let asks = rates.iter().any(|rate| *rate > 0.0) && rates.len() <= LEVELS_MAX;
    let legs = rates.into_iter().map(|rate| level(each_ns, rate)).collect();
    if asks { Ok(Curve::of_legs(legs)) } else { Err(error()) }
}

/// Straight lines from one rate to another, one after the other: `0:100k/30s,100k:100k/10s`.
pub fn parse_ramp(text: &str) -> Result<Curve, UnitError> {
    const ACCEPTED: &str = "a ramp: FROM:TO/TIME, and more of them after commas";
    let error = || UnitError::new(text, ACCEPTED, "0:100k/30s or 0:5k/10s,5k:5k/20s");
    let leg = |text: &str| {
        let (rates, length) = text.rsplit_once('/')?;
        let (from, to) = rates.split_once(':')?;
        Some(Leg { duration_ns: duration(length)?, from: rate(from)?, to: rate(to)? })
    };
    let legs: Vec<Leg> = text.split(',').map(leg).collect::<Option<_>>().ok_or_else(error)?;
    let curve = Curve::of_legs(legs);
    if curve.peak_rate() > 0.0 { Ok(curve) } else { Err(error()) }
}

/// One rate with a burst of another: `1k:20k/2s@5s` is 1k/s, and 20k/s for two seconds from the
/// fifth on.
pub fn parse_spike(text: &str) -> Result<Curve, UnitError> {
    const ACCEPTED: &str = "a spike: BASE:PEAK/TIME@BEGIN";
    let error = || UnitError::new(text, ACCEPTED, "1k:20k/2s@5s");
    let parse = || {
        let (rates, times) = text.rsplit_once('/')?;
        let (base, peak) = rates.split_once(':')?;
        let (length, begin) = times.split_once('@')?;
        let (base, peak) = (rate(base)?, rate(peak)?);
        let legs = [level(duration(begin)?, base), level(duration(length)?, peak), level(0, base)];
        (base.max(peak) > 0.0).then(|| Curve::of_legs(legs.to_vec()))
    };
    parse().ok_or_else(error)
}

/// A sine between two rates that starts at their middle: `1k:5k/10s` has a period of ten seconds.
/// Drawn for `total_ns`.
pub fn parse_sine(text: &str, total_ns: u64) -> Result<Curve, UnitError> {
    const ACCEPTED: &str = "a wave: LOW:HIGH/PERIOD, at least 10ms long";
    let error = || UnitError::new(text, ACCEPTED, "1k:5k/10s");
    let parse = || {
        let (rates, period) = text.rsplit_once('/')?;
        let (low, high) = rates.split_once(':')?;
        let (low, high, period_ns) = (rate(low)?, rate(high)?, duration(period)?);
        let piece_ns = period_ns / u64::from(WAVE_PIECES);
        let pieces = total_ns.div_ceil(piece_ns.max(1));
        if high <= low || piece_ns < 100_000 || pieces > LEGS_MAX as u64 {
            return None;
        }
        let at = |piece: u64| {
            let turns = piece as f64 / f64::from(WAVE_PIECES);
            let height = (turns * std::f64::consts::TAU).sin();
            ((low + high) / 2.0 + (high - low) / 2.0 * height).max(0.0)
        };
        let leg = |piece| Leg { duration_ns: piece_ns, from: at(piece), to: at(piece + 1) };
        Some(Curve::of_legs((0..pieces.max(1)).map(leg).collect()))
    };
    parse().ok_or_else(error)
}

/// Why a recording was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: {wrong}; a recording has lines 't,rate' with rising seconds, for example \
     '0,1000' then '60,2500'; the last line ends it"
)]
pub struct RecordingError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub wrong: &'static str,
}

/// A recording of rates, CSV with the columns t (seconds) and rate (per second): each rate holds
/// until the next line, and the last line only says when it ends. A first line of names, empty
/// lines and lines that start with # are skipped.
pub fn parse_recording(text: &str) -> Result<Curve, RecordingError> {
    let mut rows: Vec<(f64, f64)> = Vec::new();
    let mut last_line = 1;
    for (index, line) in text.lines().enumerate() {
        let error = |wrong| RecordingError { line: index + 1, wrong };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut cells = line.split(',').map(|cell| cell.trim().parse::<f64>().ok());
        let (t_s, rate) = (cells.next().flatten(), cells.next().flatten());
        let row = match (t_s, rate) {
            (Some(t_s), Some(rate)) => (t_s, rate),
            (None, None) if rows.is_empty() => continue,
            _ => return Err(error("is not two numbers with a comma between them")),
        };
        if !(row.0 >= 0.0 && row.0 <= 3.6e6 && row.1 >= 0.0 && row.1 <= RATE_MAX) {
            return Err(error("has a time beyond 1000 hours, or a rate below zero or over 100M"));
        }
        if rows.last().is_some_and(|before| before.0 >= row.0) {
            return Err(error("is not later than the line before"));
        }
        if rows.len() >= LEGS_MAX {
            return Err(error("is more than a million lines long"));
        }
        rows.push(row);
        last_line = index + 1;
    }
    let leg =
        |pair: &[(f64, f64)]| level(((pair[1].0 - pair[0].0) * 1e9).round() as u64, pair[0].1);
    let legs: Vec<Leg> = rows.windows(2).map(leg).collect();
    if legs.iter().all(|leg| leg.from == 0.0) {
        let wrong = "ends a recording that plans no request";
        return Err(RecordingError { line: last_line, wrong });
    }
    Ok(Curve::of_legs(legs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn at(curve: &Curve, second: u64) -> f64 {
        curve.planned_until((second + 1) * S) - curve.planned_until(second * S)
    }

    #[test]
    fn steps_are_equally_long() {
        for text in ["1k,2k,3k/2s", "1k..3k+1k/2s"] {
            let curve = parse_steps(text).unwrap();
            assert_eq!(curve.duration_ns(), 6 * S, "{text}");
            assert_eq!((at(&curve, 1), at(&curve, 2), at(&curve, 5)), (1e3, 2e3, 3e3), "{text}");
        }
    }

    #[test]
    fn ramps_rise_and_hold() {
        let curve = parse_ramp("0:100/10s,100:100/5s").unwrap();
        assert_eq!((curve.duration_ns(), curve.planned_until(15 * S)), (15 * S, 1000.0));
    }

    #[test]
    fn a_spike_goes_back_to_its_base() {
        let curve = parse_spike("100:2k/2s@5s").unwrap();
        let rates = [4, 5, 6, 7, 100].map(|second| at(&curve, second));
        assert_eq!(rates, [100.0, 2000.0, 2000.0, 100.0, 100.0]);
    }

    #[test]
    fn a_wave_stays_between_its_rates_and_has_their_mean() {
        let curve = parse_sine("1k:5k/10s", 20 * S).unwrap();
        assert!((curve.mean_rate(20 * S) - 3000.0).abs() < 1.0);
        assert!((curve.peak_rate() - 5000.0).abs() < 1.0);
        assert!(at(&curve, 2) > 4900.0 && at(&curve, 7) < 1100.0);
    }

    #[test]
    fn a_recording_holds_each_rate_until_the_next_line() {
        let curve = parse_recording("t,rate\n# a comment\n0,10\n5, 20\n\n8,0\n").unwrap();
        assert_eq!((curve.duration_ns(), curve.planned_until(8 * S)), (8 * S, 110.0));
    }

    #[test]
    fn what_is_no_shape_says_what_would_be_one() {
        for text in ["", "1k", "/1s", "0,0/1s", "1k,x/1s", "1k/0s", "9..1/1s"] {
            let error = parse_steps(text).unwrap_err().to_string();
            assert!(error.contains("for example"), "{text}: {error}");
        }
        for text in ["", "1k/1s", "0:0/1s", "1:2/0s", "1:2/1s,", "-1:5/1s"] {
            assert!(parse_ramp(text).is_err(), "{text}");
        }
        for text in ["", "1k:2k/1s", "1k:2k@1s", "0:0/1s@1s", "1k/1s@1s"] {
            assert!(parse_spike(text).is_err(), "{text}");
        }
        for text in ["", "5k:1k/1s", "1k:5k/1us", "1k/1s"] {
            assert!(parse_sine(text, S).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bad_recording_names_its_line() {
        let cases = [
            ("", 1),
            ("0,10\n", 1),
            ("0,10\nx,20\n", 2),
            ("0,10\n0,20\n", 2),
            ("0,10\n5,-1\n", 2),
            ("0,0\n5,0\n", 2),
            ("0,10\n5\n", 2),
            ("0,nan\n5,1\n", 1),
        ];
        for (text, line) in cases {
            assert_eq!(parse_recording(text).unwrap_err().line, line, "{text:?}");
        }
    }
}
