//! The record: what one run leaves behind, and what other programs read.
//!
//! Names in this file are the schema `ceiling.run/1`. Adding a field is free; changing or removing
//! one needs a new schema number. Times are whole nanoseconds, rates are per second, `null` means
//! "not measured" and is never a zero.

use crate::call;
use crate::check::Check;
use crate::curve::Curve;
use crate::facts::{FarHost, HostFacts, ServerFacts};
use crate::fault::{self, Fault};
use crate::figure::Figure;
use crate::fleet::{AgentPoint, FleetRecord};
use crate::histogram::{Histogram, Summary};
use crate::kernel::KernelRecord;
use crate::load::{Life, LoadModel, Spacing, Trial};
use crate::lost::{CrossedInfo, Stopped};
use crate::maps::IntoMap;
use crate::messages::MessageInfo;
use crate::objective::Expectation;
use crate::perturbation::Perturbation;
use crate::profile::ProfileRecord;
use crate::punctual::is_moved;
use crate::reading::Reading;
use crate::route::Resolution;
use crate::sample::ResponseSample;
use crate::search::SearchRecord;
use crate::series::{Moments, Opening, Second, Spread};
use crate::slow::Slowest;
use crate::standing::{Standing, Standings};
use crate::streams::StreamInfo;
use crate::subject::Subject;
use crate::tail::Tail;
use crate::tick::{Counters, ErrorClass, StatusCodes, TargetTally};
use crate::tls::TlsInfo;
use crate::tool::ToolRun;
use crate::users::UserInfo;
use crate::verdict::{Gate, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of [`Record`].
pub const SCHEMA: &str = "ceiling.run/1";

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All levels were visited.
    Complete,
    /// Stopped by the user; the points so far are valid, the last one may be partial.
    Interrupted,
    /// The target stopped responding; the points so far are kept.
    TargetLost,
}

/// A run as one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Unique and sortable: start time and seed.
    pub id: String,
    /// Version of ceiling.
    pub version: String,
    /// Start, RFC 3339.
    pub started_at: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What the user requested, resolved.
    pub trial: Trial,
    /// The generator's host.
    pub host: HostFacts,
    /// What was tested.
    pub target: Target,
    /// One entry per visit of a level; none where another tool made the load.
    pub points: Vec<Point>,
    /// What that tool reported, and what our probes add to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolRun>,
    /// The verdict of the whole run.
    pub verdict: Verdict,
    /// How each term of the trial's objective stands over the run; empty when none was given.
    pub expectations: Vec<Expectation>,
    /// The search for the highest rate that holds the objective, if requested.
    pub search: Option<SearchRecord>,
    /// Experiments that were made to confirm the verdict.
    pub perturbations: Vec<Perturbation>,
    /// Profiles of the server, if requested and a visit could be profiled.
    pub profile: Option<ProfileRecord>,
    /// What programs in the kernel saw of the server, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
    /// The agents that made the load, where a fleet did; what each did is in `points[].agents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetRecord>,
    /// Things a reader should know: fallbacks, raised limits, what the probe cost.
    pub notices: Vec<String>,
    /// What each figure means, by its path in this document.
    pub definitions: BTreeMap<String, String>,
}

/// What was tested.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// URL as typed.
    pub url: String,
    /// Addresses used.
    pub addresses: Vec<String>,
    /// How they were found.
    pub resolution: Option<Resolution>,
    /// Connections established to each address over the run.
    pub addresses_used: Vec<EndUse>,
    /// Connections established from each source over the run; empty when the kernel chose.
    pub sources_used: Vec<EndUse>,
    /// The server's process tree, when it is on this host and may be observed.
    pub server: Option<ServerFacts>,
    /// What a handshake before the load negotiated; null without TLS.
    pub tls: Option<TlsInfo>,
    /// No plain request had a good response, and a TLS handshake with the port succeeded
    /// afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub speaks_tls: bool,
    /// The proxy, without a password; `addresses` are then the proxy's.
    pub proxy: Option<String>,
    /// The server's host, with a probe there; `server` is then null.
    pub probe: Option<FarHost>,
}

/// How often one end of connections was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndUse {
    /// Address, with a port when it is the target's.
    pub address: String,
    /// Connections that were established.
    pub connections: u64,
}

