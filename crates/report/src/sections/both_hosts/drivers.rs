//! Losses and refusals counted by network drivers: rings, allowances of a provider.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Value, Values};

pub(super) const CHART: HostChart = HostChart {
    id: "drivers",
    title: "Losses in network drivers",
    row: "drivers",
    reads: &[Values::DRIVERS],
    of: Of::Network,
    why: "no driver has statistics",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let lines = side.time.growth(side.clocked, (Values::DRIVERS, Kind::Counter), losses);
    side.lines(chart, Lines::new(lines, Axis::linear("per second", Unit::PerSecond), ""))
}

/// The remainder of an allowance is a state, not a loss.
fn losses(data: &Data) -> Vec<(String, f64)> {
    let Data::Values(of) = data else { return Vec::new() };
    let mut losses = Vec::new();
    for (interface, value) in &of.values {
        let Value::Named(counters) = value else { continue };
        for (name, count) in counters.iter().filter(|(name, _)| !name.ends_with("_available")) {
            losses.push((format!("{interface} {name}"), *count as f64));
        }
    }
    losses
}
