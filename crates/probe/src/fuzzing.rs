//! One list of every parser of this room, for all that feed them hostile bytes: the property tests
//! here and the fuzz target outside.

use crate::source::{
    cgroup, conntrack, cpu_clocks, disks, drivers, memory, net_dev, numa, pressure, qdiscs,
    server_runtime, sock_diag, sockstat, softirqs, softnet, stat, tcp, threads, threads_now,
};
use crate::{accounting, cgroup_path, ethtool, facts, interrupts, limits, process, scan};

/// Runs every parser over the same bytes; what they return is their own tests' business.
pub fn parse_as_everything(bytes: &[u8]) {
    let _ = stat::parse(bytes);
    let _ = softnet::parse(bytes);
    let _ = softirqs::parse(bytes);
    let _ = interrupts::parse(bytes);
    let _ = net_dev::parse(bytes);
    let _ = tcp::parse(bytes);
    let _ = sockstat::parse(bytes);
    let _ = pressure::parse(bytes);
    let _ = threads::parse(bytes);
    let _ = threads_now::parse(bytes);
    let _ = threads_now::by_channel(bytes);
    let _ = process::parse_stat(bytes);
    let _ = process::parse_status(bytes, "Name");
    let _ = cgroup::parse(bytes);
    let _ = cgroup::parse_max(bytes);
    let _ = cgroup::parse_v1_us(bytes);
    let _ = cgroup_path::parse_mounts(bytes);
    let _ = cgroup_path::parse_membership(bytes);
    let _ = limits::parse(bytes);
    let _ = sock_diag::parse(bytes);
    let _ = qdiscs::parse(bytes);
    let _ = disks::parse(bytes);
    let _ = memory::parse(bytes);
    let _ = memory::parse_events(bytes);
    let _ = memory::parse_limit(bytes);
    let _ = numa::parse(bytes);
    let _ = server_runtime::parse(bytes);
    let _ = server_runtime::parse_response(bytes);
    let _ = cpu_clocks::parse(bytes);
    let _ = conntrack::parse(bytes);
    let _ = conntrack::parse_number(bytes);
    let _ = drivers::parse(bytes);
    let _ = ethtool::parse_values(bytes);
    let _ = accounting::parse(bytes);
    let _ = accounting::unpack(bytes);
    let _ = facts::parse_cpuinfo(bytes);
    let _ = facts::parse_memory(bytes);
    let _ = scan::cpu_list(bytes);
    let _ = scan::cpu_columns(bytes);
}
