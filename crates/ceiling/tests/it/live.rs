//! Watchers: browsers with events, the terminal, and that a run does not wait for them.

use crate::harness::{
    Finished, Folder, PATIENCE, Server, alone, ceiling, run, signal, turn, wait_until,
};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread::{self, JoinHandle};

/// A command that serves a page, and its address.
struct Watched {
    child: Child,
    /// Reads what it writes: a record is larger than what a pipe holds.
    stdout: JoinHandle<Vec<u8>>,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Watched {
    fn start(arguments: &[&str]) -> Self {
        Self::started(ceiling(&[arguments, &["--live"]].concat()), "live at http://")
    }

    fn started(mut command: Command, announces: &str) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut stdout = child.stdout.take().unwrap();
        let stdout = thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let mut line = String::new();
        while !line.contains(announces) {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended without a URL");
        }
        let address = line.split(announces).nth(1).unwrap().split('/').next().unwrap();
        Self { address: address.to_string(), child, stdout, stderr }
    }

    fn ask(&self, head: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// The response for a path, with its head.
    fn get(&self, path: &str) -> String {
        let mut text = String::new();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        self.ask(&head).read_to_string(&mut text).unwrap();
        text
    }

    fn events(&self, last: Option<&str>) -> Events {
        self.events_at("/events", last)
    }

    fn events_at(&self, path: &str, last: Option<&str>) -> Events {
        let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
        let host = &self.address;
        Events(self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{last}\r\n")))
    }

    fn end(mut self) -> Finished {
        let mut stderr = Vec::new();
        self.stderr.read_to_end(&mut stderr).unwrap();
        let (status, stdout) = (self.child.wait().unwrap(), self.stdout.join().unwrap());
        Finished::of(Output { status, stdout, stderr })
    }
}

/// Messages with their ids, in order of arrival.
struct Events(BufReader<TcpStream>);

impl Iterator for Events {
    type Item = (String, Value);

    fn next(&mut self) -> Option<Self::Item> {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(value) = line.strip_prefix("id: ") {
                id = value.trim().to_string();
            } else if let Some(json) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(json).unwrap()));
            }
        }
    }
}

fn is(kind: &str) -> impl Fn(&(String, Value)) -> bool {
    move |(_, message)| message["kind"] == kind
}

#[test]
fn who_comes_again_sees_every_tick_once_and_the_record_at_the_end() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:1ms"]);
    let url = server.url("/");
    let watched = Watched::start(&["load", &url, "-c", "4", "-d", "10s", "-t", "1", "--json"]);
    let page = watched.get("/");
    assert!(page.contains("text/html") && page.contains("script-src 'sha256-"), "{page}");
    assert!(page.contains("<noscript><meta http-equiv=\"refresh\"") && page.contains(&url));

    let always = watched.events(None);
    let mut seen: Vec<(String, Value)> = Vec::new();
    // Reconnects again and again, until the run is over.
    while !seen.iter().any(is("over")) {
        let last = seen.last().map(|(id, _)| id.clone());
        seen.extend(watched.events(last.as_deref()).take(7));
    }
    let record: Value = {
        let file = watched.get("/record.json");
        serde_json::from_str(file.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let report = watched.get("/report.html");
    let all: Vec<_> = always.collect();
    let said = watched.end();
    assert_eq!(record, said.record(), "what is fetched is what is printed");
    assert!(report.contains(record["id"].as_str().unwrap()));

    let ticks = |of: &[(String, Value)]| -> Vec<(String, Value)> {
        of.iter().filter(|message| is("tick")(message)).cloned().collect()
    };
    assert!(ticks(&seen).len() > 5, "{} ticks", ticks(&seen).len());
    assert_eq!(ticks(&seen), ticks(&all));
    assert_eq!(all[0].1["kind"], "begin");
    let stages: Vec<_> = ticks(&all).iter().map(|(_, tick)| tick["stage"].clone()).collect();
    assert!(stages.contains(&"measuring".into()), "{stages:?}");
    assert!(all.iter().any(is("present")), "a verdict before the end");

    let (_, end) = all.iter().find(|message| is("end")(message)).expect("it ended");
    assert_eq!(end["id"], record["id"]);
    // The conclusion is that of the report.
    let sentence = end["conclusion"]["text"].as_str().unwrap();
    assert!(!sentence.is_empty());
    let plain = report.replace("<wbr>", "");
    let html = end["conclusion"]["html"].as_str().unwrap().replace("<wbr>", "");
    let banner = &html[html.find("<div class=\"banner").unwrap()..];
    let banner = &banner[..banner.find("</div>").unwrap()];
    assert!(plain.contains(banner), "{banner}");
}

#[test]
fn only_this_host_is_answered_and_only_what_it_may_ask() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/");
    let watched = Watched::start(&["load", &url, "-c", "1", "-d", "600s", "-q"]);
    let status = |head: &str| {
        let mut line = String::new();
        watched.ask(head).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap_or_default().to_string()
    };
    let host = &watched.address;
    let with = |line: &str, host: &str| status(&format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert_eq!(with("GET /", host), "200");
    assert_eq!(with("GET /", "localhost"), "200");
    assert_eq!(with("GET /", "evil.test"), "421", "DNS rebinding");
    assert_eq!(with("GET /events", "evil.test:80"), "421");
    assert_eq!(with("POST /", host), "405");
    assert_eq!(with("GET /../../etc/passwd", host), "404");
    assert_eq!(with("GET /%2e%2e/etc/passwd", host), "404");
    assert_eq!(with("GET /report.html", host), "404", "before the end");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(9000))), "431");
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "421", "without a Host");
    // The second signal ends it at once, because nothing on the host is changed.
    signal(watched.child.id(), "TERM");
    let said = watched.end();
    assert_eq!(said.code, 130, "{}", said.stderr);
}

