//! The setup: this host, the target, and the command and seed that repeat the run.

use super::{endpoints, security};
use crate::page::{Block, Column, Fact, Mark, Table};
use crate::wording::{or_dash, plural};
use model::facts::{
    Container, CpuAccounting, CpuQuota, FarHost, HostFacts, Privilege, ProcessFacts, ServerFacts,
    ServerNetwork, Unreadable,
};
use model::run::Run;
use model::units::{show_bytes, show_count, show_ns};

/// Host, target, server process tree, and the command.
pub fn facts(run: &Run) -> Vec<Block> {
    let record = &run.record;
    let mut facts = vec![
        Fact::new("Host", host_phrase(&record.host)),
        Fact::new("CPU", cpu_phrase(&record.host)),
    ];
    if let Some(quota) = tightest(&record.host.quotas) {
        facts.push(Fact::new("CPU limit", quota));
    }
    let addresses = endpoints::some_of(&record.target.addresses);
    facts.push(Fact::new("Target", format!("{} ({addresses})", record.target.url)));
    facts.extend(security::facts(run));
    let probe = record.target.probe.as_ref();
    match server(run) {
        Some((server, host)) => facts.push(Fact::new("Server", server_phrase(server, host))),
        None => facts.push(Fact::new("Server", "not watched: the server side is not measured")),
    }
    if let Some(probe) = probe {
        facts.push(Fact::new("Server host", host_phrase(&probe.host)));
        facts.push(Fact::new("Server CPU", cpu_phrase(&probe.host)));
        facts.push(Fact::new("Probe", probe_phrase(probe)));
    }
    let trial = &record.trial;
    let driver = format!("{}: {}", trial.driver.name(), trial.driver_reason);
    facts.push(Fact::new("Driver", driver));
    facts.push(Fact::new("Command", record.command.join(" ")));
    facts.push(Fact::new("Seed", record.seed.to_string()));
    vec![Block::Facts(facts)]
}

/// The server's process tree and its host: this host or that of the probe.
fn server(run: &Run) -> Option<(&ServerFacts, &HostFacts)> {
    let target = &run.record.target;
    if let Some(near) = &target.server {
        return Some((near, &run.record.host));
    }
    let probe = target.probe.as_ref()?;
    Some((probe.server.as_ref()?, &probe.host))
}

/// The number of these CPUs that are online. An affinity mask may name others.
fn online_of(cpus: &[u32], host: &HostFacts) -> usize {
    cpus.iter().filter(|cpu| host.cpus_online.contains(cpu)).count()
}

/// The processes of a server that has several: this tells a prefork server, or a server with a
/// helper, from one process with many threads. Identical processes share a row.
pub fn processes(run: &Run) -> Vec<Block> {
    let Some((server, host)) = server(run).filter(|(server, _)| server.pids.len() > 1) else {
        return vec![];
    };
    let mut columns = vec![Column::numbers("processes"), Column::words("name")];
    columns.extend(["threads", "CPUs", "listeners"].map(Column::numbers));
    columns.push(Column::words("pids"));
    let caption = "Processes of the server at the start of the run, with threads, allowed CPUs \
                   and listening sockets of each";
    let mut table = Table::new(columns).caption(caption);
    for alike in groups(&server.processes) {
        let first = alike[0];
        let cpus = first.cpus_allowed.as_ref();
        let cells = vec![
            alike.len().to_string(),
            first.name.clone(),
            first.threads.to_string(),
            or_dash(cpus, |cpus| online_of(cpus, host).to_string()),
            or_dash(first.listeners, |listeners| listeners.to_string()),
            pids_phrase(&alike),
        ];
        table.push(Mark::None, cells);
    }
    if table.rows.is_empty() { vec![] } else { vec![Block::Table(table)] }
}

