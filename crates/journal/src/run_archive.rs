//! The runs of a result in one small file beside it, from which they are judged again.
//!
//! In: the runs of a result. Out: an archive with the record of each, what was observed in its
//! windows, and the distributions of its latency; and back. An archive is input like any other:
//! hostile until parsed.
//!
//! Raw readings are left out. Those inside the windows alone take 6 kB for each second of a window,
//! however they are arranged; what was observed in a window is what a judge reads of them, and has
//! the same size in a long window. So the rules of a later version judge it again, and the rates in
//! it stay those that the version of the archive derived.

use crate::files::{self, Most};
use crate::{JournalError, wrong};
use model::json::{Document as _, bounded};
use model::maps::IntoMap;
use model::run::{Record, Run};
use observe::Observed;
use pack::{Effort, File, Limits};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file in the folder of a result.
pub const FILE: &str = "runs.tar.zst";
/// Beyond this size parts of the runs are left out.
pub const BYTES_MAX: u64 = 200_000;
/// The folder in the archive.
const FOLDER: &str = "runs";
/// What the archive says about itself.
const ABOUT: &str = "about.json";
const SCHEMA: &str = "ceiling.runs-kept/1";
/// Files of a run.
const RECORD: &str = "run.json";
const OBSERVED: &str = "observed.json";
const LATENCIES: &str = "latencies.json";

/// Most bytes of an archive. What it expands to is held in memory, as the records of a result are.
const ARCHIVE: Most = Most(16 << 20);
const LIMITS: Limits = Limits {
    archive_bytes: ARCHIVE.0,
    sums_bytes: 4 << 20,
    file_bytes: files::DOCUMENT.0,
    total_bytes: files::RECORDS.0,
    files: 10_000,
    ratio: 200,
    ratio_from_bytes: 4 << 20,
};

/// Parts of runs that are left out of an archive that would be too large, in this order.
const PARTS: [Part; 3] = [Part::Digits, Part::Latencies, Part::Slowest];
/// Significant digits that then stay; no rule has a limit as fine as their last.
const DIGITS: usize = 5;

model::named! {
    /// A part of runs that can be left out.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Part {
        /// They do not compress.
        Digits = "digits beyond the fifth of what was observed",
        /// Percentiles are then those of the record.
        Latencies = "the distributions of latency",
        /// Without them the tail is not judged again.
        Slowest = "the slowest requests, one by one",
    }
    /// In words.
    fn words;
}

/// The runs of a result.
#[derive(Debug)]
pub struct RunArchive {
    path: PathBuf,
    about: About,
    files: Files,
}

/// Bytes by the name of their file.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Debug, Serialize, Deserialize)]
struct About {
    schema: String,
    /// The version that derived what was observed.
    version: String,
    /// What the runs had and the archive does not.
    left_out: Vec<String>,
}

/// A run to put into an archive.
#[derive(Debug, Clone)]
pub struct ToKeep {
    /// What it is, for people.
    pub about: String,
    /// The name of its folder.
    pub name: String,
    /// Its record.
    pub record: Record,
    /// The bytes of its distributions; nothing where there are none.
    pub latencies: Option<Vec<u8>>,
    /// What was observed in its windows, or why that is not known.
    pub observed: Result<Vec<Observed>, String>,
}

/// An archive that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What the runs had and it does not.
    pub left_out: Vec<String>,
}

/// Makes the archive of these runs. It is read back, and must say what the runs say.
pub fn make(path: &Path, runs: &[ToKeep]) -> Result<Made, JournalError> {
    let mut made = made_without(path, runs, &[])?;
    for parts in 1..=PARTS.len() {
        if made.bytes.len() as u64 > BYTES_MAX {
            made = made_without(path, runs, &PARTS[..parts])?;
        }
    }
    Ok(made)
}

/// The same with fewer digits, however small it is.
#[cfg(test)]
pub fn make_rounded(path: &Path, runs: &[ToKeep]) -> Result<Made, JournalError> {
    made_without(path, runs, &PARTS[..1])
}

