//! The verdict on points and runs: which wall, how sure, and what it says.

use super::*;
use crate::fixture::Fixture;
use model::figure::Figure;
use model::histogram::Summary;
use model::load::HttpChoice;
use model::run::Residence;
use model::standing::Standing;
use model::wall::Side;
use std::collections::BTreeMap;

fn verdict(fixture: &mut Fixture) -> Verdict {
    fixture.check_gates();
    decide(&fixture.case(), None)
}

#[test]
fn slack_everywhere_is_no_wall() {
    let verdict = verdict(&mut Fixture::good());
    assert_eq!((verdict.wall, verdict.side), (Named::None, Side::None));
    assert_eq!(verdict.ceiling.unwrap().kind, CeilingKind::AtLeast);
    assert!(verdict.next[0].text().contains("ceiling ramp"), "{:?}", verdict.next);
}

#[test]
fn a_generator_near_its_limit_does_not_take_a_servers_wall_away() {
    let mut fixture = Fixture::good();
    fixture.server_threads(&[(7, 0.97), (8, 0.15)]);
    fixture.unread_at_server(0.5);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::K14));
    fixture.worker(0.92, 0.0);
    let near = verdict(&mut fixture);
    assert_eq!((near.wall, near.confidence), (Named::Wall(WallId::K14), Confidence::CoLimited));
    fixture.worker(0.98, 0.0);
    let at_limit = verdict(&mut fixture);
    assert_ne!(at_limit.wall, Named::Wall(WallId::K14), "the generator may have caused it");
}

#[test]
fn a_late_generator_hides_what_is_known_by_its_timing_but_no_count() {
    let late = |fixture: &mut Fixture| {
        fixture.point.load.model = LoadModel::Open;
        fixture.point.latency_punctual_ns = Some(Summary { p50: Some(0), ..Summary::default() });
        verdict(fixture)
    };
    let mut fixture = Fixture::good();
    fixture.refuse(0.3);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::A4));
    assert_ne!(late(&mut fixture).wall, Named::Wall(WallId::A4));
    let mut fixture = Fixture::good();
    fixture.error("fds", 5);
    assert_eq!(late(&mut fixture).wall, Named::Wall(WallId::C8));
    let mut fixture = Fixture::good();
    fixture.point.service_ns.max = Some(60_000_000);
    fixture.observed.runtime = Some([("safepoint_pause_seconds".to_string(), 0.5)].into());
    assert_eq!(late(&mut fixture).wall, Named::Wall(WallId::A5), "its runtime reports it");
}

#[test]
fn utilisation_alone_names_nothing() {
    let mut fixture = Fixture::good();
    fixture.server_thread(0.99, 0.0);
    let alone = verdict(&mut fixture);
    assert_eq!((alone.wall, alone.confidence), (Named::Unknown, Confidence::Unknown));
    assert!(alone.against[0].contains("S2"), "{:?}", alone.against);
    fixture.unread_at_server(0.5);
    let with_queue = verdict(&mut fixture);
    assert_eq!(with_queue.wall, Named::Wall(WallId::S2));
    assert_eq!(with_queue.confidence, Confidence::Probable);
}

#[test]
fn a_rate_that_is_met_is_no_wall_however_full_the_cpus_are() {
    let mut fixture = Fixture::good();
    fixture.cpu(0, 0.99);
    fixture.cpu(1, 0.99);
    fixture.server_threads(&[(7, 0.95), (8, 0.93)]);
    fixture.unread_at_server(0.5);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::S1), "closed loop");
    let point = &mut fixture.point;
    point.load.model = LoadModel::Open;
    point.offered_rate = Some(point.rate);
    point.requests.planned = Some(point.requests.sent);
    let met = verdict(&mut fixture);
    assert_eq!(met.wall, Named::None, "{met:?}");
    assert!(met.against.iter().any(|what| what.contains("little more load fits")), "{met:?}");
    // A tenth of the requests found no connection, and at the end one was free.
    let room = fixture.point.in_flight.limit as f64 - 1.0;
    fixture.point.requests.waited = fixture.point.requests.sent / 10;
    (fixture.point.in_flight.first, fixture.point.in_flight.last) = (Some(room), Some(room));
    assert_eq!(verdict(&mut fixture).wall, Named::None, "it caught up");
    fixture.point.offered_rate = Some(fixture.point.rate * 1.1);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::S1), "not met");
}

#[test]
fn a_full_generator_that_sent_all_that_was_asked_is_no_wall() {
    let mut fixture = Fixture::good();
    fixture.trial.cpus = vec![1];
    fixture.trial.threads = 1;
    fixture.worker(0.99, 0.0);
    fixture.cpu(1, 0.99);
    let full = verdict(&mut fixture);
    assert_eq!(full.side, Side::Client, "closed loop: {full:?}");
    let point = &mut fixture.point;
    point.load.model = LoadModel::Open;
    point.offered_rate = Some(point.rate);
    point.requests.planned = Some(point.requests.sent);
    assert_eq!(verdict(&mut fixture).wall, Named::None);
    fixture.point.offered_rate = Some(fixture.point.rate * 1.1);
    assert_eq!(verdict(&mut fixture).side, Side::Client, "not met");
}