#[test]
fn who_never_reads_stops_nothing() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/");
    let watched = Watched::start(&["load", &url, "-c", "2", "-n", "2000", "-t", "1", "--json"]);
    let lazy: Vec<_> = (0..20).map(|_| watched.events(None)).collect();
    let said = watched.end();
    assert_eq!(said.record()["points"][0]["requests"]["sent"], 2000, "{}", said.stderr);
    drop(lazy);
}

#[test]
fn what_cannot_be_shown_is_said_before_any_load() {
    let said = run(&["load", "http://127.0.0.1:9/", "--live=192.0.2.1:1"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("cannot listen there"), "{}", said.stderr);
    assert!(said.stderr.contains("reached from other hosts"), "{}", said.stderr);
    let said = run(&["load", "http://127.0.0.1:9/", "--tui"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("not a terminal"), "{}", said.stderr);
    let said = run(&["load", "http://127.0.0.1:9/", "--live=here"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("an address and a port"), "{}", said.stderr);
}

#[test]
fn the_cells_of_an_experiment_are_shown_one_after_the_other() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("live-run");
    let plan = folder.file("plan.toml");
    let text = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\n\
         server = {{ addr = \"127.0.0.1:{}\" }}\n\
         load = {{ command = \"load\", requests = 2000, connections = 2 }}\n\
         [[cell]]\nname = \"one\"\n[[cell]]\nname = \"two\"\nload = {{ depth = 2 }}\n",
        server.port
    );
    fs::write(&plan, text).unwrap();
    let runs = folder.file("runs");
    // The first cell does not end before the watcher is connected.
    signal(server.pid, "STOP");
    let watched = Watched::start(&["run", &plan, "--trust", "--runs", &runs, "--json"]);
    let mut events = watched.events(None);
    let mut all: Vec<_> = events.next().into_iter().collect();
    signal(server.pid, "CONT");
    all.extend(events);
    let said = watched.end();
    assert_eq!(said.code, 0, "{}", said.stderr);
    let kinds = ["experiment", "visit", "begin", "end", "over"];
    let order: Vec<_> = all
        .iter()
        .map(|(_, message)| message["kind"].as_str().unwrap())
        .filter(|kind| kinds.contains(kind))
        .collect();
    assert_eq!(
        order,
        ["experiment", "visit", "begin", "end", "visit", "begin", "end", "over"],
        "{}",
        said.stderr
    );
    let names: Vec<_> = all.iter().filter(|one| is("visit")(one)).collect();
    assert_eq!(names[1].1["name"], "two");
    let ids: Vec<_> = all.iter().filter(|one| is("end")(one)).map(|one| &one.1["id"]).collect();
    let cells = said.record()["cells"].as_array().unwrap().clone();
    let kept: Vec<_> = cells.iter().map(|cell| &cell["fate"]["measured"]["run"]).collect();
    assert!(kept.iter().zip(&ids).all(|(kept, id)| kept == id || kept.is_null()), "{cells:?}");
}

#[test]
fn a_journal_is_served_drawn_anew_and_shows_the_run_under_way() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("live-journal");
    let journal = folder.file("journal");
    let said = run(&["journal", "new", "one", "--title", "A first title", "--journal", &journal]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let command = ceiling(&["journal", "serve", "--journal", &journal]);
    let served = Watched::started(command, "journal at http://");
    let index = served.get("/");
    assert!(index.contains("A first title") && index.contains("text/html"), "{index}");
    assert!(served.get("/entries/one.html").contains("200 OK"));
    assert!(served.get("/one/entry.toml").contains("404"), "only what the site has");
    assert!(served.get("/_live/").contains("no run is under way"));

    let entry = format!("{journal}/one/entry.toml");
    let text = fs::read_to_string(&entry).unwrap();
    fs::write(&entry, text.replace("A first title", "A second title")).unwrap();
    wait_until("the new title", || served.get("/").contains("A second title"));
    fs::write(&entry, "not = [").unwrap();
    assert!(served.get("/").contains("A second title"), "what cannot be read changes nothing");

    let mut load = ceiling(&["load", &server.url("/"), "-c", "2", "-n", "500", "-q"]);
    load.env("CEILING_LIVE", format!("{journal}/.live"));
    assert!(load.output().unwrap().status.code().is_some());
    let kinds: Vec<_> = {
        let events = served.events_at("/_live/events", None);
        let mut kinds = Vec::new();
        for (_, message) in events {
            kinds.push(message["kind"].as_str().unwrap().to_string());
            if kinds.last().is_some_and(|kind| kind == "end") {
                break;
            }
        }
        kinds
    };
    assert_eq!(kinds.first().map(String::as_str), Some("begin"), "{kinds:?}");
    signal(served.child.id(), "TERM");
    let said = served.end();
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(!std::path::Path::new(&format!("{journal}/.live")).exists());
}

/// A command that runs a shell script in its own terminal, and records what is written to it.
fn in_a_terminal(folder: &Folder, script: &str) -> Command {
    let path = folder.file("script.sh");
    fs::write(&path, script).unwrap();
    let mut command = alone(Command::new("script"));
    command.args(["-qfec", &format!("sh {path}"), &folder.file("typed")]);
    command.env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
fn the_terminal_is_drawn_on_and_given_back() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("live-terminal");
    let (before, after, record) = (folder.file("before"), folder.file("after"), folder.file("r"));
    let program = env!("CARGO_BIN_EXE_ceiling");
    let script = format!(
        "stty -g > {before}\n{program} load {} -c 2 -d 2s -t 1 --tui --json > {record}\n\
         stty -g > {after}\n",
        server.url("/")
    );
    let output = in_a_terminal(&folder, &script).output().unwrap();
    let drawn = String::from_utf8_lossy(&output.stdout).into_owned();
    let (taken, given) = (drawn.find("\x1b[?1049h"), drawn.rfind("\x1b[?1049l"));
    assert!(taken.is_some() && given > taken, "{drawn:?}");
    assert!(drawn[taken.unwrap()..given.unwrap()].contains("measuring"), "{drawn:?}");
    let read = |path: &String| fs::read_to_string(path).unwrap();
    assert_eq!(read(&before), read(&after));
    let record: Value = serde_json::from_str(&read(&record)).expect("stdout is the record alone");
    assert_eq!(record["outcome"], "complete");
}

#[test]
fn the_terminal_is_given_back_by_a_run_that_is_ended_at_once() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("live-ended");
    let [before, after, pid] = ["before", "after", "pid"].map(|name| folder.file(name));
    let program = env!("CARGO_BIN_EXE_ceiling");
    let script = format!(
        "stty -g > {before}\n{program} load {} -c 2 -d 600s -t 1 --tui &\n\
         echo $! > {pid}\nwait\nstty -g > {after}\n",
        server.url("/")
    );
    let mut child = in_a_terminal(&folder, &script).spawn().unwrap();
    let typed = folder.file("typed");
    wait_until("a drawing", || {
        fs::read(&typed).is_ok_and(|text| String::from_utf8_lossy(&text).contains("measuring"))
    });
    let pid = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    signal(pid, "TERM");
    // It may have ended in order meanwhile.
    let _ = Command::new("kill").args(["-TERM", &pid.to_string()]).status();
    child.wait().unwrap();
    let drawn = String::from_utf8_lossy(&fs::read(&typed).unwrap()).into_owned();
    assert!(drawn.rfind("\x1b[?1049l") > drawn.rfind("\x1b[?1049h"), "{drawn:?}");
    let read = |path: &String| fs::read_to_string(path).unwrap();
    assert_eq!(read(&before), read(&after));
}
