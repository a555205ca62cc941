//! T6: RFS, receive flow steering: packets go to the CPU where their reader ran last.
//!
//! Path: `/proc/sys/net/core/rps_sock_flow_entries`, entries of the host, and
//! `/sys/class/net/DEVICE/queues/rx-N/rps_flow_cnt`, entries of each queue; a power of two. Both
//! must be set; those of a device's queues add up to that of the host.
//! Matters when: CPUs limit, threads stay where they are, and packets are taken in on other CPUs
//! than their readers'.
//! Predicts: at most half the share of softirq; nothing while CPUs have time.
//! Risk: memory of the tables; packets chase threads that migrate.
//! Verify: read back; received_rps follows a thread that is moved.
//! With: needs RPS (T5); a listener for each CPU (T14) makes it redundant.
//! Source: Linux Documentation/networking/scaling.rst.

use super::rps;
use crate::host::{Device, Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T6",
    name: "rfs",
    about: "packets go to the CPU of their reader",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::K4],
    risk: "memory of two tables; packets chase threads that migrate",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

/// Flows of the whole host; about as many as connections.
const ENTRIES: u32 = 32_768;

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let path = "/proc/sys/net/core/rps_sock_flow_entries";
    let queues = host.wished_devices(wish).flat_map(|device| {
        let path = |queue| format!("/sys/class/net/{}/queues/{queue}/rps_flow_cnt", device.name);
        device.rx_queues.iter().map(path)
    });
    let all = std::iter::once(path.to_string()).chain(queues);
    all.map(|path| Place::file(path, Format::NumberToPowerOfTwo)).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    if matches!(ask.wish.profile, Profile::Latency | Profile::Churn) {
        return Proposal::Leave("short connections and few packets gain nothing".to_string());
    }
    // The table of the host is for every device that is steered.
    let own = ask.device();
    let devices: Vec<&Device> =
        own.map_or_else(|| ask.host.wished_devices(ask.wish).collect(), |of| vec![of]);
    let steered: Vec<_> =
        devices.iter().map(|device| rps::steers(ask.host, ask.wish, device)).collect();
    if !steered.iter().any(Result::is_ok) {
        let why = steered.into_iter().find_map(Result::err);
        return Proposal::Leave(format!(
            "RPS is off: {}",
            why.unwrap_or_else(|| "no device".to_string())
        ));
    }
    let queues = own.map_or(1, |device| device.rx_queues.len().max(1));
    Proposal::Set((ENTRIES / queues as u32).next_power_of_two().to_string())
}

fn predict(signals: &Signals) -> Prediction {
    predict::gathered_at_readers(
        signals,
        "CPUs over 95 % busy, with a share of softirq above twice the noise",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn queues_share_the_entries_of_the_host() {
        let seeds = testing::wish(Profile::Seeds);
        for (host, device, each) in [
            (MadeUp::c8i_32xlarge(), "enp95s0", "2048"),
            (MadeUp::c6i_2xlarge(), "ens5", "4096"),
            (MadeUp::two_cpus(), "eth0", "32768"),
        ] {
            let host = host.host();
            let path = format!("/sys/class/net/{device}/queues/rx-0/rps_flow_cnt");
            assert_eq!(testing::wanted(&KNOB, &host, &seeds, &path).as_deref(), Some(each));
            let path = "/proc/sys/net/core/rps_sock_flow_entries";
            assert_eq!(testing::wanted(&KNOB, &host, &seeds, path).as_deref(), Some("32768"));
        }
        let made = MadeUp::c6i_2xlarge();
        let host = made.host();
        let wish = testing::wish(Profile::Throughput);
        let all = testing::asked(&KNOB, &host, &wish);
        assert!(all.iter().all(|(_, proposal)| matches!(proposal, Proposal::Leave(_))));
    }

    #[test]
    fn flows_are_steered_where_packets_are_and_nowhere_else() {
        // Each near CPU of ens5 has a queue, though the host has more CPUs; eth1 has one queue.
        let made = MadeUp::c6i_2xlarge().device("eth1", 1);
        made.write("/sys/devices/system/cpu/online", "0-15");
        made.write("/proc/self/status", "Cpus_allowed_list:\t0-15");
        let host = made.host();
        let is_set = |knob: &Knob, device: Option<&str>, file: &str| {
            let device_named = device.map(str::to_string);
            let wish = Wish { device: device_named, ..testing::wish(Profile::Throughput) };
            let all = testing::proposals(knob, &host, &wish);
            let of = all.into_iter().filter(|(place, _)| place.ends_with(file));
            of.map(|(_, proposal)| matches!(proposal, Proposal::Set(_))).collect::<Vec<_>>()
        };
        for (device, is_steered) in [("ens5", false), ("eth1", true)] {
            let masks = is_set(&rps::KNOB, Some(device), "rps_cpus");
            assert!(masks.iter().all(|is_set| *is_set == is_steered), "{device}: {masks:?}");
            assert_eq!(is_set(&KNOB, Some(device), "rps_flow_cnt"), masks, "{device}");
            assert_eq!(is_set(&KNOB, Some(device), "entries"), [is_steered], "{device}");
        }
        assert_eq!(is_set(&KNOB, None, "entries"), [true], "one of them is steered");
    }

    #[test]
    fn it_matters_at_the_wall_of_cpus_only() {
        let idle = testing::at(WallId::S1, 0.06, 0.02);
        testing::assert_predicts(&KNOB, &idle, &testing::at(WallId::S1, 1.0, 0.2));
        let mut signals = testing::at(WallId::S1, 1.0, 0.08);
        for us in [None, Some(20.1)] {
            signals.server.us_per_request = us;
            let said = predict(&signals);
            assert!((said.high.unwrap() - 0.0417).abs() < 1e-3, "8 % halved is 4.2 %: {said:?}");
        }
    }
}
