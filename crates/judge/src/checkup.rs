//! Is a host fit to measure on? Each check compares an observation with two bounds: from the first
//! on, the condition costs something; from the second on, figures would describe the host and not
//! the server.

use crate::case::usable_cpus;
use model::checkup::{Checked, Checkup, Fitness, Observed, SCHEMA};
use model::reading::CpuTimes;
use model::units::{NS_PER_S, show_ns};

/// CPU time taken by the hypervisor, per cent: each per cent is time in which server and generator
/// stand still without noticing.
const STEAL_PERCENT: (f64, f64) = (0.5, 5.0);
/// CPU time that other processes use, per cent of all CPUs.
const OTHERS_PERCENT: (f64, f64) = (5.0, 25.0);
/// 99th percentile of how late a thread runs, nanoseconds: this is a generator delay in every open
/// loop, and part of every latency.
const LATE_NS: (f64, f64) = (200e3, 2e6);
/// Cost of reading the clock, nanoseconds: 20 to 60 from the vDSO, 200 and more by a system call.
/// Every request takes two reads.
const CLOCK_NS: (f64, f64) = (150.0, 2000.0);
/// Open files, of which each connection takes one: too few below these.
const FILES: (f64, f64) = (10_000.0, 1024.0);
/// Local ports to one address, of which each connection takes one: too few below these.
const PORTS: (f64, f64) = (10_000.0, 1024.0);

/// Judges an observation.
pub fn checkup(of: &Observed) -> Checkup {
    let checks: Vec<Checked> = CHECKS.iter().map(|check| check(of)).collect();
    Checkup {
        schema: SCHEMA.to_string(),
        host: of.facts.hostname.clone(),
        kernel: of.facts.kernel.clone(),
        length_s: of.length_ns as f64 / NS_PER_S as f64,
        fit: checks.iter().all(|check| check.fitness != Fitness::Unfit),
        checks,
    }
}

/// Every check.
const CHECKS: &[fn(&Observed) -> Checked] =
    &[cpus, quota, frequency, steal, others, daemons, late_sends, clock, files, ports, drivers];

fn checked(name: &str, fitness: Fitness, found: String, (cost, change): (&str, &str)) -> Checked {
    let is_fit = fitness == Fitness::Fit;
    let if_not = |text: &str| if is_fit { String::new() } else { text.to_string() };
    Checked { name: name.to_string(), fitness, found, cost: if_not(cost), change: if_not(change) }
}

fn not_known(name: &str) -> Checked {
    checked(name, Fitness::NotKnown, "could not be read".to_string(), ("", ""))
}

/// A figure that should be small.
fn above(value: f64, (caution, unfit): (f64, f64)) -> Fitness {
    match value {
        value if value >= unfit => Fitness::Unfit,
        value if value >= caution => Fitness::Caution,
        _ => Fitness::Fit,
    }
}

/// A figure that should be large.
fn below(value: f64, (caution, unfit): (f64, f64)) -> Fitness {
    above(-value, (-caution, -unfit))
}

fn cpus(of: &Observed) -> Checked {
    let (allowed, online) = (usable_cpus(&of.facts).len(), of.facts.cpus_online.len());
    let fitness = if allowed < 2 { Fitness::Caution } else { Fitness::Fit };
    let found = format!("{allowed} of {online} may be used");
    let cost = "a server on this host and the generator take turns on one CPU";
    let change = "measure a server on another host, or allow more CPUs: taskset -pc 0-7 $$";
    checked("CPUs", fitness, found, (cost, change))
}

