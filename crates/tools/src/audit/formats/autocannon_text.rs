//! autocannon, its tables.
//!
//! Source: as for the JSON (`autocannon_json.rs`). The line `N requests in T` counts requests that
//! were sent, so the number of responses is not known. A table that lost its heading has the
//! columns that autocannon prints by default. Rates are printed as the user's language writes them
//! (`1.266,34`), and those of the percentiles are whole numbers.

use super::autocannon_json::{ERROR_SHARE, STEP_S, before, meaning, sockets};
use super::{Format, Reader, Report};
use crate::audit::checks::open;
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{bytes, count, has_decimal_comma, is_ambiguous, rounded, seconds};
use crate::audit::say::{number, rate as show_rate, time};
use model::audit::{
    Figure, Finding, Foreign, Latencies, Meaning, Outcome, Percentile, Since, Tally,
};

pub(super) const FORMAT: Format = Format {
    id: "autocannon-text",
    tool: "autocannon",
    about: "tables of autocannon",
    example: "autocannon -c 64 -d 30 URL 2> autocannon.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("rate", "`Avg` of row `Req/Sec`"),
        ("duration, bytes", "`N requests in T, B read`"),
        ("errors, status.*, errors.*", "`N non 2xx responses`, `N errors (..)`"),
        ("mean, stdev, max, pN", "row `Latency`"),
    ],
    needs: "`Avg` of row `Req/Sec`",
};

const LATENCY_COLUMNS: [&str; 7] = ["2.5%", "50%", "97.5%", "99%", "Avg", "Stdev", "Max"];
/// The first columns of rates are percentiles.
const PERCENTILES: usize = 4;
const RATE_COLUMNS: [&str; 7] = ["1%", "2.5%", "50%", "97.5%", "Avg", "Stdev", "Min"];

fn is(page: Page<'_>) -> bool {
    row(page, "Latency").is_some() && row(page, "Req/Sec").is_some()
}

/// Cells of a row after its label.
fn row<'a>(page: Page<'a>, label: &str) -> Option<(Spot<'a>, Vec<&'a str>)> {
    page.lines().find_map(|spot| {
        let cells = cells(spot)?;
        (cells.first() == Some(&label)).then(|| (spot, cells[1..].to_vec()))
    })
}

fn cells(spot: Spot<'_>) -> Option<Vec<&str>> {
    let text = spot.text.trim();
    let inner = text.strip_prefix(['│', '|'])?;
    let cells = inner.split(['│', '|']).map(str::trim).take(20);
    Some(cells.filter(|cell| !cell.is_empty()).collect())
}

/// The value of a column, by the heading above the row or by the default columns; some copies name
/// the column in the cell.
fn cell<'a>(page: Page<'a>, label: &str, name: &str, columns: &[&str]) -> Option<(&'a str, u64)> {
    let (spot, values) = row(page, label)?;
    let labelled = values.iter().find_map(|cell| cell.strip_prefix(name)?.strip_prefix(':'));
    if let Some(value) = labelled {
        return Some((value.trim(), spot.line));
    }
    let headings = page.lines().take_while(|above| above.line < spot.line);
    let heading = headings.filter_map(cells).filter(|cells| cells.first() == Some(&"Stat")).last();
    let index = match heading {
        Some(heading) => heading[1..].iter().position(|one| *one == name)?,
        None if values.len() == columns.len() => columns.iter().position(|one| *one == name)?,
        None => return None,
    };
    Some((values.get(index)?, spot.line))
}

/// The mean of the rates. Other cells of its row show whether a point separates thousands.
fn mean_rate(page: Page<'_>) -> Option<Figure> {
    let (text, line) = cell(page, "Req/Sec", "Avg", &RATE_COLUMNS)?;
    let (_, cells) = row(page, "Req/Sec")?;
    let is_whole = |cell: &&str| cell.contains('.') && is_ambiguous(cell);
    let has_commas = cells.iter().any(|cell| has_decimal_comma(cell))
        || cells.iter().take(PERCENTILES).any(is_whole);
    match has_commas {
        true => rounded(&text.replace('.', "").replace(',', "."), line),
        false => rounded(text, line),
    }
}

