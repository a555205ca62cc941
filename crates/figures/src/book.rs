//! The book: what each figure means, how it is read from a point, and its place in a table of
//! levels.
//!
//! In: a figure. Out: its entry. The columns of CSV, the tables of every output, the definitions in
//! the record and the reference are made from it. Never: what gates left of a figure.

use model::figure::{Figure, OfHost, Statistic, Times, Whose};
use model::fleet::AgentPoint;
use model::histogram::Summary;
use model::run::{Point, StartInfo};
use model::subject::Account;
use model::visit::rate_of;

/// Reads a figure as measured, in its unit; nothing where it was not.
pub type Read = fn(Account<'_>, Figure) -> Option<f64>;

/// What a figure means, and how it is read.
pub struct Entry {
    /// Its meaning: one or more sentences.
    pub meaning: &'static str,
    /// See [`Read`].
    pub read: Read,
}

/// A figure in a table with a row for each level.
pub struct Place {
    /// The figure.
    pub figure: Figure,
    /// One that stands in its place where it is larger.
    pub or: Option<Figure>,
    /// Figures with the highest rank are left out first where there is no room; those with rank 0
    /// never, and the others also where no level has them.
    pub rank: u8,
    /// Whether only tables of evidence and of the page show it.
    pub is_detail: bool,
}

const fn brief(figure: Figure, rank: u8) -> Place {
    Place { figure, or: None, rank, is_detail: false }
}

/// The busier direction of the interface of the generator, through which all of the load goes.
const fn busier(received: OfHost, sent: OfHost, rank: u8) -> Place {
    let [figure, or] = [Figure::Host(received, Whose::Client), Figure::Host(sent, Whose::Client)];
    Place { figure, or: Some(or), rank, is_detail: false }
}

const fn detail(figure: Figure, rank: u8) -> Place {
    Place { figure, or: None, rank, is_detail: true }
}

/// The figures of a level, from left to right.
pub const OF_LEVELS: &[Place] = &[
    brief(Figure::Rate, 0),
    brief(Figure::Messages, 1),
    brief(Figure::Delivery, 1),
    brief(Figure::P50, 0),
    brief(Figure::P90, 6),
    brief(Figure::P99, 0),
    brief(Figure::P99_9, 3),
    brief(Figure::MAX, 4),
    busier(OfHost::Received, OfHost::Sent, 5),
    busier(OfHost::LinkReceived, OfHost::LinkSent, 5),
    brief(Figure::Host(OfHost::Cores, Whose::Server), 5),
    detail(Figure::ClientCpu, 1),
    detail(Figure::ServerCpu, 1),
];

/// The figures of a point: all with an entry.
pub fn of_points() -> impl Iterator<Item = (Figure, Entry)> {
    Figure::all().filter_map(|figure| Some((figure, entry(figure)?)))
}

/// The entry of a figure; nothing for what is no figure of one point.
pub fn entry(figure: Figure) -> Option<Entry> {
    let (meaning, read): (_, Read) = match figure {
        Figure::Rate => (
            "Good responses per second of the window; for devices, connections; for subscribers, \
             events.",
            |of, _| rate_of(of.point).map(|_| of.rate()),
        ),
        Figure::Errors => (
            "Of the requests that were due, and the connections of devices that were planned, \
             those without a good response, or that were never open.",
            |of, _| percent(errors(of.point)),
        ),
        Figure::Status(_) => {
            ("Responses with this class of status, of the requests that were due.", |of, figure| {
                let Figure::Status(class) = figure else { return None };
                percent((*of.point.status.get(class.key())?, due(of.point)))
            })
        }
        Figure::Time(times, _) => of_times(times),
        Figure::Messages => (
            "Whole messages of replies that stream that arrived per second of the window. A call \
             has any number of them, and the rate counts calls.",
            |of, _| Some(of.point.messages.as_ref()?.rate),
        ),
        Figure::PerCall => (
            "Messages of replies that stream, per call of the window, whole or not; in a mix, of \
             all methods.",
            |of, _| of.point.messages.as_ref()?.per_call,
        ),
        Figure::Bytes => ("Bytes of complete responses: head, framing and body.", |of, _| {
            Some(of.point.bytes.received as f64)
        }),
        Figure::ClientCpu => (
            "CPU time of the generator per response, good or not; for subscribers, per event.",
            |of, _| of.costs().0,
        ),
        Figure::ServerCpu => (
            "CPU time of the server per response, good or not; for subscribers, per event.",
            |of, _| of.costs().1,
        ),
        Figure::Delivery => {
            ("Share of the expected events that arrived; for subscribers.", |of, _| of.delivery())
        }
        Figure::Host(of, _) => (of_host(of), |of, figure| match figure {
            Figure::Host(OfHost::Cores, Whose::Client) => of.point.cpu.client_cpus,
            Figure::Host(OfHost::Cores, Whose::Server) => of.point.cpu.server_cpus,
            figure => of.point.hosts.get(&figure).copied(),
        }),
        Figure::Load | Figure::ClientHost | Figure::ServerHost | Figure::Ceiling | Figure::Wall => {
            return None;
        }
    };
    Some(Entry { meaning, read })
}

/// What a statistic of times means, and how it is read.
fn of_times(times: Times) -> (&'static str, Read) {
    match times {
        Times::Latency => (
            "Of the main times: latency of requests; for devices, the time to connect; for \
             subscribers, the staleness of events. A request without a good response, and a \
             planned connection that was never open, count as slower than all others.",
            |of, figure| at(of.times()?, figure),
        ),
        Times::Good => (
            "Latency of requests with a good response, whatever became of the others.",
            |of, figure| {
                at(of.point.latency_good_ns.as_ref().unwrap_or(&of.point.latency_ns), figure)
            },
        ),
        Times::Service => (
            "Time from the send of a request to its response, without the wait for a free slot.",
            |of, figure| at(&of.point.service_ns, figure),
        ),
        Times::Connect => (
            "Time to connect; from the planned instant where connections are planned.",
            |of, figure| {
                let turnover = of.point.turnover().filter(|_| !of.point.is_held());
                let opened = &of.point.connections.connect_ns;
                at(turnover.map_or(opened, |turnover| turnover.connect_times()), figure)
            },
        ),
        Times::First => (
            "Time to the first message of a reply that streams, from where latency counts: the \
             send, or in an open loop the planned instant. A call without any message is left out.",
            |of, figure| at(&of.point.messages.as_ref()?.first_ns, figure),
        ),
        Times::Gap => (
            "Time from each message of a reply that streams to the next one; zero between messages \
             that were read together.",
            |of, figure| at(&of.point.messages.as_ref()?.gap_ns, figure),
        ),
        Times::Message => (
            "Latency of a message of a conversation: from when it was due, which is with its call \
             or with the reply before it, to its reply. One without a reply counts as slower than \
             all.",
            |of, figure| at(of.point.messages.as_ref()?.latency_ns.as_ref()?, figure),
        ),
        Times::Flow => (
            "Time of a whole flow of a user of the window, from when the user was due, or in a \
             closed loop from the begin, with its connection, to the end of the last step, without \
             the time to think. A user who failed, was not through or never began counts as slower \
             than all.",
            |of, figure| at(&of.point.users.as_ref()?.flow_ns, figure),
        ),
    }
}

const FAIRNESS: &str = "Jain's index of the CPU time of the server's processes: the square of its \
    sum over n times the sum of its squares. 100 % where all used the same, 1/n where one used \
    all. A parent that hardly works does not count. Absent for a single process.";
const FAIRNESS_CONNECTIONS: &str = "Jain's index of the connections to the port under test that \
    each process of the server holds, at the last read of the window; those in an accept queue \
    belong to none. A parent that holds none does not count. Absent for a single process, and \
    with more than 8192 connections.";
const FAIRNESS_RECEIVED: &str = "The same index of the bytes that came in on these connections in \
    the window: the shares of the processes in the requests, where these are alike. What came in \
    between the last read of a connection and its end is not in it.";

/// What a figure of the host of a side means.
fn of_host(of: OfHost) -> &'static str {
    match of {
        OfHost::Busy => "Share of time in which the CPUs of the side's host were not idle.",
        OfHost::Busiest => {
            "Share of its time in which the busiest CPU of the side's host was not idle."
        }
        OfHost::Cores => {
            "CPUs' worth of time that the processes of the side used: the generator's, or the \
             server's tree."
        }
        OfHost::Received => {
            "Bytes per second that the interface of the load received, as it counts them. That \
             interface is loopback for a load on one host; else the one with most bytes that leads \
             out of the side's host."
        }
        OfHost::Sent => "Bytes per second that the interface of the load sent.",
        OfHost::LinkReceived => {
            "Share of the speed of the load's interface used to receive. The speed is stated \
             (--link) or that of the driver."
        }
        OfHost::LinkSent => "Share of the speed of the load's interface used to send.",
        OfHost::Packets => {
            "Packets per second through the interface of the load, both ways, as its driver counts \
             them."
        }
        OfHost::Interrupts => "Interrupts of devices per second, on all CPUs of the side's host.",
        OfHost::SoftirqDrops => {
            "Received packets per second that were dropped because the backlog of a CPU was full, \
             on the side's host."
        }
        OfHost::SoftirqSqueezes => "Polls for packets per second that ended with work left.",
        OfHost::AcceptQueue => {
            "Connections that waited in the fullest accept queue of the port under test, at most."
        }
        OfHost::AcceptOverflows => {
            "Packets per second that found an accept queue full (TcpExt.ListenOverflows), in the \
             server's network namespace."
        }
        OfHost::SynDrops => {
            "SYNs per second that were dropped because the SYN queue was full \
             (TcpExt.TCPReqQFullDrop), in the server's network namespace."
        }
        OfHost::ListenDrops => {
            "Packets per second that listening sockets dropped for any reason \
             (TcpExt.ListenDrops), in the server's network namespace."
        }
        OfHost::Established => {
            "Open TCP connections of the side's network namespace, at most. On one host each \
             connection of the load counts twice, once for each end."
        }
        OfHost::Resent => {
            "Of the TCP segments that the side's network namespace sent, those that were sent \
             again. On one host these are the segments of both sides."
        }
        OfHost::Memory => {
            "Resident memory of the server's processes together, at most; memory that they share \
             counts for each."
        }
        OfHost::Throttled => {
            "Of the periods of its CPU quota, those in which the side was throttled; of several \
             control groups, that with the largest share. Zero where no group has a quota."
        }
        OfHost::Fairness => FAIRNESS,
        OfHost::FairnessConnections => FAIRNESS_CONNECTIONS,
        OfHost::FairnessReceived => FAIRNESS_RECEIVED,
        OfHost::Threads => "Threads of the server's processes at the last read of the window.",
    }
}

