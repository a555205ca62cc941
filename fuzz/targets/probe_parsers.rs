//! Kernel text and netlink messages, whatever they hold, never panic a parser.

#![no_main]

use libfuzzer_sys::fuzz_target;
use probe::source::{
    cgroup, files, interrupts, net_dev, pressure, sock_diag, sockstat, softirqs, softnet, stat,
    tcp, threads,
};

fuzz_target!(|bytes: &[u8]| {
    let _ = stat::parse(bytes);
    let _ = softnet::parse(bytes);
    let _ = softirqs::parse(bytes);
    let _ = interrupts::parse(bytes);
    let _ = net_dev::parse(bytes);
    let _ = tcp::parse(bytes);
    let _ = sockstat::parse(bytes);
    let _ = pressure::parse(bytes);
    let _ = threads::parse(bytes);
    let _ = cgroup::parse(bytes);
    let _ = cgroup::parse_max(bytes);
    let _ = cgroup::parse_v1_us(bytes);
    let _ = files::parse(bytes);
    let _ = sock_diag::parse(bytes);
});
