//! Plans, intervals and verdicts of experiments whose truth is known.

use super::*;
use crate::fixture::Fixture;
use crate::undecided;
use model::load::{Arrival, Level, Life, Spacing};
use model::perturbation::{Confirm, Resource, Touch};
use model::verdict::{Alternative, Ceiling, CeilingKind, Confidence, Named, Verdict};
use model::wall::{Side, WallId};
use proptest::prelude::*;

/// An experiment whose blocks gave this elasticity, plus or minus the spread.
fn made(resource: Resource, value: f64, spread: f64) -> Perturbation {
    Perturbation {
        resource,
        what: "a change".to_string(),
        factor: Some(0.8),
        base: vec![100.0; 4],
        changed: vec![80.0; 4],
        elasticity: Some(value),
        low: Some(value - spread),
        high: Some(value + spread),
        says: Says::Open,
        failure: None,
    }
}

fn follows(resource: Resource) -> Perturbation {
    made(resource, 0.98, 0.1)
}

fn stays(resource: Resource) -> Perturbation {
    made(resource, 0.02, 0.1)
}

fn named(wall: WallId, confidence: Confidence) -> Verdict {
    let (low, high) = (None, None);
    let kind = CeilingKind::Ceiling;
    Verdict {
        wall: Named::Wall(wall),
        name: wall.name().to_string(),
        side: wall.side(),
        confidence,
        ceiling: Some(Ceiling { low, high, ..Ceiling::at(1000.0, kind) }),
        ..undecided()
    }
}

fn facts() -> Facts {
    Facts {
        level: Level {
            connections: 16,
            spare: 0,
            depth: 1,
            arrival: Arrival::Closed,
            life: Life::default(),
        },
        knee_in_flight: None,
        threads: 1,
        threads_max: 2,
        burnable_cpus: Vec::new(),
        server_capacity: Some(0.25),
        server_cpus: vec![0, 1],
    }
}

fn free() -> Confirm {
    Confirm { touch: Touch::ClientOnly, route: None, pairs: 4, block_ns: 1_000_000_000 }
}

fn touching() -> Confirm {
    Confirm { touch: Touch::Server, ..free() }
}

fn resources(planned: &[Experiment]) -> Vec<Resource> {
    planned.iter().map(|one| one.resource).collect()
}

#[test]
fn the_named_walls_resource_comes_first_and_a_rival_follows() {
    let verdict = named(WallId::S3, Confidence::Probable);
    let planned = plan(&verdict, &facts(), &touching());
    assert_eq!(resources(&planned), [Resource::ServerCpu, Resource::InFlight]);
    assert_eq!(planned[0].change, BlockChange::ServerQuota { cpus: 0.2 });
    assert_eq!(planned[0].factor, Some(0.8));
    let untouched = plan(&verdict, &facts(), &free());
    assert_eq!(resources(&untouched), [Resource::InFlight], "nothing of the server is changed");
    let quota_unknown = Facts { server_capacity: None, ..facts() };
    let masked = plan(&verdict, &quota_unknown, &touching());
    assert_eq!(masked[0].change, BlockChange::ServerMask { cpus: vec![0] });
}

