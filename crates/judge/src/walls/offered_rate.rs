//! M2: open loop, and every planned request was sent on time and got its response: no wall was
//! reached. Devices that come and go at the rate that their hold allows count too, and so do
//! devices that all hold their connections to the end.
//!
//! Signals: good responses that arrived against planned requests, requests in flight at both ends
//! of the window, send delay.
//! Rule: good responses over planned requests above 99 %, or short of them by no more than chance
//! moves over the edges of the window; no backlog that grows beyond chance, and the send delay
//! under 1 ms at p99, or at the highest known percentile below it; or at most 1 % of the requests
//! found no free slot; or all were sent and in the last fifth of the window a slot was free on
//! average: requests wait for a slot only while none is free, so what had waited was done by then,
//! and a target that catches up has more than was asked. A send delay is either a wait for a free
//! slot or generator delay; for the other 99 % it is generator delay, which limited nothing,
//! because the generator sent every planned request and got its response; it leaves two bounds of a
//! figure that it moves.
//! Mimics: A4, a limiter that queues.
//! Confirm: a rate 25 % higher is reached as well.
//! Source: Schroeder, Wierman and Harchol-Balter, Open Versus Closed: A Cautionary Tale (2006).
//! Name: offered load is the limit
//! Reason: the server kept up with the asked rate
//! Fix: ask for a higher rate (-R)

use super::{Family, Seen, Test};
use crate::backlog::keeps_up;
use crate::case::{Case, percent};
use model::load::Question;
use model::run::TurnoverInfo;
use model::step::Step;

/// Send delay that does not matter, nanoseconds.
const LAG_MAX_NS: u64 = 1_000_000;

pub fn test(case: &Case<'_>) -> Test {
    if let Some(turnover) = case.point.devices() {
        return devices(case, turnover);
    }
    let Some(offered) = case.point.offered_rate else { return Test::NotSeen };
    let achieved = case.point.rate / offered.max(f64::MIN_POSITIVE);
    // Few requests have no p99.
    let lag = case.point.send_delay_ns.as_ref();
    let lag_ns = lag.and_then(|lag| lag.p99.or(lag.p95).or(lag.p90));
    // Another tool does not report when it sent; all that is known is that it got its responses.
    let is_prompt = case.is_reported() || lag_ns.is_some_and(|lag_ns| lag_ns <= LAG_MAX_NS);
    let found_room = case.queued_share().is_some_and(|share| share <= QUEUED_MAX);
    if keeps_up(case) != Some(true) || !(is_prompt || found_room || has_caught_up(case)) {
        return Test::NotSeen;
    }
    let seen = reached(
        "good responses over planned requests",
        percent(achieved),
        "over 99 %, or within chance",
    );
    if case.trial.question == Question::Find {
        // The search continues by itself.
        return Test::Seen(seen);
    }
    let connections = &case.point.load.connections.to_string();
    let users = case.point.load.rate.filter(|_| case.point.plans_users());
    let (url, rate) = (&case.trial.url, &format!("{:.0}", users.unwrap_or(offered) * 1.25));
    let more = match case.point.events() {
        Some(events) => {
            let writers = &events.writers.to_string();
            let load = ["fanout", url, "-c", connections, "--writers", writers];
            Step::command([&load[..], &["--write-rate", rate]].concat())
        }
        None => Step::command(["load", url, "-c", connections, "-R", rate]),
    };
    Test::Seen(seen.next(more))
}

fn reached(field: &str, value: String, rule: &str) -> Seen {
    Seen::default().with(Family::RampShape, "client", ("engine", ["rate"]), field, value, rule)
}

/// Share of requests without a free slot that leaves 99 % of the send delay to the generator.
const QUEUED_MAX: f64 = 0.01;

/// Whether all planned requests were sent, and at the end a slot was free.
fn has_caught_up(case: &Case<'_>) -> bool {
    let (requests, in_flight) = (&case.point.requests, &case.point.in_flight);
    let has_room = in_flight.last.is_some_and(|last| last + 1.0 <= in_flight.limit as f64);
    has_room && requests.unsent == 0 && requests.unaccounted == 0
}

