//! The wording that all sections and exports share.

use crate::page::Mark;
use crate::wrap::{fit, width};
use figures::Value;
use figures::book::OF_LEVELS;
use model::claim::Claim;
use model::experiment::{Contrast, Design};
use model::figure::{Figure, Statistic, Times};
use model::histogram::rank_of;
use model::load::Stop;
use model::lost::{CloseLimit, CrossedInfo};
use model::order::OrderBy as _;
use model::printable::printable;
use model::run::{Outcome, Point, RequestInfo, Run};
use model::standing::Standing;
use model::subject::Account;
use model::tick::ErrorClass;
pub(crate) use model::units::show_percent as percent;
use model::units::{NS_PER_S, show_count, show_part};
use model::verdict::{Ceiling, Confidence, Gate, IntervalKind, Named, Verdict};
use model::visit;
pub(crate) use model::visit::{rate_asked, rate_of};
use model::wall::{Side, WallId};
use std::iter;

/// A rate with its unit: `48.2k/s`.
pub(crate) fn per_second(rate: f64) -> String {
    format!("{}/s", show_count(rate))
}

/// The ends of the interval as shown, if there is one and they differ in the digits that are shown.
pub(crate) fn ends(ceiling: &Ceiling) -> Option<(String, String)> {
    let (low, high) = (show_count(ceiling.low?), show_count(ceiling.high?));
    (low != high).then_some((low, high))
}

/// The interval with its kind, if there is one: `47.9k to 48.5k at 95 % over 8 visits`.
pub(crate) fn interval(ceiling: &Ceiling) -> Option<String> {
    let (low, high) = ends(ceiling)?;
    let of = match ceiling.interval {
        IntervalKind::Visits95 => format!("at 95 % over {} visits", ceiling.visits),
        IntervalKind::MinMax => format!("over {} visits", ceiling.visits),
        IntervalKind::WithinRun => "inside this run".to_string(),
    };
    Some(format!("{low} to {high} {of}"))
}

/// How the rate changes over the plateau, if by more than the scatter of the visits.
pub(crate) fn drift(ceiling: &Ceiling) -> Option<String> {
    let drift = ceiling.drift?;
    let word = if drift < 0.0 { "falls" } else { "rises" };
    Some(format!(
        "The rate {word} by {} % from the lowest to the highest load of the plateau: no single \
         load has the mean.",
        percent(100.0 * drift.abs())
    ))
}

/// A ratio as a change: `+3.0 %` for 1.03. From tenfold on it is a factor, `x6.00k`.
pub(crate) fn change(ratio: f64) -> String {
    if ratio.abs() >= 10.0 || ratio.is_nan() {
        return format!("x{}", show_count(ratio));
    }
    // Turns -0 into 0.
    let percent = ((ratio - 1.0) * 1000.0).round() / 10.0 + 0.0;
    format!("{percent:+.1} %")
}

/// Ratio from which on the end of an interval says nothing: no change of a server is a millionfold.
const BOUND_MAX: f64 = 1e6;

/// One end of the interval of a ratio.
pub(crate) fn bound(ratio: f64) -> String {
    if ratio < BOUND_MAX { change(ratio) } else { "no bound".to_string() }
}

/// A change with its interval, `+3.0 % (+2.1 % to +3.9 %)`; a dash where there is none.
pub(crate) fn within(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    match (ratio, low, high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!("{} ({} to {})", change(ratio), bound(low), bound(high))
        }
        _ => "-".to_string(),
    }
}

/// The change of a contrast, with its interval.
pub(crate) fn change_within(one: &Contrast) -> String {
    within(one.ratio, one.low, one.high)
}

/// The band that counts as the same in a design: `2 %`.
pub(crate) fn band(design: &Design) -> String {
    let text = format!("{:.2}", design.same_within * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Microseconds per request, for a column whose heading names the unit.
pub(crate) fn microseconds(us: Option<f64>) -> String {
    or_dash(us, show_count)
}

/// A figure that may be missing; a missing one is a dash, never a zero.
pub(crate) fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_string(), show)
}

/// A duration in nanoseconds that may be missing.
pub(crate) fn ns(value_ns: Option<u64>) -> String {
    or_dash(value_ns, |ns| model::units::show_ns(ns as f64))
}

/// A figure of a point by what it is about: see [`cell`].
pub(crate) fn figure(point: &Point, figure: Figure) -> String {
    cell(point.main(), figure)
}

