//! What must hold of every figure in every world.

use crate::stage::{MS, Seen, US};
use crate::truth::{self, Truth, percentile};
use model::run::Point;
use serde_json::Value;
use std::collections::BTreeMap;

/// What was found in one world.
#[derive(Debug, Default)]
pub struct Findings {
    /// What does not hold.
    pub wrong: Vec<String>,
    /// How often an interval was stated, and how often it held the truth.
    pub stated: BTreeMap<&'static str, (u64, u64)>,
}

impl Findings {
    /// Something does not hold.
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

/// How a figure stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// It is as shown.
    Sound,
    /// It lies between these.
    Bounded(f64, f64),
    /// It is not known.
    NotKnown,
}

/// How a figure of a point stands: sound where the record does not say.
pub fn standing(point: &Point, figure: &str) -> Standing {
    let value = serde_json::to_value(point).unwrap_or_default();
    match value.get("standing").and_then(|all| all.get(figure)) {
        None => Standing::Sound,
        Some(Value::String(word)) if word == "sound" => Standing::Sound,
        Some(kept) => match kept.get("bounded") {
            Some(bounds) => {
                let bound = |name: &str, other: f64| bounds[name].as_f64().unwrap_or(other);
                Standing::Bounded(bound("low", f64::NEG_INFINITY), bound("high", f64::INFINITY))
            }
            None => Standing::NotKnown,
        },
    }
}

/// How far from the truth a figure may be that is called sound.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// How late the worker may notice the ends of a window, nanoseconds.
    pub edge_ns: u64,
    /// Error of a time, as a share of it and in nanoseconds; the larger counts.
    pub time: (f64, u64),
}

/// For a generator that is on time: buckets are a thousandth wide, and a turn takes microseconds.
pub const PUNCTUAL: Allowed = Allowed { edge_ns: MS, time: (0.002, 30 * US) };

/// Everything that is always true of a point of one worker.
pub fn hold(findings: &mut Findings, seen: &Seen, index: usize, allowed: Allowed) -> Truth {
    let truth = truth::of(seen, index, allowed.edge_ns);
    let point = &seen.run.record.points[index];
    conserved(findings, point, &truth);
    rate_holds(findings, point, &truth);
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
    let fates = truth::Fates {
        sent: requests.sent,
        good: requests.completed,
        bad: requests.failed,
        open: requests.unanswered,
    };
    if fates != truth.fates {
        findings.wrong(format!("the server saw {:?}, the record says {fates:?}", truth.fates));
    }
}

/// The rate is that of good answers that arrived in the window.
fn rate_holds(findings: &mut Findings, point: &Point, truth: &Truth) {
    let (least, most) = truth.arrived;
    let true_rate = (least as f64 / truth.duration_s, most as f64 / truth.duration_s);
    let (low, high) = match standing(point, "rate") {
        Standing::Sound => (point.rate, point.rate),
        Standing::Bounded(low, high) => (low, high),
        Standing::NotKnown => return,
    };
    let rounding = 1e-6 * true_rate.1.max(1.0);
    if high < true_rate.0 - rounding || low > true_rate.1 + rounding {
        let (least, most) = true_rate;
        findings.wrong(format!("rate {low:.2}..{high:.2} for a true {least:.2}..{most:.2}"));
    }
}

/// Each percentile is the one of what the server saw, with all that failed above all that did not.
fn percentiles_hold(findings: &mut Findings, point: &Point, truth: &Truth, allowed: Allowed) {
    let unknown = point.requests.sent + point.requests.unsent - truth.fates.good;
    let named = [
        ("p50", 0.5, point.latency_ns.p50),
        ("p75", 0.75, point.latency_ns.p75),
        ("p90", 0.9, point.latency_ns.p90),
        ("p95", 0.95, point.latency_ns.p95),
        ("p99", 0.99, point.latency_ns.p99),
        ("p99_9", 0.999, point.latency_ns.p99_9),
    ];
    for (name, quantile, shown) in named {
        let Some(shown) = shown else { continue };
        let figure = format!("latency_ns.{name}");
        let (low, high) = match standing(point, &figure) {
            Standing::Sound => (shown as f64, shown as f64),
            Standing::Bounded(low, high) => (low, high),
            Standing::NotKnown => continue,
        };
        // A rank is a whole number, and its neighbours are as good.
        let step = 1.0 / (truth.latencies.len() as f64 + unknown as f64);
        let least = percentile(&truth.latencies, unknown, (quantile - step).max(0.0));
        let most = percentile(&truth.latencies, unknown, quantile + step);
        let slack = |ns: u64| (ns as f64 * allowed.time.0).max(allowed.time.1 as f64);
        let least = least.map_or(f64::INFINITY, |ns| ns as f64 - slack(ns));
        let most = most.map_or(f64::INFINITY, |ns| ns as f64 + slack(ns));
        if high < least || low > most {
            findings.wrong(format!(
                "{name} {low:.0}..{high:.0} ns for a true {least:.0}..{most:.0} ns"
            ));
        }
    }
}