fn made_without(path: &Path, runs: &[ToKeep], parts: &[Part]) -> Result<Made, JournalError> {
    let mut left_out = vec!["raw readings: what they say in each window is there".to_string()];
    left_out.extend(parts.iter().map(|part| part.words().to_string()));
    let mut files = Files::new();
    for run in runs {
        let record = without(&run.record, parts);
        let mut json = Vec::new();
        record.append_json(&mut json);
        files.insert(format!("{}/{RECORD}", run.name), json);
        match &run.observed {
            Ok(observed) => {
                let observed = seen(observed, parts);
                let json = observed.and_then(|observed| serde_json::to_vec(&observed));
                let json = json.map_err(|error| wrong(path, error))?;
                files.insert(format!("{}/{OBSERVED}", run.name), json);
            }
            Err(why) => left_out.push(format!("what was observed in {}: {why}", run.about)),
        }
        let latencies = run.latencies.as_ref().filter(|_| !parts.contains(&Part::Latencies));
        if let Some(latencies) = latencies {
            files.insert(format!("{}/{LATENCIES}", run.name), latencies.clone());
        }
    }
    let version = env!("CARGO_PKG_VERSION").to_string();
    let about = About { schema: SCHEMA.to_string(), version, left_out: left_out.clone() };
    let json = serde_json::to_vec(&about).map_err(|error| wrong(path, error))?;
    files.insert(ABOUT.to_string(), json);
    let bytes = packed(&files, Effort::Thorough).map_err(|why| wrong(path, why))?;
    let again = RunArchive::parse(path, &bytes)?;
    for run in runs {
        let observed = run.observed.as_ref().map(|observed| seen(observed, parts));
        let observed = observed.ok().transpose().map_err(|error| wrong(path, error))?;
        let is_same = again.record(&run.name)? == without(&run.record, parts)
            && again.observed(&run.name).ok() == observed;
        if !is_same {
            let why = format!("{} would not be read back as it was written", run.about);
            return Err(wrong(path, why));
        }
    }
    Ok(Made { bytes, left_out })
}

/// A record without the parts that are left out.
fn without(record: &Record, parts: &[Part]) -> Record {
    let mut record = record.clone();
    if parts.contains(&Part::Slowest) {
        record.points.iter_mut().for_each(|point| point.slowest = None);
    }
    record
}

/// What was observed, with as many digits as are kept.
fn seen(observed: &[Observed], parts: &[Part]) -> serde_json::Result<Vec<Observed>> {
    if !parts.contains(&Part::Digits) {
        return Ok(observed.to_vec());
    }
    let mut json = serde_json::to_value(observed)?;
    round(&mut json);
    serde_json::from_value(json)
}

