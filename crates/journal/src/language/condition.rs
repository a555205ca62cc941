//! Conditions: comparisons joined by `and`, decided with intervals.

use super::Figures;
use super::expression::{Expression, Fault};
use super::path::Path;
use super::quantity::{Basis, Value};
use super::shown::{shown, shown_value};
use model::objective::Relation;
use model::verdict::Named;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Comparisons joined by `and`, such as
/// `cells.free.rate > 2 * cells.starved.rate and cells.free.errors < 0.1%`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub(super) text: String,
    pub(super) comparisons: Vec<Comparison>,
}

/// Two expressions and their expected order.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Left side.
    pub left: Expression,
    /// The order.
    pub order: Relation,
    /// Right side.
    pub right: Expression,
}

model::named! {
    /// Whether a condition holds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Truth {
        /// It holds for all values in the intervals.
        True = "true",
        /// It holds for no values in the intervals.
        False = "false",
        /// It holds for some values, or a figure has no interval or is not known.
        Undecided = "undecided",
    }
    /// The word.
    fn word;
}

/// Whether a condition holds, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// Whether it holds.
    pub truth: Truth,
    /// Each comparison with its values: `12,345/s (12,100 to 12,600) > 10,000/s`, and what is not
    /// known.
    pub why: String,
}

impl Truth {
    /// The conjunction of both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Undecided,
        }
    }

    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Undecided => Self::Undecided,
        }
    }
}

impl From<Option<bool>> for Truth {
    fn from(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => Self::True,
            Some(false) => Self::False,
            None => Self::Undecided,
        }
    }
}

impl Condition {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its paths, from left to right.
    pub fn paths(&self) -> Vec<&Path> {
        let sides = self.comparisons.iter().flat_map(|one| [&one.left, &one.right]);
        sides.flat_map(Expression::paths).collect()
    }

    /// The intervals behind `within`, which may follow from other figures before its own are there.
    /// Nothing where it has none.
    pub fn predicted(&self, figures: &dyn Figures) -> Result<Option<String>, Fault> {
        let within = self.comparisons.iter().filter(|one| one.order == Relation::Within);
        let one = |one: &Comparison| Ok(shown_value(&one.right.value(figures)?));
        let all = within.map(one).collect::<Result<Vec<String>, Fault>>()?;
        Ok((!all.is_empty()).then(|| all.join("; ")))
    }

    /// Whether it holds. It is an error when a path does not lead to a figure, or figures cannot be
    /// compared.
    pub fn decide(&self, figures: &dyn Figures) -> Result<Decision, Fault> {
        let all = self.comparisons.iter().map(|one| one.decide(figures));
        let all = all.collect::<Result<Vec<Decision>, Fault>>()?;
        let truth = all.iter().fold(Truth::True, |truth, one| truth.and(one.truth));
        let whys: Vec<String> = all.into_iter().map(|one| one.why).collect();
        Ok(Decision { truth, why: whys.join("; ") })
    }
}

impl Comparison {
    fn decide(&self, figures: &dyn Figures) -> Result<Decision, Fault> {
        let (left, right) = (self.left.value(figures)?, self.right.value(figures)?);
        let sign = self.order.sign();
        let told = || format!("{} {sign} {}", shown_value(&left), shown_value(&right));
        let undecided = |why: String| Decision { truth: Truth::Undecided, why };
        match (&left, &right) {
            (Value::Unknown(why), _) | (_, Value::Unknown(why)) => {
                Ok(undecided(format!("{} (not known: {why})", self.text())))
            }
            (Value::Word(one), Value::Word(two)) => {
                Ok(Decision { truth: self.words(one, two)?, why: told() })
            }
            (Value::Quantity(one), Value::Quantity(two)) => {
                let (one, two) = one.comparable(*two).map_err(Fault::Wrong)?;
                let told = format!("{} {sign} {}", shown(&one), shown(&two));
                if one.basis.max(two.basis) == Basis::Nothing {
                    return Ok(undecided(format!(
                        "{told}, where a figure of one visit has no interval (blocks = 6 in \
                         [design] of the plan gives it one)"
                    )));
                }
                let ends = ((one.low, one.high), (two.low, two.high));
                let truth = self.order.holds_between(ends.0, ends.1).into();
                Ok(Decision { truth, why: told })
            }
            _ => Err(Fault::Wrong(format!("{} compares a word with a figure", told()))),
        }
    }

    /// Words are equal when all visits have the same word, and unequal when they share none. A wall
    /// that is not known may be any, unless the other side asks for `unknown`.
    fn words(
        &self,
        one: &BTreeMap<String, u64>,
        two: &BTreeMap<String, u64>,
    ) -> Result<Truth, Fault> {
        let is_shared = one.keys().any(|word| two.contains_key(word));
        let is_same = is_shared && one.len() == 1 && two.len() == 1;
        let unknown = Named::Unknown.word();
        let may_be_any = one.contains_key(unknown) != two.contains_key(unknown);
        let equal: Truth = match (is_same, !is_shared && !may_be_any) {
            (true, _) => Truth::True,
            (_, true) => Truth::False,
            _ => Truth::Undecided,
        };
        match self.order {
            Relation::Equal => Ok(equal),
            Relation::Unequal => Ok(equal.not()),
            _ => Err(Fault::Wrong("words are compared with == and != only".to_string())),
        }
    }

    fn text(&self) -> String {
        let paths = [self.left.paths(), self.right.paths()].concat();
        paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
