//! Wrong words on the command line: one line that names what is wrong, what is accepted and an
//! example; exit code 2.

use crate::harness::{Folder, ceiling, run};
use std::net::TcpListener;

const URL: &str = "http://127.0.0.1:1/";

/// The command must refuse with one line that has all of `words`.
fn refuses(arguments: &[&str], words: &[&str]) {
    let said = run(arguments);
    assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
    assert_eq!(said.stdout, "", "{arguments:?}");
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{arguments:?}: {}", said.stderr);
    for word in words {
        assert!(said.stderr.contains(word), "{arguments:?}: '{word}' in {}", said.stderr);
    }
}

#[test]
fn wrong_values_name_the_flag_what_is_accepted_and_an_example() {
    for value in ["abc", "0", "-5", "1.5", "9G"] {
        refuses(&["load", URL, &format!("-c={value}")], &["--connections", value, "for example"]);
    }
    refuses(&["load", URL, "-d", "5x"], &["--duration", "5x", "ms", "for example"]);
    refuses(&["load", URL, "-d", "0"], &["--duration", "for example"]);
    refuses(&["load", URL, "-p", "0"], &["--depth", "for example"]);
    refuses(&["load", URL, "-t", "many"], &["--threads", "auto", "for example"]);
    refuses(&["load", URL, "-n", "x"], &["--requests", "for example"]);
    refuses(&["load", URL, "--cpus", "1-"], &["--cpus", "for example"]);
    refuses(&["load", URL, "--driver", "iocp"], &["--driver", "uring", "epoll", "for example"]);
    refuses(&["load", URL, "--warmup", "soon"], &["--warmup", "auto", "for example"]);
    refuses(&["load", URL, "--coalesce", "1s"], &["--coalesce", "for example"]);
    refuses(&["load", URL, "--server-pid", "0"], &["--server-pid", "for example"]);
    refuses(&["load", URL, "-H", "no colon"], &["--header", "for example"]);
    refuses(&["ramp", URL, "-c", "50..5"], &["--connections", "50..5", "for example"]);
    refuses(&["ramp", URL, "-c", "1..1M+1"], &["--connections", "for example"]);
    refuses(&["ramp", URL, "--repeats=-1"], &["--repeats", "for example"]);
}

#[test]
fn wrong_urls_and_requests_say_what_is_wrong() {
    refuses(&["load", "127.0.0.1:80"], &["127.0.0.1:80", "scheme", "for example http://"]);
    refuses(&["load", "https://127.0.0.1/"], &["TLS", "for example"]);
    refuses(&["load", "http://127.0.0.1:99999/"], &["port", "for example"]);
    refuses(&["load", "http://nowhere.invalid/"], &["nowhere.invalid", "cannot find"]);
    refuses(&["load", URL, "-X", "GE T"], &["GE T", "for example"]);
    refuses(&["load", URL, "-H", "Transfer-Encoding: chunked"], &["Transfer-Encoding"]);
    refuses(&["load", URL, "-f", "/nonexistent/body"], &["--body-file", "/nonexistent/body"]);
}

#[test]
fn unknown_and_contradicting_words_are_told() {
    refuses(&["load", URL, "--conections", "5"], &["--conections", "did you mean --connections"]);
    refuses(&["lod", URL], &["lod", "load"]);
    refuses(&["load"], &["URL", "missing", "for example"]);
    refuses(&["load", URL, "-n", "5", "-d", "5"], &["--requests", "--duration"]);
    refuses(&["load", URL, "-b", "x", "-f", "y"], &["--body", "--body-file"]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_any_load() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    refuses(&["load", &url, "-o", "/nonexistent/x.json"], &["-o", "/nonexistent/x.json"]);
    refuses(&["load", &url, "-o", "x.docx"], &["x.docx", ".html", "for example"]);
    let folder = Folder::new("unwritable");
    refuses(&["load", &url, "-o", &folder.file("")], &["-o"]);
    let runs = ceiling(&["load", &url, "--runs", "/proc/nowhere"]).output().unwrap();
    assert_ne!(runs.status.code(), Some(0));
    assert!(listener.accept().is_err(), "nobody connected");
}

#[test]
fn nobody_at_the_target_is_told_at_once_with_address_and_reason() {
    let said = run(&["load", "http://127.0.0.1:1/"]);
    assert_eq!(said.code, 5);
    assert!(said.stderr.contains("127.0.0.1:1: Connection refused"), "{}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
}

#[test]
fn help_and_completions_teach() {
    let said = run(&["load", "--help"]);
    assert_eq!(said.code, 0);
    for word in ["Examples:", "--connections", "--coalesce", "--server-pid"] {
        assert!(said.stdout.contains(word), "{word}");
    }
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 90), "lines fit a terminal");
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).stdout.contains("ceiling"), "{shell}");
    }
}
