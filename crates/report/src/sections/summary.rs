//! The verdict in words, and the figures at the best point.

use super::endpoints;
use super::search;
use super::tail;
use super::tool;
use super::wall_words::{tone_of, wall_sentences};
use crate::hosts::{Waits, near};
use crate::page::{Banner, Block, Fact, Tone};
use crate::wording::{
    best_point, cell, count, drift, failed_gates, failures_phrase, few_phrase, figure,
    figure_cells, interval, is_partial, ns, or_dash, per_second, percent, plural, point_mark,
    point_phrase, rate_cell, rate_of, unprocessed_hint, unprocessed_phrase, wall_name,
};
use model::claim::{Claim, Unknown};
use model::figure::Figure;
use model::fleet::FleetRecord;
use model::load::{Arrival, Hold, Level, Life, Question};
use model::run::{Outcome, Point, Record, Run};
use model::standing::Standing;
use model::units::{show_bytes, show_count, show_ns};
use model::verdict::{CeilingKind, Verdict};
use observe::{Raw, STATES, mean_shares};
use std::collections::BTreeSet;

/// Verdict first, then how the run ended if it did not complete, then the best point. A target that
/// went away comes before the verdict.
pub fn summary(run: &Run) -> Vec<Block> {
    let mut blocks = vec![Block::Banner(verdict_banner(run))];
    blocks.extend(outcome_banner(run).map(Block::Banner));
    if run.record.outcome == Outcome::TargetLost {
        blocks.reverse();
    }
    let facts = facts(run);
    if !facts.is_empty() {
        blocks.push(Block::Facts(facts));
    }
    blocks
}

pub(crate) fn verdict_banner(run: &Run) -> Banner {
    let verdict = &run.record.verdict;
    // Trials that miss are part of a search; their failed gates say nothing about its answer.
    if let Some(answer) = run.record.search.as_ref().and_then(|search| search.answer.as_ref()) {
        let mut banner = search::banner(run, answer);
        banner.lines.extend(tail_sentence(run));
        return banner;
    }
    let mut banner = match run.record.claim() {
        Claim::NotKnown(why) => unknown_banner(run, &why),
        Claim::OfGenerator => client_banner(verdict),
        Claim::Known if let Some(tool) = &run.record.tool => tool::banner(tool, verdict),
        Claim::Known => match run.record.trial.question {
            Question::Load => load_banner(run),
            Question::Churn => churn_banner(run),
            Question::Fanout => fanout_banner(run),
            Question::Ramp | Question::Find => ceiling_banner(verdict),
        },
    };
    banner.lines.extend(failures_sentence(run));
    banner.lines.extend(tail_sentence(run).filter(|_| run.record.claim().is_known()));
    banner
}

fn tail_sentence(run: &Run) -> Option<String> {
    tail::of_run(run).map(|said| format!("Tail: {said}."))
}

/// Failures are results: the first lines give the share of requests without a good response.
fn failures_sentence(run: &Run) -> Option<String> {
    let (_, point) = best_point(run)?;
    let at = if run.record.points.len() > 1 {
        format!(" with {}", point_phrase(point))
    } else {
        String::new()
    };
    let phrases: Vec<String> =
        failures_phrase(point).into_iter().chain(unprocessed_phrase(point)).collect();
    let text = phrases.join("; ");
    let hint = unprocessed_hint(point).map_or_else(String::new, |hint| format!(" {hint}"));
    (!phrases.is_empty()).then(|| format!("Failures{at}: {text}.{hint}"))
}

fn unknown_banner(run: &Run, why: &Unknown) -> Banner {
    let text = format!("NOT A VALID MEASUREMENT: {why}.");
    let mut lines = Vec::new();
    for point in &run.record.points {
        let struck = matches!(point.claim(), Claim::NotKnown(_)).then(|| failed_gates(point));
        let why = struck.into_iter().flatten();
        lines.extend(why.map(|gate| format!("{} at {}: {}", gate.id, point_mark(point), gate.why)));
    }
    let hidden = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    if hidden > 0 {
        lines.push(format!("and {} more, see Validity.", count(hidden as u64)));
    }
    lines.push("Rows marked ! say nothing about the server.".to_string());
    Banner { tone: Tone::Bad, text, lines }
}

