//! T13: a listener per worker: SO_REUSEPORT, prefork, number of workers.
//!
//! Path: settings of the server.
//! Matters when: one thread that accepts or dispatches is full while CPUs idle (S2, K14).
//! Predicts: at most fullest over mean of the CPUs, less 1; nothing where the network or the
//! generator limits.
//! Risk: uneven shares by hash; connections stuck behind a worker that stalls; shorter queues each.
//! Verify: as many LISTEN sockets as workers; connections per worker.
//! With: the backlog (T30), which is per listener; choice of the listener (T14).
//! Source: socket(7), SO_REUSEPORT.

use crate::host::Host;
use crate::knob::{Act, Knob};
use crate::predict;
use model::tuning::{Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T13",
    name: "listeners",
    about: "how many threads or processes accept",
    scope: Scope::Process,
    takes_effect: TakesEffect::Restart,
    is_disruptive: false,
    relieves: WALLS,
    risk: "uneven shares, and connections stuck behind one worker",
    act: Act::Advice { now, advice: ADVICE },
    predict,
};

const WALLS: &[WallId] = &[WallId::S2, WallId::K14, WallId::A1];

const ADVICE: &str = "One worker per CPU, each with a listener of its own.";

fn now(_: &Host) -> Option<String> {
    None
}

/// Share of one CPU from which a thread is full.
const FULL: f64 = 0.95;

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "a thread of the server above 95 % of a CPU while others idle (S2)";
    if let Some(nothing) = predict::elsewhere(signals, WALLS, reconsider) {
        return nothing;
    }
    let thread = predict::finite(signals.server.hottest_thread);
    let (Some(thread), Some(busy)) = (thread, predict::mean_busy(signals)) else {
        return predict::unknown("the server's busiest thread, or its CPUs", reconsider);
    };
    let noise = predict::noise(signals);
    let shown = format!(
        "the busiest thread uses {:.0} % of a CPU, CPUs are {:.0} % busy",
        thread * 100.0,
        busy * 100.0
    );
    if thread < FULL || busy <= 1e-4 {
        return Prediction::no_effect(noise, shown, reconsider);
    }
    let high = (1.0 / busy - 1.0).max(noise);
    let arithmetic = format!("{shown}: at most 1 / {busy:.3} - 1 = {high:.2}");
    Prediction::bounded(-noise, Some(high), arithmetic, reconsider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tuning::{Basis, CpuSignal};

    #[test]
    fn a_full_thread_beside_idle_cpus_is_worth_their_number() {
        let run = |hottest_thread| {
            let mut signals = Signals::default();
            let cpu = |cpu, busy| CpuSignal { cpu, busy, softirq: 0.0 };
            signals.server.cpus = Some(vec![cpu(0, 1.0), cpu(1, 0.0)]);
            signals.server.hottest_thread = hottest_thread;
            predict(&signals)
        };
        assert!((run(Some(1.0)).high.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(run(Some(0.4)).basis, Basis::NoEffect);
        assert_eq!(run(None).basis, Basis::Unknown);
    }
}
