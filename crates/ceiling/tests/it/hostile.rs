//! What others wrote drives no terminal: plans, records, names, outputs of tools and responses.

use crate::harness::{Finished, Folder, Server, ceiling, root, run, targets_file, turn};
use journal::Slug;
use model::experiment::Experiment;
use model::json::Document;
use model::printable::controls;
use model::run::Record;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

/// Clears a screen, sets a title, hides what follows, turns the direction of text, and overwrites
/// the line.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;b\u{7}\u{1b}[8m\u{202e}\u{9b}31m\u{200b}\u{e0041}\rc";
/// [`HOSTILE`] as a TOML string.
const IN_TOML: &str =
    "a\\u001B[2J\\u001B]0;b\\u0007\\u001B[8m\\u202E\\u009B31m\\u200B\\U000E0041\\rc";

/// Commands that print nothing of others, or that other tests cover, with the reason.
const ELSEWHERE: [(&str, &str); 14] = [
    ("agent", "its lines are written by screen::to_stderr, and a broker is needed"),
    ("fleet list", "a broker is needed, and messages are made printable as they arrive"),
    ("fleet stop", "a broker is needed, and messages are made printable as they arrive"),
    ("fleet up", "it prints names of its own"),
    ("probe serve", "a stranger's lines are tested in the crate remote"),
    ("journal serve", "it prints what journal build prints"),
    ("tune apply", "it changes the host"),
    ("tune revert", "it changes the host"),
    ("tune keep", "it changes the host"),
    ("tune status", "it prints this host's own state"),
    ("tune plan", "it prints this host's own state"),
    ("tune export", "it prints this host's own state"),
    ("man", "a document of our own"),
    ("completions", "a document of our own"),
];

/// The commands that were run, and what they printed.
#[derive(Default)]
struct Ran(BTreeSet<String>);

impl Ran {
    /// Runs a command; nothing of what it prints controls a terminal.
    fn of(&mut self, name: &str, more: &[&str]) -> Finished {
        let words = [&name.split(' ').collect::<Vec<_>>()[..], more].concat();
        let mut command = ceiling(&words);
        command.env("XDG_STATE_HOME", "/nonexistent").env("GITHUB_ACTIONS", "true");
        self.command(name, command)
    }

    fn command(&mut self, name: &str, mut command: Command) -> Finished {
        let said = Finished::of(command.output().unwrap());
        for (what, text) in [("stdout", &said.stdout), ("stderr", &said.stderr)] {
            let is_foreign = |letter: &char| controls(*letter) && !matches!(letter, '\n' | '\t');
            let found = text.chars().find(is_foreign);
            assert_eq!(found, None, "{what} of {command:?}: {text:?}");
        }
        assert_ne!(said.code, 101, "{command:?}: {}", said.stderr);
        self.0.insert(name.to_string());
        said
    }
}

/// A document with hostile texts everywhere that it is still one.
fn poisoned<T: Document>(bytes: &[u8]) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(bytes).unwrap();
    let mut kinds = BTreeSet::new();
    each_text(&mut document, "", &mut |kind, _| {
        kinds.insert(kind.to_string());
    });
    let mut changed = 0;
    for kind in kinds.iter().filter(|kind| !kind.ends_with("/fate/run") && *kind != "/schema") {
        let mut with = document.clone();
        each_text(&mut with, "", &mut |at, text| {
            if at == kind {
                text.push_str(HOSTILE);
            }
        });
        if T::from_json(&serde_json::to_vec(&with).unwrap()).is_ok() {
            document = with;
            changed += 1;
        }
    }
    assert!(changed > 8, "{changed} of {kinds:?}");
    serde_json::to_vec(&document).unwrap()
}

/// Visits every text, with its place in which numbers of lists are left out.
fn each_text(value: &mut Value, at: &str, see: &mut dyn FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => see(at, text),
        Value::Array(all) => all.iter_mut().for_each(|one| each_text(one, at, see)),
        Value::Object(all) => {
            all.iter_mut().for_each(|(name, one)| each_text(one, &format!("{at}/{name}"), see));
        }
        _ => {}
    }
}

