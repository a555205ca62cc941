//! Both ends of connections: sources and their ports, names, IPv6, Unix sockets.

use crate::harness::{Folder, Server, count, measure, run, turn};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::thread;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
const MISDIRECTED: &[u8] = b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n";

/// Responds to requests that come one at a time: 200 if the Host header is the expected one.
fn respond(mut stream: impl Read + Write, host: &str) {
    let (mut input, mut length) = ([0; 4096], 0);
    let expected = format!("\r\nhost: {host}\r\n").into_bytes();
    while let Ok(received @ 1..) = stream.read(&mut input[length..]) {
        length += received;
        let head = input[..length].to_ascii_lowercase();
        if head.ends_with(b"\r\n\r\n") {
            let is_expected = head.windows(expected.len()).any(|window| window == expected);
            let response = if is_expected { RESPONSE } else { MISDIRECTED };
            if stream.write_all(response).is_err() {
                return;
            }
            length = 0;
        }
    }
}

/// A server that accepts one Host header.
fn serve(at: &str, host: &'static str) -> Option<SocketAddr> {
    let listener = TcpListener::bind(at).ok()?;
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || respond(stream, host));
        }
    });
    Some(address)
}

fn serve_unix(path: &str, host: &'static str) {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || respond(stream, host));
        }
    });
}

/// The address and the number of connections of each entry.
fn uses(record: &Value, field: &str) -> Vec<(String, u64)> {
    let list = record["target"][field].as_array().unwrap();
    let one =
        |used: &Value| (used["address"].as_str().unwrap().to_string(), count(used, "/connections"));
    list.iter().map(one).collect()
}

/// Text with its lines joined, to search for wrapped text.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The run of 1000 requests went well.
fn assert_served(record: &Value) {
    let point = &record["points"][0];
    assert_eq!(count(point, "/requests/completed"), 1000, "{point:#}");
}

#[test]
fn sources_take_connections_in_turn() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let url = server.url("/simple");
    for driver in ["uring", "epoll"] {
        let source = ["--source", "127.0.0.9,127.0.0.1/30", "--driver", driver];
        let load = ["load", &url, "-c", "12", "-n", "1000", "-t", "2"];
        let (_, record) = measure(&[&load[..], &source].concat());
        assert_served(&record);
        let expected = ["127.0.0.9", "127.0.0.1", "127.0.0.2"].map(|ip| (ip.to_string(), 4));
        assert_eq!(uses(&record, "sources_used"), expected, "{driver}");
        assert_eq!(uses(&record, "addresses_used")[0].1, 12);
        assert_eq!(count(&record["target"], "/server/pid"), u64::from(server.pid));
    }
    let said =
        run(&["load", &url, "-c", "12", "-n", "1000", "-v", "--source", "127.0.0.9,127.0.0.8"]);
    let sources = "127.0.0.9, 127.0.0.8, in turn, 6 connections each";
    assert!(joined(&said.stdout).contains(sources), "{}", said.stdout);
}

#[test]
fn few_connections_that_are_opened_again_use_every_source() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let load = ["load", &server.url("/simple"), "-c", "1", "-n", "1000"];
    let close = ["-H", "Connection: close", "--source", "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4"];
    let (_, record) = measure(&[&load[..], &close].concat());
    assert_served(&record);
    let uses = uses(&record, "sources_used");
    assert_eq!(uses.len(), 4);
    assert!(uses.iter().all(|(_, connections)| (250..=251).contains(connections)), "{uses:?}");
}

