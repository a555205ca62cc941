//! T5: RPS, receive packet steering: which CPUs take in the packets of a receive queue.
//!
//! Path: `/sys/class/net/DEVICE/queues/rx-N/rps_cpus`, a mask of CPUs; zero is off.
//! Matters when: there are fewer queues than CPUs and one CPU is full of softirq (K4, C10). With
//! as many queues as CPUs it only adds interrupts between them.
//! Predicts: about the ratio of the fullest CPU to the mean of all it may use; nothing elsewhere.
//! Risk: more CPU per packet; wake-ups of other CPUs.
//! Verify: `received_rps` of /proc/net/softnet_stat grows on the CPUs of the mask.
//! With: RFS (T6) needs it; a hash of few flows spreads unevenly.
//! Source: Linux Documentation/networking/scaling.rst.

use crate::cpus::CpuSet;
use crate::host::{Device, Host, Profile, Wish};
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
    host.wished_devices(wish).flat_map(of).map(file).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let Some(device) = ask.device() else {
        return Proposal::Refuse("the device is gone".to_string());
    };
    match steers(ask.host, ask.wish, device) {
        Ok(cpus) => Proposal::Set(cpus.list()),
        Err(why) => Proposal::Leave(why),
    }
}

/// The CPUs to which the packets of a device are steered, or why they are not; T6 follows it.
pub fn steers(host: &Host, wish: &Wish, device: &Device) -> Result<CpuSet, String> {
    let (cpus, queues) = (wish.cpus_for(host, device), device.rx_queues.len());
    match wish.profile {
        Profile::Seeds => Ok(wish.network_cpus(host)),
        Profile::Throughput if queues >= cpus.len() => Err(format!(
            "{queues} queues for {} CPUs: each CPU has a queue, and steering only adds interrupts",
            cpus.len()
        )),
        Profile::Throughput => Ok(cpus),
        Profile::Latency | Profile::Churn => {
            Err("it wakes another CPU for each packet".to_string())
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
    predict::steered(
        signals,
        "one CPU of the server over 95 % busy, over half of it softirq, with others idle (K4)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};
    use model::tuning::Basis;

    #[test]
    fn every_queue_gets_the_cpus_of_the_split() {
        let made = MadeUp::new("t05", 8).device("eth0", 4);
        let host = made.host();
        let all = testing::asked(&KNOB, &host, &Wish::default());
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].1, Proposal::Set("0-7".to_string()));
        let wish = testing::split(Profile::Throughput, "2-7", "0-1");
        assert_eq!(testing::asked(&KNOB, &host, &wish)[3].1, Proposal::Set("2-7".to_string()));
    }

    #[test]
    fn as_many_queues_as_cpus_need_no_steering() {
        let made = MadeUp::c6i_2xlarge();
        let host = made.host();
        let all = testing::asked(&KNOB, &host, &testing::wish(Profile::Throughput));
        assert!(matches!(&all[0].1, Proposal::Leave(why) if why.contains("8 queues for 8 CPUs")));
        let seeds = testing::asked(&KNOB, &host, &testing::wish(Profile::Seeds));
        assert_eq!(seeds[0].1, Proposal::Set("0-7".to_string()), "the journal did it all the same");
    }

    #[test]
    fn steered_packets_are_the_sign() {
        assert!(matches!(judge("5", "9", "0-1"), Effect::Seen(_)));
        assert!(matches!(judge("5", "5", "0-1"), Effect::NotYet(_)));
    }

    #[test]
    fn it_matters_when_one_cpu_is_full_and_others_have_no_queue() {
        let idle = testing::at(WallId::K4, 0.3, 0.1);
        testing::assert_predicts(&KNOB, &idle, &testing::one_full_cpu(1));
        assert!(predict(&testing::one_full_cpu(4)).high.unwrap() > 0.03, "queues share one CPU");
        let mut spread = idle.clone();
        spread.server.rx_queues = Some(4);
        let said = predict(&spread);
        assert_eq!((said.basis, said.high), (Basis::Bounded, Some(0.03)), "it only costs");
    }
}
