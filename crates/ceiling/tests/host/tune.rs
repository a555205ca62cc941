//! Knobs on a real kernel, in a network namespace with a device of four queues. Whatever happens,
//! every file has the same bytes afterwards as before.

use crate::harness::{Finished, Folder, Namespace, must_be_root, turn, wait_until};
use crate::steps::{End, open_transactions, signal_at};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A namespace and a journal.
struct Ground {
    namespace: Namespace,
    folder: Folder,
}

/// Values by place.
type Snapshot = BTreeMap<String, String>;

impl Ground {
    fn new(name: &str) -> Self {
        must_be_root();
        let namespace = Namespace::new(name);
        namespace.ip(&[
            "link",
            "add",
            "veth0",
            "numrxqueues",
            "4",
            "numtxqueues",
            "4",
            "type",
            "veth",
            "peer",
            "name",
            "veth1",
            "numrxqueues",
            "4",
            "numtxqueues",
            "4",
        ]);
        for device in ["veth0", "veth1"] {
            namespace.ip(&["link", "set", device, "up"]);
        }
        Self { namespace, folder: Folder::new(name) }
    }

    /// `ceiling tune ..` inside the namespace.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
        command.arg("tune").args(arguments);
        command.env("CEILING_TUNE_JOURNAL", self.journal()).env("CEILING_RUNS", "none");
        command.stdin(Stdio::null());
        command
    }

    fn journal(&self) -> String {
        self.folder.file("journal")
    }

    fn tune(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).output().unwrap())
    }

    /// Runs a subcommand of `ceiling tune`, which must succeed.
    fn good(&self, arguments: &[&str]) -> Finished {
        let said = self.tune(arguments);
        assert_eq!(said.code, 0, "{arguments:?}\n{}{}", said.stdout, said.stderr);
        said
    }

    fn rows(&self, arguments: &[&str]) -> Vec<Value> {
        let said = self.good(arguments);
        said.record()["rows"].as_array().unwrap().clone()
    }

    /// Knobs that a plan would change here without touching anything that is shared.
    fn own_knobs(&self, profile: &str) -> String {
        let mut ids = Vec::new();
        for row in self.rows(&["plan", "--profile", profile, "--json"]) {
            let is_own = row["scope"] == "namespace" || row["scope"] == "device";
            let id = row["knob"].as_str().unwrap().to_string();
            if is_own && row["fate"] == "proposed" && !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids.join(",")
    }

    /// Bytes of files, and values of places that are not files.
    fn snapshot(&self, wish: &[&str]) -> Snapshot {
        let mut places = Snapshot::new();
        for row in self.rows(&[&["plan", "--json"], wish].concat()) {
            let place = row["place"].as_str().unwrap();
            let now = row["now"].as_str().map_or("absent".to_string(), str::to_string);
            places.insert(place.to_string(), now);
        }
        let is_there =
            |(place, now): &(&String, &String)| place.starts_with('/') && *now != "absent";
        let files: Vec<_> = places.iter().filter(is_there).map(|(place, _)| place).collect();
        let mut read = self.namespace.command(Path::new("tail"));
        let said = read.args(["-n", "+1", "-v", "--"]).args(&files).output().unwrap();
        let text = String::from_utf8(said.stdout).unwrap();
        assert!(said.status.success() && !files.is_empty(), "{files:?}");
        for block in text.split("==> ").skip(1) {
            let (place, bytes) = block.split_once(" <==\n").unwrap();
            places.insert(format!("bytes of {place}"), bytes.to_string());
        }
        places
    }

    fn write(&self, path: &str, value: &str) {
        let script = format!("echo '{value}' > '{path}'");
        let status = self.namespace.command(Path::new("sh")).args(["-c", &script]).status();
        assert!(status.unwrap().success(), "{script}");
    }

    fn read(&self, path: &str) -> String {
        let said = self.namespace.command(Path::new("cat")).arg(path).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_string()
    }

    /// No transaction is open, and everything is as it was before.
    fn assert_put_back(&self, wish: &[&str], before: &Snapshot, when: &str) {
        let now = self.snapshot(wish);
        for (place, value) in before {
            assert_eq!(now.get(place), Some(value), "{when}: {place}");
        }
        assert_eq!(open_transactions(&self.journal()), 0, "{when}");
    }

    /// No transaction is open, also by `status`, and everything is as it was before.
    fn assert_as_before(&self, wish: &[&str], before: &Snapshot, when: &str) {
        self.assert_put_back(wish, before, when);
        let status = self.good(&["status", "--json"]).record();
        assert_eq!(status["transactions"].as_array().unwrap().len(), 0, "{when}: {status:#}");
    }
}

