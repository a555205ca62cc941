//! Rows of values on one axis: what each visit of each cell measured, or by how much cells differ.
//!
//! In: named values. Out: the position of each between the ends of the axis, and the round values
//! that label it. Never: a size, a colour or markup.

use super::{Axis, Band, Mark, Scale, Unit};

/// Room beyond the outermost values, as a part of the axis.
const MARGIN: f64 = 0.04;
/// Half the length of an axis is at least this share of its middle value: figures are written with
/// three digits.
const LEAST_SHARE: f64 = 0.02;
/// The same for changes, which are written in tenths of a percent.
const LEAST_CHANGE: f64 = 0.004;
/// Approximate number of labels of an axis.
const STEPS: f64 = 4.0;

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
    /// The ends of the axis. Broken values do not widen it.
    pub fn ends(&self) -> (f64, f64) {
        let (low, high) = self.extent();
        let margin = (self.scaled(high) - self.scaled(low)) * MARGIN;
        match self.axis.scale {
            Scale::Linear => (low - margin, high + margin),
            Scale::Log => (low / margin.exp(), high * margin.exp()),
        }
    }

    /// The smallest value and the largest; never the same.
    fn extent(&self) -> (f64, f64) {
        let of_row = |row: &DotRow| {
            let sound = row.dots.iter().filter(|dot| dot.mark != Mark::Broken).map(|dot| dot.at);
            let interval = row.within.iter().flat_map(|(low, high)| [*low, *high]);
            sound.chain(interval).chain(row.middle).collect::<Vec<f64>>()
        };
        let of_zone = self.zone.iter().flat_map(|zone| [zone.from, zone.to]);
        let mut values: Vec<f64> = self.rows.iter().flat_map(of_row).chain(of_zone).collect();
        values.extend(self.line);
        if values.is_empty() {
            values.extend(self.rows.iter().flat_map(|row| &row.dots).map(|dot| dot.at));
        }
        let low = values.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
        let high = values.iter().copied().max_by(f64::total_cmp).unwrap_or(1.0);
        // A smaller difference must not fill the axis, and its labels could not show it.
        let least = match self.axis.unit {
            Unit::Change => LEAST_CHANGE,
            _ => LEAST_SHARE,
        };
        let (middle, half) = (low.midpoint(high), (high - low) / 2.0);
        let half = half.max(middle.abs() * least).max(1e-9);
        (middle - half, middle + half)
    }

    fn scaled(&self, value: f64) -> f64 {
        match self.axis.scale {
            Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).ln(),
        }
    }

    /// Position of a value, from 0 at the left end to 1 at the right end.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        let (low, high) = (self.scaled(low), self.scaled(high));
        ((self.scaled(value) - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Round values inside the axis, in ascending order.
    pub fn steps(&self) -> Vec<f64> {
        let (low, high) = self.ends();
        match self.axis.scale {
            Scale::Linear => linear_steps(low, high),
            Scale::Log => log_steps(low, high),
        }
    }
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
    let steps =
        powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
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
        assert_eq!(linear.steps(), [10_000.0, 10_500.0, 11_000.0]);
        assert!(linear.place(9_800.0) > 0.0 && linear.place(11_400.0) < 1.0);
        let log = dots(&[900.0, 120_000.0], Scale::Log);
        assert_eq!(log.steps(), [1e3, 3e3, 1e4, 3e4, 1e5]);
        assert!((log.place(1e4) - 0.49).abs() < 0.05, "{}", log.place(1e4));
    }

    #[test]
    fn what_gates_struck_stays_inside_and_widens_nothing() {
        let mut of = dots(&[100.0, 110.0, 5_000.0], Scale::Linear);
        of.rows[0].dots[2].mark = Mark::Broken;
        assert!(of.ends().1 < 111.0, "{:?}", of.ends());
        assert_eq!(of.place(5_000.0), 1.0);
    }

    #[test]
    fn one_value_alone_has_an_axis_too() {
        for value in [0.0, 7.0] {
            let one = dots(&[value], Scale::Linear);
            assert!(one.ends().0 < one.ends().1, "{:?}", one.ends());
            assert!(one.place(value).is_finite());
        }
    }

    #[test]
    fn round_values_are_different_as_they_are_written() {
        use crate::axis::step_label;
        for value in [700.0, 1.6e7, 9.99e6, 4000.0] {
            for unit in [Unit::Ns, Unit::PerSecond] {
                let mut of = dots(&[value * 0.9999, value], Scale::Linear);
                of.axis.unit = unit;
                let labels: Vec<_> =
                    of.steps().iter().map(|at| step_label(&of.axis, *at)).collect();
                let mut different = labels.clone();
                different.dedup();
                assert!(labels.len() > 1 && labels == different, "{labels:?}");
            }
        }
    }
}
