//! The feed: an Atom document (RFC 4287) with one entry for each entry of the journal.

use crate::frame::{FEED, INDEX, page_of};
use crate::markup::{escape, joined};
use crate::{Drawn, Listed, Site};
use model::maps::IntoMap;
use model::order::OrderBy as _;
use std::collections::BTreeMap;

/// Time of the last change of a journal without entries.
const NEVER: &str = "1970-01-01T00:00:00Z";

/// The feed of a journal that is published at an address, with the newest entry first.
pub fn feed(url: &str, site: &Site, drawn: &[Drawn]) -> String {
    let url = url.trim_end_matches('/');
    let updated: BTreeMap<_, _> =
        drawn.iter().map(|one| (&one.slug, one.updated.as_str())).into_map();
    let mut dated: Vec<(String, &Listed)> = site
        .entries
        .iter()
        .map(|one| {
            let day = format!("{}T00:00:00Z", one.entry.date);
            let changed = updated.get(&one.slug).map_or(day.clone(), |changed| (*changed).into());
            (changed.max(day), one)
        })
        .collect();
    dated.order_by(|(left, a), (right, b)| right.cmp(left).then(a.slug.cmp(&b.slug)));
    let last = dated.first().map_or(NEVER, |(updated, _)| updated);
    let about = &site.about;
    let subtitle = about
        .description
        .as_ref()
        .map_or(String::new(), |text| format!("<subtitle>{}</subtitle>\n", escape(&joined(text))));
    let title = escape(&about.title);
    let entries: String = dated.iter().map(|(updated, one)| entry(url, updated, one)).collect();
    let url = escape(url);
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>{url}/</id>\n<title>{title}</title>\n\
         {subtitle}<updated>{last}</updated>\n<author><name>{title}</name></author>\n\
         <link rel=\"self\" href=\"{url}/{FEED}\"/>\n<link href=\"{url}/{INDEX}\"/>\n{entries}\
         </feed>\n"
    )
}

fn entry(url: &str, updated: &str, of: &Listed) -> String {
    let address = escape(&format!("{url}/{}", page_of(&of.slug)));
    let stated = &of.entry;
    let tag = |tag: &String| format!("<category term=\"{}\"/>\n", escape(tag));
    let tags: String = stated.tags.iter().map(tag).collect();
    let summary = match &stated.answer {
        Some(answer) => format!("{} {answer}", joined(&stated.question)),
        None => joined(&stated.question),
    };
    format!(
        "<entry>\n<id>{address}</id>\n<title>{}</title>\n<link href=\"{address}\"/>\n\
         <updated>{}</updated>\n<published>{}T00:00:00Z</published>\n{tags}\
         <summary>{}</summary>\n</entry>\n",
        escape(&stated.title),
        escape(updated),
        stated.date,
        escape(&format!("[{}] {summary}", stated.status.word()))
    )
}