const XPS: &str = "/sys/class/net/veth0/queues/tx-0/xps_cpus";
const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";

#[test]
fn every_knob_of_a_namespace_is_applied_seen_and_put_back() {
    let _turn = turn();
    let ground = Ground::new("tune-all");
    for profile in ["seeds", "throughput", "latency", "churn"] {
        let only = ground.own_knobs(profile);
        let wish = ["--profile", profile, "--only", &only];
        assert!(!only.is_empty(), "{profile} has nothing to change here");
        let before = ground.snapshot(&wish);
        let planned = ground.rows(&[&["plan", "--json"], &wish[..]].concat());
        let is_meant = |row: &&Value| row["fate"] == "proposed";
        let meant: Vec<_> = planned.iter().filter(is_meant).cloned().collect();
        let apply = ["apply", "--json", "--allow-disruptive"];
        let applied = ground.rows(&[&apply, &wish[..]].concat());
        assert_eq!(applied.len(), meant.len(), "{profile}");
        ground.good(&["keep"]);
        for row in &applied {
            assert_eq!(row["fate"], "applied", "{row:#}");
        }
        let status = ground.good(&["status", "--json"]).record();
        let standing = status["transactions"][0]["rows"].as_array().unwrap();
        assert_eq!(standing.len(), meant.len());
        assert!(standing.iter().all(|row| row["fate"] == "applied"), "{status:#}");
        let after = ground.snapshot(&wish);
        for row in &meant {
            let place = row["place"].as_str().unwrap();
            assert_ne!(before[place], after[place], "{place} was changed");
        }
        println!("{profile}: {only}: {} values", meant.len());
        ground.good(&["revert"]);
        ground.assert_as_before(&wish, &before, profile);
    }
}

/// What most tests apply: masks of queues, a mask and a number of the namespace. With
/// `--allow-disruptive`, also a setting of the driver, under a watchdog.
fn wish() -> [&'static str; 4] {
    ["--device", "veth0", "--only", "T8,T9,T18,T29"]
}

/// kill -9 before every system call of `apply` that changes anything, until one apply gets through;
/// each time `revert` brings everything back.
#[test]
fn apply_can_be_killed_at_every_step() {
    let _turn = turn();
    let ground = Ground::new("tune-kill");
    let wish = wish();
    let before = ground.snapshot(&wish);
    let program = env!("CARGO_BIN_EXE_ceiling");
    let mut step = 0;
    loop {
        let mut apply = ground.command(&[&["apply", "--allow-disruptive"], &wish[..]].concat());
        apply.stdout(Stdio::null()).stderr(Stdio::null());
        let end = signal_at(&mut apply, program, libc::SIGKILL, step);
        if end == End::Earlier(0) {
            assert_eq!(open_transactions(&ground.journal()), 1, "applied at last");
        }
        ground.good(&["revert"]);
        ground.assert_put_back(&wish, &before, &format!("killed at step {step}"));
        match end {
            End::Hit(None) => step += 1,
            End::Earlier(0) => break,
            other => panic!("step {step}: {other:?}"),
        }
    }
    println!("apply was killed at each of {step} steps");
    assert!(step > 15, "only {step} steps: nothing was traced");
    ground.assert_as_before(&wish, &before, "applied at last");
}

