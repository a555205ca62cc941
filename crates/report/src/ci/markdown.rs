//! A summary in Markdown, for the page of a CI job: the verdict, failures, and figures.

use super::{CaseOutcome, Report};
use crate::page::{Block, Row};
use crate::sections::levels::{self, About};
use crate::sections::{Detail, conclusion, summary};
use crate::wording::or_dash;
use model::experiment::Experiment;
use model::objective::Expectation;
use model::printable::printable;
use model::run::Run;

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
    let points = &record.points;
    text.extend(levels::table(run, About::of(points), Detail::Summary).map(|levels| {
        let titles = levels.columns.iter().map(|column| column.title.as_str());
        let cells = |row: Row| {
            let named = row.cells.into_iter().zip(titles.clone());
            named.filter(|(_, title)| !title.is_empty()).map(|(cell, _)| cell).collect()
        };
        let rows = levels.rows.into_iter().map(cells).collect();
        table(&titles.clone().filter(|title| !title.is_empty()).collect::<Vec<_>>(), rows)
    }));
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
    use crate::sections::levels::phrases;
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
    fn devices_and_subscribers_have_their_own_figures() {
        let first = |run: Run| phrases(&run.record.points[0]);
        let turnover = first(fixtures::churn_turnover());
        let ends = (turnover[0].as_str(), turnover.last().unwrap().as_str());
        assert_eq!(ends, ("conns 1920/s", "failed 0.05 %"));
        assert!(turnover[1].starts_with("connect p50 ") && !turnover[1].ends_with('-'));
        assert_eq!(first(fixtures::churn_held())[0], "opened 2000");
        let run = fixtures::fanout();
        let events = phrases(&run.record.points[1]);
        assert!(events[0].starts_with("events ") && events[1] == "delivery 90 %", "{events:?}");
        let text = of_run(&run, &Report::of_run(&run, Strictness::OfFigure));
        assert!(
            text.contains("| subs | events/s | delivery | stale p50 | p90 | p99 | p99.9 | max |"),
            "{text}"
        );
    }

    #[test]
    fn a_few_failures_are_not_none() {
        let mut run = fixtures::ramp_quota();
        let point = &mut run.record.points[0];
        (point.requests.sent, point.requests.failed) = (1_000_000, 3);
        assert_eq!(phrases(point).last().unwrap(), "failed <0.01 %");
    }

    #[test]
    fn requests_that_were_never_sent_are_not_among_those_that_failed() {
        let mut run = fixtures::load_open();
        let requests = &mut run.record.points[0].requests;
        (requests.sent, requests.failed, requests.unanswered) = (9_000, 90, 0);
        (requests.planned, requests.unsent) = (Some(10_000), 1_000);
        let told = phrases(&run.record.points[0]);
        assert_eq!(told[told.len() - 2..], ["failed 1.0 %", "unsent 1000"]);
    }

    #[test]
    fn no_text_becomes_markup() {
        let report = Report::of_failure("ceiling load h", "a\n# b | <img src=x> [c](d) `e`");
        let text = of_failure(&report);
        assert!(text.contains("a\\\\n\\# b \\| &lt;img src=x&gt; \\[c\\](d) \\`e\\`"), "{text}");
    }
}
