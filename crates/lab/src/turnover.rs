//! Connections that come and go: their figures, and the modes that repeated SYN packets leave.

use crate::gather::Gathered;
use crate::visit::Visit;
use model::dist::Dist;
use model::histogram::Histogram;
use model::load::{Arrival, Hold, Level};
use model::maps::IntoMap;
use model::punctual::{Window, punctual};
use model::run::{StartInfo, TurnoverInfo};
use model::series::Opening;
use std::collections::BTreeMap;
use std::fs;

/// When a SYN without a response is sent again, seconds after the first. Before Linux 6.5 the
/// timeout doubles from one second: 1, 3, 7, 15, 31. Since then it first stays one second for four
/// more (tcp_syn_linear_timeouts): 1, 2, 3, 4, 5, 7, 11, 19, 35. See tcp_retransmit_timer in
/// net/ipv4/tcp_timer.c and RFC 6298.
const SYN_RETRIES_S: [u64; 11] = [1, 2, 3, 4, 5, 7, 11, 15, 19, 31, 35];
/// A connect belongs to a mode when it took at most this much longer, nanoseconds.
const MODE_WIDTH_NS: u64 = 150_000_000;

/// The figures of connections that were meant to come and go; `None` for those that are kept.
pub fn info(
    level: &Level,
    visit: &Visit,
    openings: Vec<Opening>,
    before_bytes: u64,
) -> Option<TurnoverInfo> {
    if level.life.requests.is_none() && level.life.hold.is_none() {
        return None;
    }
    let (gathered, window_ns) = (&visit.gathered, visit.window_ns());
    let duration_s = (window_ns.1 - window_ns.0) as f64 / 1e9;
    let turnover = gathered.turnover;
    let rate = if duration_s > 0.0 { turnover.established as f64 / duration_s } else { 0.0 };
    let open = gathered.most_open;
    let grown = gathered.resident_bytes.map(|bytes| bytes.saturating_sub(before_bytes));
    Some(TurnoverInfo {
        rate,
        planned_rate: planned_rate(level),
        open_before: gathered.window_open().0,
        open_after: gathered.window_open().1,
        begun: turnover.begun,
        established: turnover.established,
        failed: turnover.failed,
        closed_by_us: turnover.closed_by_us,
        closed_by_peer: turnover.closed_by_peer,
        connect_ns: gathered.window_connect.summary(0),
        syn_retries: syn_retries(&gathered.histograms[Dist::Connect]),
        client_bytes_each: grown.filter(|_| open > 0).map(|bytes| bytes as f64 / open as f64),
        starts: level.plans_starts().then(|| starts(visit)),
        visit_begin_ns: visit.begin_ns,
        openings,
    })
}

fn starts(visit: &Visit) -> StartInfo {
    let gathered = &visit.gathered;
    let Gathered { starts, histograms, .. } = gathered;
    let planned_connect = &histograms[Dist::PlannedConnect];
    let censored = starts.failed + starts.pending + starts.unsent;
    let window = Window { latency: planned_connect, ..Window::of(histograms, censored) };
    StartInfo {
        planned: visit.planned,
        begun: starts.begun,
        established: starts.established,
        failed: starts.failed,
        pending: starts.pending,
        unsent: starts.unsent,
        waited: starts.waited,
        connect_ns: planned_connect.summary(censored),
        connect_punctual_ns: punctual(window),
        generator_delay_ns: histograms[Dist::GeneratorDelay].summary(0),
    }
}

fn planned_rate(level: &Level) -> Option<f64> {
    if let (Arrival::Open { curve, .. }, Some(_)) = (&level.arrival, level.life.hold) {
        return Some(curve.first_rate());
    }
    match level.life.hold? {
        Hold::For { ns, .. } if ns > 0 => Some(f64::from(level.connections) * 1e9 / ns as f64),
        Hold::For { .. } | Hold::Forever => None,
    }
}

/// Connects that cluster where SYN packets are sent again, by second.
fn syn_retries(connect: &Histogram) -> BTreeMap<String, u64> {
    let near = |second: u64| {
        let begin_ns = second * 1_000_000_000;
        let up_to = connect.count_up_to(begin_ns + MODE_WIDTH_NS);
        // A timer does not fire early, but a histogram's bucket is a thousandth wide.
        up_to - connect.count_up_to(begin_ns - begin_ns / 500)
    };
    let modes = SYN_RETRIES_S.into_iter().map(|second| (format!("{second}s"), near(second)));
    modes.filter(|(_, count)| *count > 0).into_map()
}

/// Resident memory of this process, bytes; `None` when it cannot be read.
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_syns_differ_from_slow_connects() {
        let mut connect = Histogram::new();
        connect.record_n(200_000, 1000);
        connect.record_n(700_000_000, 5);
        assert!(syn_retries(&connect).is_empty(), "slow, but at no retry");
        connect.record_n(1_003_000_000, 30);
        connect.record_n(3_060_000_000, 4);
        connect.record_n(11_010_000_000, 2);
        let expected = [("1s", 30), ("3s", 4), ("11s", 2)];
        let expected = expected.map(|(at, count)| (at.to_string(), count));
        assert_eq!(syn_retries(&connect), BTreeMap::from(expected));
    }

    #[test]
    fn this_process_has_memory() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 1_000_000));
    }
}
