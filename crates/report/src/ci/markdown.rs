//! A summary in Markdown, for the page of a CI job: the verdict, failures, and figures.

use super::{CaseOutcome, Report};
use crate::page::Block;
use crate::sections::{conclusion, summary};
use crate::wording::{
    count, main_failed, main_times, missing_cell, or_dash, point_phrase, rate_cell, share,
    unsent_phrase,
};
use model::experiment::Experiment;
use model::figure::Figure;
use model::objective::Expectation;
use model::printable::printable;
use model::run::{Point, Run};
use model::subject::Subject;

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
    let head = head(&record.points);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
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

/// Figures of a level, each with its name.
pub(super) fn figures(point: &Point) -> Vec<String> {
    let units = [if point.is_held() { "" } else { "/s" }, "", "", ""];
    let figures = figures_of(point).into_iter().zip(point.subject.words().figures).zip(units);
    figures.map(|((figure, name), unit)| format!("{name} {figure}{unit}")).collect()
}

/// Headings of the figures of levels.
fn head(points: &[Point]) -> Vec<String> {
    let subject = points.first().map_or(&Subject::Requests(None), |point| &point.subject);
    let names = subject.words().figures;
    let is_held = matches!(subject, Subject::Held(_));
    let first = if is_held { names[0].to_string() } else { format!("{}, 1/s", names[0]) };
    let rest = names[1..].iter().map(ToString::to_string);
    ["load".to_string(), first].into_iter().chain(rest).collect()
}

fn figures_of(point: &Point) -> Vec<String> {
    let part = |some: u64, of: u64| {
        let part = (of > 0).then(|| format!("{} %", share(some, of)));
        or_dash(part, |part| part)
    };
    let made = match point.is_held() {
        true => count(point.connections.opened),
        false => rate_cell(point),
    };
    let failed = match &point.subject {
        Subject::Events(_) => missing_cell(point, part),
        Subject::Requests(_) => {
            // As everywhere: of those sent. Those that were never sent have a phrase of their own.
            let requests = &point.requests;
            let failed = part(requests.failed + requests.unanswered, requests.sent);
            let parts = std::iter::once(failed).chain(unsent_phrase(point));
            parts.collect::<Vec<_>>().join(", ")
        }
        _ => main_failed(point),
    };
    let [p50, p99] = main_times(point, [Figure::P50, Figure::P99]);
    vec![made, p50, p99, failed]
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
    fn devices_and_subscribers_have_their_own_figures() {
        let first = |run: Run| figures(&run.record.points[0]);
        let turnover = first(fixtures::churn_turnover());
        assert_eq!(
            (turnover[0].as_str(), turnover[3].as_str()),
            ("connections 1920/s", "failed 0.05 %")
        );
        assert!(turnover[1].starts_with("connect p50 ") && !turnover[1].ends_with('-'));
        assert_eq!(first(fixtures::churn_held())[0], "held 2000");
        let run = fixtures::fanout();
        let events = figures(&run.record.points[1]);
        assert!(events[0].starts_with("events ") && events[3] == "missing 10.0 %", "{events:?}");
        let text = of_run(&run, &Report::of_run(&run, Strictness::OfFigure));
        assert!(
            text.contains("| load | events, 1/s | stale p50 | stale p99 | missing |"),
            "{text}"
        );
    }

    #[test]
    fn a_few_failures_are_not_none() {
        let mut run = fixtures::ramp_quota();
        let point = &mut run.record.points[0];
        (point.requests.sent, point.requests.failed) = (1_000_000, 3);
        assert_eq!(figures(point)[3], "failed <0.01 %");
    }

    #[test]
    fn requests_that_were_never_sent_are_not_among_those_that_failed() {
        let mut run = fixtures::load_open();
        let requests = &mut run.record.points[0].requests;
        (requests.sent, requests.failed, requests.unanswered) = (9_000, 90, 0);
        (requests.planned, requests.unsent) = (Some(10_000), 1_000);
        let told = figures(&run.record.points[0]).pop().unwrap();
        assert_eq!(told, "failed 1.0 %, 1000 of 10.0k never sent");
    }

    #[test]
    fn no_text_becomes_markup() {
        let report = Report::of_failure("ceiling load h", "a\n# b | <img src=x> [c](d) `e`");
        let text = of_failure(&report);
        assert!(text.contains("a\\\\n\\# b \\| &lt;img src=x&gt; \\[c\\](d) \\`e\\`"), "{text}");
    }
}
