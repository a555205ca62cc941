//! Every request is counted once: sums agree, and rate x duration is the count.

use super::{Listed, compared, open, settled};
use crate::audit::bounds::Range;
use crate::audit::say::{number, rate, time};
use model::audit::{Figure, Finding, Foreign, Given, Outcome, RateIs, Sum};

pub(super) const LISTED: Listed = Listed {
    id: "conservation",
    asks: "Do the parts add up to the whole, and is rate x duration the number of requests?",
    source: "what each tool counts, in its own code (docs/audit.md)",
    check,
};

/// The tool reads its clocks at slightly different instants.
const CLOCKS: f64 = 0.001;
/// A mean of windows that is closer than this to the rate of the run is the same to a reader.
const WINDOWS: f64 = 0.01;
/// People round, and leave out how a load began and ended.
const WRITTEN: f64 = 0.05;

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    report.sums.iter().map(of_sum).chain(of_rate(report)).chain(of_good_rate(report)).collect()
}

fn of_sum(sum: &Sum) -> Finding {
    let zero = Range::of(0.0);
    let parts = sum.parts.iter().map(Range::read).fold(zero, |sum, part| sum + part);
    let whole = Range::read(&sum.whole);
    let words = format!(
        "{} {}; {} are {}",
        sum.whole_is,
        number_exact(whole),
        sum.parts_are,
        number_exact(parts)
    );
    let near = Range { low: whole.low - sum.slack, high: whole.high + sum.slack };
    compared(near, parts, &sum.claims, words)
}

fn number_exact(range: Range) -> String {
    if range.low == range.high { format!("{}", range.low) } else { number(range.high) }
}

/// A mean over whole windows differs from the rate of the run if the last window was cut off.
fn of_windows(report: &Figure, duration: &Figure, requests: &Figure) -> Finding {
    let over_all = Range::read(requests) / Range::read(duration);
    let words = format!(
        "{} / {} = {}, but the tool reports the mean of its windows, {}",
        requests.printed,
        time(duration.value),
        rate(requests.value / duration.value.max(1e-9)),
        rate(report.value)
    );
    if !over_all.wider(WINDOWS).excludes(Range::read(report)) {
        return settled(Outcome::Holds, &["rate", "requests"], words);
    }
    let settle = "divide the responses by the duration";
    let finding = open(Outcome::Impossible, &["rate"], words, settle);
    Finding { bound: Some((Some(over_all.low), Some(over_all.high))), ..finding }
}

fn of_rate(report: &Foreign) -> Option<Finding> {
    let (stated, duration) = (report.rate.as_ref()?, report.duration_s.as_ref()?);
    let requests = report.requests.as_ref()?;
    let within = match report.meaning.rate_is {
        RateIs::Quotient => CLOCKS,
        RateIs::Written => WRITTEN,
        RateIs::MeanOfWindows => return Some(of_windows(stated, duration, requests)),
        RateIs::Unknown => return None,
    };
    let product = (Range::read(stated) * Range::read(duration)).wider(within);
    let words = format!(
        "{} x {} = {}, and {} are reported",
        rate(stated.value),
        time(duration.value),
        number(stated.value * duration.value),
        requests.printed
    );
    Some(compared(product, Range::read(requests), &["rate", "requests", "duration"], words))
}

/// Good responses over the time in which requests were sent and the wait for the last response.
fn of_good_rate(report: &Foreign) -> Option<Finding> {
    let (per_second, good) = (report.good_rate.as_ref()?, report.good.as_ref()?);
    let (sent, wait) = (report.duration_s.as_ref()?, report.wait_s.as_ref()?);
    let all = Range::read(sent) + Range::read(wait);
    let product = (Range::read(per_second) * all).wider(CLOCKS);
    let words = format!(
        "{} x ({} + {}) = {}, and {} are good",
        rate(per_second.value),
        time(sent.value),
        time(wait.value),
        number(per_second.value * (sent.value + wait.value)),
        good.printed
    );
    // Where no time passed, it is the number itself.
    let is_timed = all.low > 0.0;
    is_timed.then(|| compared(product, Range::read(good), &["good_rate", "good", "wait"], words))
}
