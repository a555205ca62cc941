//! Turns a small document into the input of the judge.

use judge::observe::{CpuShare, LinkUse, Observed, QueuePeak, QuotaShare, ThreadShare};
use judge::{Context, judge_point, judge_run};
use model::facts::{ClockOffset, FarHost, HostFacts, Privilege, ServerFacts};
use model::link::{LinkLimits, Links};
use model::load::Trial;
use model::reading::CpuShares;
use model::run::{Outcome, Point, Target};
use model::verdict::Verdict;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A published measurement.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it is, in one sentence.
    pub about: String,
    /// Where it was published.
    #[allow(dead_code, reason = "for readers of the documents")]
    source: String,
    /// `load`, `ramp` or `churn`.
    question: String,
    /// The generator's host; absent if it was not published.
    #[serde(default)]
    pub client: Option<Side>,
    /// The server's host.
    #[serde(default)]
    pub server: Option<Side>,
    points: Vec<Visit>,
    /// The verdict it must have.
    pub expect: Expect,
}

/// A host and the threads that matter on it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    cpus: u32,
    /// Shares of CPU time as published. A missing column is not idle time; if `idle` is not given,
    /// no column is missing.
    user: f64,
    system: f64,
    idle: Option<f64>,
    /// Share in columns that were not printed, if idle is known.
    unprinted: f64,
    /// Loops of the generator, or threads of the server. Zero if threads were not read.
    threads: u32,
    /// Processes that the threads belong to.
    processes: u32,
    thread_run: f64,
    thread_wait: f64,
    /// On-CPU shares of single threads, if they differ.
    runs: Vec<f64>,
    /// The speed that the provider sold, as the user states it: no driver reported it.
    pub link_mbps: Option<u64>,
    sent_bytes_per_s: f64,
    received_bytes_per_s: f64,
    tcp: BTreeMap<String, u64>,
    /// Waiting connections and the length of the accept queue.
    accept_queue: Option<(u32, u32)>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Visit {
    connections: u32,
    #[serde(default = "one")]
    depth: u32,
    rate: f64,
    #[serde(default = "thirty")]
    seconds: u64,
    /// Mean latency if it was published, else from Little's law.
    #[serde(default)]
    mean_ms: Option<f64>,
    #[serde(default)]
    p50_ms: Option<f64>,
    #[serde(default)]
    p99_ms: Option<f64>,
    /// Standard deviation of the per-second rates over their mean.
    #[serde(default)]
    variation: f64,
    /// Other fields of the record that differ.
    #[serde(default)]
    patch: Value,
}

fn one() -> u32 {
    1
}

fn thirty() -> u64 {
    30
}

/// What the verdict must be; an empty list leaves it open.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    pub walls: Vec<String>,
    pub never: Vec<String>,
    pub confidence_never: Vec<String>,
    /// The rate may only be called a lower bound.
    pub is_lower_bound_only: bool,
}

