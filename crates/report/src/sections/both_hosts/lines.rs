//! A chart that draws figures of sources as lines over the run.

use super::HostChart;
use super::side::{Drawn, Lines, Side};
use crate::page::Axis;
use model::metric::Kind;
use model::reading::Data;
use model::unit::Unit;
use observe::Line;
use std::collections::BTreeMap;

/// What is drawn, on which axis.
#[derive(Clone, Copy)]
pub(super) struct LineChart {
    axis: &'static str,
    unit: Unit,
    picks: &'static [Pick],
    /// The unit in which time is counted whose share is drawn, in percent.
    counted_in: Option<Unit>,
    /// Whether a source that was read and has no line is always zero, and not absent.
    none_is_zero: bool,
    note: &'static str,
    around: fn(&Side<'_>) -> Around,
}

/// Figures of a source by the names of their lines.
#[derive(Clone, Copy)]
pub(super) struct Pick {
    source: &'static str,
    kind: Kind,
    of: fn(&Side<'_>, &Data) -> Vec<(String, f64)>,
}

/// Counters, drawn as their growth per second.
pub(super) const fn grown(
    source: &'static str,
    of: fn(&Side<'_>, &Data) -> Vec<(String, f64)>,
) -> Pick {
    Pick { source, kind: Kind::Counter, of }
}

/// States, drawn as they were in each interval.
pub(super) const fn was(
    source: &'static str,
    kind: Kind,
    of: fn(&Side<'_>, &Data) -> Vec<(String, f64)>,
) -> Pick {
    Pick { source, kind, of }
}

impl Pick {
    /// The counters wrap at 32 bits.
    pub(super) const fn wraps(self) -> Self {
        Self { kind: Kind::Counter32, ..self }
    }

    fn lines(&self, side: &Side<'_>) -> BTreeMap<String, Line> {
        let (of, pick) = ((self.source, self.kind), |data: &Data| (self.of)(side, data));
        match self.kind.is_difference() {
            true => side.time.growth(side.clocked, of, pick),
            false => side.time.states(side.clocked, of, pick),
        }
    }
}

/// What only the readings of a host say about a chart.
pub(super) struct Around {
    note: String,
    limits: Vec<(String, Option<f64>)>,
}

/// A note.
pub(super) fn around(note: impl Into<String>) -> Around {
    Around { note: note.into(), limits: Vec::new() }
}

impl Around {
    /// Adds a limit of the lines, if it is known.
    pub(super) fn limit(mut self, label: &str, at: Option<f64>) -> Self {
        self.limits.push((label.to_string(), at));
        self
    }
}

impl LineChart {
    pub(super) const fn new(axis: &'static str, unit: Unit, picks: &'static [Pick]) -> Self {
        let (counted_in, note) = (None, "");
        Self { axis, unit, picks, counted_in, none_is_zero: false, note, around: |_| around("") }
    }

    /// The figures count time, and its share is drawn.
    pub(super) const fn share_of(self, unit: Unit) -> Self {
        Self { counted_in: Some(unit), ..self }
    }

    pub(super) const fn none_is_zero(self) -> Self {
        Self { none_is_zero: true, ..self }
    }

    pub(super) const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    pub(super) const fn around(self, around: fn(&Side<'_>) -> Around) -> Self {
        Self { around, ..self }
    }

    pub(super) fn draw(&self, side: &Side<'_>, chart: &HostChart) -> Drawn {
        let mut lines: BTreeMap<String, Line> =
            self.picks.iter().flat_map(|pick| pick.lines(side)).collect();
        if lines.is_empty() && self.none_is_zero {
            return Drawn::Zero;
        }
        let ns = self.counted_in.and_then(|unit| unit.ns_of_host(side.clocked.clock_tick_ns));
        if let Some(ns) = ns {
            // One percent of a second, in that unit.
            let percent = 1e7 / ns as f64;
            lines.values_mut().flatten().flatten().for_each(|value| *value /= percent);
        }
        let around = (self.around)(side);
        let notes = [self.note, &around.note].into_iter().filter(|note| !note.is_empty());
        let note = notes.collect::<Vec<_>>().join(" ");
        let drawn = Lines::new(lines, Axis::linear(self.axis, self.unit), note);
        let limits = around.limits.into_iter();
        side.lines(chart, limits.fold(drawn, |drawn, (label, at)| drawn.limit(&label, at)))
    }
}
