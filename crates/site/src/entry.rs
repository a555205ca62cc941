//! The page of an entry, and the files that belong to it.

mod claims;
mod foreign;
mod head;
mod repeat;
mod result;
mod runs;

use crate::figures;
use crate::frame::{Frame, page_of};
use crate::markup::{escape, link};
use crate::{Contents, Drawn, Files, Listed, Site, listing, notes};
use report::html::Document;

/// Data that all parts of the page need.
struct Scene<'a> {
    site: &'a Site,
    frame: Frame<'a>,
    listed: &'a Listed,
    at: usize,
    of: &'a Contents,
    notes: &'a notes::Drawn,
}

/// A section of the page: its anchor, its heading, and a function that fills it.
struct Section<'a> {
    id: &'static str,
    name: &'static str,
    fill: Fill<'a>,
}

/// Fills a section.
enum Fill<'a> {
    Markup(String),
    Result(&'a crate::Measured),
}

/// The pages of an entry: its own, and pages of older results and of single runs.
pub fn draw(site: &Site, at: usize, of: &Contents) -> Drawn {
    let listed = &site.entries[at];
    let path = page_of(&listed.slug);
    let frame = Frame { about: &site.about, root: "../", path: &path };
    let result = chosen(of).map_or("", |result| result.id.as_str());
    let notes = notes::draw(&of.notes, result);
    let scene = Scene { site, frame, listed, at, of, notes: &notes };
    let mut files = Files::new();
    files.insert(path.clone(), page(&scene));
    files.extend(repeat::files(&scene));
    files.extend(result::files(&scene));
    files.extend(runs::files(&scene));
    let updated = of.results.last().map(|one| one.experiment.started_at.clone());
    Drawn {
        slug: listed.slug.clone(),
        files,
        words: notes.words,
        updated: updated.filter(|time| is_time(time)).unwrap_or_default(),
        measures: figures::measures(listed, of),
    }
}

/// Whether a text has the form `2026-11-23T12:00:00Z`.
fn is_time(text: &str) -> bool {
    let pattern = "0000-00-00T00:00:00Z";
    let fits = |(have, want): (char, char)| match want {
        '0' => have.is_ascii_digit(),
        other => have == other,
    };
    text.len() == pattern.len() && text.chars().zip(pattern.chars()).all(fits)
}

fn page(scene: &Scene<'_>) -> Vec<u8> {
    let sections = sections(scene);
    scene.frame.page(&scene.listed.entry.title, |document| {
        document.markup(&head::head(scene));
        let way = |one: &Section<'_>| link(&format!("#{}", one.id), one.name) + "\n";
        let ways: String = sections.iter().map(way).collect();
        document.markup(&format!("<nav aria-label=\"Sections\">\n{ways}</nav>\n"));
        for section in sections {
            append(document, section);
        }
        document.markup(&head::ways(scene));
        if let Some(result) = chosen(scene.of) {
            document.data("record", &result.experiment);
        }
    })
}

fn append(document: &mut Document<'_>, section: Section<'_>) {
    let (id, name) = (section.id, section.name);
    document.markup(&format!("<section id=\"{id}\">\n<h2>{name}</h2>\n"));
    match section.fill {
        Fill::Markup(markup) => document.markup(&markup),
        Fill::Result(result) => result::append(document, result),
    }
    document.markup("</section>\n");
}

/// The sections that are not empty, in reading order. Blocks of a report have their own anchors, so
/// the anchors here start with `entry-`.
fn sections<'a>(scene: &Scene<'a>) -> Vec<Section<'a>> {
    let markup = [
        ("entry-question", "Question", head::question(scene)),
        ("entry-hypothesis", "Hypothesis", claims::hypothesis(scene)),
        ("entry-findings", "Findings", claims::findings(scene)),
        ("entry-notes", "Notes", prose(scene)),
    ];
    let after = [
        ("entry-runs", "Runs and hosts", result::others(scene) + &runs::list(scene)),
        ("entry-foreign", "Other tools", foreign::list(scene)),
        ("entry-plan", "Plan", repeat::plan(scene)),
        ("entry-repeat", "Repeat it", repeat::commands(scene)),
    ];
    let section = |(id, name, markup): (&'static str, &'static str, String)| {
        (!markup.is_empty()).then_some(Section { id, name, fill: Fill::Markup(markup) })
    };
    let result = chosen(scene.of).map(|result| Section {
        id: "entry-result",
        name: "Result",
        fill: Fill::Result(result),
    });
    let before = markup.into_iter().filter_map(section);
    before.chain(result).chain(after.into_iter().filter_map(section)).collect()
}

/// The notes; their headings are below the level of the page's sections.
fn prose(scene: &Scene<'_>) -> String {
    match scene.notes.markup.as_str() {
        "" => String::new(),
        markup => format!("<div class=\"prose\">\n{markup}</div>\n"),
    }
}

/// The chosen result of the entry.
fn chosen(of: &Contents) -> Option<&crate::Measured> {
    of.results.get(of.chosen?)
}

/// The heading of a separate page of an entry: a link back, and the title.
fn heading(scene: &Scene<'_>, title: &str) -> String {
    let back = link(&scene.frame.to(&page_of(&scene.listed.slug)), &scene.listed.entry.title);
    format!(
        "<p class=\"meta\">{} {back}</p>\n<h1>{}</h1>\n",
        listing::status(&scene.listed.entry.status),
        escape(title)
    )
}
