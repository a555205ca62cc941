//! `ceiling wrk2 ..`: the command line and the layout of wrk2.

use super::wrk::{CONNECTIONS, DEFAULTS, DURATION, SCRIPT, THREADS, TIMEOUT, foot, head, moments};
use super::{Front, Shown, or_dash};
use crate::typed::{Asks, HEADER, TypedOption};
use model::tool::Tool;

pub(super) const FRONT: Front = Front {
    tool: Tool::Wrk2,
    example: "ceiling wrk2 -t2 -c100 -d30s -R2000 --latency http://127.0.0.1:8083/read",
    options: OPTIONS,
    defaults: DEFAULTS,
    trusts_any: true,
    needs: Some(("-R", "wrk2 always has a rate")),
    has_long_dash: false,
    layout,
};

const OPTIONS: &[TypedOption] = &[
    CONNECTIONS,
    THREADS,
    DURATION,
    TypedOption {
        names: &["-R", "--rate"],
        asks: Asks::Option("-R"),
        about: "requests per second",
    },
    TypedOption {
        names: &["--latency", "-L"],
        asks: Asks::Layout,
        about: "print the distribution of latency from the planned instant",
    },
    TypedOption {
        names: &["-U", "--u_latency"],
        asks: Asks::Layout,
        about: "print the one from the send as well",
    },
    TIMEOUT,
    HEADER,
    SCRIPT,
];

const SHARES: [f64; 8] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0];

fn layout(shown: &Shown<'_>) -> String {
    let mut text = head(shown) + &moments(shown);
    if shown.has("--latency") || shown.has("-U") {
        text += "  Latency Distribution (HdrHistogram - Recorded Latency)\n";
        for share in SHARES {
            let value = or_dash(shown.quantile_ns(share), |ns| super::wrk::time(ns / 1e3));
            text += &format!("{:>7.3}% {value:>9}\n", share * 100.0);
        }
        text += "----------------------------------------------------------\n";
    }
    if shown.has("-U") {
        text += "  Latency Distribution (HdrHistogram - Uncorrected Latency)\n";
        let service = &shown.point.service_ns;
        let all = [("50.000", service.p50), ("75.000", service.p75), ("90.000", service.p90)];
        let tail = [("99.000", service.p99), ("99.900", service.p99_9), ("100.000", service.max)];
        for (share, ns) in all.into_iter().chain(tail) {
            let value = or_dash(ns.map(|ns| ns as f64 / 1e3), super::wrk::time);
            text += &format!("{share:>7}% {value:>9}\n");
        }
        text += "----------------------------------------------------------\n";
    }
    text + &foot(shown)
}
