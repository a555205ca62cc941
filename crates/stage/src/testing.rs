//! The parts of a fake host that only tests of experiments need.

use crate::fake_host::MadeUp;
use crate::tuning::Ground;
use std::fs;

impl MadeUp {
    /// The content of a file of the host.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap().trim().to_string()
    }

    pub fn ground(&self) -> Ground {
        Ground { root: self.root(), journal: self.journal(), watchdog: |_, _| Ok(()) }
    }
}
