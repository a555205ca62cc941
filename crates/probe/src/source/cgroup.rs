//! `cpu.stat` and the quota files of control groups: CPU bandwidth, per group of a chain.
//!
//! A group with a quota may use a fixed CPU time per period; when that is used up all its threads
//! stop until the next period. Version 1: `cpu.cfs_quota_us` (-1 is no limit), `cpu.cfs_period_us`,
//! `cpu.stat` with `throttled_time` in nanoseconds. Version 2: `cpu.max` ("max 100000" is no
//! limit), `cpu.stat` with `throttled_usec` and `usage_usec`. Kernel: `kernel/sched/core.c`,
//! `cpu_cfs_stat_show` and `cpu_extra_stat_show`.
//!
//! Caveats. Any ancestor may throttle, so the whole chain is read, innermost first. Throttled time
//! sums over CPUs and can grow faster than time passes. Version 2 prints usage even where the CPU
//! controller is not enabled; there no period elapses, and zero periods are true. Version 1 reports
//! usage only where cpuacct is mounted together with cpu. The quota is read every time, because it
//! may be changed while we measure.

use super::{Round, Scope, Source, Whose};
use crate::cgroup_path::{self, Group};
use crate::kernel_file::KernelFile;
use crate::scan::{self, ParseError};
use model::facts::{CpuQuota, Unreadable};
use model::metric::Declaration;
use model::reading::{Data, QuotaUse};
use model::root::Root;
use model::unit::Unit;
use model::units::{NS_PER_S, NS_PER_US};

/// The counters of one `cpu.stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bandwidth {
    /// Periods that have elapsed with runnable tasks.
    pub periods: u64,
    /// Periods in which the group was throttled.
    pub throttled_periods: u64,
    /// Time throttled, nanoseconds.
    pub throttled_ns: u64,
    /// CPU time used, nanoseconds; version 2 only.
    pub usage_ns: Option<u64>,
}

/// Allowance and period of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Allowed per period, microseconds; nothing when unlimited.
    pub quota_us: Option<u64>,
    /// Period, microseconds.
    pub period_us: Option<u64>,
}

/// Parses `cpu.stat` of either version.
pub fn parse(bytes: &[u8]) -> Result<Bandwidth, ParseError> {
    let mut bandwidth = Bandwidth::default();
    let mut periods = None;
    for line in scan::lines(bytes) {
        let error = || ParseError::new("a name and a count", line);
        let mut words = scan::words(line);
        let name = words.next().unwrap_or_default();
        let value = words.next().and_then(scan::number).ok_or_else(error)?;
        match name {
            b"nr_periods" => periods = Some(value),
            b"nr_throttled" => bandwidth.throttled_periods = value,
            b"throttled_time" => bandwidth.throttled_ns = value,
            b"throttled_usec" => bandwidth.throttled_ns = value.saturating_mul(NS_PER_US),
            b"usage_usec" => bandwidth.usage_ns = Some(value.saturating_mul(NS_PER_US)),
            _ => {}
        }
    }
    if periods.is_none() && bandwidth.usage_ns.is_none() {
        return Err(ParseError::new("nr_periods or usage_usec", bytes));
    }
    Ok(Bandwidth { periods: periods.unwrap_or(0), ..bandwidth })
}

/// Parses `cpu.max` of version 2.
pub fn parse_max(bytes: &[u8]) -> Result<Quota, ParseError> {
    let error = || ParseError::new("a line such as 'max 100000'", bytes);
    let mut words = scan::words(bytes);
    let quota_us = match words.next() {
        Some(b"max") => None,
        word => Some(word.and_then(scan::number).ok_or_else(error)?),
    };
    let period_us = Some(words.next().and_then(scan::number).ok_or_else(error)?);
    Ok(Quota { quota_us, period_us })
}

