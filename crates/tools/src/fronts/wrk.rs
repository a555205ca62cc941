//! `ceiling wrk ..`: the command line and the layout of wrk 4.2.

use super::{Front, Shown, or_dash};
use crate::typed::Typed;
use model::series::Moments;
use model::tick::ErrorClass;
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::Wrk,
    example: "ceiling wrk -t2 -c100 -d30s --latency http://127.0.0.1:8083/read",
    line: &crate::wrk::LINE,
    adds: None,
    settle,
    trusts_any: true,
    needs: None,
    has_long_dash: false,
    layout,
};

/// Each thread opens as many connections as the others: what is left over is not opened, and it is
/// printed as it was typed.
pub(super) fn settle(typed: &mut Typed) -> Result<(), String> {
    let (Some(connections), Some(threads)) = (typed.count("-c"), typed.count("-t")) else {
        return Ok(());
    };
    if connections < threads {
        return Err(format!(
            "-c {connections} with -t {threads}: every thread needs a connection; for example -t \
             {connections} -c {connections}"
        ));
    }
    if threads > 0 && !connections.is_multiple_of(threads) {
        typed.layout.insert("-c", connections.to_string());
        typed.put("-c", connections / threads * threads);
    }
    Ok(())
}

fn layout(shown: &Shown<'_>) -> String {
    let mut text = head(shown) + &moments(shown);
    if shown.has("--latency") {
        text += "  Latency Distribution\n";
        for share in [0.5, 0.75, 0.9, 0.99] {
            text += &format!("{:>7.0}%{}\n", share * 100.0, quantile(shown, share));
        }
    }
    text + &foot(shown)
}

/// `Running 10s test @ http://..` and what was requested.
pub(super) fn head(shown: &Shown<'_>) -> String {
    let load = &shown.point.load;
    let asked_s = shown.asked_s().unwrap_or(load.duration_s).round();
    let connections = shown.typed.layout.get("-c").cloned();
    format!(
        "Running {} test @ {}\n  {} threads and {} connections\n",
        scaled(asked_s, 60.0, &["s", "m"], 0),
        shown.run.record.target.url,
        load.threads,
        connections.unwrap_or_else(|| load.connections.to_string())
    )
}

/// The rows of latency and rate. The rate is that of one thread in a tenth of a second.
pub(super) fn moments(shown: &Shown<'_>) -> String {
    let times = shown.times();
    let time_of = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64 / 1e3), time);
    let row = |name: &str, [mean, stdev, max]: [String; 3], within: Option<f64>| {
        let within = or_dash(within, |share| format!("{:.2}%", share * 100.0));
        let cells = [aligned(&mean, 8), aligned(&stdev, 10), aligned(&max, 9)];
        format!("    {name:10}{}{within:>9}", cells.concat())
    };
    let rates = shown.point.client_loop.worker_rates;
    let rate = |pick: fn(&Moments) -> f64| or_dash(rates.as_ref().map(pick), metric);
    format!(
        "  Thread Stats{:>6}{:>11}{:>8}{:>12}\n{}{}\n{}\n",
        "Avg",
        "Stdev",
        "Max",
        "+/- Stdev",
        row("Latency", [times.mean, times.stdev, times.max].map(time_of), shown.within_stdev()),
        shown.untimed(),
        row(
            "Req/Sec",
            [rate(|one| one.mean), rate(|one| one.stdev), rate(|one| one.max)],
            rates.map(|one| one.within)
        )
    )
}

/// A percentile, with the spaces of its column.
pub(super) fn quantile(shown: &Shown<'_>, share: f64) -> String {
    let value = or_dash(shown.quantile_ns(share), |ns| time(ns / 1e3));
    aligned(&value, 10).trim_end().to_string()
}

/// Totals, errors and rates. The bytes are those of whole responses: head, framing and body.
pub(super) fn foot(shown: &Shown<'_>) -> String {
    let (requests, bytes) = (shown.responses(), shown.arrived().received);
    let duration = time(shown.point.load.duration_s * 1e6);
    let mut text = format!("  {requests} requests in {duration}, {} read\n", binary(bytes as f64));
    let is_timeout = |class| class == ErrorClass::Timeout;
    let connect = shown.errors(|class| !class.is_of_requests());
    let read = shown.errors(|class| class.is_of_requests() && !is_timeout(class));
    let timeout = shown.errors(is_timeout);
    if connect + read + timeout > 0 {
        text += &format!(
            "  Socket errors: connect {connect}, read {read}, write 0, timeout {timeout}\n"
        );
    }
    let [_, _, bad_4xx, bad_5xx] = shown.classes();
    if bad_4xx + bad_5xx > 0 {
        text += &format!("  Non-2xx or 3xx responses: {}\n", bad_4xx + bad_5xx);
    }
    text + &format!(
        "Requests/sec: {:>9.2}\nTransfer/sec: {:>11}\n",
        shown.per_second(requests),
        binary(shown.per_second(bytes))
    )
}

/// A figure in a column of `width`, aligned by its digits: two places are for the unit.
fn aligned(figure: &str, width: usize) -> String {
    let letters = figure.bytes().rev().take(2).filter(u8::is_ascii_alphabetic).count();
    let width = width - 2 + letters;
    format!("{figure:>width$}{}", " ".repeat(2 - letters))
}

/// Microseconds as wrk prints a time.
pub(super) fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => scaled(us / 1e6, 60.0, &["s", "m"], 2),
        us => scaled(us, 1e3, &["us", "ms"], 2),
    }
}

/// A number as wrk prints it.
fn metric(value: f64) -> String {
    scaled(value, 1e3, &["", "k", "M", "G", "T"], 2)
}

/// Bytes as wrk prints them.
fn binary(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KB", "MB", "GB", "TB"], 2)
}

/// wrk takes the next unit from 85 % of it on, and none after the last of these.
fn scaled(mut value: f64, scale: f64, units: &[&str], digits: usize) -> String {
    let mut unit = 0;
    while unit + 1 < units.len() && value >= scale * 0.85 {
        value /= scale;
        unit += 1;
    }
    format!("{value:.digits$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_wrk_writes_them() {
        let times = [635.91, 1010.0, 900_000.0, 2.5e6, 120e6].map(time);
        assert_eq!(times, ["635.91us", "1.01ms", "900.00ms", "2.50s", "2.00m"]);
        assert_eq!([metric(56_200.0), metric(351.5), metric(960.0)], ["56.20k", "351.50", "0.96k"]);
        let sizes = [91_249.0, 12.0, 900.0, 3.0 * 1024f64.powi(5)].map(binary);
        assert_eq!(sizes, ["89.11KB", "12.00B", "0.88KB", "3072.00TB"]);
        let durations = [10.0, 50.0, 60.0, 3600.0].map(|s| scaled(s, 60.0, &["s", "m"], 0));
        assert_eq!(durations, ["10s", "50s", "1m", "60m"]);
    }

    #[test]
    fn columns_are_aligned_by_digits() {
        let cells = ["4.30ms", "635.91us", "1.20", "56.20k", "-"].map(|one| aligned(one, 10));
        assert_eq!(cells, ["    4.30ms", "  635.91us", "    1.20  ", "   56.20k ", "       -  "]);
    }
}
