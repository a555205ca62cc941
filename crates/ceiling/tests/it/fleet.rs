//! A fleet of real agents behind a real nats-server: every request is in exactly one account, users
//! may do only what they should, and load ends when one side dies. The sink's own count is the
//! truth.

use crate::harness::certificates::Certificates;
use crate::harness::fleets::Fleet;
use crate::harness::{
    Finished, Folder, PATIENCE, Server, ceiling, count, large_turn, run, targets_file, wait_until,
};
use crate::http2;
use nats::{Client, Credentials, Event, Settings, Subject};
use serde_json::Value;
use std::fs;
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long load may go on after its controller is lost: the lease.
const LEASE_NS: u64 = 1_500_000_000;
/// On a busy host, threads may be late by this much. Only load that does not end takes longer.
const SLACK_NS: u64 = 20_000_000_000;

fn sink() -> Server {
    Server::start("target-sink", &["--threads", "1"])
}

fn with_fleet(fleet: &Fleet, arguments: &[&str]) -> Vec<String> {
    let own = arguments.iter().map(ToString::to_string);
    own.chain(fleet.flags()).collect()
}

/// Waits for all agents of the fleet unless the arguments name some: one that gets no CPU for a
/// while responds late.
fn measured(fleet: &Fleet, arguments: &[&str]) -> Finished {
    let mut words = with_fleet(fleet, &[arguments, &["--json"]].concat());
    if !arguments.contains(&"--agents") {
        words.extend(["--agents".to_string(), fleet.size().to_string()]);
    }
    run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Loads a new sink, until no agent lost its lease for want of CPU time; returns the record and how
/// many requests the sink has seen.
fn undisturbed(fleet: &Fleet, load: impl Fn(&str) -> Vec<String>) -> (Value, u64) {
    let mut found = None;
    wait_until("a load in which every agent kept its lease", || {
        let server = sink();
        let load = load(&server.url("/"));
        let record = measured(fleet, &load.iter().map(String::as_str).collect::<Vec<_>>()).record();
        let seen = seen(&server.stop());
        let is_whole = is_whole(&record);
        found = Some((record, seen));
        is_whole
    });
    found.unwrap()
}

fn is_whole(record: &Value) -> bool {
    let agents = record["fleet"]["agents"].as_array().expect("agents");
    agents.iter().all(|agent| agent["ended"] == "complete")
}

/// Asserts that the accounts of a point add up, over the fleet and for each agent; returns the
/// number of requests sent.
fn assert_accounts(record: &Value) -> u64 {
    let point = &record["points"][0];
    let whole = &point["requests"];
    let agents = point["agents"].as_array().expect("agents in the point");
    let names = ["sent", "completed", "failed", "unanswered", "unsent", "unaccounted"];
    for name in names {
        let sum: u64 = agents.iter().map(|agent| of(agent, name)).sum();
        assert_eq!(sum, of(whole, name), "{name}: {agents:#?} {whole:#}");
    }
    for one in agents.iter().chain([whole]) {
        let parts = ["completed", "failed", "unanswered"].map(|name| of(one, name));
        assert_eq!(of(one, "sent"), parts.iter().sum::<u64>(), "{one:#}");
        let parts = ["sent", "unsent", "unaccounted"].map(|name| of(one, name));
        if let Some(planned) = one["planned"].as_u64() {
            assert_eq!(planned, parts.iter().sum::<u64>(), "{one:#}");
        }
    }
    count(whole, "/sent")
}

/// A count of a record; some counts are left out of the record if they are zero.
fn of(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| {
        assert!(value[name].is_null() && name == "unaccounted", "{name} in {value:#}");
        0
    })
}

/// Requests that a sink, which has ended, received.
fn seen(stopped: &Value) -> u64 {
    count(stopped, "/requests_served") + count(stopped, "/requests_unanswered")
}

