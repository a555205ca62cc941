//! Where a value is, and how it is read and written.
//!
//! Values are compared by meaning: the kernel strips zeros, adds them, rounds, and shows choices in
//! brackets. Each place therefore has a *normalised* value, a text that is equal when the meaning
//! is, and can turn it into the bytes to write.

pub mod daemon;
pub mod ethtool;
mod file;
pub mod group;
mod limits;
pub mod masks;
pub mod qdisc;
pub mod threads;
pub mod timer;

pub use ethtool::DriverSetting;
pub use file::Format;

use crate::host::Host;
use crate::process::{self, Stat};
use model::facts::Unreadable;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// A place that holds a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Place {
    /// A file of the kernel.
    File {
        /// Absolute path on the host.
        path: String,
        /// Its content.
        format: Format,
    },
    /// The limit of open files of a running process: `soft hard`.
    OpenFiles {
        /// The process.
        pid: u32,
        /// When it started, in clock ticks since the boot: tells it from a later one with the same
        /// pid.
        started_ticks: u64,
    },
    /// A setting of a network driver.
    Ethtool {
        /// Name of the device.
        device: String,
        /// Which setting.
        setting: DriverSetting,
    },
    /// The queueing discipline at the root of a device.
    Qdisc {
        /// Name of the device.
        device: String,
    },
    /// CPUs that all threads of a process may use.
    Threads {
        /// The process.
        pid: u32,
        /// When it started, ticks since the boot.
        started_ticks: u64,
    },
    /// CPUs of each thread of a process and its children, while they are kept on fewer.
    Masks {
        /// The process at the top.
        pid: u32,
        /// When it started, ticks since the boot.
        started_ticks: u64,
        /// List of the CPUs that they are kept on.
        to: String,
        /// What each of them had.
        before: masks::Lists,
    },
    /// The CPU limit of a control group of version 2.
    CpuMax {
        /// Its folder.
        folder: String,
        /// Inode of that folder, which another group of the same name does not have.
        inode: u64,
    },
    /// The control group of version 1 that a process and its children are in.
    Group {
        /// The process at the top.
        pid: u32,
        /// When it started, ticks since the boot.
        started_ticks: u64,
        /// Folder of the group they were in.
        from: String,
        /// Folder of the group that is made for them.
        made: String,
    },
    /// Control groups made for a server that is started in them.
    ForServer {
        /// Their folders, one in each hierarchy that limits it.
        folders: Vec<String>,
    },
    /// Whether a daemon runs or is paused.
    Daemon {
        /// Its name.
        name: String,
        /// Its process; zero when there is none.
        pid: u32,
        /// When it started, ticks since the boot.
        started_ticks: u64,
    },
    /// Whether a timer of systemd waits for its times.
    Timer {
        /// Its unit; empty when there is none.
        unit: String,
    },
}

/// Why a place cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The system refuses.
    #[error("{place}: {}", meaning(.error))]
    Io {
        /// The place, as shown.
        place: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The place holds another kind of value than the expected one.
    #[error("{place}: {why}")]
    Value {
        /// The place, as shown.
        place: String,
        /// The fault.
        why: String,
    },
}

/// What the errors of these files mean, which the names of the errors do not say.
fn meaning(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EIO) => "the kernel manages this interrupt itself and does not let it be moved",
        Some(libc::EOVERFLOW) => "the mask names CPUs that this kernel cannot have",
        Some(libc::EROFS) => "the file system is read-only, as in a container; use the host",
        Some(libc::EACCES | libc::EPERM) => "not allowed; it needs root on the host",
        Some(libc::ENODEV) => "the device is gone",
        Some(libc::EOPNOTSUPP) => "the driver cannot do this",
        _ => return error.to_string(),
    };
    format!("{why} ({error})")
}

impl PlaceError {
    /// Why, without the place.
    pub fn why(&self) -> String {
        match self {
            Self::Io { error, .. } => meaning(error),
            Self::Value { why, .. } => why.clone(),
        }
    }
}

