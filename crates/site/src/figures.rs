//! One figure across entries: the same server and the same request, result by result.
//!
//! Two results have the same subject when the command lines of their servers are equal apart from
//! address and port, and the requests go to the same path. Loads may differ, so each row shows its
//! load. Rows are in order of time. The page draws no conclusions: hosts and versions may differ as
//! well.

use crate::frame::{Frame, page_of};
use crate::markup::{counted, escape, link};
use crate::{Contents, Listed, Measured};
use model::analysis::VisitSeen;
use model::experiment::{CellResult, Experiment};
use model::figure::Figure;
use model::maps::IntoMap;
use model::option;
use model::order::OrderBy as _;
use model::run::Run;
use model::unit::Unit;
use model::verdict::Named;
use report::page::{Axis, Block, DotRow, Dots, Page};
use std::collections::{BTreeMap, BTreeSet};

/// What a cell measured in one result.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// Server and path.
    subject: String,
    /// Start of the result.
    at: String,
    slug: journal::Slug,
    title: String,
    result: String,
    cell: String,
    /// The options of the load.
    load: String,
    wall: String,
    figures: BTreeMap<Figure, Value>,
}

/// A figure with its interval, if it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    middle: f64,
    within: Option<(f64, f64)>,
    /// Its text where only bounds are known, of it or of visits that it is of.
    bounds: Option<String>,
}

impl Value {
    /// The figure without its interval.
    pub fn text(&self, figure: Figure) -> String {
        self.bounds.clone().unwrap_or_else(|| shown(figure, self.middle))
    }
}

/// The measurements of the results of an entry.
pub fn measures(listed: &Listed, of: &Contents) -> Vec<Measure> {
    of.results.iter().flat_map(|result| of_result(listed, result)).collect()
}

fn of_result(listed: &Listed, of: &Measured) -> Vec<Measure> {
    let cells = &of.experiment.cells;
    let names: Vec<&str> = match &of.experiment.design {
        Some(design) => design.cells.iter().map(String::as_str).collect(),
        None => cells.iter().map(|cell| cell.name.as_str()).collect(),
    };
    let measure = |name: &&str| {
        let cell = cells.iter().find(|cell| cell.name == **name)?;
        let figures = figures_of(of, name);
        (!figures.is_empty()).then(|| Measure {
            subject: subject(cell),
            at: of.experiment.started_at.clone(),
            slug: listed.slug.clone(),
            title: listed.entry.title.clone(),
            result: of.id.clone(),
            cell: cell.name.clone(),
            load: load(cell),
            wall: wall(of, &cell.name),
            figures,
        })
    };
    names.iter().filter_map(measure).collect()
}

/// The server without its address, and the path of the requests.
fn subject(cell: &CellResult) -> String {
    let url = cell.command.iter().find(|word| word.contains("://")).map_or("", String::as_str);
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some((program, arguments)) = cell.server.split_first() else {
        return match url {
            "" => "server and path are not known".to_string(),
            _ => format!("{host} {path}").trim().to_string(),
        };
    };
    let mut words = vec![program.rsplit('/').next().unwrap_or(program)];
    let mut is_value = false;
    for word in arguments {
        match word.as_str() {
            "--addr" | "--port" => is_value = true,
            _ if is_value => is_value = false,
            word => words.push(word),
        }
    }
    format!("{} {path}", words.join(" ")).trim().to_string()
}

/// The load: the command without where it runs: its address, probes and links.
fn load(cell: &CellResult) -> String {
    let is_what = |word: &&String| {
        let is_place = option::typed(word).is_some_and(|facts| facts.is_of_place());
        !word.contains("://") && !is_place
    };
    let words: Vec<_> = cell.command.iter().skip(1).filter(is_what).map(String::as_str).collect();
    words.join(" ")
}

