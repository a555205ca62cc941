//! Ranking of made-up knobs, and of the real ones against a few kinds of run.

use super::*;
use crate::host::Profile;
use crate::knob::Proposal;
use crate::testing::{self, MadeUp};
use model::tuning::{CpuSignal, Scope, TakesEffect};

fn asked() -> RunCommands {
    let load = |more: &str| {
        let words = format!("load http://h/{more}");
        Step::command(words.split(' '))
    };
    RunCommands {
        run: "run-1".to_string(),
        command: load(""),
        longer: load(" -d 20s"),
        confirmed: load(" --confirm"),
        probed: load(" --probe HOST:9200"),
    }
}

/// The next step as people read it.
fn step(candidate: &Candidate) -> String {
    candidate.next.as_ref().map(Step::text).unwrap_or_default()
}

const fn knob(
    id: &'static str,
    relieves: &'static [WallId],
    predict: fn(&Signals) -> Prediction,
) -> Knob {
    Knob {
        id,
        name: "made-up",
        about: "",
        scope: Scope::Host,
        takes_effect: TakesEffect::Now,
        is_disruptive: false,
        relieves,
        risk: "",
        act: Act::Advice { now: |_| None, advice: "" },
        predict,
    }
}

fn bounded(high: Option<f64>) -> Prediction {
    Prediction::bounded(-0.01, high, String::new(), "")
}

const SMALL: Knob = knob("small", &[], |_| bounded(Some(0.05)));
const LARGE: Knob = knob("large", &[], |_| bounded(Some(0.5)));
const OPEN: Knob = knob("open", &[WallId::K1], |_| bounded(None));
const OTHER: Knob = knob("other", &[WallId::S1], |_| bounded(None));
const NOISE: Knob = knob("noise", &[], |_| bounded(Some(0.03)));
const LOOPS: Knob = knob("T61", &[WallId::C2], |_| bounded(Some(0.1)));

fn ids(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|one| one.knob.as_str()).collect()
}

fn signals(wall: WallId) -> Signals {
    let client_is_wall = wall.side() == At::Client;
    Signals { wall: Some(Named::Wall(wall)), client_is_wall, ..Signals::default() }
}

#[test]
fn what_has_no_bound_comes_first_and_then_the_largest() {
    let knobs = [&SMALL, &OPEN, &LARGE, &OTHER, &NOISE];
    let advice = advise_on(&knobs, &signals(WallId::S1), &asked());
    assert_eq!(ids(&advice.worth), ["other", "open", "large", "small"], "of S1 the other one");
    assert_eq!(ids(&advice.not_now), ["noise"], "it is within the noise");
    let next = step(&advice.worth[0]);
    assert!(next.contains(&asked().command.text()), "{next}");
}

#[test]
fn the_generator_goes_first_when_it_is_the_wall_and_servers_knobs_go() {
    let knobs = [&OPEN, &LARGE, &LOOPS];
    let advice = advise_on(&knobs, &signals(WallId::C2), &asked());
    assert_eq!(ids(&advice.worth), ["T61"]);
    assert_eq!(ids(&advice.not_now), ["open", "large"]);
    assert!(advice.not_now[0].prediction.arithmetic.contains("generator was the wall (C2)"));
}

#[test]
fn steering_is_worth_it_only_where_one_cpu_is_full_of_softirq() {
    let cpu = |cpu, busy, softirq| CpuSignal { cpu, busy, softirq };
    let of = |cpus: Vec<CpuSignal>, wall| {
        let mut signals = signals(wall);
        signals.server.cpus = Some(cpus);
        let advice = advise(&signals, &asked());
        let is_worth = ids(&advice.worth).contains(&"T5");
        (is_worth, ids(&advice.not_now).contains(&"T5"))
    };
    let full = || vec![cpu(0, 0.99, 0.95), cpu(1, 0.3, 0.0)];
    assert_eq!(of(full(), WallId::K4), (true, false));
    assert_eq!(of(full(), WallId::A1), (false, true), "the wall is elsewhere");
    assert_eq!(of(vec![cpu(0, 0.3, 0.1), cpu(1, 0.3, 0.0)], WallId::K4), (false, true));
}

#[test]
fn nothing_of_the_host_is_advised_where_the_application_limits() {
    let knobs = [&SMALL, &LARGE, &OPEN, &OTHER];
    let inside = Signals { wall: Some(Named::Unknown), is_inside: true, ..signals(WallId::A2) };
    let advice = advise_on(&knobs, &inside, &asked());
    assert_eq!(ids(&advice.not_now), ["small", "large", "open", "other"]);
    assert!(advice.not_now[0].prediction.arithmetic.contains("inside the application"));
    let all = advise(&inside, &asked());
    assert_eq!((ids(&all.worth), ids(&all.unknown)), (vec![], vec![]));
}

