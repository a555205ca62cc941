//! Results: the chosen one with the blocks of its report; older results and single visits on
//! separate pages.

use super::{Scene, chosen, heading};
use crate::frame::file_of;
use crate::markup::{escape, link};
use crate::{Files, Measured};
use model::experiment::CellSummary;
use model::figure::Figure;
use model::run::Run;
use report::html::Document;
use report::sections::{Detail, experiment, page_of};

/// The blocks of the report of the chosen result.
pub fn append(document: &mut Document<'_>, of: &Measured) {
    let page = experiment(&of.experiment, &of.runs);
    document.markup(&format!(
        "<p class=\"faint\">{}, ceiling {}</p>\n<p><button type=\"button\" id=\"save-record\" \
         hidden>Save record (JSON)</button></p>\n",
        escape(&page.subtitle),
        escape(&of.experiment.version)
    ));
    document.blocks(&page);
}

/// Pages of the other results, and of one visit of each cell of the chosen result.
pub fn files(scene: &Scene<'_>) -> Files {
    let mut files = Files::new();
    for (nth, result) in others_of(scene) {
        let page = experiment(&result.experiment, &result.runs);
        let name = result_page(nth);
        files.insert(
            file_of(&scene.listed.slug, &name),
            own_page(scene, &name, &page, &result.experiment),
        );
    }
    let visits = chosen(scene.of).map_or(Vec::new(), visits);
    for (nth, (_, run)) in visits.iter().enumerate() {
        let page = page_of(run, Detail::Everything);
        let name = cell_page(nth);
        let file = own_page(scene, &name, &page, &run.record);
        files.insert(file_of(&scene.listed.slug, &name), file);
    }
    files
}

/// A page of an entry with the blocks of a report.
pub fn own_page(
    scene: &Scene<'_>,
    name: &str,
    page: &report::page::Page,
    record: &impl serde::Serialize,
) -> Vec<u8> {
    let path = file_of(&scene.listed.slug, name);
    let frame = crate::frame::Frame { root: "../../", path: &path, ..scene.frame };
    let scene = Scene { frame, ..*scene };
    frame.page(&page.title, |document| {
        document.markup(&heading(&scene, &page.title));
        document.markup(&format!(
            "<p class=\"faint\">{}</p>\n<p><button type=\"button\" id=\"save-record\" hidden>Save \
             record (JSON)</button></p>\n<section id=\"verdict\" aria-label=\"Verdict\">\n",
            escape(&page.subtitle)
        ));
        document.blocks(page);
        document.markup("</section>\n");
        document.data("record", record);
    })
}

/// Links to those pages.
pub fn others(scene: &Scene<'_>) -> String {
    let to = |name: &str, text: &str| {
        let address = scene.frame.to(&file_of(&scene.listed.slug, name));
        format!("<li>{}</li>\n", link(&address, text))
    };
    let mut html = String::new();
    let visits = chosen(scene.of).map_or(Vec::new(), visits);
    let items: String =
        visits.iter().enumerate().map(|(nth, (cell, _))| to(&cell_page(nth), cell)).collect();
    if !items.is_empty() {
        html.push_str(
            "<p>The full report, with both hosts, of the visit of each cell whose rate is nearest \
             to the median of the cell:</p>\n",
        );
        html.push_str(&format!("<ul>\n{items}</ul>\n"));
    }
    let others = others_of(scene);
    let items: String = others.map(|(nth, result)| to(&result_page(nth), &result.id)).collect();
    if !items.is_empty() {
        html.push_str(&format!("<p>Other results of this entry:</p>\n<ul>\n{items}</ul>\n"));
    }
    html
}

fn others_of<'a>(scene: &Scene<'a>) -> impl Iterator<Item = (usize, &'a Measured)> {
    let chosen = scene.of.chosen;
    scene.of.results.iter().enumerate().filter(move |(nth, _)| Some(*nth) != chosen)
}

/// Results are only added, so the index of a result does not change.
fn result_page(nth: usize) -> String {
    format!("result-{}.html", nth + 1)
}

fn cell_page(nth: usize) -> String {
    format!("cell-{}.html", nth + 1)
}

/// For each cell, the visit whose rate is nearest to the median of the cell; without a median, the
/// first measured visit.
fn visits(of: &Measured) -> Vec<(&str, &Run)> {
    let names: Vec<&str> = match &of.experiment.design {
        Some(design) => design.cells.iter().map(String::as_str).collect(),
        None => of.experiment.cells.iter().map(|cell| cell.name.as_str()).collect(),
    };
    let nearest = |name: &str| {
        let of_cell =
            |summary: &&CellSummary| summary.cell == name && summary.figure == Figure::Rate;
        let median = of.experiment.summaries.iter().find(of_cell).map(|one| one.median);
        let cells = of.experiment.cells.iter().zip(&of.runs);
        let runs = cells.filter(|(cell, _)| cell.name == name && cell.block != Some(0));
        let distance = |run: &Run| {
            let rate = report::figures(run).get(&Figure::Rate).copied();
            rate.zip(median).map_or(f64::INFINITY, |(rate, median)| (rate - median).abs())
        };
        let runs = runs.filter_map(|(_, run)| run.as_ref());
        runs.min_by(|left, right| distance(left).total_cmp(&distance(right)))
    };
    names.into_iter().filter_map(|name| Some((name, nearest(name)?))).collect()
}
