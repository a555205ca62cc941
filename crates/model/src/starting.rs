//! Servers that are started for a measurement, here or on the host of a probe: the order, the
//! limits of the server, and how it ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Asks the probe of another host to start one of the servers that its own list names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartOrder {
    /// Name of the server in the list of the probe.
    pub server: String,
    /// Words that are appended to those of the list. `{NAME}` stands for the address of a service.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// CPUs that it may use, as users write them; empty means all.
    #[serde(default)]
    pub cpus: String,
    /// Names of services that run beside it, for as long as it does.
    #[serde(default)]
    pub services: Vec<String>,
    /// Limits of its control group.
    #[serde(default)]
    pub limits: Limits,
}

/// Limits of a control group that is created for a server; none means no limit and no group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// CPU time, in CPUs: 0.5 is half of one CPU.
    pub cpu: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// How a server ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetExit {
    /// Its last line, with its counters.
    pub stopped: Option<Value>,
    /// Why measurements of it cannot be trusted, if so.
    pub fault: Option<String>,
}
