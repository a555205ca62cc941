//! Secrets of a user are in nothing that is kept, printed or sent; files from others are not
//! trusted.

use crate::harness::{
    Finished, Folder, Server, alone, ceiling, code_of, is_rate_known, program, run, shown,
    targets_file, turn,
};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Each is used in one place only, and has no other meaning.
const SECRETS: [&str; 9] = [
    "QZXauth1",
    "QZXlisted2",
    "QZXcookie3",
    "QZXbody4",
    "QZXurl5",
    "QZXserver6",
    "QZXkey7",
    "QZXenv8",
    "QZXarg9",
];

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

/// Asserts that no secret is in some bytes; `what` names them in the message.
fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in SECRETS {
        if let Some(at) = text.find(secret) {
            let begin = text.floor_char_boundary(at.saturating_sub(80));
            panic!("{secret} in {what}: {}", &text[begin..at + secret.len()]);
        }
    }
}

fn assert_all_clean(folder: &Path) {
    let files = files(folder);
    assert!(!files.is_empty());
    for file in files {
        assert_clean(&file.display().to_string(), &fs::read(&file).unwrap());
    }
}

/// A server with a password in its command line, as `ps` shows it.
fn server() -> Server {
    let mut command = Command::new(program("target-sink"));
    command.arg0("target-sink --db=postgres://me:QZXserver6@db/x");
    Server::start_as(command, &["--threads", "1"])
}

/// A command with a secret in each place that can hold one.
fn load<'a>(url: &'a str, runs: &'a str) -> Vec<&'a str> {
    let mut words = vec!["load", url, "-n", "50", "-c", "1", "-t", "1", "--runs", runs];
    words.extend(["-H", "Authorization: Bearer QZXauth1", "--header=X-Mine: QZXlisted2"]);
    words.extend(["--secret-header", "x-mine", "-qHCookie: id=QZXcookie3"]);
    words.extend(["-H", "x-api-key: QZXkey7", "-b", "{\"name\":\"QZXbody4\"}"]);
    words
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn secrets_of_a_run_are_in_nothing_that_is_kept_or_said() {
    let _turn = turn();
    let (server, folder) = (server(), Folder::new("secrets"));
    let url = server.url("/simple?token=QZXurl5&n=1");
    let runs = folder.file("runs");
    let outs = ["r.html", "r.json", "r.csv", "r.hlog"].map(|name| folder.file(name));
    let mut words = load(&url, &runs);
    outs.iter().for_each(|out| words.extend(["-o", out]));
    let output = ceiling(&words).output().unwrap();
    assert_clean("stdout", &output.stdout);
    assert_clean("stderr", &output.stderr);
    assert_all_clean(&folder.path);
    let record: Value = serde_json::from_slice(&fs::read(&outs[1]).unwrap()).unwrap();
    assert_eq!(output.status.code(), Some(code_of(&record)), "{}", shown(&record));
    let request = &record["trial"]["requests"][0];
    assert_eq!(request["path"], "/simple?token=***&n=1");
    assert_eq!(request["headers"][0], serde_json::json!(["Authorization", "***"]));
    assert_eq!(request["headers"][4], serde_json::json!(["Content-Length", "19"]));
    let command = record["target"]["server"]["command"].as_str().unwrap();
    assert!(command.contains("--db=postgres://me:***@db/x"), "{command}");
    for file in files(Path::new(&runs)) {
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700), "{file:?}");
    }
    // Later commands on the run, and the commands that they propose.
    let id = record["id"].as_str().unwrap();
    for words in [
        vec!["advise", id, "--runs", &runs],
        vec!["advise", id, "--runs", &runs, "--json"],
        vec!["show", id, "--runs", &runs, "-L"],
        vec!["size", id, "--runs", &runs, "--rate", "1k"],
        vec!["compare", id, id, "--runs", &runs],
    ] {
        let said = run(&words);
        assert!(said.stderr.is_empty() || said.code != 0, "{words:?} {}", said.stderr);
        // Without a rate there is nothing to calculate.
        let needs_rate = ["advise", "size"].contains(&words[0]);
        let code = if needs_rate && !is_rate_known(&record) { 4 } else { 0 };
        assert_eq!(said.code, code, "{words:?} {}", said.stderr);
        assert_clean(words[0], said.stdout.as_bytes());
        assert_clean(words[0], said.stderr.as_bytes());
    }
}

#[test]
fn requests_are_kept_for_those_who_say_so() {
    let _turn = turn();
    let (server, folder) = (server(), Folder::new("secrets-kept"));
    let url = server.url("/simple?token=QZXurl5");
    let runs = folder.file("runs");
    let mut words = load(&url, &runs);
    words.extend(["--keep-requests", "--json"]);
    let said = run(&words);
    let request = &said.record()["trial"]["requests"][0];
    assert_eq!(request["headers"][0], serde_json::json!(["Authorization", "Bearer QZXauth1"]));
    assert_eq!(request["path"], "/simple?token=QZXurl5");
    assert_eq!(request["body"].as_array().unwrap().len(), 19);
    let command = said.record()["command"].to_string();
    assert_clean("command", command.as_bytes());
}

