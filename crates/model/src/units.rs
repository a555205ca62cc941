//! Numbers as people type and read them: counts, durations, levels.
//!
//! Parsing never guesses: an error says what is accepted and gives an example, so that the user
//! needs no manual.

/// Nanoseconds in one second.
pub const NS_PER_S: u64 = 1_000_000_000;
/// Nanoseconds in one millisecond.
pub const NS_PER_MS: u64 = 1_000_000;
/// Nanoseconds in one microsecond.
pub const NS_PER_US: u64 = 1_000;

/// Largest rate that can be requested, per second. No host sends that much, and every planned
/// request is counted, sent or not.
pub const RATE_MAX: f64 = 100e6;

/// Why a typed value was refused. Its text is complete: what was typed, what is accepted, an
/// example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{typed}' is not {accepted}; for example {example}")]
pub struct UnitError {
    /// What the person typed.
    pub typed: String,
    /// What would have been accepted, as a noun phrase.
    pub accepted: &'static str,
    /// A value that works.
    pub example: &'static str,
}

impl UnitError {
    pub(crate) fn new(typed: &str, accepted: &'static str, example: &'static str) -> Self {
        Self { typed: typed.to_string(), accepted, example }
    }
}

/// Splits `12.5ms` into `12.5` and `ms`.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'));
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, suffix))
}

/// Parses a whole number with an optional `k`, `M` or `G` (powers of 1000): `50`, `5k`, `1.5M`.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    const ACCEPTED: &str = "a whole number, optionally with k, M or G";
    let error = || UnitError::new(text, ACCEPTED, "50, 5k or 1.5M");
    let value = parse_scaled(text).ok_or_else(error)?;
    let whole = value.round();
    let fits = (value - whole).abs() < 1e-6 && whole <= 9e15;
    if fits { Ok(whole as u64) } else { Err(error()) }
}

/// Parses a rate per second, fractions allowed: `0.5`, `20k`, `1.25M`, optionally `/s`.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    const ACCEPTED: &str = "a rate per second above zero and up to 100M, optionally with k or M";
    let error = || UnitError::new(text, ACCEPTED, "20k, 0.5 or 1.2M/s");
    let bare = text.strip_suffix("/s").unwrap_or(text);
    let value = parse_scaled(bare).ok_or_else(error)?;
    if value > 0.0 && value <= RATE_MAX { Ok(value) } else { Err(error()) }
}

/// A number that is not below zero, optionally with k, M or G.
pub(crate) fn parse_scaled(text: &str) -> Option<f64> {
    let (number, suffix) = split_number(text)?;
    let scale = match suffix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return None,
    };
    Some(number * scale)
}

/// Parses a duration into nanoseconds: `250us`, `1.5ms`, `10s`, `2m`, `1h30m`; a bare number is
/// seconds, as in wrk. At most 1000 hours.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    const ACCEPTED: &str = "a duration (ns, us, ms, s, m, h; a bare number is seconds)";
    let error = || UnitError::new(text, ACCEPTED, "500ms, 10s or 2m");
    let mut total_ns = 0.0;
    let mut before_ns = f64::INFINITY;
    let mut left = text;
    loop {
        let (number, rest) = split_number(left).ok_or_else(error)?;
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (suffix, rest) = rest.split_at(end);
        let unit_ns = unit_ns(suffix).ok_or_else(error)?;
        // 1h30m, and neither 30m1h nor 1h30.
        if unit_ns >= before_ns || suffix.is_empty() && left != text {
            return Err(error());
        }
        total_ns += number * unit_ns;
        (before_ns, left) = (unit_ns, rest);
        if left.is_empty() {
            break;
        }
    }
    if total_ns <= 1000.0 * 3600e9 { Ok(total_ns.round() as u64) } else { Err(error()) }
}

