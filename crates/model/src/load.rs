//! What the user requests, fully resolved: one trial and its levels.
//!
//! A [`Trial`] holds no "auto": everything that depends on the machine was decided before, so that
//! a stored trial can run again with the same meaning.

use crate::call::{self, Replies};
use crate::check::Checks;
use crate::curve::Curve;
use crate::flow::Flow;
use crate::link::Links;
use crate::objective::Objective;
use crate::perturbation::Confirm;
use crate::profile::ProfileChoice;
use crate::route::{Address, Resolution};
use crate::sample::Bodies;
use crate::search::SearchConfig;
use crate::tls::{ProxyChoice, TlsChoice};
use crate::tool::Tool;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;

/// When request number `n` is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum Arrival {
    /// The next request leaves when a response frees its slot. Latency counts from the send.
    Closed,
    /// Requests are due on a schedule that does not wait for responses. Latency counts from the
    /// planned instant. With devices ([`Life::hold`]) connections are due instead, and the time to
    /// connect counts from the planned instant.
    Open {
        /// Planned rate over time, over all workers.
        curve: Curve,
        /// How planned instants are spread around that rate.
        arrivals: Spacing,
    },
}

crate::named! {
    /// Distribution of the gaps between planned instants in open loop.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Spacing {
        /// Equal gaps.
        Fixed = "fixed",
        /// Exponential gaps: a Poisson process.
        Poisson = "poisson",
        /// Gaps uniform between zero and twice the mean.
        Uniform = "uniform",
    }
    /// The word on the command line and in the record.
    fn name;
}

/// How long a device holds its connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Until the end of the run.
    Forever,
    /// For about this long, from the instant it is open.
    For {
        /// Mean, nanoseconds.
        ns: u64,
        /// Largest deviation as a share of the mean, 0 to 1; uniform.
        jitter: f64,
    },
}

/// Life of connections: by default they are opened once and kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Requests on one connection, between these two numbers, before it is closed and opened
    /// again; unlimited when absent.
    pub requests: Option<(u32, u32)>,
    /// Connections are devices: opened, held, closed and opened again.
    pub hold: Option<Hold>,
    /// Time over which devices are started, nanoseconds.
    pub ramp_up_ns: u64,
    /// Time over which they end, nanoseconds.
    pub ramp_down_ns: u64,
}

/// One load level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "LevelKeys", into = "LevelKeys")]
pub struct Level {
    /// Open connections over all workers.
    pub connections: u32,
    /// Further connections that may be opened when requests are due and every connection is in use.
    pub spare: u32,
    /// Requests in flight per connection (HTTP/1.1 pipelining), at least 1.
    pub depth: u32,
    /// When requests are due.
    pub arrival: Arrival,
    /// Life of connections.
    pub life: Life,
}

/// A level as the record has it.
#[derive(Serialize, Deserialize)]
struct LevelKeys {
    connections: u32,
    connections_max: u32,
    depth: u32,
    arrival: Arrival,
    life: Life,
}

impl Level {
    /// Connections that may be open at once.
    pub fn connections_max(&self) -> u32 {
        self.connections.saturating_add(self.spare)
    }

    /// Whether requests are planned: in open loop, unless the connections of devices are planned.
    pub fn plans_requests(&self) -> bool {
        matches!(self.arrival, Arrival::Open { .. }) && self.life.hold.is_none()
    }

    /// Whether the connections of devices are planned.
    pub fn plans_starts(&self) -> bool {
        matches!(self.arrival, Arrival::Open { .. }) && self.life.hold.is_some()
    }
}

impl From<LevelKeys> for Level {
    fn from(keys: LevelKeys) -> Self {
        let LevelKeys { connections, connections_max, depth, arrival, life } = keys;
        Self {
            connections,
            spare: connections_max.saturating_sub(connections),
            depth,
            arrival,
            life,
        }
    }
}

impl From<Level> for LevelKeys {
    fn from(level: Level) -> Self {
        let connections_max = level.connections_max();
        let Level { connections, depth, arrival, life, .. } = level;
        Self { connections, connections_max, depth, arrival, life }
    }
}

/// When a measured window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After this many nanoseconds.
    AfterNs(u64),
    /// After exactly this many requests were sent.
    AfterRequests(u64),
}

/// How long load runs before it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// Until throughput settles, at most this many nanoseconds.
    SettleWithinNs(u64),
    /// For this many nanoseconds; zero means none.
    ForNs(u64),
}

crate::named! {
    /// How bytes move.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum DriverKind {
        /// Linux io_uring.
        Uring = "uring",
        /// Linux epoll with non-blocking sockets.
        Epoll = "epoll",
        /// No sockets: responses appear at once. Measures our own user code.
        Null = "null",
        /// No sockets, virtual time, seeded faults. Tests only.
        Sim = "sim",
    }
    /// The word on the command line and in the record.
    fn name;
}

