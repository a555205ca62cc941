//! The registry: every knob, all of one shape.
//!
//! To add one, write its file and its line here; a knob that ceiling never sets is a constant in
//! [`advice`] or [`left_alone`]. The header of the file, or of the constant, says what users need
//! to know, under the same labels in each: docs/reference/knobs.md is made from it.

mod advice;
mod busy_poll;
mod coalescing;
mod conntrack_table;
mod cpu_clock;
mod cpu_idle;
mod cpu_quota;
mod cron;
mod defer_interrupts;
mod ip_local_port_range;
mod irq_affinity;
mod irqbalance;
mod left_alone;
mod memory_reserve;
mod netdev_budget;
mod netdev_max_backlog;
mod nofile;
mod numa_balancing;
mod offloads;
mod qdisc;
mod queues;
mod rfs;
mod rings;
mod rps;
mod rps_default;
mod rss;
mod server_cpus;
mod somaxconn;
mod tcp_autocorking;
mod tcp_buffers;
mod tcp_congestion_control;
mod tcp_max_syn_backlog;
mod tcp_max_tw_buckets;
mod tcp_notsent_lowat;
mod tcp_slow_start_after_idle;
mod tcp_syncookies;
mod tcp_tw_reuse;
mod threaded_napi;
mod timers;
mod transparent_hugepages;
mod xps;

use crate::knob::Knob;
pub use advice::GENERATOR;

/// Every knob, in the order of the catalogue.
pub const REGISTRY: &[&Knob] = &[
    &irq_affinity::KNOB,
    &irqbalance::KNOB,
    &queues::KNOB,
    &rss::KNOB,
    &rps::KNOB,
    &rfs::KNOB,
    &xps::KNOB,
    &rps_default::KNOB,
    &left_alone::FLOW_LIMIT,
    &threaded_napi::KNOB,
    &server_cpus::KNOB,
    &advice::LISTENERS,
    &advice::LISTENER_BY_CPU,
    &advice::EXCLUSIVE_WAKEUPS,
    &coalescing::KNOB,
    &rings::KNOB,
    &offloads::KNOB,
    &defer_interrupts::KNOB,
    &busy_poll::KNOB,
    &qdisc::KNOB,
    &left_alone::BYTE_LIMITS,
    &netdev_max_backlog::KNOB,
    &netdev_budget::KNOB,
    &left_alone::DEV_WEIGHT,
    &left_alone::NETDEV_TSTAMP_PREQUEUE,
    &somaxconn::KNOB,
    &advice::LISTEN_BACKLOG,
    &tcp_max_syn_backlog::KNOB,
    &tcp_syncookies::KNOB,
    &left_alone::TCP_ABORT_ON_OVERFLOW,
    &ip_local_port_range::KNOB,
    &tcp_tw_reuse::KNOB,
    &advice::TCP_FIN_TIMEOUT,
    &tcp_max_tw_buckets::KNOB,
    &advice::KEEP_ALIVE,
    &nofile::KNOB,
    &advice::TCP_FASTOPEN,
    &tcp_buffers::KNOB,
    &tcp_notsent_lowat::KNOB,
    &left_alone::TCP_LIMIT_OUTPUT_BYTES,
    &tcp_slow_start_after_idle::KNOB,
    &tcp_congestion_control::KNOB,
    &tcp_autocorking::KNOB,
    &left_alone::TCP_MEM,
    &advice::ZERO_COPY,
    &conntrack_table::KNOB,
    &advice::WATCHERS,
    &cpu_clock::KNOB,
    &cpu_idle::KNOB,
    &advice::MITIGATIONS,
    &left_alone::SMT,
    &transparent_hugepages::KNOB,
    &numa_balancing::KNOB,
    &memory_reserve::KNOB,
    &cpu_quota::KNOB,
    &advice::ISOLATED_CPUS,
    &advice::RUNTIME,
    &advice::GENERATOR,
    &advice::PIPELINING,
    &advice::COMPRESSION,
    &advice::LOGGING,
    &cron::KNOB,
    &timers::KNOB,
];

