//! `ceiling oha ..`: the command line and the layout of oha.

use super::{COUNT, Front, Shown, bar, or_dash, steps};
use crate::typed::{Asks, TypedOption, seconds};
use model::run::Point;
use model::tool::Tool;
use model::units::show_bytes;

pub(super) const FRONT: Front = Front {
    tool: Tool::Oha,
    example: "ceiling oha -z 10s -c 50 http://127.0.0.1:8083/read",
    options: OPTIONS,
    // A body does not make it a POST.
    defaults: &[(&["-c"], "50"), (COUNT, "200"), (&["-T"], "60s"), (&["-X"], "GET")],
    trusts_any: false,
    needs: None,
    has_long_dash: false,
    layout,
};

const OPTIONS: &[TypedOption] = &[
    TypedOption { names: &["-n"], asks: Asks::Option("-n"), about: "how many requests" },
    TypedOption {
        names: &["-c"],
        asks: Asks::Option("-c"),
        about: "connections, 50 when not given",
    },
    TypedOption { names: &["-z"], asks: Asks::Option("-d"), about: "how long, instead of -n" },
    TypedOption { names: &["-q"], asks: Asks::Option("-R"), about: "requests per second" },
    TypedOption {
        names: &["--latency-correction"],
        asks: Asks::Words(&[]),
        about: "latency from the planned instant, as -q always has here",
    },
    TypedOption { names: &["-m", "--method"], asks: Asks::Option("-X"), about: "method" },
    TypedOption { names: &["-H"], asks: Asks::Option("-H"), about: "a header" },
    TypedOption { names: &["-d"], asks: Asks::Option("-b"), about: "body" },
    TypedOption { names: &["-D"], asks: Asks::Option("-f"), about: "file with the body" },
    TypedOption {
        names: &["-T"],
        asks: Asks::Made(|value| Ok(vec!["-H".into(), format!("Content-Type: {value}")])),
        about: "Content-Type",
    },
    TypedOption {
        names: &["-t", "--timeout"],
        asks: Asks::Made(|value| Ok(vec!["-T".into(), seconds(value)?])),
        about: "a response later than this is a failure, 60s when not given (oha waits for ever)",
    },
    TypedOption { names: &["--insecure"], asks: Asks::Words(&["-k"]), about: "any certificate" },
    TypedOption {
        names: &["--no-tui"],
        asks: Asks::Words(&[]),
        about: "no display during the run",
    },
    TypedOption {
        names: &["--disable-compression"],
        asks: Asks::Words(&[]),
        about: "no compressed body is asked for here",
    },
    TypedOption {
        names: &["-r", "--redirect"],
        asks: Asks::Made(|value| match value {
            "0" => Ok(vec![]),
            _ => Err("redirects are not followed here; give 0".into()),
        }),
        about: "how many redirects to follow: 0",
    },
    TypedOption {
        names: &["-p"],
        asks: Asks::NoValue("it is for HTTP/2; ceiling load has -p for HTTP/1.1"),
        about: "requests at once on a connection",
    },
    TypedOption { names: &["--http2"], asks: Asks::No("requests are HTTP/1.1"), about: "HTTP/2" },
    TypedOption {
        names: &["--output-format", "-j"],
        asks: Asks::NoValue("for JSON use ceiling load --json"),
        about: "an output other than text",
    },
];

fn layout(shown: &Shown<'_>) -> String {
    let Shown { point, .. } = shown;
    let time = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64), ms);
    let (requests, seconds) = (ended(shown), point.load.duration_s);
    let share = |of: u64| if requests > 0 { of as f64 / requests as f64 } else { 0.0 };
    let rate = if seconds > 0.0 { requests as f64 / seconds } else { 0.0 };
    let latency = &point.latency_ns;
    let each = point.bytes.received.checked_div(shown.responses()).unwrap_or(0);
    let mut text = format!(
        "Summary:\n  Success rate:\t{:.2}%\n  Total:\t{}\n  Slowest:\t{}\n  Fastest:\t{}\n  \
         Average:\t{}\n  Requests/sec:\t{rate:.4}\n\n  Total data:\t{}\n  Size/request:\t{}\n  \
         Size/sec:\t{}\n\n",
        share(shown.responses()) * 100.0,
        ms(seconds * 1e9),
        time(latency.max),
        time(latency.min),
        time(latency.mean),
        show_bytes(point.bytes.received as f64),
        show_bytes(each as f64),
        show_bytes(point.bytes.received as f64 / seconds.max(f64::MIN_POSITIVE)),
    );
    text += &histogram(shown);
    text += "Response time distribution:\n";
    for share in [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999] {
        let value = or_dash(shown.quantile_ns(share), ms);
        text += &format!("  {:.2}% in {value}\n", share * 100.0);
    }
    text + "\n\n" + &details(point) + &distributions(shown)
}

/// Requests that ended, with or without a response.
fn ended(shown: &Shown<'_>) -> u64 {
    let point = shown.point;
    point.requests.completed + point.requests.failed + point.requests.unanswered
}

fn histogram(shown: &Shown<'_>) -> String {
    let rows = steps(shown);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut text = String::from("Response time histogram:\n");
    for (end_ns, count) in rows {
        let count_cell = format!("[{count}]");
        text += &format!("  {:>10} {count_cell:<8} |{}\n", ms(end_ns), bar(count, most, 32));
    }
    text + "\n"
}

fn details(point: &Point) -> String {
    let connect = &point.connections.connect_ns;
    let time = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64), ms);
    format!(
        "Details (average, fastest, slowest):\n  DNS+dialup:\t{}, {}, {}\n\n",
        time(connect.mean),
        time(connect.min),
        time(connect.max)
    )
}

fn distributions(shown: &Shown<'_>) -> String {
    let mut text = String::from("Status code distribution:\n");
    for (code, count) in shown.codes() {
        text += &format!("  [{code}] {count} responses\n");
    }
    let lost: Vec<_> = shown.point.errors.iter().filter(|(_, count)| **count > 0).collect();
    let unanswered = shown.point.requests.unanswered;
    if !lost.is_empty() || unanswered > 0 {
        text += "\nError distribution:\n";
        lost.iter().for_each(|(class, count)| text += &format!("  [{count}] {class}\n"));
        if unanswered > 0 {
            text += &format!("  [{unanswered}] without a response when the drain ended\n");
        }
    }
    text
}

fn ms(ns: f64) -> String {
    format!("{:.4} ms", ns / 1e6)
}
