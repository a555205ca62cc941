//! The true figures of a window, computed from the server's own account only.

use crate::stage::Seen;
use engine::schedule::Schedule;
use engine::seed_of_visit;
use engine::shard::Shard;
use engine::simulate::server::{Entry, RequestFate};
use model::curve::Curve;
use model::load::Arrival;
use model::run::Point;
use std::sync::Arc;

/// The true figures of one point.
pub struct Truth {
    /// Good responses that could be read in the window, at least and at most: those within a
    /// turn of its ends may be on either side.
    pub arrived: (u64, u64),
    /// Length of the window, seconds.
    pub duration_s: f64,
    /// Requests of the window by what became of them.
    pub fates: Fates,
    /// True latency of the good ones, nanoseconds, ascending: from the plan in open loop.
    pub latencies: Vec<u64>,
    /// True service times of the good ones, nanoseconds, ascending.
    pub services: Vec<u64>,
    /// Responses to requests of the window by class of status, from 2xx.
    pub status: [u64; 4],
    /// Mean number in flight over the window, over its first fifth and over its last.
    pub flying: [f64; 3],
}

/// What became of the requests of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fates {
    /// Sent.
    pub sent: u64,
    /// Got a status below 400 before the end of the drain.
    pub good: u64,
    /// Got another status, was reset, or timed out.
    pub bad: u64,
    /// None of these.
    pub open: u64,
    /// Of `open`, those that a timeout may have ended just before the end of the drain.
    pub either: u64,
}

/// The truth about a point of one worker. `slack_ns` is how late the worker may notice an end of
/// the window.
pub fn of(seen: &Seen, index: usize, slack_ns: u64) -> Truth {
    let point = &seen.run.record.points[index];
    let (begin_ns, end_ns) = point.window_ns;
    let duration_s = (end_ns - begin_ns) as f64 / 1e9;
    let visit = visit_of(seen, point);
    let is_good = |one: &&Entry| matches!(one.fate, RequestFate::Answered(status) if status < 400);
    let between = |from_ns: u64, to_ns: u64| {
        let is_inside = |one: &&Entry| (from_ns..to_ns).contains(&one.back_ns) && one.taken_ns > 0;
        visit.iter().filter(is_good).filter(is_inside).count() as u64
    };
    let least = between(begin_ns + slack_ns, end_ns.saturating_sub(slack_ns));
    let most = between(begin_ns - slack_ns, end_ns + slack_ns);
    let sent = point.requests.sent as usize;
    // Nothing leaves after the window, so the last requests sent are those of the window.
    let measured = &visit[visit.len().saturating_sub(sent)..];
    let planned = planned(seen, index, measured);
    let until_ns = end_ns + seen.drawn.trial.drain_ns;
    let timeout_ns = seen.drawn.trial.timeout_ns;
    let mut fates = Fates { sent: measured.len() as u64, ..Fates::default() };
    let (mut latencies, mut services, mut status) = (Vec::new(), Vec::new(), [0; 4]);
    for (one, planned_ns) in measured.iter().zip(&planned) {
        let was_taken = one.taken_ns > 0 && one.taken_ns <= until_ns + slack_ns;
        if let (RequestFate::Answered(code), true) = (one.fate, was_taken) {
            status[usize::from(code / 100 - 2)] += 1;
        }
        match one.fate {
            RequestFate::Answered(code) if code < 400 && was_taken => {
                fates.good += 1;
                latencies.push(one.back_ns.saturating_sub(*planned_ns));
                services.push(one.back_ns.saturating_sub(one.sent_ns));
            }
            RequestFate::Answered(_) | RequestFate::Reset if was_taken => fates.bad += 1,
            // Timeouts are checked every tenth of a second.
            _ if one.sent_ns + timeout_ns + 110_000_000 < until_ns => fates.bad += 1,
            _ => {
                fates.open += 1;
                fates.either += u64::from(one.sent_ns + timeout_ns < until_ns + slack_ns);
            }
        }
    }
    latencies.sort_unstable();
    services.sort_unstable();
    let fifth_ns = (end_ns - begin_ns) / 5;
    let parts = [(begin_ns, end_ns), (begin_ns, begin_ns + fifth_ns), (end_ns - fifth_ns, end_ns)];
    let flying = parts.map(|part| flying(&visit, part, timeout_ns));
    Truth { arrived: (least, most), duration_s, fates, latencies, services, status, flying }
}

