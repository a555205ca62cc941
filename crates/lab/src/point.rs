//! The figures of one visit of a level. Pure: it takes summed ticks and readings, and returns a
//! point.

use crate::crews::CrewSize;
use crate::gather::Gathered;
use crate::visit::Visit;
use crate::{mix, samples};
use judge::observe::Observed;
use model::call::Replies;
use model::call::Spoken;
use model::curve::Curve;
use model::dist::Dist;
use model::histogram::{Histogram, Summary};
use model::load::{Arrival, Level, Life, LoadModel, Stop, Trial};
use model::lost::CrossedInfo;
use model::messages::MessageInfo;
use model::punctual::{Window, punctual};
use model::run::{
    Arrived, Bytes, ConnectionInfo, CpuCost, Handshakes, InFlight, LoadInfo, LoopInfo, Outcome,
    Point, RequestInfo, Unmeasured, count_codes, count_errors, count_mismatches, count_requests,
    count_status,
};
use model::series::{Moments, Second};
use model::slow::Slowest;
use model::standing::Standings;
use model::streams::StreamInfo;
use model::subject::Subject;
use model::tick::{Crossed, ErrorClass, Parts};
use model::tls::ProxyChoice;
use model::users::UserInfo;
use std::collections::BTreeMap;

/// Responses by code, including good ones with 200.
fn status_codes(gathered: &Gathered, spoken: Spoken) -> BTreeMap<String, u64> {
    let mut codes = gathered.codes.clone();
    codes.complete(gathered.measured.status[0]);
    spoken.told(count_codes(&codes))
}

/// The point of a visit at the level of the workers that send requests, before it is judged.
pub(crate) fn make(
    trial: &Trial,
    level: &Level,
    attempt: u32,
    visit: &Visit,
    observed: &Observed,
) -> Point {
    let (gathered, window_ns) = (&visit.gathered, visit.window_ns());
    let duration_s = (window_ns.1 - window_ns.0) as f64 / 1e9;
    let rate = per_second(gathered.arrived as f64, duration_s);
    // A failed request has no latency of a good response, however fast it failed.
    let lost = gathered.measured.unanswered + gathered.measured.failed;
    let is_open = level.plans_requests();
    let requests = requests_info(trial, level, visit);
    let unsent = requests.unsent;
    let summary = |dist: Dist, lost: u64| gathered.histograms[dist].summary(lost);
    let latency_ns = summary(Dist::Latency, lost + unsent);
    let spoken = Spoken::of(&trial.requests);
    let planned_rate = |planned: u64| per_second(planned as f64, duration_s);
    Point {
        load: load_info(trial, level, duration_s),
        attempt,
        profiled: visit.profiled,
        window_ns,
        stopped: visit.stopped.clone(),
        connections: connection_info(trial, level, (gathered, window_ns)),
        subject: Subject::Requests(None),
        offered_rate: requests.planned.filter(|_| is_open).map(planned_rate),
        requests,
        status: count_status(&gathered.measured),
        status_codes: status_codes(gathered, spoken),
        error_codes: count_codes(&gathered.error_codes),
        samples: samples::of(trial, &gathered.caught),
        slowest: slowest(visit),
        mismatched: gathered.measured.mismatches.sum(),
        mismatches: count_mismatches(&gathered.measured),
        errors: count_errors(&gathered.measured),
        rate,
        bytes: bytes(gathered),
        messages: messages(trial, gathered, duration_s),
        users: users(trial, level, visit),
        service_ns: if is_open { summary(Dist::Service, lost) } else { latency_ns.clone() },
        latency_ns,
        latency_good_ns: Some(summary(Dist::Latency, 0)),
        send_delay_ns: is_open.then(|| summary(Dist::SendDelay, 0)),
        generator_delay_ns: is_open.then(|| summary(Dist::GeneratorDelay, 0)),
        latency_punctual_ns: punctual_latency(level, gathered, unsent),
        unseen_ns: stood_still(level, gathered).then(|| summary(Dist::Unseen, 0)),
        latency_at_least_ns: at_least(gathered),
        // The judge fills it in.
        residence: None,
        hosts: BTreeMap::new(),
        in_flight: in_flight(level, gathered, duration_s),
        cpu: cpu_cost(visit, duration_s, observed),
        client_loop: loop_info(trial, level, gathered, duration_s),
        series: series(trial, level, (gathered, spoken)),
        per_100ms: match level.life.hold {
            Some(_) => gathered.tenths_established.clone(),
            None => gathered.tenths.clone(),
        },
        unmeasured: unmeasured(visit),
        targets: mix::results(trial, &gathered.targets),
        agents: Vec::new(),
        gates: Vec::new(),
        standing: Standings::default(),
        expectations: Vec::new(),
        tail: None,
        // Until the judge has decided.
        verdict: judge::undecided(),
    }
}

