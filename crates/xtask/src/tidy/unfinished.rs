//! No marks for unfinished work in the text of the repository.
//!
//! Such a mark is a promise without an owner: it is on no list, and it reads the same after three
//! years. Missing work is done now, or becomes an issue.

use crate::finding::Finding;
use crate::tree::Tree;

const EXTENSIONS: [&str; 5] = ["rs", "go", "js", "mjs", "md"];

/// Assembled from parts, so that this file passes its own check.
const MARKS: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
];

/// Reads code, comments and documents.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts() {
        if file.is_foreign() || !EXTENSIONS.contains(&file.extension()) {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(mark) = MARKS.into_iter().find(|mark| holds_word(line, mark)) {
                let wrong = format!("`{mark}` marks unfinished work");
                let instead = "finish it, or open an issue and describe the current state here";
                findings.push(Finding::new(&file.path, number, wrong, instead));
            }
        }
    }
    findings
}

/// Whether a mark is in a line as a separate word.
fn holds_word(line: &str, mark: &str) -> bool {
    let is_inside = |char: char| char.is_alphanumeric() || char == '_';
    line.match_indices(mark).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + mark.len()..].chars().next();
        let ends = mark.ends_with('!') || !after.is_some_and(is_inside);
        ends && !before.is_some_and(is_inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_found_in_every_kind_of_file() {
        for mark in MARKS {
            for extension in EXTENSIONS {
                let text = format!("first\n// {mark}(): more\n");
                let found = check(&Tree::sample(&[(&format!("a.{extension}"), &text)]));
                assert_eq!(found.len(), 1, "{mark} in .{extension}");
                assert_eq!(found[0].line, 2);
            }
        }
    }

    #[test]
    fn longer_words_and_other_files_are_silent() {
        let longer = MARKS.map(|mark| format!("a{mark} ")).concat();
        let template = format!("mktemp run.{}\n", MARKS[2].repeat(2));
        let tree = Tree::sample(&[
            ("a.rs", &longer),
            ("a.md", &template),
            ("a.txt", MARKS[0]),
            ("assets/vendor/a.js", MARKS[0]),
        ]);
        assert_eq!(check(&tree), []);
    }
}
