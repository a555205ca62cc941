//! oha, text with `--no-tui`.
//!
//! Source: as for the JSON (`oha_json.rs`). Times are rounded to 0.1 ms, or to digits of another
//! unit in newer versions.

use super::oha_json::finish;
use super::{Format, Reader, Report, bracketed, total};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{bytes, digits, rounded, scaled, seconds};
use model::audit::{Figure, Foreign, Latencies, Percentile, Since};

pub(super) const FORMAT: Format = Format {
    id: "oha-text",
    tool: "oha",
    about: "text of oha",
    example: "oha -z 30s -c 64 --no-tui URL > oha.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("rate, success, duration", "`Requests/sec:`, `Success rate:`, `Total:`"),
        ("bytes, bytes_rate", "`Total data:`, `Size/request:`, `Size/sec:`"),
        (
            "requests, good, errors, status.*, errors.*",
            "`Status code distribution:`, `Error distribution:`",
        ),
        ("mean, min, max", "`Average:`, `Fastest:`, `Slowest:`"),
        ("pN", "`Response time distribution:`"),
    ],
    needs: "`Requests/sec`",
};

fn is(page: Page<'_>) -> bool {
    page.starting("Success rate:").is_some() && page.starting("Requests/sec:").is_some()
}

fn read(page: Page<'_>) -> Report {
    let statuses = bracketed(page, "Status code distribution:");
    let errors = reversed(page, "Error distribution:");
    let responses = total(&statuses);
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let time = |label: &str| page.starting(label).and_then(|spot| spot.read(seconds));
    let size = |label: &str| page.starting(label).and_then(|spot| bytes(spot.text, 1e3, spot.line));
    let mut percentiles = page.below("Response time distribution:").map_while(percentile);
    let latency = Latencies {
        since: Since::Unknown,
        mean: time("Average:"),
        min: time("Fastest:"),
        max: time("Slowest:"),
        percentiles: percentiles.by_ref().collect(),
        samples: (responses.value > 0.0).then(|| responses.clone()),
        ..Latencies::default()
    };
    let mut report = Foreign {
        duration_s: time("Total:"),
        rate: Some(
            page.starting("Requests/sec:")
                .and_then(|spot| spot.read(rounded))
                .ok_or("Requests/sec")?,
        ),
        success: page.starting("Success rate:").and_then(|spot| spot.read(percent)),
        bytes: size("Total data:"),
        bytes_rate: size("Size/sec:"),
        latencies: vec![latency],
        ..Foreign::default()
    };
    report.sums.extend(super::of_sizes(&report.bytes, size("Size/request:"), &responses));
    finish(&mut report, (statuses, errors), (responses, good));
    Ok(report)
}

/// `100.00%`.
fn percent(text: &str, line: u64) -> Option<Figure> {
    let digits = digits(text)?;
    Some(scaled(digits, 0.01, line, text))
}

/// `  99.90% in 0.0049 sec`.
pub(super) fn percentile(spot: Spot<'_>) -> Option<Percentile> {
    let (share, value) = spot.text.trim().split_once(" in ")?;
    let share: f64 = share.trim_end_matches('%').trim().parse().ok()?;
    let value = seconds(value, spot.line)?;
    (0.0..=100.0).contains(&share).then_some(Percentile { share: share / 100.0, value })
}

/// `  [45] aborted due to deadline`: the count comes first.
pub(super) fn reversed(page: Page<'_>, heading: &'static str) -> Vec<model::audit::Tally> {
    let line = |spot: Spot<'_>| {
        let (many, name) = spot.text.trim().strip_prefix('[')?.split_once(']')?;
        let count = crate::audit::printed::count(many, spot.line)?;
        Some(model::audit::Tally { name: name.trim().chars().take(200).collect(), count })
    };
    page.below(heading).map_while(line).take(super::TALLIES_MAX).collect()
}
