//! Protocols do no IO.
//!
//! The sessions of a fleet are tested in simulated time with simulated faults, which a clock, a
//! socket or a thread in them would end. The dependency graph cannot see it, because the processes
//! of a fleet, which do all of that, are in the same crate.

use crate::finding::Finding;
use crate::rust::{Pattern, uses};
use crate::tree::Tree;

/// Folders without IO, and the folder in each that has it.
const FOLDERS: &[(&str, &str)] =
    &[("crates/fleet/src/", "crates/fleet/src/process"), ("crates/wire/src/", "none")];

const IO: &[Pattern] = &[
    Pattern::Path(&["std", "fs"]),
    Pattern::Path(&["std", "thread"]),
    Pattern::Path(&["OpenOptions"]),
    Pattern::Path(&["TcpListener"]),
    Pattern::Path(&["TcpStream"]),
    Pattern::Path(&["UdpSocket"]),
    Pattern::Path(&["Instant"]),
    Pattern::Path(&["SystemTime"]),
    Pattern::Path(&["crate", "process"]),
    Pattern::Path(&["lab"]),
    Pattern::Path(&["nats"]),
    Pattern::Path(&["rustix"]),
];

/// Checks the files of these folders.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let is_in = |(folder, apart): &&(&str, &str)| {
            file.path.starts_with(folder) && !file.path.starts_with(apart)
        };
        let Some((_, apart)) = FOLDERS.iter().find(is_in) else { continue };
        for found in uses(&source.ast) {
            if tree.is_test(file, source, found.line) {
                continue;
            }
            if let Some(pattern) = IO.iter().find(|pattern| pattern.matches(&found.of)) {
                let wrong = format!("a protocol does IO: {pattern}");
                let instead = format!("pass its result in; folder for IO: {apart}");
                findings.push(Finding::new(&file.path, found.line, wrong, instead));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_is_found_outside_of_its_folder_only() {
        let text = "use std::fs;\nuse std::net::SocketAddr;\n#[cfg(test)]\nuse std::thread;\n";
        let found = |path| check(&Tree::sample(&[(path, text)])).len();
        assert_eq!(found("crates/fleet/src/control.rs"), 1);
        assert_eq!(found("crates/fleet/src/process/line.rs"), 0);
        assert_eq!(found("crates/lab/src/run.rs"), 0);
    }
}