crate::named! {
    /// Which requests are sent again, on a new connection, when the server did not process them
    /// (RFC 9112, 9.3.1).
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Retry {
        /// None: each counts as failed.
        #[default]
        Never = "never",
        /// Those whose method is idempotent (RFC 9110, 9.2.2).
        Idempotent = "idempotent",
        /// Any: the user knows that the server takes the same request twice.
        Any = "any",
    }
    /// The word on the command line and in the record.
    fn name, parse;
}

crate::named! {
    /// A version of HTTP.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum HttpVersion {
        /// HTTP/1.1.
        #[default]
        #[serde(rename = "1")]
        One = "1",
        /// HTTP/2.
        #[serde(rename = "2")]
        Two = "2",
    }
    /// The word on the command line and in the record.
    fn name, parse;
}

crate::named! {
    /// Which version of HTTP is spoken.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum HttpChoice {
        /// HTTP/1.1.
        #[default]
        #[serde(rename = "1")]
        One = "1",
        /// HTTP/2.
        #[serde(rename = "2")]
        Two = "2",
        /// What the server prefers of both, for the whole run.
        #[serde(rename = "auto")]
        Auto = "auto",
    }
    /// The word on the command line and in the record.
    fn name, parse;
}

impl HttpChoice {
    /// Whether it is HTTP/1.1 alone.
    pub fn is_one(&self) -> bool {
        *self == Self::One
    }
}

/// How the workers send and receive, in every level alike: options that only the engine reads, and
/// that everything between passes on as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manner {
    /// Pause after a poll with few events: fewer wake-ups for more latency, nanoseconds; 0 is off.
    pub coalesce_ns: u64,
    /// Which requests are sent again when the server did not process them.
    #[serde(default, skip_serializing_if = "Retry::is_never")]
    pub retry_unprocessed: Retry,
    /// Which version of HTTP they speak.
    #[serde(default, skip_serializing_if = "HttpChoice::is_one")]
    pub http: HttpChoice,
    /// Bytes of bodies that a server of HTTP/2 may send before we take them: on each stream, and on
    /// a connection where that is more than the protocol starts with. Absent for as many as there
    /// can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl Retry {
    /// Whether nothing is sent again.
    pub fn is_never(&self) -> bool {
        *self == Self::Never
    }

    /// Whether a request with this method is sent again.
    pub fn allows(self, method: &str) -> bool {
        let is_idempotent = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method);
        match self {
            Self::Never => false,
            Self::Idempotent => is_idempotent,
            Self::Any => true,
        }
    }
}

/// Users of a flow as a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowLoad {
    /// Name of the flow.
    pub name: String,
    /// The flow itself, which no record has: it may have secrets.
    #[serde(skip)]
    pub flow: Option<Arc<Flow>>,
}

/// A request to send, before it is encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Method token, for example `GET`.
    pub method: String,
    /// Request target in origin form, for example `/read?id=1`.
    pub path: String,
    /// Value of the Host header.
    pub host: String,
    /// Further headers in order, name and value.
    pub headers: Vec<(String, String)>,
    /// Body; empty for none.
    pub body: Vec<u8>,
    /// Which of [`Trial::targets`] it belongs to, from 0.
    pub target: u32,
    /// For a call: how many messages its reply is.
    #[serde(default, skip_serializing_if = "Replies::is_one")]
    pub replies: Replies,
}

impl Request {
    /// Whether it is a call of gRPC.
    pub fn is_call(&self) -> bool {
        call::is_call(&self.headers)
    }
}

/// Targets with results of their own; the last one stands for all that follow it, because each
/// takes a whole distribution in every worker.
pub const TARGETS_REPORTED_MAX: u32 = 32;

/// One kind of request of a mix, with results and checks of its own. With templates it stands for
/// all of its expansions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixTarget {
    /// Name in results, for example `GET /read`.
    pub name: String,
    /// Its share of the requests, as a part of the sum of all weights; at least 1.
    pub weight: u32,
    /// What a good response must be like.
    pub checks: Checks,
}

/// A probe on the server's host, and how to recognise it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeChoice {
    /// Host and port where it listens.
    pub address: String,
    /// File with the token; the token itself is never stored.
    pub token_file: String,
    /// SHA-256 of its certificate, hexadecimal.
    pub pin: String,
}

/// Which process is the server, and what observes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerProcess {
    /// Named on the command line.
    Pid(u32),
    /// Found by its listening port, when the address is one of this host.
    ByPort,
    /// On the probe's host, where it listens on the port under test.
    Probe(ProbeChoice),
}

crate::named! {
    /// Where further evidence about the server comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum EvidenceFrom {
        /// Programs in the kernel of this host.
        Kernel = "kernel",
    }
    /// The word of the option.
    fn name, parse;
}

crate::named! {
    /// Whether requests wait for responses; the name of an [`Arrival`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum LoadModel {
        /// [`Arrival::Closed`].
        Closed = "closed",
        /// [`Arrival::Open`].
        Open = "open",
    }
    /// The name in records and tables.
    fn name;
}

/// What makes a trial a fan-out. Its levels then count subscribers, and its requests are those of
/// the writers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fanout {
    /// The streams; subscribers take them in turn.
    pub streams: Vec<Request>,
    /// Connections that write, besides those that listen; 0 when events come by themselves.
    pub writers: u32,
}

