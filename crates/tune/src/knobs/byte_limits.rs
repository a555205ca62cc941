//! T23: byte queue limits: how much the kernel gives a transmit ring ahead.
//!
//! Path: `/sys/class/net/DEVICE/queues/tx-N/byte_queue_limits/limit_max`, bytes.
//! Matters when: a transmit ring runs empty although packets wait, on a link in full use (K8).
//! Predicts: at most what the link has left; nothing below nine tenths of it.
//! Risk: more latency in the ring.
//! Verify: `inflight` of the queue stays below its `limit`.
//! With: the length of the ring (T17) and the discipline above it (T22).
//! Source: Linux Documentation/ABI/testing/sysfs-class-net-queues.

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T23",
    name: "byte-limits",
    about: "bytes given to a transmit ring ahead",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::K8],
    risk: "more latency in the ring",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

/// Use of the link from which a ring that runs empty would matter.
const LINK_FULL: f64 = 0.9;

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| {
        let path = |queue: &String| {
            format!("/sys/class/net/{}/queues/{queue}/byte_queue_limits/limit_max", device.name)
        };
        device.tx_queues.iter().map(path).collect::<Vec<_>>()
    };
    let paths = host.meant(wish).flat_map(of);
    paths.map(|path| Place::file(path, Format::Number)).collect()
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Leave("the kernel finds the limit by itself".to_string())
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "use of the link above 90 % (K8), with inflight at the limit of a queue";
    let Some(used) = predict::finite(signals.server.link_use) else {
        return Prediction::unknown("use of the link was not measured".into(), reconsider);
    };
    if let Some(nothing) = predict::elsewhere(signals, KNOB.relieves, reconsider) {
        return nothing;
    }
    let noise = predict::noise(signals);
    let shown = format!("{:.0} % of the link is used", used * 100.0);
    if used < LINK_FULL {
        return Prediction::no_effect(noise, shown, reconsider);
    }
    let high = (1.0 / used - 1.0).max(noise);
    let arithmetic = format!("{shown}: at most 1 / {used:.2} - 1 = {high:.3}");
    Prediction::bounded(-noise, Some(high), arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Profile;
    use crate::testing::{self, MadeUp};

    #[test]
    fn the_kernel_is_left_to_find_it() {
        let made = MadeUp::two_cpus();
        made.write("/sys/class/net/eth0/queues/tx-0/byte_queue_limits/limit_max", "1879048192");
        let all = testing::asked(&KNOB, &made.host(), &testing::wish(Profile::Throughput));
        assert!(matches!(all[0].1, Proposal::Leave(_)), "{all:?}");
    }

    #[test]
    fn it_matters_on_a_full_link_only() {
        let mut idle = testing::at(WallId::K8, 0.2, 0.1);
        idle.server.link_use = Some(0.56);
        let mut limit = idle.clone();
        limit.server.link_use = Some(0.93);
        testing::assert_predicts(&KNOB, &idle, &limit);
    }
}
