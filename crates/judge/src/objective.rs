//! Does a point, or a run, hold what was asked: `p99<2ms,errors<0.1%`.
//!
//! Three answers: met, missed, and open. A percentile without enough values beyond it is open,
//! never met; one that falls among requests without an answer is missed as soon as the time they
//! are known to have waited is beyond the bound.

use model::histogram::{SAMPLES_BEYOND, Summary};
use model::objective::{
    Expectation, Figure, Objective, PERCENTILES, Percentile, Relation, Statistic, Term, Unit,
};
use model::run::{Point, RequestInfo};
use model::units::{show_count, show_ns};

/// What was found for one term.
struct Finding {
    measured: Option<f64>,
    met: Option<bool>,
    why: String,
}

impl Finding {
    fn open(why: String) -> Self {
        Self { measured: None, met: None, why }
    }

    fn missed(why: String) -> Self {
        Self { measured: None, met: Some(false), why }
    }
}

/// How each term stands at a point, in the order of the terms.
pub fn at_point(objective: &Objective, point: &Point) -> Vec<Expectation> {
    objective.terms().iter().map(|term| expectation(term, find(term, point))).collect()
}

fn expectation(term: &Term, found: Finding) -> Expectation {
    let Finding { measured, met, why } = found;
    let (bound, unit) = (term.bound, term.figure.unit());
    Expectation { term: term.to_string(), measured, bound, unit, met, why }
}

fn find(term: &Term, point: &Point) -> Finding {
    match term.figure {
        Figure::Latency(statistic) => {
            let at_least = point.latency_at_least_ns.as_ref();
            time(term, statistic, Times { known: &point.latency_ns, at_least })
        }
        Figure::Service(statistic) => {
            time(term, statistic, Times { known: &point.service_ns, at_least: None })
        }
        Figure::Errors => {
            let RequestInfo { failed, unanswered, unsent, .. } = point.requests;
            share(term, failed + unanswered + unsent, &point.requests)
        }
        Figure::Status(class) => match point.status.get(class.key()) {
            Some(count) => share(term, *count, &point.requests),
            None => Finding::open(format!("status {} was not counted", class.key())),
        },
        Figure::Rate if point.load.duration_s > 0.0 => compared(term, point.rate),
        Figure::Rate => Finding::open("nothing was measured".to_string()),
    }
}

fn compared(term: &Term, measured: f64) -> Finding {
    let met = Some(term.relation.holds(measured, term.bound));
    let why = format!("measured {}", shown(measured, term.figure.unit()));
    Finding { measured: Some(measured), met, why }
}

/// A figure with its unit, for a sentence.
fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => show_ns(value),
        Unit::Percent if value == 0.0 => "0%".to_string(),
        Unit::Percent => format!("{value:.3}%"),
        Unit::PerSecond => format!("{}/s", show_count(value)),
    }
}

fn share(term: &Term, count: u64, requests: &RequestInfo) -> Finding {
    let due = requests.sent + requests.unsent;
    if due == 0 {
        return Finding::open("no request was due".to_string());
    }
    let mut found = compared(term, 100.0 * count as f64 / due as f64);
    found.why.push_str(&format!(", {count} of {due}"));
    found
}

/// A distribution, and the same with requests that have no answer put at the time they are known
/// to have waited: no percentile of it is above the true one.
#[derive(Clone, Copy)]
struct Times<'a> {
    known: &'a Summary,
    at_least: Option<&'a Summary>,
}

fn time(term: &Term, statistic: Statistic, times: Times<'_>) -> Finding {
    match statistic {
        Statistic::Percentile(percentile) => at_percentile(term, percentile, times),
        Statistic::Mean => mean(term, times),
        Statistic::Max => max(term, times),
    }
}

fn at_percentile(term: &Term, percentile: Percentile, times: Times<'_>) -> Finding {
    if let Some(value_ns) = value_of(times.known, percentile) {
        return compared(term, value_ns as f64);
    }
    let population = times.known.count + times.known.censored;
    let beyond = population as f64 * (1.0 - percentile.quantile());
    if beyond >= SAMPLES_BEYOND - 1e-6 && times.known.censored > 0 {
        let at_least = times.at_least.map(|summary| value_of(summary, percentile));
        return censored(term, percentile.name(), times.known.censored, at_least);
    }
    // What is known of lower percentiles can show a miss, never a hold.
    for lower in PERCENTILES.iter().filter(|lower| **lower < percentile) {
        let found = at_percentile(term, *lower, times);
        if found.met == Some(false) {
            return Finding::missed(format!("already {}: {}", lower.name(), found.why));
        }
    }
    let needed = (SAMPLES_BEYOND / (1.0 - percentile.quantile())).round();
    Finding::open(format!(
        "too few answers: {} needs {}, there are {}",
        percentile.name(),
        show_count(needed),
        show_count(population as f64)
    ))
}