crate::named! {
    /// What kind of question a trial answers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Question {
        /// How fast is it at this load.
        Load = "load",
        /// How far does it go, and what stops it.
        Ramp = "ramp",
        /// How many new connections per second, or how many at once.
        Churn = "churn",
        /// The highest rate that holds an objective.
        Find = "find",
        /// How many events reach their subscribers, and how late.
        Fanout = "fanout",
    }
    /// The command that asks it.
    fn word;
}

/// One fully resolved cell of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The question.
    pub question: Question,
    /// URL as typed.
    pub url: String,
    /// Addresses the host resolved to, used in turn.
    pub addresses: Vec<Address>,
    /// How those addresses were found.
    pub resolution: Resolution,
    /// Local addresses that connections are bound to, in turn; the kernel chooses when empty.
    pub sources: Vec<IpAddr>,
    /// The requests of the tape, in sending order and repeated: at least one, templates expanded.
    /// A record keeps the first of them.
    pub requests: Vec<Request>,
    /// The kinds of requests; [`Request::target`] counts in them.
    pub targets: Vec<MixTarget>,
    /// Load levels in the order they are visited.
    pub levels: Vec<Level>,
    /// End of each level's measured window.
    pub stop: Stop,
    /// What precedes each measured window.
    pub warmup: Warmup,
    /// How long responses are awaited after the last send, nanoseconds.
    pub drain_ns: u64,
    /// The longest window to which the latency of the warm-up may extend `stop`, nanoseconds;
    /// absent where the user gave the length.
    pub window_max_ns: Option<u64>,
    /// A request without a complete response after this time failed, nanoseconds.
    pub timeout_ns: u64,
    /// How often each level is visited.
    pub visits: u32,
    /// How often a level whose throughput is not steady is repeated.
    pub repeats_max: u32,
    /// Worker threads.
    pub threads: u32,
    /// CPUs the workers are pinned to, in turn; empty means not pinned.
    pub cpus: Vec<usize>,
    /// How bytes move.
    pub driver: DriverKind,
    /// Why that driver.
    pub driver_reason: String,
    /// How the workers send and receive.
    #[serde(flatten)]
    pub manner: Manner,
    /// Seed of everything random.
    pub seed: u64,
    /// Which process is the server.
    pub server: ServerProcess,
    /// The limits of the links of both hosts, as far as the user stated them.
    #[serde(default, skip_serializing_if = "Links::is_empty")]
    pub links: Links,
    /// Address on this host at which the server's runtime serves its figures.
    pub runtime: Option<std::net::SocketAddr>,
    /// Whether samples of responses have bodies.
    pub sample_bodies: Bodies,
    /// The set of descriptors with which samples of calls are read. No record keeps it.
    #[serde(skip)]
    pub descriptors: Vec<u8>,
    /// Where profiles of the server come from, if requested.
    pub profile: Option<ProfileChoice>,
    /// Further evidence about the server, in a visit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceFrom>,
    /// What must hold, if anything.
    pub expect: Option<Objective>,
    /// How to search for the highest rate that holds `expect`; its trials replace the rate of the
    /// one level and `stop`.
    pub search: Option<SearchConfig>,
    /// TLS; none for plain text.
    pub tls: Option<TlsChoice>,
    /// The proxy that makes a tunnel to the target; `addresses` are then the proxy's.
    pub proxy: Option<ProxyChoice>,
    /// Experiments after the levels, if requested.
    pub confirm: Option<Confirm>,
    /// Streams of events and their writers, when levels count subscribers.
    pub fanout: Option<Fanout>,
    /// The tool that makes the load in place of our engine, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// What users do, when the load is users of a flow: then connections are users, and targets are
    /// its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowLoad>,
}

impl Trial {
    /// Whether users of a flow are due on a schedule.
    pub fn plans_users(&self, level: &Level) -> bool {
        self.flow.is_some() && level.plans_requests()
    }

    /// A trial for tests, which sends nothing. A test sets what it needs.
    pub fn blank() -> Self {
        Self {
            question: Question::Load,
            url: String::new(),
            addresses: Vec::new(),
            resolution: Resolution::default(),
            sources: Vec::new(),
            requests: Vec::new(),
            targets: Vec::new(),
            levels: Vec::new(),
            stop: Stop::AfterNs(0),
            warmup: Warmup::ForNs(0),
            drain_ns: 0,
            window_max_ns: None,
            timeout_ns: 10_000_000_000,
            visits: 1,
            repeats_max: 0,
            threads: 1,
            cpus: Vec::new(),
            driver: DriverKind::Epoll,
            driver_reason: "test".to_string(),
            manner: Manner::default(),
            seed: 1,
            server: ServerProcess::ByPort,
            links: Links::default(),
            runtime: None,
            profile: None,
            evidence: None,
            sample_bodies: Bodies::Dropped,
            descriptors: Vec::new(),
            expect: None,
            search: None,
            tls: None,
            proxy: None,
            confirm: None,
            fanout: None,
            tool: None,
            flow: None,
        }
    }
}