#[test]
fn a_generator_that_others_make_late_is_the_wall_of_an_objective_about_times() {
    let mut fixture = Fixture::good();
    fixture.trial.cpus = vec![1];
    fixture.trial.threads = 1;
    fixture.worker(0.40, 0.58);
    fixture.cpu(1, 0.99);
    let point = &mut fixture.point;
    point.load.model = LoadModel::Open;
    point.offered_rate = Some(point.rate);
    point.requests.planned = Some(point.requests.sent);
    assert_eq!(verdict(&mut fixture).wall, Named::None, "the rate is met");
    let p50_ns = fixture.point.latency_ns.p50.unwrap();
    let punctual = Summary { p50: Some(p50_ns / 2), ..fixture.point.latency_ns.clone() };
    fixture.point.latency_punctual_ns = Some(punctual);
    fixture.trial.expect = Some(format!("p50<{}ns", p50_ns * 3 / 4).parse().unwrap());
    let late = verdict(&mut fixture);
    assert_eq!(
        (late.side, late.also),
        (Side::Client, vec![WallId::C11]),
        "undecided for its delay"
    );
}

#[test]
fn a_rival_without_slack_lowers_confidence() {
    let mut fixture = Fixture::good();
    fixture.server_thread(0.99, 0.0);
    fixture.unread_at_server(0.5);
    fixture.worker(0.85, 0.0);
    let without_slack = verdict(&mut fixture);
    assert_eq!(without_slack.wall, Named::Wall(WallId::S2));
    assert_eq!(without_slack.confidence, Confidence::Suspected);
    assert!(without_slack.against.iter().any(|what| what.contains("generator")));
    fixture.worker(0.93, 0.0);
    let near_limit = verdict(&mut fixture);
    assert_eq!(near_limit.confidence, Confidence::CoLimited);
    assert_eq!(near_limit.also, [WallId::C2]);
}

#[test]
fn neighbours_on_the_servers_cpus_are_named_after_what_would_limit_without_them() {
    let mut fixture = Fixture::good();
    fixture.cpu(0, 0.99);
    fixture.cpu(1, 0.99);
    fixture.server_threads(&[(7, 0.95), (8, 0.9)]);
    fixture.unread_at_server(0.5);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::S1), "the server alone");
    fixture.server_thread(0.6, 0.9);
    let beside = |verdict: Verdict| (verdict.wall, verdict.also, verdict.confidence);
    let both = |own| (Named::Wall(own), vec![WallId::S6], Confidence::CoLimited);
    assert_eq!(beside(verdict(&mut fixture)), both(WallId::S1), "it waits for its turn");
    fixture.worker(0.05, 0.0);
    fixture.server_threads(&[(7, 0.75), (8, 0.75)]);
    for thread in fixture.observed.server_threads.iter_mut().flatten() {
        thread.wait = 0.2;
    }
    assert_eq!(beside(verdict(&mut fixture)), both(WallId::S1), "it would use all of them");
    for thread in fixture.observed.server_threads.iter_mut().flatten() {
        (thread.run, thread.wait) = (0.6, 0.05);
    }
    let crowded = verdict(&mut fixture);
    assert_eq!(crowded.wall, Named::Unknown);
    assert!(crowded.against[0].contains("other processes"), "{:?}", crowded.against);
}

#[test]
fn both_sides_hot_are_co_limited_and_at_least() {
    let mut fixture = Fixture::good();
    fixture.server_thread(0.99, 0.0);
    fixture.unread_at_server(0.5);
    fixture.worker(0.99, 0.0);
    let verdict = verdict(&mut fixture);
    assert_eq!(verdict.confidence, Confidence::CoLimited);
    assert_eq!((verdict.wall, verdict.also), (Named::Wall(WallId::S2), vec![WallId::C2]));
    assert_eq!(verdict.ceiling.unwrap().kind, CeilingKind::AtLeast);
}

#[test]
fn neighbours_of_both_sides_come_after_what_would_limit_without_them() {
    let mut fixture = Fixture::good();
    fixture.trial.cpus = vec![1];
    fixture.trial.threads = 1;
    fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
    fixture.cpu(1, 0.99);
    fixture.worker(0.50, 0.48);
    let alone = verdict(&mut fixture);
    assert_eq!((alone.wall, alone.also), (Named::Wall(WallId::C1), vec![WallId::C11]));
    fixture.cpu(0, 0.99);
    fixture.server_thread(0.50, 0.49);
    fixture.unread_at_server(0.5);
    let both = verdict(&mut fixture);
    assert_eq!(both.also, [WallId::C1, WallId::C11, WallId::S6], "{}", both.name);
    fixture.server_thread(0.30, 0.40);
    let client = verdict(&mut fixture);
    assert_eq!(client.wall, Named::Wall(WallId::C1), "others fill the server's CPU");
}

