//! A sound measurement to start from: tests break one thing in it and check the verdict.

mod signs;

use crate::Context;
use crate::case::Case;
use crate::gates;
use model::facts::{CpuAccounting, HostFacts, ServerFacts};
use model::figure::Figure;
use model::histogram::Summary;
use model::load::{Arrival, Level, Life, LoadModel, MixTarget, Request, Stop, Trial};
use model::reading::CpuShares;
use model::run::{
    Bytes, ConnectionInfo, CpuCost, Handshakes, InFlight, LoadInfo, LoopInfo, Outcome, Point,
    RequestInfo, Target, Unmeasured, count_mismatches,
};
use model::series::{Second, Spread};
use model::standing::{Standing, Standings};
use model::subject::Subject;
use model::tick::Counters;
use model::verdict::{Confidence, Named, Verdict};
use model::wall::Side;
use observe::{CpuShare, Observed, QuotaShare, SocketCensus};
use std::collections::BTreeMap;

const SECONDS: u64 = 5;

/// Owns everything a case borrows.
pub struct Fixture {
    pub trial: Trial,
    pub host: HostFacts,
    pub server: Option<ServerFacts>,
    pub point: Point,
    pub observed: Observed,
}

impl Fixture {
    /// Eight connections, 1000 requests per second, slack everywhere, two CPUs.
    pub fn good() -> Self {
        let shares = CpuShares { idle: 0.7, user: 0.3, ..CpuShares::default() };
        let idle = |cpu| CpuShare { cpu, shares, accounted: 1.0, idled: 0.7 };
        let mut fixture = Self {
            trial: trial(),
            host: host(),
            server: Some(server()),
            point: Self::point(8, 1000.0),
            observed: Observed {
                cpus: Some(vec![idle(0), idle(1)]),
                server_quotas: Some(vec![quota("/web"), quota("/")]),
                client_quotas: Some(vec![quota("/")]),
                tcp: Some(BTreeMap::from([("TcpExt.ListenOverflows".to_string(), 0)])),
                census: Some(SocketCensus { server: 100, client: 100, ..SocketCensus::default() }),
                ..Observed::default()
            },
        };
        fixture.worker(0.3, 0.01);
        fixture.server_thread(0.3, 0.01);
        fixture
    }

    /// A run of this trial that ended well, without experiments.
    pub fn context<'a>(&'a self, target: &'a Target) -> Context<'a> {
        Context {
            trial: &self.trial,
            host: &self.host,
            target,
            outcome: Outcome::Complete,
            perturbations: &[],
            kernel: None,
        }
    }

    pub fn case(&self) -> Case<'_> {
        Case {
            trial: &self.trial,
            host: &self.host,
            server: self.server.as_ref(),
            server_host: self.server.as_ref().map(|_| &self.host),
            clock: None,
            point: &self.point,
            observed: &self.observed,
            ramp: &[],
        }
    }

    /// The readings of the server's host.
    pub fn far(&mut self) -> &mut Observed {
        match self.observed.far {
            Some(ref mut far) => far,
            None => &mut self.observed,
        }
    }

    /// Moves the server to another host with the same readings as here.
    pub fn apart(&mut self) {
        self.observed.far = Some(Box::new(self.observed.clone()));
    }

    /// Moves the server to a host without a probe.
    pub fn unwatched(&mut self) {
        self.server = None;
        self.trial.addresses = vec!["10.0.0.2:8083".parse().expect("an address")];
        let census = self.observed.census.map(|census| SocketCensus {
            client: census.client,
            client_unread: census.client_unread,
            ..SocketCensus::default()
        });
        self.observed = Observed {
            far: None,
            server_threads: None,
            server_quotas: None,
            doing: None,
            downstreams: None,
            census,
            ..self.observed.clone()
        };
    }

    /// A point whose rate is not known.
    pub fn strike(point: &mut Point) {
        let why = "two accounts disagree".to_string();
        point.standing.add(Figure::Rate, Standing::NotKnown { why });
    }

    pub fn check_gates(&mut self) {
        self.point.gates = gates::check_all(&self.case());
        self.point.standing = gates::standings(&self.case());
    }

    /// A sound closed-loop point.
    #[allow(clippy::too_many_lines, reason = "every figure of a point once")]
    pub fn point(connections: u32, rate: f64) -> Point {
        let completed = (rate * SECONDS as f64) as u64;
        let mean_ns = (f64::from(connections) / rate * 1e9) as u64;
        let tenths: Vec<u64> = (0..SECONDS * 10)
            .map(|at| (rate / 10.0 * (1.0 + 0.01 * ((at * 7919 % 13) as f64 - 6.0))) as u64)
            .collect();
        let second = |t: u64| Second {
            asked_rate: None,
            t_s: t as f64 + 1.0,
            completed: tenths[t as usize * 10..(t as usize + 1) * 10].iter().sum::<u64>() * 99
                / 100,
            failed: 0,
            p50_ns: Some(mean_ns),
            p99_ns: Some(mean_ns * 2),
            ..Second::default()
        };
        Point {
            load: load(connections),
            attempt: 1,
            profiled: false,
            window_ns: (0, SECONDS * 1_000_000_000),
            stopped: None,
            connections: connection_info(connections),
            subject: Subject::Requests(None),
            requests: RequestInfo {
                retried: 0,
                planned: None,
                sent: completed,
                completed,
                failed: 0,
                unsent: 0,
                unaccounted: 0,
                waited: 0,
                limited: 0,
                renewed: 0,
                early: 0,
                cut: 0,
                unanswered: 0,
                arrived: None,
            },
            status: BTreeMap::from([("2xx".to_string(), completed), ("5xx".to_string(), 0)]),
            status_codes: BTreeMap::new(),
            error_codes: BTreeMap::new(),
            samples: Vec::new(),
            slowest: None,
            tail: None,
            mismatched: 0,
            mismatches: count_mismatches(&Counters::default()),
            errors: BTreeMap::new(),
            rate,
            offered_rate: None,
            bytes: Bytes { sent: completed * 50, received: completed * 130, ..Bytes::default() },
            latency_ns: latency(completed, mean_ns),
            latency_good_ns: Some(latency(completed, mean_ns)),
            service_ns: latency(completed, mean_ns),
            send_delay_ns: None,
            generator_delay_ns: None,
            unseen_ns: None,
            latency_punctual_ns: None,
            messages: None,
            users: None,
            latency_at_least_ns: None,
            residence: None,
            hosts: BTreeMap::new(),
            in_flight: InFlight {
                mean: Some(f64::from(connections)),
                first: Some(f64::from(connections)),
                last: Some(f64::from(connections)),
                limit: u64::from(connections),
            },
            cpu: CpuCost::default(),
            client_loop: LoopInfo {
                turn_mean_ns: Some(5_000.0),
                socket_bytes: completed * 130,
                ..LoopInfo::default()
            },
            series: (0..SECONDS).map(second).collect(),
            per_100ms: tenths.clone(),
            unmeasured: Unmeasured::default(),
            targets: Vec::new(),
            agents: Vec::new(),
            gates: Vec::new(),
            standing: Standings::default(),
            expectations: Vec::new(),
            verdict: unjudged(),
        }
    }
}

