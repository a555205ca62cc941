//! `ceiling h2load --h1 ..`: the command line and the layout of h2load, for HTTP/1.1.

use super::{COUNT, Front, Shown, or_dash};
use crate::typed::{Asks, HEADER, TypedOption, seconds};
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::H2load,
    example: "ceiling h2load --h1 -c 50 -D 10 http://127.0.0.1:8083/read",
    options: OPTIONS,
    defaults: &[(&["-c"], "1"), (&["-t"], "1"), (COUNT, "1"), (&["-T"], "60s")],
    trusts_any: true,
    needs: Some(("--h1", "requests here are HTTP/1.1")),
    has_long_dash: false,
    layout,
};

const OPTIONS: &[TypedOption] = &[
    TypedOption {
        names: &["--h1"],
        asks: Asks::Words(&[]),
        about: "HTTP/1.1, as requests always are here",
    },
    TypedOption {
        names: &["-n", "--requests"],
        asks: Asks::Option("-n"),
        about: "how many requests",
    },
    TypedOption { names: &["-c", "--clients"], asks: Asks::Option("-c"), about: "connections" },
    TypedOption { names: &["-t", "--threads"], asks: Asks::Option("-t"), about: "threads" },
    TypedOption {
        names: &["-m", "--max-concurrent-streams"],
        asks: Asks::Option("-p"),
        about: "requests in flight on a connection",
    },
    TypedOption {
        names: &["-D", "--duration"],
        asks: Asks::Made(|value| Ok(vec!["-d".into(), seconds(value)?])),
        about: "how long, instead of -n",
    },
    TypedOption {
        names: &["--warm-up-time"],
        asks: Asks::Made(|value| Ok(vec!["--warmup".into(), seconds(value)?])),
        about: "load that does not count",
    },
    HEADER,
    TypedOption { names: &["-d", "--data"], asks: Asks::Option("-f"), about: "file with the body" },
    TypedOption {
        names: &["--rps", "-r", "--rate"],
        asks: Asks::NoValue("it is per client; ceiling load has -R for all together"),
        about: "a rate",
    },
];

fn layout(shown: &Shown<'_>) -> String {
    let point = shown.point;
    let (done, seconds) = (shown.responses(), point.load.duration_s);
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let requests = &point.requests;
    let lost: u64 = point.errors.values().sum();
    let timeout = shown.errors(&["timeout"]);
    let of = |class: &str| point.status.get(class).copied().unwrap_or(0);
    let bytes = point.bytes.received;
    format!(
        "finished in {seconds:.2}s, {:.2} req/s, {}/s\nrequests: {} total, {} started, {done} \
         done, {} succeeded, {} failed, {lost} errored, {timeout} timeout\nstatus codes: {} 2xx, \
         {} 3xx, {} 4xx, {} 5xx\ntraffic: {} ({bytes}) total\n{}",
        per_second(done),
        binary(per_second(bytes)),
        requests.sent,
        requests.sent,
        requests.completed,
        requests.failed,
        of("2xx"),
        of("3xx"),
        of("4xx"),
        of("5xx"),
        binary(bytes as f64),
        times(shown)
    )
}

fn times(shown: &Shown<'_>) -> String {
    let mut text = format!(
        "{:21}{:>10}  {:>10}  {:>10}  {:>10}  {:>9}\n",
        "", "min", "max", "mean", "sd", "+/- sd"
    );
    let (latency, connect) = (&shown.point.latency_ns, &shown.point.connections.connect_ns);
    let within = or_dash(shown.within_stdev(), |share| format!("{:.2}%", share * 100.0));
    for (name, of, within) in
        [("time for request:", latency, within), ("time for connect:", connect, "-".to_string())]
    {
        let time = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64), time);
        text += &format!(
            "{name:21}{:>10}  {:>10}  {:>10}  {:>10}  {within:>9}\n",
            time(of.min),
            time(of.max),
            time(of.mean),
            time(of.stdev)
        );
    }
    text
}

/// A time as h2load prints it.
fn time(ns: f64) -> String {
    match ns / 1e3 {
        us if us < 1e3 => format!("{us:.0}us"),
        us if us < 1e6 => format!("{:.2}ms", us / 1e3),
        us => format!("{:.2}s", us / 1e6),
    }
}

/// Bytes as h2load prints them.
fn binary(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 1024.0 => format!("{bytes:.0}B"),
        bytes if bytes < 1024.0 * 1024.0 => format!("{:.2}KB", bytes / 1024.0),
        bytes => format!("{:.2}MB", bytes / 1024.0 / 1024.0),
    }
}