fn read(page: Page<'_>) -> Report {
    let ms = |name: &str| {
        let (text, line) = cell(page, "Latency", name, &LATENCY_COLUMNS)?;
        seconds(text, line)
    };
    let shares = [("2.5%", 0.025), ("50%", 0.5), ("97.5%", 0.975), ("99%", 0.99)];
    let rank = |(name, share): (&str, f64)| Some(Percentile { share, value: ms(name)? });
    let latency = Latencies {
        since: Since::Send,
        mean: ms("Avg"),
        stdev: ms("Stdev"),
        max: ms("Max"),
        percentiles: shares.into_iter().filter_map(rank).collect(),
        step_s: STEP_S,
        error_share: ERROR_SHARE,
        ..Latencies::default()
    };
    let total = page.lines().find(|spot| spot.text.contains(" requests in "));
    let workers = before(page, " workers");
    let connections = page.before(" connections").and_then(|spot| spot.read(count));
    let connections = sockets(connections, workers.as_ref());
    let depth =
        before(page, " pipelining factor").or(connections.as_ref().map(|_| Figure::exact(1.0, 0)));
    let bad = before(page, " non 2xx responses");
    let lost = before(page, " errors (");
    let failed = match (&bad, &lost) {
        (Some(bad), Some(lost)) => Some(Figure {
            value: bad.value + lost.value,
            low: bad.low + lost.low,
            high: bad.high + lost.high,
            line: bad.line,
            printed: format!("{} and {}", bad.printed, lost.printed),
        }),
        _ => bad.clone().or(lost.clone()),
    };
    let duration_s = total.and_then(|spot| spot.after(" requests in ")?.read(seconds));
    let rate = mean_rate(page).ok_or("average of Req/Sec")?;
    let sent = before(page, " requests in ");
    let in_flight = connections.as_ref().zip(depth.as_ref()).map(|(a, b)| a.high * b.high);
    let lost_high = failed.as_ref().map_or(0.0, |failed| failed.high);
    let around = in_flight.map(|in_flight| in_flight + lost_high);
    let more = more_sent(&rate, duration_s.as_ref(), sent.as_ref(), around);
    let read_bytes =
        total.and_then(|spot| spot.after(", ")?.read(|text, line| bytes(text, 1e3, line)));
    Ok(Foreign {
        url: page.after(" test @ ").map(|spot| spot.text.chars().take(500).collect()),
        connections,
        depth,
        threads: workers,
        asked_s: page.starting("Running ").and_then(|spot| spot.read(seconds)),
        duration_s,
        rate: Some(rate),
        bytes: read_bytes,
        failed,
        statuses: bad.map(|count| Tally { name: "not 2xx".into(), count }).into_iter().collect(),
        errors: lost.map(|count| Tally { name: "errors".into(), count }).into_iter().collect(),
        latencies: vec![latency],
        meaning: Meaning { defects: more.into_iter().collect(), ..meaning() },
        ..Foreign::default()
    })
}

/// Requests that were sent beyond what the printed rate answered: what can be in flight or have
/// failed at the end is less. The rate is the mean of the seconds that were sampled. With a planned
/// rate, which is not printed, requests count as sent that were not.
fn more_sent(
    rate: &Figure,
    duration: Option<&Figure>,
    sent: Option<&Figure>,
    around: Option<f64>,
) -> Option<Finding> {
    let (duration, sent, around) = (duration?, sent?, around?);
    let answered = rate.high * duration.high;
    if sent.low - answered <= around + ANSWERED_MORE * sent.low {
        return None;
    }
    let arithmetic = format!(
        "{} sent in {} are {}, and the mean of its seconds is {}; at most {} were in flight or \
         failed",
        sent.printed,
        time(duration.value),
        show_rate(sent.value / duration.value),
        show_rate(rate.value),
        number(around)
    );
    let settle = "run it with -j: its JSON counts the responses";
    let finding = open(Outcome::Undecided, &["rate"], arithmetic, settle);
    let bound = ((sent.low - around) / duration.high, sent.high / duration.low);
    Some(Finding { bound: Some((Some(bound.0), Some(bound.1))), ..finding })
}

/// A share of the requests by which both may differ and say the same to a reader.
const ANSWERED_MORE: f64 = 0.01;

#[cfg(test)]
mod tests {
    use crate::audit::read::read;
    use model::audit::Given;

    #[test]
    fn rates_are_read_in_the_language_of_the_user() {
        let table = |cells: &str| {
            format!(
                "│ Stat │ 2.5% │ 50% │ 97.5% │ 99% │ Avg │ Stdev │ Max │\n\
                 │ Latency │ 0 ms │ 8 ms │ 43 ms │ 50 ms │ 12.68 ms │ 15.55 ms │ 226 ms │\n\
                 │ Stat │ 1% │ 2.5% │ 50% │ 97.5% │ Avg │ Stdev │ Min │\n\
                 │ Req/Sec │ {cells} │\n\n4k requests in 3.2s, 331 kB read\n"
            )
        };
        for (cells, rate) in [
            ("776 │ 776 │ 1,194 │ 1,829 │ 1,266.34 │ 432.92 │ 776", 1266.34),
            ("776 │ 776 │ 1.194 │ 1.829 │ 1.266,34 │ 432,92 │ 776", 1266.34),
            ("776 │ 776 │ 1.194 │ 1.829 │ 1.266 │ 432,92 │ 776", 1266.0),
            ("776 │ 776 │ 1.194 │ 1.829 │ 1.266 │ 432 │ 776", 1266.0),
            ("776 │ 776 │ 1,194 │ 1,829 │ 1,266 │ 432.9 │ 776", 1266.0),
            ("1 │ 1 │ 1 │ 2 │ 1.266 │ 0.432 │ 1", 1.266),
        ] {
            let report = read(&mut table(cells).as_bytes(), &Given::default()).unwrap();
            assert_eq!(report.rate.unwrap().value, rate, "{cells}");
            assert_eq!(report.latencies[0].mean.as_ref().unwrap().value, 0.012_68);
        }
    }
}
