//! What must hold of every figure in every world.

use crate::stage::{MS, Seen, US};
use crate::truth::{self, Fates, Truth, percentile};
use model::figure::Figure;
use model::histogram::Summary;
use model::load::{LoadModel, Stop};
use model::run::{Outcome, Point};
use model::standing::Standing;
use std::collections::BTreeMap;

/// The findings in one world.
#[derive(Debug, Default)]
pub struct Findings {
    /// What does not hold.
    pub wrong: Vec<String>,
    /// The wall that the run names.
    pub named: &'static str,
    /// How often an interval was stated, and how often it held the truth.
    pub stated: BTreeMap<&'static str, (u64, u64)>,
}

impl Findings {
    /// Notes that something does not hold.
    pub fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    /// Notes an interval that was stated.
    pub fn interval(&mut self, name: &'static str, (low, high): (f64, f64), truth: f64) {
        let (held, stated) = self.stated.entry(name).or_default();
        *stated += 1;
        *held += u64::from((low..=high).contains(&truth));
    }
}

/// The figure of the record whose standing this is. A figure without its own standing is sound.
fn figure_of(name: &str) -> Option<Figure> {
    // Service time and the latency of good responses are taken with the same stamps.
    let times = ["latency_ns.", "service_ns.", "latency_good_ns."];
    Figure::parse(times.iter().find_map(|times| name.strip_prefix(times)).unwrap_or(name))
}

/// The standing of a figure of a point.
pub fn standing(point: &Point, name: &str) -> Standing {
    figure_of(name).map_or(Standing::Sound, |figure| point.standing.of(figure).clone())
}

/// How far from the truth a figure may be if it is called sound.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// How late the worker may notice the ends of a window, nanoseconds.
    pub edge_ns: u64,
    /// Error of a time, as a share of it and in nanoseconds; the larger counts.
    pub time: (f64, u64),
    /// Which latency is the true one.
    pub of: Of,
}

/// From where a true latency counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// From the planned instant: any delay is the server's.
    Plan,
    /// From the send: any delay before it is the generator's, and connections had room.
    Send,
}

/// For a generator that is on time: buckets are a thousandth wide, and a turn takes microseconds.
pub const PUNCTUAL: Allowed = Allowed { edge_ns: MS, time: (0.002, 30 * US), of: Of::Plan };

/// Everything that is always true of a point of one worker.
pub fn hold(findings: &mut Findings, seen: &Seen, index: usize, allowed: Allowed) -> Truth {
    let truth = truth::of(seen, index, allowed.edge_ns);
    let point = &seen.run.record.points[index];
    conserved(findings, point, &truth);
    ends_as_ordered(findings, seen, point);
    rate_holds(findings, point, &truth);
    if allowed.of == Of::Plan {
        in_flight_holds(findings, point, &truth);
    }
    percentiles_hold(findings, point, &truth, allowed);
    truth
}

/// Every request has one fate, and the server agrees.
fn conserved(findings: &mut Findings, point: &Point, truth: &Truth) {
    let requests = &point.requests;
    if requests.sent != requests.completed + requests.failed + requests.unanswered {
        findings.wrong(format!("sent is not the sum of its fates: {requests:?}"));
    }
    if requests.planned.is_some_and(|planned| planned != requests.sent + requests.unsent) {
        findings.wrong(format!("planned is not sent and unsent: {requests:?}"));
    }
    let Fates { sent, good, bad, open, either } = truth.fates;
    let is_bad = (bad..=bad + either).contains(&requests.failed);
    if (requests.sent, requests.completed) != (sent, good) || !is_bad {
        findings.wrong(format!("the server saw {:?}, the record says {requests:?}", truth.fates));
    }
    if (requests.failed, requests.unanswered) != (bad, open) && either == 0 {
        findings.wrong(format!("the server saw {:?}, the record says {requests:?}", truth.fates));
    }
    let told: Vec<u64> = point.status.values().copied().collect();
    if told != truth.status {
        findings.wrong(format!("status {told:?} for a true {:?}", truth.status));
    }
    let arrived = requests.arrived.unwrap_or_default();
    let in_series: u64 = point.series.iter().map(|second| second.completed).sum();
    let in_tenths: u64 = point.per_100ms.iter().sum();
    if in_series != arrived || in_tenths != arrived {
        findings.wrong(format!("arrived {arrived}, series {in_series}, tenths {in_tenths}"));
    }
}

