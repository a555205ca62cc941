//! Every command in README.md and in the pages that continue it runs as it stands there, with short
//! times, small levels and the addresses of this test in the place of those of the reader.

use crate::harness::{Finished, Folder, Server, ceiling, root, turn};
use model::shell;
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;

/// Commands that are not ours, and those that another test runs: how they begin, and where.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo install ", "make dist builds it"),
    ("sha256sum ", "make test-dist"),
    ("sudo ", "make test-dist"),
    ("docker ", "make test-dist"),
    ("make demo", "Makefile"),
    ("make test", "Makefile"),
    ("ceiling probe serve", "probe.rs"),
    ("--probe HOST:PORT", "probe.rs"),
    ("ceiling agent", "fleet.rs"),
    ("--fleet nats://HOST", "fleet.rs"),
    ("ceiling fleet up", "fleet.rs"),
    ("--tui", "it needs a terminal; live.rs"),
    ("ceiling ramp URL --confirm", "its experiments take a minute; tests/truth/confirm.rs"),
    ("ceiling ramp --flow", "flows.rs"),
    ("ceiling try", "flows.rs"),
    ("ceiling import", "imports.rs"),
    // These print what the other tool prints; tools.rs.
    ("ceiling wrk", "tools.rs"),
    ("ceiling oha", "tools.rs"),
    ("ceiling hey", "tools.rs"),
    ("ceiling h2load", "tools.rs"),
];

/// A command of README, as it stands there or with `ceiling load URL` before options alone.
struct Line {
    typed: &'static str,
    /// Words of it and what they become.
    swaps: &'static [(&'static str, &'static str)],
    /// Words that make it short.
    more: &'static [&'static str],
    /// The exit codes that it may have: other load on this machine may make the generator the wall
    /// (4).
    codes: &'static [i32],
}

const fn line(typed: &'static str, more: &'static [&'static str]) -> Line {
    Line { typed, swaps: &[], more, codes: &[0, 4] }
}

impl Line {
    const fn with(self, swaps: &'static [(&'static str, &'static str)]) -> Self {
        Self { swaps, ..self }
    }

    const fn codes(self, codes: &'static [i32]) -> Self {
        Self { codes, ..self }
    }
}

const SHORT: &[&str] = &["-d", "300ms", "--warmup", "0", "-c", "2", "-t", "1"];
const RAMP: &[&str] = &["-d", "200ms", "--warmup", "0", "-t", "1", "--repeats", "0"];
const FIND: &[&str] = &["-R", "20..40", "--budget", "3s", "--trial", "500ms", "-t", "1"];

/// All of them. The first ones leave the runs, records and files that later ones read.
const LINES: &[Line] = &[
    line("ceiling load URL -R 420 -c 8 -L", &["-d", "300ms", "--warmup", "0", "-o", "base.json"]),
    line("ceiling http://127.0.0.1:8080/", &["-d", "300ms", "-o", "new.json"]),
    line("ceiling URL", SHORT),
    line(
        "ceiling ramp http://127.0.0.1:40483/read -c '4..512*2' -d 3 --cpus 1",
        &["--warmup", "0", "--repeats", "0"],
    )
    .with(&[("4..512*2", "1..2"), ("3", "200ms"), ("1", "0")]),
    line("ceiling ramp URL -c 50..5k", RAMP).with(&[("50..5k", "1..2")]),
    line("--server-pid PID", SHORT),
    line("--strict", SHORT),
    line("ceiling load URL -R 20k --arrivals poisson", SHORT).with(&[("20k", "200")]),
    line("ceiling find URL --slo 'p99<2ms,errors<0.1%'", FIND).codes(&[0, 1, 3, 4]),
    line("ceiling churn tcp://HOST:PORT --devices 2k --hold 1s±5%", &["-d", "300ms", "-t", "1"])
        .with(&[("2k", "4"), ("1s±5%", "50ms±5%")]),
    line("ceiling find tcp://HOST:PORT --hold 100ms --slo 'connect.p99<5ms'", FIND)
        .codes(&[0, 1, 3, 4]),
    line("ceiling churn tcp://HOST:PORT -c 10k --hold forever", &["-d", "300ms", "-t", "1"])
        .with(&[("10k", "4")]),
    line("ceiling fanout URL -c 500 --streams 4 --writers 2", &["-d", "500ms", "-t", "1"])
        .with(&[("500", "4"), ("URL", "HUB")]),
    line("ceiling load URL --ramp 0:5k/1m", &["-c", "2", "-t", "1"])
        .with(&[("0:5k/1m", "0:200/500ms")]),
    line("--replay rates.csv", &["-c", "2", "-t", "1"]),
    line("ceiling load URL --expect 'p99<5ms,errors<0.1%'", SHORT).codes(&[0, 3, 4]),
    line("ceiling load URL -i mix.jsonl --check-status 200", SHORT).with(&[("URL", "SERVER")]),
    line("ceiling grpc list HOST:PORT", &[]).with(&[("HOST:PORT", "CALLS")]),
    line("ceiling grpc://HOST:PORT/package.Service/Method -b JSON", SHORT)
        .with(&[("grpc://HOST:PORT/package.Service/Method", "CALL"), ("JSON", "{}")]),
    line("ceiling doctor", &["-d", "100ms"]),
    line("ceiling runs", &[]),
    line("ceiling show last", &[]),
    line("ceiling show last -o report.html", &[]),
    line("--live", SHORT),
    line("ceiling show RUN --hosts", &[]),
    line("-o report.html -o run.json", SHORT),
    line("ceiling size RUN --rate 5M", &[]),
    line("ceiling show RUN [RUN..] -o report.html", &[]).with(&[("[RUN..]", "last~1")]),
    line("ceiling run experiments/12-gzip/plan.toml", &["--dry-run"]),
    line("ceiling journal check", &[]),
    line("ceiling compare A B -o difference.html", &[]).with(&[("A", "last~1"), ("B", "last")]),
    line("ceiling compare base.json new.json --fail-if 'rate<-3%'", &[]).codes(&[0, 3]),
    line("ceiling load URL --baseline last --fail-if 'rate<-50%'", SHORT).codes(&[0, 3, 4]),
    line("ceiling audit FILE", &[]).with(&[("FILE", "wrk.txt")]),
    line("ceiling audit --text page.md", &[]).codes(&[0, 3]),
    line("ceiling advise RUN", &[]),
    line("ceiling tune plan", &["--run", "none"]),
    line("ceiling load URL --profile auto", &["-d", "1300ms", "-c", "2", "-t", "1"]),
    line("ceiling load URL --evidence kernel -v", &["-d", "1300ms", "-c", "2", "-t", "1"]),
    line("ceiling load --help", &[]),
];

const PAGES: [&str; 3] = ["README.md", "docs/commands.md", "docs/open-loop.md"];

/// The commands of README and its pages, in code blocks, in tables of questions and in sentences.
fn written() -> BTreeSet<String> {
    let text = PAGES.map(|page| fs::read_to_string(root().join(page)).unwrap()).concat();
    let mut found = BTreeSet::new();
    let mut is_output = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_output = !is_output;
            continue;
        }
        if is_output {
            continue;
        }
        if let Some(command) = line.strip_prefix("    ") {
            found.insert(command.trim().to_string());
            continue;
        }
        let is_question = line.starts_with("| ");
        for span in line.split('`').skip(1).step_by(2) {
            let is_command = span.starts_with("ceiling ");
            if is_command || is_question && span.starts_with('-') && span.len() > 3 {
                found.insert(span.to_string());
            }
        }
    }
    found
}