fn quota(of: &Observed) -> Checked {
    let share = |quota: &model::facts::CpuQuota| {
        Some(quota.quota_us? as f64 / quota.period_us.filter(|period| *period > 0)? as f64)
    };
    let least = of.facts.quotas.iter().filter_map(share).min_by(f64::total_cmp);
    let Some(cpus) = least else {
        return checked("CPU quota", Fitness::Fit, "none".to_string(), ("", ""));
    };
    let periods = |quotas: &[model::reading::QuotaUse]| -> u64 {
        quotas.iter().map(|quota| quota.throttled_periods).sum()
    };
    let throttled = periods(&of.quotas.1).saturating_sub(periods(&of.quotas.0));
    let fitness = if cpus < 1.0 || throttled > 0 { Fitness::Unfit } else { Fitness::Caution };
    let found = format!("{cpus:.2} CPUs, throttled in {throttled} periods meanwhile");
    let cost = "the control group stops the generator until the next period, up to 100 ms";
    let change = "raise cpu.max of the group, or --cpus of the container";
    checked("CPU quota", fitness, found, (cost, change))
}

fn frequency(of: &Observed) -> Checked {
    let found = match of.governors.is_empty() {
        true => "the host decides (no governor is visible here)".to_string(),
        false => format!("governor {}", of.governors.join(", ")),
    };
    let is_slow = of.governors.iter().any(|governor| governor != "performance");
    let fitness = if is_slow { Fitness::Caution } else { Fitness::Fit };
    let cost = "CPUs start slow and speed up under load, so short runs differ from long ones";
    let change = "sudo ceiling tune apply --only cpu-clock";
    checked("CPU clock", fitness, found, (cost, change))
}

/// Shares of CPU time of an observation, per cent: steal, and what is busy besides steal and us.
fn shares(of: &Observed) -> Option<(f64, f64)> {
    let sum = |cpus: &[CpuTimes], of: fn(&CpuTimes) -> u64| cpus.iter().map(of).sum::<u64>();
    let grown = |value: fn(&CpuTimes) -> u64| {
        sum(&of.cpus.1, value).saturating_sub(sum(&of.cpus.0, value)) as f64
    };
    let total = Some(grown(CpuTimes::total)).filter(|total| *total > 0.0)?;
    let steal = grown(|cpu| cpu.steal);
    let own = of.own_cpu_ns as f64 / of.facts.clock_tick_ns.max(1) as f64;
    let others = (grown(CpuTimes::busy) - steal - own).max(0.0);
    Some((100.0 * steal / total, 100.0 * others / total))
}

fn steal(of: &Observed) -> Checked {
    let Some((steal, _)) = shares(of) else { return not_known("steal") };
    let cost =
        "the hypervisor runs other guests meanwhile: latencies have gaps that no server caused";
    let change = "use a machine with dedicated CPUs; shared ones differ from hour to hour";
    checked(
        "steal",
        above(steal, STEAL_PERCENT),
        format!("{steal:.1} % of CPU time"),
        (cost, change),
    )
}

fn others(of: &Observed) -> Checked {
    let Some((_, others)) = shares(of) else { return not_known("other processes") };
    let cost = "they take CPUs from server and generator, and evict their caches";
    let change = "stop them, or keep them off with --cpus and a control group; top names them";
    let found = format!("{others:.1} % of CPU time");
    checked("other processes", above(others, OTHERS_PERCENT), found, (cost, change))
}

/// The load's own figures show what a job costs; moved interrupts only show in what changes.
fn daemons(of: &Observed) -> Checked {
    let moves = of.daemons.iter().any(|daemon| daemon.starts_with("irqbalance"));
    let fitness = if moves { Fitness::Caution } else { Fitness::Fit };
    let found = match of.daemons.is_empty() {
        true => "neither irqbalance nor cron runs".to_string(),
        false => format!("running: {}", of.daemons.join(", ")),
    };
    let cost = "it moves interrupts between CPUs, so parts of one measurement may differ";
    let change = "sudo ceiling tune apply --only irqbalance; cron is another knob: --only cron";
    checked("daemons", fitness, found, (cost, change))
}