/// Failures other than time-outs have no latency, however long they took.
fn slowest(visit: &Visit) -> Option<Slowest> {
    let (gathered, counters) = (&visit.gathered, &visit.gathered.measured);
    let of = counters.completed + counters.unanswered + counters.errors.get(ErrorClass::Timeout);
    Slowest::of(&gathered.slowest, gathered.slow_above_ns, of, visit.window_begin_ns)
}

/// Nothing where no reply streams.
fn messages(trial: &Trial, gathered: &Gathered, duration_s: f64) -> Option<MessageInfo> {
    let summary = |dist: Dist| gathered.histograms[dist].summary(0);
    let (received, sent) = (gathered.measured.messages, gathered.measured.sent);
    let has_streams = trial.requests.iter().any(|request| !request.replies.is_one());
    let talks = trial.requests.iter().any(|request| request.replies == Replies::Each);
    let due = gathered.measured.messages_due;
    has_streams.then(|| MessageInfo {
        arrived: gathered.messages,
        rate: per_second(gathered.messages as f64, duration_s),
        received,
        per_call: (sent > 0).then(|| received as f64 / sent as f64),
        first_ns: summary(Dist::FirstMessage),
        gap_ns: summary(Dist::Gap),
        due: talks.then_some(due),
        latency_ns: talks.then(|| {
            let replied = &gathered.histograms[Dist::Message];
            replied.summary(due.saturating_sub(replied.count()))
        }),
    })
}

/// Nothing where the load is no users.
fn users(trial: &Trial, level: &Level, visit: &Visit) -> Option<UserInfo> {
    trial.flow.as_ref()?;
    let names: Vec<String> = trial.targets.iter().map(|target| target.name.clone()).collect();
    let tally = &visit.gathered.users;
    let lost = tally.failed.iter().sum::<u64>() + tally.unfinished + tally.unstarted;
    let flow_ns = visit.gathered.histograms[Dist::Flow].summary(lost);
    let due = visit.planned.filter(|_| trial.plans_users(level));
    Some(UserInfo { due, ..UserInfo::of(tally, &names, flow_ns) })
}

fn bytes(gathered: &Gathered) -> Bytes {
    let (counters, (received, parts)) = (&gathered.measured, gathered.answered_bytes);
    let Parts { body, fields, unannounced } = parts;
    Bytes {
        sent: counters.bytes_taken(),
        received: counters.bytes_received,
        arrived: Some(Arrived { received, body, announced: body - unannounced, fields }),
    }
}

/// Whether the generator stalled in a way that the send delay of its requests does not show.
fn stood_still(level: &Level, gathered: &Gathered) -> bool {
    let is_closed = level.arrival == Arrival::Closed;
    !gathered.histograms[Dist::Unseen].is_empty()
        || is_closed && !gathered.histograms[Dist::GeneratorDelay].is_empty()
}

/// Lower bounds of what a generator that is always on time would have seen; `None` in closed loop
/// if this one was on time.
fn punctual_latency(level: &Level, gathered: &Gathered, unsent: u64) -> Option<Summary> {
    let is_open = level.plans_requests();
    if !is_open && !stood_still(level, gathered) {
        return None;
    }
    let measured = &gathered.measured;
    let censored = measured.unanswered + measured.failed + unsent;
    // In closed loop service time is the latency, and on a schedule of devices both times are those
    // of their connections.
    let (none, mut window) = (Histogram::new(), Window::of(&gathered.histograms, censored));
    if level.plans_starts() {
        (window.service, window.generator_delay) = (&none, &none);
    }
    Some(punctual(window))
}

fn in_flight(level: &Level, gathered: &Gathered, duration_s: f64) -> InFlight {
    let ends = gathered.in_flight_at_ends();
    let mean = || gathered.window_loop.in_flight_ns as f64 / 1e9 / duration_s;
    InFlight {
        mean: (duration_s > 0.0).then(mean),
        first: ends.map(|(first, _)| first),
        last: ends.map(|(_, last)| last),
        limit: u64::from(level.connections_max()) * u64::from(level.depth),
    }
}

