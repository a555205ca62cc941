//! Bytes on the wire of each interface, beside what its link can carry.

use super::side::{Drawn, Lines, Side, most};
use super::{HostChart, Of};
use crate::page::{Axis, Unit};
use model::metric::Kind;
use model::reading::{Data, Interface};
use model::units::show_bytes;

pub(super) const CHART: HostChart = HostChart {
    id: "links",
    title: "Interfaces",
    row: "links",
    reads: &["interfaces"],
    of: Of::Host,
    draw,
};

/// Of frames, beside what an interface counts: FCS, preamble and gap.
const FRAME_EXTRA_BYTES: f64 = 24.0;

fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let lines = side.time.growth(side.clocked, ("interfaces", Kind::Counter), bytes);
    let mut drawn = Lines::new(lines, Axis::linear("bytes", Unit::BytesPerSecond), "");
    let mut told = vec!["On the wire, framing included.".to_string()];
    for nic in &side.facts.nics {
        let is_of = |name: &str| name.split(' ').next() == Some(&nic.name);
        let of_nic = drawn.lines.iter().filter(|(name, _)| is_of(name));
        let used = of_nic.map(|(_, line)| most(line)).fold(0.0, f64::max);
        let capacity = nic.speed_mbps.map(|mbps| f64::from(mbps) * 1e6 / 8.0);
        match capacity {
            _ if used <= 0.0 => continue,
            Some(capacity) => told.push(format!(
                "{}: up to {:.1} % of {}/s.",
                nic.name,
                100.0 * used / capacity,
                show_bytes(capacity)
            )),
            None if nic.driver.is_some() => {
                told.push(format!("What {} can carry is not known.", nic.name));
            }
            None => {}
        }
        drawn = drawn.limit(&format!("{} is full", nic.name), capacity);
    }
    drawn.note = told.join(" ");
    side.lines(chart, drawn)
}

fn bytes(data: &Data) -> Vec<(String, f64)> {
    let Data::Interfaces(links) = data else { return Vec::new() };
    let on_wire = |bytes: u64, packets: u64| bytes as f64 + FRAME_EXTRA_BYTES * packets as f64;
    let both = |link: &Interface| {
        [
            (format!("{} received", link.name), on_wire(link.rx_bytes, link.rx_packets)),
            (format!("{} sent", link.name), on_wire(link.tx_bytes, link.tx_packets)),
        ]
    };
    links.iter().flat_map(both).collect()
}
