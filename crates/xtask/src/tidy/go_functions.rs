//! Go functions of at most 70 lines.
//!
//! Seventy lines fit on a screen. A longer function hides its structure, and splitting it usually
//! shows which part decides and which part works. Tests may have 120 lines: a table of cases is
//! long but not complex. For Rust, clippy counts the lines (clippy.toml).

use crate::finding::Finding;
use crate::tree::{File, Tree};

const LINES_MAX: usize = 70;
const TEST_LINES_MAX: usize = 120;

/// Measures every function.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts() {
        if file.extension() == "go" && !file.is_foreign() {
            findings.extend(functions(text).into_iter().filter_map(|f| too_long(file, &f)));
        }
    }
    findings
}

fn too_long(file: &File, function: &Function) -> Option<Finding> {
    let limit = if file.name().ends_with("_test.go") { TEST_LINES_MAX } else { LINES_MAX };
    let Function { name, line, length_lines } = function;
    (*length_lines > limit).then(|| finding(file, *line, name, *length_lines, limit))
}

fn finding(file: &File, line: usize, name: &str, length: usize, limit: usize) -> Finding {
    Finding::new(
        &file.path,
        line,
        format!("function `{name}` has {length} lines, the limit is {limit}"),
        "split it where one part decides and another part works",
    )
}

struct Function {
    name: String,
    line: usize,
    length_lines: usize,
}

/// The functions of a Go file. Gofmt puts only `func` and the closing brace of a function into the
/// first column, so looking at lines is enough.
fn functions(text: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(rest) = line.strip_prefix("func ") {
            // A body on the same line has no closing brace in the first column, nor has a
            // declaration without a body; the next `func` ends both.
            open = Some((go_name(rest), number));
        }
        let ends_here = line.starts_with('}') || line.starts_with("func ") && line.ends_with('}');
        if ends_here && let Some((name, start)) = open.take() {
            functions.push(Function { name, line: start, length_lines: number - start + 1 });
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
    fn functions_are_measured() {
        let long = format!("func short() {{}}\n\nfunc (s *Server) Run() {}", body(71));
        let wrong = "function `Run` has 71 lines, the limit is 70".to_owned();
        assert_eq!(lengths("a.go", &long), [(3, wrong)]);
        assert_eq!(lengths("a_test.go", &long), []);
        let good =
            format!("func one() int {{ return 1 }}\nvar x = {}func f() {}", body(80), body(70));
        assert_eq!(lengths("a.go", &good), []);
    }
}