/// A figure as measured, whatever gates left of it.
pub fn measured(point: &Point, figure: Figure) -> Option<f64> {
    (entry(figure)?.read)(point.main(), figure).filter(|value| value.is_finite())
}

/// Requests, and planned connections of devices, without a good response or never open; and all
/// that were due and whose outcome is known.
pub fn errors(point: &Point) -> (u64, u64) {
    let (requests, starts) = (&point.requests, point.starts());
    let (missed, planned) = starts.map_or((0, 0), |one| (one.missed(), StartInfo::due(one)));
    let without = requests.failed + requests.unanswered + requests.unsent + missed;
    (without, due(point) + planned)
}

/// Requests that were due and whose outcome is known.
pub fn due(point: &Point) -> u64 {
    point.requests.sent + point.requests.unsent
}

/// What was due at agents of a fleet that were lost, and has no known outcome: requests, or
/// connections of devices.
pub fn unaccounted(point: &Point) -> u64 {
    AgentPoint::sum(&point.agents).unaccounted
}

fn percent((part, of): (u64, u64)) -> Option<f64> {
    (of > 0).then(|| 100.0 * part as f64 / of as f64)
}

fn at(times: &Summary, figure: Figure) -> Option<f64> {
    figure.statistic().and_then(|of: Statistic| times.at(of)).map(|ns| ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_table_of_levels_shows_is_in_the_book() {
        for place in OF_LEVELS {
            assert!(entry(place.figure).is_some(), "{}", place.figure);
        }
    }
}
