//! The data of an entry: results, runs that were added, and outputs of other tools.

use crate::files::{self, DOCUMENT, RECORDS, RUN, checked, folders};
use crate::folder::EntryFolder;
use crate::run_archive::{self, Made, RunArchive, ToKeep, make};
use crate::{JournalError, wrong};
use judge::rejudge;
use model::audit::Audit;
use model::experiment::{CellResult, Experiment, Fate, SCHEMA};
use model::json::Document;
use model::run::{Record, Run};
use observe::{Observed, Raw};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use store::Readings;

/// The document of a result.
const EXPERIMENT: &str = "experiment.json";
/// Suffixes of the audit of a foreign file.
const AUDITED: &str = ".audit.json";
const AUDITED_PACKED: &str = ".audit.json.gz";
/// Files of a run that are read.
const RECORD: &str = "run.json";
const LATENCIES: &str = "latencies.json";
const READINGS: [&str; 4] =
    ["points.ndjson", "readings.ndjson", "server-readings.ndjson", LATENCIES];

/// A result with the records of its visits.
#[derive(Debug, Clone)]
pub struct ResultData {
    /// Its document.
    pub experiment: Experiment,
    /// The record of each visit, in order; nothing where it is missing or cannot be read.
    pub records: Vec<Option<Record>>,
}

/// A run of an entry.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// Its description: `cell many, block 2`, or the name it was added with.
    pub about: String,
    /// The name of its folder.
    pub name: String,
    place: RunPlace,
}

/// Where a run is.
#[derive(Debug, Clone)]
enum RunPlace {
    /// In this folder, or nowhere.
    Folder(PathBuf),
    /// In the archive of its result.
    Archive(Arc<RunArchive>),
}

/// An archive of the runs of a result that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRuns {
    /// The file.
    pub path: PathBuf,
    /// How many runs it has.
    pub runs: usize,
    /// Its size.
    pub bytes: u64,
    /// What the runs have and it does not.
    pub left_out: Vec<String>,
}

impl StoredRun {
    /// Whether it is there.
    pub fn is_there(&self) -> bool {
        match &self.place {
            RunPlace::Folder(path) => path.symlink_metadata().is_ok(),
            RunPlace::Archive(_) => true,
        }
    }

    /// Whether an archive keeps fewer digits of what was observed in its windows.
    pub fn is_rounded(&self) -> bool {
        matches!(&self.place, RunPlace::Archive(archive) if archive.is_rounded())
    }

