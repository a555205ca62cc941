//! Whether a point, or a run, holds its objective, such as `p99<2ms,errors<0.1%`.
//!
//! There are three results: met, missed and open. A request without a good response counts as
//! slower than all requests that have one, whatever took its place. A percentile that falls among
//! such requests is missed, or open while they are only known to have waited for less than the
//! bound. This is computed from the counts of requests, so it also holds for records whose
//! percentiles leave failures out. A percentile without enough values beyond it is open, never met.
//!
//! What gates leave of a figure counts: see `model::standing`.

use figures::book::{due, errors, unaccounted};
use figures::{Value, value_of};
use model::figure::{Better, Figure, Statistic, Times as Of, Whose};
use model::histogram::{SAMPLES_BEYOND, Summary, rank_of};
use model::objective::{Expectation, Objective, Term};
use model::run::{Point, RequestInfo, TurnoverInfo};
use model::standing::Standing;
use model::units::{show_count, show_ns};

/// Share of the attempts of a window to connect that may be in progress at its end.
const IN_PROGRESS: f64 = 0.01;

/// The result for one term.
struct TermFinding {
    measured: Option<f64>,
    met: Option<bool>,
    why: String,
}

impl TermFinding {
    fn open(why: String) -> Self {
        Self { measured: None, met: None, why }
    }

    fn missed(why: String) -> Self {
        Self { measured: None, met: Some(false), why }
    }
}

/// How each term stands at a point, in the order of the terms. A figure with two bounds decides a
/// term if both bounds do; an unknown figure decides nothing.
pub fn at_point(objective: &Objective, point: &Point) -> Vec<Expectation> {
    let found = |term: &Term| match Value::left_by(standing_of(term.figure, point)) {
        // Only a lower bound is known: the requests among which the figure falls say more.
        None | Some(Value::Between { high: None, .. }) => find(term, point),
        Some(left) => decided(term, &left),
    };
    objective.terms().iter().map(|term| expectation(term, found(term))).collect()
}

/// The standing of the figure that a term bounds. An absent percentile has its own reason.
fn standing_of(figure: Figure, point: &Point) -> &Standing {
    match figure {
        // The generator delay is examined with the term.
        Figure::Time(Of::Connect, _) => &Standing::Sound,
        Figure::Time(of, statistic) => {
            let latency = point.standing.of(Figure::Time(Of::Latency, statistic));
            // Counts of outcomes and stamps stand or fall together.
            let is_of_it = of == Of::Latency || latency.is_not_known();
            let is_struck = is_of_it && point.latency_ns.at(statistic).is_some();
            if is_struck { latency } else { &Standing::Sound }
        }
        Figure::Status(_) => point.standing.of(Figure::Errors),
        other => point.standing.of(other),
    }
}

fn expectation(term: &Term, found: TermFinding) -> Expectation {
    let TermFinding { measured, met, why } = found;
    let (bound, unit) = (term.bound, term.figure.unit());
    Expectation { term: term.to_string(), measured, bound, unit, met, why }
}

fn find(term: &Term, point: &Point) -> TermFinding {
    let RequestInfo { failed, unanswered, unsent, .. } = point.requests;
    match term.figure {
        Figure::Time(Of::Latency, statistic) => {
            let at_least = point.latency_at_least_ns.as_ref();
            let bad = (failed + unanswered + unsent).max(point.latency_ns.censored);
            time(term, statistic, Times { known: &point.latency_ns, bad, at_least })
        }
        Figure::Time(Of::Good, statistic) => {
            let known = point.latency_good_ns.as_ref().unwrap_or(&point.latency_ns);
            time(term, statistic, Times { known, bad: 0, at_least: None })
        }
        Figure::Time(Of::Service, statistic) => {
            let bad = (failed + unanswered).max(point.service_ns.censored);
            time(term, statistic, Times { known: &point.service_ns, bad, at_least: None })
        }
        Figure::Time(Of::Connect, statistic) => connecting(term, statistic, point),
        Figure::Time(Of::Flow, statistic) => match &point.users {
            Some(users) => {
                let known = &users.flow_ns;
                time(term, statistic, Times { known, bad: known.censored, at_least: None })
            }
            None => TermFinding::open(absent(term.figure, point)),
        },
        Figure::Errors => share(term, errors(point), unaccounted(point)),
        Figure::Status(class) => match point.status.get(class.key()) {
            Some(count) => share(term, (*count, due(point)), unaccounted(point)),
            None => TermFinding::open(format!("status {} was not counted", class.key())),
        },
        other => match value_of(point, other) {
            Some(value) => decided(term, &value),
            None => TermFinding::open(absent(other, point)),
        },
    }
}

