//! Output for people: the result in less than a screen, lines of progress in a log, and commands
//! that can be pasted.

use crate::harness::{Finished, Folder, Server, alone, ceiling, measure, run, run_on_time, turn};
use model::step::Step;
use std::process::Command;

/// So few requests that a test is short.
const FEW: [&str; 8] = ["-n", "2000", "-c", "4", "-t", "1", "--warmup", "100ms"];

/// The first and the last line are the verdict, and no line is wider than a terminal.
fn assert_brief(said: &Finished, most: usize) {
    let lines: Vec<&str> = said.stdout.lines().collect();
    let text = &said.stdout;
    assert!(lines.len() <= most, "{} of {most} lines\n{text}", lines.len());
    assert!(lines[0].starts_with("▌ "), "{text}");
    assert!(lines[lines.len() - 1].starts_with("▌ "), "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\x1b'), "no colours in a pipe: {text}");
}

#[test]
fn a_load_is_less_than_a_screen_whatever_the_server_does() {
    let _turn = turn();
    let ills = [
        &["--status", "500:50%"][..],
        &["--close-after", "20", "--reset", "--close-silently"],
        &["--truncate", "5%"],
        &["--delay", "fixed:1ms"],
        &[],
    ];
    for ill in ills {
        let server = Server::start("target-sink", &[&["--threads", "1"][..], ill].concat());
        let url = server.url("/a/path?with=a&query");
        let load = [&["load", url.as_str()][..], &FEW].concat();
        let said = run(&load);
        assert_brief(&said, 24);
        for word in ["Rate ", "Responses ", "Total ", "CPU ", "Wall "] {
            assert!(said.stdout.contains(word), "{word} in {}", said.stdout);
        }
        let verbose = run(&[&load[..], &["-v"]].concat());
        assert!(verbose.stdout.contains("\nLevels\n"), "{}", verbose.stdout);
        assert!(!verbose.stdout.contains("\nSetup\n"), "{}", verbose.stdout);
        assert!(run(&[&load[..], &["-vv"]].concat()).stdout.contains("\nSetup\n"));
    }
}

#[test]
fn quiet_says_nothing_but_what_was_missed() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:2ms"]);
    let url = server.url("/simple");
    let load = [&["load", url.as_str(), "-q"][..], &FEW].concat();
    let said = run(&load);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""));
    let said = run(&[&load[..], &["--expect", "p50<1ns"]].concat());
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{}", said.stderr);
    assert!(said.stderr.contains("p50<1ns missed"), "{}", said.stderr);
}

#[test]
fn a_url_alone_is_loaded() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/simple");
    for typed in [url.as_str(), url.trim_start_matches("http://")] {
        let (_, record) = measure(&[&[typed][..], &FEW].concat());
        assert_eq!(record["command"][1], "load");
        assert_eq!(record["target"]["url"], url);
    }
}

#[test]
fn a_log_has_one_line_for_each_level_that_has_ended() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:2ms"]);
    let url = server.url("/simple");
    let ramp = ["ramp", &url, "-c", "1..4", "-d", "300ms", "--warmup", "100ms", "-t", "1"];
    let said = run(&ramp);
    let levels = said.stderr.lines().filter(|line| line.contains(" conns "));
    // A level that is not steady is visited again.
    assert!((3..=6).contains(&levels.count()), "{}", said.stderr);
    assert!(!said.stderr.contains(['\r', '\x1b']), "nothing is drawn over: {}", said.stderr);
    assert_brief(&said, 17 + said.stderr.lines().count());
}

/// The commands that a run proposes, pasted into a POSIX shell, send the same requests.
#[test]
fn what_is_proposed_can_be_pasted_and_sends_the_same() {
    let _turn = turn();
    let folder = Folder::new("proposed");
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/simple?a=b&c=$d");
    let body = r#"{"it's": "a $body"}"#;
    let shaped = ["-X", "PUT", "-b", body, "-H", "Authorization: s3cret", "-H", "A: it's \"b\""];
    let load = [&["load", url.as_str(), "--keep-requests"][..], &shaped, &FEW].concat();
    let record = run_on_time(&load).record();
    let next: Vec<Step> = serde_json::from_value(record["verdict"]["next"].clone()).unwrap();
    let commands = next.iter().filter(|step| step.is_command()).map(Step::text);
    let mut ran = 0;
    for command in commands {
        assert!(!command.contains("s3cret"), "{command}");
        let script = format!("ceiling() {{ \"$CEILING\" \"$@\"; }}\n{command} {SHORT}");
        let program = ceiling(&[]).get_program().to_owned();
        let said = alone(Command::new("sh"))
            .args(["-c", &script])
            .env("CEILING", program)
            .env("CEILING_RUNS", folder.file("runs"))
            .env("AUTHORIZATION", "s3cret")
            .env("BODY", body)
            .output()
            .unwrap();
        let said = Finished::of(said);
        let again = said.record();
        assert_eq!(again["trial"]["requests"], record["trial"]["requests"], "{command}");
        ran += 1;
    }
    assert!(ran > 0, "{next:?}");
}

/// Options that make a proposed ramp short.
const SHORT: &str = "-d 100ms --warmup 100ms --json";
