//! Rows of values on one axis: what each visit of each cell measured, or by how much cells differ.
//!
//! In: named values. Out: the position of each between the ends of the axis, and the round values
//! that label it. Never: a size, a colour or markup.

use super::{Axis, Band, Mark, Scale};
use model::unit::Unit;

/// Room beyond the outermost values, as a part of the axis.
const MARGIN: f64 = 0.04;
/// Half the length of an axis is at least this share of its middle value: figures are written with
/// three digits.
const LEAST_SHARE: f64 = 0.02;
/// Half the length of an axis of changes, which are written in tenths of a percent, is at least
/// this.
const LEAST_CHANGE: f64 = 0.004;
/// Approximate number of labels of an axis.
const STEPS: f64 = 4.0;
/// Most powers of ten that are labels of a log axis, of those between its ends.
const POWERS_MAX: usize = 20;

/// Rows of values on one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Dots {
    /// Stable name, also the anchor.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Heading of the column of row names.
    pub rows_are: String,
    /// Heading of the values next to them.
    pub values_are: String,
    /// Heading of the words at the end of rows; empty when there are none.
    pub words_are: String,
    /// What the values are.
    pub axis: Axis,
    /// A named range of the axis, for example what counts as no difference.
    pub zone: Option<Band>,
    /// A reference value for all others.
    pub line: Option<f64>,
    /// From top to bottom.
    pub rows: Vec<DotRow>,
}

/// One row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DotRow {
    /// Name.
    pub label: String,
    /// The main value in words.
    pub value: String,
    /// The conclusion, in a word or two.
    pub word: String,
    /// Single values.
    pub dots: Vec<Dot>,
    /// The main value.
    pub middle: Option<f64>,
    /// The interval around it.
    pub within: Option<(f64, f64)>,
}

/// A single value.
#[derive(Debug, Clone, PartialEq)]
pub struct Dot {
    /// Where it is.
    pub at: f64,
    /// Vertical position in the row, from the top at 0 to the bottom at 1. Dots of different rows
    /// at the same position belong together.
    pub place: f64,
    /// Whether it needs attention. A broken one is not part of the main value.
    pub mark: Mark,
    /// Text that the page shows while the pointer is on it.
    pub detail: String,
    /// The anchor that it links to.
    pub about: String,
}

impl Dots {
    /// What the axis covers: every value, except that broken ones do not widen it.
    pub fn span(&self) -> Span {
        let drawn = self.drawn();
        // A log axis has no place for zero.
        let scale = match drawn.iter().all(|value| *value > 0.0) {
            true => self.axis.scale,
            false => Scale::Linear,
        };
        let low = drawn.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
        let high = drawn.iter().copied().max_by(f64::total_cmp).unwrap_or(1.0);
        let (low, high) = self.widened(low, high);
        match scale {
            Scale::Log if low > 0.0 => {
                let margin = ((high.ln() - low.ln()) * MARGIN).exp();
                Span { low: low / margin, high: high * margin, scale }
            }
            _ => {
                let margin = (high - low) * MARGIN;
                Span { low: low - margin, high: high + margin, scale: Scale::Linear }
            }
        }
    }

    /// The values that the axis must show.
    fn drawn(&self) -> Vec<f64> {
        let of_row = |row: &DotRow| {
            let sound = row.dots.iter().filter(|dot| dot.mark != Mark::Broken).map(|dot| dot.at);
            let interval = row.within.iter().flat_map(|(low, high)| [*low, *high]);
            sound.chain(interval).chain(row.middle).collect::<Vec<f64>>()
        };
        let of_zone = self.zone.iter().flat_map(|zone| [zone.from, zone.to]);
        let all = self.rows.iter().flat_map(of_row).chain(of_zone).chain(self.line);
        let drawn: Vec<f64> = all.filter(|value| is_drawable(*value)).collect();
        if !drawn.is_empty() {
            return drawn;
        }
        let dots = self.rows.iter().flat_map(|row| &row.dots).map(|dot| dot.at);
        dots.filter(|value| is_drawable(*value)).collect()
    }

    /// A smaller difference must not fill the axis, and its labels could not show it.
    fn widened(&self, low: f64, high: f64) -> (f64, f64) {
        let least = match self.axis.unit {
            Unit::Change => LEAST_CHANGE,
            _ => LEAST_SHARE,
        };
        let middle = low.midpoint(high);
        let half = (middle.abs() * least).max(1e-9);
        match (high - low) / 2.0 >= half {
            true => (low, high),
            false => (middle - half, middle + half),
        }
    }
}

/// What an axis covers, for any values: low is less than high, and both are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    low: f64,
    high: f64,
    scale: Scale,
}

impl Span {
    fn scaled(self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).ln(),
        }
    }

    /// Position of a value, from 0 at the left end to 1 at the right end. A value beyond an end is
    /// at that end, and one that is no number is at the left end.
    pub fn place(self, value: f64) -> f64 {
        let (low, high) = (self.scaled(self.low), self.scaled(self.high));
        let place = (self.scaled(value) - low) / (high - low);
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// The positions of the ends of a range, whichever of them is the smaller one.
    pub fn places(self, (from, to): (f64, f64)) -> (f64, f64) {
        let (from, to) = (self.place(from), self.place(to));
        (from.min(to), from.max(to))
    }

    /// Round values inside the axis, in ascending order.
    pub fn steps(self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => linear_steps(self.low, self.high),
            Scale::Log => log_steps(self.low, self.high),
        }
    }
}

/// Whether an axis can show a value. What was measured is far inside of these limits; a value from
/// a damaged file may not be, and powers and sums of larger ones are infinite.
pub(crate) fn is_drawable(value: f64) -> bool {
    value == 0.0 || (1e-100..=1e100).contains(&value.abs())
}

