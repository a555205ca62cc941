//! Listed levels: all are visited, in their order, each with the load that was asked for.

use crate::harness::{Server, code_of, count, measure, run_until, shown, turn, wait_until};
use serde_json::Value;

fn points(record: &Value) -> &[Value] {
    record["points"].as_array().unwrap()
}

#[test]
fn a_ramp_visits_the_levels_of_a_list() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let url = server.url("/simple");
    let ramp = ["ramp", &url, "-d", "200ms", "--repeats", "0", "--warmup", "50ms"];
    let all_respond =
        |record: &Value| points(record).iter().all(|point| count(point, "/requests/completed") > 0);
    let by_connections = [&ramp[..], &["-c", "1,3,5..10+5,20"]].concat();
    let said = run_until("responses at every level", &by_connections, all_respond);
    let record = said.record();
    assert_eq!(said.code, code_of(&record), "{}", shown(&record));
    let connections: Vec<_> =
        points(&record).iter().map(|point| count(point, "/load/connections")).collect();
    assert_eq!(connections, [1, 3, 5, 10, 20]);

    let (_, record) = measure(&[&ramp[..], &["-R", "50,200,350", "-c", "4"]].concat());
    let planned: Vec<_> =
        points(&record).iter().map(|point| count(point, "/requests/planned")).collect();
    assert_eq!(planned, [10, 40, 70], "a fifth of a second of each rate");
    server.stop();
}

/// Connections that were established in the whole run.
fn established(record: &Value) -> u64 {
    let used = record["target"]["addresses_used"].as_array().unwrap();
    used.iter().map(|address| count(address, "/connections")).sum()
}

/// Connections that were established, summed over each second of every visit.
fn opened_by_second(record: &Value) -> u64 {
    let seconds = points(record).iter().flat_map(|point| {
        point["turnover"]["openings"].as_array().expect("every second of the visit").iter()
    });
    seconds.map(|second| count(second, "/established")).sum()
}

#[test]
fn churn_visits_numbers_of_devices_one_after_the_other() {
    let _turn = turn();
    // In a window as short as here, a client that gets no CPU may open nothing.
    let mut found = None;
    wait_until("connections in every window", || {
        let server = Server::start("target-nethttp", &[]);
        let url = format!("tcp://127.0.0.1:{}", server.port);
        let churn = ["churn", &url, "--hold", "100ms", "-d", "500ms", "--ramp-up", "300ms"];
        let (code, record) = measure(&[&churn[..], &["-c", "5,10,30"]].concat());
        let mut each = points(&record).iter();
        let is_so = each.all(|point| count(point, "/turnover/established") > 0);
        found = Some((code, record, server.stop()));
        is_so
    });
    let (code, record, end) = found.unwrap();
    assert_eq!(code, code_of(&record), "{}", shown(&record));
    let devices: Vec<_> =
        points(&record).iter().map(|point| count(point, "/load/connections")).collect();
    assert_eq!(devices, [5, 10, 30]);
    for point in points(&record) {
        assert_eq!(count(point, "/turnover/failed"), 0, "{point}");
        assert!(point["turnover"]["starts"].is_null(), "closed loop: nothing was planned");
    }
    assert_eq!(opened_by_second(&record), established(&record), "ramp-up and ramp-down too");
    // The preflight opened one more.
    assert_eq!(count(&end, "/connections_accepted"), established(&record) + 1);
}

#[test]
fn connections_on_a_schedule_are_begun_or_said_to_be_unsent() {
    let _turn = turn();
    for (driver, arrivals) in [("uring", "fixed"), ("epoll", "fixed")] {
        let server = Server::start("target-nethttp", &[]);
        let url = server.url("/simple");
        let churn = ["churn", &url, "--hold", "50ms", "-d", "2s", "--arrivals", arrivals];
        let more = ["-R", "20,100", "--driver", driver, "--ramp-up", "500ms"];
        let (code, record) = measure(&[&churn[..], &more].concat());
        assert_eq!(code, code_of(&record), "{driver}: {}", shown(&record));
        for (point, planned) in points(&record).iter().zip([40, 200]) {
            let of = |name: &str| count(&point["turnover"]["starts"], &format!("/{name}"));
            assert_eq!(of("planned"), planned, "{driver}");
            assert_eq!(of("begun") + of("unsent"), planned, "{driver}");
            assert_eq!(of("begun"), of("established") + of("failed") + of("pending"), "{driver}");
            assert_eq!(count(point, "/turnover/starts/connect_ns/count"), of("established"));
            assert_eq!(of("failed"), 0, "{driver}: {}", point["turnover"]);
            assert!(point["requests"]["planned"].is_null(), "connections are, and no requests");
        }
        assert_eq!(opened_by_second(&record), established(&record), "{driver}");
        let end = server.stop();
        assert_eq!(count(&end, "/connections_accepted"), established(&record) + 1, "{driver}");
    }
}

#[test]
fn devices_that_are_too_few_leave_connections_unsent() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    // Two devices that hold each connection for a second start four or six in two seconds.
    let churn = ["churn", &url, "-R", "50", "-c", "2", "--hold", "1s", "-d", "2s", "-v"];
    let (_, record) = measure(&[&churn[..], &["--ramp-up", "100ms", "-t", "1"]].concat());
    let starts = &points(&record)[0]["turnover"]["starts"];
    assert_eq!(count(starts, "/planned"), 100, "{starts}");
    assert!(count(starts, "/begun") <= 8, "{starts}");
    assert_eq!(count(starts, "/begun") + count(starts, "/unsent"), 100, "{starts}");
    server.stop();
}

#[test]
fn find_searches_connections_per_second() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    let find = ["find", &url, "--hold", "20ms", "-R", "50..200", "--budget", "40s"];
    let slo = ["--slo", "connect.p50<8s,errors<50%", "--trial", "500ms", "--precision", "100%"];
    let has_connections = |record: &Value| {
        points(record).iter().all(|point| !point["expectations"][0]["met"].is_null())
    };
    let said =
        run_until("connections in every trial", &[&find[..], &slo].concat(), has_connections);
    let record = said.record();
    assert_eq!(said.code, code_of(&record), "{}", shown(&record));
    assert_eq!(record["trial"]["levels"][0]["life"]["requests"], serde_json::json!([0, 0]));
    let trials = record["search"]["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    for (point, trial) in points(&record).iter().zip(trials) {
        let starts = &point["turnover"]["starts"];
        assert_eq!(point["load"]["rate"], trial["rate"]);
        let due = count(starts, "/begun") + count(starts, "/unsent");
        assert!(due > 0 && count(starts, "/planned") == due, "{starts}");
        let terms = point["expectations"].as_array().unwrap();
        assert_eq!(terms[0]["term"], "connect.p50<8s");
        assert_eq!(terms[0]["met"], true, "{}", terms[0]);
    }
    server.stop();
}