#[test]
fn a_budget_and_a_plan_are_dealt_out_and_add_up() {
    let _turn = large_turn();
    let fleet = Fleet::start("adds-up", 3, &[]);
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (record, seen) =
        undisturbed(&fleet, |url| words(&["load", url, "-c", "8", "-n", "1000", "--warmup", "0"]));
    assert_eq!(assert_accounts(&record), 1000, "{:#}", record["fleet"]);
    assert_eq!(seen, 1000, "and the server has seen no other");
    let agents = record["fleet"]["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a1", "a2", "a3"]);

    let plan = ["-R", "500", "--arrivals", "poisson", "-d", "1", "--seed", "7"];
    let plan = [&plan[..], &["-c", "8", "--warmup", "0"]].concat();
    let load = |url: &str| words(&[&["load", url][..], &plan].concat());
    let (record, seen) = undisturbed(&fleet, load);
    assert_eq!(seen, assert_accounts(&record));
    let server = sink();
    let url = server.url("/");
    let alone = [&["load", &url][..], &plan, &["-t", "2", "--json"]].concat();
    let planned = |record: &Value| count(&record["points"][0], "/requests/planned");
    assert_eq!(planned(&record), planned(&run(&alone).record()), "one schedule, however shared");
}

#[test]
fn agents_trust_the_authority_that_the_controller_names() {
    let _turn = large_turn();
    let allow = ["--allow", "https://127.0.0.1:*"];
    let fleet = Fleet::start("tls", 2, &allow);
    let certificates = Certificates::new("fleet-authority");
    let server = certificates.server("server", &[]);
    let url = format!("https://127.0.0.1:{}/simple", server.port);
    let load = ["load", &url, "-c", "4", "-n", "200", "--warmup", "0", "--cacert"];
    let ca = certificates.file("ca.pem");
    let said = measured(&fleet, &[&load[..], &[&ca]].concat());
    let record = said.record();
    assert_eq!(assert_accounts(&record), 200, "{}", said.stderr);
    assert_eq!(count(&record["points"][0], "/status/2xx"), 200);
    assert!(!said.stdout.contains("BEGIN CERTIFICATE"), "a record has no content of files");

    let other = Certificates::new("fleet-other-authority");
    let unknown = other.file("ca.pem");
    let refused = with_fleet(&fleet, &[&load[..], &[&unknown]].concat());
    let refused = run(&refused.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("--cacert {unknown}")), "{}", refused.stderr);
    let missing = with_fleet(&fleet, &[&load[..], &["/nonexistent/ca.pem"]].concat());
    let missing = run(&missing.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("--cacert /nonexistent/ca.pem"), "{}", missing.stderr);
}

#[test]
fn every_kind_of_load_is_made_by_a_fleet() {
    let _turn = large_turn();
    let fleet = Fleet::start("kinds", 2, &[]);
    let server = sink();
    let stage = Server::start("target-stage", &["--thread-per-connection"]);
    let (url, events) = (server.url("/"), stage.url("/stream"));
    let ramp = ["ramp", &url, "-c", "4..8*2", "-d", "300ms", "--warmup", "100ms", "--repeats", "0"];
    let find = ["find", &url, "--slo", "p99<5s", "-R", "50..100", "--trial", "300ms"];
    let find = [&find[..], &["--budget", "12s"]].concat();
    let churn = ["churn", &url, "--devices", "8", "--hold", "50ms", "-d", "1s"];
    let fanout = ["fanout", &events, "-c", "8", "--write-rate", "40", "--writers", "2", "-d", "1s"];
    for kind in [&ramp[..], &find, &churn, &fanout] {
        let what = format!("{} by both agents", kind[0]);
        wait_until(&what, || is_made_by_both(&measured(&fleet, kind).record()));
    }

    let folder = Folder::new("fleet-plan");
    let (plan, runs) = (folder.file("plan.toml"), folder.file("runs"));
    let text = "schema = \"ceiling.plan/1\"\nquestion = \"Why?\"\nserver = { target = \"sink\" }\n\
                load = { command = \"load\", requests = 100, connections = 4 }\n";
    fs::write(&plan, text).unwrap();
    wait_until("a run by both agents", || {
        let said = measured(&fleet, &["run", &plan, "--servers", &targets_file(), "--runs", &runs]);
        let experiment = said.record();
        let fate = &experiment["cells"][0]["fate"];
        assert_eq!(fate["fate"], "measured", "{fate} {}", said.stderr);
        let [id, run] = [&experiment["id"], &fate["run"]].map(|id| id.as_str().unwrap());
        let record = fs::read(format!("{runs}/{id}/runs/{run}/run.json")).unwrap();
        let record = serde_json::from_slice(&record).unwrap();
        assert_eq!(assert_accounts(&record), 100);
        is_made_by_both(&record)
    });
}

