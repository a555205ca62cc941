//! Changes that are read or put back from another namespace, or while a device is being set up
//! again.

use super::{Ground, fates};
use crate::apply::{ApplyOptions, Disruption, apply};
use crate::error::TuneError;
use crate::guard::{Watched, extend, guard};
use crate::host::{Host, Wish};
use crate::plan::{Planned, plan};
use crate::revert::{Which, revert};
use crate::status::{drift, standing, status};
use crate::{Change, DriverSetting, Durable, Form, Place, Seen, export};
use model::tuning::{Fate, Row};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const HERE: &str = "net:[11]";
const THERE: &str = "net:[22]";
const ALL_PIDS: &str = "pid:[4026531836]";
const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
const FLOWS: &str = "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt";
const RINGS: &str = "/ethtool/eth0/rings";
const INDEX: &str = "/sys/class/net/eth0/ifindex";

/// The host from one of its network namespaces.
fn within(ground: &Ground, namespace: &str) -> Host {
    let (namespace, pid_namespace) = (namespace.to_string(), ALL_PIDS.to_string());
    Host { namespace, pid_namespace, ..ground.host() }
}

fn lives(ground: &Ground, pid: u32, namespace: &str) {
    let folder = ground.host().root.path(format!("/proc/{pid}/ns"));
    fs::create_dir_all(&folder).unwrap();
    symlink(namespace, folder.join("net")).unwrap();
}

fn put_back(ground: &Ground, host: &Host) -> Vec<Row> {
    revert(host, &ground.journal(), &Which::All, &mut |_| {}).unwrap()
}

fn apply_only(ground: &Ground, host: &Host, only: &[&str]) {
    let only = only.iter().map(|id| (*id).to_string()).collect();
    let planned = plan(host, &Wish { only, ..Wish::default() }, None);
    let done =
        apply(host, &ground.journal(), &planned, &ApplyOptions::default(), &mut |_| {}).unwrap();
    assert!(done.rows.iter().any(|row| row.fate == Fate::Applied), "{done:?}");
}

/// A host with the two knobs of the whole host that have files of the network.
fn ground() -> Ground {
    let ground = Ground::new();
    ground.made.write(BACKLOG, "1000");
    ground.made.write("/proc/sys/net/core/rps_sock_flow_entries", "0");
    lives(&ground, 1, HERE);
    ground
}

#[test]
fn a_value_of_the_host_is_not_gone_where_its_file_is_not_shown() {
    let ground = ground();
    apply_only(&ground, &within(&ground, HERE), &["T25", "T6"]);
    let (backlog, flows) = (ground.text(BACKLOG), ground.text(FLOWS));
    assert_ne!((backlog.as_str(), flows.as_str()), ("1000", "0"));

    // In another namespace there is no backlog, and the device of the same name is another one.
    fs::remove_file(ground.host().root.path(BACKLOG)).unwrap();
    ground.made.write(FLOWS, "0");
    let there = within(&ground, THERE);
    let told = status(&there, &ground.journal()).unwrap();
    assert!(told.iter().all(|row| row.fate == Fate::Refused), "{told:#?}");
    assert_eq!(drift(&there, &ground.journal()).unwrap(), [], "it is not looked at from there");
    let rows = put_back(&ground, &there);
    assert!(rows.iter().all(|row| row.fate == Fate::Refused), "{rows:#?}");
    assert!(rows[0].note.contains("outside ip netns exec"), "{}", rows[0].note);

    ground.made.write(BACKLOG, &backlog).write(FLOWS, &flows);
    let rows = put_back(&ground, &within(&ground, HERE));
    assert!(rows.iter().all(|row| row.fate == Fate::Reverted), "{rows:#?}");
    assert_eq!((ground.text(BACKLOG), ground.text(FLOWS)), ("1000".into(), "0".into()));
}

