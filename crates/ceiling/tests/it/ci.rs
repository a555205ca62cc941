//! Output for continuous integration: JUnit XML, summaries, annotations and exit codes, without
//! secrets. The scripts of `docs/ci.md` are run as they are written there.

use crate::harness::{
    Finished, Folder, Server, alone, ceiling, program, root, run, turn, wait_until,
};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

const FEW: [&str; 4] = ["-n", "2000", "-c", "4"];
/// A server that is slower than the generator, which has nothing to do for most of the time.
const SLOW: [&str; 4] = ["--threads", "1", "--delay", "fixed:1ms"];

/// A load with both files; returns the output, the XML and the Markdown.
fn reported(folder: &Folder, url: &str, more: &[&str]) -> (Finished, String, String) {
    let (xml, summary) = (folder.file("junit.xml"), folder.file("summary.md"));
    let _ = fs::remove_file(&summary);
    let files = ["load", url, "--junit", &xml, "--summary", &summary];
    let mut command = ceiling(&[&files[..], &FEW, more].concat());
    let said = Finished::of(command.env("GITHUB_ACTIONS", "true").output().unwrap());
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    (said, read(&xml), read(&summary))
}

#[test]
fn a_file_says_what_the_exit_code_says() {
    let _turn = turn();
    let folder = Folder::new("ci");
    let server = Server::start("target-sink", &SLOW);
    let url = server.url("/read");
    let mut held = reported(&folder, &url, &["--expect", "p50<5s,errors<=0%"]);
    wait_until("a run whose wall is not the generator", || {
        let is_late = held.0.code == 4;
        if is_late {
            held = reported(&folder, &url, &["--expect", "p50<5s,errors<=0%"]);
        }
        !is_late
    });
    let (said, xml, summary) = held;
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(xml.contains("tests=\"3\" failures=\"0\" errors=\"0\""), "{xml}");
    assert!(xml.contains("name=\"p50&lt;5s\"") && xml.contains("to spare"), "{xml}");
    assert!(summary.contains(": passed") && summary.contains("| p50&lt;5s | met |"), "{summary}");
    assert!(!said.stderr.contains("::"), "{}", said.stderr);

    let (said, xml, summary) = reported(&folder, &url, &["--expect", "p50<1ns,p99_99<5s"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(xml.contains("failures=\"2\" errors=\"0\""), "{xml}");
    assert!(xml.contains("missed: measured") && xml.contains("undecided: too few"), "{xml}");
    assert!(summary.contains("MISSED") && summary.contains("UNDECIDED"), "{summary}");
    let notes: Vec<_> = said.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(notes.len(), 2, "{}", said.stderr);
    assert!(notes[0].starts_with("::error title=ceiling%3A p50<1ns::missed"), "{}", notes[0]);
    assert!(said.stderr.contains("times the bound"), "the margin: {}", said.stderr);

    drop(server);
    let (said, xml, summary) = reported(&folder, &url, &[]);
    assert_eq!(said.code, 5);
    assert!(xml.contains("errors=\"1\"") && xml.contains("Connection refused"), "{xml}");
    assert!(summary.contains("Connection refused"), "{summary}");
    assert!(said.stderr.contains("::error title=ceiling%3A the measurement::"), "{}", said.stderr);
}

#[test]
fn a_summary_is_appended_and_what_cannot_be_written_is_refused_before_any_load() {
    let _turn = turn();
    let folder = Folder::new("ci-append");
    let server = Server::start("target-sink", &SLOW);
    let (url, file) = (server.url("/read"), folder.file("summary.md"));
    fs::write(&file, "# before\n").unwrap();
    run(&[&["load", &url, "--summary", &file][..], &FEW].concat());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# before\n### ceiling load "), "{text}");
    for option in ["--junit", "--summary"] {
        let said = run(&["load", &url, option, "/nonexistent/x"]);
        assert_eq!(said.code, 2, "{}", said.stderr);
        assert!(said.stderr.contains(&format!("{option} /nonexistent/x")), "{}", said.stderr);
    }
}

/// `ceiling show` of a stored run writes the same document as its load.
#[test]
fn a_stored_run_is_written_for_a_ci_as_well() {
    let _turn = turn();
    let folder = Folder::new("ci-show");
    let server = Server::start("target-sink", &SLOW);
    let (runs, then) = (folder.file("runs"), folder.file("then.xml"));
    let kept = ["--runs", &runs, "--junit", &then, "--expect", "p50<1ns"];
    let said = run(&[&["load", &server.url("/read")][..], &FEW, &kept].concat());
    assert_eq!(said.code, 3, "{}", said.stderr);
    let (now, summary) = (folder.file("now.xml"), folder.file("summary.md"));
    let said = run(&["show", "last", "--runs", &runs, "--junit", &now, "--summary", &summary]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(fs::read_to_string(&now).unwrap(), fs::read_to_string(&then).unwrap());
    assert!(fs::read_to_string(summary).unwrap().contains("MISSED"));
    let said = run(&["show", "last", "last", "--runs", &runs, "--junit", &now]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("--junit: this is for one run only"), "{}", said.stderr);
}

#[test]
fn cells_of_an_experiment_are_cases() {
    let _turn = turn();
    let folder = Folder::new("ci-cells");
    let server = Server::start("target-sink", &SLOW);
    let plan = folder.file("plan.toml");
    let text = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\nserver = {{ addr = \
         \"127.0.0.1:{}\" }}\nload = {{ command = \"load\", requests = 200, connections = 2 }}\n\
         vary = [{{ key = \"load.depth\", values = [1, 2] }}]\n",
        server.port
    );
    fs::write(&plan, text).unwrap();
    let (xml, runs) = (folder.file("junit.xml"), folder.file("runs"));
    let said = run(&["run", &plan, "--trust", "--runs", &runs, "--junit", &xml]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let xml = fs::read_to_string(xml).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"0\" errors=\"0\""), "{xml}");
    assert!(xml.contains("classname=\"ceiling.run\" name=\"depth 2\""), "{xml}");
}

/// A server that responds to everything until the tests end; its URL, and what was sent to it.
fn listener() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(String::new()));
    let all = heard.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (all, mut stream) = (all.clone(), stream.unwrap());
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut bytes) {
                    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
                    *all.lock().unwrap() += &text;
                    let responses = text.matches("\r\n\r\n").count();
                    let response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                    let _ = stream.write_all(response.repeat(responses).as_bytes());
                }
            });
        }
    });
    (url, heard)
}

