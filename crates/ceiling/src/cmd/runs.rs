//! `ceiling runs` lists stored runs, and `ceiling runs prune` removes them. Also finds the run that
//! an argument names, for all commands that take one.

use crate::exit::{Code, Failure};
use crate::screen::{style, to_stdout};
use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use model::experiment::Experiment;
use model::inventory::{Inventory, Item, SCHEMA, State};
use model::json::Document;
use model::run::Run;
use model::units::show_bytes;
use plan::values::{Age, Kept, Listed, Space};
use plan::{Colour, Options};
use serde_json::json;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use store::{Directory, Entry, Limits, NotOne, surplus};

/// How many runs the default directory keeps, and how many bytes. On two CPUs a load of 10 s leaves
/// 1 MB and a ramp with its defaults 8 MB, so 1 GB is 130 ramps, or 200 runs of both kinds.
const KEPT: usize = 200;
const KEPT_BYTES: u64 = 1_000_000_000;

/// How many ids an error names at most.
const NAMED_MAX: usize = 5;

/// Lists stored runs and experiments, newest first: when each started, what it measured, its rate
/// and verdict, and its size on disk. Every command that takes a run takes an id of this list, the
/// beginning of one, last, or last~1 for the one before.
#[derive(Debug, Args)]
#[group(skip)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  ceiling runs
  ceiling runs --limit all --json
  ceiling show last
  ceiling compare last~1 last
  ceiling runs prune --keep 50")]
pub struct Runs {
    #[command(subcommand)]
    command: Option<Below>,

    /// How many to list
    #[arg(long, value_name = "N|all", default_value = "20")]
    limit: Listed,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: plan::Runs,
}

#[derive(Debug, Subcommand)]
enum Below {
    /// Removes runs: all but the newest, those that are too old, or those that take too much disk.
    Prune(Prune),
}

/// Removes the runs and experiments that exceed any of the given limits, the oldest first, and
/// prints which. Never removes one that a process is still writing, or one that holds, at any
/// depth, what ceiling did not write there, such as a note or a file written there with -o.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("limits").required(true).multiple(true))]
#[command(after_help = "\
Examples:
  ceiling runs prune --keep 50
  ceiling runs prune --older 30d --max-size 500MB --dry-run")]
struct Prune {
    /// How many to keep, the newest
    #[arg(long, value_name = "N", group = "limits")]
    keep: Option<Kept>,

    /// Remove those that started longer ago than this
    #[arg(long, value_name = "AGE", group = "limits")]
    older: Option<Age>,

    /// Remove the oldest until the others take no more than this on disk
    #[arg(long, value_name = "BYTES", group = "limits")]
    max_size: Option<Space>,

    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    runs: plan::Runs,
}

