//! Synthetic runs for the tests: one for each kind of verdict a page has to tell apart.
//!
//! Figures are made up and consistent: rates, latencies and requests in flight obey Little's law,
//! requests are conserved, and readings grow as the rates say.

use model::check::Check;
use model::curve::Curve;
use model::facts::{CpuAccounting, CpuQuota, HostFacts, Nic, ServerFacts, Unreadable};
use model::histogram::{Histogram, Summary};
use model::load::{
    Arrival, DriverKind, Hold, Level, Life, MixTarget, Question, Request, ServerProcess, Spacing,
    Stop, Trial, Warmup,
};
use model::objective::{Expectation, Objective, Standing, Unit};
use model::reading::{
    CpuTimes, Data, Interface, ProbeCost, QuotaUse, Reading, Softnet, ThreadTimes,
};
use model::run::{
    Bytes, ConnectionInfo, CpuCost, Handshakes, InFlight, LoadInfo, LoopInfo, Outcome, Point,
    Record, RequestInfo, Run, SCHEMA, Second, Spread, Target, TurnoverInfo, Unmeasured,
    count_mismatches, count_target,
};
use model::search::{
    Answer, Check as SearchCheck, Ended, Purpose, SearchConfig, SearchRecord, SearchTrial, Trust,
};
use model::tick::{ERROR_CLASSES, TargetTally};
use model::tls::{self, KernelTls, KernelTlsInfo, Resumption, TlsInfo};
use model::units::NS_PER_S;
use model::verdict::{Ceiling, CeilingKind, Confidence, Evidence, Gate, Named, Verdict};
use model::wall::{Side, WallId};
use std::collections::BTreeMap;

/// Every fixture, by name.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("ramp_quota", ramp_quota()),
        ("ramp_generator", ramp_generator()),
        ("ramp_no_wall", ramp_no_wall()),
        ("ramp_unknown", ramp_unknown()),
        ("ramp_interrupted", ramp_interrupted()),
        ("ramp_invalid", ramp_invalid()),
        ("load_unwatched", load_unwatched()),
        ("load_secure", load_secure()),
        ("load_open", load_open()),
        ("load_mix", load_mix()),
        ("find_answer", find_answer()),
        ("churn_turnover", churn_turnover()),
        ("churn_held", churn_held()),
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
        // A soft knee: queueing begins before the limit is reached.
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

/// Seconds of a window: a little noise that repeats, no randomness.
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
            }
        })
        .collect()
}

fn point(scene: &Scene, connections: u32, begin_ns: u64) -> (Point, Histogram) {
    let rate = scene.rate(connections);
    let duration_s = WINDOW_NS as f64 / NS_PER_S as f64;
    let latency = distribution(f64::from(connections) / rate * 1e9, (rate * duration_s) as u64);
    let completed = latency.count();
    let summary = latency.summary(0);
    let zeros = |names: &[&str]| names.iter().map(|name| ((*name).to_string(), 0)).collect();
    let errors: BTreeMap<String, u64> = zeros(&ERROR_CLASSES.map(|class| class.name()));
    let mut status: BTreeMap<String, u64> = zeros(&["2xx", "3xx", "4xx", "5xx"]);
    status.insert("2xx".to_string(), completed);
    let server = |value: f64| scene.is_watched.then_some(value);
    let point = Point {
        load: load_info(connections, duration_s),
        attempt: 1,
        window_ns: (begin_ns, begin_ns + WINDOW_NS),
        connections: connection_info(connections, completed),
        turnover: None,
        requests: RequestInfo {
            planned: None,
            sent: completed,
            completed,
            failed: 0,
            unsent: 0,
            waited: 0,
            unanswered: 0,
        },
        status,
        mismatched: 0,
        mismatches: count_mismatches(&Default::default()),
        errors,
        rate,
        offered_rate: None,
        bytes: Bytes { sent: completed * 61, received: completed * 133 },
        latency_ns: summary.clone(),
        service_ns: summary.clone(),
        release_lag_ns: None,
        lateness_ns: None,
        latency_at_least_ns: None,
        in_flight: InFlight {
            mean: Some(f64::from(connections) * 0.998),
            limit: u64::from(connections),
        },
        cpu: CpuCost {
            client_us_per_request: Some(scene.client_us),
            client_usr_us_per_request: Some(scene.client_us * 0.3),
            server_us_per_request: server(scene.server_us),
            client_cpus: Some(scene.client_us * rate / 1e6),
            server_cpus: server(scene.server_us * rate / 1e6),
        },
        client_loop: LoopInfo {
            spin_share: None,
            turns_per_s: 21_300.0,
            turn_mean_ns: Some(8_400.0),
            turn_max_ns: 412_000,
            socket_bytes: completed * 133,
        },
        series: seconds(rate, &summary, duration_s),
        per_100ms: vec![(rate / 10.0) as u64; 100],
        unmeasured: Unmeasured { duration_s: 2.0, ..Unmeasured::default() },
        targets: Vec::new(),
        gates: gates(scene),
        expectations: Vec::new(),
        verdict: verdict(Named::None, Side::None, "no wall at this level", Confidence::Unknown),
    };
    (point, latency)
}

