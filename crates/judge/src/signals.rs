//! What a run says about which knobs can matter: the figures of its best point, by host.
//!
//! In: a run with its readings. Out: [`Signals`]. What was not read stays absent, so that a
//! prediction from it is "unknown" and not "zero".

use crate::case::{Case, Whose};
use crate::rejudge;
use crate::walls::resent;
use crate::{gates, ramp::last_visits, stats, steady, verdict::Context};
use model::facts::{HostFacts, Nic};
use model::reading::OpenFiles;
use model::route::Address;
use model::run::{Point, Run};
use model::tuning::{CpuSignal, Side, Signals};
use model::verdict::{Ceiling, IntervalKind, Named, Verdict};
use model::wall::{self, WallId};
use observe::{Capacity, CpuShare, LinkUse, Observed, QuotaShare, Raw, SocketCensus, ThreadShare};
use std::collections::BTreeMap;

/// A CPU that is busy for less than this has no reason to run at its highest clock.
const WORKS: f64 = 0.5;

/// The signals of a run at its best valid point; if it has none, at its fastest point.
pub fn signals(run: &Run) -> Signals {
    let record = &run.record;
    let Some(point) = best(&record.points) else { return of_verdict(&record.verdict, &record.id) };
    let observed = Raw::from(run).observed(record, point);
    let signals = of_point(rejudge::context_of(record), point, &observed, &record.verdict);
    Signals { run: record.id.clone(), ..signals }
}

/// The point with the highest rate whose gates hold; if all are broken, the fastest.
pub(crate) fn best(points: &[Point]) -> Option<&Point> {
    let visits = last_visits(points);
    let by_rate =
        |left: &&Point, right: &&Point| left.headline_rate().total_cmp(&right.headline_rate());
    let all = || visits.iter().map(|index| &points[*index]);
    let sound = all().filter(|point| gates::is_rate_known(point));
    sound.max_by(by_rate).or_else(|| all().max_by(by_rate))
}

/// The signals of one point, with the verdict of its run.
pub fn of_point(
    context: Context<'_>,
    point: &Point,
    observed: &Observed,
    verdict: &Verdict,
) -> Signals {
    of_case(&context.case(point, observed), verdict)
}

fn of_verdict(verdict: &Verdict, run: &str) -> Signals {
    let is_valid = verdict.side != wall::Side::Measurement;
    Signals {
        run: run.to_string(),
        wall: Some(verdict.wall).filter(|_| is_valid),
        confidence: Some(verdict.confidence).filter(|_| is_valid),
        client_is_wall: verdict.side == wall::Side::Client,
        is_inside: is_valid && is_inside(verdict),
        ..Signals::default()
    }
}

/// Walls that no setting of a host moves.
const INSIDE: [WallId; 5] = [WallId::A1, WallId::A2, WallId::A3, WallId::A4, WallId::A10];

/// Whether the wall, or each possible wall, is inside the application.
fn is_inside(verdict: &Verdict) -> bool {
    let is_one = |wall: Named| matches!(wall, Named::Wall(wall) if INSIDE.contains(&wall));
    let mut possible = verdict.alternatives.iter().map(|one| one.wall);
    match verdict.wall {
        Named::Unknown => !verdict.alternatives.is_empty() && possible.all(is_one),
        wall => is_one(wall),
    }
}

fn of_case(case: &Case<'_>, verdict: &Verdict) -> Signals {
    let point = case.point;
    let responses: u64 = point.status.values().sum();
    let each = |bytes: u64, count: u64| (count > 0).then(|| bytes as f64 / count as f64);
    let rate = Some(point.headline_rate()).filter(|rate| *rate > 0.0);
    Signals {
        is_one_host: case.is_one_host() || case.shares_cpus(),
        neighbours: case.neighbours(),
        rate,
        noise: rate.and_then(|_| noise(point, verdict)),
        connections: Some(u64::from(point.load.connections)),
        connection_rate: connection_rate(case),
        p50_ns: point.latency_ns.p50,
        bytes_per_response: each(point.bytes.received, responses),
        bytes_per_request: each(point.bytes.sent, point.requests.sent),
        rtt_us: case.census().and_then(|census| census.client_rtt_us()),
        server: server(case),
        client: client(case),
        ..of_verdict(verdict, "")
    }
}