/// Devices: connections per second are what their hold allows.
fn devices(case: &Case<'_>, turnover: &TurnoverInfo) -> Test {
    let connections = &case.point.connections;
    if case.point.is_held() {
        return match connections.opened >= connections.asked {
            true => Test::Seen(all_held(case)),
            false => Test::NotSeen,
        };
    }
    let Some(planned) = turnover.planned_rate else { return Test::NotSeen };
    let achieved = turnover.rate / planned.max(f64::MIN_POSITIVE);
    if achieved < DEVICES_MIN {
        return Test::NotSeen;
    }
    let seen = reached(
        "connections established over those asked for",
        percent(achieved),
        "over 95 %: the time to connect does not matter",
    );
    if case.trial.question == Question::Find {
        return Test::Seen(seen);
    }
    Test::Seen(seen.next(case.churn_command(2)))
}

/// Devices that stay: all of them hold a connection.
fn all_held(case: &Case<'_>) -> Seen {
    let connections = &case.point.connections;
    let seen = reached(
        "connections held, of devices",
        format!("{} of {}", connections.opened, connections.asked),
        "all",
    );
    seen.next(case.churn_command(2))
}

/// Share of the connections that devices would make if connecting took no time.
const DEVICES_MIN: f64 = 0.95;

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::histogram::Summary;
    use model::load::LoadModel;
    use model::users::UserInfo;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            let point = &mut scene.fixture.point;
            point.load.model = LoadModel::Open;
            point.offered_rate = Some(point.rate);
            point.send_delay_ns = Some(Summary { p99: Some(20_000), ..Summary::default() });
        },
        without: &[
            ("all that was planned", |scene| scene.fixture.point.offered_rate = Some(1500.0)),
            ("on time", |scene| {
                let lag_ns = Some(Summary { p99: Some(9_000_000), ..Summary::default() });
                scene.fixture.point.send_delay_ns = lag_ns;
            }),
        ],
    };

    #[test]
    fn a_rate_that_is_kept_on_time_is_seen() {
        let mut fixture = Fixture::good();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "closed loop");
        fixture.point.offered_rate = Some(fixture.point.rate);
        let lag = |p99| Some(Summary { p99: Some(p99), ..Summary::default() });
        fixture.point.send_delay_ns = lag(20_000);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.point.send_delay_ns = lag(5_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "late");
        fixture.point.send_delay_ns = lag(20_000);
        fixture.point.offered_rate = Some(fixture.point.rate * 1.1);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "not reached");
    }

    #[test]
    fn a_rate_of_users_is_one_of_users_in_the_next_command() {
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        (point.load.model, point.load.rate) = (LoadModel::Open, Some(60.0));
        point.offered_rate = Some(point.rate);
        point.send_delay_ns = Some(Summary { p99: Some(20_000), ..Summary::default() });
        let rate = |fixture: &Fixture| {
            let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
            let command = format!("{:?}", seen.next);
            command.contains("\"75\"")
        };
        assert!(!rate(&fixture), "of requests");
        fixture.point.users = Some(UserInfo::default());
        assert!(rate(&fixture), "a quarter more than 60");
    }

    #[test]
    fn generator_delay_alone_limits_no_rate() {
        let mut fixture = Fixture::good();
        let point = &mut fixture.point;
        point.load.model = LoadModel::Open;
        point.offered_rate = Some(point.rate);
        point.send_delay_ns = Some(Summary { p99: Some(5_000_000), ..Summary::default() });
        let sent = point.requests.sent;
        point.requests.planned = Some(sent + point.requests.unsent);
        point.requests.waited = sent / 200;
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "all found a connection");
        fixture.point.requests.waited = sent / 20;
        let limit = fixture.point.in_flight.limit as f64;
        fixture.point.in_flight.last = Some(limit - 0.5);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "they waited for the server");
        fixture.point.in_flight.last = Some(limit - 1.0);
        fixture.point.in_flight.first = Some(limit - 1.0);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "and it caught up");
        fixture.point.requests.unsent = 1;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "not with all of them");
        fixture.point.requests.unsent = 0;
        fixture.point.requests.waited = 0;
        let p50_ns = fixture.point.latency_ns.p50.map(|known_ns| known_ns / 2);
        let low = Summary { p50: p50_ns, ..fixture.point.latency_ns.clone() };
        fixture.point.latency_punctual_ns = Some(low);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "the median has bounds");
    }
}
