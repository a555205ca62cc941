//! An experiment on one page. In blocks: the conclusion, cells and differences, walls, the order of
//! the visits, and details of each. Without a design: a row for each cell, and details of each.

use super::visited::{
    each_visit, has_runs, is_expected, mark_of_claim, point_of, stored_visit, visit_anchor,
    visit_name,
};
use super::{
    analysis, conclusion, connecting::connecting, contrasts, evidence, order, predictions, summary,
    visits, walls,
};
use crate::page::{Block, Column, Dots, Fact, Folded, Mark, Page, Table};
use crate::wording::{
    figure, figure_cells, mark_of, microseconds, mixed_cost, named_wall, ns, or_dash, plural,
    rate_cell, rate_of, wall_mark, wall_phrase,
};
use model::claim::Claim;
use model::experiment::{CellResult, Design, Experiment, Fate, HostUsed, Tuned};
use model::figure::Figure;
use model::run::{Point, Run};
use model::shell;
use model::tool::ToolRun;
use model::tuning::Fate as TuneFate;
use model::units::show_count;
use std::collections::{BTreeMap, BTreeSet};

/// Note on visits without a readable run.
const NO_RUN: &str = "runs that are not kept with the result, or cannot be read, are not judged: \
                      figures and walls of these visits are those that the experiment recorded";

/// The page of an experiment; `runs` has what each cell left, in the order of the cells.
pub fn experiment(experiment: &Experiment, runs: &[Option<Run>]) -> Page {
    let blocks = match &experiment.design {
        Some(design) => in_blocks(experiment, design, runs),
        None => once(experiment, runs),
    };
    titled(experiment, blocks)
}

fn titled(experiment: &Experiment, blocks: Vec<Block>) -> Page {
    let unit = if experiment.design.is_some() { "visit" } else { "cell" };
    Page {
        title: format!("ceiling run {}", experiment.plan),
        subtitle: format!(
            "{}, experiment {}, {}",
            experiment.started_at,
            experiment.id,
            plural(experiment.cells.len() as u64, unit)
        ),
        blocks,
    }
}

/// The page when each cell was measured once.
fn once(of: &Experiment, runs: &[Option<Run>]) -> Vec<Block> {
    let mut blocks = vec![Block::Text(of.question.clone())];
    blocks.extend(hosts(of));
    blocks.push(Block::Table(rows(of, runs)));
    blocks.extend(predictions(of));
    blocks.extend(particulars(of, runs));
    for (cell, run) in each_visit(of, runs) {
        blocks.push(Block::Heading(cell.name.clone()));
        blocks.extend(of_cell(cell, run));
    }
    blocks
}

/// The page when the cells were visited in blocks.
fn in_blocks(of: &Experiment, design: &Design, runs: &[Option<Run>]) -> Vec<Block> {
    let mut blocks = top(of, design, runs);
    blocks.push(Block::Heading("Cells".to_string()));
    blocks.push(Block::Table(contrasts::cells(of, design).caption("")));
    let others = || Figure::COMPARED.into_iter().filter(|figure| *figure != design.figure);
    let plots: Vec<Dots> = others().filter_map(|one| visits::plot(of, design, runs, one)).collect();
    blocks.extend(columns(visits::note(&plots), plots));
    blocks.extend(particulars(of, runs));
    if !of.contrasts.is_empty() {
        blocks.push(Block::Heading("Differences".to_string()));
        blocks.push(Block::Table(contrasts::table(of, design)));
        let plots = others().filter_map(|one| contrasts::plot(of, design, one)).collect();
        blocks.extend(columns(contrasts::NOTE.to_string(), plots));
        blocks.push(Block::Table(contrasts::all(of, design)));
        blocks.extend(contrasts::levels(of, design));
        blocks.extend(contrasts::all_levels(of, design));
    }
    blocks.extend(analysis::blocks(of));
    blocks.extend(predictions(of));
    if has_runs(runs) {
        blocks.push(Block::Heading("Walls".to_string()));
        blocks.push(Block::Table(walls::table(of, design, runs).caption("")));
    }
    let charts = order::charts(of, design, runs);
    if !charts.is_empty() {
        blocks.push(Block::Heading("Over time".to_string()));
        blocks.extend(charts);
    }
    blocks.push(Block::Heading("Visits".to_string()));
    blocks.push(Block::Table(rows(of, runs)));
    if !has_runs(runs) {
        return blocks;
    }
    for (nth, (cell, run)) in each_visit(of, runs).enumerate() {
        blocks.push(Block::Folded(Folded {
            id: visit_anchor(nth),
            title: visit_name(cell),
            summary: wall_cell(cell, run),
            blocks: of_cell(cell, run),
        }));
    }
    blocks
}

