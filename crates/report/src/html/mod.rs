//! Draws a page as one HTML file that needs no network.
//!
//! Executive summary: everything in the text output is in the markup and needs no scripts. Our own
//! scripts draw the charts from JSON in the file. Strings of the run are untrusted: they are
//! escaped in markup and in JSON, and a content security policy lets the browser run only the
//! scripts whose hashes it lists.

mod assets;
mod document;
mod dots;
mod escape;
mod flame;
mod grid;
mod markup;

use crate::page::Page;
use crate::sections::{Detail, across, beside, compare, experiment, page_of};
pub use assets::asset;
use base64::Engine as _;
pub use document::Document;
pub use escape::escape;
use escape::{json_for_script, shortened};
use model::across::Across;
use model::comparison::Comparison;
use model::experiment::Experiment;
use model::run::Run;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A run as one HTML file.
pub fn html(run: &Run) -> String {
    let page = page_of(run, Detail::Everything);
    file_of(&page, &run.record)
}

/// Several runs as one HTML file.
pub fn html_beside(runs: &[Run]) -> String {
    let records: Vec<_> = runs.iter().map(|run| &run.record).collect();
    file_of(&beside(runs, Detail::Everything), &records)
}

/// An experiment as one HTML file.
pub fn html_experiment(of: &Experiment, runs: &[Option<Run>]) -> String {
    file_of(&experiment(of, runs), of)
}

/// Two runs compared, as one HTML file.
pub fn html_compared(comparison: &Comparison, a: &Run, b: &Run) -> String {
    file_of(&compare(comparison, (a, b), Detail::Everything), comparison)
}

/// Two experiments compared, as one HTML file.
pub fn html_across(of: &Across) -> String {
    file_of(&across(of, Detail::Everything), of)
}

/// Only the blocks of a page, as markup for a page that has our styles.
pub fn blocks(page: &Page) -> String {
    format!("<section id=\"verdict\" aria-label=\"Verdict\">\n{}</section>\n", markup::blocks(page))
}

fn file_of(page: &Page, record: &impl Serialize) -> String {
    let mut document = Document::new(&page.title);
    document.page(page);
    document.data("record", record);
    document.finish()
}

fn source_hash(source: &str) -> String {
    let digest = Sha256::digest(source.as_bytes());
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
}

fn data_script(id: &str, json: &str) -> String {
    format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n")
}

#[cfg(test)]
mod tests {
    use super::assets::{SCRIPTS, STYLE};
    use super::*;
    use crate::fixtures;
    use crate::page::Block;

    #[test]
    fn vendored_files_are_those_of_the_versions_file() {
        let versions = include_str!("../../assets/vendor/VERSIONS");
        let files = [
            (
                "uPlot.iife.min.js",
                include_bytes!("../../assets/vendor/uPlot.iife.min.js").as_slice(),
            ),
            ("uPlot.min.css", include_bytes!("../../assets/vendor/uPlot.min.css").as_slice()),
        ];
        for (name, content) in files {
            let digest: String =
                Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(versions.contains(&format!("{digest}  {name}")), "{name} is {digest}");
        }
    }

    #[test]
    fn nothing_in_a_style_or_script_ends_its_element() {
        for source in SCRIPTS.iter().copied().chain([STYLE.as_str()]) {
            let lower = source.to_lowercase();
            assert!(!lower.contains("</script") && !lower.contains("</style"));
            assert!(!lower.contains("<!--"));
        }
    }

    /// Every element and attribute that ceiling writes. Text escapes `<` and `>`, so everything
    /// between them is markup, and anything not listed here came from elsewhere.
    const ELEMENTS: &str = "!doctype a abbr body button caption circle code dd details div dl dt \
        figcaption figure g h1 h2 h3 head header html li main meta nav noscript ol p path rect \
        script section span style summary svg table tbody td text tfoot th thead title tr ul wbr";
    const ATTRIBUTES: &str = "aria-label charset class content cx cy d height hidden href html \
        http-equiv id lang name preserveAspectRatio r role rowspan scope tabindex title type \
        viewBox width x y";

    #[test]
    fn there_is_no_markup_but_ours() {
        let runs = fixtures::all().into_iter().map(|(name, run)| (name, html(&run)));
        let (of, visits) = fixtures::visits();
        let pages = runs.chain([("visits", html_experiment(&of, &visits))]);
        for (name, page) in pages {
            let markup = without_scripts_and_styles(&page);
            for tag in tags(&markup) {
                let element = tag.trim_start_matches('/').split([' ', '>']).next().unwrap();
                assert!(ELEMENTS.split_whitespace().any(|known| known == element), "{name}: {tag}");
                for (attribute, value) in attributes(tag) {
                    let known = ATTRIBUTES.split_whitespace().any(|known| known == attribute);
                    assert!(known, "{name}: {attribute} in {tag}");
                    assert!(attribute != "href" || value.starts_with('#'), "{name}: {tag}");
                }
            }
        }
    }

