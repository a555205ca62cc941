//! One list of every parser of this room, for the property tests here and the fuzz target outside,
//! which feed them hostile bytes.

use crate::source;
use crate::{accounting, cgroup_path, container, ethtool, facts, interrupts, limits};
use crate::{net_tcp, process, published, scan, translated, unix_diag};

/// Runs every parser over the same bytes; their own tests check what they return.
pub fn parse_as_everything(bytes: &[u8]) {
    source::parse_as_everything(bytes);
    let _ = net_tcp::parse(bytes);
    let _ = unix_diag::parse(bytes);
    let _ = published::parse(bytes);
    let _ = translated::parse(bytes);
    let _ = ::host::addresses::parse_v4(bytes);
    let _ = ::host::addresses::parse_v6(bytes);
    let _ = cgroup_path::parse_membership(bytes).map(|groups| container::of_groups(&groups));
    let _ = process::parse_stat(bytes);
    let _ = process::parse_status(bytes, "Name");
    let _ = cgroup_path::parse_mounts(bytes);
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
