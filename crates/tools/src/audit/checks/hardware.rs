//! The most that the stated CPUs of the client can do.
//!
//! The assumption is generous: a CPU that sends and receives each request by itself makes no more
//! than 5M requests per second, and one that reads them from pipelined batches no more than 20M.
//! dperf, which bypasses the kernel and parses next to nothing, states 4M HTTP connections per
//! second and core.

use super::{Listed, open, settled};
use crate::audit::say::{number, rate};
use model::audit::{Finding, Foreign, Given, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "hardware",
    asks: "Can the client's CPUs (--client-cpus) produce that rate, under a generous assumption?",
    source: "5M requests/s per CPU, 20M pipelined; dperf states 4M per core without the kernel",
    check,
};

const EACH_MAX: f64 = 5e6;
const PIPELINED_MAX: f64 = 20e6;

const SETTLE: &str =
    "run `ceiling load` against its own sink on that client: that rate is the client's maximum";

fn check(report: &Foreign, given: &Given) -> Vec<Finding> {
    let (Some(cpus), Some(stated)) = (given.client_cpus, &report.rate) else {
        return Vec::new();
    };
    let is_alone = report.depth.as_ref().is_some_and(|depth| depth.high <= 1.0);
    let each_max = if is_alone { EACH_MAX } else { PIPELINED_MAX };
    let most = cpus as f64 * each_max;
    let words = format!(
        "{} over {cpus} CPUs are {} each; assumed at most {}",
        rate(stated.value),
        rate(stated.value / (cpus as f64).max(1.0)),
        rate(each_max)
    );
    if stated.low <= most {
        return vec![settled(Outcome::Holds, &["rate"], words)];
    }
    let words = format!("{words}, together {}", number(most));
    let finding = open(Outcome::Impossible, &["rate"], words, SETTLE);
    vec![Finding { bound: Some((None, Some(most))), ..finding }]
}
