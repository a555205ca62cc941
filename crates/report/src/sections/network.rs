//! What interfaces and the kernel's network stack counted in each measured window, host by host.

use crate::hosts::{Host, hosts};
use crate::page::{Block, Column, Table};
use crate::wording::{count, mark_of, or_dash, percent, point_heading, point_mark};
use model::route::Address;
use model::run::{Point, Run};
use model::units::{show_bytes, show_count, show_ns};
use observe::{Capacity, LimitSource, Observed, QuotaShare, Raw, SoftnetUse, capacities};

/// Interfaces and kernel counters of each host, one row per point each.
pub fn tables(run: &Run) -> Vec<Block> {
    let hosts = hosts(run);
    let interfaces = hosts.iter().filter_map(|host| interfaces(run, host));
    let counters = hosts.iter().filter_map(|host| counters(run, host));
    interfaces.chain(counters).map(Block::Table).collect()
}

/// Utilisation of the links with a known limit, in the window of a point: the busier direction, or
/// packets where they are closer to their limit. Nothing for a load over loopback.
pub fn link_phrase(run: &Run, point: &Point) -> Option<String> {
    let record = &run.record;
    if record.trial.addresses.iter().all(Address::is_loopback) {
        return None;
    }
    let observed = Raw::from(run).observed(record, point);
    let near = capacities(&record.host.nics, &observed, record.trial.links.client.as_ref());
    let far =
        record.target.probe.as_ref().zip(observed.far.as_deref()).map(|(probe, far)| {
            capacities(&probe.host.nics, far, record.trial.links.server.as_ref())
        });
    let side = |name: &str, links: &[Capacity<'_>]| {
        let fullest = links.iter().filter_map(|link| Some((link, fullness(link)?)));
        let (link, share) = fullest.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!("{name} {}", used(link, share)))
    };
    let sides = [side("client", &near), far.and_then(|far| side("server", &far))];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    (!sides.is_empty()).then(|| sides.join(", "))
}

/// Used share of the closest limit.
fn fullness(link: &Capacity<'_>) -> Option<f64> {
    [link.busier(), link.packets()].into_iter().flatten().max_by(f64::total_cmp)
}

fn used(link: &Capacity<'_>, share: f64) -> String {
    let of_packets = link.packets().is_some_and(|packets| packets >= share);
    let (limit, unit) = match (of_packets, link.packets_s, link.bytes_s) {
        (true, Some(packets), _) => (packets, "packets/s"),
        (_, _, bytes) => (bytes.unwrap_or_default() * 8.0, "bit/s"),
    };
    let (used, limit) = (show_count(limit * share), show_count(limit));
    let over = match (share > 1.05 && link.source == LimitSource::Stated, link.burst_ns) {
        (false, _) => String::new(),
        (true, Some(ns)) => format!(", a burst of at most {}", show_ns(ns as f64)),
        (true, None) => ", more than --link states".to_string(),
    };
    format!("{used} of {limit} {unit} ({} %{over})", percent(100.0 * share))
}

fn interfaces(run: &Run, host: &Host<'_>) -> Option<Table> {
    let mut columns = vec![Column::numbers(point_heading(run)), Column::words("interface")];
    let titles = ["received /s", "received packets/s", "sent /s", "sent packets/s", "dropped"];
    columns.extend(titles.map(Column::numbers));
    let mut table = Table::new(columns).caption(format!("Interfaces of {}", host.whose));
    for (point, observed) in &host.points {
        let moved = |link: &&observe::LinkUse| link.rx_packets_s + link.tx_packets_s > 0.0;
        for link in observed.links.iter().flatten().filter(moved) {
            let cells = vec![
                point_mark(point),
                link.name.clone(),
                show_bytes(link.rx_bytes_s),
                show_count(link.rx_packets_s),
                show_bytes(link.tx_bytes_s),
                show_count(link.tx_packets_s),
                count(link.rx_dropped + link.tx_dropped),
            ];
            table.push(mark_of(run, point), cells);
        }
    }
    table.notes.push(
        "Bytes as on the wire of an Ethernet: 24 are added to each packet for framing. Packets as \
         the driver counts them; some drivers count several segments as one."
            .to_string(),
    );
    (!table.rows.is_empty()).then_some(table)
}

/// A figure of a host: its heading, and its value in a window as text.
type Counter = (&'static str, fn(&Observed) -> Option<String>);

const COUNTERS: &[Counter] = &[
    ("segments resent", |host| tcp(host, "Tcp.RetransSegs")),
    ("accept queue overflows", |host| tcp(host, "TcpExt.ListenOverflows")),
    ("listen drops", |host| tcp(host, "TcpExt.ListenDrops")),
    ("backlog drops", |host| softnet(host, |cpu| cpu.dropped)),
    ("polls cut short", |host| softnet(host, |cpu| cpu.squeezed)),
    ("client throttled %", |host| throttled(&host.client_quotas)),
    ("server throttled %", |host| throttled(&host.server_quotas)),
    ("waiting for CPU %", |host| Some(percent(100.0 * host.pressure.as_ref()?.get("cpu.some")?))),
];

fn tcp(host: &Observed, name: &str) -> Option<String> {
    Some(count(*host.tcp.as_ref()?.get(name)?))
}

/// The sum over all CPUs.
fn softnet(host: &Observed, field: fn(&SoftnetUse) -> u32) -> Option<String> {
    Some(count(host.softnet.as_ref()?.iter().map(|cpu| u64::from(field(cpu))).sum()))
}

/// The share of the control group that was throttled most.
fn throttled(quotas: &Option<Vec<QuotaShare>>) -> Option<String> {
    let shares = quotas.iter().flatten().map(|quota| quota.throttled_periods);
    Some(percent(100.0 * shares.max_by(f64::total_cmp)?))
}

fn counters(run: &Run, host: &Host<'_>) -> Option<Table> {
    let is_known = |(_, shown): &&Counter| host.points.iter().any(|(_, of)| shown(of).is_some());
    let counters: Vec<&Counter> = COUNTERS.iter().filter(is_known).collect();
    if counters.is_empty() {
        return None;
    }
    let mut columns = vec![Column::numbers(point_heading(run))];
    columns.extend(counters.iter().map(|(title, _)| Column::numbers(title)));
    let caption = format!("Kernel counters of {}, growth in the measured window", host.whose);
    let mut table = Table::new(columns).caption(caption);
    for (point, observed) in &host.points {
        let mut cells = vec![point_mark(point)];
        cells.extend(counters.iter().map(|(_, shown)| or_dash(shown(observed), |text| text)));
        table.push(mark_of(run, point), cells);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn counters_are_those_of_the_host_that_the_table_names() {
        let overflows = |caption: &str| {
            let blocks = tables(&fixtures::ramp_two_hosts());
            let table = blocks.into_iter().find_map(|block| match block {
                Block::Table(table) if table.caption.starts_with(caption) => Some(table),
                _ => None,
            });
            let table = table.unwrap();
            let title = |column: &Column| column.title == "accept queue overflows";
            let column = table.columns.iter().position(title).unwrap();
            table.rows[0].cells[column].clone()
        };
        assert_eq!(overflows("Kernel counters of the client's host"), "0");
        assert_eq!(overflows("Kernel counters of the server's host"), "9");
    }
}
