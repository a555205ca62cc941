//! Memory reclaim: pages scanned, reclaimed and read back, and hits of the server's memory limit.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Values};

pub(super) const CHART: HostChart = HostChart {
    id: "reclaim",
    title: "Reclaim of memory",
    row: "reclaim",
    reads: &[Values::MEMORY],
    of: Of::Host,
    why: "",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let counters = |data: &Data| {
        let Data::Values(of) = data else { return Vec::new() };
        let counters = of.values.iter().filter(|(name, _)| !name.ends_with("_bytes"));
        counters.filter_map(|(name, value)| Some((name.clone(), value.real()?))).collect()
    };
    let lines = side.time.growth(side.clocked, (Values::MEMORY, Kind::Counter), counters);
    let y = Axis::linear("pages or events", Unit::PerSecond);
    side.lines(chart, Lines::new(lines, y, "Of the whole host, named as in /proc/vmstat."))
}
