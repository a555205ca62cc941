//! A directory of runs: what is in it, which run a person means, and what may be removed.
//!
//! A run or an experiment is a folder whose name starts with its time. Only such folders are ever
//! removed, but none that a process is writing, and none with anything in it, at any depth, that
//! ceiling does not write there.

use crate::lock::Lock;
use crate::{LATENCIES, POINTS, READINGS, RECORD, SERVER_READINGS, StoreError, io_error};
use model::inventory::State;
use model::order::OrderBy as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The document of an experiment, and the page that is written when it has ended.
const EXPERIMENT: &str = "experiment.json";
const PAGE: &str = "report.html";

/// The files that ceiling writes into the folder of a run or of an experiment.
const FILES: &[&str] = &[
    RECORD,
    "run.json.part",
    POINTS,
    READINGS,
    SERVER_READINGS,
    LATENCIES,
    EXPERIMENT,
    ".experiment.json.part",
    PAGE,
    ".report.html.part",
    "plan.toml",
    ".plan.toml.part",
    ".begun.json",
    ".begun.json.part",
];

/// An unfinished folder whose files are younger than this may still be in use: by a version that
/// holds no lock, or on a file system without locks.
const FRESH: Duration = Duration::from_secs(120);

/// A folder that is being removed has this prefix before its own name. One that is left was being
/// removed when the program ended.
const REMOVED: &str = ".removed-";

/// Letters of the time that an id starts with: `20260101T120000`.
const TIME_LETTERS: usize = 15;

/// A directory of runs. It need not exist.
#[derive(Debug, Clone)]
pub struct Directory(PathBuf);

/// A run or an experiment in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of its folder.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    /// Whether it is an experiment.
    pub is_experiment: bool,
}

/// Which entries are too many: each one that is beyond any of these limits.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// How many stay.
    pub keep: Option<usize>,
    /// Those that started before this time are too many: `20260101T120000`, UTC.
    pub before: Option<String>,
    /// Disk space of those that stay, bytes.
    pub max_bytes: Option<u64>,
}

/// Why a name does not mean one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOne {
    /// No run has it; with the ids that exist, newest first.
    None(Vec<String>),
    /// Several runs have it, newest first.
    Several(Vec<String>),
    /// It is an experiment; with the ids of its runs.
    Experiment(PathBuf, Vec<String>),
}

impl Entry {
    /// Disk space, bytes.
    pub fn bytes(&self) -> u64 {
        bytes_below(&self.path)
    }

    /// Whether it ended, is being written, or neither.
    pub fn state(&self) -> State {
        let end = if self.is_experiment { PAGE } else { RECORD };
        if Lock::is_held(&self.path) {
            State::BeingWritten
        } else if self.path.join(end).is_file() {
            State::Done
        } else if is_fresh(&self.path) {
            State::BeingWritten
        } else {
            State::Unfinished
        }
    }

    /// The document that describes it.
    pub fn document(&self) -> PathBuf {
        self.path.join(if self.is_experiment { EXPERIMENT } else { RECORD })
    }

    /// When it started, as its id says: `20260101T120000`, UTC.
    pub fn began(&self) -> &str {
        &self.id[..TIME_LETTERS]
    }

    /// When it started, in the format of RFC 3339.
    pub fn started_at(&self) -> String {
        let part = |from: usize, to: usize| &self.id[from..to];
        let (date, time) = ([part(0, 4), part(4, 6), part(6, 8)], [part(9, 11), part(11, 13)]);
        format!("{}T{}:{}Z", date.join("-"), time.join(":"), part(13, 15))
    }

    /// The part of the id after its time.
    pub fn tail(&self) -> &str {
        &self.id[TIME_LETTERS + 1..]
    }

    /// A file, link or folder in it that ceiling does not write there, as a path below it.
    pub fn foreign_file(&self) -> Option<String> {
        let foreign = foreign_in(&self.path, Within::Entry)?;
        let below = foreign.strip_prefix(&self.path).unwrap_or(&foreign);
        Some(below.to_string_lossy().into_owned())
    }
}

