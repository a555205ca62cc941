//! The charts of both hosts, in reading order: a row each.
//!
//! Most draw the figures of sources as lines. The row says which, and a function here picks them
//! from a reading. A chart of another shape has a file of its own.

use super::side::{Side, named};
use super::{HostChart, LineChart, Of, around, chart, grown, throttling, was};
use super::{cpus, doing, interrupts, links, processes, softirq, states, threads};
use crate::wording::per_second;
use model::metric::Kind;
use model::reading::{
    Data, Downstream, Interface, Listener, OpenFiles, Qdisc, SocketSample, Value, Values,
};
use model::unit::Unit;
use observe::Process;

/// Every chart in reading order. Evidence from a source links to the first chart that reads it.
pub(super) const REGISTRY: &[HostChart] = &[
    chart("cpus", "CPU by CPU", &["cpus"]).by(cpus::draw),
    chart("cpu-states", "CPU time by state", &["cpus"]).by(states::draw),
    chart("client-threads", "Threads of the generator", &["client_threads"])
        .of(Of::Client)
        .row("threads")
        .by(|side, chart| threads::draw(side, chart, Process::Client)),
    chart("server-threads", "Threads of the server", &["server_threads", Values::SERVER_SOCKETS])
        .of(Of::Server)
        .row("threads")
        .without("the server was not found, or its files could not be read")
        .by(|side, chart| threads::draw(side, chart, Process::Server)),
    chart("cpu-processes", "Who used the CPUs", &["client_threads", "server_threads"])
        .by(processes::draw),
    chart("thread-states", "States of server threads", &["server_threads_now"])
        .of(Of::Server)
        .without("its files could not be read")
        .by(doing::draw),
    chart("throttling", "CPU quotas", &["client_quota", "server_quota"])
        .without("no CPU control group")
        .by(throttling::draw),
    chart("pressure", "Pressure (PSI)", &[Values::PRESSURE])
        .without("the kernel has no /proc/pressure")
        .lines(
            LineChart::new("time stalled", Unit::Percent, &[grown(Values::PRESSURE, stalls)])
                .share_of(Unit::Us)
                .note("Some: at least one task waited. All: every task that was not idle waited."),
        ),
    chart("interrupts", "Interrupts by queue", &["interrupts"]).by(interrupts::draw),
    chart("softirq", "Receive softirq by CPU", &["softnet", "softirqs"]).by(softirq::draw),
    chart("links", "Interfaces", &["interfaces"]).of(Of::Network).by(links::draw),
    chart("packets", "Packets", &["interfaces"]).of(Of::Network).lines(
        LineChart::new("packets", Unit::PerSecond, &[grown("interfaces", packets)])
            .note("Packets as the driver counts them; some drivers count several segments as one.")
            .around(|side| match packets_limit(side) {
                None => around(""),
                Some(limit) => around(format!(
                    "The link carries {} in both directions together.",
                    per_second(limit)
                ))
                .limit("the link is full", Some(limit)),
            }),
    ),
    chart("drivers", "Losses in network drivers", &[Values::DRIVERS])
        .of(Of::Network)
        .without("no driver has statistics")
        .lines(LineChart::new("per second", Unit::PerSecond, &[grown(Values::DRIVERS, losses)])),
    chart("qdiscs", "Queueing disciplines", &["qdiscs"]).of(Of::Network).lines(
        LineChart::new("per second", Unit::PerSecond, &[grown("qdiscs", held).wraps()])
            .note("Packets dropped, and times packets were held back."),
    ),
    chart("tcp", "TCP losses", &[Values::TCP]).of(Of::Network).lines(
        LineChart::new("per second", Unit::PerSecond, &[grown(Values::TCP, tcp_losses)])
            .note("Of the whole network namespace."),
    ),
    chart("accept-queue", "Accept queues", &["listeners"])
        .of(Of::ServerNetwork)
        .without("sock_diag reports none")
        .lines(
            LineChart::new("connections", Unit::Count, &[was("listeners", Kind::Max, queued)])
                .around(|side| {
                    let all = || {
                        side.clocked.data().filter_map(|(_, data)| match data {
                            Data::Listeners(all) => Some(all),
                            _ => None,
                        })
                    };
                    let shortest = all().flatten().map(|one| one.backlog).min().map(f64::from);
                    let is_one = all().all(|listeners| listeners.len() < 2);
                    let which = if is_one { "The queue" } else { "The shortest queue" };
                    let note = shortest.map_or(String::new(), |length| {
                        format!("Maximum in each interval. {which} holds at most {length:.0}.")
                    });
                    // The sum of several queues has no limit of its own.
                    around(note).limit("the queue is full", shortest.filter(|_| is_one))
                }),
        ),
    chart("connections", "Unread and unsent bytes", &["connections"])
        .of(Of::Network)
        .without("no connection was sampled")
        .lines(
            LineChart::new(
                "share of connections",
                Unit::Percent,
                &[was("connections", Kind::Mean, waiting)],
            )
            .note(
                "Share of the connections sampled about once a second with: requests that the \
                 server has not read, responses that it has not sent or that are not \
                 acknowledged, responses that the generator has not read.",
            ),
        ),
    chart("sockets", "TCP sockets by state", &[Values::SOCKETS]).of(Of::Network).lines(
        LineChart::new("sockets", Unit::Count, &[was(Values::SOCKETS, Kind::Max, sockets)])
            .note("Maximum in each interval."),
    ),
    chart("conntrack", "Connection tracking", &["conntrack"])
        .of(Of::Network)
        .without("the kernel tracks none")
        .lines(
            LineChart::new(
                "entries",
                Unit::Count,
                &[was("conntrack", Kind::Max, entries), grown("conntrack", untracked)],
            )
            .around(|side| {
                let max = side.seen(|of| of.conntrack).map(|(table, _)| table.max);
                let note = max.map(|max| format!("The table can hold {max} entries."));
                around(note.unwrap_or_default())
                    .limit("the table is full", max.map(|max| max as f64))
            }),
        ),
    chart("downstreams", "Services the server calls", &["downstreams"])
        .of(Of::ServerNetwork)
        .lines(
            LineChart::new(
                "connections",
                Unit::Count,
                &[was("downstreams", Kind::Mean, downstreams)],
            )
            .none_is_zero()
            .note("Connections that the server opened, and those waiting for a response."),
        ),
    chart("reclaim", "Reclaim of memory", &[Values::MEMORY]).lines(
        LineChart::new("pages or events", Unit::PerSecond, &[grown(Values::MEMORY, reclaimed)])
            .note("Of the whole host, named as in /proc/vmstat."),
    ),
    chart("memory", "Memory of the server", &[Values::MEMORY])
        .of(Of::Server)
        .without("no memory control group")
        .lines(
            LineChart::new("memory", Unit::Bytes, &[was(Values::MEMORY, Kind::Max, used)]).around(
                |side| {
                    let limit = side.clocked.data().rev().find_map(|(_, data)| match data {
                        Data::Values(of) if of.source == Values::MEMORY => {
                            of.values.get("server.limit_bytes")?.real()
                        }
                        _ => None,
                    });
                    around("").limit("limit of the group", limit)
                },
            ),
        ),
    chart("disks", "Disks", &["disks"]).without("no block device").lines(
        LineChart::new("time in use", Unit::Percent, &[grown("disks", busy_ms).wraps()])
            .share_of(Unit::Ms)
            .note("Time with requests in flight."),
    ),
    chart("files", "Open descriptors", &["client_files", "server_files"]).lines(
        LineChart::new(
            "descriptors",
            Unit::Count,
            &[
                was("client_files", Kind::Max, open_files),
                was("server_files", Kind::Max, open_files),
            ],
        )
        .around(|side| {
            let limit = |wanted: &str| {
                let mut all = side.clocked.data().rev().filter_map(|(_, data)| files(data));
                all.find(|(whose, _)| *whose == wanted).map(|(_, files)| files.limit)
            };
            let limits = ["generator", "server"].map(|whose| (whose, limit(whose)));
            let limit_note = |(whose, limit): &(&str, Option<u64>)| {
                limit.map(|limit| format!("Limit of the {whose}: {limit}."))
            };
            let note = limits.iter().filter_map(limit_note).collect::<Vec<_>>().join(" ");
            limits.into_iter().fold(around(note), |around, (whose, limit)| {
                around.limit(&format!("limit of the {whose}"), limit.map(|limit| limit as f64))
            })
        }),
    ),
    chart("runtime", "Runtime of the server", &[Values::SERVER_RUNTIME])
        .of(Of::Server)
        .without("the server does not report it")
        .lines(
            LineChart::new(
                "CPUs or goroutines",
                Unit::Cpus,
                &[grown(Values::SERVER_RUNTIME, runtime_times)],
            )
            .note("Seconds that the runtime counted per second."),
        ),
];