/// One visit of one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Point {
    /// What was applied.
    pub load: LoadInfo,
    /// 1 for the first visit of the level, more for repeats.
    pub attempt: u32,
    /// Whether the server was profiled; the cost is then in every figure.
    pub profiled: bool,
    /// Monotonic start and end of the measured window, nanoseconds, to find its readings.
    pub window_ns: (u64, u64),
    /// When the target stopped responding, if it did: it refused nothing and sent nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// Outcomes of connections.
    pub connections: ConnectionInfo,
    /// What it is about: `turnover` and `events` in the record, each null where there is none.
    #[serde(flatten)]
    pub subject: Subject,
    /// Outcomes of requests sent in the window.
    pub requests: RequestInfo,
    /// Complete responses by status class.
    pub status: BTreeMap<String, u64>,
    /// Complete responses by status code. Empty in records from before codes were counted.
    pub status_codes: BTreeMap<String, u64>,
    /// Complete responses that failed by their status, by code: 400 and more, unless a check calls
    /// it good.
    pub error_codes: BTreeMap<String, u64>,
    /// The first response with each status that is not 2xx, of each check that failed, and the
    /// first of what was no response, by [`Fault`]; of the warm-up too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<ResponseSample>,
    /// The slow end of the latencies, request by request; absent where no single requests are
    /// kept, as in a fleet, and where they are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Slowest>,
    /// Responses with a good status that failed another check, and those with status 2xx or 3xx
    /// that a check does not call good: part of `requests.failed`.
    pub mismatched: u64,
    /// Responses that failed another check, by the first check that failed.
    pub mismatches: BTreeMap<String, u64>,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// Good responses that arrived in the window, per second of it.
    pub rate: f64,
    /// Planned requests per second; open loop only.
    pub offered_rate: Option<f64>,
    /// Bytes of requests sent and of responses received.
    pub bytes: Bytes,
    /// Messages of replies that stream; absent where no method does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageInfo>,
    /// Users of a flow; absent where the load is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UserInfo>,
    /// Latency; see `definitions`.
    pub latency_ns: Summary,
    /// Latency of good responses alone, whatever the outcome of other requests; absent in older
    /// records.
    pub latency_good_ns: Option<Summary>,
    /// From send to response.
    pub service_ns: Summary,
    /// Send delay: sent minus planned; open loop only.
    pub send_delay_ns: Option<Summary>,
    /// Generator delay: the send delay without the wait for a free slot. Open loop only.
    pub generator_delay_ns: Option<Summary>,
    /// Lower bounds of the latency that a punctual generator would have measured; see
    /// [`punctual`](crate::punctual). For open loops, and for closed ones whose generator was
    /// stalled.
    pub latency_punctual_ns: Option<Summary>,
    /// How long responses may have waited before they were stamped, because the generator did not
    /// run when it should; absent where it always did.
    pub unseen_ns: Option<Summary>,
    /// Latency with a lower bound for every request that timed out, was unanswered or unsent;
    /// absent when none was. Its percentiles are lower bounds.
    pub latency_at_least_ns: Option<Summary>,
    /// Requests in flight.
    pub in_flight: InFlight,
    /// Where the requests in flight were; `null` when no socket was sampled.
    pub residence: Option<Residence>,
    /// CPU cost.
    pub cpu: CpuCost,
    /// What was read on the hosts of both sides in the window, by figure, in its unit; a figure
    /// that was not read is absent. Where both sides are on one host they have the same values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<Figure, f64>,
    /// The generator's own loop.
    pub client_loop: LoopInfo,
    /// One entry per second.
    pub series: Vec<Second>,
    /// Good responses that arrived in each tenth of a second, for steadiness.
    pub per_100ms: Vec<u64>,
    /// Load before the window. Its responses that arrived in the window count in the rate and in
    /// the series, and in no other figure.
    pub unmeasured: Unmeasured,
    /// By target of a mix, in the order of the file; empty with one target.
    pub targets: Vec<TargetResult>,
    /// What each agent of a fleet did, by its own account; empty without a fleet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentPoint>,
    /// Validity checks.
    pub gates: Vec<Gate>,
    /// How far each figure holds; one that is absent is sound.
    pub standing: Standings,
    /// How each term of the trial's objective stands here; empty when none was given.
    pub expectations: Vec<Expectation>,
    /// Why its slowest requests are slow; absent where `slowest` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// The verdict of this point.
    pub verdict: Verdict,
}

/// Fewer responses give no rate within a factor of two, with 95 %: the least number whose exact
/// Poisson interval lies between half and twice of it.
pub const FEW_RESPONSES: u64 = 12;

