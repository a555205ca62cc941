//! Gatling, the text at the end of a simulation, as older and newer versions print it.
//!
//! Source: as for the JSON (`gatling_json.rs`). A dash is not a figure.

use super::gatling_json::finish;
use super::{Format, Reader, Report};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{count, digits, rounded, scaled};
use model::audit::{Figure, Latencies, Percentile};

pub(super) const FORMAT: Format = Format {
    id: "gatling-text",
    tool: "gatling",
    about: "text of Gatling",
    example: "mvn gatling:test > gatling.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, good, errors", "`> request count`"),
        ("rate", "`> mean requests/sec`, `> mean throughput (rps)`"),
        (
            "mean, stdev, min, max, pN",
            "`> .. response time`, `> .. std deviation`, `> response time Nth percentile`",
        ),
    ],
    needs: "`> request count`",
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

fn read(page: Page<'_>) -> Report {
    let counts = row(page, "> request count").ok_or("request count")?;
    let all = value(counts, 0, count).ok_or("request count")?;
    let first = |labels: [&str; 2], read| {
        let found = labels.iter().find_map(|label| row(page, label));
        found.and_then(|spot| value(unit_skipped(spot), 0, read))
    };
    let latency = Latencies {
        mean: first(["> mean response time", "> mean response time"], ms),
        stdev: first(["> std deviation", "> response time std deviation"], ms),
        min: first(["> min response time", "> min response time"], ms),
        max: first(["> max response time", "> max response time"], ms),
        percentiles: percentiles(page),
        ..Latencies::default()
    };
    let rate = first(["> mean requests/sec", "> mean throughput (rps)"], rounded);
    let parts = (value(counts, 1, count), value(counts, 2, count));
    Ok(finish(all, parts, rate, latency))
}

/// Rows such as `> response time 99.9th percentile`. The configuration sets which.
fn percentiles(page: Page<'_>) -> Vec<Percentile> {
    let rank = |spot: Spot<'_>| {
        let named = spot.starting("> response time ")?;
        let share: f64 =
            digits(named.text).filter(|named| named.rest.starts_with(is_suffix))?.value;
        let value = value(unit_skipped(named.after(" percentile")?), 0, ms)?;
        (0.0..100.0).contains(&share).then_some(Percentile { share: share / 100.0, value })
    };
    let mut all: Vec<Percentile> = page.lines().filter_map(rank).take(PERCENTILES_MAX).collect();
    Percentile::sort(&mut all);
    all.dedup_by(|a, b| a.share == b.share);
    all
}

/// Letters of `1st`, `2nd`, `3rd`, `4th`.
fn is_suffix(letter: char) -> bool {
    "snrt".contains(letter)
}

const PERCENTILES_MAX: usize = 100;

/// Newer versions name the unit: `(ms)`.
fn unit_skipped(spot: Spot<'_>) -> Spot<'_> {
    let text = spot.text.trim_start_matches("(ms)").trim_start_matches("(rps)");
    Spot { text: text.trim_start(), ..spot }
}

#[cfg(test)]
mod tests {
    use crate::audit::read::read;
    use model::audit::Given;

    #[test]
    fn percentiles_are_those_that_the_rows_name() {
        let text = "---- Global Information ----\n\
            > request count                      180 (OK=180    KO=0     )\n\
            > mean response time                  21 (OK=21     KO=-     )\n\
            > response time 91st percentile       25 (OK=25     KO=-     )\n\
            > response time 50th percentile       20 (OK=20     KO=-     )\n\
            > response time 99.9th percentile (ms) | 61 | 61 | -\n";
        let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
        let ranks = report.latencies[0].percentiles.iter();
        let ranks: Vec<String> =
            ranks.map(|one| format!("{} {}", one.name(), one.value.printed)).collect();
        assert_eq!(ranks, ["p50 20", "p91 25", "p99_9 61"]);
    }
}
