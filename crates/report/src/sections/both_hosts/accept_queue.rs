//! Connections waiting to be accepted, in all queues of the port and in the fullest queue.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Listener};

pub(super) const CHART: HostChart = HostChart {
    id: "accept-queue",
    title: "Accept queues",
    row: "accept-queue",
    reads: &["listeners"],
    of: Of::ServerNetwork,
    why: "sock_diag reports none",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let lines = side.time.states(side.clocked, ("listeners", Kind::Max), queued);
    let shortest = side.clocked.data().filter_map(|(_, data)| match data {
        Data::Listeners(all) => all.iter().map(|one| one.backlog).min(),
        _ => None,
    });
    let shortest = shortest.min().map(f64::from);
    let note = shortest.map_or(String::new(), |length| {
        format!("Maximum in each interval. A queue holds at most {length:.0}.")
    });
    let y = Axis::linear("connections", Unit::Count);
    side.lines(chart, Lines::new(lines, y, note).limit("a queue is full", shortest))
}

fn queued(data: &Data) -> Vec<(String, f64)> {
    let Data::Listeners(all) = data else { return Vec::new() };
    let queued = |one: &Listener| f64::from(one.queued);
    let sum: f64 = all.iter().map(queued).sum();
    let most = all.iter().map(queued).fold(0.0, f64::max);
    match all.len() {
        0 => Vec::new(),
        1 => vec![("the queue".to_string(), sum)],
        queues => vec![(format!("all {queues} queues"), sum), ("the fullest".to_string(), most)],
    }
}
