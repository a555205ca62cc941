//! Patterns that need no access to the server: times that only kernels and limiters produce, and
//! how latency and rate move together over a ramp.
//!
//! A peak is counted only if it stands out of both of its neighbourhoods and lies far above the
//! median: a broad distribution over the same place is not a peak. Each pattern has a harmless
//! cause that looks the same, listed with it.
//! Sources: RFC 6298 and net/ipv4/tcp_timer.c (SYN and data retransmission, minimum 200 ms);
//! include/net/tcp.h (delayed ACK, 40 ms); Documentation/scheduler/sched-bwc.rst (period 100 ms).

use crate::ramp::{self, Trend, load_of};
use crate::steady::{Steadiness, steadiness};
use crate::{gates, last_visits, stats};
use model::fingerprint::Fingerprint;
use model::histogram::Histogram;
use model::load::LoadModel;
use model::load::{Question, Trial};
use model::run::Point;
use model::units::show_ns;
use model::wall::WallId;

const MS: u64 = 1_000_000;
/// A peak needs at least this many values, and this share of all.
const PEAK_MIN: u64 = 10;
const PEAK_SHARE: f64 = 0.000_5;
/// How many times denser than its neighbourhood a peak is.
const DENSER: f64 = 5.0;
/// A peak is separate from the bulk when the median is below this share of it.
const FAR_ABOVE: f64 = 0.5;
/// A connect that ends this long after a SYN retry was due includes that retry.
const RETRY_NS: u64 = 150 * MS;
/// A plateau that varies by less than this is enforced, not natural.
const MADE: f64 = 0.01;
/// A fall of the rate to less than this share of what it was.
const STEP: f64 = 0.9;

/// The patterns in the latencies and the series of a point.
pub fn of_point(point: &Point, latency: &Histogram) -> Vec<Fingerprint> {
    let periods = cfs_period(latency);
    // Peaks at 100 ms and 200 ms are one pattern, not two.
    let rto = if periods.is_some() { None } else { minimum_rto(latency) };
    let found = [syn_retry(point), delayed_ack(latency), rto, periods, burst(point)];
    found.into_iter().flatten().collect()
}

/// The patterns of the levels of a closed-loop ramp together.
pub fn of_ramp(trial: &Trial, points: &[Point]) -> Vec<Fingerprint> {
    if trial.question != Question::Ramp {
        return Vec::new();
    }
    let usable = last_visits(points).into_iter().map(|index| &points[index]);
    let levels: Vec<&Point> = usable
        .filter(|point| gates::is_rate_known(point) && point.load.model == LoadModel::Closed)
        .filter(|point| !point.is_churn() && point.latency_ns.mean.is_some())
        .collect();
    match ramp::shape(&levels) {
        Trend::TooFew => Vec::new(),
        Trend::Rising => unloaded(&levels).into_iter().collect(),
        Trend::Flat { plateau, .. } => {
            let top: Vec<&Point> = plateau.iter().map(|index| levels[*index]).collect();
            [station(&top), made(&top), retrograde(&levels)].into_iter().flatten().collect()
        }
    }
}

fn fingerprint(
    (id, what): (&str, &str),
    measured: String,
    rule: &str,
    means: &[WallId],
    beware: &str,
) -> Option<Fingerprint> {
    let [id, what, rule, beware] = [id, what, rule, beware].map(str::to_string);
    Some(Fingerprint { id, what, measured, rule, means: means.to_vec(), beware })
}

/// Values in a band that stands out of its neighbourhood, if there are enough.
fn peak(latency: &Histogram, (from_ns, to_ns): (u64, u64)) -> Option<u64> {
    let count = |from: u64, to: u64| {
        latency.count_up_to(to.saturating_sub(1)) - latency.count_up_to(from.saturating_sub(1))
    };
    let width = to_ns - from_ns;
    let (inside, below, above) =
        (count(from_ns, to_ns), count(from_ns - width, from_ns), count(to_ns, to_ns + width));
    let enough = PEAK_MIN.max((latency.count() as f64 * PEAK_SHARE) as u64);
    let is_apart = latency.quantile_ns(0.5)? < (from_ns as f64 * FAR_ABOVE) as u64;
    let stands_out = inside as f64 >= DENSER * below.max(above) as f64;
    (inside >= enough && is_apart && stands_out).then_some(inside)
}