/// Half the interval of the rate, as a share of the rate: over the visits of a plateau, if there
/// are several. One visit varies less inside its window than another visit differs from it.
fn noise(point: &Point, verdict: &Verdict) -> Option<f64> {
    let over_visits = |ceiling: &&Ceiling| ceiling.interval != IntervalKind::WithinRun;
    if let Some(ceiling) = verdict.ceiling.as_ref().filter(over_visits)
        && let (Some(low), Some(high)) = (ceiling.low, ceiling.high)
    {
        return (ceiling.rate > 0.0).then(|| (high - low) / 2.0 / ceiling.rate);
    }
    let rates = steady::independent_rates_of(point);
    let (low, high) = stats::rate_interval(&rates)?;
    (point.rate > 0.0).then(|| (high - low) / 2.0 / point.rate)
}

/// Connections that were opened in the window, per second. Kept connections were opened before it,
/// except those that were closed and reopened.
fn connection_rate(case: &Case<'_>) -> Option<f64> {
    let point = case.point;
    let reopened = point.connections.reopened as f64;
    point.turnover().map(|turnover| turnover.rate).or_else(|| {
        let seconds = case.window_s();
        (seconds > 0.0).then(|| reopened / seconds)
    })
}

fn server(case: &Case<'_>) -> Side {
    let Some(seen) = case.server_side() else {
        return Side { us_per_request: case.point.cpu.server_us_per_request, ..Side::default() };
    };
    let online = case.server_host.map(|host| &host.cpus_online);
    let tcp = |name: &str| case.server_tcp(name);
    let held = held(case.census());
    Side {
        cpus: online.and_then(|online| cpus(case.cpus(Whose::Server, online))),
        process_cpus: case.server_cpus(),
        us_per_request: case.point.cpu.server_us_per_request,
        hottest_thread: case.hottest_server_thread().map(ThreadShare::wanted),
        waiting_share: waiting(seen.server_threads.as_deref()),
        throttled_share: throttled(seen.server_quotas.as_deref()),
        files_use: seen.server_files.as_ref().map(fullness),
        accept_overflows: tcp("TcpExt.ListenOverflows"),
        accept_queue_peak: seen
            .listeners
            .map(|queue| f64::from(queue.queued) / f64::from(queue.backlog.max(1))),
        backlog: seen.listeners.map(|queue| u64::from(queue.backlog)),
        syn_drops: sum(&[tcp("TcpExt.TCPReqQFullDoCookies"), tcp("TcpExt.TCPReqQFullDrop")]),
        receive_window_limited: held.map(|(window, _)| window),
        send_buffer_limited: held.map(|(_, buffer)| buffer),
        ..of_host(case, case.server_host, seen, &case.server_links())
    }
}

fn client(case: &Case<'_>) -> Side {
    let seen = case.observed;
    let workers: Option<Vec<ThreadShare>> =
        case.workers().map(|workers| workers.into_iter().cloned().collect());
    Side {
        cpus: cpus(case.cpus(Whose::Client, &case.host.cpus_online)),
        process_cpus: Some(case.client_cpus()),
        us_per_request: case.point.cpu.client_us_per_request,
        hottest_thread: case.worker_load(),
        waiting_share: waiting(workers.as_deref()),
        throttled_share: throttled(seen.client_quotas.as_deref()),
        files_use: seen.client_files.as_ref().map(fullness),
        ports_use: ports(case),
        ..of_host(case, Some(case.host), seen, &case.client_links())
    }
}

