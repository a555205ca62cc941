//! T4: RSS indirection: which receive queue gets which part of the hashes of flows.
//!
//! Path: `ethtool -X DEVICE equal N`, by SIOCETHTOOL; a table, `equal N` when the queues take
//! turns.
//! Matters when: packets of the queues differ by more than 2, with more than 8 flows each (K14).
//! Predicts: about the ratio of the fullest CPU to the mean of all; nothing when packets are even.
//! Risk: flows change their queue, so some packets come out of order once.
//! Verify: the table reads back; counters of the queues grow alike.
//! With: T3 resets it; T1 decides which CPU a queue means.
//! Source: ethtool(8), Linux Documentation/networking/scaling.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{DriverSetting, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T4",
    name: "rss",
    about: "share of each receive queue in the flows",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: true,
    relieves: &[WallId::K4, WallId::K14, WallId::C10],
    risk: "flows change their queue; some drivers restart their queues",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

/// The ratio of the fullest to the mean above which packets are uneven.
const UNEVEN: f64 = 2.0;

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| Place::Ethtool {
        device: device.name.clone(),
        setting: DriverSetting::Indirection,
    };
    host.wished_devices(wish).filter(|device| device.rx_queues.len() > 1).map(of).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let queues = ask.device().map_or(0, |device| device.rx_queues.len());
    match ask.wish.profile {
        _ if queues < 2 => Proposal::Leave("there is one queue".to_string()),
        Profile::Throughput | Profile::Churn => Proposal::Set(format!("equal {queues}")),
        Profile::Seeds | Profile::Latency => Proposal::Leave("the driver's own table".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "packets of one CPU over 2 times the mean of those that take packets in";
    let by_cpu = signals.server.packets_by_cpu.as_ref();
    let taking: Option<Vec<f64>> = by_cpu
        .map(|all| {
            all.iter().map(|of| of.1).filter(|rate| rate.is_finite() && *rate > 0.0).collect()
        })
        .filter(|rates: &Vec<f64>| !rates.is_empty());
    let Some(taking) = taking else {
        return Prediction::unknown("packets of the CPUs were not measured".into(), reconsider);
    };
    let mean = taking.iter().sum::<f64>() / taking.len() as f64;
    let most = taking.iter().copied().fold(0.0, f64::max);
    if most <= UNEVEN * mean {
        let arithmetic = format!("the fullest CPU takes {most:.0} packets/s, the mean {mean:.0}");
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    predict::spread_of_softirq(signals, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn every_queue_gets_its_share() {
        let made = MadeUp::c6in_8xlarge();
        made.write("/ethtool/ens5/indirection", "0 0 0 1");
        let wish = testing::wish(Profile::Throughput);
        let wanted = testing::wanted(&KNOB, &made.host(), &wish, "ens5 indirection");
        assert_eq!(wanted.as_deref(), Some("equal 16"));
    }

    #[test]
    fn it_matters_when_packets_are_uneven() {
        let mut even = testing::one_full_cpu(4);
        even.server.packets_by_cpu = Some((0..4).map(|cpu| (cpu, 1e5)).collect());
        let mut uneven = even.clone();
        uneven.server.packets_by_cpu = Some(vec![(0, 1e3), (1, 1e3), (2, 3e5), (3, 1e3)]);
        testing::assert_predicts(&KNOB, &even, &uneven);
    }
}