#[test]
fn a_hot_generator_is_the_wall() {
    let mut fixture = Fixture::good();
    fixture.worker(0.99, 0.0);
    let verdict = verdict(&mut fixture);
    assert_eq!((verdict.wall, verdict.side), (Named::Wall(WallId::C2), Side::Client));
}

#[test]
fn a_counted_limit_explains_lost_connections_but_not_a_broken_account() {
    let mut fixture = Fixture::good();
    fixture.error("ports", 5);
    fixture.point.connections.served -= 1;
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::C7));
    fixture.point.rate *= 10.0;
    let broken = verdict(&mut fixture);
    assert_eq!((broken.wall, broken.ceiling), (Named::Wall(WallId::M1), None));
}

#[test]
fn an_unwatched_server_is_unknown_with_a_next_step() {
    let mut fixture = Fixture::good();
    fixture.server = None;
    fixture.observed.server_threads = None;
    let verdict = verdict(&mut fixture);
    assert_eq!(verdict.wall, Named::Unknown);
    assert!(verdict.next[0].text().contains("--server-pid"), "{:?}", verdict.next);
    assert!(verdict.not_tested.contains(&WallId::S1));
    assert!(verdict.not_tested.contains(&WallId::A1), "no version tests it yet");
}

/// A ramp of points with the same readings, judged as a run.
fn ramp(fixture: &Fixture, levels: &[(u32, f64)]) -> Verdict {
    let point = |(connections, rate): &(u32, f64)| Fixture::point(*connections, *rate);
    ramp_of(fixture, levels.iter().map(point).collect())
}

/// The same for visits.
fn ramp_of(fixture: &Fixture, visits: Vec<Point>) -> Verdict {
    let trial = Trial { question: Question::Ramp, ..fixture.trial.clone() };
    let target = Target { server: fixture.server.clone(), ..Target::default() };
    let context = Context { trial: &trial, ..fixture.context(&target) };
    let judged = |visit: Point| judge_point(context, visit, &fixture.observed);
    let points: Vec<_> = visits.into_iter().map(judged).collect();
    judge_run(context, &points, &vec![fixture.observed.clone(); points.len()])
}

const FLAT: [(u32, f64); 4] = [(50, 1000.0), (100, 1950.0), (200, 2000.0), (400, 1980.0)];

#[test]
fn a_rate_that_falls_is_looked_at_where_it_has_fallen() {
    let mut fixture = Fixture::good();
    fixture.cpu(0, 0.99);
    fixture.cpu(1, 0.99);
    fixture.server_threads(&[(7, 0.95), (8, 0.93)]);
    let at_cost = |costs: [f64; 5]| {
        let rates = [500.0, 1000.0, 2000.0, 1400.0, 900.0];
        let level = |(at, (rate, cost))| {
            let mut point = Fixture::point(1u32 << at, rate);
            point.cpu.server_us_per_request = Some(cost);
            point
        };
        ramp_of(&fixture, rates.into_iter().zip(costs).enumerate().map(level).collect())
    };
    let spins = at_cost([500.0, 500.0, 500.0, 1300.0, 2000.0]);
    assert_eq!(spins.wall, Named::Wall(WallId::S7), "{spins:?}");
    assert_eq!(spins.ceiling.unwrap().rate, 2000.0);
    assert_ne!(at_cost([500.0; 5]).wall, Named::Wall(WallId::S7));
}

#[test]
fn a_flat_ramp_is_the_second_witness_of_a_busy_server() {
    let mut fixture = Fixture::good();
    fixture.server_thread(0.99, 0.0);
    let verdict = ramp(&fixture, &FLAT);
    assert_eq!(verdict.wall, Named::Wall(WallId::S2), "{verdict:?}");
    assert_eq!(verdict.confidence, Confidence::Probable);
    let ceiling = verdict.ceiling.unwrap();
    assert_eq!(ceiling.kind, CeilingKind::Ceiling);
    assert!((ceiling.rate - 1976.7).abs() < 0.1, "mean of the plateau: {ceiling:?}");
    assert_eq!(ceiling.knee_in_flight, Some(100));
}