impl Directory {
    /// The directory at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// All runs and experiments, newest first. There are none where there is no directory.
    pub fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let listed = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(io_error(&self.0))?,
        };
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let paths = listed.flatten().filter(is_folder).map(|entry| entry.path());
        let mut entries: Vec<(Entry, Option<SystemTime>)> = paths
            .filter_map(|path| entry_at(&path))
            .map(|entry| (entry.clone(), changed(&entry.path)))
            .collect();
        // Of those from one second the one that was created last is the newest.
        entries.order_by(|(left, left_at), (right, right_at)| {
            let by_time = right.began().cmp(left.began());
            by_time.then(right_at.cmp(left_at)).then(right.id.cmp(&left.id))
        });
        Ok(entries.into_iter().map(|(entry, _)| entry).collect())
    }

    /// The run that a person means: `last`, `last~1`, an id, or the start of an id or of its part
    /// after the time. Runs of experiments are found by their id too.
    pub fn find(&self, asked: &str) -> Result<PathBuf, NotOne> {
        let entries = self.entries().unwrap_or_default();
        let ids = |entries: &[&Entry]| entries.iter().map(|one| one.id.clone()).collect();
        let all: Vec<&Entry> = entries.iter().collect();
        if let Some(back) = steps_back(asked) {
            let ended = |entry: &&&Entry| !entry.is_experiment && entry.document().is_file();
            let mut runs = all.iter().filter(ended);
            return runs.nth(back).map(|run| run.path.clone()).ok_or(NotOne::None(ids(&all)));
        }
        let inner = |entry: &Entry| {
            Self::new(entry.path.join("runs")).entries().unwrap_or_default().into_iter()
        };
        let below: Vec<Entry> =
            entries.iter().filter(|entry| entry.is_experiment).flat_map(inner).collect();
        for runs in [all.clone(), below.iter().collect()] {
            let meant: Vec<&Entry> = match runs.iter().find(|run| run.id == asked) {
                Some(run) => vec![*run],
                None => runs.into_iter().filter(|run| matches(run, asked)).collect(),
            };
            match &meant[..] {
                [] => {}
                [one] if one.is_experiment => {
                    let runs: Vec<Entry> = inner(one).collect();
                    return Err(NotOne::Experiment(
                        one.path.clone(),
                        ids(&runs.iter().collect::<Vec<_>>()),
                    ));
                }
                [one] => return Ok(one.path.clone()),
                several => return Err(NotOne::Several(ids(several))),
            }
        }
        Err(NotOne::None(ids(&all)))
    }

    /// Removes an entry; a concurrent listing of the directory has it whole or not at all. Returns
    /// `false` when another process removed it first.
    pub fn remove(&self, entry: &Entry) -> Result<bool, StoreError> {
        let away = self.0.join(format!("{REMOVED}{}", entry.id));
        match fs::rename(&entry.path, &away) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            renamed => renamed.map_err(io_error(&entry.path))?,
        }
        fs::remove_dir_all(&away).map_err(io_error(&away))?;
        Ok(true)
    }

    /// Removes what an earlier removal left behind when its program ended.
    pub fn sweep(&self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_ours = name.strip_prefix(REMOVED).is_some_and(is_id);
            if is_ours && foreign_in(&entry.path(), Within::Entry).is_none() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// A folder that ceiling writes.
#[derive(Debug, Clone, Copy)]
enum Within {
    /// A run or an experiment.
    Entry,
    /// The runs of an experiment.
    Runs,
    /// The logs of its servers.
    Servers,
    /// The profiles of a run, one folder for each point.
    Profiles,
    /// The profiles of a point.
    Point,
}

/// The first thing in a folder, at any depth, that ceiling does not write there, or the folder when
/// it cannot be read.
fn foreign_in(folder: &Path, within: Within) -> Option<PathBuf> {
    let Ok(listed) = fs::read_dir(folder) else { return Some(folder.to_path_buf()) };
    let foreign = |entry: fs::DirEntry| {
        let (path, name) = (entry.path(), entry.file_name());
        let (Ok(kind), Some(name)) = (entry.file_type(), name.to_str()) else { return Some(path) };
        let inner = match within {
            _ if kind.is_symlink() => None,
            Within::Entry if kind.is_dir() => match name {
                "runs" => Some(Within::Runs),
                "servers" => Some(Within::Servers),
                "profiles" => Some(Within::Profiles),
                _ => None,
            },
            Within::Runs if kind.is_dir() && is_id(name) => Some(Within::Entry),
            Within::Profiles if kind.is_dir() => name.parse::<u32>().ok().map(|_| Within::Point),
            _ => None,
        };
        let is_ours = match within {
            Within::Entry => FILES.contains(&name),
            Within::Servers => name.ends_with(".log"),
            Within::Point => name.ends_with(".pb.gz"),
            Within::Runs | Within::Profiles => false,
        };
        match inner {
            Some(inner) => foreign_in(&path, inner),
            None => Some(path).filter(|_| !(kind.is_file() && is_ours)),
        }
    };
    listed.map(|entry| entry.map_or(Some(folder.to_path_buf()), foreign)).find_map(|found| found)
}

/// Which of the entries, newest first and with their sizes, are too many.
pub fn surplus<'a>(sized: &'a [(Entry, u64)], limits: &Limits) -> Vec<&'a (Entry, u64)> {
    let mut kept_bytes = 0;
    let mut surplus = Vec::new();
    for (index, one) in sized.iter().enumerate() {
        kept_bytes += one.1;
        let is_beyond = limits.keep.is_some_and(|keep| index >= keep);
        let is_old = limits.before.as_deref().is_some_and(|time| one.0.began() < time);
        let is_over = limits.max_bytes.is_some_and(|most| kept_bytes > most);
        if is_beyond || is_old || is_over {
            surplus.push(one);
        }
    }
    surplus
}

