//! Wrong arguments about knobs are refused before anything is changed.

use crate::harness::{Folder, Said, root};
use std::process::Command;

#[test]
fn wrong_words_get_an_example() {
    let cases = [
        (&["apply", "--only", "nothing"][..], "there is no knob 'nothing'"),
        (&["plan", "--device", "no-such"], "no such device"),
        (&["plan", "--cpus", "0-3"], "for example 0-3/4-7"),
        (&["plan", "--cpus", "0/999"], "not usable here"),
        (&["apply", "--deadline", "2m"], "from 1s to 60s"),
        (&["revert", "--transaction", "x"], "there is no transaction x"),
        (&["plan", "--profile", "fast"], "throughput"),
    ];
    let folder = Folder::new("tune-words");
    for (words, said) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ceiling"));
        command.arg("tune").args(words).env("CEILING_TUNE_JOURNAL", folder.file("journal"));
        let output = Said::of(command.current_dir(root()).output().unwrap());
        assert_eq!(output.code, 2, "{words:?}: {}", output.stderr);
        assert!(output.stderr.contains(said), "{words:?}: {}", output.stderr);
        assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    }
}

#[test]
fn far_knobs_need_all_flags() {
    let said = Command::new(env!("CARGO_BIN_EXE_ceiling"))
        .args(["tune", "status", "--probe", "127.0.0.1:1"])
        .output();
    let said = Said::of(said.unwrap());
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("--probe-token-file"), "{}", said.stderr);
}
