//! One host of a run, with everything that its charts need.

use super::super::timeline::{over_run, windows};
use super::{Draw, HostChart, Of};
use crate::hosts::{FAR, near, origin_ns, since_origin_s};
use crate::page::{Across, Axis, Block, Chart, ChartShape, Grid, Limit, Series, View};
use crate::wording::{best_point, plural, point_phrase};
use model::facts::{HostFacts, ServerNetwork};
use model::link::LinkLimits;
use model::order::OrderBy as _;
use model::reading::Data;
use model::run::Run;
use model::unit::Unit;
use observe::{Clocked, Line, Observed, Place, Raw, Timeline};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// Most lines of one chart.
const LINES_MAX: usize = 6;

/// Most names of lines that are always zero.
const NAMES_MAX: usize = 4;
/// A limit above the lines by more than this factor is not drawn.
const LIMIT_NEAR: f64 = 4.0;

/// Suffixes of anchors: for the generator's host, the server's host, one host for both, and the
/// server's own network namespace.
pub(super) const CLIENT: &str = "client";
pub(super) const SERVER: &str = "server";
pub(super) const SHARED: &str = "host";
pub(super) const INSIDE: &str = "inside";

/// The result of drawing a chart for one host.
pub(super) enum Drawn {
    /// Some value was not zero.
    Blocks(Vec<Block>),
    /// Every value was always zero.
    Zero,
    /// Nothing was read.
    Absent,
}

/// One host of a run, or the server's network namespace on it.
pub(super) struct Side<'a> {
    pub(super) run: &'a Run,
    /// Its name, for example `the client's host`.
    pub(super) whose: &'static str,
    pub(super) facts: &'a HostFacts,
    pub(super) clocked: Clocked<'a>,
    pub(super) time: Timeline,
    id: &'static str,
    /// The server's own network namespace, when it has one.
    apart: Option<&'a ServerNetwork>,
    sources: BTreeSet<&'a str>,
    /// What was observed at the best point, and that point in words.
    window: Option<(Observed, String)>,
    whole: OnceCell<Observed>,
}

/// The generator's host, the server's host when a probe read it, and the server's network namespace
/// when it has its own.
pub(super) fn sides<'a>(run: &'a Run) -> Vec<Side<'a>> {
    let record = &run.record;
    let best = best_point(run);
    let observed = best.map(|(_, point)| Raw::from(run).observed(record, point));
    let probe = record.target.probe.as_ref();
    let server = match probe {
        Some(probe) => probe.server.as_ref(),
        None => record.target.server.as_ref(),
    };
    let network = server.and_then(|server| server.network.as_deref());
    let side = |id, whose, facts, clocked: Clocked<'a>, seen: Option<Observed>| Side {
        run,
        whose,
        facts,
        clocked,
        time: time_of(run),
        id,
        apart: network,
        sources: clocked.data().map(|(_, data)| data.source()).collect(),
        window: seen.zip(best.map(|(_, point)| format!("with {}", point_phrase(point)))),
        whole: OnceCell::new(),
    };
    let near_clocked = Clocked {
        readings: &run.readings,
        place: Place::Probe,
        offset_ns: 0,
        clock_tick_ns: record.host.clock_tick_ns,
    };
    let id = if probe.is_none() && server.is_some() { SHARED } else { CLIENT };
    let far = observed.as_ref().and_then(|seen| seen.far.as_deref());
    let mut server_clocked = near_clocked;
    let mut sides = vec![side(id, near(run), &record.host, near_clocked, observed.clone())];
    if let Some(probe) = probe {
        server_clocked = Clocked {
            readings: &run.server_readings,
            offset_ns: probe.clock.offset_ns,
            clock_tick_ns: probe.host.clock_tick_ns,
            ..near_clocked
        };
        sides.push(side(SERVER, FAR, &probe.host, server_clocked, far.cloned()));
    }
    if let Some(network) = network {
        let clocked = Clocked { place: Place::Inside, ..server_clocked };
        let outside = if probe.is_some() { far } else { observed.as_ref() };
        let seen = outside.and_then(|seen| seen.inside.as_deref());
        sides.push(side(INSIDE, crate::hosts::INSIDE, &network.host, clocked, seen.cloned()));
    }
    sides
}

