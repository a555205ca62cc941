//! Shared by the tests of all tiers: the command under test, and servers, control groups and
//! network namespaces that end with their test.

#![allow(dead_code, reason = "each tier is a separate program and uses only a part")]

pub mod certificates;
pub mod fleets;
pub mod limited;
pub mod loading;
pub mod probing;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How many loads tests are making, how many tests wait for a large turn, and the wait for a turn.
static LOADS: (Mutex<(usize, usize)>, Condvar) = (Mutex::new((0, 0)), Condvar::new());

/// The turn of a test that makes load, as so many loads; dropping it ends it.
pub struct Turn(usize);

/// Waits until this test may make load. Its tier limits how many tests make load at once.
pub fn turn() -> Turn {
    let (loads, fewer) = &LOADS;
    let loads = loads.lock().unwrap_or_else(PoisonError::into_inner);
    let is_full =
        |(running, large): &mut (usize, usize)| *running >= crate::LOADS_AT_ONCE || *large > 0;
    fewer.wait_while(loads, is_full).unwrap_or_else(PoisonError::into_inner).0 += 1;
    Turn(1)
}

/// Waits until a test may make load whose processes must hear of each other in time, such as the
/// agents of a fleet: it counts as two loads.
pub fn large_turn() -> Turn {
    let size = crate::LOADS_AT_ONCE.min(2);
    let (loads, fewer) = &LOADS;
    let mut loads = loads.lock().unwrap_or_else(PoisonError::into_inner);
    loads.1 += 1;
    let is_full = |(running, _): &mut (usize, usize)| *running + size > crate::LOADS_AT_ONCE;
    let mut loads = fewer.wait_while(loads, is_full).unwrap_or_else(PoisonError::into_inner);
    loads.1 -= 1;
    loads.0 += size;
    fewer.notify_all();
    Turn(size)
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (loads, fewer) = &LOADS;
        loads.lock().unwrap_or_else(PoisonError::into_inner).0 -= self.0;
        fewer.notify_all();
    }
}

/// Root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The program of a server under test. Rust servers are built by cargo next to the command, with
/// the same profile; the others are in `bin/`.
pub fn program(name: &str) -> PathBuf {
    let path = match name {
        "target-sink" | "target-stage" => built().join(name),
        _ => root().join("bin").join(name),
    };
    assert!(path.exists(), "{} is missing: run make test-programs", path.display());
    path
}

/// The directory in which cargo built the command under test.
fn built() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_ceiling")).parent().unwrap().to_path_buf()
}

/// The targets of the repository, with the paths that [`program`] finds.
pub fn targets_file() -> String {
    static WRITTEN: OnceLock<String> = OnceLock::new();
    let write = || {
        let text = fs::read_to_string(root().join("targets/targets.toml")).unwrap();
        let sink = program("target-sink").display().to_string();
        let bin = root().join("bin").display().to_string();
        let text = text.replace("\"bin/target-sink\"", &format!("\"{sink}\""));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (draft, path) = (format!("targets-{}", std::process::id()), "targets.toml");
        let (draft, path) = (folder.join(draft), folder.join(path));
        fs::write(&draft, text.replace("\"bin/", &format!("\"{bin}/"))).unwrap();
        fs::rename(&draft, &path).unwrap();
        path.display().to_string()
    };
    WRITTEN.get_or_init(write).clone()
}

/// The command under test; it keeps no runs unless a test asks for it.
pub fn ceiling(arguments: &[&str]) -> Command {
    let mut command = alone(Command::new(env!("CARGO_BIN_EXE_ceiling")));
    command.args(arguments);
    command
}

/// A command without the environment of whoever runs the tests: a locale, a fleet, a shell, a
/// directory of runs or a CI there would change what it does.
pub fn alone(mut command: Command) -> Command {
    let kept = ["PATH", "TMPDIR", "LLVM_PROFILE_FILE"].into_iter();
    let kept = kept.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let home = env!("CARGO_TARGET_TMPDIR");
    command.env_clear().envs(kept).env("HOME", home).env("CEILING_RUNS", "none");
    command.env("LC_ALL", "C.UTF-8");
    command
}