fn late_sends(of: &Observed) -> Checked {
    let Some(p99) = of.late_ns.p99 else { return not_known("noise") };
    let max = of.late_ns.max.unwrap_or(p99);
    let found =
        format!("a thread runs p99 {}, max {} late", show_ns(p99 as f64), show_ns(max as f64));
    let cost = "requests of an open loop leave late by this, and responses are stamped late";
    let change = "stop other load; on bare metal: sudo ceiling tune apply --only cpu-idle \
                  --profile latency";
    checked("noise", above(p99 as f64, LATE_NS), found, (cost, change))
}

fn clock(of: &Observed) -> Checked {
    let source = of.facts.clock_source.as_deref().unwrap_or("unknown");
    let found = format!("{source}, {:.0}ns per read", of.clock_read_ns);
    let cost = "every request reads it twice; as system calls these cost more than the request";
    let change = "write tsc to /sys/devices/system/clocksource/clocksource0/current_clocksource, \
                  if the kernel offers it";
    checked("clock", above(of.clock_read_ns, CLOCK_NS), found, (cost, change))
}

fn files(of: &Observed) -> Checked {
    let (soft, hard) = of.facts.open_files_limit;
    let shown = |limit: u64| if limit == u64::MAX { "no limit".into() } else { limit.to_string() };
    let found = format!("soft {}, hard {}", shown(soft), shown(hard));
    let cost = "a connection takes one; ceiling raises the soft limit by itself, not the hard one";
    let change = "ulimit -Hn 1048576 as root, or nofile in /etc/security/limits.conf";
    checked("open files", below(hard as f64, FILES), found, (cost, change))
}

fn ports(of: &Observed) -> Checked {
    let range = of.facts.sysctls.get("net.ipv4.ip_local_port_range");
    let ends = range.map(|range| range.split_whitespace().filter_map(|end| end.parse().ok()));
    let ends: Vec<u32> = ends.into_iter().flatten().collect();
    let [first, last] = ends[..] else { return not_known("local ports") };
    let count = (last + 1).saturating_sub(first);
    let found = format!("{count} to one address ({first} to {last})");
    let cost = "a connection to one address takes one, and keeps it for 60 s after it closes";
    let change = "sudo ceiling tune apply --only ip-local-port-range, or more addresses (--source)";
    checked("local ports", below(f64::from(count), PORTS), found, (cost, change))
}