impl Point {
    /// Responses with an error status that were not failures by status, because a check calls it
    /// good.
    pub fn called_good(&self) -> u64 {
        let is_error = |code: &str| call::http_of(code).is_some_and(|code| code >= 400);
        let errors = self.status_codes.iter().filter(|(code, _)| is_error(code));
        let errors: u64 = errors.map(|(_, count)| count).sum();
        errors.saturating_sub(self.error_codes.values().sum())
    }

    /// Errors of a class; nothing when the record does not have the class.
    pub fn errors_of(&self, class: ErrorClass) -> Option<u64> {
        self.errors.get(class.name()).copied()
    }

    /// Where no response was whole and most requests failed for what came: what was wrong with it.
    pub fn only_fault(&self) -> Option<Fault> {
        let (fault, _) = fault::worst(&self.connections.faults).filter(|_| self.is_silent())?;
        let of = |class: ErrorClass| self.errors_of(class).unwrap_or(0);
        let all: u64 =
            ErrorClass::ALL.into_iter().filter(|class| class.is_of_requests()).map(of).sum();
        let late = if fault == Fault::Stalled { of(ErrorClass::Timeout) } else { 0 };
        let faulty = of(ErrorClass::Parse) + of(ErrorClass::Unsolicited) + late;
        (2 * faulty >= all).then_some(fault)
    }

    /// Requests that failed because the server did not process them; part of `requests.failed`.
    pub fn unprocessed(&self) -> u64 {
        self.errors_of(ErrorClass::Unprocessed).unwrap_or(0)
    }

    /// Responses of the window per second, good or not: CPU time per request times this is the CPU
    /// time that was used. The rate of good responses where a record did not count them.
    pub fn answered_rate(&self) -> f64 {
        let duration_s = Some(self.load.duration_s).filter(|duration_s| *duration_s > 0.0);
        let counted = self.cpu.responses.zip(duration_s);
        counted.map_or(self.rate, |(responses, duration_s)| responses as f64 / duration_s)
    }

    /// Requests of the window with a response, and those of them whose response was good.
    pub fn responses(&self) -> (u64, u64) {
        (self.status.values().sum(), self.requests.completed)
    }
}

/// The load of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadInfo {
    /// `closed` or `open`.
    pub model: LoadModel,
    /// Connections.
    pub connections: u32,
    /// Most connections, including those that could be opened when requests waited for one.
    pub connections_max: u32,
    /// Requests in flight per connection.
    pub depth: u32,
    /// Planned rate, its mean over the window; open loop only.
    pub rate: Option<f64>,
    /// Planned rate over time, when it varies; open loop only.
    pub curve: Option<Curve>,
    /// Spread of planned instants; open loop only.
    pub arrivals: Option<Spacing>,
    /// Life of connections, when they were not simply kept.
    pub life: Option<Life>,
    /// Length of the measured window.
    pub duration_s: f64,
    /// How bytes moved.
    pub driver: String,
    /// Worker threads.
    pub threads: u32,
    /// Pause after a poll with few events, nanoseconds; 0 is off. It is part of every latency.
    pub coalesce_ns: u64,
}

/// Outcomes of connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionInfo {
    /// Asked for.
    pub asked: u64,
    /// Opened at least once.
    pub opened: u64,
    /// Had at least one response to a measured request, with any status.
    pub served: u64,
    /// Never opened.
    pub failed: u64,
    /// Opened again after a close.
    pub reopened: u64,
    /// Closed because bytes came that no request had asked for.
    pub unsolicited: u64,
    /// Given up for what came on them, by [`Fault`]; those in `unsolicited` are among them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    /// Closed by the server while a request was on its way; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crossed: Option<CrossedInfo>,
    /// Time to connect, of all successful attempts of the level.
    pub connect_ns: Summary,
    /// TLS and tunnels.
    #[serde(flatten)]
    pub handshakes: Handshakes,
    /// Streams of HTTP/2; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamInfo>,
    /// Responses per connection, with any status.
    pub requests_each: Spread,
}