#[test]
fn the_ceiling_of_a_ramp_is_over_every_visit_of_its_plateau() {
    let mut fixture = Fixture::good();
    fixture.server_thread(0.99, 0.0);
    let levels = [(50, 1000.0), (100, 1950.0), (200, 1700.0), (200, 2000.0), (400, 1980.0)];
    let mut visits: Vec<Point> =
        levels.iter().map(|(connections, rate)| Fixture::point(*connections, *rate)).collect();
    // The first visit of 200 was not steady, so it was repeated.
    let half = visits[2].per_100ms.len() / 2;
    visits[2].per_100ms[..half].iter_mut().for_each(|count| *count /= 2);
    visits[3].attempt = 2;
    let verdict = ramp_of(&fixture, visits);
    assert_eq!(verdict.wall, Named::Wall(WallId::S2), "{verdict:?}");
    let ceiling = verdict.ceiling.unwrap();
    assert_eq!((ceiling.interval, ceiling.visits), (IntervalKind::Visits95, 4));
    assert_eq!(ceiling.rate, (1950.0 + 1700.0 + 2000.0 + 1980.0) / 4.0);
    assert!(
        !verdict.next.iter().any(|next| next.text().contains("--visits")),
        "{:?}",
        verdict.next
    );
}

#[test]
fn a_plateau_of_two_visits_says_what_would_make_it_an_interval() {
    let verdict = ramp(&Fixture::good(), &[(50, 1000.0), (100, 1990.0), (200, 2000.0)]);
    let ceiling = verdict.ceiling.unwrap();
    assert_eq!((ceiling.low, ceiling.high), (Some(1990.0), Some(2000.0)));
    assert_eq!((ceiling.interval, ceiling.visits), (IntervalKind::MinMax, 2));
    let next = verdict.next.last().unwrap();
    let next = next.text();
    assert!(next.starts_with("ceiling ramp http://127.0.0.1:8083/read -c 100..200 --visits 3"));
}

#[test]
fn visits_of_the_level_that_still_grows_are_its_interval() {
    let mut visits = [(100, 1000.0), (200, 2000.0), (400, 3900.0), (400, 4100.0)]
        .map(|(connections, rate)| Fixture::point(connections, rate));
    visits[3].attempt = 2;
    let verdict = ramp_of(&Fixture::good(), visits.to_vec());
    let mut values = verdict.evidence.iter().map(|one| one.value.as_str());
    assert!(values.any(|value| value == "+105.0 % from 200 to 400 in flight"));
    let ceiling = verdict.ceiling.unwrap();
    assert_eq!((ceiling.kind, ceiling.rate), (CeilingKind::AtLeast, 4000.0));
    assert_eq!((ceiling.interval, ceiling.visits), (IntervalKind::MinMax, 2));
}

#[test]
fn a_lower_bound_is_not_below_a_level_that_was_measured() {
    let levels = [(50, 1000.0), (100, 2000.0), (200, 4100.0), (400, 4000.0)];
    let mut fixture = Fixture::good();
    fixture.worker(0.85, 0.0);
    let ceiling = ramp(&fixture, &levels).ceiling.unwrap();
    assert_eq!((ceiling.kind, ceiling.rate), (CeilingKind::AtLeast, 4100.0));
    let few = ramp(&Fixture::good(), &[(50, 1000.0), (100, 900.0)]).ceiling.unwrap();
    assert_eq!((few.kind, few.rate), (CeilingKind::AtLeast, 1000.0));
}

/// A ramp at a server that keeps requests inside, with a round trip of 50 us, until it levels
/// off at 1000/s.
fn waits_inside(change: impl Fn(&mut Fixture)) -> Verdict {
    let mut fixture = Fixture::good();
    fixture.round_trip(50);
    change(&mut fixture);
    ramp(&fixture, &[(1, 250.0), (2, 500.0), (4, 990.0), (8, 1000.0), (16, 1005.0)])
}

#[test]
fn a_flat_ramp_of_an_idle_server_leaves_what_requests_can_wait_for() {
    let verdict = waits_inside(|_| ());
    assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Server), "{verdict:?}");
    let left: Vec<Named> = verdict.alternatives.iter().map(|one| one.wall).collect();
    let walls = [WallId::A2, WallId::A1, WallId::A4, WallId::A3];
    assert_eq!(left, walls.map(Named::Wall), "no wall is not possible");
    assert!(verdict.name.contains("a pool (A2)"), "{}", verdict.name);
    assert!(verdict.next.iter().any(|next| next.text().contains("--profile auto")), "{verdict:?}");
    let ceiling = verdict.ceiling.unwrap();
    assert_eq!((ceiling.kind, ceiling.knee_in_flight), (CeilingKind::Ceiling, Some(4)));
}

#[test]
fn tests_that_are_all_silent_do_not_speak_against_what_is_left() {
    let verdict = waits_inside(|fixture| {
        fixture.worker(0.05, 0.0);
        fixture.doing(&[(1, 0.05, model::reading::Doing::Events, None)]);
        fixture.observed.downstreams = Some(Vec::new());
    });
    assert_eq!(verdict.wall, Named::Wall(WallId::A2), "{verdict:?}");
    assert_eq!(verdict.confidence, Confidence::Suspected);
}

