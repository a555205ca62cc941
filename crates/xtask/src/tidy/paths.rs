//! No paths of a particular machine.
//!
//! A path into a home directory works only for its owner and reveals the name of that user. It also
//! makes a result look reproducible when it is not.

use crate::finding::Finding;
use crate::tree::{File, Tree};

/// Assembled from parts, so that this file passes its own check.
const ROOTS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Placeholder names under the last of the roots. Tests may use them.
const NOBODY: [&str; 7] = ["user", "you", "someone", "nobody", "alice", "bob", "example"];

/// Reads every text except vendored code, and includes fixtures, which are recorded on a machine.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts() {
        if file.folder().split('/').any(|part| part == "vendor") {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let Some((root, rest)) = machine_path(line) else { continue };
            if is_nobody(root, rest) && is_test_line(tree, file, number) {
                continue;
            }
            let wrong = format!("`{root}` is a path of a particular machine");
            let instead = "write it relative to the repository, or take it from the environment";
            findings.push(Finding::new(&file.path, number, wrong, instead));
        }
    }
    findings
}

/// The first path in a line that starts at one of the roots, and the rest after the root.
fn machine_path(line: &str) -> Option<(&'static str, &str)> {
    ROOTS.into_iter().find_map(|root| {
        let at = line.match_indices(root).map(|(at, _)| at).find(|at| begins_path(line, *at))?;
        Some((root, &line[at + root.len()..]))
    })
}

/// Whether the slash at a position starts a path, and is not inside a longer one.
fn begins_path(line: &str, at: usize) -> bool {
    let before = &line[..at];
    // The path of a URL without a host is a path of a machine.
    before.ends_with("://")
        || !before.ends_with(|char: char| char.is_alphanumeric() || "._-~/})*".contains(char))
}

fn is_nobody(root: &str, rest: &str) -> bool {
    let name = rest.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default();
    root == ROOTS[2] && NOBODY.contains(&name)
}

fn is_test_line(tree: &Tree, file: &File, line: usize) -> bool {
    let is_fixture =
        file.is_foreign() || file.name().contains("_test.") || file.name().contains(".test.");
    let in_rust = || match file.rust() {
        Some(Ok(source)) => tree.is_test(file, source, line),
        _ => false,
    };
    is_fixture || in_rust()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::sample(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_root_is_found_in_any_text() {
        for root in ROOTS {
            assert_eq!(found("a.md", &format!("# A\nsee {root}x\n")), [2]);
            assert_eq!(found("Makefile", &format!("X={root}x\n")), [1]);
            assert_eq!(found("crates/a/fixtures/cmdline", &format!("a --out={root}x\n")), [1]);
            assert_eq!(found("a.rs", &format!("const P: &str = \"{root}x\";\n")), [1]);
            assert_eq!(found("a.sh", &format!("x >{root}x\ny file://{root}x\n")), [1, 2]);
        }
    }

    #[test]
    fn parts_of_longer_paths_are_silent() {
        for root in ROOTS {
            let text = format!("# A\n~{root} docs{root} {{dir}}{root} $HOME{root} ..{root}\n");
            assert_eq!(found("a.md", &text), [0; 0]);
        }
    }

    #[test]
    fn nobodys_home_is_for_tests_only() {
        let line = format!("const P: &str = \"{}alice/x\";\n", ROOTS[2]);
        assert_eq!(found("a.rs", &line), [1]);
        assert_eq!(found("a.rs", &format!("#[cfg(test)]\nmod tests {{\n{line}}}\n")), [0; 0]);
        assert_eq!(found("a_test.go", &line), [0; 0]);
        let real = line.replace("alice", "mallory");
        assert_eq!(found("a.rs", &format!("#[cfg(test)]\nmod tests {{\n{real}}}\n")), [3]);
    }
}
