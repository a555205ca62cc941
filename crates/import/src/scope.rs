//! The variables of a source whose values it has.

use model::secret::is_secret;
use std::collections::{BTreeMap, BTreeSet};

/// A value may name another variable; so often it is filled.
const DEPTH_MAX: usize = 8;
/// Longer texts are not filled further.
const LENGTH_MAX: usize = 8 << 20;

/// Variables with their values.
#[derive(Debug, Default)]
pub struct Scope {
    values: BTreeMap<String, String>,
    /// Those that a response gives, which have no value before.
    pub captured: BTreeSet<String>,
}

impl Scope {
    /// Adds a value; that of a secret is not kept.
    pub fn set(&mut self, name: &str, value: &str) {
        if !value.is_empty() && !is_secret(name) {
            self.values.insert(name.to_string(), value.to_string());
        }
    }

    /// A name for what has another one, also where both are secrets.
    pub fn alias(&mut self, name: &str, hole: &str) {
        self.values.insert(name.to_string(), hole.to_string());
    }

    /// The text with the values that are known in the place of their holes.
    pub fn fill(&self, text: &str) -> String {
        let mut text = text.to_string();
        for _ in 0..DEPTH_MAX {
            let filled = self.fill_once(&text);
            if filled == text || filled.len() > LENGTH_MAX {
                break;
            }
            text = filled;
        }
        text
    }

    fn fill_once(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled += before;
            let hole = after.split_once("}}");
            let value = hole.map(|(name, _)| name.trim());
            let value = value.filter(|name| !self.captured.contains(*name));
            match (value.and_then(|name| self.values.get(name)), hole) {
                (Some(value), Some((_, after))) => {
                    filled += value;
                    rest = after;
                }
                _ => {
                    filled += "{{";
                    rest = after;
                }
            }
        }
        filled + rest
    }
}