/// The conclusion, the question, and the main figure as measured and compared.
fn top(of: &Experiment, design: &Design, runs: &[Option<Run>]) -> Vec<Block> {
    let mut blocks =
        vec![Block::Banner(conclusion::banner(of, design, runs)), Block::Text(of.question.clone())];
    blocks.extend(hosts(of));
    let visits = visits::plot(of, design, runs, design.figure);
    blocks.extend(visits.map(|dots| {
        let note = visits::note(std::slice::from_ref(&dots));
        Block::Dots(Dots { note, ..dots })
    }));
    let against = contrasts::plot(of, design, design.figure);
    let note = contrasts::NOTE.to_string();
    blocks.extend(against.map(|dots| Block::Dots(Dots { note, ..dots })));
    blocks
}

/// The hosts that a plan names; nothing when it names none.
fn hosts(of: &Experiment) -> Option<Block> {
    let fact = |host: &HostUsed| {
        let place = host.probe.as_ref().map(|probe| format!("probe at {probe}"));
        let link = host.link.as_ref().map(|link| format!(", link {link}"));
        let place = place.unwrap_or_else(|| "where ceiling ran".to_string());
        Fact::new(&format!("host {}", host.name), place + &link.unwrap_or_default())
    };
    let facts: Vec<Fact> = of.hosts.iter().map(fact).collect();
    (!facts.is_empty()).then_some(Block::Facts(facts))
}

/// Small plots side by side, and how to read them.
fn columns(note: String, plots: Vec<Dots>) -> Vec<Block> {
    if plots.is_empty() {
        return Vec::new();
    }
    let column = |dots: Dots| vec![Block::Dots(dots)];
    vec![Block::Text(note), Block::Columns(plots.into_iter().map(column).collect())]
}

/// Tables that only some kinds of cells have.
fn particulars(of: &Experiment, runs: &[Option<Run>]) -> Vec<Block> {
    let measured = each_visit(of, runs).filter_map(|(cell, run)| Some((visit_name(cell), run?)));
    let tables = [events(of, runs), servers(of, runs)];
    tables.into_iter().flatten().chain(connecting(measured)).collect()
}

fn rows(experiment: &Experiment, runs: &[Option<Run>]) -> Table {
    let mut table = Table::new(vec![
        Column::words("cell"),
        Column::numbers("rate/s"),
        Column::numbers("p50").rank(2),
        Column::numbers("p99"),
        Column::numbers("client us").rank(3),
        Column::numbers("server us").rank(1),
        Column::words("wall"),
        Column::words("expected").rank(4),
    ]);
    let (mut has_devices, mut has_events, mut has_tools) = (false, false, false);
    for (nth, (cell, run)) in each_visit(experiment, runs).enumerate() {
        let point = run.and_then(point_of);
        has_devices |= point.is_some_and(Point::is_of_devices);
        has_events |= point.is_some_and(|point| point.events().is_some());
        has_tools |= run.is_some_and(|run| run.record.tool.is_some());
        let (mark, cells) = row(experiment, cell, run);
        match has_runs(runs) {
            true => table.push_about(mark, cells, vec![visit_anchor(nth)]),
            false => table.push(mark, cells),
        }
    }
    let is_without = |(cell, run): (&CellResult, Option<&Run>)| {
        matches!(cell.fate, Fate::Measured { .. }) && run.is_none()
    };
    table.notes.extend(each_visit(experiment, runs).any(is_without).then(|| NO_RUN.to_string()));
    let note = "client us, server us: CPU time per request, microseconds";
    table.notes.push(note.to_string());
    if table.rows.iter().any(|row| row.mark == Mark::Broken) {
        let note = "!: no figure, or a failed gate: rate and times are not the server's";
        table.notes.push(note.to_string());
    }
    table.notes.extend(mixed_costs(experiment, runs));
    table.notes.extend(reservations(experiment, runs));
    if has_tools {
        let note =
            "of another tool: rate and times as it reports them; CPU time as ceiling reads it";
        table.notes.push(note.to_string());
    }
    if has_devices {
        let note = "of devices: connections per second and the time to connect";
        table.notes.push(note.to_string());
    }
    if has_events {
        table.notes.push(
            "of events: events per second, their staleness, and CPU time per event".to_string(),
        );
    }
    if experiment.failed() > 0 {
        table.notes.push("a cell that failed has no figures".to_string());
    }
    table
}

