//! JMeter, `statistics.json` of its dashboard.
//!
//! Source: JMeter 5.6 `report/dashboard`. Milliseconds. `pct1` to `pct3` are the 90th, 95th and
//! 99th percentile unless the properties set others; they cover a sliding window of 20,000 samples.
//! The file does not name them, so they refute nothing by their rank.

use super::{Format, Reader, Report};
use crate::audit::document::Object;
use model::audit::{Counts, Figure, Foreign, Latencies, Meaning, Percentile, Since};

pub(super) const FORMAT: Format = Format {
    id: "jmeter-json",
    tool: "jmeter",
    about: "statistics.json of JMeter",
    example: "jmeter -n -t plan.jmx -l samples.jtl -e -o dashboard",
    reader: Reader::Document(is, read),
    reads: &[
        ("requests, good, errors", "`Total.sampleCount`, `errorCount`"),
        ("rate, bytes_rate", "`throughput`, `receivedKBytesPerSec`"),
        (
            "mean, min, max, pN",
            "`meanResTime`, `minResTime`, `maxResTime`, `medianResTime`, `pct1ResTime` to `3`",
        ),
    ],
    needs: "`Total.sampleCount`",
};

fn is(root: &Object<'_>) -> bool {
    root.object("Total").is_some_and(|total| total.has(&["sampleCount", "meanResTime"]))
}

fn read(root: &Object<'_>) -> Report {
    let total = root.object("Total").ok_or("Total")?;
    let all = total.count("sampleCount").ok_or("Total.sampleCount")?;
    let failed = total.count("errorCount");
    let good = |failed: &Figure| Figure::exact((all.value - failed.value).max(0.0), failed.line);
    let shares = [
        ("medianResTime", 0.5),
        ("pct1ResTime", 0.9),
        ("pct2ResTime", 0.95),
        ("pct3ResTime", 0.99),
    ];
    let rank = |(key, share)| Some(Percentile { share, value: total.scaled(key, 1e-3)? });
    Ok(Foreign {
        rate: total.scaled("throughput", 1.0),
        bytes_rate: total.scaled("receivedKBytesPerSec", 1024.0),
        good: failed.as_ref().map(good),
        failed,
        latencies: vec![Latencies {
            since: Since::Send,
            mean: total.scaled("meanResTime", 1e-3),
            min: total.scaled("minResTime", 1e-3),
            max: total.scaled("maxResTime", 1e-3),
            percentiles: shares.into_iter().filter_map(rank).collect(),
            samples: Some(all.clone()),
            step_s: 1e-3,
            error_rank: 1.0,
            ..Latencies::default()
        }],
        requests: Some(all),
        meaning: Meaning { counts: Counts::Requests, edge_s: Some(0.0), ..Meaning::default() },
        ..Foreign::default()
    })
}
