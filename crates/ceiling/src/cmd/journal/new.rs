//! `ceiling journal new SLUG`: makes an entry.

use super::words::{Line, Place, SlugWord};
use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use journal::{Journal, Skeleton};
use plan::values::PlanFile;
use std::fs;
use std::path::Path;
use toml::Table;

/// Makes an entry: valid files with comments that say what to write. An existing entry is left
/// unchanged. The first entry creates the journal as well.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 made, 2 the entry exists already, or the plan is not valid.

Examples:
  ceiling journal new gzip-helps
  ceiling journal new gzip-helps --plan experiments/12-gzip/plan.toml
  ceiling journal new gzip-helps --title 'Gzip' --question 'Does it help?'
  ceiling journal new story-12 --source 'Entry 12 of another journal'")]
pub struct New {
    /// The name of the entry, and of its folder
    slug: SlugWord,

    /// Its title [default: made from the name]
    #[arg(long, value_name = "TEXT")]
    title: Option<Line>,

    /// Its question [default: the question of the plan]
    #[arg(long, value_name = "TEXT")]
    question: Option<Line>,

    /// Copy this plan
    #[arg(long, value_name = "FILE")]
    plan: Option<PlanFile>,

    /// For an entry about somebody else's results, without a plan: whose experiment it is
    #[arg(long, value_name = "TEXT", conflicts_with = "plan")]
    source: Option<Line>,

    #[command(flatten)]
    place: Place,
}

pub fn run(command: &New) -> Result<Code, Failure> {
    let mut skeleton = Skeleton::new(&command.slug);
    if let Some(path) = &command.plan {
        let (text, question) = plan_of(path)?;
        skeleton = skeleton.with_plan(&text).question(&question);
    }
    if let Some(Line(question)) = &command.question {
        skeleton = skeleton.question(question);
    }
    if let Some(Line(title)) = &command.title {
        skeleton = skeleton.title(title);
    }
    if let Some(Line(source)) = &command.source {
        skeleton = skeleton.of_others(source);
    }
    let journal = Journal::open_or_make(&command.place.journal)?;
    let made = journal.create(&command.slug, &skeleton)?;
    let (path, slug) = (made.path.display(), &made.slug);
    let plan = match command.source {
        None => format!("{path}/plan.toml   what is measured\n"),
        Some(_) => String::new(),
    };
    let next = match command.source {
        // The plan of a new entry names a server that runs already, which needs --trust.
        None if command.plan.is_none() => {
            format!("edit them, then ceiling journal run {slug} --trust")
        }
        None => format!("edit them, then ceiling journal run {slug}"),
        Some(_) => format!("edit them; ceiling journal import {slug} FILE copies a result"),
    };
    to_stdout(&format!(
        "{path}/entry.toml  question, hypothesis, findings\n{plan}\
         {path}/notes.md    the text, with figures as references\nNext: {next}\n"
    ))?;
    Ok(Code::Good)
}

/// The text of a plan, and its question.
fn plan_of(path: &Path) -> Result<(String, String), Failure> {
    let wrong = |why: String| Failure::Usage(format!("--plan {}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        wrong(format!(
            "{}; give a TOML file, for example experiments/04-ramp/plan.toml",
            error.message()
        ))
    })?;
    let word = |key: &str| table.get(key).and_then(|value| value.as_str());
    match (word("schema"), word("question")) {
        (Some(plan::SCHEMA), Some(question)) => Ok((text.clone(), question.to_string())),
        _ => Err(wrong(format!(
            "it is not a plan: a plan has schema = \"{}\" and a question; for example \
             experiments/04-ramp/plan.toml",
            plan::SCHEMA
        ))),
    }
}
