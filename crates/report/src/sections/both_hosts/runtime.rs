//! Time counted by the server's language runtime: pauses, garbage collection, waits for locks.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Values};

pub(super) const CHART: HostChart = HostChart {
    id: "runtime",
    title: "Runtime of the server",
    row: "runtime",
    reads: &[Values::SERVER_RUNTIME],
    of: Of::Server,
    why: "the server does not report it",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let times = |data: &Data| {
        let Data::Values(of) = data else { return Vec::new() };
        let time = |(name, value): (&String, &model::reading::Value)| {
            let what = name.strip_suffix("_seconds")?.replace('_', " ");
            Some((what, value.real()?))
        };
        of.values.iter().filter_map(time).collect()
    };
    let lines = side.time.growth(side.clocked, (Values::SERVER_RUNTIME, Kind::Counter), times);
    let y = Axis::linear("CPUs or goroutines", Unit::Cpus);
    side.lines(chart, Lines::new(lines, y, "Seconds that the runtime counted per second."))
}
