//! Knobs of another host, through its probe: who may change them, what the probe returns, and what
//! happens if the connection is lost after a change that can cut it.

use crate::harness::loading::{FAR_READINGS, Loading};
use crate::harness::{
    Finished, Folder, Namespace, Server, must_be_root, program, turn, wait_until,
};
use crate::tune::{LATE, SOON, watchdogs};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const CEILING: &str = env!("CARGO_BIN_EXE_ceiling");

/// Two hosts with a link between them, and a probe on one.
struct Ground {
    here: Namespace,
    there: Namespace,
    folder: Folder,
    probe: Child,
    flags: Vec<String>,
}

impl Ground {
    fn new(name: &str, serve: &[&str]) -> Self {
        must_be_root();
        let here = Namespace::new(&format!("{name}-c"));
        let there = Namespace::new(&format!("{name}-s"));
        let queues = ["numrxqueues", "4", "numtxqueues", "4"];
        let link = [&["link", "add", "line0"], &queues[..], &["type", "veth", "peer", "name"]];
        let peer = [&["line1", "netns", &here.name], &queues[..]].concat();
        there.ip(&[&link.concat()[..], &peer[..]].concat());
        for (namespace, device, address) in
            [(&there, "line0", "10.98.0.2/24"), (&here, "line1", "10.98.0.1/24")]
        {
            namespace.ip(&["address", "add", address, "dev", device]);
            namespace.ip(&["link", "set", device, "up"]);
        }
        let folder = Folder::new(name);
        let mut command = there.command(Path::new(CEILING));
        command.args(["probe", "serve", "--listen", "10.98.0.2:9200"]);
        command.args(["--token-file", &folder.file("token")]).args(serve);
        command.env("CEILING_TUNE_JOURNAL", folder.file("journal"));
        let mut probe = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(probe.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let begin = ready.find("--probe ").expect("flags in the ready line");
        let flags = ready[begin..].split_whitespace().map(str::to_string).collect();
        Self { here, there, folder, probe, flags }
    }

    /// `ceiling tune ..` on the host without the knobs.
    fn tune(&self, arguments: &[&str]) -> Finished {
        let mut command = self.here.command(Path::new(CEILING));
        command.arg("tune").args(arguments).args(&self.flags).env("CEILING_RUNS", "none");
        command.env("CEILING_TUNE_JOURNAL", self.folder.file("other-journal"));
        Finished::of(command.output().unwrap())
    }

    fn good(&self, arguments: &[&str]) -> Finished {
        let said = self.tune(arguments);
        assert_eq!(said.code, 0, "{arguments:?}\n{}{}", said.stdout, said.stderr);
        said
    }

    fn journal(&self) -> String {
        self.folder.file("journal")
    }

    /// `ceiling tune ..` on the host with the knobs.
    fn there_tune(&self, arguments: &[&str]) -> Finished {
        let mut command = self.there.command(Path::new(CEILING));
        command.arg("tune").args(arguments).env("CEILING_TUNE_JOURNAL", self.journal());
        Finished::of(command.output().unwrap())
    }

    /// Milliseconds until the changes that are not kept are put back there. One transaction is
    /// open.
    fn left_ms(&self) -> Vec<u64> {
        let status = self.there_tune(&["status", "--json"]).record();
        let open = status["transactions"].as_array().unwrap();
        assert_eq!(open.len(), 1, "{status:#}");
        open.iter().filter_map(|one| one["left_ms"].as_u64()).collect()
    }

    /// `ceiling load` from the host without the knobs.
    fn load(&self, sink: &Server) -> Command {
        let mut command = self.here.command(Path::new(CEILING));
        command.args(["load", &format!("http://10.98.0.2:{}/", sink.port)]);
        // A small load, so that an emulated machine has time for the probe's readings.
        command.args(["-c", "2", "-t", "1"]).args(&self.flags);
        command
    }

    /// A value on the host with the knobs.
    fn read(&self, path: &str) -> String {
        let said = self.there.command(Path::new("cat")).arg(path).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_string()
    }

    /// The features of the link, as its driver reports them.
    fn features(&self) -> String {
        let mut command = self.there.command(Path::new("ethtool"));
        let said = command.args(["-k", "line0"]).stderr(Stdio::null()).output();
        String::from_utf8(said.expect("ethtool is installed").stdout).unwrap()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.probe.kill();
        let _ = self.probe.wait();
    }
}

const RPS: &str = "/sys/class/net/line0/queues/rx-0/rps_cpus";

#[test]
fn a_probe_that_was_not_told_to_changes_nothing() {
    let _turn = turn();
    let ground = Ground::new("far-watch", &[]);
    let before = ground.read(RPS);
    for arguments in [&["plan"][..], &["apply", "--only", "rps"], &["status"], &["revert"]] {
        let said = ground.tune(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains("started without --allow-tune"), "{}", said.stderr);
    }
    assert_eq!(ground.read(RPS), before);
    let mut stranger = ground.here.command(Path::new(CEILING));
    std::fs::write(ground.folder.file("other"), "0123456789abcdef0123456789abcdef\n").unwrap();
    let other = ground.folder.file("other");
    let flags = ["--probe", "10.98.0.2:9200", "--probe-token-file", &other, "--probe-pin"];
    let said = stranger.args(["tune", "revert"]).args(flags).arg(&ground.flags[5]).output();
    let said = Finished::of(said.unwrap());
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("token"), "{}", said.stderr);
}

