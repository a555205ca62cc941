//! Plans of the repository, and what becomes of cells whose servers fail.

use crate::harness::{Server, ceiling, root, run, targets_file, turn};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("ceiling-run-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn plan(&self, text: &str) -> String {
        let path = self.0.join("plan.toml");
        let head = "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\n";
        fs::write(&path, format!("{head}{text}")).unwrap();
        path.display().to_string()
    }

    fn runs(&self) -> String {
        self.0.join("runs").display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn all_plans() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("experiments")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|suffix| suffix == "toml")).collect()
}

#[test]
fn a_plan_that_starts_nothing_needs_no_list_of_servers() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("addr-only");
    let load = "load = { command = \"load\", requests = 200, connections = 2 }";
    let plan = folder.plan(&format!("server = {{ addr = \"127.0.0.1:{}\" }}\n{load}", server.port));
    let runs = folder.runs();
    let said = run(&["run", &plan, "--trust", "--runs", &runs]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let named = folder.plan(&format!("server = {{ target = \"sink\" }}\n{load}"));
    let said = run(&["run", &named, "--runs", &runs]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("there is no targets/targets.toml above"), "{}", said.stderr);
    assert!(said.stderr.contains("--servers"), "{}", said.stderr);
}

#[test]
fn every_plan_of_the_repository_is_sound() {
    let plans = all_plans();
    assert!(plans.len() >= 43, "{} plans", plans.len());
    for plan in plans {
        let output = ceiling(&["run", "--dry-run"]).arg(&plan).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", plan.display());
        let readme = fs::read_to_string(plan.with_file_name("README.md")).unwrap();
        let name = plan.file_name().unwrap().to_string_lossy().into_owned();
        assert!(readme.contains(&name), "{} is not in its README", plan.display());
    }
}

