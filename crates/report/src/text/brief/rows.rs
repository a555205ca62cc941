//! The rows of figures.

use super::super::line::Ink;
use super::{NAMES, Row, histogram, tables};
use crate::sections::{
    confirmation, kernel, network, profile, samples, summary, tail, tool, users as of_users,
};
use crate::wording::{
    self, asked_rate, attempts_phrase, best_point, count, failures_phrase, interval, is_partial,
    or_dash, per_second, percent, plural, point_mark, rate_cell, rate_of, reason_phrase, sentence,
    share, statuses, struck_phrases, unprocessed_hint, unprocessed_phrase, unsent_phrase,
    wall_code, with_names,
};
use crate::wrap::{together, width};
use model::claim::Claim;
use model::fault;
use model::figure::Figure;
use model::histogram::Summary;
use model::objective::Expectation;
use model::perturbation::Perturbation;
use model::run::{Point, Run, TargetResult};
use model::sample::ResponseSample;
use model::standing::Standing;
use model::step::Step;
use model::tick::ErrorClass;
use model::tool::ToolRun;
use model::units::{NS_PER_S, show_bytes, show_count, show_ns};
use model::users::StepInfo;
use model::verdict::{Gate, GateId, Named, Verdict};
use model::wall::Side;

/// The percentiles that are always shown.
pub(crate) const PERCENTILES: [(&str, Figure); 5] = [
    ("p50", Figure::P50),
    ("p90", Figure::P90),
    ("p99", Figure::P99),
    ("p99.9", Figure::P99_9),
    ("max", Figure::MAX),
];

/// One level.
pub(super) fn of_one(run: &Run, point: &Point, columns: usize) -> Vec<Row> {
    let mut rows = vec![Row::new("Rate", rate(run, point))];
    if point.users.is_some() {
        // Latency of requests of several steps together is moved by how many take which.
        rows.extend(users(point));
        rows.extend(of_point(run, point));
        return rows;
    }
    rows.extend(latency("Latency", point));
    rows.extend(histogram::spread(run, point, columns).map(|text| Row::new("Spread", text)));
    rows.extend(tail::of_run(run).map(|text| Row::new("Tail", text)));
    rows.extend(of_point(run, point));
    rows
}

/// Several levels: the figures of the best point.
pub(super) fn of_levels(run: &Run) -> Vec<Row> {
    let mut rows: Vec<Row> = again(run).map(|text| Row::new("", text)).into_iter().collect();
    let Some((_, point)) = best_point(run) else {
        rows.extend(ending(run, None));
        return rows;
    };
    let mark = format!("At {}", point_mark(point));
    let name = if width(&mark) < NAMES { mark.as_str() } else { "Best" };
    match point.users.is_some() {
        true => rows.extend(users(point)),
        false => {
            rows.extend(latency(name, point));
            rows.extend(tail::of_run(run).map(|text| Row::new("Tail", text)));
        }
    }
    rows.extend(of_point(run, point));
    rows
}

/// What is said below the latency of a point.
fn of_point(run: &Run, point: &Point) -> Vec<Row> {
    let mut rows = responses(run, point);
    rows.extend(messages(point));
    rows.extend(tables::targets(point).map(Row::Table));
    rows.extend(closes(run, point));
    rows.push(total(point));
    rows.push(Row::new("CPU", summary::cost_phrase(run, point)));
    rows.extend(profile::first(run).map(Row::Table));
    rows.extend(kernel::sentence(run).map(|text| Row::new("Kernel", text)));
    rows.extend(link(run, point));
    rows.extend(ending(run, Some(point)));
    rows
}

/// What `#2` in the first column means.
fn again(run: &Run) -> Option<String> {
    let last = run.record.points.iter().rev().find(|point| point.attempt > 1)?;
    let why = match run.record.trial.visits {
        0 | 1 => "because its rate was not steady",
        _ => "as --visits asks",
    };
    let load = count(u64::from(last.load.connections));
    Some(format!("{load}#{}: visit {} of that level, {why}", last.attempt, last.attempt))
}

