//! Compares two experiments by the figures of their visits.

use super::Compare;
use crate::cmd::runs;
use crate::exit::{Code, Failure};
use crate::outputs::Outputs;
use crate::screen::{style, to_stderr, to_stdout};
use model::across::{Across, Outcome};
use model::experiment::{CellResult, Experiment, Fate};
use model::json::Document;
use model::run::Run;
use report::Format;
use serde_json::Value;
use std::fs;
use std::path::Path;
use trials::experiment::{OfVisit, analysed};

/// The document of an experiment in its folder.
const DOCUMENT: &str = "experiment.json";

/// Compares two experiments; `None` if both are runs.
pub fn run(command: &Compare) -> Result<Option<Code>, Failure> {
    let find = |asked: &Path| runs::find(asked, command.runs.directory());
    let (a, b) = (find(&command.a)?, find(&command.b)?);
    let (a, b) = match (read(&a)?, read(&b)?) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => return Ok(None),
        (of_a, _) => {
            let (run, experiment) = if of_a.is_some() { (&b, &a) } else { (&a, &b) };
            return Err(Failure::Usage(format!(
                "{} is a run and {} is an experiment; compare two runs or two experiments, for \
                 example ceiling compare last~1 last",
                run.display(),
                experiment.display()
            )));
        }
    };
    let outputs = Outputs::open(&command.out)?;
    let compared = trials::across::across(&a, &b, &command.fail_if);
    let json = || model::json::pretty(&compared);
    let text = match command.json {
        true => json(),
        false => report::text_across(&compared, style(&command.colour)),
    };
    to_stdout(&text)?;
    outputs.write_bytes(&|format| match format {
        Format::Json => json().into_bytes(),
        _ => report::html_across(&compared).into_bytes(),
    })?;
    Ok(Some(code(command, &compared)))
}

/// An undecided bound is reported, and fails only with `--strict`.
fn code(command: &Compare, of: &Across) -> Code {
    let is = |wanted| of.bounds.iter().any(|one| one.outcome == wanted);
    if is(Outcome::Failed) {
        return Code::Unmet;
    }
    if is(Outcome::Undecided) {
        let more = match of.bounds.iter().any(|one| one.more_visits.is_some()) {
            true => "; more visits (blocks) decide it",
            false => "",
        };
        to_stderr(&format!("ceiling: a bound of --fail-if is undecided{more}"));
        return if command.strict { Code::Unmet } else { Code::Good };
    }
    Code::Good
}

/// The experiment of a folder or of a document; `None` if there is none.
fn read(path: &Path) -> Result<Option<Experiment>, Failure> {
    let document = path.join(DOCUMENT);
    let document = if path.is_dir() { &document } else { path };
    let Ok(bytes) = fs::read(document) else { return Ok(None) };
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", document.display()));
    let value: Option<Value> = serde_json::from_slice(&bytes).ok();
    let is_one = |value: &Value| value["schema"] == model::experiment::SCHEMA;
    if !value.as_ref().is_some_and(is_one) {
        return Ok(None);
    }
    let of = Experiment::from_json(&bytes).map_err(|error| wrong(error.to_string()))?;
    if of.analysis.is_some() {
        return Ok(Some(of));
    }
    // An interrupted experiment: its figures come from the runs.
    let runs = document.parent().unwrap_or(Path::new(".")).join("runs");
    let kept: Vec<Option<Run>> = of
        .cells
        .iter()
        .map(|cell| match &cell.fate {
            Fate::Measured { run } => store::read(&runs.join(run)).ok(),
            Fate::Failed { .. } | Fate::NotReached => None,
        })
        .collect();
    if kept.iter().all(Option::is_none) {
        let is_measured = |cell: &CellResult| matches!(cell.fate, Fate::Measured { .. });
        let why = match of.cells.iter().any(is_measured) {
            true => {
                "it has no figures of visits, and there are no runs next to it; give the folder of \
                 the experiment"
            }
            false => "no visit of it was measured, so there is nothing to compare",
        };
        return Err(wrong(why.to_string()));
    }
    let visits: Vec<_> = kept.iter().map(|run| run.as_ref().map(OfVisit::whole)).collect();
    Ok(Some(analysed(of, &visits)))
}
