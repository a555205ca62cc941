//! No dead files: every Rust file of a package is compiled into it.
//!
//! A file that no `mod` declares still looks alive to readers, searches and refactorings, and
//! nothing else reports it.

use crate::finding::Finding;
use crate::manifest;
use crate::tree::Tree;

const FOLDERS: [&str; 4] = ["src", "tests", "benches", "examples"];

/// Compares the files of each package with the files that its declarations reach.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let packages = manifest::packages(tree);
    let in_package = |path: &str| {
        packages.iter().any(|package| {
            let folders = FOLDERS.map(|folder| manifest::joined(&package.folder, folder) + "/");
            folders.iter().any(|folder| path.starts_with(folder))
        })
    };
    tree.files()
        .filter(|file| file.extension() == "rs" && !file.is_foreign() && in_package(&file.path))
        .filter(|file| !tree.modules().is_reached(&file.path))
        .map(|file| {
            let instead = "declare it with `mod` where it belongs, or delete it";
            Finding::new(&file.path, 1, "no `mod` reaches this file", instead)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\n";

    #[test]
    fn a_file_that_nothing_declares_is_found() {
        let tree = Tree::sample(&[
            ("crates/a/Cargo.toml", MANIFEST),
            ("crates/a/src/lib.rs", "pub mod one;\n"),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/two.rs", ""),
            ("crates/a/tests/it/part.rs", ""),
        ]);
        let paths: Vec<_> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/a/src/two.rs", "crates/a/tests/it/part.rs"]);
    }

    #[test]
    fn declared_files_and_files_outside_packages_are_silent() {
        let tree = Tree::sample(&[
            ("crates/a/Cargo.toml", MANIFEST),
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests;\n"),
            ("crates/a/src/tests.rs", ""),
            ("docs/sample.rs", ""),
            ("crates/a/src/fixtures/x.rs", ""),
        ]);
        assert_eq!(check(&tree), []);
    }
}
