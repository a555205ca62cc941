//! The few places where `unsafe` may stand.
//!
//! Unsafe code is reviewed with another eye. That works as long as everybody knows where it is,
//! so the places are a list, and tests are no exception.

use crate::finding::Finding;
use crate::rust::each_level;
use crate::tree::Tree;
use proc_macro2::{TokenStream, TokenTree};

/// A file, or a folder when it ends with a slash, and what it needs `unsafe` for.
const PLACES: &[(&str, &str)] = &[
    ("crates/engine/src/driver/", "rings and buffers shared with the kernel"),
    ("crates/engine/src/sys.rs", "system calls without a safe wrapper"),
    ("crates/engine/src/clock.rs", "the cycle counter"),
    ("crates/engine/src/pin.rs", "the affinity of threads"),
    ("crates/engine/tests/allocation.rs", "an allocator that counts"),
    ("crates/probe/src/", "system calls that only telemetry needs"),
    ("crates/probe/tests/it.rs", "a listener with a backlog of its own"),
    ("crates/probe/tests/host/", "a network namespace of its own"),
    ("crates/lab/src/experiment/process.rs", "a child between fork and exec"),
    ("crates/ceiling/src/signals.rs", "signal handlers"),
    ("crates/ceiling/tests/host/steps.rs", "a program traced by its system calls"),
    ("crates/tune/src/place/ethtool.rs", "settings of network drivers"),
    ("crates/tune/src/place/qdisc.rs", "messages to the kernel's routing"),
    ("crates/tune/tests/host/namespace.rs", "a network namespace of its own"),
    ("walls/src/stage/delay.rs", "a network device of its own"),
    ("targets/sink/", "rings shared with the kernel; it shares no code with the engine"),
    ("bench/floor/", "rings shared with the kernel; it shares no code with the engine"),
];

/// Looks for the keyword in the tokens of every Rust file, macros included.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let lines = unsafe_lines(source.tokens.clone());
        let (Some(first), false) = (lines.iter().min(), is_place(&file.path)) else { continue };
        findings.push(Finding::new(
            &file.path,
            *first,
            format!("`unsafe` outside its places ({} in this file, first here)", lines.len()),
            "move it behind a safe function in one of them, or add the file and its reason to \
             PLACES in crates/xtask/src/tidy/unsafety.rs",
        ));
    }
    findings
}

fn is_place(path: &str) -> bool {
    PLACES
        .iter()
        .any(|(place, _)| path == *place || place.ends_with('/') && path.starts_with(place))
}

fn unsafe_lines(tokens: TokenStream) -> Vec<usize> {
    let mut lines = Vec::new();
    each_level(tokens, &mut |level| {
        let keywords = level.iter().filter(|token| is_keyword(token));
        lines.extend(keywords.map(|keyword| keyword.span().start().line));
    });
    lines
}

fn is_keyword(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(name) if name == "unsafe")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSAFE: &str = "fn f() {\n    m!(unsafe { g() });\n}\nunsafe impl X for Y {}\n";

    #[test]
    fn the_keyword_is_found_outside_the_places() {
        for path in ["crates/lab/src/crew.rs", "crates/engine/src/worker.rs", "crates/a/tests/x.rs"]
        {
            let found = check(&Tree::sample(&[(path, UNSAFE)]));
            assert_eq!(found.len(), 1, "{path}");
            assert_eq!(found[0].line, 2);
            assert!(found[0].wrong.contains("2 in this file"));
        }
    }

    #[test]
    fn the_places_may() {
        let places = ["crates/engine/src/driver/uring.rs", "crates/engine/src/sys.rs"];
        for path in
            places.into_iter().chain(["crates/probe/src/perf/open.rs", "bench/floor/src/main.rs"])
        {
            assert_eq!(check(&Tree::sample(&[(path, UNSAFE)])), [], "{path}");
        }
    }

    #[test]
    fn words_in_comments_strings_and_lints_are_silent() {
        let text = "//! unsafe\n#![forbid(unsafe_code)]\nfn f() { g(\"unsafe\"); }\n";
        assert_eq!(check(&Tree::sample(&[("crates/lab/src/lib.rs", text)])), []);
    }
}