pub fn run(command: Runs) -> Result<Code, Failure> {
    if let Some(Below::Prune(prune)) = command.command {
        return self::prune(&prune);
    }
    let of = inventory(&directory(&command.runs)?, command.limit.0)?;
    let text = match command.json {
        true => model::json::pretty(&of),
        false => report::text_inventory(&of, Timestamp::now(), style(&command.colour)),
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}

fn directory(runs: &plan::Runs) -> Result<Directory, Failure> {
    runs.directory().map(Directory::new).ok_or_else(|| {
        Failure::Usage(
            "--runs: this command needs the directory that keeps runs, and there is none \
             (--runs none, or HOME is not set); for example --runs out/runs"
                .into(),
        )
    })
}

/// The newest entries of a directory, with the contents of their documents.
fn inventory(directory: &Directory, limit: Option<usize>) -> Result<Inventory, Failure> {
    let entries = directory.entries()?;
    let mut tails: HashMap<&str, usize> = HashMap::new();
    entries.iter().for_each(|entry| *tails.entry(entry.tail()).or_default() += 1);
    let item = |(entry, bytes): &(&Entry, u64)| {
        let short = if tails[entry.tail()] == 1 { entry.tail() } else { &entry.id };
        Item { short: short.to_string(), bytes: *bytes, ..item(entry) }
    };
    let sized: Vec<(&Entry, u64)> = entries.iter().map(|entry| (entry, entry.bytes())).collect();
    Ok(Inventory {
        schema: SCHEMA.to_string(),
        directory: directory.path().display().to_string(),
        runs: sized.iter().take(limit.unwrap_or(usize::MAX)).map(item).collect(),
        count: entries.len() as u64,
        bytes: sized.iter().map(|(_, bytes)| bytes).sum(),
    })
}

fn item(entry: &Entry) -> Item {
    let item = Item::unknown(&entry.id, entry.started_at(), entry.state());
    let document = entry.document();
    if !document.is_file() {
        return item;
    }
    let unreadable = |why: String| {
        // The entry names the path already.
        let prefix = format!("{}: ", document.display());
        Some(why.strip_prefix(&prefix).unwrap_or(&why).to_string())
    };
    if !entry.is_experiment {
        return match store::read_record(&document) {
            Ok(record) => item.of_record(&record),
            Err(error) => Item { unreadable: unreadable(error.to_string()), ..item },
        };
    }
    let text = fs::read(&document).map_err(|error| error.to_string());
    let read =
        text.and_then(|text| Experiment::from_json(&text).map_err(|error| error.to_string()));
    match read {
        Ok(experiment) => item.of_experiment(&experiment),
        Err(why) => Item { unreadable: unreadable(why), ..item },
    }
}

fn prune(command: &Prune) -> Result<Code, Failure> {
    let directory = directory(&command.runs)?;
    let limits = Limits {
        keep: command.keep.as_ref().map(|keep| keep.0 as usize),
        before: command.older.as_ref().map(|age| began_before(age.0)),
        max_bytes: command.max_size.as_ref().map(|space| space.0),
    };
    let sized = sized(directory.entries()?);
    let mut done = Removal::default();
    let how = if command.dry_run { How::Rehearsed } else { How::Done };
    done.remove(&directory, &surplus(&sized, &limits), how);
    let whole: u64 = sized.iter().map(|(_, bytes)| bytes).sum();
    let (count, bytes) = (sized.len() - done.removed.len(), whole - done.bytes());
    let text = match command.json {
        true => done.document(&directory, count, bytes, how),
        false => done.text(&directory, count, bytes, how),
    };
    to_stdout(&text)?;
    match done.failed.first() {
        Some((id, why)) => Err(Failure::File(format!("{id}: cannot be removed: {why}"))),
        None => Ok(Code::Good),
    }
}

fn sized(entries: Vec<Entry>) -> Vec<(Entry, u64)> {
    entries
        .into_iter()
        .map(|entry| (entry.bytes(), entry))
        .map(|(bytes, one)| (one, bytes))
        .collect()
}

/// The time that many seconds ago, in the format in which ids begin.
fn began_before(age_s: u64) -> String {
    let age = SignedDuration::from_secs(i64::try_from(age_s).unwrap_or(i64::MAX));
    let time = Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN);
    time.strftime("%Y%m%dT%H%M%S").to_string()
}

/// Whether files are removed, or only listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Done,
    Rehearsed,
}

/// The outcome for each surplus entry.
#[derive(Debug, Default)]
struct Removal {
    removed: Vec<(Entry, u64)>,
    /// With the reason.
    left: Vec<(String, String)>,
    failed: Vec<(String, String)>,
}

