//! What each figure means, from the definitions in the record.

use crate::page::{Block, Column, Mark, Table};
use model::run::Run;

/// One row per figure, by its path in the record.
pub fn definitions(run: &Run) -> Vec<Block> {
    let columns = ["figure", "meaning"].map(Column::words).to_vec();
    let mut table = Table::new(columns).caption("Figures of the record").folded();
    for (path, meaning) in &run.record.definitions {
        table.push(Mark::None, vec![path.clone(), meaning.clone()]);
    }
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}
