//! ghz, JSON.
//!
//! Source: as for the text (`ghz_text.rs`). Times are in nanoseconds, and the options are there.

use super::ghz_text::finish;
use super::{Format, Reader, Report, tallies};
use crate::audit::document::{Node, Object};
use model::audit::{Foreign, Latencies, Loop, Percentile};

pub(super) const FORMAT: Format = Format {
    id: "ghz-json",
    tool: "ghz",
    about: "JSON of ghz",
    example: "ghz -O json --insecure --call package.Service.Method -c 50 -n 1000 HOST:PORT",
    reader: Reader::Document(is, read),
    reads: &[
        ("requests, duration, rate", "`count`, `total`, `rps`"),
        ("target_rate", "`options.rps`"),
        ("mean, all.*", "`average`, of all calls: `all.mean` if some are not OK"),
        ("min, max", "`fastest`, `slowest`, of calls with status OK"),
        ("pN", "`latencyDistribution`, of calls with status OK"),
        ("good, errors, status.*", "`statusCodeDistribution`"),
    ],
    needs: "`count`",
};

fn is(root: &Object<'_>) -> bool {
    root.has(&["count", "rps", "average", "statusCodeDistribution", "latencyDistribution"])
}

/// The most percentiles that are read: a file may have been made to be slow to read.
const ROWS_MAX: usize = 100;
const NS: f64 = 1e-9;

fn read(root: &Object<'_>) -> Report {
    let all = root.count("count").ok_or("count")?;
    let options = root.object("options");
    let asked = |key: &str| options.as_ref().and_then(|of| of.count(key));
    let target = asked("rps").filter(|rate| rate.value > 0.0);
    let mut report = Foreign {
        connections: asked("concurrency"),
        duration_s: root.scaled("total", NS),
        rate: root.scaled("rps", 1.0),
        ..Foreign::default()
    };
    let rank = |node: Node<'_>| {
        let entry = node.object()?;
        let share = entry.scaled("percentage", 0.01)?.value;
        let value = entry.scaled("latency", NS)?;
        (0.0..=1.0).contains(&share).then_some(Percentile { share, value })
    };
    let listed = root.get("latencyDistribution").map(Node::list).unwrap_or_default();
    let of_ok = Latencies {
        min: root.scaled("fastest", NS),
        max: root.scaled("slowest", NS),
        percentiles: listed.into_iter().take(ROWS_MAX).filter_map(rank).collect(),
        ..Latencies::default()
    };
    let counted = (tallies(root, "statusCodeDistribution"), tallies(root, "errorDistribution"));
    finish(&mut report, all, counted, (of_ok, root.scaled("average", NS)));
    if target.is_some() {
        report.meaning.load = Loop::Unknown;
    }
    report.target_rate = target;
    Ok(report)
}
