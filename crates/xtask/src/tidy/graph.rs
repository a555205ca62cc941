//! Which crate may depend on which.
//!
//! Values flow one way, and the manifests decide that: an edge that is not in [`ROOMS`] is not
//! allowed. Dev-dependencies follow the same table, because a test that depends on a higher crate
//! pulls it into every test build of the lower one. They are also the only edges that cargo allows
//! to form a cycle, so this check looks for cycles.

use crate::finding::Finding;
use crate::manifest::{self, Package, Section};
use crate::tree::Tree;

/// A crate, the crates that it may use, and why no others.
struct Room {
    folder: &'static str,
    may_use: &'static [&'static str],
    why: &'static str,
}

/// Edges that only tests may use, with the reason.
const IN_TESTS: &[(&str, &str, &str)] = &[(
    "crates/lab",
    "crates/report",
    "in every world of the tests, the page must agree with the record",
)];

/// The whole graph. A new edge needs its own commit, with the reason here.
const ROOMS: &[Room] = &[
    Room { folder: "crates/model", may_use: &[], why: "the data types depend on no other crate" },
    Room {
        folder: "crates/wire",
        may_use: &["crates/model"],
        why: "protocols are bytes and time in, bytes and responses out",
    },
    Room {
        folder: "crates/engine",
        may_use: &["crates/model", "crates/wire"],
        why: "the data plane has no access to files, hosts or screens",
    },
    Room {
        folder: "crates/host",
        may_use: &["crates/model"],
        why: "access to the kernel is written once, for probes that read and knobs that write",
    },
    Room {
        folder: "crates/probe",
        may_use: &["crates/model", "crates/host"],
        why: "a probe only reads the host and judges nothing",
    },
    Room {
        folder: "crates/schema",
        may_use: &["crates/model"],
        why: "schemas and messages are read and written without a connection",
    },
    Room {
        folder: "crates/flow",
        may_use: &["crates/model"],
        why: "a flow file is text, whoever takes its steps",
    },
    Room {
        folder: "crates/import",
        may_use: &["crates/model", "crates/flow"],
        why: "a flow is written from files of others without a request, and read back as a check",
    },
    Room {
        folder: "crates/profile",
        may_use: &["crates/model"],
        why: "profiles are parsed and weighed independently of servers and pages",
    },
    Room {
        folder: "crates/kernel",
        may_use: &["crates/model"],
        why: "programs in the kernel see processes and a port, whoever made the load",
    },
    Room {
        folder: "crates/tune",
        may_use: &["crates/model", "crates/host"],
        why: "a knob is changed and restored independently of the purpose",
    },
    Room {
        folder: "crates/observe",
        may_use: &["crates/model"],
        why: "counters become rates in one place, for verdicts and for pages",
    },
    Room {
        folder: "crates/figures",
        may_use: &["crates/model"],
        why: "a figure has one value, for verdicts and for pages",
    },
    Room {
        folder: "crates/judge",
        may_use: &["crates/model", "crates/figures", "crates/observe"],
        why: "a verdict is a pure function of a run",
    },
    Room {
        folder: "crates/trials",
        may_use: &["crates/model", "crates/figures", "crates/judge"],
        why: "runs are compared after each was judged, and a verdict depends on one run alone",
    },
    Room {
        folder: "crates/store",
        may_use: &["crates/model"],
        why: "a run directory outlives the program that wrote it",
    },
    Room {
        folder: "crates/pack",
        may_use: &[],
        why: "an archive is names and bytes, whatever their content",
    },
    Room {
        folder: "crates/journal",
        may_use: &[
            "crates/model",
            "crates/figures",
            "crates/observe",
            "crates/judge",
            "crates/trials",
            "crates/store",
            "crates/pack",
        ],
        why: "the journal checks entries against kept results, whose runs are one archive, and \
              measures and draws nothing",
    },
    Room {
        folder: "crates/report",
        may_use: &["crates/model", "crates/figures", "crates/observe"],
        why: "a page is drawn from values, whatever their origin",
    },
    Room {
        folder: "crates/site",
        may_use: &["crates/model", "crates/figures", "crates/journal", "crates/report"],
        why: "a site is drawn from the values of a journal, with the blocks of a report",
    },
    Room {
        folder: "crates/tools",
        may_use: &["crates/model"],
        why: "command lines and output of another tool are text, independently of who runs it",
    },
    Room {
        folder: "crates/plan",
        may_use: &["crates/model", "crates/wire", "crates/schema", "crates/flow", "crates/tools"],
        why: "plans, flows and command lines become cells and trials, independently of the \
              measurement; requests are composed and encoded once as a check, JSON becomes \
              messages of a schema, and other tools are asked whether they can make a load",
    },
    Room {
        folder: "crates/remote",
        may_use: &["crates/model", "crates/probe"],
        why: "a far probe sends facts and readings over a link and reads no more than a near one",
    },
    Room {
        folder: "crates/nats",
        may_use: &[],
        why: "a broker carries named messages of bytes, whatever their content",
    },
    Room {
        folder: "crates/lab",
        may_use: &[
            "crates/model",
            "crates/figures",
            "crates/engine",
            "crates/host",
            "crates/probe",
            "crates/profile",
            "crates/kernel",
            "crates/remote",
            "crates/tune",
            "crates/store",
            "crates/judge",
            "crates/wire",
            "crates/schema",
            "crates/plan",
            "crates/tools",
        ],
        why: "the lab coordinates the other crates and draws nothing; it runs other tools like the \
              engine, and has their output audited",
    },
    Room {
        folder: "crates/stage",
        may_use: &[
            "crates/model",
            "crates/host",
            "crates/remote",
            "crates/tune",
            "crates/store",
            "crates/plan",
        ],
        why: "servers are started and knobs turned around a measurement, whoever makes it",
    },
    Room {
        folder: "crates/fleet",
        may_use: &[
            "crates/model",
            "crates/engine",
            "crates/plan",
            "crates/probe",
            "crates/remote",
            "crates/store",
            "crates/lab",
            "crates/nats",
        ],
        why: "a controller and its agents decide from bytes and time: orders and ticks are those \
              of the engine, URLs are parsed like on the command line, and clocks are compared \
              like those of a far probe; as processes, the lab makes their load, and a broker \
              carries their messages",
    },
    Room {
        folder: "crates/live",
        may_use: &["crates/model", "crates/host", "crates/report"],
        why: "it draws the blocks of the report during a run, and never sends commands to it",
    },
    Room {
        folder: "crates/ceiling",
        may_use: &[
            "crates/model",
            "crates/figures",
            "crates/tools",
            "crates/wire",
            "crates/schema",
            "crates/import",
            "crates/engine",
            "crates/host",
            "crates/probe",
            "crates/remote",
            "crates/tune",
            "crates/judge",
            "crates/trials",
            "crates/store",
            "crates/journal",
            "crates/report",
            "crates/site",
            "crates/pack",
            "crates/plan",
            "crates/lab",
            "crates/stage",
            "crates/fleet",
            "crates/nats",
            "crates/live",
        ],
        why: "the binary connects all crates and has no logic",
    },
    Room {
        folder: "crates/claims",
        may_use: &[
            "crates/model",
            "crates/tools",
            "crates/wire",
            "crates/engine",
            "crates/host",
            "crates/kernel",
            "crates/probe",
            "crates/nats",
            "crates/pack",
            "crates/profile",
            "crates/remote",
            "crates/fleet",
            "crates/flow",
            "crates/import",
            "crates/journal",
            "crates/report",
            "crates/site",
            "crates/plan",
        ],
        why: "it feeds bytes to every parser of untrusted input, and draws documents that others \
              wrote; only fuzz targets use it",
    },
    Room {
        folder: "fuzz",
        may_use: &["crates/claims"],
        why: "the properties for arbitrary bytes are in claims, which other tests check as well",
    },
    Room {
        folder: "crates/xtask",
        may_use: &[],
        why: "the repository is checked by code that does not need it to compile",
    },
    Room {
        folder: "targets/sink",
        may_use: &[],
        why: "a ruler shares no code with what it measures",
    },
    Room {
        folder: "targets/stage",
        may_use: &[],
        why: "a label shares no code with what it judges",
    },
    Room {
        folder: "walls",
        may_use: &["crates/model", "crates/observe", "crates/judge", "crates/store"],
        why: "labels are compared with the verdicts of the judge on kept runs",
    },
    Room {
        folder: "bench/harness",
        may_use: &[],
        why: "programs are compared from outside, as users run them",
    },
    Room {
        folder: "walls/held-out/actix",
        may_use: &[],
        why: "a server of a third party with a handler of ours: a workspace of its own, built only \
              by the scenarios that measure it",
    },
    Room {
        folder: "bench/http2/tonic",
        may_use: &[],
        why: "a server of a third party: a workspace of its own, built only by the comparison that \
              measures it",
    },
    Room {
        folder: "bench/floor",
        may_use: &[],
        why: "a ruler shares no code with what it measures",
    },
];