/// Servers, files and runs that stand for those of a reader.
struct Reader {
    folder: Folder,
    server: Server,
    hub: Server,
    calls: Server,
}

impl Reader {
    fn new() -> Self {
        let debug = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let folder = Folder::new("readme");
        let write = |name: &str, text: &str| fs::write(folder.file(name), text).unwrap();
        write("rates.csv", "t,rate\n0,50\n0.3,100\n");
        write("mix.jsonl", "{\"url\":\"/simple\"}\n{\"url\":\"/read\",\"weight\":2}\n");
        write("page.md", "It serves 1.2M requests/s over 128 connections, p99 of 3 ms.\n");
        let fixture = root().join("bench/fixtures/wrk.txt");
        fs::copy(fixture, folder.file("wrk.txt")).unwrap();
        let calls = Server::start("target-grpc", &[]);
        let hub = Server::start("target-nethttp", &["--hub", "one"]);
        let server = Server::start("target-nethttp", &["--debug-addr", &debug]);
        Self { folder, server, hub, calls }
    }

    /// Runs a line of README, and returns what was typed as well.
    fn runs(&self, line: &Line) -> (Vec<String>, Finished) {
        let is_options = line.typed.starts_with('-');
        let typed =
            if is_options { format!("ceiling load URL {}", line.typed) } else { line.typed.into() };
        let mut words: Vec<String> =
            shell::words(&typed)[1..].iter().flat_map(|word| self.swapped(line, word)).collect();
        words.extend(line.more.iter().map(ToString::to_string));
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = ceiling(&arguments);
        command
            .env("CEILING_RUNS", self.folder.file("runs"))
            .env("CEILING_TUNE_JOURNAL", self.folder.file("tune"));
        // Plans and entries are found from the root of the repository.
        let is_of_tree = ["run", "journal"].contains(&arguments[0]);
        command.current_dir(if is_of_tree { root() } else { self.folder.path.clone() });
        (words, Finished::of(command.output().unwrap()))
    }

    fn swapped(&self, line: &Line, word: &str) -> Vec<String> {
        let swap = line.swaps.iter().find(|(from, _)| *from == word);
        let word = swap.map_or(word, |(_, to)| to);
        let one = |text: String| vec![text];
        match word {
            "URL" | "http://127.0.0.1:8080/" => one(self.server.url("/simple")),
            "http://127.0.0.1:40483/read" => one(self.server.url("/read")),
            "SERVER" => one(self.server.url("")),
            "CALLS" => one(format!("127.0.0.1:{}", self.calls.port)),
            "CALL" => one(format!("grpc://127.0.0.1:{}/shop.Catalog/Read", self.calls.port)),
            "HUB" => one(self.hub.url("")),
            "tcp://HOST:PORT" => one(format!("tcp://127.0.0.1:{}", self.server.port)),
            "PID" => one(self.server.pid.to_string()),
            "RUN" => one("last".to_string()),
            word => word.split(' ').map(String::from).collect(),
        }
    }
}

#[test]
fn every_command_of_the_readme_runs() {
    let _turn = turn();
    let is_elsewhere = |typed: &String| ELSEWHERE.iter().any(|(begin, _)| typed.starts_with(begin));
    let written: BTreeSet<String> =
        written().into_iter().filter(|typed| !is_elsewhere(typed)).collect();
    let known: BTreeSet<String> = LINES.iter().map(|line| line.typed.to_string()).collect();
    assert_eq!(written, known, "{PAGES:?}, and the table of this test");
    let reader = Reader::new();
    for line in LINES {
        let (words, said) = reader.runs(line);
        let shown = format!("{words:?}: {}\n{}\n{}", said.code, said.stdout, said.stderr);
        assert!(line.codes.contains(&said.code), "{shown}");
        assert!(!said.stdout.is_empty(), "{shown}");
    }
}
