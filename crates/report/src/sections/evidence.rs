//! The evidence for the verdict, the evidence against it, and what to try next.

use super::both_hosts;
use crate::page::{Block, Column, List, Mark, Steps, Table};
use crate::wording::{best_point, mark_of, named_wall, point_mark, wall_mark, with_names};
use model::run::Run;
use model::step::Step;
use model::verdict::{Alternative, Evidence, Named, Verdict};

/// Evidence for and against the verdict of the run.
pub fn evidence(run: &Run) -> Vec<Block> {
    let verdict = &run.record.verdict;
    let mut blocks = Vec::new();
    if !verdict.evidence.is_empty() {
        let columns = ["host", "figure", "value", "rule"].map(Column::words).to_vec();
        let mut table = Table::new(columns);
        for evidence in &verdict.evidence {
            table.push_about(Mark::None, cells_of(evidence), both_hosts::anchors(run, evidence));
        }
        blocks.push(Block::Table(table));
    }
    blocks.extend(residence(run).map(Block::Text));
    blocks.extend(odds(verdict).map(Block::Text));
    if !verdict.against.is_empty() {
        blocks.push(Block::List(List {
            lead: "Against:".to_string(),
            items: verdict.against.iter().map(|one| with_names(one)).collect(),
        }));
    }
    blocks
}

/// Where the requests in flight of the best point were.
fn residence(run: &Run) -> Option<String> {
    let (_, point) = best_point(run)?;
    let residence = point.residence?;
    let in_flight = point.in_flight.mean.filter(|_| point.requests.sent > 0)?;
    let parts = [
        (residence.client_unread, "unread at the generator"),
        (residence.wire, "on the wire"),
        (residence.server_unread, "unread at the server"),
        (residence.inside_server, "inside the server"),
    ];
    let phrases: Vec<_> = parts
        .into_iter()
        .filter_map(|(part, place)| Some(format!("{} {place}", few(part?))))
        .collect();
    (!phrases.is_empty())
        .then(|| format!("Of {} requests in flight: {}.", few(in_flight), phrases.join(", ")))
}

/// A mean number of requests.
fn few(requests: f64) -> String {
    if requests < 10.0 { format!("{requests:.1}") } else { format!("{requests:.0}") }
}

/// The walls that the evidence leaves possible, when there are several.
fn odds(verdict: &Verdict) -> Option<String> {
    let worth = verdict.alternatives.iter().filter(|one| one.share >= SHARE_WORTH);
    let phrases: Vec<_> = worth.map(phrase_of).collect();
    let is_open = phrases.len() > 1 || verdict.wall == Named::Unknown && !phrases.is_empty();
    is_open.then(|| format!("Possible, by odds: {}.", phrases.join(", ")))
}

/// Smaller shares of the odds are left out.
const SHARE_WORTH: f64 = 0.05;

fn phrase_of(one: &Alternative) -> String {
    let name = match one.wall {
        Named::Wall(wall) => named_wall(wall),
        Named::None => "no wall".to_string(),
        Named::Unknown => "unknown".to_string(),
    };
    format!("{name} {:.0} %", one.share * 100.0)
}

fn cells_of(evidence: &Evidence) -> Vec<String> {
    let figure = format!("{}: {}", evidence.source, evidence.field);
    vec![evidence.host.clone(), figure, evidence.value.clone(), with_names(&evidence.rule)]
}

/// The verdict of each point, for runs with more than one.
pub fn by_point(run: &Run) -> Vec<Block> {
    let points = &run.record.points;
    if points.len() < 2 {
        return Vec::new();
    }
    let columns = ["point", "wall", "side", "confidence", "rests on"].map(Column::words);
    let mut table = Table::new(columns.to_vec()).caption("Verdict of each point").folded();
    for point in points {
        let verdict = &point.verdict;
        let rests_on: Vec<_> = verdict
            .evidence
            .iter()
            .map(|evidence| format!("{} {}", evidence.field, evidence.value))
            .collect();
        let cells = vec![
            point_mark(point),
            wall_mark(verdict),
            verdict.side.word().to_string(),
            verdict.confidence.word().to_string(),
            if rests_on.is_empty() { "-".to_string() } else { rests_on.join("; ") },
        ];
        table.push(mark_of(run, point), cells);
    }
    vec![Block::Table(table)]
}

/// Walls that were not tested.
pub fn not_tested(run: &Run) -> Vec<Block> {
    let walls = &run.record.verdict.not_tested;
    if walls.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(["wall", "side"].map(Column::words).to_vec())
        .caption("Walls that were not tested")
        .folded();
    for wall in walls {
        table.push(Mark::None, vec![named_wall(*wall), wall.side().word().to_string()]);
    }
    vec![Block::Table(table)]
}

/// What to do next, best first.
pub fn next(run: &Run) -> Vec<Block> {
    let verdict = &run.record.verdict;
    if verdict.next.is_empty() {
        return Vec::new();
    }
    let lead = match verdict.wall {
        Named::Wall(_) => "To be more certain:",
        Named::None => "To go further:",
        Named::Unknown => "To find out:",
    };
    // A command is left unchanged so that it can be pasted.
    let named = |step: &Step| match step {
        Step::Command(_) => step.clone(),
        Step::Advice(text) => Step::Advice(with_names(text)),
    };
    let steps = verdict.next.iter().map(named).collect();
    vec![Block::Steps(Steps { lead: lead.to_string(), steps })]
}
