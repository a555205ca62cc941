//! The label of a kept run, in a file next to it.

use crate::options::{Hosts, Noise, Watch};
use crate::proof::Tested;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const FILE: &str = "label.json";

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// Name of the scenario.
    pub scenario: String,
    /// The truth when it was written; the scenario's present truth counts.
    pub truth: String,
    /// Seed of the draw.
    pub seed: u64,
    /// Number of the draw.
    pub draw: u32,
    /// The drawn parameters, by name.
    pub parameters: BTreeMap<String, f64>,
    /// Directory of the kept run, next to the label; absent when there is no record.
    pub run: Option<String>,
    /// Directory of the readings of a probe in the server's container, of the same load and in the
    /// same form; absent unless the run was watched in both ways.
    #[serde(default)]
    pub inside: Option<String>,
    /// Exit code of ceiling.
    pub code: Option<i32>,
    /// How the server was watched.
    #[serde(default)]
    pub watch: Watch,
    /// The hosts it ran on.
    #[serde(default)]
    pub hosts: Hosts,
    /// What else ran on the CPUs of server and generator.
    #[serde(default)]
    pub noise: Noise,
    /// The standard error of ceiling.
    pub said: String,
    /// Results of the runs that prove the label; absent when it was not tested.
    pub tested: Option<Tested>,
}

impl Label {
    /// Writes the label of a draw into its folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self)?;
        fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    /// The label of a draw in its folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no label", path.display()))
    }

    /// The labels below a folder with the folders they are in, in order.
    pub fn all_below(folder: &Path) -> Result<Vec<(PathBuf, Self)>> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("no kept runs in {}", folder.display()))?;
        let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        let mut labels = Vec::new();
        for folder in folders {
            if folder.join(FILE).exists() {
                let label = Self::read(&folder)?;
                labels.push((folder, label));
            }
        }
        Ok(labels)
    }
}