type Picked = Vec<(String, f64)>;

fn stalls(_: &Side<'_>, data: &Data) -> Picked {
    const NAMES: &[(&str, &str)] = &[
        ("cpu.some", "CPU some"),
        ("cpu.full", "CPU all"),
        ("memory.some", "memory some"),
        ("memory.full", "memory all"),
        ("io.some", "I/O some"),
        ("io.full", "I/O all"),
        ("irq.full", "interrupts all"),
    ];
    named(data, NAMES)
}

fn tcp_losses(_: &Side<'_>, data: &Data) -> Picked {
    const NAMES: &[(&str, &str)] = &[
        ("Tcp.RetransSegs", "segments resent"),
        ("TcpExt.TCPTimeouts", "timeouts"),
        ("TcpExt.ListenOverflows", "accept overflows"),
        ("TcpExt.ListenDrops", "listen drops"),
        ("TcpExt.TCPReqQFullDrop", "SYN queue drops"),
        ("TcpExt.TCPReqQFullDoCookies", "SYN cookies"),
        ("TcpExt.TCPBacklogDrop", "backlog drops"),
        ("TcpExt.TCPRcvQDrop", "receive drops"),
        ("TcpExt.PruneCalled", "buffers pruned"),
        ("TcpExt.TCPAbortOnMemory", "aborts: no memory"),
        ("TcpExt.TCPAbortOnTimeout", "aborts by timeout"),
        ("Tcp.AttemptFails", "connects failed"),
        ("Tcp.EstabResets", "connections reset"),
    ];
    named(data, NAMES)
}