#[test]
fn threads_that_take_turns_are_not_one_thread() {
    let verdict = waits_inside(|fixture| {
        fixture.server_threads(&[(7, 0.3), (7, 0.35), (7, 0.35)]);
    });
    assert_eq!(verdict.wall, Named::Unknown);
    let left: Vec<Named> = verdict.alternatives.iter().map(|one| one.wall).collect();
    assert_eq!(left, [Named::Wall(WallId::A1), Named::Wall(WallId::S2)], "{verdict:?}");
}

#[test]
fn a_busy_thread_is_no_wall_while_the_rate_follows_the_load() {
    let mut fixture = Fixture::good();
    fixture.server_thread(0.99, 0.0);
    fixture.unread_at_server(0.5);
    let verdict = ramp(&fixture, &[(50, 1000.0), (100, 2000.0), (200, 3900.0)]);
    assert_eq!(verdict.wall, Named::Unknown);
    assert!(verdict.against[0].contains("S2") && !verdict.next.is_empty(), "{verdict:?}");
}

#[test]
fn what_fails_at_a_load_that_is_kept_up_with_waits_for_nothing() {
    let mut fixture = Fixture::good();
    let asleep = |tid| (tid, 0.01, model::reading::Doing::Futex, Some(7));
    let holder = (1, 0.01, model::reading::Doing::Timer, None);
    fixture.doing(&[holder, asleep(2), asleep(3), asleep(4)]);
    fixture.unread_at_server(0.5);
    fixture.worker(0.05, 0.0);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::A1), "they wait");
    fixture.point.load.model = LoadModel::Open;
    fixture.point.offered_rate = Some(1000.0);
    fixture.point.rate = 900.0;
    fixture.point.cpu.responses = Some(5000);
    let verdict = decide(&fixture.case(), None);
    assert_eq!(verdict.wall, Named::Unknown, "{verdict:?}");
    assert!(verdict.against[0].contains("nothing waits"), "{verdict:?}");
    assert!(verdict.next[0].text().contains("curl -i"), "{verdict:?}");
}

#[test]
fn an_accept_queue_that_a_full_thread_lets_overflow_is_not_the_wall() {
    let mut fixture = Fixture::good();
    fixture.tcp("TcpExt.ListenOverflows", 7);
    fixture.slow_connects();
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::K1));
    fixture.server_thread(0.99, 0.0);
    let full = verdict(&mut fixture);
    assert_eq!(full.wall, Named::Wall(WallId::S2), "{full:?}");
    assert!(full.evidence.iter().any(|one| one.field.contains("ListenOverflows")));
}

#[test]
fn a_busy_server_that_refuses_may_have_a_limiter() {
    let mut fixture = Fixture::good();
    fixture.refuse(0.8);
    fixture.server_thread(0.99, 0.0);
    fixture.unread_at_server(0.5);
    let shed = verdict(&mut fixture);
    assert_eq!(shed.wall, Named::Unknown, "{shed:?}");
    let left: Vec<Named> = shed.alternatives.iter().map(|one| one.wall).collect();
    assert_eq!(left, [Named::Wall(WallId::A4), Named::Wall(WallId::S2)]);
    let refused = fixture.point.requests.failed;
    fixture.point.status_codes = [("429".to_string(), refused)].into();
    fixture.point.error_codes = [("429".to_string(), refused)].into();
    fixture.throttle_server(0, 0.9, 0.5);
    let told = verdict(&mut fixture);
    assert_eq!(told.wall, Named::Wall(WallId::A4), "the server says so itself: {told:?}");
}

#[test]
fn a_rising_ramp_is_a_lower_bound() {
    let verdict = ramp(&Fixture::good(), &[(50, 1000.0), (100, 2000.0), (200, 3900.0)]);
    assert_eq!(verdict.wall, Named::None);
    let ceiling = verdict.ceiling.unwrap();
    assert_eq!((ceiling.kind, ceiling.rate), (CeilingKind::AtLeast, 3900.0));
}

/// More load still brings more, whatever shows at the last level.
#[test]
fn a_wall_that_shows_on_a_rising_ramp_is_no_ceiling() {
    let mut fixture = Fixture::good();
    fixture.throttle_server(0, 0.9, 0.5);
    for (levels, kind) in [
        (&[(50, 1000.0), (100, 2000.0), (200, 3900.0)][..], CeilingKind::AtLeast),
        (&FLAT, CeilingKind::Ceiling),
    ] {
        let verdict = ramp(&fixture, levels);
        assert_eq!(verdict.wall, Named::Wall(WallId::S3), "{verdict:?}");
        assert_eq!(verdict.ceiling.unwrap().kind, kind);
    }
}

