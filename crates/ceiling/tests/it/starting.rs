//! Servers that a probe starts for a client: only from its list, within the limits of the list, and
//! none outlives the client, the probe or the connection.

use crate::harness::probing::{Probe, call};
use crate::harness::{Folder, PATIENCE, program, signal, turn};
use model::starting::{Limits, StartOrder};
use remote::{Call, FarError, FarServer};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Passes the call and the log to a test that acts as a client, see [`a_client_of_other_tests`].
const CLIENT: &str = "CEILING_TEST_CLIENT";

/// A list of real servers, and one that ignores SIGTERM and prints a secret.
fn list(folder: &Folder) -> String {
    let target = |name: &str, program_name: &str, more: &str, allow: &str| {
        let path = program(program_name).display().to_string();
        format!(
            "[[target]]\nname = \"{name}\"\n\
             run = [\"{path}\", \"--addr\", \"{{addr}}\", \"--port\", \"{{port}}\"{more}]\n\
             ready = {{ event = \"listening\" }}\n{allow}\n"
        )
    };
    let allow = "[target.allow]\nargs = { \"--workers\" = \"1..8\", \"--log\" = [\"off\"] }\n\
                 env = { GOMAXPROCS = \"1..8\" }\ncpus = \"0\"\n\
                 limits = { cpu = \"0.1..8\", memory = \"64M..8G\" }";
    let script = "echo token=hunter2 >&2; printf '\\033[2J\\n' >&2; trap '' TERM; \
                  printf '{\\\"event\\\":\\\"listening\\\",\\\"addr\\\":\\\"0.0.0.0:7\\\"}\\n'; \
                  exec sleep 600";
    let stays = format!(
        "[[target]]\nname = \"stays\"\nrun = [\"sh\", \"-c\", '''{}''']\n\
         ready = {{ event = \"listening\" }}\n",
        script.replace("\\\"", "\"")
    );
    let text = [
        target("prefork", "target-nethttp", ", \"--prefork\"", allow),
        target("sink", "target-sink", "", ""),
        stays,
    ];
    let path = folder.file("servers.toml");
    fs::write(&path, text.concat()).unwrap();
    path
}

struct Ground {
    folder: Folder,
    probe: Probe,
}

impl Ground {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let list = list(&folder);
        let probe = Probe::start(&folder, &["--allow-start", &list]);
        Self { folder, probe }
    }

    fn log(&self) -> PathBuf {
        PathBuf::from(self.folder.file("server.log"))
    }

    fn start(&self, server: &str, args: &[&str]) -> FarServer {
        let order = order(server, args);
        FarServer::start(&self.probe.call(), &order, &AtomicBool::new(false), &self.log()).unwrap()
    }
}

fn order(server: &str, args: &[&str]) -> StartOrder {
    let args = args.iter().map(|arg| arg.to_string()).collect();
    StartOrder { server: server.to_string(), args, ..StartOrder::default() }
}

/// A server process and its descendants.
fn tree(pid: u32) -> Vec<u32> {
    let below = host::tree::descendants(&host::Root::default(), pid).unwrap();
    below.into_iter().map(|(pid, _)| pid).chain([pid]).collect()
}

fn runs(pid: u32) -> bool {
    host::process::stat(pid).is_ok_and(|stat| !stat.has_ended())
}