const TABLE: &str = "ROOMS in crates/xtask/src/tidy/graph.rs";

/// Compares the manifests with the table.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, line, reason) in manifest::errors(tree) {
        let wrong = format!("the manifest is not TOML: {reason}");
        findings.push(Finding::new(
            &path,
            line,
            wrong,
            "make it parse; cargo cannot read it either",
        ));
    }
    let packages = manifest::packages(tree);
    for package in &packages {
        match ROOMS.iter().find(|room| room.folder == package.folder) {
            Some(room) => findings.extend(edges_outside_the_table(room, package)),
            None => findings.push(unknown(package)),
        }
        findings.extend(cycles(package, &packages));
    }
    findings
}

fn unknown(package: &Package) -> Finding {
    let folder = if package.folder.is_empty() { "the root" } else { &package.folder };
    Finding::new(
        &package.manifest,
        1,
        format!("{folder} is a crate that is not in the crate graph"),
        format!("add it to {TABLE}, with what it may use and why"),
    )
}

fn edges_outside_the_table(room: &Room, package: &Package) -> Vec<Finding> {
    let is_of_tests = |used: &manifest::Dependency| {
        let is_it =
            |(from, to, _): &&(&str, &str, &str)| (*from, *to) == (room.folder, &used.folder);
        used.section == Section::Dev && IN_TESTS.iter().any(|edge| is_it(&edge))
    };
    let is_known = |used: &manifest::Dependency| {
        room.may_use.contains(&used.folder.as_str()) || is_of_tests(used)
    };
    let outside = package.uses.iter().filter(|used| !is_known(used));
    let finding = |used: &manifest::Dependency| {
        Finding::new(
            &package.manifest,
            used.line,
            format!("{} may not use {}: {}", room.folder, used.folder, room.why),
            format!(
                "move what both need into a crate below both, or add the edge to {TABLE} in a \
                 commit of its own with the reason"
            ),
        )
    };
    outside.map(finding).collect()
}

