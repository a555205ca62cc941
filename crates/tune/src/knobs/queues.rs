//! T3: how many queues a network device has.
//!
//! Path: `ethtool -L`, by SIOCETHTOOL: `combined 8`, or `rx 4 tx 4`. A driver that has both kinds
//! uses one; the kind in use is raised and the other stays.
//! Matters when: there are fewer queues than CPUs and one CPU is full of softirq (K4). The most
//! efficient number is the smallest that does not overflow.
//! Predicts: about the ratio of the fullest CPU to the mean of all; nothing with as many queues
//! as CPUs, or at another wall.
//! Risk: the link goes down for a moment; tables of RSS, RPS and XPS are reset.
//! Verify: read back; counters of the new queues move.
//! With: interrupts of new queues need T1; plan steering (T4, T5, T6, T8) again afterwards.
//! Source: ethtool(8), Linux Documentation/networking/scaling.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{DriverSetting, Place, ethtool};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T3",
    name: "queues",
    about: "queues of a network device",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: true,
    relieves: &[WallId::K4, WallId::C10],
    risk: "the link goes down for a moment, steering tables are reset",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| Place::Ethtool {
        device: device.name.clone(),
        setting: DriverSetting::Channels,
    };
    host.wished_devices(wish).map(of).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    if matches!(ask.wish.profile, Profile::Seeds | Profile::Latency) {
        return Proposal::Leave("the driver's own number".to_string());
    }
    let cpus = ask.wish.network_cpus(ask.host).len() as u32;
    let device = ask.place.device().unwrap_or_default();
    let most = ethtool::most(ask.host, device, &DriverSetting::Channels).unwrap_or_default();
    let mut wanted = ask.now.to_string();
    // Drivers refuse a mix: those that use combined queues report zero for the others.
    let is_combined = ethtool::field(ask.now, "combined").is_some_and(|queues| queues > 0);
    let kinds: &[&str] = if is_combined { &["combined"] } else { &["rx", "tx"] };
    for name in kinds {
        let limits = ethtool::field(ask.now, name).zip(ethtool::field(&most, name));
        let Some((now, most)) = limits else { continue };
        wanted = ethtool::with_field(&wanted, name, now.max(most.min(cpus)));
    }
    match wanted == ask.now {
        true => Proposal::Leave(format!("{cpus} CPUs, and the driver has at most {most}")),
        false => Proposal::Set(wanted),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "fewer receive queues than CPUs, and one CPU over 95 % busy with softirq (K4)";
    let server = &signals.server;
    let cpus = server.cpus.as_ref().map(Vec::len);
    match server.rx_queues.zip(cpus) {
        Some((queues, cpus)) if queues as usize >= cpus => {
            let arithmetic = format!("{queues} receive queues for {cpus} CPUs: enough");
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        _ => predict::spread_of_softirq(signals, reconsider),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};
    use model::tuning::Basis;

    #[test]
    fn as_many_queues_as_cpus_and_the_driver_allow() {
        let made = MadeUp::c6i_2xlarge();
        let wish = testing::wish(Profile::Throughput);
        assert_eq!(testing::wanted(&KNOB, &made.host(), &wish, "ens5 channels"), None);
        made.write("/ethtool/ens5/channels", "combined 2");
        made.write("/ethtool/ens5/channels.most", "combined 32");
        let wanted = testing::wanted(&KNOB, &made.host(), &wish, "ens5 channels");
        assert_eq!(wanted.as_deref(), Some("combined 8"));
        let seeds = testing::wish(Profile::Seeds);
        assert_eq!(testing::wanted(&KNOB, &made.host(), &seeds, "ens5 channels"), None);
    }

    #[test]
    fn a_driver_with_both_kinds_keeps_to_the_one_it_uses() {
        let made = MadeUp::c6i_2xlarge();
        let wish = testing::wish(Profile::Throughput);
        for (now, wanted) in [
            ("rx 0 tx 0 combined 4", "rx 0 tx 0 combined 8"),
            ("rx 2 tx 4 combined 0", "rx 8 tx 8 combined 0"),
            ("rx 2 tx 4", "rx 8 tx 8"),
        ] {
            made.write("/ethtool/ens5/channels", now);
            made.write("/ethtool/ens5/channels.most", "rx 16 tx 16 combined 16");
            let found = testing::wanted(&KNOB, &made.host(), &wish, "ens5 channels");
            assert_eq!(found.as_deref(), Some(wanted));
        }
    }

    #[test]
    fn enough_queues_are_enough() {
        let idle = testing::at(WallId::K4, 0.3, 0.1);
        testing::assert_predicts(&KNOB, &idle, &testing::one_full_cpu(1));
        assert_eq!(predict(&testing::one_full_cpu(4)).basis, Basis::NoEffect);
    }
}
