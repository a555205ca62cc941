//! bench.json: every slot as measured, and the conclusions.

use super::bounds::{Judged, Verdict};
use super::compare::{Comparison, Summary, foreign};
use super::machine;
use super::memory::Memory;
use super::rounds::Bench;
use super::rows::Figure;
use super::slot::{RowResult, Slot};
use super::statistics::Spread;
use serde_json::{Map, Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// All results of a run of the bench.
pub struct Report<'r> {
    pub bench: &'r Bench,
    pub results: &'r [RowResult],
    pub memory: Option<&'r Memory>,
    pub judged: &'r [Judged],
}

impl Report<'_> {
    /// The whole document.
    pub fn record(&self) -> Value {
        let setting = &self.bench.setting;
        let peers: Map<String, Value> = self
            .bench
            .peers
            .versions()
            .map(|(name, version)| (name.to_owned(), json!(version)))
            .collect();
        let rows = self.results.iter().map(|result| row(result, setting.rounds));
        let rows: Vec<Value> = rows.collect();
        json!({
            "schema": "ceiling.bench/1",
            "written_at_unix_s": unix_seconds(),
            "rounds": setting.rounds,
            "seconds": setting.seconds(),
            "seed": setting.seed,
            "host": host(),
            "peers": peers,
            "absent": self.bench.peers.absent().collect::<Vec<_>>(),
            "foreign_cpu_share": foreign(self.results).map(spread),
            "rows": rows,
            "memory": self.memory.map(Memory::record),
            "bounds": self.judged.iter().map(bound).collect::<Vec<_>>(),
        })
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn host() -> Value {
    json!({
        "kernel": machine::value("/proc/sys/kernel/osrelease"),
        "cpu_model": machine::cpu_model(),
        "cpus": machine::value("/sys/devices/system/cpu/online"),
        "congestion_control": machine::value("/proc/sys/net/ipv4/tcp_congestion_control"),
        "load_average": machine::value("/proc/loadavg"),
    })
}

fn row(result: &RowResult, rounds: u32) -> Value {
    let comparison = Comparison::of(result, rounds);
    let lines: Map<String, Value> =
        result.contenders.iter().map(|(name, line)| (name.clone(), json!(line))).collect();
    json!({
        "name": result.row.name,
        "title": result.row.title,
        "figure": match result.row.figure {
            Figure::ProcessCpu => "process CPU per request",
            Figure::WholeCpu => "whole client CPU per request",
        },
        "skipped": result.skipped,
        "floor": comparison.floor(),
        "commands": lines,
        "slots": result.slots.iter().map(Slot::record).collect::<Vec<_>>(),
        "served": result.served,
        "summary": comparison.summaries().iter().map(summary).collect::<Vec<_>>(),
    })
}

fn summary(summary: &Summary) -> Value {
    json!({
        "contender": summary.contender,
        "cost_ns_per_request": summary.cost_ns.map(spread),
        "user_share": summary.user_share.map(spread),
        "rate": summary.rate.map(spread),
        "over_floor": summary.over_floor.map(spread),
        "subject_over": summary.subject_over.map(spread),
        "resumed": summary.resumed.map(spread),
        "p50_ns": summary.p50_ns.map(spread),
        "p99_ns": summary.p99_ns.map(spread),
        "failed": summary.failure,
    })
}

fn bound(judged: &Judged) -> Value {
    let (verdict, reason) = match &judged.verdict {
        Verdict::Met => ("met", None),
        Verdict::Missed => ("missed", None),
        Verdict::NotMeasured(reason) => ("not measured", Some(reason)),
    };
    json!({
        "row": judged.row,
        "subject": judged.subject,
        "bound": judged.bound.sentence(),
        "limit": judged.bound.limit,
        "measured": judged.measured.map(spread),
        "verdict": verdict,
        "reason": reason,
    })
}

fn spread(spread: Spread) -> Value {
    json!({
        "median": spread.median,
        "min": spread.min,
        "max": spread.max,
        "rounds": spread.count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::sample;

    #[test]
    fn every_slot_is_kept() {
        let result = sample(&[("ceiling uring", [Some(1000), None])]);
        let record = row(&result, 2);
        assert_eq!(record["slots"].as_array().unwrap().len(), 2);
        assert_eq!(record["slots"][0]["requests"], 1000);
        assert_eq!(record["slots"][1]["failed"], "it died");
        assert_eq!(record["summary"][0]["cost_ns_per_request"]["median"], 1000.0);
    }

    #[test]
    fn a_bound_is_recorded_with_its_figure_or_its_reason() {
        let result = sample(&[
            ("ceiling uring", [Some(1000), Some(1000)]),
            ("wrk", [Some(2000), Some(2000)]),
        ]);
        let comparison = Comparison::of(&result, 2);
        let records: Vec<Value> =
            result.row.bounds.iter().map(|own| bound(&comparison.judge(*own))).collect();
        assert_eq!(records[0]["verdict"], "not measured");
        assert_eq!(records[0]["reason"], "no floor was measured");
        assert_eq!((&records[1]["verdict"], &records[1]["limit"]), (&json!("met"), &json!(0.92)));
        assert_eq!(records[1]["measured"]["median"], 0.5);
    }
}
