//! What the tests of this crate and of its users share: fixtures, folders, child processes.

use crate::process;
use crate::tree::Tree;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The bytes of a file below the fixtures of the probe, which hold the texts of all kernels.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|why| panic!("fixture {name}: {why}"))
}

/// A child process, killed when the test is over however it ends.
pub struct Child(std::process::Child);

impl Child {
    /// Starts it without input.
    pub fn spawn(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().expect("spawn a child"))
    }

    /// Its pid.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it and does not wait, so that a zombie stays.
    pub fn kill(&mut self) {
        self.0.kill().expect("kill a child");
    }

    /// Waits for a condition, 30 s at most.
    pub fn wait_until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !condition(self) {
            assert!(Instant::now() < deadline, "waited 30 s: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the tree below it has this many processes of that name.
    pub fn wait_for(&self, name: &str, count: usize) {
        self.wait_until(name, |child| {
            let tree = Tree::of(child.id());
            let names = tree.iter().flat_map(Tree::pids).map(|&pid| process::stat(pid));
            names.flatten().filter(|stat| stat.name == name).count() == count
        });
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Children of a shell outlive it, so the tree is ended from its leaves.
        for &pid in Tree::of(self.id()).iter().flat_map(Tree::pids).rev() {
            let mut kill = Command::new("kill");
            let _ = kill.args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of files, removed when the test is over.
pub struct Folder(PathBuf);

impl Folder {
    /// A new empty folder: tests of one program run side by side.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (pid, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("host-{name}-{pid}-{number}"));
        std::fs::create_dir_all(&folder).expect("make a folder");
        Self(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, and makes its folders.
    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        std::fs::write(path, text).expect("write a file");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
