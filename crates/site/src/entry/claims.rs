//! Expectations and findings, each with its outcome.

use super::{Scene, chosen};
use crate::markup::{escape, joined, paragraphs};
use journal::Hypothesis;
use journal::language::{Decision, Fault, Truth};
use model::experiment::CellResult;
use model::wall::WallId;
use report::is_expected;

/// The hypothesis: its text, walls and predictions.
pub fn hypothesis(scene: &Scene<'_>) -> String {
    let Some(of) = &scene.listed.entry.hypothesis else { return String::new() };
    let text = of.text.as_deref().map_or(String::new(), paragraphs);
    let text = if text.is_empty() { text } else { format!("<div class=\"prose\">{text}</div>\n") };
    text + &walls(scene, of) + &predictions(scene, of)
}

fn walls(scene: &Scene<'_>, of: &Hypothesis) -> String {
    if of.walls.is_empty() {
        return String::new();
    }
    let row = |(cell, wall): (&String, &WallId)| {
        format!(
            "<tr><th scope=\"row\">{}</th><td>{} ({})</td><td>{}</td></tr>\n",
            escape(cell),
            escape(wall.name()),
            wall.id(),
            escape(&found(scene, cell, *wall))
        )
    };
    let rows: String = of.walls.iter().map(row).collect();
    table("Expected walls", &["cell", "expected", "found"], &rows)
}

/// In how many visits of a cell the wall was found.
fn found(scene: &Scene<'_>, name: &str, wall: WallId) -> String {
    let Some(result) = chosen(scene.of) else { return "not measured yet".to_string() };
    let cells = result.experiment.cells.iter().zip(&result.runs);
    // Warm-up visits do not count.
    let visits = cells.filter(|(cell, _)| cell.name == name && cell.block != Some(0));
    let verdict = |(cell, run): (&CellResult, &Option<model::run::Run>)| {
        let cell = CellResult { expected: vec![wall], ..cell.clone() };
        is_expected(&cell, run.as_ref()?)
    };
    let verdicts: Vec<Option<bool>> = visits.map(verdict).collect();
    let count = |what: Option<bool>| verdicts.iter().filter(|one| **one == what).count();
    match (verdicts.len(), count(Some(true)), count(None)) {
        (0, _, _) => "the result has no such cell".to_string(),
        (all, as_expected, 0) => format!("in {as_expected} of {all} visits"),
        (all, as_expected, unknown) => {
            format!("in {as_expected} of {all} visits; in {unknown} it is not known")
        }
    }
}

fn predictions(scene: &Scene<'_>, of: &Hypothesis) -> String {
    let one = |(nth, prediction): (usize, &journal::Prediction)| {
        let text = prediction.text.as_deref();
        let became = scene.of.predictions.get(nth);
        claim(text, prediction.condition.text(), became, &PREDICTED)
    };
    let items: String = of.predictions.iter().enumerate().map(one).collect();
    match items.as_str() {
        "" => items,
        items => {
            format!("<p class=\"caption\">Predictions</p>\n<ul class=\"findings\">{items}</ul>\n")
        }
    }
}

/// The findings, each with its condition and whether it holds.
pub fn findings(scene: &Scene<'_>) -> String {
    let one = |(nth, finding): (usize, &journal::Finding)| {
        let became = scene.of.findings.get(nth);
        claim(Some(&finding.text), finding.condition.text(), became, &FOUND)
    };
    let items: String = scene.listed.entry.findings.iter().enumerate().map(one).collect();
    match items.as_str() {
        "" => items,
        items => format!("<ul class=\"findings\">\n{items}</ul>\n"),
    }
}

/// The decision on a condition; nothing without data.
type Became<'a> = Option<&'a Result<Decision, Fault>>;

/// The words for a true and a false condition, each with its CSS class.
type Words = [(&'static str, &'static str); 2];

const FOUND: Words = [("holds", "\u{2713} holds"), ("fails", "\u{2717} fails")];
/// A prediction that did not come true is a result, not an error.
const PREDICTED: Words = [("came", "\u{2713} came true"), ("other", "\u{2717} did not come true")];

fn claim(text: Option<&str>, condition: &str, became: Became<'_>, words: &Words) -> String {
    let text = text.map_or(String::new(), |text| escape(&joined(text)));
    let why = match became {
        Some(Ok(decision)) => decision.why.clone(),
        Some(Err(fault)) => fault.to_string(),
        None => String::new(),
    };
    let why = match why.as_str() {
        "" => why,
        why => format!("<p class=\"note\">{}</p>\n", escape(why)),
    };
    format!(
        "<li>\n<p>{} {text}</p>\n<p class=\"note\"><code>{}</code></p>\n{why}</li>\n",
        state(became, words),
        escape(condition)
    )
}

/// The state as a symbol, words and a colour.
fn state(became: Became<'_>, words: &Words) -> String {
    let (class, word) = match became {
        None => return "<span class=\"state\">not measured yet</span>".to_string(),
        Some(Ok(Decision { truth: Truth::True, .. })) => words[0],
        Some(Ok(Decision { truth: Truth::False, .. })) => words[1],
        Some(Ok(Decision { truth: Truth::Undecided, .. })) => ("undecided", "? undecided"),
        Some(Err(Fault::Dangling { .. })) => ("fails", "\u{2717} refers to a missing figure"),
        Some(Err(Fault::Wrong(_))) => ("fails", "\u{2717} cannot be decided"),
    };
    format!("<span class=\"state {class}\">{word}</span>")
}

/// A small table; cells are markup.
pub fn table(caption: &str, columns: &[&str], rows: &str) -> String {
    let column = |name: &&str| format!("<th scope=\"col\">{}</th>", escape(name));
    let heads: String = columns.iter().map(column).collect();
    let caption = escape(caption);
    format!(
        "<p class=\"caption\">{caption}</p>\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\n<table>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}
