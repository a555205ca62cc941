//! No files, folders or modules with meaningless names.
//!
//! A module for everything never stops growing, and its content is hard to find. Code that two
//! callers need deserves its own name.

use crate::finding::Finding;
use crate::rust::Kind;
use crate::tree::Tree;
use std::collections::BTreeSet;

const NAMES: [&str; 7] = ["util", "utils", "helper", "helpers", "common", "misc", "utilities"];

const INSTEAD: &str = "name it after its content, or move each part to its only user";

/// Checks the names of files, of folders, and of modules inside files.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for file in tree.files().filter(|file| !file.is_foreign()) {
        let mut end = 0;
        for part in file.path.split('/') {
            end += part.len() + 1;
            let so_far = &file.path[..end - 1];
            let stem = part.split('.').next().unwrap_or(part);
            // A folder is one finding, however many files it holds.
            if NAMES.contains(&stem) && seen.insert(so_far) {
                let wrong = format!("`{part}` says nothing about its content");
                findings.push(Finding::new(&file.path, 1, wrong, INSTEAD));
            }
        }
    }
    for (file, source) in tree.sources() {
        let modules = source.items.iter().filter(|item| item.kind == Kind::Module);
        for module in modules.filter(|module| NAMES.contains(&module.name.as_str())) {
            let wrong = format!("module `{}` says nothing about its content", module.name);
            findings.push(Finding::new(&file.path, module.keyword_line, wrong, INSTEAD));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_once_each() {
        let tree = Tree::sample(&[
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/lib.rs", "//! A.\nmod helpers {\n}\n"),
            ("targets/go/internal/common/a.go", ""),
            ("targets/go/internal/common/b.go", ""),
            ("web/misc.test.js", ""),
        ]);
        let places: Vec<_> = check(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        let expected = [
            ("crates/a/src/utils.rs", 1),
            ("targets/go/internal/common/a.go", 1),
            ("web/misc.test.js", 1),
            ("crates/a/src/lib.rs", 2),
        ];
        assert_eq!(places, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn names_that_only_contain_such_a_word_are_silent() {
        let tree = Tree::sample(&[
            ("crates/a/src/commonmark.rs", "mod miscount {}\n"),
            ("docs/utilization.md", ""),
            ("assets/vendor/utils.js", ""),
        ]);
        assert_eq!(check(&tree), []);
    }
}
