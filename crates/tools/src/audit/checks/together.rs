//! Several files: rates add up, but percentiles do not, and their mean is not a percentile.

use crate::audit::say::{number, rate, time};
use model::audit::{Account, Finding, Outcome, Percentile};

const SETTLE: &str = "merge the values or histograms themselves: use one process, or a tool that \
                      merges (vegeta report A B, ceiling)";

/// What several accounts say together, if they are of the same load.
pub(crate) fn check(accounts: &[Account]) -> Vec<Finding> {
    // What a text says is rarely of one load.
    if accounts.len() < 2 || accounts.iter().any(|one| one.foreign.coverage.is_some()) {
        return Vec::new();
    }
    let of = |share: f64| of_share(accounts, share);
    [0.5, 0.9, 0.95, 0.99, 0.999].into_iter().filter_map(of).chain(of_rates(accounts)).collect()
}

fn of_share(accounts: &[Account], share: f64) -> Option<Finding> {
    let report = accounts.iter().map(|account| account.foreign.latency()?.at(share));
    let report: Option<Vec<&Percentile>> = report.collect();
    let is_time = |one: &&Percentile| one.value.value.is_finite() && one.value.value >= 0.0;
    let report = report.filter(|report| report.iter().all(is_time))?;
    let lows = report.iter().map(|one| one.value.low);
    let (low, high) = (
        lows.fold(f64::INFINITY, f64::min),
        report.iter().map(|one| one.value.high).fold(0.0, f64::max),
    );
    let name = report.first()?.name();
    let mean = report.iter().map(|one| one.value.value).sum::<f64>() / report.len() as f64;
    Some(Finding {
        check: "averages".into(),
        claims: vec![name.clone()],
        outcome: Outcome::Undecided,
        arithmetic: format!(
            "{name} of all {} lies between {} and {}; their mean, {}, is not a percentile",
            report.len(),
            time(low),
            time(high),
            time(mean)
        ),
        settle: SETTLE.into(),
        bound: Some((Some(low), Some(high))),
    })
}

fn of_rates(accounts: &[Account]) -> Option<Finding> {
    let rates: Option<Vec<f64>> =
        accounts.iter().map(|account| Some(account.foreign.rate.as_ref()?.value)).collect();
    let rates = rates.filter(|rates| rates.iter().all(|rate| rate.is_finite()))?;
    let sum: f64 = rates.iter().sum();
    Some(Finding {
        check: "averages".into(),
        claims: vec!["rate".into()],
        outcome: Outcome::Undecided,
        arithmetic: format!(
            "{} rates add up to {} if they cover the same seconds",
            number(rates.len() as f64),
            rate(sum)
        ),
        settle: "compare their start and end times".into(),
        bound: None,
    })
}
