//! A fake host of plain files, with its own journal; for tests.

use model::root::Root;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tune::{Host, Journal, Which};

/// Removed when dropped.
pub struct MadeUp(PathBuf);

impl MadeUp {
    /// Four CPUs and nothing else.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("ceiling-made-up-{}-{count}", std::process::id());
        let made = Self(std::env::temp_dir().join(folder));
        for file in ["possible", "online", "present"] {
            made.write(&format!("/sys/devices/system/cpu/{file}"), "0-3");
        }
        made.write("/proc/self/status", "Cpus_allowed_list:\t0-3");
        made.write("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001");
        made
    }

    /// The real path of a file of the host.
    pub fn path(&self, path: &str) -> PathBuf {
        let path = self.root().path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Writes a file of the host, with a line end as the kernel does.
    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), format!("{text}\n")).unwrap();
    }

    pub fn root(&self) -> Root {
        Root::below(&self.0)
    }

    pub fn host(&self) -> Host {
        Host::look(self.root())
    }

    pub fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// Puts everything back, as another process would.
    pub fn revert(&self) {
        let journal = Journal::open(&self.journal()).unwrap();
        tune::revert(&self.host(), &journal, &Which::All, &mut |_| {}).unwrap();
    }
}

impl Drop for MadeUp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
