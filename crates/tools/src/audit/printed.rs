//! Numbers as they were printed, with every value that rounds to their digits.
//!
//! Tools round and truncate in different ways, so a printed number stands for values from one unit
//! of its last digit below it to one above it. Whole numbers without a unit are counts and stand
//! for themselves. What no measurement gives is a number here as well, so that it is refuted and
//! not left out: one below zero, `NaN`, `inf`.

use model::audit::Figure;

/// The most digits of a printed number that are kept.
const PRINTED_MAX: usize = 40;
/// A number with a larger power of ten is zero, or has no end.
const POWER_MAX: i32 = 400;
/// From this many digits on, a number counts as printed in full.
const FULL_DIGITS: usize = 15;

/// The digits of a number, and the text after them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Digits<'a> {
    /// The number.
    pub value: f64,
    /// One unit of its last digit; 0 if it was printed in full.
    pub step: f64,
    /// Whether it has neither a decimal point nor an exponent.
    pub is_whole: bool,
    /// The text after the number.
    pub rest: &'a str,
}

/// Reads a number at the start of a text: `1,234.5`, `12`, `.85`, `1e-5`; with a decimal comma
/// `1.234,5` and `1,23`; `NaN` and `-inf`. None if its separators have no reading, as in `1,2,3`.
pub fn digits(text: &str) -> Option<Digits<'_>> {
    if let Some((value, rest)) = unreal(text) {
        return Some(Digits { value, step: 0.0, is_whole: false, rest });
    }
    let sign = usize::from(text.starts_with('-'));
    let (groups, separators, length) = groups(&text[sign..]);
    let decimals = match is_decimal(&groups, &separators)? {
        true => groups.last()?.len() as i32,
        false => 0,
    };
    let end = sign + length;
    let plain: String = groups.concat();
    let significant = plain.len();
    if significant == 0 || significant > PRINTED_MAX {
        return None;
    }
    let exponent = exponent(&text.as_bytes()[end..]);
    let power = exponent.map_or(0, |(power, _)| power);
    let rest = &text[end + exponent.map_or(0, |(_, length)| length)..];
    let (whole, part) = plain.split_at(significant - decimals as usize);
    let value = format!("{}{whole}.{part}", &text[..sign]).parse::<f64>().ok()?;
    let value = value * 10_f64.powi(power);
    let step = if significant >= FULL_DIGITS { 0.0 } else { 10_f64.powi(power - decimals) };
    let is_whole = decimals == 0 && exponent.is_none();
    Some(Digits { value, step, is_whole, rest })
}

/// `NaN`, `-nan`, `+Inf`, `Infinity`, as C, Go and JavaScript print them, alone or before a unit of
/// time (wrk prints `-nanus`).
fn unreal(text: &str) -> Option<(f64, &str)> {
    let bare = text.trim_start_matches(['-', '+']);
    let named = |(name, value): (&str, f64)| {
        let rest = bare.get(name.len()..).filter(|_| bare[..name.len()].eq_ignore_ascii_case(name));
        let end = |rest: &str| rest.find(|char: char| !char.is_alphabetic()).unwrap_or(rest.len());
        let ends = |rest: &&str| end(rest) == 0 || second_unit(&rest[..end(rest)]).is_some();
        Some((value, rest.filter(ends)?))
    };
    let of = [("nan", f64::NAN), ("infinity", f64::INFINITY), ("inf", f64::INFINITY)];
    let (value, rest) = of.into_iter().find_map(named)?;
    Some((if text.starts_with('-') { -value } else { value }, rest))
}

/// Runs of digits, what separates them, and the length of all. Points and commas always separate;
/// other marks only groups of three. Only a point may have no digit before it, as in `.85`.
fn groups(text: &str) -> (Vec<&str>, Vec<char>, usize) {
    let (mut groups, mut separators, mut end) = (Vec::new(), Vec::new(), 0);
    loop {
        let rest = &text[end..];
        let is_digit = |letter: char| letter.is_ascii_digit();
        let length = rest.find(|letter: char| !is_digit(letter)).unwrap_or(rest.len());
        groups.push(&rest[..length]);
        end += length;
        let mut next = rest[length..].chars();
        let Some(mark) = next.next() else { break };
        let behind = next.as_str().chars().take_while(|letter| is_digit(*letter)).take(4).count();
        let separates = match mark {
            '.' | ',' => behind > 0,
            '_' | '\'' | '’' | '\u{a0}' | '\u{202f}' => behind == 3,
            _ => false,
        };
        if !separates || (length == 0 && mark != '.') {
            break;
        }
        separators.push(mark);
        end += mark.len_utf8();
    }
    (groups, separators, end)
}

