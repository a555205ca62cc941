//! Values of an axis in words, the same in a terminal and on a page.

use crate::page::Axis;
use crate::wording::change;
use model::unit::Unit;
use model::units::{show_count, show_fixed};

/// A value of an axis.
pub(crate) fn shown(axis: &Axis, value: f64) -> String {
    match axis.unit {
        Unit::Count => show_count(value),
        Unit::Percent => format!("{}%", show_fixed(value, 1)),
        Unit::Minutes => format!("{} min", show_fixed(value, 1)),
        Unit::Cpus => show_fixed(value, 2),
        Unit::Change => change(value),
        Unit::Nines => percentile(value),
        unit => unit.show(value),
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