/// Several figures of a point.
pub(crate) fn figure_cells<const N: usize>(point: &Point, of: [Figure; N]) -> [String; N] {
    of.map(|one| figure(point, one))
}

/// A figure in a narrow column. One with bounds is printed with both: `<7.8ms` when there is no
/// lower bound, `>1.2s` when it lies among requests without a good response, `?` when it is not
/// known, `failed` when nothing is known of those requests. A percentile with too few requests
/// beyond it, and what was not measured, is a dash.
pub(crate) fn cell(of: Account<'_>, figure: Figure) -> String {
    let show = |value: f64| figure.cell(value);
    match figures::value_in(of, figure) {
        None if is_among_failures(of, figure) => "failed".to_string(),
        None => "-".to_string(),
        Some(Value::Known(known)) => show(known),
        Some(Value::Unknown(_)) => "?".to_string(),
        Some(Value::Between { low, high: None, .. }) => format!(">{}", show(low)),
        // More than all cannot be delivered.
        Some(Value::Between { low, high: Some(high), .. })
            if figure == Figure::Delivery && high >= 1.0 =>
        {
            format!(">{}", show(low))
        }
        Some(Value::Between { low, high: Some(high), .. }) if low <= 0.0 && figure.is_time() => {
            format!("<{}", show(high))
        }
        Some(Value::Between { low, high: Some(high), .. }) => {
            let (low, high) = (show(low), show(high));
            if low == high { high } else { format!("{low}..{high}") }
        }
    }
}

/// Whether a statistic falls among the requests without a good response.
fn is_among_failures(of: Account<'_>, figure: Figure) -> bool {
    let quantile = figure.statistic().and_then(|one| match one {
        Statistic::Max => Some(1.0),
        other => other.quantile(),
    });
    let times = match figure {
        Figure::Time(Times::Latency, _) => of.times(),
        Figure::Time(Times::Flow, _) => of.point.users.as_ref().map(|users| &users.flow_ns),
        _ => None,
    };
    let times = times.zip(quantile);
    times.is_some_and(|(times, quantile)| {
        rank_of(quantile, times.count + times.censored) > times.count
    })
}

/// The share of what was asked for that failed: of connections for devices, else of requests.
pub(crate) fn main_failed(point: &Point) -> String {
    failed(point.main())
}

/// The share of what was asked for that failed.
pub(crate) fn failed(of: Account<'_>) -> String {
    let (failed, of) = of.failures();
    format!("{} %", share(failed, of))
}

/// Why shown times to connect have bounds: `connect p99, max are bounded, because ..`.
fn late_connects(point: &Point) -> Option<String> {
    let starts = point.devices()?.starts.as_ref()?;
    let bounded = shown_figures().filter_map(|figure| match starts.standing(figure) {
        Standing::Bounded { by, .. } => Some((figure.name(), by)),
        _ => None,
    });
    let (names, by): (Vec<&str>, Vec<String>) = bounded.unzip();
    let are = if names.len() == 1 { "is" } else { "are" };
    by.first().map(|by| format!("connect {} {are} bounded, because {by}", names.join(", ")))
}

/// The main rate of a point, for a column whose heading has the unit: of good responses, of events
/// in a fan-out, of connections for devices.
pub(crate) fn rate_cell(point: &Point) -> String {
    figure(point, Figure::Rate)
}

/// The planned rate of a point whose requests are planned.
pub(crate) fn asked_rate(point: &Point) -> Option<f64> {
    // Of users it is a rate of users.
    point.offered_rate.and(point.load.rate).filter(|_| !point.plans_users())
}

/// What happened, where it is too little for a rate: `1 request, 1.02ms`.
pub(crate) fn few_phrase(point: &Point) -> Option<String> {
    let arrived = point.few_responses()?;
    let sent = point.requests.sent;
    let what = match arrived == sent {
        true => plural(sent, "request"),
        false => format!("{} to {}", plural(arrived, "good response"), plural(sent, "request")),
    };
    let good = point.latency_good_ns.as_ref().unwrap_or(&point.latency_ns);
    Some(match (good.min, good.max) {
        (Some(min_ns), Some(max_ns)) if min_ns < max_ns => {
            format!("{what}, {} to {}", ns(Some(min_ns)), ns(Some(max_ns)))
        }
        (_, max_ns) => format!("{what}, {}", ns(max_ns)),
    })
}