#[test]
fn a_namespace_ends_only_where_all_processes_are_seen() {
    let ground = ground();
    lives(&ground, 2, THERE);
    let there = within(&ground, THERE);
    apply_only(&ground, &there, &["T25"]);
    fs::remove_dir_all(ground.host().root.path("/proc/2")).unwrap();
    let here = within(&ground, HERE);
    let of_a_container = Host { pid_namespace: "pid:[7]".to_string(), ..here.clone() };
    assert_eq!(fates(&put_back(&ground, &of_a_container)), [Fate::Refused]);
    assert_eq!(fates(&put_back(&ground, &here)), [Fate::Gone]);
    assert_eq!(standing(&here, &ground.journal()).unwrap(), []);
}

#[test]
fn a_file_of_the_whole_host_is_taken_whoever_changed_it() {
    let ground = ground();
    lives(&ground, 2, THERE);
    apply_only(&ground, &within(&ground, HERE), &["T25", "T29"]);
    ground.made.write(BACKLOG, "1000").write(super::SOMAXCONN, "4096");
    let planned = plan(&within(&ground, THERE), &wish_of(&["T25", "T29"]), None);
    let there = within(&ground, THERE);
    let done = apply(&there, &ground.journal(), &planned, &ApplyOptions::default(), &mut |_| {});
    let Err(TuneError::Refused { rows }) = done else { panic!("{done:?}") };
    assert_eq!(fates(&rows), [Fate::Refused, Fate::Proposed], "one backlog, two somaxconn");
}

fn wish_of(only: &[&str]) -> Wish {
    Wish { only: only.iter().map(|id| (*id).to_string()).collect(), ..Wish::default() }
}

#[test]
fn numbers_of_processes_mean_others_in_another_pid_namespace() {
    let ground = Ground::new();
    let stat = format!("700 (irqbalance) S 1{} 4711 0 0", " 0".repeat(17));
    ground.made.write("/proc/700/stat", &stat).write("/proc/700/comm", "irqbalance");
    let host = within(&ground, HERE);
    apply_only(&ground, &host, &["T2"]);
    let inside = Host { pid_namespace: "pid:[7]".to_string(), ..within(&ground, HERE) };
    fs::rename(ground.host().root.path("/proc/700"), ground.host().root.path("/proc/9")).unwrap();
    assert_eq!(fates(&put_back(&ground, &inside)), [Fate::Refused]);
    fs::rename(ground.host().root.path("/proc/9"), ground.host().root.path("/proc/700")).unwrap();
    assert_eq!(fates(&put_back(&ground, &host)), [Fate::Reverted]);
    assert!(ground.text("/proc/700/stat").contains(") S "), "it goes on");
}

#[test]
fn a_quota_is_not_gone_where_no_control_groups_are_mounted() {
    let ground = Ground::new();
    let mounts = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    ground.made.write("/proc/self/mountinfo", mounts).write("/proc/7/cgroup", "0::/a");
    ground.made.write("/sys/fs/cgroup/a/cpu.max", "150000 100000");
    let host = Host { servers: vec![7], ..ground.host() };
    apply_only(&ground, &host, &["T58"]);
    // As inside ip netns exec, which mounts its own /sys with nothing in it.
    let folder = ground.host().root.path("/sys/fs/cgroup/a");
    let aside = ground.host().root.path("/aside");
    fs::rename(&folder, &aside).unwrap();
    ground.made.write("/proc/self/mountinfo", "1 1 0:1 / / rw - ext4 ext4 rw");
    let rows = put_back(&ground, &ground.host());
    assert_eq!(fates(&rows), [Fate::Failed], "{rows:#?}");
    fs::rename(&aside, &folder).unwrap();
    ground.made.write("/proc/self/mountinfo", mounts);
    assert_eq!(fates(&put_back(&ground, &ground.host())), [Fate::Reverted]);
    assert_eq!(ground.text("/sys/fs/cgroup/a/cpu.max"), "150000 100000");
}