/// Why there is no value.
fn absent(figure: Figure, point: &Point) -> String {
    let is_of_server = |one: &Figure| matches!(one, Figure::Host(_, Whose::Server));
    let is_blind = is_of_server(&figure) && !point.hosts.keys().any(is_of_server);
    let name = figure.name();
    match (figure, is_blind) {
        (_, true) => format!("{name}: the server's host was not read (--probe)"),
        (Figure::Host(..), false) => format!("{name}: not read in the window"),
        _ => format!("{name} was not measured"),
    }
}

/// Whether all values that the figure may have hold.
fn decided(term: &Term, value: &Value) -> TermFinding {
    let show = |value: f64| term.figure.show(value);
    let (measured, why) = match value {
        Value::Known(measured) => (Some(*measured), format!("measured {}", show(*measured))),
        Value::Between { low, high: None, why } => {
            (None, because(format!("at least {}", show(*low)), why))
        }
        Value::Between { low, high: Some(high), why } => {
            (None, because(format!("between {} and {}", show(*low), show(*high)), why))
        }
        Value::Unknown(why) => (None, format!("{} is not known: {why}", term.figure)),
    };
    TermFinding { measured, met: value.holds(term.relation, term.bound), why }
}

fn because(what: String, why: &str) -> String {
    if why.is_empty() { what } else { format!("{what}: {why}") }
}

/// Over the connections that were planned, else over the attempts of the window. A window without
/// any, such as one of devices that hold their connection for good, is judged by the whole level.
fn connecting(term: &Term, statistic: Statistic, point: &Point) -> TermFinding {
    if let Some(moved) = connect_moved(point, statistic) {
        return decided(term, &moved);
    }
    let is_tried = |one: &&TurnoverInfo| one.begun + one.established + one.failed > 0;
    let of_window = point.turnover().filter(is_tried);
    let (known, bad) = match (point.starts(), of_window) {
        (Some(starts), _) => (&starts.connect_ns, starts.missed()),
        (None, Some(turnover)) => (&turnover.connect_ns, turnover.failed + stuck(turnover)),
        (None, None) => (&point.connections.connect_ns, point.connections.failed),
    };
    time(term, statistic, Times { known, bad, at_least: None })
}

/// Attempts of a window that neither succeeded nor failed in it. A few are in progress at its end,
/// as others were when it began; only more than these are stuck.
fn stuck(turnover: &TurnoverInfo) -> u64 {
    let pending = turnover.begun.saturating_sub(turnover.established + turnover.failed);
    match pending as f64 > IN_PROGRESS * turnover.begun as f64 {
        true => pending,
        false => 0,
    }
}

/// A time to connect from the planned instant that the generator delay moved: the least that a
/// punctual generator would have seen, and what was measured.
pub(crate) fn connect_moved(point: &Point, statistic: Statistic) -> Option<Value> {
    Value::left_by(&point.starts()?.standing(Figure::Time(Of::Connect, statistic)))
}

/// `known` were due and have an outcome, and `count` of them are of the kind that is bounded; any
/// of the `unknown`, which were due as well, may be.
fn share(term: &Term, (count, known): (u64, u64), unknown: u64) -> TermFinding {
    let due = known + unknown;
    if due == 0 {
        return TermFinding::open("no request was due".to_string());
    }
    let percent = |count: u64| 100.0 * count as f64 / due as f64;
    if unknown > 0 {
        let (low, high) = (percent(count), Some(percent(count + unknown)));
        let why = format!("nothing is known of {unknown} of {due}");
        return decided(term, &Value::Between { low, high, why });
    }
    let mut found = decided(term, &Value::Known(percent(count)));
    found.why.push_str(&format!(", {count} of {due}"));
    found
}

/// A distribution, how many requests lie beyond all of it, and the same with requests without a
/// response placed at the time they are known to have waited: no percentile of it is above the true
/// one.
#[derive(Clone, Copy)]
struct Times<'a> {
    known: &'a Summary,
    bad: u64,
    at_least: Option<&'a Summary>,
}

impl Times<'_> {
    fn population(&self) -> u64 {
        self.known.count + self.bad
    }

    /// The value at a rank among all requests, bounded by the percentiles of the record at the next
    /// lower and the next higher rank.
    fn around(&self, rank: u64) -> (Option<u64>, Option<u64>) {
        let Summary { count, censored, min, max, .. } = self.known;
        let recorded = count + censored;
        let ends = [(1, *min), (*count, *max)];
        let percentiles = Statistic::PERCENTILES.into_iter().filter_map(|percentile| {
            Some((rank_of(percentile.quantile()?, recorded), self.known.at(percentile)))
        });
        let (mut low, mut high) = (None, None);
        for (at, value) in percentiles.chain(ends) {
            let Some(value_ns) = value else { continue };
            if at <= rank {
                low = low.max(Some(value_ns));
            }
            if at >= rank {
                high = Some(high.map_or(value_ns, |least: u64| least.min(value_ns)));
            }
        }
        (low, high)
    }
}

fn time(term: &Term, statistic: Statistic, times: Times<'_>) -> TermFinding {
    match statistic {
        Statistic::Mean => mean(term, times),
        Statistic::Max => max(term, times),
        percentile => at_percentile(term, percentile, times),
    }
}

