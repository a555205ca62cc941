//! `ceiling journal check`: reports what no longer holds, is open, or has changed.

use super::words::{Place, SlugWord};
use crate::ci::Ci;
use crate::exit::{Code, Failure};
use crate::screen::{style, to_stdout};
use clap::Args;
use journal::check::{Again, Checked, Judged, Kind, Remark, Weight, check};
use journal::language::Truth;
use journal::{Journal, Listing};
use plan::{CiOptions, Colour};
use report::ci::{Case, CaseOutcome, Report, markdown};
use report::page::{Banner, Block, List, Page, Tone};
use report::text::draw;
use serde_json::{Value, json};

/// Checks entries against their results. What does not hold: findings whose condition is now false
/// or undecided, or that the result of another entry with the same question contradicts; references
/// that lead to nothing; missing successors; runs in which this version finds another wall, and
/// contrasts with another conclusion. What is doubtful: changed gates and figures, changed hosts of
/// results that are compared, repeated questions, and missing answers. A wrong prediction or a
/// wrong expected wall is a result.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 all holds, 2 an entry is not valid, 3 something does not hold or,
with --strict, is doubtful.

Examples:
  ceiling journal check
  ceiling journal check gzip-helps --json
  ceiling journal check --strict --junit junit.xml")]
pub struct Check {
    /// Only these entries
    slug: Vec<SlugWord>,

    /// Exit 3 also for what is doubtful
    #[arg(long)]
    strict: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    ci: CiOptions,

    #[command(flatten)]
    colour: Colour,
}

pub fn run(command: &Check) -> Result<Code, Failure> {
    let journal = Journal::open(&command.place.journal)?;
    let about = journal.about()?;
    let listing = match command.slug.is_empty() {
        true => journal.entries()?,
        // An entry that cannot be read matters only if it was asked for.
        false => Listing { broken: Vec::new(), ..journal.entries()? },
    };
    for slug in &command.slug {
        journal.entry(slug)?;
    }
    let is_asked =
        |slug: &_| command.slug.is_empty() || command.slug.iter().any(|one| one.0 == *slug);
    let ci = Ci::open(&command.ci)?;
    let checked = check(&listing, is_asked);
    let text = match command.json {
        true => model::json::pretty(&document(&checked)),
        false => draw(&page(&about.title, &checked), style(&command.colour)),
    };
    to_stdout(&text)?;
    let report = report_of(&command.place.journal.display().to_string(), &checked);
    ci.write(&report, &markdown::of_cases(&report, "entry"))?;
    Ok(code(command, &checked))
}

fn code(command: &Check, checked: &Checked) -> Code {
    match checked.worst() {
        Some(Weight::Invalid) => Code::Usage,
        Some(Weight::Failed) => Code::Unmet,
        Some(Weight::Doubtful) if command.strict => Code::Unmet,
        Some(Weight::Doubtful | Weight::Result | Weight::Open) | None => Code::Good,
    }
}

fn document(checked: &Checked) -> Value {
    let remark = |one: &Remark| {
        let mut value = json!(one);
        value["weight"] = json!(one.kind.weight());
        value
    };
    let (holding, findings) = checked.holding();
    json!({
        "schema": "ceiling.journal-check/1",
        "findings": findings,
        "holding": holding,
        "entries": checked.entries,
        "remarks": checked.remarks.iter().map(remark).collect::<Vec<_>>(),
    })
}

/// `1 entry`, `2 entries`.
fn count(of: usize, one: &str, several: &str) -> String {
    if of == 1 { format!("1 {one}") } else { format!("{of} {several}") }
}

fn page(title: &str, checked: &Checked) -> Page {
    let (holding, all) = checked.holding();
    let (tone, text) = match checked.worst() {
        Some(Weight::Invalid) => (Tone::Bad, "Not valid"),
        Some(Weight::Failed) => (Tone::Bad, "Something does not hold"),
        Some(Weight::Doubtful) => (Tone::Caution, "All holds; something is doubtful"),
        Some(Weight::Result | Weight::Open) | None => (Tone::Good, "All holds"),
    };
    let findings = format!("{holding} of {} found to hold.", count(all, "finding", "findings"));
    let lines = [Some(findings), judged_again(checked)].into_iter().flatten().collect();
    let banner = Banner { tone, text: text.to_string(), lines };
    let mut blocks = vec![Block::Banner(banner)];
    for weight in [Weight::Invalid, Weight::Failed, Weight::Doubtful, Weight::Result, Weight::Open]
    {
        let of = checked.remarks.iter().filter(|one| one.kind.weight() == weight);
        let items: Vec<String> = of.map(sentence).collect();
        if items.is_empty() {
            continue;
        }
        let heading = match weight {
            Weight::Invalid => "Not valid",
            Weight::Failed => "Does not hold",
            Weight::Doubtful => "Doubtful",
            Weight::Result => "Not as expected",
            Weight::Open => "Predicted; ceiling journal run ENTRY tests it",
        };
        blocks.push(Block::Heading(heading.to_string()));
        let lead = String::new();
        blocks.push(Block::List(List { lead, items }));
    }
    let entries = count(checked.entries.len(), "entry", "entries");
    Page { title: title.to_string(), subtitle: format!("{entries} checked"), blocks }
}

/// What became of the runs that could be judged again; nothing where there are none.
fn judged_again(checked: &Checked) -> Option<String> {
    let Again { runs, figures } = checked.again();
    let open = match runs.cannot_be + figures.cannot_be {
        0 => String::new(),
        open => format!("; {open} cannot be judged from what is kept"),
    };
    let runs = (runs.all() > 0).then(|| {
        let all = count(runs.all(), "run", "runs");
        format!("{} of {all}", runs.same)
    })?;
    let figures = match figures.all() {
        0 => String::new(),
        _ => format!(" and {} of {}", figures.same, count(figures.all(), "figure", "figures")),
    };
    Some(format!("Judged again by this version, {runs}{figures} are the same{open}."))
}

fn sentence(of: &Remark) -> String {
    let entry = of.entry.as_ref().map_or(String::new(), |slug| format!("{slug}: "));
    let about = if of.about.is_empty() { String::new() } else { format!("{}: ", of.about) };
    format!("{entry}{about}{}: {}", of.kind.words(), of.why)
}

/// Findings and remarks as test cases. A case fails if its finding or remark does not hold.
fn report_of(place: &str, checked: &Checked) -> Report {
    let case = |name: String, outcome| Case { name, outcome, time_s: 0.0 };
    let mut cases = Vec::new();
    for entry in &checked.entries {
        let holds = |one: &&Judged| one.truth == Some(Truth::True);
        cases.extend(entry.findings.iter().filter(holds).map(|one| {
            case(
                format!("{}: finding '{}'", entry.slug, one.text),
                CaseOutcome::Passed(one.why.clone()),
            )
        }));
    }
    for one in &checked.remarks {
        let entry = one.entry.as_ref().map_or(String::new(), |slug| format!("{slug}: "));
        let explanation = format!("{}: {}", one.kind.words(), one.why);
        let outcome = match one.kind.weight() {
            Weight::Invalid => CaseOutcome::Error(explanation),
            Weight::Failed => CaseOutcome::Failed(explanation),
            Weight::Doubtful if one.kind != Kind::NotJudged => CaseOutcome::Skipped(explanation),
            Weight::Doubtful | Weight::Result | Weight::Open => CaseOutcome::Passed(explanation),
        };
        cases.push(case(format!("{entry}{}", one.about), outcome));
    }
    Report {
        title: format!("ceiling journal check {place}"),
        class: "ceiling.journal".to_string(),
        started_at: None,
        cases,
    }
}