/// Why rows have the mark of a reservation: one note for each reason that occurs.
fn reservations(of: &Experiment, runs: &[Option<Run>]) -> Vec<String> {
    let (mut is_of_generator, mut is_other) = (false, false);
    for run in each_visit(of, runs).filter_map(|(_, run)| run) {
        let Some(point) = point_of(run) else {
            is_of_generator |=
                run.record.tool.is_some() && run.record.claim() == Claim::OfGenerator;
            continue;
        };
        let is_generators = point.claim() == Claim::OfGenerator;
        is_of_generator |= is_generators;
        is_other |= !is_generators && mark_of(run, point) == Mark::Caution;
    }
    let notes = [
        (
            is_of_generator,
            "~: the generator was the wall; the rate is a lower bound of the server's",
        ),
        (is_other, "~: a figure has only bounds, or the visit was cut short"),
    ];
    notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note.to_string()).collect()
}

/// A visit from its run, or from the document of the experiment.
fn row(of: &Experiment, cell: &CellResult, run: Option<&Run>) -> (Mark, Vec<String>) {
    let point = run.and_then(point_of);
    let visit = if run.is_none() { stored_visit(of, cell) } else { None };
    let noted = |figure| visit.and_then(|visit| visit.figures.get(&figure).copied());
    let wall = visit.and_then(|visit| visit.wall.clone());
    let tool = run.and_then(|run| run.record.tool.as_ref());
    let [rate, p50, p99, client_us, server_us] = match (tool, run) {
        (Some(tool), _) => of_tool(tool),
        (None, Some(_)) => of_point(point),
        (None, None) => Figure::COMPARED.map(noted),
    };
    let cells = vec![
        visit_name(cell),
        or_dash(rate, show_count),
        ns(p50.map(|ns| ns as u64)),
        ns(p99.map(|ns| ns as u64)),
        microseconds(client_us),
        microseconds(server_us),
        wall.unwrap_or_else(|| wall_cell(cell, run)),
        expected_cell(cell, run),
    ];
    let mark = match (run, point) {
        (Some(run), Some(point)) => mark_of(run, point),
        (Some(run), None) if tool.is_some() => mark_of_claim(&run.record.claim()),
        (None, _) if noted(Figure::Rate).is_some() => Mark::None,
        _ => Mark::Broken,
    };
    (mark, cells)
}

/// Rate, p50, p99 and CPU time of both sides at the best point.
fn of_point(point: Option<&Point>) -> [Option<f64>; 5] {
    let times = point.and_then(Point::main_times);
    let time = |ns: Option<u64>| ns.map(|ns| ns as f64);
    let (client_us, server_us) = point.map_or((None, None), |point| point.main().costs());
    let rate = point.filter(|point| rate_of(point).is_some()).map(Point::headline_rate);
    let p50 = time(times.and_then(|times| times.p50));
    [rate, p50, time(times.and_then(|times| times.p99)), client_us, server_us]
}

/// The figures of a visit as another tool reported them, plausible or not.
fn of_tool(tool: &ToolRun) -> [Option<f64>; 5] {
    let [p50, p99] = [0.5, 0.99].map(|share| tool.percentile_ns(share));
    [tool.rate, p50, p99, tool.cpu.client_us_per_request, tool.cpu.server_us_per_request]
}

/// What the CPU time per request includes in cells where many requests failed.
fn mixed_costs(experiment: &Experiment, runs: &[Option<Run>]) -> Vec<String> {
    let mixed = experiment.cells.iter().zip(runs).filter_map(|(cell, run)| {
        let mixed = mixed_cost(point_of(run.as_ref()?)?)?;
        Some(format!("{}: {mixed}", visit_name(cell)))
    });
    let mut notes: Vec<String> = mixed.collect();
    if !notes.is_empty() {
        let note = "CPU time is per response, good or not, and includes requests without one:";
        notes.insert(0, note.to_string());
    }
    notes
}

