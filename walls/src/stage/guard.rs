//! Sets and restores the parameters of the machine itself that scenarios change.
//!
//! The old value is on disk before the new one is in the kernel, so that after a crash the next
//! start restores it.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A parameter that is not per namespace.
#[derive(Debug, Clone, Copy)]
pub enum Parameter {
    /// Length of the per-CPU backlog.
    Backlog,
    /// Size of the connection tracking table of every namespace.
    Tracked,
}

impl Parameter {
    const ALL: [Self; 2] = [Self::Backlog, Self::Tracked];

    fn path(self) -> &'static str {
        match self {
            Self::Backlog => "/proc/sys/net/core/netdev_max_backlog",
            Self::Tracked => "/proc/sys/net/netfilter/nf_conntrack_max",
        }
    }

    fn restorer(self) -> Restorer {
        let name = self.path().rsplit('/').next().unwrap_or_default();
        let note = Path::new("/run").join(format!("{}{name}", super::PREFIX));
        Restorer { parameter: self.path().into(), note }
    }
}

/// Restores a parameter on drop.
pub struct Guard {
    restorer: Restorer,
}

impl Guard {
    /// Saves the old value, then sets the new one.
    pub fn set(parameter: Parameter, value: u32) -> Result<Self> {
        let restorer = parameter.restorer();
        restorer.change(&value.to_string())?;
        Ok(Self { restorer })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(error) = self.restorer.restore() {
            eprintln!("walls: {error:#}");
        }
    }
}

/// Restores what a killed process had changed.
pub fn sweep() {
    for parameter in Parameter::ALL {
        if let Err(error) = parameter.restorer().restore() {
            eprintln!("walls: {error:#}");
        }
    }
}

/// A parameter and the file with its old value.
struct Restorer {
    parameter: PathBuf,
    note: PathBuf,
}

impl Restorer {
    fn change(&self, value: &str) -> Result<()> {
        self.restore()?;
        let old = fs::read_to_string(&self.parameter)
            .with_context(|| format!("cannot read {}", self.parameter.display()))?;
        fs::write(&self.note, &old)
            .with_context(|| format!("cannot write {}", self.note.display()))?;
        fs::write(&self.parameter, value)
            .with_context(|| format!("cannot write {}", self.parameter.display()))
    }

    /// Does nothing without a note.
    fn restore(&self) -> Result<()> {
        let Ok(old) = fs::read_to_string(&self.note) else { return Ok(()) };
        fs::write(&self.parameter, old.trim()).with_context(|| {
            let (parameter, old) = (self.parameter.display(), old.trim());
            format!("{parameter} was {old} and cannot be restored")
        })?;
        fs::remove_file(&self.note)
            .with_context(|| format!("cannot remove {}", self.note.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_comes_back_whatever_happened_between() {
        let folder = std::env::temp_dir().join(format!("ceiling-guard-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let make = || Restorer { parameter: folder.join("value"), note: folder.join("note") };
        fs::write(folder.join("value"), "1000\n").unwrap();
        make().change("8").unwrap();
        assert_eq!(fs::read_to_string(folder.join("value")).unwrap(), "8");
        // Killed here; the next process starts.
        make().change("6").unwrap();
        make().restore().unwrap();
        assert_eq!(fs::read_to_string(folder.join("value")).unwrap(), "1000");
        fs::write(folder.join("value"), "2000").unwrap();
        make().restore().unwrap();
        assert_eq!(fs::read_to_string(folder.join("value")).unwrap(), "2000", "nothing to do");
        fs::remove_dir_all(&folder).unwrap();
    }
}
