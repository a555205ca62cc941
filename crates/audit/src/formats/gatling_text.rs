//! Gatling, the text at the end of a simulation, as older and newer versions print it.
//!
//! Source: as for the JSON (`gatling_json.rs`). A dash is not a figure.

use super::gatling_json::finish;
use super::{Format, Reader, Told};
use crate::page::{Page, Spot};
use crate::printed::{count, digits, rounded, scaled};
use model::audit::{Figure, Latencies, Percentile};

pub(super) const FORMAT: Format = Format {
    id: "gatling-text",
    tool: "gatling",
    about: "text of Gatling",
    example: "mvn gatling:test > gatling.txt",
    reader: Reader::Text(is, read),
};

fn is(page: Page<'_>) -> bool {
    page.holds("Global Information") && page.starting("> request count").is_some()
}

/// The values of a row: total, OK, KO.
fn row<'a>(page: Page<'a>, label: &str) -> Option<Spot<'a>> {
    page.starting(label)
}

fn values(spot: Spot<'_>) -> Vec<&str> {
    let is_between = |char: char| char.is_whitespace() || "|()".contains(char);
    let words = spot.text.split(is_between).filter(|word| !word.is_empty());
    let bare = |word: &'_ str| word.trim_start_matches("OK=").trim_start_matches("KO=").len();
    words.filter(|word| bare(word) > 0).take(6).collect()
}

fn value(spot: Spot<'_>, index: usize, read: fn(&str, u64) -> Option<Figure>) -> Option<Figure> {
    let words = values(spot);
    let word = words.get(index)?.trim_start_matches("OK=").trim_start_matches("KO=");
    read(word, spot.line)
}

fn ms(text: &str, line: u64) -> Option<Figure> {
    Some(scaled(digits(text)?, 1e-3, line, text))
}

fn read(page: Page<'_>) -> Told {
    let counts = row(page, "> request count").ok_or("request count")?;
    let all = value(counts, 0, count).ok_or("request count")?;
    let first = |labels: [&str; 2], read| {
        let found = labels.iter().find_map(|label| row(page, label));
        found.and_then(|spot| value(unit_skipped(spot), 0, read))
    };
    let rank = |share: f64| {
        let percent = (share * 100.0).round();
        let label = format!("> response time {percent}th percentile");
        let spot = unit_skipped(row(page, &label)?);
        Some(Percentile { share, value: value(spot, 0, ms)? })
    };
    let latency = Latencies {
        mean: first(["> mean response time", "> mean response time"], ms),
        stdev: first(["> std deviation", "> response time std deviation"], ms),
        min: first(["> min response time", "> min response time"], ms),
        max: first(["> max response time", "> max response time"], ms),
        percentiles: [0.5, 0.75, 0.95, 0.99].into_iter().filter_map(rank).collect(),
        ..Latencies::default()
    };
    let rate = first(["> mean requests/sec", "> mean throughput (rps)"], rounded);
    let parts = (value(counts, 1, count), value(counts, 2, count));
    Ok(finish(all, parts, rate, latency))
}

/// Newer versions name the unit: `(ms)`.
fn unit_skipped(spot: Spot<'_>) -> Spot<'_> {
    let text = spot.text.trim_start_matches("(ms)").trim_start_matches("(rps)");
    Spot { text: text.trim_start(), ..spot }
}