fn peak_phrase(latency: &Histogram, inside: u64, (from_ns, to_ns): (u64, u64)) -> String {
    let share = inside as f64 / latency.count().max(1) as f64 * 100.0;
    let (from, to) = (show_ns(from_ns as f64), show_ns(to_ns as f64));
    format!("{inside} responses ({share:.2} %) from {from} to {to}")
}

fn syn_retry(point: &Point) -> Option<Fingerprint> {
    let turnover = point.turnover.as_ref();
    let retries: Vec<String> = turnover
        .iter()
        .flat_map(|turnover| &turnover.syn_retries)
        .map(|(second, count)| format!("{count} at {second}"))
        .collect();
    let connect = &point.connections.connect_ns;
    let slowest_ns = connect.p99.or(connect.max).unwrap_or(0);
    let is_retry =
        |second: u64| (second * 1000 * MS..second * 1000 * MS + RETRY_NS).contains(&slowest_ns);
    let measured = if !retries.is_empty() {
        format!("connects: {}", retries.join(", "))
    } else if [1, 2, 3, 4, 5, 7].into_iter().any(is_retry) {
        format!("slow end of the time to connect: {}", show_ns(slowest_ns as f64))
    } else {
        return None;
    };
    fingerprint(
        ("syn_retry", "connects that took as long as the retry of a lost SYN"),
        measured,
        "within 150 ms above 1, 2, 3, 4, 5 or 7 s",
        &[WallId::K1, WallId::K2, WallId::N5],
        "the client's kernel decides the spacing: newer kernels retry every second at first",
    )
}

fn delayed_ack(latency: &Histogram) -> Option<Fingerprint> {
    let band = (39 * MS, 46 * MS);
    let inside = peak(latency, band)?;
    fingerprint(
        ("delayed_ack", "a peak at 40 ms: a delayed acknowledgement with Nagle's algorithm"),
        peak_phrase(latency, inside, band),
        "five times denser than its neighbourhood, median below half of it",
        &[WallId::A7],
        "a pause of 40 ms in the application looks the same",
    )
}

fn minimum_rto(latency: &Histogram) -> Option<Fingerprint> {
    let band = (198 * MS, 240 * MS);
    let inside = peak(latency, band)?;
    fingerprint(
        ("minimum_rto", "a peak just above 200 ms: lost data, sent again"),
        peak_phrase(latency, inside, band),
        "five times denser than its neighbourhood, median below half of it",
        &[WallId::N2],
        "a route or a sysctl can set another minimum, and a pause of 200 ms looks the same",
    )
}

fn cfs_period(latency: &Histogram) -> Option<Fingerprint> {
    let bands = [1, 2, 3, 4].map(|period| (period * 100 * MS - 4 * MS, period * 100 * MS + 8 * MS));
    let peaks: Vec<String> = bands
        .into_iter()
        .filter_map(|band| Some(peak_phrase(latency, peak(latency, band)?, band)))
        .collect();
    if peaks.len() < 2 {
        return None;
    }
    fingerprint(
        ("cfs_period", "peaks at multiples of 100 ms: a CPU quota that is used up"),
        peaks.join("; "),
        "at two multiples or more, each five times denser than its neighbourhood",
        &[WallId::S3],
        "a timer in the application looks the same, and the quota may be the generator's own (C1)",
    )
}

fn burst(point: &Point) -> Option<Fingerprint> {
    if point.load.curve.is_some() {
        // The plan changes the rate.
        return None;
    }
    let Steadiness::Shifted { at_s, ratio } = steadiness(&point.per_100ms) else { return None };
    let at = (at_s * 10.0).round() as usize;
    // The last tenth is cut off by the end of the window.
    let whole = &point.per_100ms[..point.per_100ms.len().saturating_sub(1)];
    let rates: Vec<f64> = whole.iter().map(|count| *count as f64).collect();
    let (before, after) = rates.split_at_checked(at)?;
    let is_level = |rates: &[f64]| {
        let halves = stats::batch_means(rates, 5);
        stats::variation(&halves).is_none_or(|variation| variation < 0.05)
    };
    if ratio > STEP || !is_level(before) || !is_level(after) {
        return None;
    }
    fingerprint(
        ("burst", "faster at first, then a step down: burst credit is used up"),
        format!("{:.0} % of the first rate from {at_s:.1} s on", ratio * 100.0),
        "a step to 90 % or less, level before and after it",
        &[WallId::N4, WallId::A4],
        "a warm-up goes the other way; a neighbour that starts to work looks the same",
    )
}