/// Most failed gates in the banner; the section on validity has the rest.
const LINES_MAX: usize = 3;

fn client_banner(verdict: &Verdict) -> Banner {
    let wall = wall_name(verdict);
    let text = format!("NOT A SERVER MEASUREMENT: the generator is the wall: {wall}.");
    let reached = verdict.ceiling.as_ref().map_or_else(
        || "The server's ceiling is not known.".to_string(),
        |ceiling| format!("The server reaches at least {}.", per_second(ceiling.rate)),
    );
    let mut lines = vec![format!("{reached} The wall is {}.", verdict.confidence.word())];
    lines.extend(wall_sentences(verdict).into_iter().skip(1));
    Banner { tone: Tone::Bad, text, lines }
}

/// `CEILING 48.2k/s (47.9k to 48.5k at 95 % over 8 visits)`, or `AT LEAST ..`.
fn rate_phrase(verdict: &Verdict, show: fn(f64) -> String) -> Option<String> {
    let ceiling = verdict.ceiling.as_ref()?;
    let kind = match ceiling.kind {
        CeilingKind::Ceiling => "CEILING",
        CeilingKind::AtLeast => "AT LEAST",
    };
    let around = interval(ceiling).map_or_else(String::new, |text| format!(" ({text})"));
    Some(format!("{kind} {}{around}", show(ceiling.rate)))
}

/// The ceiling of levels whose rate is a rate of connections.
fn connections_ceiling(run: &Run) -> Option<Banner> {
    let verdict = &run.record.verdict;
    let many = run.record.points.len() > 1 && verdict.ceiling.is_some();
    let show = |rate: f64| format!("{} connections/s", show_count(rate));
    many.then(|| rate_banner(verdict, show))
}

fn ceiling_banner(verdict: &Verdict) -> Banner {
    rate_banner(verdict, per_second)
}

fn rate_banner(verdict: &Verdict, show: fn(f64) -> String) -> Banner {
    let rate = rate_phrase(verdict, show).unwrap_or_else(|| "NO CEILING WAS MEASURED".to_string());
    let mut lines = wall_sentences(verdict);
    lines.extend(verdict.ceiling.as_ref().and_then(drift));
    Banner { tone: tone_of(verdict), text: rate, lines }
}

/// The banner of `churn`: how many connections per second, or how many were held.
fn churn_banner(run: &Run) -> Banner {
    if let Some(banner) = connections_ceiling(run) {
        return banner;
    }
    let verdict = &run.record.verdict;
    let point = run.record.points.last();
    let Some((point, turnover)) = point.and_then(|p| Some((p, p.turnover()?))) else {
        return ceiling_banner(verdict);
    };
    let text = match point.is_held() {
        true => {
            let held = count(point.connections.opened);
            let each = turnover.client_bytes_each.map_or_else(String::new, |bytes| {
                format!(", {} of client memory each", show_bytes(bytes))
            });
            format!("{held} connections held{each}")
        }
        false => connections_phrase(point),
    };
    Banner { tone: tone_of(verdict), text, lines: wall_sentences(verdict) }
}

fn connections_phrase(point: &Point) -> String {
    let times = [Figure::P50, Figure::P99, Figure::MAX];
    let [p50, p99, max] = figure_cells(point, times);
    format!(
        "{}/s connections, connect p50 {p50}, p99 {p99}, max {max}, with {}",
        rate_cell(point),
        point_phrase(point)
    )
}

