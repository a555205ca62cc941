//! Queueing disciplines: packets dropped, held back, and waiting.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Qdisc};

pub(super) const CHART: HostChart = HostChart {
    id: "qdiscs",
    title: "Queueing disciplines",
    row: "qdiscs",
    reads: &["qdiscs"],
    of: Of::Network,
    why: "",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let lines = side.time.growth(side.clocked, ("qdiscs", Kind::Counter32), trouble);
    let y = Axis::linear("per second", Unit::PerSecond);
    side.lines(chart, Lines::new(lines, y, "Packets dropped, and times packets were held back."))
}

fn trouble(data: &Data) -> Vec<(String, f64)> {
    let Data::Qdiscs(qdiscs) = data else { return Vec::new() };
    let both = |one: &Qdisc| {
        let name = format!("{} {} {:x}:", one.interface, one.kind, one.handle >> 16);
        [
            (format!("{name} dropped"), f64::from(one.drops)),
            (format!("{name} held back"), f64::from(one.overlimits)),
        ]
    };
    qdiscs.iter().flat_map(both).collect()
}
