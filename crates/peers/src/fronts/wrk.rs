//! `ceiling wrk ..`: the command line and the layout of wrk.

use super::{Front, Shown, TIME, or_dash};
use crate::typed::{Asks, HEADER, TypedOption, seconds};
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::Wrk,
    example: "ceiling wrk -t2 -c100 -d30s --latency http://127.0.0.1:8083/read",
    options: OPTIONS,
    defaults: DEFAULTS,
    trusts_any: true,
    needs: None,
    has_long_dash: false,
    layout,
};

/// What wrk does when nothing is typed.
pub(super) const DEFAULTS: &[(&[&str], &str)] =
    &[(&["-t"], "2"), (&["-c"], "10"), (TIME, "10s"), (&["-T"], "2s")];

const OPTIONS: &[TypedOption] = &[CONNECTIONS, THREADS, DURATION, LATENCY, TIMEOUT, HEADER, SCRIPT];

pub(super) const CONNECTIONS: TypedOption = TypedOption {
    names: &["-c", "--connections"],
    asks: Asks::Option("-c"),
    about: "connections, 10 when not given",
};
pub(super) const THREADS: TypedOption = TypedOption {
    names: &["-t", "--threads"],
    asks: Asks::Option("-t"),
    about: "threads, 2 when not given",
};
pub(super) const DURATION: TypedOption = TypedOption {
    names: &["-d", "--duration"],
    asks: Asks::Made(|value| Ok(vec!["-d".to_string(), seconds(value)?])),
    about: "how long, 10s when not given",
};
pub(super) const LATENCY: TypedOption = TypedOption {
    names: &["--latency", "-L"],
    asks: Asks::Layout,
    about: "print the distribution of latency",
};
pub(super) const TIMEOUT: TypedOption = TypedOption {
    names: &["--timeout", "-T"],
    asks: Asks::Made(|value| Ok(vec!["-T".to_string(), seconds(value)?])),
    about: "a response later than this is a failure, 2s when not given",
};
pub(super) const SCRIPT: TypedOption = TypedOption {
    names: &["-s", "--script"],
    asks: Asks::NoValue("scripts are not run; ceiling load takes -X, -b, -i FILE and -p"),
    about: "a script",
};

fn layout(shown: &Shown<'_>) -> String {
    let mut text = head(shown) + &moments(shown);
    if shown.has("--latency") {
        text += "  Latency Distribution\n";
        for share in [0.5, 0.75, 0.9, 0.99] {
            let value = or_dash(shown.quantile_ns(share), |ns| time(ns / 1e3));
            text += &format!("{:>7.0}% {value:>9}\n", share * 100.0);
        }
    }
    text + &foot(shown)
}

/// `Running 10s test @ http://..` and what was requested.
pub(super) fn head(shown: &Shown<'_>) -> String {
    let load = &shown.point.load;
    format!(
        "Running {}s test @ {}\n  {} threads and {} connections\n",
        load.duration_s.round(),
        shown.run.record.target.url,
        load.threads,
        load.connections
    )
}

/// The rows of latency and rate. The rate is of one thread, in tenths of a second.
pub(super) fn moments(shown: &Shown<'_>) -> String {
    let latency = &shown.point.latency_ns;
    let time_of = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64 / 1e3), time);
    let within = or_dash(shown.within_stdev(), |share| format!("{:.2}%", share * 100.0));
    let each = 10.0 / f64::from(shown.point.load.threads.max(1));
    let rates: Vec<f64> = shown.point.per_100ms.iter().map(|count| *count as f64 * each).collect();
    let spread = Spread::of(&rates);
    let rate = |pick: fn(&Spread) -> f64| or_dash(spread.as_ref().map(pick), metric);
    let inside =
        or_dash(spread.as_ref().map(|one| one.within), |share| format!("{:.2}%", share * 100.0));
    format!(
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n\
         {:>11} {:>9} {:>9} {:>8} {within:>8}\n{:>11} {:>9} {:>9} {:>8} {inside:>8}\n",
        "Latency",
        time_of(latency.mean),
        time_of(latency.stdev),
        time_of(latency.max),
        "Req/Sec",
        rate(|one| one.mean),
        rate(|one| one.stdev),
        rate(|one| one.max),
    )
}

/// Totals, errors and rates.
pub(super) fn foot(shown: &Shown<'_>) -> String {
    let point = shown.point;
    let seconds = point.load.duration_s;
    let (requests, bytes) = (shown.responses(), point.bytes.received);
    let mut text =
        format!("  {requests} requests in {seconds:.2}s, {} read\n", binary(bytes as f64));
    let lost = [
        shown.errors(&["connect"]),
        shown.errors(&["reset", "parse", "unsolicited"]),
        0,
        shown.errors(&["timeout"]),
    ];
    if lost.iter().any(|count| *count > 0) {
        let [connect, read, write, timeout] = lost;
        text += &format!(
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}\n"
        );
    }
    let bad: u64 = ["4xx", "5xx"].iter().filter_map(|class| point.status.get(*class)).sum();
    if bad > 0 {
        text += &format!("  Non-2xx or 3xx responses: {bad}\n");
    }
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    text + &format!(
        "Requests/sec: {:>10.2}\nTransfer/sec: {:>12}\n",
        per_second(requests as f64),
        binary(per_second(bytes as f64))
    )
}

/// Moments of some rates.
struct Spread {
    mean: f64,
    stdev: f64,
    max: f64,
    within: f64,
}

impl Spread {
    fn of(rates: &[f64]) -> Option<Self> {
        if rates.is_empty() {
            return None;
        }
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
        let (stdev, max) = (variance.sqrt(), rates.iter().copied().fold(0.0, f64::max));
        let within = rates.iter().filter(|rate| (**rate - mean).abs() <= stdev).count();
        Some(Self { mean, stdev, max, within: within as f64 / count })
    }
}

/// Microseconds as wrk prints a time.
pub(super) fn time(us: f64) -> String {
    scaled(us, &[("us", 1e3), ("ms", 1e3), ("s", 60.0), ("m", 60.0), ("h", f64::INFINITY)])
}

/// A number as wrk prints it.
fn metric(value: f64) -> String {
    scaled(value, &[("", 1e3), ("k", 1e3), ("M", 1e3), ("G", f64::INFINITY)])
}

/// Bytes as wrk prints them.
fn binary(bytes: f64) -> String {
    scaled(bytes, &[("B", 1024.0), ("KB", 1024.0), ("MB", 1024.0), ("GB", f64::INFINITY)])
}

fn scaled(mut value: f64, units: &[(&str, f64)]) -> String {
    for (unit, next) in units {
        if value < *next {
            return format!("{value:.2}{unit}");
        }
        value /= next;
    }
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_wrk_writes_them() {
        assert_eq!([time(635.91), time(1010.0), time(2.5e6)], ["635.91us", "1.01ms", "2.50s"]);
        assert_eq!([metric(56_200.0), metric(351.5)], ["56.20k", "351.50"]);
        assert_eq!([binary(91_249.0), binary(12.0)], ["89.11KB", "12.00B"]);
    }
}
