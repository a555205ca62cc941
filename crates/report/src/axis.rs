//! Values of an axis in words, the same in a terminal and on a page.

use crate::page::{Axis, Unit};
use crate::wording::{change, per_second};
use model::units::{NS_PER_S, show_bytes, show_count, show_fixed, show_ns};

/// A value of an axis.
pub(crate) fn shown(axis: &Axis, value: f64) -> String {
    match axis.unit {
        Unit::Count => show_count(value),
        Unit::PerSecond => per_second(value),
        Unit::Bytes => show_bytes(value),
        Unit::BytesPerSecond => format!("{}/s", show_bytes(value)),
        Unit::Ns => show_ns(value),
        Unit::Seconds => show_ns(value * NS_PER_S as f64),
        Unit::Percent => format!("{}%", show_fixed(value, 1)),
        Unit::Minutes => format!("{} min", show_fixed(value, 1)),
        Unit::Cpus => show_fixed(value, 2),
        Unit::Change => change(value),
        Unit::Nines => percentile(value),
    }
}

/// A round value below an axis, without trailing zeros.
pub(crate) fn step_label(axis: &Axis, value: f64) -> String {
    let text = shown(axis, value);
    let end = text.find(|letter: char| !letter.is_ascii_digit() && !"+-.".contains(letter));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let bare = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    let bare = if matches!(bare, "+0" | "-0") { "0" } else { bare };
    format!("{bare}{unit}")
}

/// `p99.9` for a thousand; without trailing zeros.
fn percentile(nines: f64) -> String {
    let shown = format!("{:.3}", 100.0 - 100.0 / nines);
    format!("p{}", shown.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_values_are_written_without_zeros() {
        let label = |unit, value| step_label(&Axis::linear("", unit), value);
        assert_eq!(label(Unit::PerSecond, 40_000.0), "40k/s");
        assert_eq!(label(Unit::PerSecond, 100.0), "100/s");
        assert_eq!(label(Unit::Change, 1.0), "0 %");
        assert_eq!(label(Unit::Change, 1.05), "+5 %");
        assert_eq!(label(Unit::Ns, 12_500_000.0), "12.5ms");
    }
}
