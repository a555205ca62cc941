//! Where bytes waited, in a sample of the connections to the port under test.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, SocketSample};

pub(super) const CHART: HostChart = HostChart {
    id: "connections",
    title: "Unread and unsent bytes",
    row: "connections",
    reads: &["connections"],
    of: Of::Network,
    why: "no connection was sampled",
    draw,
};

/// The kernel counts the end of a connection as one byte; no request or response is that short.
const UNREAD_MIN: u32 = 1;

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let lines = side.time.states(side.clocked, ("connections", Kind::Mean), waiting);
    let y = Axis::linear("share of connections", Unit::Percent);
    let note = "Share of the connections sampled about once a second with: requests that the \
                server has not read, responses that it has not sent or that are not acknowledged, \
                responses that the generator has not read.";
    side.lines(chart, Lines::new(lines, y, note))
}

fn waiting(data: &Data) -> Vec<(String, f64)> {
    let Data::Connections(all) = data else { return Vec::new() };
    let of = |name: &str,
              is_servers: fn(&SocketSample) -> bool,
              waits: fn(&SocketSample) -> bool| {
        let ends = || all.iter().filter(|one| is_servers(one));
        let share = 100.0 * ends().filter(|one| waits(one)).count() as f64 / ends().count() as f64;
        share.is_finite().then(|| (name.to_string(), share))
    };
    let unread = |one: &SocketSample| one.receive_queue > UNREAD_MIN;
    let lines = [
        of("requests not read", |one| one.server_side, unread),
        of("responses not acked", |one| one.server_side, |one| one.send_queue > 0),
        of("responses not sent", |one| one.server_side, |one| one.unsent > 0),
        of("responses not read", |one| !one.server_side, unread),
    ];
    lines.into_iter().flatten().collect()
}