#[test]
fn from_the_generator_alone_a_flat_ramp_is_only_beyond_it() {
    let mut fixture = Fixture::good();
    fixture.server = None;
    fixture.observed.server_threads = None;
    let verdict = ramp(&fixture, &FLAT);
    assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
    assert!(verdict.name.contains("beyond the generator"), "{verdict:?}");
    fixture.worker(0.9, 0.0);
    let without_slack = ramp(&fixture, &FLAT);
    assert!(!without_slack.name.contains("beyond"), "{without_slack:?}");
}

#[test]
fn a_flat_ramp_with_slack_everywhere_is_unknown() {
    let verdict = ramp(&Fixture::good(), &FLAT);
    assert_eq!(verdict.wall, Named::Unknown, "{verdict:?}");
    assert!(verdict.against[0].contains("requests wait for something"), "{verdict:?}");
}

#[test]
fn stamps_that_are_late_because_the_generator_is_full_are_its_wall() {
    let mut fixture = Fixture::good();
    fixture.trial.cpus = vec![1];
    fixture.trial.threads = 1;
    fixture.cpu(1, 0.99);
    fixture.worker(0.97, 0.02);
    fixture.point.client_loop.turn_mean_ns =
        fixture.point.latency_ns.p50.map(|p50_ns| p50_ns as f64 * 0.6);
    let full = verdict(&mut fixture);
    assert_eq!((full.wall, full.side), (Named::Wall(WallId::C1), Side::Client));
    fixture.worker(0.50, 0.02);
    fixture.cpu(1, 0.60);
    let late = verdict(&mut fixture);
    assert_eq!((late.wall, late.side), (Named::None, Side::None), "late stamps change no count");
    assert!(matches!(fixture.point.standing.of(Figure::P50), Standing::Bounded { .. }));
}

fn judged_as(fixture: &Fixture, outcome: Outcome) -> Verdict {
    let target = Target::default();
    let context = Context { outcome, ..fixture.context(&target) };
    let point = judge_point(context, fixture.point.clone(), &fixture.observed);
    judge_run(context, &[point], std::slice::from_ref(&fixture.observed))
}

#[test]
fn a_target_that_went_away_is_no_fault_of_the_measurement() {
    let mut fixture = Fixture::good();
    fixture.point.requests.failed = fixture.point.requests.sent;
    let verdict = judged_as(&fixture, Outcome::TargetLost);
    assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
    assert!(verdict.name.contains("stopped answering"));
    assert!(verdict.next[0].text().contains("check the server"));
}

#[test]
fn no_response_at_all_is_said_as_such() {
    let mut fixture = Fixture::good();
    fixture.point.requests.completed = 0;
    fixture.point.status.clear();
    fixture.point.unmeasured.completed = 0;
    let verdict = judged_as(&fixture, Outcome::Complete);
    assert_eq!(
        (verdict.wall, verdict.name.as_str()),
        (Named::Unknown, "no request got a response")
    );
    assert!(verdict.next[1].text().starts_with("curl -v http"), "{:?}", verdict.next);
}

#[test]
fn one_level_inside_the_server_does_not_tell_what_limits() {
    let mut fixture = Fixture::good();
    let verdict = decide(&fixture.case(), None);
    assert_eq!(verdict.wall, Named::None, "{verdict:?}");
    let inside_server = fixture.point.in_flight.mean.map(|mean| 0.9 * mean);
    fixture.point.residence = Some(Residence { inside_server, ..Residence::default() });
    let verdict = decide(&fixture.case(), None);
    assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
    let next = verdict.next[0].text();
    assert!(next.contains("ceiling ramp") && next.contains("-c '1.."), "{next}");
}

/// Responses, and none of them good.
fn all_failed() -> Fixture {
    let mut fixture = Fixture::good();
    fixture.point.requests.failed = fixture.point.requests.completed;
    fixture.point.requests.completed = 0;
    fixture.point.rate = 0.0;
    fixture.point.status = BTreeMap::from([("4xx".to_string(), 10)]);
    fixture
}

#[test]
fn no_wall_is_looked_for_where_every_response_failed() {
    let fixture = all_failed();
    let verdict = judged_as(&fixture, Outcome::Complete);
    assert_eq!((verdict.wall, verdict.side), (Named::Unknown, Side::Unknown));
    assert!(verdict.name.contains("every response failed"), "{}", verdict.name);
    assert!(verdict.next[0].text().starts_with("curl -v http"), "{:?}", verdict.next);
}

