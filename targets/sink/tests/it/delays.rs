//! Delays: never early, true in the record, counted from the arrival.

use crate::client::get;
use crate::sink::{Sink, number};
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;

fn service(sink: Sink) -> Value {
    sink.stop()["service_ns"].take()
}

/// Asks `count` times on one connection, one after the other.
fn ask(sink: &Sink, count: usize) {
    let mut client = sink.connect();
    (0..count).for_each(|_| assert_eq!(client.get("/simple").status, 200));
}

/// The median of the sink's own record is right to 1 %. On a busy machine a thread can wake late,
/// so the best of some attempts counts; no answer of any attempt may be early.
#[test]
fn a_fixed_delay_is_true() {
    for clockwork in ["pwait2", "timerfd"] {
        let sink = Sink::start(&format!("--threads 1 --delay fixed:5ms --clockwork {clockwork}"));
        let mut best = u64::MAX;
        for _ in 0..20 {
            sink.reset();
            ask(&sink, 40);
            let service = sink.stats()["service_ns"].take();
            assert!(number(&service, "min") >= 5 * MS, "{clockwork}: {service}");
            best = best.min(number(&service, "p50"));
            if best <= 5 * MS + 5 * MS / 100 {
                break;
            }
        }
        assert!(best <= 5 * MS + 5 * MS / 100, "{clockwork}: median {best} ns at best");
    }
}

#[test]
fn delays_have_their_distribution() {
    let sink = Sink::start("--threads 1 --delay uniform:1ms..3ms --seed 3");
    ask(&sink, 200);
    let uniform = service(sink);
    assert!(number(&uniform, "min") >= MS, "{uniform}");
    assert!((1_500_000..4_000_000).contains(&number(&uniform, "p50")), "{uniform}");

    let sink = Sink::start("--threads 1 --delay exp:2ms");
    ask(&sink, 300);
    let exponential = service(sink);
    assert!((1_500_000..6_000_000).contains(&number(&exponential, "mean")), "{exponential}");
    assert!(number(&exponential, "p50") < number(&exponential, "mean"), "{exponential}");
    assert!(number(&exponential, "max") > 5 * MS, "{exponential}");

    let sink = Sink::start("--threads 1 --delay bimodal:0ms,40ms@20%");
    ask(&sink, 100);
    let bimodal = service(sink);
    assert!(number(&bimodal, "p50") < 35 * MS, "{bimodal}");
    assert!(number(&bimodal, "p90") >= 40 * MS, "{bimodal}");
}

#[test]
fn the_same_seed_gives_the_same_delays() {
    let slow = |seed: u32| {
        let sink = Sink::start(&format!("--threads 1 --delay bimodal:0ms,60ms@30% --seed {seed}"));
        let mut client = sink.connect();
        let times = (0..12).map(|_| {
            let begin = Instant::now();
            client.get("/simple");
            begin.elapsed() >= Duration::from_millis(50)
        });
        times.collect::<Vec<bool>>()
    };
    let first = slow(7);
    assert!(first.contains(&true) && first.contains(&false));
    // A machine that stops for 50 ms can only make answers slow, so one good attempt is enough.
    assert!((0..5).any(|_| slow(7) == first));
}

#[test]
fn answers_stay_in_order_and_waiting_is_recorded() {
    let sink = Sink::start("--threads 1 --delay bimodal:0ms,50ms@30%");
    let mut client = sink.connect();
    let sizes = 0..40;
    client.send(&sizes.clone().map(|size| get(&format!("/bytes/{size}"))).collect::<String>());
    for size in sizes {
        assert_eq!(client.answer().body.len(), size);
    }
    let record = service(sink);
    // With 30 % slow answers nearly every later one waits behind a slow one.
    assert!(number(&record, "p50") >= 50 * MS, "{record}");
}

