//! Interrupts of this host: they can be moved, the move can be seen, and another process that moves
//! them is noticed. Needs root, and a network device with its own interrupts.

use crate::harness::{Finished, Folder, must_be_root, turn, wait_until};
use crate::steps::{End, open_transactions, signal_at};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};

/// The CPUs of every interrupt of this host; restored on drop.
struct Affinities(BTreeMap<String, String>);

impl Affinities {
    fn now() -> Self {
        let folders = fs::read_dir("/proc/irq").unwrap().flatten();
        let files = folders.map(|entry| entry.path().join("smp_affinity_list"));
        let read = |path: std::path::PathBuf| {
            Some((path.to_str()?.to_string(), fs::read_to_string(&path).ok()?))
        };
        Self(files.filter_map(read).collect())
    }
}

impl Drop for Affinities {
    fn drop(&mut self) {
        for (path, list) in &self.0 {
            if fs::read_to_string(path).is_ok_and(|now| now != *list) {
                let _ = fs::write(path, list);
            }
        }
    }
}

/// The daemon that moves interrupts; killed at the end of the test.
struct Irqbalance(Child);

impl Irqbalance {
    fn start() -> Self {
        let mut command = Command::new("irqbalance");
        command.args(["--foreground", "--interval=1"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("irqbalance is installed"))
    }
}

impl Drop for Irqbalance {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tune(folder: &Folder, arguments: &[&str]) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ceiling"));
    command.arg("tune").args(arguments).env("CEILING_RUNS", "none");
    Finished::of(command.env("CEILING_TUNE_JOURNAL", folder.file("journal")).output().unwrap())
}

/// Rows of what is applied now, and the exit code.
fn standing(folder: &Folder) -> (i32, Vec<Value>) {
    let said = tune(folder, &["status", "--json"]);
    let transactions = said.record()["transactions"].as_array().unwrap().clone();
    let rows = transactions.iter().flat_map(|one| one["rows"].as_array().unwrap().clone());
    (said.code, rows.collect())
}

/// Sends a few packets to the next hop, so that the device raises interrupts.
fn knock() {
    let route = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let gateway = route.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let gateway = u32::from_str_radix(words.get(2)?, 16).ok()?;
        (*words.get(1)? == "00000000").then(|| std::net::Ipv4Addr::from(gateway.to_ne_bytes()))
    });
    let Some(gateway) = gateway else { return };
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    for _ in 0..4 {
        // Port 9 is discard; it does not matter whether anything listens there.
        let _ = socket.send_to(b"interrupt", (gateway, 9));
    }
}