fn sockets(_: &Side<'_>, data: &Data) -> Picked {
    const NAMES: &[(&str, &str)] = &[
        ("TCP.inuse", "in use (IPv4)"),
        ("TCP6.inuse", "in use (IPv6)"),
        ("TCP.tw", "TIME_WAIT"),
        ("TCP.orphan", "without a process"),
        ("TCP.alloc", "allocated"),
    ];
    named(data, NAMES)
}

/// The values of a source whose names make readable ones.
fn renamed(data: &Data, name: impl Fn(&str) -> Option<String>) -> Picked {
    let Data::Values(of) = data else { return Vec::new() };
    let one = |(field, value): (&String, &Value)| Some((name(field)?, value.real()?));
    of.values.iter().filter_map(one).collect()
}

fn reclaimed(_: &Side<'_>, data: &Data) -> Picked {
    renamed(data, |name| (!name.ends_with("_bytes")).then(|| name.to_string()))
}

fn used(_: &Side<'_>, data: &Data) -> Picked {
    renamed(data, |name| {
        let what = name.strip_prefix("server.")?.strip_suffix("_bytes")?;
        (what != "limit").then(|| what.replace('_', " "))
    })
}

fn runtime_times(_: &Side<'_>, data: &Data) -> Picked {
    renamed(data, |name| Some(name.strip_suffix("_seconds")?.replace('_', " ")))
}

fn busy_ms(_: &Side<'_>, data: &Data) -> Picked {
    let Data::Disks(disks) = data else { return Vec::new() };
    disks.iter().map(|disk| (disk.name.clone(), disk.busy_ms as f64)).collect()
}

/// The remainder of an allowance is a state, not a loss.
fn losses(_: &Side<'_>, data: &Data) -> Picked {
    let Data::Values(of) = data else { return Vec::new() };
    let mut losses = Vec::new();
    for (interface, value) in &of.values {
        let Value::Named(counters) = value else { continue };
        for (name, count) in counters.iter().filter(|(name, _)| !name.ends_with("_available")) {
            losses.push((format!("{interface} {name}"), *count as f64));
        }
    }
    losses
}