/// Connections that came and went in the measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnoverInfo {
    /// Established per second.
    pub rate: f64,
    /// Requested connections per second: those of the schedule in open loop, else devices over
    /// their mean hold, as if opening took no time; absent without a hold that ends.
    pub planned_rate: Option<f64>,
    /// Connections open when the window began.
    pub open_before: u64,
    /// Connections open when it ended:
    /// `open_before + established = closed_by_us + closed_by_peer + open_after`, exactly.
    pub open_after: u64,
    /// Attempts started.
    pub begun: u64,
    /// Attempts that succeeded.
    pub established: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Open connections that we closed first: their TIME_WAIT is ours. Those whose response
    /// announced their end count here, although the peer may have closed them just before.
    pub closed_by_us: u64,
    /// Open connections that the peer closed or reset first.
    pub closed_by_peer: u64,
    /// Time to connect of the attempts that succeeded in the window.
    pub connect_ns: Summary,
    /// Connects that took as long as the time after which a SYN is sent again, by the second around
    /// which they gather; empty when there are none.
    pub syn_retries: BTreeMap<String, u64>,
    /// Growth of the generator's resident memory per open connection, bytes; user space only,
    /// without the kernel's sockets.
    pub client_bytes_each: Option<f64>,
    /// Outcomes of the connections that were due in the window; open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartInfo>,
    /// Monotonic start of `openings`, nanoseconds.
    pub visit_begin_ns: u64,
    /// Every second of the visit: ramp-up, window and ramp-down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<Opening>,
}

impl TurnoverInfo {
    /// Time to connect, from the planned instant where there is one.
    pub fn connect_times(&self) -> &Summary {
        self.starts.as_ref().map_or(&self.connect_ns, |starts| &starts.connect_ns)
    }
}

/// Connections that were due in the window of an open loop: `planned = begun + unsent`, and
/// `begun = established + failed + pending`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StartInfo {
    /// Due in the window, counted from the schedule; absent for a window that was cut short.
    pub planned: Option<u64>,
    /// Attempts that were started.
    pub begun: u64,
    /// Those that succeeded, also after the window.
    pub established: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were neither open nor failed when the visit ended.
    pub pending: u64,
    /// Never started: no device was free.
    pub unsent: u64,
    /// Started late, because no device was free when they were due.
    pub waited: u64,
    /// Time to connect from the planned instant; those that were never open count as slower.
    pub connect_ns: Summary,
    /// Lower bounds of the same without the generator delay.
    pub connect_punctual_ns: Summary,
    /// Generator delay: start minus planned instant, without the wait for a free device.
    pub generator_delay_ns: Summary,
}

impl StartInfo {
    /// Those that were due and never open.
    pub fn missed(&self) -> u64 {
        self.failed + self.pending + self.unsent
    }

    /// Those that were due.
    pub fn due(&self) -> u64 {
        self.begun + self.unsent
    }

    /// How far a time to connect holds: with both bounds when the generator opened connections so
    /// late that they differ.
    pub fn standing(&self, figure: Figure) -> Standing {
        let known_ns = self.connect_ns.of(figure);
        let bounds = known_ns.zip(self.connect_punctual_ns.of(figure));
        match bounds.filter(|(known_ns, low_ns)| is_moved(*low_ns, *known_ns)) {
            None => Standing::Sound,
            Some((known_ns, low_ns)) => Standing::Bounded {
                low: low_ns as f64,
                high: Some(known_ns as f64),
                by: "the generator opened connections late (C4)".to_string(),
            },
        }
    }
}

/// Handshakes and tunnels of a level; in the record their names are next to those of the
/// connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshakes {
    /// Handshakes that succeeded in this level; null without TLS.
    pub handshakes: Option<u64>,
    /// Those that resumed a session.
    pub resumed: Option<u64>,
    /// Time of those handshakes; null without TLS.
    pub handshake_ns: Option<Summary>,
    /// Why handshakes failed, by cause; null without TLS.
    pub handshake_failures: Option<BTreeMap<String, u64>>,
    /// Tunnels that the proxy refused; null without a proxy.
    pub tunnels_refused: Option<u64>,
    /// Status of the latest refusal.
    pub tunnel_status: Option<u16>,
}