/// Events that are missing of those expected: `<12` when fewer may be, `?` when that is not known.
pub(crate) fn missing_cell(point: &Point, show: impl Fn(u64, u64) -> String) -> String {
    or_dash(point.main().missing(), |(missing, meant)| {
        let missing = show(missing, meant);
        match point.standing.of(Figure::Delivery) {
            Standing::Sound => missing,
            Standing::Bounded { high, .. } if high.is_none_or(|high| high >= 1.0) => {
                format!("<{missing}")
            }
            _ => "?".to_string(),
        }
    })
}

/// A part of a whole, percent. It shows `0` only for none, and `100` only for all.
pub(crate) fn share(part: u64, of: u64) -> String {
    show_part(100.0 * part as f64 / of.max(1) as f64)
}
/// Responses by status, the most frequent first; by class where the record has no codes.
pub(crate) fn statuses(point: &Point) -> Vec<(String, u64)> {
    let named = |(name, count): (&String, &u64)| (name.clone(), *count);
    // Older records have classes only.
    let counted = if point.status_codes.is_empty() { &point.status } else { &point.status_codes };
    let mut statuses: Vec<(String, u64)> = counted.iter().map(named).collect();
    statuses.retain(|(_, count)| *count > 0);
    statuses.order_by_key(|(_, count)| std::cmp::Reverse(*count));
    statuses
}

fn is_of_errors(class: &str) -> bool {
    matches!(class, "4xx" | "5xx")
}

/// Share of the requests of a point without a good response, by status and class, if there are any:
/// `3.1 % of 12.3k requests failed: 5xx 3.0 %, reset 0.1 %`.
pub(crate) fn failures_phrase(point: &Point) -> Option<String> {
    let requests = &point.requests;
    let failed = (requests.failed + requests.unanswered).saturating_sub(point.unprocessed());
    let share = |count: u64| share(count, requests.sent);
    // Older records have classes only. A check may call every status good.
    let statuses: Vec<(&String, &u64)> = match point.status_codes.is_empty() {
        true => point.status.iter().filter(|(class, _)| is_of_errors(class)).collect(),
        false => point.error_codes.iter().collect(),
    };
    let of_requests = |name: &str| {
        ErrorClass::ALL
            .iter()
            .filter(|class| **class != ErrorClass::Unprocessed)
            .any(|class| class.is_of_requests() && class.name() == name)
    };
    let errors = point.errors.iter().filter(|(class, _)| of_requests(class));
    let named = |(name, count): (&String, &u64)| (name.clone(), *count);
    let mut parts: Vec<(String, u64)> = statuses.into_iter().chain(errors).map(named).collect();
    parts.push(("failed a check".to_string(), point.mismatched));
    parts.push(("no response".to_string(), requests.unanswered));
    parts.retain(|(_, count)| *count > 0);
    parts.order_by_key(|(_, count)| std::cmp::Reverse(*count));
    let of = plural(requests.sent, "request");
    let shown = |(name, count): (String, u64)| format!("{name} {} %", share(count));
    let parts: Vec<_> = parts.into_iter().map(shown).collect();
    (failed > 0).then(|| format!("{} % of {of} failed: {}", share(failed), parts.join(", ")))
}

/// Requests that the server did not process, if there are any, and those that were sent again:
/// `1.2 % of 12.3k requests unprocessed`.
pub(crate) fn unprocessed_phrase(point: &Point) -> Option<String> {
    let (unprocessed, requests) = (point.unprocessed(), &point.requests);
    let of = plural(requests.sent, "request");
    let failed = (unprocessed > 0)
        .then(|| format!("{} % of {of} unprocessed", share(unprocessed, requests.sent)));
    let retried = (requests.retried > 0)
        .then(|| format!("{} sent again", plural(requests.retried, "request")));
    let phrases: Vec<String> = failed.into_iter().chain(retried).collect();
    (!phrases.is_empty()).then(|| phrases.join("; "))
}