/// Signals that both hosts have.
fn of_host(
    case: &Case<'_>,
    host: Option<&HostFacts>,
    seen: &Observed,
    links: &[Capacity<'_>],
) -> Side {
    let is_loopback = case.trial.addresses.iter().all(Address::is_loopback);
    let link = carrier(seen, is_loopback);
    let nic = host.zip(link).and_then(|(host, link)| nic(host, &link.name));
    let tcp = |name: &str| seen.tcp.as_ref().and_then(|tcp| tcp.get(name).copied());
    let softnet = seen.softnet.as_deref();
    let of_softnet = |of: fn(&observe::SoftnetUse) -> u32| {
        softnet.map(|cpus| cpus.iter().map(|cpu| u64::from(of(cpu))).sum::<u64>())
    };
    Side {
        link: link.map(|link| link.name.clone()),
        packets_per_s: link.map(|link| link.rx_packets_s + link.tx_packets_s),
        rx_queues: nic.map(|nic| nic.rx_queues),
        tx_queues: nic.map(|nic| nic.tx_queues),
        link_use: link.and_then(|link| link_use(links, link)),
        packets_by_cpu: softnet
            .map(|cpus| cpus.iter().map(|cpu| (cpu.cpu, cpu.processed_s)).collect()),
        interrupts_per_s: interrupts(host, seen),
        backlog_drops: of_softnet(|cpu| cpu.dropped),
        time_squeezes: of_softnet(|cpu| cpu.squeezed),
        device_drops: device_drops(seen),
        qdisc_drops: seen
            .qdiscs
            .as_ref()
            .map(|all| all.iter().map(|qdisc| u64::from(qdisc.drops)).sum()),
        retransmit_share: resent_share(seen),
        time_wait: seen.sockets.as_ref().and_then(|sockets| sockets.get("TCP.tw").copied()),
        time_wait_overflows: sum(&[
            tcp("TcpExt.TCPTimeWaitOverflow"),
            tcp("TcpExt.TCPAbortOnMemory"),
        ]),
        conntrack_use: conntrack(seen),
        memory_pressure: seen
            .pressure
            .as_ref()
            .and_then(|stalls| stalls.get("memory.some").copied()),
        clock_ratio: clock_ratio(seen),
        sysctls: host.map_or_else(BTreeMap::new, |host| host.sysctls.clone()),
        ..Side::default()
    }
}

fn cpus(shares: Option<Vec<CpuShare>>) -> Option<Vec<CpuSignal>> {
    let signal = |share: &CpuShare| CpuSignal {
        cpu: share.cpu,
        busy: share.busy(),
        softirq: share.shares.softirq + share.shares.irq,
    };
    Some(shares?.iter().map(signal).collect())
}

/// Of the time in which threads had work, the share in which they had no CPU.
fn waiting(threads: Option<&[ThreadShare]>) -> Option<f64> {
    let threads = threads?;
    let wanted: f64 = threads.iter().map(ThreadShare::wanted).sum();
    (wanted > 0.0).then(|| threads.iter().map(|thread| thread.wait).sum::<f64>() / wanted)
}

/// For the group that throttled most often; a parent throttles its children.
fn throttled(quotas: Option<&[QuotaShare]>) -> Option<f64> {
    quotas?.iter().map(|quota| quota.throttled_periods).reduce(f64::max)
}

fn fullness(files: &OpenFiles) -> f64 {
    files.open as f64 / files.limit.max(1) as f64
}

/// Shares of the time of followed connections, held back by the window and by the buffer.
fn held(census: Option<SocketCensus>) -> Option<(f64, f64)> {
    let census = census.filter(|census| census.server_followed_us > 0)?;
    let share = |us: u64| us as f64 / census.server_followed_us as f64;
    Some((share(census.server_rwnd_limited_us), share(census.server_sndbuf_limited_us)))
}

/// None as soon as one of them was not read.
fn sum(counters: &[Option<u64>]) -> Option<u64> {
    counters.iter().copied().sum()
}

/// The interface that moved the most bytes. Loopback counts only for a load over loopback, and
/// other interfaces only for a load that leaves the host.
fn carrier(seen: &Observed, is_loopback: bool) -> Option<&LinkUse> {
    let moved = |link: &&LinkUse| link.rx_bytes_s + link.tx_bytes_s;
    let links = seen.links.iter().flatten().filter(|link| (link.name == "lo") == is_loopback);
    links
        .filter(|link| moved(link) > 0.0)
        .max_by(|left, right| moved(left).total_cmp(&moved(right)))
}

fn nic<'a>(host: &'a HostFacts, name: &str) -> Option<&'a Nic> {
    host.nics.iter().find(|nic| nic.name == name)
}

