//! What an experiment changes at a server is put back, whatever ends the run. The results of its
//! blocks are checked in `tests/truth/confirm.rs`.

use crate::harness::limited::Limited;
use crate::harness::{ceiling, must_be_root, signal, turn};

/// Small enough that the server is the limit on any machine: in an emulated one, the generator
/// needs ten times as much CPU time.
const SHARE: f64 = 0.05;

#[test]
fn an_interrupt_in_the_middle_puts_the_server_back() {
    let _turn = turn();
    must_be_root();
    let limited = Limited::new("interrupted", SHARE);
    let before = limited.state();
    let child = limited.begin_until_touched();
    signal(child.id(), "INT");
    signal(child.id(), "CONT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("it was interrupted"), "{text}");
    assert_eq!((limited.state(), limited.journals()), (before, 0));
}

#[test]
fn what_a_killed_run_left_is_put_back_by_the_next() {
    let _turn = turn();
    must_be_root();
    let limited = Limited::new("killed", SHARE);
    let before = limited.state();
    let mut child = limited.begin_until_touched();
    let touched = limited.touched();
    let another = |limited: &Limited| {
        let null = ["load", "http://null/", "--driver", "null", "-d", "100ms", "--warmup", "0"];
        let mut command = ceiling(&[&null[..], &["-t", "1", "-q"]].concat());
        command.env("CEILING_TUNE_JOURNAL", limited.journal()).output().unwrap().stderr
    };
    assert_eq!(another(&limited), b"", "the owner is alive, so its change stays");
    assert_eq!((limited.touched(), limited.journals()), (touched.clone(), 1));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((limited.touched(), limited.journals()), (touched, 1), "no program put it back");
    let told = String::from_utf8(another(&limited)).unwrap();
    assert!(told.contains("put back") && told.contains("killed"), "{told}");
    assert_eq!((limited.state(), limited.journals()), (before, 0));
}

#[test]
fn tune_shows_and_undoes_what_a_killed_run_left() {
    let _turn = turn();
    must_be_root();
    let limited = Limited::new("shown", SHARE);
    let before = limited.state();
    let mut child = limited.begin_until_touched();
    let tune = |word: &str| {
        let mut command = ceiling(&["tune", word]);
        let output = command.env("CEILING_TUNE_JOURNAL", limited.journal()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let running = tune("status");
    let holder = format!("an experiment of process {}", child.id());
    assert!(running.contains("server-cpu") && running.contains(&holder), "{running}");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = tune("status");
    assert!(left.contains("server-cpu") && !left.contains(&holder), "{left}");
    assert_eq!(limited.journals(), 1);
    tune("revert");
    assert_eq!((limited.state(), limited.journals()), (before, 0));
}
