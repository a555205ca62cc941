//! vegeta, `report` as text.
//!
//! Source: as for the JSON (`vegeta_json.rs`), and `lib/reporters.go` from 2013 on. Each row names
//! its values in brackets; the blanks before them and the values differ between versions. A
//! duration is rounded to the next smaller unit: from an hour on to minutes, from a minute on to
//! seconds.

use super::vegeta_json::{DIGEST_RANK, finish};
use super::{Format, Reader, Report, total};
use crate::audit::page::{Page, Spot};
use crate::audit::printed::{count, digits, go_duration, rounded, scaled};
use model::audit::{Figure, Foreign, Latencies, Percentile, Since, Sum, Tally};

pub(super) const FORMAT: Format = Format {
    id: "vegeta-text",
    tool: "vegeta",
    about: "text of vegeta report",
    example: "vegeta report results.bin > vegeta.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, rate, good_rate", "row `Requests`"),
        ("duration, wait", "row `Duration`"),
        ("success, bytes", "rows `Success`, `Bytes In`"),
        ("good, errors, status.*", "row `Status Codes`"),
        ("mean, min, max, pN", "row `Latencies`"),
    ],
    needs: "`total` of row `Requests`",
};

fn is(page: Page<'_>) -> bool {
    ["Requests", "Latencies"].iter().all(|label| Row::of(page, label).is_some())
}

fn read(page: Page<'_>) -> Report {
    let row = |label: &str| Row::of(page, label);
    let requests = row("Requests").and_then(|row| row.figure("total", count)).ok_or("requests")?;
    let statuses = row("Status Codes").map(statuses).unwrap_or_default();
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let duration = |name: &str| row("Duration").and_then(|row| row.figure(name, rounded_duration));
    let (sent, wait, all) = (duration("attack"), duration("wait"), duration("total"));
    // Before 2014-10 the total is the time in which requests were sent.
    let is_old = sent.is_none() && wait.is_none();
    let mut report = Foreign {
        duration_s: if is_old { all.clone() } else { sent.clone() },
        wait_s: wait.clone(),
        rate: row("Requests").and_then(|row| row.figure("rate", rounded)),
        good_rate: row("Requests").and_then(|row| row.figure("throughput", rounded)),
        success: row("Success").and_then(|row| row.figure("ratio", percent)),
        bytes: row("Bytes In").and_then(|row| row.figure("total", count)),
        latencies: row("Latencies").map(|row| latencies(row, &requests)).into_iter().collect(),
        ..Foreign::default()
    };
    finish(&mut report, requests, (statuses, good));
    report.sums.extend(all.zip(sent.zip(wait)).map(|(whole, (sent, wait))| Sum {
        claims: ["duration", "wait"].map(String::from).to_vec(),
        whole_is: "seconds in total".into(),
        whole,
        parts_are: "attack + wait".into(),
        parts: vec![sent, wait],
        slack: 0.0,
    }));
    Ok(report)
}

/// `1h2m0s` is rounded to minutes.
fn rounded_duration(text: &str, line: u64) -> Option<Figure> {
    let figure = go_duration(text, line)?;
    let is_of_hours = figure.value >= 3600.0;
    let step_s = if is_of_hours { 60.0 } else { 0.0 };
    Some(Figure { low: figure.low - step_s, high: figure.high + step_s, ..figure })
}

/// `[min, mean, 50]   20us, 300us, 250us`.
#[derive(Clone, Copy)]
struct Row<'a>(Spot<'a>);