/// With a design, the figures over all visits; else the figures of the one run.
fn figures_of(of: &Measured, name: &str) -> BTreeMap<Figure, Value> {
    let experiment = &of.experiment;
    if experiment.design.is_some() {
        let summaries = experiment.summaries.iter().filter(|one| one.cell == name);
        let value = |one: &model::experiment::CellSummary| {
            let middle = one.median;
            let visits = match bounded_visits(experiment, name, one.figure) {
                0 => None,
                1 => Some("1 visit".to_string()),
                all => Some(format!("{all} visits")),
            };
            let bounds = visits.map(|visits| {
                format!("{} (only bounds are known in {visits})", shown(one.figure, middle))
            });
            let within = one.low.zip(one.high).filter(|_| bounds.is_none());
            (one.figure, Value { middle, within, bounds })
        };
        return summaries.map(value).filter(|(_, value)| value.middle.is_finite()).into_map();
    }
    let run = experiment.cells.iter().zip(&of.runs).find(|(cell, _)| cell.name == name);
    let Some(run) = run.and_then(|(_, run)| run.as_ref()) else { return BTreeMap::new() };
    of_run(run)
}

/// The figures of one run.
pub fn of_run(run: &Run) -> BTreeMap<Figure, Value> {
    let all = ::figures::visit::bounds(&run.record);
    let value = |(figure, middle): (Figure, f64)| {
        let bounds = all.get(&figure).map(|(low, high)| match high {
            None => format!(">{}", shown(figure, *low)),
            Some(high) => format!("{}..{}", shown(figure, *low), shown(figure, *high)),
        });
        (figure, Value { middle, within: None, bounds })
    };
    report::figures(run).into_iter().map(value).into_map()
}

/// Of how many visits of a cell only bounds of a figure are known.
fn bounded_visits(of: &Experiment, name: &str, figure: Figure) -> usize {
    let Some(analysis) = &of.analysis else { return 0 };
    let is_excluded = |visit: &VisitSeen| {
        let mut excluded = analysis.excluded.iter().filter(|one| one.cell == name);
        excluded.any(|one| Some(one.block) == visit.block)
    };
    let visits = analysis.visits.iter().filter(|visit| visit.cell == name);
    let counted = visits.filter(|visit| visit.block != Some(0) && !is_excluded(visit));
    counted.filter(|visit| visit.bounds.contains_key(&figure)).count()
}

