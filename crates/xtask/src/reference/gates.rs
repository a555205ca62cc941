//! What the table of gates says: the list of their ids in `model`, and which figures a gate strikes
//! and leaves.

use super::text_of;
use crate::tree::Tree;
use anyhow::{Context, Result};

/// The list of all gates.
pub const LIST: &str = "crates/model/src/verdict/gates.rs";

const ABOUT: &str = "\
//! The gates, in the order of the record.
//!
//! Written by `cargo xtask reference` from the table in `judge/src/gates.rs`.

";

/// The list, from the table.
pub fn list(tree: &Tree) -> Result<String> {
    let source = text_of(tree, "crates/judge/src/gates.rs").context("the table of gates")?;
    let (_, table) = source.split_once("pub const GATES").context("the table of gates")?;
    let (table, _) = table.split_once("\n];").context("the end of the table of gates")?;
    let ids = table.split("gate(").filter_map(|row| row.trim_start().strip_prefix("GateId::"));
    let ids = ids.filter_map(|row| Some(row.split_once(',')?.0));
    let rows: String = ids.map(|id| format!("    {id} \"{}\",\n", in_snake(id))).collect();
    Ok(format!("{ABOUT}gates! {{\n{rows}}}\n"))
}

/// `Strikes: ...` and `Leaves: ...` of one gate; nothing when the gate is not in the table.
pub fn listed(source: &str, keys: &str, id: &str) -> Option<Vec<String>> {
    let table = source.split_once("pub const GATES")?.1.split_once("\n];")?.0;
    let start = format!("GateId::{},", in_camels(id));
    let entry = table.split("gate(").find(|entry| entry.trim_start().starts_with(&start))?;
    let strikes = figures(source, keys, entry);
    let leaves = sentence(entry).unwrap_or_else(|| "nothing".to_string());
    Some(match strikes.as_slice() {
        [] => vec!["Strikes no figure.".to_string()],
        strikes => {
            vec![format!("Strikes: {}.", strikes.join(", ")), format!("Leaves: {leaves}.")]
        }
    })
}

/// The name in the record of a variant such as `LittlesLaw`.
fn in_snake(variant: &str) -> String {
    let letter = |(at, letter): (usize, char)| match letter.is_uppercase() && at > 0 {
        true => format!("_{}", letter.to_lowercase()),
        false => letter.to_lowercase().to_string(),
    };
    variant.char_indices().map(letter).collect()
}

/// The name of the variant for an id such as `littles_law`.
fn in_camels(id: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_uppercase() + rest
    };
    id.split('_').map(word).collect()
}

/// The figures of an entry, listed directly or through a named list.
fn figures(source: &str, keys: &str, entry: &str) -> Vec<String> {
    let list = |name: &str, text: &str| {
        let list = text.split_once(&format!("const {name}: "))?.1.split_once(" = ")?.1;
        Some(list.split_once("];")?.0.to_string())
    };
    let lists = [("OF_REQUESTS", source), ("LATENCIES", keys)];
    let named = lists.iter().find(|(name, _)| entry.contains(name));
    let text = named.and_then(|(name, text)| list(name, text)).unwrap_or(entry.to_string());
    let variants = text.split("Figure::").skip(1).map(|rest| {
        rest.chars().take_while(|one| one.is_alphanumeric() || *one == '_').collect::<String>()
    });
    variants.filter_map(|variant| key_of(keys, &variant)).collect()
}

/// The key of a figure: as its file writes it, and for latency the name of the statistic.
fn key_of(keys: &str, variant: &str) -> Option<String> {
    let facts = keys.split_once("fn facts(")?.1;
    let key = match facts.split_once(&format!("Self::{variant} => ")) {
        Some((_, rest)) => rest.split('"').nth(1)?.to_string(),
        None => variant.to_lowercase(),
    };
    Some(format!("`{key}`"))
}

/// The text in quotes of an entry, on one line.
fn sentence(entry: &str) -> Option<String> {
    let text = entry.split('"').nth(1)?.replace("\\\n", " ");
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = "const LATENCIES: [Figure; 1] = [Figure::P50];\n\
                        fn facts(self) {\n Self::Rate => (\"rate\", 1),";
    const SOURCE: &str = "const OF_REQUESTS: &[Figure] = &[Figure::Rate, Figure::P50];\n\
                          pub const GATES: &[Listed] = &[\n\
                          gate(GateId::All, W, c, OF_REQUESTS, Leaves::Nothing),\n\
                          gate(GateId::None, W, c, &[], Leaves::Nothing),\n\
                          gate(GateId::One, W, c, &[Figure::Rate], \
                          Leaves::Bound(f, \"a bound\")),\n];";

    #[test]
    fn the_list_has_the_ids_of_the_table() {
        let table = "pub const GATES: &[Listed] = &[\n    gate(GateId::Sum, W),\n    gate(\n\
                     GateId::LittlesLaw, W),\n];";
        let list = list(&Tree::sample(&[("crates/judge/src/gates.rs", table)])).unwrap();
        let expected = "gates! {\n    Sum \"sum\",\n    LittlesLaw \"littles_law\",\n}\n";
        assert!(list.ends_with(expected), "{list}");
    }

    #[test]
    fn figures_and_what_is_left_are_read_from_the_table() {
        let of = |id: &str| listed(SOURCE, KEYS, id).map(|lines| lines.join(" "));
        assert_eq!(of("all").unwrap(), "Strikes: `rate`, `p50`. Leaves: nothing.");
        assert_eq!(of("none").unwrap(), "Strikes no figure.");
        assert_eq!(of("one").unwrap(), "Strikes: `rate`. Leaves: a bound.");
        assert_eq!(of("other"), None);
    }
}
