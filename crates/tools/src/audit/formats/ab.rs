//! ab (ApacheBench), text.
//!
//! Source: httpd 2.4 `support/ab.c`. `Requests per second` is complete requests of any status over
//! the time taken. The first `Time per request` is concurrency x time / requests, which is not a
//! measurement; the measured figure is the row `Total:`. Both it and the percentiles are whole
//! milliseconds. `Failed requests` counts responses whose length differs from the first.

use super::{Format, Reader, Report};
use crate::audit::checks::open;
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{bytes, count, digits, rounded, scaled, seconds};
use model::audit::{
    Counts, Figure, Finding, Foreign, Latencies, Loop, Meaning, Outcome, Percentile, RateIs, Since,
    Tally,
};

pub(super) const FORMAT: Format = Format {
    id: "ab",
    tool: "ab",
    about: "text of ab",
    example: "ab -k -t 30 -c 64 URL > ab.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, good", "`Complete requests:`, less `Non-2xx responses:` and lost ones"),
        ("rate", "`Requests per second:`"),
        ("duration", "`Time taken for tests:`"),
        ("errors, errors.*", "`Failed requests:`, and the reasons below it but `Length`"),
        ("status.*", "`Non-2xx responses:`"),
        ("bytes, bytes_rate", "`Total transferred:`, `Transfer rate:`"),
        ("min, mean, stdev, max", "row `Total:` of the times"),
        ("pN", "`Percentage of the requests served ..`"),
    ],
    needs: "`Complete requests:`",
};

fn is(page: Page<'_>) -> bool {
    page.holds("Concurrency Level:") && page.holds("Complete requests:")
}

fn read(page: Page<'_>) -> Report {
    let counted = |label: &str| page.starting(label).and_then(|spot| spot.read(count));
    let complete = counted("Complete requests:").ok_or("Complete requests")?;
    let bad = counted("Non-2xx responses:");
    let errors = reasons(page);
    let lost: f64 = errors.iter().map(|class| class.count.value).sum();
    let not_good = bad.as_ref().map_or(0.0, |bad| bad.value);
    let line = bad.as_ref().map_or(complete.line, |bad| bad.line);
    let failed = counted("Failed requests:").unwrap_or(Figure::exact(not_good + lost, line));
    let contradicted = (failed.value < not_good).then(|| hidden(&failed, not_good, &complete));
    let name = "not 2xx".to_string();
    let transfer = page.starting("Transfer rate:");
    Ok(Foreign {
        version: page
            .after("ApacheBench, Version ")
            .map(|spot| spot.words().into_iter().take(1).collect()),
        connections: counted("Concurrency Level:"),
        depth: Some(Figure::exact(1.0, 0)),
        duration_s: page.starting("Time taken for tests:").and_then(|spot| spot.read(seconds)),
        rate: page.starting("Requests per second:").and_then(|spot| spot.read(rounded)),
        good: Some(Figure::exact((complete.value - not_good - lost).max(0.0), line)),
        failed: Some(failed),
        bytes: page
            .starting("Total transferred:")
            .and_then(|spot| bytes(spot.text, 1e3, spot.line)),
        bytes_rate: transfer.and_then(|spot| {
            Some(scaled(digits(spot.text)?, 1024.0, spot.line, spot.words().first()?))
        }),
        statuses: bad.map(|count| Tally { name, count }).into_iter().collect(),
        latencies: vec![latencies(page, &complete)],
        requests: Some(complete),
        errors,
        meaning: Meaning {
            load: Loop::Closed,
            counts: Counts::Responses,
            rate_is: RateIs::Quotient,
            edge_s: Some(0.0),
            defects: contradicted.into_iter().collect(),
            ..Meaning::default()
        },
        ..Foreign::default()
    })
}

/// `Failed requests` does not count statuses.
fn hidden(failed: &Figure, bad: f64, complete: &Figure) -> Finding {
    let arithmetic = format!(
        "failed requests {}, and {bad} of {} responses are not 2xx",
        failed.value, complete.value
    );
    let settle = "count statuses: use `ceiling load`, or the line Non-2xx responses";
    let finding = open(Outcome::Impossible, &["errors"], arithmetic, settle);
    Finding { bound: Some((Some(bad), None)), ..finding }
}

/// `(Connect: 0, Receive: 0, Length: 5, Exceptions: 0)`: we do not count a length as a failure.
fn reasons(page: Page<'_>) -> Vec<Tally> {
    let Some(spot) = page.starting("(Connect:") else { return Vec::new() };
    let line = spot.line;
    let whole = page.lines().find(|one| one.line == line);
    let text = whole.map_or("", |one| one.text.trim()).trim_matches(['(', ')']);
    let class = |part: &str| {
        let (name, many) = part.trim().split_once(": ")?;
        Some(Tally { name: name.to_lowercase(), count: count(many, line)? })
    };
    text.split(',').take(8).filter_map(class).filter(|one| one.name != "length").collect()
}

fn latencies(page: Page<'_>, complete: &Figure) -> Latencies {
    let heading = page.lines().find(|spot| spot.text.contains("mean[+/-sd]"));
    let row = heading
        .and_then(|_| page.below("mean[+/-sd]").take(6).find_map(|spot| spot.starting("Total:")));
    let values = row.map(Spot::words).unwrap_or_default();
    let at = |index: usize| {
        let spot = row?;
        Some(scaled(digits(values.get(index)?)?, 1e-3, spot.line, values.get(index)?))
    };
    let mut percentiles: Vec<Percentile> =
        page.below("Percentage of the requests served").map_while(percentile).collect();
    percentiles.retain(|one| one.share < 1.0);
    Latencies {
        since: Since::Send,
        min: at(0),
        mean: at(1),
        stdev: at(2),
        max: at(4),
        percentiles,
        samples: Some(complete.clone()),
        ..Latencies::default()
    }
}

/// `  99%      2`, in milliseconds.
fn percentile(spot: Spot<'_>) -> Option<Percentile> {
    let (share, value) = spot.text.trim().split_once('%')?;
    let share: f64 = share.parse().ok()?;
    let value = value.trim();
    let figure = scaled(digits(value)?, 1e-3, spot.line, value.split(' ').next()?);
    (0.0..=100.0).contains(&share).then_some(Percentile { share: share / 100.0, value: figure })
}