fn unmeasured(visit: &Visit) -> Unmeasured {
    let counters = &visit.gathered.unmeasured;
    Unmeasured {
        duration_s: visit.warmup_ns as f64 / 1e9,
        sent: counters.sent,
        completed: counters.completed,
        failed: counters.failed,
        unanswered: counters.unanswered,
        bytes_received: counters.bytes_received,
        fastest_ns: visit.gathered.warmup_fastest_ns,
    }
}

fn requests_info(trial: &Trial, level: &Level, visit: &Visit) -> RequestInfo {
    let arrived = Some(visit.gathered.arrived);
    let mut info = RequestInfo { arrived, ..count_requests(&visit.gathered.measured) };
    if level.plans_requests() {
        // The schedule of users says when the first request of each is due.
        let planned = visit.planned.filter(|_| trial.flow.is_none());
        info.planned = planned.or(Some(info.sent + info.unsent));
    }
    // In a window that is cut short the others were not due yet.
    if let (Stop::AfterRequests(planned), Outcome::Complete) = (trial.stop, visit.ending) {
        (info.planned, info.unsent) = (Some(planned), planned.saturating_sub(info.sent));
    }
    info
}

/// The latency distribution with lower bounds in it, if there are requests without a response.
/// Other failures rank above every value: without a response there is no bound.
fn at_least(gathered: &Gathered) -> Option<Summary> {
    if gathered.histograms[Dist::AtLeast].is_empty() {
        return None;
    }
    let mut merged = gathered.histograms[Dist::Latency].clone();
    merged.merge(&gathered.histograms[Dist::AtLeast]);
    let timed_out = gathered.measured.errors.get(ErrorClass::Timeout);
    Some(merged.summary(gathered.measured.failed - timed_out))
}

/// The series, with the requested rate in each second.
fn series(trial: &Trial, level: &Level, (gathered, spoken): (&Gathered, Spoken)) -> Vec<Second> {
    let mut series = gathered.series();
    for second in &mut series {
        second.status_codes = second.status_codes.take().map(|codes| spoken.told(codes));
    }
    let is_planned = level.plans_requests() && trial.flow.is_none();
    if let (Arrival::Open { curve, .. }, true) = (&level.arrival, is_planned) {
        let mut begin = (0.0, 0.0);
        for second in &mut series {
            let planned = curve.planned_until((second.t_s * 1e9) as u64);
            let length_s = second.t_s - begin.0;
            second.asked_rate = (length_s > 0.0).then(|| (planned - begin.1) / length_s);
            begin = (second.t_s, planned);
        }
    }
    series
}

fn per_second(count: f64, duration_s: f64) -> f64 {
    if duration_s > 0.0 { count / duration_s } else { 0.0 }
}

fn load_info(trial: &Trial, level: &Level, duration_s: f64) -> LoadInfo {
    let (model, curve, arrivals) = match &level.arrival {
        Arrival::Closed => (LoadModel::Closed, None, None),
        Arrival::Open { curve, arrivals } => (LoadModel::Open, Some(curve), Some(*arrivals)),
    };
    let rate = |curve: &Curve| {
        curve.constant_rate().unwrap_or_else(|| curve.mean_rate((duration_s * 1e9) as u64))
    };
    LoadInfo {
        model,
        connections: level.connections,
        connections_max: level.connections_max(),
        depth: level.depth,
        rate: curve.map(rate),
        curve: curve.filter(|curve| curve.constant_rate().is_none()).cloned(),
        arrivals,
        life: (level.life != Life::default()).then_some(level.life),
        duration_s,
        driver: trial.driver.name().to_string(),
        threads: CrewSize::of(trial).threads,
        coalesce_ns: trial.manner.coalesce_ns,
    }
}

fn connection_info(
    trial: &Trial,
    level: &Level,
    (gathered, window_ns): (&Gathered, (u64, u64)),
) -> ConnectionInfo {
    let settings_ns = gathered.histograms[Dist::Settings].summary(0);
    let connections = gathered.connections();
    ConnectionInfo {
        // On a schedule, only as many devices or places of users are used as are needed.
        asked: match level.plans_starts() || trial.plans_users(level) {
            true => connections.opened + connections.failed,
            false => u64::from(level.connections),
        },
        opened: connections.opened,
        served: gathered.served(),
        failed: connections.failed,
        reopened: connections.reopened,
        unsolicited: connections.unsolicited,
        faults: gathered.faults.counted(),
        crossed: crossed(&gathered.crossed),
        connect_ns: gathered.histograms[Dist::Connect].summary(0),
        handshakes: handshakes(trial, gathered),
        streams: StreamInfo::of(&gathered.streams, window_ns.1 - window_ns.0, settings_ns),
        requests_each: gathered.requests_each(),
    }
}

