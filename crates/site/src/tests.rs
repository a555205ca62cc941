//! Properties of a whole site.

use crate::fixtures::{HOSTILE_NOTES, journal};
use crate::{Files, notes};
use journal::language::Piece;
use model::experiment::{Contrast, LevelContrast};
use model::figure::Figure;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Built once, because pages of many visits take long.
fn built() -> &'static Files {
    static BUILT: LazyLock<Files> = LazyLock::new(|| {
        let (site, contents) = journal();
        let drawn = contents.iter().filter_map(|(slug, of)| site.draw(slug, of)).collect();
        site.finish(drawn)
    });
    &BUILT
}

fn page<'a>(files: &'a Files, path: &str) -> &'a str {
    std::str::from_utf8(&files[path]).unwrap()
}

/// The page without its styles, scripts and data.
fn body(page: &str) -> &str {
    let from = page.find("<body>").unwrap();
    &page[from..page[from..].find("<script").unwrap() + from]
}

/// Writes a site to the folder `SITE_PAGES`, for `tests/browser.mjs` and for inspection.
#[test]
fn site_files_are_left_to_look_at() {
    let Some(folder) = std::env::var_os("SITE_PAGES") else { return };
    for (path, bytes) in built() {
        let file = PathBuf::from(&folder).join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
}

#[test]
fn pages_read_like_this() {
    let files = built();
    insta::assert_snapshot!("index", body(page(files, "index.html")));
    insta::assert_snapshot!("tags", body(page(files, "tags.html")));
    insta::assert_snapshot!("planned", body(page(files, "entries/gzip-again.html")));
    insta::assert_snapshot!("feed", page(files, "feed.xml"));
    // Without the blocks of the report, which have snapshots of their own.
    let entry = body(page(files, "entries/gzip-helps.html"));
    let (before, rest) = entry.split_once("<section id=\"entry-result\">").unwrap();
    let (_, after) = rest.split_once("<section id=\"entry-runs\">").unwrap();
    insta::assert_snapshot!("entry", format!("{before}[the result]\n{after}"));
    let figures = body(page(files, "figures.html"));
    let (before, rest) = figures.split_once("<figure").unwrap();
    let table = &rest[rest
        .find(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" \
                                 aria-label=\"Figures\">",
        )
        .unwrap()..];
    insta::assert_snapshot!("figures", format!("{before}[the plots]\n{table}"));
}

#[test]
fn the_same_journal_gives_the_same_bytes() {
    let (site, contents) = journal();
    let slug = &contents[0].0;
    let drawn = site.draw(slug, &contents[0].1).unwrap();
    assert!(drawn.files.iter().all(|(path, bytes)| built()[path] == *bytes), "{slug}");
    let (again, _) = journal();
    let entry = |site: &crate::Site| site.draw(&contents[3].0, &contents[3].1).unwrap().files;
    assert!(entry(&site) == entry(&again));
}

#[test]
fn an_entry_has_the_blocks_of_its_report() {
    let files = built();
    let entry = page(files, "entries/gzip-helps.html");
    for part in ["id=\"visits-rate\"", "Over time", "Differences", "id=\"visit-1\""] {
        assert!(entry.contains(part), "{part}");
    }
    let (of, runs) = report::fixtures::visits();
    let blocks = report::sections::experiment(&of, &runs);
    assert_eq!(entry.matches("<figure class=\"chart\"").count(), blocks.charts().len());
}

/// Base, changed and change of each level, as on the page of the experiment.
#[test]
fn an_entry_has_the_levels_of_its_result() {
    let (site, mut contents) = journal();
    let (slug, of) = contents.iter_mut().find(|(slug, _)| slug.as_str() == "gzip-helps").unwrap();
    let result = &mut of.results[of.chosen.unwrap()].experiment;
    let contrast = result.contrasts.iter().find(|one| one.figure == Figure::Rate).unwrap();
    let level = |load: u64| LevelContrast {
        load: Some(load),
        base: Some(7_000.0),
        changed: Some(9_100.0),
        contrast: Contrast {
            ratio: Some(1.3),
            low: Some(1.2),
            high: Some(1.4),
            ..contrast.clone()
        },
    };
    result.levels = vec![level(48), level(96)];
    let files = site.draw(slug, of).unwrap().files;
    let entry = body(page(&files, &format!("entries/{}.html", slug.as_str())));
    for part in ["level by level", "All levels with their intervals", ">48<", ">7000<", ">9100<"] {
        assert!(entry.contains(part), "{part}");
    }
}

/// Every link goes to an existing file of the site and to an existing anchor.
#[test]
fn no_link_goes_into_nothing() {
    let files = built();
    let mut followed = 0;
    for (path, bytes) in files {
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        if !path.ends_with(".html") {
            continue;
        }
        for link in body(text).split(" href=\"").skip(1) {
            let address = &link[..link.find('"').unwrap()];
            let is_elsewhere = address.starts_with("https://") || address.starts_with("mailto:");
            // From the hostile notes.
            if is_elsewhere || ["x", "y"].contains(&address) {
                continue;
            }
            let (file, anchor) = address.split_once('#').unwrap_or((address, ""));
            let target = if file.is_empty() { path.clone() } else { beside(path, file) };
            let there = files.get(&target);
            let there = there.unwrap_or_else(|| panic!("{address} in {path}"));
            let there = String::from_utf8_lossy(there);
            assert!(
                anchor.is_empty() || there.contains(&format!(" id=\"{anchor}\"")),
                "{address} in {path}"
            );
            followed += 1;
        }
    }
    assert!(followed > 100, "{followed}");
}

/// The path of a relative address.
fn beside(path: &str, address: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in address.split('/') {
        match part {
            ".." => drop(parts.pop().unwrap()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Every element and attribute that ceiling writes. Text escapes `<` and `>`, so everything between
/// them is markup, and anything not listed here came from elsewhere.
const ELEMENTS: &str = "a abbr blockquote body button caption circle code dd del details div dl dt \
    em figcaption figure h1 h2 h3 h4 h5 h6 header input kbd label li main nav noscript ol option p \
    path pre rect section select span strong summary svg table tbody td text tfoot th thead time \
    title tr ul wbr";

const ATTRIBUTES: &str = "aria-current aria-label autocomplete class cx cy d data-index \
    data-status data-tags datetime for height hidden href id preserveAspectRatio r role rowspan \
    scope spellcheck tabindex title type value viewBox width x y";

#[test]
fn there_is_no_markup_but_ours() {
    let (elements, attributes): (BTreeSet<_>, BTreeSet<_>) =
        (ELEMENTS.split_whitespace().collect(), ATTRIBUTES.split_whitespace().collect());
    for (path, bytes) in built().iter().filter(|(path, _)| path.ends_with(".html")) {
        let text = std::str::from_utf8(bytes).unwrap();
        for piece in body(text).split('<').skip(1) {
            let tag = piece.split_once('>').unwrap_or_else(|| panic!("{path}: {piece}")).0;
            let (name, rest) = tag.split_once(' ').unwrap_or((tag, ""));
            let name = name.trim_start_matches('/');
            assert!(elements.contains(name), "{path}: <{tag}>");
            // Text in quotes is skipped; names of attributes are before each `=`.
            let mut outside = rest.split('"').step_by(2).flat_map(str::split_whitespace);
            let known = |name: &str| attributes.contains(name.trim_end_matches('='));
            assert!(outside.all(known), "{path}: <{tag}>");
            for address in rest.split("href=\"").skip(1) {
                let address = &address[..address.find('"').unwrap()];
                let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
                assert!(["", "https", "mailto"].contains(&scheme), "{path}: {address}");
                assert!(!address.starts_with("//"), "{path}: {address}");
            }
        }
    }
}

/// An entry may be named like a part of the page.
#[test]
fn no_two_parts_of_a_page_have_the_same_anchor() {
    let (mut site, _) = journal();
    for name in ["main", "words", "count", "filters"] {
        let slug = journal::Slug::parse(name).unwrap();
        let listed = crate::Listed { slug, ..site.entries[0].clone() };
        site.entries.push(listed);
    }
    let files = site.finish(Vec::new());
    for path in ["index.html", "tags.html"] {
        // The words of the search come after the body.
        let mut ids = BTreeSet::from(["words"]);
        for part in body(page(&files, path)).split(" id=\"").skip(1) {
            let id = part.split('"').next().unwrap_or_default();
            assert!(ids.insert(id), "{id} in {path}");
        }
    }
}

/// A plan alone does not repeat what needs other hosts or secrets.
#[test]
fn what_cannot_be_made_again_is_said() {
    let (site, mut contents) = journal();
    let (slug, of) = contents.iter_mut().find(|(_, of)| of.chosen.is_some()).unwrap();
    let nth = of.chosen.unwrap();
    of.plan = Some("auth = \"***\"".to_string());
    of.results[nth].experiment.hosts = vec![model::experiment::HostUsed {
        name: "<server>".to_string(),
        probe: Some("10.0.0.2:9417".to_string()),
        link: None,
    }];
    let files = site.draw(slug, of).unwrap().files;
    let text = page(&files, &format!("entries/{slug}.html"));
    assert!(text.contains("with other hosts (&lt;server&gt;), and cannot be made again"));
    assert!(text.contains("Secrets of the plan are shown as ***"));
}

#[test]
fn hostile_strings_stay_text() {
    let files = built();
    let page = page(files, "entries/hostile.html");
    assert_eq!(page.matches("<script").count(), page.matches("</script").count());
    let scripts = page.matches("<script>").count();
    assert!(scripts <= 7, "{scripts} scripts");
    assert!(page.contains("&lt;script&gt;window.pwned"), "shown, not run");
    assert!(body(page).contains("to run (javascript:window.pwned=1)"), "told where it goes");
    assert!(!page.contains('\u{202e}'), "nothing reverses the direction of text");
    assert!(files.keys().all(|path| !path.contains("..") && !path.contains('<')));
    // Neither does the index, which has the same strings in its data.
    let index = std::str::from_utf8(&files["index.html"]).unwrap();
    assert_eq!(index.matches("<script").count(), index.matches("</script").count());
}

#[test]
fn notes_keep_what_commonmark_says_and_lose_what_could_act() {
    insta::assert_snapshot!(
        "hostile_notes",
        notes::draw(&[Piece::Text(HOSTILE_NOTES.to_string())], "").markup
    );
}

#[test]
fn the_feed_is_a_document_of_atom() {
    let files = built();
    let text = page(files, "feed.xml");
    let feed = roxmltree::Document::parse(text).unwrap();
    let root = feed.root_element();
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2005/Atom"));
    let entries: Vec<_> = root.children().filter(|one| one.has_tag_name(ATOM_ENTRY)).collect();
    assert_eq!(entries.len(), 4);
    let mut ids = BTreeSet::new();
    for node in entries.iter().chain([&root]) {
        let text = |name: &str| {
            let child = node.children().find(|one| one.tag_name().name() == name);
            child.and_then(|one| one.text()).unwrap_or_else(|| panic!("{name}")).to_string()
        };
        assert!(ids.insert(text("id")) && text("id").starts_with("https://example.org/journal/"));
        assert!(text("updated").ends_with('Z') && !text("title").is_empty());
    }
    let titles: Vec<_> = entries.iter().filter_map(|one| one.children().nth(3)?.text()).collect();
    assert!(titles.contains(&"</title><script>window.pwned = 1</script>"), "{titles:?}");
    // The newest is first, and a result newer than the day of its entry counts.
    let updated: Vec<_> = root.descendants().filter(|one| one.has_tag_name(ATOM_UPDATED)).collect();
    let times: Vec<_> = updated.iter().skip(1).filter_map(roxmltree::Node::text).collect();
    assert!(times.iter().rev().is_sorted(), "{times:?}");
}

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ATOM_ENTRY: (&str, &str) = (ATOM, "entry");
const ATOM_UPDATED: (&str, &str) = (ATOM, "updated");

#[test]
fn a_journal_without_an_address_has_no_feed() {
    let (mut site, _) = journal();
    site.about.url = None;
    let files = site.finish(Vec::new());
    assert!(!files.contains_key("feed.xml"));
    assert!(!page(&files, "index.html").contains("feed.xml"));
}

#[test]
fn what_the_search_knows_is_data_of_the_index() {
    let files = built();
    let index = page(files, "index.html");
    let (_, rest) = index.split_once("<script type=\"application/json\" id=\"words\">").unwrap();
    let words: serde_json::Value =
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let of_gzip = words["gzip-helps"].as_str().unwrap();
    for word in ["compressed", "decide", "workers", "12,350/s", "two", "twelfth"] {
        assert!(of_gzip.contains(word), "{word} in {of_gzip}");
    }
    assert_eq!(words.as_object().unwrap().len(), 4);
}