/// Processes that differ only in their pid, ordered by the first of each group.
fn groups(processes: &[ProcessFacts]) -> Vec<Vec<&ProcessFacts>> {
    let mut groups: Vec<Vec<&ProcessFacts>> = Vec::new();
    for process in processes {
        let alike = |group: &Vec<&ProcessFacts>| {
            let first = group[0];
            let same = ProcessFacts { pid: first.pid, ..process.clone() };
            same == *first
        };
        match groups.iter_mut().find(|group| alike(group)) {
            Some(group) => group.push(process),
            None => groups.push(vec![process]),
        }
    }
    groups
}

/// The first few pids.
fn pids_phrase(processes: &[&ProcessFacts]) -> String {
    const SHOWN_MAX: usize = 4;
    let pids = processes.iter().take(SHOWN_MAX).map(|process| process.pid.to_string());
    let shown = pids.collect::<Vec<_>>().join(", ");
    match processes.len().checked_sub(SHOWN_MAX) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

/// Where the probe is, what it may read, its clock, and how it ended.
fn probe_phrase(probe: &FarHost) -> String {
    let sees = match probe.privilege {
        Privilege::None => "sees the host only",
        Privilege::ReadOnly => "sees the server's own files",
        Privilege::Root => "sees everything",
    };
    let clock = &probe.clock;
    let way = if clock.offset_ns < 0 { "behind" } else { "ahead" };
    let mut parts = vec![
        format!("on {}", probe.address),
        sees.to_string(),
        format!(
            "its clock is {} {way} of ours, known to within {} ({} round trips)",
            show_ns(clock.offset_ns.unsigned_abs() as f64),
            show_ns(clock.error_ns as f64),
            clock.round_trips
        ),
    ];
    parts.extend(probe.lost.as_ref().map(|why| format!("lost: {why}")));
    parts.join(", ")
}

fn host_phrase(host: &HostFacts) -> String {
    let machine = match host.virtual_machine {
        Some(true) => ", virtual machine",
        Some(false) => ", no hypervisor",
        None => "",
    };
    let product = host.machine.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    format!("{}, Linux {} {}{machine}{product}", host.hostname, host.kernel, host.arch)
}

fn cpu_phrase(host: &HostFacts) -> String {
    let model = host.cpu_model.as_deref().unwrap_or("unknown model");
    let online = plural(host.cpus_online.len() as u64, "CPU");
    let allowed = match online_of(&host.cpus_allowed, host) {
        count if count < host.cpus_online.len() => format!(", of which we may use {count}"),
        _ => String::new(),
    };
    let memory = or_dash(host.memory_bytes, |bytes| show_bytes(bytes as f64));
    format!("{model}, {online}{allowed}, {memory} of memory")
}

/// The control group of a chain with the lowest quota.
fn tightest(quotas: &[CpuQuota]) -> Option<String> {
    let cpus = |quota: &CpuQuota| Some(quota.quota_us? as f64 / quota.period_us? as f64);
    let limited = quotas.iter().filter_map(|quota| Some((cpus(quota)?, quota)));
    let (cpus, quota) = limited.min_by(|left, right| left.0.total_cmp(&right.0))?;
    let noun = if cpus == 1.0 { "CPU" } else { "CPUs" };
    Some(format!("{} {noun} by control group {}", show_count(cpus), quota.group))
}

fn server_phrase(server: &ServerFacts, host: &HostFacts) -> String {
    let mut parts = vec![
        format!("{} (pid {}, by {})", server.command, server.pid, server.found_by),
        plural(server.pids.len() as u64, "process").replace("processs", "processes"),
        plural(u64::from(server.threads), "thread"),
        plural(u64::from(server.listeners), "listening socket"),
        format!("may use {}", plural(online_of(&server.cpus_allowed, host) as u64, "CPU")),
    ];
    parts.extend(server.container.as_ref().map(container_phrase));
    parts.extend(server.network.as_deref().map(network_phrase));
    parts.extend(tightest(&server.quotas).map(|quota| format!("limited to {quota}")));
    let files = server.open_files_limit;
    parts.extend(files.map(|(soft, _)| format!("{} open files", show_count(soft as f64))));
    parts.join(", ")
}

fn container_phrase(container: &Container) -> String {
    let id: String = container.id.chars().take(12).collect();
    match &container.name {
        Some(name) if *name != id => format!("in container {name} ({} {id})", container.runtime),
        _ => format!("in container {id} ({})", container.runtime),
    }
}

/// Where the server's sockets and interfaces were read.
fn network_phrase(network: &ServerNetwork) -> String {
    let at = network.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let port = network.port.map_or(String::new(), |port| format!(" port {port}"));
    format!(
        "in a network namespace of its own ({}{port})",
        if at.is_empty() { "no address" } else { &at }
    )
}

/// Interfaces, kernel parameters and what could not be read.
pub fn reference(run: &Run) -> Vec<Block> {
    let host = &run.record.host;
    let mut blocks = vec![Block::Facts(vec![
        Fact::new("Clock", or_dash(host.clock_source.clone(), |name| name)),
        Fact::new("CPU accounting", accounting_phrase(host)),
        Fact::new(
            "Open files",
            format!("{} soft, {} hard", host.open_files_limit.0, host.open_files_limit.1),
        ),
    ])];
    let probe = run.record.target.probe.as_ref();
    let hosts = [Some((host, "")), probe.map(|probe| (&probe.host, " of the server's host"))];
    for (host, of) in hosts.into_iter().flatten() {
        blocks.extend(nics(host, of).map(Block::Table));
        blocks.extend(sysctls(host, of).map(Block::Table));
    }
    let server = run.record.target.server.as_ref();
    let unreadable = host.unreadable.iter().map(|missing| ("this host", missing));
    let of_server = server.into_iter().flat_map(|server| &server.unreadable);
    let mut all: Vec<_> = unreadable.chain(of_server.map(|missing| ("server", missing))).collect();
    if let Some(probe) = probe {
        all.extend(probe.host.unreadable.iter().map(|missing| ("the server's host", missing)));
        let of_server = probe.server.iter().flat_map(|server| &server.unreadable);
        all.extend(of_server.map(|missing| ("server", missing)));
    }
    blocks.extend(unreadable_table(&all).map(Block::Table));
    blocks
}

fn accounting_phrase(host: &HostFacts) -> String {
    match host.cpu_accounting {
        CpuAccounting::Tick => "sampled at the timer tick; interrupt time is not separate",
        CpuAccounting::TickWithIrqTime => "sampled at the timer tick, interrupt time separate",
        CpuAccounting::Precise => "precise",
        CpuAccounting::Unknown => "unknown, the kernel configuration was not readable",
    }
    .to_string()
}

fn nics(host: &HostFacts, of: &str) -> Option<Table> {
    let mut columns = ["interface", "driver"].map(Column::words).to_vec();
    let numbers = ["MTU", "Mbit/s", "rx/tx queues", "at most", "rings", "at most", "held us"];
    columns.extend(numbers.map(Column::numbers));
    let mut table = Table::new(columns).caption(format!("Network interfaces{of}")).folded();
    for nic in &host.nics {
        let of = &nic.settings;
        let rings = [of.rx_ring, of.tx_ring];
        let channels = match of.combined_channels.filter(|both| both.max > 0) {
            Some(both) => [Some(both); 2],
            None => [of.rx_channels, of.tx_channels],
        };
        let held = pair([of.rx_coalesce_us, of.tx_coalesce_us]);
        let adapts = if of.adaptive_rx_coalesce == Some(true) { ", adaptive" } else { "" };
        let cells = vec![
            nic.name.clone(),
            or_dash(nic.driver.clone(), |name| name),
            or_dash(nic.mtu, |mtu| mtu.to_string()),
            or_dash(nic.speed_mbps, |speed| speed.to_string()),
            format!("{}/{}", nic.rx_queues, nic.tx_queues),
            or_dash(pair(channels.map(|one| Some(one?.max))), |most| most),
            or_dash(pair(rings.map(|one| Some(one?.now))), |now| now),
            or_dash(pair(rings.map(|one| Some(one?.max))), |most| most),
            or_dash(held, |held| format!("{held}{adapts}")),
        ];
        table.push(Mark::None, cells);
    }
    let notes = "Rings: descriptors of a queue. Held: how long an interrupt may be held back.";
    table.notes.push(notes.to_string());
    (!table.rows.is_empty()).then_some(table)
}

/// A value for receiving and one for sending, where the driver says either.
fn pair(values: [Option<u32>; 2]) -> Option<String> {
    let shown = values.map(|value| or_dash(value, |value| value.to_string()));
    (values != [None; 2]).then(|| shown.join("/"))
}

fn sysctls(host: &HostFacts, of: &str) -> Option<Table> {
    let columns = ["parameter", "value"].map(Column::words).to_vec();
    let mut table = Table::new(columns).caption(format!("Kernel parameters{of}")).folded();
    for (name, value) in &host.sysctls {
        table.push(Mark::None, vec![name.clone(), value.clone()]);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn unreadable_table(missing: &[(&str, &Unreadable)]) -> Option<Table> {
    let columns = ["of", "source", "because"].map(Column::words).to_vec();
    let mut table = Table::new(columns).caption("What could not be read");
    for (of, unreadable) in missing {
        let cells = vec![(*of).to_string(), unreadable.source.clone(), unreadable.why.clone()];
        table.push(Mark::Caution, cells);
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn cells(of: Vec<ProcessFacts>) -> Vec<Vec<String>> {
        let (_, mut run) = fixtures::all().swap_remove(0);
        let server = run.record.target.server.as_mut().expect("watched");
        server.pids = of.iter().map(|process| process.pid).collect();
        server.processes = of;
        let blocks = processes(&run);
        let rows = blocks.iter().flat_map(|block| match block {
            Block::Table(table) => table.rows.clone(),
            _ => vec![],
        });
        rows.map(|row| row.cells).collect()
    }

    #[test]
    fn workers_that_are_alike_share_a_row() {
        let workers = (11..17).map(|pid| fixtures::process(pid, 5, 1));
        let rows = cells([fixtures::process(10, 9, 0)].into_iter().chain(workers).collect());
        let cpus = fixtures::process(0, 0, 0).cpus_allowed.unwrap().len().to_string();
        let name = "target-fasthttp";
        assert_eq!(rows[0], ["1", name, "9", &cpus, "0", "10"]);
        assert_eq!(rows[1], ["6", name, "5", &cpus, "1", "11, 12, 13, 14 and 2 more"]);
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn cpus_that_are_offline_cannot_be_used() {
        let (_, run) = fixtures::all().swap_remove(0);
        let (mut server, mut host) = (run.record.target.server.unwrap(), run.record.host);
        host.cpus_online = vec![0, 1, 2];
        host.cpus_allowed = vec![0, 1, 2, 3];
        server.cpus_allowed = vec![2, 3];
        assert!(!cpu_phrase(&host).contains("of which"), "{}", cpu_phrase(&host));
        let phrase = server_phrase(&server, &host);
        assert!(phrase.contains("may use 1 CPU,") || phrase.ends_with("may use 1 CPU"), "{phrase}");
        host.cpus_allowed = vec![0, 3];
        assert!(cpu_phrase(&host).contains("3 CPUs, of which we may use 1,"));
    }

    #[test]
    fn what_could_not_be_read_is_not_zero() {
        let hidden =
            ProcessFacts { cpus_allowed: None, listeners: None, ..fixtures::process(11, 5, 1) };
        let rows = cells(vec![fixtures::process(10, 9, 0), hidden]);
        assert_eq!((rows[1][3].as_str(), rows[1][4].as_str()), ("-", "-"));
    }

    #[test]
    fn one_process_is_no_inventory() {
        assert!(cells(vec![fixtures::process(10, 9, 1)]).is_empty());
    }
}
