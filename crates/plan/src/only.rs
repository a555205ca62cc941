//! Which cells `--only` means.
//!
//! In: what was typed, the names of the cells.
//! Out: the indices of cells.
//! Never: a guess; a text that means no cell is an error.

use crate::usage::Usage;
use std::collections::BTreeSet;
use std::iter;

/// The cells that a text means, which has commas between names or beginnings of names. Names have
/// commas, too: each piece is as long as it can be.
pub(crate) fn chosen(text: &str, names: &[&str]) -> Result<BTreeSet<usize>, Usage> {
    let (mut cells, mut left) = (BTreeSet::new(), Some(text));
    while let Some(rest) = left {
        let rest = rest.trim_start();
        let commas = rest.rmatch_indices(',').map(|(at, _)| at);
        let mut ends = iter::once(rest.len()).chain(commas).filter(|end| *end > 0);
        let found = ends.find_map(|end| Some((end, matching_cells(&rest[..end], names)?)));
        let (end, matching) = found.ok_or_else(|| none(rest, names))?;
        cells.extend(matching);
        left = rest.get(end + 1..);
    }
    Ok(cells)
}

/// The cell with this name; or else those whose first factors have these levels; or else those
/// whose names begin with it.
fn matching_cells(piece: &str, names: &[&str]) -> Option<Vec<usize>> {
    let rests: Vec<_> = names.iter().map(|name| name.strip_prefix(piece)).collect();
    let with = |is_meant: fn(&str) -> bool| {
        let is_meant =
            |(at, rest): (usize, &Option<&str>)| rest.is_some_and(is_meant).then_some(at);
        let cells: Vec<usize> = rests.iter().enumerate().filter_map(is_meant).collect();
        (!cells.is_empty()).then_some(cells)
    };
    with(str::is_empty).or_else(|| with(|rest| rest.starts_with(", "))).or_else(|| with(|_| true))
}

fn none(rest: &str, names: &[&str]) -> Usage {
    let first = rest.split(',').next().unwrap_or_default();
    Usage(format!("--only {first}: no cell starts with it; there are {}", names.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 7] = [
        "read",
        "read-gz",
        "read, pool of 1",
        "cache 1, path /a",
        "cache 1, path /b",
        "cache 10, path /a",
        "cache 10, path /b",
    ];

    #[test]
    fn commas_divide_names_and_belong_to_them() {
        for (text, cells) in [
            ("read", &[0][..]),
            ("rea", &[0, 1, 2]),
            ("read-", &[1]),
            ("read, pool of 1", &[2]),
            ("read,pool", &[]),
            ("cache 1", &[3, 4]),
            ("cache", &[3, 4, 5, 6]),
            ("cache 10, path /b", &[6]),
            ("cache 10, path /b,read", &[0, 6]),
            ("read-gz, cache 1,cache 10, path", &[1, 3, 4, 5, 6]),
            ("cache 1,", &[3, 4]),
            ("write", &[]),
            ("read,write", &[]),
            ("read,", &[2]),
            (",read", &[]),
            ("", &[]),
        ] {
            let said = chosen(text, &NAMES);
            assert_eq!(said.unwrap_or_default(), cells.iter().copied().collect(), "{text}");
        }
    }

    #[test]
    fn what_means_no_cell_is_said_with_all_names() {
        for (text, piece) in [("write", "write"), ("cache 1,write,read", "write"), (",read", "")] {
            let said = chosen(text, &NAMES).unwrap_err().0;
            let names = "there are read; read-gz; read, pool of 1; ";
            assert!(said.starts_with(&format!("--only {piece}: no cell")), "{text}: {said}");
            assert!(said.contains(names), "{said}");
        }
    }

    proptest! {
        /// Whatever the names of the cells are, each can be chosen alone.
        #[test]
        fn each_name_is_that_cell_alone(
            names in prop::collection::btree_set("[a-c][a-c ,]{0,4}", 1..6),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            for (at, name) in names.iter().enumerate() {
                prop_assert_eq!(chosen(name, &names).unwrap(), BTreeSet::from([at]));
            }
        }
    }
}