fn link_use(links: &[Capacity<'_>], link: &LinkUse) -> Option<f64> {
    links.iter().find(|one| one.link.name == link.name)?.busier()
}

/// Interrupts of network devices: those named after an interface, or after one of its virtio
/// queues. None if the host has no such interrupt.
fn interrupts(host: Option<&HostFacts>, seen: &Observed) -> Option<f64> {
    let nics = &host?.nics;
    let is_network = |device: &str| {
        let names = nics.iter().filter(|nic| nic.name != "lo");
        let of_virtio = ["-input", "-output", "-rx", "-tx"];
        names.into_iter().any(|nic| device.contains(&nic.name))
            || device.contains("virtio") && of_virtio.iter().any(|way| device.contains(way))
    };
    let all = seen.interrupts.as_ref()?;
    let all = all.iter().filter(|one| is_network(&one.device));
    all.map(|one| one.per_s).reduce(|left, right| left + right)
}

/// Incoming packets that interfaces and their drivers dropped. The drivers' own counters are often
/// part of those of the interface, so the larger sum counts.
fn device_drops(seen: &Observed) -> Option<u64> {
    const NAMES: [&str; 5] = ["missed", "no_buf", "nobuf", "overrun", "rx_drop"];
    let links = seen.links.as_ref()?.iter().map(|link| link.rx_dropped).sum::<u64>();
    let is_drop = |name: &&String| NAMES.iter().any(|part| name.contains(part));
    let drivers = seen.drivers.iter().flatten().flat_map(|(_, counters)| {
        counters.iter().filter(|(name, _)| is_drop(name)).map(|(_, count)| *count)
    });
    Some(links.max(drivers.sum()))
}

fn resent_share(seen: &Observed) -> Option<f64> {
    let (resent, sent) = resent(seen.tcp.as_ref()?)?;
    (sent > 0).then(|| resent as f64 / sent as f64)
}

/// Of the fullest table; zero if the host was read and has none.
fn conntrack(seen: &Observed) -> Option<f64> {
    if seen.conntracks().next().is_none() {
        let is_unreadable = seen.unreadable.iter().any(|what| what.source.contains("conntrack"));
        return (seen.tcp.is_some() && !is_unreadable).then_some(0.0);
    }
    seen.conntracks().filter_map(|table| table.share()).reduce(f64::max)
}

/// For CPUs that worked.
fn clock_ratio(seen: &Observed) -> Option<f64> {
    let (clocks, cpus) = (seen.clocks.as_ref()?, seen.cpus.as_ref()?);
    let busy = cpus.iter().filter(|cpu| cpu.busy() > WORKS);
    busy.filter_map(|cpu| clocks.get(&cpu.cpu).copied()).reduce(f64::min)
}

/// Share of the ports in use: by open connections, and for a minute after a close (TIME_WAIT). Each
/// source and each target address has its own ports.
fn ports(case: &Case<'_>) -> Option<f64> {
    let range = case.host.sysctls.get("net.ipv4.ip_local_port_range")?;
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(first)), Some(Ok(last))) = (ends.next(), ends.next()) else { return None };
    let held = *case.observed.sockets.as_ref()?.get("TCP.tw")?;
    let open = case.point.turnover().map(|turnover| turnover.open_after);
    let open = open.unwrap_or(case.point.connections.opened);
    let ends = case.trial.sources.len().max(1) * case.trial.addresses.len().max(1);
    let ports = (last.checked_sub(first)? + 1) * ends as u64;
    Some((open + held) as f64 / ports as f64)
}

#[cfg(test)]
mod tests;
