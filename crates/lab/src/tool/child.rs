//! The process of a tool: its command, its files, its output, its end.

use engine::clock;
use host::child::end_with_us;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tools::{Order, Output};

/// Bytes of an error that are shown.
const SAID_MAX: usize = 300;

/// A folder for one run of a tool, that only its owner can read; removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates it. One of that name may be left of a killed process that had our number, as in a
    /// container.
    pub fn make(name: &str) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("ceiling-{name}-{}-{number}", process::id());
            let path = std::env::temp_dir().join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running tool. It is killed when dropped.
pub struct Child {
    process: process::Child,
    folder: PathBuf,
    begin_ns: u64,
}

/// A tool that has ended.
pub struct Ended {
    /// Start and end of its process, monotonic nanoseconds.
    pub ran_ns: (u64, u64),
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    status: ExitStatus,
    folder: PathBuf,
}

/// The first line in which a program reports its version; `None` when it reports none.
pub fn version(program: &Path, words: &[&str]) -> Option<String> {
    if words.is_empty() {
        return None;
    }
    let output = Command::new(program).args(words).stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| line.contains(|char: char| char.is_ascii_digit()))?;
    Some(line.trim().chars().take(80).collect())
}

impl Child {
    /// Starts it on these CPUs, or on all.
    pub fn start(
        program: &Path,
        order: &Order,
        cpus: &[usize],
        folder: &Folder,
    ) -> io::Result<Self> {
        for (name, content) in &order.files {
            fs::write(folder.path().join(name), content)?;
        }
        let mut command = match cpus {
            [] => Command::new(program),
            cpus => {
                // `taskset` becomes the program, so the process is the tool's.
                let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
                let mut command = Command::new(host::program::find("taskset")?);
                command.args(["-c", &list.join(",")]).arg(program);
                command
            }
        };
        let file = |name: &str| File::create(folder.path().join(name)).map(Stdio::from);
        command.args(&order.words).stdin(Stdio::null());
        command.stdout(file("stdout")?).stderr(file("stderr")?).process_group(0);
        end_with_us(&mut command, Signal::KILL);
        let begin_ns = clock::now_ns();
        let process = command.spawn()?;
        Ok(Self { process, folder: folder.path().to_path_buf(), begin_ns })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// How long it has run, nanoseconds.
    pub fn age_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.begin_ns)
    }

    /// Whether it has ended, and how.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        let Some(status) = self.process.try_wait()? else { return Ok(None) };
        let ran_ns = (self.begin_ns, clock::now_ns());
        let folder = self.folder.clone();
        Ok(Some(Ended { ran_ns, code: status.code(), status, folder }))
    }

    /// Asks it and its children to end.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it and its children.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.process.wait();
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        // It leads its own process group, and was not reaped yet.
        group.map(|group| kill_process_group(group, signal));
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

impl Ended {
    /// Its exit code or signal, in words.
    pub fn how(&self) -> String {
        match (self.code, self.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => self.status.to_string(),
        }
    }

    /// How it ended, if that was a failure: by a signal, or with an exit code other than 0 and the
    /// harmless ones.
    pub fn failure(&self, harmless: &[i32]) -> Option<String> {
        let is_good = self.code.is_some_and(|code| code == 0 || harmless.contains(&code));
        (!is_good).then(|| self.how())
    }

    /// What it printed or wrote, as far as it is read at once.
    pub fn output(&self, program: &Path, order: &Order) -> io::Result<Vec<u8>> {
        let read = |name: &str| {
            let mut bytes = Vec::new();
            let file = File::open(self.folder.join(name))?;
            file.take(tools::audit::SIZE_MAX as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match order.output {
            Output::Printed => read("stdout"),
            Output::File(name) => read(name),
            Output::Report(words, name) => {
                let path = self.folder.join(name);
                let output =
                    Command::new(program).args(words).arg(path).stdin(Stdio::null()).output()?;
                Ok(output.stdout)
            }
        }
    }

    /// The last line of its standard error, or else of its standard output.
    pub fn last_words(&self) -> Option<String> {
        let last = |name: &str| {
            let text = fs::read(self.folder.join(name)).ok()?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
            Some(line.trim().chars().take(SAID_MAX).collect())
        };
        last("stderr").or_else(|| last("stdout"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::thread;
    use std::time::Duration;

    fn started(script: &str, folder: &Folder) -> Child {
        let words = vec!["-c".to_string(), script.to_string()];
        let order = Order { files: vec![("note", "hello".into())], ..Order::of(words) };
        Child::start(Path::new("/bin/sh"), &order, &[], folder).unwrap()
    }

    fn end(mut child: Child) -> Ended {
        loop {
            if let Some(ended) = child.ended().unwrap() {
                return ended;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn its_files_are_there_and_its_output_is_read() {
        let folder = Folder::make("test").unwrap();
        let script = format!("cat '{}/note'; echo wrong >&2; exit 3", folder.path().display());
        let ended = end(started(&script, &folder));
        assert_eq!((ended.code, ended.how().as_str()), (Some(3), "exit code 3"));
        let order = Order::of(Vec::new());
        assert_eq!(ended.output(Path::new("/bin/sh"), &order).unwrap(), b"hello");
        assert_eq!(ended.last_words().as_deref(), Some("wrong"));
        let path = folder.path().to_path_buf();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn an_end_by_a_signal_or_with_an_error_is_a_failure_unless_it_is_harmless() {
        for (script, failure) in [
            ("exit 0", None),
            ("exit 99", None),
            ("echo figures; exit 1", Some("exit code 1")),
            ("echo figures; kill -KILL $$", Some("signal 9")),
        ] {
            let folder = Folder::make("test").unwrap();
            let ended = end(started(script, &folder));
            assert_eq!(ended.failure(&[99]).as_deref(), failure, "{script}");
        }
    }

    /// In a container each process may have the number of the one before.
    #[test]
    fn folders_that_a_killed_process_left_are_passed_over() {
        let first = Folder::make("left").unwrap();
        let path = first.path().to_str().unwrap();
        let (name, number) = path.rsplit_once('-').unwrap();
        let number: u32 = number.parse().unwrap();
        // Other tests of this process take numbers, too.
        let left: Vec<Folder> = (number + 1..number + 100)
            .map(|next| Folder(format!("{name}-{next}").into()))
            .collect();
        left.iter().for_each(|folder| fs::create_dir(folder.path()).unwrap());
        let made = Folder::make("left").unwrap();
        assert!(left.iter().all(|folder| folder.path() != made.path()), "{:?}", made.path());
        let mode = fs::metadata(made.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn one_that_hangs_is_killed_with_its_children() {
        let folder = Folder::make("test").unwrap();
        let mut child = started("sleep 600 & wait", &folder);
        child.kill();
        assert_eq!(end(child).how(), "signal 9");
    }

    #[test]
    fn a_version_is_the_first_line_with_a_digit() {
        let text = version(Path::new("/bin/sh"), &["-c", "echo tool; echo 'tool 1.2'; exit 1"]);
        assert_eq!(text.as_deref(), Some("tool 1.2"));
        assert_eq!(version(Path::new("/no/such/tool"), &["-v"]), None);
    }
}
