//! Entries by status and by tag: the filters of the index without scripts, and the target of tag
//! links.

use crate::frame::{Frame, page_of};
use crate::markup::{anchor, counted, escape, link};
use crate::{Listed, Site};
use std::collections::BTreeSet;

/// The words for the status of an entry, in the order of its life.
pub const STATUSES: [&str; 5] = ["planned", "predicted", "running", "done", "superseded"];

/// The page.
pub fn page(frame: Frame<'_>, site: &Site) -> Vec<u8> {
    let mut groups = Vec::new();
    for status in STATUSES {
        let has = |one: &&Listed| one.entry.status.word() == status;
        let entries: Vec<_> = site.entries.iter().filter(has).collect();
        groups.push((format!("status-{status}"), status.to_string(), entries));
    }
    let tags: BTreeSet<&String> = site.entries.iter().flat_map(|one| &one.entry.tags).collect();
    for tag in tags {
        let has = |one: &&Listed| one.entry.tags.contains(tag);
        let entries: Vec<_> = site.entries.iter().filter(has).collect();
        groups.push((format!("tag-{}", anchor(tag)), tag.clone(), entries));
    }
    groups.retain(|(_, _, entries)| !entries.is_empty());
    frame.page("Tags", |document| {
        document.markup("<h1>Entries by status and tag</h1>\n");
        let way = |(id, name, entries): &(String, String, Vec<&Listed>)| {
            format!("{} ({})\n", link(&format!("#{id}"), name), entries.len())
        };
        let ways: String = groups.iter().map(way).collect();
        document.markup(&format!("<nav aria-label=\"Groups\">\n{ways}</nav>\n"));
        for (id, name, entries) in &groups {
            document.markup(&group(&frame, id, name, entries));
        }
    })
}

fn group(frame: &Frame<'_>, id: &str, name: &str, entries: &[&Listed]) -> String {
    let item = |one: &&Listed| {
        let title = link(&frame.to(&page_of(&one.slug)), &one.entry.title);
        let answer = one
            .entry
            .answer
            .as_deref()
            .map_or(String::new(), |answer| format!(": {}", escape(answer)));
        format!("<li>{title} <span class=\"faint\">{}</span>{answer}</li>\n", one.entry.date)
    };
    let items: String = entries.iter().map(item).collect();
    format!(
        "<section id=\"{}\">\n<h2>{} <span class=\"faint\">{}</span></h2>\n<ul>\n{items}</ul>\n\
         </section>\n",
        escape(id),
        escape(name),
        counted(entries.len(), "entry", "entries")
    )
}