/// The walls of the visits of a cell, the most frequent first.
fn wall(of: &Measured, name: &str) -> String {
    let cells = of.experiment.cells.iter().zip(&of.runs);
    let visits = cells.filter(|(cell, _)| cell.name == name && cell.block != Some(0));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for run in visits.filter_map(|(_, run)| run.as_ref()) {
        *counts.entry(wall_of(run)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.order_by(|(a, left), (b, right)| right.cmp(left).then(a.cmp(b)));
    let walls: Vec<_> = counts.into_iter().map(|(wall, _)| wall).collect();
    walls.join(", ")
}

fn wall_of(run: &Run) -> String {
    match run.record.verdict.wall {
        Named::Wall(wall) => wall.id().to_string(),
        Named::None => "none".to_string(),
        Named::Unknown => "unknown".to_string(),
    }
}

/// The page.
pub fn page(frame: Frame<'_>, measures: &[&Measure]) -> Vec<u8> {
    let mut subjects: BTreeMap<&str, Vec<&Measure>> = BTreeMap::new();
    for measure in measures {
        subjects.entry(&measure.subject).or_default().push(measure);
    }
    for rows in subjects.values_mut() {
        rows.order_by_key(|one| (&one.at, &one.slug, &one.result));
    }
    let results = |rows: &[&Measure]| -> usize {
        rows.iter().map(|one| (&one.slug, &one.result)).collect::<BTreeSet<_>>().len()
    };
    let (mut often, once): (Vec<_>, Vec<_>) =
        subjects.into_iter().partition(|(_, rows)| results(rows) > 1);
    often.order_by_key(|(subject, rows)| (std::cmp::Reverse(results(rows)), *subject));
    frame.page("Figures over time", |document| {
        document.markup("<h1>Figures over time</h1>\n");
        document.markup(INTRODUCTION);
        if often.is_empty() {
            document.markup("<p>No server and path has been measured in two results yet.</p>\n");
        }
        for (nth, (subject, rows)) in often.iter().enumerate() {
            document.markup(&format!(
                "<section id=\"subject-{}\">\n<h2>{}</h2>\n<p class=\"faint\">{} in {}</p>\n",
                nth + 1,
                escape(subject),
                counted(rows.len(), "cell", "cells"),
                counted(results(rows), "result", "results")
            ));
            document.blocks(&plots(nth + 1, rows));
            document.markup(&table(&frame, rows));
            document.markup("</section>\n");
        }
        if !once.is_empty() {
            document.markup("<section id=\"once\">\n<h2>Measured in one result</h2>\n");
            let rows: Vec<&Measure> = once.into_iter().flat_map(|(_, rows)| rows).collect();
            document.markup(&table(&frame, &rows));
            document.markup("</section>\n");
        }
    })
}

const INTRODUCTION: &str = "<p>The same server with the same request, from the oldest result to \
    the newest: the median of the visits of each cell with its 95 % interval. Loads, hosts and \
    versions may differ, so a difference here is not a finding.</p>\n";

/// Rates, and times where there are any.
fn plots(number: usize, rows: &[&Measure]) -> Page {
    let plot = |(figure, title, unit): (Figure, &str, Unit)| {
        let row = |one: &&Measure| row(one, figure);
        let rows: Vec<DotRow> = rows.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| {
            Block::Dots(Dots {
                id: format!("{}-{number}", title.to_lowercase()),
                title: title.to_string(),
                note: String::new(),
                rows_are: "day and cell".to_string(),
                values_are: "median".to_string(),
                words_are: "wall".to_string(),
                axis: Axis::linear(title, unit),
                zone: None,
                line: None,
                rows,
            })
        })
    };
    let plots = [(Figure::Rate, "Rate", Unit::PerSecond), (Figure::P99, "p99", Unit::Ns)];
    let blocks = plots.into_iter().filter_map(plot).collect();
    Page { title: String::new(), subtitle: String::new(), blocks }
}

fn row(of: &Measure, figure: Figure) -> Option<DotRow> {
    let value = of.figures.get(&figure)?;
    Some(DotRow {
        label: format!("{} {}", day(&of.at), of.cell),
        value: value.text(figure),
        word: of.wall.clone(),
        dots: Vec::new(),
        middle: Some(value.middle),
        within: value.within,
    })
}

/// The day of a time.
fn day(at: &str) -> &str {
    at.split('T').next().unwrap_or(at)
}

/// A value in a column whose heading says the unit: CPU time to a tenth of a microsecond.
fn shown(figure: Figure, value: f64) -> String {
    if figure.is_cost() { format!("{value:.1}") } else { figure.cell(value) }
}

/// The figures as a table, with links to the entries.
fn table(frame: &Frame<'_>, rows: &[&Measure]) -> String {
    let number = |name: &str| format!("<th scope=\"col\" class=\"number\">{name}</th>");
    let heads: String = Figure::COMPARED.map(|figure| number(figure.heading())).concat();
    let row = |one: &&Measure| {
        let cell = |figure: Figure| {
            let value = one.figures.get(&figure);
            let text = value.map_or("-".to_string(), |value| with_interval(figure, value));
            format!("<td class=\"number\">{}</td>", escape(&text))
        };
        let figures = Figure::COMPARED.map(cell).concat();
        format!(
            "<tr><th scope=\"row\" class=\"short\">{}</th><td class=\"medium\">{}</td>\
             <td class=\"medium\">{}</td>{figures}<td>{}</td><td class=\"medium\">{}</td></tr>\n",
            escape(day(&one.at)),
            link(&frame.to(&page_of(&one.slug)), &one.title),
            escape(&one.cell),
            escape(&one.wall),
            escape(&one.load)
        )
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Figures\">\n<table>\n\
         <thead><tr><th scope=\"col\">day</th><th scope=\"col\">entry</th>\
         <th scope=\"col\">cell</th>{heads}<th scope=\"col\">wall</th>\
         <th scope=\"col\">load</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn with_interval(figure: Figure, of: &Value) -> String {
    let middle = of.text(figure);
    match of.within {
        Some((low, high)) => {
            format!("{middle} ({} to {})", shown(figure, low), shown(figure, high))
        }
        None => middle,
    }
}
