//! T52: idle states of CPUs.
//!
//! Path: `/sys/devices/system/cpu/cpuN/cpuidle/stateM/disable`, 0 or 1. The other way,
//! `/dev/cpu_dma_latency`, holds only while a process keeps it open.
//! Matters when: responses are slower at a low rate than at a higher one: CPUs wake from deep
//! sleep. At saturation no CPU sleeps.
//! Predicts: nothing where CPUs are more than half busy; else unknown, because the probe does not
//! measure wake-ups.
//! Risk: power and heat; less boost for busy CPUs.
//! Verify: `usage` of the disabled states no longer grows.
//! With: clocks (T51); virtual machines show only the state of the hypervisor.
//! Source: Linux Documentation/admin-guide/pm/cpuidle.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::Place;
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T52",
    name: "cpu-idle",
    about: "how deep idle CPUs sleep",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "power, heat, and less boost for busy CPUs",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::S9];

/// Time to wake from which a state is deep, microseconds.
const DEEP_US: u64 = 10;

fn places(host: &Host, _: &Wish) -> Vec<Place> {
    let states = |cpu: u32| {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let names = host.names_in(&folder).into_iter().filter(|name| name.starts_with("state"));
        names.map(move |state| Place::number(format!("{folder}/{state}/disable")))
    };
    host.cpus_online.iter().flat_map(states).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let latency = ask.place.show().replace("/disable", "/latency");
    let latency = ask.host.text(&latency).and_then(|text| text.trim().parse::<u64>().ok());
    match (ask.wish.profile, latency) {
        (Profile::Latency, Some(us)) if us <= DEEP_US => {
            Proposal::Leave(format!("it wakes in {us} us"))
        }
        (Profile::Latency, Some(_)) if ask.now == "0" => Proposal::Set("1".to_string()),
        (Profile::Latency, _) => Proposal::Leave("it is off, or its latency unknown".to_string()),
        (Profile::Seeds | Profile::Throughput | Profile::Churn, _) => {
            Proposal::Leave("busy CPUs do not sleep".to_string())
        }
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a median that falls when the rate rises, with CPUs less than half busy (S9)";
    match predict::mean_busy(signals) {
        Some(busy) if busy >= 0.5 => {
            let arithmetic = format!("CPUs are {:.0} % busy and do not sleep", busy * 100.0);
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        _ => predict::only_at(signals, WALLS, "CPUs wake sooner", reconsider),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};

    #[test]
    fn the_verdict_decides() {
        testing::follows_wall(&KNOB, WallId::S9);
    }

    #[test]
    fn deep_states_go_and_shallow_ones_stay() {
        let made = MadeUp::new("t52", 1);
        for (state, latency) in [(0, 2), (1, 133)] {
            let folder = format!("/sys/devices/system/cpu/cpu0/cpuidle/state{state}");
            made.write(&format!("{folder}/latency"), &latency.to_string());
            made.write(&format!("{folder}/disable"), "0");
        }
        let wish = Wish { profile: Profile::Latency, ..Wish::default() };
        let found = testing::proposals(&KNOB, &made.host(), &wish);
        assert!(matches!(found[0].1, Proposal::Leave(_)), "{found:?}");
        assert_eq!(found[1].1, Proposal::Set("1".to_string()));
        let found = testing::proposals(&KNOB, &made.host(), &Wish::default());
        assert!(matches!(found[1].1, Proposal::Leave(_)), "{found:?}");
    }
}