/// Whether the last group is decimals. None if the marks have no reading. A single comma before
/// three digits separates thousands, as tools print them, unless there can be none.
fn is_decimal(groups: &[&str], separators: &[char]) -> Option<bool> {
    let are_grouped = |many: usize| {
        let same = separators[..many].windows(2).all(|pair| pair[0] == pair[1]);
        let three = groups[1..=many].iter().all(|group| group.len() == 3);
        let first = groups[0];
        same && three && (1..=3).contains(&first.len()) && !first.starts_with('0')
    };
    let (last, before) = match separators {
        [] => return Some(false),
        [.., last] => (*last, separators.len() - 1),
    };
    let may_be_decimal = last == '.' || last == ',';
    let is_other = separators[..before].iter().all(|mark| *mark != last);
    match () {
        () if before == 0 && last == '.' => Some(true),
        () if are_grouped(separators.len()) => Some(false),
        () if may_be_decimal && is_other && are_grouped(before) => Some(true),
        () if before == 0 && may_be_decimal => Some(true),
        () => None,
    }
}

/// Whether a number can be read in two ways: `1,234` and `1.234`.
pub fn is_ambiguous(printed: &str) -> bool {
    let (groups, separators, _) = groups(printed);
    matches!(separators[..], ['.' | ',']) && is_decimal(&groups, &[',']) == Some(false)
}

/// Whether a number has a comma that can only be a decimal one.
pub fn has_decimal_comma(printed: &str) -> bool {
    let (groups, separators, _) = groups(printed);
    separators.last() == Some(&',') && is_decimal(&groups, &separators) == Some(true)
}

/// `e-5`, and its length.
fn exponent(bytes: &[u8]) -> Option<(i32, usize)> {
    if !bytes.first().is_some_and(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        return None;
    }
    let signed = usize::from(bytes.get(1).is_some_and(|byte| b"+-".contains(byte)));
    let length = bytes[1 + signed..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = std::str::from_utf8(&bytes[1..1 + signed + length]).ok()?;
    let power: i32 = text.parse().ok()?;
    Some((power.clamp(-POWER_MAX, POWER_MAX), 1 + signed + length))
}

/// A figure from digits in a unit, each unit being `scale` units of the figure.
pub fn scaled(digits: Digits<'_>, scale: f64, line: u64, printed: &str) -> Figure {
    let (value, step) = (digits.value * scale, digits.step * scale);
    // The last bits of a product carry no information.
    let noise = value.abs() * 1e-12;
    let (low, high) = match value {
        value if !value.is_finite() => (value, value),
        value if value < 0.0 => (value - step - noise, value + step + noise),
        value => ((value - step - noise).max(0.0), value + step + noise),
    };
    let printed = printed.trim().chars().take(PRINTED_MAX).collect();
    Figure { value, low, high, line, printed }
}

/// A count: exact if it is whole and has no suffix, else rounded to its digits (`19765k`).
pub fn count(text: &str, line: u64) -> Option<Figure> {
    let text = text.trim();
    let digits = digits(text)?;
    let scale = metric(digits.rest);
    if digits.is_whole && scale == 1.0 {
        let printed = text[..text.len() - digits.rest.len()].to_string();
        return Some(Figure { printed, ..Figure::exact(digits.value, line) });
    }
    Some(scaled(digits, scale, line, text))
}

/// A number with a suffix of thousands, never exact: `1.61k`, `175225.20`.
pub fn rounded(text: &str, line: u64) -> Option<Figure> {
    let text = text.trim();
    let digits = digits(text)?;
    let scale = metric(digits.rest);
    Some(scaled(digits, scale, line, text))
}

/// The factor of a suffix `k`, `M`, `G`, `T`.
fn metric(rest: &str) -> f64 {
    match rest.as_bytes().first() {
        Some(b'k' | b'K') => 1e3,
        Some(b'M') => 1e6,
        Some(b'G') => 1e9,
        Some(b'T') => 1e12,
        _ => 1.0,
    }
}

/// Seconds: `244.60us`, `1.5m`, `3 ms`, `12µs`. None for a duration in several parts, which
/// [`go_duration`] reads.
pub fn seconds(text: &str, line: u64) -> Option<Figure> {
    let text = text.trim();
    let digits = digits(text)?;
    let unit = digits.rest.trim_start();
    let end = unit.find(|char: char| !char.is_alphabetic()).unwrap_or(unit.len());
    let scale = second_unit(&unit[..end])?;
    if unit[end..].starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    let length = text.len() - unit.len() + end;
    Some(scaled(digits, scale, line, &text[..length]))
}

/// Seconds in a unit of time.
pub fn second_unit(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" | "usec" | "microsecond" | "microseconds" => 1e-6,
        "ms" | "msec" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    })
}

