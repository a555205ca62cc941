//! Connections of the server to other services, and those waiting for a response.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Downstream};

pub(super) const CHART: HostChart = HostChart {
    id: "downstreams",
    title: "Services the server calls",
    row: "downstreams",
    reads: &["downstreams"],
    of: Of::ServerNetwork,
    why: "",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let waiting = |data: &Data| {
        let Data::Downstreams(all) = data else { return Vec::new() };
        let both = |one: &Downstream| {
            [
                (format!("{}: open", one.to), f64::from(one.connections + one.opening)),
                (format!("{}: waiting", one.to), f64::from(one.waiting + one.opening)),
            ]
        };
        all.iter().flat_map(both).collect()
    };
    let lines = side.time.states(side.clocked, ("downstreams", Kind::Mean), waiting);
    let y = Axis::linear("connections", Unit::Count);
    let note = "Connections that the server opened, and those waiting for a response.";
    match lines.is_empty() {
        // The source was read, and there were none.
        true => Drawn::Zero,
        false => side.lines(chart, Lines::new(lines, y, note)),
    }
}
