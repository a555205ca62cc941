//! Interim analysis of an experiment after each block.

use figures::visit::{bounds, figures};
use model::analysis::Conditions;
use model::experiment::{CellResult, Design, Ended, Fate};
use model::figure::Figure;
use model::run::Run;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use trials::experiment::{OfVisit, Visited, enough};

/// What a run says for the analysis.
#[derive(Debug, Clone, Default)]
struct Known {
    figures: BTreeMap<Figure, f64>,
    bounds: BTreeMap<Figure, (f64, Option<f64>)>,
    conditions: Conditions,
}

/// Decides after each block whether the design needs more blocks.
pub struct Looks<'a> {
    design: Option<Design>,
    begin: Instant,
    /// How long the parts before this one took, seconds.
    earlier_s: f64,
    runs: &'a Path,
    /// Figures of runs that were read already, by id.
    known: BTreeMap<String, Known>,
}

impl<'a> Looks<'a> {
    /// For an experiment that starts now, or goes on after `earlier_s` seconds, and keeps its runs
    /// in this folder.
    pub fn new(design: Option<Design>, runs: &'a Path, earlier_s: f64) -> Self {
        Self { design, begin: Instant::now(), earlier_s, runs, known: BTreeMap::new() }
    }

    /// Why the experiment may end after these visits, if it may.
    pub fn look(&mut self, cells: &[CellResult]) -> Option<Ended> {
        let design = self.design.clone()?;
        let last = cells.last()?.block.filter(|block| *block > 0)?;
        let spent_s = self.earlier_s + self.begin.elapsed().as_secs_f64();
        if design.budget_ns.is_some_and(|budget_ns| spent_s >= budget_ns as f64 / 1e9) {
            return Some(Ended::Budget);
        }
        for cell in cells {
            if let Fate::Measured { run } = &cell.fate
                && !self.known.contains_key(run)
            {
                let read = super::stored_run(cell, self.runs);
                let known = |run: &Run| Known {
                    figures: figures(&run.record),
                    bounds: bounds(&run.record),
                    conditions: OfVisit::whole(run).conditions,
                };
                self.known.insert(run.clone(), read.as_ref().map(known).unwrap_or_default());
            }
        }
        let visited = |cell: &'_ CellResult| {
            let Fate::Measured { run } = &cell.fate else { return None };
            self.known.get(run).cloned()
        };
        let visits: Vec<Visited<'_>> = cells
            .iter()
            .filter_map(|cell| {
                let Known { figures, bounds, conditions } = visited(cell)?;
                let (cell, block) = (cell.name.as_str(), cell.block);
                Some(Visited { cell, block, figures, bounds, conditions, ..Visited::default() })
            })
            .collect();
        enough(&design, &visits, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn the_time_before_a_resume_counts_for_the_budget() {
        let design: Design = from_value(json!({
            "cells": ["a", "b"], "blocks": 9, "order": "plan", "seed": 1, "baseline": "a",
            "figure": "rate", "same_within": 0.02, "precision": null, "until_decided": false,
            "budget_ns": 7_200_000_000_000_u64, "pause_ns": 0, "restart": "cell",
            "warmup_visits": 0,
        }))
        .unwrap();
        let failed: CellResult = from_value(json!({
            "name": "a", "block": 1, "server": [], "command": [], "expected": [],
            "fate": { "fate": "failed", "why": "-" }, "tuned": [], "stopped": null,
        }))
        .unwrap();
        let look = |earlier_s| {
            Looks::new(Some(design.clone()), Path::new("/no/such/folder"), earlier_s)
                .look(std::slice::from_ref(&failed))
        };
        assert_eq!((look(0.0), look(7_200.0)), (None, Some(Ended::Budget)));
    }
}