fn unit_ns(suffix: &str) -> Option<f64> {
    Some(match suffix {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "" | "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

/// Rising levels: counts and ranges with commas between them, as in `50`, `50..5k`, `100..10k*2`,
/// `500..4k+500`, `100,500,1k..4k`. Never empty, each at least 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels(Vec<u64>);

/// Most levels; more is a typo.
pub const LEVELS_MAX: usize = 1000;

impl Levels {
    /// Reads counts and ranges. A range doubles unless it has a step, and visits its ends.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        const ACCEPTED: &str = "a count, a range FIRST..LAST, optionally with a step *FACTOR or \
                                +COUNT, or a list of them that rises";
        let error = || UnitError::new(text, ACCEPTED, "50, 50..5k, 500..4k+500 or 100,500,1k..8k");
        let mut levels = Vec::new();
        for part in text.split(',') {
            let part = part_of_levels(part).ok_or_else(error)?;
            levels.extend(part);
        }
        let rises = levels.windows(2).all(|pair| pair[0] < pair[1]);
        if rises && levels.len() <= LEVELS_MAX { Ok(Self(levels)) } else { Err(error()) }
    }

    /// The levels from `first`, each twice the one before, and `last`.
    pub fn doubling(first: u64, last: u64) -> Self {
        Self(spread(first, last, Step::Times(2.0)))
    }

    /// In rising order.
    pub fn all(&self) -> &[u64] {
        &self.0
    }

    /// The highest level.
    pub fn highest(&self) -> u64 {
        self.0.last().copied().unwrap_or(1)
    }
}

/// How the levels of a range follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// Each level is the one before times this factor (above 1).
    Times(f64),
    /// Each level is the one before plus this number (above 0).
    Plus(u64),
}

/// The levels of one count or one range.
fn part_of_levels(text: &str) -> Option<Vec<u64>> {
    let Some((first, rest)) = text.split_once("..") else {
        return parse_count(text).ok().filter(|only| *only >= 1).map(|only| vec![only]);
    };
    let (last, step) = match rest.find(['*', '+']) {
        None => (rest, Step::Times(2.0)),
        Some(at) if rest[at..].starts_with('*') => {
            let factor = split_number(&rest[at + 1..]).filter(|(_, suffix)| suffix.is_empty())?;
            (&rest[..at], Step::Times(factor.0))
        }
        Some(at) => (&rest[..at], Step::Plus(parse_count(&rest[at + 1..]).ok()?)),
    };
    let (first, last) = (parse_count(first).ok()?, parse_count(last).ok()?);
    let rises = match step {
        Step::Times(factor) => factor > 1.0,
        Step::Plus(count) => count > 0,
    };
    let levels = (first >= 1 && last >= first && rises).then(|| spread(first, last, step));
    levels.filter(|levels| levels.len() < LEVELS_MAX)
}

/// Every level from first to last, at most [`LEVELS_MAX`].
fn spread(first: u64, last: u64, step: Step) -> Vec<u64> {
    let mut levels = vec![first];
    let mut exact = first as f64;
    while levels.len() < LEVELS_MAX {
        let before = levels[levels.len() - 1];
        let next = match step {
            Step::Times(factor) => {
                exact *= factor;
                (exact.round() as u64).max(before + 1)
            }
            Step::Plus(count) => before.saturating_add(count),
        };
        if next >= last {
            break;
        }
        levels.push(next);
    }
    if last > first {
        levels.push(last);
    }
    levels
}

/// Larger numbers are written with an exponent, so that any number fits into a column.
const LONG: f64 = 1e15;

/// A number with this many decimals; `?` where there is none, because its parts were not sound.
pub fn show_fixed(value: f64, decimals: usize) -> String {
    match value.abs() {
        _ if !value.is_finite() => "?".to_string(),
        v if v >= LONG => format!("{value:.2e}"),
        _ => format!("{value:.decimals$}"),
    }
}

/// A number of things, short enough for a table: `812`, `17.4k`, `1.33M`.
pub fn show_count(value: f64) -> String {
    if !value.is_finite() || value.abs() >= LONG {
        return show_fixed(value, 0);
    }
    let (scaled, suffix) = match value.abs() {
        v if v >= 999.5e6 => (value / 1e9, "G"),
        v if v >= 999.5e3 => (value / 1e6, "M"),
        v if v >= 9_999.5 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = significant_decimals(scaled, suffix.is_empty());
    format!("{scaled:.digits$}{suffix}")
}

/// A number of things with their name: `1 connection`, `812 connections`.
pub fn show_things(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", show_count(count as f64))
}

/// Decimals that leave about three significant digits; whole numbers stay whole.
fn significant_decimals(value: f64, whole: bool) -> usize {
    match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => usize::from(!whole || v.fract() != 0.0),
        v if v.fract() == 0.0 && whole => 0,
        _ => 2,
    }
}

/// Percent: `12.3`, `0.05`, `100`.
pub fn show_percent(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 || v == 0.0 => format!("{value:.0}"),
        v if v >= 0.095 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Percent of a whole: `0` only for none of it, and `100` only for all of it.
pub fn show_part(percent: f64) -> String {
    match show_percent(percent).as_str() {
        "0" | "0.00" if percent > 0.0 => "<0.01".to_string(),
        "100" if percent < 100.0 => ">99.9".to_string(),
        shown => shown.to_string(),
    }
}

/// Percent of a whole, cut and not rounded: what is shown was reached.
pub fn show_at_least(percent: f64) -> String {
    let cut = (percent * 1e3 + 1e-6).floor() / 1e3;
    if percent > 0.0 && cut == 0.0 { "<0.001".to_string() } else { format!("{cut}") }
}

/// A duration in the largest fitting unit, three significant digits: `812ns`, `1.02ms`, `12.3s`.
pub fn show_ns(value_ns: f64) -> String {
    let (scaled, unit) = match value_ns.abs() {
        v if v >= 999.5e6 => (value_ns / 1e9, "s"),
        v if v >= 999.5e3 => (value_ns / 1e6, "ms"),
        v if v >= 999.5 => (value_ns / 1e3, "us"),
        _ => (value_ns, "ns"),
    };
    let digits = match scaled.abs() {
        _ if unit == "ns" => 0,
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{}{unit}", show_fixed(scaled, digits))
}

/// A number of bytes with binary-free decimal units: `12.3kB`, `4.71GB`.
pub fn show_bytes(value: f64) -> String {
    let text = show_count(value);
    format!("{text}B")
}

/// CPU numbers are below this: no kernel is built for that many.
const CPUS_MAX: usize = 16_384;

/// CPUs in the order listed, as users and the kernel write them: `1,2` or `4-7`.
pub fn parse_cpus(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_typed() {
        for (text, value) in [("50", 50), ("5k", 5_000), ("1.5M", 1_500_000), ("2G", 2_000_000_000)]
        {
            assert_eq!(parse_count(text), Ok(value), "{text}");
        }
        for text in ["", "-1", "1.5", "5x", "k", "nan", "inf", "1e3", "0x10"] {
            let error = parse_count(text).unwrap_err().to_string();
            assert!(error.contains("5k"), "{error}");
        }
    }

    #[test]
    fn durations_are_read_as_typed() {
        let cases = [("5", 5 * NS_PER_S), ("1.5ms", 1_500_000), ("250us", 250_000), ("7ns", 7)];
        for (text, value) in cases {
            assert_eq!(parse_duration_ns(text), Ok(value), "{text}");
        }
        assert_eq!(parse_duration_ns("2m"), Ok(120 * NS_PER_S));
        assert_eq!(parse_duration_ns("1h30m"), Ok(5400 * NS_PER_S));
        assert_eq!(parse_duration_ns("1m0.5s"), Ok(60_500 * NS_PER_MS));
        for text in ["", "5 s", "ms", "5d", "-3s", "9999999h"] {
            assert!(parse_duration_ns(text).is_err(), "{text}");
        }
        for text in ["30m1h", "1h30", "1h1h", "30 1h", "h", "1h m"] {
            assert!(parse_duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_visit_first_and_last() {
        let levels = |text| Levels::parse(text).map(|levels| levels.all().to_vec());
        assert_eq!(levels("50"), Ok(vec![50]));
        assert_eq!(levels("50..400"), Ok(vec![50, 100, 200, 400]));
        assert_eq!(levels("50..500"), Ok(vec![50, 100, 200, 400, 500]));
        assert_eq!(levels("1k..3k+1k"), Ok(vec![1000, 2000, 3000]));
        assert_eq!(levels("1..4*1.5"), Ok(vec![1, 2, 3, 4]));
        for text in ["0", "5..1", "1..1G+1", "1..9*1", "1..9+0", "..", "1..", "a..b", "1..2^3"] {
            assert!(levels(text).is_err(), "{text}");
        }
        assert_eq!(Levels::doubling(50, 500).all(), levels("50..500").unwrap());
    }

    #[test]
    fn lists_of_levels_rise() {
        let levels = |text| Levels::parse(text).map(|levels| levels.all().to_vec());
        assert_eq!(levels("100,500,1k,10k"), Ok(vec![100, 500, 1000, 10_000]));
        assert_eq!(levels("1,10..40,50..70+10"), Ok(vec![1, 10, 20, 40, 50, 60, 70]));
        for text in
            ["", ",", "1,", "2,1", "1,1", "1..10,10..20", "0,1", "1, 2", "1..900+1,1k..9k+1"]
        {
            let error = levels(text).unwrap_err().to_string();
            assert!(error.contains("100,500"), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_are_shown_with_three_digits() {
        let counts = [
            (0.0, "0"),
            (812.0, "812"),
            (9999.0, "9999"),
            (17_432.0, "17.4k"),
            (1_330_000.0, "1.33M"),
            (0.5, "0.50"),
        ];
        for (value, text) in counts {
            assert_eq!(show_count(value), text);
        }
        let times = [(812.0, "812ns"), (1_020_000.0, "1.02ms"), (12.34e9, "12.3s"), (0.0, "0ns")];
        for (value, text) in times {
            assert_eq!(show_ns(value), text);
        }
    }

    #[test]
    fn any_number_is_short() {
        for (value, text) in [(1e308, "1.00e308"), (-2.5e15, "-2.50e15"), (f64::NAN, "?")] {
            assert_eq!(show_count(value), text);
        }
        assert_eq!((show_ns(1e308), show_ns(f64::INFINITY)), ("1.00e299s".into(), "?s".into()));
        assert_eq!(show_bytes(5e-324), "0.00B");
    }
}
