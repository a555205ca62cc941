//! The figures of a load and of its hosts: the name of each number that a person reads, its unit,
//! and which way is better.
//!
//! In: a name, as it is in a record, a plan, a journal and on the command line. Out: the figure.
//! Never: a value.

use crate::unit::Unit;
use crate::units::{show_at_least, show_bytes, show_count, show_ns, show_part};
use serde::{Deserialize, Serialize};
use std::fmt;

crate::named! {
    /// A statistic of times.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Statistic {
        /// Arithmetic mean.
        Mean = "mean",
        /// Median.
        P50 = "p50",
        /// 75th percentile.
        P75 = "p75",
        /// 90th percentile.
        P90 = "p90",
        /// 95th percentile.
        P95 = "p95",
        /// 99th percentile.
        P99 = "p99",
        /// 99.9th percentile.
        P99_9 = "p99_9",
        /// 99.99th percentile.
        P99_99 = "p99_99",
        /// Largest value.
        Max = "max",
    }
    /// Its key in the record, and what a user types.
    fn key, parse;
}

impl Statistic {
    /// The percentiles, lowest first.
    pub const PERCENTILES: [Self; 7] =
        [Self::P50, Self::P75, Self::P90, Self::P95, Self::P99, Self::P99_9, Self::P99_99];

    /// The share of values below a percentile, 0 to 1; nothing for what is no percentile.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Mean | Self::Max => None,
            Self::P50 => Some(0.5),
            Self::P75 => Some(0.75),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P99_9 => Some(0.999),
            Self::P99_99 => Some(0.9999),
        }
    }

    /// In a heading or a sentence: `p99.9`.
    pub fn name(self) -> &'static str {
        match self {
            Self::P99_9 => "p99.9",
            Self::P99_99 => "p99.99",
            other => other.key(),
        }
    }
}

crate::named! {
    /// Of which times a statistic is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Times {
        /// `latency_ns`: a request without a good response counts as slower than all.
        Latency = "",
        /// `latency_good_ns`: good responses alone, whatever the outcome of other requests.
        Good = "good.",
        /// `service_ns`: from send, without the wait for a free slot. A request that was sent and
        /// got no good response counts as slower than all.
        Service = "service.",
        /// Time to connect: from the planned instant where connections are planned. One that was
        /// never open counts as slower than all.
        Connect = "connect.",
        /// From where latency counts to the first message of a reply that streams.
        First = "first.",
        /// From each message of such a reply to the next one.
        Gap = "gap.",
        /// From when a message of a conversation was due to its reply. One without a reply counts
        /// as slower than all.
        Message = "message.",
        /// Of whole flows, without the time to think. A user who failed or was not through counts
        /// as slower than all.
        Flow = "flow.",
    }
    /// What stands before a statistic of them.
    fn prefix;
}

crate::named! {
    /// A class of status that can be bounded.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum StatusClass {
        /// 300 to 399.
        Redirect = "3xx",
        /// 400 to 499.
        ClientError = "4xx",
        /// 500 to 599.
        ServerError = "5xx",
    }
    /// Its key in the record.
    fn key;
}

crate::named! {
    /// A side of the load, and its host. With one host both sides are on it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Whose {
        /// The generator's.
        Client = "client",
        /// The server's.
        Server = "server",
    }
    /// Its key in the record.
    fn key, parse;
}