/// Reads a case.
pub fn load(text: &str) -> Case {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn base() -> Value {
    serde_json::from_str(include_str!("base.json")).expect("base.json is a document")
}

/// A piece of the base with fields replaced.
fn patched<T: for<'de> Deserialize<'de>>(of: &str, patches: &[&Value]) -> T {
    let mut document = base()[of].clone();
    patches.iter().for_each(|patch| merge(&mut document, patch));
    serde_json::from_value(document).unwrap_or_else(|error| panic!("{of}: {error}"))
}

fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (_, Value::Null) => {}
        (Value::Object(fields), Value::Object(patch)) => {
            for (name, value) in patch {
                merge(fields.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

impl Case {
    /// The verdict of the run.
    pub fn judge(&self) -> Verdict {
        let threads = self.client.as_ref().map_or(1, |client| client.threads);
        let stated = |side: &Option<Side>| {
            let mbps = side.as_ref()?.link_mbps?;
            Some(LinkLimits { bits_s: Some(mbps * 1_000_000), ..LinkLimits::default() })
        };
        let links = Links { client: stated(&self.client), server: stated(&self.server) };
        let question =
            json!({"question": self.question, "threads": threads, "links": json!(links)});
        let trial: Trial = patched("trial", &[&question]);
        let host = self.client.as_ref().map_or_else(|| patched("host", &[]), Side::host);
        let target = Target { probe: self.server.as_ref().map(far), ..Target::default() };
        let outcome = Outcome::Complete;
        let (trial, host, target) = (&trial, &host, &target);
        let context = Context { trial, host, target, outcome, perturbations: &[], kernel: None };
        let observed = self.observed();
        let judged: Vec<Point> = self
            .points
            .iter()
            .map(|visit| judge_point(context, visit.point(), &observed))
            .collect();
        judge_run(context, &judged, &vec![observed; judged.len()])
    }

    fn observed(&self) -> Observed {
        let client = self.client.as_ref();
        Observed {
            cpus: client.and_then(Side::shares),
            client_threads: client.and_then(|side| side.threads("worker-")),
            client_quotas: client.map(|_| unlimited()),
            tcp: client.map(|side| side.tcp.clone()),
            links: client.and_then(Side::links),
            far: self.server.as_ref().map(|side| Box::new(side.seen())),
            ..Observed::default()
        }
    }
}

fn unlimited() -> Vec<QuotaShare> {
    vec![QuotaShare { group: "/".to_string(), ..QuotaShare::default() }]
}

impl Side {
    fn shares(&self) -> Option<Vec<CpuShare>> {
        let &Side { user, system, unprinted, .. } = self;
        let idle = self.idle?;
        let shares = CpuShares { user, system, softirq: unprinted, idle, ..CpuShares::default() };
        let accounted = user + system + unprinted + idle;
        Some(
            (0..self.cpus)
                .map(|cpu| CpuShare { cpu, shares, accounted, idled: shares.idle + shares.iowait })
                .collect(),
        )
    }

    fn threads(&self, name: &str) -> Option<Vec<ThreadShare>> {
        let runs = match self.runs.as_slice() {
            [] => vec![self.thread_run; self.threads as usize],
            runs => runs.to_vec(),
        };
        let thread = |(at, run): (usize, &f64)| ThreadShare {
            pid: 100 + at as u32 % self.processes.max(1),
            tid: 1000 + at as u32,
            name: format!("{name}{at}"),
            run: *run,
            wait: self.thread_wait,
            ..ThreadShare::default()
        };
        let threads: Vec<_> = runs.iter().enumerate().map(thread).collect();
        (!threads.is_empty()).then_some(threads)
    }

    fn links(&self) -> Option<Vec<LinkUse>> {
        self.link_mbps?;
        Some(vec![LinkUse {
            name: "eth0".to_string(),
            tx_bytes_s: self.sent_bytes_per_s,
            rx_bytes_s: self.received_bytes_per_s,
            ..LinkUse::default()
        }])
    }

    fn host(&self) -> HostFacts {
        let cpus: Vec<u32> = (0..self.cpus).collect();
        patched("host", &[&json!({"cpus_online": cpus, "cpus_allowed": cpus})])
    }

    /// The server's side as a probe there would have seen it.
    fn seen(&self) -> Observed {
        Observed {
            cpus: self.shares(),
            server_threads: self.threads("serve-"),
            server_quotas: Some(unlimited()),
            tcp: Some(self.tcp.clone()),
            listeners: self.accept_queue.map(|(queued, backlog)| QueuePeak {
                queued,
                backlog,
                mean_queued: f64::from(queued),
                ..QueuePeak::default()
            }),
            links: self.links(),
            ..Observed::default()
        }
    }
}

fn far(side: &Side) -> FarHost {
    let cpus: Vec<u32> = (0..side.cpus).collect();
    let server: ServerFacts =
        patched("server", &[&json!({"cpus_allowed": cpus, "threads": side.threads})]);
    FarHost {
        address: "server:9000".to_string(),
        host: side.host(),
        server: Some(server),
        privilege: Privilege::ReadOnly,
        clock: ClockOffset::default(),
        lost: None,
    }
}

impl Visit {
    fn point(&self) -> Point {
        let ns = |ms: f64| (ms * 1e6) as u64;
        let in_flight = f64::from(self.connections) * f64::from(self.depth);
        let completed = (self.rate * self.seconds as f64) as u64;
        let mean_ns = self.mean_ms.map_or((in_flight / self.rate * 1e9) as u64, ns);
        let latency = json!({
            "count": completed, "mean": mean_ns, "min": null,
            "p50": self.p50_ms.map_or(mean_ns, ns),
            "p99": self.p99_ms.map_or(mean_ns, ns), "max": mean_ns,
        });
        let swing = |second: u64| 1.0 + self.variation * [1.0, -1.0][second as usize % 2];
        let tenths: Vec<u64> =
            (0..self.seconds * 10).map(|at| (self.rate / 10.0 * swing(at / 10)) as u64).collect();
        let series: Vec<Value> = tenths
            .chunks(10)
            .zip(1u64..)
            .map(|(tenths, t_s)| {
                let completed = tenths.iter().sum::<u64>() * 99 / 100;
                json!({"t_s": t_s, "completed": completed, "failed": 0,
                       "p50_ns": mean_ns, "p99_ns": mean_ns})
            })
            .collect();
        let connections = self.connections;
        let figures = json!({
            "load": {"connections": connections, "connections_max": connections,
                     "depth": self.depth, "duration_s": self.seconds},
            "window_ns": [0, self.seconds * 1_000_000_000],
            "connections": {"asked": connections, "opened": connections, "served": connections},
            "requests": {"sent": completed, "completed": completed},
            "status": {"2xx": completed},
            "rate": self.rate,
            "bytes": {"sent": 0, "received": 0},
            "client_loop": {"socket_bytes": 0},
            "latency_ns": latency, "service_ns": latency,
            "in_flight": {"mean": in_flight, "limit": in_flight as u64},
            "per_100ms": tenths, "series": series,
        });
        patched("point", &[&figures, &self.patch])
    }
}
