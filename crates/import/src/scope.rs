//! The variables of a source whose values it has.

use model::secret::is_secret;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// A value may name another variable; so often it is filled.
const DEPTH_MAX: usize = 8;
/// Longer texts are not filled further.
const LENGTH_MAX: usize = flow::FILE_MAX;
/// By so many bytes all texts together may grow. What is not filled then stays a hole.
const GROWTH_MAX: usize = 64 << 20;

/// Variables with their values.
#[derive(Debug, Default)]
pub struct Scope {
    values: BTreeMap<String, String>,
    /// Those that a response gives, which have no value before.
    pub captured: BTreeSet<String>,
    /// By how many bytes texts have grown.
    grown: Cell<usize>,
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
            let grown = self.grown.get() + filled.len().saturating_sub(text.len());
            if filled == text || filled.len() > LENGTH_MAX || grown > GROWTH_MAX {
                break;
            }
            self.grown.set(grown);
            text = filled;
        }
        text
    }

    fn fill_once(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled += before;
            let end = after.find(['{', '}', '\n']).unwrap_or(after.len());
            let name = after[..end].trim();
            let value = self.values.get(name).filter(|_| !self.captured.contains(name));
            match (value, after[end..].strip_prefix("}}")) {
                (Some(value), Some(after)) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_as_long_as_texts_stay_small() {
        let mut scope = Scope::default();
        scope.set("a", "x{{b}}");
        scope.set("b", "y");
        scope.set("token", "z");
        assert_eq!(scope.fill("{{ a }} {{token}} {{c {{b}}"), "xy {{token}} {{c y");
        scope.captured.insert("b".to_string());
        assert_eq!(scope.fill("{{a}}"), "x{{b}}");
        scope.set("long", &"l".repeat(LENGTH_MAX));
        assert_eq!(scope.fill("{{long}}{{long}}"), "{{long}}{{long}}");
        let filled = (0..20).filter(|_| scope.fill("{{long}}").len() == LENGTH_MAX).count();
        assert!((10..=GROWTH_MAX / LENGTH_MAX + 1).contains(&filled), "{filled}");
    }
}
