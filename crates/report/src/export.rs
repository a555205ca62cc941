//! File formats, chosen by the suffix.

use crate::{csv, hlog, html};
use model::run::Run;
use std::path::Path;

model::named! {
    /// A file format.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Format {
        /// The record.
        Json = "json",
        /// One row per point.
        Csv = "csv",
        /// HdrHistogram interval log, one interval per point.
        Hlog = "hlog",
        /// One HTML file, for people.
        Html = "html",
    }
    /// The suffix of its files, without the dot.
    fn suffix, parse;
}

impl Format {
    /// The format that the suffix of a file name selects.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, UnknownSuffix> {
        let path = path.as_ref();
        let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
        let format = suffix.as_deref().and_then(Self::parse);
        format.ok_or_else(|| UnknownSuffix { file: path.display().to_string() })
    }
}

/// A file name whose suffix selects no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{file}' has no known suffix: .json (the record), .csv (one row per point), .hlog \
     (HdrHistogram log) or .html (the report); for example report.html"
)]
pub struct UnknownSuffix {
    /// What was typed.
    pub file: String,
}

/// A run as the content of a file.
pub fn render(run: &Run, format: Format) -> Vec<u8> {
    match format {
        Format::Json => model::json::pretty(&run.record).into_bytes(),
        Format::Csv => csv::csv(run).into_bytes(),
        Format::Hlog => hlog::hlog(run),
        Format::Html => html::html(run).into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    /// Writes every fixture in every format to the folder `REPORT_PAGES`, for `tests/browser.mjs`
    /// and for inspection.
    #[test]
    fn files_are_left_to_look_at() {
        let Some(folder) = std::env::var_os("REPORT_PAGES") else { return };
        let folder = std::path::PathBuf::from(folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, run) in fixtures::all() {
            for format in Format::ALL {
                let file = folder.join(format!("{name}.{}", format.suffix()));
                assert_eq!(Format::of(&file), Ok(format));
                std::fs::write(file, render(&run, format)).unwrap();
            }
        }
        let page = crate::html::html(&fixtures::large_hosts());
        std::fs::write(folder.join("large_hosts.html"), page).unwrap();
        let of_blocks = [("blocks", fixtures::blocks()), ("visits", fixtures::visits())];
        let (experiment, runs) = fixtures::experiment();
        let all = [("experiment", (experiment.clone(), runs.clone()))].into_iter().chain(of_blocks);
        for (name, (of, runs)) in all {
            let page = crate::html_experiment(&of, &runs);
            std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
        }
        let runs: Vec<_> = runs.into_iter().flatten().collect();
        std::fs::write(folder.join("beside.html"), crate::html_beside(&runs)).unwrap();
    }

    #[test]
    fn formats_are_known_by_suffix() {
        for format in Format::ALL {
            let name = format!("out/run.{}", format.suffix());
            assert_eq!(Format::of(&name), Ok(format));
        }
        assert_eq!(Format::of("REPORT.HTML"), Ok(Format::Html));
    }

    #[test]
    fn an_unknown_suffix_is_told_what_would_work() {
        for name in ["report", "report.xml", ".json", "", "json"] {
            let error = Format::of(name).unwrap_err().to_string();
            for word in [name, ".json", ".csv", ".hlog", ".html", "for example"] {
                assert!(error.contains(word), "{word} in {error}");
            }
        }
    }

    #[test]
    fn a_broken_gate_shows_in_every_format() {
        let run = fixtures::ramp_invalid();
        let content = |format| String::from_utf8(render(&run, format)).unwrap();
        assert!(content(Format::Json).contains("\"ok\": false"));
        assert!(content(Format::Csv).contains(",no,,no,littles_law connections,"));
        assert!(content(Format::Hlog).contains("Tag=c1000-broken,"));
        let html = content(Format::Html);
        assert!(html.contains("<tr class=\"broken\">"), "tables");
        assert!(html.contains("\"x_marks\":[\"broken\""), "curves");
        assert!(html.contains("\"mark\":\"broken\""), "views and windows");
        let text = crate::text(&run, crate::Detail::Summary, crate::Style::PLAIN);
        assert!(text.contains("\n!   1000 "), "{text}");
    }
}