fn drivers(of: &Observed) -> Checked {
    let ktls = if of.ktls.is_ok() { ", kernel TLS" } else { "" };
    let (fitness, found) = match &of.uring {
        Ok(()) => (Fitness::Fit, format!("uring, epoll{ktls}")),
        Err(why) => (Fitness::Caution, format!("epoll{ktls}; uring: {why}")),
    };
    let cost = "epoll takes more system calls and more of the generator's CPU per request";
    let change = "a kernel of 6.0 or later, and kernel.io_uring_disabled=0; a container may forbid \
                  it by seccomp";
    checked("drivers", fitness, found, (cost, change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::histogram::Summary;
    use model::reading::QuotaUse;

    fn quiet() -> Observed {
        let cpu = |idle, user, steal| CpuTimes { cpu: 0, user, idle, steal, ..CpuTimes::default() };
        let mut facts = fixture::host();
        facts.cpus_allowed = vec![0, 1];
        facts.quotas.clear();
        facts.open_files_limit = (1024, 1 << 20);
        facts.clock_tick_ns = 10_000_000;
        let range = ("net.ipv4.ip_local_port_range".to_string(), "32768\t60999".to_string());
        facts.sysctls.extend([range]);
        Observed {
            facts,
            cpus: (vec![cpu(0, 0, 0)], vec![cpu(600, 10, 0)]),
            own_cpu_ns: 100_000_000,
            length_ns: 3_000_000_000,
            quotas: (vec![], vec![]),
            late_ns: Summary { p99: Some(60_000), max: Some(90_000), ..Summary::default() },
            clock_read_ns: 25.0,
            governors: vec![],
            daemons: vec!["cron (process 9)".to_string()],
            uring: Ok(()),
            ktls: Err("no module".to_string()),
        }
    }

    fn fitness(of: &Observed, name: &str) -> Fitness {
        let checkup = checkup(of);
        let is_unfit = |check: &Checked| check.fitness == Fitness::Unfit;
        assert_eq!(checkup.fit, !checkup.checks.iter().any(is_unfit));
        checkup.checks.iter().find(|check| check.name == name).unwrap().fitness
    }

    #[test]
    fn a_quiet_host_is_fit_and_nothing_has_to_be_changed() {
        let checkup = checkup(&quiet());
        assert!(checkup.fit);
        for check in &checkup.checks {
            assert_eq!(check.fitness, Fitness::Fit, "{check:?}");
            assert!(check.cost.is_empty() && check.change.is_empty(), "{check:?}");
        }
    }

    #[test]
    fn each_trouble_is_found_by_its_check() {
        let with = |change: fn(&mut Observed)| {
            let mut of = quiet();
            change(&mut of);
            of
        };
        type Trouble = fn(&mut Observed);
        let cases: [(&str, Trouble, Fitness); 16] = [
            ("CPUs", |of| of.facts.cpus_allowed = vec![1], Fitness::Caution),
            ("CPUs", |of| of.facts.cpus_allowed = vec![1, 2, 3], Fitness::Caution),
            ("CPU clock", |of| of.governors = vec!["powersave".into()], Fitness::Caution),
            ("steal", |of| of.cpus.1[0].steal = 20, Fitness::Caution),
            ("steal", |of| of.cpus.1[0].steal = 200, Fitness::Unfit),
            ("other processes", |of| of.cpus.1[0].user = 100, Fitness::Caution),
            ("other processes", |of| of.cpus.1[0].user = 1000, Fitness::Unfit),
            ("other processes", |of| of.cpus.1.clear(), Fitness::NotKnown),
            ("daemons", |of| of.daemons.push("irqbalance (process 7)".into()), Fitness::Caution),
            ("noise", |of| of.late_ns.p99 = Some(300_000), Fitness::Caution),
            ("noise", |of| of.late_ns.p99 = Some(4_000_000), Fitness::Unfit),
            ("noise", |of| of.late_ns.p99 = None, Fitness::NotKnown),
            ("clock", |of| of.clock_read_ns = 600.0, Fitness::Caution),
            ("open files", |of| of.facts.open_files_limit = (256, 512), Fitness::Unfit),
            ("local ports", |of| of.facts.sysctls.clear(), Fitness::NotKnown),
            ("drivers", |of| of.uring = Err("seccomp".into()), Fitness::Caution),
        ];
        for (name, change, expected) in cases {
            assert_eq!(fitness(&with(change), name), expected, "{name}");
        }
    }

    /// The other profiles leave idle states alone, and without a profile nothing would be changed.
    #[test]
    fn the_command_against_late_threads_names_the_profile_that_does_it() {
        let mut of = quiet();
        of.late_ns.p99 = Some(300_000);
        let change = late_sends(&of).change;
        assert!(change.ends_with("tune apply --only cpu-idle --profile latency"), "{change}");
    }

    #[test]
    fn a_quota_costs_and_one_that_stops_us_is_unfit() {
        let mut of = quiet();
        let quota = model::facts::CpuQuota {
            group: "/a".to_string(),
            quota_us: Some(400_000),
            period_us: Some(100_000),
            version: 2,
        };
        of.facts.quotas = vec![quota];
        assert_eq!(fitness(&of, "CPU quota"), Fitness::Caution);
        of.quotas.1 = vec![QuotaUse { throttled_periods: 3, ..QuotaUse::default() }];
        assert_eq!(fitness(&of, "CPU quota"), Fitness::Unfit);
        of.quotas.1.clear();
        of.facts.quotas[0].quota_us = Some(50_000);
        assert_eq!(fitness(&of, "CPU quota"), Fitness::Unfit);
    }
}
