//! autocannon, `-j`.
//!
//! Source: autocannon 8 `lib/run.js`, `lib/histUtil.js`. Latencies are kept in whole milliseconds,
//! with three digits. `requests.average` is the mean of counts per second; `requests.total` are
//! responses and `requests.sent` requests, whose number the table prints. With a rate and without
//! `-C` autocannon adds values to the latencies, one for each millisecond of a response.

use super::{Format, Reader, Report, total};
use crate::audit::checks::open;
use crate::audit::document::Object;
use crate::audit::page::Page;
use crate::audit::printed::count;
use model::audit::{
    Counts, Figure, Finding, Foreign, Latencies, Loop, Meaning, Outcome, Percentile, RateIs, Since,
    Sum, Tally,
};

pub(super) const FORMAT: Format = Format {
    id: "autocannon-json",
    tool: "autocannon",
    about: "JSON of autocannon",
    example: "autocannon -c 64 -d 30 -j URL > autocannon.json",
    reader: Reader::Document(is, read),
    reads: &[
        ("requests, rate", "`requests.total`, `requests.average`"),
        ("good, status.*", "`1xx` to `5xx`"),
        ("errors, errors.*", "`errors`, `requests.sent`"),
        ("duration", "`duration`"),
        ("bytes, bytes_rate", "`throughput`"),
        ("mean, stdev, min, max, pN", "`latency`"),
    ],
    needs: "`requests.total`, `latency`",
};

pub(super) const STEP_S: f64 = 1e-3;
pub(super) const ERROR_SHARE: f64 = 0.001;
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

fn is(root: &Object<'_>) -> bool {
    root.has(&["latency", "requests", "throughput", "non2xx"])
}

fn read(root: &Object<'_>) -> Report {
    let requests = root.object("requests").ok_or("requests")?;
    let throughput = root.object("throughput");
    let class = |name: &&str| Some(Tally { name: name.to_string(), count: root.count(name)? });
    let statuses: Vec<Tally> = CLASSES.iter().filter_map(class).collect();
    let error = |name: &&str| Some(Tally { name: name.to_string(), count: root.count(name)? });
    // `errors` includes the time-outs.
    let errors: Vec<Tally> = ["errors"].iter().filter_map(error).collect();
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let all = requests.count("total").ok_or("requests.total")?;
    let lost = total(&errors).value;
    // What was sent and not answered failed, unless it was in flight at the end.
    let sent = requests.count("sent").map_or(0.0, |sent| sent.value);
    let failed = Figure::exact((all.value - good.value).max(0.0) + lost, all.line);
    let failed = Figure { high: failed.high.max(sent - good.value), ..failed };
    let is_unanswered = all.value + lost == 0.0 && sent > 0.0;
    let failed = if is_unanswered { Figure::exact(sent, all.line) } else { failed };
    let of_latency = root.object("latency").ok_or("latency")?;
    let latency = latencies(&of_latency, &all);
    let kept = of_latency.count("totalCount");
    let defects = [min_without_zeros(&latency), more_added(&latency, kept, &all)];
    Ok(Foreign {
        url: root.words("url"),
        connections: sockets(root.count("connections"), root.count("workers").as_ref()),
        depth: root.count("pipelining"),
        threads: root.count("workers"),
        // Rounded to two digits; JSON omits trailing zeros.
        duration_s: root.scaled("duration", 1.0).map(|report| Figure {
            low: report.value - 0.01,
            high: report.value + 0.01,
            ..report
        }),
        rate: requests.scaled("average", 1.0),
        bytes: throughput.as_ref().and_then(|of| of.count("total")),
        bytes_rate: throughput.as_ref().and_then(|of| of.scaled("average", 1.0)),
        failed: Some(failed),
        sums: vec![Sum {
            claims: vec!["requests".into(), "good".into()],
            whole_is: "requests".into(),
            whole: all.clone(),
            parts_are: "1xx + 2xx + 3xx + 4xx + 5xx".into(),
            parts: statuses.iter().map(|one| one.count.clone()).collect(),
            slack: 0.0,
        }],
        good: Some(good),
        latencies: vec![latency],
        requests: Some(all),
        statuses,
        errors,
        meaning: Meaning { defects: defects.into_iter().flatten().collect(), ..meaning() },
        ..Foreign::default()
    })
}