/// A gain that a neighbour on the CPUs explains, or that nothing explains, is no advice.
#[test]
fn nothing_is_proposed_without_a_wall_or_on_a_busy_host() {
    let knobs = [&LARGE, &OPEN];
    let unknown = Signals { wall: Some(Named::Unknown), ..Signals::default() };
    let none = Signals::default();
    let busy = Signals { neighbours: Some(0.43), ..signals(WallId::S1) };
    for (signals, why) in [
        (&unknown, "the wall of the run is not known"),
        (&none, "the wall of the run is not known"),
        (&busy, "other processes used 43 % of the server's CPUs"),
    ] {
        let advice = advise_on(&knobs, signals, &asked());
        assert_eq!((ids(&advice.worth), ids(&advice.unknown)), (vec![], vec!["large", "open"]));
        assert_eq!(advice.nothing_because.as_deref(), Some(why));
        assert!(advice.unknown[0].prediction.arithmetic.starts_with(why), "{advice:?}");
        assert!(!advise(signals, &asked()).worth.iter().any(|one| one.knob == "T12"));
    }
    let quiet = Signals { neighbours: Some(0.05), ..signals(WallId::S1) };
    let advice = advise_on(&knobs, &quiet, &asked());
    assert_eq!((advice.worth.len(), advice.nothing_because), (2, None));
}

/// It may halve the rate or nearly triple it.
#[test]
fn an_interval_from_a_loss_to_more_than_twice_is_no_proposal() {
    const WIDE: Knob = knob("wide", &[WallId::S4], |_| {
        Prediction::bounded(-0.5, Some(1.867), "threads wait".to_string(), "")
    });
    const NARROW: Knob =
        knob("narrow", &[WallId::S4], |_| Prediction::bounded(-0.5, Some(0.9), String::new(), ""));
    let advice = advise_on(&[&WIDE, &NARROW, &OPEN], &signals(WallId::S1), &asked());
    assert_eq!(ids(&advice.worth), ["open", "narrow"]);
    assert_eq!(ids(&advice.unknown), ["wide"]);
    let words = &advice.unknown[0].prediction.arithmetic;
    assert!(words.starts_with("from -50 % to +187 % says nothing"), "{words}");
    let remedy = advise_on(&[&WIDE], &signals(WallId::S4), &asked());
    assert_eq!(ids(&remedy.worth), ["wide"], "the wall that it moves was named");
}

#[test]
fn nothing_is_advised_where_no_wall_was_reached() {
    let none = Signals { wall: Some(Named::None), ..Signals::default() };
    let advice = advise_on(&[&LARGE, &OPEN], &none, &asked());
    assert_eq!(ids(&advice.not_now), ["large", "open"]);
}

#[test]
fn knobs_of_devices_are_not_for_a_load_over_loopback() {
    const OF_DEVICE: Knob = Knob { scope: Scope::Device, ..LARGE };
    let mut signals = signals(WallId::K4);
    signals.server.link = Some("eth0".to_string());
    assert_eq!(ids(&advise_on(&[&OF_DEVICE], &signals, &asked()).worth), ["large"]);
    signals.server.link = Some("lo".to_string());
    assert_eq!(ids(&advise_on(&[&OF_DEVICE], &signals, &asked()).not_now), ["large"]);
}

#[test]
fn unmeasured_figures_name_the_command_to_run() {
    let mut signals = Signals::default();
    let advice = advise(&signals, &asked());
    assert!(step(&advice.unknown[0]).contains("directory of the run"), "{advice:?}");
    signals.client.cpus = Some(Vec::new());
    let advice = advise(&signals, &asked());
    let steering = advice.unknown.iter().find(|one| one.knob == "T5").unwrap();
    let next = step(steering);
    assert!(next.contains("ceiling probe serve"), "{next}");
    assert!(next.contains("ceiling load http://h/ --probe"), "{next}");
}