/// The process of a place, if it still runs. One that cannot be read may run, which is an error.
fn same(
    host: &Host,
    (pid, started_ticks): (u32, u64),
    place: impl Fn() -> String,
) -> Result<Option<Stat>, PlaceError> {
    process::same(&host.root, pid, started_ticks).map_err(|why| unreadable(place(), why))
}

fn unreadable(place: String, why: Unreadable) -> PlaceError {
    PlaceError::Value { place, why: sentence(why) }
}

/// What could not be read, in a sentence.
pub(crate) fn sentence(error: Unreadable) -> String {
    format!("{}: {}", error.source, error.why)
}

/// How many times a driver is read again after a write, [`PAUSE`] apart.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// Control groups, at the place where all hosts have them, though not all containers.
const GROUPS: &str = "/sys/fs/cgroup/";

/// Files of the network, which belong to one namespace.
const NETWORK_FILES: &[&str] = &["/proc/sys/net/", "/sys/class/net/"];

/// Folders with files of knobs. `/proc/PID/root` leads to every file, so `/proc` as a whole is not
/// one of them.
const FOLDERS: &[&str] = &[
    "/proc/sys/",
    "/proc/irq/",
    "/sys/class/net/",
    "/sys/devices/system/",
    GROUPS,
    "/sys/kernel/mm/",
    "/sys/module/",
];

fn is_of_the_kernel(path: &str) -> bool {
    let is_below = FOLDERS.iter().any(|folder| path.starts_with(folder));
    is_below && !path.split('/').any(|part| part == "..") && !path.contains('\0')
}

/// A value as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The bytes, as text.
    pub raw: String,
    /// The meaning.
    pub value: String,
}

impl Place {
    /// A file of the kernel.
    pub fn file(path: impl Into<String>, format: Format) -> Self {
        Self::File { path: path.into(), format }
    }