fn round(json: &mut Value) {
    match json {
        Value::Number(number) if number.is_f64() => {
            let text = number.as_f64().map(|exact| format!("{exact:.*e}", DIGITS - 1));
            if let Some(rounded) = text.and_then(|text| text.parse::<f64>().ok()) {
                *json = Value::from(rounded);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(round),
        Value::Object(all) => all.values_mut().for_each(round),
        _ => {}
    }
}

fn packed(files: &Files, effort: Effort) -> Result<Vec<u8>, pack::WriteError> {
    let list =
        |(name, bytes): (&String, &Vec<u8>)| File { path: name.clone(), bytes: bytes.len() as u64 };
    let list: Vec<File> = files.iter().map(list).collect();
    let mut archive = Vec::new();
    pack::write(&mut archive, FOLDER, &list, effort, |file| Ok(&files[&file.path][..]))?;
    Ok(archive)
}

impl RunArchive {
    /// The archive of a result; nothing where there is none.
    pub fn open(root: &Path, result: &Path) -> Result<Option<Self>, JournalError> {
        let path = result.join(FILE);
        let bytes = files::bytes(root, &path, ARCHIVE)?;
        bytes.map(|bytes| Self::parse(&path, &bytes)).transpose()
    }

    /// The archive in these bytes; errors name the path.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, JournalError> {
        let all = RefCell::new(Files::new());
        let keep = |_: &str, name: &str| {
            all.borrow_mut().insert(name.to_string(), Vec::new());
            Ok(To { all: &all, name: name.to_string() })
        };
        let opened = pack::read(bytes, bytes.len() as u64, &LIMITS, keep);
        let opened = opened.map_err(|why| wrong(path, why))?;
        if let Some(changed) = opened.changed.first() {
            return Err(wrong(path, format!("'{changed}' is not as its sum says")));
        }
        Self::of_files(path, all.into_inner())
    }

    /// An archive with these files.
    fn of_files(path: &Path, files: Files) -> Result<Self, JournalError> {
        let about = files.get(ABOUT).ok_or_else(|| wrong(path, format!("it has no {ABOUT}")))?;
        let about: About = document(about).map_err(|error| wrong(path, error))?;
        match about.schema == SCHEMA {
            true => Ok(Self { path: path.to_path_buf(), about, files }),
            false => Err(wrong(path, format!("its schema is not '{SCHEMA}'"))),
        }
    }

    /// An archive whose one run has these bytes as each of its files; for tests.
    pub fn hostile(path: &Path, bytes: &[u8]) -> Result<Self, JournalError> {
        let about = About { schema: SCHEMA.to_string(), version: String::new(), left_out: vec![] };
        let about = serde_json::to_vec(&about).unwrap_or_default();
        let files = [RECORD, OBSERVED, LATENCIES].map(|name| (format!("a/{name}"), bytes.to_vec()));
        let files = files.into_iter().chain([(ABOUT.to_string(), about)]);
        Self::of_files(path, files.into_map())
    }

    /// Whether it has fewer digits of what was observed than that had.
    pub fn is_rounded(&self) -> bool {
        self.about.left_out.iter().any(|part| part == Part::Digits.words())
    }

    /// Whether it has a run with this name.
    pub fn has(&self, run: &str) -> bool {
        self.file(run, RECORD).is_some()
    }

    /// The record of a run.
    pub fn record(&self, run: &str) -> Result<Record, JournalError> {
        let path = self.path.join(run).join(RECORD);
        let bytes = self.file(run, RECORD).ok_or_else(|| wrong(&path, "it is not there"))?;
        store::record_of(&path, bytes).map_err(|error| wrong(&path, error))
    }

    /// A run without its readings, and without distributions where they were left out.
    pub fn run(&self, run: &str) -> Result<Run, JournalError> {
        let record = self.record(run)?;
        let path = self.path.join(run).join(LATENCIES);
        let latencies = match self.latencies(run) {
            Some(bytes) => store::latencies_of(&path, bytes, record.points.len()),
            None => Ok(Vec::new()),
        };
        let latencies = latencies.map_err(|error| wrong(&path, error))?;
        Ok(Run { record, readings: vec![], server_readings: vec![], latencies })
    }

    /// The bytes of the distributions of a run.
    pub fn latencies(&self, run: &str) -> Option<&[u8]> {
        self.file(run, LATENCIES)
    }

    /// What was observed in the windows of a run, or why that is not known.
    pub fn observed(&self, run: &str) -> Result<Vec<Observed>, String> {
        let Some(bytes) = self.file(run, OBSERVED) else {
            return Err(format!("{FILE} does not have what was observed in its windows"));
        };
        let by = &self.about.version;
        document(bytes).map_err(|error| {
            format!("what ceiling {by} observed cannot be read by this version: {error}")
        })
    }

    fn file(&self, run: &str, name: &str) -> Option<&[u8]> {
        self.files.get(&format!("{run}/{name}")).map(Vec::as_slice)
    }
}

fn document<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    bounded(bytes).and_then(|()| serde_json::from_slice(bytes))
}

/// Where the bytes of one file go.
struct To<'a> {
    all: &'a RefCell<Files>,
    name: String,
}

impl Write for To<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = self.all.borrow_mut().get_mut(&self.name) {
            file.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
