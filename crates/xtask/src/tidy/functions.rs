//! Functions of at most 70 lines.
//!
//! Seventy lines are what can be seen at once. A longer function hides its shape, and the cut that
//! shortens it usually shows which part decides and which part works. Tests may take 120: a table
//! of cases is long without being deep.

use crate::finding::Finding;
use crate::rust::{Item, Source};
use crate::tree::{File, Tree};

const LINES_MAX: usize = 70;
const TEST_LINES_MAX: usize = 120;

/// Measures every function, in Rust and in Go.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let long = source.functions().filter_map(|function| too_long(tree, file, source, function));
        findings.extend(long);
    }
    for (file, text) in tree.texts() {
        if file.extension() == "go" && !file.is_foreign() {
            findings.extend(go_functions(text).into_iter().filter_map(|f| too_long_go(file, &f)));
        }
    }
    findings
}

fn too_long(tree: &Tree, file: &File, source: &Source, function: &Item) -> Option<Finding> {
    let is_test = tree.is_test(file, source, function.keyword_line);
    let limit = if is_test { TEST_LINES_MAX } else { LINES_MAX };
    let length = function.length_lines();
    (length > limit).then(|| finding(file, function.keyword_line, &function.name, length, limit))
}

fn too_long_go(file: &File, function: &GoFunction) -> Option<Finding> {
    let limit = if file.name().ends_with("_test.go") { TEST_LINES_MAX } else { LINES_MAX };
    let GoFunction { name, line, length_lines } = function;
    (*length_lines > limit).then(|| finding(file, *line, name, *length_lines, limit))
}

fn finding(file: &File, line: usize, name: &str, length: usize, limit: usize) -> Finding {
    Finding::new(
        &file.path,
        line,
        format!("function `{name}` has {length} lines, {limit} are the limit"),
        "split it where one part decides and another part works",
    )
}

struct GoFunction {
    name: String,
    line: usize,
    length_lines: usize,
}

/// The functions of a Go file. Gofmt puts `func` and the closing brace of a function into the
/// first column and nothing of its body, so lines are enough.
fn go_functions(text: &str) -> Vec<GoFunction> {
    let mut functions = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(rest) = line.strip_prefix("func ") {
            // A body on the same line never reaches the first column again, and a declaration
            // without a body never had one; the next `func` ends both.
            open = Some((go_name(rest), number));
        }
        let ends_here = line.starts_with('}') || line.starts_with("func ") && line.ends_with('}');
        if ends_here && let Some((name, start)) = open.take() {
            functions.push(GoFunction { name, line: start, length_lines: number - start + 1 });
        }
    }
    functions
}

/// The name in `Name(` or `(receiver T) Name(`.
fn go_name(signature: &str) -> String {
    let without_receiver = match signature.strip_prefix('(') {
        Some(receiver) => receiver.split_once(')').map_or(receiver, |(_, rest)| rest),
        None => signature,
    };
    let name = without_receiver.trim_start().split(['(', '[']).next();
    name.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(lines: usize) -> String {
        format!("{{\n{}}}\n", "    x();\n".repeat(lines - 2))
    }

    fn lengths(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = check(&Tree::sample(&[(path, text)]));
        found.into_iter().map(|finding| (finding.line, finding.wrong)).collect()
    }

    #[test]
    fn the_limit_counts_from_fn_to_the_closing_brace() {
        let good = format!("/// Docs.\n#[inline]\nfn f() {}", body(70));
        assert_eq!(lengths("a.rs", &good), []);
        let bad = format!("mod m {{\nimpl X {{\n/// Docs.\nfn f() {}}}\n}}\n", body(71));
        let wrong = "function `f` has 71 lines, 70 are the limit".to_owned();
        assert_eq!(lengths("a.rs", &bad), [(4, wrong)]);
    }

    #[test]
    fn tests_may_be_longer_but_not_endless() {
        let test = |lines| format!("#[cfg(test)]\nmod tests {{\nfn f() {}}}\n", body(lines));
        assert_eq!(lengths("a.rs", &test(120)), []);
        assert_eq!(lengths("a.rs", &test(121)).len(), 1);
        let beside_src = format!("fn f() {}", body(100));
        assert_eq!(lengths("crates/a/tests/it/main.rs", &beside_src), []);
    }

    #[test]
    fn go_functions_are_measured() {
        let long = format!("func short() {{}}\n\nfunc (s *Server) Run() {}", body(71));
        let wrong = "function `Run` has 71 lines, 70 are the limit".to_owned();
        assert_eq!(lengths("a.go", &long), [(3, wrong)]);
        assert_eq!(lengths("a_test.go", &long), []);
        let good =
            format!("func one() int {{ return 1 }}\nvar x = {}func f() {}", body(80), body(70));
        assert_eq!(lengths("a.go", &good), []);
    }
}
