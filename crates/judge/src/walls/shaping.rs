//! Queueing disciplines and links that hold packets back: shared by K8, K9 and C5.

use super::{Family, Seen};
use crate::case::{Case, percent};
use model::units::show_count;
use observe::{Capacity, LimitSource, Observed, QdiscUse};

/// Share of the reads in which packets must wait in a discipline that limits.
const WAITING_MIN: f64 = 0.5;
/// Share of packets dropped that is enough by itself: a read rarely finds a short queue full.
const DROPPED_MIN: f64 = 0.001;
/// Share of the load's bytes that must pass a discipline, or full links, before these can limit the
/// load.
const CARRIED_MIN: f64 = 0.5;
/// Share of a link's limit above which it is full.
const FULL: f64 = 0.90;
/// Above this share the stated limit is not what limits: more went through.
const EXCEEDED: f64 = 1.05;
/// Packets smaller than this on average do not use up bytes.
const SMALL_BYTES: f64 = 300.0;
/// Packets larger than this are mostly payload.
const LARGE_BYTES: f64 = 500.0;

/// What a discipline runs out of, judged by the size of its packets.
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

/// The evidence of such a discipline.
pub(super) fn held_back(qdisc: &QdiscUse, host: &str) -> Seen {
    let source = format!("qdisc {} of {}", qdisc.kind, qdisc.interface);
    let (bytes, packets) = (show_count(qdisc.bytes_s), show_count(qdisc.packets_s));
    let field = format!("at {bytes}B/s, packets held back; packets dropped");
    let mut seen = Seen::default().with(
        Family::HardCounter,
        host,
        (&source, ["qdiscs"]),
        &field,
        format!("{}; {}", qdisc.overlimits, qdisc.drops),
        "rising in the window",
    );
    seen = seen.saying(format!(
        "the queueing discipline {} of {} lets {bytes}B/s ({packets} packets/s) through, and holds \
         back the rest",
        qdisc.kind, qdisc.interface
    ));
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
        "over 500 B: bytes are the limit; under 300 B: packets are",
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

/// A link filled to its speed, if the speed is a meaningful figure. `ours_bytes_s` is the load's
/// rate that way: what passes full links must be enough of it.
pub(super) fn full_link(
    links: &[Capacity<'_>],
    way: ShapedWay,
    host: &str,
    ours_bytes_s: f64,
) -> Option<Seen> {
    let used = |one: &Capacity<'_>| match way {
        ShapedWay::In => one.received(),
        ShapedWay::Out => one.sent(),
    };
    let all = links.iter().filter_map(|one| Some((one, used(one)?, one.bytes_s?)));
    let full: Vec<_> = all.filter(|(one, share, _)| is_full(one, *share)).collect();
    let carried_bytes_s: f64 = full.iter().map(|(_, share, speed)| share * speed).sum();
    if carried_bytes_s < CARRIED_MIN * ours_bytes_s {
        return None;
    }
    let (one, share, speed) = full.into_iter().max_by(|left, right| left.1.total_cmp(&right.1))?;
    let (rate, speed) = (show_count(share * speed), show_count(speed));
    let sentence = format!(
        "the link {} is full: it carries {rate} of {speed} B/s ({})",
        one.link.name,
        percent(share)
    );
    Some(Seen::default().saying(sentence).with(
        Family::HardCounter,
        host,
        (&format!("/proc/net/dev {}", one.link.name), ["interfaces"]),
        &format!("bytes on the wire, {rate} of {speed} B/s{}", stated(one)),
        percent(share),
        "over 90 % of the speed of the link",
    ))
}

/// A link filled to the packet rate that the user states for it.
pub(super) fn full_of_packets(links: &[Capacity<'_>], host: &str) -> Option<Seen> {
    let all = links.iter().filter_map(|one| Some((one, one.packets()?, one.packets_s?)));
    let full = all.filter(|(one, share, _)| is_full(one, *share));
    let (one, share, limit) = full.max_by(|left, right| left.1.total_cmp(&right.1))?;
    let (rate, limit) = (show_count(share * limit), show_count(limit));
    let sentence = format!(
        "the link {} is full: it carries {rate} of {limit} packets/s ({})",
        one.link.name,
        percent(share)
    );
    Some(Seen::default().saying(sentence).with(
        Family::HardCounter,
        host,
        (&format!("/proc/net/dev {}", one.link.name), ["interfaces"]),
        &format!("packets both ways, {rate} of {limit} per second{}", stated(one)),
        percent(share),
        "over 90 % of the packets of the link",
    ))
}

/// What exceeds a stated limit was not limited by it: the limit is wrong, or a burst is under way.
fn is_full(one: &Capacity<'_>, share: f64) -> bool {
    share >= FULL && (one.source == LimitSource::Driver || share <= EXCEEDED)
}

fn stated(one: &Capacity<'_>) -> &'static str {
    if one.source == LimitSource::Stated { " (--link)" } else { "" }
}

/// Whether anything was read that could show such a limit.
pub(super) fn was_read(links: &[Capacity<'_>], observed: &Observed) -> bool {
    observed.qdiscs.is_some() || !links.is_empty()
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
