//! T2: irqbalance, the daemon that moves interrupts between CPUs: paused while we measure.
//!
//! Path: SIGSTOP to the process; SIGCONT puts it back. Its service manager is not used: it would
//! start it again, or leave it off if ceiling crashed. Its own ban lists are not used: they take a
//! file and a restart, which moves every interrupt once more.
//! Matters when: interrupts are placed (T1), or blocks of a run differ because it moved some.
//! Predicts: nothing by itself: it keeps what T1 does in place.
//! Risk: interrupts pile up on one CPU for as long as it is paused.
//! Verify: its state is stopped, and effective affinities stay as they are.
//! With: it is paused before T1 and resumed after it. Drift of the affinity voids a block. The
//! pause ends with a reboot.
//! Source: irqbalance(1), signal(7).

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Place, daemon};
use crate::predict;
use crate::process;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};

pub const KNOB: Knob = Knob {
    id: "T2",
    name: "irqbalance",
    about: "daemon that moves interrupts between CPUs",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[],
    risk: "interrupts of other devices stay where they are, too",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

/// Without the daemon the place is absent, and the plan shows that.
fn places(host: &Host, _: &Wish) -> Vec<Place> {
    let (pid, started_ticks) = process::named(&host.root, KNOB.name).unwrap_or_default();
    vec![Place::Daemon { name: KNOB.name.to_string(), pid, started_ticks }]
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Set(daemon::PAUSED.to_string())
}

fn predict(signals: &Signals) -> Prediction {
    let noise = predict::noise(signals);
    let arithmetic = "removes 0 us of work per request; keeps T1 in place".to_string();
    let reconsider =
        "effective affinities that changed during a run, or blocks that differ by them";
    Prediction::no_effect(noise, arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Profile;
    use crate::testing::{self, MadeUp};
    use model::tuning::Basis;

    #[test]
    fn a_running_daemon_would_be_paused_and_none_is_absent() {
        let wish = testing::wish(Profile::Throughput);
        let made = MadeUp::two_cpus();
        let host = made.host();
        let all = testing::asked(&KNOB, &host, &wish);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].0.show(), "irqbalance (process 700)");
        assert_eq!(all[0].1, Proposal::Set("paused".to_string()));
        let place = &all[0].0;
        let before = place.read(&host).unwrap().unwrap();
        place.write(&host, "paused", &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, "paused");

        let made = MadeUp::new("bare", 2);
        let host = made.host();
        let places = places(&host, &wish);
        assert_eq!(places[0].read(&host).unwrap(), None);
    }

    #[test]
    fn it_promises_nothing_by_itself() {
        assert_eq!(predict(&Signals::default()).basis, Basis::NoEffect);
        assert_eq!(predict(&testing::one_full_cpu(1)).basis, Basis::NoEffect);
    }
}