fn load_info(connections: u32, duration_s: f64) -> LoadInfo {
    LoadInfo {
        connections_max: connections,
        curve: None,
        life: None,
        model: "closed".to_string(),
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
        connect_ns: distribution(92_000.0, number).summary(0),
        handshakes: Handshakes::default(),
        requests_each: Spread {
            min: Some(completed / number * 9 / 10),
            p50: Some(completed / number),
            max: Some(completed / number * 11 / 10),
        },
    }
}

fn gates(scene: &Scene) -> Vec<Gate> {
    let gate = |id: &str, measured: f64, bound: &str, why: &str| Gate {
        id: id.to_string(),
        ok: Some(true),
        measured: Some(measured),
        bound: bound.to_string(),
        why: why.to_string(),
    };
    let mut gates = vec![
        gate(
            "conservation",
            0.0,
            "difference 0",
            "sent = completed + failed + unanswered, exactly",
        ),
        gate(
            "littles_law",
            0.2,
            "within 5 %",
            "rate x mean latency and the counted requests in flight agree",
        ),
        gate("connections", 100.0, "100 % served", "every connection completed a request"),
        gate("errors", 0.0, "at most 0.1 %", "no request failed"),
        gate("steady", 0.4, "CoV at most 5 %", "throughput is steady over the window"),
        gate("cpu_states", 100.0, "100 %", "CPU states add up to all of the time"),
    ];
    if !scene.is_watched {
        gates.push(Gate {
            id: "byte_balance".to_string(),
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
        ceiling: None,
        evidence: Vec::new(),
        against: Vec::new(),
        not_tested: vec![WallId::N3, WallId::N4, WallId::K7, WallId::S8, WallId::A1, WallId::A10],
        next: Vec::new(),
    }
}

fn wall(wall: WallId, confidence: Confidence) -> Verdict {
    verdict(Named::Wall(wall), wall.side(), wall.name(), confidence)
}

fn evidence(host: &str, source: &str, field: &str, value: &str, rule: &str) -> Evidence {
    Evidence {
        host: host.to_string(),
        source: source.to_string(),
        field: field.to_string(),
        value: value.to_string(),
        rule: rule.to_string(),
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
        }],
        sysctls: sysctls
            .iter()
            .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
            .collect(),
        open_files_limit: (1_048_576, 1_048_576),
        unreadable: vec![Unreadable {
            source: "/proc/kcore".to_string(),
            why: "Permission denied (os error 13)".to_string(),
        }],
    }
}

fn server() -> ServerFacts {
    ServerFacts {
        pid: 4711,
        found_by: "listening port".to_string(),
        command: "bin/target-fasthttp --listen 127.0.0.1:8080 --workers 4".to_string(),
        pids: vec![4711],
        threads: 9,
        cpus_allowed: (0..CPUS).collect(),
        pinned_threads: BTreeMap::new(),
        quotas: vec![CpuQuota {
            group: "/target".to_string(),
            quota_us: Some(100_000),
            period_us: Some(100_000),
            version: 2,
        }],
        open_files_limit: Some((65_536, 65_536)),
        listeners: 1,
        unreadable: Vec::new(),
    }
}

fn trial(scene: &Scene, question: Question) -> Trial {
    let level = |connections: &u32| Level {
        connections: *connections,
        connections_max: *connections,
        depth: 1,
        arrival: Arrival::Closed,
        life: Life::default(),
    };
    Trial {
        question,
        url: "http://127.0.0.1:8080/simple".to_string(),
        addresses: vec!["127.0.0.1:8080".parse().expect("constant")],
        resolution: model::route::Resolution::default(),
        sources: vec![],
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
        coalesce_ns: 0,
        seed: 42,
        server: ServerProcess::ByPort,
        expect: None,
        search: None,
        tls: None,
        proxy: None,
    }
}

fn run(scene: &Scene, question: Question) -> Run {
    let word = match question {
        Question::Load => "load",
        Question::Ramp => "ramp",
        Question::Churn => "churn",
        Question::Find => "find",
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
        notices: Vec::new(),
        expectations: Vec::new(),
        search: None,
        definitions: definitions(),
    };
    Run { record, readings, latencies }
}

fn definitions() -> BTreeMap<String, String> {
    [
        ("points[].rate", "Complete answers with status 2xx or 3xx per second of measured time."),
        ("points[].latency_ns", "From the send of a request to the last byte of its answer."),
        (
            "points[].cpu.client_us_per_request",
            "CPU time of the generator's process in the window, divided by completed requests.",
        ),
    ]
    .into_iter()
    .map(|(path, meaning)| (path.to_string(), meaning.to_string()))
    .collect()
}

