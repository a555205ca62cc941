//! The next step: the commands that would settle an undecided verdict.

use crate::case::Case;
use model::load::{HttpChoice, Question, Request, Trial};
use model::route::Address;
use model::run::{Point, TargetResult};
use model::step::Step;
use model::{secret, shell};

/// The commands that would separate the walls that are still possible.
pub(crate) fn what_would_tell(case: &Case<'_>) -> Vec<Step> {
    let mut next = Vec::new();
    if case.has_queue() {
        let most = u64::from(case.point.load.connections_max.max(1)) * 4;
        let step = format!(
            "let waiting requests open connections: --max-connections {most}; if the rate stays \
             the same, the server is the wall"
        );
        next.push(step.into());
    }
    if case.server.is_none() {
        next.push(watch_the_server(case).into());
    }
    if case.trial.question == Question::Load {
        next.push(ramp_command(case));
    }
    if case.client_has_slack() != Some(true) {
        next.push("give the generator more CPUs: --cpus LIST, -t N".into());
    }
    if next.is_empty() {
        next.push(what_it_waits_in(case));
    }
    next
}

pub(crate) fn ramp_command(case: &Case<'_>) -> Step {
    let url = &case.trial.url;
    if case.point.is_of_devices() {
        return case.churn_command(4);
    }
    if let Some(events) = case.point.events() {
        let more = (u64::from(case.point.load.connections) * 4).to_string();
        let writers = (events.writers * 2).max(1).to_string();
        return Step::command(["fanout", url, "-c", &more, "--writers", &writers]);
    }
    if let Some(rate) = case.point.load.rate {
        let (first, last) = ((rate / 4.0).max(1.0), rate * 4.0);
        return Step::command(["ramp", url, "-R", &format!("{first:.0}..{last:.0}")]);
    }
    let connections = u64::from(case.point.load.connections);
    let (first, last) = ((connections / 4).max(1), connections * 8);
    Step::command(["ramp", url, "-c", &format!("{first}..{last}")])
}

/// The server's CPUs have slack, so a profile shows what it waits for.
pub(crate) fn what_it_waits_in(case: &Case<'_>) -> Step {
    if !case.point.is_of_requests() {
        return "profile what the server waits for; its CPUs have slack".into();
    }
    load_with(case, ["--profile", "auto"])
}

/// The same load once more, with an option.
pub(crate) fn load_with(case: &Case<'_>, option: [&str; 2]) -> Step {
    let load = &case.point.load;
    let mut words = ["load", &case.trial.url, "-c"].map(str::to_string).to_vec();
    words.push(load.connections.to_string());
    words.extend(load.rate.into_iter().flat_map(|rate| ["-R".into(), format!("{rate:.0}")]));
    words.extend(option.map(str::to_string));
    Step::command(words)
}

fn watch_the_server(case: &Case<'_>) -> &'static str {
    if case.trial.addresses.iter().any(Address::is_loopback) {
        return "watch the server: --server-pid PID, or run ceiling as its user";
    }
    "watch the server: start `ceiling probe serve` on its host, and pass --probe HOST:PORT"
}

/// The command that shows one response to what failed: a stream that was refused, else a request
/// of the target of a mix that failed most often. curl makes no calls: of these it shows what the
/// method takes.
pub(crate) fn look_at(option: &str, trial: &Trial, points: &[Point]) -> String {
    let refused = points.iter().filter_map(|point| point.events());
    let has_no_stream = { refused }.any(|events| events.subscribers.accepted == 0);
    let stream = trial.fanout.as_ref().and_then(|fanout| fanout.streams.first());
    let worst = points.last().and_then(|point| {
        let failed = |one: &TargetResult| one.requests.failed + one.requests.unanswered;
        let (at, _) = point.targets.iter().enumerate().max_by_key(|(_, one)| failed(one))?;
        Some(at as u32)
    });
    let of_worst = |one: &&Request| worst.is_none_or(|worst| one.target == worst);
    let request = stream
        .filter(|_| has_no_stream)
        .or_else(|| trial.requests.iter().find(of_worst))
        .or_else(|| trial.requests.first());
    let Some(request) = request else { return format!("curl {option} {}", trial.url) };
    let scheme_end = trial.url.find("://").map_or(0, |at| at + 3);
    let path_at = trial.url[scheme_end..].find(['/', '?', '#']).map(|at| scheme_end + at);
    let base = &trial.url[..path_at.unwrap_or(trial.url.len())];
    // The URL as typed shows no secret; the path of a request may have one.
    let url = if trial.url[base.len()..].is_empty() && request.path == "/" {
        trial.url.clone()
    } else {
        secret::text(&format!("{base}{}", request.path))
    };
    if request.is_call() {
        let words = ["ceiling", "grpc", "describe", base, request.path.trim_start_matches('/')];
        return shell::line(&words.map(str::to_string));
    }
    // By itself curl speaks HTTP/2 only over TLS.
    let is_plain = trial.manner.http == HttpChoice::Two && base.starts_with("http:");
    let version: &[&str] = if is_plain { &["--http2-prior-knowledge"] } else { &[] };
    let method: &[&str] = match request.method.as_str() {
        "GET" => &[],
        "HEAD" => &["-I"],
        method => &["-X", method],
    };
    let words = [&["curl", option], version, method, &[&url]].concat();
    shell::line(&words.into_iter().map(str::to_string).collect::<Vec<_>>())
}
