//! The counters of a host in virtual time, as its kernel would show them.

use super::driver::Post;
use super::server::Halts;
use model::facts::{CpuAccounting, CpuQuota, HostFacts, ServerFacts};
use model::reading::{CpuTimes, Data, QuotaUse, Reading, ThreadTimes};
use std::collections::BTreeMap;

/// Length of a clock tick, nanoseconds.
const TICK_NS: u64 = 10_000_000;
/// The server's process.
const SERVER_PID: u32 = 200;
/// The generator's process.
const CLIENT_PID: u32 = 100;
/// CPU time of the conductor and the probe as a share of a CPU.
const CONDUCTOR: f64 = 0.02;

/// A model of a host. Each worker and each of the server's threads has its own CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct HostModel {
    /// Whether the server runs on it and is watched.
    pub has_server: bool,
    /// Sum of the states of a CPU, as a share of the time that passed: 1 where each transition is
    /// measured, up to 1.4 (observed) where the tick samples busy states.
    pub accounted: f64,
    /// Whether the kernel samples by the tick.
    pub samples: bool,
    /// Share of each CPU that the hypervisor takes.
    pub steal: f64,
    /// When the server's control group is throttled, as the host tells; absent without a quota.
    pub throttled: Option<Halts>,
}

impl Default for HostModel {
    fn default() -> Self {
        Self { has_server: true, accounted: 1.0, samples: false, steal: 0.0, throttled: None }
    }
}

impl HostModel {
    /// Facts of the host, with this many CPUs and this quota of the generator.
    pub fn facts(&self, cpus: u32, quota_ns: Option<u64>) -> HostFacts {
        let online: Vec<u32> = (0..cpus).collect();
        let quota = |quota_ns: u64| CpuQuota {
            group: "/generator".to_string(),
            quota_us: Some(quota_ns / 1000),
            period_us: Some(100_000),
            version: 2,
        };
        HostFacts {
            hostname: "model".to_string(),
            kernel: "6.0.0".to_string(),
            arch: "x86_64".to_string(),
            machine: None,
            cpu_model: None,
            cpus_online: online.clone(),
            cpus_allowed: online,
            memory_bytes: Some(8 << 30),
            clock_source: Some("tsc".to_string()),
            virtual_machine: Some(self.samples),
            cpu_accounting: match self.samples {
                true => CpuAccounting::Tick,
                false => CpuAccounting::Precise,
            },
            clock_tick_ns: TICK_NS,
            quotas: quota_ns.map(quota).into_iter().collect(),
            nics: Vec::new(),
            sysctls: BTreeMap::new(),
            open_files_limit: (1 << 20, 1 << 20),
            tuned: None,
            may_watch_inside: false,
            unreadable: Vec::new(),
        }
    }

    /// Facts of the server on these CPUs, when it is watched.
    pub fn server(&self, cpus: impl Iterator<Item = u32>) -> Option<ServerFacts> {
        let cpus_allowed: Vec<u32> = cpus.collect();
        self.has_server.then(|| ServerFacts {
            pid: SERVER_PID,
            found_by: "the model".to_string(),
            command: "model-server".to_string(),
            pids: vec![SERVER_PID],
            processes: Vec::new(),
            threads: cpus_allowed.len() as u32,
            cpus_allowed,
            pinned_threads: BTreeMap::new(),
            quotas: Vec::new(),
            open_files_limit: Some((1 << 20, 1 << 20)),
            listeners: 1,
            container: None,
            network: None,
            passed_on_by: None,
            unreadable: Vec::new(),
        })
    }

    /// One round of readings at an instant.
    pub(super) fn read(&self, at_ns: u64, post: &Post, quota_ns: Option<u64>) -> Vec<Reading> {
        let reading = |data| Reading { begin_ns: at_ns, end_ns: at_ns + 1_000, data };
        let client = client_threads(at_ns, post);
        let server: Vec<_> =
            (0u32..).zip(&post.serving.borrow().cpu_ns).map(server_thread).collect();
        let busy = client[1..].iter().chain(&server).map(|thread| thread.run_ns);
        let cpus = (0..).zip(busy).map(|(cpu, run_ns)| self.cpu(cpu, run_ns, at_ns)).collect();
        let mut readings = vec![reading(Data::Cpus(cpus)), reading(Data::ClientThreads(client))];
        if self.has_server {
            readings.push(reading(Data::ServerThreads(server)));
        }
        if let Some(halts) = &self.throttled {
            readings.push(reading(Data::ServerQuota(vec![QuotaUse {
                group: "/server".to_string(),
                quota_us: Some(80_000),
                period_us: Some(100_000),
                periods: at_ns / 100_000_000,
                throttled_periods: halts.before_ns(at_ns) / halts.for_ns.max(1),
                throttled_ns: halts.before_ns(at_ns),
                usage_ns: None,
            }])));
        }
        if let Some(quota_ns) = quota_ns {
            let pulses = post.pulses.borrow();
            let sum = |of: fn(&super::generator::Pulse) -> u64| pulses.iter().map(of).sum::<u64>();
            readings.push(reading(Data::ClientQuota(vec![QuotaUse {
                group: "/generator".to_string(),
                quota_us: Some(quota_ns / 1000 * pulses.len() as u64),
                period_us: Some(100_000),
                periods: at_ns / 100_000_000,
                throttled_periods: pulses.iter().map(|one| one.throttled.1).max().unwrap_or(0),
                throttled_ns: sum(|one| one.throttled.0),
                usage_ns: Some(sum(|one| one.cpu_ns)),
            }])));
        }
        readings
    }

    fn cpu(&self, cpu: u32, run_ns: u64, at_ns: u64) -> CpuTimes {
        let steal = self.steal * at_ns as f64;
        let run = run_ns as f64;
        let idle = (at_ns as f64 - run - steal).max(0.0);
        // Idle time is measured. What the tick samples of the other states adds up to more.
        let sampled = (self.accounted - 1.0).max(0.0) * at_ns as f64;
        let ticks = |ns: f64| (ns / TICK_NS as f64) as u64;
        CpuTimes {
            cpu,
            user: ticks(run * 0.3),
            system: ticks(run * 0.6 + sampled),
            softirq: ticks(run * 0.1),
            steal: ticks(steal),
            idle: ticks(idle),
            ..CpuTimes::default()
        }
    }
}

/// The conductor first, then the workers.
fn client_threads(at_ns: u64, post: &Post) -> Vec<ThreadTimes> {
    let conductor = ThreadTimes {
        pid: CLIENT_PID,
        tid: CLIENT_PID,
        name: "ceiling".to_string(),
        run_ns: (at_ns as f64 * CONDUCTOR) as u64,
        ..ThreadTimes::default()
    };
    let pulses = post.pulses.borrow();
    let worker = |(index, pulse): (u32, &super::generator::Pulse)| ThreadTimes {
        pid: CLIENT_PID,
        tid: CLIENT_PID + 1 + index,
        name: format!("worker-{index}"),
        run_ns: pulse.cpu_ns,
        wait_ns: pulse.wait_ns,
        ..ThreadTimes::default()
    };
    std::iter::once(conductor).chain((0..).zip(pulses.iter()).map(worker)).collect()
}

fn server_thread((index, cpu_ns): (u32, &f64)) -> ThreadTimes {
    ThreadTimes {
        pid: SERVER_PID,
        tid: SERVER_PID + index,
        name: "serve".to_string(),
        run_ns: *cpu_ns as u64,
        ..ThreadTimes::default()
    }
}