/// Counters that grow while time goes on.
#[derive(Default)]
struct Counters {
    client_s: f64,
    server_s: f64,
    requests: f64,
    rounds: u64,
    throttled: u64,
}

/// One round of readings per second over the whole run, idle and warm-up included.
fn readings(scene: &Scene, points: &[Point]) -> Vec<Reading> {
    let Some((first, last)) = points.first().zip(points.last()) else { return Vec::new() };
    let begin_ns = first.window_ns.0 - WARMUP_NS;
    let mut counters = Counters::default();
    let mut readings = Vec::new();
    // Rounds are not aligned with windows, as in life.
    let mut at_ns = begin_ns + NS_PER_S / 5;
    while at_ns < last.window_ns.1 + NS_PER_S / 2 {
        let loaded =
            points.iter().find(|p| at_ns >= p.window_ns.0 - WARMUP_NS && at_ns <= p.window_ns.1);
        if let Some(point) = loaded {
            counters.client_s += point.cpu.client_cpus.unwrap_or(0.0);
            counters.server_s += scene.server_us * point.rate / 1e6;
            counters.requests += point.rate;
            counters.throttled += if point.rate > scene.limit * 0.93 { 10 } else { 0 };
        }
        counters.rounds += 1;
        for (number, data) in round(scene, &counters).into_iter().enumerate() {
            let begin_ns = at_ns + number as u64 * 90_000;
            readings.push(Reading { begin_ns, end_ns: begin_ns + 80_000, data });
        }
        at_ns += NS_PER_S;
    }
    readings
}

fn round(scene: &Scene, counters: &Counters) -> Vec<Data> {
    let mut round = vec![
        Data::Cpus((0..CPUS).map(|cpu| cpu_times(cpu, counters)).collect()),
        Data::Softnet((0..CPUS).map(|cpu| softnet(cpu, counters)).collect()),
        Data::Interfaces(vec![interface(counters)]),
        Data::Tcp(tcp(counters)),
        Data::ClientThreads(client_threads(counters)),
    ];
    if scene.is_watched {
        round.push(Data::ServerThreads(server_threads(counters)));
        round.push(Data::ServerQuota(vec![quota_use(counters)]));
    }
    round.push(Data::ProbeCost(ProbeCost {
        cpu_ns: counters.rounds * 1_900_000,
        elapsed_ns: counters.rounds * NS_PER_S,
        rounds: counters.rounds,
        late_rounds: 0,
    }));
    round
}

/// In ticks of 10 ms: what client and server used, softirq on top, the rest idle.
fn cpu_times(cpu: u32, counters: &Counters) -> CpuTimes {
    let share = if cpu == 0 { 0.34 } else { 0.22 };
    let ticks = |seconds: f64| (seconds * 100.0 * share) as u64;
    let (user, system) = (
        ticks(counters.client_s * 0.3 + counters.server_s * 0.45),
        ticks(counters.client_s * 0.5 + counters.server_s * 0.4),
    );
    let softirq = ticks(counters.client_s * 0.2 + counters.server_s * 0.15);
    let steal = counters.rounds;
    let all = 90_000 + counters.rounds * 100;
    let used = user + system + softirq + steal;
    let idle = all.saturating_sub(used);
    CpuTimes { cpu, user, system, idle, softirq, steal, ..CpuTimes::default() }
}

fn softnet(cpu: u32, counters: &Counters) -> Softnet {
    let processed = (counters.requests / 2.0) as u32;
    Softnet { cpu, processed, time_squeeze: (counters.rounds / 7) as u32, ..Softnet::default() }
}

fn interface(counters: &Counters) -> Interface {
    let requests = counters.requests as u64;
    Interface {
        name: "lo".to_string(),
        rx_bytes: requests * (61 + 133 + 132),
        rx_packets: requests * 2,
        tx_bytes: requests * (61 + 133 + 132),
        tx_packets: requests * 2,
        ..Interface::default()
    }
}

fn tcp(counters: &Counters) -> BTreeMap<String, u64> {
    [
        ("Tcp.RetransSegs", counters.rounds / 10),
        ("TcpExt.ListenOverflows", 0),
        ("TcpExt.ListenDrops", 0),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_string(), value))
    .collect()
}

fn thread(pid: u32, tid: u32, name: &str, run_s: f64) -> ThreadTimes {
    let run_ns = (run_s * NS_PER_S as f64) as u64;
    ThreadTimes { pid, tid, name: name.to_string(), run_ns, ..ThreadTimes::default() }
}

fn client_threads(counters: &Counters) -> Vec<ThreadTimes> {
    vec![
        thread(900, 900, "ceiling", counters.rounds as f64 * 0.002),
        thread(900, 901, "worker-0", counters.client_s * 0.51),
        thread(900, 902, "worker-1", counters.client_s * 0.49),
        thread(900, 903, "probe", counters.rounds as f64 * 0.0019),
    ]
}

