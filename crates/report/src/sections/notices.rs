//! Notices: fallbacks, raised limits, unreadable sources, and the cost of the probe.

use crate::page::{Block, List};
use crate::wording::percent;
use model::reading::{Data, ProbeCost, Reading};
use model::run::Run;
use std::collections::BTreeMap;

/// Notices of the run, sources that stopped being readable, and the cost of the probe.
pub fn notices(run: &Run) -> Vec<Block> {
    let mut items = run.record.notices.clone();
    items.extend(lost_sources(&run.readings, ""));
    items.extend(lost_sources(&run.server_readings, " on the server's host"));
    items.extend(probe_cost(&run.readings, ""));
    items.extend(probe_cost(&run.server_readings, " on the server's host"));
    if items.is_empty() {
        return Vec::new();
    }
    vec![Block::List(List { lead: String::new(), items })]
}

/// Sources that could not be read during the run, without duplicates.
fn lost_sources(readings: &[Reading], place: &str) -> Vec<String> {
    let mut lost: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for reading in readings {
        if let (Data::Unreadable(unreadable), _) = reading.data.opened() {
            lost.entry(&unreadable.source).or_insert((&unreadable.why, 0)).1 += 1;
        }
    }
    let sentence = |(source, (why, times)): (&str, (&str, u64))| {
        format!("{source} could not be read{place} {times} times: {why}.")
    };
    lost.into_iter().map(sentence).collect()
}

fn probe_cost(readings: &[Reading], place: &str) -> Option<String> {
    let last = |is_wanted: bool| {
        readings.iter().rev().find_map(|reading| match reading.data.opened() {
            (Data::ProbeCost(cost), is_inside) if is_inside == is_wanted => Some(*cost),
            _ => None,
        })
    };
    let ProbeCost { cpu_ns, elapsed_ns, rounds, late_rounds } = last(false)?;
    // A second thread reads the server's own network namespace, at the same pace.
    let cpu_ns = cpu_ns + last(true).map_or(0, |inside| inside.cpu_ns);
    if elapsed_ns == 0 {
        return None;
    }
    let share = percent(100.0 * cpu_ns as f64 / elapsed_ns as f64);
    Some(format!(
        "The probe used {share} % of one CPU{place}: {rounds} rounds of readings, {late_rounds} \
         of them late."
    ))
}
