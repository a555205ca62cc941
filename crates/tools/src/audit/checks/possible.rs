//! A figure that refutes itself, whatever the others say.
//!
//! No time, count, size or share is negative, not a number, or without end, and no share is more
//! than all. Without a response there is no latency, not even one of zero. No time is longer than
//! the tool exists. The other checks do not see such a figure: what agrees with it would not be
//! sound.

use super::failures::has_response;
use super::{Listed, open};
use crate::audit::say::number;
use jiff::Timestamp;
use model::audit::{Figure, Finding, Foreign, Given, Latencies, Outcome, Since};
use model::unit::Unit;

pub(super) const LISTED: Listed = Listed {
    id: "possible",
    asks: "Is it a number, not negative, a time of a response, and no longer than the tool exists?",
    source: "definition of a time and of a count; the first release of each tool, in FIRST",
    check,
};

/// A tool, and the day of its first commit or release.
struct First {
    tool: &'static str,
    /// Midnight, UTC.
    day: &'static str,
    of: &'static str,
}

/// From the first commit of each repository; from the copyright of `ab.c` and of Gatling's files,
/// and from the history of JMeter (1.0 in December 1998).
const FIRST: [First; 13] = [
    First { tool: "wrk", day: "2012-03-18", of: "first public release" },
    First { tool: "wrk2", day: "2014-11-06", of: "first commit" },
    First { tool: "oha", day: "2020-03-02", of: "first commit" },
    First { tool: "hey", day: "2014-01-05", of: "first commit, as boom" },
    First { tool: "h2load", day: "2014-02-28", of: "first commit in nghttp2" },
    First { tool: "ab", day: "1996-01-01", of: "copyright from 1996 on" },
    First { tool: "vegeta", day: "2013-08-13", of: "first commit" },
    First { tool: "k6", day: "2016-03-21", of: "first commit" },
    First { tool: "autocannon", day: "2016-03-31", of: "first commit" },
    First { tool: "fortio", day: "2017-07-07", of: "first commit" },
    First { tool: "ghz", day: "2018-03-13", of: "first commit" },
    First { tool: "gatling", day: "2011-01-01", of: "copyright from 2011 on" },
    First { tool: "jmeter", day: "1998-12-15", of: "version 1.0" },
];
const YEAR_S: f64 = 365.25 * 86_400.0;

const BROKEN: &str = "do not use this figure; measure again, with another tool if it is the same";
const NOTHING: &str = "make sure that the server responds: `ceiling load` says how requests failed";
const CLOCK: &str = "measure again; the clock was set during the run, or the file was changed";

fn check(report: &Foreign, given: &Given) -> Vec<Finding> {
    let nothing = report.latencies.iter().filter_map(|latency| of_nothing(report, latency));
    let nothing: Vec<Finding> = nothing.collect();
    let is_new = |name: &str| !nothing.iter().any(|of| of.claims.iter().any(|one| one == name));
    let figures = report.figures().into_iter().filter(|(name, ..)| is_new(name));
    let each = figures.filter_map(|(name, unit, figure)| {
        of_figure(&name, unit, figure).or_else(|| of_age(report, given, (&name, unit, figure)))
    });
    let each: Vec<Finding> = each.collect();
    nothing.into_iter().chain(each).collect()
}

/// What the other checks look at: the account without the figures that are refuted here, and
/// without unusable facts.
pub(crate) fn rest(report: &Foreign, refuted: &[Finding]) -> Foreign {
    let mut rest = report.clone();
    rest.remove(|name| refuted.iter().any(|of| of.claims.iter().any(|claim| claim == name)));
    let is_real = |figure: &Figure| figure.value.is_finite() && figure.value >= 0.0;
    rest.sums.retain(|sum| is_real(&sum.whole) && sum.parts.iter().all(is_real));
    let facts =
        [&mut rest.connections, &mut rest.depth, &mut rest.threads, &mut rest.asked_s].into_iter();
    let counts = rest.latencies.iter_mut().map(|latency| &mut latency.samples);
    facts.chain(counts).for_each(|fact| *fact = fact.take().filter(is_real));
    rest
}

fn of_figure(name: &str, unit: Unit, figure: &Figure) -> Option<Finding> {
    let printed = &figure.printed;
    let words = match figure.value {
        value if value.is_nan() => format!("{printed} is not a number: a mean of no values?"),
        value if value.is_infinite() => format!("{printed} has no end: a division by zero?"),
        value if value < 0.0 => format!("{printed} is below zero, and {} can be", none(name)),
        _ if unit == Unit::Share && figure.low > 1.0 => format!("{printed} is more than all"),
        _ => return None,
    };
    let line = if figure.line > 0 { format!("line {}: ", figure.line) } else { String::new() };
    Some(open(Outcome::Impossible, &[name], format!("{line}{words}"), BROKEN))
}

fn none(name: &str) -> &'static str {
    match name {
        "requests" | "good" | "errors" | "dropped" => "no count",
        "rate" | "good_rate" | "target_rate" | "bytes_rate" => "no rate",
        "bytes" => "no size",
        "success" => "no share",
        name if name.starts_with("status.") || name.starts_with("errors.") => "no count",
        _ => "no time",
    }
}