#[test]
fn a_group_of_another_namespace_is_not_gone() {
    let ground = Ground::new();
    let mounts = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    ground.made.write("/proc/self/mountinfo", mounts).write("/proc/7/cgroup", "0::/a");
    ground.made.write("/sys/fs/cgroup/a/cpu.max", "150000 100000");
    let of = |name: &str| {
        let group_namespace = name.to_string();
        Host { servers: vec![7], group_namespace, ..ground.host() }
    };
    apply_only(&ground, &of("cgroup:[1]"), &["T58"]);
    // Its own groups are mounted at the same place, and the path is none of them.
    let folder = ground.host().root.path("/sys/fs/cgroup/a");
    let aside = ground.host().root.path("/aside");
    fs::rename(&folder, &aside).unwrap();
    let told = status(&of("cgroup:[2]"), &ground.journal()).unwrap();
    assert_eq!(fates(&told), [Fate::Refused], "{told:#?}");
    assert_eq!(fates(&put_back(&ground, &of("cgroup:[2]"))), [Fate::Refused]);
    fs::rename(&aside, &folder).unwrap();
    assert_eq!(fates(&put_back(&ground, &of("cgroup:[1]"))), [Fate::Reverted]);
    assert_eq!(ground.text("/sys/fs/cgroup/a/cpu.max"), "150000 100000");
}

#[test]
fn a_mount_of_groups_that_is_covered_shows_nothing() {
    let ground = Ground::new();
    let mounts = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    ground.made.write("/proc/self/mountinfo", mounts).write("/proc/7/cgroup", "0::/a");
    ground.made.write("/sys/fs/cgroup/a/cpu.max", "150000 100000");
    apply_only(&ground, &Host { servers: vec![7], ..ground.host() }, &["T58"]);
    // As after another sysfs is mounted over /sys: the list of mounts still has the groups.
    let folder = ground.host().root.path("/sys/fs/cgroup");
    let aside = ground.host().root.path("/aside");
    fs::rename(&folder, &aside).unwrap();
    assert_eq!(fates(&put_back(&ground, &ground.host())), [Fate::Failed]);
    fs::rename(&aside, &folder).unwrap();
    assert_eq!(fates(&put_back(&ground, &ground.host())), [Fate::Reverted]);
}

#[test]
fn another_control_group_of_the_same_path_is_left_alone() {
    let version_2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    let version_1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
    for (mounts, groups, folder, file, [quota, free]) in [
        (version_2, "0::/a", "/sys/fs/cgroup/a", "cpu.max", ["150000 100000", "max 100000"]),
        (version_1, "1:cpu:/a", "/sys/fs/cgroup/cpu/a", "cpu.cfs_quota_us", ["50000", "-1"]),
    ] {
        let (ground, file) = (Ground::new(), format!("{folder}/{file}"));
        ground.made.write("/proc/self/mountinfo", mounts).write("/proc/7/cgroup", groups);
        ground.made.write(&file, quota);
        let host = Host { servers: vec![7], ..ground.host() };
        apply_only(&ground, &host, &["T58"]);
        assert_eq!(ground.text(&file), free);
        // The service starts again, in a group without a quota. The old folder is kept, so that its
        // number is not given to the new one.
        fs::rename(host.root.path(folder), host.root.path("/old")).unwrap();
        ground.made.write(&file, free);
        assert_eq!(fates(&status(&host, &ground.journal()).unwrap()), [Fate::Gone]);
        let rows = put_back(&ground, &host);
        assert_eq!(fates(&rows), [Fate::Gone], "{rows:#?}");
        assert!(rows[0].note.contains("another one is at /sys/fs/cgroup"), "{rows:#?}");
        assert_eq!(ground.text(&file), free, "not ours to write");
        assert_eq!(standing(&host, &ground.journal()).unwrap(), []);
    }
}

