//! T51: the clock of CPUs: governor, energy preference, boost.
//!
//! Path: `/sys/devices/system/cpu/cpufreq/policyN/energy_performance_preference` and
//! `scaling_governor`, in this order: drivers that have both set the first when the second changes.
//! `cpufreq/boost`, or of intel_pstate `no_turbo`. Virtual machines mostly have none.
//! Matters when: busy CPUs run below their highest clock (S9).
//! Predicts: at most the highest clock over the measured one, less 1.
//! Risk: power and heat; the boost of all CPUs at once may be less than that of few.
//! Verify: the measured clock under load, not the setting.
//! With: idle states (T52).
//! Source: Linux Documentation/admin-guide/pm/cpufreq.rst.

use crate::host::{Host, Profile, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Format, Place};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T51",
    name: "cpu-clock",
    about: "how CPUs choose their clock",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: WALLS,
    risk: "power and heat",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const WALLS: &[WallId] = &[WallId::S9, WallId::S1, WallId::S2];

const FOLDER: &str = "/sys/devices/system/cpu/cpufreq";
const GOVERNOR: &str = "scaling_governor";
const PREFERENCE: &str = "energy_performance_preference";
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";

fn places(host: &Host, _: &Wish) -> Vec<Place> {
    let word = |path| Place::File { path, format: Format::Word };
    let mut places = Vec::new();
    for policy in host.names_in(FOLDER).iter().filter(|name| name.starts_with("policy")) {
        // The governor is put back first, then the preference that it moved.
        places.push(word(format!("{FOLDER}/{policy}/{PREFERENCE}")));
        places.push(word(format!("{FOLDER}/{policy}/{GOVERNOR}")));
    }
    places.push(Place::number(format!("{FOLDER}/boost")));
    places.push(Place::number(NO_TURBO));
    places
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let path = ask.place.show();
    let (list, wanted) = match path.rsplit_once('/') {
        Some((folder, GOVERNOR)) => {
            (Some(format!("{folder}/scaling_available_governors")), "performance")
        }
        Some((folder, PREFERENCE)) => {
            (Some(format!("{folder}/energy_performance_available_preferences")), "performance")
        }
        _ if path == NO_TURBO => (None, "0"),
        _ => (None, "1"),
    };
    let list = list.map(|list| ask.host.text(&list).unwrap_or_default());
    let is_offered =
        list.is_none_or(|list| list.split_whitespace().any(|offered| offered == wanted));
    match ask.wish.profile {
        Profile::Seeds => Proposal::Leave("the journal left clocks alone".to_string()),
        _ if ask.now == wanted => Proposal::Leave(format!("it is {wanted}")),
        _ if !is_offered => Proposal::Refuse(format!("this host does not offer {wanted}")),
        _ if path == NO_TURBO && !has_turbo(ask.host) => {
            Proposal::Refuse("the CPU has no turbo, or its firmware forbids it".to_string())
        }
        Profile::Throughput | Profile::Latency | Profile::Churn => {
            Proposal::Set(wanted.to_string())
        }
    }
}

/// Whether turbo is available: without it the driver refuses the write.
fn has_turbo(host: &Host) -> bool {
    let text = host.text("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "ida")
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "busy CPUs below 97 % of their highest clock (S9)";
    match predict::finite(signals.server.clock_ratio).map(|ratio| ratio.min(1.0)) {
        Some(ratio) if ratio >= 0.97 => {
            let arithmetic = format!("busy CPUs run at {:.0} % of their clock", ratio * 100.0);
            Prediction::no_effect(predict::noise(signals), arithmetic, reconsider)
        }
        ratio => {
            let lost = ratio.map(|ratio| 1.0 - ratio);
            predict::work(signals, WALLS, lost, "cycles lost to a low clock", reconsider)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MadeUp};
    use model::tuning::Basis;

    #[test]
    fn a_low_clock_at_a_full_cpu_is_worth_its_ratio() {
        let run = |clock_ratio| {
            let mut signals = testing::at_wall(WallId::S1);
            signals.server.clock_ratio = clock_ratio;
            predict(&signals)
        };
        assert!((run(Some(0.8)).high.unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(run(Some(1.0)).basis, Basis::NoEffect);
        assert_eq!(run(None).basis, Basis::Unknown);
    }

    #[test]
    fn only_what_the_host_offers_is_proposed() {
        let made = MadeUp::new("t51", 2);
        let policy = "/sys/devices/system/cpu/cpufreq/policy0";
        made.write(&format!("{policy}/scaling_governor"), "powersave");
        made.write(&format!("{policy}/scaling_available_governors"), "performance powersave");
        made.write(&format!("{policy}/energy_performance_preference"), "balance_power");
        let found = testing::proposals(&KNOB, &made.host(), &Wish::default());
        assert!(found[0].0.ends_with(PREFERENCE) && found[1].0.ends_with(GOVERNOR), "{found:?}");
        assert!(matches!(found[0].1, Proposal::Refuse(_)), "{found:?}");
        assert_eq!(found[1].1, Proposal::Set("performance".to_string()));
        let offers = "default performance balance_performance balance_power power";
        made.write(&format!("{policy}/energy_performance_available_preferences"), offers);
        let found = testing::proposals(&KNOB, &made.host(), &Wish::default());
        assert_eq!(found[0].1, Proposal::Set("performance".to_string()));
    }

    #[test]
    fn turbo_that_is_off_comes_back_where_the_firmware_allows_it() {
        let made = MadeUp::new("t51", 2);
        made.write(NO_TURBO, "1").write("/proc/cpuinfo", "flags\t\t: fpu dtherm arat");
        let proposal = || testing::proposals(&KNOB, &made.host(), &Wish::default())[0].1.clone();
        assert!(matches!(proposal(), Proposal::Refuse(_)));
        made.write("/proc/cpuinfo", "flags\t\t: fpu dtherm ida arat");
        assert_eq!(proposal(), Proposal::Set("0".to_string()));
        made.write(NO_TURBO, "0");
        assert!(matches!(proposal(), Proposal::Leave(_)));
    }
}
