//! What the tests of this folder share: made-up files, and processes that end with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A folder of files, removed when the test is over.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lab-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("make a folder");
        Self(folder)
    }

    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.0.join(file)
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, text).expect("write a file");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A shell in a process group of its own, which is ended with the test.
pub struct Shell(pub Child);

impl Shell {
    pub fn run(script: &str) -> Self {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).process_group(0);
        Self(command.spawn().expect("spawn a shell"))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits until the shell has a child that sleeps, and gives it.
    pub fn sleeper(&self) -> u32 {
        let begin = Instant::now();
        loop {
            let tree = host::Tree::of(self.pid()).expect("the shell runs");
            let is_sleeper =
                |pid: &u32| host::process::stat(*pid).is_ok_and(|stat| stat.name == "sleep");
            if let Some(pid) = tree.pids().iter().copied().find(is_sleeper) {
                return pid;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "no child");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
