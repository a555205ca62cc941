//! What interfaces and the kernel's network stack counted in each measured window.

use crate::page::{Block, Column, Table};
use crate::rates::{
    Process, interfaces_of, pressure_percent, softnet_growth, tcp_growth, throttled_percent,
};
use crate::wording::{count, mark_of, or_dash, percent, point_heading, point_mark};
use model::run::{Point, Run};
use model::units::{show_bytes, show_count};

/// Interfaces and kernel counters, one row per point each.
pub fn tables(run: &Run) -> Vec<Block> {
    interfaces(run).into_iter().chain(counters(run)).map(Block::Table).collect()
}

fn interfaces(run: &Run) -> Option<Table> {
    let mut columns = vec![Column::numbers(point_heading(run)), Column::words("interface")];
    let titles = ["received /s", "received packets/s", "sent /s", "sent packets/s", "dropped"];
    columns.extend(titles.map(Column::numbers));
    let mut table = Table::new(columns).caption("Interfaces of this network namespace");
    for point in &run.record.points {
        for rates in interfaces_of(run, point) {
            let cells = vec![
                point_mark(point),
                rates.name,
                show_bytes(rates.rx_bytes_per_s),
                show_count(rates.rx_packets_per_s),
                show_bytes(rates.tx_bytes_per_s),
                show_count(rates.tx_packets_per_s),
                count(rates.dropped),
            ];
            table.push(mark_of(run, point), cells);
        }
    }
    table.notes.push(
        "Packets as the driver counts them; some drivers count several segments as one."
            .to_string(),
    );
    (!table.rows.is_empty()).then_some(table)
}

/// A counter of the kernel: heading, and its growth in a point's window as shown.
struct Counter {
    title: &'static str,
    shown: fn(&Run, &Point) -> Option<String>,
}

const COUNTERS: &[Counter] = &[
    Counter {
        title: "segments resent",
        shown: |run, point| tcp_growth(run, point, "Tcp.RetransSegs").map(count),
    },
    Counter {
        title: "accept queue overflows",
        shown: |run, point| tcp_growth(run, point, "TcpExt.ListenOverflows").map(count),
    },
    Counter {
        title: "listen drops",
        shown: |run, point| tcp_growth(run, point, "TcpExt.ListenDrops").map(count),
    },
    Counter {
        title: "backlog drops",
        shown: |run, point| softnet_growth(run, point, |cpu| cpu.dropped).map(count),
    },
    Counter {
        title: "polls cut short",
        shown: |run, point| softnet_growth(run, point, |cpu| cpu.time_squeeze).map(count),
    },
    Counter {
        title: "client throttled %",
        shown: |run, point| throttled_percent(run, point, Process::Client).map(percent),
    },
    Counter {
        title: "server throttled %",
        shown: |run, point| throttled_percent(run, point, Process::Server).map(percent),
    },
    Counter {
        title: "waiting for CPU %",
        shown: |run, point| pressure_percent(run, point, "cpu.some").map(percent),
    },
];

fn counters(run: &Run) -> Option<Table> {
    let points = &run.record.points;
    let shown = |counter: &&Counter| points.iter().any(|p| (counter.shown)(run, p).is_some());
    let counters: Vec<&Counter> = COUNTERS.iter().filter(shown).collect();
    if counters.is_empty() {
        return None;
    }
    let mut columns = vec![Column::numbers(point_heading(run))];
    columns.extend(counters.iter().map(|counter| Column::numbers(counter.title)));
    let mut table = Table::new(columns).caption("Kernel counters, growth in the measured window");
    for point in points {
        let mut cells = vec![point_mark(point)];
        cells.extend(counters.iter().map(|c| or_dash((c.shown)(run, point), |text| text)));
        table.push(mark_of(run, point), cells);
    }
    Some(table)
}
