//! Open loop: requests leave when they are due, and each is accounted for.

use crate::harness::{Server, count, measure, turn};
use serde_json::Value;

fn point(record: &Value) -> &Value {
    &record["points"][0]
}

fn requests(point: &Value, name: &str) -> u64 {
    count(point, &format!("/requests/{name}"))
}

/// Every planned request was sent or not, and every sent request has one fate; returns the number
/// of planned requests.
fn assert_accounts(point: &Value) -> u64 {
    let of = |name: &str| requests(point, name);
    assert_eq!(of("planned"), of("sent") + of("unsent"), "{}", point["requests"]);
    let fates = of("completed") + of("failed") + of("unanswered");
    assert_eq!(of("sent"), fates, "{}", point["requests"]);
    of("planned")
}

#[test]
fn planned_requests_and_those_that_the_server_counted_agree() {
    let _turn = turn();
    // With a seed the random plans are always the same.
    let cases = [
        ("epoll", "fixed", 1000..=1000),
        ("uring", "fixed", 1000..=1000),
        ("uring", "poisson", 880..=1120),
        ("epoll", "uniform", 930..=1070),
    ];
    for (driver, arrivals, planned) in cases {
        let server = Server::start("target-sink", &["--threads", "1"]);
        let url = server.url("/");
        let load = ["load", &url, "-R", "1000", "-d", "1", "-c", "8", "--warmup", "0"];
        let how = ["--arrivals", arrivals, "--driver", driver, "--seed", "7", "-t", "2"];
        let (_, record) = measure(&[&load[..], &how].concat());
        let point = point(&record);
        let case = format!("{driver} {arrivals} {}", point["requests"]);
        assert!(planned.contains(&assert_accounts(point)), "{case}");
        let completed = requests(point, "completed");
        assert_eq!(count(point, "/latency_ns/count"), completed, "{case}");
        assert_eq!(count(point, "/service_ns/count"), completed, "{case}");
        assert_eq!(count(point, "/send_delay_ns/count"), requests(point, "sent"), "{case}");
        assert_eq!(point["load"]["arrivals"], arrivals);
        let end = server.stop();
        let seen = count(&end, "/requests_served") + count(&end, "/requests_unanswered");
        assert_eq!(seen, requests(point, "sent"), "{case}");
    }
}

#[test]
fn above_its_capacity_a_server_is_not_said_to_keep_up() {
    let _turn = turn();
    // Eight at a time, 20 ms each: at most 400/s.
    let sink = ["--threads", "1", "--delay", "fixed:20ms", "--serve-at-once", "8"];
    let server = Server::start("target-sink", &sink);
    // Without a warm-up no response can be from before the window.
    let load = ["load", &server.url("/"), "-R", "480", "-c", "800", "-d", "6", "--warmup", "0"];
    let (_, record) = measure(&load);
    let one = point(&record);
    assert_accounts(one);
    let (rate, arrived) = (one["rate"].as_f64().unwrap(), requests(one, "arrived"));
    let duration_s = one["load"]["duration_s"].as_f64().unwrap();
    assert_eq!(rate, arrived as f64 / duration_s);
    assert!(arrived as f64 <= 400.0 * duration_s + 8.0, "{arrived} in {duration_s} s");
    let series = one["series"].as_array().unwrap();
    assert_eq!(series.iter().map(|second| count(second, "/completed")).sum::<u64>(), arrived);
    let [first, last] = ["first", "last"].map(|end| one["in_flight"][end].as_f64().unwrap());
    assert!(last > first + 100.0, "{}", one["in_flight"]);
    assert_ne!(record["verdict"]["wall"], "none", "{}", record["verdict"]);
}

#[test]
fn a_number_of_requests_and_a_fraction_of_a_rate_are_kept() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/");
    let cases: [(&[&str], u64); 4] = [
        (&["-R", "1k", "-n", "300", "--arrivals", "poisson", "-t", "2"], 300),
        (&["-R", "0.5", "-d", "2"], 1),
        (&["-R", "2.5", "-d", "2"], 5),
        (&["-R", "0.5/s", "-n", "1"], 1),
    ];
    for (options, planned) in cases {
        let load = ["load", &url, "-c", "4", "--warmup", "0"];
        let (_, record) = measure(&[&load[..], options].concat());
        let point = point(&record);
        assert_eq!(assert_accounts(point), planned, "{options:?} {}", point["requests"]);
        assert_eq!(requests(point, "completed"), planned, "{options:?} {}", point["requests"]);
    }
}

#[test]
fn waiting_requests_open_connections_when_they_may() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:50ms"]);
    let url = server.url("/");
    let load = ["load", &url, "-R", "400", "-c", "2", "-d", "2", "--warmup", "0"];
    let (_, few) = measure(&load);
    assert_eq!(count(point(&few), "/connections/opened"), 2);
    // Two connections of 50 ms can do 40 per second.
    assert!(requests(point(&few), "unsent") > 600, "{}", point(&few)["requests"]);
    for driver in ["epoll", "uring"] {
        let more = ["--max-connections", "300", "--driver", driver];
        let (_, many) = measure(&[&load[..], &more].concat());
        let point = point(&many);
        assert_eq!(assert_accounts(point), 800);
        let opened = count(point, "/connections/opened");
        assert!((20..=300).contains(&opened), "{driver}: 400/s x 50 ms are 20 in flight: {opened}");
        assert!(requests(point, "unsent") < 600, "{driver}: {}", point["requests"]);
        assert!(requests(point, "waited") > 0, "{driver}: {}", point["requests"]);
    }
}
