//! Bytes on the wire of each interface, and the capacity of its link.

use super::HostChart;
use super::side::{Drawn, Lines, Side, most};
use crate::page::Axis;
use model::metric::Kind;
use model::reading::{Data, Interface};
use model::unit::Unit;
use model::units::show_bytes;
use observe::{Capacity, capacities};

/// Bytes of a frame that the interface does not count: FCS, preamble and gap.
const FRAME_EXTRA_BYTES: f64 = 24.0;

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    // Providers do not count framing, so lines with a stated limit are drawn without it.
    let is_stated = side.stated().is_some_and(|limits| limits.bits_s.is_some());
    let (extra_bytes, counted) = match is_stated {
        true => (0.0, "Framing is not included, as in the stated limit."),
        false => (FRAME_EXTRA_BYTES, "On the wire, framing included."),
    };
    let of = |data: &Data| bytes(data, extra_bytes);
    let lines = side.time.growth(side.clocked, ("interfaces", Kind::Counter), of);
    let mut drawn = Lines::new(lines, Axis::linear("bytes", Unit::BytesPerSecond), "");
    let mut notes = vec![counted.to_string()];
    let nics = &side.facts.nics;
    let (known, when) = side
        .seen(|of| {
            let all = capacities(nics, of, side.stated());
            Some(all.iter().filter_map(known).collect::<Vec<_>>())
        })
        .unwrap_or_default();
    for (name, capacity, share) in &known {
        let used = show_bytes(*capacity);
        notes.push(format!("{name}: {:.1} % of {used}/s {when}.", 100.0 * share));
        drawn = drawn.limit(&format!("{name} is full"), Some(*capacity));
    }
    for nic in nics.iter().filter(|nic| nic.driver.is_some()) {
        let is_of = |name: &str| name.split(' ').next() == Some(&nic.name);
        let mut of_nic = drawn.lines.iter().filter(|(name, _)| is_of(name));
        let is_used = of_nic.any(|(_, line)| most(line) > 0.0);
        if is_used && !known.iter().any(|(name, ..)| *name == nic.name) {
            notes.push(format!("The capacity of {} is not known (--link).", nic.name));
        }
    }
    drawn.note = notes.join(" ");
    side.lines(chart, drawn)
}

/// A link, its capacity in bytes per second, and the share used in its busier direction.
fn known(capacity: &Capacity<'_>) -> Option<(String, f64, f64)> {
    Some((capacity.link.name.clone(), capacity.bytes_s?, capacity.busier()?))
}

fn bytes(data: &Data, extra_bytes: f64) -> Vec<(String, f64)> {
    let Data::Interfaces(links) = data else { return Vec::new() };
    let on_wire = |bytes: u64, packets: u64| bytes as f64 + extra_bytes * packets as f64;
    let both = |link: &Interface| {
        [
            (format!("{} received", link.name), on_wire(link.rx_bytes, link.rx_packets)),
            (format!("{} sent", link.name), on_wire(link.tx_bytes, link.tx_packets)),
        ]
    };
    links.iter().flat_map(both).collect()
}
