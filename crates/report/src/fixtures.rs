//! Synthetic runs for tests: one for each kind of verdict.
//!
//! Figures are made up but consistent: rates, latencies and requests in flight obey Little's law,
//! requests are conserved, and readings grow with the rates. This file has the parts of any run;
//! `ramps` and `runs` have the runs themselves, and `readings` what the probes would have read.

mod experiments;
mod large;
mod profiled;
mod ramps;
mod readings;
mod runs;

pub use self::experiments::{blocks, experiment, visits};
pub use self::large::large_hosts;
pub use self::profiled::load_profiled;
pub use self::ramps::*;
use self::readings::readings;
pub use self::runs::*;
use model::check::Check;
use model::curve::Curve;
use model::facts::{
    ClockOffset, CpuAccounting, CpuQuota, FarHost, HostFacts, Nic, NicSettings, Privilege,
    ProcessFacts, ServerFacts, Setting, Unreadable,
};
use model::fanout::{Delivery, EventInfo, Subscribers};
use model::figure::{Figure, OfHost, Whose};
use model::histogram::{Histogram, Summary};
use model::load::LoadModel;
use model::load::{
    Arrival, DriverKind, Fanout, Hold, Level, Life, MixTarget, Question, Request, Spacing, Stop,
    Trial, Warmup,
};
use model::metric::Declaration;
use model::objective::{Expectation, Objective, ObjectiveStanding};
use model::reading::{
    CpuTimes, Data, Interface, ProbeCost, QuotaUse, Reading, Softnet, ThreadTimes, Value, Values,
};
use model::run::{
    Bytes, ConnectionInfo, CpuCost, Handshakes, InFlight, LoadInfo, LoopInfo, Outcome, Point,
    Record, RequestInfo, Run, SCHEMA, Target, TurnoverInfo, Unmeasured, count_mismatches,
    count_target,
};
use model::search::{
    Answer, Ended, Purpose, SearchCheck, SearchConfig, SearchRecord, SearchTrial, Trust,
};
use model::series::{Second, Spread};
use model::size::{Estimate, FleetFit, Machines, Sizing, Step, Traffic, Wish};
use model::subject::Subject;
use model::tick::{ErrorClass, TargetTally};
use model::tls::{self, KernelTls, KernelTlsInfo, Resumption, TlsInfo};
use model::unit::Unit as Of;
use model::unit::Unit;
use model::units::NS_PER_S;
use model::verdict::{
    Ceiling, CeilingKind, Confidence, Evidence, Gate, GateId, IntervalKind, Named, Verdict,
};
use model::wall::{Side, WallId};
use std::collections::BTreeMap;

/// A command of ours, typed.
fn command(line: &str) -> model::step::Step {
    model::step::Step::command(line.split(' '))
}

/// Every fixture, by name.
pub fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("ramp_quota", ramp_quota()),
        ("ramp_two_hosts", ramp_two_hosts()),
        ("ramp_generator", ramp_generator()),
        ("ramp_no_wall", ramp_no_wall()),
        ("ramp_unknown", ramp_unknown()),
        ("ramp_interrupted", ramp_interrupted()),
        ("ramp_invalid", ramp_invalid()),
        ("load_unwatched", load_unwatched()),
        ("load_secure", load_secure()),
        ("load_limited", load_limited()),
        ("load_failing", load_failing()),
        ("load_slow", load_slow()),
        ("load_invalid", load_invalid()),
        ("load_silent", load_silent()),
        ("load_open", load_open()),
        ("load_fleet", load_fleet()),
        ("load_mix", load_mix()),
        ("load_flow", load_flow()),
        ("load_profiled", load_profiled()),
        ("find_answer", find_answer()),
        ("churn_turnover", churn_turnover()),
        ("churn_held", churn_held()),
        ("fanout", fanout()),
        ("target_lost", target_lost()),
        ("hostile", hostile()),
    ]
}

/// What a synthetic server can do.
struct Scene {
    connections: Vec<u32>,
    /// Latency without load, nanoseconds.
    base_ns: f64,
    /// Most completed requests per second.
    limit: f64,
    client_us: f64,
    server_us: f64,
    is_watched: bool,
}

