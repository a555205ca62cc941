//! T5: RPS, receive packet steering: which CPUs take in the packets of a receive queue.
//!
//! Path: `/sys/class/net/DEVICE/queues/rx-N/rps_cpus`, a mask of CPUs; zero is off.
//! Matters when: there are fewer queues than CPUs and one CPU is full of softirq (K4, C10). With
//! as many queues as CPUs it only adds interrupts between them.
//! Predicts: up to the ratio of the fullest CPU to the mean of all it may use; nothing elsewhere.
//! Risk: more CPU per packet; wake-ups of other CPUs.
//! Verify: `received_rps` of /proc/net/softnet_stat grows on the CPUs named.
//! With: RFS (T6) needs it; a hash of few flows spreads unevenly.
//! Source: Linux Documentation/networking/scaling.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Effect, Knob, Proposal, Sign};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T5",
    name: "rps",
    about: "CPUs that take in packets of a receive queue",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K4, WallId::C10],
    risk: "more CPU per packet",
    act: Act::Settable { places, propose, sign: Some(SIGN) },
    predict,
};

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| {
        let path =
            |queue: &String| format!("/sys/class/net/{}/queues/{queue}/rps_cpus", device.name);
        device.rx_queues.iter().map(path).collect::<Vec<_>>()
    };
    let file = |path| Place::File { path, format: Format::Mask };
    host.meant(wish).flat_map(of).map(file).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let cpus = ask.wish.network_cpus(ask.host);
    match ask.wish.profile {
        Profile::Seeds | Profile::Throughput => Proposal::Set(cpus.list()),
        Profile::Latency | Profile::Churn => {
            Proposal::Leave("it wakes another CPU for each packet".to_string())
        }
    }
}

/// Packets taken in for another CPU, of the whole host.
const SIGN: Sign = Sign { what: "received_rps", read: received_rps, judge };

fn received_rps(host: &Host, _: &Place) -> Option<String> {
    let text = host.text("/proc/net/softnet_stat")?;
    let field = |line: &str| u64::from_str_radix(line.split_whitespace().nth(9)?, 16).ok();
    let all: Option<Vec<u64>> = text.lines().map(field).collect();
    Some(all?.iter().sum::<u64>().to_string())
}

fn judge(before: &str, now: &str, wanted: &str) -> Effect {
    let (before, now) = (before.parse::<u64>().ok(), now.parse::<u64>().ok());
    match before.zip(now) {
        _ if wanted.is_empty() => Effect::NotYet("off; received_rps stays as it is".to_string()),
        Some((before, now)) if now > before => {
            Effect::Seen(format!("{} packets were steered", now - before))
        }
        _ => Effect::NotYet("received_rps will grow with packets".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    predict::spread_of_softirq(
        signals,
        "one CPU of the server over 95 % busy, over 80 % of it softirq, with others idle (K4)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MadeUp;

    #[test]
    fn every_queue_gets_the_cpus_of_the_split() {
        let host = MadeUp::new("t05", 8).device("eth0", 4).host();
        let wish = Wish::default();
        let places = places(&host, &wish);
        assert_eq!(places.len(), 4);
        let ask = Ask { host: &host, wish: &wish, place: &places[0], index: 0, count: 4, now: "" };
        assert_eq!(propose(&ask), Proposal::Set("0-7".to_string()));
    }

    #[test]
    fn steered_packets_are_the_sign() {
        assert!(matches!(judge("5", "9", "0-1"), Effect::Seen(_)));
        assert!(matches!(judge("5", "5", "0-1"), Effect::NotYet(_)));
    }
}
