//! Pressure stall information: the share of time in which tasks waited for a resource.

use super::side::{Drawn, Lines, Side, named};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::Values;

pub(super) const CHART: HostChart = HostChart {
    id: "pressure",
    title: "Pressure (PSI)",
    row: "pressure",
    reads: &[Values::PRESSURE],
    of: Of::Host,
    why: "the kernel has no /proc/pressure",
    draw,
};

const NAMES: &[(&str, &str)] = &[
    ("cpu.some", "CPU some"),
    ("cpu.full", "CPU all"),
    ("memory.some", "memory some"),
    ("memory.full", "memory all"),
    ("io.some", "I/O some"),
    ("io.full", "I/O all"),
    ("irq.full", "interrupts all"),
];

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    // Microseconds of stall per second; a ten thousandth of that is percent.
    let pick = |data: &_| {
        let stalls = named(data, NAMES).into_iter();
        stalls.map(|(name, us)| (name, us / 1e4)).collect()
    };
    let lines = side.time.growth(side.clocked, (Values::PRESSURE, Kind::Counter), pick);
    let y = Axis::linear("time stalled", Unit::Percent);
    let note = "Some: at least one task waited. All: every task that was not idle waited.";
    side.lines(chart, Lines::new(lines, y, note))
}