/// Output and exit code of a finished command.
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The record on stdout.
    pub fn record(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Finished {
    Finished::of(ceiling(arguments).output().unwrap())
}

/// Runs the command with `--json`; returns exit code and record.
pub fn measure(arguments: &[&str]) -> (i32, Value) {
    let said = run(&[arguments, &["--json"]].concat());
    (said.code, said.record())
}

/// Runs the command with `--json` until its record is of a run in which nothing stood still for
/// long: other load on this machine can stall the generator, the server or an agent, and there is
/// nothing to check then.
pub fn run_until(what: &str, arguments: &[&str], is_so: impl Fn(&Value) -> bool) -> Finished {
    let arguments = [arguments, &["--json"]].concat();
    let mut said = run(&arguments);
    wait_until(what, || {
        let is_it = is_so(&said.record());
        if !is_it {
            said = run(&arguments);
        }
        is_it
    });
    said
}

/// Runs the command with `--json` until the generator is not the wall of the run: the verdict is
/// about it then.
pub fn run_on_time(arguments: &[&str]) -> Finished {
    let is_on_time = |record: &Value| record["verdict"]["side"] != "client";
    run_until("a run whose wall is not the generator", arguments, is_on_time)
}

/// The wall of the run.
pub fn wall(record: &Value) -> &str {
    record["verdict"]["wall"].as_str().unwrap()
}

/// The verdict, for messages.
pub fn shown(record: &Value) -> String {
    format!("{:#}\ngates {:#}", record["verdict"], record["points"][0]["gates"])
}

/// The expected exit code for a record of `load`, `churn` or `fanout` without expectations: 3 if
/// nothing good came; 4 if its rate is not known or the generator was the wall, which other load on
/// this machine can cause; otherwise 0.
pub fn code_of(record: &Value) -> i32 {
    match record["points"].as_array().unwrap().iter().all(is_fruitless) {
        true => 3,
        false => code_of_good(record),
    }
}

/// The expected exit code of a run whose responses are good, or which met what was expected: 4 if
/// its rate is not known or the generator was the wall, otherwise 0.
pub fn code_of_good(record: &Value) -> i32 {
    let is_of_generator = record["verdict"]["side"] == "client" && wall(record) != "C4";
    if is_of_generator || !is_rate_known(record) { 4 } else { 0 }
}

/// Whether no request had a good response, or no stream was accepted.
fn is_fruitless(point: &Value) -> bool {
    let accepted = point["events"]["subscribers"]["accepted"].as_u64();
    let good = point["requests"]["completed"] != 0 || point["rate"] != 0.0;
    accepted == Some(0) || accepted.is_none() && point["requests"]["sent"] != 0 && !good
}

/// Whether the rate of any level is known.
pub fn is_rate_known(record: &Value) -> bool {
    let points = record["points"].as_array().unwrap();
    points.iter().any(|point| point["standing"]["rate"]["is"] != "not-known")
}

/// Measures once; the verdict must be one of the expected walls. `scripts/rates` counts how often
/// it is.
pub fn measure_wall(expected: &[&str], arguments: &[&str]) -> (i32, Value) {
    let (code, record) = measure(arguments);
    assert!(expected.contains(&wall(&record)), "{expected:?}, not {}", shown(&record));
    (code, record)
}

/// A server under test.
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub port: u16,
    pub pid: u32,
}

impl Server {
    /// Starts `program` of `bin/` on a free port and waits until it listens.
    pub fn start(program_name: &str, arguments: &[&str]) -> Self {
        Self::start_as(alone(Command::new(program(program_name))), arguments)
    }