/// From the first reading to the last, or to the end of the last window.
fn time_of(run: &Run) -> Timeline {
    let last_reading = run.readings.last().map(|reading| reading.end_ns);
    let last_window = run.record.points.iter().map(|point| point.window_ns.1).max();
    let begin_ns = origin_ns(run);
    Timeline::between((begin_ns, last_reading.max(last_window).unwrap_or(begin_ns)))
}

impl Side<'_> {
    /// Where the time axis ends, seconds.
    pub(super) fn end_s(&self) -> f64 {
        since_origin_s(self.run, self.time.end_ns())
    }

    /// The network namespace, when this side is not a whole host.
    pub(super) fn network(&self) -> Option<&ServerNetwork> {
        self.apart.filter(|_| self.id == INSIDE)
    }

    /// Its name in a list of hosts.
    pub(super) fn name(&self) -> &'static str {
        let is_fleet = self.run.record.fleet.is_some();
        match self.id {
            SHARED if is_fleet => "Controller and server",
            SHARED => "One host for both",
            SERVER => "Server's host",
            INSIDE => "Server's network",
            _ if is_fleet => "Controller's host",
            _ => "Client's host",
        }
    }

    /// Whether this side can have charts of this kind.
    pub(super) fn has(&self, of: Of) -> bool {
        match of {
            Of::Network => true,
            Of::Host => self.id != INSIDE,
            Of::Client => matches!(self.id, CLIENT | SHARED),
            Of::Server => matches!(self.id, SERVER | SHARED),
            Of::ServerNetwork if self.apart.is_some() => self.id == INSIDE,
            Of::ServerNetwork => matches!(self.id, SERVER | SHARED),
        }
    }

    /// The limits of the link that the user stated.
    pub(super) fn stated(&self) -> Option<&LinkLimits> {
        let links = &self.run.record.trial.links;
        if matches!(self.id, CLIENT | SHARED) { &links.client } else { &links.server }.as_ref()
    }

    pub(super) fn draw(&self, chart: &HostChart) -> Drawn {
        match chart.reads.iter().any(|source| self.sources.contains(source)) {
            true => match &chart.draw {
                Draw::Lines(lines) => lines.draw(self, chart),
                Draw::By(draw) => draw(self, chart),
            },
            false => Drawn::Absent,
        }
    }

    pub(super) fn anchor(&self, chart: &HostChart) -> String {
        format!("{}-{}", chart.id, self.id)
    }

    /// The title of a chart, with the host.
    pub(super) fn title(&self, chart: &HostChart) -> String {
        format!("{}, {}", chart.title, self.whose)
    }

    /// What was observed at the best point, or over the whole run where the window is too short,
    /// and in words which of the two.
    pub(super) fn seen<T>(&self, of: impl Fn(&Observed) -> Option<T>) -> Option<(T, String)> {
        let at_best = self.window.as_ref().and_then(|(seen, what)| Some((of(seen)?, what.clone())));
        at_best.or_else(|| {
            let whole = self.whole.get_or_init(|| {
                let all = self.clocked.readings.iter().cloned();
                let mut whole = Observed::of(all, self.clocked.clock_tick_ns);
                match self.clocked.place {
                    Place::Probe => whole,
                    Place::Inside => whole.inside.take().map(|inside| *inside).unwrap_or_default(),
                }
            });
            Some((of(whole)?, "over the whole run".to_string()))
        })
    }

    /// What could not be read: source and reason, without duplicates.
    pub(super) fn failures(&self) -> Vec<(String, String)> {
        let failed = |data: &Data| match data {
            Data::Unreadable(what) => Some((what.source.clone(), what.why.clone())),
            _ => None,
        };
        let all = self.clocked.data().filter_map(|(_, data)| failed(data));
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// A chart of these lines over the time of the run.
    pub(super) fn over_time(&self, chart: &HostChart, drawn: OverTime) -> Chart {
        let x = self.time.middles_ns().map(|at_ns| since_origin_s(self.run, at_ns)).collect();
        let view = over_run(self.run, (x, drawn.series));
        Chart {
            id: self.anchor(chart),
            title: self.title(chart),
            note: drawn.note,
            x: Axis::linear("time in the run", Unit::Seconds),
            y: drawn.y,
            shape: drawn.shape,
            views: vec![View { limits: drawn.limits, ..view }],
            selected: 0,
        }
    }

    /// The lines that are not always zero; with many lines, the largest.
    pub(super) fn lines(&self, chart: &HostChart, drawn: Lines) -> Drawn {
        let (mut shown, zero): (Vec<_>, Vec<_>) =
            drawn.lines.into_iter().partition(|(_, line)| most(line) > 0.0);
        if shown.is_empty() {
            return if zero.is_empty() { Drawn::Absent } else { Drawn::Zero };
        }
        let mut largest: Vec<f64> = shown.iter().map(|(_, line)| most(line)).collect();
        largest.order_by(|left, right| right.total_cmp(left));
        let least = largest.get(LINES_MAX - 1).copied().unwrap_or(0.0);
        let all = shown.len();
        shown.retain(|(_, line)| most(line) >= least);
        let mut note = vec![drawn.note];
        if shown.len() < all {
            let more = plural((all - shown.len()) as u64, "line");
            note.push(format!("{more} with smaller values not drawn."));
        }
        if !zero.is_empty() {
            let names = zero.iter().take(NAMES_MAX).map(|(name, _)| name.as_str());
            let more = zero.len().saturating_sub(NAMES_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names = names.collect::<Vec<_>>().join(", ");
            note.push(format!("Always zero: {names}{more}."));
        }
        note.retain(|sentence| !sentence.is_empty());
        let series = shown.into_iter().map(|(label, y)| Series { label, y }).collect();
        let (y, limits, shape) = (drawn.y, drawn.limits, ChartShape::Lines);
        let drawn = OverTime { series, y, limits, note: note.join(" "), shape };
        Drawn::Blocks(vec![Block::Chart(self.over_time(chart, drawn))])
    }

    /// A grid over the time of the run, still without rows.
    pub(super) fn grid(&self, chart: &HostChart) -> Grid {
        Grid {
            id: self.anchor(chart),
            title: self.title(chart),
            note: String::new(),
            rows_are: String::new(),
            parts: Vec::new(),
            columns: Vec::new(),
            cells_are: String::new(),
            across: Across::Time { end_s: self.end_s(), bands: windows(self.run) },
            full: 100.0,
            rows: Vec::new(),
        }
    }
}

/// What is drawn over the time of the run.
pub(super) struct OverTime {
    pub(super) series: Vec<Series>,
    pub(super) y: Axis,
    pub(super) limits: Vec<Limit>,
    pub(super) note: String,
    pub(super) shape: ChartShape,
}

/// Lines by name, before the largest are chosen.
pub(super) struct Lines {
    pub(super) lines: Vec<(String, Line)>,
    pub(super) y: Axis,
    pub(super) limits: Vec<Limit>,
    pub(super) note: String,
}

impl Lines {
    /// Lines without limits.
    pub(super) fn new(
        lines: impl IntoIterator<Item = (String, Line)>,
        y: Axis,
        note: impl Into<String>,
    ) -> Self {
        let lines = lines.into_iter().collect();
        Self { lines, y, limits: Vec::new(), note: note.into() }
    }

    /// Adds a limit, drawn when the lines come near it: one far above would flatten them.
    pub(super) fn limit(mut self, label: &str, at: Option<f64>) -> Self {
        let most = self.lines.iter().map(|(_, line)| most(line)).fold(0.0, f64::max);
        let near = at.filter(|at| *at <= LIMIT_NEAR * most);
        let limit = |at| Limit { label: label.to_string(), at, within: None };
        self.limits.extend(near.map(limit));
        self
    }
}

/// The largest value of a line.
pub(super) fn most(line: &Line) -> f64 {
    line.iter().flatten().copied().fold(0.0, f64::max)
}

/// Named values of a source as numbers, with readable names.
pub(super) fn named(data: &Data, names: &[(&str, &str)]) -> Vec<(String, f64)> {
    let Data::Values(of) = data else { return Vec::new() };
    let one =
        |(field, name): &(&str, &str)| Some(((*name).to_string(), of.values.get(*field)?.real()?));
    names.iter().filter_map(one).collect()
}
