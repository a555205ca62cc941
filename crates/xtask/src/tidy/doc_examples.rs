//! No examples in doc comments of Rust.
//!
//! `make test` does not run them: rustdoc takes half a minute to find that there are none. An
//! example is a test, beside the item that it shows. Text that is no code is fenced as `text`.

use crate::finding::Finding;
use crate::tree::Tree;

/// Reads the doc comments of all Rust files.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts() {
        if file.is_foreign() || file.extension() != "rs" {
            continue;
        }
        for line in examples(text) {
            let wrong = "a doc comment has an example, which `make test` does not run";
            let instead = "make it a test; fence text that is no code as ```text";
            findings.push(Finding::new(&file.path, line, wrong, instead));
        }
    }
    findings
}

/// The lines where rustdoc would see code: fences without the name of another language, and blocks
/// that are indented by four spaces after an empty line.
fn examples(text: &str) -> Vec<usize> {
    let mut examples = Vec::new();
    let (mut is_fenced, mut above) = (false, None);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let content = doc.map_or("", |doc| doc.strip_prefix(' ').unwrap_or(doc));
        if content.starts_with("```") {
            if !is_fenced && content != "```text" {
                examples.push(number);
            }
            is_fenced = !is_fenced;
        } else if !is_fenced && content.starts_with("    ") && above == Some("") {
            examples.push(number);
        }
        above = doc.map(str::trim);
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        check(&Tree::sample(&[("a.rs", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn code_in_a_doc_comment_is_found() {
        assert_eq!(found("/// A.\n///\n/// ```\n/// a();\n/// ```\nfn a() {}\n"), [3]);
        assert_eq!(found("//! A.\n//!\n//!     a();\n"), [3]);
        assert_eq!(found("    /// ```rust\n    /// ```\n"), [1]);
    }

    #[test]
    fn text_lists_and_other_comments_are_silent() {
        assert_eq!(found("/// ```text\n/// 1 2\n///\n///     3\n/// ```\nfn a() {}\n"), [0; 0]);
        assert_eq!(found("/// 1. A\n///    goes on\n// ```\nfn a() {\n    b();\n}\n"), [0; 0]);
    }
}