/// Share of the responses after which a connection ends, from which it is said.
const CLOSES_MIN: f64 = 0.01;
/// From here on it is every response.
const CLOSES_ALL: f64 = 0.9;

/// Connections that end although the load does not end them, and what opening others costs.
fn closes(run: &Run, point: &Point) -> Option<Row> {
    let is_asked = point.load.life.is_some_and(|l| l.requests.is_some() || l.hold.is_some());
    // The count is of the whole level, so the responses must be too.
    let responses = point.requests.completed + point.unmeasured.completed;
    // A request that failed may have taken its connection with it. Where bytes came that no request
    // had asked for, we close it, and requests on it fail or not.
    let unsolicited = ErrorClass::Unsolicited.name();
    let others = point.errors.iter().filter(|(class, _)| *class != unsolicited);
    let failed = others.map(|(_, count)| count).sum::<u64>() + point.connections.unsolicited;
    let closed = point.connections.reopened.saturating_sub(failed);
    let reopened = closed as f64 / responses.max(1) as f64;
    // A user ends with the connection.
    let is_asked = is_asked || point.users.is_some();
    if is_asked || responses == 0 || reopened < CLOSES_MIN {
        return None;
    }
    let mean_ns = |of: &Summary| of.mean.unwrap_or(0) as f64;
    let opening_ns = mean_ns(&point.connections.connect_ns);
    let part =
        opening_ns * reopened / (opening_ns * reopened + mean_ns(&point.service_ns)).max(1.0);
    let asks_close = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
    };
    let mut headers = run.record.trial.requests.iter().flat_map(|request| &request.headers);
    let advice = match headers.any(asks_close) {
        true => "the request asks for it (Connection: close)",
        false => "let the server keep connections open",
    };
    let after = match reopened {
        share if share >= CLOSES_ALL => "each response".to_string(),
        share => format!("about every {:.0} responses", 1.0 / share),
    };
    Some(Row::inked(
        "Keep-alive",
        Ink::Caution,
        format!(
            "off: the server closes after {after}, and opening the next connection takes {}, {} % \
             of the time of a request; {advice}",
            show_ns(opening_ns),
            percent(100.0 * part)
        ),
    ))
}

/// Utilisation of the links whose limits are known.
fn link(run: &Run, point: &Point) -> Option<Row> {
    network::link_phrase(run, point).map(|text| Row::new("Link", text))
}

/// Connections that come and go, or are held.
pub(super) fn of_connections(run: &Run, point: &Point) -> Vec<Row> {
    let Some(turnover) = point.turnover() else { return ending(run, Some(point)) };
    let is_held = point.is_held();
    let mut rows = Vec::new();
    if !is_held {
        let of_planned = turnover.planned_rate.map_or(String::new(), |planned| {
            let share = percent(100.0 * turnover.rate / planned.max(f64::MIN_POSITIVE));
            format!(", {share} % of {}/s asked", show_count(planned))
        });
        let rate = rate_cell(point);
        rows.push(Row::new("Rate", format!("{rate} connections/s{of_planned}")));
    }
    let shown =
        PERCENTILES.iter().map(|(name, of)| format!("{name} {}", wording::figure(point, *of)));
    rows.push(Row::new("Connect", listed(shown)));
    let opened = if is_held { point.connections.opened } else { turnover.established };
    let closed = match is_held {
        true => format!("{} lost", count(turnover.closed_by_peer)),
        false => format!(
            "{} closed by us, {} by the server",
            count(turnover.closed_by_us),
            count(turnover.closed_by_peer)
        ),
    };
    let took = show_ns(point.load.duration_s * 1e9);
    rows.push(Row::new("Total", format!("{} opened in {took}, {closed}", count(opened))));
    rows.extend(failures(point));
    if let Some(starts) = turnover.starts.as_ref().filter(|one| one.missed() + one.waited > 0) {
        let text = format!(
            "{} connections were due: {} found no free device in time, {} failed, {} never started",
            count(starts.due()),
            count(starts.waited),
            count(starts.failed + starts.pending),
            count(starts.unsent)
        );
        rows.push(Row::inked("Due", Ink::Caution, text));
    }
    if !turnover.syn_retries.is_empty() {
        let late = turnover.syn_retries.iter().map(|(at, of)| format!("{} at {at}", count(*of)));
        let late = late.collect::<Vec<_>>().join(", ");
        rows.push(Row::new("Late", format!("{late}: as long as a lost SYN is resent after")));
    }
    if let (Some(bytes), None) = (turnover.client_bytes_each, &turnover.starts) {
        let bytes = show_bytes(bytes);
        rows.push(Row::new(
            "Memory",
            format!("{bytes} per connection in the generator, kernel excluded"),
        ));
    }
    rows.push(Row::new("CPU", summary::cost_phrase(run, point)));
    rows.extend(link(run, point));
    rows.extend(ending(run, Some(point)));
    rows
}