crate::named! {
    /// What was read on the host of a side. The key of its figure is this name and the side.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OfHost {
        /// Share of the time of all CPUs in which they were not idle.
        Busy = "busy",
        /// The same of the CPU that was idle least.
        Busiest = "busiest",
        /// CPUs' worth of time that the processes of the side used.
        Cores = "cores",
        /// Bytes that the interface of the load received.
        Received = "received",
        /// Bytes that it sent.
        Sent = "sent",
        /// Share of its speed that was used to receive.
        LinkReceived = "link.received",
        /// Share of its speed that was used to send.
        LinkSent = "link.sent",
        /// Packets through it, both ways.
        Packets = "packets",
        /// Interrupts of devices.
        Interrupts = "interrupts",
        /// Received packets that a full backlog of a CPU dropped.
        SoftirqDrops = "softirq.drops",
        /// Polls for packets that ended with work left.
        SoftirqSqueezes = "softirq.squeezes",
        /// Connections in the fullest accept queue.
        AcceptQueue = "accept.queue",
        /// Connections that found the accept queue full.
        AcceptOverflows = "accept.overflows",
        /// Requests for a connection that found the SYN queue full.
        SynDrops = "syn.drops",
        /// Packets that listening sockets dropped.
        ListenDrops = "listen.drops",
        /// Open TCP connections.
        Established = "established",
        /// Share of the sent segments that were sent again.
        Resent = "resent",
        /// Memory of the processes of the side.
        Memory = "memory",
        /// Share of the periods of a CPU quota in which it throttled.
        Throttled = "throttled",
        /// How evenly the processes of the side used the CPUs.
        Fairness = "fairness",
        /// How evenly the connections of the load are spread over them.
        FairnessConnections = "fairness.connections",
        /// How evenly what they received on these is spread over them.
        FairnessReceived = "fairness.received",
        /// Threads of the processes of the side.
        Threads = "threads",
    }
    /// Its key, without the side.
    fn key;
}

impl OfHost {
    /// Whether it is read on the host of this side.
    pub fn is_of(self, whose: Whose) -> bool {
        let is_of_listeners = matches!(
            self,
            Self::AcceptQueue | Self::AcceptOverflows | Self::SynDrops | Self::ListenDrops
        );
        let is_of_processes = matches!(self, Self::Memory | Self::Threads);
        let is_fairness =
            matches!(self, Self::Fairness | Self::FairnessConnections | Self::FairnessReceived);
        let is_of_server = is_of_listeners || is_of_processes || is_fairness;
        whose == Whose::Server || !is_of_server
    }

    /// What is true of it, with its names by side.
    fn facts(self) -> ([&'static str; 2], Unit, Option<Better>) {
        use Better::{Less, More};
        let less = |names, unit| (names, unit, Some(Less));
        match self {
            Self::Busy => less(["client CPUs busy", "server CPUs busy"], Unit::Share),
            Self::Busiest => less(["busiest client CPU", "busiest server CPU"], Unit::Share),
            Self::Cores => less(["client cores", "server cores"], Unit::Cpus),
            Self::Received => {
                (["received by the client", "received by the server"], Unit::BytesPerSecond, None)
            }
            Self::Sent => {
                (["sent by the client", "sent by the server"], Unit::BytesPerSecond, None)
            }
            Self::LinkReceived => {
                less(["client link receiving", "server link receiving"], Unit::Share)
            }
            Self::LinkSent => less(["client link sending", "server link sending"], Unit::Share),
            Self::Packets => less(["client packets", "server packets"], Unit::PerSecond),
            Self::Interrupts => less(["client interrupts", "server interrupts"], Unit::PerSecond),
            Self::SoftirqDrops => {
                less(["client backlog drops", "server backlog drops"], Unit::PerSecond)
            }
            Self::SoftirqSqueezes => {
                less(["client polls cut short", "server polls cut short"], Unit::PerSecond)
            }
            Self::AcceptQueue => less(["accept queue"; 2], Unit::Count),
            Self::AcceptOverflows => less(["accept queue overflows"; 2], Unit::PerSecond),
            Self::SynDrops => less(["SYN queue drops"; 2], Unit::PerSecond),
            Self::ListenDrops => less(["listen drops"; 2], Unit::PerSecond),
            Self::Established => {
                (["client connections open", "server connections open"], Unit::Count, None)
            }
            Self::Resent => less(["client segments resent", "server segments resent"], Unit::Share),
            Self::Memory => less(["server memory"; 2], Unit::Bytes),
            Self::Throttled => less(["client throttled", "server throttled"], Unit::Share),
            Self::Fairness => (["fairness of server processes"; 2], Unit::Share, Some(More)),
            Self::FairnessConnections => {
                (["fairness of server processes in connections"; 2], Unit::Share, Some(More))
            }
            Self::FairnessReceived => {
                (["fairness of server processes in bytes received"; 2], Unit::Share, Some(More))
            }
            Self::Threads => (["server threads"; 2], Unit::Count, None),
        }
    }
}

/// Which way of a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More of it.
    More,
    /// Less of it.
    Less,
}

