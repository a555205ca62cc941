//! The curve of a ramp in one paragraph.

use crate::page::Block;
use model::ramp_fit::{Estimate, FittedShape, ShapeFit, ShapeKind};
use model::run::Run;
use model::units::{show_count, show_ns};

/// Forms within this AICc difference of the best count as equally good.
const AS_WELL: f64 = 2.0;

/// The curve that fits the levels, with its cautions.
pub fn sentence(run: &Run) -> Vec<Block> {
    run.record.shape.iter().map(|shape| Block::Text(phrase(shape))).collect()
}

fn phrase(shape: &ShapeFit) -> String {
    let best = shape.best.and_then(|kind| shape.of(kind));
    let mut parts: Vec<String> = best.iter().map(|fit| form(fit, shape)).collect();
    for fit in shape.fits.iter().filter(|fit| Some(fit.kind) != shape.best) {
        let is_as_good = best.is_some() && fit.aicc_behind < AS_WELL;
        if is_as_good {
            parts.push(format!("{} fits as well", form(fit, shape)));
        } else if fit.kind == ShapeKind::Usl && shape.best == Some(ShapeKind::HardCap) {
            parts.push(form(fit, shape));
        }
    }
    let mut sentences = Vec::new();
    if !parts.is_empty() {
        sentences
            .push(format!("Shape: {}. It does not tell whose limit that is.", parts.join("; ")));
    }
    sentences.extend(shape.cautions.iter().map(|caution| format!("Shape caution: {caution}.")));
    sentences.join(" ")
}

fn form(fit: &FittedShape, shape: &ShapeFit) -> String {
    let most = shape.levels.last().map_or(0.0, |level| level.in_flight);
    match fit.kind {
        ShapeKind::Linear => {
            let time = |seconds: f64| show_ns(seconds * 1e9);
            let each = within(&fit.unloaded_s, "", time);
            format!("linear up to {} in flight, {each} each", show_count(most))
        }
        ShapeKind::HardCap => {
            format!("hard cap at {}", of_cap(fit))
        }
        ShapeKind::Usl => {
            let part = |name: &str, share: &Option<Estimate>| {
                share.map(|share| format!("{name} = {}", within(&share, "", small)))
            };
            let shares = [part("s", &fit.serial_share), part("k", &fit.crosstalk_share)];
            let shares: Vec<_> = shares.into_iter().flatten().collect();
            let peak = fit
                .peak_in_flight
                .map(|peak| format!(", highest at {} in flight", show_count(peak.value.round())));
            format!("USL: {}{}", shares.join(", "), peak.unwrap_or_default())
        }
        ShapeKind::Cliff => {
            let between = fit.breaks_at_in_flight.map_or_else(String::new, |at| {
                format!(" between {} and {} in flight", show_count(at.low), show_count(at.high))
            });
            let before = fit.cap.map(|_| format!(", before it a cap at {}", of_cap(fit)));
            format!("a cliff{between}{}", before.unwrap_or_default())
        }
    }
}

fn of_cap(fit: &FittedShape) -> String {
    let cap = fit.cap.map_or_else(String::new, |cap| within(&cap, "/s", show_count));
    let knee = fit.knee_in_flight.map_or_else(String::new, |knee| {
        format!(", knee at {}", within(&knee, " in flight", tenths))
    });
    format!("{cap}{knee}")
}

fn within(estimate: &Estimate, unit: &str, show: impl Fn(f64) -> String) -> String {
    let Estimate { value, low, high } = *estimate;
    format!("{}{unit} [{}, {}]", show(value), show(low), show(high))
}

/// Requests in flight, with a decimal below 10: a knee at 1.5 is not one at 2.
fn tenths(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { show_count(value.round()) }
}

fn small(value: f64) -> String {
    match value {
        0.0 => "0".to_string(),
        value if value < 1e-3 => format!("{value:.1e}"),
        value => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_cap_is_said_with_its_interval_and_usl_beside_it() {
        let shape = fixtures::ramp_quota().record.shape.expect("the ramp has eight levels");
        let said = phrase(&shape);
        assert!(said.starts_with("Shape: hard cap at 48.3k/s [48.1k, 48.5k], knee at"), "{said}");
        assert!(said.contains("in flight [") && said.contains("; USL: s = "), "{said}");
    }

    #[test]
    fn without_a_form_only_the_reason_is_said() {
        let mut shape = fixtures::ramp_quota().record.shape.expect("the ramp has eight levels");
        shape.best = None;
        shape.cautions = vec!["no form describes the levels".to_string()];
        assert_eq!(phrase(&shape), "Shape caution: no form describes the levels.");
    }
}