/// Subscribers: the figures that are not in the table.
pub(super) fn of_events(run: &Run) -> Vec<Row> {
    let point = run.record.points.last();
    let mut rows = Vec::new();
    if let Some((point, events)) = point.and_then(|point| Some((point, point.events()?))) {
        let cost = |us: Option<f64>| or_dash(us, |us| show_ns(us * 1e3));
        let (client, server) = (events.client_us_per_event, events.server_us_per_event);
        let writes = format!(
            "{} requests by {}",
            count(point.requests.sent),
            plural(events.writers, "writer")
        );
        let [p50, p99] =
            [Figure::P50, Figure::P99].map(|figure| wording::cell(point.as_requests(), figure));
        rows.push(Row::new("Writes", format!("{writes}: p50 {p50}  p99 {p99}")));
        rows.push(Row::new(
            "CPU",
            format!("client {}, server {} per event", cost(client), cost(server)),
        ));
        rows.extend(failures(point));
    }
    rows.extend(ending(run, point));
    rows
}

/// Another tool made the load.
pub(super) fn of_tool(run: &Run, report: &ToolRun) -> Vec<Row> {
    let name = report.generator.name();
    let shares = report.latency().map(|latency| &latency.percentiles);
    let times = shares
        .into_iter()
        .flatten()
        .map(|one| format!("{} {}", one.name().replace('_', "."), show_ns(one.value.value * 1e9)));
    let times: Vec<String> = times.collect();
    let mut rows = vec![Row::new("Reported", format!("{name}: {}", tool::counted(report)))];
    if !times.is_empty() {
        rows.push(Row::new("Latency", format!("{name}: {}", times.join("  "))));
    }
    let ink = if tool::is_refuted(report) { Ink::Bad } else { Ink::Plain };
    rows.push(Row::inked("Audit", ink, tool::audited(report)));
    rows.push(Row::new("CPU", tool::cost(report)));
    rows.extend(ending(run, None));
    rows
}

/// Nothing was measured.
pub(super) fn of_nothing(run: &Run) -> Vec<Row> {
    ending(run, None)
}

/// Percentiles in one row; nothing when no response was good.
fn latency(name: &str, point: &Point) -> Option<Row> {
    let good = point.latency_good_ns.as_ref().unwrap_or(&point.latency_ns);
    (good.count > 0).then(|| Row::new(name, percentiles(point)))
}

fn percentiles(point: &Point) -> String {
    let shown = PERCENTILES
        .iter()
        .map(|(name, of)| format!("{name} {}", wording::cell(point.as_requests(), *of)));
    listed(shown)
}

/// Figures with their names, none broken between the two.
fn listed(figures: impl Iterator<Item = String>) -> String {
    figures.map(|one| together(&one)).collect::<Vec<_>>().join("  ")
}

/// The rate with its interval; in an open loop also the asked rate.
fn rate(run: &Run, point: &Point) -> String {
    let shown = match point.standing.of(Figure::Rate) {
        Standing::Sound => or_dash(rate_of(point), per_second),
        Standing::NotKnown { .. } => "not known".to_string(),
        Standing::Bounded { .. } => format!("{}/s", rate_cell(point)),
    };
    let asked = asked_rate(point).map(|asked| format!(" of {} asked", per_second(asked)));
    let ceiling = run.record.verdict.ceiling.as_ref();
    let ceiling = ceiling.filter(|_| point.standing.of(Figure::Rate).is_sound());
    let within = ceiling.and_then(interval).map(|within| format!("  ({within})"));
    format!("{shown}{}{}", asked.unwrap_or_default(), within.unwrap_or_default())
}

