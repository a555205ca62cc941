//! `ceiling wrk2 ..`: the command line and the layout of wrk2.

use super::wrk::{foot, head, moments, quantile, settle, time};
use super::{Front, Shown, or_dash};
use model::histogram::Histogram;
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::Wrk2,
    example: "ceiling wrk2 -t2 -c100 -d30s -R2000 --latency http://127.0.0.1:8083/read",
    line: &crate::wrk2::LINE,
    adds: None,
    settle,
    trusts_any: true,
    needs: Some(("-R", "wrk2 always has a rate")),
    has_long_dash: false,
    layout,
};

const SHARES: [f64; 8] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0];
const LINE: &str = "----------------------------------------------------------\n";

fn layout(shown: &Shown<'_>) -> String {
    let mut text = head(shown) + &moments(shown);
    if shown.has("--latency") || shown.has("-U") {
        text += "  Latency Distribution (HdrHistogram - Recorded Latency)\n";
        for share in SHARES {
            text += &format!("{:>7.3}%{}\n", share * 100.0, quantile(shown, share));
        }
        text += &format!("\n  Detailed Percentile spectrum:\n{}{LINE}", spectrum(shown));
    }
    if shown.has("-U") {
        text += &format!("\n{}{LINE}", uncorrected(shown));
    }
    text + &foot(shown)
}

/// From the send: of it the record has these percentiles, and none with fewer than ten values
/// beyond.
fn uncorrected(shown: &Shown<'_>) -> String {
    let service = &shown.point.service_ns;
    let known = [
        service.p50,
        service.p75,
        service.p90,
        service.p99,
        service.p99_9,
        service.p99_99,
        None,
        service.max,
    ];
    let mut text = String::from(
        "  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking \
         delayed starts into account))\n",
    );
    for (share, ns) in SHARES.into_iter().zip(known) {
        let value = or_dash(ns.map(|ns| ns as f64 / 1e3), time);
        text += &format!("{:>7.3}%{value:>10}\n", share * 100.0);
    }
    text + "\n  Detailed Percentile spectrum: not kept for times from the send\n"
}

/// The rows of HdrHistogram's own printer with five steps for each halving of the distance to
/// 100 %, in milliseconds.
fn spectrum(shown: &Shown<'_>) -> String {
    let mut text = format!(
        "{:>12} {:>12} {:>12} {:>12}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let Some(whole) = shown.latency() else { return text };
    let (total, times) = (whole.count(), shown.times());
    let mut share = 0.0;
    loop {
        let (value_ms, count) = row(whole, share);
        text += &format!("{value_ms:12.3} {share:12.6} {count:12} {:12.2}\n", 1.0 / (1.0 - share));
        if count >= total {
            break;
        }
        // The sum of the steps may be a little short of a halving.
        let halvings = ((1.0 + 1e-9) / (1.0 - share)).log2().floor() as i32 + 1;
        share += 1.0 / (5.0 * 2f64.powi(halvings));
    }
    let ms = |ns: Option<u64>| ns.unwrap_or(0) as f64 / 1e6;
    text + &format!(
        "{:12.3} {:12.6} {total:12} {:>12}\n#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n\
         #[Max     = {:12.3}, Total count    = {total:12}]\n\
         #[Buckets = {:>12}, SubBuckets     = {:>12}]\n",
        ms(times.max),
        1.0,
        "inf",
        ms(times.mean),
        ms(times.stdev),
        ms(times.max),
        "-",
        "-"
    )
}

/// The value of a percentile, milliseconds, and how many are not above it.
fn row(whole: &Histogram, share: f64) -> (f64, u64) {
    let value_ns = whole.quantile_ns(share).unwrap_or(0);
    (value_ns as f64 / 1e6, whole.count_up_to(value_ns))
}
