//! A namespace with few ports: what is refused before the load, and what more source addresses
//! solve.

use crate::harness::{
    Finished, Namespace, Server, count, must_be_root, program, shown, turn, wall,
};
use serde_json::Value;
use std::path::Path;

#[test]
fn a_tiny_port_range_is_c7() {
    let _turn = turn();
    must_be_root();
    let namespace = Namespace::new("ports");
    namespace.sysctl("net.ipv4.ip_local_port_range", "40000 40029");
    let sink = namespace.command(&program("target-sink"));
    let server = Server::start_as(sink, &["--threads", "1"]);
    let url = server.url("/");
    let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    command.args(["load", &url, "-c", "100", "-d", "1"]).env("CEILING_RUNS", "none");
    let said = Finished::of(command.output().unwrap());
    assert_eq!(said.code, 2, "more connections than ports are refused before the load");
    assert!(
        said.stderr.contains("C7") && said.stderr.contains("of 30 are free"),
        "{}",
        said.stderr
    );

    let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    // The client closes first, so each port stays in TIME_WAIT on our side for a while. Any machine
    // makes 30 connections in that time.
    let ends = ["--requests-per-conn", "1", "--json"];
    command.args(["load", &url, "-c", "8", "-d", "8"]).args(ends);
    let said = Finished::of(command.env("CEILING_RUNS", "none").output().unwrap());
    let record = said.record();
    assert_eq!(wall(&record), "C7", "{}", shown(&record));
    assert_eq!(said.code, 4);
    assert!(count(&record["points"][0], "/errors/ports") > 0);
}

fn point(record: &Value) -> &Value {
    &record["points"][0]
}

/// Every earlier and every new connection was closed or is still open; returns the number of new
/// ones.
fn assert_accounts(point: &Value) -> u64 {
    let of = |name: &str| count(&point["turnover"], &format!("/{name}"));
    let came = of("open_before") + of("established");
    let went = of("closed_by_us") + of("closed_by_peer");
    assert_eq!(came, went + of("open_after"), "{}", point["turnover"]);
    assert_eq!(count(point, "/turnover/connect_ns/count"), of("established"));
    of("established")
}

#[test]
fn twenty_thousand_a_second_need_more_than_five_hundred_ports() {
    let _turn = turn();
    must_be_root();
    let namespace = Namespace::new("churn");
    namespace.sysctl("net.ipv4.ip_local_port_range", "40000 40499");
    let server = Server::start_as(namespace.command(&program("target-nethttp")), &[]);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    let churn = |more: &[&str]| {
        let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
        command.args(["churn", &url, "--devices", "400", "--hold", "20ms", "-d", "1"]).args(more);
        Finished::of(command.env("CEILING_RUNS", "none").output().unwrap())
    };
    let refused = churn(&[]);
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    // A second of 20,000 connections in TIME_WAIT and 400 open ones, on 499 ports each.
    for word in ["C7", "of 500 are free", "needs 41 source addresses: --source auto"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    let solved = churn(&["--source", "auto", "--json"]);
    let record = solved.record();
    assert!(assert_accounts(point(&record)) > 0);
    assert_eq!(count(point(&record), "/errors/ports"), 0, "{}", point(&record)["errors"]);
    assert_ne!(wall(&record), "C7", "{}", shown(&record));
    let sources = record["target"]["sources_used"].as_array().unwrap();
    assert!(sources.len() >= 41, "{}", sources.len());
}

/// The address and the number of connections of each entry.
fn uses(record: &Value, field: &str) -> Vec<(String, u64)> {
    let list = record["target"][field].as_array().unwrap();
    let one =
        |used: &Value| (used["address"].as_str().unwrap().to_string(), count(used, "/connections"));
    list.iter().map(one).collect()
}

/// The run of 1000 requests went well.
fn assert_served(record: &Value) {
    let point = &record["points"][0];
    assert_eq!(count(point, "/requests/completed"), 1000, "{point:#}");
}

/// The command in a namespace.
fn inside(namespace: &Namespace, arguments: &[&str]) -> Finished {
    let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    Finished::of(command.args(arguments).env("CEILING_RUNS", "none").output().unwrap())
}

#[test]
fn six_hundred_connections_need_two_sources_of_five_hundred_ports() {
    let _turn = turn();
    must_be_root();
    let namespace = Namespace::new("routes");
    namespace.sysctl("net.ipv4.ip_local_port_range", "40000 40499");
    let server = Server::start_as(namespace.command(&program("target-nethttp")), &[]);
    let url = server.url("/simple");
    let load = ["load", &url, "-c", "600", "-n", "1000", "-t", "1"];
    let refused = inside(&namespace, &load);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    // No connection can have the port of the server, nor that of the preflight connection.
    for word in ["C7", "498 of 500", "this needs 2 source addresses: --source auto", "-c 498"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    let one = inside(&namespace, &[&load[..], &["--source", "127.0.0.5"]].concat());
    assert_eq!(one.code, 2, "{}", one.stderr);
    assert!(one.stderr.contains("127.0.0.5 to 127.0.0.1"), "{}", one.stderr);

    for (source, expected) in [("auto", vec![200; 3]), ("127.0.0.1,127.0.0.2", vec![300; 2])] {
        // A fresh server has no connections in TIME_WAIT.
        let server = Server::start_as(namespace.command(&program("target-nethttp")), &[]);
        let url = server.url("/simple");
        let load = ["load", &url, "-c", "600", "-n", "1000", "-t", "1", "-T", "1m"];
        let said = inside(&namespace, &[&load[..], &["--source", source, "--json"]].concat());
        let record = said.record();
        assert_served(&record);
        let connections: Vec<_> = uses(&record, "sources_used").iter().map(|used| used.1).collect();
        assert_eq!(connections, expected, "{source}");
        assert_eq!(count(&record["points"][0], "/errors/ports"), 0, "{source}");
    }
}

#[test]
fn ports_that_are_taken_already_are_no_budget() {
    let _turn = turn();
    must_be_root();
    let namespace = Namespace::new("taken");
    namespace.sysctl("net.ipv4.ip_local_port_range", "40000 40099");
    namespace.sysctl("net.ipv4.ip_local_reserved_ports", "40000-40009");
    // Ports in TIME_WAIT may not be reused.
    namespace.sysctl("net.ipv4.tcp_tw_reuse", "0");
    let server = Server::start_as(namespace.command(&program("target-nethttp")), &[]);
    let url = server.url("/simple");
    let first = inside(&namespace, &["load", &url, "-c", "50", "-n", "1000", "--json"]);
    assert_served(&first.record());
    let refused = inside(&namespace, &["load", &url, "-c", "50", "-n", "1000"]);
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("of 90 are free"), "{}", refused.stderr);
    let other = ["load", &url, "-c", "50", "-n", "1000", "--source", "127.0.0.2", "--json"];
    assert_served(&inside(&namespace, &other).record());
}
