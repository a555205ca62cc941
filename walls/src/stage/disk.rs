//! The disk of temporary files, as named in control groups.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Major and minor number of the whole disk.
pub fn of_temporary_files() -> Result<String> {
    let folder = std::env::temp_dir();
    let device = fs::metadata(&folder)
        .with_context(|| format!("cannot look at {}", folder.display()))?
        .dev();
    let device = format!("{}:{}", libc::major(device), libc::minor(device));
    let entry = format!("/sys/dev/block/{device}");
    // Limits apply to a disk, not to a partition.
    match fs::exists(format!("{entry}/partition")) {
        Ok(true) => {
            let whole = fs::read_to_string(format!("{entry}/../dev"))
                .with_context(|| format!("no disk of partition {device}"))?;
            Ok(whole.trim().to_owned())
        }
        _ => Ok(device),
    }
}
