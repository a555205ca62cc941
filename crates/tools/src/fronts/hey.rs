//! `ceiling hey ..`: the command line and the layout of hey 0.1.5.

use super::{Front, Shown, or_dash, steps};
use crate::typed::{Typed, enough_requests};
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::Hey,
    example: "ceiling hey -z 10s -c 50 http://127.0.0.1:8083/read",
    line: &crate::hey::LINE,
    adds: Some(("Accept-Encoding: gzip", "-disable-compression")),
    settle,
    trusts_any: true,
    needs: None,
    has_long_dash: true,
    layout,
};

/// Most blocks of a bar.
const BAR: u64 = 40;

/// It gives each worker the same number of requests, and does not send the rest.
fn settle(typed: &mut Typed) -> Result<(), String> {
    enough_requests(typed)?;
    if let (Some(requests), Some(workers @ 1..)) = (typed.count("-n"), typed.count("-c")) {
        typed.put("-n", requests / workers * workers);
    }
    Ok(())
}

fn layout(shown: &Shown<'_>) -> String {
    summary(shown)
        + "\n\nResponse time histogram:\n"
        + &histogram(shown)
        + "\n\nLatency distribution:\n"
        + &distribution(shown)
        + "\n"
        + &details(shown)
        + "\n"
        + &outcomes(shown)
}

/// `Requests/sec` counts requests that failed too. The data are the bodies whose length the head
/// announced: a chunked body counts as nothing.
fn summary(shown: &Shown<'_>) -> String {
    let time = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64), secs);
    let (responses, times) = (shown.responses(), shown.times());
    let lost: u64 = shown.errors_of_requests().into_iter().map(|(_, count)| count).sum();
    let mut text = format!(
        "\nSummary:\n  Total:\t{:.4} secs\n  Slowest:\t{} secs\n  Fastest:\t{} secs\n  \
         Average:\t{} secs{}\n  Requests/sec:\t{:.4}\n  ",
        shown.point.load.duration_s,
        time(times.max),
        time(times.min),
        time(times.mean),
        shown.untimed(),
        shown.per_second(responses + lost),
    );
    let bytes = shown.arrived().announced;
    if let Some(each) = bytes.checked_div(responses).filter(|_| bytes > 0) {
        text += &format!("\n  Total data:\t{bytes} bytes\n  Size/request:\t{each} bytes");
    }
    text
}

fn histogram(shown: &Shown<'_>) -> String {
    let rows = steps(shown);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let row = |(end_ns, count): (f64, u64)| {
        let blocks = (count * BAR + most / 2).checked_div(most).unwrap_or(0) as usize;
        format!("  {:.3} [{count}]\t|{}\n", end_ns / 1e9, "\u{25a0}".repeat(blocks))
    };
    rows.into_iter().map(row).collect()
}

fn distribution(shown: &Shown<'_>) -> String {
    let line = |share: f64| {
        let value = or_dash(shown.quantile_ns(share), secs);
        // hey 0.1.5 prints two signs.
        format!("  {:.0}%% in {value} secs\n", share * 100.0)
    };
    [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99].map(line).concat()
}

/// The time to get a connection is 0 for each request on one that is open already.
fn details(shown: &Shown<'_>) -> String {
    let responses = shown.responses();
    let ([mean, min, max], opened) = shown.dialup_ns();
    let each = mean.map(|mean| mean * opened as f64 / responses.max(1) as f64);
    let fastest = if responses > opened { Some(0.0) } else { min };
    let row = |name: &str, values: [Option<f64>; 3], why: &str| {
        let cells = values.map(|value| format!("{} secs", or_dash(value, secs)));
        format!("  {name}:\t{}{why}\n", cells.join(", "))
    };
    let (dialup_why, is_cut) = ("  (the longest with its handshake is not known)", max.is_none());
    let lookup = match shown.is_address() {
        true => row("DNS-lookup", [Some(0.0); 3], ""),
        false => row("DNS-lookup", [None; 3], "  (names are looked up before the load)"),
    };
    let empty_row = |name: &str| row(name, [None; 3], "  (a response is timed as a whole)");
    format!(
        "Details (average, fastest, slowest):\n{}{lookup}{}{}{}",
        row("DNS+dialup", [each, fastest, max], if is_cut && opened > 0 { dialup_why } else { "" }),
        empty_row("req write"),
        empty_row("resp wait"),
        empty_row("resp read"),
    )
}

fn outcomes(shown: &Shown<'_>) -> String {
    let mut text = String::from("Status code distribution:\n");
    for (code, count) in shown.codes() {
        text += &format!("  [{code}]\t{count} responses\n");
    }
    text += "\n";
    let lost = shown.errors_of_requests();
    if !lost.is_empty() {
        text += "Error distribution:\n";
        lost.iter().for_each(|(name, count)| text += &format!("  [{count}]\t{name}\n"));
    }
    text + "\n\n"
}

fn secs(ns: f64) -> String {
    format!("{:.4}", ns / 1e9)
}