/// Outcomes of requests. `planned = sent + unsent + unaccounted` and
/// `sent = completed + failed + unanswered`, exactly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestInfo {
    /// Due in the window of an open loop, or the number of requests that was asked for (`-n`).
    pub planned: Option<u64>,
    /// Passed to the kernel.
    pub sent: u64,
    /// Had a complete response with status 2xx or 3xx.
    pub completed: u64,
    /// Had another response, or failed.
    pub failed: u64,
    /// Planned and never sent.
    pub unsent: u64,
    /// Due, but it is not known whether they were sent: an agent of a fleet was lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unaccounted: u64,
    /// Sent, but due while no connection had a free slot; open loop only, else 0.
    pub waited: u64,
    /// Those of them for which the server's limit of streams had left no slot (HTTP/2).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limited: u64,
    /// Those of them that waited until a lost connection was opened again (HTTP/2).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renewed: u64,
    /// Without a response when the drain ended.
    pub unanswered: u64,
    /// Had a response before the kernel had taken the whole request: the server did not read all of
    /// it first. Part of `completed` and `failed`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early: u64,
    /// Those of them that count as completed although the rest was never sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Sent again, because the server had not processed them (`--retry-unprocessed`): `sent` counts
    /// each request once, and its outcome is that of its last send.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u64,
    /// Good responses that arrived in the window, whenever their requests were sent: what the rate
    /// counts.
    pub arrived: Option<u64>,
}

/// Results of one target of a mix. The last one may stand for several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetResult {
    /// As named, else method and URL.
    pub name: String,
    /// Its weight, as a part of the sum of all weights.
    pub weight: u64,
    /// Outcomes of its requests.
    pub requests: Fates,
    /// Its complete responses by status class.
    pub status: BTreeMap<String, u64>,
    /// Its responses that failed a check.
    pub mismatched: u64,
    /// Its requests that failed without a response, by class.
    pub errors: BTreeMap<String, u64>,
    /// Bytes of its complete responses: head, framing and body.
    pub bytes_received: u64,
    /// Latency of its requests; those that failed or were unanswered count as slower than all.
    pub latency_ns: Summary,
    /// Latency of its good responses alone.
    pub latency_good_ns: Option<Summary>,
}

/// Outcomes of the requests of one target. `sent = completed + failed + unanswered`, exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fates {
    /// Passed to the kernel.
    pub sent: u64,
    /// Had a good response.
    pub completed: u64,
    /// Had another response, or failed.
    pub failed: u64,
    /// Without a response when the drain ended.
    pub unanswered: u64,
}

/// Bytes in both directions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Of requests, as far as the kernel took them.
    pub sent: u64,
    /// Of complete responses: head, framing and body.
    pub received: u64,
    /// Of the responses that arrived in the window, whenever their requests were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
}

/// Bytes of the responses that arrived in the window, whenever their requests were sent;
/// `cpu.answers` of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// All of them: head, framing and body.
    pub received: u64,
    /// Of their bodies, without the marks of chunks.
    pub body: u64,
    /// Of the bodies whose length a Content-Length announced.
    pub announced: u64,
    /// Of the names and values of their header fields.
    pub fields: u64,
}

/// Requests in flight.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// Time average over the window, counted by the workers themselves.
    pub mean: Option<f64>,
    /// Time average over the first fifth of the window.
    pub first: Option<f64>,
    /// Time average over the last fifth of the window: above capacity an open loop has more and
    /// more of them.
    pub last: Option<f64>,
    /// Connections times depth.
    pub limit: u64,
}

/// Where the requests in flight were, on average over the window, from samples of the sockets on
/// both sides. The parts add up to the mean number in flight when the server is observed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Residence {
    /// Responses that had arrived and were not read by the generator yet.
    pub client_unread: Option<f64>,
    /// On the wire: rate times the shortest round trip of TCP.
    pub wire: Option<f64>,
    /// Requests that had arrived and were not read by the application yet.
    pub server_unread: Option<f64>,
    /// The rest: inside the server, computing or waiting.
    pub inside_server: Option<f64>,
}

/// CPU time in the window, and per response in microseconds: for both sides `us per request x
/// responses = CPUs x length of the window`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuCost {
    /// Whole responses that arrived in the window, with any status, whenever their requests were
    /// sent: the divisor of CPU time.
    #[serde(default, rename = "answers")]
    pub responses: Option<u64>,
    /// Generator process, user and kernel.
    pub client_us_per_request: Option<f64>,
    /// Workers of the generator, user mode only.
    pub client_usr_us_per_request: Option<f64>,
    /// Server process tree, user and kernel.
    pub server_us_per_request: Option<f64>,
    /// CPUs' worth of time the generator's process used, 1.0 is one CPU.
    pub client_cpus: Option<f64>,
    /// CPUs' worth of time the server's process tree used.
    pub server_cpus: Option<f64>,
}

