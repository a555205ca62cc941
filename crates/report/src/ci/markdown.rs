//! A summary in Markdown, for the page of a CI job: the verdict, failures, and figures.

use super::{CaseOutcome, Report};
use crate::page::Block;
use crate::printable::printable;
use crate::sections::{conclusion, summary};
use crate::wording::{latency, or_dash, percent, point_phrase, rate_cell};
use model::experiment::Experiment;
use model::objective::Expectation;
use model::run::{Point, Run};
use model::standing::Figure;
use model::visit::failures_of;

/// Most rows of a table: the page of a job is not a full report.
const ROWS_MAX: usize = 30;

/// A run.
pub fn of_run(run: &Run, report: &Report) -> String {
    let record = &run.record;
    let mut text = heading(report);
    for block in summary::summary(run) {
        let Block::Banner(banner) = block else { continue };
        text += &format!("**{}**\n\n", plain(&banner.text));
        for line in &banner.lines {
            text += &format!("{}\n\n", plain(line));
        }
    }
    if !record.expectations.is_empty() {
        let head = ["expectation", "", "measured", "bound", "margin"];
        text += &table(&head, record.expectations.iter().map(expectation).collect());
    }
    let row = |point: &Point| [vec![point_phrase(point)], figures_of(point)].concat();
    let head = ["load", "rate, 1/s", "p50", "p99", "failed"];
    text += &table(&head, record.points.iter().map(row).collect());
    text + &format!("ceiling {}, run {}\n\n", plain(&record.version), plain(&record.id))
}

/// An experiment.
pub fn of_experiment(of: &Experiment, report: &Report) -> String {
    let mut text = heading(report) + &format!("{}\n\n", plain(&of.question));
    text.extend(conclusion(of).map(|said| format!("**{}**\n\n", plain(&said))));
    text += &cases(report, "cell");
    text + &format!("ceiling {}, experiment {}\n\n", plain(&of.version), plain(&of.id))
}

/// Cases of any kind; the word is the heading of their names.
pub fn of_cases(report: &Report, word: &str) -> String {
    heading(report) + &cases(report, word)
}

/// A command that measured nothing.
pub fn of_failure(report: &Report) -> String {
    let mut text = heading(report);
    for case in &report.cases {
        text += &format!("**{}**\n\n", plain(word_of(&case.outcome).1));
    }
    text
}

/// A row for each case.
fn cases(report: &Report, word: &str) -> String {
    let rows = report.cases.iter().map(|case| {
        let (word, said) = word_of(&case.outcome);
        vec![case.name.clone(), word.to_string(), said.clone()]
    });
    table(&[word, "", "because"], rows.collect())
}

/// Rate, p50, p99 and share of failures of a level, each with its name.
pub(super) fn figures(point: &Point) -> Vec<String> {
    let names = ["rate", "p50", "p99", "failed"];
    let units = ["/s", "", "", ""];
    let figures = figures_of(point).into_iter().zip(names).zip(units);
    figures.map(|((figure, name), unit)| format!("{name} {figure}{unit}")).collect()
}

fn figures_of(point: &Point) -> Vec<String> {
    let (due, without) = failures_of(point);
    let failed = (due > 0).then(|| format!("{} %", percent(100.0 * without as f64 / due as f64)));
    let (p50, p99) = (latency(point, Figure::P50), latency(point, Figure::P99));
    vec![rate_cell(point), p50, p99, or_dash(failed, |share| share)]
}

fn heading(report: &Report) -> String {
    let is_bad =
        |outcome: &CaseOutcome| matches!(outcome, CaseOutcome::Failed(_) | CaseOutcome::Error(_));
    let bad = report.cases.iter().filter(|case| is_bad(&case.outcome)).count();
    let word = match bad {
        0 => "passed".to_string(),
        _ => format!("{bad} of {} failed", report.cases.len()),
    };
    format!("### {}: {word}\n\n", plain(&report.title))
}

fn expectation(one: &Expectation) -> Vec<String> {
    let word = match one.met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "UNDECIDED",
    };
    let show = |value: f64| one.unit.show(value);
    vec![
        one.term.clone(),
        word.to_string(),
        one.measured.map_or_else(|| one.why.clone(), show),
        show(one.bound),
        or_dash(one.margin(), |margin| margin.to_string()),
    ]
}

fn word_of(outcome: &CaseOutcome) -> (&'static str, &String) {
    match outcome {
        CaseOutcome::Passed(found) => ("passed", found),
        CaseOutcome::Skipped(why) => ("skipped", why),
        CaseOutcome::Failed(why) => ("FAILED", why),
        CaseOutcome::Error(why) => ("ERROR", why),
    }
}

/// Nothing without rows.
fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let titles: Vec<String> = head.iter().map(ToString::to_string).collect();
    let mut text = line(&titles) + &format!("|{}\n", "---|".repeat(head.len()));
    for row in rows.iter().take(ROWS_MAX) {
        text += &line(&row.iter().map(|cell| plain(cell)).collect::<Vec<_>>());
    }
    let more = rows.len().saturating_sub(ROWS_MAX);
    let more = if more > 0 { format!("\nand {more} more\n") } else { String::new() };
    format!("{text}{more}\n")
}

/// Escapes text so that it contains no markup, link or line break.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in printable(text).chars() {
        match letter {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                shown.push('\\');
                shown.push(letter);
            }
            other => shown.push(other),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::ending::Strictness;

    #[test]
    fn summaries_read_like_this() {
        let of = |run: Run| of_run(&run, &Report::of_run(&run, Strictness::OfFigure));
        insta::assert_snapshot!("job_expectations", of(fixtures::load_open()));
        insta::assert_snapshot!("job_levels", of(fixtures::ramp_quota()));
        let (experiment, runs) = fixtures::experiment();
        let report = Report::of_experiment(&experiment, &runs);
        insta::assert_snapshot!("job_cells", of_experiment(&experiment, &report));
        let (of, runs) = fixtures::blocks();
        let text = of_experiment(&of, &Report::of_experiment(&of, &runs));
        assert!(text.contains("**Against plain: rps is faster (+12.0 %)"), "{text}");
    }

    #[test]
    fn no_text_becomes_markup() {
        let report = Report::of_failure("ceiling load h", "a\n# b | <img src=x> [c](d) `e`");
        let text = of_failure(&report);
        assert!(text.contains("a\\\\n\\# b \\| &lt;img src=x&gt; \\[c\\](d) \\`e\\`"), "{text}");
    }
}