/// What is true of a figure.
struct Facts {
    /// Its key, without what stands before a statistic or a class.
    key: &'static str,
    /// Its name in a sentence.
    name: &'static str,
    /// The unit of its values in a record.
    unit: Unit,
    /// Which way is better.
    better: Option<Better>,
}

/// A figure of a load, or of the hosts during it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// The main rate: of good responses; of connections for devices, of events in a fan-out.
    #[default]
    Rate,
    /// Requests without a good response, and planned connections that were never open, of those
    /// that were due.
    Errors,
    /// Responses with this class of status, of the requests that were due.
    Status(StatusClass),
    /// The load itself: connections, devices or subscribers that took part.
    Load,
    /// A statistic of times.
    Time(Times, Statistic),
    /// Bytes received.
    Bytes,
    /// CPU time of the generator per response.
    ClientCpu,
    /// CPU time of the server per response.
    ServerCpu,
    /// Messages of replies that stream.
    Messages,
    /// How many of them a call has.
    PerCall,
    /// Share of events that were delivered.
    Delivery,
    /// What was read on the host of a side.
    Host(OfHost, Whose),
    /// CPU states of the generator's host.
    ClientHost,
    /// CPU states of the server's host.
    ServerHost,
    /// The rate as the ceiling of the server, and its interval.
    Ceiling,
    /// The wall.
    Wall,
}

impl Figure {
    /// Mean latency.
    pub const MEAN: Self = Self::Time(Times::Latency, Statistic::Mean);
    /// Median latency.
    pub const P50: Self = Self::Time(Times::Latency, Statistic::P50);
    /// 75th percentile of latency.
    pub const P75: Self = Self::Time(Times::Latency, Statistic::P75);
    /// 90th percentile of latency.
    pub const P90: Self = Self::Time(Times::Latency, Statistic::P90);
    /// 95th percentile of latency.
    pub const P95: Self = Self::Time(Times::Latency, Statistic::P95);
    /// 99th percentile of latency.
    pub const P99: Self = Self::Time(Times::Latency, Statistic::P99);
    /// 99.9th percentile of latency.
    pub const P99_9: Self = Self::Time(Times::Latency, Statistic::P99_9);
    /// 99.99th percentile of latency.
    pub const P99_99: Self = Self::Time(Times::Latency, Statistic::P99_99);
    /// Longest latency.
    pub const MAX: Self = Self::Time(Times::Latency, Statistic::Max);

    /// The figures of visits that are compared with those of other visits, the main one first.
    pub const COMPARED: [Self; 5] =
        [Self::Rate, Self::P50, Self::P99, Self::ClientCpu, Self::ServerCpu];

    /// The figures of levels that are compared with the same levels of other visits.
    pub const OF_LEVELS: [Self; 9] = [
        Self::Rate,
        Self::Bytes,
        Self::Host(OfHost::LinkReceived, Whose::Client),
        Self::P50,
        Self::P95,
        Self::P99,
        Self::ClientCpu,
        Self::ServerCpu,
        Self::Host(OfHost::Cores, Whose::Server),
    ];

    /// The figures of a visit that the document of an experiment keeps: those that are compared,
    /// and those that a plan or a journal may ask for.
    pub fn of_visits() -> impl Iterator<Item = Self> {
        let connect = Self::Time(Times::Connect, Statistic::P90);
        Self::COMPARED.into_iter().chain([Self::P90, Self::P95, connect]).chain(Self::of_hosts())
    }

    /// The keys of figures for a list: those of a host once for both sides.
    pub fn keys(of: impl Iterator<Item = Self>) -> String {
        let key = |figure: Self| match figure {
            Self::Host(..) => figure.family(),
            other => other.to_string(),
        };
        let mut keys: Vec<String> = of.map(key).collect();
        keys.dedup();
        keys.join(", ")
    }