fn attack(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let response = format!(
        "HTTP/1.1 500 {HOSTILE}\r\nServer: {0}\r\nContent-Type: text/{0}\r\nContent-Length: \
         {1}\r\n\r\n{HOSTILE}",
        HOSTILE.replace('\r', ""),
        HOSTILE.len()
    );
    let _ = stream.write_all(response.as_bytes());
}

/// A server whose every response is an attack.
fn attacker() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || attack(stream));
        }
    });
    url
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copied(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

const RUN_ID: &str = "20260101T000000-r";

/// A directory of runs with a run and an experiment, also with names that are attacks.
fn runs_of(folder: &Folder, server: &Server) -> String {
    let kept = folder.file("kept");
    let load = ["load", &server.url("/"), "-n", "60", "-c", "1", "-t", "1", "--json", "-R", "200"];
    let said = run(&[&load[..], &["--runs", &kept]].concat());
    let kept = fs::read_dir(&kept).unwrap().flatten().next().unwrap().path();
    let record = poisoned::<Record>(said.stdout.as_bytes());
    let entry = Slug::parse("10-gomaxprocs").unwrap();
    let entry = journal::Journal::open(&root().join("journal")).unwrap().entry(&entry).unwrap();
    let experiment = entry.experiment(&entry.chosen().unwrap().unwrap()).unwrap();
    let experiment = poisoned::<Experiment>(&serde_json::to_vec(&experiment).unwrap());
    for (name, file, bytes) in [
        (RUN_ID.to_string(), "run.json", &record),
        (format!("20260101T000001-{HOSTILE}"), "run.json", &record),
        ("20260101T000002-e".to_string(), "experiment.json", &experiment),
        (format!("20260101T000003-{HOSTILE}"), "experiment.json", &experiment),
        (format!("20260101T000004-{HOSTILE}"), HOSTILE, &experiment),
    ] {
        let place = folder.path.join("runs").join(name);
        fs::create_dir_all(&place).unwrap();
        if file == "run.json" {
            copied(&kept, &place);
        }
        fs::write(place.join(file), bytes).unwrap();
        fs::write(place.join("plan.toml"), "").unwrap();
    }
    folder.file("runs")
}

#[test]
fn stored_runs_and_experiments_of_others_are_shown_as_text() {
    let _turn = turn();
    let (folder, server) = (Folder::new("hostile-runs"), Server::start("target-sink", &[]));
    let runs = runs_of(&folder, &server);
    let (a, e) = (format!("{runs}/{RUN_ID}"), format!("{runs}/20260101T000002-e"));
    let (a, e) = (&a[..], &e[..]);
    let mut ran = Ran::default();
    for more in [&[][..], &["-L"], &["-v"], &["-vv"], &["--hosts"], &["--json"], &[a]] {
        let said = ran.of("show", &[&[a][..], more].concat());
        assert!(said.code == 0 || more == ["--hosts"], "{more:?} {}", said.stderr);
    }
    ran.of("show", &[HOSTILE]);
    ran.of("show", &[e]);
    for more in [&[][..], &["--json"], &["--fail-if", HOSTILE]] {
        ran.of("compare", &[&[a, a][..], more].concat());
        let said = ran.of("compare", &[&[e, e][..], more].concat());
        assert!(said.code == 0 || more.len() == 2, "{more:?} {}", said.stderr);
    }
    ran.of("compare", &[a, e]);
    for more in [&[][..], &["--json"], &["-v"]] {
        ran.of("size", &[&[a, "--rate", "1M"][..], more].concat());
    }
    ran.of("advise", &[a, "--runs", &runs]);
    ran.of("advise", &[a, "--runs", &runs, "--json"]);
    ran.of("advise", &["--calibration", "--runs", &runs]);
    ran.of("runs", &["--runs", &runs]);
    ran.of("runs", &["--runs", &runs, "--json"]);
    let said = ran.of("runs prune", &["--runs", &runs, "--keep", "1", "--dry-run"]);
    assert!(said.stdout.contains("\\u{1b}[2J"), "{}", said.stdout);
    ran.of("runs prune", &["--runs", &runs, "--keep", "1", "--dry-run", "--json"]);
    ran.of("runs prune", &["--runs", &runs, "--keep", "1"]);
}

#[test]
fn plans_of_others_are_shown_as_text() {
    let _turn = turn();
    let folder = Folder::new("hostile-plans");
    let (plan, runs, list) = (folder.file("plan.toml"), folder.file("runs"), targets_file());
    let mut ran = Ran::default();
    let head = format!("schema = \"ceiling.plan/1\"\nquestion = \"{IN_TOML}\"\n");
    let sink = format!(
        "server = {{ target = \"sink\", env = {{ V = \"{IN_TOML}\" }} }}\nload = {{ command = \
         \"load\", requests = 50, connections = 1 }}\n"
    );
    for (body, codes) in [
        (format!("{sink}cell = [{{ name = \"{IN_TOML}\" }}, {{ name = \"b\" }}]\n"), &[0][..]),
        (format!("server.addr = \"{IN_TOML}\"\n"), &[0]),
        (format!("server.target = \"{IN_TOML}\"\n"), &[2]),
        (format!("server.target = \"sink\"\nload.\"{IN_TOML}\" = \"{IN_TOML}\"\n"), &[2]),
        (format!("server.target = \"sink\"\nload.body-file = \"{IN_TOML}\"\n"), &[0]),
        (format!("{sink}tune = {{ values = {{ somaxconn = \"{IN_TOML}\" }} }}\n"), &[0, 2]),
        (format!("{sink}[hosts.x]\nprobe = \"{IN_TOML}\"\n"), &[2]),
        (HOSTILE.to_string(), &[2]),
    ] {
        fs::write(&plan, format!("{head}{body}")).unwrap();
        let words = [&plan[..], "--servers", &list];
        let said = ran.of("run", &[&words[..], &["--dry-run"]].concat());
        assert!(codes.contains(&said.code), "{body}: {}{}", said.stdout, said.stderr);
        assert!(said.code != 0 || said.stdout.contains("\\u{1b}[8m"), "{}", said.stdout);
        ran.of("run", &[&words[..], &["--runs", &runs]].concat());
        ran.of("run", &[&words[..], &["--only", HOSTILE, "--set", HOSTILE]].concat());
    }
    fs::write(&plan, format!("{head}{sink}cell = [{{ name = \"{IN_TOML}\" }}]\n")).unwrap();
    let words = [&plan[..], "--servers", &list, "--runs", &runs, "--trust"];
    let said = ran.of("run", &words);
    assert!(said.stderr.contains("\\u{1b}[8m") && said.code == 0, "{}", said.stderr);
    ran.of("run", &[&words[..], &["--json"]].concat());
    ran.of("run", &["--servers", HOSTILE, &plan]);
}

#[test]
fn servers_and_outputs_of_others_are_shown_as_text() {
    let _turn = turn();
    let (folder, url) = (Folder::new("hostile-load"), attacker());
    let mut ran = Ran::default();
    for name in ["load", "ramp", "churn", "find", "fanout"] {
        ran.of(name, &[&format!("http://{HOSTILE}/"), "-H", HOSTILE]);
        ran.of(name, &[&url, &format!("--{HOSTILE}")]);
    }
    let few = ["-n", "4", "-c", "1", "-t", "1", "--sample-failures", "-vv"];
    ran.of("load", &[&[&url[..]][..], &few[..]].concat());
    ran.of("load", &[&[&url[..], "--json"][..], &few[..7]].concat());
    let mix = folder.file("mix.txt");
    for text in [format!("GET {url}{HOSTILE}\n"), format!("GET /\n{HOSTILE}\n"), HOSTILE.into()] {
        fs::write(&mix, text).unwrap();
        ran.of("load", &[&[&url[..], "-i", &mix][..], &few[..]].concat());
    }
    for name in ["wrk", "wrk2", "oha", "hey", "h2load"] {
        ran.of(name, &[HOSTILE, &url]);
    }
    for name in ["wrk-404.txt", "oha.json", "hey.txt", "h2load.txt", "vegeta.json"] {
        let text = fs::read_to_string(root().join("bench/fixtures").join(name)).unwrap();
        let file = folder.file(&format!("x{name}"));
        let in_json = serde_json::to_string(HOSTILE).unwrap();
        let hostile = if name.ends_with("json") { in_json.trim_matches('"') } else { HOSTILE };
        let changed = text.replace("http://", &format!("http://{hostile}"));
        fs::write(&file, format!("{changed}\n")).unwrap();
        ran.of("audit", &[&file]);
        ran.of("audit", &[&file, "--json"]);
        let rows = format!("| {HOSTILE} | RPS | p50 |\n|---|---|---|\n| {HOSTILE} | 9M | 9s |\n");
        fs::write(&file, rows).unwrap();
        ran.of("audit", &["--text", &file, "--depth", "1"]);
    }
    ran.of("audit", &[HOSTILE]);
    ran.of("doctor", &["--duration", HOSTILE]);
    ran.of("fleet keys", &[&folder.file(HOSTILE), "--agents", HOSTILE]);
    ran.of(HOSTILE.split(' ').next().unwrap(), &[]);
}

#[test]
fn journals_of_others_are_shown_as_text() {
    let folder = Folder::new("hostile-journal");
    let place = folder.path.join("journal");
    fs::create_dir_all(&place).unwrap();
    fs::copy(root().join("journal/journal.toml"), place.join("journal.toml")).unwrap();
    let entry = place.join("10-gomaxprocs");
    copied(&root().join("journal/10-gomaxprocs"), &entry);
    let text = fs::read_to_string(entry.join("entry.toml")).unwrap();
    let poisoned_text = text
        .replace("\ntitle = \"", &format!("\ntitle = \"{IN_TOML}"))
        .replace("\ntext = \"", &format!("\ntext = \"{IN_TOML}"))
        .replace("\nanswer = \"", &format!("\nanswer = \"{IN_TOML}"));
    assert_ne!(text, poisoned_text);
    fs::write(entry.join("entry.toml"), poisoned_text).unwrap();
    let notes = fs::read_to_string(entry.join("notes.md")).unwrap();
    fs::write(entry.join("notes.md"), format!("{notes}\n\n{HOSTILE}\n")).unwrap();
    let plan = fs::read_to_string(entry.join("plan.toml")).unwrap();
    let question = format!("question = \"{IN_TOML}");
    fs::write(entry.join("plan.toml"), plan.replace("question = \"", &question)).unwrap();
    let mut ran = Ran::default();
    let at = place.display().to_string();
    let (out, archive) = (folder.file("site"), folder.file("entry.pack"));
    let mut of = |name: &str, more: &[&str]| {
        let at = ["--journal", &at[..]];
        let of_place = if name == "journal verify" { &[][..] } else { &at[..] };
        ran.of(name, &[more, of_place].concat())
    };
    for more in [&[][..], &["--json"]] {
        of("journal list", more);
        of("journal check", more);
        of("journal build", &[&["-o", &out[..]][..], more].concat());
    }
    of("journal show", &["10-gomaxprocs"]);
    let list = targets_file();
    of("journal run", &["10-gomaxprocs", "--servers", &list, "--dry-run"]);
    of("journal new", &["x", "--title", HOSTILE]);
    of("journal add", &["10-gomaxprocs", HOSTILE]);
    of("journal import", &["10-gomaxprocs", HOSTILE]);
    of("journal pack", &["10-gomaxprocs", "-o", &archive, "--dry-run"]);
    of("journal pack", &["10-gomaxprocs", "-o", &archive]);
    for more in [&[][..], &["--json"], &["--pub", HOSTILE]] {
        let said = of("journal verify", &[&[&archive[..]][..], more].concat());
        let joined: String = said.stdout.split_whitespace().collect();
        assert!(!joined.contains(".ceiling-verify-"), "{}", said.stdout);
    }
}

/// A schema whose names are hostile, as a set of descriptors: a message, and a service with a
/// method of it.
#[test]
fn names_of_a_schema_control_no_terminal() {
    let field = |number: u8, inner: &[u8]| {
        [&[number << 3 | 2, u8::try_from(inner.len()).unwrap()][..], inner].concat()
    };
    // Short enough that a length is one byte.
    let hostile = "a\u{1b}[2J\u{202e}";
    let (name, kind) = (hostile.as_bytes(), format!(".{hostile}"));
    let method = [field(1, name), field(2, kind.as_bytes()), field(3, kind.as_bytes())].concat();
    let service = [field(1, b"Service"), field(2, &method)].concat();
    let file = [field(1, name), field(4, &field(1, name)), field(6, &service)].concat();
    let folder = Folder::new("hostile-schema");
    let set = folder.file("set.pb");
    fs::write(&set, field(1, &file)).unwrap();
    let mut ran = Ran::default();
    for more in [&[][..], &["--json"]] {
        ran.of("grpc list", &[&["--protoset", &set][..], more].concat());
        ran.of("grpc describe", &[&["--protoset", &set][..], more].concat());
        ran.of("grpc describe", &[&["--protoset", &set, "--name", hostile][..], more].concat());
    }
    let listed = ran.of("grpc list", &["--protoset", &set]);
    assert!(listed.stdout.starts_with("Service\n  rpc a"), "{}{}", listed.stdout, listed.stderr);
    ran.of("grpc list", &[HOSTILE]);
    ran.of("grpc list", &["--proto", HOSTILE]);
}

/// A flow whose server answers with attacks, and requests of others that are attacks.
#[test]
fn flows_of_others_control_no_terminal() {
    let _turn = turn();
    let (folder, url) = (Folder::new("hostile-flows"), attacker());
    let mut ran = Ran::default();
    let flow = folder.file("flow.hurl");
    let captures = "HTTP 500\n[Captures]\na: body\nb: header \"Server\"\n";
    let asserts = format!("[Asserts]\nbody == \"{}\"\n", HOSTILE.replace('\r', ""));
    fs::write(&flow, format!("GET {url}\nX-A: {HOSTILE}\n{captures}{asserts}")).unwrap();
    let good = folder.file("good.hurl");
    fs::write(&good, format!("GET {url}\n{captures}[Asserts]\nbody == \"x\"\n")).unwrap();
    for more in [&[][..], &["--json"], &["-v"], &["-q"]] {
        ran.of("try", &[&[&flow[..]], more].concat());
        let said = ran.of("try", &[&[&good[..]], more].concat());
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        ran.of("try", &[&[&url[..]], more].concat());
    }
    ran.of("try", &[HOSTILE]);
    ran.of("load", &["--flow", &good]);
    let written = folder.file("source");
    let har = serde_json::json!({ "log": { "version": "1.2", "entries": [{
        "startedDateTime": "2026-01-01T00:00:00Z", "time": 1,
        "request": { "method": "GET", "url": format!("http://a.test/{HOSTILE}"),
            "headers": [{ "name": "X-A", "value": HOSTILE }], "queryString": [] },
        "response": { "status": 200, "headers": [],
            "content": { "mimeType": HOSTILE, "text": HOSTILE } },
    }] } });
    for (kind, text) in [
        ("har", har.to_string()),
        ("curl", format!("curl 'http://a.test/{HOSTILE}' -H 'X-A: {HOSTILE}' --{HOSTILE}")),
        ("http", format!("### {HOSTILE}\nGET http://a.test/{HOSTILE}\nX-A: {HOSTILE}\n")),
        ("openapi", format!("openapi: 3.0.0\ninfo: {{title: \"{IN_TOML}\"}}\n")),
        ("postman", HOSTILE.to_string()),
        (HOSTILE, String::new()),
    ] {
        fs::write(&written, text).unwrap();
        ran.of("import", &[kind, &written]);
    }
}

/// Every command is in a test above or says why it is not.
#[test]
fn every_command_that_prints_is_fed_with_hostile_text() {
    let source = fs::read_to_string(root().join("crates/ceiling/tests/it/hostile.rs")).unwrap();
    let page = fs::read_to_string(root().join("docs/reference/cli.md")).unwrap();
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## ceiling ")).collect();
    assert!(commands.len() > 30, "{commands:?}");
    let groups = ["tune", "probe", "fleet", "journal", "grpc"];
    for command in commands.into_iter().filter(|command| !groups.contains(command)) {
        let is_run = source.contains(&format!("\"{command}\", "))
            || source.contains(&format!("[\"{command}\""))
            || source.contains(&format!(" \"{command}\""));
        assert!(is_run || ELSEWHERE.iter().any(|(name, _)| *name == command), "ceiling {command}");
    }
}