/// Parses `cpu.cfs_quota_us` or `cpu.cfs_period_us` of version 1; negative means no limit.
pub fn parse_v1_us(bytes: &[u8]) -> Result<Option<u64>, ParseError> {
    let word = bytes.trim_ascii();
    match word.strip_prefix(b"-").map_or_else(|| scan::number(word), scan::number) {
        None => Err(ParseError::new("a time in microseconds", bytes)),
        Some(_) if word.starts_with(b"-") => Ok(None),
        us => Ok(us),
    }
}

/// What the figures are.
pub(super) fn client_declared() -> Declaration {
    declared("client_quota", "cpu.stat and quota of our cgroups", "generator")
        .exposed_as("client_cpu")
}

/// What the figures are.
pub(super) fn server_declared() -> Declaration {
    declared("server_quota", "cpu.stat and quota of its cgroups", "server").exposed_as("server_cpu")
}

fn declared(name: &str, reads: &str, owner: &str) -> Declaration {
    let periods = format!("Periods in which a control group of the {owner} had something to run.");
    Declaration::new(name, reads)
        .each("group")
        .counter("periods", Unit::Count, &periods)
        .counter("throttled_periods", Unit::Count, "Periods in which it was throttled.")
        .counter(
            "throttled_ns",
            Unit::Ns,
            "Time for which its tasks were throttled, summed over CPUs.",
        )
        .counter("usage_ns", Unit::Ns, "CPU time that it used.")
}

/// The files of one group.
struct GroupFiles {
    path: String,
    version: u8,
    stat: KernelFile,
    /// `cpu.max`, or `cpu.cfs_quota_us`.
    quota: KernelFile,
    /// Version 1 only.
    period: KernelFile,
    /// Version 1 only, where cpuacct shares the mount.
    usage: KernelFile,
}

impl GroupFiles {
    fn of(group: &Group) -> Self {
        let file = |name| KernelFile::one_piece(group.folder.join(name));
        let quota = if group.version == 1 { "cpu.cfs_quota_us" } else { "cpu.max" };
        Self {
            path: group.path.clone(),
            version: group.version,
            stat: file("cpu.stat"),
            quota: file(quota),
            period: file("cpu.cfs_period_us"),
            usage: file("cpuacct.usage"),
        }
    }

    fn quota(&mut self) -> Result<Quota, Unreadable> {
        if self.version == 2 {
            // The root, and groups without the controller, have no such file and no limit.
            return Ok(self.quota.parse_if_there(parse_max)?.unwrap_or_default());
        }
        let quota_us = self.quota.parse_if_there(parse_v1_us)?.flatten();
        let period_us = self.period.parse_if_there(parse_v1_us)?.flatten();
        Ok(Quota { quota_us, period_us })
    }

    /// What the group has used; nothing for a root that reports nothing.
    fn quota_use(&mut self) -> Result<Option<QuotaUse>, Unreadable> {
        let stat = if self.version == 2 && self.path == "/" {
            // Before Linux 5.8 the root has no such file. It has no quota either.
            let Some(stat) = self.stat.parse_if_there(parse)? else { return Ok(None) };
            stat
        } else {
            self.stat.parse(parse)?
        };
        let quota = self.quota()?;
        let usage_ns = match self.version {
            1 => self.usage.parse_if_there(parse_v1_us)?.flatten(),
            _ => stat.usage_ns,
        };
        Ok(Some(QuotaUse {
            group: self.path.clone(),
            quota_us: quota.quota_us,
            period_us: quota.period_us,
            periods: stat.periods,
            throttled_periods: stat.throttled_periods,
            throttled_ns: stat.throttled_ns,
            usage_ns,
        }))
    }
}

/// The limits of the groups of a process, innermost first, as a fact.
pub(crate) fn quotas(pid: u32) -> Result<Vec<CpuQuota>, Unreadable> {
    let read = |group: &Group| {
        let quota = GroupFiles::of(group).quota()?;
        Ok(CpuQuota {
            group: group.path.clone(),
            quota_us: quota.quota_us,
            period_us: quota.period_us,
            version: group.version,
        })
    };
    cgroup_path::chain(&Root::default(), "cpu", pid)?.iter().map(read).collect()
}

struct Cgroups {
    whose: Whose,
    root: Root,
    chain: Vec<Group>,
    files: Vec<GroupFiles>,
    chain_due_ns: u64,
}