fn held(_: &Side<'_>, data: &Data) -> Picked {
    let Data::Qdiscs(qdiscs) = data else { return Vec::new() };
    let both = |one: &Qdisc| {
        let name = format!("{} {} {:x}:", one.interface, one.kind, one.handle >> 16);
        [
            (format!("{name} dropped"), f64::from(one.drops)),
            (format!("{name} held back"), f64::from(one.overlimits)),
        ]
    };
    qdiscs.iter().flat_map(both).collect()
}

/// The stated limit of both directions together.
fn packets_limit(side: &Side<'_>) -> Option<f64> {
    side.stated().and_then(|limits| limits.packets_s).map(|packets| packets as f64)
}

/// With a limit of both directions together, their sum is a line as well.
fn packets(side: &Side<'_>, data: &Data) -> Picked {
    let Data::Interfaces(links) = data else { return Vec::new() };
    let has_limit = packets_limit(side).is_some();
    let all = |link: &Interface| {
        let name = &link.name;
        // As floats: the numbers of a stored run may be any.
        let both = link.rx_packets as f64 + link.tx_packets as f64;
        let both = has_limit.then(|| (format!("{name} both directions"), both));
        let each = [
            (format!("{name} received"), link.rx_packets as f64),
            (format!("{name} sent"), link.tx_packets as f64),
            (format!("{name} dropped"), link.rx_dropped as f64 + link.tx_dropped as f64),
        ];
        both.into_iter().chain(each)
    };
    links.iter().flat_map(all).collect()
}

fn queued(_: &Side<'_>, data: &Data) -> Picked {
    let Data::Listeners(all) = data else { return Vec::new() };
    let queued = |one: &Listener| f64::from(one.queued);
    let sum: f64 = all.iter().map(queued).sum();
    let most = all.iter().map(queued).fold(0.0, f64::max);
    match all.len() {
        0 => Vec::new(),
        1 => vec![("the queue".to_string(), sum)],
        queues => vec![(format!("all {queues} queues"), sum), ("the longest".to_string(), most)],
    }
}

/// The kernel counts the end of a connection as one byte; no request or response is that short.
const UNREAD_MIN: u32 = 1;

fn waiting(_: &Side<'_>, data: &Data) -> Picked {
    let Data::Connections(all) = data else { return Vec::new() };
    let of = |name: &str,
              is_servers: fn(&SocketSample) -> bool,
              waits: fn(&SocketSample) -> bool| {
        let ends = || all.iter().filter(|one| is_servers(one));
        let share = 100.0 * ends().filter(|one| waits(one)).count() as f64 / ends().count() as f64;
        share.is_finite().then(|| (name.to_string(), share))
    };
    let unread = |one: &SocketSample| one.receive_queue > UNREAD_MIN;
    let lines = [
        of("requests not read", |one| one.server_side, unread),
        of("responses not acked", |one| one.server_side, |one| one.send_queue > 0),
        of("responses not sent", |one| one.server_side, |one| one.unsent > 0),
        of("responses not read", |one| !one.server_side, unread),
    ];
    lines.into_iter().flatten().collect()
}

fn entries(_: &Side<'_>, data: &Data) -> Picked {
    match data {
        Data::Conntrack(table) => vec![("entries".to_string(), table.count as f64)],
        _ => Vec::new(),
    }
}

fn untracked(_: &Side<'_>, data: &Data) -> Picked {
    match data {
        Data::Conntrack(table) => vec![
            ("packets dropped/s".to_string(), table.dropped as f64),
            ("entries removed early/s".to_string(), table.early_dropped as f64),
        ],
        _ => Vec::new(),
    }
}

fn downstreams(_: &Side<'_>, data: &Data) -> Picked {
    let Data::Downstreams(all) = data else { return Vec::new() };
    let both = |one: &Downstream| {
        [
            (format!("{}: open", one.to), f64::from(one.connections + one.opening)),
            (format!("{}: waiting", one.to), f64::from(one.waiting + one.opening)),
        ]
    };
    all.iter().flat_map(both).collect()
}

fn files(data: &Data) -> Option<(&'static str, &OpenFiles)> {
    match data {
        Data::ClientFiles(files) => Some(("generator", files)),
        Data::ServerFiles(files) => Some(("server", files)),
        _ => None,
    }
}

fn open_files(_: &Side<'_>, data: &Data) -> Picked {
    let open = files(data).map(|(whose, files)| (whose.to_string(), files.open as f64));
    open.into_iter().collect()
}
