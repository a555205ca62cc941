//! Scenarios, with the programs that they start.

#![allow(dead_code, reason = "each tier uses its part")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub static TURN: Mutex<()> = Mutex::new(());

/// Scenarios run one at a time.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder with all programs: those in Rust from cargo's folder next to this one, and the others
/// from `bin/`.
pub fn programs() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bin");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bin").canonicalize();
    let bin = bin.expect("bin/ is missing: run make test-programs");
    for entry in fs::read_dir(bin).unwrap().flatten() {
        symlink(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let built = Path::new(env!("CARGO_BIN_EXE_walls")).parent().unwrap();
    for name in ["ceiling", "target-sink", "target-stage"] {
        let _ = fs::remove_file(folder.join(name));
        symlink(built.join(name), folder.join(name)).unwrap();
    }
    folder
}

pub fn keep(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ceiling-walls-test-{name}-{}", std::process::id()))
}

pub fn run(keep: &Path, only: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_walls"));
    command.args(["run", "--no-proof", "--only", only, "--bin"]).arg(programs());
    command.arg("--keep").arg(keep).stdin(Stdio::null());
    command
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
