//! Connections waiting to be accepted, in all queues of the port and in the longest queue.

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
    let all = || {
        side.clocked.data().filter_map(|(_, data)| match data {
            Data::Listeners(all) => Some(all),
            _ => None,
        })
    };
    let shortest = all().flatten().map(|one| one.backlog).min().map(f64::from);
    let is_one = all().all(|listeners| listeners.len() < 2);
    let which = if is_one { "The queue" } else { "The shortest queue" };
    let note = shortest.map_or(String::new(), |length| {
        format!("Maximum in each interval. {which} holds at most {length:.0}.")
    });
    let y = Axis::linear("connections", Unit::Count);
    // The sum of several queues has no limit of its own.
    let limit = shortest.filter(|_| is_one);
    side.lines(chart, Lines::new(lines, y, note).limit("the queue is full", limit))
}

fn queued(data: &Data) -> Vec<(String, f64)> {
    let Data::Listeners(all) = data else { return Vec::new() };
    let queued = |one: &Listener| f64::from(one.queued);
    let sum: f64 = all.iter().map(queued).sum();
    let most = all.iter().map(queued).fold(0.0, f64::max);
    match all.len() {
        0 => Vec::new(),
        1 => vec![("the queue".to_string(), sum)],
        queues => vec![(format!("all {queues} queues"), sum), ("the longest".to_string(), most)],
    }
}
