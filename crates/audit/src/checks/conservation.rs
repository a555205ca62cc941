//! Every request is counted once: sums agree, and rate x duration is the count.

use super::{Listed, open, said};
use crate::bounds::Range;
use crate::say::{number, rate, time};
use model::audit::{Finding, Foreign, Given, Outcome, RateIs, Sum};

pub(super) const LISTED: Listed = Listed {
    id: "conservation",
    asks: "Are the parts as many as the whole, and is rate x duration the number of requests?",
    source: "what each tool counts, in its own code (docs/audit.md)",
    check,
};

/// Clocks are read at slightly different instants.
const CLOCKS: f64 = 0.001;

const AGAIN: &str = "take the output as the tool wrote it; one of these figures was changed";

fn check(told: &Foreign, _: &Given) -> Vec<Finding> {
    told.sums.iter().map(of_sum).chain(of_rate(told)).collect()
}

fn of_sum(sum: &Sum) -> Finding {
    let zero = Range::of(0.0);
    let parts = sum.parts.iter().map(Range::read).fold(zero, |sum, part| sum + part);
    let whole = Range::read(&sum.whole);
    let claims: Vec<&str> = sum.claims.iter().map(String::as_str).collect();
    let words = format!(
        "{} {}; {} are {}",
        sum.whole_is,
        number_exact(whole),
        sum.parts_are,
        number_exact(parts)
    );
    let near = Range { low: whole.low - sum.slack, high: whole.high + sum.slack };
    match near.excludes(parts) {
        true => open(Outcome::CannotBe, &claims, words, AGAIN),
        false => said(Outcome::Holds, &claims, words),
    }
}

fn number_exact(range: Range) -> String {
    if range.low == range.high { format!("{}", range.low) } else { number(range.high) }
}

fn of_rate(told: &Foreign) -> Option<Finding> {
    let (rate_told, duration) = (told.rate.as_ref()?, told.duration_s.as_ref()?);
    let requests = told.requests.as_ref()?;
    if told.meaning.rate_is != RateIs::Quotient {
        return None;
    }
    let product = (Range::read(rate_told) * Range::read(duration)).wider(CLOCKS);
    let words = format!(
        "{} x {} = {}, and {} are told",
        rate(rate_told.value),
        time(duration.value),
        number(rate_told.value * duration.value),
        requests.printed
    );
    let claims = ["rate", "requests", "duration"];
    Some(match product.excludes(Range::read(requests)) {
        true => open(Outcome::CannotBe, &claims, words, AGAIN),
        false => said(Outcome::Holds, &claims, words),
    })
}