#[test]
fn settings_of_another_namespace_or_boot_are_not_exported_as_the_hosts() {
    let ground = ground();
    apply_only(&ground, &within(&ground, THERE), &["T29"]);
    let text = |host: &Host| {
        let settings = Durable::applied(host, &ground.journal()).unwrap();
        export(&settings, Form::Sysctl)
    };
    let own = "net/core/somaxconn = 16384";
    let there = within(&ground, THERE);
    assert!(text(&there).contains(own), "{}", text(&there));
    let not_initial = Host { is_initial_namespace: false, ..there.clone() };
    let restarted = Host { boot_id: "another".to_string(), ..there.clone() };
    for (host, why) in [
        (within(&ground, HERE), "it is of network namespace net:[22]"),
        (not_initial.clone(), "it is of network namespace net:[22]"),
        (restarted, "the host was restarted since"),
    ] {
        let told = text(&host);
        assert!(!told.contains(own) && told.contains("not here: T29"), "{told}");
        assert!(told.contains(why), "{told}");
    }
    ground.made.write(super::SOMAXCONN, "128");
    let planned = plan(&not_initial, &wish_of(&["T29"]), None);
    let told = export(&Durable::of_plan(&not_initial, &planned), Form::Sysctl);
    assert!(told.contains("not here: T29"), "{told}");
}

#[test]
fn a_namespace_that_was_not_recorded_is_not_gone() {
    let ground = ground();
    apply_only(&ground, &within(&ground, ""), &["T29"]);
    assert_eq!(fates(&put_back(&ground, &within(&ground, HERE))), [Fate::Refused]);
    assert_eq!(fates(&put_back(&ground, &within(&ground, ""))), [Fate::Reverted]);
}

/// A change of the rings of a device, and after it one that the kernel does not keep.
fn rings_and_a_failure(ground: &Ground) -> Vec<Planned> {
    ground.made.write(RINGS, "rx 256 tx 256").write(INDEX, "5");
    let mut planned = ground.planned();
    let path = super::SOMAXCONN.to_string();
    let change = planned[2].change.as_mut().unwrap();
    change.place = Place::File { path, format: crate::Format::NumberToPowerOfTwo };
    change.wanted = "1000".to_string();
    let value = "rx 256 tx 256".to_string();
    planned[0].row.place = "eth0 rings".to_string();
    planned[0].change = Some(Change {
        place: Place::Ethtool { device: "eth0".to_string(), setting: DriverSetting::Rings },
        wanted: "rx 512 tx 512".to_string(),
        seen: Seen { raw: value.clone(), value },
    });
    planned
}

/// Applies it while the driver stops responding once the rings are set, or the device goes.
fn interrupted_by(ground: &Ground, goes: &[&str]) -> (TuneError, Vec<Row>) {
    let planned = rings_and_a_failure(ground);
    let host = ground.host();
    let mut tell = |row: &Row| {
        if row.fate == Fate::Applied {
            goes.iter().for_each(|file| drop(fs::remove_file(host.root.path(file))));
        }
    };
    let done = apply(&host, &ground.journal(), &planned, &ApplyOptions::default(), &mut tell);
    let error = done.unwrap_err();
    let TuneError::RolledBack { rows, left, moved, .. } = &error else { panic!("{error}") };
    assert_eq!((*left, *moved), (1, 0), "{rows:#?}");
    let rows = rows.clone();
    (error, rows)
}

#[test]
fn a_device_that_does_not_respond_for_a_moment_stays_to_be_put_back() {
    let ground = Ground::new();
    let (error, rows) = interrupted_by(&ground, &[RINGS]);
    assert_eq!(rows[0].fate, Fate::Failed, "{rows:#?}");
    assert!(error.leaves_something() && error.to_string().contains("tries again"), "{error}");
    assert_eq!(fates(&put_back(&ground, &ground.host())), [Fate::Failed], "still not");
    assert_eq!(standing(&ground.host(), &ground.journal()).unwrap().len(), 1);
    ground.made.write(RINGS, "rx 512 tx 512");
    assert_eq!(fates(&put_back(&ground, &ground.host())), [Fate::Reverted]);
    assert_eq!(ground.text(RINGS), "rx 256 tx 256");
}

