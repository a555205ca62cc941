//! Every crate and every file starts with a header about itself.
//!
//! Invariants are absences ("never IO"), and an absence cannot be read from code. The four
//! statements at the top of a crate state them. A file without a first line of docs cannot be found
//! by its purpose.

use crate::finding::Finding;
use crate::rust::header_lines;
use crate::tree::{File, Tree};

const STATEMENTS: [&str; 4] = ["What this room is for:", "In:", "Out:", "Never:"];

/// Reads the header of every Rust file under a `src`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts() {
        let under_src = file.path.split('/').any(|part| part == "src");
        if file.extension() != "rs" || file.is_foreign() || !under_src {
            continue;
        }
        if header_lines(text).all(|line| line.trim().is_empty()) {
            findings.push(Finding::new(
                &file.path,
                1,
                "the file does not start with a line of docs",
                "start it with `//!` and the purpose of the file",
            ));
        } else if is_door(tree, file) {
            findings.extend(missing_statements(file, text));
        }
    }
    findings
}

/// The main file of a crate: the library, or the binary where there is no library.
fn is_door(tree: &Tree, file: &File) -> bool {
    match file.path.split('/').collect::<Vec<_>>().as_slice() {
        ["crates", _, "src", "lib.rs"] => true,
        ["crates", name, "src", "main.rs"] => {
            tree.get(&format!("crates/{name}/src/lib.rs")).is_none()
        }
        _ => false,
    }
}

fn missing_statements(file: &File, text: &str) -> Option<Finding> {
    let header: String = header_lines(text).flat_map(|line| [line, "\n"]).collect();
    let missing: Vec<String> = STATEMENTS
        .into_iter()
        .filter(|statement| !states(&header, statement))
        .map(|statement| format!("\"{statement}\""))
        .collect();
    if missing.is_empty() {
        return None;
    }
    Some(Finding::new(
        &file.path,
        1,
        format!("the header of the crate does not state {}", missing.join(", ")),
        "state all four there: What this room is for, In, Out, Never",
    ))
}

/// Whether a label is in the header as a separate word, with words after it.
fn states(header: &str, label: &str) -> bool {
    header.match_indices(label).any(|(at, _)| {
        let before = header[..at].chars().next_back();
        let after = &header[at + label.len()..];
        let end =
            STATEMENTS.iter().filter_map(|next| after.find(next)).min().unwrap_or(after.len());
        !before.is_some_and(char::is_alphanumeric) && after[..end].contains(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "//! A room.\n//!\n//! What this room is for: it.\n//! In: a. Out: b.\n//! Never: c.\n";

    #[test]
    fn a_full_header_is_silent() {
        let tree = Tree::sample(&[
            ("crates/a/src/lib.rs", GOOD),
            ("crates/a/src/main.rs", "//! Starts it.\n"),
            ("crates/b/src/main.rs", GOOD),
            ("crates/a/src/part.rs", "//! A part.\n"),
            ("crates/a/tests/it/main.rs", "fn x() {}\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn each_missing_statement_is_named() {
        let text =
            "//! What this room is for: it.\n//! In: Out: b.\n//! Begin: x\n\n//! Never: c\n";
        let found = check(&Tree::sample(&[("crates/a/src/lib.rs", text)]));
        assert_eq!(found.len(), 1);
        assert!(found[0].wrong.ends_with("\"In:\", \"Never:\""), "{}", found[0].wrong);
    }

    #[test]
    fn a_binary_without_a_library_is_a_door() {
        let found = check(&Tree::sample(&[("crates/a/src/main.rs", "//! Starts it.\n")]));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_file_without_docs_is_found() {
        for text in ["use x;\n", "//!\nfn f() {}\n", "// A comment.\n", "\n//! Late.\n"] {
            assert_eq!(check(&Tree::sample(&[("targets/sink/src/ring.rs", text)])).len(), 1);
        }
    }
}
