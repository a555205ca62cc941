//! The site of a journal in memory, for `build` and `serve`.

use crate::exit::Failure;
use journal::language::{Condition, Decision, Fault, filled};
use journal::{EntryFolder, Journal, JournalError, Status, StoredRun, World};
use model::order::OrderBy as _;
use site::{Added, Contents, Drawn, Files, Foreign, Listed, Measured, Site};
use std::fs::{self, File};
use std::io::Read;
use std::num::NonZero;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many bytes of an output of another tool are read.
const OUTPUT_MAX: u64 = 1 << 20;

/// A site in memory.
pub struct Pages {
    /// The files by path.
    pub files: Files,
    /// The number of entries.
    pub entries: usize,
    /// Whether it has a feed; a feed needs the `url` of the journal.
    pub has_feed: bool,
    /// Data that could not be read and is left out, one sentence for each.
    pub complaints: Vec<String>,
}

/// Makes the site of a journal. Fails if the journal or an `entry.toml` cannot be read; other data
/// that cannot be read is named on the page of its entry.
pub fn pages(journal: &Journal) -> Result<Pages, Failure> {
    let (about, listing) = (journal.about()?, journal.entries()?);
    if let Some(broken) = listing.broken.into_iter().next() {
        return Err(broken.into());
    }
    let entries = listing.entries;
    let world = World::of(&entries);
    let listed = |one: &EntryFolder| Listed { slug: one.slug.clone(), entry: one.entry.clone() };
    let has_feed = about.url.is_some();
    let site = Site::new(about, entries.iter().map(listed).collect());
    let drawn = all_drawn(&site, &entries, &world)?;
    let (drawn, complaints): (Vec<Drawn>, Vec<Vec<String>>) = drawn.into_iter().unzip();
    let complaints = complaints.into_iter().flatten().collect();
    Ok(Pages { files: site.finish(drawn), entries: entries.len(), has_feed, complaints })
}

type OneDrawn = (Drawn, Vec<String>);

/// Draws all entries in parallel, on as many threads as there are CPUs. The result is in their
/// order.
fn all_drawn(
    site: &Site,
    entries: &[EntryFolder],
    world: &World<'_>,
) -> Result<Vec<OneDrawn>, JournalError> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = entries.get(nth) else { break };
            let drawn = contents(entry, world).map(|of| {
                let drawn = site.draw(&entry.slug, &of);
                let named = |why: &String| format!("{}: {why}", entry.slug);
                drawn.map(|drawn| (drawn, of.complaints.iter().map(named).collect()))
            });
            if let Ok(mut done) = done.lock() {
                done.push((nth, drawn));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.order_by_key(|(nth, _)| *nth);
    done.into_iter().filter_map(|(_, drawn)| drawn.transpose()).collect()
}

/// Everything that the pages of an entry show.
fn contents(entry: &EntryFolder, world: &World<'_>) -> Result<Contents, JournalError> {
    let plan = entry.plan()?.map(|text| plan::without_secrets(&text));
    let mut of = Contents { plan, ..Contents::default() };
    results(entry, world, &mut of)?;
    for kept in entry.added_runs()? {
        match entry.whole_run(&kept) {
            Ok(run) => of.runs.push(Added { name: kept.name, run }),
            Err(why) => of.complaints.push(why.to_string()),
        }
    }
    for name in entry.foreign()? {
        match entry.audit(&name) {
            Ok(audit) => {
                let text = output(&entry.path.join("foreign"), &name);
                of.foreign.push(Foreign { name, text, audit: Some(audit) });
            }
            Err(why) => of.complaints.push(why.to_string()),
        }
    }
    let figures = world.within(entry);
    of.notes = filled(&entry.notes()?, &figures);
    let has_data = !of.results.is_empty() || !of.runs.is_empty() || !of.foreign.is_empty();
    if has_data || entry.entry.status == Status::Done {
        let decided = |condition: &Condition| condition.decide(&figures);
        of.predictions = predictions(entry, &decided);
        let findings = entry.entry.findings.iter();
        of.findings = findings.map(|one| decided(&one.condition)).collect();
    }
    Ok(of)
}

fn predictions(
    entry: &EntryFolder,
    decided: &dyn Fn(&Condition) -> Result<Decision, Fault>,
) -> Vec<Result<Decision, Fault>> {
    let predictions = entry.entry.hypothesis.iter().flat_map(|one| &one.predictions);
    predictions.map(|one| decided(&one.condition)).collect()
}

/// Adds the results with their runs, and marks the result that the entry is about.
fn results(entry: &EntryFolder, world: &World<'_>, of: &mut Contents) -> Result<(), JournalError> {
    let chosen = entry.chosen().unwrap_or_else(|why| {
        of.complaints.push(why.to_string());
        None
    });
    for id in entry.results()? {
        let read = match world.result(entry, &id) {
            Ok(read) => read,
            Err(why) => {
                of.complaints.push(why);
                continue;
            }
        };
        if chosen.as_ref() == Some(&id) {
            of.chosen = Some(of.results.len());
        }
        // A run that cannot be read is missing on the page, which says so.
        let run = |kept: Option<StoredRun>| entry.whole_run(&kept?).ok();
        let runs = entry.visits(&id)?.into_iter().map(run).collect();
        of.results.push(Measured { id, experiment: read.experiment.clone(), runs });
    }
    Ok(())
}

/// The unchanged output of another tool, up to a size limit; empty if there is no such file.
fn output(folder: &Path, name: &str) -> String {
    let is_it = |file: &fs::DirEntry| {
        let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
        let path = file.path();
        let is_audit = path.to_string_lossy().ends_with(".audit.json");
        is_file && !is_audit && path.file_stem().is_some_and(|stem| stem == name)
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files.filter(is_it).map(|file| file.path()).collect();
    files.sort();
    let mut bytes = Vec::new();
    if let Some(file) = files.first().and_then(|path| File::open(path).ok()) {
        let _ = file.take(OUTPUT_MAX).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
