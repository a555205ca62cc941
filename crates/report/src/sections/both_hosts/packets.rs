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
    let limit = side.stated().and_then(|limits| limits.packets_s).map(|packets| packets as f64);
    let of = |data: &Data| packets(data, limit.is_some());
    let lines = side.time.growth(side.clocked, ("interfaces", Kind::Counter), of);
    let y = Axis::linear("packets", Unit::PerSecond);
    let note = "Packets as the driver counts them; some drivers count several segments as one.";
    let note = limit.map_or(note.to_string(), |limit| {
        format!("{note} The link carries {} in both directions together.", per_second(limit))
    });
    side.lines(chart, Lines::new(lines, y, note).limit("the link is full", limit))
}

/// With a limit of both directions together, their sum is a line as well.
fn packets(data: &Data, has_limit: bool) -> Vec<(String, f64)> {
    let Data::Interfaces(links) = data else { return Vec::new() };
    let all = |link: &Interface| {
        let name = &link.name;
        let both = (link.rx_packets + link.tx_packets) as f64;
        let both = has_limit.then(|| (format!("{name} both directions"), both));
        let each = [
            (format!("{name} received"), link.rx_packets as f64),
            (format!("{name} sent"), link.tx_packets as f64),
            (format!("{name} dropped"), (link.rx_dropped + link.tx_dropped) as f64),
        ];
        both.into_iter().chain(each)
    };
    links.iter().flat_map(all).collect()
}
