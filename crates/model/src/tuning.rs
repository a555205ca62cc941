//! Values of tuning: what a run shows about the use of knobs, predictions, and rows of what was
//! planned, changed and restored.

use crate::verdict::{Confidence, Named};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one run shows about which knobs can matter. Everything is about the best point and its
/// window; what was not measured is `null`, and a prediction that needs it is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Signals {
    /// Id of the run.
    pub run: String,
    /// The wall of its verdict; `null` when the measurement is not valid.
    pub wall: Option<Named>,
    /// How sure that is.
    pub confidence: Option<Confidence>,
    /// Whether the generator, not the server, was the wall.
    pub client_is_wall: bool,
    /// Whether the limit is inside the application, or a wait for another one: each possible wall
    /// is a lock, a pool, a service, a limiter or a log.
    pub is_inside: bool,
    /// Whether both sides ran on one kernel.
    pub is_one_host: bool,
    /// Share of the server's CPUs that processes used which are neither the server nor ours.
    pub neighbours: Option<f64>,
    /// Good responses per second.
    pub rate: Option<f64>,
    /// Half the width of the interval of the rate, as a share of it: over the visits of the
    /// plateau, or with one visit inside its window. A gain must exceed it to stand out from noise.
    pub noise: Option<f64>,
    /// Connections of the point.
    pub connections: Option<u64>,
    /// New connections per second.
    pub connection_rate: Option<f64>,
    /// Median latency, nanoseconds.
    pub p50_ns: Option<u64>,
    /// Bytes received per good response.
    pub bytes_per_response: Option<f64>,
    /// Bytes sent per request.
    pub bytes_per_request: Option<f64>,
    /// Round trip of established connections, microseconds.
    pub rtt_us: Option<f64>,
    /// The server's host.
    pub server: Side,
    /// The generator's host.
    pub client: Side,
}

/// One host in the window of the point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Shares of each CPU that is online.
    pub cpus: Option<Vec<CpuSignal>>,
    /// CPUs the process may use.
    pub process_cpus: Option<Vec<u32>>,
    /// CPU time of the process per request, microseconds, kernel included.
    pub us_per_request: Option<f64>,
    /// Busiest thread of the process, as a share of one CPU.
    pub hottest_thread: Option<f64>,
    /// Share of the time in which its threads were runnable and did not run.
    pub waiting_share: Option<f64>,
    /// Share of periods in which its control group was throttled.
    pub throttled_share: Option<f64>,
    /// The interface that carries the load.
    pub link: Option<String>,
    /// Packets per second on it in both directions, in the driver's units.
    pub packets_per_s: Option<f64>,
    /// Receive queues of the interface that carries the load.
    pub rx_queues: Option<u32>,
    /// Its transmit queues.
    pub tx_queues: Option<u32>,
    /// Use of the link's speed, 0 to 1, in its busier direction.
    pub link_use: Option<f64>,
    /// Packets received per second by each CPU, by CPU number.
    pub packets_by_cpu: Option<Vec<(u32, f64)>>,
    /// Interrupts per second of the host's network devices.
    pub interrupts_per_s: Option<f64>,
    /// Packets dropped at the per-CPU backlog.
    pub backlog_drops: Option<u64>,
    /// Times the softirq budget ended with work left.
    pub time_squeezes: Option<u64>,
    /// Packets dropped by the device.
    pub device_drops: Option<u64>,
    /// Packets dropped by queueing disciplines.
    pub qdisc_drops: Option<u64>,
    /// Handshakes refused because an accept queue was full.
    pub accept_overflows: Option<u64>,
    /// Fullest accept queue seen, as a share of its limit.
    pub accept_queue_peak: Option<f64>,
    /// Limit of the accept queue as the kernel has it.
    pub backlog: Option<u64>,
    /// SYNs that got cookies or were dropped because the SYN queue was full.
    pub syn_drops: Option<u64>,
    /// Segments sent again, as a share of those sent.
    pub retransmit_share: Option<f64>,
    /// Sockets in TIME_WAIT at the end.
    pub time_wait: Option<u64>,
    /// Times a cap on TIME_WAIT or orphans was reached.
    pub time_wait_overflows: Option<u64>,
    /// Ports for outgoing connections in use, as a share of the range.
    pub ports_use: Option<f64>,
    /// Open files of the process as a share of its limit.
    pub files_use: Option<f64>,
    /// Entries of the connection tracking table as a share of its limit; zero without tracking.
    pub conntrack_use: Option<f64>,
    /// Share of the time senders waited for the other side's window.
    pub receive_window_limited: Option<f64>,
    /// Share of the time senders waited for space in their own buffer.
    pub send_buffer_limited: Option<f64>,
    /// Share of the time tasks of the host waited for memory.
    pub memory_pressure: Option<f64>,
    /// Lowest ratio of a busy CPU's clock to its highest.
    pub clock_ratio: Option<f64>,
    /// Kernel parameters by dotted name, as at the start of the run.
    pub sysctls: BTreeMap<String, String>,
}

