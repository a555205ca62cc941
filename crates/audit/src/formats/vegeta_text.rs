//! vegeta, `report` as text.
//!
//! Source: as for the JSON (`vegeta_json.rs`). Each row names its values in brackets.

use super::vegeta_json::{DIGEST_RANK, finish};
use super::{Format, Reader, Told, total};
use crate::page::{Page, Spot};
use crate::printed::{count, digits, go_duration, rounded, scaled};
use model::audit::{Figure, Foreign, Latencies, Percentile, Since, Tally};

pub(super) const FORMAT: Format = Format {
    id: "vegeta-text",
    tool: "vegeta",
    about: "text of vegeta report",
    example: "vegeta report results.bin > vegeta.txt",
    reader: Reader::Text(is, read),
};

fn is(page: Page<'_>) -> bool {
    page.holds("Requests      [total") && page.holds("Latencies     [")
}

fn read(page: Page<'_>) -> Told {
    let row = |label: &str| page.starting(label).map(Row);
    let requests = row("Requests").and_then(|row| row.figure("total", count)).ok_or("requests")?;
    let statuses = page.starting("Status Codes").map(statuses).unwrap_or_default();
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let sent = row("Duration").and_then(|row| row.figure("attack", go_duration));
    let mut told = Foreign {
        duration_s: sent,
        rate: row("Requests").and_then(|row| row.figure("rate", rounded)),
        good_rate: row("Requests").and_then(|row| row.figure("throughput", rounded)),
        success: row("Success").and_then(|row| row.figure("ratio", percent)),
        bytes: row("Bytes In").and_then(|row| row.figure("total", count)),
        latencies: row("Latencies").map(|row| latencies(row, &requests)).into_iter().collect(),
        ..Foreign::default()
    };
    finish(&mut told, requests, (statuses, good));
    Ok(told)
}

/// `[min, mean, 50]   20us, 300us, 250us`.
#[derive(Clone, Copy)]
struct Row<'a>(Spot<'a>);

impl Row<'_> {
    fn figure(self, name: &str, read: fn(&str, u64) -> Option<Figure>) -> Option<Figure> {
        let (names, values) = self.0.text.split_once('[')?.1.split_once(']')?;
        let index = names.split(',').position(|one| one.trim() == name)?;
        read(values.split(',').nth(index)?.trim(), self.0.line)
    }
}

fn latencies(row: Row<'_>, requests: &Figure) -> Latencies {
    let of = |name: &str| row.figure(name, go_duration);
    let shares = [("50", 0.5), ("90", 0.9), ("95", 0.95), ("99", 0.99)];
    let rank = |(name, share)| Some(Percentile { share, value: of(name)? });
    Latencies {
        since: Since::Send,
        mean: of("mean"),
        min: of("min"),
        max: of("max"),
        percentiles: shares.into_iter().filter_map(rank).collect(),
        samples: Some(requests.clone()),
        error_rank: DIGEST_RANK,
        ..Latencies::default()
    }
}

fn percent(text: &str, line: u64) -> Option<Figure> {
    Some(scaled(digits(text)?, 0.01, line, text))
}

/// `[code:count]   0:10  200:149900`.
fn statuses(spot: Spot<'_>) -> Vec<Tally> {
    let codes = spot.text.split_once(']').map_or("", |(_, codes)| codes);
    let tally = |word: &str| {
        let (name, many) = word.split_once(':')?;
        Some(Tally { name: name.chars().take(10).collect(), count: count(many, spot.line)? })
    };
    codes.split_whitespace().take(super::TALLIES_MAX).filter_map(tally).collect()
}
