//! autocannon, `-j`.
//!
//! Source: autocannon 8 `lib/run.js`, `lib/histUtil.js`. Latencies are kept in whole milliseconds,
//! three digits of them. `requests.average` is the mean of counts per second; `requests.total` are
//! responses, `requests.sent` requests, of which the table prints the number. With a rate and without
//! `-C` values are added to the latencies, one for each millisecond of a response.

use super::{Format, Reader, Told, total};
use crate::document::Object;
use crate::page::Page;
use crate::printed::count;
use model::audit::{
    Counts, Figure, Foreign, Latencies, Loop, Meaning, Percentile, RateIs, Since, Sum, Tally,
};

pub(super) const FORMAT: Format = Format {
    id: "autocannon-json",
    tool: "autocannon",
    about: "JSON of autocannon",
    example: "autocannon -c 64 -d 30 -j URL > autocannon.json",
    reader: Reader::Document(is, read),
};

pub(super) const STEP_S: f64 = 1e-3;
pub(super) const ERROR_SHARE: f64 = 0.001;
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

fn is(root: &Object<'_>) -> bool {
    root.has(&["latency", "requests", "throughput", "non2xx"])
}

fn read(root: &Object<'_>) -> Told {
    let requests = root.object("requests").ok_or("requests")?;
    let throughput = root.object("throughput");
    let class = |name: &&str| Some(Tally { name: name.to_string(), count: root.count(name)? });
    let statuses: Vec<Tally> = CLASSES.iter().filter_map(class).collect();
    let error = |name: &&str| Some(Tally { name: name.to_string(), count: root.count(name)? });
    // `errors` holds the time-outs.
    let errors: Vec<Tally> = ["errors"].iter().filter_map(error).collect();
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let all = requests.count("total").ok_or("requests.total")?;
    let lost = total(&errors).value;
    let latency = root.object("latency").ok_or("latency")?;
    Ok(Foreign {
        url: root.words("url"),
        connections: root.count("connections"),
        depth: root.count("pipelining"),
        threads: root.count("workers"),
        duration_s: root.scaled("duration", 1.0),
        rate: requests.scaled("average", 1.0),
        bytes: throughput.as_ref().and_then(|of| of.count("total")),
        bytes_rate: throughput.as_ref().and_then(|of| of.scaled("average", 1.0)),
        failed: Some(Figure::exact((all.value - good.value).max(0.0) + lost, all.line)),
        sums: vec![Sum {
            claims: vec!["requests".into(), "good".into()],
            whole_is: "requests".into(),
            whole: all.clone(),
            parts_are: "1xx + 2xx + 3xx + 4xx + 5xx".into(),
            parts: statuses.iter().map(|one| one.count.clone()).collect(),
            slack: 0.0,
        }],
        good: Some(good),
        latencies: vec![latencies(&latency, &all)],
        requests: Some(all),
        statuses,
        errors,
        meaning: meaning(),
        ..Foreign::default()
    })
}

pub(super) fn meaning() -> Meaning {
    Meaning {
        load: Loop::Closed,
        counts: Counts::Responses,
        rate_is: RateIs::MeanOfWindows,
        edge_s: Some(0.05),
        ..Meaning::default()
    }
}

fn latencies(of: &Object<'_>, responses: &Figure) -> Latencies {
    let rank = |(key, node): (&str, crate::document::Node<'_>)| {
        let share: f64 = key.strip_prefix('p')?.replace('_', ".").parse().ok()?;
        Some(Percentile { share: share / 100.0, value: node.scaled(1e-3)? })
    };
    let mut percentiles: Vec<Percentile> = of.entries().filter_map(rank).collect();
    percentiles.sort_by(|a, b| a.share.total_cmp(&b.share));
    let kept = of.count("totalCount");
    let has_added = kept.as_ref().is_some_and(|kept| kept.value > responses.value * 1.001 + 10.0);
    Latencies {
        since: if has_added { Since::SendWithAdded } else { Since::Send },
        mean: of.scaled("average", 1e-3),
        stdev: of.scaled("stddev", 1e-3),
        min: of.scaled("min", 1e-3),
        max: of.scaled("max", 1e-3),
        percentiles,
        samples: Some(responses.clone()),
        step_s: STEP_S,
        error_share: ERROR_SHARE,
        ..Latencies::default()
    }
}

/// A count with a suffix of thousands, which is rounded to it: `19765k requests in`.
pub(super) fn before(page: Page<'_>, label: &str) -> Option<Figure> {
    page.before(label).and_then(|spot| spot.read(count))
}
