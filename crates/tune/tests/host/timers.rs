//! Timers of a systemd of our own: process 1 of namespaces that end with the test.

use model::root::Root;
use model::tuning::Fate;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tune::{ApplyOptions, Host, Journal, Which, Wish, apply, plan, revert};

const TEST: &str = "timers_are_stopped_and_go_on_after_a_crash";
/// Which step of the test a process in the namespaces takes.
const STEP: &str = "CEILING_TEST_TIMERS_STEP";
/// In a folder that ends with the namespaces.
const JOURNAL: &str = "/run/ceiling-journal";
const ALL: [&str; 3] = ["one.timer", "three.timer", "two.timer"];
const SYSTEMD: &str = "/usr/lib/systemd/systemd";
/// A hierarchy of its own for its control groups.
const GROUPS: &str = r#"
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/systemd
mount -t cgroup -o none,name=systemd systemd /sys/fs/cgroup/systemd
"#;
/// Folders of its own, and three timers of which nothing refers to the third.
const BEGIN: &str = r#"
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /etc/systemd/system
mount -t tmpfs tmpfs /usr/lib/systemd/system
cd /usr/lib/systemd/system
printf '[Unit]\nDefaultDependencies=no\nWants=one.timer two.timer\n' > alone.target
for name in one two three; do
  printf '[Unit]\nDefaultDependencies=no\n[Timer]\nOnActiveSec=1h\n' > $name.timer
  printf '[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/true\n' > $name.service
done
exec env -i PATH=/usr/bin:/bin container=other SYSTEMD --system --unit=alone.target
"#;

/// Killed with everything below it when dropped.
struct Systemd {
    child: Child,
    pid: u32,
}

impl Systemd {
    fn start() -> Self {
        let spaces = ["--fork", "--kill-child", "--pid", "--mount", "--cgroup", "--uts", "--ipc"];
        let script = format!("{GROUPS}{}", BEGIN.replace("SYSTEMD", SYSTEMD));
        let child = Command::new("unshare")
            .args(spaces)
            .args(["--net", "--mount-proc", "sh", "-ec", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("unshare is installed");
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let first = || fs::read_to_string(&children).ok()?.split(' ').next()?.parse().ok();
        let pid = wait_for("process 1", first);
        let systemd = Self { child, pid };
        wait_for("timers that wait", || (systemd.says("two.timer") == "active").then_some(()));
        systemd
    }

    /// A command in its namespaces: it talks only to processes that it can name.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid.to_string(), "--mount", "--pid", program]);
        command.args(arguments);
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    /// What its own program says of a unit.
    fn says(&self, unit: &str) -> String {
        self.run("systemctl", &["is-active", unit])
    }

    /// Takes a step in a process of its own, as after a crash.
    fn takes(&self, step: &str) {
        let this = std::env::current_exe().unwrap();
        let name = format!("timers::{TEST}");
        let mut command = self.command(this.to_str().unwrap(), &["--exact", &name]);
        let output = command.env(STEP, step).output().unwrap();
        assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a systemd can have control groups of its own here.
fn can_have_groups() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--fork", "--mount", "--cgroup", "sh", "-ec", GROUPS]);
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(value) = condition() {
            return value;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("waited for this: {what}");
}

#[test]
fn timers_are_stopped_and_go_on_after_a_crash() {
    match std::env::var(STEP).as_deref() {
        Ok("apply") => return stop_timers(),
        Ok(_) => return put_back(),
        Err(_) if Path::new(SYSTEMD).exists() => {}
        Err(_) => {
            println!("skipped: there is no systemd here");
            return;
        }
    }
    if !can_have_groups() {
        println!("skipped: control groups for a systemd of its own cannot be mounted here");
        return;
    }
    let systemd = Systemd::start();
    systemd.run("systemctl", &["start", "three.timer"]);
    let brief = ["--unit=brief", "--on-active=1h", "--timer-property=DefaultDependencies=no"];
    systemd.run("systemd-run", &[&brief[..], &["true"]].concat());
    let states = || ALL.map(|unit| systemd.says(unit));
    assert_eq!(
        (states(), &*systemd.says("brief.timer")),
        (["active"; 3].map(str::to_string), "active")
    );
    systemd.takes("apply");
    assert_eq!(states(), ["inactive"; 3]);
    assert_eq!(systemd.says("brief.timer"), "active", "it would be gone");
    systemd.run("systemctl", &["start", "two.timer"]);
    systemd.takes("revert");
    assert_eq!(states(), ["active"; 3]);
}

fn stop_timers() {
    let host = Host::look(Root::default());
    let wish = Wish { only: vec!["timers".to_string()], ..Wish::default() };
    let planned = plan(&host, &wish, None);
    let places: Vec<&str> = planned.iter().map(|one| one.row.place.as_str()).collect();
    assert_eq!(places, ALL);
    let journal = Journal::open(Path::new(JOURNAL)).unwrap();
    let options = ApplyOptions::default();
    let applied = apply(&host, &journal, &planned, &options, &mut |_| {}).unwrap();
    assert!(applied.rows.iter().all(|row| row.fate == Fate::Applied), "{:?}", applied.rows);
}

fn put_back() {
    let journal = Journal::open(Path::new(JOURNAL)).unwrap();
    let host = Host::look(Root::default());
    let rows = revert(&host, &journal, &Which::All, &mut |_| {}).unwrap();
    assert!(rows.iter().all(|row| row.fate == Fate::Reverted), "{rows:?}");
    assert_eq!(rows.len(), ALL.len());
}
