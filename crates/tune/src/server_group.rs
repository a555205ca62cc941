//! A control group with limits that is made for a server that we start, and removed after it.
//!
//! It is in the journal before it exists, so that the next start removes what a killed process
//! leaves behind. It is made below the group that we are in, or, with version 2, where groups may
//! be made: a group with processes cannot have groups with limits below it.

use crate::held::{Held, Turn};
use crate::host::Host;
use crate::journal::Journal;
use crate::place::Place;
use crate::place::group::{FOR_SERVER, QUOTA, THERE};
use crate::place::sentence;
use crate::server::{PERIOD_US, QUOTA_MIN_US, set};
use ::host::cgroup::{Group, chain};
use model::root::Root;
use model::starting::Limits;
use rustix::fs::{Access, access};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Groups with limits, until [`ServerGroup::remove`], or until this is dropped.
#[derive(Debug)]
pub struct ServerGroup {
    held: Held,
    folders: Vec<String>,
}

/// A file of a group, and what is written there.
struct Setting {
    folder: String,
    file: &'static str,
    value: String,
}

impl ServerGroup {
    /// Makes the groups that the limits need, with an entry in the journal of that folder; nothing
    /// when there are no limits.
    pub fn make(host: Host, journal: &Path, limits: &Limits) -> Result<Option<Self>, String> {
        let failed = |why: String| format!("its limits cannot be set: {why}");
        let settings = settings(limits).map_err(failed)?;
        let mut folders: Vec<String> = settings.iter().map(|one| one.folder.clone()).collect();
        folders.dedup();
        if folders.is_empty() {
            return Ok(None);
        }
        let turn = Turn {
            name: "server-group",
            place: Place::ForServer { folders: folders.clone() },
            wanted: THERE.to_string(),
            note: "limits of a server that is started",
            risk: "the server gets no more than its limits",
        };
        let journal = Journal::open(journal).map_err(|error| failed(error.to_string()))?;
        let held = Held::begin(host, journal, turn).map_err(failed)?;
        let made = Self { held, folders };
        made.held.turn().map_err(failed)?;
        for Setting { folder, file, value } in &settings {
            set(folder, file, value).map_err(failed)?;
        }
        Ok(Some(made))
    }

    /// Groups that the server must join before it runs.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.folders.iter().map(PathBuf::from).collect()
    }

    /// Removes them; nothing may still run in them.
    pub fn remove(self) -> Result<(), String> {
        self.held.revert()
    }
}

fn settings(limits: &Limits) -> Result<Vec<Setting>, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{FOR_SERVER}{}-{number}", std::process::id());
    let mut settings = Vec::new();
    if let Some(cpus) = limits.cpu {
        let (folder, version) = place("cpu", &name)?;
        let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(QUOTA_MIN_US);
        let mut add = |file, value| {
            settings.push(Setting { folder: folder.clone(), file, value });
        };
        if version == 1 {
            add("cpu.cfs_period_us", PERIOD_US.to_string());
            add(QUOTA, quota_us.to_string());
        } else {
            add("cpu.max", format!("{quota_us} {PERIOD_US}"));
        }
    }
    if let Some(bytes) = limits.memory_bytes {
        let (folder, version) = place("memory", &name)?;
        let file = if version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
        settings.push(Setting { folder, file, value: bytes.to_string() });
    }
    Ok(settings)
}

/// Where a group with this controller can be made, and the version of its hierarchy.
fn place(controller: &str, name: &str) -> Result<(String, u8), String> {
    let chain = chain(&Root::default(), controller, std::process::id()).map_err(sentence)?;
    let parent = chain.iter().find(|group| takes(group, controller)).ok_or_else(|| {
        let at = chain.last().map_or_else(String::new, |root| root.folder.display().to_string());
        format!(
            "no control group above this process delegates the {controller} controller; as root: \
             echo +{controller} > {at}/cgroup.subtree_control"
        )
    })?;
    access(&parent.folder, Access::WRITE_OK).map_err(|error| {
        let folder = parent.folder.display();
        format!("cannot make a control group in {folder} ({error}); run this as root")
    })?;
    Ok((parent.folder.join(name).display().to_string(), parent.version))
}

/// Whether a group that is made below this one has the controller.
fn takes(group: &Group, controller: &str) -> bool {
    let handed_on = || {
        let text = fs::read_to_string(group.folder.join("cgroup.subtree_control"));
        text.unwrap_or_default().split_whitespace().any(|word| word == controller)
    };
    group.version == 1 || handed_on()
}