/// Shares of one CPU's time, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuSignal {
    /// Its number.
    pub cpu: u32,
    /// Not idle.
    pub busy: f64,
    /// In interrupts and softirqs.
    pub softirq: f64,
}

/// What kind of statement a prediction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// It cannot matter now: its resource does not limit.
    NoEffect,
    /// It can matter, within the interval.
    Bounded,
    /// It depends on something that was not measured.
    Unknown,
}

/// The expected effect of a change on the rate, stated before it is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The kind of statement.
    pub basis: Basis,
    /// Least relative change of the rate, for example -0.02; `null` when unknown.
    pub low: Option<f64>,
    /// Largest; `null` when unknown, or when only the next wall bounds it.
    pub high: Option<f64>,
    /// How it was calculated, with the figures.
    pub arithmetic: String,
    /// Which counter, at which value, would change this prediction.
    pub reconsider: String,
}

impl Prediction {
    /// It cannot matter. `noise` is the smallest visible change.
    pub fn no_effect(noise: f64, arithmetic: String, reconsider: &str) -> Self {
        let (low, high) = (Some(-noise), Some(noise));
        Self { basis: Basis::NoEffect, low, high, arithmetic, reconsider: reconsider.to_string() }
    }

    /// It changes the rate by something in an interval; without `high` up to the next wall.
    pub fn bounded(low: f64, high: Option<f64>, arithmetic: String, reconsider: &str) -> Self {
        let reconsider = reconsider.to_string();
        Self { basis: Basis::Bounded, low: Some(low), high, arithmetic, reconsider }
    }

    /// It depends on something that was not measured; `settle` says what would measure it.
    pub fn unknown(arithmetic: String, settle: &str) -> Self {
        let reconsider = settle.to_string();
        Self { basis: Basis::Unknown, low: None, high: None, arithmetic, reconsider }
    }
}

/// What a change touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// One process.
    Process,
    /// Everything in one network namespace.
    Namespace,
    /// One network device.
    Device,
    /// The whole host, with all of its programs.
    Host,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TakesEffect {
    /// At once.
    Now,
    /// For sockets opened afterwards.
    NewSockets,
    /// At the next `listen()`.
    NewListen,
    /// When the process starts again.
    Restart,
    /// When the host starts again.
    Reboot,
}

crate::named! {
    /// The state of a row.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Fate {
        /// Would be changed.
        Proposed = "proposed",
        /// Is as it should be.
        Already = "already",
        /// Is advice for people or programs; ceiling does not change it.
        Advice = "advice",
        /// Does not exist on this host.
        Absent = "absent",
        /// May not or cannot be changed, and why.
        Refused = "refused",
        /// Was changed and reads back as wanted.
        Applied = "applied",
        /// The write failed, or it did not read back.
        Failed = "FAILED",
        /// Was restored.
        Reverted = "reverted",
        /// Another program changed it since; left alone.
        Drifted = "DRIFTED",
        /// What it belonged to is gone: the device, the process, or the boot.
        Gone = "gone",
    }
    /// The word in tables.
    fn word;
}

