//! Quantities as typed by users: `5ms`, `250/s`.

use std::time::Duration;

/// Longest time that is accepted.
const TIME_MAX_S: f64 = 3600.0;

const UNITS: [(&str, f64); 4] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];

/// A time such as `20us` or `1.5ms`, up to one hour.
pub fn time(text: &str) -> Result<Duration, String> {
    let unit = UNITS.iter().find_map(|(unit, unit_s)| Some((text.strip_suffix(unit)?, unit_s)));
    let time_s = unit.and_then(|(number, unit_s)| Some(decimal(number)? * unit_s));
    time_s.filter(|time_s| *time_s <= TIME_MAX_S).map(Duration::from_secs_f64).ok_or_else(unfit)
}

/// A rate such as `250/s`, above zero.
pub fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").and_then(decimal);
    number.filter(|rate| *rate > 0.0 && *rate <= 1e9).ok_or_else(unfit)
}

/// Digits with at most one point: no sign, no exponent, no `inf`.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let framed = text.starts_with(|first: char| first.is_ascii_digit());
    (plain && framed).then(|| text.parse().ok()).flatten()
}

/// The error of an invalid value; the flag explains what is valid.
fn unfit() -> String {
    "unfit value".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(time("20us"), Ok(Duration::from_micros(20)));
        assert_eq!(time("1.5ms"), Ok(Duration::from_micros(1500)));
        for wrong in ["", "5", "ms", "-1ms", "1e3ms", "infs", "3601s", "5 ms"] {
            assert!(time(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rates_are_per_second_and_above_zero() {
        assert_eq!(rate("250/s"), Ok(250.0));
        for wrong in ["", "250", "0/s", "/s", "-1/s"] {
            assert!(rate(wrong).is_err(), "{wrong:?}");
        }
    }
}