/// The figure falls among requests without an answer.
fn censored(term: &Term, name: &str, count: u64, at_least: Option<Option<u64>>) -> Finding {
    let among = format!("{name} falls among {count} requests without an answer");
    match at_least {
        Some(Some(value_ns)) => {
            let shown = show_ns(value_ns as f64);
            if term.relation.holds(value_ns as f64, term.bound) {
                Finding::open(format!("{among}; it is at least {shown}"))
            } else {
                Finding::missed(format!("at least {shown}: {among}"))
            }
        }
        Some(None) | None => Finding::missed(among),
    }
}

fn mean(term: &Term, times: Times<'_>) -> Finding {
    let Summary { mean, censored, .. } = times.known;
    if *censored == 0 {
        let none = || Finding::open("there are no answers".to_string());
        return mean.map_or_else(none, |mean_ns| compared(term, mean_ns as f64));
    }
    // Requests without an answer took longer than those that have one, so the mean of these is a
    // lower bound.
    let at_least = times.at_least.map_or(*mean, |summary| summary.mean);
    censored_mean(term, *censored, at_least)
}

fn censored_mean(term: &Term, count: u64, at_least_ns: Option<u64>) -> Finding {
    let without = format!("{count} requests have no answer");
    match at_least_ns {
        Some(value_ns) if !term.relation.holds(value_ns as f64, term.bound) => {
            Finding::missed(format!("at least {}: {without}", show_ns(value_ns as f64)))
        }
        _ => Finding::open(without),
    }
}

fn max(term: &Term, times: Times<'_>) -> Finding {
    match (times.known.max, times.known.censored) {
        (Some(max_ns), 0) => compared(term, max_ns as f64),
        (None, 0) => Finding::open("there are no answers".to_string()),
        (_, count) => censored(term, "max", count, times.at_least.map(|summary| summary.max)),
    }
}

fn value_of(summary: &Summary, percentile: Percentile) -> Option<u64> {
    match percentile {
        Percentile::P50 => summary.p50,
        Percentile::P75 => summary.p75,
        Percentile::P90 => summary.p90,
        Percentile::P95 => summary.p95,
        Percentile::P99 => summary.p99,
        Percentile::P99_9 => summary.p99_9,
        Percentile::P99_99 => summary.p99_99,
    }
}

/// How each term stands over a run. What is bounded from above must hold at the last visit of
/// every level; a rate must be reached at one of them.
pub fn over_run(objective: &Objective, points: &[Point]) -> Vec<Expectation> {
    let last_visits = crate::last_visits(points);
    let terms = objective.terms().iter().enumerate();
    terms.map(|(index, term)| over_levels(term, index, points, &last_visits)).collect()
}