/// A duration in several parts as Go prints it: `1m30.5s`, `2.5ms`.
pub fn go_duration(text: &str, line: u64) -> Option<Figure> {
    let text = text.trim();
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let (mut rest, mut sum, mut step) = (text.trim_start_matches('-'), 0.0, 0.0);
    let mut parts = 0;
    while !rest.is_empty() {
        let part = digits(rest)?;
        let end = part.rest.find(|char: char| !char.is_alphabetic()).unwrap_or(part.rest.len());
        let scale = second_unit(&part.rest[..end])?;
        (sum, step) = (sum + part.value * scale, part.step * scale);
        (rest, parts) = (&part.rest[end..], parts + 1);
        if parts > 4 {
            return None;
        }
    }
    let whole = Digits { value: sign * sum, step, is_whole: false, rest: "" };
    (parts > 0).then(|| scaled(whole, 1.0, line, text))
}

/// A unit of data, `MB`, `GiB`, `Gbit` or `Mb`: the factor of its prefix, and the bytes of what it
/// counts. `B` is a byte and `b` is a bit, so the case matters: `mb` may mean either and is none.
pub fn data_unit(unit: &str) -> Option<(f64, f64)> {
    const COUNTED: [(&str, f64); 6] =
        [("bytes", 1.0), ("Bytes", 1.0), ("B", 1.0), ("bits", 0.125), ("bit", 0.125), ("b", 0.125)];
    let counted = |(name, size): &(&str, f64)| Some((unit.strip_suffix(*name)?, *size));
    let (prefix, size) = COUNTED.iter().find_map(counted)?;
    let factor = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((factor, size))
}

/// What is counted in a unit per second: `MB` of `MB/s`, `Gb` of `Gbps`.
pub fn per_second(unit: &str) -> Option<&str> {
    ["/s", "/sec", "/second", "ps"].iter().find_map(|end| unit.strip_suffix(*end))
}