#[test]
fn a_far_host_is_planned_changed_told_and_put_back() {
    let _turn = turn();
    let ground = Ground::new("far-tune", &["--allow-tune"]);
    let before = ground.read(RPS);
    let wish = ["--device", "line0", "--profile", "seeds", "--only", "rps"];
    let planned = ground.good(&[&["plan", "--json"], &wish[..]].concat()).record();
    let rows = planned["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "a row for each queue of the far device: {planned:#}");
    assert_eq!(ground.read(RPS), before, "a plan changes nothing");

    let applied = ground.good(&[&["apply", "--json"], &wish[..]].concat()).record();
    assert!(applied["rows"].as_array().unwrap().iter().all(|row| row["fate"] == "applied"));
    assert_ne!(ground.read(RPS), before);
    let status = ground.good(&["status", "--json"]).record();
    assert_eq!(status["rows"].as_array().unwrap().len(), 4, "{status:#}");

    let again = ground.tune(&[&["apply"], &wish[..]].concat());
    assert_eq!(again.code, 0, "as meant already: {}{}", again.stdout, again.stderr);
    assert!(again.stdout.contains("nothing to change"), "{}", again.stdout);
    let wrong = ground.tune(&["apply", "--device", "eth9", "--only", "rps"]);
    assert!(wrong.stderr.contains("no such device; here are line0"), "{}", wrong.stderr);

    let reverted = ground.good(&["revert", "--json"]).record();
    assert_eq!((&reverted["left"], reverted["rows"].as_array().unwrap().len()), (&0.into(), 4));
    assert_eq!(ground.read(RPS), before);
    assert!(ground.good(&["status"]).stdout.contains("Nothing is changed"));
}

/// Show: after a change that can cut connections, the link goes down and the probe is killed. The
/// host is put back when the deadline has passed.
#[test]
fn a_host_that_nobody_reaches_any_more_comes_back_by_itself() {
    let _turn = turn();
    let mut ground = Ground::new("far-cut", &["--allow-tune"]);
    let (before, masks) = (ground.features(), ground.read(RPS));
    assert!(before.contains("generic-receive-offload"), "{before}");
    let wish = ["--device", "line0", "--profile", "throughput", "--only", "rps,offloads"];
    let refused = ground.tune(&[&["apply", "--json"], &wish[..]].concat());
    let is_refused = |row: &Value| row["fate"] == "refused" && row["is_disruptive"] == true;
    let rows = refused.record()["rows"].as_array().unwrap().clone();
    assert!(rows.iter().any(is_refused), "it was not allowed: {rows:#?}");
    assert_eq!(ground.features(), before);
    ground.good(&["revert"]);

    let apply = ["apply", "--json", "--allow-disruptive", "--deadline", SOON];
    let begin = Instant::now();
    let applied = ground.good(&[&apply, &wish[..]].concat()).record();
    let is_done = |row: &Value| row["fate"] == "applied" && row["is_disruptive"] == true;
    assert!(applied["rows"].as_array().unwrap().iter().any(is_done), "{applied:#}");
    assert_ne!(ground.features(), before);
    // The link is down and the probe is gone; only the watchdog is left.
    ground.here.ip(&["link", "set", "line1", "down"]);
    ground.probe.kill().unwrap();
    ground.probe.wait().unwrap();
    wait_until("the watchdog to put everything back", || {
        ground.features() == before && ground.read(RPS) == masks
    });
    println!("back {:?} after apply began, deadline {SOON}", begin.elapsed());
    wait_until("the watchdog to end", || watchdogs(&ground.journal()).is_empty());
    let told = ground.there_tune(&["status"]);
    assert!(told.stdout.contains("Nothing is changed"), "{}", told.stdout);
}

/// A change that the user keeps in time has no watchdog and no deadline any more.
#[test]
fn what_is_kept_stays() {
    let _turn = turn();
    let ground = Ground::new("far-keep", &["--allow-tune"]);
    let before = ground.features();
    let wish = ["--device", "line0", "--only", "offloads"];
    let apply = ["apply", "--json", "--allow-disruptive", "--deadline", LATE];
    ground.good(&[&apply, &wish[..]].concat());
    assert_eq!(ground.left_ms().len(), 1, "a transaction with a deadline");
    let kept = ground.good(&["keep"]);
    assert!(kept.stdout.starts_with("kept: "), "{}", kept.stdout);
    wait_until("the watchdog to end", || watchdogs(&ground.journal()).is_empty());
    assert_eq!(ground.left_ms(), Vec::<u64>::new(), "it is open, and nothing puts it back");
    assert_ne!(ground.features(), before);
    ground.good(&["revert"]);
    assert_eq!(ground.features(), before);
}

/// A change of the server's host that is undone during a run is seen from the generator's host.
#[test]
fn what_somebody_undoes_on_the_servers_host_voids_the_run() {
    let _turn = turn();
    let ground = Ground::new("far-drift", &["--allow-tune"]);
    let sink = ground.there.command(&program("target-sink"));
    let sink = Server::start_as(sink, &["--addr", "10.98.0.2", "--delay", "fixed:20ms"]);
    let brief = || {
        let mut load = ground.load(&sink);
        let load = load.args(["-d", "1s", "--json", "--runs", "none"]);
        gate(&Finished::of(load.output().unwrap()))
    };
    // A load that runs until `act` was done on the server's host and seen.
    let during = |name: &str, act: &dyn Fn()| {
        let runs = ground.folder.file(name);
        let loading = Loading::start(ground.load(&sink), &runs, sink.pid);
        act();
        let is_drift = |one: &Value| one.pointer("/data/values/drifted/0").is_some();
        loading.wait_for("the drift to be seen", FAR_READINGS, is_drift);
        gate(&loading.end()).expect("something is changed")
    };
    assert_eq!(brief(), None, "nothing is changed");
    ground.good(&["apply", "--device", "line0", "--profile", "seeds", "--only", "rps"]);
    let kept = brief().expect("something is changed");
    assert_eq!(kept["ok"], true, "{kept:#}");

    let by_hand = |script: &str| {
        let mut other = ground.there.command(Path::new("sh"));
        assert!(other.args(["-c", script]).status().unwrap().success());
    };
    let broken = during("by-hand", &|| by_hand(&format!("echo 0 > {RPS}")));
    assert_eq!(broken["ok"], false, "{broken:#}");
    assert!(broken["why"].as_str().unwrap().contains(RPS), "{broken:#}");

    // A host that was put back in order has changed as well.
    by_hand("for mask in /sys/class/net/line0/queues/rx-*/rps_cpus; do echo 0 > $mask; done");
    ground.good(&["revert"]);
    ground.good(&["apply", "--device", "line0", "--profile", "seeds", "--only", "rps"]);
    let broken = during("in-order", &|| drop(ground.good(&["revert"])));
    assert_eq!(broken["ok"], false, "{broken:#}");
    assert!(broken["why"].as_str().unwrap().contains("put back"), "{broken:#}");
}

/// The gate about changes of knobs, of the only point.
fn gate(said: &Finished) -> Option<Value> {
    let record = said.record();
    let gates = record["points"][0]["gates"].as_array().unwrap_or_else(|| panic!("{record:#}"));
    gates.iter().find(|gate| gate["id"] == "tuning").cloned()
}

/// A probe that may change nothing still watches changes that are made by hand on its host.
#[test]
fn a_probe_that_may_not_change_anything_still_looks() {
    let _turn = turn();
    let ground = Ground::new("far-look", &[]);
    let sink = ground.there.command(&program("target-sink"));
    let sink = Server::start_as(sink, &["--addr", "10.98.0.2"]);
    let by_hand = |arguments: &[&str]| {
        let said = ground.there_tune(arguments);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    };
    by_hand(&["apply", "--device", "line0", "--profile", "seeds", "--only", "rps"]);
    let mut load = ground.load(&sink);
    let said = load.args(["-d", "1s", "--json", "--runs", "none"]).output().unwrap();
    let gate = gate(&Finished::of(said)).expect("something is changed");
    assert_eq!(gate["ok"], true, "{gate:#}");
    by_hand(&["revert"]);
}

/// The server under test has ended, as it does after each measurement: its host is put back anyway,
/// and no process that gets the server's process id is taken for it.
#[test]
fn a_host_is_put_back_also_when_its_server_has_ended() {
    let _turn = turn();
    let mut server = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = server.id().to_string();
    let ground = Ground::new("far-dead", &["--allow-tune", "--server-pid", &pid]);
    let before = ground.read(RPS);
    let wish = ["--device", "line0", "--profile", "seeds", "--only", "rps"];
    let apply = [&["apply", "--deadline", LATE], &wish[..]].concat();
    ground.good(&apply);
    server.kill().unwrap();
    server.wait().unwrap();
    let rows = ground.good(&["status", "--json"]).record()["rows"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 4, "{rows:#}");
    assert!(ground.good(&["keep"]).stdout.starts_with("kept: "));
    ground.good(&["revert"]);
    assert_eq!(ground.read(RPS), before);
    // Knobs that are not about the server do not need it; for the others the error says why.
    ground.good(&[&["plan"], &wish[..]].concat());
    let said = ground.tune(&["plan", "--only", "server-cpus"]);
    assert_eq!(said.code, 2, "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains(&format!("--server-pid {pid}")), "{}", said.stderr);
}

/// The CPUs that spread packets of the device of this host, which has no probe.
const RPS_HERE: &str = "/sys/class/net/line1/queues/rx-0/rps_cpus";

/// A plan on two hosts: one cell turns a knob of the server's host, the other changes nothing.
fn plan_of_two(ground: &Ground, sink: &Server, duration: &str) -> Command {
    let plan = ground.folder.file("plan.toml");
    let text = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"Does RPS there help?\"\n[hosts.server]\n\
         [server]\naddr = \"10.98.0.2:{}\"\nhost = \"server\"\n[load]\ncommand = \"load\"\n\
         connections = 2\nthreads = 1\nduration = \"{duration}\"\nwarmup = \"0\"\n[[cell]]\n\
         name = \"rps\"\ntune = {{ only = [\"rps\"], profile = \"seeds\", device = \"line0\" }}\n\
         [[cell]]\nname = \"plain\"\n",
        sink.port
    );
    std::fs::write(&plan, text).unwrap();
    ground.run(&plan)
}

impl Ground {
    /// A sink on the host with the knobs.
    fn sink(&self) -> Server {
        let sink = self.there.command(&program("target-sink"));
        Server::start_as(sink, &["--threads", "1", "--addr", "10.98.0.2"])
    }

    /// `ceiling run` on the host without the knobs.
    fn run(&self, plan: &str) -> Command {
        let mut command = self.here.command(Path::new(CEILING));
        command.args(["run", plan, "--runs", &self.folder.file("runs"), "--json", "-q"]);
        command.args(["--allow-tune", "--trust", "--set", "hosts.server.probe=10.98.0.2:9200"]);
        command.env("CEILING_PROBE_TOKEN_FILE", &self.flags[3]);
        command.env("CEILING_PROBE_PIN", &self.flags[5]);
        command.env("CEILING_TUNE_JOURNAL", self.folder.file("other-journal"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A value on the host without the knobs.
    fn read_here(&self, path: &str) -> String {
        let said = self.here.command(Path::new("cat")).arg(path).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_string()
    }
}

#[test]
fn a_plan_turns_a_knob_of_the_other_host_and_of_no_other() {
    let _turn = turn();
    let ground = Ground::new("far-plan", &["--allow-tune"]);
    let (sink, before, ours) = (ground.sink(), ground.read(RPS), ground.read_here(RPS_HERE));
    let child = plan_of_two(&ground, &sink, "5s").spawn().unwrap();
    wait_until("the knob to be turned there", || ground.read(RPS) != before);
    assert_eq!(ground.read_here(RPS_HERE), ours);
    let said = Finished::of(child.wait_with_output().unwrap());
    let document = said.record();
    assert_eq!(ground.read(RPS), before, "{}", said.stderr);
    let cells = document["cells"].as_array().unwrap();
    for cell in cells {
        assert_eq!(cell["fate"]["fate"], "measured", "{document:#}");
        assert_eq!(cell["host"], "server");
    }
    let tuned = cells[0]["tuned"].as_array().unwrap();
    let is_good = |row: &Value| row["host"] == "server" && row["fate"] == "reverted";
    assert!(tuned.len() == 4 && tuned.iter().all(is_good), "{tuned:#?}");
    assert_eq!(document["hosts"][0]["probe"], "10.98.0.2:9200");
    wait_until("the watchdog to end", || watchdogs(&ground.journal()).is_empty());
}

/// Knobs of processes are turned only for a server that the probe has started.
#[test]
fn a_plan_turns_the_knobs_of_a_server_that_the_probe_has_started() {
    let _turn = turn();
    let list = Folder::new("far-list");
    let servers = list.file("servers.toml");
    let text = format!(
        "[[target]]\nname = \"sink\"\nrun = [\"{}\", \"--addr\", \"10.98.0.2\", \"--port\", \
         \"{{port}}\"]\nready = {{ event = \"listening\" }}\n",
        program("target-sink").display()
    );
    std::fs::write(&servers, text).unwrap();
    let ground = Ground::new("far-own", &["--allow-tune", "--allow-start", &servers]);
    let plan = ground.folder.file("plan.toml");
    let text = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\nserver = { target = \"sink\", host \
                = \"server\" }\nload = { command = \"load\", connections = 2, threads = 1, \
                requests = 2000 }\ntune = { only = [\"server-cpus\"], cpus = \"0/1\" }\n\
                [hosts.server]\n";
    std::fs::write(&plan, text).unwrap();
    let said = Finished::of(ground.run(&plan).output().unwrap());
    let cell = said.record()["cells"][0].clone();
    assert_eq!(cell["fate"]["fate"], "measured", "{cell:#}");
    let tuned = cell["tuned"].as_array().unwrap();
    let is_meant = |row: &Value| row["host"] == "server" && row["wanted"] == "1";
    assert!(!tuned.is_empty() && tuned.iter().all(is_meant), "{cell:#}");
}

/// Show: the generator is killed while the knob is turned; only the watchdog on the server's host
/// is left to put it back.
#[test]
fn a_generator_that_is_killed_leaves_no_knob_turned_on_the_other_host() {
    let _turn = turn();
    let ground = Ground::new("far-killed", &["--allow-tune"]);
    let (sink, before) = (ground.sink(), ground.read(RPS));
    let mut child = plan_of_two(&ground, &sink, "600s").spawn().unwrap();
    wait_until("the knob to be turned there", || ground.read(RPS) != before);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(ground.read(RPS), before, "no other program put it back");
    let begin = Instant::now();
    wait_until("the watchdog to put it back", || ground.read(RPS) == before);
    println!("back {:?} after the generator was killed", begin.elapsed());
    wait_until("the watchdog to end", || watchdogs(&ground.journal()).is_empty());
    let told = ground.there_tune(&["status"]);
    assert!(told.stdout.contains("Nothing is changed"), "{}", told.stdout);
}

/// Show: the link goes down in the middle of a cell whose knob is turned. The knob is put back
/// there, the cells that were not measured say so, and the experiment can be resumed after the link
/// is up.
#[test]
fn an_experiment_whose_line_was_cut_goes_on_where_it_stopped() {
    let _turn = turn();
    let ground = Ground::new("far-resume", &["--allow-tune"]);
    let (sink, before) = (ground.sink(), ground.read(RPS));
    let child = plan_of_two(&ground, &sink, "10s").spawn().unwrap();
    wait_until("the knob to be turned there", || ground.read(RPS) != before);
    ground.here.ip(&["link", "set", "line1", "down"]);
    let begin = Instant::now();
    wait_until("the watchdog to put it back", || ground.read(RPS) == before);
    println!("back {:?} after the line was cut", begin.elapsed());
    let cut = Finished::of(child.wait_with_output().unwrap()).record();
    let fates = |document: &Value| -> Vec<Value> {
        let cells = document["cells"].as_array().unwrap();
        cells.iter().map(|cell| cell["fate"]["fate"].clone()).collect()
    };
    assert!(fates(&cut).contains(&"failed".into()), "{cut:#}");
    wait_until("the watchdog to end", || watchdogs(&ground.journal()).is_empty());

    ground.here.ip(&["link", "set", "line1", "up"]);
    let folder = format!("{}/{}", ground.folder.file("runs"), cut["id"].as_str().unwrap());
    let mut again = ground.run(&ground.folder.file("plan.toml"));
    let again = Finished::of(again.args(["--resume", &folder]).output().unwrap()).record();
    assert_eq!(fates(&again), ["measured", "measured"], "{again:#}");
    assert_eq!(ground.read(RPS), before);
}
