//! T66: timers of systemd, which start jobs at set times: stopped while we measure.
//!
//! Path: StopUnit of each timer that waits, over the private socket of systemd; StartUnit puts it
//! back. Nothing is disabled or masked, so a reboot starts them all.
//! Matters when: the tail is compared over minutes, and a job that starts in one block is in no
//! other.
//! Predicts: nothing by itself: jobs that do not start take no CPU.
//! Risk: jobs that are due meanwhile start late or not at all. Where a timer counts from the boot
//! (OnBootSec) or catches up (Persistent), its job starts when the timer is put back.
//! Verify: its state is stopped.
//! With: cron is a knob of its own (T65). A job that runs already goes on. Timers that systemd-run
//! made are left alone, because they are gone when they are stopped.
//! Source: systemd.timer(5), org.freedesktop.systemd1(5).

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Place, timer};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};

pub const KNOB: Knob = Knob {
    id: "T66",
    name: "timers",
    about: "timers of systemd, which start jobs at set times",
    scope: Scope::Host,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: &[],
    risk: "jobs that are due meanwhile start later, or not at all",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

/// No profile stops the jobs of a host; who names the knob does. Without timers the place is
/// absent, and the plan shows that.
fn places(host: &Host, wish: &Wish) -> Vec<Place> {
    if !KNOB.is_named(wish) {
        return Vec::new();
    }
    timer::all(host).into_iter().map(|unit| Place::Timer { unit }).collect()
}

fn propose(_: &Ask<'_>) -> Proposal {
    Proposal::Set(timer::STOPPED.to_string())
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

    fn wish(only: &[&str]) -> Wish {
        let only = only.iter().map(|word| word.to_string()).collect();
        Wish { only, ..testing::wish(Profile::Seeds) }
    }

    #[test]
    fn each_timer_is_stopped_only_when_they_are_named_and_goes_on_afterwards() {
        let made = MadeUp::new("timers", 2);
        for unit in ["logrotate.timer", "fstrim.timer"] {
            made.write(&format!("/systemd/{unit}"), "active");
        }
        let host = made.host();
        let shown = |only: &[&str]| -> Vec<String> {
            let all = testing::asked(&KNOB, &host, &wish(only));
            all.iter().map(|(place, proposal)| format!("{} {proposal:?}", place.show())).collect()
        };
        let stopped = [r#"fstrim.timer Set("stopped")"#, r#"logrotate.timer Set("stopped")"#];
        assert_eq!(shown(&["Timers"]), stopped);
        assert_eq!(shown(&["T66"]), stopped);
        assert_eq!(shown(&[]), [""; 0]);
        assert_eq!(shown(&["cron"]), [""; 0]);
        let place = Place::Timer { unit: "fstrim.timer".to_string() };
        let before = place.read(&host).unwrap().unwrap();
        assert_eq!(before.value, timer::RUNNING);
        place.write(&host, timer::STOPPED, &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, timer::STOPPED);
        place.write(&host, timer::RUNNING, &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, before.value);
        assert!(place.write(&host, "masked", &before).is_err());
    }

    #[test]
    fn a_journal_names_timers_alone() {
        let is_sound = |unit: &str| Place::Timer { unit: unit.to_string() }.check_sound().is_ok();
        assert!(is_sound("apt-daily.timer") && is_sound("a@b\\x2dc.timer"));
        for other in ["sshd.service", "multi-user.target", "/etc/x.timer", "a b.timer"] {
            assert!(!is_sound(other), "{other}");
        }
    }
}
