//! Wrong command lines.

use std::process::Command;

#[test]
fn unknown_names_are_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_walls"));
    let output = command.args(["run", "--only", "no-such"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("no-such") || said.contains("needs root") || said.contains("need root"));
}
