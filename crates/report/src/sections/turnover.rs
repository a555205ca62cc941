//! Connections that come and go: how many, how long they took to open, and which side closed them.

use super::Detail;
use super::levels::{About, table};
use crate::page::{Block, Table};
use crate::wording::{count, or_dash, plural, point_mark};
use model::run::{Point, Run, TurnoverInfo};
use model::units::{show_bytes, show_count};

/// One row per point whose connections come and go; nothing when there is none.
pub fn turnover<'a>(run: &'a Run) -> Vec<Block> {
    let with = |point: &'a Point| Some((point, point.turnover()?));
    let rows: Vec<(&Point, &TurnoverInfo)> = run.record.points.iter().filter_map(with).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    if rows.iter().any(|(_, turnover)| turnover.starts.is_some()) {
        notes.push("Time to connect is measured from the planned instant.".to_string());
    }
    notes.extend(rows.iter().flat_map(|(point, turnover)| self::notes(point, turnover)));
    let table = table(run, About::Connections, Detail::Evidence);
    table.map(|table| Block::Table(Table { notes, ..table })).into_iter().collect()
}

fn notes(point: &Point, turnover: &TurnoverInfo) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(starts) = &turnover.starts {
        let (due, begun) = (count(starts.due()), count(starts.begun));
        let is_odd = starts.missed() + starts.waited > 0;
        notes.extend(is_odd.then(|| {
            format!(
                "{}: {due} connections were due and {begun} started, {} of them late because no \
                 device was free; {} failed and {} were pending at the end.",
                point_mark(point),
                count(starts.waited),
                count(starts.failed),
                count(starts.pending),
            )
        }));
    } else if let Some(planned) = turnover.planned_rate {
        let share = turnover.rate / planned.max(f64::MIN_POSITIVE) * 100.0;
        let planned = show_count(planned);
        notes.push(format!(
            "Devices divided by hold time is {planned} conns/s: {share:.0} % of that was reached."
        ));
    }
    if !turnover.syn_retries.is_empty() {
        let modes: Vec<String> = turnover
            .syn_retries
            .iter()
            .map(|(second, connects)| format!("{} at {second}", count(*connects)))
            .collect();
        notes.push(format!(
            "Connects that took as long as the retransmission of a lost SYN: {}.",
            modes.join(", ")
        ));
    }
    // On a schedule few devices are open at once, so a figure per connection would mislead.
    if let (Some(bytes), None) = (turnover.client_bytes_each, &turnover.starts) {
        let open = plural(point.connections.opened, "connection");
        let bytes = or_dash(Some(bytes), show_bytes);
        notes.push(format!("{bytes} of generator memory for each of {open}, kernel excluded."));
    }
    notes
}