/// What to do about requests that the server did not process.
pub(crate) fn unprocessed_hint(point: &Point) -> Option<String> {
    if point.unprocessed() + point.requests.retried == 0 {
        return None;
    }
    let limit = point.connections.crossed.as_ref().map_or(CloseLimit::Unknown, CrossedInfo::limit);
    let (what, fix) = match limit {
        CloseLimit::Responses(1) => {
            ("after one response".to_string(), "its limit of requests per connection")
        }
        CloseLimit::Responses(responses) => (
            format!("after {} responses", count(responses)),
            "its limit of requests per connection",
        ),
        CloseLimit::IdleNs(idle_ns) => {
            (format!("that are idle for about {}", ns(Some(idle_ns))), "its keep-alive time-out")
        }
        CloseLimit::Unknown => (
            "while requests are on their way".to_string(),
            "its keep-alive time-out or its limit of requests per connection",
        ),
    };
    let again = match point.requests.retried {
        0 => ", or send them again (--retry-unprocessed)",
        _ => "",
    };
    Some(format!("The server closes connections {what}: raise {fix}{again}."))
}

/// Requests that were due and not sent, if there are any: `123k of 600k never sent`.
pub(crate) fn unsent_phrase(point: &Point) -> Option<String> {
    let RequestInfo { planned, unsent, .. } = point.requests;
    let planned = planned.map_or(String::new(), |planned| format!(" of {}", count(planned)));
    (unsent > 0).then(|| format!("{}{planned} never sent", count(unsent)))
}

/// Attempts to connect that failed, by class: `12 attempts to connect failed: ports`.
pub(crate) fn attempts_phrase(point: &Point) -> Option<String> {
    let of_attempts = ErrorClass::ALL.into_iter().filter(|class| !class.is_of_requests());
    let failed: Vec<(&str, u64)> = of_attempts
        .filter_map(|class| Some((class.name(), point.errors_of(class)?)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let all = failed.iter().map(|(_, count)| count).sum::<u64>();
    let names: Vec<_> = failed.iter().map(|(name, _)| *name).collect();
    let attempts = if all == 1 { "attempt" } else { "attempts" };
    (all > 0).then(|| format!("{} {attempts} to connect failed: {}", count(all), names.join(", ")))
}

/// Words with a capital letter and a full stop.
pub(crate) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().to_string());
    format!("{first}{}.", letters.as_str())
}

/// A count.
pub(crate) fn count(value: u64) -> String {
    show_count(value as f64)
}

/// Share of failures from which a note says what CPU time per request includes.
const MIXED_MIN: f64 = 0.01;

/// What the CPU time per request of a point includes besides good responses: the share of responses
/// that were not good, and of requests without a response.
pub(crate) fn mixed_cost(point: &Point) -> Option<String> {
    if point.events().is_some() || point.cpu.client_us_per_request.is_none() {
        return None;
    }
    let (responses, good) = point.responses();
    let part = |some: u64, of: u64| {
        let share = some as f64 / of.max(1) as f64;
        (share >= MIXED_MIN).then(|| percent(share * 100.0))
    };
    let sent = point.requests.sent;
    let bad = part(responses.saturating_sub(good), responses)
        .map(|share| format!("{share} % of the responses were not good"));
    let without = part(sent.saturating_sub(responses), sent)
        .map(|share| format!("{share} % of the requests had no response"));
    let parts: Vec<_> = bad.into_iter().chain(without).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A text in at most `room` columns, shortened in the middle: both ends of a URL matter most.
pub(crate) fn middle(text: &str, room: usize) -> String {
    let text = printable(text);
    let letters: Vec<char> = text.chars().collect();
    if width(&text) <= room || room < 3 {
        return fit(&text, room);
    }
    let mut kept = room - 1;
    loop {
        let (head, tail) = (kept - kept / 2, kept / 2);
        let head: String = letters[..head.min(letters.len())].iter().collect();
        let tail: String = letters[letters.len() - tail.min(letters.len())..].iter().collect();
        let shown = format!("{head}…{tail}");
        if width(&shown) <= room {
            return shown;
        }
        kept -= 1;
    }
}

/// `1 level`, `8 levels`.
pub(crate) fn plural(number: u64, noun: &str) -> String {
    let shown = count(number);
    if number == 1 { format!("{shown} {noun}") } else { format!("{shown} {noun}s") }
}

/// The side of a wall, to follow a noun.
pub(crate) fn side_phrase(side: Side) -> &'static str {
    match side {
        Side::Measurement => "in the measurement itself",
        Side::Client => "on the client side",
        Side::Path => "between the hosts",
        Side::Server => "on the server side",
        Side::None => "on no side",
        Side::Unknown => "on an unknown side",
    }
}