fn at_percentile(term: &Term, percentile: Statistic, times: Times<'_>) -> TermFinding {
    let quantile = percentile.quantile().unwrap_or(1.0);
    let population = times.population() as f64;
    let beyond = population * (1.0 - quantile);
    let rank = rank_of(quantile, times.population());
    let is_supported = beyond >= SAMPLES_BEYOND - 1e-6;
    let as_recorded = times.known.at(percentile);
    match as_recorded {
        // The record has the percentile over the same requests.
        Some(value_ns) if times.known.censored == times.bad => {
            return decided(term, &Value::Known(value_ns as f64));
        }
        _ if is_supported && rank > times.known.count => {
            let at_least = times.at_least.map(|summary| summary.at(percentile));
            return beyond_all(term, percentile.name(), times.bad, at_least);
        }
        _ if is_supported => match times.around(rank) {
            (Some(low), Some(high)) if low == high => {
                return decided(term, &Value::Known(low as f64));
            }
            (Some(low), Some(high)) => {
                return decided(term, &Value::between(low as f64, high as f64));
            }
            _ => {}
        },
        _ => {}
    }
    // Lower percentiles can show a miss, but never that the term is met.
    for lower in Statistic::PERCENTILES.iter().filter(|lower| **lower < percentile) {
        let found = at_percentile(term, *lower, times);
        if found.met == Some(false) {
            return TermFinding::missed(format!("already {}: {}", lower.name(), found.why));
        }
    }
    if is_supported {
        return TermFinding::open(format!("{} is not in the record", percentile.name()));
    }
    let needed = (SAMPLES_BEYOND / (1.0 - quantile)).round();
    let what = match term.figure {
        Figure::Time(Of::Connect, _) => "connections",
        Figure::Time(Of::Flow, _) => "users",
        _ => "responses",
    };
    TermFinding::open(format!(
        "too few {what}: {} needs {}, there are {}",
        percentile.name(),
        show_count(needed),
        show_count(population)
    ))
}

/// The figure falls among requests that count as slower than all that have a good response.
fn beyond_all(term: &Term, name: &str, count: u64, at_least: Option<Option<u64>>) -> TermFinding {
    let among = match term.figure {
        Figure::Time(Of::Flow, _) => {
            format!("{name} falls among {count} users who did not come through")
        }
        _ => format!("{name} falls among {count} requests without a good response"),
    };
    match at_least {
        Some(Some(value_ns)) => {
            let shown = show_ns(value_ns as f64);
            if term.relation.holds(value_ns as f64, term.bound) {
                TermFinding::open(format!("{among}; it is at least {shown}"))
            } else {
                TermFinding::missed(format!("at least {shown}: {among}"))
            }
        }
        Some(None) | None => TermFinding::missed(among),
    }
}

fn mean(term: &Term, times: Times<'_>) -> TermFinding {
    let mean = times.known.mean;
    if times.bad == 0 {
        let none = || TermFinding::open("there are no responses".to_string());
        return mean.map_or_else(none, |mean_ns| decided(term, &Value::Known(mean_ns as f64)));
    }
    // Requests without a good response count as slower than those that have one, so the mean of the
    // latter is a lower bound.
    let at_least = times.at_least.map_or(mean, |summary| summary.mean);
    let without = match term.figure {
        Figure::Time(Of::Flow, _) => format!("{} users did not come through", times.bad),
        _ => format!("{} requests have no good response", times.bad),
    };
    match at_least {
        Some(value_ns) if !term.relation.holds(value_ns as f64, term.bound) => {
            TermFinding::missed(format!("at least {}: {without}", show_ns(value_ns as f64)))
        }
        _ => TermFinding::open(without),
    }
}

fn max(term: &Term, times: Times<'_>) -> TermFinding {
    match (times.known.max, times.bad) {
        (Some(max_ns), 0) => decided(term, &Value::Known(max_ns as f64)),
        (None, 0) => TermFinding::open("there are no responses".to_string()),
        (_, count) => beyond_all(term, "max", count, times.at_least.map(|summary| summary.max)),
    }
}

/// How each term stands over a run whose levels were to be visited `visits` times. An upper bound
/// must hold at each of these visits of every level; a rate must be reached at the last visit of
/// one level. A repeat of a visit that was not steady stands for it.
pub fn over_run(objective: &Objective, visits: u32, points: &[Point]) -> Vec<Expectation> {
    let last_visits = crate::last_visits(points);
    let is_asked = |at: &usize| points[*at].attempt < visits || last_visits.contains(at);
    let asked: Vec<usize> = (0..points.len()).filter(is_asked).collect();
    let over = |(index, term): (usize, &Term)| match is_of_all_levels(term) {
        true => over_levels(term, index, points, &asked),
        false => over_levels(term, index, points, &last_visits),
    };
    objective.terms().iter().enumerate().map(over).collect()
}