    /// Requests that a sink has served so far; 0 when it does not say so soon.
    pub fn served(&self) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET /stats HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        let json = text.split_once("\r\n\r\n").map_or("", |(_, json)| json);
        let stats: Value = serde_json::from_str(json).unwrap_or(Value::Null);
        stats["requests_served"].as_u64().unwrap_or(0)
    }

    /// Starts a prepared command in the same way.
    pub fn start_as(mut command: Command, arguments: &[&str]) -> Self {
        command.args(["--port", "0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).expect("a listening line");
        assert_eq!(listening["event"], "listening", "{line}");
        let address = listening["addr"].as_str().unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        let pid = listening["pid"].as_u64().unwrap() as u32;
        Self { child, stdout, port, pid }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Stops it in order and returns its last line.
    pub fn stop(mut self) -> Value {
        signal(self.child.id(), "TERM");
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        serde_json::from_str(text.lines().last().expect("a stopped line")).unwrap()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal by name.
pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// Whether root runs the tests.
pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0\n")
}

/// Fails a test that changes control groups or namespaces without being root.
pub fn must_be_root() {
    assert!(is_root(), "this test makes control groups and network namespaces: run it as root");
}

/// A control group with a CPU quota, removed at the end. Works with cgroup versions 1 and 2.
pub struct Group {
    pub path: PathBuf,
}

impl Group {
    /// Makes a group, below `parent` if given.
    pub fn new(name: &str, parent: Option<&Group>) -> Self {
        let root = if Path::new("/sys/fs/cgroup/cpu/tasks").exists() {
            PathBuf::from("/sys/fs/cgroup/cpu")
        } else {
            PathBuf::from("/sys/fs/cgroup")
        };
        let parent = parent.map_or(root, |parent| parent.path.clone());
        let path = parent.join(format!("ceiling-test-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// Allows this share of one CPU, per period of 100 ms.
    pub fn limit(&self, share: f64) {
        let quota_us = (share * 100_000.0) as u64;
        if self.path.join("cpu.cfs_quota_us").exists() {
            fs::write(self.path.join("cpu.cfs_period_us"), "100000").unwrap();
            fs::write(self.path.join("cpu.cfs_quota_us"), quota_us.to_string()).unwrap();
        } else {
            fs::write(self.path.join("cpu.max"), format!("{quota_us} 100000")).unwrap();
        }
    }

    /// A command whose process joins the group before it becomes `program`.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let join = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        command.args(["-c", join]).arg(&self.path).arg(program);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group can be removed after its last process is gone, which takes a moment.
        let begin = Instant::now();
        while fs::remove_dir(&self.path).is_err() && begin.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A network namespace with loopback up, removed at the end.
pub struct Namespace {
    pub name: String,
}

impl Namespace {
    pub fn new(name: &str) -> Self {
        let name = format!("ceiling-test-{name}-{}", std::process::id());
        let namespace = Self { name };
        ip(&["netns", "add", &namespace.name]);
        namespace.ip(&["link", "set", "lo", "up"]);
        namespace
    }

    /// Changes its devices.
    pub fn ip(&self, arguments: &[&str]) {
        ip(&[&["-n", &self.name], arguments].concat());
    }

    /// A command that runs `program` inside.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// Sets a kernel parameter inside.
    pub fn sysctl(&self, name: &str, value: &str) {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let mut command = self.command(Path::new("sh"));
        let status = command.args(["-c", &format!("echo '{value}' > {path}")]).status().unwrap();
        assert!(status.success(), "{name} = {value}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments:?}");
}

/// A directory for one test, removed at the end.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    pub fn new(name: &str) -> Self {
        let name = format!("ceiling-test-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub fn file(&self, name: &str) -> String {
        self.path.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// How long to wait for a condition that must become true. Even in an emulated machine on a busy
/// host, only a hang takes longer.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// Waits for a condition that must become true.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited for this: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the only run in a directory of runs has a finished point.
pub fn await_point(runs: &str) {
    let has_point = || {
        let run = fs::read_dir(runs).ok()?.next()?.ok()?;
        let text = fs::read_to_string(run.path().join("points.ndjson")).ok()?;
        text.contains('\n').then_some(())
    };
    wait_until("a finished point", || has_point().is_some());
}

/// A whole number at a path of the record.
pub fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {value}"))
}
