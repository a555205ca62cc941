//! Sockets of the network namespace by state.

use super::side::{Drawn, Lines, Side, named};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::Values;

pub(super) const CHART: HostChart = HostChart {
    id: "sockets",
    title: "TCP sockets by state",
    row: "sockets",
    reads: &[Values::SOCKETS],
    of: Of::Network,
    why: "",
    draw,
};

const NAMES: &[(&str, &str)] = &[
    ("TCP.inuse", "in use (IPv4)"),
    ("TCP6.inuse", "in use (IPv6)"),
    ("TCP.tw", "TIME_WAIT"),
    ("TCP.orphan", "without a process"),
    ("TCP.alloc", "allocated"),
];

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let pick = |data: &_| named(data, NAMES);
    let lines = side.time.states(side.clocked, (Values::SOCKETS, Kind::Max), pick);
    let y = Axis::linear("sockets", Unit::Count);
    side.lines(chart, Lines::new(lines, y, "Maximum in each interval."))
}
