//! Expectations (`--expect`) and whether they hold: one row per term.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::or_dash;
use model::objective::Expectation;
use model::run::Run;

/// The terms, judged over the run.
pub fn table(run: &Run) -> Vec<Block> {
    let expectations = &run.record.expectations;
    if expectations.is_empty() {
        return Vec::new();
    }
    let heads = ["term", "is", "margin", "because"];
    let mut table = Table::new(heads.map(Column::words).to_vec());
    for expectation in expectations {
        let (mark, word) = standing(expectation);
        let margin = or_dash(expectation.margin(), |margin| margin.to_string());
        let Expectation { term, why, .. } = expectation;
        table.push(mark, vec![term.clone(), word.to_string(), margin, why.clone()]);
    }
    vec![Block::Table(table)]
}

fn standing(expectation: &Expectation) -> (Mark, &'static str) {
    match expectation.met {
        Some(true) => (Mark::None, "met"),
        Some(false) => (Mark::Broken, "MISSED"),
        None => (Mark::Caution, "UNDECIDED"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn each_term_has_a_line_that_says_how_it_stands() {
        let Some(Block::Table(table)) = table(&fixtures::load_open()).pop() else {
            panic!("there is a table");
        };
        let rows: Vec<_> = table.rows.iter().map(|row| (row.mark, row.cells.join(" | "))).collect();
        let open = "max<5s | UNDECIDED | - | max falls among 64 requests without a response";
        let expected = [
            (Mark::None, "p50<1s | met | 79 % to spare | measured 212ms"),
            (Mark::Broken, "errors<0.1% | MISSED | 206 times the bound | measured 20.7%"),
            (Mark::Caution, open),
        ];
        assert_eq!(rows, expected.map(|(mark, text)| (mark, text.to_string())));
    }

    #[test]
    fn nothing_asked_is_nothing_said() {
        assert_eq!(table(&fixtures::load_unwatched()), []);
    }
}
