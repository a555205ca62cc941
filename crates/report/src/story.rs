//! One run tells one story: headline, marks, charts and claim must agree.
//!
//! In: a run. Out: every contradiction between its page and its claim. For tests of this crate and
//! of others; it never changes a page.

use crate::page::{Block, Mark, Tone};
use crate::sections::{curves, summary};
use crate::wording::{mark_of, per_second};
use model::claim::Claim;
use model::run::{Outcome, Point, Run};

/// Every contradiction found, one sentence each.
pub fn contradictions(run: &Run) -> Vec<String> {
    let mut found = headline(run);
    found.extend(marks(run));
    found.extend(chart(run));
    found
}

/// The headline has the tone `Bad` exactly when the requested figure may not be used.
fn headline(run: &Run) -> Vec<String> {
    let record = &run.record;
    let banners = summary::summary(run).into_iter().filter_map(|block| match block {
        Block::Banner(banner) => Some(banner),
        _ => None,
    });
    // When the target went away, the first banner says so.
    let at = usize::from(record.outcome == Outcome::TargetLost);
    let Some(banner) = banners.into_iter().nth(at) else {
        return vec!["there is no headline".to_string()];
    };
    // A search may have an answer without a valid rate.
    let is_bad = banner.tone == Tone::Bad;
    let is_refused = !record.claim().is_known();
    let agrees = is_bad == is_refused || (record.search.is_some() && is_refused);
    let wrong =
        || format!("'{}' in the tone {:?} for {:?}", banner.text, banner.tone, record.claim());
    if agrees { Vec::new() } else { vec![wrong()] }
}

/// A row has the mark `Broken` exactly when its rate is not known.
fn marks(run: &Run) -> Vec<String> {
    let wrong = |point: &&Point| {
        let is_unknown = matches!(point.claim(), Claim::NotKnown(_));
        (mark_of(run, point) == Mark::Broken) != is_unknown
    };
    let points = run.record.points.iter().filter(wrong);
    points.map(|point| format!("the mark of {} connections", point.load.connections)).collect()
}

/// The limit that a chart draws is the rate of the headline.
fn chart(run: &Run) -> Vec<String> {
    let record = &run.record;
    let answer = record.search.as_ref().and_then(|search| search.answer.as_ref()?.rate);
    let ceiling = record.verdict.ceiling.as_ref().map(|ceiling| ceiling.rate);
    let held = match &record.search {
        Some(_) => answer,
        None => ceiling,
    };
    let charts = curves::curves(run).into_iter().filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    let limits = charts.flat_map(|chart| chart.views).flat_map(|view| view.limits);
    let is_other = |label: &String| held.is_none_or(|rate| !label.contains(&per_second(rate)));
    limits
        .map(|limit| limit.label)
        .filter(is_other)
        .map(|label| {
            format!(
                "the chart says '{label}', the headline {}",
                held.map_or("-".into(), per_second)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::verdict::Ceiling;

    #[test]
    fn every_fixture_tells_one_story() {
        for (name, run) in fixtures::all() {
            assert_eq!(contradictions(&run), [""; 0], "{name}");
        }
    }

    #[test]
    fn the_chart_of_a_search_draws_its_answer_and_not_its_last_trial() {
        let mut run = fixtures::find_answer();
        let ceiling = fixtures::ramp_quota().record.verdict.ceiling;
        run.record.verdict.ceiling = ceiling.map(|one| Ceiling { rate: 336.0, ..one });
        assert_eq!(contradictions(&run), [""; 0]);
    }
}