fn server_threads(counters: &Counters) -> Vec<ThreadTimes> {
    let share = |tid: u32| if tid == 4712 { 0.2 } else { 0.1 };
    (4711..4720)
        .map(|tid| thread(4711, tid, "target-fasthttp", counters.server_s * share(tid)))
        .collect()
}

fn quota_use(counters: &Counters) -> QuotaUse {
    QuotaUse {
        group: "/target".to_string(),
        quota_us: Some(100_000),
        period_us: Some(100_000),
        periods: counters.rounds * 10,
        throttled_periods: counters.throttled,
        throttled_ns: counters.throttled * 40_000_000,
        usage_ns: Some((counters.server_s * NS_PER_S as f64) as u64),
    }
}

/// A good ramp: the server's CPU quota is the wall.
pub(crate) fn ramp_quota() -> Run {
    let scene = Scene::ramp(48_300.0);
    let mut run = run(&scene, Question::Ramp);
    for point in run.record.points.iter_mut().filter(|point| point.load.connections >= 64) {
        point.verdict = wall(WallId::S3, Confidence::Suspected);
    }
    let mut found = wall(WallId::S3, Confidence::Probable);
    let (rate, low, high) = (48_251.0, Some(48_120.0), Some(48_380.0));
    found.ceiling =
        Some(Ceiling { rate, kind: CeilingKind::Ceiling, low, high, knee_in_flight: Some(400) });
    found.evidence = vec![
        evidence(
            "server",
            "cgroup cpu.stat",
            "throttled periods",
            "98.9 %",
            "S3: throttled in most periods while the rate is flat",
        ),
        evidence(
            "server",
            "schedstat",
            "CPUs used of allowed",
            "0.99 of 1.00",
            "S3: use is at the quota, within 2 %",
        ),
        evidence(
            "client",
            "schedstat",
            "busiest worker",
            "0.08 CPUs",
            "C2 contradicted: no generator thread is above 0.80",
        ),
    ];
    found.against = vec![
        "idle CPU time on this host is 61 %, so S1 would predict a higher rate than was seen"
            .to_string(),
    ];
    found.next = vec![
        "ceiling ramp http://127.0.0.1:8080/simple --raise-quota 200%".to_string(),
        "raise cpu.max of control group /target to 200000 100000 and repeat the run".to_string(),
    ];
    run.record.verdict = found;
    run.record.notices = vec![
        "Raised our own limit of open files from 1024 to 1048576.".to_string(),
        "Level 2000 was repeated: throughput was not steady at the first visit.".to_string(),
    ];
    repeat_last(&mut run);
    run
}

/// Adds a second visit of the last level.
fn repeat_last(run: &mut Run) {
    let mut again = run.record.points[run.record.points.len() - 1].clone();
    let length_ns = again.window_ns.1 - again.window_ns.0;
    again.attempt = 2;
    again.window_ns = (again.window_ns.1 + WARMUP_NS, again.window_ns.1 + WARMUP_NS + length_ns);
    let latency = run.latencies[run.latencies.len() - 1].clone();
    run.record.points.push(again);
    run.latencies.push(latency);
}

/// One generator thread is full: no figure of the server.
pub(crate) fn ramp_generator() -> Run {
    let scene = Scene { client_us: 9.6, server_us: 3.1, ..Scene::ramp(104_000.0) };
    let mut run = run(&scene, Question::Ramp);
    for point in run.record.points.iter_mut().filter(|point| point.load.connections >= 125) {
        point.verdict = wall(WallId::C2, Confidence::Probable);
    }
    let mut found = wall(WallId::C2, Confidence::Probable);
    found.ceiling = Some(Ceiling {
        rate: 103_600.0,
        kind: CeilingKind::AtLeast,
        low: Some(103_100.0),
        high: Some(104_000.0),
        knee_in_flight: None,
    });
    found.evidence = vec![evidence(
        "client",
        "schedstat",
        "worker-0",
        "0.99 CPUs",
        "C2: one generator thread has no time left",
    )];
    found.next = vec!["ceiling ramp http://127.0.0.1:8080/simple -t 4".to_string()];
    run.record.verdict = found;
    run
}

/// Throughput still rises at the last level.
pub(crate) fn ramp_no_wall() -> Run {
    let scene = Scene { connections: vec![1, 2, 4, 8, 16], ..Scene::ramp(2_000_000.0) };
    let mut run = run(&scene, Question::Ramp);
    let name = "throughput still rises with the last level";
    let mut found = verdict(Named::None, Side::None, name, Confidence::Probable);
    found.ceiling = Some(Ceiling {
        rate: 24_998.0,
        kind: CeilingKind::AtLeast,
        low: Some(24_870.0),
        high: Some(25_120.0),
        knee_in_flight: None,
    });
    found.evidence = vec![evidence(
        "client",
        "points",
        "rate at the last two levels",
        "+100 %",
        "a wall needs a rate that stops rising",
    )];
    found.next = vec!["ceiling ramp http://127.0.0.1:8080/simple -c 16..1024".to_string()];
    run.record.verdict = found;
    run
}