/// One line of a plan, or of its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Id of the knob, for example `T5`.
    pub knob: String,
    /// Name of the knob, for example `rps`.
    pub name: String,
    /// Where: a path, or a device and a setting.
    pub place: String,
    /// What it touches.
    pub scope: Scope,
    /// When it takes effect.
    pub takes_effect: TakesEffect,
    /// Whether it can cut connections.
    pub is_disruptive: bool,
    /// Value now, normalised; `null` when it could not be read.
    pub now: Option<String>,
    /// Value wanted, normalised.
    pub wanted: Option<String>,
    /// Its state.
    pub fate: Fate,
    /// Why, or what was seen about its effect.
    pub note: String,
    /// What it can cost.
    pub risk: String,
    /// Its prediction from the last run.
    pub prediction: Option<Prediction>,
}

/// What a user wants from a host, as typed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Name of a profile; the default one when absent.
    pub profile: Option<String>,
    /// Only this network device.
    pub device: Option<String>,
    /// CPUs for packets, a slash, CPUs for the server.
    pub cpus: Option<String>,
    /// Only these knobs, by id or name; all that apply when empty.
    #[serde(default)]
    pub only: Vec<String>,
    /// Values that are set as given, by knob; for a knob with several kinds of values by the knob,
    /// a slash, and the name of the file: `netdev-budget/netdev_budget`.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Process of the server, for knobs about processes.
    pub server_pid: Option<u32>,
}

/// An order about the knobs of a host, sent to a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum TuneOrder {
    /// Lists what could be changed; changes nothing. The client predicts, because it has the run.
    Plan {
        /// What is wanted.
        wanted: Wanted,
    },
    /// Makes the changes.
    Apply {
        /// What is wanted.
        wanted: Wanted,
        /// Whether knobs that can cut connections may be touched.
        disruptive: bool,
        /// After this time the host restores everything by itself unless it is kept, nanoseconds;
        /// by default only where a change can cut connections.
        deadline_ns: Option<u64>,
    },
    /// Lists what is changed now.
    Status {
        /// By which transaction; by all when absent.
        transaction: Option<String>,
    },
    /// Restores a transaction, or all.
    Revert {
        /// Which one; all when absent.
        transaction: Option<String>,
    },
    /// Sets the deadline of a transaction to a time from now.
    Extend {
        /// Which.
        transaction: String,
        /// From now on, nanoseconds.
        left_ns: u64,
    },
    /// An experiment on a server that the probe has started. What it takes from the server is given
    /// back when the session ends.
    Experiment {
        /// What is done.
        step: Step,
    },
    /// Keeps a transaction past its deadline.
    Keep {
        /// Which one; all that wait when absent.
        transaction: Option<String>,
    },
}

/// One step of an experiment on a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Records what the server has; one experiment at a time.
    Prepare {
        /// Its process.
        server_pid: u32,
        /// What the experiment leaves to it.
        left: Left,
    },
    /// Takes the rest away.
    Take,
    /// Gives it back for the time being.
    Give,
    /// Gives it back for good.
    End,
}

/// What an experiment leaves to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Left {
    /// This many CPUs' worth of time.
    CpuTime(f64),
    /// Only these CPUs.
    Cpus(Vec<u32>),
}

/// Whose fault it is that an order failed; it decides the exit code of the command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The order cannot be carried out by anyone here: a wrong option, an unknown transaction, no
    /// right to change the host.
    #[default]
    Order,
    /// The order is sound, and it failed on the host.
    Host,
}

/// The outcome of an order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TuneOutcome {
    /// Id of the transaction that was made.
    pub transaction: Option<String>,
    /// One row per place.
    pub rows: Vec<Row>,
    /// Why it failed, when it did; changes were restored, except those that `left` counts.
    pub error: Option<String>,
    /// With an error: changes that are neither as before nor as wanted.
    #[serde(default)]
    pub left: u64,
    /// With an error: how many of those no revert can restore, because another change moved them.
    #[serde(default)]
    pub moved: u64,
    /// With an error: whose fault it is.
    #[serde(default)]
    pub fault: Fault,
    /// With a status: the deadline of a transaction has passed, and it was not restored.
    #[serde(default)]
    pub is_overdue: bool,
}