    /// Whether it has the distributions of its points: an archive may leave them out.
    pub fn has_latencies(&self) -> bool {
        match &self.place {
            RunPlace::Folder(_) => true,
            RunPlace::Archive(archive) => archive.latencies(&self.name).is_some(),
        }
    }
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
        let mut left = RECORDS.0;
        let mut record = |kept: Option<StoredRun>| {
            let Some(kept) = kept else { return Ok(None) };
            if let RunPlace::Folder(path) = &kept.place {
                let bytes = fs::metadata(path.join(RECORD)).map_or(0, |about| about.len());
                left = left.checked_sub(bytes).ok_or_else(|| {
                    let why =
                        format!("the records of its visits have more than {} bytes", RECORDS.0);
                    wrong(&self.result_path(id), why)
                })?;
            }
            Ok(self.record(&kept).ok())
        };
        let records = self.visits_of(&experiment, id)?.into_iter().map(&mut record);
        let records = records.collect::<Result<_, JournalError>>()?;
        Ok(ResultData { experiment, records })
    }

    /// Names of the runs that were added by hand.
    pub fn runs(&self) -> Result<Vec<String>, JournalError> {
        folders(self.root(), &self.path.join("runs"))
    }

    /// The record of a run that was added by hand.
    pub fn run(&self, name: &str) -> Result<Record, JournalError> {
        self.record(&self.added(name))
    }

    fn added(&self, name: &str) -> StoredRun {
        let place = RunPlace::Folder(self.path.join("runs").join(name));
        StoredRun { about: format!("run {name}"), name: name.to_string(), place }
    }

    /// The runs that were added by hand.
    pub fn added_runs(&self) -> Result<Vec<StoredRun>, JournalError> {
        Ok(self.runs()?.iter().map(|name| self.added(name)).collect())
    }

    /// The run of each visit of a result, in order; nothing for a visit without a run.
    pub fn visits(&self, id: &str) -> Result<Vec<Option<StoredRun>>, JournalError> {
        self.visits_of(&self.experiment(id)?, id)
    }

    fn visits_of(&self, of: &Experiment, id: &str) -> Result<Vec<Option<StoredRun>>, JournalError> {
        let result = self.result_path(id);
        let archive = RunArchive::open(self.root(), &result)?.map(Arc::new);
        let visit = |cell: &CellResult| {
            let Fate::Measured { run } = &cell.fate else { return None };
            if !is_name(run) {
                return None;
            }
            let block = cell.block.map_or(String::new(), |block| format!(", block {block}"));
            let (about, name) = (format!("cell {}{block}", cell.name), run.clone());
            let folder = result.join("runs").join(run);
            // The folder has more than the archive.
            let is_in = |archive: &&Arc<RunArchive>| !folder.exists() && archive.has(run);
            let place = match archive.as_ref().filter(is_in) {
                Some(archive) => RunPlace::Archive(Arc::clone(archive)),
                None => RunPlace::Folder(folder),
            };
            Some(StoredRun { about, name, place })
        };
        Ok(of.cells.iter().map(visit).collect())
    }

    /// Writes the archive of the runs of a result.
    pub fn keep_runs(&self, id: &str) -> Result<KeptRuns, JournalError> {
        let keep = |kept: StoredRun| {
            let run = self.whole_run(&kept)?;
            let latencies = match &kept.place {
                RunPlace::Folder(path) => files::bytes(self.root(), &path.join(LATENCIES), RUN)?,
                RunPlace::Archive(archive) => archive.latencies(&kept.name).map(<[u8]>::to_vec),
            };
            let observed = self.observed(&kept, &run);
            let StoredRun { about, name, .. } = kept;
            Ok(ToKeep { about, name, record: run.record, latencies, observed })
        };
        let there = self.visits(id)?.into_iter().flatten().filter(StoredRun::is_there);
        let runs = there.map(keep).collect::<Result<Vec<_>, JournalError>>()?;
        let path = self.result_path(id).join(run_archive::FILE);
        if runs.is_empty() {
            return Ok(KeptRuns { path, runs: 0, bytes: 0, left_out: vec![] });
        }
        let Made { bytes, left_out } = make(&path, &runs)?;
        files::replace(&path, &bytes)?;
        Ok(KeptRuns { path, runs: runs.len(), bytes: bytes.len() as u64, left_out })
    }

    /// A run with its readings, or without them when they are missing.
    pub fn whole_run(&self, kept: &StoredRun) -> Result<Run, JournalError> {
        let path = match &kept.place {
            RunPlace::Archive(archive) => return archive.run(&kept.name),
            RunPlace::Folder(path) => path,
        };
        let record = self.record(kept)?;
        let mut all_there = true;
        for name in READINGS {
            let place = checked(self.root(), &path.join(name), RUN)?;
            // There are readings of the server's host only with a probe on it.
            all_there &= place.is_some() || name == "server-readings.ndjson";
        }
        if !all_there {
            let (readings, server_readings, latencies) = (vec![], vec![], vec![]);
            return Ok(Run { record, readings, server_readings, latencies });
        }
        store::read(path).map_err(|error| wrong(path, error))
    }

    /// What was observed in the windows of a run that was read, from all its readings: those of a
    /// long run are read from its logs once more, because the run itself holds only some of them.
    /// The error says why that is not known, and the run cannot be judged again.
    pub fn observed(&self, kept: &StoredRun, run: &Run) -> Result<Vec<Observed>, String> {
        let path = match &kept.place {
            RunPlace::Archive(archive) => return archive.observed(&kept.name),
            RunPlace::Folder(path) => path,
        };
        if let Some(why) = unread(run) {
            return Err(why);
        }
        let (near, far) = store::logs(path).map_err(|error| error.to_string())?;
        let (held, held_far) = (run.readings.len() as u64, run.server_readings.len() as u64);
        if near.count() == held && far.as_ref().map_or(0, Readings::count) == held_far {
            return Ok(rejudge::observed(&run.record, Raw::from(run)));
        }
        let windows_ns = rejudge::windows(&run.record);
        let far = far.iter().flat_map(|far| far.since(0));
        let (host, target) = (&run.record.host, &run.record.target);
        let observed = Observed::in_windows(host, target, &windows_ns, near.since(0), far);
        observed.map_err(|error| error.to_string())
    }

    fn record(&self, kept: &StoredRun) -> Result<Record, JournalError> {
        let path = match &kept.place {
            RunPlace::Archive(archive) => return archive.record(&kept.name),
            RunPlace::Folder(path) => path.join(RECORD),
        };
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

/// Why a run in a folder cannot be judged again: raw readings of a host are missing.
pub(crate) fn unread(run: &Run) -> Option<String> {
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
