//! `ceiling hey ..`: the command line and the layout of hey 0.1.5.

use super::{COLD, COUNT, Front, Shown, or_dash, steps};
use crate::typed::{Asks, Typed, TypedOption, enough_requests, seconds};
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::Hey,
    example: "ceiling hey -z 10s -c 50 http://127.0.0.1:8083/read",
    options: OPTIONS,
    // A body does not make it a POST.
    defaults: &[(&["-c"], "50"), (COUNT, "200"), (&["-T"], "20s"), (&["-X"], "GET"), COLD],
    adds: Some(("Accept-Encoding: gzip", "-disable-compression")),
    settle,
    trusts_any: true,
    needs: None,
    has_long_dash: true,
    layout,
};

/// Most blocks of a bar.
const BAR: u64 = 40;

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
        names: &["-disable-compression"],
        asks: Asks::Words(&[]),
        about: "ask for no compressed bodies",
    },
    TypedOption {
        names: &["-disable-redirects"],
        asks: Asks::Words(&[]),
        about: "follow none, as is always so here",
    },
    TypedOption { names: &["-x"], asks: Asks::Option("-x"), about: "proxy" },
    TypedOption {
        names: &["-U"],
        asks: Asks::Made(|value| Ok(vec!["-H".into(), format!("User-Agent: {value}")])),
        about: "User-Agent",
    },
    TypedOption {
        names: &["-a"],
        asks: Asks::NoValue("give the header; for example -H 'Authorization: Basic dTpw'"),
        about: "user and password",
    },
    TypedOption {
        names: &["-o"],
        asks: Asks::NoValue("the summary is printed; ceiling load has -o run.json and -o run.csv"),
        about: "an output other than the summary",
    },
];

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
    let untold = |name: &str| row(name, [None; 3], "  (a response is timed as a whole)");
    format!(
        "Details (average, fastest, slowest):\n{}{lookup}{}{}{}",
        row("DNS+dialup", [each, fastest, max], if is_cut && opened > 0 { dialup_why } else { "" }),
        untold("req write"),
        untold("resp wait"),
        untold("resp read"),
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
