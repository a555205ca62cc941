//! k6, `--summary-export`, `handleSummary` and the machine-readable summary.
//!
//! Source: k6 1.8 `lib/netext/httpext/tracer.go`, `metrics/sink.go`. `http_req_duration` is
//! sending, waiting and receiving, without waiting for a connection; it includes failed requests,
//! with 0 if nothing was sent. Milliseconds in full precision. A user may send several requests at
//! once (`http.batch`), and may sleep. Rates are planned, and dropped, in iterations, each of which
//! may make several requests. A threshold is `{"ok": false}` when it was crossed, and `true` in the
//! older layout of `--summary-export`.

use super::{Format, Reader, Report};
use crate::audit::document::{Node, Object};
use model::audit::{Counts, Figure, Foreign, Latencies, Loop, Meaning, Percentile, Since};
use model::maps::IntoMap;
use std::collections::BTreeMap;

pub(super) const FORMAT: Format = Format {
    id: "k6-json",
    tool: "k6",
    about: "summary of k6 as JSON",
    example: "k6 run --summary-export k6.json script.js",
    reader: Reader::Document(is, read),
    reads: &[
        ("requests, rate", "`http_reqs`"),
        ("good, errors", "`http_req_failed`"),
        ("dropped", "`dropped_iterations` x requests of an iteration"),
        ("bytes, bytes_rate", "`data_received`"),
        ("mean, min, max, pN", "`http_req_duration`"),
    ],
    needs: "`http_reqs` with `count`",
};

type Metrics<'a> = BTreeMap<String, Object<'a>>;

fn is(root: &Object<'_>) -> bool {
    metrics(root).contains_key("http_reqs")
}

/// Metrics by name, wherever this layout has them and their values.
fn metrics<'a>(root: &Object<'a>) -> Metrics<'a> {
    let values = |object: Object<'a>| object.object("values").unwrap_or(object);
    if let Some(list) = root.object("results").and_then(|results| results.get("metrics")) {
        let named = |node: Node<'a>| {
            let object = node.object()?;
            Some((object.words("name")?, values(object)))
        };
        return list.list().into_iter().take(METRICS_MAX).filter_map(named).into_map();
    }
    let holder = root.object("metrics").unwrap_or_else(|| root.clone());
    let entries = holder.entries().take(METRICS_MAX);
    entries.filter_map(|(name, node)| Some((name.to_string(), values(node.object()?)))).into_map()
}

const METRICS_MAX: usize = 10_000;

fn read(root: &Object<'_>) -> Report {
    let metrics = metrics(root);
    let requests = metrics.get("http_reqs").ok_or("metric http_reqs")?;
    let count = requests.count("count").ok_or("count of http_reqs")?;
    let failed =
        metrics.get("http_req_failed").and_then(|of| of.count("passes").or(of.count("matches")));
    let users = metrics.get("vus_max").or(metrics.get("vus"));
    let of_users = users.and_then(|of| of.count("max").or(of.count("value")));
    let bytes = metrics.get("data_received");
    let iterations = metrics.get("iterations").and_then(|of| of.count("count"));
    let mut report = Foreign {
        crossed: crossed(root),
        connections: of_users,
        rate: requests.scaled("rate", 1.0),
        dropped: metrics.get("dropped_iterations").and_then(|of| of.count("count")),
        bytes: bytes.and_then(|of| of.count("count")),
        bytes_rate: bytes.and_then(|of| of.scaled("rate", 1.0)),
        latencies: metrics
            .get("http_req_duration")
            .map(|of| latencies(of, &count))
            .into_iter()
            .collect(),
        ..Foreign::default()
    };
    of_iterations(&mut report, &count, iterations.as_ref());
    finish(&mut report, count, failed);
    Ok(report)
}

/// The thresholds that were crossed, each after its metric.
fn crossed(root: &Object<'_>) -> Vec<String> {
    let holder = root.object("metrics").unwrap_or_else(|| root.clone());
    let mut names = Vec::new();
    for (metric, node) in holder.entries().take(METRICS_MAX) {
        let rules = node.object().and_then(|of| of.object("thresholds"));
        for (rule, node) in rules.iter().flat_map(Object::entries).take(super::TALLIES_MAX) {
            let is_good = node.object().map(|of| of.flag("ok") != Some(false));
            if !is_good.unwrap_or(node.flag() != Some(true)) {
                names.push(format!("{metric} {rule}").chars().take(200).collect());
            }
        }
    }
    names.truncate(super::TALLIES_MAX);
    names
}

/// Turns the planned rate and what was dropped from iterations into requests. If the number of
/// requests in an iteration is not known, the rate says nothing about requests.
pub(super) fn of_iterations(report: &mut Foreign, requests: &Figure, iterations: Option<&Figure>) {
    let each = iterations.map(|all| requests.value / all.value).filter(|each| each.is_finite());
    // Iterations that were cut off at the end made requests, too.
    let is_one = each.is_some_and(|each| (0.98..1.02).contains(&each));
    let as_requests = |figure: &Figure| match each {
        _ if is_one => Some(figure.clone()),
        Some(each) => Some(Figure {
            line: figure.line,
            value: figure.value * each,
            low: figure.low * each,
            high: figure.high * each,
            printed: format!("{} x {:.3}", figure.printed, each.min(1e9)).replace(".000", ""),
        }),
        None => None,
    };
    report.target_rate = report.target_rate.as_ref().and_then(as_requests);
    report.dropped = report.dropped.take().map(|dropped| as_requests(&dropped).unwrap_or(dropped));
}

/// What text and JSON have in common.
pub(super) fn finish(report: &mut Foreign, requests: Figure, failed: Option<Figure>) {
    let good =
        |failed: &Figure| Figure::exact((requests.value - failed.value).max(0.0), failed.line);
    report.good = failed.as_ref().map(good);
    (report.failed, report.requests) = (failed, Some(requests));
    report.meaning = Meaning {
        load: if report.dropped.is_some() { Loop::Open } else { Loop::Unknown },
        counts: Counts::Requests,
        edge_s: Some(0.0),
        ..Meaning::default()
    };
}

fn latencies(of: &Object<'_>, requests: &Figure) -> Latencies {
    let rank = |(key, node): (&str, Node<'_>)| {
        let share: f64 = key.strip_prefix("p(")?.strip_suffix(')')?.parse().ok()?;
        let value = node.scaled(1e-3)?;
        (0.0..=100.0).contains(&share).then_some(Percentile { share: share / 100.0, value })
    };
    let median = of.scaled("med", 1e-3).map(|value| Percentile { share: 0.5, value });
    let mut percentiles: Vec<Percentile> = of.entries().filter_map(rank).collect();
    if percentiles.iter().all(|one| one.share != 0.5) {
        percentiles.extend(median);
    }
    Percentile::sort(&mut percentiles);
    Latencies {
        since: Since::Send,
        mean: of.scaled("avg", 1e-3),
        min: of.scaled("min", 1e-3),
        max: of.scaled("max", 1e-3),
        percentiles,
        samples: Some(requests.clone()),
        ..Latencies::default()
    }
}