/// The banner of `fanout`: how many events arrived, their share, and their staleness.
fn fanout_banner(run: &Run) -> Banner {
    let verdict = &run.record.verdict;
    let point = run.record.points.last();
    let Some(point) = point.filter(|point| point.events().is_some()) else {
        return ceiling_banner(verdict);
    };
    let delivery = figure(point, Figure::Delivery);
    let [p50, p99] = figure_cells(point, [Figure::P50, Figure::P99]);
    let text = format!(
        "{}/s events received, delivery {delivery}, staleness p50 {p50}, p99 {p99}, with {}",
        rate_cell(point),
        point_phrase(point)
    );
    Banner { tone: tone_of(verdict), text, lines: wall_sentences(verdict) }
}

/// The banner of `load`, one level: its own figures come first.
fn load_banner(run: &Run) -> Banner {
    let verdict = &run.record.verdict;
    let Some((_, point)) = best_point(run) else { return ceiling_banner(verdict) };
    let ceiling = verdict.ceiling.as_ref();
    let rate = match point.standing.of(Figure::Rate) {
        Standing::Sound => or_dash(rate_of(point), per_second),
        _ => format!("{}/s", rate_cell(point)),
    };
    let ceiling = ceiling.filter(|_| point.standing.of(Figure::Rate).is_sound());
    let around = ceiling.and_then(interval).map_or_else(String::new, |text| format!(" ({text})"));
    let (p50, p99) = (percentile(point, Figure::P50), percentile(point, Figure::P99));
    let load = point_phrase(point);
    if point.requests.sent > 0 && point.requests.completed == 0 && point.rate == 0.0 {
        let text = format!("NO GOOD RESPONSE, with {load}");
        return Banner { tone: Tone::Caution, text, lines: wall_sentences(verdict) };
    }
    if let Some(few) = few_phrase(point) {
        let text = format!("{few}, with {load}");
        return Banner { tone: tone_of(verdict), text, lines: wall_sentences(verdict) };
    }
    let text = format!("{rate}{around}, p50 {p50}, p99 {p99}, with {load}");
    Banner { tone: tone_of(verdict), text, lines: wall_sentences(verdict) }
}

/// A percentile; among good responses only, where it falls among requests without one.
fn percentile(point: &Point, figure: Figure) -> String {
    let good_ns = point.latency_good_ns.as_ref().and_then(|good| good.of(figure));
    let at_least_ns = point.latency_at_least_ns.as_ref().and_then(|low| low.of(figure));
    match (point.latency_ns.of(figure).or(at_least_ns), good_ns) {
        (None, Some(good_ns)) => format!("{} of good responses", ns(Some(good_ns))),
        _ => cell(point.as_requests(), figure),
    }
}

/// How a run ended that did not complete.
pub(crate) struct Stop {
    /// That it ended, and when.
    pub(crate) what: String,
    /// What is left of it; empty when nothing is.
    kept: &'static str,
}

/// How the run ended, if it did not complete.
pub(crate) fn stop(run: &Run) -> Option<Stop> {
    const KEPT: &str = "what was measured is kept";
    let record = &run.record;
    let what = match record.outcome {
        Outcome::Complete => return None,
        Outcome::Interrupted => "INTERRUPTED",
        Outcome::TargetLost => "THE TARGET STOPPED RESPONDING",
    };
    let last = record.points.last();
    let stopped = last.and_then(|point| Some(point.stopped.as_ref()?.when(point.window_ns.0)));
    let what = stopped.map_or(what.to_string(), |when| format!("{what} {when}"));
    let levels = record.trial.levels.len();
    let is_search = record.trial.question == Question::Find;
    let (what, kept) = match record.points.iter().filter(|point| point.attempt == 1).count() {
        0 if is_search => (format!("{what} before the first trial was measured"), ""),
        0 if levels == 1 => (format!("{what} before anything was measured"), ""),
        0 => (format!("{what} before the first of {levels} levels was measured"), ""),
        trial if is_search => (format!("{what} in trial {trial}"), KEPT),
        _ if levels == 1 => (what, KEPT),
        level => (format!("{what} at level {level} of {levels}"), KEPT),
    };
    Some(Stop { what, kept })
}

