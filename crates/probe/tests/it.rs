//! The probe against the host it is tested on: real files, sockets and processes.
//!
//! Nothing here depends on how fast anything is: tests wait for conditions, with a long time limit.

#![allow(unsafe_code, reason = "a listener with a backlog of its own")]

mod guards;

use guards::{Guard, config, wait_for, wait_for_reading};
use model::reading::{Data, Reading, Value, Values};
use model::root::Root;
use probe::fake_host::{SERVER_PID, Size, write_host};
use probe::{Config, FindError, Sampler, find_server, server_facts};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen on loopback");
    let address = listener.local_addr().expect("address of a listener");
    (listener, address)
}

#[test]
fn the_sampler_sees_this_host_and_itself() {
    let sampler = Sampler::start(config());
    let rounds = |data: &Data| match data {
        Data::ProbeCost(cost) if cost.rounds >= 3 => Some(*cost),
        _ => None,
    };
    let (cost, mut readings) = wait_for_reading(&sampler, "three rounds", rounds);
    assert!(cost.cpu_ns > 0 && cost.elapsed_ns >= cost.cpu_ns);
    readings.extend(sampler.stop());

    let windows_are_sound = readings.iter().all(|reading| reading.begin_ns <= reading.end_ns);
    assert!(windows_are_sound);
    let totals: Vec<u64> = readings
        .iter()
        .filter_map(|reading| match &reading.data {
            Data::Cpus(cpus) => Some(cpus.iter().map(|cpu| cpu.total()).sum()),
            _ => None,
        })
        .collect();
    assert!(totals.len() >= 3 && totals.is_sorted(), "{totals:?}");
    let sees_the_probe = readings.iter().any(|reading| match &reading.data {
        Data::ClientThreads(threads) => threads.iter().any(|thread| thread.name == "probe"),
        _ => false,
    });
    assert!(sees_the_probe);
    for reading in &readings {
        if let Data::Unreadable(unreadable) = &reading.data {
            eprintln!("unreadable here: {} ({})", unreadable.source, unreadable.why);
        }
    }
}

#[test]
fn cpu_totals_grow() {
    let sampler = Sampler::start(config());
    let mut first = None;
    let grows = |data: &Data| match data {
        Data::Cpus(cpus) => {
            let total: u64 = cpus.iter().map(|cpu| cpu.total()).sum();
            (total > *first.get_or_insert(total)).then_some(())
        }
        _ => None,
    };
    wait_for_reading(&sampler, "CPU time to pass", grows);
}

#[test]
fn stopping_reads_everything_once_more() {
    let sampler = Sampler::start(Config { period_ns: 3_600_000_000_000, ..Config::default() });
    let first = |data: &Data| matches!(data, Data::ProbeCost(_)).then_some(());
    wait_for_reading(&sampler, "the first round", first);
    let begin = Instant::now();
    let last = sampler.stop();
    assert!(begin.elapsed() < Duration::from_secs(20), "stop must not wait for the next round");
    let has = |pick: fn(&Data) -> bool| last.iter().any(|reading| pick(&reading.data));
    assert!(has(|data| matches!(data, Data::Cpus(_))));
    assert!(has(|data| matches!(data, Data::Interrupts(_))), "also what is read slowly");
    assert!(matches!(last.last().map(|last| &last.data), Some(Data::ProbeCost(_))));
}

#[test]
fn our_own_listener_is_found() {
    let (listener, address) = listen();
    assert_eq!(find_server(address), Ok(std::process::id()));
    drop(listener);
    // A child that another test is just starting may hold a copy until it runs its own program.
    wait_for("the listener to close", || {
        (find_server(address) == Err(FindError::NobodyListens(address))).then_some(())
    });
}

#[test]
fn an_address_elsewhere_is_not_ours() {
    let address: SocketAddr = "192.0.2.1:80".parse().unwrap();
    assert_eq!(find_server(address), Err(FindError::NotLocal(address.ip())));
}

#[test]
fn a_child_that_shares_our_listener_is_below_us() {
    let (listener, address) = listen();
    let shared = OwnedFd::from(listener.try_clone().unwrap());
    let child = Guard::sh("sleep 60 & wait", shared);
    wait_for("the grandchild", || facts_if_tree_of(&child, 2));
    assert_eq!(find_server(address), Ok(std::process::id()));
}

