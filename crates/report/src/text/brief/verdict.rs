//! The verdict in one line: the rate, the share of failures, the wall, and its confidence.

use crate::page::{Banner, Tone};
use crate::sections::summary;
use crate::wording::{
    best_point, count, ends, few_phrase, figure, named_wall, per_second, plural, point_phrase,
    rate_cell, rate_of, share, wall_name,
};
use crate::wrap::width;
use model::claim::Claim;
use model::figure::Figure;
use model::load::Question;
use model::run::{Outcome, Point, Run};
use model::tool::ToolRun;
use model::units::{show_bytes, show_count};
use model::verdict::{CeilingKind, Confidence, Named, Verdict};

/// A part of the line, what joins it to the previous part, and its rank: the highest rank is
/// dropped first, rank 0 always stays.
struct Clause {
    rank: u8,
    joint: &'static str,
    text: String,
}

fn clause(rank: u8, text: impl Into<String>) -> Clause {
    Clause { rank, joint: "; ", text: text.into() }
}

/// A continuation of the previous clause.
fn more(rank: u8, text: impl Into<String>) -> Clause {
    Clause { rank, joint: " ", text: text.into() }
}

/// Share of failures from which the verdict mentions it.
const SHARE_MIN: f64 = 0.0005;

/// The verdict, in one line where possible.
pub(super) fn verdict(run: &Run, columns: usize) -> Banner {
    let (tone, claim) = claim(run);
    let (ended, met) = (ended(run), expectations(run));
    let tone = match (&ended, &met) {
        (_, Some((Tone::Bad, _))) => Tone::Bad,
        (Some(_), _) | (_, Some((Tone::Caution, _))) if tone != Tone::Bad => Tone::Caution,
        _ => tone,
    };
    let mut clauses: Vec<Clause> = ended.into_iter().collect();
    clauses.extend(met.map(|(_, clause)| clause));
    clauses.extend(claim);
    Banner { tone, text: joined(clauses, columns - 2), lines: Vec::new() }
}

/// As many clauses as fit into `room` columns, and at least those of rank 0.
fn joined(mut clauses: Vec<Clause>, room: usize) -> String {
    loop {
        let mut text = String::new();
        for clause in &clauses {
            let joint = if text.is_empty() { "" } else { clause.joint };
            text.push_str(&format!("{joint}{}", clause.text));
        }
        let last = clauses.iter().map(|clause| clause.rank).max().unwrap_or(0);
        if width(&text) <= room || last == 0 {
            return text;
        }
        clauses.retain(|clause| clause.rank != last);
    }
}

/// How the run ended, if it did not complete.
fn ended(run: &Run) -> Option<Clause> {
    Some(clause(0, summary::stop(run)?.what))
}

/// The state of the objective: missed terms before undecided ones.
fn expectations(run: &Run) -> Option<(Tone, Clause)> {
    let terms = &run.record.expectations;
    let of = |met: Option<bool>| -> Vec<&str> {
        terms.iter().filter(|one| one.met == met).map(|one| one.term.as_str()).collect()
    };
    let (missed, open) = (of(Some(false)), of(None));
    Some(match (missed.as_slice(), open.as_slice()) {
        _ if terms.is_empty() => return None,
        ([], []) => (Tone::Good, clause(2, format!("meets {}", of(Some(true)).join(",")))),
        ([], open) => (Tone::Caution, clause(0, format!("UNDECIDED {}", open.join(",")))),
        (missed, _) => (Tone::Bad, clause(0, format!("MISSED {}", missed.join(",")))),
    })
}

/// The claim, with its tone.
fn claim(run: &Run) -> (Tone, Vec<Clause>) {
    let record = &run.record;
    if record.points.is_empty() && record.outcome != Outcome::Complete {
        return (Tone::Caution, Vec::new());
    }
    let banner = summary::verdict_banner(run);
    if let Some(answer) = record.search.as_ref().and_then(|search| search.answer.as_ref()) {
        // The word "suspected" is for walls only.
        let sure = match answer.confidence {
            Confidence::Suspected => "not confirmed",
            sure => sure.word(),
        };
        return (banner.tone, vec![clause(0, banner.text), clause(1, sure)]);
    }
    let clauses = match record.claim() {
        // The reason has its own row.
        Claim::NotKnown(unknown) => {
            vec![clause(0, format!("NOT A VALID MEASUREMENT: {}", unknown.what))]
        }
        Claim::OfGenerator => of_generator(&record.verdict),
        Claim::Known => known(run),
    };
    (banner.tone, clauses)
}

fn of_generator(verdict: &Verdict) -> Vec<Clause> {
    let wall = wall_name(verdict);
    let mut clauses =
        vec![clause(0, format!("NOT A SERVER MEASUREMENT: the generator is the wall: {wall}"))];
    let least = verdict.ceiling.as_ref();
    clauses.extend(
        least.map(|least| {
            clause(1, format!("the server reaches {} or more", per_second(least.rate)))
        }),
    );
    clauses
}

