//! A journal on disk with synthetic results from one kept run; for tests.

use crate::{EntryFolder, Journal, Skeleton, Slug};
use model::analysis::{Analysis, HostSeen};
use model::experiment::{CellResult, CellSummary, Experiment, Fate, SCHEMA};
use model::figure::Figure;
use model::reading::Reading;
use model::run::Record;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const KEPT: &str = include_str!("../../judge/tests/kept/full-event-loop.json");

/// A folder that is removed on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("journal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

/// A run with this rate.
pub fn record(rate: f64) -> Record {
    let kept: Value = serde_json::from_str(KEPT).unwrap();
    let mut record: Record = serde_json::from_value(kept["record"].clone()).unwrap();
    record.points.truncate(1);
    record.points[0].rate = rate;
    record.points[0].standing = Default::default();
    record.verdict.ceiling = None;
    record
}

/// The raw readings of that run.
pub fn readings() -> Vec<Reading> {
    let kept: Value = serde_json::from_str(KEPT).unwrap();
    serde_json::from_value(kept["readings"].clone()).unwrap()
}

pub fn visit(name: &str, block: u32, fate: Fate) -> CellResult {
    CellResult {
        name: name.to_string(),
        host: None,
        block: Some(block),
        server: vec![],
        command: vec![],
        expected: vec![],
        fate,
        tuned: vec![],
        stopped: None,
    }
}

pub fn measured(name: &str, block: u32) -> CellResult {
    visit(name, block, Fate::Measured { run: format!("{name}-{block}") })
}

pub fn experiment(cells: Vec<CellResult>) -> Experiment {
    Experiment {
        schema: SCHEMA.to_string(),
        id: "20260101T000000-a".to_string(),
        version: "0.1.0".to_string(),
        started_at: "2026-01-01T00:00:00Z".to_string(),
        plan: "plan.toml".to_string(),
        question: "Why?".to_string(),
        design: None,
        ended: None,
        took_s: None,
        hosts: vec![],
        cells,
        summaries: vec![],
        contrasts: vec![],
        levels: vec![],
        predictions: vec![],
        analysis: Some(Analysis::default()),
    }
}

/// An experiment with one cell, `a`, whose rate is known to 2 %, on a host with this kernel.
pub fn of_rate(rate: f64, kernel: &str) -> Experiment {
    let mut of = experiment(vec![measured("a", 1), measured("a", 2)]);
    of.summaries.push(CellSummary {
        cell: "a".to_string(),
        figure: Figure::Rate,
        visits: 8,
        median: rate,
        low: Some(rate * 0.98),
        high: Some(rate * 1.02),
    });
    let client = HostSeen {
        side: "client".to_string(),
        hostname: "here".to_string(),
        kernel: kernel.to_string(),
        cpu_model: "one".to_string(),
        cpus: 2,
    };
    of.analysis.as_mut().unwrap().hosts.push(client);
    of
}

/// An entry whose `entry.toml` ends with this text, and which has this result.
pub fn entry(journal: &Journal, name: &str, text: &str, result: Option<Experiment>) -> EntryFolder {
    let skeleton = Skeleton::new(&slug(name)).question(&format!("How fast is {name}?"));
    let made = journal.create(&slug(name), &skeleton).unwrap();
    let file = made.path.join("entry.toml");
    let head = fs::read_to_string(&file).unwrap();
    let head = head.replace("status = \"planned\"", "status = \"done\"\nanswer = \"So.\"");
    fs::write(&file, head + text).unwrap();
    // Entries with equal plans ask the same, so plans must differ.
    let plan = made.plan().unwrap().unwrap().replace("5s", &format!("{}s", name.len()));
    fs::write(made.path.join("plan.toml"), plan + &format!("# {name}\n")).unwrap();
    if let Some(experiment) = result {
        let folder = made.result_path("20260101T000000-a");
        let runs = folder.join("runs");
        for cell in &experiment.cells {
            let Fate::Measured { run } = &cell.fate else { continue };
            fs::create_dir_all(runs.join(run)).unwrap();
            let record = serde_json::to_vec(&record(100.0)).unwrap();
            fs::write(runs.join(run).join("run.json"), record).unwrap();
        }
        fs::write(folder.join("experiment.json"), serde_json::to_vec(&experiment).unwrap())
            .unwrap();
    }
    journal.entry(&slug(name)).unwrap()
}

/// A finding in the format of the file.
pub fn finding(condition: &str) -> String {
    format!("[[finding]]\ntext = \"It is so.\"\ncondition = \"{condition}\"\n")
}
