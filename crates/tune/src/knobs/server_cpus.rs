//! T12: which CPUs the threads of the server may use.
//!
//! Path: sched_setaffinity of every thread of every process of the server; a list.
//! Matters when: threads wait for a CPU, or share one with interrupts, and cost per request varies
//! with where they run.
//! Predicts: the time spent waiting for a CPU; at worst the loss of the CPUs that are taken away.
//! Risk: the server loses CPUs; runtimes that count CPUs at their start keep the old number.
//! Verify: Cpus_allowed_list of all threads.
//! With: T1 puts interrupts on the other CPUs. Threads that are pinned one by one are left alone.
//! Source: sched_setaffinity(2), taskset(1).

use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::place::{Place, threads};
use crate::predict;
use crate::process;
use model::tuning::{Basis, Prediction, Scope, Signals, TakesEffect};
use model::wall::WallId;

pub const KNOB: Knob = Knob {
    id: "T12",
    name: "server-cpus",
    about: "CPUs of the server's threads",
    scope: Scope::Process,
    takes_effect: TakesEffect::Now,
    is_disruptive: false,
    relieves: RELIEVES,
    risk: "the server loses CPUs; its runtime may keep more workers than it has CPUs",
    act: Act::Settable { places, propose, sign: None },
    predict,
};

const RELIEVES: &[WallId] = &[WallId::S4, WallId::S6, WallId::S8, WallId::K4];

fn places(host: &Host, _: &Wish) -> Vec<Place> {
    let of = |&pid: &u32| {
        let started_ticks = process::stat_on(&host.root, pid).ok()?.started_ticks;
        Some(Place::Threads { pid, started_ticks })
    };
    host.servers.iter().filter_map(of).collect()
}

fn propose(ask: &Ask<'_>) -> Proposal {
    let Some(split) = &ask.wish.split else {
        return Proposal::Leave("no split of CPUs was asked for".to_string());
    };
    if ask.now.starts_with(threads::MIXED) {
        return Proposal::Refuse(format!("its threads are pinned one by one: {}", ask.now));
    }
    match split.server.and(&ask.host.usable_cpus()) {
        cpus if cpus.is_empty() => Proposal::Refuse("none of these CPUs may be used".to_string()),
        cpus => Proposal::Set(cpus.list()),
    }
}

fn predict(signals: &Signals) -> Prediction {
    let reconsider = "time in which the server's threads wait for a CPU, on CPUs full of softirq";
    let cpus = signals.server.cpus.as_ref().map(Vec::len).filter(|count| *count > 0);
    let Some((share, cpus)) = predict::finite(signals.server.waiting_share).zip(cpus) else {
        let arithmetic = "waiting of the server's threads for CPUs was not measured".to_string();
        return Prediction::unknown(arithmetic, reconsider);
    };
    let nothing = predict::elsewhere(signals, RELIEVES, reconsider);
    if let Some(nothing) = nothing.or_else(|| predict::cpus_have_time(signals, reconsider)) {
        return nothing;
    }
    if share <= predict::noise(signals) {
        let arithmetic = format!("threads wait {:.1} % of the time for a CPU", share * 100.0);
        return Prediction::no_effect(predict::noise(signals), arithmetic, reconsider);
    }
    let what = format!("threads wait {:.1} % of the time", share * 100.0);
    let gain = predict::removed_waiting(signals, share, &what, reconsider);
    let low = -1.0 / cpus as f64;
    let arithmetic = format!("{}; at worst 1 of {cpus} CPUs is lost", gain.arithmetic);
    Prediction { basis: Basis::Bounded, low: Some(low), arithmetic, ..gain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Profile;
    use crate::testing::{self, MadeUp};

    #[test]
    fn all_processes_move_and_threads_with_a_plan_stay() {
        let made =
            MadeUp::new("t12", 8).process(50, "server", &[50, 51]).process(60, "child", &[60]);
        let mut host = made.host();
        host.servers = vec![50, 60];
        let wish = testing::split(Profile::Throughput, "6-7", "0-5");
        let all = testing::asked(&KNOB, &host, &wish);
        assert_eq!(all.len(), 2);
        for (place, proposal) in &all {
            assert_eq!(*proposal, Proposal::Set("0-5".to_string()));
            let before = place.read(&host).unwrap().unwrap();
            place.write(&host, "0-5", &before).unwrap();
            assert_eq!(place.read(&host).unwrap().unwrap().value, "0-5");
        }
        made.write("/proc/50/task/51/status", "Cpus_allowed_list:\t3");
        let all = testing::asked(&KNOB, &host, &wish);
        assert!(matches!(&all[0].1, Proposal::Refuse(why) if why.contains("0-5; 3")), "{all:?}");
        let all = testing::asked(&KNOB, &host, &testing::wish(Profile::Throughput));
        assert!(matches!(all[0].1, Proposal::Leave(_)));
    }

    #[test]
    fn it_matters_when_threads_wait() {
        let mut idle = testing::at(WallId::S4, 0.9, 0.1);
        idle.server.waiting_share = Some(0.0);
        let mut limit = idle.clone();
        limit.server.waiting_share = Some(0.2);
        testing::assert_predicts(&KNOB, &idle, &limit);
        assert_eq!(predict(&limit).low, Some(-0.25), "one of four CPUs");
    }
}