/// Flat, and nothing that could be read says why.
pub(crate) fn ramp_unknown() -> Run {
    let scene = Scene { is_watched: false, ..Scene::ramp(48_300.0) };
    let mut run = run(&scene, Question::Ramp);
    for point in run.record.points.iter_mut().filter(|point| point.load.connections >= 64) {
        let name = "the rate is flat and the server is not watched";
        point.verdict = verdict(Named::Unknown, Side::Unknown, name, Confidence::Unknown);
    }
    let name = "the rate is flat and the server is not watched";
    let mut found = verdict(Named::Unknown, Side::Unknown, name, Confidence::Unknown);
    found.ceiling = Some(Ceiling {
        rate: 48_251.0,
        kind: CeilingKind::Ceiling,
        low: None,
        high: None,
        knee_in_flight: None,
    });
    found.against = vec!["C1 to C10 are contradicted: the generator has time left".to_string()];
    found.not_tested = WallId::ALL.iter().map(|(wall, _)| *wall).skip(14).collect();
    found.next = vec![
        "run on the server's host, or name its process with --server-pid PID".to_string(),
        "ceiling ramp http://127.0.0.1:8080/simple --probe 10.0.0.7:9900".to_string(),
    ];
    run.record.verdict = found;
    run
}

/// Stopped by the user inside the fourth level.
pub(crate) fn ramp_interrupted() -> Run {
    let mut run = ramp_no_wall();
    let scene = Scene::ramp(48_300.0);
    run.record.trial = trial(&scene, Question::Ramp);
    run.record.outcome = Outcome::Interrupted;
    let last = run.record.points.len() - 1;
    let partial = &mut run.record.points[last];
    partial.load.duration_s = 3.4;
    partial.window_ns.1 = partial.window_ns.0 + 3_400_000_000;
    partial.series.truncate(4);
    partial.series[3].t_s = 3.4;
    partial.series[3].completed = partial.series[3].completed * 2 / 5;
    run
}

/// Two levels break gates: sockets that were never served, and errors counted as answers.
pub(crate) fn ramp_invalid() -> Run {
    let mut run = ramp_quota();
    for point in run.record.points.iter_mut().filter(|point| point.load.connections >= 1000) {
        break_gates(point);
    }
    let mut found = wall(WallId::M4, Confidence::Confirmed);
    found.next = vec!["ceiling load http://127.0.0.1:8080/simple -c 500".to_string()];
    run.record.verdict = found;
    run
}

fn break_gates(point: &mut Point) {
    let failed = point.requests.completed / 50;
    let asked = point.connections.asked;
    point.connections.served = asked - asked / 25;
    point.connections.opened = asked - asked / 25;
    point.connections.failed = asked / 25;
    point.connections.reopened = 17;
    point.errors.insert("connect".to_string(), asked / 25);
    point.errors.insert("reset".to_string(), failed / 4);
    point.status.insert("5xx".to_string(), failed - failed / 4);
    point.requests.failed = failed;
    point.requests.sent += failed;
    for gate in &mut point.gates {
        match gate.id.as_str() {
            "connections" => {
                gate.ok = Some(false);
                gate.measured = Some(96.0);
                gate.why = format!("{} of {asked} connections never opened", asked / 25);
            }
            "errors" => {
                gate.ok = Some(false);
                gate.measured = Some(2.0);
                gate.why = format!("{failed} requests failed, most with status 5xx");
            }
            _ => {}
        }
    }
    point.verdict = wall(WallId::M4, Confidence::Confirmed);
}

/// One level, nothing known about the server's host.
pub(crate) fn load_unwatched() -> Run {
    let scene = Scene { connections: vec![64], is_watched: false, ..Scene::ramp(48_300.0) };
    let mut run = run(&scene, Question::Load);
    let name = "one level does not show whether the rate still rises";
    let mut found = verdict(Named::Unknown, Side::Unknown, name, Confidence::Unknown);
    found.ceiling = Some(Ceiling {
        rate: run.record.points[0].rate,
        kind: CeilingKind::AtLeast,
        low: Some(47_480.0),
        high: Some(47_690.0),
        knee_in_flight: None,
    });
    found.next = vec!["ceiling ramp http://127.0.0.1:8080/simple".to_string()];
    run.record.verdict = found;
    run.record.target.url = "http://10.0.0.7:8080/simple".to_string();
    run.record.target.addresses = vec!["10.0.0.7:8080".to_string()];
    run
}

fn expectation(
    term: &str,
    unit: Unit,
    measured: Option<f64>,
    met: Option<bool>,
    why: &str,
) -> Expectation {
    let bound = term.parse::<Objective>().unwrap().terms()[0].bound;
    Expectation { term: term.to_string(), measured, bound, unit, met, why: why.to_string() }
}

