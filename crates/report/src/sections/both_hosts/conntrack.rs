//! The connection tracking table: its entries and its limit.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::Data;

pub(super) const CHART: HostChart = HostChart {
    id: "conntrack",
    title: "Connection tracking",
    row: "conntrack",
    reads: &["conntrack"],
    of: Of::Network,
    why: "the kernel tracks none",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let entries = |data: &Data| match data {
        Data::Conntrack(table) => vec![("entries".to_string(), table.count as f64)],
        _ => Vec::new(),
    };
    let lost = |data: &Data| match data {
        Data::Conntrack(table) => vec![
            ("packets dropped/s".to_string(), table.dropped as f64),
            ("entries removed early/s".to_string(), table.early_dropped as f64),
        ],
        _ => Vec::new(),
    };
    let mut lines = side.time.states(side.clocked, ("conntrack", Kind::Max), entries);
    lines.extend(side.time.growth(side.clocked, ("conntrack", Kind::Counter), lost));
    let max = side.seen(|of| of.conntrack).map(|(table, _)| table.max);
    let note = max.map_or(String::new(), |max| format!("The table can hold {max} entries."));
    let y = Axis::linear("entries", Unit::Count);
    let drawn = Lines::new(lines, y, note);
    side.lines(chart, drawn.limit("the table is full", max.map(|max| max as f64)))
}
