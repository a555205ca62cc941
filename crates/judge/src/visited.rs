//! The visits of an experiment by their figures.

use model::analysis::Conditions;
use model::experiment::Figure;
use std::collections::BTreeMap;

/// One visit of a cell, by its figures. A figure without a valid value is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Visited<'a> {
    /// Name of the cell.
    pub cell: &'a str,
    /// Its block: 0 is the warm-up; none without a design.
    pub block: Option<u32>,
    /// Its figures, above zero.
    pub figures: BTreeMap<Figure, f64>,
    /// What may have disturbed it.
    pub conditions: Conditions,
}

/// The logarithm of one figure of each visit, by block and cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs<'a> {
    by_block: BTreeMap<u32, BTreeMap<&'a str, f64>>,
}

impl<'a> Logs<'a> {
    pub(crate) fn of(visits: &[Visited<'a>], figure: Figure) -> Self {
        let mut logs = Self::default();
        for visit in visits {
            let value = visit.figures.get(&figure).filter(|value| **value > 0.0);
            if let (Some(block), Some(value)) = (visit.block, value) {
                logs.by_block.entry(block).or_default().insert(visit.cell, value.ln());
            }
        }
        logs
    }

    /// A weighted sum over cells, for each block that has all of them, in the order of the blocks.
    pub(crate) fn series(&self, weights: &[(&str, f64)]) -> Vec<f64> {
        let sum = |cells: &BTreeMap<&str, f64>| -> Option<f64> {
            weights.iter().map(|(cell, weight)| Some(weight * cells.get(cell)?)).sum()
        };
        self.by_block.values().filter_map(sum).collect()
    }

    /// The blocks in their order, each with its cells.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u32, &BTreeMap<&'a str, f64>)> {
        self.by_block.iter().map(|(block, cells)| (*block, cells))
    }
}
