//! Walls in front of accept.

use crate::client::{Client, get};
use crate::sink::{Sink, number};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn one_listener_deals_connections_out_in_turn() {
    let sink = Sink::start("--threads 3 --single-listener");
    let mut clients: Vec<Client> = (0..9).map(|_| sink.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/simple").status, 200);
    }
    let pid = number(&sink.listening, "pid");
    let sockets = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .filter(|link| link.to_string_lossy().starts_with("socket:"))
        .count();
    assert_eq!(sockets, clients.len() + 1, "one listening socket");
    assert_eq!(number(&sink.stop(), "connections_accepted"), 9);
}

#[test]
fn a_slow_acceptor_takes_its_time_for_each_connection() {
    let sink = Sink::start("--threads 2 --single-listener --accept-delay 30ms");
    let begin = Instant::now();
    let mut clients: Vec<Client> = (0..10).map(|_| sink.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(&get("/simple")));
    clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    assert!(begin.elapsed() >= Duration::from_millis(10 * 30), "{:?}", begin.elapsed());
}

/// Ten responses arrive while a connection waits to be accepted; the sink's own count shows that it
/// still waits. A test that gets no CPU time sees it accepted too early, so one good attempt is
/// enough.
#[test]
fn serving_goes_on_while_the_acceptor_sleeps() {
    let sink = Sink::start("--threads 2 --single-listener --accept-delay 500ms");
    // The first connection goes to the accepting thread, the one that could sleep.
    let mut old = sink.connect();
    let goes_on = (0..5).any(|_| {
        let before = connections_accepted(&mut old);
        let mut waiting = sink.connect();
        (0..10).for_each(|_| assert_eq!(old.get("/simple").status, 200));
        let after = connections_accepted(&mut old);
        // Each attempt starts with an empty queue.
        assert_eq!(waiting.get("/simple").status, 200);
        before == after
    });
    assert!(goes_on, "responses wait for the acceptor");
}

/// Requested on an already accepted connection: a new one would have to wait.
fn connections_accepted(client: &mut Client) -> u64 {
    let stats = client.get("/stats");
    number(&serde_json::from_slice(&stats.body).unwrap(), "connections_accepted")
}

/// The kernel completes handshakes up to the backlog and one more; then it stops responding to
/// SYNs.
#[test]
fn a_short_backlog_and_a_slow_acceptor_overflow() {
    let sink = Sink::start("--threads 1 --single-listener --backlog 4 --accept-delay 60s");
    let connects = (0..12)
        .filter(|_| TcpStream::connect_timeout(&sink.addr, Duration::from_millis(150)).is_ok());
    // One by one: an established connection stays in the queue even when its client has gone.
    assert_eq!(connects.count(), 5);
}

/// A naive server without free descriptors neither dies nor gives up; it spins.
#[test]
fn without_descriptors_it_keeps_trying() {
    let sink = Sink::start("--threads 1 --max-fds 24");
    let mut clients: Vec<Client> = (0..40).map(|_| sink.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(&get("/simple")));
    assert_eq!(clients[0].response().status, 200);
    thread::sleep(Duration::from_millis(100));
    let mut waiting = clients.split_off(10);
    drop(clients);
    let mut answered = 0;
    while let Some(mut client) = (!waiting.is_empty()).then(|| waiting.remove(0)) {
        assert_eq!(client.response().status, 200);
        answered += 1;
    }
    assert_eq!(answered, 30, "places that get free are taken");
    let stopped = sink.stop();
    assert!(number(&stopped, "accept_errors") > 100, "it spins: {stopped}");
    assert_eq!(number(&stopped, "connections_accepted"), 40);
}
