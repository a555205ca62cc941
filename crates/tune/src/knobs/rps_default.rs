//! T9: the steering that new network devices in this namespace start with.
//!
//! Path: `/proc/sys/net/core/rps_default_mask`, a mask of CPUs; zero is off.
//! Matters when: devices come and go, as with containers, and one CPU is full of softirq.
//! Predicts: what RPS (T5) does, for devices made afterwards.
//! Risk: more CPU per packet on every new device of the namespace.
//! Verify: rps_cpus of the next device that is made.
//! With: RPS (T5) sets devices that exist.
//! Source: Linux Documentation/admin-guide/sysctl/net.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T9",
    name: "rps-default",
    about: "steering that new devices start with",
    scope: Scope::Namespace,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K4, WallId::C10],
    risk: "more CPU per packet on every new device",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

fn places(_: &Host, _: &Wish) -> Vec<Place> {
    vec![Place::file("/proc/sys/net/core/rps_default_mask", Format::Mask)]
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let has_hardware = ask.host.wished_devices(ask.wish).any(|device| device.is_hardware);
    match ask.wish.profile {
        Profile::Throughput if !has_hardware => {
            Proposal::Set(ask.wish.network_cpus(ask.host).list())
        }
        _ => Proposal::Leave("the devices that carry the load exist already".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    predict::steered(
        signals,
        "one CPU of the server over 95 % busy, over half of it softirq, on a device yet to be made",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn only_where_devices_are_made() {
        let path = "/proc/sys/net/core/rps_default_mask";
        let wish = testing::wish(Profile::Throughput);
        let container = MadeUp::new("t09", 4).device("eth0", 1);
        container.write(path, "0");
        let wanted = testing::wanted(&KNOB, &container.host(), &wish, path);
        assert_eq!(wanted.as_deref(), Some("0-3"));
        let machine = MadeUp::c6i_2xlarge();
        machine.write(path, "00");
        assert_eq!(testing::wanted(&KNOB, &machine.host(), &wish, path), None);
    }

    #[test]
    fn it_matters_as_steering_does() {
        let idle = testing::at(WallId::K4, 0.3, 0.1);
        testing::assert_predicts(&KNOB, &idle, &testing::one_full_cpu(1));
    }
}
