//! h2load, text.
//!
//! Source: nghttp2 1.52 and later `src/h2load.cc`. `req/s` is every response that ended over the
//! main duration. `failed` are statuses from 400 and requests lost with a connection; requests on a
//! connection that ended are not repeated. Latencies are from submit to the end of the stream, of
//! at most a million requests. `-m` is not printed.

use super::{Format, Reader, Report};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{bytes, count, rounded, seconds};
use model::audit::{
    Counts, Figure, Foreign, Latencies, Loop, Meaning, Percentile, RateIs, Since, Sum, Tally,
};

pub(super) const FORMAT: Format = Format {
    id: "h2load",
    tool: "h2load",
    about: "text of h2load",
    example: "h2load --h1 -c 64 -D 30 URL > h2load.txt",
    reader: Reader::Text(is, read),
    reads: &[
        (
            "rate, duration, bytes_rate",
            "`finished in T, N req/s, B/s`, or the duration that was asked for",
        ),
        ("requests, good, errors, errors.*", "`requests: ..`"),
        ("status.*", "`status codes: ..`"),
        ("bytes", "`traffic: ..`"),
        ("mean, stdev, min, max, pN", "row `time for request:`"),
        ("connect.*, ttfb.*", "rows `time for connect:`, `time to 1st byte:`"),
    ],
    needs: "`finished in`, `requests:` with `done` and `failed`, `status codes:`",
};

const EDGE_S: f64 = 0.05;

fn is(page: Page<'_>) -> bool {
    page.holds("finished in ") && page.holds(" req/s") && page.holds("status codes:")
}

fn read(page: Page<'_>) -> Report {
    let finished = page.starting("finished in ").ok_or("line `finished in ..`")?;
    let counts = page.starting("requests:").ok_or("line `requests: ..`")?;
    let of = |name: &str| counts.before(name).and_then(|spot| spot.read(count));
    let done = of(" done").ok_or("number of requests done")?;
    let failed = of(" failed").ok_or("number of requests failed")?;
    let errored = of(" errored").map_or(0.0, |figure| figure.value);
    let started = of(" started").map_or(done.value, |figure| figure.value);
    let main = page.after(" of warm-up time and ").and_then(|spot| spot.read(seconds));
    let warmup =
        page.after(" client(s). Timing-based test with ").and_then(|spot| spot.read(seconds));
    let status_line = page.starting("status codes:").ok_or("line `status codes: ..`")?;
    let statuses = classes(status_line);
    let exact = |figure: &Figure| Figure::exact(figure.value, figure.line);
    let mut report = Foreign {
        connections: clients(page),
        duration_s: main.as_ref().map(exact).or_else(|| finished.read(seconds)),
        asked_s: main,
        rate: finished.before(" req/s").and_then(|spot| spot.read(rounded)),
        // Requests lost with a connection may be in neither count.
        requests: Some(Figure { low: (done.value - errored).max(0.0), ..done.clone() }),
        good: of(" succeeded"),
        failed: Some(failed.clone()),
        errors: lost(&counts),
        latencies: latencies(page, &done),
        ..Foreign::default()
    };
    traffic(&mut report, page, finished);
    report.sums = sums((&done, &failed, errored, started), &report.good, &statuses);
    report.statuses = statuses;
    let warmup_s = warmup.map_or(0.0, |warmup| warmup.high);
    // Over HTTP/2, what was not sent when the time was over counts as errored.
    let is_timed = page.holds("Timing-based test");
    let is_http2 = page.after("Application protocol: ").is_some_and(|of| of.text.starts_with("h2"));
    let at_end = is_timed.then_some((started - done.value).max(0.0));
    report.meaning = Meaning {
        held_back: at_end.filter(|_| is_http2).map(|_| errored),
        at_end,
        load: Loop::Closed,
        counts: Counts::Responses,
        rate_is: RateIs::Quotient,
        edge_s: Some(EDGE_S + warmup_s),
        ..Meaning::default()
    };
    Ok(report)
}

/// `spawning thread #0: 50 total client(s)`, for each thread.
fn clients(page: Page<'_>) -> Option<Figure> {
    let each = page.lines().filter_map(|spot| spot.before(" total client(s)")?.read(count));
    let each: Vec<Figure> = each.take(1000).collect();
    let line = each.first()?.line;
    Some(Figure::exact(each.iter().map(|one| one.value).sum(), line))
}

