//! `ceiling hey ..`: the command line and the layout of hey.

use super::{COUNT, Front, Shown, bar, or_dash, steps};
use crate::typed::{Asks, TypedOption, seconds};
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::Hey,
    example: "ceiling hey -z 10s -c 50 http://127.0.0.1:8083/read",
    options: OPTIONS,
    // A body does not make it a POST.
    defaults: &[(&["-c"], "50"), (COUNT, "200"), (&["-T"], "20s"), (&["-X"], "GET")],
    trusts_any: true,
    needs: None,
    has_long_dash: true,
    layout,
};

const OPTIONS: &[TypedOption] = &[
    TypedOption {
        names: &["-n"],
        asks: Asks::Option("-n"),
        about: "how many requests, 200 when not given",
    },
    TypedOption { names: &["-c"], asks: Asks::Option("-c"), about: "workers, 50 when not given" },
    TypedOption { names: &["-z"], asks: Asks::Option("-d"), about: "how long, instead of -n" },
    TypedOption { names: &["-m"], asks: Asks::Option("-X"), about: "method" },
    TypedOption { names: &["-H"], asks: Asks::Option("-H"), about: "a header" },
    TypedOption { names: &["-d"], asks: Asks::Option("-b"), about: "body" },
    TypedOption { names: &["-D"], asks: Asks::Option("-f"), about: "file with the body" },
    TypedOption {
        names: &["-T"],
        asks: Asks::Made(|value| Ok(vec!["-H".into(), format!("Content-Type: {value}")])),
        about: "Content-Type",
    },
    TypedOption {
        names: &["-A"],
        asks: Asks::Made(|value| Ok(vec!["-H".into(), format!("Accept: {value}")])),
        about: "Accept",
    },
    TypedOption {
        names: &["-host"],
        asks: Asks::Made(|value| Ok(vec!["-H".into(), format!("Host: {value}")])),
        about: "Host header",
    },
    TypedOption {
        names: &["-t"],
        asks: Asks::Made(|value| Ok(vec!["-T".into(), seconds(value)?])),
        about: "a response later than this is a failure, 20 s when not given",
    },
    TypedOption { names: &["-cpus"], asks: Asks::Option("-t"), about: "threads" },
    TypedOption {
        names: &["-q"],
        asks: Asks::NoValue("its rate is per worker; ceiling load has -R for all together"),
        about: "requests per second of each worker",
    },
    TypedOption { names: &["-h2"], asks: Asks::No("requests are HTTP/1.1"), about: "HTTP/2" },
    TypedOption {
        names: &["-disable-keepalive"],
        asks: Asks::Words(&["--requests-per-conn", "1"]),
        about: "a connection for each request",
    },
    TypedOption {
        names: &["-disable-compression", "-disable-redirects"],
        asks: Asks::Words(&[]),
        about: "neither is done here",
    },
    TypedOption { names: &["-x"], asks: Asks::Option("-x"), about: "proxy" },
];

fn layout(shown: &Shown<'_>) -> String {
    let Shown { point, .. } = shown;
    let seconds_of = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64), secs);
    let (responses, total_s) = (shown.responses(), point.load.duration_s);
    let rate = if total_s > 0.0 { responses as f64 / total_s } else { 0.0 };
    let latency = &point.latency_ns;
    let mut text = format!(
        "\nSummary:\n  Total:\t{total_s:.4} secs\n  Slowest:\t{} secs\n  Fastest:\t{} secs\n  \
         Average:\t{} secs\n  Requests/sec:\t{rate:.4}\n  \n",
        seconds_of(latency.max),
        seconds_of(latency.min),
        seconds_of(latency.mean),
    );
    let bytes = point.bytes.received;
    if let Some(each) = bytes.checked_div(responses) {
        text += &format!("  Total data:\t{bytes} bytes\n  Size/request:\t{each} bytes\n\n");
    }
    text += "Response time histogram:\n";
    let rows = steps(shown);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    for (end_ns, count) in rows {
        text += &format!("  {} [{count}]\t|{}\n", &secs3(end_ns), bar(count, most, 40));
    }
    text += "\n\nLatency distribution:\n";
    for share in [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99] {
        let value = or_dash(shown.quantile_ns(share), secs);
        text += &format!("  {:.0}% in {value} secs\n", share * 100.0);
    }
    text += "\nStatus code distribution:\n";
    for (code, count) in shown.codes() {
        text += &format!("  [{code}]\t{count} responses\n");
    }
    let lost: Vec<_> = point.errors.iter().filter(|(_, count)| **count > 0).collect();
    if !lost.is_empty() {
        text += "\nError distribution:\n";
        lost.iter().for_each(|(class, count)| text += &format!("  [{count}]\t{class}\n"));
    }
    text + "\n"
}

fn secs(ns: f64) -> String {
    format!("{:.4}", ns / 1e9)
}

fn secs3(ns: f64) -> String {
    format!("{:.3}", ns / 1e9)
}