    /// Whether zero is one of its values, and no sign of nothing measured.
    pub fn has_zero(self) -> bool {
        matches!(self, Self::Host(..))
    }

    /// Its key; for statistics of the same times and for classes of status, one key for all.
    pub fn family(self) -> String {
        match self {
            Self::Time(times, _) => format!("{}pNN", times.prefix()),
            Self::Status(_) => "status.Nxx".to_string(),
            Self::Host(of, _) => format!("{}.SIDE", of.key()),
            other => other.to_string(),
        }
    }

    /// The figure whose standing is also its own: gates strike the CPU states of a host as a whole,
    /// and messages with the calls that have them.
    pub fn stands_with(self) -> Self {
        match self {
            Self::Host(OfHost::Busy | OfHost::Busiest, Whose::Client) => Self::ClientHost,
            Self::Host(OfHost::Busy | OfHost::Busiest, Whose::Server) => Self::ServerHost,
            Self::Messages => Self::Rate,
            other => other,
        }
    }

    /// The figures of latency.
    pub const LATENCIES: [Figure; 9] = [
        Figure::MEAN,
        Figure::P50,
        Figure::P75,
        Figure::P90,
        Figure::P95,
        Figure::P99,
        Figure::P99_9,
        Figure::P99_99,
        Figure::MAX,
    ];

    /// All figures, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let times = Times::ALL.into_iter().flat_map(|times| {
            Statistic::ALL.into_iter().map(move |statistic| Self::Time(times, statistic))
        });
        [Self::Rate, Self::Errors]
            .into_iter()
            .chain(StatusClass::ALL.map(Self::Status))
            .chain([Self::Load])
            .chain(times)
            .chain([Self::Bytes, Self::ClientCpu, Self::ServerCpu])
            .chain([Self::Messages, Self::PerCall, Self::Delivery])
            .chain(Self::of_hosts())
            .chain([Self::ClientHost, Self::ServerHost, Self::Ceiling, Self::Wall])
    }

    /// The figures of hosts, in order.
    pub fn of_hosts() -> impl Iterator<Item = Self> {
        OfHost::ALL.into_iter().flat_map(|of| {
            let sides = Whose::ALL.into_iter().filter(move |whose| of.is_of(*whose));
            sides.map(move |whose| Self::Host(of, whose))
        })
    }

    /// The figure of this key. A percentile may be written as it is printed: `p99.9`.
    pub fn parse(key: &str) -> Option<Self> {
        let key = key.replace("p99.", "p99_");
        Self::all().find(|figure| figure.to_string() == key)
    }

    /// The statistic, for a figure of times.
    pub fn statistic(self) -> Option<Statistic> {
        match self {
            Self::Time(_, statistic) => Some(statistic),
            _ => None,
        }
    }

    /// Whether it is a statistic of times.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Time(..))
    }

    /// Whether it is a latency.
    pub fn is_latency(self) -> bool {
        matches!(self, Self::Time(Times::Latency, _))
    }

    /// Whether it is CPU time.
    pub fn is_cost(self) -> bool {
        matches!(self, Self::ClientCpu | Self::ServerCpu)
    }

    /// What is true of it.
    fn facts(self) -> Facts {
        use Better::{Less, More};
        let facts = |key, name, unit, better| Facts { key, name, unit, better };
        match self {
            Self::Rate => facts("rate", "rate", Unit::PerSecond, Some(More)),
            Self::Errors => facts("errors", "share of failures", Unit::Percent, Some(Less)),
            Self::Status(class) => facts(class.key(), class.key(), Unit::Percent, Some(Less)),
            Self::Load => facts("load", "load", Unit::Count, None),
            Self::MEAN => facts("mean", "mean latency", Unit::Ns, Some(Less)),
            Self::Time(_, of) => facts(of.key(), of.name(), Unit::Ns, Some(Less)),
            Self::Bytes => facts("bytes", "bytes", Unit::Bytes, None),
            Self::ClientCpu => facts("cpu.client", "client CPU per response", Unit::Us, Some(Less)),
            Self::ServerCpu => facts("cpu.server", "server CPU per response", Unit::Us, Some(Less)),
            Self::Messages => facts("messages", "messages", Unit::PerSecond, Some(More)),
            Self::PerCall => facts("messages.call", "messages per call", Unit::Count, None),
            Self::Delivery => facts("events.delivery", "delivery", Unit::Share, Some(More)),
            Self::Host(of, whose) => {
                let (names, unit, better) = of.facts();
                facts(of.key(), names[whose as usize], unit, better)
            }
            Self::ClientHost => {
                facts("host.client", "CPU states of the client's host", Unit::Count, None)
            }
            Self::ServerHost => {
                facts("host.server", "CPU states of the server's host", Unit::Count, None)
            }
            Self::Ceiling => facts("ceiling", "ceiling", Unit::PerSecond, Some(More)),
            Self::Wall => facts("wall", "wall", Unit::Count, None),
        }
    }

    /// The heading of a column of bare values: see [`Self::cell`].
    pub fn heading(self) -> &'static str {
        match self {
            Self::Rate => "rate/s",
            Self::Messages => "messages/s",
            Self::ClientCpu => "client us",
            Self::ServerCpu => "server us",
            Self::Host(OfHost::Received | OfHost::Sent, _) => "MB/s",
            Self::Host(OfHost::LinkReceived | OfHost::LinkSent, _) => "link",
            Self::Host(OfHost::Cores, _) => "cores",
            other => other.name(),
        }
    }

    /// A value in a column whose heading says the unit.
    pub fn cell(self, value: f64) -> String {
        match self.unit() {
            Unit::Ns => show_ns(value),
            Unit::Percent => format!("{} %", show_part(value)),
            // What is missing must not be rounded away.
            Unit::Share if self == Self::Delivery => format!("{} %", show_at_least(100.0 * value)),
            Unit::Share => format!("{} %", show_part(100.0 * value)),
            Unit::Bytes => show_bytes(value),
            Unit::BytesPerSecond => show_count(value / 1e6),
            _ => show_count(value),
        }
    }

    /// Its name in a sentence; of times other than latency, that of the statistic.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The unit of its values in a record.
    pub fn unit(self) -> Unit {
        self.facts().unit
    }

    /// Which way is better; nothing where neither is.
    pub fn better(self) -> Option<Better> {
        self.facts().better
    }

    /// A value of it with its unit.
    pub fn show(self, value: f64) -> String {
        match self.unit() {
            Unit::Share => self.cell(value),
            unit => unit.show(value),
        }
    }
}