/// Agents get the requests and encode them for themselves. What they count together is what the
/// server counts, which leaves connections.
#[test]
fn streams_and_calls_are_dealt_out_and_add_up() {
    let _turn = large_turn();
    let allow = ["--allow", "http://127.0.0.1:*", "--allow", "grpc://127.0.0.1:*"];
    let fleet = Fleet::start("streams", 2, &allow);
    wait_until("streams of both agents", || {
        let (address, seen) = http2::serve(100);
        let url = format!("http://{address}/path");
        let load = ["load", &url, "--http", "2", "-c", "4", "-p", "3", "-n", "1000"];
        let record = measured(&fleet, &[&load[..], &["--warmup", "0"]].concat()).record();
        if !is_made_by_both(&record) {
            return false;
        }
        assert_eq!(assert_accounts(&record), 1000);
        let point = &record["points"][0];
        let [completed, failed, refused] =
            ["/requests/completed", "/requests/failed", "/errors/refused"]
                .map(|path| count(point, path));
        assert_eq!((completed, failed), (seen.requests.load(Ordering::Relaxed), refused));
        let streams = &point["connections"]["streams"];
        assert_eq!((count(streams, "/limit_min"), count(streams, "/limit_max")), (5, 5));
        assert_eq!(count(streams, "/left_after_max"), 100, "{streams}");
        assert!(count(streams, "/settings_ns/count") >= 10, "{streams}");
        true
    });
    let server = Server::start("target-grpc", &["--fail", "8", "--every", "10"]);
    let url = server.url("/shop.Catalog/Read").replace("http://", "grpc://");
    wait_until("calls of both agents", || {
        let load = ["load", &url, "-b", "{\"id\": 7}", "-c", "4", "-p", "4", "-n", "500"];
        let record = measured(&fleet, &[&load[..], &["--warmup", "0"]].concat()).record();
        let codes = &record["points"][0]["status_codes"];
        let statuses = ["/OK", "/RESOURCE_EXHAUSTED"].map(|name| count(codes, name));
        is_made_by_both(&record) && {
            assert_eq!(assert_accounts(&record), 500);
            assert_eq!(statuses.iter().sum::<u64>(), 500, "{codes}");
            assert!(statuses[1] > 40, "{codes}");
            true
        }
    });
}

/// Whether both agents had a part of every point of a record. In a window as short as here, one
/// that gets no CPU may send nothing.
fn is_made_by_both(record: &Value) -> bool {
    assert_eq!(record["fleet"]["agents"].as_array().expect("agents").len(), 2);
    let points = record["points"].as_array().unwrap();
    let mut parts =
        points.iter().flat_map(|point| point["agents"].as_array().expect("agents of a point"));
    is_whole(record) && !points.is_empty() && parts.all(|agent| of(agent, "sent") > 0)
}

/// A long load, and its sink with a log of arrivals.
struct Loading {
    fleet: Fleet,
    server: Server,
    child: Child,
    folder: Folder,
}

impl Loading {
    fn start(name: &str, agents: usize, seconds: &str) -> Self {
        let fleet = Fleet::start(name, agents, &[]);
        let folder = Folder::new(&format!("fleet-{name}-log"));
        let log = folder.file("arrivals");
        let server = Server::start("target-sink", &["--threads", "1", "--log-arrivals", &log]);
        let url = server.url("/");
        let load = ["load", &url, "-R", "300", "-c", "6", "-d", seconds, "--warmup", "0", "--json"];
        let words = with_fleet(&fleet, &load);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = ceiling(&words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let loading = Self { fleet, server, child, folder };
        wait_until("load", || loading.server.served() > 50);
        loading
    }

    /// Waits for the end of the load; returns the record, the number of requests that the sink has
    /// seen, and the fleet.
    fn end(self) -> (Value, u64, Fleet) {
        let Self { fleet, server, child, folder } = self;
        let said = Finished::of(child.wait_with_output().unwrap());
        let record = said.record();
        let seen = seen(&server.stop());
        drop(folder);
        (record, seen, fleet)
    }
}

fn agent_of<'a>(record: &'a Value, name: &str) -> &'a Value {
    let agents = record["fleet"]["agents"].as_array().unwrap();
    agents.iter().find(|agent| agent["name"] == name).unwrap()
}

