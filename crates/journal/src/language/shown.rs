//! Formats figures for people: with unit and interval, and without digits that the interval makes
//! meaningless.

use super::quantity::{Basis, Quantity, Value};
use model::unit::{Unit, written};

/// Most decimals.
const DECIMALS_MAX: i32 = 9;

/// The format that a reference asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// The unit, as written after a number; by default a fitting one.
    pub unit: Option<String>,
    /// Decimals; by default as many as the interval justifies.
    pub decimals: Option<u8>,
}

/// A value: `12,350/s (12,100 to 12,600)`, `S1`, `S1 in 5 of 6 visits`.
pub fn shown_value(value: &Value) -> String {
    match value {
        Value::Quantity(figure) => shown(figure),
        Value::Unknown(why) => format!("not known ({why})"),
        Value::Word(words) => {
            let visits: u64 = words.values().sum();
            let one = |(word, count): (&String, &u64)| match words.len() {
                1 => word.clone(),
                _ => format!("{word} in {count} of {visits} visits"),
            };
            words.iter().map(one).collect::<Vec<_>>().join(", ")
        }
    }
}

/// A figure with a fitting unit.
pub fn shown(figure: &Quantity) -> String {
    let (word, factor) = fitting(figure);
    drawn(figure, word, factor, None)
}

/// A value in the format of a reference. The error says which units are possible.
pub fn as_wished(value: &Value, wish: &Wish) -> Result<String, String> {
    let Value::Quantity(figure) = value else { return Ok(shown_value(value)) };
    let (word, factor) = match &wish.unit {
        None => fitting(figure),
        Some(word) => {
            let known = written(word).filter(|(_, unit)| unit.fits(figure.unit));
            let (factor, _) = known.ok_or_else(|| {
                format!(
                    "it is {} and cannot be shown in '{word}'; for example {}",
                    figure.unit.name(),
                    example(figure.unit)
                )
            })?;
            (word.as_str(), factor)
        }
    };
    Ok(drawn(figure, word, factor, wish.decimals))
}

/// A unit in which a figure can be shown.
fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => "k/s",
        Unit::Seconds => "ms",
        Unit::Bytes => "MB",
        Unit::BytesPerSecond => "MB/s",
        _ => "%",
    }
}

/// The most readable unit of a figure, with its factor.
fn fitting(figure: &Quantity) -> (&'static str, f64) {
    let size = figure.value.abs();
    match figure.unit {
        Unit::Share => ("%", 0.01),
        Unit::PerSecond => ("/s", 1.0),
        Unit::Seconds => match size {
            s if s >= 1.0 => ("s", 1.0),
            s if s >= 1e-3 => ("ms", 1e-3),
            s if s >= 1e-6 => ("us", 1e-6),
            s if s > 0.0 => ("ns", 1e-9),
            _ => ("s", 1.0),
        },
        Unit::Bytes | Unit::BytesPerSecond => {
            let is_rate = figure.unit == Unit::BytesPerSecond;
            let (words, factor) = match size {
                b if b >= 1e9 && !is_rate => (("GB", "GB/s"), 1e9),
                b if b >= 1e6 => (("MB", "MB/s"), 1e6),
                b if b >= 1e3 => (("kB", "kB/s"), 1e3),
                _ => (("B", "B/s"), 1.0),
            };
            (if is_rate { words.1 } else { words.0 }, factor)
        }
        _ => ("", 1.0),
    }
}

fn drawn(figure: &Quantity, word: &str, factor: f64, decimals: Option<u8>) -> String {
    let scaled = |value: f64| value / factor;
    let (value, low, high) = (scaled(figure.value), scaled(figure.low), scaled(figure.high));
    let decimals = decimals.map_or_else(|| decimals_of(figure, value, high - low), i32::from);
    let space = if word == "%" { " " } else { "" };
    let number = |value: f64| rounded(value, decimals);
    if figure.basis == Basis::Ends && low.is_finite() && high.is_finite() {
        return format!("{} to {}{space}{word}", number(low), number(high));
    }
    let has_interval = matches!(
        figure.basis,
        Basis::Visits(_) | Basis::Bounds | Basis::Range(_) | Basis::WithinRun | Basis::Ends
    );
    let remark = figure.basis.remark();
    match has_interval {
        true if low.is_finite() && high.is_infinite() => {
            format!("at least {}{space}{word}", number(low))
        }
        true if low.is_infinite() || high.is_infinite() => {
            format!("{}{space}{word} (of unknown width)", number(value))
        }
        true => {
            format!("{}{space}{word} ({} to {}{remark})", number(value), number(low), number(high))
        }
        false => format!("{}{space}{word}", number(value)),
    }
}

/// Decimals that leave two digits of the width of the interval, and at least two of the value;
/// without an interval, about four digits of the value.
fn decimals_of(figure: &Quantity, value: f64, width: f64) -> i32 {
    let order = |value: f64| value.abs().log10().floor() as i32;
    let by_value = if value == 0.0 { 0 } else { 3 - order(value) };
    let has_width = width > 0.0 && width.is_finite();
    let by_width = has_width.then(|| (1 - order(width)).max(by_value - 2));
    let decimals = match figure.basis {
        // An exact number keeps its digits.
        Basis::Exact => (0..=DECIMALS_MAX).find(|at| is_at(value, *at)).unwrap_or(by_value),
        Basis::Printed => (0..=DECIMALS_MAX).find(|at| is_at(value, *at)).unwrap_or(by_value),
        _ => by_width.unwrap_or(by_value),
    };
    decimals.clamp(-2, DECIMALS_MAX)
}

/// Whether a number has at most these decimals, within floating-point accuracy.
fn is_at(value: f64, decimals: i32) -> bool {
    let scaled = value * 10f64.powi(decimals);
    (scaled - scaled.round()).abs() <= 1e-9 * scaled.abs().max(1.0)
}

/// A number with these decimals and with commas; below 0, digits before the point are rounded.
fn rounded(value: f64, decimals: i32) -> String {
    let step = 10f64.powi(-decimals.min(0));
    let value = if decimals < 0 { (value / step).round() * step } else { value };
    let text = format!("{:.*}", decimals.max(0) as usize, value);
    let (sign, digits) = match text.strip_prefix('-') {
        // -0 is shown as 0.
        Some(digits) if digits.bytes().all(|byte| b"0.".contains(&byte)) => ("", digits),
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(a, b)| (a, Some(b)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let part = part.map_or(String::new(), |part| format!(".{part}"));
    format!("{sign}{grouped}{part}")
}
