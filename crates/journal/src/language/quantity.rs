//! A figure with its interval, and interval arithmetic that encloses every possible value.

use model::unit::Unit;
use serde::Serialize;
use std::collections::BTreeMap;

/// The value at a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A figure.
    #[serde(rename = "figure")]
    Quantity(Quantity),
    /// A word, such as a wall, with the number of visits that have it.
    Word(BTreeMap<String, u64>),
    /// It exists but is not known: why.
    Unknown(String),
}

/// A figure with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantity {
    /// The figure.
    pub value: f64,
    /// Lower end of its interval, or the figure itself.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its unit.
    pub unit: Unit,
    /// The basis of the interval.
    pub basis: Basis,
}

/// The basis of an interval, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It was counted or is a literal, not an estimate.
    Exact,
    /// Another tool rounded it to the digits it printed.
    Printed,
    /// 95 % over this many visits or pairs of visits.
    Visits(u64),
    /// Bounds that a gate left.
    Bounds,
    /// From the lowest to the highest of this many visits.
    Range(u64),
    /// Inside one run: it says nothing about another visit.
    WithinRun,
    /// It was written as two ends, `0.9 to 1.1`, or follows from such: nothing between them is
    /// more likely.
    Ends,
    /// There is none: nothing can be decided.
    Nothing,
}

impl Basis {
    /// The weaker of two.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Visits(one), Self::Visits(two)) => Self::Visits(one.min(two)),
            (Self::Range(one), Self::Range(two)) => Self::Range(one.min(two)),
            _ => self.max(other),
        }
    }

    /// Its description after an interval; empty where none is needed.
    pub fn remark(self) -> String {
        match self {
            Self::Exact | Self::Printed | Self::Visits(_) | Self::Ends | Self::Nothing => {
                String::new()
            }
            Self::Bounds => " by bounds".to_string(),
            Self::Range(visits) => format!(" in {visits} visits"),
            Self::WithinRun => " inside the run".to_string(),
        }
    }
}

impl Quantity {
    /// A figure that was counted, or a literal.
    pub fn exact(value: f64, unit: Unit) -> Self {
        Self { value, low: value, high: value, unit, basis: Basis::Exact }
    }

    /// A figure without an interval.
    pub fn alone(value: f64, unit: Unit) -> Self {
        Self { basis: Basis::Nothing, ..Self::exact(value, unit) }
    }

    /// A figure with an interval.
    pub fn between(value: f64, (low, high): (f64, f64), unit: Unit, basis: Basis) -> Self {
        Self { value, low: low.min(value), high: high.max(value), unit, basis }
    }

    /// Whether it is a literal without a unit.
    fn is_bare(&self) -> bool {
        self.basis == Basis::Exact && self.unit == Unit::Number
    }

    /// Both in one unit; the error names them. A literal without a unit takes the unit of a rate or
    /// a share, and 0 takes any unit.
    fn fitted(self, other: Self) -> Result<(Self, Self), String> {
        let takes = |bare: &Self, unit| {
            let is_plain = matches!(unit, Unit::PerSecond | Unit::Share);
            bare.is_bare() && (bare.value == 0.0 || is_plain)
        };
        match () {
            () if takes(&self, other.unit) => Ok((Self { unit: other.unit, ..self }, other)),
            () if takes(&other, self.unit) => Ok((self, Self { unit: self.unit, ..other })),
            () if self.unit.fits(other.unit) => Ok((self, other)),
            () => Err(format!(
                "{} and {} do not go together; give numbers a unit, for example 2ms, 40% or 10k/s",
                self.unit.name(),
                other.unit.name()
            )),
        }
    }

    /// Both in one unit, if they can be compared.
    pub fn comparable(self, other: Self) -> Result<(Self, Self), String> {
        self.fitted(other)
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, String> {
        let (one, two) = self.fitted(other)?;
        let ends = (one.low + two.low, one.high + two.high);
        Ok(made(one, two, one.value + two.value, ends, one.unit))
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, String> {
        self.plus(Self { value: -other.value, low: -other.high, high: -other.low, ..other })
    }

    /// All that lies between both.
    pub fn to(self, other: Self) -> Result<Self, String> {
        let (one, two) = self.fitted(other)?;
        let ends = (one.low.min(two.low), one.high.max(two.high));
        let basis = one.basis.and(two.basis).and(Basis::Ends);
        Ok(Self::between(f64::midpoint(one.value, two.value), ends, one.unit, basis))
    }

    /// The least of both.
    pub fn least(self, other: Self) -> Result<Self, String> {
        let (one, two) = self.fitted(other)?;
        let ends = (one.low.min(two.low), one.high.min(two.high));
        Ok(made(one, two, one.value.min(two.value), ends, one.unit))
    }

    /// The product.
    pub fn times(self, other: Self) -> Self {
        let ends = ends_of(self, other, |one, two| one * two);
        made(self, other, self.value * other.value, ends, self.unit.times(other.unit))
    }

    /// The quotient. It is unbounded where the divisor may be 0; a divisor that is 0 is an error.
    pub fn over(self, other: Self) -> Result<Self, String> {
        if other.value == 0.0 {
            return Err("it divides by a figure that is 0".to_string());
        }
        let ends = match other.low <= 0.0 && other.high >= 0.0 {
            true => (f64::NEG_INFINITY, f64::INFINITY),
            false => ends_of(self, other, |one, two| one / two),
        };
        Ok(made(self, other, self.value / other.value, ends, self.unit.over(other.unit)))
    }
}

/// The smallest and the largest result over the ends of two intervals.
fn ends_of(one: Quantity, two: Quantity, make: fn(f64, f64) -> f64) -> (f64, f64) {
    let ends = [
        make(one.low, two.low),
        make(one.low, two.high),
        make(one.high, two.low),
        make(one.high, two.high),
    ];
    // 0 * infinity is NaN; the other ends are numbers.
    let ends = ends.into_iter().filter(|end| !end.is_nan());
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)))
}

/// A figure computed from two, with ends rounded outwards unless both are exact.
fn made(one: Quantity, two: Quantity, value: f64, ends: (f64, f64), unit: Unit) -> Quantity {
    let basis = one.basis.and(two.basis);
    if basis == Basis::Exact {
        return Quantity { value, low: value, high: value, unit, basis };
    }
    Quantity::between(value, (ends.0.next_down(), ends.1.next_up()), unit, basis)
}
