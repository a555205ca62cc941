//! Interim analysis of an experiment after each block.

use judge::experiment::{Visited, enough};
use model::analysis::Conditions;
use model::experiment::{CellResult, Design, Ended, Fate, Figure};
use model::visit::figures;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Decides after each block whether the design needs more blocks.
pub struct Looks<'a> {
    design: Option<Design>,
    begin: Instant,
    runs: &'a Path,
    /// Figures of runs that were read already, by id.
    known: BTreeMap<String, (BTreeMap<Figure, f64>, Conditions)>,
}

impl<'a> Looks<'a> {
    /// For an experiment that starts now and keeps its runs in this folder.
    pub fn new(design: Option<Design>, runs: &'a Path) -> Self {
        Self { design, begin: Instant::now(), runs, known: BTreeMap::new() }
    }

    /// Why the experiment may end after these visits, if it may.
    pub fn look(&mut self, cells: &[CellResult]) -> Option<Ended> {
        let design = self.design.clone()?;
        let last = cells.last()?.block.filter(|block| *block > 0)?;
        if design.budget_ns.is_some_and(|budget| self.begin.elapsed().as_nanos() >= budget.into()) {
            return Some(Ended::Budget);
        }
        for cell in cells {
            if let Fate::Measured { run } = &cell.fate
                && !self.known.contains_key(run)
            {
                let read = super::kept(cell, self.runs);
                let figures = read.as_ref().map(|run| figures(&run.record)).unwrap_or_default();
                let conditions = read.as_ref().map(judge::conditions).unwrap_or_default();
                self.known.insert(run.clone(), (figures, conditions));
            }
        }
        let visited = |cell: &'_ CellResult| {
            let Fate::Measured { run } = &cell.fate else { return None };
            self.known.get(run).cloned()
        };
        let visits: Vec<Visited<'_>> = cells
            .iter()
            .filter_map(|cell| {
                let (figures, conditions) = visited(cell)?;
                Some(Visited { cell: &cell.name, block: cell.block, figures, conditions })
            })
            .collect();
        enough(&design, &visits, last)
    }
}
