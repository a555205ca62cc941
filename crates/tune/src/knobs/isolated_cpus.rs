//! T59: CPUs that the kernel leaves alone: nohz_full, isolcpus, rcu_nocbs.
//!
//! Path: the command line of the kernel; reported from `/proc/cmdline`.
//! Matters when: threads of the kernel on the server's CPUs make its tail jitter. It moves no rate
//! that CPUs do not limit.
//! Predicts: at most the share of the time in which threads waited for a CPU.
//! Risk: isolated CPUs get no load by themselves: everything must be pinned.
//! Verify: `/sys/devices/system/cpu/isolated`, `nohz_full`; interrupts of the timer per CPU.
//! With: placement of the server (T12).
//! Source: Linux Documentation/admin-guide/kernel-parameters.rst.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T59",
    name: "isolated-cpus",
    about: "CPUs without ticks and foreign threads",
    scope: Scope::Host,
    takes_effect: TakesEffect::Reboot,
    is_disruptive: false,
    relieves: WALLS,
    risk: "isolated CPUs get no threads by themselves",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::S1, WallId::S2, WallId::S6];

const ADVICE: &str = "Only for a tail that threads of the kernel make; pin the server to the \
     isolated CPUs.";

fn now(host: &Host) -> Option<String> {
    let line = host.text("/proc/cmdline")?;
    let is_one = |word: &&str| {
        ["nohz_full=", "isolcpus=", "rcu_nocbs="].iter().any(|name| word.starts_with(name))
    };
    let found: Vec<&str> = line.split_whitespace().filter(is_one).collect();
    Some(if found.is_empty() { "none".to_string() } else { found.join(" ") })
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "threads of the server that wait for a CPU above 1 % of the time (S6)";
    let share = signals.server.waiting_share;
    if let Some(nothing) = predict::cpus_have_time(signals, reconsider).filter(|_| share.is_some())
    {
        return nothing;
    }
    predict::waiting(signals, WALLS, share, "its threads waited for a CPU", reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn it_follows_what_was_measured() {
        testing::follows_share(&KNOB, |signals, share| signals.server.waiting_share = share);
    }

    #[test]
    fn the_command_line_tells() {
        let files = [("/proc/cmdline", "quiet isolcpus=2-3 nohz_full=2-3")];
        assert_eq!(testing::now(&KNOB, &files).unwrap(), "isolcpus=2-3 nohz_full=2-3");
        assert_eq!(testing::now(&KNOB, &[("/proc/cmdline", "quiet")]).unwrap(), "none");
    }
}