/// Mean number of requests in flight between two instants.
fn flying(visit: &[Entry], (begin_ns, end_ns): (u64, u64), timeout_ns: u64) -> f64 {
    let overlap = |one: &Entry| {
        let over_ns = match one.taken_ns {
            0 => one.sent_ns + timeout_ns,
            taken_ns => taken_ns,
        };
        over_ns.min(end_ns).saturating_sub(one.sent_ns.max(begin_ns)) as f64
    };
    visit.iter().map(overlap).sum::<f64>() / (end_ns - begin_ns) as f64
}

/// Requests of the visit that a point belongs to.
pub fn visit_of(seen: &Seen, point: &Point) -> Vec<Entry> {
    let begins = seen.visits.iter().map(|visit| visit.begin_ns);
    let begin_ns = begins.clone().filter(|at_ns| *at_ns <= point.window_ns.0).max().unwrap_or(0);
    let end_ns = begins.filter(|at_ns| *at_ns > point.window_ns.0).min().unwrap_or(u64::MAX);
    let is_inside = |one: &&Entry| (begin_ns..end_ns).contains(&one.sent_ns);
    let mut visit: Vec<Entry> = seen.account.iter().filter(is_inside).copied().collect();
    // Workers take turns, and may be a turn apart.
    visit.sort_by_key(|one| one.sent_ns);
    visit
}

/// When each request was due; in closed loop when it was sent.
fn planned(seen: &Seen, index: usize, measured: &[Entry]) -> Vec<u64> {
    let point = &seen.run.record.points[index];
    match level_of(seen, index) {
        Arrival::Closed => measured.iter().map(|one| one.sent_ns).collect(),
        Arrival::Open { curve, arrivals } => {
            let visits = seen.visits.iter().rev();
            let visit = { visits }.find(|visit| visit.begin_ns <= point.window_ns.0);
            let load = visit.map_or(0, |visit| visit.load);
            let seed = seed_of_visit(seen.drawn.trial.seed, load);
            let mut schedule = Schedule::new(&Arc::new(curve), arrivals, seed, Shard::whole());
            let due = std::iter::from_fn(|| schedule.next_ns());
            due.map(|ns| point.window_ns.0 + ns).take(measured.len()).collect()
        }
    }
}

/// How requests became due at a point: a search uses another rate for each.
fn level_of(seen: &Seen, index: usize) -> Arrival {
    let (trial, point) = (&seen.drawn.trial, &seen.run.record.points[index]);
    match (&trial.levels[0].arrival, point.load.rate) {
        (Arrival::Open { arrivals, .. }, Some(rate)) if trial.search.is_some() => {
            Arrival::Open { curve: Curve::constant(rate), arrivals: *arrivals }
        }
        (arrival, _) => arrival.clone(),
    }
}

/// A percentile of ascending values, with `unknown` more that are larger than all of them, as the
/// record defines it: the value of rank ceil(q n). `None` if it is among the unknown ones.
pub fn percentile(values: &[u64], unknown: u64, quantile: f64) -> Option<u64> {
    let population = values.len() as f64 + unknown as f64;
    let rank = (quantile * population).ceil() as usize;
    values.get(rank.max(1) - 1).copied()
}

/// Standard deviation over mean of the true rates of half seconds of the first window.
pub fn restlessness(seen: &Seen) -> f64 {
    let (begin_ns, end_ns) = seen.point().window_ns;
    let mut halves = vec![0.0; ((end_ns - begin_ns) / 500_000_000).max(1) as usize];
    for one in visit_of(seen, seen.point()) {
        let at = one.back_ns.checked_sub(begin_ns).map(|since_ns| since_ns / 500_000_000);
        if let (Some(at), RequestFate::Answered(..400)) = (at, one.fate)
            && let Some(count) = halves.get_mut(at as usize)
        {
            *count += 1.0;
        }
    }
    let mean = halves.iter().sum::<f64>() / halves.len() as f64;
    let squares = halves.iter().map(|count| (count - mean).powi(2)).sum::<f64>();
    (squares / halves.len() as f64).sqrt() / mean.max(f64::MIN_POSITIVE)
}
