//! T53: mitigations of faults of the CPU.
//!
//! Path: `mitigations=` on the command line of the kernel; reported from
//! `/sys/devices/system/cpu/vulnerabilities/*`.
//! Matters when: the server's CPUs limit and requests are mostly system calls.
//! Predicts: at most 28 %, what somebody else published for a CPU of 2018; newer ones lose far
//! less.
//! Risk: every process of the host may read what it should not. Never changed by us.
//! Verify: the same files after a restart.
//! With: none.
//! Source: Linux Documentation/admin-guide/hw-vuln, a published account of 1.2 million requests per
//! second.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T53",
    name: "mitigations",
    about: "price of safety in each system call",
    scope: Scope::Host,
    takes_effect: TakesEffect::Reboot,
    is_disruptive: false,
    relieves: WALLS,
    risk: "security of the whole host; never changed by ceiling",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::S1, WallId::S2, WallId::K4];

const ADVICE: &str = "Leave them on. On a host that runs nothing but a trusted test, compare \
     once to know their price.";

/// Gain that somebody else published, on a CPU of 2018.
const PUBLISHED: f64 = 0.28;

fn now(host: &Host) -> Option<String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = host.names_in(folder);
    let is_on = |name: &&String| {
        let text = host.text(&format!("{folder}/{name}")).unwrap_or_default();
        text.starts_with("Mitigation")
    };
    let on = names.iter().filter(is_on).count();
    (!names.is_empty()).then(|| format!("{on} of {} faults mitigated", names.len()))
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a CPU of the server above 95 %, with requests that are mostly system calls";
    let share = Some(predict::share_of_gain(PUBLISHED));
    let what = "mitigations, at most as published by somebody else for a CPU of 2018";
    predict::work(signals, WALLS, share, what, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::tuning::Basis;

    #[test]
    fn only_a_cpu_that_limits_is_relieved() {
        let at = |wall| predict(&testing::at_wall(wall)).basis;
        assert_eq!(at(WallId::C1), Basis::NoEffect);
        assert_eq!(at(WallId::S1), Basis::Bounded);
        assert_eq!(predict(&Signals::default()).basis, Basis::Unknown);
    }

    #[test]
    fn what_is_mitigated_is_counted() {
        let folder = "/sys/devices/system/cpu/vulnerabilities";
        let (one, two) = (format!("{folder}/meltdown"), format!("{folder}/mds"));
        let files = [(one.as_str(), "Mitigation: PTI"), (two.as_str(), "Not affected")];
        assert_eq!(testing::now(&KNOB, &files).unwrap(), "1 of 2 faults mitigated");
        assert_eq!(testing::now(&KNOB, &[]), None);
    }
}
