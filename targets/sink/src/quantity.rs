//! Quantities as typed by users: `5ms`, `1%`, `0-3,6`.
//!
//! Each parser accepts the whole text or nothing. `usage.rs` says what each flag accepts.

use std::time::Duration;

/// Longest time that is accepted, one hour.
pub const TIME_MAX_NS: u64 = 3_600 * 1_000_000_000;

/// Largest CPU number that Linux can pin to with its usual mask.
const CPU_MAX: usize = 1023;

const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A time such as `20us` or `1.5ms`, in nanoseconds, from 0 to one hour.
pub fn time_ns(text: &str) -> Option<u64> {
    let (number, unit_ns) =
        UNITS.iter().find_map(|(unit, unit_ns)| Some((text.strip_suffix(unit)?, unit_ns)))?;
    let ns = (decimal(number)? * unit_ns).round();
    (ns <= TIME_MAX_NS as f64).then_some(ns as u64)
}

/// A time such as `1ms` as a [`Duration`], for flags.
pub fn time(text: &str) -> Result<Duration, String> {
    time_ns(text).map(Duration::from_nanos).ok_or_else(unfit)
}

/// A share such as `1%` or `0.5%`, as a fraction from 0 to 1.
pub fn share(text: &str) -> Option<f64> {
    let percent = decimal(text.strip_suffix('%')?)?;
    (percent <= 100.0).then_some(percent / 100.0)
}

/// A share such as `1%`, as a fraction from 0 to 1, for flags.
pub fn share_flag(text: &str) -> Result<f64, String> {
    share(text).ok_or_else(unfit)
}

/// CPU numbers such as `0-3,6`, in the order written.
pub fn cpus(text: &str) -> Result<Vec<usize>, String> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (cpu(first)?, cpu(last)?);
        if first > last {
            return Err(unfit());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

fn cpu(text: &str) -> Result<usize, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .filter(|&number: &usize| number <= CPU_MAX)
        .ok_or_else(unfit)
}

/// Digits with at most one point between them: no sign, no exponent, no `inf`.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let framed = text.starts_with(|first: char| first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit());
    (plain && framed).then(|| text.parse().ok()).flatten()
}

/// The error of an invalid value; the flag explains what is valid.
pub fn unfit() -> String {
    "unfit value".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(time_ns("20us"), Some(20_000));
        assert_eq!(time_ns("1.5ms"), Some(1_500_000));
        assert_eq!(time_ns("1s"), Some(1_000_000_000));
        assert_eq!(time_ns("7ns"), Some(7));
        assert_eq!(time_ns("3600s"), Some(TIME_MAX_NS));
        for wrong in ["", "5", "ms", "-1ms", "1e3ms", "infs", "3601s", "5 ms", ".5s", "1.s"] {
            assert_eq!(time_ns(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn shares_have_a_percent_sign() {
        assert_eq!(share("10%"), Some(0.1));
        assert_eq!(share("0.5%"), Some(0.005));
        assert_eq!(share("100%"), Some(1.0));
        for wrong in ["", "10", "%", "101%", "-1%", "nan%"] {
            assert_eq!(share(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn cpu_lists_have_commas_and_ranges() {
        assert_eq!(cpus("0-2,5"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(cpus("3"), Ok(vec![3]));
        for wrong in ["", "a", "3-1", "1,", "-1", "0-", "99999"] {
            assert!(cpus(wrong).is_err(), "{wrong:?}");
        }
    }
}
