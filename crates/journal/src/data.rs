//! The data of an entry: results, runs that were added, and outputs of other tools.

use crate::files::{self, DOCUMENT, RECORDS, RUN, checked, folders};
use crate::folder::EntryFolder;
use crate::{JournalError, wrong};
use judge::rejudge;
use model::audit::Audit;
use model::experiment::{CellResult, Experiment, Fate, SCHEMA};
use model::json::Document;
use model::run::{Record, Run};
use observe::{Observed, Raw};
use std::fs;
use std::path::{Path, PathBuf};
use store::{Readings, StoreError};

/// The document of a result.
const EXPERIMENT: &str = "experiment.json";
/// Suffixes of the audit of a foreign file.
const AUDITED: &str = ".audit.json";
const AUDITED_PACKED: &str = ".audit.json.gz";
/// Files of a run that are read.
const RECORD: &str = "run.json";
const READINGS: [&str; 4] =
    ["points.ndjson", "readings.ndjson", "server-readings.ndjson", "latencies.json"];

/// A result with the records of its visits.
#[derive(Debug, Clone)]
pub struct ResultData {
    /// Its document.
    pub experiment: Experiment,
    /// The record of each visit, in order; nothing where it is missing or cannot be read.
    pub records: Vec<Option<Record>>,
}

/// A run of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Its description: `cell many, block 2`, or the name it was added with.
    pub about: String,
    /// Its folder.
    pub path: PathBuf,
}

impl EntryFolder {
    /// The document of a result.
    pub fn experiment(&self, id: &str) -> Result<Experiment, JournalError> {
        let path = self.result_path(id).join(EXPERIMENT);
        let bytes = files::document(self.root(), &path)?
            .ok_or_else(|| wrong(&path, "there is no such file: the experiment did not start"))?;
        let of = Experiment::from_json(&bytes).map_err(|error| wrong(&path, error))?;
        match of.schema == SCHEMA {
            true => Ok(of),
            false => Err(wrong(&path, format!("its schema is not '{SCHEMA}'"))),
        }
    }

    /// A result with the records of its visits.
    pub fn result(&self, id: &str) -> Result<ResultData, JournalError> {
        let experiment = self.experiment(id)?;
        let runs = self.result_path(id).join("runs");
        let mut left = RECORDS.0;
        let mut record = |fate: &Fate| match fate {
            Fate::Measured { run } if is_name(run) => {
                let path = runs.join(run);
                let bytes = fs::metadata(path.join(RECORD)).map_or(0, |about| about.len());
                left = left.checked_sub(bytes).ok_or_else(|| {
                    let why =
                        format!("the records of its visits have more than {} bytes", RECORDS.0);
                    wrong(&runs, why)
                })?;
                Ok(self.record(&path).ok())
            }
            _ => Ok(None),
        };
        let records = experiment.cells.iter().map(|cell| record(&cell.fate));
        let records = records.collect::<Result<_, JournalError>>()?;
        Ok(ResultData { experiment, records })
    }

    /// Names of the runs that were added by hand.
    pub fn runs(&self) -> Result<Vec<String>, JournalError> {
        folders(self.root(), &self.path.join("runs"))
    }

    /// The record of a run that was added by hand.
    pub fn run(&self, name: &str) -> Result<Record, JournalError> {
        self.record(&self.path.join("runs").join(name))
    }

    /// The runs of a result, and those that were added by hand.
    pub fn all_runs(&self, result: Option<&str>) -> Result<Vec<StoredRun>, JournalError> {
        let mut all = Vec::new();
        if let Some(id) = result {
            all.extend(self.visits(id)?.into_iter().flatten());
        }
        for name in self.runs()? {
            let path = self.path.join("runs").join(&name);
            all.push(StoredRun { about: format!("run {name}"), path });
        }
        Ok(all)
    }

