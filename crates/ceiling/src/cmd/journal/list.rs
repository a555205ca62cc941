//! `ceiling journal list`: lists the entries, one row each.

use super::words::Place;
use crate::exit::{Code, Failure};
use crate::screen::{style, to_stderr, to_stdout};
use clap::Args;
use journal::{About, EntryFolder, Journal, Listing, Status};
use model::experiment::Experiment;
use plan::Colour;
use report::page::{Block, Column, Mark, Page, Table};
use report::text::draw;
use serde_json::{Value, json};

/// Lists the entries by date, each with those that follow it, and how many of its contrasts are
/// decided. One that cannot be read is reported on stderr.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 good, 2 an entry cannot be read.

Examples:
  ceiling journal list
  ceiling journal list --json")]
pub struct List {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    colour: Colour,
}

pub fn run(command: &List) -> Result<Code, Failure> {
    let journal = Journal::open(&command.place.journal)?;
    let (about, listing) = (journal.about()?, journal.entries()?);
    let text = match command.json {
        true => model::json::pretty(&document(&about, &listing)),
        false => draw(&page(&about, &listing), style(&command.colour)),
    };
    to_stdout(&text)?;
    for broken in &listing.broken {
        to_stderr(&format!("ceiling: {broken}"));
    }
    Ok(if listing.broken.is_empty() { Code::Good } else { Code::Usage })
}

fn document(about: &About, listing: &Listing) -> Value {
    let entry = |one: &EntryFolder| {
        let mut value = json!(one.entry);
        value["slug"] = json!(one.slug);
        value["results"] = json!(one.results().unwrap_or_default());
        value["contrasts"] = json!(chosen(one).and_then(|of| of.decided()));
        value
    };
    json!({
        "schema": "ceiling.journal/1",
        "title": about.title,
        "description": about.description,
        "url": about.url,
        "entries": listing.entries.iter().map(entry).collect::<Vec<_>>(),
        "broken": listing.broken.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// The document of the result that an entry is about.
fn chosen(of: &EntryFolder) -> Option<Experiment> {
    of.experiment(&of.chosen().ok()??).ok()
}

/// The status of an entry, and how far its question is decided.
fn state(of: &EntryFolder) -> String {
    let word = of.entry.status.word();
    let predictions = of.entry.hypothesis.as_ref().map_or(0, |one| one.predictions.len());
    match chosen(of) {
        None if of.entry.status == Status::Predicted => format!("{word}, 0 of {predictions}"),
        chosen => {
            let decided = chosen.and_then(|experiment| report::decided(&experiment));
            decided.map_or(word.to_string(), |decided| format!("{word}, {decided}"))
        }
    }
}

fn page(about: &About, listing: &Listing) -> Page {
    let columns = ["date", "slug", "status", "title and answer"].map(Column::words);
    let mut table = Table::new(columns.into());
    for one in &listing.entries {
        let entry = &one.entry;
        let answer = entry.answer.as_ref().map_or(String::new(), |answer| format!(" - {answer}"));
        table.push(
            Mark::None,
            vec![
                entry.date.to_string(),
                one.slug.to_string(),
                state(one),
                format!("{}{answer}", entry.title),
            ],
        );
    }
    let blocks = match listing.entries.is_empty() {
        true => vec![Block::Text("There is no entry: ceiling journal new SLUG.".to_string())],
        false => vec![Block::Table(table)],
    };
    let count = listing.entries.len();
    let subtitle = if count == 1 { "1 entry".to_string() } else { format!("{count} entries") };
    Page { title: about.title.clone(), subtitle, blocks }
}