fn over_levels(term: &Term, index: usize, points: &[Point], visits: &[usize]) -> Expectation {
    let at = |visit: &usize| Some((*visit, points[*visit].expectations.get(index)?));
    let stands: Vec<(usize, &Expectation)> = visits.iter().filter_map(at).collect();
    let is_upper = matches!(term.relation, Relation::Below | Relation::AtMost);
    // The answer that decides for all levels comes first.
    let order =
        if is_upper { [Some(false), None, Some(true)] } else { [Some(true), None, Some(false)] };
    let rank = |met: Option<bool>| order.iter().position(|one| *one == met);
    let figure = |one: &Expectation| one.measured.unwrap_or(f64::INFINITY);
    let deciding = stands.iter().min_by(|(_, left), (_, right)| {
        // Among equals the largest figure: the worst time, the best rate.
        rank(left.met).cmp(&rank(right.met)).then(figure(right).total_cmp(&figure(left)))
    });
    let Some((visit, deciding)) = deciding else {
        return expectation(term, Finding::open("nothing was measured".to_string()));
    };
    let mut deciding = (*deciding).clone();
    if stands.len() > 1 {
        let load = &points[*visit].load;
        let at = match load.rate {
            Some(rate) => format!("at {}/s", show_count(rate)),
            None => format!("with {} connections", load.connections),
        };
        deciding.why.push_str(&format!(", {at}"));
    }
    deciding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::objective::Standing;

    fn judged(text: &str, point: &Point) -> Expectation {
        let found = at_point(&text.parse().unwrap(), point);
        assert_eq!(found.len(), 1);
        found[0].clone()
    }

    /// 5000 requests, all answered, p50 and p99 at 8 ms.
    fn point() -> Point {
        Fixture::point(8, 1000.0)
    }

    #[test]
    fn figures_are_compared_with_their_bounds() {
        let mut point = point();
        point.requests.failed = 3;
        point.requests.unanswered = 1;
        point.requests.unsent = 1;
        point.requests.sent = 4999;
        point.status.insert("5xx".to_string(), 2);
        for (text, met, measured) in [
            ("p99<9ms", true, 8e6),
            ("p99<=8ms", true, 8e6),
            ("p99<8ms", false, 8e6),
            ("service.p50<9ms", true, 8e6),
            ("mean<7ms", false, 8e6),
            ("max<9ms", true, 8e6),
            ("errors<0.2%", true, 0.1),
            ("errors<0.1%", false, 0.1),
            ("status5xx<0.05%", true, 0.04),
            ("rate>=1k", true, 1000.0),
            ("rate>1k", false, 1000.0),
        ] {
            let found = judged(text, &point);
            assert_eq!((found.met, found.measured), (Some(met), Some(measured)), "{text}");
            assert_eq!(found.term, text);
            assert!(found.why.starts_with("measured "), "{}", found.why);
        }
        assert!(judged("errors<1%", &point).why.ends_with("5 of 5000"));
    }

    #[test]
    fn too_few_answers_are_never_a_hold_but_can_be_a_miss() {
        let mut point = point();
        point.latency_ns = Summary {
            count: 400,
            p50: Some(1_000_000),
            p90: Some(3_000_000),
            ..Summary::default()
        };
        let open = judged("p99<4ms", &point);
        assert_eq!((open.met, open.measured), (None, None));
        assert_eq!(open.why, "too few answers: p99 needs 1000, there are 400");
        let missed = judged("p99<2ms", &point);
        assert_eq!(missed.met, Some(false), "p90 is beyond the bound, so p99 is");
        assert_eq!(missed.why, "already p90: measured 3.00ms");
        point.latency_ns = Summary::default();
        assert_eq!(judged("p50<1s", &point).met, None);
        assert_eq!(judged("mean<1s", &point).met, None);
        assert_eq!(judged("max<1s", &point).met, None);
    }

    #[test]
    fn a_percentile_among_requests_without_an_answer_is_missed_with_the_reason() {
        let mut point = point();
        let known = Summary { count: 950, censored: 50, mean: Some(1_000), ..Summary::default() };
        point.latency_ns = known.clone();
        let missed = judged("p99<1h", &point);
        assert_eq!(missed.met, Some(false));
        assert_eq!(missed.why, "p99 falls among 50 requests without an answer");
        assert_eq!(judged("max<1h", &point).met, Some(false));
        assert_eq!(judged("mean<1ms", &point).met, None, "it can only be more");
        assert_eq!(judged("mean<1us", &point).met, Some(false));
        let at_least = Summary { p99: Some(2_000_000), max: Some(3_000_000), ..Summary::default() };
        let times = Times { known: &known, at_least: Some(&at_least) };
        let stands = |text: &str| {
            let objective: Objective = text.parse().unwrap();
            let term = objective.terms()[0];
            let Figure::Latency(statistic) = term.figure else { panic!("{text}") };
            time(&term, statistic, times).met
        };
        assert_eq!(stands("p99<2ms"), Some(false), "they waited longer than that");
        assert_eq!(stands("p99<5ms"), None, "they waited less than that when it ended");
        assert_eq!((stands("max<3ms"), stands("max<4ms")), (Some(false), None));
    }

    #[test]
    fn nothing_sent_is_nothing_known() {
        let mut point = point();
        (point.requests.sent, point.requests.completed) = (0, 0);
        assert_eq!(judged("errors<1%", &point).met, None);
        point.load.duration_s = 0.0;
        assert_eq!(judged("rate>1", &point).met, None);
    }

    fn over(text: &str, mut points: Vec<Point>) -> Vec<Expectation> {
        let objective: Objective = text.parse().unwrap();
        for point in &mut points {
            point.expectations = at_point(&objective, point);
        }
        over_run(&objective, &points)
    }

    #[test]
    fn over_a_run_bounds_hold_at_every_level_and_a_rate_at_one() {
        // 8 ms, 8 ms and 16 ms.
        let levels = || {
            vec![Fixture::point(8, 1000.0), Fixture::point(16, 2000.0), Fixture::point(32, 2000.0)]
        };
        let found = over("p99<10ms,rate>=1500,p50<20ms", levels());
        assert_eq!(found[0].met, Some(false));
        assert_eq!(found[0].why, "measured 16.0ms, with 32 connections");
        assert_eq!((found[1].met, found[1].measured), (Some(true), Some(2000.0)));
        assert_eq!(found[2].met, Some(true));
        assert_eq!(over("rate>=3k", levels())[0].met, Some(false));
        let mut open = levels();
        open[0].latency_ns = Summary::default();
        let found = over("p99<20ms", open);
        assert_eq!(Standing::of(&found), Standing::Undecided);
        assert_eq!(over("p99<1s", Vec::new())[0].why, "nothing was measured");
    }

    #[test]
    fn a_repeat_stands_for_its_level() {
        let mut points = vec![Fixture::point(8, 1000.0), Fixture::point(8, 2000.0)];
        points[1].attempt = 2;
        let found = over("p99<5ms", points);
        assert_eq!((found[0].met, found[0].measured), (Some(true), Some(4e6)));
    }
}
