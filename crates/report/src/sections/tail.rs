//! Why the slowest requests are slow: in a sentence, and each request over time.

use super::timeline::chart;
use crate::page::{Axis, Band, Block, Chart, ChartShape, Mark, Series, View};
use crate::wording::{best_point, mark_of, per_second, point_phrase};
use model::figure::{Figure, Statistic, Times};
use model::run::{Point, Run};
use model::slow::SlowEnd;
use model::tail::{Tail, TailCause, TailShare};
use model::unit::Unit;
use model::units::show_ns;
use std::collections::BTreeSet;

/// What explains the slowest requests of a point, or may; nothing where nothing does.
pub(crate) fn phrase(point: &Point) -> Option<String> {
    let tail = point.tail.as_ref()?;
    if tail.causes.is_empty() && tail.unsure.is_none() {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    let quantile = tail.quantile.unwrap_or(0.0);
    let over = over(quantile, tail.at_least_ns.unwrap_or(0));
    parts.extend(explained(point, &tail.causes, &over));
    let unexplained = tail.unexplained.filter(|_| !tail.causes.is_empty());
    parts.extend(unexplained.and_then(remainder));
    if let Some(unsure) = &tail.unsure {
        let of = if parts.is_empty() { format!(" of {over}") } else { String::new() };
        parts.push(format!(
            "{}{of} {}, which may be chance (p {:.2}): a longer window (-d) would tell",
            percent(unsure.share),
            met(point, unsure),
            unsure.p.unwrap_or(1.0)
        ));
    }
    if let Some(beyond) = &tail.beyond {
        let over = self::over(beyond.quantile, beyond.at_least_ns);
        parts.extend(explained(point, &beyond.causes, &over));
        parts.extend(remainder(beyond.unexplained));
    }
    Some(parts.join("; "))
}

/// What each cause explains; the first says of which requests.
fn explained(point: &Point, causes: &[TailShare], over: &str) -> Vec<String> {
    let each = causes.iter().enumerate().map(|(nth, share)| {
        let chance = match share.expected {
            Some(expected) if expected >= SHOWN_MIN => {
                format!(", {} by chance", percent(expected))
            }
            _ => String::new(),
        };
        let of = if nth == 0 { format!(" of {over}") } else { String::new() };
        format!("{}{of} {}{chance}", percent(share.share), met(point, share))
    });
    each.collect()
}

fn remainder(unexplained: f64) -> Option<String> {
    (unexplained >= 0.005).then(|| format!("{} unexplained", percent(unexplained)))
}

/// Chance is mentioned from this share on.
const SHOWN_MIN: f64 = 0.05;

/// The same as a sentence, also where nothing explains them, and with what was not looked for.
pub(crate) fn sentence(point: &Point) -> Option<String> {
    let tail = point.tail.as_ref()?;
    if let Some(why) = &tail.unknown {
        return Some(format!("Why the slowest requests are slow is not known: {why}."));
    }
    let said = phrase(point).unwrap_or_else(|| {
        let over = over(tail.quantile.unwrap_or(0.0), tail.at_least_ns.unwrap_or(0));
        format!("nothing that was looked at explains {over}")
    });
    Some(format!("Tail: {said}.{}", unread(tail)))
}

fn unread(tail: &Tail) -> String {
    let each = tail.unreadable.iter().map(|unread| {
        let names: Vec<&str> = unread.causes.iter().map(|cause| many(*cause)).collect();
        format!(" Not looked for: {} ({}).", names.join(", "), unread.why)
    });
    each.collect()
}

/// `the requests over p99 (12.3ms)`: all of them, or the slowest of these.
fn over(quantile: f64, at_least_ns: u64) -> String {
    // The sets are the slowest twentieth, hundredth and thousandth, to a request.
    let quantile = format!("{:.1}", 100.0 * quantile);
    let quantile = quantile.trim_end_matches('0').trim_end_matches('.');
    format!("the requests over p{quantile} ({})", show_ns(at_least_ns as f64))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// What a cause is called, one and several.
fn words(cause: TailCause) -> (&'static str, &'static str) {
    match cause {
        TailCause::Generator => ("pause of the generator", "pauses of the generator"),
        TailCause::Throttled => ("throttled period", "throttled periods"),
        TailCause::Stolen => ("moment of stolen CPU time", "moments of stolen CPU time"),
        TailCause::Paused => ("pause of the server", "pauses of the server"),
        TailCause::Resent => ("moment of retransmits", "moments of retransmits"),
        TailCause::Storage => ("moment of a busy disk", "moments of a busy disk"),
        TailCause::Memory => ("memory stall", "memory stalls"),
        TailCause::Arrivals => ("burst of arrivals", "bursts of arrivals"),
        TailCause::Softirq => ("burst of receive work", "bursts of receive work"),
        TailCause::Others => ("wait for a CPU that others used", "waits for CPUs that others used"),
        TailCause::RunQueue => ("wait for a CPU", "waits for a CPU"),
        TailCause::Target => ("one target", "one target"),
        TailCause::Connection => ("one connection", "one connection"),
        TailCause::NewConnection => ("new connections", "new connections"),
    }
}

fn many(cause: TailCause) -> &'static str {
    words(cause).1
}

/// `fell into 14 throttled periods (S3)`.
fn met(point: &Point, share: &TailShare) -> String {
    let wall = share.wall.as_ref().map_or_else(String::new, |wall| format!(" ({wall})"));
    let number = share.number.unwrap_or(0);
    match share.cause {
        TailCause::Generator => format!("waited for the generator itself{wall}"),
        TailCause::Target => {
            let name = point.targets.get(number as usize).map_or("?", |target| &target.name);
            format!("asked for {name}")
        }
        TailCause::Connection => format!("were on one connection, number {number}"),
        TailCause::NewConnection => format!("were the first on their connection{wall}"),
        cause => {
            let (one, many) = words(cause);
            let word = if share.events == 1 { one } else { many };
            format!("fell into {} {word}{wall}", share.events)
        }
    }
}

/// What broke the objective of a search, where that was a high percentile: the tail of the lowest
/// rate that missed it.
pub(crate) fn of_miss(run: &Run) -> Option<String> {
    let search = run.record.search.as_ref()?;
    let misses_at = search.answer.as_ref()?.misses_at?;
    let (trial, point) = search
        .trials
        .iter()
        .zip(&run.record.points)
        .rfind(|(trial, point)| trial.rate == misses_at && misses_tail(run, point))?;
    Some(format!("at {}, which misses, {}", per_second(trial.rate), phrase(point)?))
}

/// Whether a point misses a bound of a high percentile.
fn misses_tail(run: &Run, point: &Point) -> bool {
    let Some(objective) = &run.record.trial.expect else { return false };
    let mut terms = objective.terms().iter().zip(&point.expectations);
    terms.any(|(term, stands)| {
        let Figure::Time(times, statistic) = term.figure else { return false };
        let is_high = statistic == Statistic::Max
            || statistic.quantile().is_some_and(|quantile| quantile >= 0.95);
        stands.met == Some(false) && times != Times::Connect && is_high
    })
}

/// For a run: of what missed, else of the best point.
pub(crate) fn of_run(run: &Run) -> Option<String> {
    match &run.record.search {
        Some(_) => of_miss(run),
        None => phrase(best_point(run)?.1),
    }
}

/// Each slow request of each point over its window, with the times of the main cause.
pub fn over_time(run: &Run) -> Vec<Block> {
    let views: Vec<View> = run.record.points.iter().filter_map(|point| view(run, point)).collect();
    if views.is_empty() {
        return Vec::new();
    }
    let note = "The slowest twentieth, or some of it, by when each was due. The bars on top are \
                the times of what explains most of them.";
    let chart = chart("slowest-requests", "The slowest requests", note);
    let label = best_point(run).map(|(_, point)| point_phrase(point));
    let selected = views.iter().position(|view| Some(&view.label) == label.as_ref());
    let y = Axis::log("latency", Unit::Ns);
    let selected = selected.unwrap_or(0);
    vec![Block::Chart(Chart { y, shape: ChartShape::Dots, views, selected, ..chart })]
}

fn view(run: &Run, point: &Point) -> Option<View> {
    let slowest = point.slowest.as_ref()?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let main = point.tail.as_ref().and_then(|tail| tail.causes.first().or(tail.unsure.as_ref()));
    let bands = main.into_iter().flat_map(|share| {
        share.times_ns.iter().map(|(from_ns, to_ns)| Band {
            label: words(share.cause).0.to_string(),
            from: seconds(*from_ns),
            to: seconds(*to_ns),
            mark: Mark::None,
        })
    });
    let bands = bands.collect();
    let ends: BTreeSet<&str> = slowest.each.iter().map(|one| end_word(one.end)).collect();
    let series = |label: &str| Series {
        label: label.to_string(),
        y: slowest
            .each
            .iter()
            .map(|one| (end_word(one.end) == label).then_some(one.took_ns as f64))
            .collect(),
    };
    Some(View {
        label: point_phrase(point),
        mark: mark_of(run, point),
        x: slowest.each.iter().map(|one| seconds(one.planned_ns)).collect(),
        series: ends.into_iter().map(series).collect(),
        bands,
        ..View::default()
    })
}

fn end_word(end: SlowEnd) -> &'static str {
    match end {
        SlowEnd::Answered => "answered",
        SlowEnd::TimedOut => "timed out",
        SlowEnd::Unanswered => "unanswered",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::slow::{SlowRequest, Slowest};
    use model::tail::{TailBeyond, TailUnread};

    fn share(cause: TailCause, part: f64, events: u64) -> TailShare {
        TailShare {
            cause,
            wall: cause.wall().map(|wall| wall.id().to_string()),
            number: None,
            share: part,
            expected: Some(0.03),
            events,
            p: Some(0.004),
            times_ns: vec![(0, 200_000_000)],
        }
    }

    fn with_tail(tail: Tail) -> Run {
        let mut run = fixtures::load_open();
        let slow = |planned_ns, end| SlowRequest {
            planned_ns,
            took_ns: 20_000_000,
            end,
            ..SlowRequest::default()
        };
        let each = vec![slow(5, SlowEnd::Answered), slow(900_000_000, SlowEnd::TimedOut)];
        let (of, requests, at_least_ns) = (100_000, 1000, 12_300_000);
        run.record.points[0].slowest = Some(Slowest { of, requests, at_least_ns, each });
        let (at_least_ns, quantile) = (Some(at_least_ns), Some(0.99));
        run.record.points[0].tail = Some(Tail { at_least_ns, quantile, ..tail });
        run
    }

    #[test]
    fn the_tail_reads_like_this() {
        let throttled = share(TailCause::Throttled, 0.71, 14);
        let target = TailShare { expected: Some(0.09), ..share(TailCause::Target, 0.2, 9) };
        let causes = vec![throttled.clone(), target];
        let tail = Tail { causes, unexplained: Some(0.09), ..Tail::default() };
        let run = with_tail(tail.clone());
        assert_eq!(
            phrase(&run.record.points[0]).unwrap(),
            "71 % of the requests over p99 (12.3ms) fell into 14 throttled periods (S3); 20 % \
             asked for ?, 9 % by chance; 9 % unexplained"
        );
        let causes = vec![share(TailCause::Paused, 0.8, 4)];
        let beyond =
            TailBeyond { at_least_ns: 300_000_000, quantile: 0.999, causes, unexplained: 0.2 };
        let causes = vec![throttled.clone()];
        let tail = Tail { causes, beyond: Some(beyond), unexplained: Some(0.29), ..tail };
        assert_eq!(
            phrase(&with_tail(tail.clone()).record.points[0]).unwrap(),
            "71 % of the requests over p99 (12.3ms) fell into 14 throttled periods (S3); 29 % \
             unexplained; 80 % of the requests over p99.9 (300ms) fell into 4 pauses of the \
             server (A5); 20 % unexplained"
        );
        let tail = Tail { beyond: None, ..tail };
        let unsure = Some(TailShare { p: Some(0.03), ..throttled });
        let unread = TailUnread { causes: vec![TailCause::Paused], why: "it was not read".into() };
        let tail = Tail { causes: vec![], unexplained: Some(1.0), unsure, ..tail };
        let run = with_tail(Tail { unreadable: vec![unread.clone()], ..tail });
        assert_eq!(
            sentence(&run.record.points[0]).unwrap(),
            "Tail: 71 % of the requests over p99 (12.3ms) fell into 14 throttled periods (S3), \
             which may be chance (p 0.03): a longer window (-d) would tell. Not looked for: \
             pauses of the server (it was not read)."
        );
        let run = with_tail(Tail { unexplained: Some(1.0), ..Tail::default() });
        assert_eq!(phrase(&run.record.points[0]), None);
        assert_eq!(
            sentence(&run.record.points[0]).unwrap(),
            "Tail: nothing that was looked at explains the requests over p99 (12.3ms)."
        );
        let unknown = Some("only 400 requests were answered".to_string());
        let run = with_tail(Tail { unknown, ..Tail::default() });
        assert_eq!(
            sentence(&run.record.points[0]).unwrap(),
            "Why the slowest requests are slow is not known: only 400 requests were answered."
        );
    }

    #[test]
    fn each_slow_request_is_drawn_with_the_times_of_its_cause() {
        let causes = vec![share(TailCause::Throttled, 0.71, 14)];
        let run = with_tail(Tail { causes, unexplained: Some(0.29), ..Tail::default() });
        let [Block::Chart(chart)] = &over_time(&run)[..] else { panic!("one chart") };
        let view = &chart.views[0];
        assert_eq!((view.x.len(), view.series.len(), view.bands.len()), (2, 2, 1));
        assert_eq!(view.series[1].label, "timed out");
        assert_eq!(view.series[1].y, [None, Some(20_000_000.0)]);
        assert!(over_time(&fixtures::load_open()).is_empty());
    }
}