/// A knob by its id or its name.
pub fn find(word: &str) -> Option<&'static Knob> {
    REGISTRY.iter().find(|knob| knob.is_called(word)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Profile;
    use crate::knob::Act;
    use crate::testing::{self, MadeUp};

    fn seeds(made: &MadeUp) -> Vec<(String, String)> {
        testing::writes(&made.host(), &testing::wish(Profile::Seeds))
    }

    /// What the setup script of the journal writes, as places and bytes.
    fn of_the_script(device: &str, queues: u32, mask: &str, flows: &str) -> Vec<(String, String)> {
        let path = |queue, file| format!("/sys/class/net/{device}/queues/rx-{queue}/{file}");
        let masks = (0..queues).map(|queue| (path(queue, "rps_cpus"), mask.to_string()));
        let counts = (0..queues).map(|queue| (path(queue, "rps_flow_cnt"), flows.to_string()));
        let entries = "/proc/sys/net/core/rps_sock_flow_entries".to_string();
        let mut all = vec![("irqbalance (process 700)".to_string(), "paused".to_string())];
        all.extend(masks);
        all.push((entries, "32768".to_string()));
        all.extend(counts);
        all
    }

    #[test]
    fn the_seeds_write_what_the_journals_script_wrote_on_128_cpus() {
        let mask = "ffffffff,ffffffff,ffffffff,ffffffff";
        assert_eq!(seeds(&MadeUp::c8i_32xlarge()), of_the_script("enp95s0", 16, mask, "2048"));
    }

    #[test]
    fn the_seeds_fit_hosts_of_other_sizes() {
        assert_eq!(seeds(&MadeUp::two_cpus()), of_the_script("eth0", 1, "00000003", "32768"));
        assert_eq!(seeds(&MadeUp::c6i_2xlarge()), of_the_script("ens5", 8, "000000ff", "4096"));
        assert_eq!(seeds(&MadeUp::c6in_8xlarge()), of_the_script("ens5", 16, "ffffffff", "2048"));
        let mask = format!("00000fff{}", ",ffffffff".repeat(9));
        assert_eq!(seeds(&MadeUp::three_hundred_cpus()), of_the_script("eth0", 32, &mask, "1024"));
    }

    #[test]
    fn the_seeds_pin_a_queue_to_a_cpu_once_cpus_are_split() {
        for (made, network, first) in [
            (MadeUp::c6i_2xlarge(), "6-7", 28),
            (MadeUp::c6in_8xlarge(), "16-31", 40),
            (MadeUp::c8i_32xlarge(), "112-127", 143),
        ] {
            let host = made.host();
            let wish = testing::split(Profile::Seeds, network, "0");
            let cpus: Vec<u32> = crate::CpuSet::parse_list(network).unwrap().iter().collect();
            let place = |irq| format!("/proc/irq/{irq}/smp_affinity_list");
            let pinned: Vec<_> = testing::writes(&host, &wish)
                .into_iter()
                .filter(|(place, _)| place.starts_with("/proc/irq/"))
                .collect();
            let of =
                |(irq, queue): (u32, usize)| (place(irq), cpus[queue % cpus.len()].to_string());
            let queues = host.devices[0].rx_queues.len();
            // Those that are there already are not written again.
            let wanted = (first..)
                .zip(0..queues)
                .map(of)
                .filter(|(place, cpu)| host.text(place).is_some_and(|now| now.trim() != cpu));
            assert_eq!(pinned, wanted.collect::<Vec<_>>());
        }
    }

    #[test]
    fn ids_and_names_are_unique_and_in_order() {
        let number = |knob: &Knob| knob.id[1..].parse::<u32>().unwrap();
        let numbers: Vec<u32> = REGISTRY.iter().map(|knob| number(knob)).collect();
        assert!(numbers.is_sorted_by(|left, right| left < right), "{numbers:?}");
        let mut names: Vec<&str> = REGISTRY.iter().map(|knob| knob.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REGISTRY.len());
    }

    #[test]
    fn what_a_knob_would_set_is_what_its_place_keeps() {
        for made in [MadeUp::two_cpus(), MadeUp::c8i_32xlarge(), MadeUp::three_hundred_cpus()] {
            let host = made.host();
            for profile in Profile::ALL {
                for knob in REGISTRY.iter().filter(|knob| matches!(knob.act, Act::Settable { .. }))
                {
                    for (place, proposal) in testing::asked(knob, &host, &testing::wish(profile)) {
                        let crate::Proposal::Set(value) = proposal else { continue };
                        let before = place.read(&host).unwrap().unwrap();
                        place.write(&host, &value, &before).unwrap();
                        let now = place.read(&host).unwrap().unwrap();
                        assert_eq!(now.value, place.settles_to(&value), "{}", place.show());
                        place.write(&host, &before.value, &now).unwrap();
                        let back = place.read(&host).unwrap().unwrap();
                        assert_eq!(back.value, before.value, "{}", place.show());
                    }
                }
            }
        }
    }
}
