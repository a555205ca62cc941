//! Every Rust file can be parsed.
//!
//! The other checks read syntax trees, and would silently skip a file without one.

use crate::finding::Finding;
use crate::tree::Tree;

/// Reports each file that has no syntax tree.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter_map(|file| {
            let error = file.rust()?.err()?;
            let line = error.span().start().line.max(1);
            let wrong = format!("the file cannot be parsed: {error}");
            Some(Finding::new(&file.path, line, wrong, "make it valid Rust; no check can read it"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_syntax_is_found_at_its_line() {
        let found = check(&Tree::sample(&[("a.rs", "fn a() {}\nfn fn\n"), ("b.rs", "fn (\n")]));
        let places: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(places, [("a.rs", 2), ("b.rs", 1)]);
    }

    #[test]
    fn valid_syntax_and_foreign_files_are_silent() {
        let tree = Tree::sample(&[("a.rs", "fn a() {}\n"), ("fixtures/b.rs", "fn fn")]);
        assert_eq!(check(&tree), []);
    }
}
