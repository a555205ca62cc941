//! The result as text of 80 columns.

use super::bounds::{Judged, Verdict};
use super::compare::{Comparison, Summary, is_coalesced};
use super::load::Reuse;
use super::peers::PEERS;
use super::rows::{Figure, Row};
use super::slot::RowResult;
use super::statistics::Spread;

const WIDTH: usize = 80;

/// One row with its contenders, its pauses and its bounds.
pub fn row(result: &RowResult, rounds: u32, judged: &[Judged]) -> String {
    let comparison = Comparison::of(result, rounds);
    let mut text = title(result.row.name, result.row.title);
    if let Some(reason) = &result.skipped {
        text += &format!("  skipped: {reason}\n");
        return text;
    }
    let summaries = comparison.summaries();
    let subject = result.row.subject();
    let (coalesced, plain): (Vec<_>, Vec<_>) =
        summaries.iter().partition(|summary| is_coalesced(summary, &subject));
    text += &head(result.row);
    for summary in &plain {
        text += &line(summary, result.row.reuse);
    }
    if !coalesced.is_empty() {
        let without = plain.iter().find(|summary| summary.contender == comparison.subject());
        text += &pauses(without.copied(), &coalesced);
    }
    text + &notes(result.row, &plain) + &bounds(judged)
}

/// Notes on the figures.
fn notes(row: &Row, summaries: &[&Summary]) -> String {
    let is_there = |name| summaries.iter().any(|summary| summary.contender == name);
    let deep = PEERS.iter().filter(|peer| row.depth > 1 && is_there(peer.name));
    let mut notes: Vec<String> = deep.filter_map(|p| p.deep_note.map(str::to_owned)).collect();
    let resumed = summaries.iter().filter_map(|summary| {
        Some(format!("{} {:.0} %", summary.contender, summary.resumed?.median * 100.0))
    });
    let resumed: Vec<String> = resumed.collect();
    if !resumed.is_empty() {
        notes.push(format!("handshakes that resumed a session: {}", resumed.join(", ")));
    }
    notes.iter().map(|note| wrapped("  note: ", note)).collect()
}

/// The bounds of a row, each with its figure.
pub fn bounds(judged: &[Judged]) -> String {
    judged.iter().map(bound).collect()
}

/// The heading of a row.
pub fn title(name: &str, title: &str) -> String {
    wrapped(&format!("\n{name}: "), title)
}