#[test]
fn a_token_is_sent_and_never_kept() {
    let _turn = turn();
    let folder = Folder::new("ci-auth");
    let token = folder.file("token");
    fs::write(&token, "QZXfile2\n").unwrap();
    let cases: [(&[&str], &str, &str); 3] = [
        (&["--auth-env", "MY_TOKEN"], "QZXword1", "Authorization: Bearer QZXword1"),
        (&["--auth-env=MY_TOKEN"], "Basic QZXbasic3", "Authorization: Basic QZXbasic3"),
        (&["--bearer-file", &token], "unused", "Authorization: Bearer QZXfile2"),
    ];
    for (options, value, header) in cases {
        let (url, heard) = listener();
        let runs = folder.file("runs");
        let load = ["load", &url, "-n", "1", "-c", "1", "-t", "1", "-T", "2s", "--warmup", "0"];
        let kept = ["--runs", &runs, "--json", "--junit", &folder.file("j.xml")];
        let mut command = ceiling(&[&load[..], &kept, options].concat());
        let said = Finished::of(command.env("MY_TOKEN", value).output().unwrap());
        assert!(heard.lock().unwrap().contains(header), "{header}: {}", said.stderr);
        assert!(!said.stdout.contains("QZX") && !said.stderr.contains("QZX"), "{}", said.stdout);
        let words = said.record()["command"].to_string();
        let is_named = words.contains("MY_TOKEN") || words.contains("--bearer-file");
        assert!(is_named && !words.contains("***"), "it can be typed again: {words}");
        let grep = Command::new("grep").args(["-r", "QZX", &runs]).output().unwrap();
        assert!(grep.stdout.is_empty(), "{}", String::from_utf8_lossy(&grep.stdout));
    }
    let url = "http://127.0.0.1:1/";
    for (options, word) in [
        (&["--auth-env", "NOT_SET_ANYWHERE"][..], "is not set"),
        (&["--bearer-file", "/nonexistent/t"], "/nonexistent/t"),
        (&["--auth-env", "a b"], "API_TOKEN"),
        (&["--auth-env", "HOME", "--bearer-file", &token], "--bearer-file"),
        (&["--auth-env", "HOME", "-H", "authorization: x"], "leave it out"),
    ] {
        let said = run(&[&["load", url][..], options].concat());
        assert_eq!(said.code, 2, "{options:?}: {}", said.stderr);
        assert!(said.stderr.contains(word), "{options:?}: {}", said.stderr);
    }
}