#[test]
fn the_parent_of_workers_is_found_though_it_closed_the_socket() {
    let (listener, address) = listen();
    let script = "sleep 60 & sleep 60 & exec >&-; wait";
    let master = Guard::sh(script, OwnedFd::from(listener));
    wait_for("two workers", || facts_if_tree_of(&master, 3));
    let found = wait_for("the master to close its copy", || {
        find_server(address).ok().filter(|_| !has_standard_output(master.id()))
    });
    assert_eq!(found, master.id());
    let facts = server_facts(found, Some(address.port()), "port").unwrap();
    assert_eq!((facts.listeners, facts.pids.len()), (1, 3), "{facts:?}");
}

fn facts_if_tree_of(child: &Guard, processes: usize) -> Option<()> {
    let facts = server_facts(child.id(), Some(1), "test").ok()?;
    (facts.pids.len() == processes).then_some(())
}

fn has_standard_output(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).join("fd/1").symlink_metadata().is_ok()
}

#[test]
fn a_server_that_dies_is_survived_and_told() {
    let server = Guard::sh("sleep 60 & wait", Stdio::null());
    let pid = server.id();
    let sampler = Sampler::start(Config { server_pid: Some(pid), ..config() });
    let threads = |data: &Data| match data {
        Data::ServerThreads(threads) if threads.len() == 2 => Some(threads.clone()),
        _ => None,
    };
    let (threads, _) = wait_for_reading(&sampler, "threads of the server", threads);
    assert!(threads.iter().any(|thread| thread.pid == pid && thread.name == "sh"));
    drop(server);
    let ended = |data: &Data| match data {
        Data::Unreadable(unreadable) if unreadable.why.contains("ended") => Some(()),
        _ => None,
    };
    wait_for_reading(&sampler, "the end of the server", ended);
    let after = sampler.stop();
    assert!(after.iter().any(|reading| matches!(reading.data, Data::Cpus(_))));
    let is_server = |reading: &Reading| matches!(reading.data, Data::ServerThreads(_));
    assert!(!after.iter().any(is_server), "a server that ended has no threads");
}

#[test]
fn open_files_of_the_server_are_counted() {
    let server =
        Guard::sh("exec 3</dev/null 4</dev/null 5</dev/null; wait; sleep 60", Stdio::null());
    let sampler = Sampler::start(Config { server_pid: Some(server.id()), ..config() });
    let files = |data: &Data| match data {
        Data::ServerFiles(files) if files.open >= 6 => Some(*files),
        _ => None,
    };
    let (files, _) = wait_for_reading(&sampler, "six descriptors", files);
    assert!(files.limit > 6, "{files:?}");
}

/// Connections and bytes received of each process of the server, in the order of the former.
fn shares(data: &Data) -> Option<Vec<[u64; 2]>> {
    let values = match data {
        Data::Values(of) if of.source == Values::SERVER_SOCKETS => of.values.values(),
        _ => return None,
    };
    let of_process = |value: &Value| match value {
        Value::Named(of) => [of[Values::CONNECTIONS], of[Values::RECEIVED_BYTES]],
        _ => panic!("{value:?}"),
    };
    let mut shares: Vec<[u64; 2]> = values.map(of_process).collect();
    shares.sort_unstable();
    Some(shares)
}

#[test]
fn connections_and_bytes_are_those_of_the_process_that_holds_them() {
    let (listener, address) = listen();
    let connections: Vec<(TcpStream, OwnedFd)> = (0..4)
        .map(|_| {
            let client = TcpStream::connect(address).unwrap();
            (client, listener.accept().unwrap().0.into())
        })
        .collect();
    let (mut clients, mut servers): (Vec<_>, Vec<_>) = connections.into_iter().unzip();
    // The fourth is held by this process, which is no part of the server.
    let _foreign = servers.pop();
    let streams: [OwnedFd; 3] = servers.try_into().unwrap();
    // The first worker has the first connection, the other worker the next two, the parent none.
    let workers = "exec 3<&0 0</dev/null; sleep 300 1>/dev/null 2>/dev/null & sleep 300 3<&- & \
                   exec 3<&- 1>/dev/null 2>/dev/null; wait";
    let server = Guard::sh_with(workers, streams.map(Stdio::from));
    let (port, server_pid) = (Some(address.port()), Some(server.id()));
    let sampler = Sampler::start(Config { port, server_pid, ..config() });
    let wait = |what: &str, expected: [[u64; 2]; 3]| {
        let is_it = |data: &Data| shares(data).filter(|shares| *shares == expected);
        wait_for_reading(&sampler, what, is_it);
    };
    wait("a split of the connections", [[0, 0], [1, 0], [2, 0]]);
    let mut send = |all: [usize; 4]| {
        for (client, bytes) in clients.iter_mut().zip(all) {
            client.write_all(&vec![b'x'; bytes]).unwrap();
        }
    };
    send([100, 30, 5, 7000]);
    wait("a split of the bytes", [[0, 0], [1, 100], [2, 35]]);
    // What was counted at one reading is not counted again at the next.
    send([1, 0, 2, 0]);
    wait("a split of more bytes", [[0, 0], [1, 101], [2, 37]]);
}

