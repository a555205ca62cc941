//! A rate is of good responses, and a success is a good response.
//!
//! A rate that counts failures is refuted as what its reader takes it for, from one failure in a
//! hundred on; below that the words say how many there are.

use super::{Listed, open, said};
use crate::say::{percent, rate};
use model::audit::{Counts, Finding, Foreign, Given, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "failures",
    asks: "Does the rate count responses that were not good, or a success rate call them one?",
    source: "what each tool counts, in its own code (docs/what-other-tools-say.md)",
    check,
};

/// The share of failures from which a rate is another one.
const SHARE_MIN: f64 = 0.01;

const SETTLE: &str = "divide the good responses by the time; `ceiling load` counts only these";

fn check(told: &Foreign, _: &Given) -> Vec<Finding> {
    let (Some(requests), Some(good)) = (&told.requests, &told.good) else { return Vec::new() };
    if requests.value < 1.0 {
        return Vec::new();
    }
    let share = (good.value / requests.value).clamp(0.0, 1.0);
    [of_rate(told, share), of_success(told, share)].into_iter().flatten().collect()
}

fn of_rate(told: &Foreign, share: f64) -> Option<Finding> {
    let told_rate = told.rate.as_ref()?;
    if told.meaning.counts == Counts::Good || told.meaning.counts == Counts::Unknown {
        return None;
    }
    let bad = percent(1.0 - share);
    let good = (told_rate.low * share, told_rate.high * share);
    let words = format!(
        "{bad} of what it counts are no good responses: {} x {} = {} good",
        rate(told_rate.value),
        percent(share),
        rate(told_rate.value * share)
    );
    if 1.0 - share < SHARE_MIN {
        return (share < 1.0).then(|| said(Outcome::Holds, &["rate"], words));
    }
    let finding = open(Outcome::CannotBe, &["rate"], words, SETTLE);
    Some(Finding { bound: Some((Some(good.0), Some(good.1))), ..finding })
}

fn of_success(told: &Foreign, share: f64) -> Option<Finding> {
    let success = told.success.as_ref()?;
    let words = format!("{} of the requests have a good response", percent(share));
    if success.low <= share + SHARE_MIN {
        return Some(said(Outcome::Holds, &["success"], words));
    }
    let finding = open(Outcome::CannotBe, &["success"], words, SETTLE);
    Some(Finding { bound: Some((Some(share), Some(share))), ..finding })
}