#[test]
fn interrupts_of_this_host_move_and_who_moves_them_too_is_caught() {
    let _turn = turn();
    must_be_root();
    let _affinities = Affinities::now();
    let folder = Folder::new("interrupts");
    let planned = tune(&folder, &["plan", "--only", "irq-affinity", "--json"]).record();
    let places = planned["rows"].as_array().unwrap().clone();
    if places.iter().all(|row| row["fate"] == "absent") {
        // Found independently of the product: a bug in the product must not skip its own test.
        let devices = fs::read_dir("/sys/class/net").unwrap().flatten();
        let hardware: Vec<_> = devices.filter(|one| one.path().join("device").exists()).collect();
        assert!(hardware.is_empty(), "{hardware:?} have interrupts, and the plan has none");
        println!("skipped: no network device of this host has interrupts of its own");
        return;
    }
    for cpu in ["1", "0"] {
        let cpus = format!("{cpu}/0-1");
        let before = Affinities::now();
        let said = tune(&folder, &["apply", "--only", "irq-affinity", "--cpus", &cpus]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        wait_until("an interrupt that comes to the CPU meant", || {
            knock();
            let (_, rows) = standing(&folder);
            rows.iter().any(|row| row["note"].as_str().unwrap().contains("interrupts came there"))
        });
        let (code, rows) = standing(&folder);
        assert_eq!(code, 0, "{rows:#?}");
        for row in &rows {
            let irq = row["place"].as_str().unwrap().split('/').nth(3).unwrap().to_string();
            let list = fs::read_to_string(format!("/proc/irq/{irq}/smp_affinity_list")).unwrap();
            assert_eq!(list.trim(), cpu, "{row:#}");
        }
        println!("{}", rows[0]["note"]);
        assert_eq!(tune(&folder, &["revert"]).code, 0);
        assert_eq!(Affinities::now().0, before.0, "as before");
    }

    // All on one CPU, which the daemon will not leave as it is.
    let apply = ["apply", "--only", "irq-affinity", "--cpus", "0/0-1"];
    assert_eq!(tune(&folder, &apply).code, 0);
    let daemon = Irqbalance::start();
    wait_until("the daemon to move an interrupt, and the drift to be reported", || {
        knock();
        standing(&folder).0 == 3
    });
    drop(daemon);
    let said = tune(&folder, &["status"]);
    assert!(said.stdout.contains("DRIFTED"), "{}", said.stdout);
    let said = tune(&folder, &["revert"]);
    assert_eq!(said.code, 3, "the daemon's choice is left alone: {}", said.stdout);
    assert!(said.stdout.contains("DRIFTED"), "{}", said.stdout);
}

/// The daemon itself is a knob: while paused it leaves interrupts alone, and afterwards it resumes.
#[test]
fn a_paused_daemon_goes_on_afterwards() {
    let _turn = turn();
    must_be_root();
    let _affinities = Affinities::now();
    let folder = Folder::new("irqbalance");
    let daemon = Irqbalance::start();
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.0.id())).unwrap();
        stat.rsplit(") ").next().unwrap().chars().next().unwrap()
    };
    wait_until("the daemon to have its name", || {
        fs::read_to_string(format!("/proc/{}/comm", daemon.0.id())).unwrap().trim() == "irqbalance"
    });
    let said = tune(&folder, &["apply", "--only", "irqbalance"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(state(), 'T', "paused");
    assert_eq!(standing(&folder).0, 0);
    let said = tune(&folder, &["revert"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    wait_until("the daemon to go on", || state() != 'T');
}

/// The files that steer packets of the devices, with their contents.
fn steering() -> BTreeMap<String, String> {
    let mut all = Affinities::now().0.clone();
    for device in fs::read_dir("/sys/class/net").unwrap().flatten() {
        let Ok(queues) = fs::read_dir(device.path().join("queues")) else { continue };
        for path in queues.flatten().map(|queue| queue.path().join("xps_cpus")) {
            let Ok(mask) = fs::read_to_string(&path) else { continue };
            all.insert(path.display().to_string(), mask);
        }
    }
    all
}

/// kill -9 before every system call that changes anything, on queues of real interrupts.
#[test]
fn steering_of_a_real_device_can_be_killed_at_every_step() {
    let _turn = turn();
    must_be_root();
    let (_affinities, folder) = (Affinities::now(), Folder::new("steering"));
    let (before, program) = (steering(), env!("CARGO_BIN_EXE_ceiling"));
    let mut step = 0;
    loop {
        let mut apply = Command::new(program);
        apply.args(["tune", "apply", "--only", "irq-affinity,xps", "--cpus", "1/0"]);
        apply.env("CEILING_TUNE_JOURNAL", folder.file("journal")).env("CEILING_RUNS", "none");
        apply.stdout(Stdio::null()).stderr(Stdio::null());
        let end = signal_at(&mut apply, program, libc::SIGKILL, step);
        if end == End::Earlier(0) {
            assert_ne!(steering(), before, "applied at last");
        }
        let reverted = tune(&folder, &["revert"]);
        assert_eq!(reverted.code, 0, "step {step}: {}{}", reverted.stdout, reverted.stderr);
        assert_eq!(steering(), before, "killed at step {step}");
        assert_eq!(open_transactions(&folder.file("journal")), 0, "killed at step {step}");
        match end {
            End::Hit(None) => step += 1,
            End::Earlier(0) => break,
            other => panic!("step {step}: {other:?}"),
        }
    }
    assert_eq!(standing(&folder), (0, vec![]));
    println!("apply was killed at each of {step} steps");
    assert!(step > 15, "only {step} steps: nothing was traced");
}