const WINDOW_NS: u64 = 10 * NS_PER_S;
const WARMUP_NS: u64 = 2 * NS_PER_S;
const CPUS: u32 = 4;

impl Scene {
    fn ramp(limit: f64) -> Self {
        let connections = vec![16, 32, 64, 125, 250, 500, 1000, 2000];
        let (client_us, server_us) = (3.2, 20.6);
        Self { connections, base_ns: 640_000.0, limit, client_us, server_us, is_watched: true }
    }

    fn rate(&self, connections: u32) -> f64 {
        let free = f64::from(connections) / self.base_ns * 1e9;
        // A soft knee: queueing starts before the limit is reached.
        (free / (1.0 + (free / self.limit).powi(4)).powf(0.25)).round()
    }
}

/// A distribution with a long tail around a mean: share of values, factor of the mean.
const SHAPE: [(f64, f64); 12] = [
    (0.05, 0.62),
    (0.15, 0.74),
    (0.25, 0.86),
    (0.20, 0.95),
    (0.15, 1.06),
    (0.08, 1.22),
    (0.05, 1.45),
    (0.04, 1.80),
    (0.02, 2.40),
    (0.008, 3.30),
    (0.0015, 5.20),
    (0.0005, 9.70),
];

fn distribution(mean_ns: f64, count: u64) -> Histogram {
    let mut histogram = Histogram::new();
    let weight: f64 = SHAPE.iter().map(|(share, factor)| share * factor).sum();
    let total: f64 = SHAPE.iter().map(|(share, _)| share).sum();
    for (share, factor) in SHAPE {
        // Each step is spread a little, so that percentiles between steps differ.
        for part in 0..8 {
            let spread = 0.96 + 0.01 * f64::from(part);
            let value_ns = mean_ns * factor * spread * total / weight;
            let number = (share / total * count as f64 / 8.0) as u64;
            histogram.record_n(value_ns as u64, number.max(1));
        }
    }
    histogram
}

/// The sizing of client machines for ten times the rate of a ramp whose server was watched.
pub fn sizing() -> Sizing {
    let estimate = |value: f64| Estimate { value, low: 0.9 * value, high: 1.2 * value };
    let step = |what: &str, arithmetic: &str| Step {
        what: what.to_string(),
        arithmetic: arithmetic.to_string(),
    };
    let machines = Machines { value: 1, low: 1, high: 2 };
    Sizing {
        wish: Wish { rate: 483e3, client_cpus: 4, link_bits_per_s: Some(1e10), headroom: 0.7 },
        point: 3,
        client_us_per_request: estimate(3.2),
        server_us_per_request: Some(estimate(20.6)),
        traffic: Traffic {
            request_bytes: 151.0,
            answer_bytes: 223.0,
            request_packets: 1.0,
            answer_packets: 1.0,
        },
        client_cpus: estimate(1.55),
        machines_for_cpus: machines,
        machines_for_link: Some(Machines { value: 1, low: 1, high: 1 }),
        machines,
        fleet: Some(FleetFit {
            agents: vec!["a1".to_string(), "a2".to_string()],
            rate: estimate(380e3),
            missing: 1,
        }),
        server_cpus: Some(estimate(9.95)),
        server_full_at: Some(estimate(48.5e3)),
        steps: vec![
            step("client CPUs", "483k/s x 3.20 us = 1.55 [1.39, 1.86] CPUs"),
            step("machines for CPU", "1.55 / (4 CPUs x 0.7) = 1 [1, 2]"),
        ],
        cautions: vec![
            "the server of the run is full before the asked rate: fewer clients make it the wall"
                .to_string(),
        ],
    }
}