#[test]
fn an_experiment_leaves_its_table_its_page_and_its_runs() {
    let _turn = turn();
    let folder = Folder::new("whole");
    let plan = folder.plan(
        "server = { target = \"sink\" }\n\
         load = { command = \"load\", path = \"/simple\", requests = 2000 }\n\
         vary = [{ key = \"load.depth\", values = [1, 4] }]\n",
    );
    let page = folder.0.join("out.html");
    let arguments =
        ["run", &plan, "--servers", &targets_file(), "--runs", &folder.runs(), "--json"];
    let output = ceiling(&arguments).arg("-o").arg(&page).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).expect(&told);
    assert_eq!(document["schema"], "ceiling.experiment/1");
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    let kept = PathBuf::from(folder.runs()).join(document["id"].as_str().unwrap());
    for (cell, depth) in cells.iter().zip([1, 4]) {
        assert_eq!(cell["fate"]["fate"], "measured", "{cell}");
        let run = kept.join("runs").join(cell["fate"]["run"].as_str().unwrap());
        let record: Value =
            serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
        let point = &record["points"][0];
        assert_eq!(point["load"]["depth"], depth);
        // The server's own account agrees: nothing else talked to it but greeting and warm-up.
        let served = cell["stopped"]["requests_served"].as_u64().unwrap();
        assert!(served >= point["requests"]["completed"].as_u64().unwrap(), "{cell}");
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("depth 4") && html == fs::read_to_string(kept.join("report.html")).unwrap()
    );
    assert!(kept.join("plan.toml").exists());
    let text = fs::read(kept.join("experiment.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), document);
}

#[test]
fn a_server_that_is_killed_leaves_no_number() {
    let _turn = turn();
    let folder = Folder::new("killed");
    let plan = folder.plan(
        "server = { target = \"sink\" }\n\
         load = { command = \"load\", path = \"/simple\", duration = \"30s\", timeout = \"1s\" }\n",
    );
    let arguments =
        ["run", &plan, "--servers", &targets_file(), "--runs", &folder.runs(), "--json"];
    let child = ceiling(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let sink = loop {
        // The server, once it is measured.
        let children = below(child.id());
        let measuring = children.iter().any(|pid| words(*pid).contains("--server-pid"));
        match children.iter().find(|pid| words(**pid).contains("target-sink")) {
            Some(sink) if measuring => break *sink,
            _ => std::thread::yield_now(),
        }
    };
    assert!(Command::new("kill").args(["-KILL", &sink.to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fate = &document["cells"][0]["fate"];
    assert_eq!(fate["fate"], "failed", "{fate}");
    assert!(fate["why"].as_str().unwrap().contains("SIGKILL"), "{fate}");
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn nothing_that_was_started_outlives_a_ceiling_that_is_killed() {
    let _turn = turn();
    let folder = Folder::new("orphans");
    let plan = folder.plan(
        "server = { target = \"nethttp-prefork\", args = [\"--workers\", \"2\"] }\n\
         client.neighbours = \"0\"\n\
         load = { command = \"load\", path = \"/simple\", duration = \"30s\" }\n",
    );
    let arguments = ["run", &plan, "--servers", &targets_file(), "--runs", &folder.runs()];
    let mut child =
        ceiling(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Server, neighbour, what keeps them, and the process that measures.
    let children = loop {
        let children = below(child.id());
        if children.iter().any(|pid| words(*pid).contains("--server-pid")) {
            break children;
        }
        std::thread::yield_now();
    };
    let count = |word: &str| children.iter().filter(|pid| words(**pid).contains(word)).count();
    let all: Vec<_> = children.iter().map(|pid| words(*pid)).collect();
    assert!(count("target-nethttp") >= 3, "two workers and what started them: {all:?}");
    assert_eq!((count("do :; done"), count(" keep")), (1, 2), "{all:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let is_over = |pid: &u32| words(*pid).is_empty();
    let begin = Instant::now();
    while !children.iter().all(is_over) {
        let left: Vec<_> = children.iter().map(|pid| words(*pid)).collect();
        assert!(begin.elapsed() < Duration::from_secs(20), "{left:?}");
        std::thread::yield_now();
    }
}

#[test]
fn an_interrupt_ends_the_cell_under_way_and_then_the_experiment() {
    let _turn = turn();
    let folder = Folder::new("interrupted");
    let plan = folder.plan(
        "server = { target = \"sink\" }\n\
         load = { command = \"load\", path = \"/simple\", duration = \"30s\" }\n\
         vary = [{ key = \"load.depth\", values = [1, 4] }]\n",
    );
    let arguments =
        ["run", &plan, "--servers", &targets_file(), "--runs", &folder.runs(), "--json"];
    let child = ceiling(&arguments)
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // A key on the terminal reaches the whole group; servers are in groups of their own.
    let points = || {
        let experiments = fs::read_dir(folder.runs()).into_iter().flatten();
        let runs =
            experiments.filter_map(|entry| fs::read_dir(entry.ok()?.path().join("runs")).ok());
        runs.flatten().flatten().any(|run| {
            fs::metadata(run.path().join("readings.ndjson")).is_ok_and(|file| file.len() > 0)
        })
    };
    while !points() {
        std::thread::yield_now();
    }
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (first, last) = (&document["cells"][0], &document["cells"][1]);
    assert!(first["fate"]["why"].as_str().unwrap().starts_with("interrupted"), "{first}");
    assert_eq!(first["stopped"]["event"], "stopped", "the server ended in order: {first}");
    assert_eq!(last["fate"]["fate"], "not-reached");
}

#[test]
fn a_wrong_plan_starts_nothing() {
    let folder = Folder::new("wrong");
    for (text, said) in [
        ("server.target = \"nothing\"", "accepted are nethttp"),
        ("server.target = \"sink\"\nload.connection = 4", "--connection; did you mean"),
        ("server.target = \"sink\"\nload.duration = \"4 parsecs\"", "4 parsecs"),
    ] {
        let plan = folder.plan(text);
        let output = ceiling(&["run", &plan, "--servers", &targets_file()]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(said) && told.lines().count() == 1, "{told}");
    }
    assert!(!Path::new(&folder.runs()).exists());
}

#[test]
fn a_plan_that_is_more_than_load_needs_trust() {
    let folder = Folder::new("trust");
    let sink = "server.target = \"sink\"\n";
    for (text, key) in [
        (
            &format!("{sink}server.env = {{ LD_PRELOAD = \"/tmp/x.so\" }}")[..],
            "server.env.LD_PRELOAD",
        ),
        ("server.addr = \"192.0.2.7:80\"", "server.addr"),
        (&format!("{sink}load.proxy = \"http://127.0.0.1:9\""), "load.proxy"),
        (&format!("{sink}load.body-file = \"/etc/hostname\""), "load.body-file"),
        (&format!("{sink}load.connect-to = \"a:1:127.0.0.1:9\""), "load.connect-to"),
        (&format!("{sink}load.unix-socket = \"/run/x.sock\""), "load.unix-socket"),
        (&format!("{sink}load.confirm = true"), "load.confirm"),
        (
            &format!("{sink}load.header = \"A: {{{{csv:/etc/passwd:x}}}}\""),
            "load.header with {{csv:FILE}}",
        ),
    ] {
        let plan = folder.plan(text);
        let output = ceiling(&["run", &plan, "--servers", &targets_file()]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(key) && told.contains("--trust"), "{key}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        let words = ["run", &plan, "--servers", &targets_file(), "--trust", "--dry-run"];
        let trusted = ceiling(&words).output().unwrap();
        assert_eq!(trusted.status.code(), Some(0), "{}", String::from_utf8_lossy(&trusted.stderr));
    }
    for url in ["http://evil.test/?://{addr}", "http://{addr}.evil.test/", "http://x@{addr}/"] {
        let plan = folder.plan(&format!("{sink}load.url = \"{url}\""));
        let output = ceiling(&["run", &plan, "--servers", &targets_file(), "--trust"]).output();
        let told = String::from_utf8_lossy(&output.unwrap().stderr).into_owned();
        assert!(told.contains("begins with a scheme and {addr}"), "{told}");
    }
    assert!(!Path::new(&folder.runs()).exists());
}

/// What a process has started, by way of others too.
fn below(pid: u32) -> Vec<u32> {
    let below = host::tree::descendants(&host::Root::default(), pid);
    below.into_iter().map(|(pid, _)| pid).collect()
}

fn words(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
