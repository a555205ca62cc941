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
    let mut old = sink.connect();
    old.get("/simple");
    let begin = Instant::now();
    let mut clients: Vec<Client> = (0..10).map(|_| sink.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(&get("/simple")));
    // Serving goes on while the acceptor sleeps.
    let asked = Instant::now();
    assert_eq!(old.get("/simple").status, 200);
    let served = asked.elapsed();
    clients.iter_mut().for_each(|client| assert_eq!(client.answer().status, 200));
    assert!(begin.elapsed() >= Duration::from_millis(10 * 30 - 30), "{:?}", begin.elapsed());
    assert!(served < begin.elapsed(), "{served:?}");
}

/// The kernel completes handshakes up to the backlog and one more; then it stops to answer SYNs.
#[test]
fn a_short_backlog_and_a_slow_acceptor_overflow() {
    let sink = Sink::start("--threads 1 --single-listener --backlog 4 --accept-delay 60s");
    let connects = (0..12)
        .filter(|_| TcpStream::connect_timeout(&sink.addr, Duration::from_millis(150)).is_ok());
    // One by one: a connection that was made stays in the queue even when its client has gone.
    assert_eq!(connects.count(), 5);
}

/// A naive server out of descriptors: it neither dies nor gives up, and spins meanwhile.
#[test]
fn without_descriptors_it_keeps_trying() {
    let sink = Sink::start("--threads 1 --max-fds 24");
    let mut clients: Vec<Client> = (0..40).map(|_| sink.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(&get("/simple")));
    assert_eq!(clients[0].answer().status, 200);
    thread::sleep(Duration::from_millis(100));
    let mut waiting = clients.split_off(10);
    drop(clients);
    let mut answered = 0;
    while let Some(mut client) = (!waiting.is_empty()).then(|| waiting.remove(0)) {
        assert_eq!(client.answer().status, 200);
        answered += 1;
    }
    assert_eq!(answered, 30, "places that get free are taken");
    let stopped = sink.stop();
    assert!(number(&stopped, "accept_errors") > 100, "it spins: {stopped}");
    assert_eq!(number(&stopped, "connections_accepted"), 40);
}
