//! T17: ring size: how many packets a device holds until a CPU takes them in.
//!
//! Path: `ethtool -G`, by SIOCETHTOOL: `rx 1024 tx 1024`.
//! Matters when: the device drops packets in bursts (K7); steady drops need CPU instead.
//! Predicts: nothing until the device drops; then up to the next wall.
//! Risk: the link goes down for a moment; longer rings add latency and fit the cache less.
//! Verify: read back; drops of the device no longer grow.
//! With: the budget of softirq (T26) limits how much of a ring is taken in at once.
//! Source: ethtool(8).

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{DriverSetting, Place, ethtool};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T17",
    name: "rings",
    about: "packets that a device holds",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: true,
    relieves: &[WallId::K7],
    risk: "the link goes down for a moment; more latency in the ring",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| Place::Ethtool {
        device: device.name.clone(),
        setting: DriverSetting::Rings,
    };
    host.wished_devices(wish).map(of).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let device = ask.place.device().unwrap_or_default();
    let most = ethtool::most(ask.host, device, &DriverSetting::Rings).unwrap_or_default();
    let limits = ethtool::field(ask.now, "rx").zip(ethtool::field(&most, "rx"));
    match (ask.wish.profile, limits) {
        (Profile::Throughput, Some((now, most))) if now < most => {
            Proposal::Set(ethtool::with_field(ask.now, "rx", most))
        }
        (Profile::Throughput, _) => Proposal::Leave(format!("the driver has at most {most}")),
        _ => Proposal::Leave("a ring that does not overflow needs no more room".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let hits = signals.server.device_drops;
    let reconsider = "drops of the server's network device above 0";
    predict::limit_at(signals, KNOB.relieves, hits, "packets dropped by the device", reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn throughput_takes_the_longest_ring_for_receiving() {
        let made = MadeUp::c6in_8xlarge();
        let wanted =
            |profile| testing::wanted(&KNOB, &made.host(), &testing::wish(profile), "ens5 rings");
        assert_eq!(wanted(Profile::Throughput).as_deref(), Some("rx 16384 tx 1024"));
        assert_eq!(wanted(Profile::Seeds), None);
    }

    #[test]
    fn it_matters_when_the_device_drops() {
        let mut idle = testing::at(WallId::K7, 0.9, 0.5);
        idle.server.device_drops = Some(0);
        let mut limit = idle.clone();
        limit.server.device_drops = Some(40);
        testing::assert_predicts(&KNOB, &idle, &limit);
    }
}
