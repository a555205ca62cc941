//! The visits of an experiment by their figures.

use model::analysis::{Conditions, LevelSeen};
use model::figure::Figure;
use std::collections::{BTreeMap, BTreeSet};

/// One visit of a cell, by its figures. A figure without a valid value is left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visited<'a> {
    /// Name of the cell.
    pub cell: &'a str,
    /// Its block: 0 is the warm-up; none without a design.
    pub block: Option<u32>,
    /// Its figures; one that is zero has no ratio.
    pub figures: BTreeMap<Figure, f64>,
    /// Lowest and highest value of those of which only bounds are known; a figure that is known
    /// from below has no highest.
    pub bounds: BTreeMap<Figure, (f64, Option<f64>)>,
    /// The same of each of its levels, where it has several.
    pub levels: Vec<LevelSeen>,
    /// What may have disturbed it.
    pub conditions: Conditions,
}

/// The logarithms of the least and the most that a figure can be; its value is among them. Either
/// may be infinite.
pub(crate) fn ends_of(value: f64, (low, high): (f64, Option<f64>)) -> (f64, f64) {
    (low.min(value).ln(), high.map_or(f64::INFINITY, |high| high.max(value).ln()))
}

/// An end of what a sum over visits can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The lowest value.
    Lowest,
    /// The highest value.
    Highest,
}

/// The logarithm of one figure of each visit, by block and cell. Zero has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs<'a> {
    by_block: BTreeMap<u32, BTreeMap<&'a str, f64>>,
    /// The logarithms of the bounds of those of which only bounds are known.
    bounds: BTreeMap<(u32, &'a str), (f64, f64)>,
    /// Cells with a visit whose figure is zero.
    with_zero: BTreeSet<&'a str>,
}

impl<'a> Logs<'a> {
    pub(crate) fn of(visits: &[Visited<'a>], figure: Figure) -> Self {
        let mut logs = Self::default();
        for visit in visits {
            let value = visit.figures.get(&figure);
            if value == Some(&0.0) {
                logs.with_zero.insert(visit.cell);
            }
            let value = value.filter(|value| **value > 0.0);
            if let (Some(block), Some(value)) = (visit.block, value) {
                logs.by_block.entry(block).or_default().insert(visit.cell, value.ln());
                if let Some(bounds) = visit.bounds.get(&figure) {
                    logs.bounds.insert((block, visit.cell), ends_of(*value, *bounds));
                }
            }
        }
        logs
    }

    /// The mean of several of them, for each visit that all of them have.
    pub(crate) fn mean(of: &[Self]) -> Self {
        let mut all = Self::default();
        let Some(first) = of.first() else { return all };
        let share = 1.0 / of.len() as f64;
        for (block, cell) in
            first.blocks().flat_map(|(block, cells)| cells.keys().map(move |cell| (block, *cell)))
        {
            let value = |logs: &Self| logs.by_block.get(&block)?.get(cell).copied();
            let Some(values) = of.iter().map(value).collect::<Option<Vec<f64>>>() else { continue };
            all.by_block.entry(block).or_default().insert(cell, values.iter().sum::<f64>() * share);
            if of.iter().any(|logs| logs.bounds.contains_key(&(block, cell))) {
                let ends = |(logs, value): (&Self, &f64)| {
                    logs.bounds.get(&(block, cell)).copied().unwrap_or((*value, *value))
                };
                let ends: Vec<(f64, f64)> = of.iter().zip(&values).map(ends).collect();
                let low = ends.iter().map(|ends| ends.0).sum::<f64>() * share;
                let high = ends.iter().map(|ends| ends.1).sum::<f64>() * share;
                all.bounds.insert((block, cell), (low, high));
            }
        }
        all.with_zero = of.iter().flat_map(|logs| logs.with_zero.iter().copied()).collect();
        all
    }

    /// Whether a visit whose figure is zero is missing in [`Self::series`], and would be at this
    /// end of it.
    pub(crate) fn lacks(&self, end: End, weights: &[(&str, f64)]) -> bool {
        let is_at_end = |weight: f64| match end {
            End::Lowest => weight > 0.0,
            End::Highest => weight < 0.0,
        };
        weights.iter().any(|(cell, weight)| is_at_end(*weight) && self.with_zero.contains(cell))
    }

    /// The end of what [`Self::series`] can be by what is known of each visit; it may be infinite.
    pub(crate) fn at(&self, end: End, weights: &[(&str, f64)]) -> Vec<f64> {
        let sum = |(block, cells): (&u32, &BTreeMap<&str, f64>)| -> Option<f64> {
            let part = |(cell, weight): &(&str, f64)| {
                let value = *cells.get(cell)?;
                let (low, high) =
                    self.bounds.get(&(*block, *cell)).copied().unwrap_or((value, value));
                Some(weight * if (*weight > 0.0) == (end == End::Highest) { high } else { low })
            };
            weights.iter().map(part).sum()
        };
        self.by_block.iter().filter_map(sum).collect()
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