fn growth(from: &Point, to: &Point) -> Option<(f64, f64, f64)> {
    let load = load_of(to) as f64 / load_of(from).max(1) as f64;
    let latency = to.latency_ns.mean? as f64 / from.latency_ns.mean?.max(1) as f64;
    Some((load, latency, to.rate / from.rate.max(f64::MIN_POSITIVE)))
}

fn growth_phrase((load, latency, rate): (f64, f64, f64)) -> String {
    format!("{load:.2} times the load: latency x {latency:.2}, rate x {rate:.2}")
}

fn is_near(left: f64, right: f64, share: f64) -> bool {
    (left / right - 1.0).abs() <= share
}

fn station(top: &[&Point]) -> Option<Fingerprint> {
    let grown = growth(top.first()?, top.last()?)?;
    let (load, latency, rate) = grown;
    if load < 1.5 || !is_near(latency, load, 0.2) || !is_near(rate, 1.0, 0.1) {
        return None;
    }
    fingerprint(
        ("latency_follows_load", "latency grows like the load while the rate stays"),
        growth_phrase(grown),
        "latency within 20 % of the load, rate within 10 %",
        &[],
        "some resource is full, on either side; a limiter looks the same",
    )
}

fn unloaded(levels: &[&Point]) -> Option<Fingerprint> {
    let grown = growth(levels.first()?, levels.last()?)?;
    let (load, latency, rate) = grown;
    if load < 2.0 || !is_near(latency, 1.0, 0.15) || !is_near(rate, load, 0.15) {
        return None;
    }
    fingerprint(
        ("latency_constant", "the rate grows like the load while latency stays"),
        growth_phrase(grown),
        "rate within 15 % of the load, latency within 15 %",
        &[WallId::C3, WallId::N1],
        "no wall was reached: the rate is what the load and the round trip allow",
    )
}

fn made(top: &[&Point]) -> Option<Fingerprint> {
    let rates: Vec<f64> = top.iter().map(|point| point.rate).collect();
    let between = stats::variation(&rates).filter(|_| top.len() >= 3)?;
    let within = |point: &&Point| match steadiness(&point.per_100ms) {
        Steadiness::Steady { variation } => Some(variation),
        _ => None,
    };
    let inside: Option<Vec<f64>> = top.iter().map(within).collect();
    let inside = inside?.into_iter().fold(0.0, f64::max);
    if between >= MADE || inside >= MADE {
        return None;
    }
    fingerprint(
        ("flat", "a plateau that hardly varies: a limiter, a shaper or a quota"),
        format!("{:.2} % between levels, {:.2} % within them", between * 100.0, inside * 100.0),
        "both under 1 %",
        &[WallId::A4, WallId::S3, WallId::N4, WallId::A2],
        "CPU walls vary more, but an undisturbed thread with equal requests can be as even",
    )
}

fn retrograde(levels: &[&Point]) -> Option<Fingerprint> {
    let best = levels.iter().max_by(|left, right| left.rate.total_cmp(&right.rate))?;
    let grown = growth(best, levels.last()?)?;
    let (load, latency, rate) = grown;
    if rate > STEP || latency < load {
        return None;
    }
    fingerprint(
        ("retrograde", "beyond its peak the rate falls, and latency grows faster than the load"),
        growth_phrase(grown),
        "rate under 90 % of the peak",
        &[WallId::S7, WallId::S8, WallId::C1],
        "contention, caches or retries, of the server or of the generator: too many loops on its \
         CPUs do the same",
    )
}

#[cfg(test)]
mod tests;
