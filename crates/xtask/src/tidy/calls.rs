//! What the data plane never calls.
//!
//! After warm-up a worker does not lock, log, wait or read the wall clock: each of those is a
//! pause that the measurement would charge to the server. The protocols go further and see time
//! only as an argument, so that the same code runs in a fuzzer and in a simulation.

use crate::finding::Finding;
use crate::rust::{Pattern, uses};
use crate::tree::Tree;

const ROOMS: [&str; 2] = ["crates/engine/src/", "crates/wire/src/"];

/// Things that are banned for one reason.
struct Ban {
    patterns: &'static [Pattern],
    wrong: &'static str,
    instead: &'static str,
    /// The one file that may.
    except_in: Option<&'static str>,
}

const BANS: &[Ban] = &[
    Ban {
        patterns: &[
            Pattern::Path(&["Mutex"]),
            Pattern::Path(&["RwLock"]),
            Pattern::Path(&["Condvar"]),
            Pattern::Path(&["parking_lot"]),
        ],
        wrong: "a lock in the data plane",
        instead: "give each worker its own value and hand ticks over in the single-writer ring",
        except_in: None,
    },
    Ban {
        patterns: &[
            Pattern::Macro("println"),
            Pattern::Macro("eprintln"),
            Pattern::Macro("print"),
            Pattern::Macro("eprint"),
            Pattern::Macro("dbg"),
            Pattern::Crate("log"),
            Pattern::Crate("tracing"),
        ],
        wrong: "logging in the data plane",
        instead: "count it in the tick, or return it as a value; the control plane speaks",
        except_in: None,
    },
    Ban {
        patterns: &[Pattern::Crate("tokio"), Pattern::Keyword("async"), Pattern::Keyword("await")],
        wrong: "async code in the data plane",
        instead: "write the step of a state machine; the driver calls it when there is something",
        except_in: None,
    },
    Ban {
        patterns: &[Pattern::Path(&["SystemTime"]), Pattern::Path(&["Instant", "now"])],
        wrong: "a clock is read in the data plane",
        instead: "take `now` as an argument; crates/engine/src/clock.rs is the clock of the driver",
        except_in: Some("crates/engine/src/clock.rs"),
    },
    Ban {
        patterns: &[Pattern::Path(&["thread", "sleep"])],
        wrong: "a sleep in the data plane",
        instead: "return the time of the next step and let the driver wait for it",
        except_in: None,
    },
    Ban {
        patterns: &[Pattern::Path(&["process", "exit"])],
        wrong: "the data plane ends the process",
        instead: "return an error; the binary decides, after everything is restored",
        except_in: None,
    },
];

/// Looks through the code of the data plane, tests left out.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        if !ROOMS.iter().any(|room| file.path.starts_with(room)) {
            continue;
        }
        for found in uses(&source.ast) {
            if tree.is_test(file, source, found.line) {
                continue;
            }
            for ban in BANS.iter().filter(|ban| ban.except_in != Some(&file.path)) {
                if let Some(pattern) = ban.patterns.iter().find(|p| p.matches(&found.of)) {
                    let wrong = format!("{}: {pattern}", ban.wrong);
                    findings.push(Finding::new(&file.path, found.line, wrong, ban.instead));
                }
            }
        }
    }
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: &[(&str, &str)] = &[
        ("use std::sync::{Arc, Mutex};", "Mutex"),
        ("struct S { x: std::sync::RwLock<u8> }", "RwLock"),
        ("use std::sync::Condvar as C;", "Condvar"),
        ("use parking_lot::ReentrantMutex;", "parking_lot"),
        ("fn f() { println!(\"x\"); }", "println!"),
        ("fn f() { std::eprintln!(\"x\"); }", "eprintln!"),
        ("fn f() { g(|| dbg!(1)); }", "dbg!"),
        ("fn f() { print!(\"x\"); }", "print!"),
        ("fn f() { log::info!(\"x\"); }", "log::"),
        ("use tracing::debug;", "tracing::"),
        ("#[tracing::instrument]\nfn f() {}", "tracing::"),
        ("fn f() -> tokio::net::TcpStream { x }", "tokio::"),
        ("async fn f() {}", "async"),
        ("fn f() { assert!(std::time::SystemTime::now() > x); }", "SystemTime"),
        ("fn f() { let t = Instant::now(); }", "Instant::now"),
        ("fn f() { x.unwrap_or_else(Instant::now); }", "Instant::now"),
        ("fn f() { std::thread::sleep(x); }", "thread::sleep"),
        ("use std::thread::sleep;", "thread::sleep"),
        ("fn f() { std::process::exit(1); }", "process::exit"),
    ];

    #[test]
    fn every_banned_call_is_found_in_both_rooms() {
        for (text, name) in BAD {
            for path in ["crates/engine/src/worker.rs", "crates/wire/src/http1.rs"] {
                let found = check(&Tree::sample(&[(path, text)]));
                assert_eq!(found.len(), 1, "{text}");
                assert!(found[0].wrong.ends_with(&format!("`{name}`")), "{}", found[0].wrong);
            }
        }
    }

    #[test]
    fn tests_and_other_rooms_may() {
        for (text, _) in BAD {
            let test = format!("#[cfg(test)]\nmod tests {{\n{text}\n}}\n");
            let tree = Tree::sample(&[
                ("crates/engine/src/worker.rs", &test),
                ("crates/lab/src/phase.rs", text),
                ("crates/engine/benches/null.rs", text),
            ]);
            assert_eq!(check(&tree), [], "{text}");
        }
    }

    #[test]
    fn only_the_clock_reads_the_clock_and_it_may_do_no_more() {
        let text = "fn f() { let t = Instant::now(); }\nfn g() { dbg!(1); }\n";
        let found = check(&Tree::sample(&[("crates/engine/src/clock.rs", text)]));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_only_looks_alike_is_silent() {
        let text = "//! Never a Mutex.\nuse std::time::Instant;\nuse std::sync::Arc;\n\
                    fn log(x: f64) -> f64 { x.log(2.0) }\n\
                    fn f(now: Instant) { g(\"println!\"); h.sleep(now); }\n";
        assert_eq!(check(&Tree::sample(&[("crates/wire/src/http1.rs", text)])), []);
    }
}