/// A wall: `server CPU quota (S3)`. Walls that limit together are named one by one, because the
/// name in such a verdict already includes the others.
pub(crate) fn wall_name(verdict: &Verdict) -> String {
    match verdict.wall {
        Named::Wall(wall) if verdict.also.is_empty() => format!("{} ({})", verdict.name, wall.id()),
        Named::Wall(wall) => {
            let walls = iter::once(&wall).chain(&verdict.also);
            walls.copied().map(named_wall).collect::<Vec<_>>().join(" together with ")
        }
        Named::None => "no wall".to_string(),
        Named::Unknown => "wall unknown".to_string(),
    }
}

/// A wall by name, with its id: `server CPU quota (S3)`.
pub(crate) fn named_wall(wall: WallId) -> String {
    format!("{} ({})", wall.name(), wall.id())
}

/// A sentence of the judge in which each id of a wall is replaced by its name and id.
pub(crate) fn with_names(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let mut named = String::new();
    for (at, word) in text.split_inclusive(|letter| !is_part(letter)).enumerate() {
        let end = word.find(|letter| !is_part(letter)).unwrap_or(word.len());
        let (id, rest) = word.split_at(end);
        // A full stop ends a sentence.
        let (id, stop) = id.strip_suffix('.').map_or((id, ""), |id| (id, "."));
        let is_named = at > 0 && named.ends_with('(');
        match WallId::parse(id).filter(|_| !is_named) {
            Some(wall) => named.push_str(&named_wall(wall)),
            None => named.push_str(id),
        }
        named.push_str(stop);
        named.push_str(rest);
    }
    named
}

/// A wall and how sure it is: `server CPU quota (S3), probable`.
pub(crate) fn wall_phrase(verdict: &Verdict) -> String {
    match verdict.wall {
        Named::Wall(_) => format!("{}, {}", wall_name(verdict), verdict.confidence.word()),
        Named::None | Named::Unknown => wall_name(verdict),
    }
}

/// What happens at a wall, with its number. A record whose verdict has no sentence for it gets the
/// wall's own words.
pub(crate) fn reason_phrase(verdict: &Verdict) -> String {
    if let Some(sentence) = &verdict.sentence {
        return sentence.clone();
    }
    let also: String = verdict.also.iter().map(|wall| format!("; {}", wall.reason())).collect();
    format!("{}{also}", verdict.reason().unwrap_or(&verdict.name))
}

/// The codes of the walls of a verdict, and how sure it is: `S3, probable`.
pub(crate) fn wall_code(verdict: &Verdict) -> String {
    let also: String = verdict.also.iter().map(|wall| format!(" and {wall}")).collect();
    format!("{}{also}, {}", verdict.wall.word(), verdict.confidence.word())
}

/// The wall of a point in a column: its name and id, `-` for none, and a question mark
/// after a wall that is only suspected.
pub(crate) fn wall_mark(verdict: &Verdict) -> String {
    match verdict.wall {
        Named::Wall(wall) if verdict.confidence == Confidence::Suspected => {
            format!("{}?", named_wall(wall))
        }
        Named::Wall(wall) => named_wall(wall),
        Named::None => "-".to_string(),
        Named::Unknown => "unknown".to_string(),
    }
}

/// Gates of a point that do not hold.
pub(crate) fn failed_gates(point: &Point) -> impl Iterator<Item = &Gate> {
    point.gates.iter().filter(|gate| gate.ok == Some(false))
}

/// Gates of a point that could not be checked.
pub(crate) fn unchecked_gates(point: &Point) -> impl Iterator<Item = &Gate> {
    point.gates.iter().filter(|gate| gate.ok.is_none())
}

/// Whether the measured window of a point was cut short.
pub(crate) fn is_partial(run: &Run, point: &Point) -> bool {
    let record = &run.record;
    let last = record.points.last().is_some_and(|last| std::ptr::eq(last, point));
    if record.outcome == Outcome::Complete || !last {
        return false;
    }
    match record.trial.stop {
        // Windows end on a tick, so a full one may be slightly shorter than requested.
        Stop::AfterNs(asked_ns) => point.load.duration_s * 1.02 < asked_ns as f64 / NS_PER_S as f64,
        Stop::AfterRequests(asked) => point.requests.sent < asked,
    }
}

/// The rate and the times that tables of levels always show.
fn shown_figures() -> impl Iterator<Item = Figure> {
    let places = OF_LEVELS.iter().filter(|place| !place.is_detail).map(|place| place.figure);
    places.filter(|figure| *figure == Figure::Rate || figure.is_latency())
}

