//! Lines of the journal.

use crate::place::{Place, Seen};
use model::tuning::{Fate, Row, Scope, TakesEffect};
use serde::{Deserialize, Serialize};

/// The only version so far.
pub(crate) const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// The first line of each file.
    Header(Header),
    /// A value is about to be written.
    Begin(Begin),
    /// It was written, and this is what it reads as.
    Written { seq: usize, seen: Seen },
    /// A change has ended.
    Ended { seq: usize, how: ChangeEnd },
    /// The deadline moved to this, milliseconds since the boot.
    Extended { deadline_boot_ms: u64 },
    /// The deadline no longer counts.
    Kept,
    /// All changes have ended.
    Closed,
}

/// Who made the transaction, and where it applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Format of the file.
    pub(crate) version: u32,
    /// Number of the transaction.
    pub(crate) transaction: u64,
    /// Boot of the host: the changes end with it.
    pub(crate) boot_id: String,
    /// Network namespace of the process.
    pub(crate) namespace: String,
    /// PID namespace of the process; empty when it could not be read.
    pub(crate) pid_namespace: String,
    /// Its namespace of control groups; empty likewise.
    pub(crate) group_namespace: String,
    /// When it started, milliseconds since 1970.
    pub(crate) at_unix_ms: u64,
    /// Which program.
    pub(crate) program: String,
    /// Which process.
    pub(crate) pid: u32,
    /// Present when that process puts everything back when it ends: the start of the process, ticks
    /// since the boot. Once the process is gone, the next `ceiling` puts everything back.
    pub(crate) held_since_ticks: Option<u64>,
    /// When everything is put back unless it is kept, milliseconds since the boot.
    pub(crate) deadline_boot_ms: Option<u64>,
    /// The purpose.
    pub(crate) note: String,
}

/// A change, with everything needed to put it back without knowing its knob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// Which change of the transaction, from 0.
    pub(crate) seq: usize,
    /// Id of the knob.
    pub(crate) knob: String,
    /// Its name.
    pub(crate) name: String,
    /// What it touches.
    pub(crate) scope: Scope,
    /// When it takes effect.
    pub(crate) takes_effect: TakesEffect,
    /// Whether it can cut connections.
    pub(crate) is_disruptive: bool,
    /// What it can cost.
    pub(crate) risk: String,
    /// The place it changes.
    pub(crate) place: Place,
    /// The value before.
    pub(crate) before: Seen,
    /// The value about to be written, normalised.
    pub(crate) wanted: String,
    /// What that reads as once the kernel has taken it.
    pub(crate) settles_to: String,
    /// The reading of its sign before the change.
    pub(crate) sign: Option<String>,
    /// Index of its device, which another device of the same name would not have.
    pub(crate) device_index: Option<u32>,
    /// Inode of its control group, which another group of the same path would not have.
    pub(crate) group_inode: Option<u64>,
    /// When it was announced, milliseconds since the boot: a process that starts later inherits the
    /// value from its parent.
    pub(crate) at_boot_ms: Option<u64>,
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChangeEnd {
    /// It is as it was before.
    Reverted,
    /// What it belonged to is gone.
    Gone,
}

impl Begin {
    /// As a row.
    pub(crate) fn row(&self, now: Option<String>, fate: Fate, note: String) -> Row {
        Row {
            knob: self.knob.clone(),
            name: self.name.clone(),
            place: self.place.show(),
            scope: self.scope,
            takes_effect: self.takes_effect,
            is_disruptive: self.is_disruptive,
            now,
            wanted: Some(self.wanted.clone()),
            fate,
            note,
            risk: self.risk.clone(),
            prediction: None,
        }
    }
}