#[test]
fn what_is_wrong_is_told_without_the_secret_in_it() {
    for words in [
        &["load", "http://me:QZXurl5@h/"][..],
        &["load", "http://h/a b?token=QZXurl5"],
        &["load", "http://h/", "-H", "Authorization QZXauth1"],
        &["load", "http://h/", "-H", "Authorization:", "QZXauth1"],
        &["load", "http://h/", "-H", "Cookie: a\nQZXcookie3"],
        &["load", "http://h/", "-x", "http://me:QZXarg9@proxy"],
        &["load", "http://h/", "-b", "QZXbody4", "-i", "targets"],
    ] {
        let said = run(words);
        assert_eq!(said.code, 2, "{words:?} {}", said.stderr);
        assert_clean(&format!("{words:?}"), said.stderr.as_bytes());
    }
    for word in ["Authorization: ***", "Cookie:***"] {
        let said = run(&["load", "http://h/", "-H", word]);
        assert_eq!(said.code, 2);
        assert!(said.stderr.contains("stands for a secret"), "{}", said.stderr);
    }
}

/// A running probe, killed at the end of the test.
struct Probe(Child, String);

impl Probe {
    fn start(folder: &Folder) -> Self {
        let mut command = ceiling(&["probe", "serve", "--listen", "127.0.0.1:0", "--token-file"]);
        let mut child = command.arg(folder.file("token")).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        Self(child, ready)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A limit on the size of files fails a write like a full disk.
#[test]
fn a_secret_that_could_not_be_written_is_not_there_and_is_made_the_next_time() {
    let folder = Folder::new("secrets-full");
    let (token, keys) = (folder.file("token"), folder.file("keys"));
    let program = env!("CARGO_BIN_EXE_ceiling");
    let probe = ["probe", "serve", "--listen", "127.0.0.1:0", "--token-file", &token];
    for words in [&probe[..], &["fleet", "keys", &keys, "--agents", "a1"]] {
        let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
        let mut full = alone(Command::new("sh"));
        let said =
            Finished::of(full.args(["-c", script, "sh", program]).args(words).output().unwrap());
        assert!(said.code > 0, "{words:?}: {}{}", said.stdout, said.stderr);
        let left: Vec<_> = files(&folder.path);
        assert!(left.is_empty(), "{words:?}: {left:?}: {}", said.stderr);
    }
    assert!(Probe::start(&folder).1.contains("ready on"));
    let made = run(&["fleet", "keys", &keys, "--agents", "a1"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let left = files(&folder.path);
    assert!(left.iter().all(|file| fs::metadata(file).unwrap().len() > 0), "{left:?}");
}

#[test]
fn a_probe_sends_no_secrets_of_the_server() {
    let _turn = turn();
    let (server, folder) = (server(), Folder::new("secrets-probe"));
    let probe = Probe::start(&folder);
    let flags = &probe.1[probe.1.find("--probe ").expect("flags in the ready line")..];
    let (url, runs) = (server.url("/simple"), folder.file("runs"));
    let mut words = load(&url, &runs);
    words.extend(flags.split_whitespace());
    words.extend(["--json"]);
    let said = run(&words);
    let command = said.record()["target"]["probe"]["server"]["command"].clone();
    assert!(command.as_str().unwrap().contains("me:***@db"), "{command}");
    assert_clean("stdout", said.stdout.as_bytes());
    assert_all_clean(Path::new(&runs));
}

#[test]
fn secrets_of_a_plan_are_in_nothing_that_is_kept_or_said() {
    let _turn = turn();
    let folder = Folder::new("secrets-plan");
    let plan = folder.file("plan.toml");
    let text = "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\n\
         server = { target = \"sink\", env = { DB_PASSWORD = \"QZXenv8\" } }\n\
         load = { command = \"load\", url = \"http://{addr}/simple?token=QZXurl5\", requests = 50, \
         header = [\"Authorization: QZXauth1\", \"X-Mine: QZXlisted2\"], secret-header = \
         \"X-Mine\" }\n\
         vary = [{ key = \"load.body\", values = [\"QZXbody4\", \"QZXarg9\"] }]\n";
    fs::write(&plan, text).unwrap();
    let (runs, list) = (folder.file("runs"), targets_file());
    let dry = run(&["run", &plan, "--servers", &list, "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert_clean("--dry-run", dry.stdout.as_bytes());
    let refused = run(&["run", &plan, "--servers", &list, "--runs", &runs]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("server.env.DB_PASSWORD"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--trust") && !Path::new(&runs).exists());
    let said = run(&["run", &plan, "--servers", &list, "--runs", &runs, "--trust"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_clean("stdout", said.stdout.as_bytes());
    assert_clean("stderr", said.stderr.as_bytes());
    assert_all_clean(Path::new(&runs));
    let kept = files(Path::new(&runs));
    assert!(kept.iter().any(|file| file.ends_with("plan.toml")), "{kept:?}");
    assert_eq!(mode(&fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path()), 0o700);
}