/// Wraps words after a prefix; lines from the second on are indented.
fn wrapped(begin: &str, words: &str) -> String {
    let mut text = begin.to_owned();
    let mut column = begin.trim_start_matches('\n').len();
    for word in words.split(' ') {
        if column + word.len() > WIDTH {
            text += "\n    ";
            column = 4;
        }
        text += word;
        text.push(' ');
        column += word.len() + 1;
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn head(row: &Row) -> String {
    let cost = match (row.figure, row.reuse) {
        (Figure::ProcessCpu, Reuse::Kept) => "us/request",
        (Figure::ProcessCpu, Reuse::Closed) => "us/connect",
        (Figure::WholeCpu, _) => "CPU us/req",
    };
    // There is no floor for connections; the column shows connections per CPU second of the client.
    let (beside, rate) = match row.reuse {
        Reuse::Kept => ("/floor", "k req/s"),
        Reuse::Closed => ("k/CPU-s", "k conn/s"),
    };
    cells(&["", cost, "min..max", "user", beside, "ceiling/it", rate])
}

fn line(summary: &Summary, reuse: Reuse) -> String {
    let Some(cost) = summary.cost_ns else {
        let reason = summary.failure.as_deref().unwrap_or("no slot");
        return cut(&format!("  {:<18} failed: {reason}", summary.contender));
    };
    let range = format!("{:.3}..{:.3}", cost.min / 1e3, cost.max / 1e3);
    let median = |spread: Option<Spread>, scale: f64, digits: usize| {
        spread.map_or("-".into(), |spread| format!("{:.digits$}", spread.median * scale))
    };
    let user =
        summary.user_share.map_or("-".into(), |share| format!("{:.0}%", share.median * 100.0));
    let beside = match reuse {
        Reuse::Kept => median(summary.over_floor, 1.0, 3),
        Reuse::Closed => format!("{:.1}", 1e6 / cost.median),
    };
    // Handshakes can be as few as some hundred per second.
    let rate_digits = if reuse == Reuse::Closed { 1 } else { 0 };
    let mut text = cells(&[
        &summary.contender,
        &format!("{:.3}", cost.median / 1e3),
        &range,
        &user,
        &beside,
        &median(summary.subject_over, 1.0, 3),
        &median(summary.rate, 1e-3, rate_digits),
    ]);
    if let Some(reason) = &summary.failure {
        text += &cut(&format!("    failed in a round: {reason}"));
    }
    text
}

fn cells(cells: &[&str; 7]) -> String {
    let [name, cost, range, user, floor, ratio, rate] = cells;
    format!("  {name:<16}{cost:>11}{range:>17}{user:>6}{floor:>8}{ratio:>11}{rate:>9}\n")
}

/// What the pauses of `--coalesce` save, and what they cost in latency.
fn pauses(without: Option<&Summary>, coalesced: &[&Summary]) -> String {
    let mut text = format!(
        "  {:<28}{:>11}{:>10}{:>10}{:>10}\n",
        "--coalesce", "us/request", "/without", "p50 us", "p99 us"
    );
    for summary in without.into_iter().chain(coalesced.iter().copied()) {
        let name = summary.contender.split_once('+').map_or("off", |(_, pause)| pause);
        let cost =
            summary.cost_ns.map_or("failed".into(), |cost| format!("{:.3}", cost.median / 1e3));
        // In the summary's ratio the variant is the denominator.
        let ratio =
            summary.subject_over.map_or("-".into(), |over| format!("{:.3}", 1.0 / over.median));
        let us = |spread: Option<Spread>| {
            spread.map_or("-".into(), |spread| format!("{:.0}", spread.median / 1e3))
        };
        let (p50, p99) = (us(summary.p50_ns), us(summary.p99_ns));
        text += &format!("    {name:<26}{cost:>11}{ratio:>10}{p50:>10}{p99:>10}\n");
    }
    text
}

fn bound(judged: &Judged) -> String {
    let (bound, measure) = (judged.bound.sentence(), judged.bound.measure);
    let figure = judged.measured.map_or(String::new(), |spread| {
        let (median, min, max) =
            (measure.show(spread.median), measure.show(spread.min), measure.show(spread.max));
        if spread.count > 1 { format!("{median} ({min}..{max})") } else { median }
    });
    let (word, figure) = match &judged.verdict {
        Verdict::Met => ("met", figure),
        Verdict::Missed => ("MISSED", figure),
        Verdict::NotMeasured(reason) => ("unknown", reason.clone()),
    };
    cut(&format!("  {word:<8}{:<14} {bound}: {figure}", judged.subject))
}

fn cut(line: &str) -> String {
    let mut text: String = line.chars().take(WIDTH).collect();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::sample;
    use crate::rows::ROWS;

    fn rendered() -> String {
        let result = sample(&[
            ("floor uring", [Some(1000), Some(1200)]),
            ("ceiling uring", [Some(1100), Some(1320)]),
            ("ceiling uring +50us", [Some(880), Some(1056)]),
            ("wrk", [Some(2200), None]),
            ("oha", [None, None]),
        ]);
        let comparison = Comparison::of(&result, 2);
        let judged: Vec<Judged> =
            result.row.bounds.iter().map(|bound| comparison.judge(*bound)).collect();
        row(&result, 2, &judged)
    }

    #[test]
    fn a_row_is_a_table_with_its_bounds() {
        let expected = "
depth-1: fasthttp /simple, 50 connections, depth 1
                   us/request         min..max  user  /floor ceiling/it  k req/s
  floor uring           1.100     1.000..1.200    9%   1.000      1.100      100
  ceiling uring         1.210     1.100..1.320    8%   1.100      1.000      100
  wrk                   2.200     2.200..2.200    5%   2.200      0.500      100
    failed in a round: it died
  oha                failed: it died
  --coalesce                   us/request  /without    p50 us    p99 us
    off                             1.210     1.000         -         -
    50us                            0.968     0.800         -         -
  met     ceiling uring  at most 1.10 x the floor: 1.100 (1.100..1.100)
  met     ceiling uring  at most 0.92 x wrk: 0.500
  unknown ceiling uring  at most 0.75 x oha: oha failed: it died
  unknown ceiling uring  at most 0.55 x autocannon: autocannon is absent
";
        assert_eq!(rendered(), expected);
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for line in rendered().lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        let long = title("memory", &"word ".repeat(40));
        assert!(long.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(long.matches("word").count(), 40);
    }

    #[test]
    fn notes_say_how_figures_came_about() {
        let mut result = sample(&[("wrk", [Some(1000), Some(1000)])]);
        let note = "  note: wrk sends a batch";
        assert!(!row(&result, 2, &[]).contains(note));
        result.row = ROWS.iter().find(|row| row.name == "depth-100").unwrap();
        assert!(row(&result, 2, &[]).contains(note));
        let slots = result.slots.iter_mut().filter_map(|slot| slot.result.as_mut().ok());
        slots.for_each(|measured| measured.resumed = Some(0.5));
        assert!(row(&result, 2, &[]).contains("resumed a session: wrk 50 %\n"));
    }

    #[test]
    fn a_skipped_row_is_one_sentence() {
        let mut result = sample(&[]);
        result.skipped = Some("network namespaces need root".into());
        assert!(row(&result, 2, &[]).ends_with("  skipped: network namespaces need root\n"));
    }
}