/// Bytes with a unit, powers of `base` each: `26.10MB`, `2.44 GB`.
pub fn bytes(text: &str, base: f64, line: u64) -> Option<Figure> {
    let text = text.trim();
    let digits = digits(text)?;
    let unit = digits.rest.trim_start();
    let power = match unit.as_bytes().first().map(u8::to_ascii_uppercase) {
        Some(b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(b'P') => 5,
        _ => 0,
    };
    if power == 0 && digits.is_whole {
        return Some(Figure { printed: text.to_string(), ..Figure::exact(digits.value, line) });
    }
    let base = if unit.as_bytes().get(1) == Some(&b'i') { 1024.0 } else { base };
    Some(scaled(digits, base.powi(power), line, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(figure: Option<Figure>) -> (f64, f64, f64) {
        let figure = figure.expect("a number");
        // Ten digits: the others are noise from the product.
        let round = |value: f64| format!("{value:.9e}").parse::<f64>().unwrap();
        (round(figure.value), round(figure.low), round(figure.high))
    }

    #[test]
    fn a_rounded_number_stands_for_a_unit_of_its_last_digit_each_way() {
        assert_eq!(range(seconds("244.60us", 1)), (0.000_244_6, 0.000_244_59, 0.000_244_61));
        assert_eq!(range(seconds("3 ms", 1)), (0.003, 0.002, 0.004));
        assert_eq!(range(rounded("1.61k", 1)), (1610.0, 1600.0, 1620.0));
        assert_eq!(range(count("192767 requests", 1)), (192767.0, 192767.0, 192767.0));
        assert_eq!(range(count("19765k requests", 1)), (19_765e3, 19_764e3, 19_766e3));
        assert_eq!(range(bytes("1.00KB", 1024.0, 1)), (1024.0, 1013.76, 1034.24));
        assert_eq!(range(bytes("27660248 bytes", 1e3, 1)).0, 27_660_248.0);
        assert_eq!(range(count("1,204,223", 1)).0, 1_204_223.0);
        assert_eq!(range(go_duration("1m30.5s", 1)), (90.5, 90.4, 90.6));
        assert_eq!(seconds("1m30.5s", 1), None, "the minutes are only a part");
    }

    #[test]
    fn the_case_of_a_unit_tells_bytes_from_bits() {
        let scale = |unit: &str| data_unit(unit).map(|(factor, size)| factor * size);
        for (unit, bytes) in [
            ("B", 1.0),
            ("MB", 1e6),
            ("kB", 1e3),
            ("Mbytes", 1e6),
            ("GiB", 1_073_741_824.0),
            ("b", 0.125),
            ("Gb", 125e6),
            ("kb", 125.0),
            ("Mbit", 125e3),
            ("Gbits", 125e6),
        ] {
            assert_eq!(scale(unit), Some(bytes), "{unit}");
        }
        for unit in ["", "mb", "gb", "M", "r", "lib"] {
            assert_eq!(scale(unit), None, "{unit}");
        }
        let counted = ["MB/s", "Gbit/s", "Gbps", "MBps", "B/sec"].map(per_second);
        assert_eq!(counted, ["MB", "Gbit", "Gb", "MB", "B"].map(Some));
        assert_eq!((per_second("MB"), per_second("s")), (None, None));
    }

    #[test]
    fn numbers_printed_in_full_are_exact_to_their_bits() {
        let full = rounded("0.00043571129347740305", 1).unwrap();
        assert!(full.high - full.low < 1e-14);
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "abc", ".", "1e", "µ", "nanny", "info", "none", "i", "in"] {
            let read = digits(text).filter(|digits| digits.rest.is_empty());
            assert!(read.is_none(), "{text}: {read:?}");
        }
        for text in ["1,2,3", "10,20,50 ms", "127.0.0.1", "1.2.3", "1,234.567.8", "1.5,2,3", ",85"]
        {
            assert_eq!(digits(text), None, "{text}");
        }
        for text in [".850.123", ".5,2", "..5", "-.", ".x"] {
            assert_eq!(digits(text), None, "{text}");
        }
        assert_eq!(digits("5. of").unwrap().rest, ". of");
    }

    /// As wrk, hey (Go), JMeter (Java) and JavaScript print what is no measurement.
    #[test]
    fn what_no_measurement_gives_is_read_and_not_left_out() {
        for text in ["NaN secs", "-nan", "nan%", "NaN", "-nanus", "+NaN ms"] {
            assert!(digits(text).expect(text).value.is_nan(), "{text}");
        }
        for text in ["inf", "+Inf", "Infinity ms", "infs", "1e999", "9e400 ms"] {
            assert_eq!(digits(text).expect(text).value, f64::INFINITY, "{text}");
        }
        assert_eq!(seconds("-inf ms", 1).unwrap().value, f64::NEG_INFINITY);
        assert_eq!(range(seconds("-3.1102 secs", 1)), (-3.1102, -3.1103, -3.1101));
        assert!(seconds("-nanus", 1).unwrap().low.is_nan());
        assert_eq!(count("-9223372036854775808", 1).unwrap().value, -9.223_372_036_854_776e18);
        assert_eq!(digits("1e-999").unwrap().value, 0.0);
    }

    #[test]
    fn a_decimal_comma_is_one_wherever_there_can_be_no_thousands() {
        for (text, value) in [
            ("1,23ms", 1.23),
            ("1,2 ms", 1.2),
            ("0,123", 0.123),
            ("1.234,5", 1234.5),
            ("1.234.567,25", 1_234_567.25),
            ("1\u{202f}266,34", 1266.34),
            ("1’266.34", 1266.34),
            ("12345,678", 12_345.678),
            ("1,234.5", 1234.5),
            ("1.234.567", 1_234_567.0),
            ("-3,5", -3.5),
            (".85 ms", 0.85),
            ("-.5", -0.5),
            (".125", 0.125),
            // As tools print them: thousands, and a decimal point.
            ("1,234", 1234.0),
            ("1.234", 1.234),
            ("80,0e2", 8000.0),
        ] {
            let read = digits(text).expect("a number");
            assert!((read.value - value).abs() < 1e-9, "{text}: {read:?}");
        }
        assert_eq!(range(seconds("1,23ms", 1)), (0.001_23, 0.001_22, 0.001_24));
        assert!(["1,234 ms", "1.234/s", "12,345"].into_iter().all(is_ambiguous));
        assert!(
            !["1,23", "1.23", "0,123", "1234,567", "1.234,5", "7", ".234"]
                .into_iter()
                .any(is_ambiguous)
        );
        assert!(["80,0/s", "1.266,34"].into_iter().all(has_decimal_comma));
        assert!(!["1,234", "1,234.5", "1.5"].into_iter().any(has_decimal_comma));
    }
}
