//! `ceiling audit` of outputs of other tools: result, exit code and errors.

use crate::harness::{Folder, run};
use serde_json::Value;
use std::fs;

fn fixture(name: &str) -> String {
    format!("{}/../../bench/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_exit_code_says_whether_a_figure_is_refuted() {
    let good = run(&["audit", &fixture("h2load.txt")]);
    assert_eq!(good.code, 0, "{}{}", good.stdout, good.stderr);
    assert!(good.stdout.contains("requests") && good.stdout.contains("holds"), "{}", good.stdout);
    let file = fixture("wrk-404.txt");
    assert_eq!(run(&["audit", &file]).code, 0, "nothing tells the depth");
    let said = run(&["audit", &file, "--depth", "1"]);
    assert_eq!(said.code, 3, "{}", said.stdout);
    assert!(said.stdout.contains("1 FIGURE IS IMPOSSIBLE"), "{}", said.stdout);
    let is_narrow = |line: &str| line.chars().count() <= 80;
    assert!(said.stdout.lines().all(is_narrow), "{}", said.stdout);
}

#[test]
fn the_document_has_claims_with_stable_names() {
    let said = run(&["audit", &fixture("oha-404.json"), "--json"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["schema"], "ceiling.audit/1");
    let claims = document["accounts"][0]["claims"].as_array().unwrap();
    let outcome = |name: &str| {
        let claim = claims.iter().find(|claim| claim["name"] == name);
        claim.unwrap_or_else(|| panic!("no claim {name}"))["outcome"].clone()
    };
    let of = ["success", "rate", "p50", "max"].map(outcome);
    assert_eq!(of, ["impossible", "undecided", "undecided", "holds"]);
}

/// 4.9M/s over 2000 x 100 slots with a median of 1225 ms: half of the requests alone would make 3M
/// in flight.
#[test]
fn a_table_of_a_text_is_refuted_by_its_own_median() {
    let folder = Folder::new("audit-text");
    let file = folder.file("page.md");
    let rows = "| connections | RPS | p50 |\n|---|---|---|\n| 2000 | 4,913,152 | 1225ms |\n\
                | 1000 | 2,299,162 | 38ms |\n";
    fs::write(&file, rows).unwrap();
    let said = run(&["audit", "--text", &file, "--depth", "100", "--json"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let rate = |account: usize| document["accounts"][account]["claims"][0]["outcome"].clone();
    assert_eq!([rate(0), rate(1)], ["impossible", "holds"]);
}

#[test]
fn what_cannot_be_read_is_refused_in_one_line() {
    let folder = Folder::new("audit-refused");
    let file = folder.file("note.txt");
    fs::write(&file, "nothing of a tool").unwrap();
    for (arguments, words) in [
        (vec!["audit", &file], vec!["note.txt", "wrk", "jmeter", "for example"]),
        (vec!["audit", "--text", &file], vec!["no rate", "1.2M requests/s"]),
        (vec!["audit", "nowhere.txt"], vec!["nowhere.txt"]),
        (vec!["audit"], vec!["FILE"]),
    ] {
        let said = run(&arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{arguments:?}: {}", said.stderr);
        for word in words {
            assert!(said.stderr.contains(word), "{arguments:?}: '{word}' in {}", said.stderr);
        }
    }
}
