//! Packets of each interface, and the packets that it dropped.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use crate::wording::per_second;
use model::metric::Kind;
use model::reading::{Data, Interface};

pub(super) const CHART: HostChart = HostChart {
    id: "packets",
    title: "Packets",
    row: "packets",
    reads: &["interfaces"],
    of: Of::Network,
    why: "",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let lines = side.time.growth(side.clocked, ("interfaces", Kind::Counter), packets);
    let y = Axis::linear("packets", Unit::PerSecond);
    let note = "Packets as the driver counts them; some drivers count several segments as one.";
    let limit = side.stated().and_then(|limits| limits.packets_s).map(|packets| packets as f64);
    let note = limit.map_or(note.to_string(), |limit| {
        format!("{note} The link carries {} in both directions together.", per_second(limit))
    });
    side.lines(chart, Lines::new(lines, y, note).limit("the link is full", limit))
}

fn packets(data: &Data) -> Vec<(String, f64)> {
    let Data::Interfaces(links) = data else { return Vec::new() };
    let all = |link: &Interface| {
        let name = &link.name;
        [
            (format!("{name} received"), link.rx_packets as f64),
            (format!("{name} sent"), link.tx_packets as f64),
            (format!("{name} dropped"), (link.rx_dropped + link.tx_dropped) as f64),
        ]
    };
    links.iter().flat_map(all).collect()
}