/// Open loop: an asked rate, of which not all could be sent, and an objective that it misses.
/// Open loop: an asked rate, of which not all could be sent.
pub(crate) fn load_secure() -> Run {
    let mut run = load_unwatched();
    run.record.target.url = "https://10.0.0.7:8443/simple".to_string();
    run.record.target.proxy = Some("http://me:***@10.0.0.1:3128".to_string());
    run.record.target.tls = Some(TlsInfo {
        version: "TLSv1.3".to_string(),
        cipher: "TLS_AES_128_GCM_SHA256".to_string(),
        group: Some("X25519MLKEM768".to_string()),
        alpn: Some("http/1.1".to_string()),
        server_name: "10.0.0.7".to_string(),
        trust: tls::Trust::File("ca.pem".to_string()),
        client_certificate_asked: false,
        resumption: Resumption::FullEvery(10),
        ktls: KernelTlsInfo {
            asked: KernelTls::Auto,
            used: false,
            kernel: Some("not available: no module tls".to_string()),
        },
    });
    let point = &mut run.record.points[0];
    point.errors.insert("tls".to_string(), 5);
    point.connections.reopened = 136;
    point.connections.handshakes = Handshakes {
        handshakes: Some(200),
        resumed: Some(122),
        handshake_ns: Some(distribution(1_900_000.0, 200).summary(0)),
        handshake_failures: Some([("expired".to_string(), 3), ("alert".to_string(), 2)].into()),
        tunnels_refused: Some(0),
        tunnel_status: None,
    };
    run
}

pub(crate) fn load_open() -> Run {
    let scene = Scene { connections: vec![64], ..Scene::ramp(48_300.0) };
    let mut run = run(&scene, Question::Load);
    let curve = Curve::constant(60_000.0);
    let arrival = Arrival::Open { curve, arrivals: Spacing::Poisson };
    run.record.trial.levels[0].arrival = arrival;
    let point = &mut run.record.points[0];
    point.load.model = "open".to_string();
    point.load.rate = Some(60_000.0);
    point.load.arrivals = Some(Spacing::Poisson);
    point.offered_rate = Some(60_000.0);
    point.requests.unanswered = 64;
    point.requests.sent += 64;
    point.requests.planned = Some(600_000);
    point.requests.unsent = 600_000 - point.requests.sent;
    let latency = distribution(212_000_000.0, point.requests.completed);
    point.latency_ns = latency.summary(64);
    let lag = distribution(210_000_000.0, point.requests.completed);
    point.release_lag_ns = Some(lag.summary(0));
    point.lateness_ns = Some(distribution(9_000.0, point.requests.completed).summary(0));
    point.requests.waited = point.requests.sent / 2;
    point.client_loop.spin_share = Some(0.125);
    run.latencies[0] = latency;
    let share = 100.0 * (64 + point.requests.unsent) as f64 / 600_000.0;
    let expectations = vec![
        expectation("p50<1s", Unit::Ns, Some(212e6), Some(true), "measured 212ms"),
        expectation("errors<0.1%", Unit::Percent, Some(share), Some(false), "measured 20.7%"),
        expectation(
            "max<5s",
            Unit::Ns,
            None,
            None,
            "max falls among 64 requests without an answer",
        ),
    ];
    run.record.trial.expect = "p50<1s,errors<0.1%,max<5s".parse().ok();
    point.expectations = expectations.clone();
    run.record.expectations = expectations;
    let mut found = wall(WallId::S3, Confidence::CoLimited);
    found.also = vec![WallId::K1];
    found.ceiling = Some(Ceiling {
        rate: point.rate,
        kind: CeilingKind::Ceiling,
        low: Some(47_480.0),
        high: Some(47_690.0),
        knee_in_flight: None,
    });
    run.record.verdict = found;
    run
}

/// The same point as if its rate had been asked for.
fn asked(point: &Point, rate: f64) -> Point {
    let mut point = point.clone();
    point.load.model = "open".to_string();
    (point.load.rate, point.load.arrivals) = (Some(rate), Some(Spacing::Fixed));
    (point.offered_rate, point.rate) = (Some(rate), rate);
    let planned = (rate * point.load.duration_s) as u64;
    point.requests.planned = Some(planned);
    (point.requests.sent, point.requests.completed) = (planned, planned);
    point.status.insert("2xx".to_string(), planned);
    point.in_flight.mean = point.latency_ns.mean.map(|mean_ns| rate * mean_ns as f64 / 1e9);
    point.release_lag_ns = Some(distribution(9_000.0, planned).summary(0));
    point.lateness_ns = point.release_lag_ns.clone();
    point
}

