//! Control groups: one for each program, below one of the stage.

use super::{PREFIX, disk, is_stale};
use crate::setup::Allowance;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Weight of the whole stage against the rest of the machine, to minimise the effect of other
/// programs on a shared host.
const STAGE_WEIGHT: u64 = 64 * 1024;

/// Weight of a program that sets none.
const WEIGHT: u64 = 1024;

const PERIOD_US: u64 = 100_000;

/// Where control groups of version 1 limit disks and memory.
const FURTHER: [&str; 2] = ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup/memory"];

/// How long the last process of a group may take to exit.
const GONE_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// See the module. Dropping it kills what still runs in the groups and removes them.
pub struct Groups {
    version: Version,
    root: PathBuf,
}

impl Groups {
    /// Makes the group of the stage, whose name has this tag.
    pub fn create(tag: &str) -> Result<Self> {
        let (version, hierarchy) = hierarchy();
        if version == Version::Two {
            write(&hierarchy, "cgroup.subtree_control", "+cpu")?;
            // Not every host has these; a program with a disk limit then fails to start.
            let _ = write(&hierarchy, "cgroup.subtree_control", "+io +memory");
        }
        let root = hierarchy.join(format!("{PREFIX}{tag}"));
        let groups = Self { version, root };
        groups.make(&groups.root, None, STAGE_WEIGHT)?;
        groups.pass_on(&groups.root);
        Ok(groups)
    }

    /// Makes the group of a program, with its parent; returns the groups that it must enter.
    pub fn add(&self, name: &str, allowance: Allowance) -> Result<Vec<PathBuf>> {
        let parent = self.root.join(format!("{name}-host"));
        let own = parent.join(name);
        self.make(&parent, allowance.parent_quota, allowance.weight.unwrap_or(WEIGHT))?;
        self.pass_on(&parent);
        self.make(&own, allowance.quota, WEIGHT)?;
        let mut entered = vec![own];
        if let Some(writes) = allowance.writes {
            let limit = format!("{} {writes}", disk::of_temporary_files()?);
            let limit = (limit.as_str(), limit.replace(' ', " wiops="));
            self.limit("blkio", "blkio.throttle.write_iops_device", "io.max", limit, &mut entered)?;
        }
        if let Some(memory_mb) = allowance.memory_mb {
            let bytes = (u64::from(memory_mb) << 20).to_string();
            let limit = (bytes.as_str(), bytes.clone());
            self.limit("memory", "memory.limit_in_bytes", "memory.max", limit, &mut entered)?;
        }
        Ok(entered)
    }

    /// Limits something besides CPU time: in a group of that hierarchy with version 1.
    fn limit(
        &self,
        hierarchy: &str,
        one: &str,
        two: &str,
        limit: (&str, String),
        entered: &mut Vec<PathBuf>,
    ) -> Result<()> {
        match self.version {
            Version::One => {
                let name = self.root.file_name().unwrap_or_default();
                let group = Path::new("/sys/fs/cgroup").join(hierarchy).join(name);
                fs::create_dir_all(&group)
                    .with_context(|| format!("cannot make {}", group.display()))?;
                write(&group, one, limit.0)?;
                entered.push(group);
                Ok(())
            }
            Version::Two => write(&entered[0], two, &limit.1),
        }
    }

    fn make(&self, path: &Path, quota: Option<f64>, weight: u64) -> Result<()> {
        fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
        let quota_us = quota.map(|cpus| ((cpus * PERIOD_US as f64) as u64).max(1000));
        match self.version {
            Version::One => {
                write(path, "cpu.shares", &weight.to_string())?;
                if let Some(quota_us) = quota_us {
                    write(path, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
                    write(path, "cpu.cfs_quota_us", &quota_us.to_string())?;
                }
            }
            Version::Two => {
                let weight = (weight * 100 / WEIGHT).clamp(1, 10_000);
                write(path, "cpu.weight", &weight.to_string())?;
                if let Some(quota_us) = quota_us {
                    write(path, "cpu.max", &format!("{quota_us} {PERIOD_US}"))?;
                }
            }
        }
        Ok(())
    }

    /// Lets groups inside this one have limits. A group with processes cannot.
    fn pass_on(&self, path: &Path) {
        if self.version == Version::Two {
            for controller in ["+cpu", "+io", "+memory"] {
                let _ = write(path, "cgroup.subtree_control", controller);
            }
        }
    }

    /// Shell code that makes the groups visible in a namespace, which has its own `/sys`.
    pub fn mount_script(&self) -> &'static str {
        match self.version {
            Version::One => {
                // Not every host has the second one.
                "at=/sys/fs/cgroup && mount -t tmpfs none $at && mkdir $at/cpu $at/memory && \
                 mount -t cgroup -o cpu none $at/cpu && \
                 { mount -t cgroup -o memory none $at/memory || rmdir $at/memory; }"
            }
            Version::Two => "mount -t cgroup2 none /sys/fs/cgroup",
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        remove(&self.root);
        for hierarchy in FURTHER {
            remove(&Path::new(hierarchy).join(self.root.file_name().unwrap_or_default()));
        }
    }
}

fn hierarchy() -> (Version, PathBuf) {
    if Path::new("/sys/fs/cgroup/cpu/cgroup.procs").exists() {
        return (Version::One, "/sys/fs/cgroup/cpu".into());
    }
    (Version::Two, "/sys/fs/cgroup".into())
}

fn write(group: &Path, file: &str, value: &str) -> Result<()> {
    let path = group.join(file);
    fs::write(&path, value).with_context(|| format!("cannot write {value} to {}", path.display()))
}

/// Removes groups of dead processes, and kills what still runs in them.
pub fn sweep() {
    for hierarchy in FURTHER.iter().map(PathBuf::from).chain([hierarchy().1]) {
        let entries = fs::read_dir(hierarchy).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_stale(&entry.file_name().to_string_lossy())) {
            remove(&entry.path());
        }
    }
}

/// Removes the group of the stage with this tag, on a machine where another process made it.
pub fn clear(tag: &str) {
    remove(&hierarchy().1.join(format!("{PREFIX}{tag}")));
}

/// Removes a group with those below it; processes in them are killed.
fn remove(group: &Path) {
    let below = fs::read_dir(group).into_iter().flatten().flatten();
    for entry in below.filter(|entry| entry.path().is_dir()) {
        remove(&entry.path());
    }
    let begin = Instant::now();
    while fs::remove_dir(group).is_err() && group.exists() && begin.elapsed() < GONE_WITHIN {
        let listed = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        for process in listed.lines().filter_map(|line| line.parse().ok()) {
            let Some(process) = rustix::process::Pid::from_raw(process) else { continue };
            // It may have just exited, which is fine.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