fn linear_steps(low: f64, high: f64) -> Vec<f64> {
    let least = (high - low) / STEPS;
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least);
    let step = factor.unwrap_or(10.0) * power;
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|nth| nth as f64 * step).collect()
}

fn log_steps(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high / low > 300.0 {
        &[1.0]
    } else if high / low > 10.0 {
        &[1.0, 3.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let each = powers.clone().count().div_ceil(POWERS_MAX);
    let steps = powers
        .step_by(each)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    steps.filter(|step| *step >= low && *step <= high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dots(values: &[f64], scale: Scale) -> Dots {
        let dot = |at: &f64| Dot {
            at: *at,
            place: 0.0,
            mark: Mark::None,
            detail: String::new(),
            about: String::new(),
        };
        Dots {
            id: "dots".to_string(),
            title: "Rate".to_string(),
            note: String::new(),
            rows_are: "cell".to_string(),
            values_are: "median".to_string(),
            words_are: String::new(),
            axis: Axis { label: "rate".to_string(), unit: Unit::PerSecond, scale },
            zone: None,
            line: None,
            rows: vec![DotRow { dots: values.iter().map(dot).collect(), ..DotRow::default() }],
        }
    }

    #[test]
    fn values_stand_between_the_ends_and_round_ones_below() {
        let linear = dots(&[9_800.0, 10_100.0, 11_400.0], Scale::Linear);
        let log = dots(&[900.0, 120_000.0], Scale::Log);
        let (linear, log) = (linear.span(), log.span());
        assert_eq!(linear.steps(), [10_000.0, 10_500.0, 11_000.0]);
        assert!(linear.place(9_800.0) > 0.0 && linear.place(11_400.0) < 1.0);
        assert_eq!(log.steps(), [1e3, 3e3, 1e4, 3e4, 1e5]);
        assert!((log.place(1e4) - 0.49).abs() < 0.05, "{}", log.place(1e4));
    }

    #[test]
    fn what_gates_struck_stays_inside_and_widens_nothing() {
        let mut of = dots(&[100.0, 110.0, 5_000.0], Scale::Linear);
        of.rows[0].dots[2].mark = Mark::Broken;
        let span = of.span();
        assert!(span.high < 111.0, "{span:?}");
        assert_eq!(span.place(5_000.0), 1.0);
    }

    #[test]
    fn one_value_alone_has_an_axis_too() {
        for value in [0.0, 7.0] {
            let one = dots(&[value], Scale::Linear).span();
            assert!(one.low < one.high, "{one:?}");
            assert!(one.place(value).is_finite());
        }
    }

    /// Values of files that another tool wrote, or damaged.
    #[test]
    fn any_number_has_its_place_and_an_axis_few_labels() {
        let odd = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, 5e-324, 1e17, 1e60, 1e308, -1e308];
        let odd = odd.into_iter().chain([f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
        let odd: Vec<f64> = odd.collect();
        for (one, other) in odd.iter().flat_map(|one| odd.iter().map(move |other| (*one, *other))) {
            for (scale, unit) in [(Scale::Log, Unit::Change), (Scale::Linear, Unit::Ns)] {
                let mut of = dots(&[one, 7.0], scale);
                of.axis.unit = unit;
                of.rows[0].within = Some((other, one));
                of.rows[0].middle = Some(other);
                of.line = Some(one);
                of.zone =
                    Some(Band { label: "zone".into(), from: one, to: other, mark: Mark::None });
                let span @ Span { low, high, .. } = of.span();
                assert!(low < high && low.is_finite() && high.is_finite(), "{span:?}");
                let steps = span.steps();
                assert!(steps.len() < 70 && steps.is_sorted(), "{one} {other}: {steps:?}");
                assert!(steps.iter().all(|step| (low..=high).contains(step)), "{steps:?}");
                let places = [one, other, low, high].map(|value| span.place(value));
                assert!(places.iter().all(|at| (0.0..=1.0).contains(at)), "{places:?}");
                let (from, to) = span.places((one, other));
                assert!(from <= to, "{one} {other}");
                let page = crate::page::Page {
                    title: String::new(),
                    subtitle: String::new(),
                    blocks: vec![crate::page::Block::Dots(of)],
                };
                let text = crate::text::draw(&page, crate::Style::PLAIN);
                assert!(
                    text.lines().all(|line| line.chars().count() <= crate::Style::PLAIN.columns)
                );
                assert!(!crate::html::blocks(&page).contains("NaN"), "{one} {other}");
            }
        }
    }

    #[test]
    fn zero_has_a_place_on_any_axis() {
        let of = dots(&[0.0, 40_000.0], Scale::Log);
        assert_eq!(of.span().steps(), [0.0, 20_000.0, 40_000.0]);
        let far = dots(&[1.0, 1e20], Scale::Log).span();
        assert!((far.place(1e10) - 0.5).abs() < 1e-6, "{}", far.place(1e10));
    }

    #[test]
    fn round_values_are_different_as_they_are_written() {
        use crate::axis::step_label;
        for value in [700.0, 1.6e7, 9.99e6, 4000.0] {
            for unit in [Unit::Ns, Unit::PerSecond] {
                let mut of = dots(&[value * 0.9999, value], Scale::Linear);
                of.axis.unit = unit;
                let labels: Vec<_> =
                    of.span().steps().iter().map(|at| step_label(&of.axis, *at)).collect();
                let mut different = labels.clone();
                different.dedup();
                assert!(labels.len() > 1 && labels == different, "{labels:?}");
            }
        }
    }
}
