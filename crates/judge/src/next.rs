//! The next step: the commands that would settle an undecided verdict.

use crate::case::Case;
use model::load::Question;
use model::route::Address;

/// The commands that would separate the walls that are still possible.
pub(crate) fn what_would_tell(case: &Case<'_>) -> Vec<String> {
    let mut next = Vec::new();
    if case.has_queue() {
        let most = u64::from(case.point.load.connections_max.max(1)) * 4;
        next.push(format!(
            "let waiting requests open connections: --max-connections {most}; if the rate stays \
             the same, the server is the wall"
        ));
    }
    if case.server.is_none() {
        next.push(watch_the_server(case));
    }
    if case.trial.question == Question::Load {
        next.push(ramp_command(case));
    }
    if case.client_has_slack() != Some(true) {
        next.push("give the generator more CPUs: --cpus LIST, -t N".to_string());
    }
    if next.is_empty() {
        next.push(what_it_waits_in(case));
    }
    next
}

pub(crate) fn ramp_command(case: &Case<'_>) -> String {
    if case.point.is_churn() {
        return case.churn_command(4);
    }
    if let Some(events) = &case.point.events {
        let more = u64::from(case.point.load.connections) * 4;
        let writers = (events.writers * 2).max(1);
        return format!("ceiling fanout {} -c {more} --writers {writers}", case.trial.url);
    }
    if let Some(rate) = case.point.load.rate {
        let (first, last) = ((rate / 4.0).max(1.0), rate * 4.0);
        return format!("ceiling ramp {} -R {first:.0}..{last:.0}", case.trial.url);
    }
    let connections = u64::from(case.point.load.connections);
    let (first, last) = ((connections / 4).max(1), connections * 8);
    format!("ceiling ramp {} -c {first}..{last}", case.trial.url)
}

/// The server's CPUs have slack, so a profile shows what it waits for.
pub(crate) fn what_it_waits_in(case: &Case<'_>) -> String {
    if case.point.is_churn() || case.point.events.is_some() {
        return "profile what the server waits for; its CPUs have slack".to_string();
    }
    let load = &case.point.load;
    let rate = load.rate.map(|rate| format!(" -R {rate:.0}")).unwrap_or_default();
    format!("ceiling load {} -c {}{rate} --profile auto", case.trial.url, load.connections)
}

fn watch_the_server(case: &Case<'_>) -> String {
    if case.trial.addresses.iter().any(Address::is_loopback) {
        return "watch the server: --server-pid PID, or run ceiling as its user".to_string();
    }
    "watch the server: start `ceiling probe serve` on its host, and pass --probe HOST:PORT"
        .to_string()
}