/// What is proposed speaks to the server as the load does.
#[test]
fn a_response_over_http2_and_a_call_are_looked_at_in_their_own_way() {
    let mut fixture = all_failed();
    fixture.trial.manner.http = HttpChoice::Two;
    let next = judged_as(&fixture, Outcome::Complete).next;
    assert!(next[0].text().starts_with("curl -v --http2-prior-knowledge http:"), "{next:?}");
    fixture.trial.url = "grpc://127.0.0.1:9000/shop.Catalog/Read".to_string();
    let request = &mut fixture.trial.requests[0];
    request.path = "/shop.Catalog/Read".to_string();
    request.headers.push(("content-type".to_string(), "application/grpc".to_string()));
    let next = judged_as(&fixture, Outcome::Complete).next;
    let words = "ceiling grpc describe grpc://127.0.0.1:9000 shop.Catalog/Read";
    assert_eq!(next[0].text(), words);
}

#[test]
fn the_highest_load_is_not_outvoted_by_points_that_name_nothing() {
    let (wall, confidence) = (Named::Wall(WallId::A1), Confidence::Suspected);
    let named = Verdict { wall, confidence, ..undecided() };
    let nothing = undecided();
    let last = [nothing.clone(), nothing.clone(), nothing.clone(), named.clone()];
    assert_eq!(majority(&last).wall, named.wall);
    let mut first = [named, nothing.clone(), nothing.clone(), nothing];
    assert_eq!(majority(&first).wall, Named::Unknown);
    first[0].confidence = Confidence::Probable;
    let proven = majority(&first);
    assert_eq!((proven.wall, proven.confidence), (wall, Confidence::Suspected));
    assert!(proven.against[0].contains("of 3 of 4 levels"), "{:?}", proven.against);
    let confidence = Confidence::Probable;
    first[3] = Verdict { wall: Named::None, confidence, ..undecided() };
    let against = majority(&first).against;
    assert_eq!(against[0], "1 of 4 levels of the plateau show another wall or none");
    let another = |wall| Verdict { wall: Named::Wall(wall), confidence, ..undecided() };
    let tie = majority(&[another(WallId::A3), another(WallId::K1)]);
    assert_eq!((tie.wall, tie.confidence), (Named::Wall(WallId::K1), Confidence::Suspected));
}

#[test]
fn a_full_pool_comes_before_the_neighbour_that_delays_it() {
    use model::reading::Doing;
    let mut fixture = Fixture::good();
    fixture.cpu(0, 0.99);
    fixture.cpu(1, 0.99);
    fixture.unread_at_server(0.6);
    let asleep = |tid| (tid, 0.05, Doing::Timer, None);
    let runs = |tid| (tid, 0.45, Doing::Running, None);
    fixture.doing(&[asleep(1), asleep(2), runs(3), runs(4)]);
    for thread in fixture.observed.server_threads.iter_mut().flatten() {
        thread.wait = thread.run;
    }
    let pool = verdict(&mut fixture);
    assert_eq!(pool.wall, Named::Wall(WallId::A2), "{}", pool.name);
    let beside = pool.against.iter().any(|what| what.starts_with("other processes used"));
    assert!(beside, "{:?}", pool.against);
    fixture.unread_at_server(0.0);
    let also = verdict(&mut fixture).also;
    assert_eq!(also, [WallId::S6], "nothing waits for it");
}

#[test]
fn a_pool_stays_the_wall_of_a_generator_that_others_make_late() {
    use model::reading::Doing;
    let mut fixture = Fixture::good();
    fixture.trial.cpus = vec![1];
    fixture.unread_at_server(0.6);
    let asleep = |tid| (tid, 0.05, Doing::Timer, None);
    fixture.doing(&[asleep(1), asleep(2), asleep(3), asleep(4)]);
    fixture.cpu(1, 0.99);
    fixture.worker(0.10, 0.10);
    let point = &mut fixture.point;
    point.unseen_ns = Some(Summary { max: Some(20_000_000), ..Summary::default() });
    let mean = point.latency_ns.mean.map(|mean_ns| mean_ns / 2);
    point.latency_punctual_ns = Some(Summary { mean, ..point.latency_ns.clone() });
    let pool = verdict(&mut fixture);
    assert_eq!(pool.wall, Named::Wall(WallId::A2), "{}", pool.name);
    assert!(pool.against[0].contains("but A2 stays"), "{:?}", pool.against);
    fixture.unread_at_server(0.0);
    let late = verdict(&mut fixture);
    assert_eq!(late.wall, Named::Wall(WallId::C11), "nothing waits: {late:?}");
    fixture.cpu(1, 0.20);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::C4), "no other process");
}