/// In open loop nothing is due after the ordered end, so the window ends there, however late the
/// worker notices.
fn ends_as_ordered(findings: &mut Findings, seen: &Seen, point: &Point) {
    let length_ns = point.window_ns.1 - point.window_ns.0;
    let is_whole = seen.run.record.outcome == Outcome::Complete;
    if let (Stop::AfterNs(ns), LoadModel::Open, true, None) =
        (seen.drawn.trial.stop, point.load.model, is_whole, &seen.drawn.trial.search)
        && length_ns != ns
    {
        findings.wrong(format!("a window of {ns} took {length_ns}"));
    }
}

/// The rate is that of good responses that arrived in the window.
fn rate_holds(findings: &mut Findings, point: &Point, truth: &Truth) {
    let (least, most) = truth.arrived;
    let true_rate = (least as f64 / truth.duration_s, most as f64 / truth.duration_s);
    holds(findings, point, ("rate", point.rate), true_rate);
}

/// The mean in flight over the window and over its ends: a response that has arrived but was not
/// read is still in flight for the generator.
fn in_flight_holds(findings: &mut Findings, point: &Point, truth: &Truth) {
    let shown = &point.in_flight;
    let figures = ["in_flight.mean", "in_flight.first", "in_flight.last"];
    for (name, (shown, truth)) in
        figures.into_iter().zip([shown.mean, shown.first, shown.last].into_iter().zip(truth.flying))
    {
        let Some(shown) = shown else { continue };
        let slack = truth * 0.05 + 1.0;
        holds(findings, point, (name, shown), (truth - slack, truth + slack));
    }
}

/// Each percentile is that of what the server saw, with all failed requests above all others.
fn percentiles_hold(findings: &mut Findings, point: &Point, truth: &Truth, allowed: Allowed) {
    let unknown = point.requests.sent + point.requests.unsent - truth.fates.good;
    let values = match allowed.of {
        Of::Plan => &truth.latencies,
        Of::Send => &truth.services,
    };
    distribution_holds(
        findings,
        point,
        ("latency_ns", &point.latency_ns),
        (values, unknown),
        allowed,
    );
    if let Some(good) = &point.latency_good_ns {
        distribution_holds(findings, point, ("latency_good_ns", good), (values, 0), allowed);
    }
    let unknown = point.requests.sent - truth.fates.good;
    let services = (truth.services.as_slice(), unknown);
    distribution_holds(findings, point, ("service_ns", &point.service_ns), services, allowed);
}

fn distribution_holds(
    findings: &mut Findings,
    point: &Point,
    (of, shown): (&str, &Summary),
    (values, unknown): (&[u64], u64),
    allowed: Allowed,
) {
    let named = [
        ("p50", 0.5, shown.p50),
        ("p75", 0.75, shown.p75),
        ("p90", 0.9, shown.p90),
        ("p95", 0.95, shown.p95),
        ("p99", 0.99, shown.p99),
        ("p99_9", 0.999, shown.p99_9),
        ("p99_99", 0.9999, shown.p99_99),
    ];
    let slack = |ns: u64| (ns as f64 * allowed.time.0).max(allowed.time.1 as f64);
    for (name, quantile, shown) in named {
        let Some(shown) = shown else { continue };
        // A rank is a whole number, and its neighbours are equally right.
        let step = 1.0 / (values.len() as f64 + unknown as f64).max(1.0);
        let least = percentile(values, unknown, (quantile - step).max(0.0));
        let most = percentile(values, unknown, quantile + step);
        let least = least.map_or(f64::INFINITY, |ns| ns as f64 - slack(ns));
        let most = most.map_or(f64::INFINITY, |ns| ns as f64 + slack(ns));
        holds(findings, point, (&format!("{of}.{name}"), shown as f64), (least, most));
    }
    if let (Some(mean), false) = (shown.mean, values.is_empty()) {
        let truth = values.iter().sum::<u64>() / values.len() as u64;
        let bounds = (truth as f64 - slack(truth), truth as f64 + slack(truth));
        holds(findings, point, (&format!("{of}.mean"), mean as f64), bounds);
    }
}

/// A figure, by its standing, against the least and the most true values.
fn holds(
    findings: &mut Findings,
    point: &Point,
    (figure, shown): (&str, f64),
    (least, most): (f64, f64),
) {
    let (low, high) = match standing(point, figure) {
        Standing::Sound => (shown, shown),
        // The bounds are those of the latency itself.
        Standing::Bounded { .. } if !figure.starts_with("latency_ns") && figure != "rate" => return,
        Standing::Bounded { low, high, .. } => (low, high.unwrap_or(f64::INFINITY)),
        Standing::NotKnown { .. } => return,
    };
    let rounding = 1e-6 * most.abs().max(1.0);
    if high < least - rounding || low > most + rounding {
        findings.wrong(format!("{figure} {low:.2}..{high:.2} for a true {least:.2}..{most:.2}"));
    }
}
