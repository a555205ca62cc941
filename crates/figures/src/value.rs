//! A figure and how far it is known.

use model::objective::Relation;
use model::standing::Standing;

/// A figure in its unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// It is this.
    Known(f64),
    /// It is between two bounds.
    Between {
        /// Lower bound.
        low: f64,
        /// Upper bound; nothing where it is only known from below.
        high: Option<f64>,
        /// Why, in one sentence; empty where there is no more to say.
        why: String,
    },
    /// Nothing is known, and why.
    Unknown(String),
}

impl Value {
    /// Between two bounds that need no explanation.
    pub fn between(low: f64, high: f64) -> Self {
        Self::Between { low, high: Some(high), why: String::new() }
    }

    /// What a standing leaves of a figure, without what was measured; nothing of a sound one.
    pub fn left_by(standing: &Standing) -> Option<Self> {
        match standing {
            Standing::Sound => None,
            Standing::Bounded { low, high, by } => {
                Some(Self::Between { low: *low, high: *high, why: by.clone() })
            }
            Standing::NotKnown { why } => Some(Self::Unknown(why.clone())),
        }
    }

    /// A measured figure with what its standing leaves of it.
    pub fn of(measured: f64, standing: &Standing) -> Self {
        Self::left_by(standing).unwrap_or(Self::Known(measured))
    }

    /// Whether it compares so with a bound; nothing when that is undecided, because some of the
    /// values that it may have do and others do not.
    pub fn holds(&self, relation: Relation, bound: f64) -> Option<bool> {
        let ends = match self {
            Self::Known(value) => (*value, *value),
            Self::Between { low, high, .. } => (*low, high.unwrap_or(f64::INFINITY)),
            Self::Unknown(_) => return None,
        };
        relation.holds_between(ends, (bound, bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_met_or_missed_only_when_every_possible_value_agrees() {
        let least = Value::Between { low: 3.0, high: None, why: String::new() };
        let unknown = Value::Unknown("lost".to_string());
        for (value, below, above) in [
            (Value::Known(1.0), Some(true), Some(false)),
            (Value::Known(2.0), Some(false), Some(false)),
            (Value::between(1.0, 1.5), Some(true), Some(false)),
            (Value::between(1.0, 3.0), None, None),
            (Value::between(2.5, 3.0), Some(false), Some(true)),
            (least, Some(false), Some(true)),
            (unknown, None, None),
        ] {
            assert_eq!(value.holds(Relation::Below, 2.0), below, "{value:?}");
            assert_eq!(value.holds(Relation::Above, 2.0), above, "{value:?}");
        }
    }

    #[test]
    fn what_gates_left_replaces_what_was_measured() {
        let by = "a late generator".to_string();
        let bounded = Standing::Bounded { low: 1.0, high: Some(2.0), by: by.clone() };
        assert_eq!(Value::of(2.0, &Standing::Sound), Value::Known(2.0));
        let left = Value::Between { low: 1.0, high: Some(2.0), why: by.clone() };
        assert_eq!(Value::of(2.0, &bounded), left);
        let unknown = Standing::NotKnown { why: by.clone() };
        assert_eq!(Value::of(2.0, &unknown), Value::Unknown(by));
    }
}