#[test]
fn revert_can_be_killed_at_every_step() {
    let _turn = turn();
    let ground = Ground::new("tune-kill-revert");
    let wish = wish();
    let before = ground.snapshot(&wish);
    let program = env!("CARGO_BIN_EXE_ceiling");
    let mut step = 0;
    loop {
        ground.good(&[&["apply", "--allow-disruptive"], &wish[..]].concat());
        let mut revert = ground.command(&["revert"]);
        revert.stdout(Stdio::null()).stderr(Stdio::null());
        let end = signal_at(&mut revert, program, libc::SIGKILL, step);
        ground.good(&["revert"]);
        ground.assert_put_back(&wish, &before, &format!("killed at step {step}"));
        match end {
            End::Hit(None) => step += 1,
            End::Earlier(0) => break,
            other => panic!("step {step}: {other:?}"),
        }
    }
    println!("revert was killed at each of {step} steps");
    assert!(step > 10, "only {step} steps: nothing was traced");
    ground.assert_as_before(&wish, &before, "put back at last");
}

/// Ctrl-C is not kill -9: apply puts everything back itself, or has finished.
#[test]
fn an_interrupted_apply_puts_everything_back() {
    let _turn = turn();
    let ground = Ground::new("tune-interrupt");
    let wish = wish();
    let before = ground.snapshot(&wish);
    let program = env!("CARGO_BIN_EXE_ceiling");
    let mut rolled_back = 0;
    for step in (0..).step_by(2) {
        let mut apply = ground.command(&[&["apply"], &wish[..]].concat());
        apply.stdout(Stdio::null()).stderr(Stdio::null());
        match signal_at(&mut apply, program, libc::SIGINT, step) {
            End::Hit(Some(1)) => rolled_back += 1,
            // The signal came before the program had installed its handlers.
            End::Hit(None) if rolled_back == 0 => {}
            End::Hit(Some(0)) => {
                ground.good(&["revert"]);
            }
            End::Earlier(0) => {
                ground.good(&["revert"]);
                break;
            }
            other => panic!("step {step}: {other:?}"),
        }
        ground.assert_put_back(&wish, &before, &format!("interrupted at step {step}"));
    }
    assert!(rolled_back > 5, "{rolled_back} interrupted");
}

#[test]
fn what_others_changed_is_told_and_left_alone() {
    let _turn = turn();
    let ground = Ground::new("tune-drift");
    let before = ground.snapshot(&wish());
    ground.good(&[&["apply"], &wish()[..]].concat());
    ground.write(SOMAXCONN, "777");

    let status = ground.tune(&["status"]);
    assert_eq!(status.code, 3);
    assert!(
        status.stdout.contains("DRIFTED") && status.stdout.contains("777"),
        "{}",
        status.stdout
    );
    let revert = ground.tune(&["revert"]);
    assert_eq!(revert.code, 3, "{}", revert.stdout);
    assert!(revert.stdout.contains("another program set '777'"), "{}", revert.stdout);
    assert_eq!(ground.read(SOMAXCONN), "777", "left alone");
    assert_eq!(ground.read(XPS), "0", "the rest is put back");

    ground.write(SOMAXCONN, before[SOMAXCONN].trim());
    ground.good(&["revert"]);
    ground.assert_as_before(&wish(), &before, "put right by hand");
}

#[test]
fn a_device_that_vanishes_is_gone_and_the_rest_is_put_back() {
    let _turn = turn();
    let ground = Ground::new("tune-gone");
    let somaxconn = ground.read(SOMAXCONN);
    ground.good(&[&["apply"], &wish()[..]].concat());
    ground.namespace.ip(&["link", "delete", "veth0"]);
    let revert = ground.good(&["revert", "--json"]).record();
    for row in revert["rows"].as_array().unwrap() {
        let is_of_device = row["place"].as_str().unwrap().contains("veth0");
        assert_eq!(row["fate"], if is_of_device { "gone" } else { "reverted" }, "{row:#}");
    }
    assert!(revert["rows"].as_array().unwrap().len() > 2, "{revert:#}");
    assert_eq!(ground.read(SOMAXCONN), somaxconn);
    assert!(ground.good(&["status"]).stdout.contains("Nothing is changed"));
}

