//! hey, text.
//!
//! Source: hey 0.1.4 `requester/report.go`. `Requests/sec` also counts requests that failed. Times
//! and statuses cover at most the first million responses; `Average` divides the sum over all
//! responses by that number, so beyond a million it is too large. Times are printed in steps of
//! 0.1 ms. Connections are not printed.

use super::oha_text::{percentile, reversed};
use super::{Format, Reader, Report, bracketed, total};
use crate::audit::checks::open;
use crate::audit::page::Page;
use crate::audit::printed::{bytes, rounded, seconds};
use crate::audit::say::{number, time as show_time};
use model::audit::{
    Counts, Figure, Finding, Foreign, Latencies, Loop, Meaning, Outcome, RateIs, Since,
};

pub(super) const FORMAT: Format = Format {
    id: "hey",
    tool: "hey",
    about: "text of hey",
    example: "hey -z 30s -c 64 URL > hey.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("rate, duration", "`Requests/sec:`, `Total:`"),
        (
            "requests, good, errors, status.*, errors.*",
            "`Status code distribution:`, `Error distribution:`",
        ),
        ("bytes", "`Total data:`, `Size/request:`"),
        ("mean, min, max", "`Average:`, `Fastest:`, `Slowest:`"),
        ("pN", "`Latency distribution:`"),
    ],
    needs: "`Requests/sec`",
};

/// Responses that hey keeps.
const KEPT_MAX: f64 = 1e6;

fn is(page: Page<'_>) -> bool {
    let labels = ["Requests/sec:", "Slowest:", "Average:"];
    labels.iter().all(|label| page.starting(label).is_some())
        && ["Success rate:", "Count:"].iter().all(|label| page.starting(label).is_none())
}

fn read(page: Page<'_>) -> Report {
    let statuses = bracketed(page, "Status code distribution:");
    let errors = reversed(page, "Error distribution:");
    let (kept, lost) = (total(&statuses), total(&errors));
    let rate = page.starting("Requests/sec:").and_then(|spot| spot.read(rounded));
    let rate = rate.ok_or("Requests/sec")?;
    let time = |label: &str| page.starting(label).and_then(|spot| spot.read(seconds));
    let duration_s = time("Total:");
    let is_all = kept.value < KEPT_MAX && kept.value + lost.value > 0.0;
    let counted = |value: f64| is_all.then(|| Figure::exact(value, kept.line));
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let latency = Latencies {
        since: Since::Send,
        mean: time("Average:"),
        min: time("Fastest:"),
        max: time("Slowest:"),
        percentiles: page.below("Latency distribution:").map_while(percentile).collect(),
        samples: is_all.then(|| kept.clone()),
        ..Latencies::default()
    };
    let mut report = Foreign {
        depth: Some(Figure::exact(1.0, 0)),
        requests: counted(kept.value + lost.value),
        good: counted(good.value),
        failed: counted(kept.value - good.value + lost.value),
        bytes: page.starting("Total data:").and_then(|spot| bytes(spot.text, 1e3, spot.line)),
        meaning: meaning(),
        statuses,
        errors,
        ..Foreign::default()
    };
    let each = page.starting("Size/request:").and_then(|spot| bytes(spot.text, 1e3, spot.line));
    report.sums.extend(super::of_sizes(&report.bytes, each.filter(|_| is_all), &kept));
    let defect =
        (kept.value >= KEPT_MAX).then(|| too_large(&rate, &duration_s, &latency, lost.value));
    report.meaning.defects.extend(defect.flatten());
    (report.rate, report.duration_s, report.latencies) = (Some(rate), duration_s, vec![latency]);
    Ok(report)
}

fn meaning() -> Meaning {
    Meaning {
        load: Loop::Closed,
        counts: Counts::Requests,
        rate_is: RateIs::Quotient,
        is_bytes_of_bodies: true,
        edge_s: Some(0.0),
        ..Meaning::default()
    }
}

/// The mean beyond a million responses, and what it should have been.
fn too_large(
    rate: &Figure,
    duration: &Option<Figure>,
    of: &Latencies,
    lost: f64,
) -> Option<Finding> {
    let (duration, mean) = (duration.as_ref()?, of.mean.as_ref()?);
    let (least, most) = (rate.low * duration.low - lost, rate.high * duration.high - lost);
    if least < KEPT_MAX * 1.01 {
        return None;
    }
    let arithmetic = format!(
        "{} responses, of which hey divides by the first {}: the mean is {} and not {}",
        number(least),
        number(KEPT_MAX),
        show_time(mean.value * KEPT_MAX / ((least + most) / 2.0)),
        show_time(mean.value)
    );
    let settle = "stay below a million requests, or use a tool that keeps all of them";
    let bound = Some((Some(mean.low * KEPT_MAX / most), Some(mean.high * KEPT_MAX / least)));
    Some(Finding { bound, ..open(Outcome::Impossible, &["mean"], arithmetic, settle) })
}
