//! Other load generators: run in the place of our engine, and their command lines accepted by us.

use crate::harness::{Finished, Server, ceiling, run, targets_file, turn};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// wrk and h2load are packages that `make test-programs` installs.
fn needs(tool: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(tool).exists());
    assert!(is_there, "{tool} is missing: run make test-programs");
}

#[test]
fn a_cell_with_a_tool_has_what_the_tool_says_and_what_the_probes_read() {
    let _turn = turn();
    needs("wrk");
    needs("h2load");
    let folder = std::env::temp_dir().join(format!("ceiling-tools-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let plan = folder.join("plan.toml");
    let text = "schema = \"ceiling.plan/1\"\nquestion = \"Which?\"\n\
                server = { target = \"sink\", args = [\"--threads\", \"1\"] }\n\
                load = { path = \"/simple\", connections = 2, threads = 1 }\n\
                cell = [\n  { name = \"counted\", load = { tool = \"h2load\", requests = 500 } },\n\
                \x20 { name = \"timed\", load = { tool = \"wrk\", duration = \"3s\" } },\n]\n";
    fs::write(&plan, text).unwrap();
    let runs = folder.join("runs").display().to_string();
    let servers = targets_file();
    let plan = plan.display().to_string();
    let said = run(&["run", &plan, "--servers", &servers, "--runs", &runs, "--json", "-q"]);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    let experiment = said.record();
    let kept = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let record = |nth: usize| -> Value {
        let id = experiment["cells"][nth]["fate"]["run"].as_str().unwrap();
        let text = fs::read(kept.join("runs").join(id).join("run.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let counted = record(0);
    assert_eq!(counted["tool"]["generator"], "h2load");
    assert_eq!(counted["points"], Value::Array(vec![]), "a tool tells no point");
    assert_eq!(counted["tool"]["account"]["foreign"]["good"]["value"], 500.0);
    assert_eq!(counted["tool"]["account"]["foreign"]["dropped"], Value::Null, "it does not say");
    assert_eq!(experiment["cells"][0]["stopped"]["requests_served"], 500);
    let timed = record(1);
    let served = experiment["cells"][1]["stopped"]["requests_served"].as_f64().unwrap();
    let told = timed["tool"]["account"]["foreign"]["requests"]["value"].as_f64().unwrap();
    assert!(told > 0.0 && told <= served, "{told} of {served}");
    assert!(timed["tool"]["cpu"]["client_us_per_request"].as_f64().unwrap() > 0.0);
    let gate = |id: &str| {
        let gates = timed["tool"]["gates"].as_array().unwrap();
        gates.iter().find(|gate| gate["id"] == id).unwrap()["ok"].clone()
    };
    assert_eq!((gate("release"), gate("conservation")), (Value::Null, Value::Bool(true)));
    let id = experiment["cells"][1]["fate"]["run"].as_str().unwrap();
    let shown = run(&["show", &kept.join("runs").join(id).display().to_string(), "-v"]);
    // Whatever the audit says of the figures; on a busy host some may be impossible.
    assert!(shown.stdout.contains("What the tool reported\n  wrk: "), "{}", shown.stdout);
    assert!(shown.stdout.contains("undecided"), "{}", shown.stdout);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_tool_that_is_not_there_or_cannot_do_it_is_an_error_with_a_way_out() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/simple");
    let mut absent = ceiling(&["load", &url, "--tool", "oha", "-c", "1", "-d", "1s"]);
    let said = Finished::of(absent.env("PATH", "/no/such/folder").output().unwrap());
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("oha is not in the PATH"), "{}", said.stderr);
    assert!(said.stderr.contains("cargo install oha"), "{}", said.stderr);
    for (words, why) in [
        (&["--tool", "wrk", "-R", "100"][..], "use wrk2"),
        (&["--tool", "k6", "-p", "4"], "one request in flight"),
        (&["--tool", "hey", "--warmup", "1s"], "leave --warmup out"),
        (&["--tool", "ab"], "wrk, wrk2, oha"),
    ] {
        let said = run(&[&["load", &url][..], words].concat());
        assert_eq!(said.code, 2, "{words:?}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{words:?}: {}", said.stderr);
    }
}

#[test]
fn a_front_end_prints_the_layout_of_its_tool_and_what_that_hides() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/simple");
    let lines = [
        ("wrk", vec!["-t1", "-c2", "-d1s", "--latency"], "  1 threads and 2 connections"),
        ("wrk2", vec!["-t1", "-c2", "-d1s", "-R100", "-L"], "(HdrHistogram - Recorded Latency)"),
        ("oha", vec!["-n", "100", "-c", "2"], "  [200] 100 responses"),
        ("hey", vec!["-n", "100", "-c", "2"], "  [200]\t100 responses"),
        ("h2load", vec!["--h1", "-n", "100", "-c", "2"], "100 succeeded, 0 failed"),
    ];
    for (tool, words, line) in lines {
        let said = run(&[&[tool][..], &words, &[&url]].concat());
        assert!(said.stdout.contains(line), "{tool}: {}{}", said.stdout, said.stderr);
        let (layout, hidden) = said.stdout.split_once("\nWhat ").unwrap();
        assert!(hidden.starts_with(&format!("{tool} would not have reported:\n")), "{hidden}");
        for row in ["  loop ", "  generator ", "  checks ", "  wall ", "  same again "] {
            assert!(hidden.contains(row), "{tool}: {hidden}");
        }
        let audited = audit(layout);
        assert!(audited.code != 2, "{tool}: {}\n{layout}", audited.stderr);
        let read = audited.record();
        assert_eq!(read["accounts"][0]["foreign"]["tool"], tool, "{layout}");
        let good = &read["accounts"][0]["foreign"]["good"]["value"];
        assert!(good.as_f64().is_some_and(|good| good > 0.0), "{tool}: {good}\n{layout}");
        let whole = audit(&said.stdout).record()["accounts"][0]["foreign"].clone();
        let since = if tool == "wrk2" { "plan" } else { "send" };
        assert_eq!(whole["latencies"][0]["since"], since, "{tool}: {}", said.stdout);
    }
    let said = run(&["wrk", "--pipeline", "4", &url]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("--pipeline: ceiling wrk has no such option"), "{}", said.stderr);
}

/// Audits a layout, which the audit must recognise.
fn audit(text: &str) -> Finished {
    let mut command = ceiling(&["audit", "-", "--json"]);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Finished::of(child.wait_with_output().unwrap())
}