/// Waits until none of these processes runs.
fn await_end(pids: &[u32]) {
    let begin = Instant::now();
    while pids.iter().any(|pid| runs(*pid)) {
        assert!(begin.elapsed() < 2 * PATIENCE, "of {pids:?} some still run");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the server is reported as lost; returns the reason.
fn lost(server: &mut FarServer) -> String {
    let begin = Instant::now();
    loop {
        if let Err(why) = server.alive() {
            return why;
        }
        assert!(begin.elapsed() < 2 * PATIENCE, "it is not known to be lost");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_listed_server_is_started_measured_and_ended_for_a_client() {
    let _turn = turn();
    let mut ground = Ground::new("start-server");
    let mut server = ground.start("prefork", &["--workers", "2"]);
    assert_eq!(server.name(), "prefork");
    let said = ground.probe.says("asks for");
    assert!(said.contains("asks for prefork --workers 2"), "{said}");
    ground.probe.says("prefork listens at 127.0.0.1:");
    let pids = tree(server.pid());
    assert!(pids.len() >= 3, "two workers and the one that started them: {pids:?}");
    TcpStream::connect(server.addr()).unwrap();
    assert_eq!(server.alive(), Ok(()));
    let exit = server.end();
    assert_eq!(exit.fault, None);
    assert_eq!(exit.stopped.unwrap()["event"], "stopped");
    assert!(!pids.iter().any(|pid| runs(*pid)), "nothing runs once it is said to have ended");
    ground.probe.says("prefork: ended in order");
}

#[test]
fn what_it_writes_is_passed_on_without_secrets_and_safe_for_a_terminal() {
    let _turn = turn();
    let ground = Ground::new("start-writes");
    let server = ground.start("stays", &[]);
    let host = ground.probe.address().rsplit_once(':').unwrap().0;
    assert_eq!(server.addr(), format!("{host}:7"), "where the probe is reached");
    let pids = tree(server.pid());
    let log = || fs::read_to_string(ground.log()).unwrap();
    let begin = Instant::now();
    while log().lines().count() < 2 && begin.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(log(), "token=***\n\\u{1b}[2J\n");
    // It does not end in order, so it is killed and the measurement is not trusted.
    let exit = server.end();
    assert!(exit.fault.unwrap().contains("did not end within 15 s"));
    assert!(!pids.iter().any(|pid| runs(*pid)));
}

#[test]
fn what_the_list_does_not_allow_is_refused_with_what_it_does() {
    let _turn = turn();
    let mut ground = Ground::new("start-refused");
    let prefork = |change: &dyn Fn(&mut StartOrder)| {
        let mut order = order("prefork", &[]);
        change(&mut order);
        order
    };
    let env = |name: &str, value: &str| {
        prefork(&|order| order.env = BTreeMap::from([(name.to_string(), value.to_string())]))
    };
    let limits =
        |cpu, memory_bytes| prefork(&move |order| order.limits = Limits { cpu, memory_bytes });
    let cases: [(StartOrder, &[&str]); 15] = [
        (order("/bin/sh", &["-c", "id"]), &["no target '/bin/sh'", "prefork, sink, stays"]),
        (order("../sink", &[]), &["no target '../sink'"]),
        (order("prefork", &["--tls", "/etc/shadow"]), &["'--tls'", "--log off, --workers 1..8"]),
        (order("prefork", &["; id"]), &["'; id'", "--workers 1..8"]),
        (order("prefork", &["--workers", "9"]), &["--workers 9", "allows 1..8"]),
        (order("prefork", &["--workers=$(id)"]), &["--workers $(id)", "allows 1..8"]),
        (order("prefork", &["--workers"]), &["--workers without a value"]),
        (order("prefork", &["--log", "/etc/motd"]), &["--log /etc/motd", "allows off"]),
        (order("sink", &["--threads", "2"]), &["'--threads'", "allows none", "[target.allow]"]),
        (env("LD_PRELOAD", "/tmp/x.so"), &["LD_PRELOAD", "allows GOMAXPROCS"]),
        (env("GOMAXPROCS", "64"), &["GOMAXPROCS=64", "allows 1..8"]),
        (prefork(&|order| order.cpus = "0-1".to_string()), &["CPUs 0-1", "allows 0"]),
        (prefork(&|order| order.services = vec!["postgres".to_string()]), &["'postgres'", "none"]),
        (limits(Some(64.0), None), &["64 CPUs", "allows 0.1..8"]),
        (limits(None, Some(1)), &["of memory", "allows 64M..8G"]),
    ];
    let (call, log, stop) = (ground.probe.call(), ground.log(), AtomicBool::new(false));
    for (order, words) in &cases {
        let refused = FarServer::start(&call, order, &stop, &log).map(|server| server.pid());
        let why = refused.expect_err(&format!("{order:?}"));
        assert!(matches!(why, FarError::NotStarted { .. }), "{why}");
        for word in *words {
            assert!(why.to_string().contains(word), "'{word}' in: {why}");
        }
        ground.probe.says("not started");
    }
    let folder = Folder::new("start-plain");
    let plain = Probe::start(&folder, &[]);
    let refused = FarServer::start(&plain.call(), &order("sink", &[]), &stop, &log);
    let why = refused.map(|server| server.pid()).unwrap_err().to_string();
    assert!(why.contains("without --allow-start"), "{why}");
}

#[test]
fn a_server_that_is_killed_is_known_to_be_lost() {
    let _turn = turn();
    let ground = Ground::new("start-killed");
    let mut server = ground.start("prefork", &["--workers", "2"]);
    let pids = tree(server.pid());
    signal(server.pid(), "KILL");
    let why = lost(&mut server);
    assert!(why.contains("target prefork: died during the cell (signal: 9"), "{why}");
    await_end(&pids);
    assert!(server.end().fault.unwrap().contains("died during the cell"));
}

#[test]
fn nothing_outlives_a_probe_that_is_killed() {
    let _turn = turn();
    let mut ground = Ground::new("start-probe");
    let mut server = ground.start("prefork", &["--workers", "2"]);
    let mut pids = tree(server.pid());
    let mut other = ground.start("stays", &[]);
    pids.extend(tree(other.pid()));
    ground.probe.child.kill().unwrap();
    ground.probe.child.wait().unwrap();
    await_end(&pids);
    let why = lost(&mut server);
    assert!(why.contains("the probe that started it was lost"), "{why}");
    lost(&mut other);
}

#[test]
fn a_probe_that_is_stopped_ends_its_servers_first() {
    let _turn = turn();
    let mut ground = Ground::new("start-stopped");
    let mut server = ground.start("sink", &[]);
    let pids = tree(server.pid());
    ground.probe.signal("TERM");
    ground.probe.child.wait().unwrap();
    assert!(!pids.iter().any(|pid| runs(*pid)));
    lost(&mut server);
}

/// Not a test by itself: another test starts it as a process, and kills it.
#[test]
fn a_client_of_other_tests() {
    let Ok(words) = env::var(CLIENT) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let call = call(words[0], words[1], words[2]);
    let stop = AtomicBool::new(false);
    let order = order("prefork", &["--workers", "2"]);
    let server = FarServer::start(&call, &order, &stop, Path::new(words[3])).unwrap();
    fs::write(words[4], server.pid().to_string()).unwrap();
    loop {
        thread::park();
    }
}

#[test]
fn nothing_outlives_a_client_that_is_killed() {
    let _turn = turn();
    let mut ground = Ground::new("start-client");
    let (call, pid_file) = (ground.probe.call(), ground.folder.file("pid"));
    let (token, log) = (call.token_file.display(), ground.log());
    let words = format!("{} {token} {} {} {pid_file}", call.address, call.pin, log.display());
    let mut client = Command::new(env::current_exe().unwrap())
        .args(["--exact", "starting::a_client_of_other_tests"])
        .env(CLIENT, words)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    ground.probe.says("prefork listens");
    let begin = Instant::now();
    let pid: u32 = loop {
        match fs::read_to_string(&pid_file).unwrap_or_default().parse() {
            Ok(pid) => break pid,
            Err(_) => assert!(begin.elapsed() < PATIENCE),
        }
        thread::sleep(Duration::from_millis(10));
    };
    let pids = tree(pid);
    client.kill().unwrap();
    client.wait().unwrap();
    await_end(&pids);
    ground.probe.says("gone");
}

/// Forwards bytes until the flag is set; then it holds them back and keeps the connection open.
fn pass(mut from: TcpStream, mut to: TcpStream, is_stalled: &AtomicBool) -> io::Result<()> {
    let mut piece = [0; 4096];
    loop {
        let count = from.read(&mut piece)?;
        while is_stalled.load(Ordering::Relaxed) {
            thread::park();
        }
        if count == 0 {
            return to.shutdown(Shutdown::Both);
        }
        to.write_all(&piece[..count])?;
    }
}

/// Listens, and connects the next client to `to`; returns both streams, so that the test can cut
/// the connection.
fn between(to: &str, is_stalled: &Arc<AtomicBool>) -> (String, thread::JoinHandle<[TcpStream; 2]>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (to, is_stalled) = (to.to_string(), Arc::clone(is_stalled));
    let worker = thread::spawn(move || {
        let (near, far) = (listener.accept().unwrap().0, TcpStream::connect(to).unwrap());
        for (from, to) in [(&near, &far), (&far, &near)] {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let is_stalled = Arc::clone(&is_stalled);
            thread::spawn(move || pass(from, to, &is_stalled));
        }
        [near, far]
    });
    (address, worker)
}

#[test]
fn nothing_outlives_a_connection_that_is_cut() {
    let _turn = turn();
    let ground = Ground::new("start-cut");
    let (address, worker) = between(ground.probe.address(), &Arc::default());
    let call = Call { address, ..ground.probe.call() };
    let order = order("prefork", &["--workers", "2"]);
    let mut server =
        FarServer::start(&call, &order, &AtomicBool::new(false), &ground.log()).unwrap();
    let pids = tree(server.pid());
    for stream in worker.join().unwrap() {
        stream.shutdown(Shutdown::Both).unwrap();
    }
    await_end(&pids);
    lost(&mut server);
}

/// As if all packets were lost: neither end hears from the other, and no connection is closed.
#[test]
fn nothing_outlives_a_client_that_falls_silent() {
    let _turn = turn();
    let mut ground = Ground::new("start-silent");
    let is_stalled = Arc::default();
    let (address, worker) = between(ground.probe.address(), &is_stalled);
    let call = Call { address, ..ground.probe.call() };
    let order = order("prefork", &["--workers", "2"]);
    let mut server =
        FarServer::start(&call, &order, &AtomicBool::new(false), &ground.log()).unwrap();
    let pids = tree(server.pid());
    let _streams = worker.join().unwrap();
    is_stalled.store(true, Ordering::Relaxed);
    await_end(&pids);
    ground.probe.says("timed out waiting for the client");
    let why = lost(&mut server);
    assert!(why.contains("sent nothing for 15 s"), "{why}");
}
