//! The table of an HdrHistogram, as `vegeta report -type hdrplot` and others print it.
//!
//! Source: HdrHistogram `outputPercentileDistribution`: value (milliseconds), share, count up to
//! it, 1/(1-share). A share without a row lies between the rows around it.

use super::{Format, Reader, Report};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{digits, scaled};
use model::audit::{Figure, Foreign, Latencies, Percentile, Since};

pub(super) const FORMAT: Format = Format {
    id: "hdrplot",
    tool: "vegeta",
    about: "table of percentiles of an HdrHistogram",
    example: "vegeta report -type hdrplot results.bin > vegeta.hdr",
    reader: Reader::Text(is, read),
    reads: &[("requests, pN, max", "columns `Value` (ms), `Percentile`, `TotalCount`")],
    needs: "row of the table",
};

const SHARES: [f64; 6] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];

fn is(page: Page<'_>) -> bool {
    let heading = page.lines().find(|spot| spot.starting("Value").is_some());
    let words = ["Percentile", "TotalCount", "1/(1-Percentile)"];
    heading.is_some_and(|heading| words.iter().all(|word| heading.text.contains(word)))
}

struct Row {
    value: Figure,
    share: f64,
    count: f64,
}

fn read(page: Page<'_>) -> Report {
    let rows: Vec<Row> = page.below("TotalCount").filter_map(row).take(100_000).collect();
    let last = rows.last().ok_or("row of the table")?;
    let samples = Figure::exact(last.count, last.value.line);
    let rank = |share: f64| {
        let index = rows.iter().position(|row| row.share >= share - 1e-9)?;
        let (row, is_exact) = (&rows[index], (rows[index].share - share).abs() < 1e-9);
        let before = index.checked_sub(1).map_or(0.0, |before| rows[before].value.low);
        // A row may be below the one before it, where the table was changed.
        let low = if is_exact { row.value.low } else { before.min(row.value.low) };
        Some(Percentile { share, value: Figure { low, ..row.value.clone() } })
    };
    let latency = Latencies {
        since: Since::Unknown,
        percentiles: SHARES.into_iter().filter_map(rank).collect(),
        max: (last.share >= 1.0 - 1e-9).then(|| last.value.clone()),
        samples: Some(samples.clone()),
        error_rank: super::vegeta_json::DIGEST_RANK,
        ..Latencies::default()
    };
    Ok(Foreign { requests: Some(samples), latencies: vec![latency], ..Foreign::default() })
}

fn row(spot: Spot<'_>) -> Option<Row> {
    let words = spot.words();
    let [value, share, count, ..] = words[..] else { return None };
    Some(Row {
        value: scaled(digits(value)?, 1e-3, spot.line, value),
        share: share.parse().ok().filter(|share| (0.0..=1.0).contains(share))?,
        count: count.parse().ok().filter(|count: &f64| count.is_finite())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_in_order_where_rows_are_not() {
        let table = "Value Percentile TotalCount 1/(1-Percentile)\n\
                     30.0 0.900000 900 10.0\n2.0 0.995000 995 200.0\n40.0 1.000000 1000 inf\n";
        let report = read(Page(table)).unwrap();
        let p99 = report.latencies[0].percentiles.iter().find(|one| one.share == 0.99).unwrap();
        assert!(p99.value.low <= p99.value.high && p99.value.low < 0.01, "{p99:?}");
    }
}
