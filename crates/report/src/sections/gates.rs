//! Validity: the checks that every figure must pass.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::{mark_of, or_dash, plural, point_mark};
use model::claim::Claim;
use model::order::OrderBy as _;
use model::run::{Point, Run};
use model::units::show_count;
use model::verdict::Gate;

/// The mark of a gate that does not hold; broken only when the rate of the point is not known.
fn mark_of_open(point: &Point, gate: &Gate) -> Mark {
    let is_rate_known = !matches!(point.claim(), Claim::NotKnown(_));
    if gate.ok.is_none() || is_rate_known { Mark::Caution } else { Mark::Broken }
}

/// Failed gates only: a gate that holds or could not be checked strikes no figure.
pub fn broken(run: &Run) -> Vec<Block> {
    let points = run.record.points.len();
    let broken = open_gates(run).into_iter().filter(|group| group.gate.ok.is_some());
    let mut table = Table::new(COLUMNS.map(Column::words).to_vec());
    broken.for_each(|group| table.push(group.mark, group.cells(points)));
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

/// Columns of a table of gates.
const COLUMNS: [&str; 4] = ["gate", "points", "is", "because"];

/// Gates that are broken or could not be checked; when all hold, one sentence that names them.
pub fn summary(run: &Run) -> Vec<Block> {
    let points = &run.record.points;
    if points.is_empty() {
        return Vec::new();
    }
    if points.iter().all(|point| point.gates.is_empty()) {
        return vec![Block::Text("No gate was checked.".to_string())];
    }
    let open = open_gates(run);
    if open.is_empty() {
        return vec![Block::Text(format!("{}.", holds(run)))];
    }
    let mut table = Table::new(COLUMNS.map(Column::words).to_vec());
    for group in &open {
        table.push(group.mark, group.cells(points.len()));
    }
    let mut blocks = vec![Block::Table(table)];
    if open.iter().all(|group| group.gate.ok.is_none()) {
        blocks.push(Block::Text(format!("All others hold: {}.", holding_names(run).join(", "))));
    }
    blocks
}

fn holds(run: &Run) -> String {
    let names = holding_names(run);
    let checks = plural(names.len() as u64, "check");
    let points = plural(run.record.points.len() as u64, "point");
    format!("All {checks} hold at {points}: {}", names.join(", "))
}

/// Names of the gates that hold at every point that has them, in order of appearance.
fn holding_names(run: &Run) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let gates = || run.record.points.iter().flat_map(|point| &point.gates);
    for gate in gates() {
        let everywhere = || gates().filter(|other| other.id == gate.id);
        if everywhere().all(|other| other.ok == Some(true)) && !names.contains(&gate.id.name()) {
            names.push(gate.id.name());
        }
    }
    names
}

/// A gate that does not hold, with all points where it fails for the same reason.
struct OpenGate<'a> {
    gate: &'a Gate,
    points: Vec<String>,
    mark: Mark,
}

impl OpenGate<'_> {
    fn cells(&self, points_in_all: usize) -> Vec<String> {
        let points = if self.points.len() == points_in_all && points_in_all > 1 {
            format!("all {points_in_all}")
        } else {
            self.points.join(" ")
        };
        let state = if self.gate.ok.is_some() { "BROKEN" } else { "not checked" };
        let Gate { id, measured, bound, why, .. } = self.gate;
        let why = match measured {
            Some(value) => format!("{why}; measured {}, bound: {bound}", show_count(*value)),
            None => why.clone(),
        };
        vec![id.to_string(), points, state.to_string(), why]
    }
}

/// Failed gates first, each in order of the points.
fn open_gates(run: &Run) -> Vec<OpenGate<'_>> {
    let mut open: Vec<OpenGate<'_>> = Vec::new();
    for point in &run.record.points {
        for gate in point.gates.iter().filter(|gate| gate.ok != Some(true)) {
            let known = open.iter_mut().find(|group| group.gate == gate);
            match known {
                Some(group) => group.points.push(point_mark(point)),
                None => open.push(OpenGate {
                    gate,
                    points: vec![point_mark(point)],
                    mark: mark_of_open(point, gate),
                }),
            }
        }
    }
    open.order_by_key(|group| group.gate.ok.is_none());
    open
}

/// Every gate of every point.
pub fn all(run: &Run) -> Vec<Block> {
    let mut columns = ["point", "gate", "is"].map(Column::words).to_vec();
    columns.push(Column::numbers("measured"));
    columns.extend(["bound", "finding"].map(Column::words));
    let mut table = Table::new(columns).caption("Every check of every point").folded();
    for point in &run.record.points {
        for gate in &point.gates {
            table.push(mark_of_gate(run, point, gate), cells_of(point, gate));
        }
    }
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

fn mark_of_gate(run: &Run, point: &Point, gate: &Gate) -> Mark {
    match gate.ok {
        Some(true) => Mark::None,
        Some(false) => mark_of(run, point),
        None => Mark::Caution,
    }
}

fn cells_of(point: &Point, gate: &Gate) -> Vec<String> {
    let state = match gate.ok {
        Some(true) => "ok",
        Some(false) => "BROKEN",
        None => "not checked",
    };
    vec![
        point_mark(point),
        gate.id.to_string(),
        state.to_string(),
        or_dash(gate.measured, show_count),
        gate.bound.clone(),
        gate.why.clone(),
    ]
}
