//! Wrong arguments about knobs are refused before anything is changed.

use crate::harness::{Finished, Folder, ceiling, root, run, turn};
use std::fs;

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
        let mut command = ceiling(&["tune"]);
        command.args(words).env("CEILING_TUNE_JOURNAL", folder.file("journal"));
        let output = Finished::of(command.current_dir(root()).output().unwrap());
        assert_eq!(output.code, 2, "{words:?}: {}", output.stderr);
        assert!(output.stderr.contains(said), "{words:?}: {}", output.stderr);
        assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    }
}

/// A watchdog runs in another directory, and must find the same journal.
#[test]
fn a_journal_may_be_named_from_where_the_user_is() {
    let _turn = turn();
    let folder = Folder::new("tune-relative");
    let journal = folder.path.join("journal");
    fs::create_dir(&journal).unwrap();
    fs::write(journal.join("3.jsonl"), "{}\n").unwrap();
    let load = ["load", "http://null/", "--driver", "null", "-n", "10", "-c", "1", "-t", "1"];
    let mut command = ceiling(&[&load[..], &["--runs", "none", "-q"]].concat());
    command.current_dir(&folder.path).env("CEILING_TUNE_JOURNAL", "journal");
    let said = Finished::of(command.output().unwrap());
    let told = said.stderr.lines().find(|line| line.contains("a journal of changes"));
    let told = told.unwrap_or_else(|| panic!("it is read: {}", said.stderr));
    let whole = fs::canonicalize(&journal).unwrap().join("3.jsonl").display().to_string();
    assert!(told.contains(&whole), "{told}");
}

#[test]
fn far_knobs_need_all_flags() {
    let said = run(&["tune", "status", "--probe", "127.0.0.1:1"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("--probe-token-file"), "{}", said.stderr);
}