/// Times of requests without a response are not latencies, and zeros are not times.
fn of_nothing(report: &Foreign, latency: &Latencies) -> Option<Finding> {
    let claims: Vec<String> = latency.figures().into_iter().map(|(name, ..)| name).collect();
    let is_empty = latency.samples.as_ref().is_some_and(|samples| samples.high == 0.0);
    let is_some = has_response(report) && (!is_empty || report.statuses.is_empty());
    if is_some || latency.since == Since::Other || claims.is_empty() {
        return None;
    }
    let made = report.requests.as_ref().into_iter().chain(&report.failed);
    let made = made.map(|figure| figure.value).fold(0.0, f64::max);
    let of = if made > 0.0 { format!(" of {}", number(made)) } else { String::new() };
    let words = match has_response(report) {
        true => format!("no request{of} got a good response, and these are times of good ones"),
        false => format!("no request{of} got a response: there is no time of a response"),
    };
    Some(open(Outcome::Impossible, &claims, words, NOTHING))
}

fn of_age(report: &Foreign, given: &Given, of: (&str, Unit, &Figure)) -> Option<Finding> {
    let (name, unit, figure) = of;
    let first = FIRST.iter().find(|first| first.tool == report.tool)?;
    let began: Timestamp = format!("{}T00:00:00Z", first.day).parse().ok()?;
    let age_s = given.now_s? - began.as_second() as f64;
    if unit != Unit::Seconds || figure.low <= age_s {
        return None;
    }
    let words = format!(
        "{:.1} years, and {} is {:.1} years old ({}: {})",
        figure.value / YEAR_S,
        report.tool,
        age_s / YEAR_S,
        first.of,
        first.day
    );
    Some(open(Outcome::Impossible, &[name], words, CLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::formats::FORMATS;
    use crate::audit::judge::account;
    use model::audit::{Account, Percentile, Tally};

    fn judged(report: Foreign) -> Account {
        let given = Given { now_s: Some(1.8e9), ..Given::default() };
        account("-".into(), String::new(), report, &given)
    }

    fn refuted(of: &Account) -> Vec<&str> {
        let wrong = of.claims.iter().filter(|claim| claim.outcome == Outcome::Impossible);
        wrong.map(|claim| claim.name.as_str()).collect()
    }

    /// Every figure of an account, one after the other, as no measurement gives it.
    #[test]
    fn what_is_no_measurement_refutes_itself_in_every_figure_and_no_other() {
        let one = |value| Some(Figure::exact(value, 3));
        let made = |value: f64| Foreign {
            rate: one(10.0),
            requests: one(100.0),
            good: one(100.0),
            failed: one(0.0),
            success: one(1.0),
            duration_s: one(10.0),
            bytes: one(1e5),
            statuses: vec![Tally { name: "200".into(), count: Figure::exact(100.0, 3) }],
            latencies: vec![Latencies {
                since: Since::Send,
                mean: one(0.1),
                stdev: one(0.1),
                min: one(value),
                max: one(0.5),
                percentiles: vec![Percentile { share: 0.5, value: Figure::exact(0.1, 3) }],
                ..Latencies::default()
            }],
            ..Foreign::default()
        };
        assert_eq!(refuted(&judged(made(0.01))), Vec::<&str>::new());
        for value in [-0.001, -9e18, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let of = judged(made(value));
            assert_eq!(refuted(&of), ["min"], "{value}");
            let more = Foreign { success: one(1.01), ..made(0.01) };
            assert_eq!(refuted(&judged(more)), ["success"]);
            let min = of.claims.iter().find(|claim| claim.name == "min").unwrap();
            assert_eq!(min.findings.len(), 1, "no other check looks at it: {min:?}");
            for name in ["rate", "requests", "good", "duration", "bytes", "success", "mean"] {
                let mut report = made(0.01);
                let bad = Figure::exact(value, 3);
                let figure = match name {
                    "rate" => &mut report.rate,
                    "requests" => &mut report.requests,
                    "good" => &mut report.good,
                    "duration" => &mut report.duration_s,
                    "bytes" => &mut report.bytes,
                    "success" => &mut report.success,
                    _ => &mut report.latencies[0].mean,
                };
                *figure = Some(bad);
                assert_eq!(refuted(&judged(report)), [name], "{value}");
            }
        }
    }

    #[test]
    fn no_tool_measured_for_longer_than_it_exists() {
        let made = |tool: &str, years: f64| Foreign {
            tool: tool.into(),
            duration_s: Some(Figure::exact(years * YEAR_S, 1)),
            ..Foreign::default()
        };
        // The instant of `judged` is in January 2027.
        for (tool, years, is_wrong) in
            [("wrk", 14.9, true), ("wrk", 14.7, false), ("jmeter", 27.0, false), ("oha", 7.0, true)]
        {
            assert_eq!(!refuted(&judged(made(tool, years))).is_empty(), is_wrong, "{tool} {years}");
        }
        let tools: Vec<&str> = FORMATS.iter().map(|format| format.tool).collect();
        assert!(tools.iter().all(|tool| FIRST.iter().any(|first| first.tool == *tool)));
    }
}