#[test]
fn the_load_grows_by_a_quarter_or_is_halved_far_beyond_the_knee() {
    let load = |facts: &Facts| match &plan(&undecided(), facts, &free())[0] {
        Experiment { change: BlockChange::Load(level), factor, .. } => {
            (level.connections, level.connections_max(), factor.unwrap())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(load(&facts()), (20, 20, 1.25));
    assert_eq!(load(&Facts { knee_in_flight: Some(5), ..facts() }), (20, 20, 1.25));
    assert_eq!(load(&Facts { knee_in_flight: Some(4), ..facts() }), (8, 8, 0.5));
    let one = Level { connections: 1, ..facts().level };
    assert_eq!(load(&Facts { level: one, ..facts() }).0, 2, "one more at least");
    let curve = model::curve::Curve::constant(200.0);
    let arrival = Arrival::Open { curve, arrivals: Spacing::Fixed };
    let open = Facts { level: Level { arrival, ..facts().level }, ..facts() };
    let planned = plan(&undecided(), &open, &free());
    assert_eq!(resources(&planned), [Resource::OfferedRate, Resource::ClientLoops]);
    assert!(planned[0].what.contains("250 instead of 200"), "{}", planned[0].what);
}

#[test]
fn threads_are_doubled_where_cpus_allow_and_halved_else() {
    let loops = |threads, threads_max| {
        let facts = Facts { threads, threads_max, ..facts() };
        let verdict = named(WallId::C2, Confidence::Suspected);
        let planned = plan(&verdict, &facts, &free());
        planned.into_iter().find_map(|one| match one.change {
            BlockChange::Threads(threads) => Some((threads, one.factor)),
            _ => None,
        })
    };
    assert_eq!(loops(1, 2), Some((2, Some(2.0))));
    assert_eq!(loops(2, 2), Some((1, Some(0.5))));
    assert_eq!(loops(1, 1), None);
}

/// The facts of a run like the fixture, as the plan sees them.
fn facts_of(fixture: &Fixture) -> Facts {
    let target = model::run::Target { server: fixture.server.clone(), ..Default::default() };
    facts_with(fixture, target)
}

fn facts_with(fixture: &Fixture, target: model::run::Target) -> Facts {
    let context = fixture.context(&target);
    let level = (&fixture.trial.levels[0], &fixture.point);
    Facts::of(context, level, &fixture.observed, &undecided())
}

#[test]
fn cpu_is_burned_only_where_the_server_is_not() {
    let verdict = named(WallId::C1, Confidence::Suspected);
    let facts = Facts { burnable_cpus: vec![1], ..facts() };
    let planned = plan(&verdict, &facts, &free());
    assert_eq!(resources(&planned), [Resource::ClientCpu, Resource::InFlight]);
    assert_eq!(planned[0].factor, None, "the burnt share is measured");

    let mut fixture = Fixture::good();
    let cpus_of = |fixture: &Fixture| facts_of(fixture).burnable_cpus;
    assert_eq!(cpus_of(&fixture), [0u32; 0], "both run on both CPUs");
    fixture.trial.cpus = vec![1];
    fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
    assert_eq!(cpus_of(&fixture), [1]);
    fixture.server = None;
    assert_eq!(cpus_of(&fixture), [0u32; 0], "a server on this host without a probe");
}

#[test]
fn cpus_of_two_machines_have_the_same_numbers() {
    let mut fixture = Fixture::good();
    fixture.apart();
    let at = |offset_ns| {
        let clock = model::facts::ClockOffset { offset_ns, error_ns: 50_000, round_trips: 9 };
        let probe = model::facts::FarHost {
            address: "10.0.0.2:9200".to_string(),
            host: fixture.host.clone(),
            server: fixture.server.clone(),
            privilege: model::facts::Privilege::Root,
            clock,
            lost: None,
        };
        let target = model::run::Target { probe: Some(probe), ..Default::default() };
        facts_with(&fixture, target).burnable_cpus
    };
    assert_eq!(at(20_000), [0u32; 0], "another namespace of one machine");
    assert_eq!(at(-9_000_000_000), [0, 1], "another machine");
}

#[test]
fn the_capacity_of_a_server_is_what_would_stop_it_first() {
    let capacity = |fixture: &Fixture| facts_of(fixture).server_capacity.unwrap();
    let mut fixture = Fixture::good();
    fixture.server_threads(&[(7, 0.5), (7, 0.1)]);
    let near = |left: f64, right: f64| (left - right).abs() < 1e-9;
    assert!(near(capacity(&fixture), 1.2), "its busiest thread: {}", capacity(&fixture));
    fixture.server_threads(&[(7, 0.2), (7, 0.2), (7, 0.2)]);
    fixture.cpu(0, 1.0);
    fixture.cpu(1, 0.9);
    assert!(near(capacity(&fixture), 0.7), "idle: {}", capacity(&fixture));
    for quota in fixture.observed.server_quotas.iter_mut().flatten() {
        quota.allowed_cpus = Some(0.25);
    }
    assert!(near(capacity(&fixture), 0.25), "a quota: {}", capacity(&fixture));
    let probe = model::facts::FarHost {
        address: "10.0.0.2:9200".to_string(),
        host: fixture.host.clone(),
        server: fixture.server.clone(),
        privilege: model::facts::Privilege::Root,
        clock: model::facts::ClockOffset::default(),
        lost: None,
    };
    let far = model::run::Target { probe: Some(probe), ..Default::default() };
    // The probe of its host watches it and can change it.
    fixture.observed.far = Some(Box::new(fixture.observed.clone()));
    let facts = facts_with(&fixture, far);
    assert!(facts.server_capacity.is_some_and(|found| near(found, 0.25)), "{facts:?}");
    assert!(!facts.server_cpus.is_empty());
    let none = facts_with(&fixture, model::run::Target::default());
    assert_eq!((none.server_capacity, none.server_cpus.len()), (None, 0), "it is not watched");
}

#[test]
fn a_measurement_that_is_not_valid_and_a_counted_limit_have_no_experiment() {
    for wall in [WallId::M1, WallId::M4, WallId::C7, WallId::K1] {
        assert_eq!(plan(&named(wall, Confidence::Probable), &facts(), &touching()), []);
    }
}

#[test]
fn an_interval_says_what_a_resource_does_or_nothing() {
    let said = |value, spread| response(&made(Resource::ServerCpu, value, spread));
    assert_eq!([said(0.75, 0.1), said(1.25, 0.6)], [Says::Limits; 2]);
    assert_eq!([said(0.5, 0.2), said(0.3, 0.1)], [Says::LimitsInPart; 2]);
    assert_eq!([said(0.0, 0.2), said(-0.1, 0.1)], [Says::DoesNotLimit; 2]);
    let open = [said(0.0, 0.3), said(0.6, 0.6), said(0.8, 0.6), said(1.5, 0.1), said(-0.8, 0.1)];
    assert_eq!(open, [Says::Open; 5], "wide, or none of these");
}

#[test]
fn confirmed_needs_the_own_resource_and_a_rival() {
    let wall = Named::Wall(WallId::S3);
    let (own, rival) = (follows(Resource::ServerCpu), stays(Resource::InFlight));
    assert_eq!(confirms(wall, &[own.clone(), rival.clone()]), Outcome::Confirmed);
    assert_eq!(confirms(wall, std::slice::from_ref(&own)), Outcome::Silent);
    assert_eq!(confirms(wall, std::slice::from_ref(&rival)), Outcome::Silent);
    let wide = made(Resource::InFlight, 0.02, 0.3);
    assert_eq!(confirms(wall, &[own.clone(), wide]), Outcome::Silent, "no effect is a claim");
    let unsure = made(Resource::ServerCpu, 0.9, 0.8);
    assert_eq!(confirms(wall, &[unsure, rival.clone()]), Outcome::Silent);
    let failed = Perturbation { failure: Some("no".to_string()), ..own };
    assert_eq!(confirms(wall, &[failed, rival]), Outcome::Silent);
}

#[test]
fn a_resource_that_does_not_matter_contradicts_its_wall() {
    let made = [stays(Resource::ServerCpu), stays(Resource::InFlight)];
    let verdict = apply(named(WallId::S2, Confidence::Probable), &made);
    assert_eq!((verdict.wall, verdict.confidence), (Named::Unknown, Confidence::Unknown));
    assert!(verdict.name.contains("does not depend on the server's CPU time"), "{verdict:?}");
    assert!(verdict.name.contains("(S2)"), "the headline says what it looked like");
    assert_eq!(verdict.ceiling.unwrap().kind, CeilingKind::AtLeast);
    let client = [stays(Resource::ServerCpu), follows(Resource::ClientCpu)];
    let client = [&client[..], &[stays(Resource::InFlight)]].concat();
    let verdict = apply(named(WallId::S2, Confidence::Probable), &client);
    assert_eq!((verdict.wall, verdict.side), (Named::Wall(WallId::C1), Side::Client));
    assert_eq!(verdict.confidence, Confidence::Probable);
    assert!(verdict.against[0].contains("(S2)"), "{:?}", verdict.against);
}

#[test]
fn confirmed_responses_doubt_about_slack_and_no_other() {
    let made = [follows(Resource::ServerCpu), stays(Resource::InFlight)];
    let mut verdict = named(WallId::S3, Confidence::Suspected);
    verdict.against = vec!["the generator is not known to have had slack".to_string()];
    let wall = |wall| Alternative { wall, share: 0.5 };
    verdict.alternatives = vec![wall(verdict.wall), wall(Named::Wall(WallId::C1))];
    let sure = apply(verdict.clone(), &made);
    assert_eq!((sure.confidence, sure.against.len()), (Confidence::Confirmed, 0));
    assert_eq!(sure.alternatives.len(), 1);
    assert!(sure.evidence[0].value.starts_with("0.98 [0.88, 1.08]"), "{:?}", sure.evidence);
    assert_eq!((sure.evidence[0].host.as_str(), sure.evidence.len()), ("server", 2));
    verdict.against.push("gate errors: 3 % failed".to_string());
    let doubted = apply(verdict, &made);
    assert_eq!((doubted.confidence, doubted.against.len()), (Confidence::Probable, 1));
}

#[test]
fn two_that_share_are_co_limited() {
    let made = [made(Resource::ServerCpu, 0.5, 0.1), made(Resource::ClientCpu, 0.45, 0.1)];
    let verdict = apply(named(WallId::S3, Confidence::Probable), &made);
    assert_eq!((verdict.confidence, verdict.also), (Confidence::CoLimited, vec![WallId::C1]));
    assert_eq!(verdict.ceiling.unwrap().kind, CeilingKind::AtLeast);
    let both = [WallId::S3, WallId::C1].map(WallId::reason).join("; ");
    assert_eq!(verdict.sentence, Some(both));
}

#[test]
fn what_waits_is_supported_but_never_confirmed_by_elimination() {
    let made = [Resource::InFlight, Resource::ClientLoops, Resource::ServerCpu].map(stays);
    let verdict = apply(named(WallId::A2, Confidence::Suspected), &made);
    assert_eq!(verdict.confidence, Confidence::Probable);
    let fewer = apply(named(WallId::A2, Confidence::Suspected), &made[..2]);
    assert_eq!(fewer.confidence, Confidence::Suspected, "the server's CPU was not excluded");
    let cpu = [stays(Resource::InFlight), follows(Resource::ServerCpu)];
    let verdict = apply(named(WallId::A2, Confidence::Suspected), &cpu);
    assert_eq!(verdict.wall, Named::Wall(WallId::S1), "{verdict:?}");
    let followed = format!("the rate followed {}", Resource::ServerCpu.name());
    assert!(verdict.sentence.unwrap().ends_with(&followed));
}

#[test]
fn what_does_not_limit_is_said_when_nothing_is_named() {
    let made = [Resource::InFlight, Resource::ClientLoops].map(stays);
    let verdict = apply(undecided(), &made);
    assert_eq!(verdict.wall, Named::Unknown);
    assert!(verdict.name.ends_with("it is the server or the path"), "{}", verdict.name);
    assert!(verdict.next[0].text().contains("--may-touch-server"), "{:?}", verdict.next);
    let made = [&made[..], &[stays(Resource::ServerCpu)]].concat();
    let verdict = apply(undecided(), &made);
    assert!(verdict.name.ends_with("and not the server's CPU") && verdict.next.is_empty());
    let one = apply(undecided(), &made[..1]);
    assert_eq!(one.name, undecided().name, "the generator was not tried");
}

#[test]
fn load_that_limits_is_confirmed_and_load_that_does_not_is_a_wall() {
    let none = || Verdict {
        wall: Named::None,
        side: Side::None,
        ..named(WallId::C3, Confidence::Probable)
    };
    let made = [follows(Resource::InFlight), stays(Resource::ClientLoops)];
    let verdict = apply(none(), &made);
    assert_eq!((verdict.wall, verdict.confidence), (Named::None, Confidence::Confirmed));
    let verdict = apply(none(), &[stays(Resource::InFlight)]);
    assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
}

#[test]
fn nothing_made_changes_nothing() {
    let verdict = named(WallId::S3, Confidence::Probable);
    assert_eq!(apply(verdict.clone(), &[]), verdict);
    let failed = Perturbation { failure: Some("no".to_string()), ..follows(Resource::ServerCpu) };
    assert_eq!(apply(verdict.clone(), &[failed]), verdict);
}

#[test]
fn the_base_is_the_sound_point_with_the_highest_rate() {
    let levels = [(8, 1000.0), (16, 2000.0), (32, 1900.0)];
    let mut points = levels.map(|(connections, rate)| Fixture::point(connections, rate)).to_vec();
    assert_eq!(base_point(&points), Some(1));
    Fixture::strike(&mut points[1]);
    assert_eq!(base_point(&points), Some(2));
    assert_eq!(base_point(&[]), None);
}

#[test]
fn too_small_a_change_and_a_silent_block_tell_nothing() {
    assert_eq!(elasticity(1.02, &[1.0; 4], &[1.0; 4]), None);
    assert_eq!(elasticity(0.8, &[100.0, 0.0], &[80.0, 80.0]), None);
    assert_eq!(elasticity(0.8, &[], &[]), None);
    let two = elasticity(0.5, &[100.0; 2], &[50.0; 2]).unwrap();
    assert!((two.value - 1.0).abs() < 1e-9 && two.interval.is_none());
}

proptest! {
    #[test]
    fn a_known_elasticity_is_recovered(
        truth in -1.0f64..2.0,
        factor in prop_oneof![0.3f64..0.9, 1.1f64..3.0],
        rates in prop::collection::vec(1.0f64..1e6, 3..12),
        wobble in 0.0f64..0.002,
    ) {
        let wobbly = |at: usize| 1.0 + if at.is_multiple_of(2) { wobble } else { -wobble };
        let changed: Vec<f64> = rates
            .iter()
            .enumerate()
            .map(|(at, rate)| rate * factor.powf(truth) * wobbly(at))
            .collect();
        let found = elasticity(factor, &rates, &changed).unwrap();
        let allowed = 1e-9 + 2.0 * wobble / factor.ln().abs();
        prop_assert!((found.value - truth).abs() <= allowed, "{found:?} for {truth}");
        let (low, high) = found.interval.unwrap();
        prop_assert!(low <= truth + allowed && truth - allowed <= high);
    }

    #[test]
    fn identical_blocks_have_an_interval_around_0(
        factor in prop_oneof![0.3f64..0.9, 1.1f64..3.0],
        rates in prop::collection::vec(1.0f64..1e6, 3..12),
    ) {
        let (low, high) = elasticity(factor, &rates, &rates).unwrap().interval.unwrap();
        prop_assert!(low <= 0.0 && 0.0 <= high && high - low < 1e-6);
    }

    #[test]
    fn nothing_panics(
        factor in prop::num::f64::ANY,
        base in prop::collection::vec(prop::num::f64::ANY, 0..6),
        changed in prop::collection::vec(prop::num::f64::ANY, 0..6),
    ) {
        let _ = elasticity(factor, &base, &changed);
    }
}