/// The shown figures of a point that have bounds or are not known although something was measured.
/// A percentile among failed requests is left out: its cell already shows that.
pub(crate) fn struck(point: &Point) -> impl Iterator<Item = (Figure, &Standing)> {
    let standings = shown_figures().map(|figure| (figure, point.standing.of(figure)));
    standings.filter(|(figure, standing)| match standing {
        Standing::Sound => false,
        Standing::Bounded { high, .. } => high.is_some() || *figure == Figure::Rate,
        Standing::NotKnown { .. } => {
            *figure == Figure::Rate || point.latency_ns.of(*figure).is_some()
        }
    })
}

/// Why shown figures of a point have bounds, one phrase per cause.
pub(crate) fn struck_phrases(point: &Point) -> Vec<String> {
    // One cause may strike several figures.
    let mut causes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (figure, standing) in struck(point) {
        let Standing::Bounded { by, .. } = standing else { continue };
        match causes.iter_mut().find(|(cause, _)| cause == by) {
            Some(cause) => cause.1.push(figure.name()),
            None => causes.push((by, vec![figure.name()])),
        }
    }
    let bounded = |(by, figures): (&str, Vec<&str>)| {
        let are = if figures.len() == 1 { "is" } else { "are" };
        format!("{} {are} bounded, because {by}", figures.join(", "))
    };
    causes.into_iter().map(bounded).chain(late_connects(point)).collect()
}

/// The mark of a point in every rendering: broken when its rate is not known; caution when a shown
/// figure has bounds, the window is partial, or the rate is that of the generator.
pub(crate) fn mark_of(run: &Run, point: &Point) -> Mark {
    match point.claim() {
        Claim::NotKnown(_) => Mark::Broken,
        Claim::OfGenerator => Mark::Caution,
        Claim::Known if is_partial(run, point) || struck(point).next().is_some() => Mark::Caution,
        Claim::Known if late_connects(point).is_some() => Mark::Caution,
        Claim::Known if !point.standing.of(Figure::Delivery).is_sound() => Mark::Caution,
        Claim::Known => Mark::None,
    }
}

/// The point to look at first, with its index ([`visit::best_point`]).
pub(crate) fn best_point(run: &Run) -> Option<(usize, &Point)> {
    visit::best_point(&run.record)
}

/// A point in a few characters, for a first column: `400`, `400x10`, `400@20k/s`, `400#2`.
pub(crate) fn point_mark(point: &Point) -> String {
    let mut shown = count(u64::from(point.load.connections));
    if point.load.depth > 1 {
        shown.push_str(&format!("x{}", point.load.depth));
    }
    if let Some(rate) = point.load.rate {
        shown.push_str(&format!("@{}", per_second(rate)));
    }
    if point.attempt > 1 {
        shown.push_str(&format!("#{}", point.attempt));
    }
    shown
}

/// A point in words: `400 connections, depth 10, 20k/s asked, visit 2`.
pub(crate) fn point_phrase(point: &Point) -> String {
    if let Some(rate) = point.load.rate.filter(|_| point.plans_users()) {
        return format!("{} users/s", show_count(rate));
    }
    let mut shown = plural(u64::from(point.load.connections), point.main().words().one);
    if point.load.depth > 1 {
        shown.push_str(&format!(", depth {}", point.load.depth));
    }
    if let Some(rate) = point.load.rate {
        shown.push_str(&format!(", {} asked", per_second(rate)));
    }
    if point.attempt > 1 {
        shown.push_str(&format!(", visit {}", point.attempt));
    }
    shown
}