/// Values below a millisecond are kept as 0, and left out of the minimum.
fn min_without_zeros(latency: &Latencies) -> Option<Finding> {
    let zero = latency.percentiles.iter().find(|one| one.value.value == 0.0)?;
    let min = latency.min.as_ref().filter(|min| min.value > 0.0)?;
    let arithmetic =
        format!("{} is 0 ms, so the least of them is not {} ms", zero.name(), min.printed);
    let settle = "use a tool that keeps microseconds";
    let finding = open(Outcome::Impossible, &[latency.claim("min")], arithmetic, settle);
    Some(Finding { bound: Some((Some(0.0), Some(STEP_S))), ..finding })
}

/// If more values were added than measured, mean and percentiles do not describe the requests.
fn more_added(latency: &Latencies, kept: Option<Figure>, all: &Figure) -> Option<Finding> {
    let kept = kept.filter(|kept| kept.value > 2.0 * all.value)?;
    // The highest values were measured: each added value is below another one.
    let is_reached = |share: f64| share >= 0.5 && kept.value * (1.0 - share) >= 10.0;
    let ranks = latency.percentiles.iter().filter(|one| is_reached(one.share));
    let mut claims: Vec<String> = ranks.map(|one| latency.claim(&one.name())).collect();
    claims.push(latency.claim("mean"));
    let arithmetic = format!(
        "{} latencies of {} responses: {} were added and not measured",
        kept.value,
        all.value,
        kept.value - all.value
    );
    let settle = "run it with -C, which adds no times, or use `ceiling load -R RATE`";
    Some(open(Outcome::Impossible, &claims, arithmetic, settle))
}

/// Each worker opens the same whole number of connections (`lib/manager.js`): of 1000 over 120
/// workers, 960.
pub(super) fn sockets(asked: Option<Figure>, workers: Option<&Figure>) -> Option<Figure> {
    let (asked, workers) = (asked?, workers.map_or(0.0, |workers| workers.value));
    let opened = (asked.value / workers).floor().max(1.0) * workers;
    let is_other = workers >= 1.0 && opened != asked.value;
    let printed = format!("{} over {workers} workers", asked.printed);
    Some(match is_other {
        true => Figure { printed, ..Figure::exact(opened, asked.line) },
        false => asked,
    })
}

pub(super) fn meaning() -> Meaning {
    Meaning {
        load: Loop::Closed,
        counts: Counts::Responses,
        rate_is: RateIs::MeanOfWindows,
        edge_s: Some(0.05),
        ..Meaning::default()
    }
}

fn latencies(of: &Object<'_>, responses: &Figure) -> Latencies {
    let rank = |(key, node): (&str, crate::audit::document::Node<'_>)| {
        let share: f64 = key.strip_prefix('p')?.replace('_', ".").parse().ok()?;
        Some(Percentile { share: share / 100.0, value: node.scaled(1e-3)? })
    };
    let mut percentiles: Vec<Percentile> = of.entries().filter_map(rank).collect();
    Percentile::sort(&mut percentiles);
    let kept = of.count("totalCount");
    let has_added = kept.as_ref().is_some_and(|kept| kept.value > responses.value * 1.001 + 10.0);
    Latencies {
        since: if has_added { Since::SendWithAdded } else { Since::Send },
        mean: of.scaled("average", 1e-3),
        stdev: of.scaled("stddev", 1e-3),
        min: of.scaled("min", 1e-3),
        max: of.scaled("max", 1e-3),
        percentiles,
        samples: Some(responses.clone()),
        step_s: STEP_S,
        error_share: ERROR_SHARE,
        ..Latencies::default()
    }
}

/// A count with a suffix of thousands, rounded to it: `19765k requests in`.
pub(super) fn before(page: Page<'_>, label: &str) -> Option<Figure> {
    page.before(label).and_then(|spot| spot.read(count))
}