/// The run or experiment that a folder is.
fn entry_at(path: &Path) -> Option<Entry> {
    let id = path.file_name()?.to_str().filter(|name| is_id(name))?.to_string();
    let has = |name: &str| path.join(name).is_file();
    let is_experiment = has("plan.toml") || has(EXPERIMENT);
    let is_run = has(POINTS) || has(RECORD);
    (is_run || is_experiment).then(|| Entry { id, path: path.to_path_buf(), is_experiment })
}

/// Whether a name is like `20260101T120000-0000002a`.
fn is_id(name: &str) -> bool {
    let Some((time, rest)) = name.split_once('-') else { return false };
    let is_right = |(at, byte): (usize, u8)| match at {
        8 => byte == b'T',
        _ => byte.is_ascii_digit(),
    };
    time.len() == TIME_LETTERS && time.bytes().enumerate().all(is_right) && !rest.is_empty()
}

/// How many runs before the last one are meant: `last` is 0, `last~2` is 2.
fn steps_back(asked: &str) -> Option<usize> {
    match asked.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// Whether the start of an id, or of its part after the time, was given.
fn matches(entry: &Entry, asked: &str) -> bool {
    !asked.is_empty() && (entry.id.starts_with(asked) || entry.tail().starts_with(asked))
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).and_then(|data| data.modified()).ok()
}

/// Whether anything directly in a folder changed a moment ago.
fn is_fresh(path: &Path) -> bool {
    let files = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut times = files.chain([path.to_path_buf()]).filter_map(|path| changed(&path));
    times.any(|at| at.elapsed().is_ok_and(|age| age < FRESH))
}

/// Disk space of all files below a folder; links are not followed.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_below(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

#[cfg(test)]
mod tests;