/// Statuses and failures.
fn responses(run: &Run, point: &Point) -> Vec<Row> {
    let all: u64 = point.status.values().sum();
    let shares = statuses(point).into_iter();
    let text = listed(shares.map(|(name, number)| format!("{name} {} %", share(number, all))));
    let failures = failures(point);
    let none_failed = if failures.is_none() { "; none failed" } else { "" };
    let text = if text.is_empty() { "none".to_string() } else { text + none_failed };
    let hint = hint(run, point).map(|text| Row::inked("Hint", Ink::Caution, text));
    let rows = std::iter::once(Row::new("Responses", text)).chain(early(point));
    rows.chain(failures).chain(hint).collect()
}

/// Share of the responses from which a status gets a hint.
const HINT_MIN: f64 = 0.01;

/// What to do about the most frequent status for which there is a hint.
fn hint(run: &Run, point: &Point) -> Option<String> {
    if run.record.target.speaks_tls {
        return Some("The server speaks TLS on this port: use https:// in the URL.".to_string());
    }
    if let Some(hint) = fault_hint(point).or_else(|| unprocessed_hint(point)) {
        return Some(hint);
    }
    let all: u64 = point.status.values().sum();
    let frequent =
        statuses(point).into_iter().filter(|(_, count)| *count as f64 >= HINT_MIN * all as f64);
    let hint_of = |(status, _): (String, u64)| {
        let is_it = |sample: &&ResponseSample| {
            let is_whole = sample.check.is_none() && sample.fault.is_none();
            is_whole && samples::status(sample) == status
        };
        // An error status that a check asks for is what was expected; a flow says which redirects
        // are followed.
        let is_wanted = !point.error_codes.contains_key(&status)
            && (status.as_str() >= "400" || point.users.is_some());
        samples::hint(point.samples.iter().find(is_it).filter(|_| !is_wanted)?)
    };
    frequent.filter_map(hint_of).next()
}

/// What was wrong with most connections that were given up for what came on them, if they are many.
fn fault_hint(point: &Point) -> Option<String> {
    let (fault, connections) = fault::worst(&point.connections.faults)?;
    let (responses, _) = point.responses();
    let first = point.samples.iter().find(|sample| sample.fault == Some(fault));
    first.filter(|_| connections as f64 >= HINT_MIN * responses as f64).and_then(samples::hint)
}

/// Users of a flow: how many, how long whole flows took, and where they failed or are left.
fn users(point: &Point) -> Vec<Row> {
    let Some(users) = &point.users else { return Vec::new() };
    let each = |count: u64, what: &str| format!("{} {what}", show_count(count as f64));
    let rate = of_users::rate(point, users);
    let asked = point.load.rate.map(|asked| format!("{} asked", per_second(asked)));
    let mut parts: Vec<String> = [rate].into_iter().chain(asked).collect();
    parts.extend([each(users.begun, "began"), each(users.completed, "completed")]);
    for (count, what) in [
        (users.failed, "failed"),
        (users.unfinished, "not through"),
        (users.unstarted, "never began"),
    ] {
        parts.extend((count > 0).then(|| each(count, what)));
    }
    let mut rows = vec![Row::new("Users", listed(parts.into_iter()))];
    let shown = of_users::flow_times(point).map(|(name, time)| format!("{name} {time}"));
    rows.push(Row::new("Flow", listed(shown.into_iter())));
    rows.extend(waiting(point));
    let worst = |of: fn(&StepInfo) -> u64| {
        users.steps.iter().filter(move |step| of(step) > 0).max_by_key(move |step| of(step))
    };
    if let Some(step) = worst(|step| step.failed) {
        let text = format!(
            "{} of {} users at {}, reached {} times",
            show_count(step.failed as f64),
            show_count(users.failed as f64),
            step.name,
            show_count(step.reached as f64)
        );
        rows.push(Row::inked("Failed", Ink::Bad, text));
    }
    if let Some(step) = worst(|step| step.left) {
        let text = format!(
            "{} of {} users wait at {}",
            show_count(step.left as f64),
            show_count(users.unfinished as f64),
            step.name
        );
        rows.push(Row::inked("Left", Ink::Caution, text));
    }
    rows
}