#[test]
fn a_namespace_is_only_put_back_from_inside() {
    let _turn = turn();
    let ground = Ground::new("tune-inside");
    let before = ground.snapshot(&wish());
    let outside = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ceiling"));
        command.arg("tune").args(arguments).env("CEILING_TUNE_JOURNAL", ground.journal());
        Finished::of(command.output().unwrap())
    };
    let own = fs::read_to_string(SOMAXCONN).unwrap();
    ground.good(&[&["apply"], &wish()[..]].concat());
    let said = outside(&["revert"]);
    assert_eq!(said.code, 3, "{}", said.stdout);
    assert!(said.stdout.contains("ip netns exec"), "{}", said.stdout);
    assert_eq!(fs::read_to_string(SOMAXCONN).unwrap(), own, "ours is untouched");
    ground.good(&["revert"]);
    ground.assert_as_before(&wish(), &before, "from inside");

    // Without its own /sys, a process would write to devices of another namespace.
    let others = Namespace::new("tune-others");
    others.ip(&["link", "add", "other0", "type", "veth", "peer", "name", "other1"]);
    let mut bare = others.command(Path::new("nsenter"));
    bare.arg(format!("--net=/run/netns/{}", ground.namespace.name));
    bare.arg(env!("CARGO_BIN_EXE_ceiling")).args(["tune", "apply", "--profile", "seeds"]);
    bare.args(["--only", "rps"]).env("CEILING_TUNE_JOURNAL", ground.journal());
    let said = Finished::of(bare.output().unwrap());
    assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("another network namespace"), "{}{}", said.stdout, said.stderr);
}

const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";

/// Puts a value of this host back on drop, also if the test fails.
struct PutBack(String);

impl Drop for PutBack {
    fn drop(&mut self) {
        let _ = fs::write(BACKLOG, &self.0);
    }
}

/// The other way round: a value that was changed on the host does not exist inside a namespace, but
/// that does not mean that it is gone.
#[test]
fn a_value_of_the_host_is_put_back_from_the_host_only() {
    let _turn = turn();
    let ground = Ground::new("tune-host");
    let outside = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ceiling"));
        command.arg("tune").args(arguments).env("CEILING_TUNE_JOURNAL", ground.journal());
        Finished::of(command.env("CEILING_RUNS", "none").output().unwrap())
    };
    let now = || fs::read_to_string(BACKLOG).unwrap();
    let before = PutBack(now());
    fs::write(BACKLOG, "999").unwrap();
    let applied = outside(&["apply", "--only", "netdev-max-backlog"]);
    assert_eq!(applied.code, 0, "{}{}", applied.stdout, applied.stderr);
    let set = now();
    assert_ne!(set.trim(), "999", "{}", applied.stdout);
    ground.good(&["apply", "--only", "somaxconn"]);

    let inside = ground.tune(&["status"]);
    assert!(!inside.stdout.contains("GONE"), "{}", inside.stdout);
    let inside = ground.tune(&["revert", "--json"]);
    assert_eq!(inside.code, 3, "{}", inside.stdout);
    let record = inside.record();
    let fate = |knob: &str| {
        let rows = record["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == knob).unwrap()["fate"].clone()
    };
    assert_eq!(fate("somaxconn"), "reverted", "{record:#}");
    assert_eq!(fate("netdev-max-backlog"), "refused", "{record:#}");
    assert_eq!(now(), set, "untouched");

    let status = outside(&["status"]);
    assert_eq!(status.code, 0, "still applied, and still as written: {}", status.stdout);
    assert!(status.stdout.contains("netdev-max-backlog"), "{}", status.stdout);
    let said = outside(&["revert"]);
    assert_eq!(said.code, 0, "{}", said.stdout);
    assert_eq!(now().trim(), "999");
    drop(before);
}

/// A server that starts a process for each line that it reads.
struct Prefork(std::process::Child);

