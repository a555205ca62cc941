//! Knobs of the kernel against this kernel: every place is written, read back and put back.
//!
//! Needs root. Settings of a namespace are changed in a new namespace. For settings of the whole
//! host the test writes the current value, and another one only where it has no effect on others.

use crate::namespace::with_four_queues;
use crate::shared::{PutBack, turn};
use model::root::Root;
use model::tuning::Scope;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command};
use tune::{Act, Ask, Format, Host, Knob, Place, Profile, Proposal, REGISTRY, Wish};

/// A process that does nothing, killed with the test.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("run sleep"))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Knobs of the kernel, of processes and of hosts, without those of devices.
fn knobs(scope: Scope) -> impl Iterator<Item = &'static Knob> {
    let number = |knob: &Knob| knob.id[1..].parse::<u32>().unwrap();
    let ours = move |knob: &&Knob| knob.scope == scope && number(knob) >= 25;
    REGISTRY.iter().copied().filter(ours)
}

fn places(knob: &Knob, host: &Host) -> Vec<Place> {
    match &knob.act {
        Act::Settable { places, .. } => places(host, &Wish::default()),
        Act::Advice { .. } => Vec::new(),
    }
}

/// What each profile would set at a place that has this value.
fn proposals(knob: &Knob, host: &Host, place: &Place, index: usize, now: &str) -> Vec<String> {
    let Act::Settable { propose, .. } = &knob.act else { return Vec::new() };
    let of = |profile| {
        let wish = Wish { profile, ..Wish::default() };
        let count = index + 1;
        match propose(&Ask { host, wish: &wish, place, index, count, now }) {
            Proposal::Set(value) => Some(value),
            Proposal::Leave(_) | Proposal::Refuse(_) => None,
        }
    };
    Profile::ALL.into_iter().filter_map(of).collect()
}

/// Another value that the kernel accepts at the place.
fn another(place: &Place, now: &str) -> String {
    let path = place.show();
    let has = |name: &str| path.ends_with(name);
    let number = |word: &str| word.parse::<u64>().unwrap();
    if has("ip_local_port_range") {
        return "20000 50001".to_string();
    }
    if has("tcp_congestion_control") {
        // A namespace accepts only what the first one allowed.
        let all = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
        let all = fs::read_to_string(all).unwrap();
        return all.split_whitespace().find(|word| *word != now).unwrap_or(now).to_string();
    }
    if matches!(place, Place::File { format: Format::Numbers, .. }) {
        let mut numbers: Vec<&str> = now.split(' ').collect();
        let last = (number(numbers.pop().unwrap()) + 4096).to_string();
        numbers.push(&last);
        return numbers.join(" ");
    }
    // Switches go from one to zero; the others have room on both sides.
    match number(now) {
        0 => "1".to_string(),
        now => (now - 1).to_string(),
    }
}

fn value(place: &Place, host: &Host) -> String {
    place.read(host).unwrap().unwrap().value
}

#[test]
fn what_belongs_to_a_namespace_is_changed_and_put_back_byte_for_byte() {
    with_four_queues(|| {
        let host = Host::look(Root::default());
        assert!(!host.is_initial_namespace, "{}", host.namespace);
        let (mut changed, mut refused, mut absent) = (BTreeSet::new(), Vec::new(), Vec::new());
        for knob in knobs(Scope::Namespace) {
            for (index, place) in places(knob, &host).iter().enumerate() {
                let Some(before) = place.read(&host).unwrap() else {
                    absent.push(place.show());
                    continue;
                };
                let wanted = another(place, &before.value);
                if let Err(why) = place.write(&host, &wanted, &before) {
                    refused.push(why.to_string());
                    assert_eq!(value(place, &host), before.value, "nothing half done");
                    continue;
                }
                assert_eq!(value(place, &host), place.settles_to(&wanted), "{}", place.show());
                assert_ne!(value(place, &host), before.value, "{}", place.show());
                for wanted in proposals(knob, &host, place, index, &before.value) {
                    if let Err(why) = place.write(&host, &wanted, &before) {
                        panic!("{} proposes {wanted}: {why}", knob.id);
                    }
                    assert_eq!(value(place, &host), place.settles_to(&wanted), "{}", place.show());
                }
                place.write(&host, &before.value, &before).unwrap();
                assert_eq!(place.read(&host).unwrap().unwrap(), before, "{}", place.show());
                changed.insert(place.show());
            }
        }
        println!("changed {changed:#?}\nrefused {refused:#?}\nabsent {absent:#?}");
        for name in ["core/somaxconn", "ipv4/ip_local_port_range", "ipv4/tcp_rmem"] {
            assert!(changed.contains(&format!("/proc/sys/net/{name}")), "{name}");
        }
        assert!(refused.iter().all(|why| why.contains("mem_max") && why.contains("root on the")));
    });
}

/// Values of the whole host that may be one more or one less for a moment.
const HARMLESS: &[&str] = &["netdev_max_backlog", "netdev_budget", "core/dev_weight", "swappiness"];