/// Where users wait for responses: at a time, by Little's law, as many as come to a step per second
/// times the mean of its latency.
fn waiting(point: &Point) -> Option<Row> {
    let at = |target: &TargetResult| {
        let latency = &target.latency_ns;
        latency.count as f64 * latency.mean.unwrap_or(0) as f64 / NS_PER_S as f64
    };
    let duration_s = point.load.duration_s.max(f64::MIN_POSITIVE);
    let all: f64 = point.targets.iter().map(at).sum();
    let most = point.targets.iter().max_by(|left, right| at(left).total_cmp(&at(right)))?;
    (all > 0.0).then(|| {
        let text = format!(
            "{} users at a time for a response, {} of them at {}",
            show_count(all / duration_s),
            show_count(at(most) / duration_s),
            most.name
        );
        Row::new("Waiting", text)
    })
}

/// Messages of replies that stream.
fn messages(point: &Point) -> Option<Row> {
    let messages = point.messages.as_ref()?;
    let rate = match point.standing.of(Figure::Messages).is_sound() {
        true => per_second(messages.rate),
        false => "not known".to_string(),
    };
    let each = messages.per_call.map(|each| format!("{} per call", show_count(each)));
    let later = match &messages.latency_ns {
        Some(latency_ns) => ("message", latency_ns),
        None => ("gap", &messages.gap_ns),
    };
    let times = [("first", &messages.first_ns), later];
    let times = times.into_iter().filter(|(_, of)| of.count > 0).flat_map(|(name, of)| {
        let shown = [("p50", of.p50), ("p99", of.p99)];
        shown.map(|(at, value_ns)| format!("{name} {at} {}", wording::ns(value_ns)))
    });
    Some(Row::new("Messages", listed([rate].into_iter().chain(each).chain(times))))
}

/// Responses that came before their request was out.
fn early(point: &Point) -> Option<Row> {
    let (requests, (responses, _)) = (&point.requests, point.responses());
    let cut = match requests.cut {
        0 => String::new(),
        cut => format!("; {} good ones to requests that never left whole", count(cut)),
    };
    let text = format!(
        "{} of {} came before their request was out{cut}",
        count(requests.early),
        plural(responses, "response")
    );
    (requests.early > 0).then(|| Row::inked("Early", Ink::Caution, text))
}

/// Failures by class, and requests that were never sent. Attempts to connect are not requests and
/// are listed separately.
fn failures(point: &Point) -> Option<Row> {
    let unsent = unsent_phrase(point);
    let unaccounted = point.requests.unaccounted;
    let unaccounted = (unaccounted > 0).then(|| format!("{} unaccounted for", count(unaccounted)));
    let failed = failures_phrase(point).into_iter().chain(unprocessed_phrase(point));
    let phrases = failed.chain(unsent).chain(unaccounted);
    let phrases: Vec<_> = phrases.chain(attempts_phrase(point)).collect();
    (!phrases.is_empty()).then(|| Row::inked("Failures", Ink::Caution, phrases.join("; ")))
}

/// Totals, and the duration.
fn total(point: &Point) -> Row {
    let duration_s = point.load.duration_s.max(f64::MIN_POSITIVE);
    let each_second = |bytes: u64| show_bytes(bytes as f64 / duration_s);
    let took = show_ns(point.load.duration_s * 1e9);
    let text = format!(
        "{} in {took}; {}/s received, {}/s sent",
        plural(point.requests.sent, "request"),
        each_second(point.bytes.received),
        each_second(point.bytes.sent)
    );
    Row::new("Total", text)
}