fn known(run: &Run) -> Vec<Clause> {
    let point = best_point(run).map(|(_, point)| point);
    let last = run.record.points.last();
    let mut clauses = match (run.record.trial.question, point, last) {
        _ if let Some(tool) = &run.record.tool => of_tool(tool),
        (Question::Churn, ..)
            if run.record.points.len() > 1
                && !run.record.points.iter().all(Point::is_held)
                && run.record.verdict.ceiling.is_some() =>
        {
            ceiling(run)
        }
        (Question::Churn, _, Some(point)) if point.turnover().is_some() => connections(point),
        (Question::Fanout, _, Some(point)) if point.events().is_some() => events(point),
        (Question::Load, Some(point), _) => one_level(point),
        _ => ceiling(run),
    };
    // Requests that the server did not process stand apart from those that it failed.
    for (what, count) in point.filter(|point| !is_silent(point)).map_or([("", 0); 2], lost) {
        let sent = point.map_or(0, |point| point.requests.sent);
        let is_worth = count as f64 >= SHARE_MIN * sent as f64 && count > 0;
        let text = || format!("{} % {what}", share(count, sent));
        clauses.extend(is_worth.then(|| clause(0, text())));
    }
    clauses.push(wall(&run.record.verdict));
    clauses
}

/// Requests without a good response: those that failed, and those that were not processed.
fn lost(point: &Point) -> [(&'static str, u64); 2] {
    let all = point.requests.failed + point.requests.unanswered;
    let unprocessed = point.unprocessed();
    [("failed", all.saturating_sub(unprocessed)), ("unprocessed", unprocessed)]
}

/// Another tool made the load.
fn of_tool(tool: &ToolRun) -> Vec<Clause> {
    let name = tool.generator.name();
    let rate = tool.rate.map_or_else(|| "no rate".to_string(), per_second);
    vec![clause(0, rate), more(1, format!("as {name} reports"))]
}

fn is_silent(point: &Point) -> bool {
    point.requests.sent > 0 && point.requests.completed == 0 && point.rate == 0.0
}

/// The clauses of one level.
fn one_level(point: &Point) -> Vec<Clause> {
    if is_silent(point) {
        return vec![no_good_response(point.requests.sent)];
    }
    if let Some(few) = few_phrase(point) {
        return vec![clause(0, few)];
    }
    let rate = match rate_of(point) {
        Some(rate) if point.standing.of(Figure::Rate).is_sound() => per_second(rate),
        _ => format!("{}/s", rate_cell(point)),
    };
    vec![clause(0, rate), more(3, format!("with {}", point_phrase(point)))]
}

fn no_good_response(requests: u64) -> Clause {
    clause(0, format!("NO GOOD RESPONSE to {}", plural(requests, "request")))
}

/// `CEILING 48.2k/s (47.9k to 48.5k)`, or `AT LEAST ..`.
fn ceiling(run: &Run) -> Vec<Clause> {
    let points = &run.record.points;
    if !points.is_empty() && points.iter().all(is_silent) {
        return vec![no_good_response(points.iter().map(|point| point.requests.sent).sum())];
    }
    let Some(ceiling) = &run.record.verdict.ceiling else {
        return vec![clause(0, "NO CEILING WAS MEASURED")];
    };
    let kind = match ceiling.kind {
        CeilingKind::Ceiling => "CEILING",
        CeilingKind::AtLeast => "AT LEAST",
    };
    let within = ends(ceiling).map(|(low, high)| format!("({low} to {high})"));
    let unit =
        if points.iter().all(|point| point.is_of_devices()) { " connections/s" } else { "/s" };
    let rate = clause(0, format!("{kind} {}{unit}", show_count(ceiling.rate)));
    std::iter::once(rate).chain(within.map(|within| more(2, within))).collect()
}

/// Connections that come and go, or are held.
fn connections(point: &Point) -> Vec<Clause> {
    let Some(turnover) = point.turnover() else { return Vec::new() };
    if point.is_held() {
        let held = plural(point.connections.opened, "connection");
        let each = turnover.client_bytes_each;
        let each =
            each.map(|bytes| clause(1, format!("{} of client memory each", show_bytes(bytes))));
        let mut clauses = vec![clause(0, format!("{held} held"))];
        clauses.extend(each);
        return clauses;
    }
    let rate = format!("{} new connections/s", rate_cell(point));
    let is_known = turnover.connect_times().p99.is_some();
    let p99 = || clause(1, format!("p99 {} to connect", figure(point, Figure::P99)));
    std::iter::once(clause(0, rate)).chain(is_known.then(p99)).collect()
}

/// Events that reached subscribers.
fn events(point: &Point) -> Vec<Clause> {
    let Some(events) = point.events() else { return Vec::new() };
    let rate = format!("{} events/s", rate_cell(point));
    let share =
        events.delivery_share.map(|_| format!(", {} delivered", figure(point, Figure::Delivery)));
    let to = format!(" to {} subscribers", count(u64::from(point.load.connections)));
    vec![clause(0, format!("{rate}{to}{}", share.unwrap_or_default()))]
}

/// The wall, and its confidence.
fn wall(verdict: &Verdict) -> Clause {
    let text = match verdict.wall {
        Named::Wall(wall) if !verdict.also.is_empty() => {
            let walls = std::iter::once(wall).chain(verdict.also.iter().copied());
            format!("walls: {}", walls.map(named_wall).collect::<Vec<_>>().join(", "))
        }
        Named::Wall(_) => format!("wall: {}, {}", wall_name(verdict), verdict.confidence.word()),
        Named::None => "no wall reached".to_string(),
        Named::Unknown => "wall unknown".to_string(),
    };
    clause(0, text)
}
