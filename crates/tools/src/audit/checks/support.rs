//! A percentile needs ten values beyond it, as in our own reports.

use super::{Listed, open};
use crate::audit::say::number;
use model::audit::{Finding, Foreign, Given, Latencies, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "support",
    asks: "Do ten values lie beyond each percentile?",
    source: "order statistics: with fewer, the interval of the percentile has no useful upper end \
             (docs/method.md)",
    check,
};

const BEYOND_MIN: f64 = 10.0;

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |latency: &Latencies| of_one(report, latency);
    report.latencies.iter().flat_map(of).collect()
}

fn of_one(report: &Foreign, latency: &Latencies) -> Vec<Finding> {
    let Some(values) = latency.samples.as_ref().or(report.requests.as_ref()) else {
        return Vec::new();
    };
    let few = latency.percentiles.iter().filter(|one| {
        one.share > 0.5 && values.high * (1.0 - one.share) < BEYOND_MIN * (1.0 - 1e-9)
    });
    let finding = |one: &model::audit::Percentile| {
        let beyond = values.high * (1.0 - one.share);
        let arithmetic = format!(
            "{} values leave {beyond:.1} beyond {}; ten are needed",
            number(values.value),
            one.name()
        );
        let needed = BEYOND_MIN / (1.0 - one.share).max(1e-9);
        let settle = format!("measure at least {} requests", number(needed.round()));
        open(Outcome::Undecided, &[&latency.claim(&one.name())], arithmetic, &settle)
    };
    few.map(finding).collect()
}