    /// The run of each visit of a result, in order; nothing for a visit without a run.
    pub fn visits(&self, id: &str) -> Result<Vec<Option<StoredRun>>, JournalError> {
        let runs = self.result_path(id).join("runs");
        let visit = |cell: CellResult| {
            let Fate::Measured { run } = &cell.fate else { return None };
            let block = cell.block.map_or(String::new(), |block| format!(", block {block}"));
            let about = format!("cell {}{block}", cell.name);
            is_name(run).then(|| StoredRun { about, path: runs.join(run) })
        };
        Ok(self.experiment(id)?.cells.into_iter().map(visit).collect())
    }

    /// A run with its readings, or without them when they are missing.
    pub fn whole_run(&self, kept: &StoredRun) -> Result<Run, JournalError> {
        let record = self.record(&kept.path)?;
        let mut all_there = true;
        for name in READINGS {
            let place = checked(self.root(), &kept.path.join(name), RUN)?;
            // There are readings of the server's host only with a probe on it.
            all_there &= place.is_some() || name == "server-readings.ndjson";
        }
        if !all_there {
            let (readings, server_readings, latencies) = (vec![], vec![], vec![]);
            return Ok(Run { record, readings, server_readings, latencies });
        }
        store::read(&kept.path).map_err(|error| wrong(&kept.path, error))
    }

    /// A run that was read with its readings, judged again with the rules of this version, from all
    /// its readings: those of a long run are read from its logs once more, because the run itself
    /// holds only some of them.
    pub fn judged_again(&self, kept: &StoredRun, run: &Run) -> Result<Record, JournalError> {
        let unread = |error: StoreError| wrong(&kept.path, error);
        let (near, far) = store::logs(&kept.path).map_err(unread)?;
        let (held, held_far) = (run.readings.len() as u64, run.server_readings.len() as u64);
        if near.count() == held && far.as_ref().map_or(0, Readings::count) == held_far {
            return Ok(rejudge::again(run.record.clone(), Raw::from(run)));
        }
        let windows_ns = rejudge::windows(&run.record);
        let far = far.iter().flat_map(|far| far.since(0));
        let observed = Observed::in_windows(&run.record, &windows_ns, near.since(0), far);
        Ok(rejudge::again_from(run.record.clone(), &observed.map_err(unread)?))
    }

    fn record(&self, folder: &Path) -> Result<Record, JournalError> {
        let path = folder.join(RECORD);
        let place = checked(self.root(), &path, DOCUMENT)?
            .ok_or_else(|| wrong(&path, "there is no such file: the run did not end"))?;
        store::read_record(&place).map_err(|error| wrong(&path, error))
    }

    /// Names of audited outputs of other tools.
    pub fn foreign(&self) -> Result<Vec<String>, JournalError> {
        let names = files::files(self.root(), &self.path.join("foreign"))?;
        let audited = |name: &String| {
            let name = name.strip_suffix(AUDITED).or_else(|| name.strip_suffix(AUDITED_PACKED));
            name.map(str::to_string)
        };
        let mut names: Vec<String> = names.iter().filter_map(audited).collect();
        names.dedup();
        Ok(names)
    }

    /// The audit of the output of another tool.
    pub fn audit(&self, name: &str) -> Result<Audit, JournalError> {
        let path = self.path.join("foreign").join(format!("{name}{AUDITED}"));
        let bytes = files::document(self.root(), &path)?
            .ok_or_else(|| wrong(&path, "there is no such file"))?;
        let audit = model::json::bounded(&bytes).and_then(|()| serde_json::from_slice(&bytes));
        let audit: Audit = audit.map_err(|error| wrong(&path, error))?;
        match audit.schema == model::audit::SCHEMA {
            true => Ok(audit),
            false => Err(wrong(&path, format!("its schema is not '{}'", model::audit::SCHEMA))),
        }
    }
}

/// Why a run cannot be judged again: raw readings of a host are missing.
pub(crate) fn unjudged(run: &Run) -> Option<String> {
    let has_probe = run.record.target.probe.is_some();
    let why = match () {
        () if run.readings.is_empty() => "its raw readings are missing",
        () if has_probe && run.server_readings.is_empty() => {
            "the raw readings of the server's host are missing"
        }
        () => return None,
    };
    Some(why.to_string())
}

/// Whether a text of a document is a plain folder name and not a path.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(is_plain)
}