/// A search with an answer. Its trials show each way to stand.
pub(crate) fn find_answer() -> Run {
    let mut run = load_unwatched();
    run.record.trial.question = Question::Find;
    let arrival = Arrival::Open { curve: Curve::constant(100.0), arrivals: Spacing::Fixed };
    run.record.trial.levels[0].arrival = arrival;
    let point = run.record.points.remove(0);
    run.record.points =
        [24_000.0, 48_900.0, 48_000.0, 48_000.0].map(|rate| asked(&point, rate)).to_vec();
    run.latencies = vec![run.latencies[0].clone(); 4];
    let missed = expectation("p99<2ms", Unit::Ns, Some(2.6e6), Some(false), "measured 2.60ms");
    run.record.points[1].expectations = vec![missed];
    run.record.trial.expect = "p99<2ms".parse().ok();
    let trial = |rate, duration_s, purpose, standing, trust| SearchTrial {
        rate,
        duration_s,
        purpose,
        standing,
        trust,
    };
    let check = |rate| Some(SearchCheck { rate, agrees: Some(true), runs: 1 });
    run.record.search = Some(SearchRecord {
        config: SearchConfig {
            lowest: 100.0,
            highest: 1e6,
            precision: 0.02,
            budget_ns: 120 * NS_PER_S,
            trial_ns: 3 * NS_PER_S,
            answers_min: 1000,
            confidence: 0.95,
        },
        trials: vec![
            trial(24_000.0, 0.6, Purpose::Grow, Standing::Met, Trust::Sound),
            trial(48_900.0, 3.0, Purpose::Narrow, Standing::Missed, Trust::ClientLate),
            trial(48_000.0, 3.0, Purpose::Verify, Standing::Met, Trust::Invalid),
            trial(48_000.0, 3.0, Purpose::Verify, Standing::Met, Trust::Sound),
        ],
        answer: Some(Answer {
            rate: Some(48_000.0),
            kind: CeilingKind::Ceiling,
            misses_at: Some(48_900.0),
            width: Some(0.01875),
            ended: Ended::Narrowed,
            confidence: Confidence::Confirmed,
            below: check(45_600.0),
            above: check(51_345.0),
            notes: Vec::new(),
        }),
    });
    run
}

/// Devices that speak no HTTP: what is counted is connections.
fn churn(hold: Hold) -> Run {
    let scene = Scene { connections: vec![2_000], ..Scene::ramp(48_300.0) };
    let mut run = run(&scene, Question::Churn);
    let life = Life {
        requests: Some((0, 0)),
        hold: Some(hold),
        ramp_up_ns: NS_PER_S,
        ramp_down_ns: NS_PER_S,
    };
    run.record.trial.levels[0].life = life;
    run.record.trial.url = "tcp://127.0.0.1:8080".to_string();
    run.record.target.url.clone_from(&run.record.trial.url);
    run.latencies[0] = Histogram::new();
    let point = &mut run.record.points[0];
    point.load.life = Some(life);
    point.rate = 0.0;
    (point.requests.sent, point.requests.completed) = (0, 0);
    point.status.insert("2xx".to_string(), 0);
    point.latency_ns = Summary::default();
    point.service_ns = Summary::default();
    point.series.iter_mut().for_each(|second| {
        (second.completed, second.p50_ns, second.p99_ns) = (0, None, None);
    });
    point.bytes = Bytes { sent: 0, received: 0 };
    (point.cpu.client_us_per_request, point.cpu.server_us_per_request) = (None, None);
    point.connections.served = 0;
    point.connections.requests_each = Spread { min: Some(0), p50: Some(0), max: Some(0) };
    point.turnover = Some(TurnoverInfo {
        rate: 0.0,
        planned_rate: None,
        open_before: 1000,
        open_after: 1000,
        begun: 0,
        established: 0,
        failed: 0,
        closed_by_us: 0,
        closed_by_peer: 0,
        connect_ns: Summary::default(),
        syn_retries: BTreeMap::new(),
        client_bytes_each: Some(1_536.0),
    });
    run
}

/// Devices that come and go; the accept queue overflows now and then, and SYNs are repeated.
pub(crate) fn churn_turnover() -> Run {
    let mut run = churn(Hold::For { ns: NS_PER_S, jitter: 0.05 });
    let point = &mut run.record.points[0];
    point.connections.reopened = 19_200;
    if let Some(turnover) = &mut point.turnover {
        turnover.rate = 1_920.0;
        turnover.planned_rate = Some(2_000.0);
        (turnover.begun, turnover.established, turnover.failed) = (19_210, 19_200, 10);
        (turnover.closed_by_us, turnover.closed_by_peer) = (19_188, 12);
        turnover.connect_ns = distribution(140_000.0, 19_200).summary(0);
        turnover.syn_retries = BTreeMap::from([("1s".to_string(), 310), ("3s".to_string(), 14)]);
    }
    point.errors.insert("connect".to_string(), 10);
    let mut found = wall(WallId::K1, Confidence::Probable);
    found.evidence = vec![evidence("server", "TcpExt", "ListenOverflows", "334", "over 0")];
    run.record.verdict = found;
    run
}

/// Devices that stay: all are there, and nothing moves in the window.
pub(crate) fn churn_held() -> Run {
    let mut run = churn(Hold::Forever);
    let name = "no wall was reached; what limits is the number of devices";
    run.record.verdict = verdict(Named::None, Side::None, name, Confidence::Probable);
    run.record.verdict.next =
        vec!["ceiling churn tcp://127.0.0.1:8080 --devices 4000 --hold forever".to_string()];
    run
}