/// Seconds of a window, with a little repeating noise and no randomness.
fn seconds(rate: f64, summary: &Summary, duration_s: f64) -> Vec<Second> {
    let noise = [0.991, 1.004, 1.002, 0.997, 1.006, 0.999, 1.003, 0.996, 1.001, 1.001];
    let shaken = |ns: Option<u64>, factor: f64| ns.map(|ns| (ns as f64 / factor) as u64);
    (0..duration_s.ceil() as usize)
        .map(|second| {
            let end_s = ((second + 1) as f64).min(duration_s);
            let factor = noise[second % noise.len()];
            Second {
                asked_rate: None,
                t_s: end_s,
                completed: (rate * factor * (end_s - second as f64)) as u64,
                failed: 0,
                p50_ns: shaken(summary.p50, factor),
                p99_ns: shaken(summary.p99, factor * factor),
                status: Some([(rate * factor * (end_s - second as f64)) as u64, 0, 0, 0]),
                status_codes: None,
                bytes_received: Some((rate * factor * 132.0) as u64),
                bytes_sent: Some((rate * factor * 61.0) as u64),
            }
        })
        .collect()
}

#[allow(clippy::too_many_lines, reason = "every figure of a point once")]
fn point(scene: &Scene, connections: u32, begin_ns: u64) -> (Point, Histogram) {
    let rate = scene.rate(connections);
    let duration_s = WINDOW_NS as f64 / NS_PER_S as f64;
    let latency = distribution(f64::from(connections) / rate * 1e9, (rate * duration_s) as u64);
    let completed = latency.count();
    let summary = latency.summary(0);
    let zeros = |names: &[&str]| names.iter().map(|name| ((*name).to_string(), 0)).collect();
    let errors: BTreeMap<String, u64> = zeros(&ErrorClass::ALL.map(|class| class.name()));
    let mut status: BTreeMap<String, u64> = zeros(&["2xx", "3xx", "4xx", "5xx"]);
    status.insert("2xx".to_string(), completed);
    let server = |value: f64| scene.is_watched.then_some(value);
    let point = Point {
        load: load_info(connections, duration_s),
        attempt: 1,
        profiled: false,
        window_ns: (begin_ns, begin_ns + WINDOW_NS),
        stopped: None,
        connections: connection_info(connections, completed),
        subject: Subject::Requests(None),
        requests: RequestInfo {
            sent: completed,
            completed,
            ..model::run::count_requests(&Default::default())
        },
        status,
        status_codes: [("200".to_string(), completed)].into(),
        error_codes: Default::default(),
        samples: Vec::new(),
        slowest: None,
        tail: None,
        mismatched: 0,
        mismatches: count_mismatches(&Default::default()),
        errors,
        rate,
        offered_rate: None,
        bytes: Bytes { sent: completed * 61, received: completed * 133, ..Bytes::default() },
        latency_ns: summary.clone(),
        latency_good_ns: Some(summary.clone()),
        service_ns: summary.clone(),
        send_delay_ns: None,
        generator_delay_ns: None,
        unseen_ns: None,
        latency_punctual_ns: None,
        messages: None,
        users: None,
        latency_at_least_ns: None,
        residence: None,
        hosts: on_one_host(scene, connections),
        in_flight: InFlight {
            mean: Some(f64::from(connections) * 0.998),
            first: Some(f64::from(connections) * 0.998),
            last: Some(f64::from(connections) * 0.998),
            limit: u64::from(connections),
        },
        cpu: CpuCost {
            responses: Some(completed),
            client_us_per_request: Some(scene.client_us),
            client_usr_us_per_request: Some(scene.client_us * 0.3),
            server_us_per_request: server(scene.server_us),
            client_cpus: Some(scene.client_us * rate / 1e6),
            server_cpus: server(scene.server_us * rate / 1e6),
        },
        client_loop: LoopInfo {
            turns_per_s: 21_300.0,
            turn_mean_ns: Some(8_400.0),
            turn_max_ns: 412_000,
            socket_bytes: completed * 133,
            ..LoopInfo::default()
        },
        series: seconds(rate, &summary, duration_s),
        per_100ms: vec![(rate / 10.0) as u64; 100],
        unmeasured: Unmeasured { duration_s: 2.0, ..Unmeasured::default() },
        targets: Vec::new(),
        agents: Vec::new(),
        gates: gates(scene),
        standing: Default::default(),
        expectations: Vec::new(),
        verdict: verdict(Named::None, Side::None, "no wall at this level", Confidence::Unknown),
    };
    (point, latency)
}

