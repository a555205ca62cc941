//! Hot code does not allocate.
//!
//! A file, or a module inside one, declares itself hot with a line `//! Hot: <why>` in its header
//! docs. Each allocation in it must then be in a function that is marked as cold by a comment
//! `// Cold: <reason>` directly above it. Functions named `new` are cold without a mark: they
//! allocate the memory of a run. Other items, such as an error type with a text, can have the mark
//! too.
//!
//! The counting allocator of the engine's tests proves the same for the tested paths. This check
//! covers the others, and reports an allocation before a benchmark shows it.

use crate::finding::Finding;
use crate::rust::{Item, Kind, Pattern, Source, header_lines, uses};
use crate::tree::{File, Tree};

const HOT: &str = "Hot:";
const COLD: &str = "// Cold:";

const ALLOCATIONS: &[Pattern] = &[
    Pattern::Path(&["Vec", "new"]),
    Pattern::Path(&["Vec", "with_capacity"]),
    Pattern::Path(&["Box", "new"]),
    Pattern::Path(&["Rc", "new"]),
    Pattern::Path(&["Arc", "new"]),
    Pattern::Path(&["String"]),
    Pattern::Macro("vec"),
    Pattern::Macro("format"),
    Pattern::Method("to_string"),
    Pattern::Method("to_vec"),
    Pattern::Method("to_owned"),
    Pattern::Method("collect"),
    Pattern::Method("clone"),
];

/// Checks all hot code.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let hot = HotLines::of(file, source);
        for found in uses(&source.ast) {
            if !hot.holds(found.line) || tree.is_test(file, source, found.line) {
                continue;
            }
            if let Some(pattern) = ALLOCATIONS.iter().find(|p| p.matches(&found.of)) {
                let wrong = format!("hot code may allocate: {pattern}");
                findings.push(Finding::new(&file.path, found.line, wrong, instead(pattern)));
            }
        }
    }
    findings.dedup();
    findings
}

fn instead(pattern: &Pattern) -> String {
    let first = match pattern {
        // Ranges are cloned because they are not `Copy`; a check without types cannot detect them.
        Pattern::Method("clone") => "borrow it, or copy a range as `range.start..range.end`",
        _ => "allocate the memory in `new` and reuse it",
    };
    format!("{first}; where it does not run per request, put `{COLD} <reason>` above the function")
}

/// Which lines of a file are hot.
struct HotLines<'s> {
    whole_file: bool,
    hot_modules: Vec<&'s Item>,
    cold_items: Vec<&'s Item>,
}

impl<'s> HotLines<'s> {
    fn of(file: &File, source: &'s Source) -> Self {
        let text = file.text.as_deref().unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let items = &source.items;
        Self {
            whole_file: header_lines(text).any(is_mark),
            hot_modules: items.iter().filter(|item| declares_hot(item)).collect(),
            cold_items: items.iter().filter(|item| is_cold(item, &lines)).collect(),
        }
    }

    fn holds(&self, line: usize) -> bool {
        let hot = self.whole_file || self.hot_modules.iter().any(|item| item.holds(line));
        hot && !self.cold_items.iter().any(|item| item.holds(line))
    }
}

fn is_mark(doc_line: &str) -> bool {
    doc_line.trim().starts_with(HOT)
}

fn declares_hot(item: &Item) -> bool {
    item.kind == Kind::Module && item.inner_docs.iter().any(|line| is_mark(line))
}

fn is_cold(item: &Item, lines: &[&str]) -> bool {
    if item.kind == Kind::Function && item.name == "new" {
        return true;
    }
    let above = lines[..item.first_line - 1].iter().rev();
    let comment = above.take_while(|line| line.starts_with("//") && !line.starts_with("//!"));
    let between = &lines[item.first_line - 1..item.keyword_line - 1];
    comment.chain(between).any(|line| {
        line.strip_prefix(COLD).is_some_and(|reason| reason.contains(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: &[&str] = &[
        "let v: Vec<u8> = Vec::new();",
        "let v = vec![0; 8];",
        "let v = Vec::<u8>::with_capacity(8);",
        "let b = Box::new(1);",
        "let s = String::from(\"x\");",
        "let s = format!(\"{x}\");",
        "let s = x.to_string();",
        "let v = x.to_vec();",
        "let v = x.to_owned();",
        "let v = x.iter().collect::<Box<[u8]>>();",
        "g(|| x.clone());",
        "assert!(x.clone() == y);",
    ];

    fn found(text: &str) -> Vec<usize> {
        let found = check(&Tree::sample(&[("crates/engine/src/worker.rs", text)]));
        found.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_allocation_is_found_in_a_hot_file() {
        for line in BAD {
            let text = format!("//! Docs.\n//!\n//! Hot: per request.\n\nfn f() {{\n{line}\n}}\n");
            assert_eq!(found(&text), [6], "{line}");
        }
    }

    #[test]
    fn a_file_that_is_not_hot_may_allocate() {
        for line in BAD {
            assert_eq!(found(&format!("//! Docs.\nfn f() {{\n{line}\n}}\n")), [0; 0], "{line}");
        }
    }

    #[test]
    fn a_hot_module_does_not_make_the_file_hot() {
        let text = "\
fn f() { x.clone(); }
mod m {
    //! Hot: per byte.
    fn f() {
        x.clone();
    }
}
";
        assert_eq!(found(text), [5]);
    }

    #[test]
    fn cold_functions_new_and_tests_may() {
        let text = "\
//! Hot: per request.
impl X {
    /// Docs.
    pub fn new() -> Self { x.clone() }
    // Cold: once per connection,
    // when it opens.
    /// Docs.
    #[inline]
    fn open() { x.clone(); }
    /// Docs.
    // Cold: an error path.
    fn fail() { x.clone(); }
}
// Cold: the text of an error.
struct E { text: String }
#[cfg(test)]
mod tests { fn f() { x.clone(); } }
";
        assert_eq!(found(text), [0; 0]);
    }

    #[test]
    fn a_mark_without_a_reason_or_away_from_its_function_does_not_count() {
        let text = "\
//! Hot: per request.
// Cold:
fn f() { x.clone(); }
// Cold: set up.

fn g() { x.clone(); }
";
        assert_eq!(found(text), [3, 6]);
    }
}