pub(super) fn client(scope: &Scope) -> Option<Box<dyn Source>> {
    scope.has_client().then(|| open(Whose::Client, Root::default()))
}

pub(super) fn server(scope: &Scope) -> Option<Box<dyn Source>> {
    scope.server().map(|_| open(Whose::Server, scope.root.clone()))
}

fn open(whose: Whose, root: Root) -> Box<dyn Source> {
    let (chain, files) = (Vec::new(), Vec::new());
    Box::new(Cgroups { whose, root, chain, files, chain_due_ns: 0 })
}

impl Source for Cgroups {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let pid = match self.whose {
            Whose::Client => std::process::id(),
            Whose::Server => round.server()?.root(),
        };
        // This takes the kernel's cgroup lock, so not in every round.
        if round.due_ns >= self.chain_due_ns {
            let chain = cgroup_path::chain(&self.root, "cpu", pid)?;
            if chain != self.chain {
                self.files = chain.iter().map(GroupFiles::of).collect();
                self.chain = chain;
            }
            self.chain_due_ns = round.due_ns + NS_PER_S;
        }
        let uses = self.files.iter_mut().filter_map(|files| files.quota_use().transpose());
        let uses = uses.collect::<Result<Vec<_>, _>>();
        if uses.is_err() {
            // The group may have been removed after the process moved: look again next time.
            self.chain_due_ns = 0;
        }
        Ok(match self.whose {
            Whose::Client => Data::ClientQuota(uses?),
            Whose::Server => Data::ServerQuota(uses?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, fixture};

    #[test]
    fn version_1_counts_nanoseconds() {
        let stat = parse(&fixture("linux-6.18-vm/cpu.stat")).unwrap();
        let expected = Bandwidth {
            periods: 11,
            throttled_periods: 10,
            throttled_ns: 680_214_391,
            usage_ns: None,
        };
        assert_eq!(stat, expected);
        assert_eq!(parse_v1_us(b"20000\n"), Ok(Some(20_000)));
        assert_eq!(parse_v1_us(b"-1\n"), Ok(None));
    }

    #[test]
    fn version_2_counts_microseconds() {
        let stat = parse(&fixture("cgroup2-systemd/cpu.stat")).unwrap();
        let expected = Bandwidth {
            periods: 5012,
            throttled_periods: 731,
            throttled_ns: 41_220_118_000,
            usage_ns: Some(99_812_455_000),
        };
        assert_eq!(stat, expected);
        let quota = Quota { quota_us: Some(50_000), period_us: Some(100_000) };
        assert_eq!(parse_max(b"50000 100000\n"), Ok(quota));
        let unlimited = Quota { quota_us: None, period_us: Some(100_000) };
        assert_eq!(parse_max(b"max 100000\n"), Ok(unlimited));
    }

    #[test]
    fn version_2_without_the_controller_tells_usage_only() {
        let stat = parse(&fixture("cgroup2-systemd/root.cpu.stat")).unwrap();
        assert_eq!((stat.periods, stat.usage_ns), (0, Some(7_110_220_414_000)));
    }

    #[test]
    fn a_root_that_reports_nothing_hides_no_group_below_it() {
        let host = Folder::new("quota-root");
        host.write("a/cpu.stat", "usage_usec 5\n");
        let read = |path: &str, folder: &str| {
            let (path, folder) = (path.to_string(), host.path().join(folder));
            GroupFiles::of(&Group { version: 2, path, folder }).quota_use()
        };
        assert_eq!(read("/a", "a").unwrap().map(|used| used.usage_ns), Some(Some(5000)));
        assert_eq!(read("/", ""), Ok(None));
        assert!(read("/b", "b").is_err(), "a group that was removed");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "nr_periods", "nr_periods x", "user_usec 1"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["", "max", "x 100000", "50000 x"] {
            assert!(parse_max(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["", "-", "max", "1 2"] {
            assert!(parse_v1_us(text.as_bytes()).is_err(), "{text}");
        }
    }
}
