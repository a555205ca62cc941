//! Packets that were lost: how many, where, and how long requests waited for them. Shared by N2,
//! N5, K5, K6, K7, K11 and A7.

use super::conntrack::has_lost_races;
use crate::case::Case;
use model::units::NS_PER_S;
use observe::{Observed, QdiscUse};
use std::collections::BTreeMap;

/// The shortest time after which Linux sends a segment again without other signs of loss
/// (TCP_RTO_MIN).
pub(super) const SHORTEST_RETRY_NS: u64 = 200_000_000;

/// Share of the time of all requests that goes by in waits for lost segments, from which the loss
/// limits: without it the rate would be up to 1 / (1 - 0.1), 11 % higher.
pub(super) const WAITED_MIN: f64 = 0.10;

/// Share of the time of all requests (requests in flight x window, by Little's law) in which they
/// waited for lost segments, if each of these was sent again after the shortest time. It is less
/// than that where the other side asks for them at once, as in long responses. None without a count
/// of requests in flight.
pub(super) fn waited_for(case: &Case<'_>, segments: u64) -> Option<f64> {
    let all_s = case.point.in_flight.mean? * case.window_s();
    let waited_s = segments as f64 * SHORTEST_RETRY_NS as f64 / NS_PER_S as f64;
    (all_s > 0.0).then(|| (waited_s / all_s).min(1.0))
}

/// Segments sent again in the window because one was lost, and segments sent. Not repeated SYNs,
/// and not those of which the other side says that it got them twice (RFC 2883): nothing was lost
/// there, an acknowledgement was late, as from a host whose CPUs are in use.
pub(crate) fn resent(tcp: &BTreeMap<String, u64>) -> Option<(u64, u64)> {
    let count = |name: &str| tcp.get(name).copied().unwrap_or(0);
    let twice = count("TcpExt.TCPDSACKRecvSegs").max(count("TcpExt.TCPDSACKRecv"));
    let in_vain = count("TcpExt.TCPSynRetrans") + twice;
    Some((tcp.get("Tcp.RetransSegs")?.saturating_sub(in_vain), *tcp.get("Tcp.OutSegs")?))
}

/// Segments that both hosts together sent again, without those that open connections, and segments
/// that they sent; of one host, if only that was read.
pub(super) fn resent_by_both(case: &Case<'_>) -> Option<(u64, u64)> {
    let near = case.observed.tcp.as_ref().and_then(resent);
    let far = case.observed.far.as_ref().and_then(|far| far.tcp.as_ref()).and_then(resent);
    match (near, far) {
        (Some(near), Some(far)) => Some((near.0 + far.0, near.1 + far.1)),
        (near, far) => near.or(far),
    }
}

/// A queueing discipline that imitates a path: the packets it drops are lost on the way.
const IMITATES_PATH: &str = "netem";

/// The disciplines of a host that imitate a path and dropped packets in the window.
pub(super) fn imitated_paths(observed: &Observed) -> impl Iterator<Item = &QdiscUse> {
    let drops = |qdisc: &&QdiscUse| qdisc.kind == IMITATES_PATH && qdisc.drops > 0;
    observed.qdiscs.iter().flatten().filter(drops)
}

/// Where a host dropped packets in the window: each place with its count. A place that was not read
/// is not listed.
pub(super) fn dropped_at(observed: &Observed) -> Vec<(String, u64)> {
    let mut places = Vec::new();
    let holds_back = |qdisc: &&QdiscUse| qdisc.kind != IMITATES_PATH;
    for qdisc in observed.qdiscs.iter().flatten().filter(holds_back) {
        let place = format!("qdisc {} of {}", qdisc.kind, qdisc.interface);
        places.push((place, u64::from(qdisc.drops)));
    }
    for link in observed.links.iter().flatten() {
        places.push((format!("interface {}", link.name), link.rx_dropped + link.tx_dropped));
    }
    for (interface, counters) in observed.drivers.iter().flatten() {
        for (counter, increase) in counters.iter().filter(|(counter, _)| is_drop(counter)) {
            places.push((format!("driver of {interface}, {counter}"), *increase));
        }
    }
    let backlog = observed.softnet.iter().flatten().map(|cpu| u64::from(cpu.dropped)).sum();
    places.push(("the backlog of a CPU".to_string(), backlog));
    for table in observed.conntracks() {
        let races = if has_lost_races(&table) { " (lost races for an entry)" } else { "" };
        places.push((format!("connection tracking{races}"), table.dropped));
    }
    places.retain(|(_, count)| *count > 0);
    places
}

/// Counters of drivers that count lost packets, by the names that drivers give them.
fn is_drop(counter: &str) -> bool {
    let names = ["drop", "missed", "no_buf", "nobuf", "overrun", "allowance_exceeded"];
    names.iter().any(|name| counter.contains(name))
}
