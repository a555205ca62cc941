//! Kernel parameters that matter for load, as facts.

use crate::kernel_file::{is_gone, unreadable};
use crate::scan;
use model::facts::Unreadable;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// What is read. A parameter that this kernel, or this network namespace, does not have is left
/// out of the facts.
const NAMES: &[&str] = &[
    "fs.file-max",
    "fs.file-nr",
    "fs.nr_open",
    "kernel.pid_max",
    "kernel.sched_cfs_bandwidth_slice_us",
    "kernel.threads-max",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syn_linear_timeouts",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_tw_reuse_delay",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
];

/// The values by dotted name, and those that exist and cannot be read.
pub fn read_all() -> (BTreeMap<String, String>, Vec<Unreadable>) {
    let mut values = BTreeMap::new();
    let mut failed = Vec::new();
    for name in NAMES {
        let path = PathBuf::from("/proc/sys").join(name.replace('.', "/"));
        match fs::read(&path) {
            Ok(bytes) => {
                values.insert(name.to_string(), scan::text(bytes.trim_ascii()));
            }
            Err(why) if is_gone(&why) => {}
            Err(why) => failed.push(unreadable(&path, why)),
        }
    }
    (values, failed)
}

/// The values by dotted name, of those that can be read.
pub fn values() -> BTreeMap<String, String> {
    read_all().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_every_linux_has_most() {
        assert!(NAMES.is_sorted());
        let (values, _) = read_all();
        assert!(values["net.core.somaxconn"].parse::<u32>().is_ok());
        assert_eq!(values["net.ipv4.ip_local_port_range"].split_ascii_whitespace().count(), 2);
    }
}
