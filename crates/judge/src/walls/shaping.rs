//! Queueing disciplines and links that hold packets back: what K8, K9 and C5 have in common.

use super::{Family, Seen};
use crate::case::{Case, percent};
use model::facts::HostFacts;
use model::units::show_count;
use observe::{LinkUse, Observed, QdiscUse};

/// Share of the reads in which packets must wait in a discipline that limits.
const WAITING_MIN: f64 = 0.5;
/// Share of packets dropped that does as well: a short queue is rarely met full.
const DROPPED_MIN: f64 = 0.001;
/// Share of the load's bytes that must pass a discipline before the discipline can limit the load.
const CARRIED_MIN: f64 = 0.5;
/// Share of a link's speed above which it is full.
const FULL: f64 = 0.90;
/// Packets that are smaller than this on average do not use up bytes.
const SMALL_BYTES: f64 = 300.0;
/// Packets that are larger than this are mostly payload.
const LARGE_BYTES: f64 = 500.0;

/// What a discipline runs out of, as the size of its packets tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapedUnit {
    /// Large packets: bytes per second.
    Bytes,
    /// Small packets: more likely packets per second.
    Packets,
    /// In between.
    Unclear,
}

/// The discipline that holds packets of the load back: its own counters show it, and packets wait
/// in it or are dropped. `ours_bytes_s` is the load's rate in its direction.
pub(super) fn at_limit<'a>(
    case: &Case<'_>,
    observed: &'a Observed,
    ours_bytes_s: f64,
) -> Option<&'a QdiscUse> {
    let is_limit = |one: &&QdiscUse| {
        let packets = (one.packets_s * case.window_s()).max(1.0);
        let drops = f64::from(one.drops) / packets;
        one.overlimits > 0
            && (one.waiting >= WAITING_MIN || drops >= DROPPED_MIN)
            && one.bytes_s >= CARRIED_MIN * ours_bytes_s
    };
    let limits = observed.qdiscs.as_deref()?.iter().filter(is_limit);
    limits.max_by(|left, right| left.waiting.total_cmp(&right.waiting))
}

/// What the discipline runs out of.
pub(super) fn unit(qdisc: &QdiscUse) -> ShapedUnit {
    match packet_bytes(qdisc) {
        bytes if bytes >= LARGE_BYTES => ShapedUnit::Bytes,
        bytes if bytes <= SMALL_BYTES => ShapedUnit::Packets,
        _ => ShapedUnit::Unclear,
    }
}

fn packet_bytes(qdisc: &QdiscUse) -> f64 {
    qdisc.bytes_s / qdisc.packets_s.max(f64::MIN_POSITIVE)
}

/// What such a discipline shows.
pub(super) fn held_back(qdisc: &QdiscUse, host: &str) -> Seen {
    let source = format!("qdisc {} of {}", qdisc.kind, qdisc.interface);
    let (bytes, packets) = (show_count(qdisc.bytes_s), show_count(qdisc.packets_s));
    let field = format!("times it held packets back, packets dropped, at {bytes} B/s");
    let mut seen = Seen::default().with(
        Family::HardCounter,
        host,
        (&source, ["qdiscs"]),
        &field,
        format!("+{}, +{}", qdisc.overlimits, qdisc.drops),
        "rising in the window",
    );
    if qdisc.waiting >= WAITING_MIN {
        seen = seen.with(
            Family::QueueLocation,
            host,
            (&source, ["qdiscs"]),
            "reads in which packets were waiting in it",
            percent(qdisc.waiting),
            "over 50 %",
        );
    }
    seen.with(
        Family::HardCounter,
        host,
        (&source, ["qdiscs"]),
        &format!("bytes of a packet on average, {packets} packets/s"),
        format!("{:.0} B", packet_bytes(qdisc)),
        "over 500 B bytes are the limit, under 300 B packets",
    )
}

/// Which way bytes go on an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapedWay {
    /// Towards the host.
    In,
    /// From it.
    Out,
}

/// A link filled to its speed, where the speed is a figure that means something.
pub(super) fn full_link(
    host: &HostFacts,
    observed: &Observed,
    way: ShapedWay,
    name: &str,
) -> Option<Seen> {
    let (link, speed_bytes_s) = trusted(host, observed).max_by(|left, right| {
        (bytes_s(left.0, way) / left.1).total_cmp(&(bytes_s(right.0, way) / right.1))
    })?;
    let share = bytes_s(link, way) / speed_bytes_s;
    let (rate, speed) = (show_count(bytes_s(link, way)), show_count(speed_bytes_s));
    (share >= FULL).then(|| {
        Seen::default().with(
            Family::HardCounter,
            name,
            (&format!("/proc/net/dev {}", link.name), ["interfaces"]),
            &format!("bytes on the wire, {rate} of {speed} B/s"),
            percent(share),
            "over 90 % of the speed of the link",
        )
    })
}

/// Interfaces whose speed is known, bytes per second.
fn trusted<'a>(
    host: &'a HostFacts,
    observed: &'a Observed,
) -> impl Iterator<Item = (&'a LinkUse, f64)> {
    observed.links.iter().flatten().filter_map(|link| {
        let nic = host.nics.iter().find(|nic| nic.name == link.name)?;
        Some((link, f64::from(nic.speed_mbps.filter(|speed| *speed > 0)?) * 1e6 / 8.0))
    })
}

fn bytes_s(link: &LinkUse, way: ShapedWay) -> f64 {
    match way {
        ShapedWay::In => link.rx_bytes_s,
        ShapedWay::Out => link.tx_bytes_s,
    }
}

/// Whether anything was read that could show such a limit.
pub(super) fn was_read(host: Option<&HostFacts>, observed: &Observed) -> bool {
    let is_link_known = host.is_some_and(|host| trusted(host, observed).next().is_some());
    observed.qdiscs.is_some() || is_link_known
}

/// Adds the share of sampled server connections whose responses are not on their way yet.
pub(super) fn with_unsent(case: &Case<'_>, seen: Seen) -> Seen {
    let Some(census) = case.census().filter(|census| census.server > 0) else { return seen };
    let unsent = census.server_unsent as f64 / census.server as f64;
    if unsent < 0.25 {
        return seen;
    }
    seen.with(
        Family::QueueLocation,
        "server",
        ("sock_diag", ["connections"]),
        "sampled connections with responses not sent or not acknowledged",
        percent(unsent),
        "over 25 %",
    )
}