/// Its key: one name in the record, in plans and journals, and on the command line.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self {
            Self::Time(times, _) => times.prefix(),
            Self::Status(_) => "status.",
            _ => "",
        };
        let side = match self {
            Self::Host(_, whose) => format!(".{}", whose.key()),
            _ => String::new(),
        };
        f.pad(&format!("{prefix}{}{side}", self.facts().key))
    }
}

impl Serialize for Figure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        Self::parse(&key).ok_or_else(|| serde::de::Error::custom(format!("unknown figure '{key}'")))
    }
}

impl Serialize for Whose {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl<'de> Deserialize<'de> for Whose {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        Self::parse(&key).ok_or_else(|| serde::de::Error::custom(format!("unknown side '{key}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_figure_has_a_key_of_its_own_and_is_found_by_it() {
        let keys: BTreeSet<String> = Figure::all().map(|figure| figure.to_string()).collect();
        assert_eq!(keys.len(), Figure::all().count());
        assert!(Figure::all().all(|figure| Figure::parse(&figure.to_string()) == Some(figure)));
        assert!(Figure::all().is_sorted(), "the order of the record");
        let some = [Figure::P99_9, Figure::ClientCpu, Figure::Status(StatusClass::ServerError)];
        let some = some.map(|figure| figure.to_string());
        assert_eq!(some, ["p99_9", "cpu.client", "status.5xx"]);
        assert_eq!(Figure::parse("p99.9"), Some(Figure::P99_9), "as it is printed");
    }
}
