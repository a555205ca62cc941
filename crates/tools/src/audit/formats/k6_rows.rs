//! k6, `--out json=FILE`: one point of one metric per line, any number of lines.
//!
//! Source: k6 1.8 `output/json`. The distribution is built here from the points of
//! `http_req_duration`; `k6_json.rs` says what they mean.

use super::{Format, Reader, Report};
use crate::audit::page::Page;
use crate::audit::rows::{Line, RequestOutcome, Sampled, lines};
use crate::audit::unread::Unread;
use jiff::Timestamp;
use model::audit::{Counts, Figure, Foreign, Loop, Meaning, RateIs, Since};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::BufRead;

pub(super) const FORMAT: Format = Format {
    id: "k6-rows",
    tool: "k6",
    about: "JSON lines of k6",
    example: "k6 run --out json=k6.jsonl script.js",
    reader: Reader::Rows(is, read),
    reads: &[
        ("requests, good, errors, status.*", "points of `http_req_duration`, by `status`"),
        ("duration, rate", "first start, last end of these"),
        ("dropped, bytes", "points of `dropped_iterations`, `data_received`"),
        ("mean, stdev, min, max, pN", "points of `http_req_duration`"),
    ],
    needs: "point of `http_reqs`; with an object that is no point",
};

fn is(head: Page<'_>) -> bool {
    let first = head.first();
    let marks = ["\"type\":\"", "\"metric\":\""];
    first.starts_with('{') && marks.iter().all(|mark| first.contains(mark))
}

#[derive(Deserialize)]
struct Row {
    metric: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Data,
}

#[derive(Deserialize, Default)]
struct Data {
    time: Option<String>,
    value: Option<f64>,
    #[serde(default)]
    tags: Option<BTreeMap<String, String>>,
}

#[derive(Default)]
struct Sums {
    sampled: Sampled,
    requests: f64,
    iterations: f64,
    dropped: f64,
    users_max: f64,
    received: f64,
}

fn read(source: &mut dyn BufRead) -> Result<Report, Unread> {
    let mut sums = Sums::default();
    lines(source, |line| {
        // Lines of a log may be among them.
        if !line.text.starts_with('{') {
            return Ok(());
        }
        match serde_json::from_str::<Row>(line.text) {
            Ok(row) if row.kind == "Point" => sums.add(&row.metric, &row.data, line),
            Ok(_) => Ok(()),
            Err(_) => Err(Unread::row(line.number, "row", line.text, "a point of k6 as JSON")),
        }
    })?;
    Ok(sums.foreign())
}

impl Sums {
    fn add(&mut self, metric: &str, data: &Data, line: &Line<'_>) -> Result<(), Unread> {
        let Some(value) = data.value else { return Ok(()) };
        match metric {
            "http_req_duration" => {
                let instant = |time: &str| {
                    let refused = || {
                        Unread::row(
                            line.number,
                            "time",
                            time,
                            "a time such as 2026-01-31T12:00:00Z",
                        )
                    };
                    time.parse::<Timestamp>().map_err(|_| refused())
                };
                let at = data.time.as_deref().map(instant).transpose()?;
                let end_s = at.map(|at| at.as_nanosecond() as f64 / 1e9);
                let tags = data.tags.as_ref();
                let status = tags.and_then(|tags| tags.get("status")).map_or("0", String::as_str);
                let start_s = end_s.map(|end| end - value / 1e3);
                let span = start_s.zip(end_s);
                let is_good = super::is_good(status);
                let outcome = RequestOutcome { status, is_good, line: line.number };
                self.sampled.add(value / 1e3, span, &outcome);
            }
            "http_reqs" => self.requests += value,
            "iterations" => self.iterations += value,
            "dropped_iterations" => self.dropped += value,
            "vus" | "vus_max" => self.users_max = self.users_max.max(value),
            "data_received" => self.received += value,
            _ => {}
        }
        Ok(())
    }

    fn foreign(self) -> Report {
        if self.requests < 1.0 {
            return Err("point of http_reqs");
        }
        let counted = |value: f64| (value > 0.0).then(|| Figure::exact(value, 0));
        let (is_open, users, bytes) = (self.dropped > 0.0, self.users_max, self.received);
        let meaning = Meaning {
            load: if is_open { Loop::Open } else { Loop::Unknown },
            counts: Counts::Requests,
            rate_is: RateIs::Quotient,
            edge_s: Some(0.0),
            ..Meaning::default()
        };
        let (requests, iterations) = (Figure::exact(self.requests, 0), counted(self.iterations));
        let mut report = Foreign {
            connections: counted(users),
            dropped: counted(self.dropped),
            bytes: counted(bytes),
            ..self.sampled.foreign(Since::Send, 0.0, meaning)
        };
        super::k6_json::of_iterations(&mut report, &requests, iterations.as_ref());
        Ok(report)
    }
}
