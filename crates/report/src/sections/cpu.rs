//! CPU time of each host by state, and of the generator and the server.

use crate::hosts::{Host, Waits, hosts, near};
use crate::page::{Block, Column, Table};
use crate::wording::{mark_of, or_dash, percent, point_heading, point_mark};
use model::run::Run;
use observe::{STATES, mean_shares};

/// Shares by state and CPUs' worth of time per process, one row per point, for each host.
pub fn table(run: &Run) -> Vec<Block> {
    hosts(run).iter().filter_map(|host| table_of(run, host)).map(Block::Table).collect()
}

fn table_of(run: &Run, host: &Host<'_>) -> Option<Table> {
    // CPU time of both processes is shown once, in the table of the near host.
    let is_near = host.whose == near(run);
    let shares = |of: &observe::Observed| mean_shares(of.cpus.as_deref()?);
    let used = |point: &model::run::Point| {
        let cpus = [point.cpu.client_cpus, point.cpu.server_cpus];
        cpus.map(|cpus| cpus.filter(|_| is_near))
    };
    let is_empty = |(point, of): &(&model::run::Point, observe::Observed)| {
        shares(of).is_none() && used(point) == [None, None]
    };
    if host.points.iter().all(is_empty) {
        return None;
    }
    let mut columns = vec![Column::numbers(point_heading(run))];
    columns.extend(STATES.map(Column::numbers));
    if is_near {
        columns.extend(["client CPUs", "server CPUs"].map(Column::numbers));
    }
    let mut table = Table::new(columns).caption(format!("CPU time of {}", host.whose));
    let waits = Waits::of(run, host.whose);
    for (point, observed) in &host.points {
        let shares = shares(observed).map(|shares| waits.shown(shares));
        let mut cells = vec![point_mark(point)];
        let share = |state: usize| or_dash(shares.and_then(|shares| shares[state]), percent);
        cells.extend((0..STATES.len()).map(share));
        if is_near {
            cells.extend(used(point).map(|cpus| or_dash(cpus, |cpus| format!("{cpus:.2}"))));
        }
        table.push(mark_of(run, point), cells);
    }
    let facts = match &run.record.target.probe {
        Some(probe) if !is_near => &probe.host,
        _ => &run.record.host,
    };
    let online = facts.cpus_online.len();
    let processes = match (is_near, &run.record.fleet) {
        (false, _) => "",
        (true, None) => "; the last two columns are the two processes alone",
        (true, Some(_)) => "; the last two columns are the agents, on their hosts, and the server",
    };
    table.notes.push(format!(
        "States are percentages of all {online} CPUs of this host and sum to 100. They include \
         everything that runs on it{processes}."
    ));
    table.notes.extend(waits.note());
    Some(table)
}