#[test]
fn an_agent_that_is_killed_is_lost_and_named_and_the_rest_goes_on() {
    let _turn = large_turn();
    let loading = Loading::start("killed", 3, "10");
    loading.fleet.signal("a2", "KILL");
    let (record, seen, _fleet) = loading.end();
    assert_eq!(record["outcome"], "complete");
    let sent = assert_accounts(&record);
    assert!(sent <= seen, "nothing is counted that was not sent: {sent} of {seen}");
    assert_eq!(agent_of(&record, "a2")["ended"], "lost", "{:#}", record["fleet"]);
    assert!(agent_of(&record, "a2")["why"].is_string());
    assert!(count(&record["points"][0], "/requests/unaccounted") > 0);
}

#[test]
fn an_agent_that_is_stopped_for_two_seconds_is_counted_whole() {
    let _turn = large_turn();
    let loading = Loading::start("stopped", 2, "6");
    loading.fleet.signal("a1", "STOP");
    std::thread::sleep(Duration::from_secs(2));
    loading.fleet.signal("a1", "CONT");
    let (record, seen, _fleet) = loading.end();
    let sent = assert_accounts(&record);
    // Its measurements arrived afterwards, unless this host was too slow for them to be in time.
    match agent_of(&record, "a1")["ended"].as_str().unwrap() {
        "complete" | "cut-off" => assert_eq!(sent, seen, "{:#}", record["points"][0]["agents"]),
        "late" | "lost" => assert!(sent <= seen),
        other => panic!("{other}"),
    }
}

#[test]
fn a_broker_that_restarts_loses_no_request_from_the_account() {
    let _turn = large_turn();
    let mut loading = Loading::start("restart", 2, "6");
    loading.fleet.restart_broker();
    let (record, seen, fleet) = loading.end();
    let sent = assert_accounts(&record);
    let agents = record["fleet"]["agents"].as_array().unwrap();
    let is_whole = |agent: &Value| agent["ended"] == "complete" || agent["ended"] == "cut-off";
    if agents.iter().all(is_whole) {
        assert_eq!(sent, seen, "{agents:#?}");
    }
    assert!(sent <= seen);
    fleet.await_idle(2);
}

#[test]
fn load_ends_when_its_controller_is_killed() {
    let _turn = large_turn();
    let mut loading = Loading::start("orphaned", 2, "120");
    loading.child.kill().unwrap();
    let killed_ns = monotonic_ns();
    loading.child.wait().unwrap();
    loading.fleet.await_idle(2);
    let begin = Instant::now();
    let mut before = loading.server.served();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = loading.server.served();
        if now == before {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "load goes on");
        before = now;
    }
    let Loading { fleet, server, folder, .. } = loading;
    server.stop();
    let bytes = fs::read(folder.file("arrivals")).unwrap();
    let last = bytes.chunks_exact(8).map(|stamp| u64::from_le_bytes(stamp.try_into().unwrap()));
    let last = last.max().expect("arrivals");
    assert!(last < killed_ns + LEASE_NS + SLACK_NS, "{} ns after", last - killed_ns);
    let said = fleet.agent_log("a1");
    assert!(said.contains("its lease was not renewed"), "{said}");
}

/// The clock of the log of arrivals.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn stop_ends_the_load_of_all_agents() {
    let _turn = large_turn();
    let mut loading = Loading::start("stop", 2, "120");
    let words = with_fleet(&loading.fleet, &["fleet", "stop"]);
    // An agent that is slow to respond is not told.
    wait_until("an order that both agents heard", || {
        let said = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        said.code == 0 && said.stdout == "stopping: a1 a2\n"
    });
    loading.fleet.await_idle(2);
    for agent in ["a1", "a2"] {
        wait_until("the reason", || loading.fleet.agent_log(agent).contains("ceiling fleet stop"));
    }
    let _ = loading.child.kill();
    let _ = loading.child.wait();
}

