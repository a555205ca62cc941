//! Plans of the repository, and cells whose servers fail.

use crate::harness::probing::Probe;
use crate::harness::{Server, ceiling, program, root, run, targets_file, turn, wait_until};
use model::starting::StartOrder;
use model::tuning::{Left, Step, TuneOrder};
use remote::{FarServer, Orders};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
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
    assert!(plans.len() >= 53, "{} plans", plans.len());
    for plan in plans {
        let text = fs::read_to_string(&plan).unwrap();
        let mut command = ceiling(&["run", "--dry-run"]);
        command.arg(&plan).current_dir(root());
        if text.contains("[hosts.server]") {
            // On a host that is not this one: this one may have fewer CPUs, and no other tools.
            command.args(["--set", "hosts.server.here=false"]);
        }
        let trusted = command.output().unwrap();
        let shown = String::from_utf8_lossy(&trusted.stdout).into_owned();
        let output = command.arg("--trust").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", plan.display());
        let readme = fs::read_to_string(plan.with_file_name("README.md")).unwrap();
        let name = plan.file_name().unwrap().to_string_lossy().into_owned();
        assert!(readme.contains(&name), "{} is not in its README", plan.display());
        // A list of servers that allows less than a plan asks for fails its cells on another host.
        for key in ["server.args", "server.env"] {
            assert!(!shown.contains(&format!("needs --trust: {key}")), "{name}: {shown}");
        }
        let is_trusted = |line: &str| line.contains(&name) && line.contains("--trust");
        let needs = shown.contains("\nneeds --trust: ");
        assert!(!needs || readme.lines().any(is_trusted), "{}: {shown}", plan.display());
    }
}

