//! A rate counts only good responses, and only a good response is a success.
//!
//! A rate that counts failures says nothing about the good responses until they are divided out,
//! from one failure in a hundred on; below that the text says how many there are. If no request got
//! a response, there was no rate.

use super::{Listed, open, settled};
use crate::audit::say::{percent, rate};
use model::audit::{Counts, Finding, Foreign, Given, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "failures",
    asks: "Does the rate count failed responses, or does the success rate call them successes?",
    source: "what each tool counts, in its own code (docs/what-other-tools-say.md)",
    check,
};

/// From this share of failures on, the rate is not that of the good responses.
const SHARE_MIN: f64 = 0.01;

/// How oha names requests that were in flight when its time was over.
const CUT_OFF: &str = "aborted due to deadline";

const SETTLE: &str = "divide the good responses by the time; `ceiling load` counts only these";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let (Some(requests), Some(good)) = (&report.requests, &report.good) else {
        return Vec::new();
    };
    if requests.value < 1.0 {
        return Vec::new();
    }
    let share = |all: f64| (good.value / all.max(1.0)).clamp(0.0, 1.0);
    let ended = requests.value - cut_off(report);
    let of_success = of_success(report, share(ended));
    [of_rate(report, share(requests.value)), of_success].into_iter().flatten().collect()
}

/// Requests that the tool itself cut off at its end: their outcome is unknown.
fn cut_off(report: &Foreign) -> f64 {
    let by_us = report.errors.iter().filter(|one| one.name == CUT_OFF);
    by_us.map(|one| one.count.value).sum()
}

fn of_rate(report: &Foreign, share: f64) -> Option<Finding> {
    let stated = report.rate.as_ref()?;
    if report.meaning.counts == Counts::Good || report.meaning.counts == Counts::Unknown {
        return None;
    }
    let bad = percent(1.0 - share);
    let good = (stated.low * share, stated.high * share);
    let words = format!(
        "{bad} of what it counts are not good responses: {} x {} = {} good",
        rate(stated.value),
        percent(share),
        rate(stated.value * share)
    );
    if 1.0 - share < SHARE_MIN {
        return (share < 1.0).then(|| settled(Outcome::Holds, &["rate"], words));
    }
    let is_apart = report.good_rate.is_some();
    let outcome =
        if is_apart || has_response(report) { Outcome::Undecided } else { Outcome::Impossible };
    let finding = open(outcome, &["rate"], words, SETTLE);
    Some(Finding { bound: Some((Some(good.0), Some(good.1))), ..finding })
}

/// Whether any request got a response of any status, as far as the tool reports it.
pub(super) fn has_response(report: &Foreign) -> bool {
    if report.requests.as_ref().is_some_and(|requests| requests.high == 0.0) {
        return false;
    }
    let is_listed = !(report.statuses.is_empty() && report.errors.is_empty());
    let is_none = report.good.as_ref().is_some_and(|good| good.value == 0.0);
    let of_responses = |name: &str| !name.starts_with('0') && name != "KO";
    let some = report.statuses.iter().any(|one| one.count.value > 0.0 && of_responses(&one.name));
    some || !is_none || !is_listed
}

fn of_success(report: &Foreign, share: f64) -> Option<Finding> {
    let success = report.success.as_ref()?;
    let words = format!("{} of the requests that ended have a good response", percent(share));
    if success.low <= share + SHARE_MIN {
        return Some(settled(Outcome::Holds, &["success"], words));
    }
    let finding = open(Outcome::Impossible, &["success"], words, SETTLE);
    Some(Finding { bound: Some((Some(share), Some(share))), ..finding })
}
