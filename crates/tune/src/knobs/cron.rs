//! T65: cron, the daemon that starts jobs at set times: paused while we measure.
//!
//! Path: SIGSTOP to the process of cron or crond; SIGCONT puts it back. Its service manager is not
//! used: it would start it again, or leave it off if ceiling crashed.
//! Matters when: the tail is compared over minutes, and a job that starts in one block is in no
//! other.
//! Predicts: nothing by itself: jobs that do not start take no CPU.
//! Risk: jobs that are due meanwhile start when it goes on, or not at all.
//! Verify: its state is stopped.
//! With: timers of systemd are a knob of their own (T66). The pause ends with a reboot.
//! Source: cron(8), signal(7).

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Place, daemon};
use crate::predict;
use crate::process;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};

pub const KNOB: Knob = Knob {
    id: "T65",
    name: "cron",
    about: "daemon that starts jobs at set times",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[],
    risk: "jobs that are due meanwhile start later, or not at all",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

/// What distributions call it.
const NAMES: [&str; 2] = ["cron", "crond"];

/// Without the daemon the place is absent, and the plan shows that.
fn places(host: &Host, _: &Wish) -> Vec<Place> {
    let running = |name: &'static str| Some((name, process::named(&host.root, name)?));
    let found = NAMES.into_iter().find_map(running);
    let (name, (pid, started_ticks)) = found.unwrap_or((KNOB.name, (0, 0)));
    vec![Place::Daemon { name: name.to_string(), pid, started_ticks }]
}

/// No profile stops the jobs of a host; who names the knob does.
fn propose(ask: &Ask<'_>) -> Proposal {
    match KNOB.is_named(ask.wish) {
        true => Proposal::Set(daemon::PAUSED.to_string()),
        false => Proposal::Leave("jobs of the host are not stopped unless it is named".to_string()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let noise = predict::noise(signals);
    let arithmetic = "removes 0 us of work per request; no job starts".to_string();
    let reconsider = "another process on the server's CPUs in some blocks and not in others";
    Prediction::no_effect(noise, arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Profile;
    use crate::testing::{self, MadeUp};

    fn proposals(made: &MadeUp, only: &[&str]) -> Vec<(String, Proposal)> {
        let only = only.iter().map(|word| word.to_string()).collect();
        let wish = Wish { only, ..testing::wish(Profile::Seeds) };
        let all = testing::asked(&KNOB, &made.host(), &wish);
        all.into_iter().map(|(place, proposal)| (place.show(), proposal)).collect()
    }

    #[test]
    fn it_is_paused_by_either_name_and_only_when_it_is_named() {
        for name in NAMES {
            let made = MadeUp::new(name, 2).process(700, name, &[700]);
            let place = format!("{name} (process 700)");
            let paused = Proposal::Set("paused".to_string());
            assert_eq!(proposals(&made, &["cron"]), [(place, paused)]);
            assert!(matches!(proposals(&made, &[])[..], [(_, Proposal::Leave(_))]));
        }
        let none = MadeUp::new("none", 2);
        assert_eq!(proposals(&none, &["T65"]), []);
    }

    #[test]
    fn what_is_paused_goes_on() {
        let made = MadeUp::new("goes-on", 2).process(700, "crond", &[700]);
        let host = made.host();
        let place = &places(&host, &testing::wish(Profile::Seeds))[0];
        let before = place.read(&host).unwrap().unwrap();
        place.write(&host, daemon::PAUSED, &before).unwrap();
        let paused = place.read(&host).unwrap().unwrap();
        assert_eq!(paused.value, daemon::PAUSED);
        place.write(&host, &before.value, &paused).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap(), before);
    }
}