#[test]
fn a_server_of_one_process_shares_nothing() {
    let (_listener, address) = listen();
    let server = Guard::sh("exec sleep 300", Stdio::null());
    let (port, server_pid) = (Some(address.port()), Some(server.id()));
    let sampler = Sampler::start(Config { port, server_pid, ..config() });
    let (shares, _) = wait_for_reading(&sampler, "a reading of the connections", shares);
    assert_eq!(shares, Vec::<[u64; 2]>::new());
}

#[test]
fn a_listener_that_nobody_accepts_from_fills_up() {
    let (listener, address) = listen();
    // SAFETY: listen takes no pointers; on a socket that listens it changes the backlog.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 4) }, 0);
    // Of connections that arrive at once some may be dropped; they try again after 1 s and 3 s.
    let connecting = move || TcpStream::connect_timeout(&address, Duration::from_secs(4));
    let clients: Vec<_> = (0..8).map(|_| std::thread::spawn(connecting)).collect();
    let clients: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();

    let port = Some(address.port());
    let sampler = Sampler::start(Config { port, ..config() });
    let full = |data: &Data| match data {
        Data::Listeners(listeners) if listeners.first()?.queued == 5 => Some(listeners.clone()),
        _ => None,
    };
    let (listeners, _) = wait_for_reading(&sampler, "a full accept queue", full);
    assert_eq!((listeners.len(), listeners[0].backlog), (1, 4));
    assert!(clients.iter().filter(|client| client.is_ok()).count() >= 5);
}

#[test]
fn both_ends_of_connections_are_sampled() {
    let (listener, address) = listen();
    let client = TcpStream::connect(address).unwrap();
    let (server, _) = listener.accept().unwrap();
    std::io::Write::write_all(&mut &client, b"never read").unwrap();
    let port = Some(address.port());
    let sampler = Sampler::start(Config { port, ..config() });
    let unread = |data: &Data| match data {
        Data::Connections(connections) => {
            let unread = connections.iter().any(|end| end.server_side && end.receive_queue == 10);
            (unread && connections.len() == 2).then(|| connections.clone())
        }
        _ => None,
    };
    let (connections, _) = wait_for_reading(&sampler, "ten bytes not read", unread);
    assert!(connections.iter().any(|end| !end.server_side && end.cwnd > 0));
    assert!(connections[0].cookie != connections[1].cookie);
    drop((server, client));
}

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_host_of_128_cpus_is_read_whole_and_its_cost_told() {
    let name = format!("ceiling-probe-host-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    let size = Size { cpus: 128, queues: 64, other_interrupts: 300, threads: 400 };
    write_host(&folder.0, size).unwrap();
    let root = Root::below(&folder.0);
    let sampler = Sampler::start(Config { server_pid: Some(SERVER_PID), root, ..config() });
    let three = |data: &Data| match data {
        Data::ProbeCost(cost) if cost.rounds >= 3 => Some(*cost),
        _ => None,
    };
    let (_, mut readings) = wait_for_reading(&sampler, "three rounds", three);
    readings.extend(sampler.stop());

    let has = |pick: fn(&Data) -> bool| readings.iter().any(|reading| pick(&reading.data));
    assert!(has(|data| matches!(data, Data::Cpus(cpus) if cpus.len() == 128)));
    assert!(has(|data| matches!(data, Data::Softnet(rows) if rows.len() == 128)));
    assert!(has(|data| matches!(data, Data::Interrupts(all) if all.len() == 364)));
    assert!(has(|data| matches!(data, Data::ServerThreads(all) if all.len() == 400)));
    assert!(has(|data| matches!(data, Data::ServerThreadsNow(all) if all.len() == 256)));
    assert!(has(|data| matches!(data, Data::CpuClocks(all) if all.len() == 128)));
    assert!(has(
        |data| matches!(data, Data::Values(all) if all.values.contains_key("node1.numa_miss"))
    ));
    assert!(has(|data| matches!(data, Data::ServerQuota(all) if all[0].quota_us == Some(50_000))));
    let costs: Vec<u64> = readings
        .iter()
        .filter_map(|reading| match &reading.data {
            Data::ProbeCost(cost) => Some(cost.cpu_ns),
            _ => None,
        })
        .collect();
    assert!(costs.len() >= 4 && costs[0] > 0 && costs.is_sorted(), "{costs:?}");
}
