//! wrk2, text with `--latency`; with `-U` also the uncorrected distribution.
//!
//! Source: wrk2 at 44a94c1, `wrk.c`. A latency counts from the instant at which the request was due
//! by the connection's own schedule, the uncorrected one from the send. Timers have whole
//! milliseconds. The first 10 s are in the total and not in the distribution. Requests that were
//! due and not sent at the end are counted nowhere.

use super::wrk::{frame, moments, percentile};
use super::{Format, Reader, Report};
use crate::audit::page::Page;
use crate::audit::printed::{count, digits, scaled};
use model::audit::{Figure, Latencies, Loop, Percentile, Since};

pub(super) const FORMAT: Format = Format {
    id: "wrk2",
    tool: "wrk2",
    about: "text of wrk2",
    example: "wrk2 -t2 -c64 -d30s -R2000 --latency URL > wrk2.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, duration, bytes", "`N requests in T, B read`"),
        ("rate, bytes_rate", "`Requests/sec:`, `Transfer/sec:`"),
        ("good, errors, status.*", "`Non-2xx or 3xx responses:`"),
        ("errors.*", "`Socket errors: ..`"),
        ("mean, stdev, max", "row `Latency`"),
        ("pN", "`HdrHistogram - Recorded Latency`"),
        ("uncorrected.*", "`HdrHistogram - Uncorrected Latency`"),
    ],
    needs: "number in `.. requests in ..`",
};

const RECORDED: &str = "HdrHistogram - Recorded Latency";
const UNCORRECTED: &str = "HdrHistogram - Uncorrected Latency";
/// HdrHistogram with three significant digits.
const ERROR_SHARE: f64 = 0.002;
/// The schedule and its timers have whole milliseconds.
const STEP_S: f64 = 1e-3;

fn is(page: Page<'_>) -> bool {
    let marks = ["Thread calibration", RECORDED, "Detailed Percentile spectrum"];
    page.holds(" requests in ") && marks.iter().any(|mark| page.holds(mark))
}

fn read(page: Page<'_>) -> Report {
    let mut report = frame(page)?;
    let mut latency = spectrum(page, RECORDED).unwrap_or_default();
    let row = moments(page).unwrap_or_default();
    latency.since = Since::Plan;
    latency.stdev = both(latency.stdev, row.stdev);
    latency.mean = both(latency.mean, row.mean);
    latency.max = both(latency.max, row.max);
    report.latencies.push(latency);
    if let Some(raw) = spectrum(page, UNCORRECTED) {
        let name = "uncorrected".to_string();
        report.latencies.push(Latencies { name, since: Since::Send, ..raw });
    }
    report.meaning.load = Loop::Open;
    Ok(report)
}

/// Of a figure that is printed twice the first, or the one that no measurement gives.
fn both(first: Option<Figure>, second: Option<Figure>) -> Option<Figure> {
    let is_unreal = |of: &Figure| !of.value.is_finite() || of.value < 0.0;
    second.clone().filter(is_unreal).or(first).or(second)
}

/// A block of eight percentiles and its footer.
fn spectrum(page: Page<'_>, heading: &'static str) -> Option<Latencies> {
    page.lines().find(|spot| spot.text.contains(heading))?;
    let shares: Vec<Percentile> = page.below(heading).map_while(percentile).collect();
    let block = || page.below(heading).take_while(|spot| !spot.text.contains("- Uncorrected"));
    let foot = |label: &str| block().find_map(|spot| spot.after(label)?.after("=")?.read(of_ms));
    let total = block().find_map(|spot| spot.after("Total count")?.after("=")?.read(count));
    let (max, percentiles) = shares.into_iter().partition::<Vec<_>, _>(|one| one.share >= 1.0);
    Some(Latencies {
        mean: foot("#[Mean"),
        stdev: foot("StdDeviation"),
        max: max.into_iter().next().map(|one| one.value),
        percentiles,
        samples: total,
        step_s: STEP_S,
        error_share: ERROR_SHARE,
        ..Latencies::default()
    })
}

/// `6.460,` milliseconds.
fn of_ms(text: &str, line: u64) -> Option<Figure> {
    let digits = digits(text.trim())?;
    let printed = &text.trim()[..text.trim().len() - digits.rest.len()];
    Some(scaled(digits, 1e-3, line, printed))
}
