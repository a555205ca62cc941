//! One list of every parser of this room, for all that feed them hostile bytes: the property tests
//! here and the fuzz target outside.

use crate::source;
use crate::{accounting, cgroup_path, ethtool, facts, interrupts, limits, process, scan};

/// Runs every parser over the same bytes; what they return is their own tests' business.
pub fn parse_as_everything(bytes: &[u8]) {
    source::parse_as_everything(bytes);
    let _ = process::parse_stat(bytes);
    let _ = process::parse_status(bytes, "Name");
    let _ = cgroup_path::parse_mounts(bytes);
    let _ = cgroup_path::parse_membership(bytes);
    let _ = interrupts::parse(bytes);
    let _ = limits::parse(bytes);
    let _ = ethtool::parse_values(bytes);
    let _ = accounting::parse(bytes);
    let _ = accounting::unpack(bytes);
    let _ = facts::parse_cpuinfo(bytes);
    let _ = facts::parse_memory(bytes);
    let _ = scan::cpu_list(bytes);
    let _ = scan::cpu_columns(bytes);
}
