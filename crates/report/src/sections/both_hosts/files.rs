//! Open descriptors, and their limit.

use super::side::{Drawn, Lines, Side};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, OpenFiles};

pub(super) const CHART: HostChart = HostChart {
    id: "files",
    title: "Open descriptors",
    row: "files",
    reads: &["client_files", "server_files"],
    of: Of::Host,
    why: "",
    draw,
};

fn of(data: &Data) -> Option<(&'static str, &OpenFiles)> {
    match data {
        Data::ClientFiles(files) => Some(("generator", files)),
        Data::ServerFiles(files) => Some(("server", files)),
        _ => None,
    }
}

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let open = |data: &Data| {
        of(data).map(|(whose, files)| (whose.to_string(), files.open as f64)).into_iter().collect()
    };
    let mut lines = side.time.states(side.clocked, ("client_files", Kind::Max), open);
    lines.extend(side.time.states(side.clocked, ("server_files", Kind::Max), open));
    let limit = |wanted: &str| {
        let mut all = side.clocked.data().rev().filter_map(|(_, data)| of(data));
        all.find(|(whose, _)| *whose == wanted).map(|(_, files)| files.limit)
    };
    let limits = ["generator", "server"].map(|whose| (whose, limit(whose)));
    let told = |(whose, limit): &(&str, Option<u64>)| {
        limit.map(|limit| format!("Limit of the {whose}: {limit}."))
    };
    let note = limits.iter().filter_map(told).collect::<Vec<_>>().join(" ");
    let y = Axis::linear("descriptors", Unit::Count);
    let with = |drawn: Lines, (whose, limit): (&str, Option<u64>)| {
        drawn.limit(&format!("limit of the {whose}"), limit.map(|limit| limit as f64))
    };
    side.lines(chart, limits.into_iter().fold(Lines::new(lines, y, note), with))
}
