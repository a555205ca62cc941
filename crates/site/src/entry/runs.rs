//! Runs that were added by hand: a table row and a page for each.

use super::{Scene, claims, result};
use crate::figures;
use crate::frame::file_of;
use crate::markup::{escape, link};
use crate::{Added, Files};
use model::figure::Figure;
use model::maps::IntoMap;
use model::verdict::Named;
use report::sections::{Detail, page_of};

/// The page of each run.
pub fn files(scene: &Scene<'_>) -> Files {
    let file = |(nth, added): (usize, &Added)| {
        let page = page_of(&added.run, Detail::Everything);
        let name = page_name(nth);
        let bytes = result::own_page(scene, &name, &page, &added.run.record);
        (file_of(&scene.listed.slug, &name), bytes)
    };
    scene.of.runs.iter().enumerate().map(file).into_map()
}

/// A table with links to the pages.
pub fn list(scene: &Scene<'_>) -> String {
    if scene.of.runs.is_empty() {
        return String::new();
    }
    let row = |(nth, added): (usize, &Added)| {
        let address = scene.frame.to(&file_of(&scene.listed.slug, &page_name(nth)));
        let figures = figures::of_run(&added.run);
        let shown = |figure: Figure| {
            escape(&figures.get(&figure).map_or("-".to_string(), |value| value.text(figure)))
        };
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td>{}</td></tr>\n",
            link(&address, &added.name),
            shown(Figure::Rate),
            shown(Figure::P99),
            escape(&wall(added))
        )
    };
    let rows: String = scene.of.runs.iter().enumerate().map(row).collect();
    claims::table("Runs added by hand", &["run", "rate/s", "p99", "wall"], &rows)
}

fn wall(added: &Added) -> String {
    match added.run.record.verdict.wall {
        Named::Wall(wall) => format!("{} ({})", wall.name(), wall.id()),
        Named::None => "none".to_string(),
        Named::Unknown => "unknown".to_string(),
    }
}

fn page_name(nth: usize) -> String {
    format!("run-{}.html", nth + 1)
}
