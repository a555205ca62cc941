//! The folder that an experiment leaves behind, and the list of servers it may start.

use crate::begun::{BEGUN, Begun, file_error};
use crate::hooks::Places;
use model::experiment::{CellResult, Experiment, Fate};
use model::json::Document;
use model::run::Record;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use store::Lock;
use toml::{Table, Value};

/// Where the list of servers is, below the root that its commands are run from.
const TARGETS: &str = "targets/targets.toml";

/// The folder of one experiment.
pub struct Folder {
    /// Its name.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
    _lock: Lock,
}

impl Folder {
    /// A new one, named by time and plan; a second one in the same second gets a number.
    pub fn make(directory: &Path, plan: &Path) -> Result<Self, String> {
        fs::create_dir_all(directory).map_err(|error| file_error(directory, &error))?;
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        let stem = format!("{now}-{}", name_of(plan));
        let mut id = stem.clone();
        let mut number = 1;
        loop {
            let path = directory.join(&id);
            // Only its owner may read the logs of servers and commands.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let lock = Lock::hold(&path);
                    return Ok(Self { id, path, _lock: lock });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(file_error(&path, &error)),
            }
            number += 1;
            id = format!("{stem}-{number}");
        }
    }

    /// The folder of an interrupted experiment, with what it measured. The analysis is left out,
    /// because it would not cover the visits to come. Only one program at a time may continue it.
    pub fn again(path: &Path) -> Result<(Self, Experiment), String> {
        let document = path.join("experiment.json");
        let bytes = fs::read(&document).map_err(|error| file_error(&document, &error))?;
        let experiment = Experiment::from_json(&bytes)
            .map_err(|error| format!("{}: {error}", document.display()))?;
        let lock = Lock::take(path).map_err(|error| file_error(path, &error))?;
        let folder = Self { id: experiment.id.clone(), path: path.to_path_buf(), _lock: lock };
        let (ended, analysis) = (None, None);
        let (summaries, contrasts, predictions) = Default::default();
        let begun = Experiment { ended, summaries, contrasts, predictions, analysis, ..experiment };
        Ok((folder, begun))
    }

    /// What it measured when it began; nothing if it does not say.
    pub fn begun(&self) -> Option<Begun> {
        serde_json::from_slice(&fs::read(self.path.join(BEGUN)).ok()?).ok()
    }

    /// Removes what only an experiment that goes on needs.
    pub fn close(&self) {
        let _ = fs::remove_file(self.path.join(BEGUN));
    }

    /// Where the runs of its cells are kept.
    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Where the commands of the listed servers are run, and where they write their logs; absolute,
    /// because they are run from another folder. Without a list nothing is run.
    pub fn places(&self, list: Option<&Path>) -> Result<Places, String> {
        let path = self.path.join("servers");
        fs::create_dir_all(&path).map_err(|error| file_error(&path, &error))?;
        let root = list.map(root_of).transpose()?.unwrap_or_else(|| PathBuf::from("/"));
        let (scratch, journal) = (absolute(&path)?, tune::journal_folder());
        Ok(Places { root, scratch, journal, probes: BTreeMap::new() })
    }

    /// Replaces a file as a whole, so that it is never half written, also when the host loses its
    /// power: it gets its name when all of it is on disk.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let hidden = if name.starts_with('.') { "" } else { "." };
        let (path, draft) = (self.path.join(name), self.path.join(format!("{hidden}{name}.part")));
        let written = File::create(&draft)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| {
            let _ = fs::remove_file(&draft);
            file_error(&path, &error)
        })?;
        // The name is on disk with the folder, which some file systems cannot be asked about.
        let _ = File::open(&self.path).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// Where the commands of a list are run: the folder above its own.
pub fn root_of(list: &Path) -> Result<PathBuf, String> {
    let list = absolute(list)?;
    Ok(list.ancestors().nth(2).unwrap_or(Path::new("/")).to_path_buf())
}

/// The list of targets in the nearest folder above a plan that has one.
pub fn list_above(plan: &Path) -> Result<PathBuf, String> {
    let place = fs::canonicalize(plan).map_err(|error| {
        let plan = plan.display();
        format!(
            "{plan}: {error}; give a plan file, for example ceiling run \
             experiments/04-ramp/plan.toml"
        )
    })?;
    let lists = place.ancestors().skip(1).map(|folder| folder.join(TARGETS));
    let found = { lists }.find(|list| list.exists()).ok_or_else(|| {
        format!(
            "there is no {TARGETS} above {}; say where it is, for example --servers {TARGETS}",
            plan.display()
        )
    })?;
    is_safe(&found, plan)?;
    Ok(found)
}