    #[test]
    fn styles_load_nothing() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    #[test]
    fn hostile_strings_stay_text() {
        let file = html(&fixtures::hostile());
        let scripts = file.matches("<script").count();
        assert_eq!(scripts, SCRIPTS.len() + 2, "two blocks of data");
        assert_eq!(file.matches("</script").count(), scripts);
        assert!(file.contains("&lt;script&gt;alert"), "shown, not run");
        assert!(!file.contains('\u{202e}'), "nothing reverses the direction of text in markup");
        assert!(file.bytes().all(|byte| byte >= b' ' || matches!(byte, b'\n' | b'\t')));
    }

    #[test]
    fn data_blocks_are_the_record_and_the_charts() {
        for (name, run) in fixtures::all() {
            let file = html(&run);
            let record: serde_json::Value = serde_json::from_str(block(&file, "record")).unwrap();
            assert_eq!(record["id"], run.record.id.as_str(), "{name}");
            let charts: serde_json::Value = serde_json::from_str(block(&file, "charts")).unwrap();
            let placeholders = file.matches("<figure class=\"chart\"").count();
            assert_eq!(charts.as_array().unwrap().len(), placeholders, "{name}");
        }
    }

    /// Ten levels of a minute each, with all CPUs busy and changing.
    #[test]
    fn the_page_of_two_hosts_with_128_cpus_is_small() {
        let file = html(&fixtures::large_hosts());
        println!("{:.2} MB", file.len() as f64 / 1e6);
        assert!(file.len() < 3_000_000, "{} bytes", file.len());
        let both = ["cpus-client", "cpus-server", "interrupts-client", "softirq-server"];
        assert!(both.iter().all(|id| file.contains(&format!("id=\"{id}\""))));
    }

    #[test]
    fn tables_and_verdict_are_in_the_markup() {
        for (name, run) in fixtures::all() {
            let file = html(&run).replace("<wbr>", "");
            let mut cells = 0;
            let page = page_of(&run, Detail::Everything);
            for block in page.flat() {
                match block {
                    Block::Banner(banner) => {
                        assert!(file.contains(&escape(&banner.text)), "{name}: {}", banner.text);
                    }
                    Block::Table(table) => {
                        for cell in table.rows.iter().flat_map(|row| &row.cells) {
                            assert!(file.contains(&escape(cell)), "{name}: {cell}");
                            cells += 1;
                        }
                    }
                    _ => {}
                }
            }
            assert!(cells > 20 || run.record.points.is_empty(), "{name}");
        }
    }

    fn block<'a>(file: &'a str, id: &str) -> &'a str {
        let begin = format!("<script type=\"application/json\" id=\"{id}\">");
        let from = file.find(&begin).unwrap() + begin.len();
        &file[from..from + file[from..].find("</script>").unwrap()]
    }

    fn tags(markup: &str) -> Vec<&str> {
        let pieces = markup.split('<').skip(1);
        pieces.map(|piece| piece.split_once('>').expect("every tag is closed").0).collect()
    }

    /// Names and values of the attributes of a tag. All values are quoted.
    fn attributes(tag: &str) -> Vec<(&str, &str)> {
        let Some((_, mut rest)) = tag.split_once(' ') else { return Vec::new() };
        let mut found = Vec::new();
        while !rest.trim().is_empty() {
            let end = rest.find(['=', ' ']).unwrap_or(rest.len());
            let name = &rest[..end];
            let value = rest[end..].strip_prefix("=\"").map(|value| value.split_once('"').unwrap());
            let (value, after) = value.unwrap_or(("", &rest[end..]));
            found.push((name, value));
            rest = after.trim_start();
        }
        found
    }

    fn without_scripts_and_styles(file: &str) -> String {
        let mut rest = file;
        let mut markup = String::new();
        while let Some(at) = rest.find("<style").into_iter().chain(rest.find("<script")).min() {
            markup.push_str(&rest[..at]);
            let close = if rest[at..].starts_with("<style") { "</style>" } else { "</script>" };
            rest = &rest[at + rest[at..].find(close).unwrap() + close.len()..];
        }
        markup + rest
    }
}