/// Reservations, expectations, the wall, and what to do next.
fn ending(run: &Run, point: Option<&Point>) -> Vec<Row> {
    let mut rows = Vec::new();
    if !run.record.expectations.is_empty() {
        rows.push(expectations(&run.record.expectations));
    }
    rows.extend(experiments(run));
    let notes = reservations(run, point);
    rows.extend((!notes.is_empty()).then(|| Row::inked("Note", Ink::Caution, notes.join("; "))));
    let verdict = &run.record.verdict;
    rows.push(Row::new("Wall", wall(verdict)));
    rows.extend(fix(verdict).map(|text| Row::new("Fix", text)));
    rows.extend(next(verdict).map(|step| match step {
        Step::Command(_) => Row::inked("Next", Ink::Command, step.text()),
        Step::Advice(text) => Row::inked("Next", Ink::Advice, text),
    }));
    rows
}

/// The result of `--confirm`.
fn experiments(run: &Run) -> Option<Row> {
    run.record.trial.confirm.as_ref()?;
    let one = |made: &Perturbation| match &made.failure {
        Some(failure) => format!("{}: not completed, {failure}", made.what),
        None => format!("{}: {}", made.what, confirmation::words(made)),
    };
    let made: Vec<String> = run.record.perturbations.iter().map(one).collect();
    let text = match made.is_empty() {
        true => "no experiment was possible".to_string(),
        false => made.join("; "),
    };
    Some(Row::new("Tested", text))
}

fn expectations(terms: &[Expectation]) -> Row {
    let one = |term: &Expectation| match term.met {
        Some(true) => format!("{} met ({})", term.term, term.why),
        Some(false) => format!("{} MISSED ({})", term.term, term.why),
        None => format!("{} UNDECIDED", term.term),
    };
    let ink = match terms.iter().any(|term| term.met == Some(false)) {
        true => Ink::Bad,
        false if terms.iter().any(|term| term.met.is_none()) => Ink::Caution,
        false => Ink::Plain,
    };
    Row::inked("Expected", ink, terms.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Which shown figures a gate strikes, and why.
fn reservations(run: &Run, point: Option<&Point>) -> Vec<String> {
    let unknown = match run.record.claim() {
        Claim::NotKnown(why) => Some(why.to_string()),
        _ => None,
    };
    let is_named = unknown.is_some();
    let mut notes: Vec<String> = unknown.into_iter().collect();
    if let Some(point) = point {
        if is_partial(run, point) {
            let took = show_ns(point.load.duration_s * 1e9);
            notes.push(format!("the window was cut to {took}"));
        }
        let unserved = |gate: &&Gate| gate.id == GateId::Connections && gate.ok == Some(false);
        notes.extend(point.gates.iter().find(unserved).map(|gate| gate.why.clone()));
        let of_agents = |gate: &&Gate| gate.id == GateId::Agents && gate.ok == Some(false);
        notes.extend(point.gates.iter().find(of_agents).map(|gate| gate.why.clone()));
        notes.extend(struck_phrases(point).into_iter().filter(|_| !is_named));
    }
    notes
}

/// The reason in plain words, with the figure that shows it best.
fn wall(verdict: &Verdict) -> String {
    match verdict.wall {
        Named::Wall(_) => reason_phrase(verdict),
        Named::None => with_names(&sentence(verdict.name.trim_end_matches('.'))),
        Named::Unknown => {
            let knee = verdict.ceiling.as_ref().and_then(|ceiling| ceiling.knee_in_flight);
            let knee = knee.filter(|_| verdict.side == Side::Server);
            let above = knee.map(|knee| format!("above {knee} in flight "));
            let what = with_names(verdict.name.trim_end_matches('.'));
            format!("unknown: {}{what}", above.unwrap_or_default())
        }
    }
}

/// What moves the wall, and its code.
fn fix(verdict: &Verdict) -> Option<String> {
    Some(format!("{} ({})", verdict.fix()?, wall_code(verdict)))
}

/// The first command; without a wall to move, else the first other step.
fn next(verdict: &Verdict) -> Option<&Step> {
    let command = verdict.next.iter().find(|next| next.is_command());
    let other = || verdict.next.first().filter(|_| verdict.fix().is_none());
    command.or_else(other)
}
