//! fortio, text.
//!
//! Source: as for the JSON (`fortio_json.rs`).

use super::fortio_json::{finish, within};
use super::{Format, Reader, Report};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{count, digits, go_duration, rounded, scaled};
use model::audit::{Figure, Foreign, Latencies, Percentile, Since, Tally};

pub(super) const FORMAT: Format = Format {
    id: "fortio-text",
    tool: "fortio",
    about: "text of fortio",
    example: "fortio load -c 64 -qps 0 -t 30s URL 2>&1 | tee fortio.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, mean, stdev, min, max", "`Aggregated Function Time : count ..`"),
        ("pN", "`# target N%`"),
        ("rate, duration", "`Ended after T : .. qps=`"),
        ("target_rate", "`running at N queries per second`"),
        ("good, errors, status.*", "`Code N : ..`"),
    ],
    needs: "`Ended after ..`, number of calls",
};

const HISTOGRAM: &str = "Aggregated Function Time : count";

fn is(page: Page<'_>) -> bool {
    page.holds(HISTOGRAM) && page.holds("# target ")
}

fn read(page: Page<'_>) -> Report {
    let ended = page
        .lines()
        .find(|spot| spot.text.starts_with("Ended after "))
        .ok_or("line `Ended after ..`")?;
    let row = page.after(HISTOGRAM).ok_or("histogram")?;
    let all = row.read(count).ok_or("number of calls")?;
    let asked = page.after(" running at ").and_then(|spot| spot.read(rounded));
    let buckets: Vec<(f64, f64)> = block(page).filter_map(bucket).collect();
    let named = |label: &str| {
        let word = row.after(label)?.words().into_iter().next()?.to_string();
        Some(scaled(digits(&word)?, 1.0, row.line, &word))
    };
    let rank = |spot: Spot<'_>| {
        let (share, value) = spot.starting("# target ")?.text.split_once('%')?;
        let share: f64 = share.parse().ok()?;
        let value = scaled(digits(value.trim())?, 1.0, spot.line, value.trim());
        (0.0..=100.0)
            .contains(&share)
            .then(|| Percentile { share: share / 100.0, value: within(value, &buckets) })
    };
    let latency = Latencies {
        since: Since::Send,
        mean: named(" avg "),
        stdev: named(" +/- "),
        min: named(" min "),
        max: named(" max "),
        percentiles: block(page).filter_map(rank).take(100).collect(),
        samples: Some(all.clone()),
        ..Latencies::default()
    };
    let threads = page.before(" thread(s)").and_then(|spot| spot.read(count));
    let mut report = Foreign {
        version: page
            .starting("Fortio ")
            .and_then(|spot| spot.words().first().map(|word| word.to_string())),
        connections: threads,
        duration_s: ended.after("Ended after ").and_then(|spot| {
            let word = spot.words().into_iter().next()?;
            go_duration(word, spot.line)
        }),
        rate: ended.after("qps=").and_then(|spot| spot.read(rounded)),
        target_rate: asked.filter(|rate: &Figure| rate.value > 0.0),
        ..Foreign::default()
    };
    finish(&mut report, all, statuses(page), latency);
    Ok(report)
}

/// The rows of the first histogram; a later one is of errors or of connect times.
fn block(page: Page<'_>) -> impl Iterator<Item = Spot<'_>> {
    page.below(HISTOGRAM).take_while(|spot| !spot.text.contains(" : count ")).take(10_000)
}

/// `>= 0.0003 <= 0.001 , 0.0006 , 20.00, 2469`.
fn bucket(spot: Spot<'_>) -> Option<(f64, f64)> {
    let words = spot.words();
    let [">=" | ">", start, "<=", end, ..] = words[..] else { return None };
    Some((start.parse().ok()?, end.parse().ok()?))
}

/// `Code 200 : 12345 (100.0 %)`.
fn statuses(page: Page<'_>) -> Vec<Tally> {
    let line = |spot: Spot<'_>| {
        let (name, many) = spot.starting("Code ")?.text.split_once(':')?;
        Some(Tally { name: name.trim().chars().take(20).collect(), count: count(many, spot.line)? })
    };
    page.lines().filter_map(line).take(super::TALLIES_MAX).collect()
}
