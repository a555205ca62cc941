//! Lines of at most 100 columns.
//!
//! Two files then fit side by side, and a review does not scroll sideways. Lines that cannot be
//! broken are exempt: a line with a URL, a row of a Markdown table, and data.

use crate::finding::Finding;
use crate::tree::{File, Tree};

const COLUMNS_MAX: usize = 100;

/// Gofmt indents with tabs, which count as this many columns.
const TAB_COLUMNS: usize = 4;

const DATA: [&str; 8] = ["csv", "hlog", "json", "ndjson", "prom", "snap", "svg", "tsv"];

/// Measures every line of our files.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts() {
        if file.is_foreign() || DATA.contains(&file.extension()) {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let columns = columns(line);
            if columns > COLUMNS_MAX && can_be_broken(file, line) {
                let wrong = format!("the line has {columns} columns, the limit is {COLUMNS_MAX}");
                let instead = "break it at a natural place";
                findings.push(Finding::new(&file.path, number, wrong, instead));
            }
        }
    }
    findings
}

fn columns(line: &str) -> usize {
    line.chars().map(|char| if char == '\t' { TAB_COLUMNS } else { 1 }).sum()
}

fn can_be_broken(file: &File, line: &str) -> bool {
    let has_url = line.contains("http://") || line.contains("https://");
    let is_row = file.extension() == "md" && line.trim_start().starts_with('|');
    !has_url && !is_row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::sample(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_limit_counts_columns_and_not_bytes() {
        assert_eq!(found("a.rs", &format!("{}\n", "é".repeat(100))), [0; 0]);
        assert_eq!(found("a.rs", &format!("x\n{}\n", "é".repeat(101))), [2]);
    }

    #[test]
    fn a_tab_counts_as_the_columns_it_takes() {
        assert_eq!(found("a.go", &format!("\t{}\n", "x".repeat(96))), [0; 0]);
        assert_eq!(found("a.go", &format!("\t{}\n", "x".repeat(97))), [1]);
    }

    #[test]
    fn what_cannot_be_broken_is_left_alone() {
        let long = "x".repeat(120);
        assert_eq!(found("a.rs", &format!("// https://{long}\n")), [0; 0]);
        assert_eq!(found("a.md", &format!("# A\n| {long} |\n")), [0; 0]);
        assert_eq!(found("assets/vendor/a.js", &long), [0; 0]);
        assert_eq!(found("record.json", &long), [0; 0]);
        assert_eq!(found("Makefile", &long), [1]);
    }
}