#[test]
fn another_host_or_address_changes_the_way_and_not_the_request() {
    let _turn = turn();
    let port = serve("0.0.0.0:0", "example.test").expect("IPv4").port();
    let load = ["load", "http://example.test/", "-c", "4", "-n", "1000"];
    let connect_to = format!("example.test:80:127.0.0.1:{port}");
    let (_, record) = measure(&[&load[..], &["--connect-to", &connect_to]].concat());
    assert_served(&record);
    assert_eq!(record["target"]["resolution"]["name"], format!("127.0.0.1:{port}"));

    let connect_to = format!("::server.test:{port}");
    let resolve = format!("server.test:{port}:127.0.0.1,127.0.0.2");
    let both = ["--connect-to", &connect_to, "--resolve", &resolve];
    let (_, record) = measure(&[&load[..], &both].concat());
    assert_served(&record);
    assert_eq!(record["target"]["resolution"]["how"], "given");
    let expected = [1, 2].map(|host| (format!("127.0.0.{host}:{port}"), 2));
    assert_eq!(uses(&record, "addresses_used"), expected);
    let said = run(&[&load[..], &both, &["-v"]].concat());
    let shown = format!("server.test:{port} by --resolve: 127.0.0.1:{port} (2 connections)");
    assert!(joined(&said.stdout).contains(&shown), "{}", said.stdout);
}

#[test]
fn ipv6_works_with_a_source() {
    let _turn = turn();
    let Some(address) = serve("[::1]:0", "[::1]") else {
        println!("ipv6_works_with_a_source: skipped, this host has no IPv6");
        return;
    };
    let url = "http://[::1]/";
    let connect_to = format!(":::{}", address.port());
    for driver in ["uring", "epoll"] {
        let load = ["load", url, "--connect-to", &connect_to, "-c", "4", "-n", "1000"];
        let more = ["--driver", driver, "--source", "::1"];
        let (_, record) = measure(&[&load[..], &more].concat());
        assert_served(&record);
        assert_eq!(uses(&record, "sources_used"), [("::1".to_string(), 4)]);
        assert_eq!(uses(&record, "addresses_used"), [(address.to_string(), 4)]);
    }
}

#[test]
fn a_unix_socket_is_a_target_whose_server_is_found() {
    let _turn = turn();
    let folder = Folder::new("unix");
    let path = folder.file("server.sock");
    let load = ["load", "http://example.test/x", "--unix-socket", &path, "-c", "40", "-n", "1000"];
    let said = run(&load);
    assert_eq!(said.code, 5, "{}", said.stderr);
    assert!(said.stderr.contains(&format!("unix:{path}: No such file")), "{}", said.stderr);
    serve_unix(&path, "example.test");
    for driver in ["uring", "epoll"] {
        let (_, record) = measure(&[&load[..], &["--driver", driver]].concat());
        assert_served(&record);
        assert_eq!(uses(&record, "addresses_used"), [(format!("unix:{path}"), 40)]);
        assert_eq!(record["target"]["server"]["found_by"], "unix socket");
        assert_eq!(count(&record["target"], "/server/pid"), u64::from(std::process::id()));
    }
}

/// The command must refuse with one line that has all of `words`, before it connects.
fn refuses(options: &[&str], words: &[&str]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let said = run(&[&["load", &url], options].concat());
    assert_eq!(said.code, 2, "{options:?}: {}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{options:?}: {}", said.stderr);
    for word in words {
        assert!(said.stderr.contains(word), "{options:?}: '{word}' in {}", said.stderr);
    }
    assert!(listener.accept().is_err(), "nobody connected");
}

#[test]
fn wrong_ways_are_refused_before_load() {
    refuses(&["--source", "here"], &["--source", "here", "auto", "for example --source 127.0.0.1"]);
    refuses(&["--source", "192.0.2.7"], &["--source 192.0.2.7", "addresses of this host"]);
    refuses(&["--source", "::1"], &["--source", "family", "for example --source 127.0.0.1"]);
    refuses(&["--connect-to", "a:80"], &["--connect-to", "a:80", "for example"]);
    refuses(&["--resolve", "a:80:b"], &["--resolve", "a:80:b", "for example"]);
    refuses(&["--unix-socket", &"x".repeat(108)], &["--unix-socket", "107 bytes", "for example"]);
    refuses(&["--unix-socket", "x", "--source", "auto"], &["--unix-socket", "--source"]);
    let said = run(&["load", "tcp://127.0.0.1:1"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("is not HTTP") && said.stderr.contains("for example"));
}