/// What is read where both sides are on one host.
fn on_one_host(scene: &Scene, connections: u32) -> BTreeMap<Figure, f64> {
    let rate = scene.rate(connections);
    let cpus = (scene.client_us + scene.server_us) * rate / 1e6;
    let read = |of: OfHost| match of {
        OfHost::Busy => Some(cpus / f64::from(CPUS)),
        OfHost::Busiest => Some((cpus / 3.0).min(0.998)),
        OfHost::Received | OfHost::Sent => Some(rate * (133.0 + 61.0 + 2.0 * 52.0)),
        OfHost::Packets => Some(rate * 4.0),
        OfHost::Interrupts => Some(1_240.0),
        OfHost::SoftirqSqueezes => Some(3.5),
        OfHost::SoftirqDrops | OfHost::AcceptOverflows | OfHost::ListenDrops => Some(0.0),
        OfHost::AcceptQueue => Some(7.0),
        OfHost::Established => Some(2.0 * f64::from(connections)),
        OfHost::Resent => Some(0.0),
        OfHost::Memory => Some(41.5e6),
        // CPU time is in the costs, the speed of loopback has no limit, and the rest was not read.
        _ => None,
    };
    let is_watched = |whose| whose == Whose::Client || scene.is_watched;
    let figures = Figure::of_hosts().filter_map(|figure| match figure {
        Figure::Host(of, whose) if is_watched(whose) => Some((figure, read(of)?)),
        _ => None,
    });
    figures.collect()
}

fn load_info(connections: u32, duration_s: f64) -> LoadInfo {
    LoadInfo {
        connections_max: connections,
        curve: None,
        life: None,
        model: LoadModel::Closed,
        connections,
        depth: 1,
        rate: None,
        arrivals: None,
        duration_s,
        driver: "uring".to_string(),
        threads: 2,
        coalesce_ns: 0,
    }
}

fn connection_info(connections: u32, completed: u64) -> ConnectionInfo {
    let number = u64::from(connections);
    ConnectionInfo {
        asked: number,
        opened: number,
        served: number,
        failed: 0,
        reopened: 0,
        unsolicited: 0,
        faults: BTreeMap::new(),
        crossed: None,
        connect_ns: distribution(92_000.0, number).summary(0),
        handshakes: Handshakes::default(),
        streams: None,
        requests_each: Spread {
            min: Some(completed / number * 9 / 10),
            p50: Some(completed / number),
            max: Some(completed / number * 11 / 10),
        },
    }
}

fn gates(scene: &Scene) -> Vec<Gate> {
    let gate = |id: GateId, measured: f64, bound: &str, why: &str| Gate {
        id,
        ok: Some(true),
        measured: Some(measured),
        bound: bound.to_string(),
        why: why.to_string(),
    };
    let mut gates = vec![
        gate(
            GateId::Conservation,
            0.0,
            "difference 0",
            "sent = completed + failed + unanswered, exactly",
        ),
        gate(
            GateId::LittlesLaw,
            0.2,
            "within 5 %",
            "rate x mean latency and the counted requests in flight agree",
        ),
        gate(GateId::Connections, 100.0, "100 % served", "every connection completed a request"),
        gate(GateId::Steadiness, 0.4, "CoV at most 5 %", "throughput is steady over the window"),
        gate(GateId::CpuStates, 100.0, "100 %", "CPU states add up to all of the time"),
    ];
    if !scene.is_watched {
        gates.push(Gate {
            id: GateId::Bytes,
            ok: None,
            measured: None,
            bound: "within 5 %".to_string(),
            why: "the server's interface is on another host and no probe runs there".to_string(),
        });
    }
    gates
}

fn verdict(wall: Named, side: Side, name: &str, confidence: Confidence) -> Verdict {
    Verdict {
        wall,
        name: name.to_string(),
        side,
        confidence,
        also: Vec::new(),
        alternatives: Vec::new(),
        ceiling: None,
        evidence: Vec::new(),
        against: Vec::new(),
        not_tested: vec![WallId::N3, WallId::N4, WallId::K7, WallId::S8, WallId::A1, WallId::A10],
        sentence: None,
        fix: None,
        next: Vec::new(),
    }
}