fn outcome_banner(run: &Run) -> Option<Banner> {
    let Stop { what, kept } = stop(run)?;
    let joint = if kept.is_empty() { "" } else { "; " };
    let text = format!("{what}{joint}{kept}.");
    let record = &run.record;
    let last = record.points.last().filter(|point| is_partial(run, point));
    let lines = last.map(|point| {
        if rate_of(point).is_none() {
            return format!("The last point ({}) was not measured.", point_phrase(point));
        }
        let length = show_ns(point.load.duration_s * 1e9);
        format!("The last point ({}) is partial: {length}.", point_phrase(point))
    });
    Some(Banner { tone: Tone::Caution, text, lines: lines.into_iter().collect() })
}

/// The summary without the banners, for text that already has the verdict.
pub fn setting(run: &Run) -> Vec<Block> {
    vec![Block::Facts(facts(run))]
}

fn facts(run: &Run) -> Vec<Fact> {
    let mut facts = vec![Fact::new("Load", load_parts(&run.record).join(", "))];
    facts.extend(endpoints::facts(&run.record.target));
    facts.extend(run.record.tool.iter().flat_map(tool::facts));
    if let Some((_, point)) = best_point(run) {
        if run.record.points.len() > 1 {
            let is_flat = run.record.verdict.ceiling.as_ref().is_some_and(|ceiling| {
                ceiling.kind == CeilingKind::Ceiling && ceiling.knee_in_flight.is_some()
            });
            let label = if is_flat { "Plateau from" } else { "Highest" };
            let figures = match point.devices() {
                Some(_) => connections_phrase(point),
                None => figures_phrase(point),
            };
            facts.push(Fact::new(label, figures));
        }
        let ceiling = run.record.verdict.ceiling.as_ref();
        if let Some(knee) = ceiling.and_then(|ceiling| ceiling.knee_in_flight) {
            let knee = show_count(knee as f64);
            let text = format!("{knee} {}", point.main().words().knee);
            facts.push(Fact::new("Knee", text));
        }
        facts.push(Fact::new("CPU", cost_phrase(run, point)));
        facts.extend(shares_phrase(run, point).map(|text| Fact::new("Host CPU %", text)));
    }
    facts
}

/// The load, the most important parts first.
pub(crate) fn load_parts(record: &Record) -> Vec<String> {
    let levels = &record.trial.levels;
    let mut parts = what_is_asked(record);
    if levels.iter().any(|level| level.depth > 1) {
        let depth = span(levels, |level| f64::from(level.depth), show_count);
        parts.push(format!("{depth} in flight on each"));
    }
    if levels.len() > 1 {
        parts.push(plural(levels.len() as u64, "level"));
    }
    if let Some(Arrival::Open { arrivals, .. }) = levels.first().map(|level| &level.arrival) {
        parts.push(arrivals.name().to_string());
    }
    parts.push(plural(u64::from(record.trial.threads), "thread"));
    let tool = record.trial.tool.map(model::tool::Tool::name);
    parts.push(tool.unwrap_or(record.trial.driver.name()).to_string());
    parts
}

/// The range of a figure over all levels.
fn span(levels: &[Level], value: fn(&Level) -> f64, show: fn(f64) -> String) -> String {
    let values = || levels.iter().map(value);
    let low = values().min_by(f64::total_cmp).unwrap_or(0.0);
    let high = values().max_by(f64::total_cmp).unwrap_or(0.0);
    if low == high { show(low) } else { format!("{} to {}", show(low), show(high)) }
}