fn lost(counts: &Spot<'_>) -> Vec<Tally> {
    let tally = |name: &str| {
        let count = counts.before(&format!(" {name}"))?.read(count)?;
        Some(Tally { name: name.into(), count })
    };
    ["errored", "timeout"].into_iter().filter_map(tally).collect()
}

/// `163990 2xx, 0 3xx, 0 4xx, 0 5xx`.
fn classes(spot: Spot<'_>) -> Vec<Tally> {
    let class = |part: &str| {
        let (many, name) = part.trim().split_once(' ')?;
        Some(Tally { name: name.into(), count: count(many, spot.line)? })
    };
    spot.text.split(',').take(8).filter_map(class).collect()
}

fn traffic(report: &mut Foreign, page: Page<'_>, finished: Spot<'_>) {
    let all = page.starting("traffic:");
    // The exact number is in parentheses.
    let exact = all.and_then(|spot| spot.after("(")?.read(count));
    report.bytes = exact.or_else(|| all.and_then(|spot| bytes(spot.text, 1024.0, spot.line)));
    let bodies = all.and_then(|spot| spot.text.rsplit(',').next()?.split_once('('));
    report.body_bytes = bodies.zip(all).and_then(|((_, text), all)| count(text, all.line));
    let rate = finished.after(" req/s, ");
    report.bytes_rate = rate.and_then(|spot| bytes(spot.text, 1024.0, spot.line));
}

fn sums(of: (&Figure, &Figure, f64, f64), good: &Option<Figure>, by: &[Tally]) -> Vec<Sum> {
    let (done, failed, errored, started) = of;
    let Some(good) = good else { return Vec::new() };
    let failed = Figure { low: (failed.value - errored).max(0.0), ..failed.clone() };
    let ended = Sum {
        claims: ["requests", "good", "errors"].map(String::from).to_vec(),
        whole_is: "done".into(),
        whole: done.clone(),
        parts_are: "succeeded + failed".into(),
        parts: vec![good.clone(), failed],
        slack: 0.0,
    };
    let statuses = Sum {
        claims: by.iter().map(|one| format!("status.{}", one.name)).collect(),
        whole_is: "done".into(),
        whole: Figure { low: (done.value - errored).max(0.0), ..done.clone() },
        parts_are: "2xx + 3xx + 4xx + 5xx".into(),
        parts: by.iter().map(|one| one.count.clone()).collect(),
        // A response may have started that had not ended.
        slack: (started - done.value).max(0.0),
    };
    vec![ended, statuses]
}

/// Rows by the words of their heading: min, max, mean, sd, and percentiles in newer versions.
fn latencies(page: Page<'_>, done: &Figure) -> Vec<Latencies> {
    let names = [
        ("", "time for request:"),
        ("connect", "time for connect:"),
        ("ttfb", "time to 1st byte:"),
    ];
    let heading = page.lines().find(|spot| {
        let words = spot.words();
        words.first() == Some(&"min") && words.contains(&"mean")
    });
    let Some(heading) = heading else { return Vec::new() };
    let heads = heading.words();
    let row = |(name, label): (&str, &str)| {
        let row = page.starting(label)?;
        let values = row.words();
        let at = |head: &str| {
            let index = heads.iter().position(|one| *one == head)?;
            seconds(values.get(index)?, row.line)
        };
        let rank = |(head, share): (&str, f64)| Some(Percentile { share, value: at(head)? });
        let shares = [("median", 0.5), ("p95", 0.95), ("p99", 0.99)];
        Some(Latencies {
            name: name.into(),
            since: if name.is_empty() { Since::Send } else { Since::Other },
            mean: at("mean"),
            stdev: at("sd"),
            min: at("min"),
            max: at("max"),
            percentiles: shares.into_iter().filter_map(rank).collect(),
            samples: (name.is_empty() && done.value < 1e6).then(|| done.clone()),
            ..Latencies::default()
        })
    };
    // Without a connection the row consists of zeros that were not measured.
    let is_measured = |latency: &Latencies| {
        latency.name.is_empty() || latency.max.as_ref().is_some_and(|max| max.value != 0.0)
    };
    names.into_iter().filter_map(row).filter(is_measured).collect()
}
