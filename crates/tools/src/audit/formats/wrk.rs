//! wrk, text.
//!
//! Source: wrk 4.2 `wrk.c`, `stats.c`. `Requests/sec` is responses of any status over the time from
//! before the load to after it. A latency is from the first write of a batch to its last response,
//! by the wall clock in microseconds; after the run `stats_correct` adds values for each one above
//! twice the mean time between responses of a connection. A response later than the time-out (2 s)
//! is in no latency. A script can pipeline, which the output does not show. `-c` is divided by
//! `-t`, and the remainder is dropped.

use super::{Format, Reader, Report};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{bytes, count, rounded, seconds};
use model::audit::{
    Counts, Figure, Foreign, Latencies, Loop, Meaning, Percentile, RateIs, Since, Tally,
};

pub(super) const FORMAT: Format = Format {
    id: "wrk",
    tool: "wrk",
    about: "text of wrk",
    example: "wrk -t2 -c64 -d30s --latency URL > wrk.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, duration, bytes", "`N requests in T, B read`"),
        ("rate, bytes_rate", "`Requests/sec:`, `Transfer/sec:`"),
        ("good, errors, status.*", "`Non-2xx or 3xx responses:`"),
        ("errors.*", "`Socket errors: ..`"),
        ("mean, stdev, max", "row `Latency`"),
        ("pN", "`Latency Distribution`"),
    ],
    needs: "number in `.. requests in ..`",
};

/// Connections start before the clock of the run does, while threads are started.
const EDGE_S: f64 = 0.05;

fn is(page: Page<'_>) -> bool {
    page.holds("Thread Stats") && page.holds(" requests in ")
}

fn read(page: Page<'_>) -> Report {
    let mut report = frame(page)?;
    let mut latency = moments(page).unwrap_or_default();
    latency.percentiles = page.below("Latency Distribution").map_while(percentile).collect();
    (latency.since, latency.step_s) = (Since::SendWithAdded, 1e-6);
    report.latencies.extend((latency != unread()).then_some(latency));
    report.meaning.load = Loop::Closed;
    Ok(report)
}

/// What is printed if there are no latencies.
fn unread() -> Latencies {
    Latencies { since: Since::SendWithAdded, step_s: 1e-6, ..Latencies::default() }
}

