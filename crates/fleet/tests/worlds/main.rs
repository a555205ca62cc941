//! Fleets with faults, in virtual time, with fifty seeds for each fault. In every world the account
//! is complete, load ends with its lease, and the run ends and names what is missing.

mod load;
mod world;

use model::fleet::AgentEnd;
use world::{Fault, MS, S, World};

const SEEDS: u64 = 50;
/// Load ends this long after the last lease, nanoseconds.
const LOAD_ENDS_NS: u64 = 2 * S;

fn lived(fault: Fault, seed: u64) -> World {
    let mut world = World::new(fault, seed);
    world.run();
    for (index, host) in world.hosts.iter().enumerate() {
        let (longest_ms, limit_ms) = (host.longest_ns / MS, LOAD_ENDS_NS / MS);
        assert!(longest_ms <= limit_ms, "seed {seed}: a{index} sent {longest_ms} ms after a lease");
    }
    world
}

/// Asserts what must hold for the account of every run that ended.
fn account_is_whole(world: &World, seed: u64) {
    for (&load, read) in &world.reads {
        let name = format!("{:?}, seed {seed}, load {load}", world.fault);
        assert_eq!(read.last, 1, "{name}");
        let sum = &read.measured;
        assert_eq!(sum.sent, sum.completed + sum.failed + sum.unanswered, "{name}");
        assert_eq!(sum.completed, read.latencies, "{name}");
        let others = &read.unmeasured;
        assert_eq!(others.sent, others.completed + others.failed + others.unanswered, "{name}");
        // Late ticks have no length; an agent that was stopped has long intervals.
        let is_even = matches!(world.fault, Fault::None | Fault::Lossy);
        let most_ns = if is_even { 2_050 * MS } else { 3_000 * MS };
        assert!(read.passed_ns <= most_ns, "{name}: the window has {} ns", read.passed_ns);
        let (mut sent, mut unsent) = (0, 0);
        for (index, account) in world.accounts.iter().enumerate() {
            let name = format!("{name}, {}: {:?} {}", account.agent, account.ended, account.why);
            let truth = world.truth(index, load);
            let told = account.loads.get(&load).copied().unwrap_or_default();
            sent += told.measured.sent;
            unsent += told.measured.unsent;
            assert!(told.measured.sent <= truth.sent, "{name}: counted twice");
            assert!(told.measured.unsent <= truth.unsent, "{name}: counted twice");
            if told.is_whole {
                assert_eq!(told.measured.sent, truth.sent, "{name}");
                assert_eq!(told.measured.unsent, truth.unsent, "{name}");
            }
            let planned = read.planned.get(index).copied().unwrap_or(0);
            let accounted = told.measured.sent + told.measured.unsent;
            assert!(accounted <= planned, "{name}: {accounted} of {planned}");
            if account.ended == Some(AgentEnd::Complete) {
                assert_eq!(accounted, planned, "{name}: nothing is missing");
                assert!(account.record.is_some(), "{name}");
            } else if accounted < planned {
                assert!(!account.why.is_empty(), "{name}: what is missing has a reason");
            }
        }
        assert_eq!((sum.sent, sum.unsent), (sent, unsent), "{name}: the sum is that of all");
    }
}

fn each(fault: Fault, mut check: impl FnMut(&World, u64)) {
    for seed in 0..SEEDS {
        let world = lived(fault, seed);
        account_is_whole(&world, seed);
        check(&world, seed);
    }
}

fn ends(world: &World) -> Vec<Option<AgentEnd>> {
    world.accounts.iter().map(|account| account.ended).collect()
}

#[test]
fn without_faults_everything_is_there() {
    each(Fault::None, |world, seed| {
        let ends = ends(world);
        assert!(ends.iter().all(|end| *end == Some(AgentEnd::Complete)), "{seed}: {ends:?}");
        let clocks = world.accounts.iter().map(|account| account.clock.unwrap());
        clocks.for_each(|clock| assert!(clock.error_ns < 6 * MS, "{clock:?}"));
    });
}

#[test]
fn messages_that_are_lost_doubled_or_late_change_nothing() {
    each(Fault::Lossy, |world, seed| {
        let ends = ends(world);
        assert!(ends.iter().all(|end| *end == Some(AgentEnd::Complete)), "{seed}: {ends:?}");
    });
}

#[test]
fn an_agent_that_is_cut_off_ends_its_load_and_is_named() {
    let mut all = Vec::new();
    each(Fault::Partition, |world, seed| {
        let bad = ends(world).into_iter().filter(|end| *end != Some(AgentEnd::Complete)).count();
        assert!(bad <= 1, "seed {seed}: the others go on");
        all.extend(ends(world));
    });
    for end in [AgentEnd::Complete, AgentEnd::CutOff, AgentEnd::Lost] {
        assert!(all.contains(&Some(end)), "some come back in time and some do not");
    }
}

#[test]
fn an_agent_that_is_killed_is_lost_and_what_it_told_counts() {
    each(Fault::Killed, |world, seed| {
        for (host, account) in world.hosts.iter().zip(&world.accounts) {
            let end = account.ended;
            // Nothing of an agent that dies after its report is missing.
            if !host.is_dead || host.has_delivered {
                assert_eq!(end, Some(AgentEnd::Complete), "seed {seed}");
            } else {
                assert_ne!(end, Some(AgentEnd::Complete), "seed {seed}: {}", account.why);
            }
        }
    });
}

#[test]
fn an_agent_that_stood_still_is_named() {
    each(Fault::Stopped, |world, seed| {
        let halted = world.hosts.iter().filter(|host| host.has_halted).count();
        assert!(halted <= 1, "seed {seed}");
    });
}

#[test]
fn a_clock_that_is_set_costs_at_most_its_agent() {
    each(Fault::ClockSet, |world, seed| {
        let bad = ends(world).into_iter().filter(|end| *end != Some(AgentEnd::Complete)).count();
        assert!(bad <= 1, "seed {seed}: {:?}", ends(world));
        for (host, account) in world.hosts.iter().zip(&world.accounts) {
            let error_ns = account.clock_error_ns().unwrap();
            let is_inside = error_ns >= host.set_ns || host.has_halted;
            assert!(is_inside, "seed {seed}: {} ns of {error_ns}", host.set_ns);
        }
    });
}

#[test]
fn a_broker_may_be_started_again() {
    each(Fault::Broker, |_, _| {});
}

#[test]
fn agents_end_their_load_without_their_controller() {
    for seed in 0..SEEDS {
        let world = lived(Fault::ControllerKilled, seed);
        let Some(dead_ns) = world.controller_dead_ns else { continue };
        for (index, host) in world.hosts.iter().enumerate() {
            assert!(host.sent_ns <= dead_ns + LOAD_ENDS_NS, "seed {seed}: a{index}");
        }
    }
}

#[test]
fn a_fleet_that_is_stopped_sends_nothing_more() {
    each(Fault::FleetStop, |world, seed| {
        if world.now_ns < 12 * S {
            return;
        }
        let halted = world.hosts.iter().all(|host| host.has_halted);
        assert!(halted || ends(world).iter().all(|end| *end == Some(AgentEnd::Complete)), "{seed}");
    });
}
