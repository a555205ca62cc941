//! `ceiling journal show SLUG`: prints an entry as text, with its figures filled in.

use super::words::{Place, SlugWord};
use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use journal::check::{Judged, judged};
use journal::language::{filled, plain};
use journal::{EntryFolder, Journal, Status, World};
use report::text::printed;

/// Prints an entry: its question and answer, what was expected and found with the figures that
/// decide it, and its notes with all references filled in. A reference that leads to nothing is
/// replaced by the reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ceiling journal show gzip-helps")]
pub struct Show {
    /// The entry
    slug: SlugWord,

    #[command(flatten)]
    place: Place,
}

pub fn run(command: &Show) -> Result<Code, Failure> {
    let journal = Journal::open(&command.place.journal)?;
    let asked = journal.entry(&command.slug)?;
    let listing = journal.entries()?;
    let world = World::of(&listing.entries);
    let text = head(&asked)? + &stated(&world, &asked);
    let notes = plain(&filled(&asked.notes()?, &world.within(&asked)));
    to_stdout(&printed(&format!("{text}\n{notes}")))?;
    Ok(Code::Good)
}

fn head(of: &EntryFolder) -> Result<String, Failure> {
    let entry = &of.entry;
    let by = match &entry.status {
        Status::Superseded { by } => format!(" by {by}"),
        _ => String::new(),
    };
    let mut text = format!("{}\n{}  {}{by}", entry.title, entry.date, entry.status.word());
    if !entry.tags.is_empty() {
        text += &format!("  {}", entry.tags.join(", "));
    }
    text += &format!("\n\nQuestion: {}\n", entry.question.trim());
    let part = [("Answer", &entry.answer), ("Lesson", &entry.lesson), ("Source", &entry.source)];
    for (name, part) in part {
        if let Some(part) = part {
            text += &format!("{name}: {}\n", part.trim());
        }
    }
    if let Some(result) = of.chosen()? {
        text += &format!("Result: {result}\n");
    }
    Ok(text)
}

/// The predictions and findings, with the figures that decide them.
fn stated(world: &World<'_>, of: &EntryFolder) -> String {
    let stated = judged(world, of);
    let mut text = String::new();
    if let Some(hypothesis) = &of.entry.hypothesis {
        text += "\nExpected\n";
        if let Some(words) = &hypothesis.text {
            text += &format!("  {}\n", words.trim());
        }
        for (cell, wall) in &hypothesis.walls {
            text += &format!("  cell {cell}: {} ({wall})\n", wall.name());
        }
        text.extend(stated.predictions.iter().map(one));
    }
    if !stated.findings.is_empty() {
        text += "\nFound\n";
        text.extend(stated.findings.iter().map(one));
    }
    text
}

fn one(of: &Judged) -> String {
    let word = of.truth.map_or("open", |truth| truth.word());
    format!("  {}\n    {word}: {}\n", of.text.trim(), of.why)
}
