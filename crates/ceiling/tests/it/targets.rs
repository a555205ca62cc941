//! Each Go target and the sink at one load: the record agrees with the server's own counts.

use crate::harness::{Server, count, measure, turn};

fn holds_what_the_server_counted(program: &str, arguments: &[&str], driver: &str) {
    let server = Server::start(program, arguments);
    let url = server.url("/read");
    let (code, record) = measure(&[
        "load", &url, "-c", "50", "-d", "500ms", "--warmup", "100ms", "--driver", driver,
    ]);
    // The preflight connection sent no request.
    let stopped = server.stop();
    let context = format!("{program} {arguments:?} {driver}");
    assert!(code == 0 || code == 4, "{context}: exit {code}");

    assert_eq!(record["schema"], "ceiling.run/1");
    let point = &record["points"][0];
    let requests = &point["requests"];
    let [sent, completed, failed, unanswered] = ["sent", "completed", "failed", "unanswered"]
        .map(|name| count(requests, &format!("/{name}")));
    assert_eq!(sent, completed + failed + unanswered, "{context}");
    assert_eq!((failed, unanswered), (0, 0), "{context}");
    assert_eq!(count(point, "/status/2xx"), completed, "{context}: 100 % 2xx");
    assert!(completed > 0, "{context}");

    let unmeasured = &point["unmeasured"];
    let served = completed + count(unmeasured, "/completed");
    assert_eq!(count(&stopped, "/requests_served"), served, "{context}: requests");
    let received = count(point, "/bytes/received") + count(unmeasured, "/bytes_received");
    let written = count(&stopped, "/responses_bytes");
    let apart = received.abs_diff(written) as f64 / written as f64;
    assert!(apart < 0.02, "{context}: {received} bytes received, {written} written");
}

#[test]
fn every_go_target_on_both_drivers() {
    let _turn = turn();
    for driver in ["uring", "epoll"] {
        holds_what_the_server_counted("target-nethttp", &[], driver);
        holds_what_the_server_counted("target-fasthttp", &[], driver);
        holds_what_the_server_counted("target-fiber", &[], driver);
        holds_what_the_server_counted("target-fiber", &["--prefork", "--workers", "2"], driver);
        holds_what_the_server_counted("target-sink", &["--threads", "1"], driver);
    }
}

/// The kernel gives each connection of a pre-forked server to one of its listeners.
#[test]
fn one_connection_is_served_by_one_of_two_workers() {
    let _turn = turn();
    let server = Server::start("target-fiber", &["--prefork", "--workers", "2"]);
    let (_, record) = measure(&["load", &server.url("/read"), "-c", "1", "-d", "2"]);
    let hosts = &record["points"][0]["hosts"];
    for figure in ["fairness.connections.server", "fairness.received.server"] {
        assert_eq!(hosts[figure], 0.5, "{hosts}");
    }
}

#[test]
fn pipelines_bodies_and_other_routes() {
    let _turn = turn();
    let server = Server::start("target-fasthttp", &[]);
    let load = |path: &str, more: &[&str]| {
        let url = server.url(path);
        let (_, record) = measure(&[&["load", &url, "-c", "4", "-n", "2000"], more].concat());
        record["points"][0].clone()
    };
    for (path, more) in [
        ("/simple", &["-p", "100"][..]),
        ("/read-gz", &[][..]),
        ("/list", &["-p", "3"][..]),
        ("/echo", &["-b", "hello", "-p", "5"][..]),
        ("/simple", &["-X", "HEAD", "-p", "7"][..]),
        ("/simple", &["-H", "Connection: close"][..]),
    ] {
        let point = load(path, more);
        let context = format!("{path} {more:?}");
        assert_eq!(count(&point, "/requests/sent"), 2000, "{context}: exactly as asked");
        assert_eq!(count(&point, "/requests/completed"), 2000, "{context}");
        assert_eq!(count(&point, "/status/2xx"), 2000, "{context}");
        assert_eq!(count(&point, "/latency_ns/count"), 2000, "{context}");
    }
    let missing = load("/nothing", &[]);
    assert_eq!(count(&missing, "/status/4xx"), 2000);
    assert_eq!(count(&missing, "/requests/failed"), 2000, "an error status is not a success");
    assert_eq!(missing["rate"], 0.0);
    assert_eq!(missing["error_codes"], serde_json::json!({ "404": 2000 }));
    assert!(missing["standing"].get("rate").is_none(), "failures are results");
}

#[test]
fn the_null_driver_measures_our_own_code() {
    let _turn = turn();
    let (_, record) =
        measure(&["load", "http://null/", "--driver", "null", "-d", "500ms", "-t", "1"]);
    let point = &record["points"][0];
    assert!(point["rate"].as_f64().unwrap() > 0.0);
    assert_eq!(count(point, "/connections/served"), 50);
}
