//! Scenarios of a few seconds, judged: `make test-truth`.

#[path = "../scenes/mod.rs"]
mod scenes;

use scenes::{keep, run, text, turn};
use std::fs;
use std::process::Command;

/// Scenarios of a few seconds each, one of each kind of limit.
const FAST: &str = "quota,client-ports,server-files,limiter-reject,sleeping-server";

#[test]
fn known_walls_are_named() {
    let _turn = turn();
    let keep = keep("fast");
    let output = run(&keep, FAST).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let mut score = Command::new(env!("CARGO_BIN_EXE_walls"));
    let output = score.args(["score", "--all"]).arg(&keep).output().unwrap();
    let said = text(&output);
    fs::remove_dir_all(&keep).unwrap();
    let draws: Vec<&str> = said.lines().filter(|line| line.contains("Untested:")).collect();
    assert_eq!(draws.len(), FAST.split(',').count(), "each left a run: {said}");
    for draw in draws {
        let mark = draw.split("both sides ").nth(1).unwrap().split(',').next().unwrap();
        assert!(mark.ends_with("Correct"), "{said}");
    }
}