/// A mix of three targets: one redirects, and some answers of another fail its checks.
pub(crate) fn load_mix() -> Run {
    let mut run = load_unwatched();
    let point = &mut run.record.points[0];
    let all = point.requests.sent;
    let (write, old) = (all / 6, all / 3);
    let read = all - write - old;
    let names = ["GET /read?id={{random:1..1000}}", "GET /old/path/that/moved", "POST /write"];
    let targets = names.iter().zip([read, old, write]).zip([3u32, 2, 1]);
    point.targets = targets
        .map(|((name, sent), weight)| {
            let mut tally = TargetTally::default();
            let counters = &mut tally.counters;
            (counters.sent, counters.completed) = (sent, sent);
            counters.status[usize::from(weight == 2)] = sent;
            counters.bytes_received = sent * 133;
            if weight == 1 {
                (counters.completed, counters.failed) = (sent - 400, 400);
                counters.mismatches.add(Check::Length, 300);
                counters.mismatches.add(Check::Body, 100);
            }
            let mean_ns = 900_000.0 / f64::from(weight);
            tally.latency = distribution(mean_ns, tally.counters.completed);
            count_target((*name).to_string(), weight.into(), &tally)
        })
        .collect();
    point.status.insert("3xx".to_string(), old);
    point.status.insert("2xx".to_string(), all - old);
    (point.requests.completed, point.requests.failed) = (all - 400, 400);
    point.mismatched = 400;
    point.mismatches.insert("length".to_string(), 300);
    point.mismatches.insert("body".to_string(), 100);
    run
}

/// A wall on each side, named as the judge names a pair.
pub(crate) fn co_limited() -> Run {
    let mut run = ramp_quota();
    let ceiling = run.record.verdict.ceiling.take();
    let name = "server CPUs and one client thread together";
    let found = verdict(Named::Wall(WallId::S1), Side::Unknown, name, Confidence::CoLimited);
    run.record.verdict = Verdict { also: vec![WallId::C2], ceiling, ..found };
    run
}

/// Makes a point one that was interrupted before its window opened.
pub(crate) fn unmeasure(point: &mut Point) {
    point.window_ns.1 = point.window_ns.0;
    point.load.duration_s = 0.0;
    point.rate = 0.0;
    point.requests =
        RequestInfo { planned: None, ..model::run::count_requests(&Default::default()) };
    point.connections.served = 0;
    point.errors.clear();
    point.latency_ns = Summary::default();
    point.cpu = CpuCost::default();
    point.in_flight.mean = None;
    point.series.clear();
    point.per_100ms.clear();
}

/// The target was gone before anything was measured.
pub(crate) fn target_lost() -> Run {
    let mut run = ramp_unknown();
    let name = "nothing was measured";
    run.record.outcome = Outcome::TargetLost;
    run.record.points.clear();
    run.record.verdict = verdict(Named::Unknown, Side::Unknown, name, Confidence::Unknown);
    run.latencies.clear();
    run
}

/// Strings that try to leave the place they are shown in.
pub(crate) fn hostile() -> Run {
    let evil = "</script><script>alert(1)</script><img src=x onerror=\"alert(2)\">";
    let url = format!("http://h/{evil}?a='b',\"c\"&d\n#\u{1b}]0;title\u{7}\u{202e}txt.exe");
    let mut run = ramp_quota();
    run.record.points.truncate(3);
    run.latencies.truncate(3);
    let record = &mut run.record;
    record.target.url.clone_from(&url);
    record.id = format!("id{evil}");
    record.command = vec!["ceiling".to_string(), "ramp".to_string(), url.clone(), "x".repeat(900)];
    record.host.hostname = "日本語のとても長いホスト名".repeat(6);
    record.notices = vec![evil.to_string(), "-->\u{2028}<!--".to_string()];
    record.definitions.insert(evil.to_string(), "javascript:alert(1)".to_string());
    if let Some(server) = &mut record.target.server {
        server.command = format!("java {evil} {}", "-Dx=y ".repeat(400));
    }
    record.verdict.name = evil.to_string();
    record.verdict.next = vec![format!("curl '{url}' | sh")];
    record.verdict.evidence[0].value = evil.to_string();
    record.verdict.evidence[1].rule = "\u{1b}[2J\u{1b}[H".repeat(9);
    record.points[1].gates[1].ok = Some(false);
    record.points[1].gates[1].why = evil.to_string();
    record.points[2].gates[0].id = evil.to_string();
    record.points[0].load.model = "=cmd|' /C calc'!A0".to_string();
    for reading in &mut run.readings {
        if let Data::ServerThreads(threads) = &mut reading.data {
            threads.iter_mut().for_each(|thread| thread.name = evil.to_string());
        }
    }
    run
}
