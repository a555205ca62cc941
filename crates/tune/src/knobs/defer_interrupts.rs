//! T19: deferred interrupts: after a poll that found packets, a timer starts the next poll.
//!
//! Path: `/sys/class/net/DEVICE/napi_defer_hard_irqs`, empty polls, and `gro_flush_timeout`,
//! nanoseconds; zero is off, and one without the other does nothing.
//! Matters when: CPUs limit, traffic is steady, and interrupts dominate.
//! Predicts: at most half the share of softirq; nothing while CPUs have time.
//! Risk: responses take up to the timeout longer.
//! Verify: interrupts per second fall while packets per second do not.
//! With: coalescing (T16) does it in the device; busy polling (T20) needs it.
//! Source: Linux Documentation/networking/napi.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T19",
    name: "defer-interrupts",
    about: "polls by a timer instead of interrupts",
    scope: Scope::Device,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[WallId::S1, WallId::K4],
    risk: "responses take up to the timeout longer",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const DEFER: &str = "napi_defer_hard_irqs";
const EMPTY_POLLS: u64 = 2;
const TIMEOUT_NS: u64 = 20_000;

fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    let of = |device: &crate::host::Device| {
        let path = |file| format!("/sys/class/net/{}/{file}", device.name);
        // The timer first: polls that are deferred without one would wait for a packet.
        ["gro_flush_timeout", DEFER].map(|file| Place::file(path(file), Format::Number))
    };
    host.wished_devices(wish).flat_map(of).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let is_hardware = ask.device().is_some_and(|device| device.is_hardware);
    let number = if ask.place.show().ends_with(DEFER) { EMPTY_POLLS } else { TIMEOUT_NS };
    match ask.wish.profile {
        _ if !is_hardware => Proposal::Leave("no hardware interrupts here".to_string()),
        Profile::Throughput => Proposal::at_least(ask.now, number),
        Profile::Seeds | Profile::Latency | Profile::Churn => {
            Proposal::Leave("responses would wait for the timer".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "CPUs over 95 % busy, with nearly one interrupt for each packet";
    let rate = predict::finite(signals.server.interrupts_per_s);
    let what = rate.map_or("interrupts become timers".to_string(), |rate| {
        format!("{rate:.0} interrupts/s become timers")
    });
    predict::halved_softirq(signals, &what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn only_where_hardware_interrupts() {
        let made = MadeUp::c6in_8xlarge().device("veth0", 1);
        for device in ["ens5", "veth0"] {
            for file in ["gro_flush_timeout", DEFER] {
                made.write(&format!("/sys/class/net/{device}/{file}"), "0");
            }
        }
        let host = made.host();
        let wish = testing::wish(Profile::Throughput);
        let wanted = |path: &str| testing::wanted(&KNOB, &host, &wish, path);
        let timeout = wanted("/sys/class/net/ens5/gro_flush_timeout");
        assert_eq!(timeout.as_deref(), Some("20000"));
        let polls = wanted("/sys/class/net/ens5/napi_defer_hard_irqs");
        assert_eq!(polls.as_deref(), Some("2"));
        assert_eq!(wanted("/sys/class/net/veth0/gro_flush_timeout"), None);
    }

    #[test]
    fn it_matters_at_the_wall_of_cpus_only() {
        let idle = testing::at(WallId::S1, 0.3, 0.1);
        testing::assert_predicts(&KNOB, &idle, &testing::at(WallId::S1, 1.0, 0.3));
    }
}