fn cycles(package: &Package, packages: &[Package]) -> Vec<Finding> {
    let dev = package.uses.iter().filter(|used| used.section == Section::Dev);
    let closing = dev.filter(|used| reaches(&used.folder, &package.folder, packages));
    let finding = |used: &manifest::Dependency| {
        Finding::new(
            &package.manifest,
            used.line,
            format!("the dev-dependency on {} closes a cycle", used.folder),
            "move the test up into the crate that sees both",
        )
    };
    closing.map(finding).collect()
}

/// Whether one folder depends on another, directly or indirectly.
fn reaches(from: &str, to: &str, packages: &[Package]) -> bool {
    let mut seen = vec![from];
    let mut next = 0;
    while let Some(&folder) = seen.get(next) {
        if folder == to {
            return true;
        }
        next += 1;
        let here = packages.iter().filter(|package| package.folder == folder);
        for used in here.flat_map(|package| &package.uses) {
            if !seen.contains(&used.folder.as_str()) {
                seen.push(&used.folder);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, sections: &str) -> String {
        format!("[package]\nname = \"{name}\"\n{sections}")
    }

    #[test]
    fn allowed_edges_are_silent() {
        let wire =
            manifest("wire", "[dependencies]\nmodel = { path = \"../model\" }\nlibc = \"1\"\n");
        let model = manifest("model", "");
        let tree =
            Tree::sample(&[("crates/model/Cargo.toml", &model), ("crates/wire/Cargo.toml", &wire)]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn an_edge_outside_the_table_is_found_in_every_section() {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let judge = format!("[{section}]\nengine = {{ path = \"../engine\" }}\n");
            let judge = manifest("judge", &judge);
            let found = check(&Tree::sample(&[("crates/judge/Cargo.toml", &judge)]));
            assert_eq!(found.len(), 1, "{section}");
            assert_eq!(found[0].line, 4);
            assert!(found[0].wrong.contains("crates/judge may not use crates/engine"));
        }
    }

    #[test]
    fn the_rulers_and_xtask_use_nothing_of_ours() {
        for folder in ["targets/sink", "targets/stage", "bench/floor", "crates/xtask"] {
            let text = "[dependencies]\nmodel = { path = \"../../crates/model\" }\n";
            let text = manifest("ruler", text);
            let found = check(&Tree::sample(&[(&format!("{folder}/Cargo.toml"), &text)]));
            assert_eq!(found.len(), 1, "{folder}");
        }
    }

    #[test]
    fn a_new_crate_has_to_be_added_to_the_table() {
        let found = check(&Tree::sample(&[("crates/new/Cargo.toml", &manifest("new", ""))]));
        assert_eq!(found.len(), 1);
        assert!(found[0].instead.contains(TABLE));
    }

    #[test]
    fn a_dev_dependency_that_closes_a_cycle_is_found() {
        let wire = manifest("wire", "[dependencies]\nmodel = { path = \"../model\" }\n");
        let model = manifest("model", "[dev-dependencies]\nwire = { path = \"../wire\" }\n");
        let tree =
            Tree::sample(&[("crates/model/Cargo.toml", &model), ("crates/wire/Cargo.toml", &wire)]);
        let wrongs: Vec<_> = check(&tree).into_iter().map(|finding| finding.wrong).collect();
        assert_eq!(wrongs.len(), 2);
        assert!(wrongs[1].contains("closes a cycle"));
    }

    #[test]
    fn an_edge_of_tests_is_none_of_the_product() {
        let edge = |section: &str| {
            let lab =
                manifest("lab", &format!("[{section}]\nreport = {{ path = \"../report\" }}\n"));
            let report = manifest("report", "");
            let files = [("crates/lab/Cargo.toml", &*lab), ("crates/report/Cargo.toml", &*report)];
            check(&Tree::sample(&files)).len()
        };
        assert_eq!((edge("dev-dependencies"), edge("dependencies")), (0, 1));
    }

    #[test]
    fn a_manifest_that_is_not_toml_is_found() {
        assert_eq!(check(&Tree::sample(&[("crates/a/Cargo.toml", "[package")])).len(), 1);
    }

    /// Rows may only use rows above them, so the table itself cannot have a cycle or a typing
    /// error. The order of the binary and of the fleet follows from that.
    #[test]
    fn the_table_is_in_order() {
        for room in ROOMS {
            for used in room.may_use {
                let at = |folder: &str| ROOMS.iter().position(|room| room.folder == folder);
                assert!(at(used).unwrap() < at(room.folder).unwrap(), "{} {used}", room.folder);
            }
        }
    }
}