/// What wrk and wrk2 have in common.
pub(super) fn frame(page: Page<'_>) -> Result<Foreign, &'static str> {
    let total = page.lines().find(|spot| spot.text.contains(" requests in "));
    let total = total.ok_or("line `.. requests in ..`")?;
    let requests = total.before(" requests in ").and_then(|spot| spot.read(count));
    let requests = requests.ok_or("number of requests")?;
    let shape = page.lines().find(|spot| spot.text.contains(" threads and "));
    let bad = page.starting("Non-2xx or 3xx responses:").and_then(|spot| spot.read(count));
    let read = total.after(", ").and_then(|spot| spot.before(" read"));
    let good = requests.value - bad.as_ref().map_or(0.0, |bad| bad.value);
    let mut report = Foreign {
        url: page.after(" test @ ").map(|spot| spot.text.chars().take(500).collect()),
        connections: shape.and_then(|spot| spot.before(" connections")?.read(count)),
        threads: shape.and_then(|spot| spot.before(" threads")?.read(count)),
        asked_s: page.after("Running ").and_then(|spot| spot.read(seconds)),
        duration_s: total.after(" requests in ").and_then(|spot| spot.read(seconds)),
        rate: page.starting("Requests/sec:").and_then(|spot| spot.read(rounded)),
        bytes: read.and_then(|spot| bytes(spot.text, 1024.0, spot.line)),
        bytes_rate: page
            .starting("Transfer/sec:")
            .and_then(|spot| bytes(spot.text, 1024.0, spot.line)),
        good: Some(Figure::exact(good.max(0.0), total.line)),
        requests: Some(requests),
        errors: page.starting("Socket errors:").map(socket_errors).unwrap_or_default(),
        meaning: meaning(),
        ..Foreign::default()
    };
    let name = "not 2xx or 3xx".to_string();
    report.statuses.extend(bad.map(|count| Tally { name, count }));
    report.failed = Some(failed(&report));
    Ok(report)
}

fn meaning() -> Meaning {
    Meaning {
        counts: Counts::Responses,
        rate_is: RateIs::Quotient,
        edge_s: Some(EDGE_S),
        ..Meaning::default()
    }
}

/// `connect 0, read 87, write 0, timeout 0`.
fn socket_errors(spot: Spot<'_>) -> Vec<Tally> {
    let classes = spot.text.split(',').filter_map(|class| class.trim().split_once(' '));
    let tally = |(name, many): (&str, &str)| {
        Some(Tally { name: name.into(), count: count(many, spot.line)? })
    };
    classes.take(8).filter_map(tally).collect()
}

/// A response that arrived after the time-out may also have had a bad status.
fn failed(report: &Foreign) -> Figure {
    let errors = |name| report.errors.iter().find(|one: &&Tally| one.name == name);
    let of = |name| errors(name).map_or(0.0, |one| one.count.value);
    let bad = report.statuses.first().map_or(0.0, |one| one.count.value);
    let line = report.statuses.first().or(report.errors.first()).map_or(0, |one| one.count.line);
    let lost = of("read") + of("write");
    let (low, high) = (bad.max(of("timeout")) + lost, bad + of("timeout") + lost + of("connect"));
    Figure { value: high, low, high, line, printed: format!("{high}") }
}

/// The row `Latency` below `Thread Stats`, by the words of its heading.
pub(super) fn moments(page: Page<'_>) -> Option<Latencies> {
    let heading = page.lines().find(|spot| spot.text.contains("Thread Stats"))?;
    let names = heading.after("Thread Stats")?.words();
    let row = page.below("Thread Stats").take(3).find_map(|spot| spot.starting("Latency"))?;
    let row_words = row.words();
    let at = |name: &str| {
        let index = names.iter().position(|one| *one == name)?;
        seconds(row_words.get(index)?, row.line)
    };
    let p99 = at("99%").map(|value| Percentile { share: 0.99, value });
    Some(Latencies {
        mean: at("Avg"),
        stdev: at("Stdev"),
        max: at("Max"),
        percentiles: p99.into_iter().collect(),
        ..Latencies::default()
    })
}

/// `     50%   16.01ms`.
pub(super) fn percentile(spot: Spot<'_>) -> Option<Percentile> {
    let (share, value) = spot.text.trim().split_once('%')?;
    let share: f64 = share.trim().parse().ok()?;
    let is_share = (0.0..=100.0).contains(&share);
    is_share.then_some(Percentile { share: share / 100.0, value: seconds(value, spot.line)? })
}

#[cfg(test)]
mod tests {
    use crate::audit::read::read;
    use crate::audit::unread::Unread;
    use model::audit::{Foreign, Given};

    const RESETTING: &str = include_str!("../../../../../bench/fixtures/wrk-resetting.txt");

    fn read_text(text: &str) -> Foreign {
        read(&mut text.as_bytes(), &Given::default()).unwrap()
    }

    #[test]
    fn every_figure_is_read_with_its_line() {
        let report = read_text(RESETTING);
        assert_eq!((report.tool.as_str(), report.format.as_str()), ("wrk", "wrk"));
        assert_eq!(report.url.as_deref(), Some("http://127.0.0.1:18131/"));
        let figures = report.figures().into_iter();
        let shown: Vec<String> =
            figures.map(|(name, _, one)| format!("{} {name} {}", one.line, one.printed)).collect();
        let expected = "13 rate 1595.12, 11 requests 1659, 11 good 1659, 12 errors 87, 11 duration \
                        1.04s, 11 bytes 89.11KB, 14 bytes_rate 85.68KB, 12 errors.connect 0, 12 \
                        errors.read 87, 12 errors.write 0, 12 errors.timeout 0, 4 mean 19.16ms, 4 \
                        stdev 8.32ms, 7 p50 16.01ms, 8 p75 23.41ms, 9 p90 28.62ms, 10 p99 \
                        55.84ms, 4 max 55.98ms";
        assert_eq!(shown.join(", "), expected);
    }

    #[test]
    fn bad_statuses_are_no_good_responses() {
        let report = read_text(include_str!("../../../../../bench/fixtures/wrk-404.txt"));
        assert_eq!(report.good.unwrap().value, 0.0);
        assert_eq!(report.failed.unwrap().value, 108_590.0);
    }

    #[test]
    fn a_beginning_is_refused_with_what_is_missing() {
        let cut = &RESETTING[..RESETTING.find("  Latency Distribution").unwrap()];
        let error = read(&mut cut.as_bytes(), &Given::default()).unwrap_err();
        assert!(matches!(error, Unread::Unknown(_)), "{error}");
        assert!(error.to_string().contains("wrk -t2"), "{error}");
    }
}
