//! Whether this process can see a change, and put it back, from its namespaces.
//!
//! A path is another file in another namespace, and no file where nothing is mounted. So a missing
//! file counts as gone only where this process would see it if it existed.

use crate::host::Host;
use crate::journal::{Begin, Header};
use crate::link;
use crate::namespace;
use crate::place::{Place, group};
use crate::systemd;
use ::host::group::GroupFolder;
use std::fs;
use std::path::Path;

/// Where a change was made, and where we are.
pub(crate) struct Reach<'a> {
    pub(crate) host: &'a Host,
    pub(crate) header: &'a Header,
    /// Why `/sys/class/net` must not be used from here, see [`namespace::foreign_sys`].
    pub(crate) foreign: Option<&'a str>,
}

/// Why a place is not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// The place is gone, and its value with it.
    Ended(String),
    /// It may be as we left it, but this process cannot see it.
    Hidden(String),
}

impl Reach<'_> {
    pub(crate) fn is_earlier_boot(&self) -> bool {
        self.header.boot_id != self.host.boot_id
    }

    /// Why this process cannot see a change; none when its place can be read.
    pub(crate) fn elsewhere(&self, begin: &Begin) -> Option<Elsewhere> {
        let hidden = |why: &str| Some(Elsewhere::Hidden(why.to_string()));
        if self.host.boot_id.is_empty() {
            return hidden("/proc is not readable here, so nothing is known about this host");
        }
        if !self.is_earlier_boot() {
            let place = &begin.place;
            let elsewhere = self.of_network(place).or_else(|| self.of_pids(place));
            let elsewhere = elsewhere.or_else(|| self.of_groups(place));
            if elsewhere.is_some() {
                return elsewhere;
            }
        }
        if let Some(why) = self.foreign.filter(|_| begin.place.is_in_sys_of_devices()) {
            return hidden(why);
        }
        self.of_device(begin).or_else(|| self.of_group(begin))
    }

    /// Files below `/proc/sys/net` and settings of a device, whatever the scope of their knob: some
    /// of them exist only in the namespace in which they were written.
    fn of_network(&self, place: &Place) -> Option<Elsewhere> {
        let namespace = &self.header.namespace;
        if !place.is_of_network_namespace() || *namespace == self.host.namespace {
            return None;
        }
        if namespace.is_empty() {
            let why =
                "its network namespace is not known: it could not be read when it was changed";
            return Some(Elsewhere::Hidden(why.to_string()));
        }
        if !namespace::is_alive(&self.host.root, &self.host.pid_namespace, namespace) {
            let why = "its network namespace is gone: no process and no name refers to it; its \
                       values are gone too";
            return Some(Elsewhere::Ended(why.to_string()));
        }
        let how = if self.is_of_host(namespace) {
            "the host's own: revert outside ip netns exec"
        } else {
            "revert there: ip netns exec NAME ceiling tune revert (of a process: first ip netns \
             attach NAME PID)"
        };
        Some(Elsewhere::Hidden(format!("it belongs to network namespace {namespace}; {how}")))
    }

    fn is_of_host(&self, namespace: &str) -> bool {
        let host = namespace::of_host(&self.host.root, &self.host.pid_namespace);
        host.as_deref() == Some(namespace)
    }

    fn of_pids(&self, place: &Place) -> Option<Elsewhere> {
        let namespace = &self.header.pid_namespace;
        let is_other = !namespace.is_empty() && *namespace != self.host.pid_namespace;
        (is_other && place.is_of_pid_namespace()).then(|| {
            Elsewhere::Hidden(format!(
                "its process is of PID namespace {namespace}, where pids mean other processes \
                 than here; revert there"
            ))
        })
    }

    fn of_groups(&self, place: &Place) -> Option<Elsewhere> {
        let namespace = &self.header.group_namespace;
        let is_other = !namespace.is_empty() && *namespace != self.host.group_namespace;
        (is_other && !place.in_control_groups().is_empty()).then(|| {
            Elsewhere::Hidden(format!(
                "its control group is of namespace {namespace}, where paths mean other groups than \
                 here; revert there"
            ))
        })
    }

    /// A device can be renamed, and another device can take its name.
    fn of_device(&self, begin: &Begin) -> Option<Elsewhere> {
        let (name, then) = begin.place.device().zip(begin.device_index)?;
        let root = &self.host.root;
        let both = link::index(root, name).and_then(|now| Ok((now, link::name(root, then)?)));
        let (now, other) = match both {
            _ if self.is_earlier_boot() => return None,
            Err(why) => return Some(Elsewhere::Hidden(format!("{name} is not known: {why}"))),
            Ok((now, _)) if now == Some(then) => return None,
            Ok(both) => both,
        };
        if let Some(other) = other.filter(|other| other != name) {
            let why = format!("{name} is called {other} now; give it back its name, then revert");
            return Some(Elsewhere::Hidden(why));
        }
        now.map(|_| {
            let why = format!("the device is gone; another one is called {name} now");
            Elsewhere::Ended(why)
        })
    }

    /// A group can be made again at the same path, as when its service restarts.
    fn of_group(&self, begin: &Begin) -> Option<Elsewhere> {
        let (folder, then) = begin.place.group_of_file().zip(begin.group_inode)?;
        let shown = folder.display();
        match group::inode(self.host, folder) {
            _ if self.is_earlier_boot() => None,
            Err(why) => Some(Elsewhere::Hidden(format!("{shown} is not known: {why}"))),
            Ok(Some(now)) if now != then => {
                let why = format!("the control group is gone; another one is at {shown} now");
                Some(Elsewhere::Ended(why))
            }
            Ok(_) => None,
        }
    }

    /// Why a place that can be reached is absent.
    pub(crate) fn absence(&self, place: &Place) -> Elsewhere {
        let exists = |path: &str| fs::symlink_metadata(self.host.root.path(path)).is_ok();
        let hidden = |why: &str| Elsewhere::Hidden(why.to_string());
        let is_below = |folder: &str| place.path().is_some_and(|path| path.starts_with(folder));
        match place {
            Place::File { path, .. } if exists(path) => {
                hidden("it exists and cannot be read: its device is being set up again")
            }
            Place::Ethtool { device, .. } | Place::Qdisc { device }
                if !matches!(link::index(&self.host.root, device), Ok(None)) =>
            {
                hidden("the device exists and does not report it now")
            }
            Place::Timer { .. } if !systemd::is_here(&self.host.root) => {
                hidden("the socket of systemd is not here, so nothing is known about its timers")
            }
            _ if is_below("/sys/") && !exists("/sys/devices/system/cpu") => {
                hidden("/sys is not mounted here, so nothing is known about it")
            }
            _ if !place.in_control_groups().iter().all(|path| self.has_control_groups(path)) => {
                hidden("no control groups are mounted here, as inside ip netns exec")
            }
            _ => Elsewhere::Ended("what it belonged to is gone".to_string()),
        }
    }

    /// Whether a hierarchy of control groups is mounted on the way to a file or folder.
    fn has_control_groups(&self, path: &str) -> bool {
        let mounts = self.host.text("/proc/self/mountinfo").unwrap_or_default();
        mounts.lines().any(|line| {
            let point = line.split(' ').nth(4).unwrap_or_default();
            let rest = path.strip_prefix(point);
            let is_on_the_way = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let is_groups = line.contains(" - cgroup ") || line.contains(" - cgroup2 ");
            // A later mount may cover it.
            let is_seen = || GroupFolder::open(&self.host.root, Path::new(point)).is_ok();
            is_on_the_way && is_groups && is_seen()
        })
    }
}
