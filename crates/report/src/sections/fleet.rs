//! The agents of a fleet: what each reported, and where it ran.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::{best_point, count, named_wall, ns, or_dash, percent, point_mark};
use model::fleet::{AgentEnd, AgentPoint, AgentRecord, FleetRecord};
use model::run::{Point, Run};
use model::units::{show_bytes, show_count, show_ns};

/// One row for each agent at the shown point, and one for all.
pub fn agents(run: &Run) -> Vec<Block> {
    let Some(point) = shown(run) else { return Vec::new() };
    let sum = AgentPoint::sum(&point.agents);
    let has_plan = sum.planned.is_some();
    let is_open = point.agents.iter().any(|agent| agent.generator_delay_p99_ns.is_some());
    let mut columns = vec![Column::words("agent"), Column::numbers("sent")];
    columns.push(Column::numbers("good/s"));
    columns.push(Column::numbers("failed"));
    columns.push(Column::numbers("open").rank(1));
    columns.extend(has_plan.then(|| Column::numbers("unsent").rank(1)));
    columns.push(Column::numbers("unknown"));
    columns.extend(is_open.then(|| Column::numbers("late p99")));
    columns.push(Column::numbers("CPU").rank(2));
    columns.push(Column::numbers("clock").rank(3));
    columns.push(Column::words("is"));
    let caption = match run.record.points.len() {
        0 | 1 => "What each agent did, as it reported".to_string(),
        _ => format!("What each agent did at {}, as it reported", point_mark(point)),
    };
    let mut table = Table::new(columns).caption(&caption);
    for agent in &point.agents {
        let mark = if is_well(agent) { Mark::None } else { Mark::Caution };
        let clock = format!("±{}", show_ns(agent.clock_error_ns as f64));
        table.push(mark, cells(agent, (has_plan, is_open), clock, standing(agent)));
    }
    let rates: f64 = point.agents.iter().filter_map(|agent| agent.rate).sum();
    let has_rates = point.agents.iter().all(|agent| agent.rate.is_some());
    let all = AgentPoint { agent: "all".to_string(), rate: has_rates.then_some(rates), ..sum };
    table.push(Mark::None, cells(&all, (has_plan, is_open), "-".to_string(), String::new()));
    vec![Block::Table(table)]
}

/// Where the agents ran, and how they ended.
pub fn hosts(run: &Run) -> Vec<Block> {
    let Some(fleet) = &run.record.fleet else { return Vec::new() };
    let mut columns = ["agent", "host", "kernel"].map(Column::words).to_vec();
    columns.extend(["CPUs", "memory", "can/s", "workers", "weight"].map(Column::numbers));
    columns.extend(["version", "ended"].map(Column::words));
    let mut table = Table::new(columns).caption(caption(fleet));
    for agent in &fleet.agents {
        let is_well = agent.ended == AgentEnd::Complete;
        table.push(if is_well { Mark::None } else { Mark::Caution }, host_cells(agent));
    }
    vec![Block::Table(table)]
}

fn caption(fleet: &FleetRecord) -> String {
    format!("Agents of the fleet {}", fleet.name)
}

/// The point that is shown, if agents made its load.
fn shown(run: &Run) -> Option<&Point> {
    let best = best_point(run).map(|(_, point)| point);
    best.or(run.record.points.last()).filter(|point| !point.agents.is_empty())
}

fn cells(
    agent: &AgentPoint,
    (has_plan, is_open): (bool, bool),
    clock: String,
    standing: String,
) -> Vec<String> {
    let mut cells = vec![agent.agent.clone(), count(agent.sent), or_dash(agent.rate, show_count)];
    cells.extend([agent.failed, agent.unanswered].map(count));
    // A plan of new connections has its own count.
    let unsent = agent.starts.map_or(agent.unsent, |starts| starts.unsent);
    cells.extend(has_plan.then(|| count(unsent)));
    cells.push(count(agent.unaccounted));
    cells.extend(is_open.then(|| ns(agent.generator_delay_p99_ns)));
    cells.push(or_dash(agent.cpu_busy, |busy| format!("{} %", percent(100.0 * busy))));
    cells.extend([clock, standing]);
    cells
}

fn is_well(agent: &AgentPoint) -> bool {
    agent.ended == AgentEnd::Complete && agent.broken.is_empty() && agent.own_wall().is_none()
}

/// How it ended, and its wall or its failed gates.
fn standing(agent: &AgentPoint) -> String {
    let ended = (agent.ended != AgentEnd::Complete).then(|| agent.ended.word().to_string());
    let wall = agent.own_wall().map(named_wall);
    // A wall of its host explains why its gates are broken.
    let broken = agent.broken.iter().filter(|_| wall.is_none());
    let broken = broken.map(|gate| gate.name().to_string()).collect::<Vec<_>>();
    let all: Vec<String> = ended.into_iter().chain(wall).chain(broken).collect();
    if all.is_empty() { "ok".to_string() } else { all.join(", ") }
}

fn host_cells(agent: &AgentRecord) -> Vec<String> {
    let ended = match &agent.why {
        None => agent.ended.word().to_string(),
        Some(why) => format!("{}: {why}", agent.ended.word()),
    };
    vec![
        agent.name.clone(),
        agent.host.hostname.clone(),
        agent.host.kernel.clone(),
        agent.host.cpus.to_string(),
        or_dash(agent.host.memory_bytes, |bytes| show_bytes(bytes as f64)),
        or_dash(agent.capacity, show_count),
        agent.part.workers.to_string(),
        agent.part.weight.to_string(),
        agent.version.clone(),
        ended,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::fleet::AgentStarts;

    #[test]
    fn each_agent_has_a_line_and_all_of_them_one() {
        let run = fixtures::load_fleet();
        let blocks = agents(&run);
        let [Block::Table(table)] = blocks.as_slice() else { panic!("{blocks:?}") };
        let first = |row: &crate::page::Row| row.cells[0].clone();
        let names: Vec<String> = table.rows.iter().map(first).collect();
        assert_eq!(names, ["a1", "a2", "a3", "a4", "all"]);
        assert_eq!(table.rows[2].cells.last().map(String::as_str), Some("client late (C4)"));
        assert!(agents(&fixtures::load_open()).is_empty(), "nothing without a fleet");
    }

    #[test]
    fn unsent_are_the_connections_where_those_are_planned() {
        let mut run = fixtures::load_fleet();
        for agent in run.record.points.iter_mut().flat_map(|point| &mut point.agents) {
            (agent.planned, agent.unsent) = (Some(10), 0);
            agent.starts = Some(AgentStarts { begun: 7, unsent: 3 });
        }
        let blocks = agents(&run);
        let [Block::Table(table)] = blocks.as_slice() else { panic!("{blocks:?}") };
        let at = table.columns.iter().position(|column| column.title == "unsent").unwrap();
        let unsent: Vec<&str> = table.rows.iter().map(|row| row.cells[at].as_str()).collect();
        assert_eq!(unsent, ["3", "3", "3", "3", "12"]);
    }
}