fn load(connections: u32) -> LoadInfo {
    LoadInfo {
        model: LoadModel::Closed,
        connections,
        connections_max: connections,
        depth: 1,
        rate: None,
        curve: None,
        life: None,
        arrivals: None,
        duration_s: SECONDS as f64,
        driver: "epoll".to_string(),
        threads: 1,
        coalesce_ns: 0,
    }
}

fn connection_info(connections: u32) -> ConnectionInfo {
    let count = u64::from(connections);
    ConnectionInfo {
        crossed: None,
        asked: count,
        opened: count,
        served: count,
        failed: 0,
        reopened: 0,
        unsolicited: 0,
        faults: BTreeMap::new(),
        connect_ns: latency(count, 50_000),
        handshakes: Handshakes::default(),
        streams: None,
        requests_each: Spread::default(),
    }
}

fn latency(count: u64, mean_ns: u64) -> Summary {
    let value = Some(mean_ns);
    Summary {
        count,
        min: value,
        mean: value,
        p50: value,
        p99: value,
        max: value,
        ..Summary::default()
    }
}

fn quota(group: &str) -> QuotaShare {
    QuotaShare { group: group.to_string(), ..QuotaShare::default() }
}

fn unjudged() -> Verdict {
    Verdict {
        wall: Named::Unknown,
        name: String::new(),
        side: Side::Unknown,
        confidence: Confidence::Unknown,
        also: vec![],
        alternatives: vec![],
        ceiling: None,
        evidence: vec![],
        against: vec![],
        not_tested: vec![],
        sentence: None,
        fix: None,
        next: vec![],
    }
}

fn trial() -> Trial {
    let url = "http://127.0.0.1:8083/read".to_string();
    Trial {
        url,
        addresses: vec!["127.0.0.1:8083".parse().expect("an address")],
        requests: vec![Request {
            method: "GET".to_string(),
            path: "/read".to_string(),
            host: "127.0.0.1:8083".to_string(),
            ..Request::default()
        }],
        targets: vec![MixTarget {
            name: "GET /read".to_string(),
            weight: 1,
            ..MixTarget::default()
        }],
        levels: vec![Level {
            connections: 8,
            spare: 0,
            depth: 1,
            arrival: Arrival::Closed,
            life: Life::default(),
        }],
        stop: Stop::AfterNs(SECONDS * 1_000_000_000),
        drain_ns: 2_000_000_000,
        ..Trial::blank()
    }
}

/// A host as it is known before any load.
pub fn host() -> HostFacts {
    HostFacts {
        hostname: "lab".to_string(),
        kernel: "6.18".to_string(),
        arch: "x86_64".to_string(),
        machine: None,
        cpu_model: None,
        cpus_online: vec![0, 1],
        cpus_allowed: vec![0, 1],
        memory_bytes: None,
        clock_source: None,
        virtual_machine: None,
        cpu_accounting: CpuAccounting::Unknown,
        clock_tick_ns: 10_000_000,
        quotas: vec![],
        nics: vec![],
        sysctls: BTreeMap::new(),
        open_files_limit: (1024, 1024),
        tuned: None,
        may_watch_inside: false,
        unreadable: vec![],
    }
}

fn server() -> ServerFacts {
    ServerFacts {
        pid: 7,
        found_by: "listening port".to_string(),
        command: "serve".to_string(),
        pids: vec![7],
        processes: vec![],
        threads: 1,
        cpus_allowed: vec![0, 1],
        pinned_threads: BTreeMap::new(),
        quotas: vec![],
        open_files_limit: Some((1024, 1024)),
        listeners: 1,
        container: None,
        network: None,
        passed_on_by: None,
        unreadable: vec![],
    }
}