/// The scripts in a block of YAML, in order: the lines below `run: |` or `- |`.
fn scripts(yaml: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = yaml.lines().collect();
    let begins = |line: &str| ["run: |", "- |"].contains(&line.trim());
    let body = |at: usize| {
        let lines = lines[at + 1..].iter().take_while(|line| indent(line) > indent(lines[at]));
        lines.map(|line| format!("{}\n", line.trim_start())).collect()
    };
    (0..lines.len()).filter(|at| begins(lines[*at])).map(body).collect()
}

#[test]
fn the_scripts_of_the_documentation_run() {
    let _turn = turn();
    let text = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let blocks: Vec<&str> =
        text.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2, "one for GitHub, one for GitLab");
    for block in blocks {
        let scripts = scripts(block);
        assert_eq!(scripts.len(), 2, "{scripts:?}");
        let folder = Folder::new("ci-docs");
        symlink(program("target-sink"), folder.path.join("server")).unwrap();
        symlink(env!("CARGO_BIN_EXE_ceiling"), folder.path.join("ceiling")).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = scripts.concat().replace("8083", &free.to_string());
        let script = format!("trap 'kill $(jobs -p)' EXIT\n{script}");
        let path = format!("{}:/usr/bin:/bin", folder.path.display());
        let mut shell = alone(Command::new("bash"));
        shell.args(["-e", "-c", &script]).current_dir(&folder.path).env("PATH", path);
        let summary = folder.file("ceiling.md");
        shell.env("GITHUB_STEP_SUMMARY", &summary).env("API_TOKEN", "QZXdocs");
        let said = Finished::of(shell.output().unwrap());
        // A loaded machine misses the bounds, or measures nothing of the server.
        assert!([0, 3, 4].contains(&said.code), "{}{}", said.stdout, said.stderr);
        for file in ["ceiling.xml", "ceiling.html", "ceiling.json", "ceiling.md"] {
            let text = fs::read_to_string(folder.file(file)).unwrap();
            assert!(text.contains("/read") && !text.contains("QZX"), "{file}");
        }
        let xml = fs::read_to_string(folder.file("ceiling.xml")).unwrap();
        assert!(xml.contains("name=\"errors&lt;0.1%\""), "{xml}");
    }
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let _turn = turn();
    let page = fs::read_to_string(root().join("docs/reference/cli.md")).unwrap();
    let (_, table) = page.split_once("## Exit codes").unwrap();
    let null = ["load", "http://null/", "--driver", "null", "-n", "200", "-t", "1", "-c", "1"];
    let server = Server::start("target-sink", &SLOW);
    let (url, missing) = (server.url("/"), "/nonexistent/folder/x.json");
    assert!(!Path::new(missing).exists());
    let cases: [(u8, &[&str]); 5] = [
        (0, &["runs", "--runs", "/nonexistent/runs"]),
        (2, &["load", "nonsense"]),
        (2, &[&null[..], &["-o", missing]].concat()),
        (3, &["load", &url, "-n", "200", "-c", "1", "--expect", "p50<1ns"]),
        (5, &["load", "http://127.0.0.1:1/"]),
    ];
    for (code, words) in cases {
        let said = run(words);
        assert_eq!(said.code, i32::from(code), "{words:?} {}", said.stderr);
        assert!(table.contains(&format!("| {code} | ")), "{code}");
    }
}