#[test]
fn a_rate_that_grows_far_less_than_the_load_is_no_ramp_without_a_wall() {
    let grown = |rates: [f64; 4]| {
        let loads = [1, 4, 16, 64];
        let points: Vec<Point> =
            loads.iter().zip(rates).map(|(c, rate)| Fixture::point(*c, rate)).collect();
        let points: Vec<&Point> = points.iter().collect();
        let mut fixture = Fixture::good();
        fixture.point = points[3].clone();
        let case = crate::case::Case { ramp: &points, ..fixture.case() };
        let seen = shape_evidence(&points, &Trend::Rising);
        decide(&case, Some(&seen))
    };
    let follows = grown([100.0, 400.0, 1500.0, 5000.0]);
    assert_eq!(follows.wall, Named::None);
    let late = grown([100.0, 110.0, 120.0, 300.0]);
    assert_eq!(late.wall, Named::None, "the last step follows the load");
    let waits = grown([100.0, 200.0, 250.0, 300.0]);
    assert_ne!(waits.wall, Named::None, "{}", waits.name);
    assert_eq!(waits.ceiling.unwrap().kind, CeilingKind::AtLeast);
    let values = waits.evidence.iter().map(|one| one.value.as_str());
    assert!(values.into_iter().any(|value| value == "x64.0; x3.0; x21.3"));
}

#[test]
fn a_run_without_points_is_unknown() {
    let verdict = ramp(&Fixture::good(), &[]);
    assert_eq!((verdict.wall, verdict.ceiling), (Named::Unknown, None));
}

#[test]
fn a_lost_probe_is_reported_with_the_unknown_windows() {
    let fixture = Fixture::good();
    let probe = model::facts::FarHost {
        address: "10.0.0.2:9200".to_string(),
        host: fixture.host.clone(),
        server: None,
        privilege: model::facts::Privilege::Root,
        clock: model::facts::ClockOffset::default(),
        lost: Some("it closed the connection".to_string()),
    };
    let target = Target { probe: Some(probe), ..Target::default() };
    let context = fixture.context(&target);
    let seen = |far| Observed { far: Some(Box::new(far)), ..Observed::default() };
    let watched = seen(Observed { cpus: Some(Vec::new()), ..Observed::default() });
    let blind = seen(Observed::default());
    let judged = |observed: &Observed| {
        judge_point(context, fixture.point.clone(), observed).verdict.against.join("\n")
    };
    assert!(judged(&blind).contains("in 1 of 1 windows"), "{}", judged(&blind));
    assert!(!judged(&watched).contains("was lost"), "{}", judged(&watched));
    let points = [&watched, &blind];
    let points = points.map(|one| judge_point(context, fixture.point.clone(), one));
    let verdict = judge_run(context, &points, &[watched, blind]);
    let told: Vec<_> =
        verdict.against.iter().filter(|what| what.contains("closed the connection")).collect();
    assert_eq!(told.len(), 1, "{:?}", verdict.against);
    assert!(told[0].contains("in 1 of 2 windows"), "{}", told[0]);
    assert!(verdict.next[0].text().contains("ceiling probe serve"), "{:?}", verdict.next);
}

#[test]
fn unknown_says_what_others_took_where_requests_wait_and_threads_wait_for_a_cpu() {
    let mut fixture = Fixture::good();
    fixture.unread_at_server(0.5);
    fixture.worker(0.05, 0.0);
    for cpu in [0, 1] {
        fixture.cpu(cpu, 0.9);
    }
    fixture.server_thread(0.2, 0.2);
    let crowded = verdict(&mut fixture);
    assert_eq!(crowded.wall, Named::Unknown, "{crowded:?}");
    assert!(crowded.name.starts_with("other processes used 1."), "{}", crowded.name);
    assert!(crowded.next[0].text().starts_with("repeat while"), "{:?}", crowded.next);
    fixture.server_thread(0.2, 0.0);
    let idle = verdict(&mut fixture);
    assert!(!idle.name.starts_with("other processes"), "its threads did not wait: {}", idle.name);
}

#[test]
fn a_level_in_which_sockets_were_hardly_read_asks_for_a_longer_one() {
    let mut fixture = Fixture::good();
    fixture.unread_at_server(0.5);
    fixture.worker(0.05, 0.0);
    let mut asks = |reads| {
        let census = fixture.observed.census.as_mut().unwrap();
        census.reads = reads;
        let verdict = verdict(&mut fixture);
        assert_eq!(verdict.wall, Named::Unknown, "{verdict:?}");
        verdict.next.iter().any(|step| step.text().contains("connections were read"))
    };
    assert!(asks(1) && asks(3) && !asks(4));
}

#[test]
fn a_server_without_files_accepts_nothing_and_has_no_full_pool() {
    let mut fixture = Fixture::good();
    fixture.worker(0.05, 0.0);
    fixture.doing(&[(1, 0.05, model::reading::Doing::Events, None)]);
    let (queued, mean_queued, reads) = (6, 5.0, 9);
    let queue = observe::QueuePeak { queued, backlog: 128, mean_queued, reads, empty_reads: 0 };
    fixture.observed.listeners = Some(queue);
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::A2));
    fixture.observed.server_files = Some(model::reading::OpenFiles { pid: 7, open: 64, limit: 64 });
    assert_eq!(verdict(&mut fixture).wall, Named::Wall(WallId::K3));
}