/// A rehearsal and the run ask the same questions before anything is started.
#[test]
fn a_rehearsal_refuses_what_the_run_refuses() {
    let folder = Folder::new("rehearsed");
    let sink = "server = { target = \"sink\" }\n[load]\ncommand = \"load\"\n";
    for (load, said) in [
        ("threads = 1024", "threads that share a CPU"),
        ("cpus = \"1023\"", "may not use CPU 1023"),
        ("link = \"50G\"", "which is not a link"),
        ("duration = \"2s\"\ntool = \"wrk\"\nconnections = 4", "wrk is not in the PATH"),
        ("source = \"192.0.2.9\"", "addresses of this host"),
        ("[tune]\nonly = [\"rps\"]\ndevice = \"nosuch0\"", "nosuch0"),
        ("[tune]\nonly = [\"rps\"]\ncpus = \"0/1023\"", "1023"),
    ] {
        let plan = folder.plan(&format!("{sink}{load}\n"));
        let refused = |more: &[&str]| {
            let words = ["run", &plan, "--servers", &targets_file(), "--runs", &folder.runs()];
            let mut command = ceiling(&words);
            command.arg("--allow-tune");
            let output = command.args(more).env("PATH", "/no/such/folder").output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{load}: {told}");
            told
        };
        let (run, rehearsed) = (refused(&[]), refused(&["--dry-run"]));
        assert_eq!(run, rehearsed);
        assert!(run.contains("cell 'all'") && run.contains(said), "{load}: {run}");
        assert_eq!(run.lines().count(), 1, "{run}");
    }
    assert!(!Path::new(&folder.runs()).exists());
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
        // The server's own count agrees: the only other requests were preflight and warm-up.
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
        // The server, after its measurement has started.
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

/// The keeper of a server is killed, as by a kernel without memory, and the server has started a
/// process in a session of its own.
#[test]
fn a_keeper_that_is_killed_leaves_nothing_and_is_named() {
    let _turn = turn();
    let folder = Folder::new("keeper");
    let left = format!("sleep 86317.{}", std::process::id());
    let sink = program("target-sink");
    let list = folder.0.join("list.toml");
    let run =
        format!("(setsid {left} & ); exec {} --addr {{addr}} --port {{port}}", sink.display());
    let text = format!(
        "[[target]]\nname = \"forks\"\nbuild = []\nversion = [\"true\"]\n\
         run = [\"sh\", \"-c\", \"{run}\"]\n\
         ready = {{ event = \"listening\", path = \"/healthz\", status = 200, body = \"ok\" }}\n\
         stop = {{ signal = \"SIGTERM\", event = \"stopped\" }}\n"
    );
    fs::write(&list, text).unwrap();
    let plan = folder.plan(
        "server = { target = \"forks\" }\n\
         load = { command = \"load\", path = \"/simple\", duration = \"30s\", timeout = \"1s\" }\n",
    );
    let list = list.display().to_string();
    let arguments = ["run", &plan, "--servers", &list, "--runs", &folder.runs(), "--json"];
    let child = ceiling(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let keeper = loop {
        let children = below(child.id());
        let measuring = children.iter().any(|pid| words(*pid).contains("--server-pid"));
        let forked = children.iter().any(|pid| words(*pid).contains(&left));
        match children.iter().find(|pid| words(**pid).trim_end().ends_with(" keep")) {
            Some(keeper) if measuring && forked => break *keeper,
            _ => std::thread::yield_now(),
        }
    };
    assert!(Command::new("kill").args(["-KILL", &keeper.to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fate = document["cells"][0]["fate"].to_string();
    assert!(fate.contains(&format!("its keeper, process {keeper}, was killed; ")), "{fate}");
    let all = host::tree::parents(&host::Root::default()).unwrap();
    assert!(!all.keys().any(|pid| words(*pid).contains(&left)), "it goes on");
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
    // The server, the neighbour, their keepers, and the process that measures.
    let children = loop {
        let children = below(child.id());
        if children.iter().any(|pid| words(*pid).contains("--server-pid")) {
            break children;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended: are the targets built?");
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
        assert!(begin.elapsed() < Duration::from_secs(120), "{left:?}");
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
    // Ctrl-C reaches the whole process group of the terminal; servers are in their own groups.
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

const ON_HOSTS: &str = "server = { target = \"sink\", host = \"server\" }\n\
                        load = { command = \"load\", requests = 200, connections = 2 }\n\
                        [hosts.server]\n";

#[test]
fn a_host_is_this_one_only_when_that_is_said() {
    let _turn = turn();
    let folder = Folder::new("hosts");
    let (plan, runs, list) = (folder.plan(ON_HOSTS), folder.runs(), targets_file());
    let with = |more: &[&str]| {
        run(&[&["run", &plan, "--servers", &list, "--runs", &runs][..], more].concat())
    };
    let said = with(&[]);
    assert_eq!((said.code, said.stderr.lines().count()), (2, 1), "{}", said.stderr);
    for way in ["--set hosts.server.probe=", "--hosts FILE", "--set hosts.server.here=true"] {
        assert!(said.stderr.contains(way), "{}", said.stderr);
    }
    let said = with(&["--dry-run"]);
    assert!(
        said.code == 0 && said.stdout.contains("host server"),
        "{}{}",
        said.stdout,
        said.stderr
    );
    let said = with(&["--set", "load.depth=1"]);
    assert!(said.stderr.contains("only keys of hosts can be set"), "{}", said.stderr);
    // A file that came with the plan is not trusted like one of the user.
    let beside = folder.0.join("hosts.toml");
    fs::write(&beside, "[hosts.server]\nprobe = \"127.0.0.1:1\"\n").unwrap();
    let said = with(&[]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("hosts.server.probe, which"), "{}", said.stderr);
    let named = ["--hosts", &beside.display().to_string()];
    let said = with(&named);
    assert!(said.stderr.contains("hosts.server.token-file"), "trusted: {}", said.stderr);
    assert!(!Path::new(&runs).exists(), "nothing was begun");
    let here = ["--set", "hosts.server.here=true", "--json", "-q"];
    let document = with(&here).record();
    let host = &document["hosts"][0];
    assert_eq!((&host["name"], &host["probe"]), (&Value::from("server"), &Value::Null));
    let cell = &document["cells"][0];
    assert_eq!((&cell["host"], &cell["fate"]["fate"]), (&"server".into(), &"measured".into()));
    // All blocks of one experiment must be on the same hosts.
    let kept = Path::new(&runs).join(document["id"].as_str().unwrap()).display().to_string();
    let plain = fs::read_to_string(&plan).unwrap();
    assert_eq!(fs::read_to_string(Path::new(&kept).join("plan.toml")).unwrap(), plain);
    let probe = ["--set", "hosts.server.probe=127.0.0.1:1"];
    let known = ["--set", "hosts.server.token-file=t", "--set", "hosts.server.pin"];
    let pin = format!("{}={}", known[3], "a".repeat(64));
    let again = [&probe[..], &known[..3], &[&pin, "--resume", &kept]].concat();
    let said = with(&again);
    assert!(said.stderr.contains("it was measured on other hosts"), "{}", said.stderr);
}

/// A probe that starts sinks, on loopback.
struct There {
    probe: Probe,
    scratch: crate::harness::Folder,
}

impl There {
    fn new(name: &str) -> Self {
        let scratch = crate::harness::Folder::new(name);
        let list = scratch.file("servers.toml");
        let text = format!(
            "[[target]]\nname = \"sink\"\nrun = [\"{}\", \"--addr\", \"{{addr}}\", \"--port\", \
             \"{{port}}\"]\nready = {{ event = \"listening\" }}\n[target.allow]\nargs = {{ \
             \"--threads\" = \"1..2\" }}\n",
            program("target-sink").display()
        );
        fs::write(&list, text).unwrap();
        let journal = scratch.file("journal");
        let more = ["--allow-start", &list, "--allow-tune", "--journal", &journal];
        let probe = Probe::start(&scratch, &more);
        Self { probe, scratch }
    }

    /// `ceiling run` of a plan whose server this probe starts.
    fn run(&self, plan: &str, runs: &str) -> Command {
        let flags = self.probe.flags();
        let mut command = ceiling(&["run", plan, "--runs", runs, "--json", "-q"]);
        for (key, value) in [("probe", flags[1]), ("token-file", flags[3]), ("pin", flags[5])] {
            command.args(["--set", &format!("hosts.server.{key}={value}")]);
        }
        command
    }
}

#[test]
fn a_plan_starts_its_servers_on_the_host_of_a_probe_as_its_list_allows() {
    let _turn = turn();
    let (folder, there) = (Folder::new("far"), There::new("run-far"));
    let cell = |name: &str, threads: u32| {
        format!("[[cell]]\nname = \"{name}\"\nserver.args = [\"--threads\", \"{threads}\"]\n")
    };
    let plan = folder.plan(&format!("{ON_HOSTS}{}{}", cell("one", 1), cell("nine", 9)));
    let output = there.run(&plan, &folder.runs()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout).expect(&told);
    let (one, nine) = (&document["cells"][0], &document["cells"][1]);
    assert_eq!((&one["host"], &one["fate"]["fate"]), (&"server".into(), &"measured".into()));
    assert!(one["server"].to_string().contains("--threads"), "{one}");
    let served = one["stopped"]["requests_served"].as_u64().unwrap();
    assert!(served >= 200, "the server tells at its end: {one}");
    assert!(one["command"].to_string().contains("--probe="), "{one}");
    let kept = PathBuf::from(folder.runs()).join(document["id"].as_str().unwrap());
    let run = kept.join("runs").join(one["fate"]["run"].as_str().unwrap()).join("run.json");
    let record: Value = serde_json::from_slice(&fs::read(run).unwrap()).unwrap();
    assert_eq!(record["target"]["probe"]["address"], there.probe.address());
    let why = nine["fate"]["why"].as_str().unwrap();
    assert!(why.contains("--threads 9") && why.contains("the list allows 1..2"), "{why}");
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(document["hosts"][0]["probe"], there.probe.address());
}

/// CPUs that the threads of a process may use.
fn mask(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap().trim().to_string()
}

#[test]
fn what_an_experiment_takes_from_a_far_server_is_given_back_when_its_session_ends() {
    let _turn = turn();
    let there = There::new("run-taken");
    let call = there.probe.call();
    let order = StartOrder { server: "sink".to_string(), ..StartOrder::default() };
    let log = PathBuf::from(there.scratch.file("log"));
    let server = FarServer::start(&call, &order, &AtomicBool::new(false), &log).unwrap();
    let before = mask(server.pid());
    let begun = |server_pid: u32| {
        let mut orders = Orders::begin(&call).unwrap();
        let step = Step::Prepare { server_pid, left: Left::Cpus(vec![0]) };
        let prepared = orders.give(TuneOrder::Experiment { step }).unwrap();
        (orders, prepared.error)
    };
    let (_, error) = begun(1);
    assert!(error.unwrap().contains("process 1 is not a server that this probe has started"));
    let (mut orders, error) = begun(server.pid());
    assert_eq!((error, mask(server.pid())), (None, before.clone()));
    let mut step = |step: Step| {
        let outcome = orders.give(TuneOrder::Experiment { step }).unwrap();
        assert_eq!(outcome.error, None);
        mask(server.pid())
    };
    assert_eq!(step(Step::Take), "0");
    assert_eq!(step(Step::Give), before);
    assert_eq!(step(Step::Take), "0");
    drop(orders);
    wait_until("the probe to give it back", || mask(server.pid()) == before);
    let (mut orders, error) = begun(server.pid());
    assert_eq!(error, None, "nothing is under way");
    let ended = orders.give(TuneOrder::Experiment { step: Step::End }).unwrap();
    assert_eq!(ended.error, None);
    assert_eq!(server.end().fault, None);
}

#[test]
fn a_probe_that_is_killed_fails_the_cell_and_leaves_no_server() {
    let _turn = turn();
    let (folder, there) = (Folder::new("far-lost"), There::new("run-lost"));
    let plan =
        folder.plan(&ON_HOSTS.replace("requests = 200", "duration = \"30s\", timeout = \"1s\""));
    let mut command = there.run(&plan, &folder.runs());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the generator to measure", || {
        below(child.id()).iter().any(|pid| words(*pid).contains("--probe="))
    });
    let server = "target-sink --addr 127.0.0.1";
    let mut servers = below(there.probe.child.id());
    servers.retain(|pid| words(*pid).contains(server));
    assert_eq!(servers.len(), 1, "{servers:?}");
    there.probe.signal("KILL");
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fate = &document["cells"][0]["fate"];
    assert_eq!(fate["fate"], "failed", "{fate}");
    wait_until("the server to end", || !words(servers[0]).contains(server));
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
            &format!("{sink}load.expand = 4\nload.header = \"A: {{{{ csv :/etc/passwd:x}}}}\""),
            "load.header with {{csv:FILE}} (/etc/passwd)",
        ),
        (&format!("{sink}load.keep-requests = true"), "load.keep-requests"),
        (&format!("{sink}load.url = \"--targets=mix://{{addr}}\""), "load.targets"),
        (&format!("{sink}server.args = [\"--log\", \"/tmp/x\"]"), "server.args (--log /tmp/x)"),
        (
            &format!(
                "{sink}server.args = [\"--log\", \"/tmp/x\"]\nserver.host = \"x\"\nhosts.x = {{}}"
            ),
            "server.args (--log /tmp/x)",
        ),
    ] {
        let plan = folder.plan(text);
        let output = ceiling(&["run", &plan, "--servers", &targets_file()]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(key) && told.contains("--trust"), "{key}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        let words = ["run", &plan, "--servers", &targets_file(), "--dry-run"];
        let shown = run(&words);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert!(shown.stdout.contains("needs --trust: "), "{}", shown.stdout);
    }
    for url in ["http://evil.test/?://{addr}", "http://{addr}.evil.test/", "http://x@{addr}/"] {
        let plan = folder.plan(&format!("{sink}load.url = \"{url}\""));
        let output = ceiling(&["run", &plan, "--servers", &targets_file(), "--trust"]).output();
        let told = String::from_utf8_lossy(&output.unwrap().stderr).into_owned();
        assert!(told.contains("must start with a scheme and {addr}"), "{told}");
    }
    assert!(!Path::new(&folder.runs()).exists());
}

#[test]
fn an_experiment_goes_on_only_with_what_it_measured() {
    let _turn = turn();
    let folder = Folder::new("resume");
    let plan = folder.plan(
        "load = { command = \"load\", requests = 50, connections = 1, header = \"Cookie: QZX1\" }\n\
         cell = [{ name = \"a\", server.target = \"sink\" }, { name = \"b\", server.target = \
         \"gone\" }]\n",
    );
    let list = folder.0.join("list.toml").display().to_string();
    let copy = folder.0.join("sink");
    fs::copy(program("target-sink"), &copy).unwrap();
    let write = |more: &str| {
        let ready = "ready = { event = \"listening\" }";
        let text = format!(
            "[[target]]\nname = \"sink\"\nrun = [\"{}\", \"--addr\", \"{{addr}}\", \"--port\", \
             \"{{port}}\"{more}]\n{ready}\n[[target]]\nname = \"gone\"\nrun = [\"false\"]\n\
             {ready}\n",
            copy.display()
        );
        fs::write(&list, text).unwrap();
    };
    write("");
    let (runs, text) = (folder.runs(), fs::read_to_string(&plan).unwrap());
    let words = ["run", &plan, "--servers", &list, "--runs", &runs, "--json", "-q"];
    let first = run(&words);
    assert_eq!(first.code, 5, "{}", first.stderr);
    let id = first.record()["id"].as_str().unwrap().to_string();
    let kept = Path::new(&runs).join(&id).display().to_string();
    let again = || run(&[&words[..], &["--resume", &kept]].concat());
    let refused = |what: &str| {
        let said = again();
        assert_eq!((said.code, said.stderr.lines().count()), (2, 1), "{}", said.stderr);
        for part in [what, "put back what it measured, or start a new experiment"] {
            assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
        }
    };
    write(", \"--delay\", \"fixed:5ms\"");
    refused("--delay fixed:5ms now");
    write("");
    fs::write(&plan, text.replace("QZX1", "QZX2")).unwrap();
    refused("a secret in the plan is another one");
    fs::write(&plan, &text).unwrap();
    // The program with one byte more, as after an upgrade.
    let bytes = fs::read(&copy).unwrap();
    fs::write(&copy, [&bytes[..], b"\n"].concat()).unwrap();
    refused("sink is not the file it was");
    fs::write(&copy, bytes).unwrap();
    let begun = Path::new(&kept).join(".begun.json");
    let was = fs::read_to_string(&begun).unwrap();
    assert!(!was.contains("QZX"), "{was}");
    fs::write(&begun, was.replace("\"version\": \"", "\"version\": \"9")).unwrap();
    refused("it began with ceiling 9");
    fs::write(&begun, &was).unwrap();
    let said = again();
    let cells = said.record()["cells"].clone();
    assert_eq!((said.code, cells[0]["fate"]["fate"].as_str()), (5, Some("measured")), "{cells}");
    assert_eq!(cells[0]["fate"], first.record()["cells"][0]["fate"], "it was kept");
    fs::remove_file(&begun).unwrap();
    refused("it does not say what it measured");
}

#[test]
fn secrets_of_a_load_are_on_no_command_line() {
    let _turn = turn();
    let folder = Folder::new("ordered");
    let plan = folder.plan(
        "server.target = \"sink\"\n[load]\ncommand = \"load\"\nduration = \"60s\"\n\
         connections = 1\nheader = [\"Authorization: Bearer QZXheader\", \"X-Mine: QZXmine\"]\n\
         secret-header = \"X-Mine\"\nbody = \"QZXbody\"\n",
    );
    let list = targets_file();
    let arguments = ["run", &plan, "--servers", &list, "--runs", &folder.runs(), "-q"];
    let mut child = ceiling(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let load = |pid: &u32| words(*pid).contains(" load http://");
    wait_until("a load", || below(child.id()).iter().any(load));
    for pid in below(child.id()) {
        let line = words(pid);
        assert!(!line.contains("QZX"), "{line}");
        assert!(!load(&pid) || line.contains("--header=Authorization: ***"), "{line}");
    }
    crate::harness::signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// All descendants of a process.
fn below(pid: u32) -> Vec<u32> {
    let below = host::tree::descendants(&host::Root::default(), pid).unwrap();
    below.into_iter().map(|(pid, _)| pid).collect()
}

fn words(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
