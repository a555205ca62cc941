//! `ceiling h2load ..`: the command line and the layout of h2load 1.52.

use super::{Front, Shown, or_dash};
use crate::typed::{Typed, enough_requests};
use model::histogram::Summary;
use model::load::{HttpChoice, Stop};
use model::tick::ErrorClass;
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::H2load,
    example: "ceiling h2load -c 8 -m 32 -D 10 http://127.0.0.1:8083/read",
    line: &crate::h2load::LINE,
    adds: None,
    settle,
    trusts_any: true,
    needs: None,
    has_long_dash: false,
    layout,
};

/// By itself h2load speaks HTTP/2: with TLS what both sides agree on, else without asking.
fn settle(typed: &mut Typed) -> Result<(), String> {
    enough_requests(typed)?;
    if typed.value("--http").is_none() {
        let is_secured = typed.words.iter().any(|word| word.starts_with("https://"));
        let words: &[&str] =
            if is_secured { &["--http", "auto"] } else { &["--http2-prior-knowledge"] };
        typed.words.extend(words.iter().map(ToString::to_string));
    }
    Ok(())
}

fn layout(shown: &Shown<'_>) -> String {
    started(shown) + "\n" + &totals(shown) + &times(shown)
}

/// What it prints at the start, without its progress.
fn started(shown: &Shown<'_>) -> String {
    let load = &shown.point.load;
    let threads = u64::from(load.threads.max(1));
    // The first ones get one more where they do not come out even.
    let part = |all: u64, nth: u64| all / threads + u64::from(nth < all % threads);
    let mut text = String::from("starting benchmark...\n");
    for nth in 0..threads {
        let clients = part(load.connections.into(), nth);
        let what = match shown.run.record.trial.stop {
            Stop::AfterRequests(requests) => format!("{} total requests", part(requests, nth)),
            Stop::AfterNs(ns) => format!(
                "Timing-based test with {}s of warm-up time and {}s of main duration for \
                 measurements.",
                shown.point.unmeasured.duration_s,
                ns as f64 / 1e9
            ),
        };
        text += &format!("spawning thread #{nth}: {clients} total client(s). {what}\n");
    }
    if shown.responses() > 0 {
        text += &format!("Application protocol: {}\n", protocol(shown));
    }
    text
}

/// What was spoken, as h2load names it.
fn protocol(shown: &Shown<'_>) -> &'static str {
    let record = &shown.run.record;
    let agreed = record.target.tls.as_ref().and_then(|tls| tls.alpn.as_deref());
    match (record.trial.manner.http, agreed) {
        (HttpChoice::Two, None) => "h2c",
        (_, Some("h2")) => "h2",
        _ => "http/1.1",
    }
}

/// `succeeded` are statuses below 400; what was not started counts as failed and errored. Of the
/// headers, names and values count, and neither their marks nor the status line.
fn totals(shown: &Shown<'_>) -> String {
    let (done, requests, bytes) = (shown.responses(), &shown.point.requests, shown.arrived());
    let [of_2xx, of_3xx, of_4xx, of_5xx] = shown.classes();
    let succeeded = of_2xx + of_3xx;
    let errored = shown.errors(ErrorClass::is_of_requests) + requests.unsent;
    let timeout = shown.errors(|class| class == ErrorClass::Timeout);
    let total = if shown.asked_s().is_some() { done } else { requests.planned.unwrap_or(done) };
    let size = |bytes: u64| format!("{}B ({bytes})", binary(bytes));
    // Of compressed headers we know what they say, and not how many bytes of the total they are.
    let headers = match protocol(shown) {
        "http/1.1" => format!("{} headers (space savings 0.00%)", size(bytes.fields)),
        _ => "- headers (space savings -)".to_string(),
    };
    format!(
        "finished in {}, {:.2} req/s, {}B/s\nrequests: {total} total, {} started, {done} done, \
         {succeeded} succeeded, {} failed, {errored} errored, {timeout} timeout\nstatus codes: \
         {of_2xx} 2xx, {of_3xx} 3xx, {of_4xx} 4xx, {of_5xx} 5xx\ntraffic: {} total, {headers}, {} \
         data\n",
        time(shown.point.load.duration_s * 1e9),
        shown.per_second(done),
        binary(shown.per_second(bytes.received) as u64),
        requests.sent,
        done - succeeded + errored,
        size(bytes.received),
        size(bytes.body),
    )
}

fn times(shown: &Shown<'_>) -> String {
    let row = |name: &str, values: [String; 4], within: Option<f64>, why: &str| {
        let [min, max, mean, stdev] = values;
        let within = or_dash(within, |share| format!("{:.2}%", share * 100.0));
        format!("{name:16}: {min:>10}  {max:>10}  {mean:>10}  {stdev:>10}{within:>10}{why}\n")
    };
    let of = |summary: &Summary| {
        let Summary { min, max, mean, stdev, .. } = *summary;
        [min, max, mean, stdev].map(|ns| or_dash(ns.map(|ns| ns as f64), time))
    };
    let (request, connect) = (of(shown.times()), of(&shown.point.connections.connect_ns));
    format!(
        "{HEADING}\n{}{}{}{}",
        row("time for request", request, shown.within_stdev(), shown.untimed()),
        row("time for connect", connect, None, "  (+/- sd of connects is not kept)"),
        row("time to 1st byte", DASHES.map(String::from), None, "  (a response is timed whole)"),
        rates(shown, &row)
    )
}

const HEADING: &str = "                     min         max         mean         sd        +/- sd";
const DASHES: [&str; 4] = ["-"; 4];

/// The rate of each client over its own time: in a load that ends with a time, that is the time of
/// the load.
fn rates(
    shown: &Shown<'_>,
    row: &impl Fn(&str, [String; 4], Option<f64>, &str) -> String,
) -> String {
    let connections = &shown.point.connections;
    let Some(_) = shown.asked_s() else {
        let why = "  (the time of each connection is not kept)";
        return row("req/s           ", DASHES.map(String::from), None, why);
    };
    let rate = |count: Option<u64>| {
        or_dash(count.map(|count| shown.per_second(count)), |rate| format!("{rate:.2}"))
    };
    let mean = shown.per_second(shown.responses()) / connections.opened.max(1) as f64;
    let each = &connections.requests_each;
    let values = [rate(each.min), rate(each.max), format!("{mean:.2}"), "-".to_string()];
    row("req/s           ", values, None, "  (sd of connections is not kept)")
}

/// A time as h2load prints it.
fn time(ns: f64) -> String {
    match ns / 1e3 {
        us if us < 1e3 => format!("{}us", us as u64),
        us if us < 1e6 => format!("{:.2}ms", us / 1e3),
        us => format!("{:.2}s", us / 1e6),
    }
}

/// Bytes as h2load prints them, without the letter B.
fn binary(bytes: u64) -> String {
    let units = [("G", 30), ("M", 20), ("K", 10)];
    let found = units.into_iter().find(|(_, bits)| bytes >= 1 << bits);
    found.map_or_else(
        || bytes.to_string(),
        |(unit, bits)| format!("{:.2}{unit}", bytes as f64 / f64::from(1 << bits)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_h2load_writes_them() {
        let times = [998_900.0, 1e6, 2.5e9].map(time);
        assert_eq!(times, ["998us", "1.00ms", "2.50s"]);
        let sizes = [0, 1023, 8700, 3 << 30].map(binary);
        assert_eq!(sizes, ["0", "1023", "8.50K", "3.00G"]);
    }
}