/// Events, with the writes that caused them; nothing when no cell has any.
fn events(experiment: &Experiment, runs: &[Option<Run>]) -> Option<Block> {
    let mut columns = vec![Column::words("cell"), Column::numbers("events/s")];
    columns.extend(["delivery %", "stale p50", "p99", "writes/s"].map(Column::numbers));
    let mut table = Table::new(columns).caption("Events");
    for (cell, run) in experiment.cells.iter().zip(runs) {
        let Some(run) = run else { continue };
        let Some(point) = point_of(run) else { continue };
        if point.events().is_none() {
            continue;
        }
        let mut cells = vec![visit_name(cell), rate_cell(point), figure(point, Figure::Delivery)];
        cells.extend(figure_cells(point, [Figure::P50, Figure::P99]));
        cells.push(show_count(point.rate));
        table.push(mark_of(run, point), cells);
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// Processes and listeners of each server when its run started; nothing unless two cells with the
/// same program differ in them.
fn servers(experiment: &Experiment, runs: &[Option<Run>]) -> Option<Block> {
    let columns = ["processes", "threads", "listeners"].map(Column::numbers);
    let columns = [vec![Column::words("cell")], columns.into(), vec![Column::words("CPUs")]];
    let mut table = Table::new(columns.concat()).caption("Servers");
    let mut made_of: BTreeMap<&str, BTreeSet<(usize, u32)>> = BTreeMap::new();
    for (cell, run) in experiment.cells.iter().zip(runs) {
        let Some(server) = run.as_ref().and_then(|run| run.record.target.server.as_ref()) else {
            continue;
        };
        let program = cell.server.first().map_or("", String::as_str);
        made_of.entry(program).or_default().insert((server.pids.len(), server.listeners));
        let cpus: Vec<_> = server.cpus_allowed.iter().map(u32::to_string).collect();
        let cells = vec![
            visit_name(cell),
            server.pids.len().to_string(),
            server.threads.to_string(),
            server.listeners.to_string(),
            cpus.join(" "),
        ];
        table.push(Mark::None, cells);
    }
    made_of.values().any(|kinds| kinds.len() > 1).then_some(Block::Table(table))
}

fn wall_cell(cell: &CellResult, run: Option<&Run>) -> String {
    match (&cell.fate, run) {
        (Fate::NotReached, _) => "not reached".to_string(),
        (Fate::Failed { .. }, _) => "failed".to_string(),
        (Fate::Measured { .. }, None) => "no run".to_string(),
        (Fate::Measured { .. }, Some(run)) => {
            let verdict = &run.record.verdict;
            let also = verdict
                .also
                .iter()
                .map(|wall| format!(" + {}", named_wall(*wall)))
                .collect::<String>();
            wall_mark(verdict) + &also
        }
    }
}

fn expected_cell(cell: &CellResult, run: Option<&Run>) -> String {
    let walls: Vec<_> = cell.expected.iter().map(|wall| named_wall(*wall)).collect();
    let word = match run.and_then(|run| is_expected(cell, run)) {
        Some(true) => "yes: ",
        Some(false) => "no: ",
        None if walls.is_empty() => return "-".to_string(),
        None => "?: ",
    };
    format!("{word}{}", walls.join(", "))
}

/// A knob and its outcome.
fn tuned(tuned: &Tuned) -> String {
    let Tuned { host, row } = tuned;
    let fate = match row.fate {
        TuneFate::Reverted => "restored".to_string(),
        other => format!("{other:?}").to_lowercase(),
    };
    let wanted = row.wanted.as_deref().unwrap_or("-");
    let note = if row.note.is_empty() { String::new() } else { format!(" ({})", row.note) };
    let on = if host == "client" { String::new() } else { format!("{host}: ") };
    format!("{on}{} {}: {} = {wanted}, {fate}{note}", row.knob, row.name, row.place)
}

fn of_cell(cell: &CellResult, run: Option<&Run>) -> Vec<Block> {
    let mut facts = Vec::new();
    let on = cell.host.as_ref().map_or(String::new(), |host| format!(", host {host}"));
    if !cell.server.is_empty() {
        facts.push(Fact::new("server", shell::line(&cell.server) + &on));
    }
    if !cell.command.is_empty() {
        facts.push(Fact::new("load", shell::line(&cell.command)));
    }
    facts.extend(cell.tuned.iter().map(|row| Fact::new("tuned", tuned(row))));
    match (&cell.fate, run) {
        (Fate::Measured { run: id }, Some(run)) => {
            facts.push(Fact::new("run", id.clone()));
            facts.push(Fact::new("verdict", wall_phrase(&run.record.verdict)));
        }
        (Fate::Measured { run: id }, None) => {
            facts.push(Fact::new("run", format!("{id}, which is not kept or cannot be read")));
        }
        (Fate::Failed { why }, _) => facts.push(Fact::new("failed", why.clone())),
        (Fate::NotReached, _) => facts.push(Fact::new("not reached", "the experiment was ended")),
    }
    let mut blocks = vec![Block::Facts(facts)];
    if let (Fate::Measured { .. }, Some(run)) = (&cell.fate, run) {
        blocks.extend(summary::summary(run));
        blocks.extend(evidence::evidence(run));
        blocks.extend(evidence::next(run));
    }
    blocks
}

/// What a terminal shows: the tables, and with a design the conclusion with its basis; the
/// file has the rest.
pub fn experiment_briefly(of: &Experiment, runs: &[Option<Run>]) -> Page {
    let mut blocks = match &of.design {
        Some(design) => {
            let mut blocks = top(of, design, runs);
            blocks.push(Block::Table(contrasts::cells(of, design)));
            if !of.contrasts.is_empty() {
                blocks.push(Block::Table(contrasts::table(of, design)));
                blocks.extend(contrasts::levels(of, design));
            }
            blocks.extend(analysis::blocks(of));
            if has_runs(runs) {
                blocks.push(Block::Table(walls::table(of, design, runs)));
            }
            blocks
        }
        None => vec![Block::Text(of.question.clone()), Block::Table(rows(of, runs))],
    };
    blocks.extend(predictions(of));
    blocks.extend(particulars(of, runs));
    let failed = of.cells.iter().filter_map(|cell| match &cell.fate {
        Fate::Failed { why } => Some(Fact::new(&visit_name(cell), why.clone())),
        _ => None,
    });
    let failed: Vec<_> = failed.collect();
    if !failed.is_empty() {
        blocks.push(Block::Heading("Failed".to_string()));
        blocks.push(Block::Facts(failed));
    }
    titled(of, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::sections::visited::figures;

    #[test]
    fn a_failed_cell_has_no_number_and_a_surprise_is_told() {
        let (of, runs) = fixtures::experiment();
        let table = rows(&of, &runs);
        let shown: Vec<_> = table.rows.iter().map(|row| row.cells.join(" ")).collect();
        assert!(
            shown[0].ends_with("server CPU quota (S3) yes: server CPU quota (S3)"),
            "{shown:?}"
        );
        assert!(
            shown[1].ends_with("one client thread (C2) no: server CPU quota (S3)"),
            "{shown:?}"
        );
        assert_eq!(shown[2], "killed - - - - - failed ?: server CPU quota (S3)");
        assert_eq!(shown[3], "last - - - - - not reached -");
    }

    #[test]
    fn a_figure_with_bounds_is_no_wall_of_the_generator() {
        use model::standing::Standing;
        let (of, mut runs) = fixtures::experiment();
        runs[1] = None;
        let notes = |runs: &[Option<Run>]| {
            let all = rows(&of, runs).notes.into_iter();
            all.filter(|note| note.starts_with('~')).collect::<Vec<_>>()
        };
        assert_eq!(notes(&runs), [""; 0]);
        for point in &mut runs[0].as_mut().unwrap().record.points {
            let by = "the generator stood still for a moment".to_string();
            let bounded = Standing::Bounded { low: 1e6, high: Some(2e6), by };
            point.standing.add(Figure::P99, bounded);
        }
        assert_eq!(notes(&runs), ["~: a figure has only bounds, or the visit was cut short"]);
    }

    #[test]
    fn where_much_failed_it_is_said_what_cpu_time_counts() {
        let (of, mut runs) = fixtures::experiment();
        let note = "CPU time is per response";
        let has_note = |table: &Table| table.notes.iter().any(|one| one.starts_with(note));
        assert!(!has_note(&rows(&of, &runs)));
        let run = runs[0].as_mut().unwrap();
        let best = run.record.points.iter().position(|one| Some(one) == point_of(run)).unwrap();
        let point = &mut run.record.points[best];
        point.requests.sent = 1000;
        (point.requests.completed, point.requests.failed) = (50, 950);
        point.status = [("2xx".to_string(), 50), ("5xx".to_string(), 850)].into();
        let table = rows(&of, &runs);
        assert!(has_note(&table), "{:?}", table.notes);
        let mix =
            "free: 94.4 % of the responses were not good, 10.0 % of the requests had no response";
        assert!(table.notes.contains(&mix.to_string()), "{:?}", table.notes);
    }

    #[test]
    fn what_cells_have_of_their_own_stands_in_tables_of_its_own() {
        let (mut of, _) = fixtures::experiment();
        let mut prefork = fixtures::ramp_quota();
        let server = prefork.record.target.server.as_mut().unwrap();
        server.pids.push(server.pids[0] + 1);
        let own = [Some(fixtures::ramp_quota()), Some(prefork), Some(fixtures::fanout()), None];
        for (cell, run) in of.cells.iter_mut().zip(&own) {
            let id = run.as_ref().map(|run| run.record.id.clone());
            cell.fate = id.map_or(Fate::NotReached, |run| Fate::Measured { run });
        }
        let text = crate::text_experiment(&of, &own, crate::Style::PLAIN);
        insta::assert_snapshot!("experiment_tables", text);
        let alike = [Some(fixtures::ramp_quota()), Some(fixtures::ramp_quota()), None, None];
        let text = crate::text_experiment(&of, &alike, crate::Style::PLAIN);
        assert!(!text.contains("Servers") && !text.contains("Events"), "{text}");
    }

    /// A result may be kept without its runs: figures of visits come from its own document, and
    /// nothing is marked as broken that was measured.
    #[test]
    fn visits_without_runs_have_the_figures_that_the_experiment_counted() {
        use model::analysis::{Analysis, Conditions, VisitSeen};
        let (mut of, runs) = fixtures::blocks();
        let seen = |(cell, run): (&CellResult, Option<&Run>)| {
            let (cell, block) = (cell.name.clone(), cell.block);
            let (figures, wall, conditions) = (figures(run?), None, Conditions::default());
            let bounds = figures::visit::bounds(&run?.record);
            let (rate_is_at_least, load) = (false, None);
            Some(VisitSeen {
                cell,
                block,
                figures,
                bounds,
                rate_is_at_least,
                load,
                levels: Vec::new(),
                conditions,
                wall,
            })
        };
        let visits = each_visit(&of, &runs).filter_map(seen).collect();
        of.analysis = Some(Analysis { visits, ..Analysis::default() });
        let none = vec![None; runs.len()];
        let (with, without) = (rows(&of, &runs), rows(&of, &none));
        let was_measured =
            |nth: &usize| runs[*nth].as_ref().is_some_and(|run| !figures(run).is_empty());
        let measured: Vec<usize> = (0..runs.len()).filter(was_measured).collect();
        assert!(!measured.is_empty());
        for nth in measured {
            assert_eq!(with.rows[nth].cells[..4], without.rows[nth].cells[..4]);
            assert_eq!(without.rows[nth].cells[6], "no run");
            assert!(without.rows[nth].mark == Mark::None && without.rows[nth].about.is_empty());
        }
        assert!(without.notes.contains(&NO_RUN.to_string()));
        let html = crate::html_experiment(&of, &none);
        assert!(html.contains("visits-rate") && !html.contains(">Walls<"));
        assert!(!html.contains("id=\"visit-1\""));
    }

    #[test]
    fn the_page_reads_like_this() {
        let (of, runs) = fixtures::experiment();
        let page = experiment_briefly(&of, &runs);
        insta::assert_snapshot!("experiment", crate::text::draw(&page, crate::Style::PLAIN));
        let html = crate::html_experiment(&of, &runs);
        assert!(html.contains("NOT A SERVER MEASUREMENT") && html.contains("SIGKILL"));
    }
}
