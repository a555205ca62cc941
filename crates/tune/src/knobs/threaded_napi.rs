//! T11: threaded NAPI: packets are taken in by kernel threads, which the scheduler can move.
//!
//! Path: `/sys/class/net/DEVICE/threaded`, 0 or 1.
//! Matters when: softirq on one CPU starves threads of the server that share it (K4).
//! Predicts: about the ratio of the fullest CPU to the mean of all; nothing elsewhere.
//! Risk: longer and less even latency; threads compete like any other.
//! Verify: kernel threads named `napi/DEVICE-...` exist.
//! With: an alternative to T1 and T5; try one of them at a time.
//! Source: Linux Documentation/networking/napi.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Effect, Knob, Proposal, Sign};
use crate::place::{Format, Place};
use crate::predict;
use crate::process;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T11",
    name: "threaded-napi",
    about: "packets are taken in by kernel threads",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K4, WallId::C10],
    risk: "longer and less even latency",
    act: Act::Settable { places, propose, sign: Some(SIGN) },
    predict,
};

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let path = |device: &crate::host::Device| format!("/sys/class/net/{}/threaded", device.name);
    host.wished_devices(wish).map(|device| Place::file(path(device), Format::Number)).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let why = match ask.wish.profile {
        Profile::Throughput => "steering (T5) spreads the same work at a lower price",
        Profile::Latency | Profile::Churn => "a thread is woken later than a softirq runs",
        Profile::Seeds => "the journal did not touch it",
    };
    Proposal::Leave(why.to_string())
}

/// Kernel threads of the device.
const SIGN: Sign = Sign { what: "napi threads", read: threads, judge };

fn threads(host: &Host, place: &Place) -> Option<String> {
    // A thread name has at most 15 characters, so a long device name is cut.
    let start: String = format!("napi/{}-", place.device()?).chars().take(15).collect();
    let is_its = |pid: &u32| {
        host.text(&format!("/proc/{pid}/comm")).is_some_and(|name| name.starts_with(&start))
    };
    let all = process::ids(&host.root.path("/proc")).ok()?;
    Some(all.iter().filter(|pid| is_its(pid)).count().to_string())
}

fn judge(_: &str, now: &str, wanted: &str) -> Effect {
    match (wanted, now) {
        ("0", _) => Effect::Seen("softirq takes packets in".to_string()),
        (_, "0") => Effect::Missing("no napi thread of the device exists".to_string()),
        (_, count) => Effect::Seen(format!("{count} napi threads of the device exist")),
    }
}

fn predict(signals: &Signals) -> Prediction {
    predict::spread_of_softirq(
        signals,
        "one CPU of the server over 95 % busy, over half of it softirq, with others idle (K4)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn threads_of_the_device_are_the_sign() {
        let made = MadeUp::two_cpus();
        made.write("/sys/class/net/eth0/threaded", "0").write("/proc/41/comm", "napi/eth0-8193");
        let host = made.host();
        let place = &places(&host, &testing::wish(Profile::Throughput))[0];
        assert_eq!(threads(&host, place).as_deref(), Some("1"));
        assert!(matches!(judge("0", "1", "1"), Effect::Seen(_)));
        assert!(matches!(judge("0", "0", "1"), Effect::Missing(_)));
        let all = testing::asked(&KNOB, &host, &testing::wish(Profile::Throughput));
        assert!(matches!(all[0].1, Proposal::Leave(_)));
    }

    #[test]
    fn it_matters_when_one_cpu_is_full_of_softirq() {
        let idle = testing::at(WallId::K4, 0.3, 0.1);
        testing::assert_predicts(&KNOB, &idle, &testing::one_full_cpu(1));
    }
}
