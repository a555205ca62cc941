//! Arbitrary archives of runs, for tests and for the fuzz target.

use crate::run_archive::RunArchive;
use std::path::Path;

/// Reads bytes as an archive of runs, and as each file of a run in one.
pub fn any(bytes: &[u8]) {
    let path = Path::new("runs.tar.zst");
    let archives = [RunArchive::parse(path, bytes), RunArchive::hostile(path, bytes)];
    for archive in archives.into_iter().flatten() {
        let run = archive.run("a");
        assert!(archive.has("a") || run.is_err());
        let _ = archive.observed("a");
    }
}