#[test]
fn what_goes_right_after_we_wrote_to_it_is_left_and_looked_at_again() {
    let ground = Ground::new();
    let (_, rows) = interrupted_by(&ground, &[RINGS, INDEX]);
    assert_eq!(rows[0].fate, Fate::Gone);
    assert_eq!(standing(&ground.host(), &ground.journal()).unwrap().len(), 1);
    assert_eq!(fates(&put_back(&ground, &ground.host())), [Fate::Gone]);
    assert_eq!(standing(&ground.host(), &ground.journal()).unwrap(), []);
}

#[test]
fn another_device_of_the_same_name_is_left_alone_and_a_renamed_one_is_reported() {
    let ground = Ground::new();
    ground.made.write(INDEX, "5");
    ground.apply().unwrap();
    ground.made.write(INDEX, "6");
    let told = status(&ground.host(), &ground.journal()).unwrap();
    assert_eq!(fates(&told), [Fate::Gone, Fate::Gone, Fate::Applied]);
    ground.made.write("/sys/class/net/wan0/ifindex", "5");
    let rows = put_back(&ground, &ground.host());
    assert_eq!(fates(&rows), [Fate::Reverted, Fate::Refused, Fate::Refused]);
    assert!(rows[1].note.contains("eth0 is called wan0 now"), "{}", rows[1].note);
    fs::remove_dir_all(ground.host().root.path("/sys/class/net/wan0")).unwrap();
    assert_eq!(fates(&put_back(&ground, &ground.host())), [Fate::Gone, Fate::Gone]);
    assert_eq!(ground.values()[0], "0000000f", "not ours to write");
}

#[test]
fn a_device_that_cannot_be_looked_up_is_not_changed() {
    let ground = Ground::new();
    // Reading a folder fails, and not because there is none.
    fs::create_dir_all(ground.host().root.path(INDEX)).unwrap();
    let done = ground.apply();
    let Err(TuneError::RolledBack { rows, left, .. }) = done else { panic!("{done:?}") };
    assert_eq!((rows[0].fate, left), (Fate::Failed, 0), "{rows:#?}");
    assert!(rows[0].note.starts_with("eth0 is not known: "), "{}", rows[0].note);
    assert_eq!(ground.values(), super::BEFORE);
    assert_eq!(standing(&ground.host(), &ground.journal()).unwrap(), []);
}

#[test]
fn the_watchdog_waits_for_a_device_that_is_being_set_up_again() {
    let ground = Ground::new();
    ground.made.write(RINGS, "rx 256 tx 256").write("/ethtool/eth0/rings.most", "rx 512 tx 512");
    ground.made.write(INDEX, "5");
    let (host, journal) = (ground.host(), ground.journal());
    let planned = plan(&host, &wish_of(&["T17"]), None);
    let watch = |_: &str| Ok(());
    let deadline = Some(Duration::from_secs(60));
    let disruption = Disruption::Allowed;
    let options =
        ApplyOptions { deadline, disruption, watch: Some(&watch), ..ApplyOptions::default() };
    let applied = apply(&host, &journal, &planned, &options, &mut |_| {}).unwrap();
    assert_eq!(fates(&applied.rows), [Fate::Applied]);
    extend(&host, &journal, &applied.transaction, Duration::from_millis(100)).unwrap();
    let response = ground.text(RINGS);
    fs::remove_file(host.root.path(RINGS)).unwrap();
    let go_on = AtomicBool::new(false);
    let watched = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(400));
            ground.made.write(RINGS, &response);
        });
        guard(&host, &journal, &applied.transaction, &go_on, &mut || {}).unwrap()
    });
    let Watched::PutBack(rows) = watched else { panic!("{watched:?}") };
    assert_eq!(fates(&rows), [Fate::Reverted]);
    assert_eq!(ground.text(RINGS), "rx 256 tx 256");
}