/// In a closed loop nothing is planned that could be missing.
#[test]
fn the_level_that_an_agent_left_half_way_is_not_whole() {
    let _turn = large_turn();
    let fleet = Fleet::start("left", 2, &[]);
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:10ms"]);
    let url = server.url("/");
    let ramp = ["ramp", &url, "-c", "4..8*2", "-d", "6", "--warmup", "0", "--repeats", "0"];
    let words = with_fleet(&fleet, &[&ramp[..], &["--agents", "2", "--json"]].concat());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = ceiling(&words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("load", || server.served() > 50);
    fleet.signal("a2", "TERM");
    wait_until("the end of its load", || fleet.agent_log("a2").contains("the load ends"));
    let left_ns = monotonic_ns();
    let record = Finished::of(child.wait_with_output().unwrap()).record();
    assert_ne!(agent_of(&record, "a2")["ended"], "complete", "{:#}", record["fleet"]);
    let points = record["points"].as_array().unwrap();
    // On a host that is too slow for this the level was over before.
    let is_over = |point: &&Value| point["window_ns"][1].as_u64().unwrap() < left_ns;
    for point in points.iter().skip_while(is_over) {
        let ended = |name: &str| {
            let agents = point["agents"].as_array().unwrap();
            agents.iter().find(|agent| agent["agent"] == name).unwrap()["ended"].clone()
        };
        assert_ne!(ended("a2"), "complete", "{:#}", point["agents"]);
    }
}

/// How often the broker refuses a user with an agent's file who publishes or subscribes.
fn refusals(fleet: &Fleet, credentials: &str, publish: &[&str], subscribe: &[&str]) -> usize {
    let text = fs::read_to_string(credentials).unwrap();
    let mut client = Client::new(Settings {
        servers: fleet.url.parse().unwrap(),
        credentials: Credentials::parse(&text).unwrap(),
        name: "test".to_string(),
        subjects: subscribe.iter().map(|subject| subject.parse().unwrap()).collect(),
    })
    .unwrap();
    let begin = Instant::now();
    let (mut refused, mut is_asked) = (0, false);
    // The broker responds in order, so the refusal of the last subject comes last.
    while begin.elapsed() < PATIENCE {
        match client.next(Duration::from_millis(50)) {
            Some(Event::Up { .. }) => {
                for subject in publish {
                    client.publish(&subject.parse::<Subject>().unwrap(), b"x").unwrap();
                }
                client.publish(&"the.end".parse::<Subject>().unwrap(), b"x").unwrap();
                is_asked = true;
            }
            Some(Event::Refused { why }) if why.contains("the.end") => return refused,
            Some(Event::Refused { .. }) => refused += 1,
            _ => {}
        }
    }
    panic!("the broker refuses nothing: {is_asked}");
}

#[test]
fn an_agent_speaks_for_itself_alone_and_orders_nobody() {
    let _turn = large_turn();
    let fleet = Fleet::without_agents("permissions", 2);
    let file = fleet.credentials("a1");
    let of = |agent: &str, end: &str| format!("ceiling.test.agent.{agent}.{end}");
    let foreign = [
        of("a2", "up"),
        of("a1", "down"),
        of("a2", "down"),
        "ceiling.test.call".to_string(),
        "ceiling.test.hello.a2".to_string(),
        "ceiling.other.hello.a1".to_string(),
    ];
    let foreign: Vec<&str> = foreign.iter().map(String::as_str).collect();
    assert_eq!(refusals(&fleet, &file, &foreign, &[]), foreign.len());
    let foreign = [of("a2", "down"), of("*", "up"), "ceiling.test.hello.*".to_string()];
    let foreign: Vec<&str> = foreign.iter().map(String::as_str).collect();
    assert_eq!(refusals(&fleet, &file, &[], &foreign), foreign.len());
    let own = [of("a1", "up"), "ceiling.test.hello.a1".to_string()];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    assert_eq!(refusals(&fleet, &file, &own, &[&of("a1", "down"), "ceiling.test.call"]), 0);
}

#[test]
fn what_an_agent_may_not_load_is_refused_with_its_name_and_the_reason() {
    let _turn = large_turn();
    let allow = ["--allow", "http://127.0.0.1:1,https://127.0.0.1:1", "--max-rate", "100"];
    let fleet = Fleet::start("refused", 1, &allow);
    let server = sink();
    let url = server.url("/");
    let refused = |arguments: &[&str], words: &[&str]| {
        let said = measured(&fleet, arguments);
        assert_ne!(said.code, 0, "{}", said.stderr);
        for word in words {
            assert!(said.stderr.contains(word), "'{word}' in {}", said.stderr);
        }
    };
    refused(&["load", &url, "-R", "10", "-d", "1"], &["a1", "--allow"]);
    let closed = "http://127.0.0.1:1/";
    refused(&["load", closed, "-d", "1"], &["a1", "--max-rate", "closed loop"]);
    refused(&["load", closed, "-R", "1000", "-d", "1"], &["a1", "--max-rate", "1000"]);
    let secure = ["load", "https://127.0.0.1:1/", "-k", "-R", "10", "-d", "1"];
    let named = [&secure[..], &["--sni", "internal.prod.example"]].concat();
    refused(&named, &["a1", "--sni", "internal.prod.example", "--allow"]);
    refused(&["load", closed, "-R", "10", "-t", "2"], &["--threads", "ceiling agent"]);
    refused(&["load", closed, "-R", "10", "--agents", "zone=b"], &["zone=b", "a1"]);
    assert_eq!(seen(&server.stop()), 0, "nothing was sent");
}

#[test]
fn a_job_does_not_control_the_terminal_of_an_agent() {
    let _turn = large_turn();
    let fleet = Fleet::start("terminal", 1, &[]);
    let server = sink();
    let url = server.url("/#\x1b[2J");
    measured(&fleet, &["load", &url, "-n", "10", "--warmup", "0"]);
    let said = fleet.agent_log("a1");
    assert!(said.contains("/#\\u{1b}[2J") && !said.contains('\x1b'), "{said:?}");
}

#[test]
fn keys_of_more_agents_leave_the_broker_where_it_listens() {
    let folder = Folder::new("fleet-listen");
    let keys = folder.file("keys");
    for (agent, more) in [("a1", &["--listen", "10.0.0.5:4333"][..]), ("a2", &[])] {
        let said = run(&[&["fleet", "keys", &keys, "--agents", agent][..], more].concat());
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(said.stdout.contains("--nats nats://HOST:4333/default"), "{}", said.stdout);
        let text = fs::read_to_string(folder.path.join("keys/nats/nats.conf")).unwrap();
        assert!(text.contains("\nlisten: \"10.0.0.5:4333\"\n"), "{agent}: {text}");
    }
}

#[test]
fn orders_of_another_key_are_nobodys() {
    let _turn = large_turn();
    let fleet = Fleet::start("forged", 1, &[]);
    let server = sink();
    // A user with the controller's credentials for the broker, but not the key that agents pin.
    let other = fleet.folder.file("other");
    let said = run(&["fleet", "keys", &other, "--agents", "a1", "--name", "test"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let credentials = "controller/controller.creds";
    fs::copy(fleet.folder.file(&format!("keys/{credentials}")), format!("{other}/{credentials}"))
        .unwrap();
    let url = server.url("/");
    let load = ["load", &url, "-R", "10", "-d", "1", "--fleet", &fleet.url, "--fleet-keys", &other];
    let said = run(&load);
    assert_ne!(said.code, 0, "{}", said.stdout);
    assert!(said.stderr.contains("answered"), "{}", said.stderr);
    let told = fleet.agent_log("a1");
    assert!(told.to_lowercase().contains("sign"), "{told}");
    assert_eq!(seen(&server.stop()), 0, "nothing was sent");
    // A slow agent is not listed, and gets no order to stop.
    let stop = |_| run(&["fleet", "stop", "--fleet", &fleet.url, "--fleet-keys", &other]);
    let said = (0..20).map(stop).find(|said| !said.stdout.contains("no agent")).unwrap();
    assert_eq!(said.code, 5, "{}", said.stdout);
    assert!(said.stderr.contains("order to stop: a1;"), "{}", said.stderr);
}
