//! T18: offloads: segments that are joined and cut by the device or at its edge.
//!
//! Path: `ethtool -K`, by SIOCETHTOOL, one feature each: `rx-gro`, `rx-gro-hw`, `rx-lro`,
//! `tx-generic-segmentation`, `tx-tcp-segmentation`, `tx-tcp6-segmentation`; `on` or `off`.
//! Features that the driver has fixed are absent.
//! Matters when: CPUs limit and bodies are longer than a segment.
//! Predicts: at most half the share of softirq; nothing for bodies of one segment.
//! Risk: LRO breaks forwarding; some drivers restart the link.
//! Verify: read back; segments per frame.
//! With: MTU (T21). On a virtual pair it changes the path that packets take.
//! Source: ethtool(8), Linux Documentation/networking/segmentation-offloads.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{DriverSetting, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T18",
    name: "offloads",
    about: "segments joined and cut below TCP",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: true,
    relieves: &[WallId::S1, WallId::K4, WallId::K9],
    risk: "LRO breaks forwarding; some drivers restart the link",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const LRO: &str = "rx-lro";
const FEATURES: &[&str] = &[
    "rx-gro",
    "rx-gro-hw",
    LRO,
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
];
/// Bytes of a body that one packet of the usual length carries.
const SEGMENT_BYTES: f64 = 1448.0;

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| {
        let place = |name: &&str| Place::Ethtool {
            device: device.name.clone(),
            setting: DriverSetting::Feature(name.to_string()),
        };
        FEATURES.iter().map(place).collect::<Vec<_>>()
    };
    host.wished_devices(wish).flat_map(of).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let is_lro = ask.place.show().ends_with(LRO);
    match ask.wish.profile {
        _ if is_lro => Proposal::Leave("it breaks forwarding; GRO does the same work".to_string()),
        Profile::Throughput => Proposal::Set("on".to_string()),
        Profile::Seeds | Profile::Latency | Profile::Churn => {
            Proposal::Leave("short bodies are one segment".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "bodies of more than 1448 bytes, and CPUs over 95 % busy";
    let bytes = [signals.bytes_per_request, signals.bytes_per_response].map(predict::finite);
    let Some(most) = bytes[0].zip(bytes[1]).map(|(up, down)| up.max(down)) else {
        return Prediction::unknown("bytes per request were not measured".into(), reconsider);
    };
    if most <= SEGMENT_BYTES {
        let arithmetic = format!("{most:.0} bytes are 1 segment: nothing to join or to cut");
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    let what = format!("{:.1} segments per message become one", most / SEGMENT_BYTES);
    predict::halved_softirq(signals, &what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn throughput_joins_segments_and_leaves_what_breaks_forwarding() {
        let made = MadeUp::c6in_8xlarge();
        made.write("/ethtool/ens5/rx-gro", "off").write("/ethtool/ens5/rx-lro", "off");
        let wish = testing::wish(Profile::Throughput);
        let wanted = |place| testing::wanted(&KNOB, &made.host(), &wish, place);
        assert_eq!(wanted("ens5 rx-gro").as_deref(), Some("on"));
        assert_eq!(wanted("ens5 rx-lro"), None);
        assert_eq!(wanted("ens5 tx-tcp6-segmentation"), None, "absent, so no proposal");
    }

    #[test]
    fn bodies_of_one_segment_gain_nothing() {
        let mut idle = testing::at(WallId::S1, 1.0, 0.3);
        (idle.bytes_per_request, idle.bytes_per_response) = (Some(90.0), Some(200.0));
        let mut limit = idle.clone();
        limit.bytes_per_response = Some(48_000.0);
        testing::assert_predicts(&KNOB, &idle, &limit);
    }
}
