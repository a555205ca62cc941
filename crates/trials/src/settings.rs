//! The settings of runs and experiments by name, and those that differ.

use model::across::Difference;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Longest value of a setting, characters.
const VALUE_MAX: usize = 160;

/// The settings that differ, by name.
pub(crate) fn differences(
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
) -> Vec<Difference> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differing = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let difference = |name: &String| Difference {
        setting: name.clone(),
        a: a.get(name).cloned(),
        b: b.get(name).cloned(),
    };
    differing.map(difference).collect()
}

/// Values by path. A list of plain values is one value, as people write it.
pub(crate) fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&format!("{path}.{name}"), value, into);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, item) in items.iter().enumerate() {
                flatten(&format!("{path}.{at}"), item, into);
            }
        }
        Value::String(text) => {
            into.insert(path.to_string(), cut(text));
        }
        value => {
            into.insert(path.to_string(), cut(&value.to_string()));
        }
    }
}

/// A value that is not too long to be shown.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(VALUE_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_by_their_path() {
        let value = serde_json::json!({"cpus": [0, 1], "none": null, "levels": [{"depth": 1}]});
        let mut flat = BTreeMap::new();
        flatten("trial", &value, &mut flat);
        let listed: Vec<_> = flat.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(listed, ["trial.cpus=[0,1]", "trial.levels.0.depth=1"]);
    }
}
