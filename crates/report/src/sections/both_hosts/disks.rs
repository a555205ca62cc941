//! The share of time in which each disk had requests in flight.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::Data;

pub(super) const CHART: HostChart = HostChart {
    id: "disks",
    title: "Disks",
    row: "disks",
    reads: &["disks"],
    of: Of::Host,
    why: "no block device",
    draw,
};

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let busy = |data: &Data| {
        let Data::Disks(disks) = data else { return Vec::new() };
        disks.iter().map(|disk| (disk.name.clone(), disk.busy_ms as f64)).collect()
    };
    let mut lines = side.time.growth(side.clocked, ("disks", Kind::Counter32), busy);
    // Milliseconds per second; a tenth of that is percent.
    lines.values_mut().flatten().flatten().for_each(|busy| *busy /= 10.0);
    let y = Axis::linear("time in use", Unit::Percent);
    side.lines(chart, Lines::new(lines, y, "Time with requests in flight."))
}