impl Removal {
    /// Removes the surplus entries, the oldest first.
    fn remove(&mut self, directory: &Directory, surplus: &[&(Entry, u64)], how: How) {
        if how == How::Done {
            directory.sweep();
        }
        for (entry, bytes) in surplus.iter().rev() {
            if let Some(why) = why_left(entry) {
                self.left.push((entry.id.clone(), why));
                continue;
            }
            let removed = if how == How::Done { directory.remove(entry) } else { Ok(true) };
            match removed {
                Ok(true) => self.removed.push((entry.clone(), *bytes)),
                Ok(false) => {}
                Err(error) => self.failed.push((entry.id.clone(), error.to_string())),
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.removed.iter().map(|(_, bytes)| bytes).sum()
    }

    fn text(&self, directory: &Directory, count: usize, bytes: u64, how: How) -> String {
        let verb = if how == How::Done { "removed" } else { "would remove" };
        let mut text = String::new();
        for (entry, bytes) in &self.removed {
            text += &format!("{verb} {} ({})\n", entry.id, show_bytes(*bytes as f64));
        }
        for (id, why) in &self.left {
            text += &format!("left {id}: {why}\n");
        }
        let stay = if how == How::Done { "stay" } else { "would stay" };
        text + &format!(
            "{verb} {}, {}; {count} with {} {stay} in {}\n",
            runs(self.removed.len()),
            show_bytes(self.bytes() as f64),
            show_bytes(bytes as f64),
            directory.path().display()
        )
    }

    fn document(&self, directory: &Directory, count: usize, bytes: u64, how: How) -> String {
        let removed =
            self.removed.iter().map(|(entry, bytes)| json!({"id": entry.id, "bytes": bytes}));
        let left = self.left.iter().chain(&self.failed);
        let left = left.map(|(id, why)| json!({"id": id, "why": why}));
        let document = json!({
            "schema": "ceiling.pruned/1",
            "directory": directory.path().display().to_string(),
            "dry_run": how == How::Rehearsed,
            "removed": removed.collect::<Vec<_>>(),
            "removed_bytes": self.bytes(),
            "left": left.collect::<Vec<_>>(),
            "count": count,
            "bytes": bytes,
        });
        model::json::pretty(&document)
    }
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_string() } else { format!("{count} runs") }
}

fn why_left(entry: &Entry) -> Option<String> {
    if entry.state() == State::BeingWritten {
        return Some("it is being written".to_string());
    }
    entry.foreign_file().map(|name| format!("'{name}' in it is not a file of ceiling"))
}

/// Removes the oldest runs beyond the limits of the directory, after a run was kept there. In a
/// directory that the user named, nothing is removed unless `--keep-runs` asks for it. Experiments
/// stay: they took long, and `ceiling advise --calibration` reads them. Returns one line that says
/// what was removed.
pub fn cap(options: &Options) -> Option<String> {
    let directory = Directory::new(options.runs.directory()?);
    let limits = match &options.keep_runs {
        Some(keep) => Limits { keep: Some(keep.0?), ..Limits::default() },
        None if !options.runs.is_default() => return None,
        None => Limits { keep: Some(KEPT), max_bytes: Some(KEPT_BYTES), before: None },
    };
    let entries = directory.entries().ok()?;
    let runs = sized(entries.into_iter().filter(|entry| !entry.is_experiment).collect());
    // The newest stays, however large it is, and does not count against the others.
    let (_, older) = runs.split_first()?;
    let limits = Limits { keep: limits.keep.map(|keep| keep.saturating_sub(1)), ..limits };
    let mut done = Removal::default();
    done.remove(&directory, &surplus(older, &limits), How::Done);
    let size = show_bytes(done.bytes() as f64);
    let kept =
        limits.max_bytes.map_or(String::new(), |most| format!(" and {}", show_bytes(most as f64)));
    (!done.removed.is_empty()).then(|| {
        format!(
            "removed the oldest {} ({size}) from {}, which keeps {} runs{kept}; --keep-runs all \
             keeps every one",
            self::runs(done.removed.len()),
            directory.path().display(),
            limits.keep.unwrap_or_default() + 1,
        )
    })
}

/// The path of a run: the argument itself if that exists, otherwise an entry of the directory of
/// runs.
pub fn find(asked: &Path, runs: Option<PathBuf>) -> Result<PathBuf, Failure> {
    if asked.exists() {
        return Ok(asked.to_path_buf());
    }
    let shown = asked.display();
    let wrong = |why: String| Err(Failure::Usage(format!("<RUN>: {why}")));
    let name = asked.to_str().filter(|name| !name.contains('/'));
    let (Some(name), Some(runs)) = (name, runs) else {
        return wrong(format!(
            "there is no directory or file '{shown}'; give last, an id (see ceiling runs) or a \
             path, for example ceiling show last"
        ));
    };
    let directory = Directory::new(&runs);
    let place = format!("{} (--runs)", runs.display());
    match directory.find(name) {
        Ok(path) => Ok(path),
        Err(NotOne::None(ids)) if ids.is_empty() => wrong(format!(
            "there is no '{shown}', and no run is kept in {place}; give the path of a run or \
             record, for example ceiling show out.json"
        )),
        Err(NotOne::None(ids)) => wrong(format!(
            "there is no '{shown}', neither as a path nor in {place}; the newest there: {}; for \
             example ceiling show last",
            several(&ids)
        )),
        Err(NotOne::Several(ids)) => wrong(format!(
            "{} ids in {place} begin with '{shown}': {}; give more of the one you mean, for \
             example ceiling show {}",
            ids.len(),
            several(&ids),
            ids[0]
        )),
        Err(NotOne::Experiment(path, _)) => Ok(path),
    }
}

/// Reads the run that an argument names.
pub fn read(asked: &Path, runs: Option<PathBuf>) -> Result<(PathBuf, Run), Failure> {
    let path = find(asked, runs)?;
    refuse_experiment(&path)?;
    let run = store::read(&path).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok((path, run))
}

/// Refuses an experiment, which is several runs, and names them.
fn refuse_experiment(path: &Path) -> Result<(), Failure> {
    if !path.join("experiment.json").is_file() {
        return Ok(());
    }
    let below = Directory::new(path.join("runs")).entries().unwrap_or_default();
    let ids: Vec<String> = below.into_iter().map(|entry| entry.id).collect();
    let runs = if ids.is_empty() {
        "it has no runs".into()
    } else {
        format!("its runs: {}", several(&ids))
    };
    Err(Failure::Usage(format!(
        "<RUN>: {0} is an experiment, not a run; its table is {0}/report.html; give one of its \
         runs, for example {0}/runs/ID; {runs}",
        path.display()
    )))
}

fn several(ids: &[String]) -> String {
    let shown = ids.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