fn wall(wall: WallId, confidence: Confidence) -> Verdict {
    verdict(Named::Wall(wall), wall.side(), wall.name(), confidence)
}

fn evidence(host: &str, source: &str, field: &str, value: &str, rule: &str) -> Evidence {
    let read = match (source, host) {
        ("cgroup cpu.stat", _) => "server_quota",
        ("schedstat", "client") => "client_threads",
        ("schedstat", _) => "server_threads",
        _ => "tcp",
    };
    Evidence {
        host: host.to_string(),
        source: source.to_string(),
        field: field.to_string(),
        value: value.to_string(),
        rule: rule.to_string(),
        read: vec![read.to_string()],
    }
}

fn host() -> HostFacts {
    let sysctls = [
        ("net.core.somaxconn", "4096"),
        ("net.ipv4.ip_local_port_range", "32768\t60999"),
        ("net.ipv4.tcp_max_syn_backlog", "512"),
    ];
    HostFacts {
        hostname: "bench-1".to_string(),
        kernel: "6.18.3".to_string(),
        arch: "x86_64".to_string(),
        machine: Some("Amazon EC2 c7a.large".to_string()),
        cpu_model: Some("AMD EPYC 9R14".to_string()),
        cpus_online: (0..CPUS).collect(),
        cpus_allowed: (0..CPUS).collect(),
        memory_bytes: Some(16_600_000_000),
        clock_source: Some("tsc".to_string()),
        virtual_machine: Some(true),
        cpu_accounting: CpuAccounting::TickWithIrqTime,
        clock_tick_ns: 10_000_000,
        quotas: vec![CpuQuota {
            group: "/".to_string(),
            quota_us: None,
            period_us: None,
            version: 2,
        }],
        nics: vec![Nic {
            name: "eth0".to_string(),
            driver: Some("virtio_net".to_string()),
            mtu: Some(1500),
            speed_mbps: None,
            rx_queues: 2,
            tx_queues: 2,
            settings: NicSettings {
                rx_ring: Some(Setting { now: 256, max: 1024 }),
                tx_ring: Some(Setting { now: 256, max: 1024 }),
                combined_channels: Some(Setting { now: 2, max: 8 }),
                rx_coalesce_us: Some(32),
                tx_coalesce_us: Some(64),
                adaptive_rx_coalesce: Some(true),
                ..NicSettings::default()
            },
        }],
        sysctls: sysctls
            .iter()
            .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
            .collect(),
        open_files_limit: (1_048_576, 1_048_576),
        tuned: None,
        may_watch_inside: false,
        unreadable: vec![Unreadable {
            source: "/proc/kcore".to_string(),
            why: "Permission denied (os error 13)".to_string(),
        }],
    }
}

/// A process that may use all CPUs.
pub fn process(pid: u32, threads: u32, listeners: u32) -> ProcessFacts {
    ProcessFacts {
        pid,
        name: "target-fasthttp".to_string(),
        threads,
        cpus_allowed: Some((0..CPUS).collect()),
        listeners: Some(listeners),
    }
}

fn server() -> ServerFacts {
    ServerFacts {
        pid: 4711,
        found_by: "listening port".to_string(),
        command: "bin/target-fasthttp --listen 127.0.0.1:8080 --workers 4".to_string(),
        pids: (4711..4716).collect(),
        processes: [process(4711, 9, 0)]
            .into_iter()
            .chain((4712..4716).map(|pid| process(pid, 6, 1)))
            .collect(),
        threads: 33,
        cpus_allowed: (0..CPUS).collect(),
        pinned_threads: BTreeMap::new(),
        quotas: vec![CpuQuota {
            group: "/target".to_string(),
            quota_us: Some(100_000),
            period_us: Some(100_000),
            version: 2,
        }],
        open_files_limit: Some((65_536, 65_536)),
        listeners: 4,
        container: None,
        network: None,
        passed_on_by: None,
        unreadable: Vec::new(),
    }
}

