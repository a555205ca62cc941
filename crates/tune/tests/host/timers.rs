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
/// All control groups of version 2, in a namespace for mounts of its own. They cannot be mounted
/// where they are already.
const GROUPS: &str = r#"
mount --make-rprivate /
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 groups /sys/fs/cgroup
"#;
/// Folders of its own, and three timers of which nothing refers to the third.
const BEGIN: &str = r#"
mkdir GROUP
echo 0 > GROUP/cgroup.procs
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /etc/systemd/system
mount -t tmpfs tmpfs /usr/lib/systemd/system
cd /usr/lib/systemd/system
printf '[Unit]\nDefaultDependencies=no\nWants=one.timer two.timer\n' > alone.target
for name in one two three; do
  printf '[Unit]\nDefaultDependencies=no\n[Timer]\nOnActiveSec=1h\n' > $name.timer
  printf '[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/true\n' > $name.service
done
umount /sys/fs/cgroup
exec unshare --cgroup sh -ec 'mount -t cgroup2 groups /sys/fs/cgroup
  exec env -i PATH=/usr/bin:/bin container=other SYSTEMD --system --unit=alone.target'
"#;

/// Killed with everything below it when dropped.
struct Systemd {
    child: Child,
    pid: u32,
    /// The control group that has its own, so that those of this host stay as they are.
    group: String,
}

impl Systemd {
    fn start() -> Self {
        let spaces = ["--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc"];
        let group = format!("/sys/fs/cgroup/ceiling-timers-{}", std::process::id());
        let begin = BEGIN.replace("SYSTEMD", SYSTEMD).replace("GROUP", &group);
        let script = format!("{GROUPS}{begin}");
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
        let systemd = Self { child, pid, group };
        wait_for("timers that wait", || (systemd.says("two.timer") == "active").then_some(()));
        systemd
    }

    /// A command in its namespaces: it talks only to processes that it can name.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        // The root of the virtual machines is changed, and only its processes know to where.
        let spaces = ["--mount", "--root", "--pid"];
        command.args(["--target", &self.pid.to_string()]).args(spaces).arg(program);
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
        // Its groups can go when its last process has.
        let group = &self.group;
        let remove =
            format!("until find {group} -depth -type d -exec rmdir {{}} +; do sleep 0.1; done");
        let script = format!("{GROUPS}[ ! -d {group} ] || {remove}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec", &script]).stderr(Stdio::null());
        let _ = command.status();
    }
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
