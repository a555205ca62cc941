//! `cargo xtask tidy`: the rules of the repository that a program can check.
//!
//! Each check is one file of the same shape: module docs with the reason, a `check` that takes the
//! tree and returns findings, and tests with a bad and a good sample. A rule without a reason is
//! deleted, not silenced.

mod graph;
mod headers;
mod io_apart;
mod reach;
mod syntax;

mod go_functions;
mod lines;

mod heap;

mod flags;
mod names;
mod unfinished;

mod characters;
mod doc_examples;
mod headings;
mod paths;
mod sizes;

use crate::finding::Finding;
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::process::ExitCode;

/// One line for the usage text.
pub const ABOUT: &str = "check the repository against its rules";

/// A check reads the whole tree and returns its findings.
type Check = fn(&Tree) -> Vec<Finding>;

/// Every check. Checks of the overall structure come first.
const CHECKS: &[Check] = &[
    graph::check,
    headers::check,
    io_apart::check,
    reach::check,
    syntax::check,
    go_functions::check,
    lines::check,
    heap::check,
    flags::check,
    names::check,
    unfinished::check,
    characters::check,
    doc_examples::check,
    headings::check,
    paths::check,
    sizes::check,
    crate::reference::check,
];

/// Runs every check and prints what they found.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    if let Some(argument) = arguments.first() {
        bail!("takes no arguments, found `{argument}`");
    }
    let tree = Tree::here()?;
    let findings = findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files, {} checks, no findings", tree.files().count(), CHECKS.len());
        return Ok(ExitCode::SUCCESS);
    }
    // Not on stdout, which has one finding per line, for editors and for `wc`.
    eprintln!("tidy: {} findings", findings.len());
    Ok(ExitCode::FAILURE)
}

/// The findings of all checks, in the order of the files.
fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_clean_tree_has_no_findings() {
        let tree = Tree::sample(&[("README.md", "# A\n"), ("Makefile", "all:\n\ttrue\n")]);
        assert_eq!(findings(&tree), []);
    }

    #[test]
    fn findings_of_all_checks_come_in_the_order_of_the_files() {
        let tree = Tree::sample(&[("b.md", "text\n"), ("a.md", "# A\n# B\n\u{7}\n")]);
        let places: Vec<_> = findings(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        assert_eq!(places, [("a.md".into(), 2), ("a.md".into(), 3), ("b.md".into(), 1)]);
    }

    #[test]
    fn this_crate_keeps_its_own_rules() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let tree = Tree::read(root).unwrap();
        let own = findings(&tree).into_iter().filter(|f| f.path.starts_with("crates/xtask/"));
        assert_eq!(own.map(|finding| finding.to_string()).collect::<Vec<_>>(), [""; 0]);
    }
}