#[test]
fn the_command_by_hand_names_a_profile_that_sets_the_knob() {
    let made = MadeUp::c6i_2xlarge().device("eth1", 1);
    for (path, text) in [
        ("/qdisc/eth1", "pfifo_fast 0:"),
        ("/proc/sys/kernel/osrelease", "6.8.0"),
        ("/lib/modules/6.8.0/modules.dep", "kernel/net/sched/sch_fq_codel.ko.zst:"),
        ("/proc/sys/net/core/busy_poll", "0"),
        ("/proc/sys/net/core/somaxconn", "128"),
        ("/proc/sys/net/core/netdev_max_backlog", "1000"),
        ("/proc/sys/net/core/netdev_budget", "300"),
        ("/proc/sys/net/ipv4/tcp_max_syn_backlog", "128"),
        ("/proc/sys/net/ipv4/tcp_syncookies", "0"),
        ("/proc/sys/net/ipv4/tcp_tw_reuse", "2"),
        ("/proc/sys/net/ipv4/tcp_max_tw_buckets", "1000"),
        ("/proc/sys/net/ipv4/tcp_notsent_lowat", "4294967295"),
        ("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "1"),
        ("/proc/sys/net/ipv4/tcp_autocorking", "1"),
        ("/proc/sys/net/ipv4/ip_local_port_range", "32768 60999"),
        ("/proc/sys/vm/swappiness", "60"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
        ("/sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0"),
        ("/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133"),
    ] {
        made.write(path, text);
    }
    let host = made.host();
    for knob in REGISTRY.iter().filter(|knob| matches!(knob.act, Act::Settable { .. })) {
        let sets = |profile| {
            let all = testing::asked(knob, &host, &testing::wish(profile));
            all.iter().any(|(_, proposal)| matches!(proposal, Proposal::Set(_)))
        };
        let (command, default) = (by_hand(knob.name), sets(Profile::default()));
        match command.split_once(" --profile ") {
            Some((_, profile)) => {
                let profile = Profile::parse(profile).unwrap();
                assert!(!default && sets(profile), "{command}");
            }
            None => {
                let other = sets(Profile::Latency) || sets(Profile::Churn);
                assert!(default || !other, "{command} would change nothing");
            }
        }
    }
}

#[test]
fn every_knob_is_in_one_place() {
    for wall in WallId::ALL.iter().map(|(wall, _)| *wall) {
        let advice = advise(&signals(wall), &asked());
        let count = advice.worth.len() + advice.unknown.len() + advice.not_now.len();
        assert_eq!(count, REGISTRY.len());
    }
}

/// Transcribed from what the journal of "one million requests" states about pinning interrupts: it
/// published no record. What it does not state is absent, and shares of CPU time in interrupts are
/// the most that its figures allow.
mod pinning {
    use super::*;
    use model::tuning::Basis;

    fn cpus(count: u32, of: impl Fn(u32) -> (f64, f64)) -> Option<Vec<CpuSignal>> {
        let signal = |cpu| {
            let (busy, softirq) = of(cpu);
            CpuSignal { cpu, busy, softirq }
        };
        Some((0..count).map(signal).collect())
    }

    /// `/simple` on eight CPUs: 2.47M/s, 100 requests in flight per connection. Eight queues pinned
    /// to two CPUs that were 43 % busy with whatever it was; the server had the other six.
    fn eight_cpus() -> Signals {
        let mut signals = Signals {
            run: "transcribed: c6i.2xlarge, /simple".to_string(),
            wall: Some(Named::Unknown),
            rate: Some(2_470_000.0),
            ..Signals::default()
        };
        signals.server.rx_queues = Some(8);
        signals.server.cpus = cpus(8, |cpu| if cpu < 2 { (0.43, 0.43) } else { (0.85, 0.0) });
        signals
    }

    /// `/read` between two hosts of 32 CPUs: 790k/s, 85 % busy, 352k interrupts and 800k packets
    /// per second over 16 queues, 3 % of the CPUs of interrupts in softirq at most.
    fn thirty_two_cpus() -> Signals {
        let mut signals = Signals {
            run: "transcribed: c6in.8xlarge, /read".to_string(),
            wall: Some(Named::Unknown),
            rate: Some(790_253.0),
            connections: Some(500),
            ..Signals::default()
        };
        let server = &mut signals.server;
        server.rx_queues = Some(16);
        server.interrupts_per_s = Some(352_000.0);
        server.packets_per_s = Some(800_000.0);
        server.link_use = Some(0.586);
        server.cpus = cpus(32, |_| (0.85, 0.03));
        signals
    }

    #[test]
    fn it_is_said_beforehand_that_pinning_cannot_matter_and_what_would_make_it() {
        for signals in [eight_cpus(), thirty_two_cpus()] {
            let advice = advise(&signals, &asked());
            for id in ["T1", "T5", "T6"] {
                let found = advice.not_now.iter().find(|one| one.knob == id);
                let Some(found) = found else { panic!("{id} in {}: {advice:?}", signals.run) };
                let Prediction { basis, high, arithmetic, reconsider, .. } = &found.prediction;
                assert_ne!(*basis, Basis::Unknown, "{id}: {arithmetic}");
                assert!(high.is_some_and(|high| high <= 0.03), "{id}: {high:?}, {arithmetic}");
                let is_shown =
                    ["softirq", "queues", "busy"].iter().any(|word| arithmetic.contains(word));
                assert!(is_shown, "{id}: {arithmetic}");
                assert!(reconsider.contains("softirq"), "{id}: {reconsider}");
            }
        }
    }

    /// With the CPUs that take interrupts full of softirq, pinning matters.
    #[test]
    fn with_cpus_full_of_softirq_it_is_worth_trying() {
        let mut signals = thirty_two_cpus();
        signals.wall = Some(Named::Wall(WallId::K4));
        signals.server.rx_queues = Some(1);
        signals.server.cpus = cpus(32, |cpu| if cpu == 0 { (0.99, 0.95) } else { (0.4, 0.02) });
        let advice = advise(&signals, &asked());
        assert!(ids(&advice.worth).contains(&"T5"), "{advice:?}");
    }
}