/// The generator's own loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopInfo {
    /// Turns per second, all workers.
    pub turns_per_s: f64,
    /// Mean time between a wait returning and the next wait, nanoseconds.
    pub turn_mean_ns: Option<f64>,
    /// Longest such time: the most a stamp can be late while the thread runs. A wait that itself
    /// returned late is in `unseen_ns`.
    pub turn_max_ns: u64,
    /// Responses per second of a worker, over its ticks of a tenth of a second in which some
    /// arrived; of an agent in a fleet. Absent without responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_rates: Option<Moments>,
    /// Share of the workers' time spent polling the clock for the next planned instant; open loop
    /// only.
    pub spin_share: Option<f64>,
    /// Share of the time that each worker spent polling the clock, by its number; open loop only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spin_by_worker: Vec<f64>,
    /// Bytes read from sockets during the level, with its warm-up and its drain, responses or not.
    pub socket_bytes: u64,
    /// Those of them that answer no request of the level: none was in flight on their connection,
    /// or it was sent in an earlier level.
    pub stray_bytes: u64,
}

/// Load that is not measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// Length of the warm-up.
    pub duration_s: f64,
    /// Requests sent in it.
    pub sent: u64,
    /// Completed, in it or later.
    pub completed: u64,
    /// Failed, in it or later.
    pub failed: u64,
    /// Without a response when the drain ended.
    pub unanswered: u64,
    /// Bytes of those responses.
    pub bytes_received: u64,
    /// The shortest time from a send of the warm-up to its good response, nanoseconds. The first
    /// requests of a level reach a server that has nothing else to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest_ns: Option<u64>,
}

/// A run with everything that was observed: what judges and renderers read.
#[derive(Debug, Clone)]
pub struct Run {
    /// The document.
    pub record: Record,
    /// Raw readings of the whole run, in time order.
    pub readings: Vec<Reading>,
    /// Raw readings of the probe on the server's host, with that host's own times, if there was
    /// one. `target.probe.clock` has their offset from ours.
    pub server_readings: Vec<Reading>,
    /// Whole latency distribution of each point, same order as the points. Empty when the run
    /// was read back without them.
    pub latencies: Vec<Histogram>,
}

/// Whether a count is left out of the record.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Fills the counted parts of a point's record from the workers' counters.
pub fn count_requests(counters: &Counters) -> RequestInfo {
    RequestInfo {
        sent: counters.sent,
        completed: counters.completed,
        failed: counters.failed,
        unsent: counters.unsent,
        waited: counters.waited,
        limited: counters.limited,
        renewed: counters.renewed,
        unanswered: counters.unanswered,
        early: counters.early,
        cut: counters.cut_good,
        retried: counters.retried,
        ..RequestInfo::default()
    }
}

/// Status classes by name.
pub fn count_status(counters: &Counters) -> BTreeMap<String, u64> {
    let names = ["2xx", "3xx", "4xx", "5xx"];
    names.iter().zip(counters.status).map(|(name, count)| ((*name).to_string(), count)).into_map()
}

/// Responses by status.
pub fn count_codes(codes: &StatusCodes) -> BTreeMap<String, u64> {
    codes.counted().map(|(code, count)| (call::name(code), count)).into_map()
}

/// Mismatches by check.
pub fn count_mismatches(counters: &Counters) -> BTreeMap<String, u64> {
    let count = |check: Check| (check.name().to_string(), counters.mismatches.get(check));
    Check::ALL.into_iter().map(count).into_map()
}

/// Results of one target.
pub fn count_target(name: String, weight: u64, tally: &TargetTally) -> TargetResult {
    let counters = &tally.counters;
    let censored = counters.unanswered + counters.failed;
    let of_requests = |class: &ErrorClass| class.is_of_requests();
    let count = |class: ErrorClass| (class.name().to_string(), counters.errors.get(class));
    TargetResult {
        name,
        weight,
        requests: Fates {
            sent: counters.sent,
            completed: counters.completed,
            failed: counters.failed,
            unanswered: counters.unanswered,
        },
        status: count_status(counters),
        mismatched: counters.mismatches.sum(),
        errors: ErrorClass::ALL.into_iter().filter(of_requests).map(count).into_map(),
        bytes_received: counters.bytes_received,
        latency_ns: tally.latency.summary(censored),
        latency_good_ns: Some(tally.latency.summary(0)),
    }
}

/// Error classes by name.
pub fn count_errors(counters: &Counters) -> BTreeMap<String, u64> {
    let count = |class: ErrorClass| (class.name().to_string(), counters.errors.get(class));
    ErrorClass::ALL.into_iter().map(count).into_map()
}