fn trial(scene: &Scene, question: Question) -> Trial {
    let level = |connections: &u32| Level {
        connections: *connections,
        spare: 0,
        depth: 1,
        arrival: Arrival::Closed,
        life: Life::default(),
    };
    Trial {
        question,
        url: "http://127.0.0.1:8080/simple".to_string(),
        addresses: vec!["127.0.0.1:8080".parse().expect("constant")],
        requests: vec![Request {
            method: "GET".to_string(),
            path: "/simple".to_string(),
            host: "127.0.0.1:8080".to_string(),
            ..Request::default()
        }],
        targets: vec![MixTarget {
            name: "GET /simple".to_string(),
            weight: 1,
            ..MixTarget::default()
        }],
        levels: scene.connections.iter().map(level).collect(),
        stop: Stop::AfterNs(WINDOW_NS),
        warmup: Warmup::SettleWithinNs(5 * NS_PER_S),
        drain_ns: NS_PER_S,
        timeout_ns: 5 * NS_PER_S,
        repeats_max: 2,
        threads: 2,
        cpus: vec![0, 1],
        driver: DriverKind::Uring,
        driver_reason: "the kernel has io_uring with multishot receive".to_string(),
        seed: 42,
        ..Trial::blank()
    }
}

fn run(scene: &Scene, question: Question) -> Run {
    let word = match question {
        Question::Load => "load",
        Question::Ramp => "ramp",
        Question::Churn => "churn",
        Question::Find => "find",
        Question::Fanout => "fanout",
    };
    let (mut points, mut latencies) = (Vec::new(), Vec::new());
    let mut at_ns = 5_000 * NS_PER_S;
    for connections in &scene.connections {
        let (point, latency) = point(scene, *connections, at_ns + WARMUP_NS);
        at_ns = point.window_ns.1 + NS_PER_S / 2;
        points.push(point);
        latencies.push(latency);
    }
    let readings = readings(scene, &points);
    let command = ["ceiling", word, "http://127.0.0.1:8080/simple", "-d", "10s"];
    let server = scene.is_watched.then(server);
    let record = Record {
        schema: SCHEMA.to_string(),
        id: "20260901T120000-42".to_string(),
        version: "0.1.0".to_string(),
        started_at: "2026-09-01T12:00:00Z".to_string(),
        command: command.map(str::to_string).to_vec(),
        seed: 42,
        outcome: Outcome::Complete,
        trial: trial(scene, question),
        host: host(),
        target: Target {
            url: "http://127.0.0.1:8080/simple".to_string(),
            addresses: vec!["127.0.0.1:8080".to_string()],
            server,
            ..Target::default()
        },
        points,
        verdict: verdict(Named::None, Side::None, "", Confidence::Unknown),
        fleet: None,
        notices: Vec::new(),
        expectations: Vec::new(),
        search: None,
        perturbations: Vec::new(),
        profile: None,
        kernel: None,
        tool: None,
        definitions: definitions(),
    };
    Run { record, readings, server_readings: Vec::new(), latencies }
}

fn definitions() -> BTreeMap<String, String> {
    [
        ("points[].rate", "Complete responses with status 2xx or 3xx per second of measured time."),
        ("points[].latency_ns", "From the send of a request to the last byte of its response."),
        (
            "points[].cpu.client_us_per_request",
            "CPU time of the generator's process in the window, divided by responses of any kind.",
        ),
    ]
    .into_iter()
    .map(|(path, meaning)| (path.to_string(), meaning.to_string()))
    .collect()
}

/// The connections of a point that has some.
#[cfg(test)]
pub fn turnover(point: &mut Point) -> &mut TurnoverInfo {
    match &mut point.subject {
        Subject::Connections(turnover) | Subject::Held(turnover) => turnover,
        other => panic!("{other:?}"),
    }
}

/// The events of a point that has some.
#[cfg(test)]
pub fn events(point: &mut Point) -> &mut EventInfo {
    match &mut point.subject {
        Subject::Events(events) => events,
        other => panic!("{other:?}"),
    }
}
