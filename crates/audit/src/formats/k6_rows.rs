//! k6, `--out json=FILE`: one point of one metric per line, any number of lines.
//!
//! Source: k6 1.8 `output/json`. The distribution is built here from the points of
//! `http_req_duration`; `k6_json.rs` says what they mean.

use super::{Format, Reader, Told};
use crate::page::Page;
use crate::rows::{Said, Sampled, lines};
use jiff::Timestamp;
use model::audit::{Counts, Figure, Foreign, Loop, Meaning, RateIs, Since};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead};

pub(super) const FORMAT: Format = Format {
    id: "k6-rows",
    tool: "k6",
    about: "JSON lines of k6",
    example: "k6 run --out json=k6.jsonl script.js",
    reader: Reader::Rows(is, read),
};

fn is(head: Page<'_>) -> bool {
    let first = head.lines().next().map_or("", |spot| spot.text);
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

fn read(source: &mut dyn BufRead) -> io::Result<Told> {
    let mut sums = Sums::default();
    lines(source, |line| {
        let Ok(row) = serde_json::from_str::<Row>(line) else { return };
        if row.kind == "Point" {
            sums.add(&row.metric, &row.data);
        }
    })?;
    Ok(sums.told())
}

impl Sums {
    fn add(&mut self, metric: &str, data: &Data) {
        let Some(value) = data.value.filter(|value| value.is_finite() && *value >= 0.0) else {
            return;
        };
        match metric {
            "http_req_duration" => {
                let at = data.time.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
                let end_s = at.map(|at| at.as_nanosecond() as f64 / 1e9);
                let tags = data.tags.as_ref();
                let status = tags.and_then(|tags| tags.get("status")).map_or("0", String::as_str);
                let start_s = end_s.map(|end| end - value / 1e3);
                let span = start_s.zip(end_s);
                let is_good = super::is_good(status);
                self.sampled.add(value / 1e3, span, &Said { status, is_good });
            }
            "http_reqs" => self.requests += value,
            "iterations" => self.iterations += value,
            "dropped_iterations" => self.dropped += value,
            "vus" | "vus_max" => self.users_max = self.users_max.max(value),
            "data_received" => self.received += value,
            _ => {}
        }
    }

    fn told(self) -> Told {
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
        let mut told = Foreign {
            connections: counted(users),
            dropped: counted(self.dropped),
            bytes: counted(bytes),
            ..self.sampled.told(Since::Send, 0.0, meaning)
        };
        super::k6_json::of_iterations(&mut told, &requests, iterations.as_ref());
        Ok(told)
    }
}