#[test]
fn what_belongs_to_the_host_takes_the_value_it_has_and_some_another() {
    let _turn = turn();
    let host = Host::look(Root::default());
    let (mut accepted, mut refused, mut absent) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut changed = BTreeSet::new();
    for knob in knobs(Scope::Host) {
        for place in places(knob, &host) {
            let Some(before) = place.read(&host).unwrap() else {
                absent.push(place.show());
                continue;
            };
            match place.write(&host, &before.value, &before) {
                Ok(()) => {
                    assert_eq!(place.read(&host).unwrap().unwrap(), before, "{}", place.show());
                    accepted.insert(place.show());
                }
                Err(why) => refused.push(why.to_string()),
            }
            if HARMLESS.iter().any(|name| place.show().ends_with(name)) {
                let wanted = another(&place, &before.value);
                let put_back = PutBack { host: &host, place: &place, before: before.clone() };
                place.write(&host, &wanted, &before).unwrap();
                assert_eq!(value(&place, &host), wanted, "{}", place.show());
                drop(put_back);
                assert_eq!(place.read(&host).unwrap().unwrap(), before, "{}", place.show());
                changed.insert(place.show());
            }
        }
    }
    println!("accepted {accepted:#?}\nrefused {refused:#?}\nabsent {absent:#?}");
    let everywhere = ["net/core/netdev_max_backlog", "net/core/netdev_budget", "vm/swappiness"];
    for name in everywhere {
        assert!(accepted.contains(&format!("/proc/sys/{name}")), "{name}; run as root");
    }
    assert_eq!(changed.len(), HARMLESS.len(), "{changed:?}");
    assert!(refused.iter().all(|why| why.contains("smt/control")), "{refused:?}");
}

#[test]
fn open_files_of_a_process_that_runs_are_changed_and_put_back() {
    let child = Sleeper::new();
    let host = Host { servers: vec![child.0.id()], ..Host::look(Root::default()) };
    let knob = REGISTRY.iter().find(|knob| knob.name == "nofile").unwrap();
    let place = places(knob, &host).remove(0);
    let before = place.read(&host).unwrap().unwrap();
    // The hard limit stays: once lowered, raising it takes a capability.
    let (_, hard) = before.value.split_once(' ').unwrap();
    let low = format!("333 {hard}");
    place.write(&host, &low, &before).unwrap();
    assert_eq!(value(&place, &host), low);
    place.write(&host, &before.value, &before).unwrap();
    assert_eq!(place.read(&host).unwrap().unwrap(), before);
    for wanted in proposals(knob, &host, &place, 0, &low) {
        place.write(&host, &wanted, &before).unwrap();
        assert_eq!(value(&place, &host), wanted, "as many as the kernel allows");
    }
    drop(child);
    assert_eq!(place.read(&host).unwrap(), None, "the process is gone");
    assert!(place.write(&host, &before.value, &before).is_err());
}

/// A control group of version 1 or 2 with the controller of CPU time, removed with the test.
struct Group(String);

impl Group {
    /// Nothing where this host has no such hierarchy.
    fn new(pid: u32) -> Option<Self> {
        let host = format!("ceiling-tune-{}", std::process::id());
        let roots = ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"];
        let root = roots.iter().find(|root| {
            ["cpu.shares", "cgroup.controllers"]
                .iter()
                .any(|file| fs::exists(format!("{root}/{file}")).unwrap_or_default())
        })?;
        let group = Self(format!("{root}/{host}"));
        fs::create_dir(&group.0).ok()?;
        fs::write(format!("{}/cgroup.procs", group.0), pid.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn the_quota_of_a_group_is_lifted_and_put_back() {
    let child = Sleeper::new();
    let Some(group) = Group::new(child.0.id()) else {
        // Checked in another way than above, so that a fault there cannot skip its own test.
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let has_groups = mounts.lines().any(|line| {
            line.contains(" - cgroup2 ")
                || (line.contains(" - cgroup ") && line.contains("cpuacct"))
        });
        assert!(!has_groups, "control groups are mounted, and none could be made");
        println!("skipped: this host has no control groups for CPU time");
        return;
    };
    let host = Host { servers: vec![child.0.id()], ..Host::look(Root::default()) };
    let knob = REGISTRY.iter().find(|knob| knob.name == "cpu-quota").unwrap();
    let place = places(knob, &host).into_iter().find(|place| place.show().starts_with(&group.0));
    let Some(place) = place else { panic!("{} is not among the places", group.0) };
    let Some(free) = place.read(&host).unwrap() else {
        let given = fs::read_to_string(format!("{}/cgroup.controllers", group.0)).unwrap();
        assert!(!given.split_whitespace().any(|name| name == "cpu"), "{given}");
        println!("skipped: the controller is not given to groups here");
        return;
    };
    let quota = if free.value == "-1" { "50000" } else { "50000 100000" };
    place.write(&host, quota, &free).unwrap();
    assert_eq!(value(&place, &host), quota);
    let lifted = proposals(knob, &host, &place, 0, quota).remove(0);
    place.write(&host, &lifted, &free).unwrap();
    assert_eq!(place.read(&host).unwrap().unwrap(), free);
    drop(child);
}