impl<'a> Row<'a> {
    /// The row of a label before a bracket.
    fn of(page: Page<'a>, label: &str) -> Option<Self> {
        let is_row = |spot: &Spot<'_>| spot.text.starts_with('[');
        page.lines().filter_map(|spot| spot.starting(label)).find(is_row).map(Row)
    }

    fn figure(self, name: &str, read: fn(&str, u64) -> Option<Figure>) -> Option<Figure> {
        let (names, values) = self.0.text.split_once('[')?.1.split_once(']')?;
        let index = names.split(',').position(|one| one.trim() == name)?;
        read(values.split(',').nth(index)?.trim(), self.0.line)
    }
}

fn latencies(row: Row<'_>, requests: &Figure) -> Latencies {
    let of = |name: &str| row.figure(name, rounded_duration);
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
fn statuses(Row(spot): Row<'_>) -> Vec<Tally> {
    let codes = spot.text.split_once(']').map_or("", |(_, codes)| codes);
    let tally = |word: &str| {
        let (name, many) = word.split_once(':')?;
        Some(Tally { name: name.chars().take(10).collect(), count: count(many, spot.line)? })
    };
    codes.split_whitespace().take(super::TALLIES_MAX).filter_map(tally).collect()
}

#[cfg(test)]
mod tests {
    use crate::audit::judge::account;
    use crate::audit::read::read;
    use model::audit::{Account, Given, Outcome};

    fn judged(text: &str) -> Account {
        let report = read(&mut text.as_bytes(), &Given::default()).unwrap();
        account("-".into(), String::new(), report, &Given::default())
    }

    fn figures(of: &Account) -> String {
        let one = |claim: &model::audit::Claim| format!("{} {}", claim.name, claim.figure.value);
        of.claims.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Of October 2013 without a duration, of October 2014 with a wait and without a rate.
    #[test]
    fn rows_of_older_versions_have_other_values_and_blanks() {
        let bytes = "Bytes In\t[total, mean]\t200, 20.00\nSuccess [ratio] 100.00%\n\
                     Status Codes  [code:count]            200:10  \nError Set:\n";
        let first = format!(
            "Requests\t[total]\t10\nLatencies\t[mean, 95, 99, max]\t4ms, 5ms, 6ms, 7ms\n{bytes}"
        );
        let expected = "requests 10, good 10, errors 0, success 1, bytes 200, status.200 10, mean \
                        0.004, p95 0.005, p99 0.006, max 0.007";
        assert_eq!(figures(&judged(&first)), expected);
        let later = format!(
            "Requests    [total]                 10\n\
             Duration    [total, attack, wait]   1.5s, 1s, 500ms\n\
             Latencies   [mean, 50, 95, 99, max] 4ms, 4ms, 5ms, 6ms, 7ms\n{bytes}"
        );
        assert!(figures(&judged(&later)).contains("duration 1, wait 0.5"), "{later}");
    }

    fn timed(requests: &str, duration: &str) -> Account {
        judged(&format!(
            "Requests      [total, rate, throughput]         {requests}\n\
             Duration      [total, attack, wait]             {duration}\n\
             Latencies     [min, mean, 50, 90, 95, 99, max]  1ms, 2ms, 2ms, 3ms, 3ms, 4ms, 5ms\n\
             Bytes In      [total, mean]                     0, 0.00\n\
             Success       [ratio]                           90.00%\n\
             Status Codes  [code:count]                      200:90  500:10  \n"
        ))
    }

    fn refuted(of: &Account) -> Vec<&str> {
        let wrong = of.claims.iter().filter(|claim| claim.outcome == Outcome::Impossible);
        wrong.map(|claim| claim.name.as_str()).collect()
    }

    /// The throughput is of good responses, over the attack and the wait.
    #[test]
    fn the_throughput_is_good_responses_over_attack_and_wait() {
        let good = timed("100, 10.10, 8.82", "10.2s, 9.9s, 300ms");
        assert_eq!(refuted(&good), Vec::<&str>::new());
        for (throughput, is_of) in [("9.80", "all requests"), ("9.09", "the attack alone")] {
            let of = timed(&format!("100, 10.10, {throughput}"), "10.2s, 9.9s, 300ms");
            assert!(refuted(&of).contains(&"good_rate"), "{is_of}");
        }
        let of = timed("100, 10.10, 8.82", "10.9s, 9.9s, 300ms");
        assert_eq!(refuted(&of), ["duration", "wait"], "they do not add up");
    }

    /// From an hour on vegeta prints whole minutes, so these fit.
    #[test]
    fn durations_of_hours_are_whole_minutes() {
        let of = timed("100, 0.03, 0.02", "1h1m0s, 1h1m0s, 31.5s");
        assert_eq!(refuted(&of), Vec::<&str>::new());
    }
}
