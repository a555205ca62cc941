//! Memory of the server's control group, and its limit.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Values};

pub(super) const CHART: HostChart = HostChart {
    id: "memory",
    title: "Memory of the server",
    row: "memory",
    reads: &[Values::MEMORY],
    of: Of::Server,
    why: "no memory control group",
    draw,
};

const LIMIT: &str = "server.limit_bytes";

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let lines = side.time.states(side.clocked, (Values::MEMORY, Kind::Max), used);
    let limit = side.clocked.data().rev().find_map(|(_, data)| match data {
        Data::Values(of) if of.source == Values::MEMORY => of.values.get(LIMIT)?.real(),
        _ => None,
    });
    let y = Axis::linear("memory", Unit::Bytes);
    side.lines(chart, Lines::new(lines, y, "").limit("limit of the group", limit))
}

fn used(data: &Data) -> Vec<(String, f64)> {
    let Data::Values(of) = data else { return Vec::new() };
    let one = |(name, value): (&String, &model::reading::Value)| {
        let what = name.strip_prefix("server.")?.strip_suffix("_bytes")?;
        (what != "limit").then_some(())?;
        Some((what.replace('_', " "), value.real()?))
    };
    of.values.iter().filter_map(one).collect()
}