fn what_is_asked(record: &Record) -> Vec<String> {
    let levels = &record.trial.levels;
    let rate = |level: &Level| match &level.arrival {
        Arrival::Closed => 0.0,
        Arrival::Open { curve, .. } => curve.peak_rate(),
    };
    let first = levels.first();
    let mut connections = span(levels, |level| f64::from(level.connections), show_count);
    if levels.iter().any(|level| level.spare > 0) {
        let most = span(levels, |level| f64::from(level.connections_max()), show_count);
        connections = format!("{connections} up to {most}");
    }
    if let Some(life) = first.map(|level| level.life).filter(|life| life.hold.is_some()) {
        let mut parts = match first.map(|level| &level.arrival) {
            Some(Arrival::Open { .. }) => {
                let asked = match record.search.as_ref().map(|search| search.config) {
                    Some(config) => {
                        let (low, high) = (per_second(config.lowest), per_second(config.highest));
                        format!("{low} to {high} connections")
                    }
                    None => format!("{} connections", span(levels, rate, per_second)),
                };
                vec![asked, format!("up to {connections} devices")]
            }
            _ => vec![format!("{connections} devices")],
        };
        parts.extend(life_parts(&life));
        return parts;
    }
    if let Some(fanout) = &record.trial.fanout {
        let streams = plural(fanout.streams.len() as u64, "stream");
        let writers = match first.map(|level| &level.arrival) {
            _ if fanout.writers == 0 => "no writers".to_string(),
            Some(Arrival::Open { .. }) => {
                let writers = plural(u64::from(fanout.writers), "writer");
                format!("{writers} at {}", span(levels, rate, per_second))
            }
            _ => format!("{} in closed loop", plural(u64::from(fanout.writers), "writer")),
        };
        return vec![format!("{connections} subscribers"), streams, writers];
    }
    let is_one = connections == "1";
    let at_a_time =
        format!("at most {connections} user{} at a time", if is_one { "" } else { "s" });
    let connections = format!("{connections} connection{}", if is_one { "" } else { "s" });
    let searched = record.search.as_ref().map(|search| search.config);
    match (first.map(|level| &level.arrival), searched) {
        (Some(Arrival::Open { .. }), Some(config)) => {
            let (low, high) = (per_second(config.lowest), per_second(config.highest));
            vec![connections, format!("open loop from {low} to {high}")]
        }
        (Some(Arrival::Open { curve, .. }), None) => {
            let up_to = if curve.constant_rate().is_some() { "at" } else { "at up to" };
            if record.trial.flow.is_some() {
                let rates = span(levels, rate, show_count);
                return vec![format!("open loop {up_to} {rates} users/s"), at_a_time];
            }
            vec![format!("open loop {up_to} {}", span(levels, rate, per_second)), connections]
        }
        _ => vec![connections, "closed loop".to_string()],
    }
}

/// How devices live.
fn life_parts(life: &Life) -> Vec<String> {
    let requests = match life.requests {
        Some((0, 0)) => "no requests".to_string(),
        Some((least, most)) if least == most => plural(u64::from(most), "request"),
        Some((least, most)) => format!("{least} to {most} requests"),
        None => "unlimited requests".to_string(),
    };
    let held = match life.hold {
        Some(Hold::For { ns: 0, .. }) | None => return vec![format!("closed after {requests}")],
        Some(Hold::For { ns, jitter: 0.0 }) => format!("held {}", show_ns(ns as f64)),
        Some(Hold::For { ns, jitter }) => {
            format!("held {} +-{:.0} %", show_ns(ns as f64), jitter * 100.0)
        }
        Some(Hold::Forever) => "held to the end".to_string(),
    };
    vec![held, format!("{requests} each")]
}

fn figures_phrase(point: &Point) -> String {
    let failed = point.requests.failed + point.requests.unanswered;
    let rate = rate_of(point).map_or("-".to_string(), |_| format!("{}/s", rate_cell(point)));
    let [p50, p99, max] = figure_cells(point, [Figure::P50, Figure::P99, Figure::MAX]);
    let of_what = if point.events().is_some() { "staleness " } else { "" };
    let mut phrase =
        format!("{rate} with {}: {of_what}p50 {p50}, p99 {p99}, max {max}", point_phrase(point));
    if failed > 0 {
        phrase.push_str(&format!("; {} failed", plural(failed, "request")));
    }
    phrase
}

