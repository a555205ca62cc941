//! What a host and a server process are, read once per run.
//!
//! Everything here is a fact, not a reading: it is not expected to change while load runs. What
//! could not be read is listed as such, never left at zero.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A source that exists in principle and could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// File or call.
    pub source: String,
    /// The operating system's reason.
    pub why: String,
}

/// CPU bandwidth limit of one control group in a chain from a process to the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuQuota {
    /// Path of the group in its hierarchy.
    pub group: String,
    /// CPU time allowed per period, microseconds; absent when unlimited.
    pub quota_us: Option<u64>,
    /// Period, microseconds.
    pub period_us: Option<u64>,
    /// Control group version, 1 or 2.
    pub version: u8,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// Interface name.
    pub name: String,
    /// Kernel driver, when there is a device behind the interface.
    pub driver: Option<String>,
    /// Maximum transmission unit, bytes.
    pub mtu: Option<u32>,
    /// Link speed in megabits per second, only from drivers whose figure means something. Virtual
    /// devices report constants; those are left out.
    pub speed_mbps: Option<u32>,
    /// Receive queues.
    pub rx_queues: u32,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Settings that the driver reports.
    pub settings: NicSettings,
}

/// Settings of a network driver, as far as it reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicSettings {
    /// Descriptors of each receive ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_ring: Option<Setting>,
    /// Descriptors of each transmit ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_ring: Option<Setting>,
    /// Channels that only receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_channels: Option<Setting>,
    /// Channels that only transmit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_channels: Option<Setting>,
    /// Channels that do both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combined_channels: Option<Setting>,
    /// How long a receive interrupt may be held back, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_coalesce_us: Option<u32>,
    /// How long a transmit interrupt may be held back, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_coalesce_us: Option<u32>,
    /// Whether the driver adapts the delay of receive interrupts to the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_rx_coalesce: Option<bool>,
    /// Whether received segments are joined in software (GRO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
    /// Whether received segments are joined by the device (LRO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lro: Option<bool>,
    /// Whether segments to send are cut late in software (GSO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso: Option<bool>,
    /// Whether segments to send are cut by the device (TSO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tso: Option<bool>,
    /// Whether kernel threads take in the packets, and not softirqs (threaded NAPI).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threaded_napi: Option<bool>,
}

/// A setting and its maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Current value.
    pub now: u32,
    /// Maximum.
    pub max: u32,
}

/// A value that `ceiling tune` changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedValue {
    /// Id of the knob, for example `T5`.
    pub knob: String,
    /// Where: a path, or a device and a setting.
    pub place: String,
    /// Value that was written, normalised.
    pub wanted: String,
    /// Value there when the run started, normalised; absent when it could not be read.
    pub now: Option<String>,
}

/// How the kernel accounts CPU time to states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuAccounting {
    /// Sampled at the timer tick; interrupt time is charged to whoever was interrupted.
    Tick,
    /// Sampled at the tick, with interrupt time measured apart.
    TickWithIrqTime,
    /// Measured at each transition.
    Precise,
    /// The kernel configuration was not readable.
    Unknown,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// Machine architecture.
    pub arch: String,
    /// Vendor and product as the firmware names them: of a cloud its type of instance, for example
    /// `Amazon EC2 c6i.8xlarge`. Absent where the firmware says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus_online: Vec<u32>,
    /// CPUs this process may run on.
    pub cpus_allowed: Vec<u32>,
    /// Physical memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel clock source, for example `tsc`.
    pub clock_source: Option<String>,
    /// Whether a hypervisor announces itself.
    pub virtual_machine: Option<bool>,
    /// How CPU time is accounted.
    pub cpu_accounting: CpuAccounting,
    /// Length of the units of `/proc/stat`, nanoseconds.
    pub clock_tick_ns: u64,
    /// CPU limits of our own control groups, innermost first.
    pub quotas: Vec<CpuQuota>,
    /// Network interfaces.
    pub nics: Vec<Nic>,
    /// Kernel parameters that matter for load, as the kernel prints them, by dotted name.
    pub sysctls: BTreeMap<String, String>,
    /// Our soft and hard limit of open files.
    pub open_files_limit: (u64, u64),
    /// Values that `ceiling tune` had changed and not restored when the run started; `null` when it
    /// has no journal, or the journal could not be read.
    pub tuned: Option<Vec<TunedValue>>,
    /// Whether we may have programs inside the kernel (`--evidence kernel`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_watch_inside: bool,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// The process tree of a server on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Root of the tree.
    pub pid: u32,
    /// How it was found: `--server-pid` or the listening port.
    pub found_by: String,
    /// Command line of the root, arguments separated by spaces.
    pub command: String,
    /// All processes of the tree when the run started.
    pub pids: Vec<u32>,
    /// Processes of the tree one by one, as far as they could be read and are not too many.
    pub processes: Vec<ProcessFacts>,
    /// Threads of the tree when the run started.
    pub threads: u32,
    /// CPUs the root may run on.
    pub cpus_allowed: Vec<u32>,
    /// Threads of the tree that may run on fewer or other CPUs than the root, when the run started.
    #[serde(deserialize_with = "by_number")]
    pub pinned_threads: BTreeMap<u32, Vec<u32>>,
    /// CPU limits of the root's control groups, innermost first.
    pub quotas: Vec<CpuQuota>,
    /// Soft and hard limit of open files of the root.
    pub open_files_limit: Option<(u64, u64)>,
    /// Listening sockets on the port under test.
    pub listeners: u32,
    /// The container it runs in; absent when nothing on this host says that there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// Its network namespace, where that is not the probe's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<ServerNetwork>>,
    /// The program on the probe's host that accepts the connections and passes them on to the
    /// server, such as `docker-proxy`; absent when none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_on_by: Option<String>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

