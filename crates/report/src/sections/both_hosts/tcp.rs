//! TCP counters that should stay at zero.

use super::side::{Drawn, Lines, Side, named};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::Values;

pub(super) const CHART: HostChart = HostChart {
    id: "tcp",
    title: "TCP losses",
    row: "tcp",
    reads: &[Values::TCP],
    of: Of::Network,
    why: "",
    draw,
};

const NAMES: &[(&str, &str)] = &[
    ("Tcp.RetransSegs", "segments resent"),
    ("TcpExt.TCPTimeouts", "timeouts"),
    ("TcpExt.ListenOverflows", "accept overflows"),
    ("TcpExt.ListenDrops", "listen drops"),
    ("TcpExt.TCPReqQFullDrop", "SYN queue drops"),
    ("TcpExt.TCPReqQFullDoCookies", "SYN cookies"),
    ("TcpExt.TCPBacklogDrop", "backlog drops"),
    ("TcpExt.TCPRcvQDrop", "receive drops"),
    ("TcpExt.PruneCalled", "buffers pruned"),
    ("TcpExt.TCPAbortOnMemory", "aborts: no memory"),
    ("TcpExt.TCPAbortOnTimeout", "aborts by timeout"),
    ("Tcp.AttemptFails", "connects failed"),
    ("Tcp.EstabResets", "connections reset"),
];

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let pick = |data: &_| named(data, NAMES);
    let lines = side.time.growth(side.clocked, (Values::TCP, Kind::Counter), pick);
    let y = Axis::linear("per second", Unit::PerSecond);
    side.lines(chart, Lines::new(lines, y, "Of the whole network namespace."))
}
