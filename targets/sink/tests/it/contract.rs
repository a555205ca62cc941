//! The two lines, the record, the exit codes.

use crate::client::get;
use crate::sink::{Sink, number, refuse};
use std::{fs, thread};

#[test]
fn it_says_when_it_listens() {
    let sink = Sink::start("--threads 3");
    let line = &sink.listening;
    assert_eq!(line.as_object().unwrap().len(), 6);
    assert_eq!((&line["event"], &line["target"]), (&"listening".into(), &"sink".into()));
    assert_eq!(line["threads"], 3);
    assert!(number(line, "pid") > 0);
    assert_eq!(number(line, "start_ns"), number(&sink.stats(), "start_ns"));
    assert!(line["addr"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert_eq!(sink.connect().get("/healthz").body, b"ok");
}

#[test]
fn threads_follow_the_list_of_cpus() {
    assert_eq!(Sink::start("--cpus 0,0").listening["threads"], 2);
}

#[test]
fn the_last_line_counts_everything_exactly() {
    let sink = Sink::start("--threads 2");
    let (mut sent, mut received) = (0, 0);
    let request = get("/simple");
    for _ in 0..8 {
        let mut client = sink.connect();
        for _ in 0..50 {
            let response = client.ask(&request);
            sent += request.len() as u64;
            received += (response.head.len() + 4 + response.body.len()) as u64;
        }
    }
    let stopped = sink.stop();
    assert_eq!(number(&stopped, "requests_served"), 400);
    assert_eq!(number(&stopped, "bytes_received"), sent);
    assert_eq!(number(&stopped, "responses_bytes"), received);
    assert_eq!(number(&stopped, "connections_accepted"), 8);
    assert_eq!(number(&stopped["service_ns"], "count"), 400);
    for name in ["requests_refused", "requests_unanswered", "accept_errors"] {
        assert_eq!(number(&stopped, name), 0);
    }
    for name in ["cpu_user_ns", "cpu_system_ns", "start_ns", "uptime_ns"] {
        number(&stopped, name);
    }
    let service = &stopped["service_ns"];
    for name in ["min", "mean", "stdev", "p50", "p75", "p90", "p95", "max"] {
        number(service, name);
    }
    assert!(service["p99"].is_null() && service["p99_9"].is_null(), "too few beyond them");
    assert!(number(service, "min") <= number(service, "p50"));
    assert!(number(service, "p50") <= number(service, "max"));
}

#[test]
fn an_interrupt_stops_it_too() {
    let sink = Sink::start("--threads 1");
    let mut idle = sink.connect();
    idle.get("/simple");
    let stopped = sink.stop_by("INT");
    assert_eq!(number(&stopped, "requests_served"), 1);
}

#[test]
fn stats_leave_no_trace_and_a_reset_forgets() {
    let sink = Sink::start("--threads 2");
    let mut clients: Vec<_> = (0..10).map(|_| sink.connect()).collect();
    for client in &mut clients {
        client.get("/simple");
    }
    for _ in 0..3 {
        let stats = sink.stats();
        assert_eq!((&stats["event"], number(&stats, "requests_served")), (&"stats".into(), 10));
    }
    let reset = sink.reset();
    assert_eq!((&reset["event"], &reset["target"]), (&"reset".into(), &"sink".into()));
    number(&reset, "at_ns");
    let responses: u64 =
        clients.iter_mut().map(|client| client.get("/simple").head.len() as u64 + 4 + 16).sum();
    let stopped = sink.stop();
    assert_eq!(number(&stopped, "requests_served"), 10);
    assert_eq!(number(&stopped, "responses_bytes"), responses);
    assert_eq!(number(&stopped, "bytes_received"), 10 * get("/simple").len() as u64);
}

/// The guarantee of the reset: a response received before it is erased, a request sent after it is
/// recorded, whichever threads serve them.
#[test]
fn a_reset_is_exact_across_threads() {
    let sink = Sink::start("--threads 4");
    let mut clients: Vec<_> = (0..32).map(|_| sink.connect()).collect();
    for round in 0..30 {
        for client in &mut clients {
            client.send(&get("/simple").repeat(round % 3 + 1));
        }
        for client in &mut clients {
            (0..round % 3 + 1).for_each(|_| assert_eq!(client.response().status, 200));
        }
        sink.reset();
        for client in &mut clients {
            client.send(&get("/simple"));
        }
        for client in &mut clients {
            client.response();
        }
        assert_eq!(number(&sink.stats(), "requests_served"), 32, "round {round}");
    }
}

#[test]
fn many_clients_read_the_record_at_once() {
    let sink = Sink::start("--threads 3");
    thread::scope(|scope| {
        for number in 0..6 {
            let sink = &sink;
            scope.spawn(move || {
                for _ in 0..50 {
                    if number % 2 == 0 {
                        sink.stats()
                    } else {
                        sink.reset()
                    };
                }
            });
        }
    });
    assert_eq!(number(&sink.stop(), "requests_served"), 0);
}

#[test]
fn a_busy_port_is_said_in_one_line() {
    let sink = Sink::start("--threads 2");
    for threads in [1, 2] {
        let output = refuse(&format!("--port {} --threads {threads}", sink.addr.port()));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(&sink.addr.to_string()) && text.contains("in use"), "{text}");
    }
}

#[test]
fn a_wrong_flag_is_said_in_one_line() {
    for (line, flag) in [
        ("--delay 5ms", "--delay"),
        ("--threads 0", "--threads"),
        ("--reset", "--close-after"),
        ("--garbage 2%% ", "--garbage"),
        ("--nonsense", "--nonsense"),
        ("--truncate 60% --status 500:60%", "--status"),
    ] {
        let output = refuse(line);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(flag) && text.contains("for example"), "{text}");
    }
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    for line in [
        "--port 0 --log-arrivals /nowhere/at/all",
        "--port 0 --addr 192.0.2.1",
        "--port 0 --cpus 1000",
    ] {
        let output = refuse(line);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn help_teaches() {
    let output = refuse("--help");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for word in ["bimodal:1ms,20ms@10%", "POST /stats/reset", "CLOCK_MONOTONIC", "EXAMPLES"] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn threads_are_pinned() {
    let sink = Sink::start("--cpus 0");
    let pid = number(&sink.listening, "pid");
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")));
    let worker = statuses.map(Result::unwrap).find(|status| status.starts_with("Name:\tsink-0\n"));
    let worker = worker.expect("threads have names");
    assert!(worker.lines().any(|line| line == "Cpus_allowed_list:\t0"), "{worker}");
}