/// Whether it must hold at every level; a rate must be reached at one.
fn is_of_all_levels(term: &Term) -> bool {
    !matches!(term.figure, Figure::Rate | Figure::Messages)
}

/// The visits of one level follow each other: whether these two, the first one earlier, are of one.
fn is_one_level(points: &[Point], first: usize, second: usize) -> bool {
    points[first..=second].windows(2).all(|two| two[0].attempt < two[1].attempt)
}

fn over_levels(term: &Term, index: usize, points: &[Point], visits: &[usize]) -> Expectation {
    let at = |visit: &usize| Some((*visit, points[*visit].expectations.get(index)?));
    let stands: Vec<(usize, &Expectation)> = visits.iter().filter_map(at).collect();
    let is_of_all = is_of_all_levels(term);
    // The result that decides for all levels comes first.
    let order =
        if is_of_all { [Some(false), None, Some(true)] } else { [Some(true), None, Some(false)] };
    let rank = |met: Option<bool>| order.iter().position(|one| *one == met);
    // Among equal results, the largest figure: the worst time, the best rate; of others that should
    // be large, the smallest.
    let sign = if is_of_all && term.figure.better() == Some(Better::More) { -1.0 } else { 1.0 };
    let figure = |one: &Expectation| one.measured.map_or(f64::INFINITY, |value| sign * value);
    let deciding = stands.iter().min_by(|(_, left), (_, right)| {
        rank(left.met).cmp(&rank(right.met)).then(figure(right).total_cmp(&figure(left)))
    });
    let Some((visit, deciding)) = deciding else {
        return expectation(term, TermFinding::open("nothing was measured".to_string()));
    };
    let of_level: Vec<&Expectation> = stands
        .iter()
        .filter(|(other, _)| is_one_level(points, *visit.min(other), *visit.max(other)))
        .map(|(_, found)| *found)
        .collect();
    let missed = of_level.iter().filter(|found| found.met == Some(false)).count();
    let mut deciding = (*deciding).clone();
    if stands.len() > 1 {
        let load = &points[*visit].load;
        let at = match load.rate {
            Some(rate) => format!("at {}/s", show_count(rate)),
            None => format!("with {} connections", load.connections),
        };
        deciding.why.push_str(&format!(", {at}"));
    }
    if missed > 0 && of_level.len() > 1 {
        deciding.why.push_str(&format!("; {missed} of {} visits missed", of_level.len()));
    }
    deciding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::{Context, judge_point};
    use model::facts::CpuAccounting;
    use model::fanout::EventInfo;
    use model::fleet::AgentPoint;
    use model::load::Trial;
    use model::objective::ObjectiveStanding;
    use model::run::{StartInfo, Target};
    use model::subject::Subject;
    use model::users::UserInfo;

    fn judged(text: &str, point: &Point) -> Expectation {
        let found = at_point(&text.parse().unwrap(), point);
        assert_eq!(found.len(), 1);
        found[0].clone()
    }

    /// 5000 requests, all with a response, p50 and p99 at 8 ms.
    fn point() -> Point {
        Fixture::point(8, 1000.0)
    }

    #[test]
    fn users_who_do_not_come_through_are_slower_than_all() {
        let with = |count, censored, p99| {
            let flow_ns = Summary { count, censored, p99, ..point().latency_ns };
            let users = Some(UserInfo { flow_ns, ..UserInfo::default() });
            let found = judged("flow.p99<1s", &Point { users, ..point() });
            (found.met, found.why)
        };
        assert_eq!(judged("flow.p99<1s", &point()).met, None, "the load is none of users");
        assert_eq!(with(2000, 0, Some(8_000_000)).0, Some(true));
        let among = "p99 falls among 100 users who did not come through".to_string();
        assert_eq!(with(1900, 100, None), (Some(false), among));
        let few = "too few users: p99 needs 1000, there are 400".to_string();
        assert_eq!(with(400, 0, None), (None, few));
    }

    #[test]
    fn a_figure_of_a_host_is_met_missed_or_was_not_read() {
        let mut fixture = Fixture::good();
        let judged = |fixture: &Fixture, text: &str| {
            let trial = Trial { expect: Some(text.parse().unwrap()), ..fixture.trial.clone() };
            let target = Target { server: fixture.server.clone(), ..Target::default() };
            let context = Context { trial: &trial, ..fixture.context(&target) };
            let point = judge_point(context, fixture.point.clone(), &fixture.observed);
            let Expectation { met, why, measured, .. } = point.expectations[0].clone();
            (met, measured, why)
        };
        let (met, measured, why) = judged(&fixture, "busy.server<80%");
        assert_eq!((met, why.as_str()), (Some(true), "measured 30.0 %"));
        assert!(measured.is_some_and(|share| (share - 0.3).abs() < 1e-9));
        assert_eq!(judged(&fixture, "busy.client<=20%").0, Some(false));
        assert_eq!(judged(&fixture, "throttled.server<=0%").0, Some(true), "zero was read");
        let (met, measured, why) = judged(&fixture, "memory.server<1GB");
        assert_eq!((met, measured), (None, None));
        assert_eq!(why, "server memory: not read in the window");
        fixture.unwatched();
        let (met, _, why) = judged(&fixture, "busy.server<80%");
        assert_eq!(met, None);
        assert_eq!(why, "server CPUs busy: the server's host was not read (--probe)");
        assert_eq!(judged(&fixture, "busy.client<80%").0, Some(true), "that of the generator was");
        fixture.host.cpu_accounting = CpuAccounting::Precise;
        for cpu in fixture.observed.cpus.iter_mut().flatten() {
            cpu.accounted = 1.5;
        }
        let (met, _, why) = judged(&fixture, "busy.client<80%");
        assert_eq!(met, None, "gates struck the CPU states: {why}");
        assert!(why.contains("is not known"), "{why}");
    }

    #[test]
    fn connections_that_were_never_open_are_slower_than_all() {
        let mut point = Fixture::good().point;
        let times = |p99_ms: u64, censored: u64| Summary {
            count: 990,
            censored,
            p50: Some(1_000_000),
            p99: Some(p99_ms * 1_000_000).filter(|_| censored < 10),
            ..Summary::default()
        };
        let starts = |connect_ns: Summary, low: Summary, failed: u64| StartInfo {
            begun: 990 + failed,
            established: 990,
            failed,
            connect_ns,
            connect_punctual_ns: low,
            ..StartInfo::default()
        };
        let mut judged = |text: &str, starts: StartInfo| {
            point.subject = Subject::Requests(Some(TurnoverInfo {
                starts: Some(starts),
                ..TurnoverInfo::default()
            }));
            judged(text, &point).met
        };
        let sound = || starts(times(3, 0), times(3, 0), 0);
        assert_eq!(judged("connect.p99<5ms", sound()), Some(true));
        assert_eq!(judged("connect.p99<2ms", sound()), Some(false));
        // Twenty of 1010 were never opened.
        let refused = || starts(times(3, 20), times(3, 20), 20);
        assert_eq!(judged("connect.p99<5ms", refused()), Some(false));
        assert_eq!(judged("connect.p50<5ms", refused()), Some(true));
        // The generator was late: the true value lies between the two.
        let late = || starts(times(9, 0), times(3, 0), 0);
        assert_eq!(judged("connect.p99<5ms", late()), None);
        assert_eq!(judged("connect.p99<10ms", late()), Some(true));
        assert_eq!(judged("connect.p99<2ms", late()), Some(false));
    }

    /// In the ramp-up each connection was open after 50 us.
    #[test]
    fn a_window_that_opened_nothing_is_not_judged_by_its_ramp_up() {
        let times = |count: u64, censored: u64| Summary {
            count,
            censored,
            p50: Some(1_000_000).filter(|_| count > censored),
            p99: Some(3_000_000).filter(|_| count > 100 * censored),
            ..Summary::default()
        };
        let found = |turnover: TurnoverInfo| {
            let mut point = point();
            point.connections.connect_ns = Summary { p99: Some(50_000), ..times(8000, 0) };
            point.subject = Subject::Requests(Some(turnover));
            judged("connect.p99<5ms", &point)
        };
        let of = |begun, established, failed| TurnoverInfo {
            begun,
            established,
            failed,
            connect_ns: times(established, failed),
            ..TurnoverInfo::default()
        };
        assert_eq!(found(of(300, 0, 200)).met, Some(false), "refused");
        assert_eq!(found(of(300, 0, 0)).met, Some(false), "never answered");
        assert_eq!(found(of(8000, 7000, 0)).met, Some(false), "not answered any more");
        assert_eq!(found(of(8000, 7990, 0)).met, Some(true), "in progress when it ended");
        let held = found(of(0, 0, 0));
        assert_eq!((held.met, held.measured), (Some(true), Some(50_000.0)), "held for good");
    }

    /// What the table shows as the rate is what a term bounds.
    #[test]
    fn a_rate_is_of_connections_or_events_where_these_are_counted() {
        let mut point = point();
        let is_met = |point: &Point| judged("rate>=3k", point).met;
        assert_eq!(is_met(&point), Some(false), "1000 requests/s");
        point.subject =
            Subject::Requests(Some(TurnoverInfo { rate: 4000.0, ..TurnoverInfo::default() }));
        assert_eq!(is_met(&point), Some(false), "connections that are no devices");
        point.subject = Subject::Held(TurnoverInfo { rate: 4000.0, ..TurnoverInfo::default() });
        let found = judged("rate>=3k", &point);
        assert_eq!((found.met, found.measured), (Some(true), Some(4000.0)));
        point.rate = 5000.0;
        assert_eq!(judged("rate>=4.5k", &point).met, Some(false), "of connections alone");
        point.subject = Subject::Events(EventInfo { rate: 50_000.0, ..EventInfo::default() });
        assert_eq!(judged("rate>=3k", &point).measured, Some(50_000.0));
    }

    #[test]
    fn a_share_of_failures_counts_connections_too() {
        let mut point = Fixture::good().point;
        (point.requests.sent, point.requests.unsent) = (0, 0);
        (point.requests.failed, point.requests.unanswered) = (0, 0);
        let starts =
            StartInfo { begun: 90, failed: 4, pending: 1, unsent: 10, ..StartInfo::default() };
        point.subject = Subject::Requests(Some(TurnoverInfo {
            starts: Some(starts),
            ..TurnoverInfo::default()
        }));
        let found = judged("errors<15%", &point);
        assert_eq!((found.measured, found.met), (Some(15.0), Some(false)), "{}", found.why);
    }

    #[test]
    fn what_a_lost_agent_left_unaccounted_for_may_have_failed() {
        let mut point = point();
        point.requests.failed = 100;
        let lost = AgentPoint { unaccounted: 1000, ..AgentPoint::default() };
        point.agents = vec![AgentPoint::default(), lost];
        // 100 to 1100 of 6000 requests that were due.
        for (text, met) in [
            ("errors<1%", Some(false)),
            ("errors<10%", None),
            ("errors<20%", Some(true)),
            ("status.5xx<10%", None),
            ("status.5xx<20%", Some(true)),
        ] {
            let found = judged(text, &point);
            assert_eq!((found.met, found.measured), (met, None), "{text}");
            assert!(found.why.ends_with("nothing is known of 1000 of 6000"), "{}", found.why);
        }
    }

    #[test]
    fn figures_are_compared_with_their_bounds() {
        let mut point = point();
        point.requests.failed = 3;
        point.requests.unanswered = 1;
        point.requests.unsent = 1;
        point.requests.sent = 4999;
        point.status.insert("5xx".to_string(), 2);
        for (text, met, measured) in [
            ("p99<9ms", true, 8e6),
            ("p99<=8ms", true, 8e6),
            ("p99<8ms", false, 8e6),
            ("service.p50<9ms", true, 8e6),
            ("good.p99<9ms", true, 8e6),
            ("good.mean<7ms", false, 8e6),
            ("good.max<9ms", true, 8e6),
            ("errors<0.2%", true, 0.1),
            ("errors<0.1%", false, 0.1),
            ("status.5xx<0.05%", true, 0.04),
            ("rate>=1k", true, 1000.0),
            ("rate>1k", false, 1000.0),
        ] {
            let found = judged(text, &point);
            assert_eq!((found.met, found.measured), (Some(met), Some(measured)), "{text}");
            assert_eq!(found.term, text);
            assert!(found.why.starts_with("measured "), "{}", found.why);
        }
        assert!(judged("errors<1%", &point).why.ends_with("5 of 5000"));
    }

    /// 1000 requests: this many good ones of 1 ms to 8 ms, and this many that failed at once, which
    /// the recorded summary counts or leaves out.
    fn shedding(good: u64, failed: u64, censored: u64) -> Point {
        let mut histogram = model::histogram::Histogram::new();
        (0..good).for_each(|at| histogram.record_n(1_000_000 + 7_000_000 * at / good, 1));
        let mut point = point();
        point.requests.sent = good + failed;
        (point.requests.completed, point.requests.failed) = (good, failed);
        point.latency_ns = histogram.summary(censored);
        point.service_ns = point.latency_ns.clone();
        point.latency_good_ns = Some(histogram.summary(0));
        point
    }

    #[test]
    fn what_failed_is_slower_than_all_whatever_the_summary_counts() {
        for censored in [0, 120] {
            let point = shedding(880, 120, censored);
            for text in ["p99<1h", "p90<1h", "service.p99<1h", "max<1h"] {
                let missed = judged(text, &point);
                assert_eq!(missed.met, Some(false), "{text}: {missed:?}");
                let why = "falls among 120 requests without a good response";
                assert!(missed.why.ends_with(why), "{}", missed.why);
            }
            // Half of 1000 are the first 500 of the 880: a rank that p50 of the 880 does not reach.
            assert_eq!(judged("p50<1s", &point).met, Some(true));
            assert_eq!(judged("p50<2ms", &point).met, Some(false));
            assert_eq!(judged("mean<1h", &point).met, None);
            assert_eq!(judged("mean<1ms", &point).met, Some(false));
            assert_eq!(judged("good.max<9ms", &point).met, Some(true), "these alone");
            assert_eq!(judged("good.p95<8ms", &point).met, Some(true));
        }
    }

    #[test]
    fn a_rank_between_two_percentiles_of_the_record_is_decided_where_both_agree() {
        // 99 % of 10500 are 10395 of the 10400: between p99.9, at 10390, and the largest.
        let point = shedding(10_400, 100, 0);
        let (low, high) = (point.latency_ns.p99_9.unwrap(), point.latency_ns.max.unwrap());
        assert!(low < high);
        assert_eq!(judged("p99<9ms", &point).met, Some(true));
        assert_eq!(judged("p99<7ms", &point).met, Some(false));
        let open = judged(&format!("p99<{}ns", (low + high) / 2), &point);
        assert_eq!((open.met, open.measured), (None, None));
        assert!(open.why.starts_with("between "), "{}", open.why);
        // The summary that counts them gives the exact value.
        let exact = judged("p99<9ms", &shedding(10_400, 100, 100));
        assert!(exact.measured.is_some_and(|ns| (low as f64..=high as f64).contains(&ns)));
    }

    #[test]
    fn errors_are_compared_as_they_happened() {
        let point = shedding(970, 30, 30);
        let stands = |text: &str| {
            let found = judged(text, &point);
            (found.met, found.measured)
        };
        assert_eq!(stands("errors<5%"), (Some(true), Some(3.0)));
        assert_eq!(stands("errors<1%"), (Some(false), Some(3.0)));
        let mut broken = point.clone();
        broken.gates = vec![model::verdict::Gate {
            id: model::verdict::GateId::Checks,
            ok: Some(false),
            measured: None,
            bound: String::new(),
            why: String::new(),
        }];
        assert_eq!(judged("errors<5%", &broken).met, Some(true), "gates do not affect it");
    }

    #[test]
    fn what_is_known_of_a_figure_decides_its_term_alone() {
        let objective: Objective = "p99<9ms,p50<9ms,errors<1%".parse().unwrap();
        use model::standing::Standing as Left;
        let stands = |known: Left| {
            let mut point = point();
            point.standing.add(Figure::P99, known);
            at_point(&objective, &point)
        };
        let bounded = |low, high| {
            let by = "the generator was late".to_string();
            Left::Bounded { low, high: Some(high), by }
        };
        for (known, met) in [
            (Left::Sound, Some(true)),
            (bounded(7e6, 8.5e6), Some(true)),
            (bounded(8e6, 9.5e6), None),
            (bounded(9e6, 12e6), Some(false)),
            (Left::NotKnown { why: "no clock".to_string() }, None),
        ] {
            let found = stands(known.clone());
            assert_eq!(found[0].met, met, "{known:?}: {found:?}");
            assert_eq!((found[1].met, found[2].met), (Some(true), Some(true)));
        }
        let open = &stands(bounded(8e6, 9.5e6))[0];
        assert_eq!(open.why, "between 8.00ms and 9.50ms: the generator was late");
        let unknown = &stands(Left::NotKnown { why: "no clock".to_string() })[0];
        assert_eq!(unknown.why, "p99 is not known: no clock");
    }

    #[test]
    fn too_few_responses_are_never_a_hold_but_can_be_a_miss() {
        let mut point = point();
        point.latency_ns = Summary {
            count: 400,
            p50: Some(1_000_000),
            p90: Some(3_000_000),
            ..Summary::default()
        };
        let open = judged("p99<4ms", &point);
        assert_eq!((open.met, open.measured), (None, None));
        assert_eq!(open.why, "too few responses: p99 needs 1000, there are 400");
        let missed = judged("p99<2ms", &point);
        assert_eq!(missed.met, Some(false), "p90 is beyond the bound, so p99 is");
        assert_eq!(missed.why, "already p90: measured 3.00ms");
        point.latency_ns = Summary::default();
        assert_eq!(judged("p50<1s", &point).met, None);
        assert_eq!(judged("mean<1s", &point).met, None);
        assert_eq!(judged("max<1s", &point).met, None);
    }

    #[test]
    fn a_percentile_among_requests_without_a_good_response_is_missed_with_the_reason() {
        let mut point = point();
        let known = Summary { count: 950, censored: 50, mean: Some(1_000), ..Summary::default() };
        point.latency_ns = known.clone();
        let missed = judged("p99<1h", &point);
        assert_eq!(missed.met, Some(false));
        assert_eq!(missed.why, "p99 falls among 50 requests without a good response");
        assert_eq!(judged("max<1h", &point).met, Some(false));
        assert_eq!(judged("mean<1ms", &point).met, None, "it can only be more");
        assert_eq!(judged("mean<1us", &point).met, Some(false));
        let at_least = Summary { p99: Some(2_000_000), max: Some(3_000_000), ..Summary::default() };
        let times = Times { known: &known, bad: 50, at_least: Some(&at_least) };
        let stands = |text: &str| {
            let objective: Objective = text.parse().unwrap();
            let term = objective.terms()[0];
            let Figure::Time(Of::Latency, statistic) = term.figure else { panic!("{text}") };
            time(&term, statistic, times).met
        };
        assert_eq!(stands("p99<2ms"), Some(false), "they waited longer than that");
        assert_eq!(stands("p99<5ms"), None, "they waited less than that when it ended");
        assert_eq!((stands("max<3ms"), stands("max<4ms")), (Some(false), None));
    }

    #[test]
    fn nothing_sent_is_nothing_known() {
        let mut point = point();
        (point.requests.sent, point.requests.completed) = (0, 0);
        assert_eq!(judged("errors<1%", &point).met, None);
        point.window_ns.1 = point.window_ns.0;
        assert_eq!(judged("rate>1", &point).met, None);
    }

    fn over(text: &str, points: Vec<Point>) -> Vec<Expectation> {
        over_visits(text, 1, points)
    }

    fn over_visits(text: &str, visits: u32, mut points: Vec<Point>) -> Vec<Expectation> {
        let objective: Objective = text.parse().unwrap();
        for point in &mut points {
            point.expectations = at_point(&objective, point);
        }
        over_run(&objective, visits, &points)
    }

    #[test]
    fn over_a_run_bounds_hold_at_every_level_and_a_rate_at_one() {
        // 8 ms, 8 ms and 16 ms.
        let levels = || {
            vec![Fixture::point(8, 1000.0), Fixture::point(16, 2000.0), Fixture::point(32, 2000.0)]
        };
        let found = over("p99<10ms,rate>=1500,p50<20ms", levels());
        assert_eq!(found[0].met, Some(false));
        assert_eq!(found[0].why, "measured 16.0ms, with 32 connections");
        assert_eq!((found[1].met, found[1].measured), (Some(true), Some(2000.0)));
        assert_eq!(found[2].met, Some(true));
        assert_eq!(over("rate>=3k", levels())[0].met, Some(false));
        let mut open = levels();
        open[0].latency_ns = Summary::default();
        let found = over("p99<20ms", open);
        assert_eq!(ObjectiveStanding::of(&found), ObjectiveStanding::Undecided);
        assert_eq!(over("p99<1s", Vec::new())[0].why, "nothing was measured");
    }

    #[test]
    fn what_is_delivered_must_hold_at_every_level_and_the_least_is_shown() {
        let level = |share: f64| {
            let mut point = point();
            let events = EventInfo { delivery_share: Some(share), ..EventInfo::default() };
            point.subject = Subject::Events(events);
            point
        };
        let found =
            |shares: [f64; 3]| over("events.delivery>=90%", shares.map(level).to_vec()).remove(0);
        let met = found([0.99, 0.95, 1.0]);
        assert_eq!((met.met, met.measured), (Some(true), Some(0.95)));
        assert_eq!(found([0.99, 0.85, 1.0]).met, Some(false));
        let mut unknown = level(1.0);
        unknown.subject = Subject::Events(EventInfo::default());
        assert_eq!(over("events.delivery>=90%", vec![unknown])[0].met, None);
    }

    /// Each of two levels was to be visited three times; a visit of 500/s waits for 16 ms.
    #[test]
    fn each_visit_that_was_asked_for_must_hold() {
        let levels = |rates: [f64; 6]| -> Vec<Point> {
            let visit = |(nth, rate): (usize, f64)| {
                let mut point = Fixture::point(if nth < 3 { 8 } else { 16 }, rate);
                point.attempt = nth as u32 % 3 + 1;
                point
            };
            rates.into_iter().enumerate().map(visit).collect()
        };
        let one = levels([500.0, 1000.0, 1000.0, 2000.0, 2000.0, 2000.0]);
        let found = over_visits("p99<10ms,rate>=2k", 3, one.clone());
        assert_eq!((found[0].met, found[0].measured), (Some(false), Some(16e6)));
        assert_eq!(found[0].why, "measured 16.0ms, with 8 connections; 1 of 3 visits missed");
        assert_eq!(found[1].met, Some(true));
        assert!(!found[1].why.contains("missed"), "{}", found[1].why);
        let good = levels([1000.0, 1000.0, 1000.0, 2000.0, 2000.0, 2000.0]);
        assert_eq!(over_visits("p99<10ms", 3, good)[0].met, Some(true));
        // The third visit was not steady, and was repeated.
        let mut again = levels([1000.0, 1000.0, 500.0, 2000.0, 2000.0, 2000.0]);
        assert_eq!(over_visits("p99<10ms", 3, again.clone())[0].met, Some(false));
        let repeat = Point { attempt: 4, ..again[1].clone() };
        again.insert(3, repeat);
        assert_eq!(over_visits("p99<10ms", 3, again)[0].met, Some(true));
        let lucky = levels([1000.0, 1000.0, 1000.0, 4000.0, 2000.0, 2000.0]);
        assert_eq!(over_visits("rate>=3k", 3, lucky)[0].met, Some(false), "the last visit counts");
    }

    #[test]
    fn a_repeat_stands_for_its_level() {
        let mut points = vec![Fixture::point(8, 1000.0), Fixture::point(8, 2000.0)];
        points[1].attempt = 2;
        let found = over("p99<5ms", points);
        assert_eq!((found[0].met, found[0].measured), (Some(true), Some(4e6)));
    }
}
