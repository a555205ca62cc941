//! The index: all entries in order, filters, and the words for the search.

use crate::frame::Frame;
use crate::listing;
use crate::markup::{counted, escape, paragraphs};
use crate::{Drawn, Site};
use model::maps::IntoMap;
use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of searchable words of one entry.
const WORDS_MAX: usize = 64 << 10;

/// The page.
pub fn page(frame: Frame<'_>, site: &Site, drawn: &[Drawn]) -> Vec<u8> {
    frame.page("", |document| {
        document.markup(&format!("<h1>{}</h1>\n", escape(&site.about.title)));
        let about = site.about.description.as_deref().map_or(String::new(), paragraphs);
        document.markup(&about);
        document.markup(&filters(site));
        document.markup(&format!(
            "<p class=\"count\" id=\"count\" role=\"status\">{}</p>\n",
            counted(site.entries.len(), "entry", "entries")
        ));
        let items: String = site.entries.iter().map(|one| listing::item(&frame, one)).collect();
        document.markup(&format!("<ol class=\"entries\">\n{items}</ol>\n"));
        document.data("words", &words(site, drawn));
    })
}

/// The filters, which need scripts. Without scripts, the page of tags does the same.
fn filters(site: &Site) -> String {
    let tags: BTreeSet<&str> =
        site.entries.iter().flat_map(|one| &one.entry.tags).map(String::as_str).collect();
    let statuses: Vec<&str> = crate::groups::STATUSES.to_vec();
    let select = |id: &str, label: &str, all: &str, options: Vec<&str>| {
        let option = |value: &&str| {
            let value = escape(value);
            format!("<option value=\"{value}\">{value}</option>")
        };
        let options: String = options.iter().map(option).collect();
        format!(
            "<label>{label} <select id=\"{id}\"><option value=\"\">{all}</option>{options}\
             </select></label>\n"
        )
    };
    format!(
        "<p class=\"filters\" id=\"filters\" hidden>\n{}{}</p>\n",
        select("of-status", "Status", "any", statuses),
        select("of-tag", "Tag", "any", tags.into_iter().collect())
    )
}

/// The words of each entry, by its name: lower case, without duplicates.
fn words(site: &Site, drawn: &[Drawn]) -> BTreeMap<String, String> {
    let notes: BTreeMap<_, _> = drawn.iter().map(|one| (&one.slug, one.words.as_str())).into_map();
    let of_entry = |one: &crate::Listed| {
        let entry = &one.entry;
        let own = [
            one.slug.as_str(),
            &entry.title,
            &entry.question,
            entry.answer.as_deref().unwrap_or(""),
            entry.lesson.as_deref().unwrap_or(""),
            entry.source.as_deref().unwrap_or(""),
        ];
        let findings = entry.findings.iter().map(|one| one.text.as_str());
        let tags = entry.tags.iter().map(String::as_str);
        let notes = notes.get(&one.slug).copied();
        let all = own.into_iter().chain(tags).chain(findings).chain(notes);
        (one.slug.to_string(), bag(all))
    };
    site.entries.iter().map(of_entry).into_map()
}

/// Words without duplicates, in order of first use; words after the limit are dropped.
fn bag<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut seen = BTreeSet::new();
    let mut bag = String::new();
    for word in texts.flat_map(str::split_whitespace) {
        let word = word.to_lowercase();
        let word = word.trim_matches(|letter: char| ".,;:!?()[]{}\"'".contains(letter));
        if word.is_empty() || bag.len() + word.len() > WORDS_MAX || !seen.insert(word.to_string()) {
            continue;
        }
        bag.push_str(word);
        bag.push(' ');
    }
    bag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_kept_once_and_their_number_is_bounded() {
        let texts = ["Gzip helps, (gzip)!", "HELPS \"r\u{e4}k\""];
        assert_eq!(bag(texts.into_iter()), "gzip helps r\u{e4}k ");
        let many: String = (0..100_000).map(|nth| format!("word{nth} ")).collect();
        assert!(bag([many.as_str()].into_iter()).len() <= WORDS_MAX + 1);
    }
}