fn crossed(crossed: &Crossed) -> Option<CrossedInfo> {
    (crossed.connections > 0).then_some(CrossedInfo {
        connections: crossed.connections,
        responses_min: crossed.responses.0,
        responses_max: crossed.responses.1,
        idle_min_ns: crossed.idle_ns.0,
        idle_max_ns: crossed.idle_ns.1,
        responses_most: crossed.responses_most,
    })
}

/// Empty without TLS and without a proxy.
fn handshakes(trial: &Trial, gathered: &Gathered) -> Handshakes {
    let mut info = Handshakes::default();
    let tally = &gathered.tls;
    if trial.tls.is_some() {
        info.handshakes = Some(tally.handshakes);
        info.resumed = Some(tally.resumed);
        info.handshake_ns = Some(gathered.histograms[Dist::Handshake].summary(0));
        info.handshake_failures = Some(tally.causes());
    }
    if trial.proxy.as_ref().is_some_and(ProxyChoice::tunnels) {
        info.tunnels_refused = Some(tally.refused);
        info.tunnel_status = Some(tally.refused_status).filter(|status| *status > 0);
    }
    info
}

/// All responses of the window share its CPU time, errors included: a server that sends many cheap
/// errors must not look expensive.
fn cpu_cost(visit: &Visit, duration_s: f64, observed: &Observed) -> CpuCost {
    let (mut window, mut level) = (visit.gathered.window_loop, visit.gathered.level_loop);
    if let Some(audience) = &visit.audience {
        window += &audience.window_loop;
        level += &audience.level_loop;
    }
    let worker_ns = (window.cpu_user_ns + window.cpu_system_ns) as f64;
    // Conductor and probe work evenly over the visit; the window carries its share of that.
    let beside_ns =
        visit.process_cpu_ns.saturating_sub(level.cpu_user_ns + level.cpu_system_ns) as f64;
    let beside_ns = beside_ns * duration_s * 1e9 / visit.visit_ns.max(1) as f64;
    let responses = visit.gathered.answered;
    let each_us = |ns: f64| (responses > 0).then(|| ns / 1e3 / responses as f64);
    let server_cpus = observed.far.as_deref().unwrap_or(observed).server_cpus();
    CpuCost {
        responses: Some(responses),
        client_us_per_request: each_us(worker_ns + beside_ns),
        // Sampled by the tick: in a short window no sample may have hit user code.
        client_usr_us_per_request: each_us(window.cpu_user_ns as f64).filter(|us| *us > 0.0),
        server_us_per_request: server_cpus.and_then(|cpus| each_us(cpus * duration_s * 1e9)),
        client_cpus: (duration_s > 0.0).then(|| (worker_ns + beside_ns) / 1e9 / duration_s),
        server_cpus,
    }
}

fn loop_info(trial: &Trial, level: &Level, gathered: &Gathered, duration_s: f64) -> LoopInfo {
    let window = &gathered.window_loop;
    let is_open = level.arrival != Arrival::Closed;
    let time_ns = duration_s * 1e9;
    let has_spin = is_open && time_ns > 0.0;
    let each = gathered.spin_ns.iter().map(|spin_ns| *spin_ns as f64 / time_ns);
    let threads = f64::from(CrewSize::of(trial).threads);
    LoopInfo {
        spin_share: has_spin.then(|| window.spin_ns as f64 / time_ns / threads),
        spin_by_worker: if has_spin { each.collect() } else { Vec::new() },
        turns_per_s: per_second(window.turns as f64, duration_s),
        turn_mean_ns: (window.turns > 0).then(|| window.turn_sum_ns as f64 / window.turns as f64),
        turn_max_ns: window.turn_max_ns,
        worker_rates: Moments::of(&gathered.worker_rates),
        socket_bytes: gathered.level_loop.socket_bytes,
        stray_bytes: gathered.level_loop.stray_bytes,
    }
}

#[cfg(test)]
mod tests;