impl Prefork {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while read line; do sleep 600 & done"]);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn workers(&self) -> Vec<String> {
        let pid = self.0.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().map(str::to_string).collect()
    }

    /// CPUs of the processes that it has started.
    fn of_workers(&self) -> Vec<String> {
        self.workers().iter().map(|pid| allowed(pid)).collect()
    }

    fn fork(&mut self) {
        use std::io::Write;
        let workers = self.of_workers().len();
        writeln!(self.0.stdin.as_ref().unwrap()).unwrap();
        wait_until("a worker", || self.of_workers().len() > workers);
    }
}

impl Drop for Prefork {
    fn drop(&mut self) {
        for worker in self.workers() {
            crate::harness::signal(worker.parse().unwrap(), "KILL");
        }
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn allowed(pid: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_string()
}

#[test]
fn workers_that_a_server_starts_afterwards_are_put_back_with_it() {
    let _turn = turn();
    let ground = Ground::new("tune-heirs");
    let mut server = Prefork::start();
    let pid = server.0.id().to_string();
    let before = allowed(&pid);
    assert_ne!(before, "0", "it takes two CPUs");
    let apply = ["apply", "--only", "server-cpus", "--cpus", "1/0", "--server-pid", &pid];
    ground.good(&apply);
    // The start time of a process has a resolution of a hundredth of a second.
    std::thread::sleep(Duration::from_millis(20));
    server.fork();
    server.fork();
    assert_eq!(server.of_workers(), ["0", "0"], "inherited");
    let status = ground.good(&["status"]);
    assert!(status.stdout.contains("processes started since"), "{}", status.stdout);
    let said = ground.good(&["revert"]);
    assert!(said.stdout.contains("put back, too"), "{}", said.stdout);
    assert_eq!(server.of_workers(), [before.as_str(), before.as_str()]);
    assert_eq!(allowed(&pid), before);
}

#[test]
fn a_read_only_file_system_is_seen_before_anything_is_written() {
    let _turn = turn();
    let ground = Ground::new("tune-read-only");
    let before = ground.snapshot(&wish());
    let script = format!(
        "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec {} tune \
         apply {}",
        env!("CARGO_BIN_EXE_ceiling"),
        wish().join(" ")
    );
    let mut command = ground.namespace.command(Path::new("unshare"));
    command.args(["-m", "sh", "-c", &script]).env("CEILING_TUNE_JOURNAL", ground.journal());
    let said = Finished::of(command.output().unwrap());
    assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("read-only"), "{}", said.stdout);
    assert!(said.stderr.contains("nothing was changed"), "{}", said.stderr);
    ground.assert_as_before(&wish(), &before, "read-only");
}

#[test]
fn without_root_nothing_is_begun() {
    let _turn = turn();
    let ground = Ground::new("tune-nobody");
    // The user nobody may not be able to reach the folder of the build.
    let program = ground.folder.file("ceiling");
    fs::copy(env!("CARGO_BIN_EXE_ceiling"), &program).unwrap();
    fs::set_permissions(&ground.folder.path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = ground.namespace.command(Path::new("setpriv"));
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", &program]);
    command.args(["tune", "apply", "--only", "somaxconn", "--journal"]).arg(ground.journal());
    let said = Finished::of(command.output().unwrap());
    assert_eq!(said.code, 2, "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("only root"), "{}", said.stderr);
    assert!(!Path::new(&ground.journal()).exists());
}

#[test]
fn of_two_applies_at_once_one_is_refused() {
    let _turn = turn();
    let ground = Ground::new("tune-two");
    let wish = ["--profile", "seeds", "--device", "veth0", "--only", "rps"];
    let before = ground.snapshot(&wish);
    let begin = |cpus: &str| {
        let mut command = ground.command(&[&["apply", "--cpus", cpus], &wish[..]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for _ in 0..5 {
        let both = [begin("0/1"), begin("1/0")];
        let said = both.map(|child| Finished::of(child.wait_with_output().unwrap()));
        let mut codes = [said[0].code, said[1].code];
        codes.sort_unstable();
        assert_eq!(codes, [0, 1], "{}{}", said[0].stderr, said[1].stderr);
        let status = ground.good(&["status", "--json"]).record();
        let rows = status["transactions"][0]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row["now"] == rows[0]["now"]), "not mixed: {status:#}");
        ground.good(&["revert"]);
        ground.assert_as_before(&wish, &before, "after two");
    }
}

/// A deadline that a test waits for. Applying takes less time than this, even in an emulated
/// machine on a busy host; otherwise apply would put everything back itself.
pub const SOON: &str = "35s";

/// The latest deadline, which no test waits for.
pub const LATE: &str = "60s";

/// Process ids of watchdogs of a journal.
pub fn watchdogs(journal: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains("tune guard") && line.contains(journal) {
            found.push(pid);
        }
    }
    found
}

#[test]
fn the_watchdog_puts_back_when_everybody_else_is_gone() {
    let _turn = turn();
    let ground = Ground::new("tune-watch");
    let before = ground.snapshot(&wish());
    let apply = [&["apply", "--deadline", SOON], &wish()[..]].concat();
    // In its own process group, as in a terminal; the whole group is killed while the watchdog
    // waits.
    let mut command = ground.command(&apply);
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let group = format!("-{}", child.id());
    let said = Finished::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("tune keep --transaction 1"), "{}", said.stdout);
    // After the watchdog has left the group, the group is empty; that is not an error here.
    let kill = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    kill.expect("a program to send signals");
    assert_ne!(ground.read(XPS), "0");
    wait_until("put back at the deadline", || ground.read(XPS) == "0");
    wait_until("the watchdog has ended", || watchdogs(&ground.journal()).is_empty());
    ground.assert_as_before(&wish(), &before, "by the watchdog");
    let late = ground.tune(&["keep"]);
    assert_eq!(late.code, 1, "{}{}", late.stdout, late.stderr);
    assert!(late.stderr.contains("put back already"), "{}", late.stderr);

    ground.good(&[&["apply", "--deadline", LATE], &wish()[..]].concat());
    ground.good(&["keep"]);
    wait_until("a watchdog ends when it is kept", || watchdogs(&ground.journal()).is_empty());
    assert_ne!(ground.read(XPS), "0", "kept");
    ground.good(&["revert"]);
    ground.assert_as_before(&wish(), &before, "kept, then put back");
}

#[test]
fn without_its_watchdog_the_next_command_puts_back() {
    let _turn = turn();
    let ground = Ground::new("tune-unwatched");
    let before = ground.snapshot(&wish());
    ground.good(&[&["apply", "--deadline", SOON], &wish()[..]].concat());
    let [watchdog] = watchdogs(&ground.journal())[..] else { panic!("one watchdog") };
    crate::harness::signal(watchdog, "KILL");
    wait_until("it is overdue", || ground.tune(&["status"]).stdout.contains("OVERDUE"));
    assert_eq!(ground.tune(&["status"]).code, 3);
    assert_eq!(ground.tune(&["keep", "--transaction", "1"]).code, 1, "too late");

    let said = ground.good(&["apply", "--device", "veth1", "--only", "xps"]);
    assert!(said.stdout.contains("reverted"), "first what is overdue: {}", said.stdout);
    assert_eq!(ground.read(XPS), "0");
    ground.good(&["revert"]);
    ground.assert_as_before(&wish(), &before, "unwatched");
}

/// A watchdog that gets a signal puts the host back before it ends.
#[test]
fn a_watchdog_that_is_ended_puts_back_first() {
    let _turn = turn();
    let ground = Ground::new("tune-ended");
    let before = ground.snapshot(&wish());
    ground.good(&[&["apply", "--deadline", LATE], &wish()[..]].concat());
    let [watchdog] = watchdogs(&ground.journal())[..] else { panic!("one watchdog") };
    crate::harness::signal(watchdog, "TERM");
    wait_until("put back", || ground.read(XPS) == "0");
    wait_until("it has ended", || watchdogs(&ground.journal()).is_empty());
    ground.assert_as_before(&wish(), &before, "ended");
}
