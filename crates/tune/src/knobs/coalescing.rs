//! T16: interrupt coalescing: how long a device waits for more packets before it interrupts.
//!
//! Path: `ethtool -C`, by SIOCETHTOOL: `adaptive-rx`, `rx-usecs`, `tx-usecs` and frames. While a
//! driver adapts a direction, its time and frames are not in force.
//! Matters when: CPUs limit and more than a tenth of their time goes to interrupts (raise it), or
//! responses take less than 200 us on idle CPUs (lower it).
//! Predicts: at most half the share of softirq; nothing below a tenth, or while CPUs have time.
//! Risk: throughput is traded against the longest responses; some drivers restart their queues.
//! Verify: packets per interrupt.
//! With: busy polling (T20) and deferred interrupts (T19) address the same problem.
//! Source: ethtool(8).

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{DriverSetting, Place, ethtool};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T16",
    name: "coalescing",
    about: "wait before an interrupt",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: true,
    relieves: &[WallId::S1, WallId::K4],
    risk: "longer responses; some drivers restart their queues",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

/// The wait for throughput, which is still short for a network.
const THROUGHPUT_US: u32 = 64;
/// Share of softirq below which its interrupts do not matter.
const SOFTIRQ_MIN: f64 = 0.1;

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| Place::Ethtool {
        device: device.name.clone(),
        setting: DriverSetting::Coalescing,
    };
    host.wished_devices(wish).map(of).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let field = |name| ethtool::field(ask.now, name).unwrap_or(0);
    let (adaptive, rx_us) = (field("adaptive-rx"), field("rx-usecs"));
    // Drivers that cannot wait show zeros, and refuse others.
    let can_wait = adaptive > 0 || rx_us > 0 || field("tx-usecs") > 0;
    match ask.wish.profile {
        _ if !can_wait => Proposal::Leave("the driver does not delay interrupts".to_string()),
        Profile::Throughput if adaptive > 0 => Proposal::Leave("the driver adapts it".to_string()),
        Profile::Throughput if rx_us >= THROUGHPUT_US => {
            Proposal::Leave(format!("it waits {rx_us} us already"))
        }
        Profile::Throughput => {
            Proposal::Set(ethtool::with_field(ask.now, "rx-usecs", THROUGHPUT_US))
        }
        Profile::Latency => {
            let steady = ethtool::with_field(ask.now, "adaptive-rx", 0);
            let at_once = ethtool::with_field(&steady, "rx-usecs", 0);
            // Without a time, the device would wait for this many frames (linux/ethtool.h).
            Proposal::Set(ethtool::with_field(&at_once, "rx-frames", field("rx-frames").min(1)))
        }
        Profile::Seeds | Profile::Churn => Proposal::Leave("the driver's own times".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "CPUs over 95 % busy with more than 10 % in interrupts and softirqs";
    let shares = signals.server.cpus.iter().flatten().map(|cpu| cpu.softirq);
    if let Some(most) = shares.max_by(f64::total_cmp).filter(|most| *most < SOFTIRQ_MIN) {
        let arithmetic = format!("softirq takes {:.1} % of a CPU at most", most * 100.0);
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    predict::halved_softirq(signals, "fewer interrupts for the same packets", reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn throughput_waits_and_latency_does_not() {
        let made = MadeUp::c6in_8xlarge();
        let wanted = |profile| {
            testing::wanted(&KNOB, &made.host(), &testing::wish(profile), "ens5 coalescing")
        };
        let longer = "adaptive-rx 0 rx-usecs 64 tx-usecs 64";
        assert_eq!(wanted(Profile::Throughput).as_deref(), Some(longer));
        made.write("/ethtool/ens5/coalescing", "adaptive-rx 1 rx-usecs 20 tx-usecs 64");
        assert_eq!(wanted(Profile::Throughput), None);
        let shorter = "adaptive-rx 0 rx-usecs 0 tx-usecs 64";
        assert_eq!(wanted(Profile::Latency).as_deref(), Some(shorter));
        made.write("/ethtool/ens5/coalescing", "adaptive-rx 1 rx-usecs 20 rx-frames 64");
        let one = "adaptive-rx 0 rx-usecs 0 rx-frames 1";
        assert_eq!(wanted(Profile::Latency).as_deref(), Some(one), "64 would be waited for");
        made.write("/ethtool/ens5/coalescing", "adaptive-rx 0 rx-usecs 0 tx-usecs 0");
        assert_eq!(wanted(Profile::Throughput), None, "this driver would refuse");
    }

    #[test]
    fn it_matters_when_interrupts_cost_a_tenth() {
        let idle = testing::at(WallId::S1, 1.0, 0.05);
        testing::assert_predicts(&KNOB, &idle, &testing::at(WallId::S1, 1.0, 0.3));
    }
}