impl ServerFacts {
    /// The port on which it listens in a network namespace other than the probe's, when known.
    pub fn inner_port(&self) -> Option<u16> {
        self.network.as_ref()?.port
    }
}

/// A container, as control groups and files of its runtime name it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// What runs it, for example `docker`.
    pub runtime: String,
    /// Its id there.
    pub id: String,
    /// Its name; absent when no readable file of the runtime has it.
    pub name: Option<String>,
}

impl Container {
    /// What people call it: its name, or the first twelve characters of its id.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.chars().take(12).collect())
    }
}

/// The network namespace of a server that is not the probe's own, and what it looks like inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerNetwork {
    /// As the kernel names it, for example `net:[4026532281]`.
    pub namespace: String,
    /// Port on which the server listens there; it differs from the port under test where that is a
    /// published one. Absent when not known.
    pub port: Option<u16>,
    /// Addresses of its interfaces, loopback left out.
    pub addresses: Vec<IpAddr>,
    /// The host as seen from there: interfaces and kernel parameters of the namespace.
    pub host: HostFacts,
}

/// One process of a server when the run started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFacts {
    /// Its number.
    pub pid: u32,
    /// Its name, up to 15 bytes.
    pub name: String,
    /// Its threads.
    pub threads: u32,
    /// CPUs its first thread may run on; absent when not readable.
    pub cpus_allowed: Option<Vec<u32>>,
    /// Listening sockets on the port under test that it holds, including those that it shares;
    /// absent when its descriptors were not readable.
    pub listeners: Option<u32>,
}

/// What a probe may see, by the rights it runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privilege {
    /// Host-wide counters only: the server belongs to another user.
    None,
    /// The server's own files as well.
    ReadOnly,
    /// Everything.
    Root,
}

/// How far the clock of another host is from ours, from round trips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Its monotonic clock minus ours, nanoseconds.
    pub offset_ns: i64,
    /// Largest error of the offset, nanoseconds: half of the fastest round trip, and more when the
    /// clocks drifted.
    pub error_ns: u64,
    /// Round trips it was taken from.
    pub round_trips: u32,
}

impl ClockOffset {
    /// The part of one of our windows that is inside it on the other clock for every offset within
    /// the error, in that clock's nanoseconds. When it is empty, its start is after its end.
    pub fn carry(&self, window_ns: (u64, u64)) -> (u64, u64) {
        let carried = |ns: u64| ns.saturating_add_signed(self.offset_ns);
        let (begin_ns, end_ns) = (carried(window_ns.0), carried(window_ns.1));
        (begin_ns.saturating_add(self.error_ns), end_ns.saturating_sub(self.error_ns))
    }
}

/// The server's host, as seen by a probe that runs there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarHost {
    /// Where the probe was reached.
    pub address: String,
    /// The host.
    pub host: HostFacts,
    /// The server's process tree there, when it was found.
    pub server: Option<ServerFacts>,
    /// What the probe may see.
    pub privilege: Privilege,
    /// Its clock against ours.
    pub clock: ClockOffset,
    /// Why its readings ended before the run did; absent when they did not.
    pub lost: Option<String>,
}

/// Keys of JSON are strings, and stay strings where serde reads a value through a tag, as on the
/// line of a probe.
fn by_number<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u32, Vec<u32>>, D::Error> {
    let texts = BTreeMap::<String, Vec<u32>>::deserialize(deserializer)?;
    let mut numbers = BTreeMap::new();
    for (key, list) in texts {
        numbers.insert(key.parse().map_err(serde::de::Error::custom)?, list);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_carried_over_and_loses_the_error_at_both_ends() {
        let clock = |offset_ns, error_ns| ClockOffset { offset_ns, error_ns, round_trips: 1 };
        assert_eq!(clock(5_000, 10).carry((1_000, 2_000)), (6_010, 6_990));
        assert_eq!(clock(-500, 10).carry((1_000, 2_000)), (510, 1_490));
        let (begin_ns, end_ns) = clock(0, 600).carry((1_000, 2_000));
        assert!(begin_ns > end_ns, "an error of more than half a window leaves nothing");
        assert_eq!(clock(-5_000, 0).carry((1_000, 2_000)).0, 0);
    }
}