/// Heading of the first column of a table of points.
pub(crate) fn point_heading(run: &Run) -> &'static str {
    let points = &run.record.points;
    let plain =
        |point: &Point| point.load.depth == 1 && point.load.rate.is_none() && point.attempt == 1;
    let heading = |point: &Point| point.main().words().heading;
    match points.first() {
        _ if !points.iter().all(plain) => "point",
        Some(first) if points.iter().all(|point| heading(point) == heading(first)) => {
            heading(first)
        }
        _ => "conns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::Summary;
    use model::run::StartInfo;
    use model::units::show_at_least;
    use model::verdict::CeilingKind;

    #[test]
    fn a_wall_without_a_sentence_has_its_own_words() {
        let mut verdict = fixtures::co_limited().record.verdict;
        verdict.sentence = Some("two things happen".to_string());
        assert_eq!(reason_phrase(&verdict), "two things happen");
        verdict.sentence = None;
        let words = reason_phrase(&verdict);
        assert_eq!(words, format!("{}; {}", WallId::S1.reason(), WallId::C2.reason()));
    }

    #[test]
    fn an_interval_says_what_it_is_of() {
        let (low, high) = (Some(47_900.0), Some(48_500.0));
        let mut ceiling = Ceiling { low, high, ..Ceiling::at(48_200.0, CeilingKind::Ceiling) };
        let mut said = |interval, visits| {
            (ceiling.interval, ceiling.visits) = (interval, visits);
            super::interval(&ceiling).unwrap()
        };
        assert_eq!(said(IntervalKind::Visits95, 8), "47.9k to 48.5k at 95 % over 8 visits");
        let few = said(IntervalKind::MinMax, 2);
        assert_eq!(few, "47.9k to 48.5k over 2 visits");
        assert_eq!(said(IntervalKind::WithinRun, 1), "47.9k to 48.5k inside this run");
        assert_eq!(drift(&ceiling), None);
        ceiling.drift = Some(-0.081);
        assert!(drift(&ceiling).unwrap().starts_with("The rate falls by 8.1 % from"));
    }

    #[test]
    fn a_change_of_tenfold_or_more_is_a_factor() {
        let shown = [0.5, 0.99999, 1.03, 9.99, 10.0, 6000.5, f64::INFINITY].map(change);
        let expected = ["-50.0 %", "+0.0 %", "+3.0 %", "+899.0 %", "x10", "x6000", "x?"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_percentile_among_unsent_requests_is_a_lower_bound() {
        let mut run = fixtures::load_unwatched();
        let point = &mut run.record.points[0];
        let known = figure(point, Figure::P50);
        assert!(!known.starts_with('>') && known != "-", "{known}");
        point.latency_ns.p99 = None;
        assert_eq!(figure(point, Figure::P99), "-");
        let bound = Summary { p99: Some(2_000_000_000), ..Summary::default() };
        point.latency_at_least_ns = Some(bound);
        assert_eq!(figure(point, Figure::P99), ">2.00s");
        assert_eq!(figure(point, Figure::P50), known);
    }

    use crate::fixtures;

    #[test]
    fn a_status_that_a_check_wants_is_no_failure() {
        let mut run = fixtures::load_failing();
        let point = &mut run.record.points[0];
        point.error_codes.clear();
        let phrase = failures_phrase(point).unwrap();
        assert!(!phrase.contains("4xx") && !phrase.contains("5xx"), "{phrase}");
        point.status_codes.clear();
        let phrase = failures_phrase(point).unwrap();
        assert!(phrase.contains("xx"), "an older record has classes only: {phrase}");
    }

    #[test]
    fn a_late_generator_leaves_two_bounds_of_the_time_to_connect() {
        let mut run = fixtures::churn_turnover();
        let point = &mut run.record.points[0];
        let known = figure(point, Figure::P99);
        let turnover = fixtures::turnover(point);
        let connect_ns =
            Summary { p50: Some(1_000_000), p99: Some(12_000_000), ..Summary::default() };
        let connect_punctual_ns = Summary { p99: Some(3_000_000), ..connect_ns.clone() };
        turnover.starts =
            Some(StartInfo { connect_ns, connect_punctual_ns, ..StartInfo::default() });
        assert_ne!(figure(point, Figure::P99), known, "from the plan");
        assert_eq!(figure(point, Figure::P99), "3.00ms..12.0ms");
        assert_eq!(figure(point, Figure::P50), "1.00ms");
        let said = struck_phrases(&run.record.points[0]);
        assert!(said.iter().any(|one| one.starts_with("connect p99 is bounded")), "{said:?}");
        assert_eq!(mark_of(&run, &run.record.points[0]), Mark::Caution);
        let bounds = figures::visit::bounds(&run.record);
        assert_eq!(bounds.get(&model::figure::Figure::P99), Some(&(3e6, Some(12e6))));
    }

    #[test]
    fn events_that_may_have_arrived_are_bounds() {
        let mut run = fixtures::fanout();
        let point = &mut run.record.points[0];
        let share =
            format!("{} %", show_at_least(100.0 * point.events().unwrap().delivery_share.unwrap()));
        assert_eq!(figure(point, Figure::Delivery), share);
        let by = "the subscribers were late".to_string();
        let bounded = Standing::Bounded { low: 0.5, high: Some(1.0), by };
        point.standing.add(Figure::Delivery, bounded);
        assert_eq!(figure(point, Figure::Delivery), ">50 %");
        let missing = point.events().unwrap().delivery.unwrap().missing;
        assert_eq!(
            missing_cell(point, |missing, _| count(missing)),
            format!("<{}", count(missing))
        );
        assert_eq!(mark_of(&run, &run.record.points[0]), Mark::Caution);
    }

    #[test]
    fn the_rate_of_a_level_is_that_of_its_headline() {
        let run = fixtures::churn_turnover();
        let point = &run.record.points[0];
        assert_eq!(rate_cell(point), show_count(point.turnover().unwrap().rate));
        let mut run = fixtures::fanout();
        let mut more = run.record.points[0].clone();
        fixtures::events(&mut more).rate *= 2.0;
        run.record.points[0].rate += 1.0;
        run.record.points.push(more);
        assert_eq!(best_point(&run).map(|(index, _)| index), Some(1), "writes do not decide");
    }

    #[test]
    fn the_best_point_is_the_least_load_that_reaches_the_ceiling() {
        let mut run = fixtures::ramp_quota();
        let connections = |run: &Run| best_point(run).map(|(_, point)| point.load.connections);
        assert_eq!(connections(&run), Some(125));
        run.record.verdict.ceiling = None;
        assert_eq!(connections(&run), Some(2000), "the highest rate without an interval");
        assert_eq!(connections(&fixtures::ramp_invalid()), None, "no rate is known");
        assert_eq!(connections(&fixtures::target_lost()), None);
    }

    #[test]
    fn a_window_that_never_opened_is_not_the_best_point() {
        let mut run = fixtures::load_unwatched();
        assert!(best_point(&run).is_some());
        fixtures::unmeasure(&mut run.record.points[0]);
        assert_eq!(rate_of(&run.record.points[0]), None);
        assert_eq!(best_point(&run), None);
    }

    #[test]
    fn walls_that_limit_together_are_named_once_each() {
        let mut verdict = fixtures::co_limited().record.verdict;
        let named = "server CPUs (S1) together with one client thread (C2)";
        assert_eq!(wall_name(&verdict), named);
        verdict.also.clear();
        assert_eq!(wall_name(&verdict), format!("{} (S1)", verdict.name), "the judge's own name");
    }

    #[test]
    fn codes_get_their_names_and_other_words_stay() {
        let said = with_names("C2 contradicted, see S3: not /A1/b, nor (S1), but A1.");
        let expected = "one client thread (C2) contradicted, see server CPU quota (S3): not \
                        /A1/b, nor (S1), but a lock in the application (A1).";
        assert_eq!(said, expected);
    }

    #[test]
    fn a_long_text_is_shortened_in_its_middle() {
        assert_eq!(middle("http://host/path", 16), "http://host/path");
        assert_eq!(middle("http://host/path", 9), "http…path");
        assert_eq!(middle("日本語日本語", 7), "日本…語");
    }

    #[test]
    fn little_is_not_nothing_and_nearly_all_is_not_all() {
        let shown = [(0, 9), (1, 1_000_000), (31, 1000), (999_999, 1_000_000), (9, 9)];
        let shown = shown.map(|(part, of)| share(part, of));
        assert_eq!(shown, ["0", "<0.01", "3.1", ">99.9", "100"]);
    }

    #[test]
    fn only_a_last_window_that_was_cut_is_partial() {
        let mut run = fixtures::ramp_interrupted();
        let partial: Vec<bool> =
            run.record.points.iter().map(|point| is_partial(&run, point)).collect();
        assert_eq!(partial, [false, false, false, false, true]);
        run.record.outcome = Outcome::Complete;
        assert!(!run.record.points.iter().any(|point| is_partial(&run, point)));
    }

    #[test]
    fn what_is_not_all_does_not_look_like_all() {
        let shown =
            [1.0, 0.9, 0.999_999_9, 0.123_456, 1e-9, 0.0].map(|share| show_at_least(100.0 * share));
        assert_eq!(shown, ["100", "90", "99.999", "12.345", "<0.001", "0"]);
    }

    #[test]
    fn shares_keep_the_digits_that_matter() {
        let shown = [0.0, 0.02, 0.3, 12.34, 99.96].map(percent);
        assert_eq!(shown, ["0", "0.02", "0.3", "12.3", "100"]);
    }
}