#[test]
fn delays_of_different_connections_do_not_add_up() {
    let sink = Sink::start("--threads 1 --delay fixed:100ms");
    let mut clients: Vec<_> = (0..50).map(|_| sink.connect()).collect();
    let begin = Instant::now();
    clients.iter_mut().for_each(|client| client.send(&get("/simple")));
    clients.iter_mut().for_each(|client| assert_eq!(client.answer().status, 200));
    assert!(begin.elapsed() >= Duration::from_millis(100));
    assert!(begin.elapsed() < Duration::from_millis(2_500), "not 50 times 100 ms");
}

#[test]
fn health_and_stats_are_not_delayed() {
    let sink = Sink::start("--threads 1 --delay fixed:10s");
    let begin = Instant::now();
    assert_eq!(sink.connect().get("/healthz").body, b"ok");
    assert_eq!(number(&sink.stats(), "requests_served"), 1);
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn requests_without_an_answer_are_said() {
    let sink = Sink::start("--threads 1 --delay fixed:10s");
    let mut client = sink.connect();
    client.send(&get("/simple").repeat(3));
    while number(&sink.stats(), "bytes_received") == 0 {}
    let stopped = sink.stop();
    assert_eq!(number(&stopped, "requests_served"), 0);
    assert_eq!(number(&stopped, "requests_unanswered"), 3);
}

/// In a stall nothing is answered, but connections are accepted and requests are read: their
/// arrivals, hence their times in the record, are true.
#[test]
fn a_stall_holds_answers_back_and_nothing_else() {
    let sink = Sink::start("--threads 1 --delay stall:300ms/600ms");
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed() < Duration::from_millis(1_800) {
        let asked = Instant::now();
        sink.connect().get("/simple");
        times.push(asked.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    let long = times.iter().filter(|time| **time >= Duration::from_millis(100)).count();
    let record = service(sink);
    assert!((2..=6).contains(&long), "about one per stall waits for its end: {times:?}");
    assert!(number(&record, "max") >= 200 * MS, "{record}");
    assert!(number(&record, "p50") < 100 * MS, "others are answered at once: {record}");
}

#[test]
fn a_stall_ends_for_all_at_once() {
    let sink = Sink::start("--threads 1 --delay stall:400ms/800ms");
    let mut clients: Vec<_> = (0..20).map(|_| sink.connect()).collect();
    // Wait for a stall that has just begun: the first answer that is slow ends one, and the next
    // one begins 400 ms later.
    let mut watch = sink.connect();
    loop {
        let asked = Instant::now();
        watch.get("/simple");
        if asked.elapsed() > Duration::from_millis(50) {
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    let stall_end = Instant::now();
    thread::sleep(Duration::from_millis(500));
    for client in &mut clients {
        client.send(&get("/simple"));
    }
    for client in &mut clients {
        client.answer();
    }
    let waited = stall_end.elapsed();
    assert!(waited >= Duration::from_millis(750), "{waited:?}");
    assert!(waited < Duration::from_millis(3_000), "{waited:?}");
}

#[test]
fn slow_bytes_come_in_pieces() {
    let sink = Sink::start("--threads 1 --slow-bytes 20/10ms");
    let mut client = sink.connect();
    let begin = Instant::now();
    let answer = client.get("/simple");
    let bytes = answer.head.len() + 4 + answer.body.len();
    let pauses = bytes.div_ceil(20) as u64 - 1;
    assert!(begin.elapsed() >= Duration::from_millis(pauses * 10 - 1));
    let record = service(sink);
    assert!(number(&record, "min") >= (pauses * 10 - 1) * MS, "up to the last byte: {record}");
}

#[test]
fn burning_costs_cpu() {
    let sink = Sink::start("--threads 1 --burn 1ms");
    sink.reset();
    ask(&sink, 100);
    let stopped = sink.stop();
    let cpu_ns = number(&stopped, "cpu_user_ns") + number(&stopped, "cpu_system_ns");
    assert!(cpu_ns >= 90 * MS, "{cpu_ns}");
    assert!(number(&stopped["service_ns"], "min") >= MS);
}