/// Whether a file that was found near a plan can be used: it decides what is run, and by whom it is
/// measured.
///
/// # Errors
///
/// Another user can change it.
pub fn is_safe(found: &Path, plan: &Path) -> Result<(), String> {
    host::program::is_safe(found, plan).map_err(|error| {
        let options = "--servers FILE for a list of servers, --hosts FILE for hosts";
        format!("{error}; read it, then give it by its option: {options}")
    })
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    fs::canonicalize(path).map_err(|error| file_error(path, &error))
}

/// The folder of a plan names the experiment, unless the file does.
fn name_of(plan: &Path) -> String {
    let stem = plan.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = fs::canonicalize(plan).ok();
    let folder = folder.as_ref().and_then(|plan| plan.parent()?.file_name());
    match folder {
        Some(folder) if stem == "plan" => folder.to_string_lossy().into_owned(),
        Some(folder) if stem == "full" => format!("{}-full", folder.to_string_lossy()),
        _ => stem,
    }
}

/// The `[server]` table of the plan in an experiment's folder, when all cells have the same.
pub fn server_of(record: &Record, path: &Path) -> Option<Table> {
    let folder = fs::canonicalize(path).ok()?.parent()?.parent()?.to_path_buf();
    let document = fs::read(folder.join("experiment.json")).ok()?;
    let experiment = Experiment::from_json(&document).ok()?;
    let mine = |cell: &&CellResult| match &cell.fate {
        Fate::Measured { run } => *run == record.id,
        Fate::Failed { .. } | Fate::NotReached => false,
    };
    let cell = experiment.cells.iter().find(mine)?;
    let plan: Table = fs::read_to_string(folder.join("plan.toml")).ok()?.parse().ok()?;
    let mut server = plan.get("server").and_then(Value::as_table).cloned().unwrap_or_default();
    let cells = plan.get("cell").and_then(Value::as_array).into_iter().flatten();
    let is_this = |one: &&Value| {
        let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
        cell.name == name || cell.name.starts_with(&format!("{name}, "))
    };
    if let Some(own) = { cells }.find(is_this).and_then(|one| one.get("server")?.as_table()) {
        server.extend(own.clone());
    }
    let is_varied = plan.get("vary").and_then(Value::as_array).into_iter().flatten().any(|vary| {
        vary.get("key").and_then(Value::as_str).is_some_and(|key| key.starts_with("server."))
    });
    (!is_varied && !server.is_empty()).then_some(server)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::analysis::Analysis;
    use model::experiment::{Ended, SCHEMA};
    use std::env;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_stays_as_it_was() {
        let above = env::temp_dir().join(format!("ceiling-replaced-{}", std::process::id()));
        let folder = Folder::make(&above, Path::new("plan.toml")).unwrap();
        let file = folder.path.join("experiment.json");
        for text in ["a first and longer text", "a second"] {
            folder.write("experiment.json", text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        let draft = folder.path.join(".experiment.json.part");
        assert!(!draft.exists());
        fs::create_dir(&draft).unwrap();
        let why = folder.write("experiment.json", b"a third").unwrap_err();
        assert!(why.contains("experiment.json: "), "{why}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "a second");
        drop(folder);
        fs::remove_dir_all(&above).unwrap();
    }

    #[test]
    fn what_is_resumed_has_its_visits_and_nothing_that_followed_from_them_alone() {
        let above = env::temp_dir().join(format!("ceiling-resumed-{}", std::process::id()));
        let folder = Folder::make(&above, Path::new("plan.toml")).unwrap();
        let visit = CellResult {
            name: "plain".to_string(),
            host: None,
            block: Some(1),
            server: vec![],
            command: vec![],
            expected: vec![],
            fate: Fate::Measured { run: "r".to_string() },
            tuned: vec![],
            stopped: None,
        };
        let text = String::new;
        let interrupted = Experiment {
            took_s: None,
            schema: SCHEMA.to_string(),
            id: folder.id.clone(),
            version: text(),
            started_at: text(),
            plan: text(),
            question: text(),
            design: None,
            ended: Some(Ended::Budget),
            hosts: vec![],
            cells: vec![visit],
            summaries: vec![],
            contrasts: vec![],
            levels: vec![],
            predictions: vec![],
            analysis: Some(Analysis::default()),
        };
        let document = serde_json::to_vec(&interrupted).unwrap();
        folder.write("experiment.json", &document).unwrap();
        let path = folder.path.clone();
        drop(folder);
        let (_, begun) = Folder::again(&path).unwrap();
        let _ = fs::remove_dir_all(&above);
        assert_eq!(begun.cells, interrupted.cells);
        assert_eq!((begun.ended, begun.analysis), (None, None));
    }
}