/// CPUs of both sides and CPU time per request, in one line.
pub(crate) fn cost_phrase(run: &Run, point: &Point) -> String {
    let (host, far) = (&run.record.host, run.record.target.probe.as_ref());
    let cost = |word: &str, cpus: Option<f64>, of: Option<usize>, us: Option<f64>| {
        let of = of.map_or(String::new(), |of| format!(" of {of}"));
        let shown = |cpus: f64| match cpus {
            cpus if cpus < 9.995 => format!("{cpus:.2}{of}{word}"),
            cpus => format!("{cpus:.1}{of}{word}"),
        };
        let each = us.map(|us| format!("{}/req", show_ns(us * 1e3)));
        let parts: Vec<_> = cpus.map(shown).into_iter().chain(each).collect();
        if parts.is_empty() { "not measured".to_string() } else { parts.join(", ") }
    };
    let far = far.map_or(host, |far| &far.host).cpus_online.len();
    let near = run.record.fleet.as_ref().map_or(Some(host.cpus_online.len()), cpus_of);
    let cpu = &point.cpu;
    let client = cost(" CPUs", cpu.client_cpus, near, cpu.client_us_per_request);
    // Without the repeated word, both fit on one line.
    let word = if cpu.client_cpus.is_some() { "" } else { " CPUs" };
    let server = cost(word, cpu.server_cpus, Some(far), cpu.server_us_per_request);
    let others =
        others(run, point).filter(|cpus| *cpus >= OTHERS_MIN * host.cpus_online.len() as f64);
    let others = others.map_or(String::new(), |cpus| format!("; others {cpus:.2}"));
    format!("client {client}; server {server}{others}")
}

/// The CPUs of all agents; not known where some are on one host, because they may share them.
fn cpus_of(fleet: &FleetRecord) -> Option<usize> {
    let hosts: BTreeSet<&str> =
        fleet.agents.iter().map(|agent| agent.host.hostname.as_str()).collect();
    let sum = fleet.agents.iter().map(|agent| agent.host.cpus as usize).sum();
    (hosts.len() == fleet.agents.len()).then_some(sum)
}

/// Other processes are mentioned from this share of the host's CPUs on.
const OTHERS_MIN: f64 = 0.1;

/// CPUs used by processes that are neither the generator nor the server, where both run on one
/// host. Interrupts and the hypervisor are no processes.
fn others(run: &Run, point: &Point) -> Option<f64> {
    // The CPU time of a fleet's generators is that of other hosts.
    if run.record.target.probe.is_some() || run.record.fleet.is_some() {
        return None;
    }
    let observed = Raw::from(run).observed(&run.record, point);
    let shares = Waits::of(run, near(run)).shown(mean_shares(observed.cpus.as_deref()?)?);
    let of_none = ["iowait", "idle", "irq", "softirq", "steal"];
    let states = STATES.iter().zip(shares).filter(|(state, _)| !of_none.contains(state));
    let busy = states.filter_map(|(_, share)| share).sum::<f64>() / 100.0;
    let all = run.record.host.cpus_online.len() as f64;
    Some(busy * all - point.cpu.client_cpus? - point.cpu.server_cpus?)
}

fn shares_phrase(run: &Run, point: &Point) -> Option<String> {
    let observed = Raw::from(run).observed(&run.record, point);
    let shares = Waits::of(run, near(run)).shown(mean_shares(observed.cpus.as_deref()?)?);
    let shown = |(state, share): (&&str, Option<f64>)| Some(format!("{state} {}", percent(share?)));
    let states: Vec<_> = STATES.iter().zip(shares).filter_map(shown).collect();
    Some(states.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn agents_that_share_a_host_share_its_cpus() {
        let mut run = fixtures::load_fleet();
        run.record.points[0].cpu.client_cpus = Some(1.5);
        let phrase = |run: &Run| cost_phrase(run, &run.record.points[0]);
        assert!(phrase(&run).starts_with("client 1.50 of 16 CPUs"), "{}", phrase(&run));
        for agent in &mut run.record.fleet.as_mut().unwrap().agents[1..3] {
            agent.host.hostname = "load-1".to_string();
        }
        assert!(phrase(&run).starts_with("client 1.50 CPUs"), "{}", phrase(&run));
    }
}