    /// The network device it belongs to, when it belongs to one.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } => path.strip_prefix("/sys/class/net/")?.split('/').next(),
            Self::Ethtool { device, .. } | Self::Qdisc { device } => Some(device),
            _ => None,
        }
    }

    /// The number of the queue it belongs to, from `queues/rx-7/` in its path.
    pub fn queue(&self) -> Option<u32> {
        let Self::File { path, .. } = self else { return None };
        let (_, queue) = path.split_once("/queues/")?;
        queue.split('/').next()?.split_once('-')?.1.parse().ok()
    }

    /// A file with one integer.
    pub fn number(path: impl Into<String>) -> Self {
        Self::File { path: path.into(), format: Format::Number }
    }

    /// The limit of open files of a process; nothing when it is gone.
    pub fn open_files(host: &Host, pid: u32) -> Option<Self> {
        let started_ticks = process::stat_on(&host.root, pid).ok()?.started_ticks;
        Some(Self::OpenFiles { pid, started_ticks })
    }

    /// Reads it. Nothing when it does not exist on this host.
    pub fn read(&self, host: &Host) -> Result<Option<Seen>, PlaceError> {
        match self {
            Self::File { path, format } => file::read(host, path, format),
            Self::Ethtool { device, setting } => ethtool::read(host, device, setting),
            Self::Qdisc { device } => qdisc::read(host, device),
            Self::Threads { pid, started_ticks } => threads::read(host, (*pid, *started_ticks)),
            Self::CpuMax { folder, inode } => group::read_limit(host, folder, *inode),
            Self::Masks { .. } => self.masks().map_or(Ok(None), |masks| masks.read(host)),
            Self::Group { .. } => self.moved().map_or(Ok(None), |moved| moved.read(host)),
            Self::ForServer { folders } => group::ForServer(folders).read(host),
            Self::Daemon { name, pid, started_ticks } => {
                daemon::read(host, name, (*pid, *started_ticks))
            }
            Self::OpenFiles { pid, started_ticks } => limits::read(host, *pid, *started_ticks),
            Self::Timer { unit } => timer::read(host, unit),
        }
    }

    /// Whether two of its values mean the same, on any host.
    pub(crate) fn is_same(&self, one: &str, two: &str) -> bool {
        let is_alike = |setting| ethtool::are_alike(setting, one, two);
        one == two || matches!(self, Self::Ethtool { setting, .. } if is_alike(setting))
    }

    /// Whether two of its values are the same to the kernel of this host.
    pub(crate) fn are_alike(&self, host: &Host, one: &str, two: &str) -> bool {
        self.is_same(one, two)
            || matches!(self, Self::Threads { .. }) && threads::are_alike(host, one, two)
    }

    /// Reads it right after a write, and waits for a driver that is setting its device up again.
    pub(crate) fn read_back(&self, host: &Host) -> Result<Option<Seen>, PlaceError> {
        for _ in 0..TRIES {
            match self.read(host) {
                Err(_) if matches!(self, Self::Ethtool { .. }) => thread::sleep(PAUSE),
                done => return done,
            }
        }
        self.read(host)
    }

    /// Writes a normalised value in the width or notation of the current one.
    pub fn write(&self, host: &Host, value: &str, now: &Seen) -> Result<(), PlaceError> {
        match self {
            Self::File { path, format } => file::write(host, path, &format.bytes(value, &now.raw)),
            Self::Ethtool { device, setting } => ethtool::write(host, device, setting, value),
            Self::Qdisc { device } => qdisc::write(host, device, value),
            Self::Threads { pid, started_ticks } => {
                threads::write(host, (*pid, *started_ticks), value)
            }
            Self::CpuMax { folder, inode } => group::write_limit(host, folder, *inode, value),
            Self::Masks { .. } => self.masks().map_or(Ok(()), |masks| masks.write(host, value)),
            Self::Group { .. } => self.moved().map_or(Ok(()), |moved| moved.write(host, value)),
            Self::ForServer { folders } => group::ForServer(folders).write(host, value),
            Self::Daemon { name, pid, started_ticks } => {
                daemon::write(host, name, (*pid, *started_ticks), value)
            }
            Self::OpenFiles { pid, started_ticks } => {
                limits::write(host, *pid, *started_ticks, value)
            }
            Self::Timer { unit } => timer::write(host, unit, value),
        }
    }

    /// What a value reads as once the kernel has taken it.
    pub fn settles_to(&self, value: &str) -> String {
        match self {
            Self::File { format, .. } => format.settles_to(value),
            Self::Threads { .. } => Format::List.settles_to(value),
            _ => value.to_string(),
        }
    }

    /// Whether it could be written, without writing it.
    pub fn check_writable(&self, host: &Host) -> Result<(), PlaceError> {
        match self {
            Self::File { path, .. } => file::check_writable(host, path),
            // The others report it when they are written.
            _ => Ok(()),
        }
    }

    /// Whether this program writes to such a place: a journal is checked, not trusted.
    pub(crate) fn check_sound(&self) -> Result<(), String> {
        match self {
            Self::File { path, .. } if !is_of_the_kernel(path) => {
                Err(format!("'{path}' is not a file of the kernel"))
            }
            Self::CpuMax { folder, .. } => group::check_path(folder),
            Self::Group { from, made, .. } => group::check_made(from, made),
            Self::ForServer { folders } => group::check_for_server(folders),
            Self::Masks { .. } => self.masks().map_or(Ok(()), |masks| masks.check()),
            Self::Timer { unit } => timer::check(unit),
            _ => Ok(()),
        }
    }

    fn masks(&self) -> Option<masks::Masks<'_>> {
        let Self::Masks { pid, started_ticks, to, before } = self else { return None };
        Some(masks::Masks { pid: *pid, started_ticks: *started_ticks, to, before })
    }

    fn moved(&self) -> Option<group::Move<'_>> {
        let Self::Group { pid, from, made, .. } = self else { return None };
        Some(group::Move { pid: *pid, from, made })
    }

    /// The folder of its control group, when it is a file of one.
    pub(crate) fn group_of_file(&self) -> Option<&Path> {
        let path = self.path().filter(|path| path.starts_with(GROUPS))?;
        Path::new(path).parent()
    }

    /// Whether a change of one changes the other, too.
    pub(crate) fn overlaps(&self, host: &Host, other: &Self) -> bool {
        match (self, other) {
            (Self::File { path, .. }, Self::CpuMax { folder, .. })
            | (Self::CpuMax { folder, .. }, Self::File { path, .. }) => {
                *path == group::show_limit(folder)
            }
            // The tree is limited by the group that is made, and by the one above it.
            (Self::File { path, .. }, Self::Group { from, made, .. })
            | (Self::Group { from, made, .. }, Self::File { path, .. }) => {
                [from, made].iter().any(|folder| *path == group::quota_of(folder))
            }
            (Self::Masks { .. }, Self::Threads { pid, started_ticks }) => {
                self.masks().is_some_and(|masks| masks.covers(host, (*pid, *started_ticks)))
            }
            (Self::Threads { .. }, Self::Masks { .. }) => other.overlaps(host, self),
            _ => self == other,
        }
    }

    /// Files or folders of the control groups that it is in, when it is in any.
    pub(crate) fn in_control_groups(&self) -> &[String] {
        use std::slice::from_ref;
        match self {
            Self::File { path, .. } if path.starts_with(GROUPS) => from_ref(path),
            Self::CpuMax { folder, .. } => from_ref(folder),
            Self::Group { from, .. } => from_ref(from),
            Self::ForServer { folders } => folders,
            _ => &[],
        }
    }

    /// The file, when it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Whether it belongs to one network namespace: in another it is absent or a different file.
    pub(crate) fn is_of_network_namespace(&self) -> bool {
        let is_below = |path: &str| NETWORK_FILES.iter().any(|folder| path.starts_with(folder));
        self.device().is_some() || self.path().is_some_and(is_below)
    }

    /// The process it belongs to and the start of that process, when it belongs to one.
    pub(crate) fn process(&self) -> Option<(u32, u64)> {
        match self {
            Self::OpenFiles { pid, started_ticks }
            | Self::Threads { pid, started_ticks }
            | Self::Masks { pid, started_ticks, .. }
            | Self::Group { pid, started_ticks, .. }
            | Self::Daemon { pid, started_ticks, .. } => Some((*pid, *started_ticks)),
            _ => None,
        }
    }

    /// Whether it means something else in another PID namespace: a process, or what process 1 does.
    pub(crate) fn is_of_pid_namespace(&self) -> bool {
        self.process().is_some() || matches!(self, Self::Timer { .. })
    }

    /// This place of another process, for values that a process passes on to its children.
    pub(crate) fn of_heir(&self, pid: u32, started_ticks: u64) -> Option<Self> {
        match self {
            Self::OpenFiles { .. } => Some(Self::OpenFiles { pid, started_ticks }),
            Self::Threads { .. } => Some(Self::Threads { pid, started_ticks }),
            _ => None,
        }
    }

    /// Whether it is a file of network devices below `/sys`, which shows the devices of its mount.
    pub(crate) fn is_in_sys_of_devices(&self) -> bool {
        self.path().is_some_and(|path| path.starts_with("/sys/class/net/"))
    }

    /// As shown to people.
    pub fn show(&self) -> String {
        match self {
            Self::File { path, .. } => path.clone(),
            Self::Ethtool { device, setting } => ethtool::show(device, setting),
            Self::Qdisc { device } => qdisc::show(device),
            Self::Threads { pid, .. } => threads::show(*pid),
            Self::Daemon { name, pid, .. } => daemon::show(name, *pid),
            Self::Timer { unit } => timer::show(unit),
            Self::OpenFiles { pid, .. } => limits::shown(*pid),
            Self::Masks { pid, .. } => masks::show(*pid),
            Self::CpuMax { folder, .. } => group::show_limit(folder),
            Self::Group { pid, from, .. } => group::show_group(*pid, from),
            Self::ForServer { folders } => group::ForServer(folders).show(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_outlives_the_process_that_names_it() {
        let device = || "eth0".to_string();
        let feature = DriverSetting::Feature("rx-gro".to_string());
        let all = [
            Place::file("/proc/irq/7/smp_affinity_list", Format::List),
            Place::Ethtool { device: device(), setting: DriverSetting::Rings },
            Place::Ethtool { device: device(), setting: feature },
            Place::Qdisc { device: device() },
            Place::Threads { pid: 7, started_ticks: 9 },
            Place::Daemon { name: "irqbalance".to_string(), pid: 7, started_ticks: 9 },
            Place::Timer { unit: "fstrim.timer".to_string() },
        ];
        for place in all {
            let text = serde_json::to_string(&place).unwrap();
            assert_eq!(serde_json::from_str::<Place>(&text).unwrap(), place, "{text}");
        }
    }

    #[test]
    fn no_way_leads_out_of_the_folders_of_the_kernel() {
        let is_sound = |path: &str| Place::number(path).check_sound().is_ok();
        // Every process has links to its root and to its working directory.
        for link in ["root", "cwd"] {
            for of in ["self", "1", "thread-self"] {
                let path = format!("/proc/{of}/{link}/etc/shadow");
                assert!(!is_sound(&path), "{path}");
            }
        }
        for path in [
            "/proc/self/mem",
            "/proc/sys/../../etc/shadow",
            "/proc/sysrq-trigger",
            "/sys/power/state",
            "/etc/shadow",
            "proc/sys/vm/swappiness",
            "/proc/sys",
        ] {
            assert!(!is_sound(path), "{path}");
        }
        for knob in crate::REGISTRY {
            let crate::Act::Settable { places, .. } = knob.act else { continue };
            let made = crate::testing::MadeUp::c6i_2xlarge();
            let mut host = made.host();
            host.servers = vec![700];
            for place in places(&host, &crate::Wish::default()) {
                assert_eq!(place.check_sound(), Ok(()), "{}", knob.id);
            }
        }
    }

    #[test]
    fn the_quota_of_a_group_and_what_an_experiment_does_to_the_group_overlap() {
        let host = crate::testing::MadeUp::new("overlap", 2).host();
        let folder = "/sys/fs/cgroup/cpu/a".to_string();
        let limit = Place::CpuMax { folder: folder.clone(), inode: 1 };
        let word = |path: &str| Place::file(path, Format::Word);
        let made = format!("{folder}/ceiling-7");
        let moved = Place::Group { pid: 7, started_ticks: 9, from: folder, made };
        let quota = |group: &str| Place::number(format!("{group}/cpu.cfs_quota_us"));
        for (one, other, is_met) in [
            (&limit, word("/sys/fs/cgroup/cpu/a/cpu.max"), true),
            (&limit, word("/sys/fs/cgroup/cpu/a/b/cpu.max"), false),
            (&limit, word("/sys/fs/cgroup/cpu/a/cpu.weight"), false),
            (&moved, quota("/sys/fs/cgroup/cpu/a"), true),
            (&moved, quota("/sys/fs/cgroup/cpu/a/ceiling-7"), true),
            (&moved, quota("/sys/fs/cgroup/cpu"), false),
            (&moved, moved.clone(), true),
        ] {
            assert_eq!(one.overlaps(&host, &other), is_met, "{one:?} {other:?}");
            assert_eq!(other.overlaps(&host, one), is_met, "{other:?} {one:?}");
        }
    }

    #[test]
    fn the_device_and_the_queue_of_a_file_are_in_its_path() {
        let place = Place::file("/sys/class/net/eth0/queues/rx-12/rps_cpus", Format::Mask);
        assert_eq!((place.device(), place.queue()), (Some("eth0"), Some(12)));
        let place = Place::file("/proc/sys/net/core/somaxconn", Format::Number);
        assert_eq!((place.device(), place.queue()), (None, None));
    }
}
