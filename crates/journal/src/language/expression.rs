//! Arithmetic over figures.

use super::Figures;
use super::path::Path;
use super::quantity::{Quantity, Value};
use model::maps::IntoMap;
use std::fmt;

/// Arithmetic over figures: `cells.free.rate / (2 * cells.starved.rate)`.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A literal number.
    Number(Quantity),
    /// A figure, or a word when it is a single name.
    Path(Path),
    /// An operation on two.
    Of(Box<Self>, Operation, Box<Self>),
}

/// An operation on two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
    /// `A to B`: all that lies between the two.
    To,
    /// `least(A, B)`: of several limits, the one that is met first.
    Least,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A path does not lead to a figure.
    Dangling {
        /// The path.
        path: String,
        /// What exists instead.
        why: String,
    },
    /// Units do not fit, or it cannot be parsed.
    Wrong(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dangling { path, why } => write!(f, "{path}: {why}"),
            Self::Wrong(why) => f.write_str(why),
        }
    }
}

impl Expression {
    /// Its value. If any part is not known, the value is not known.
    pub fn value(&self, figures: &dyn Figures) -> Result<Value, Fault> {
        match self {
            Self::Number(figure) => Ok(Value::Quantity(*figure)),
            Self::Path(path) => match path.word() {
                Some(word) => Ok(Value::Word([(word.to_string(), 1)].into_map())),
                None => figures
                    .find(path)
                    .map_err(|why| Fault::Dangling { path: path.to_string(), why }),
            },
            Self::Of(one, operation, two) => {
                let figures = (one.value(figures)?, two.value(figures)?);
                operation.of(figures)
            }
        }
    }

    /// Its paths, from left to right.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Path(path) if path.word().is_some() => Vec::new(),
            Self::Path(path) => vec![path],
            Self::Of(one, _, two) => [one.paths(), two.paths()].concat(),
        }
    }
}

impl Operation {
    fn of(self, values: (Value, Value)) -> Result<Value, Fault> {
        let (one, two) = match values {
            (Value::Word(_), _) | (_, Value::Word(_)) => {
                return Err(Fault::Wrong("arithmetic needs figures, not words".to_string()));
            }
            (Value::Unknown(why), _) | (_, Value::Unknown(why)) => return Ok(Value::Unknown(why)),
            (Value::Quantity(one), Value::Quantity(two)) => (one, two),
        };
        let made = match self {
            Self::Plus => one.plus(two).map_err(Fault::Wrong)?,
            Self::Minus => one.minus(two).map_err(Fault::Wrong)?,
            Self::Times => one.times(two),
            Self::To => one.to(two).map_err(Fault::Wrong)?,
            Self::Least => one.least(two).map_err(Fault::Wrong)?,
            Self::Over => match one.over(two) {
                Ok(made) => made,
                Err(why) => return Ok(Value::Unknown(why)),
            },
        };
        match made.value.is_finite() {
            true => Ok(Value::Quantity(made)),
            false => Ok(Value::Unknown("the result is too large".to_string())),
        }
    }
}
