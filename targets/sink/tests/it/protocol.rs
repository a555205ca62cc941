//! HTTP/1.1 as clients rely on it.

use crate::client::get;
use crate::sink::{Sink, number};
use std::thread;
use std::time::{Duration, Instant};

const PATTERN: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-\n";

fn is_pattern(body: &[u8], length: usize) -> bool {
    body.len() == length
        && body.iter().enumerate().all(|(index, &byte)| byte == PATTERN[index % 64])
}

#[test]
fn every_path_has_its_response() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    let simple = client.get("/simple");
    assert_eq!((simple.status, simple.body.as_slice()), (200, br#"{"message":"hi"}"#.as_slice()));
    assert_eq!(client.get("/whatever/else?x=1"), simple);
    assert_eq!(client.get("/"), simple);
    assert_eq!(client.get("/healthz").body, b"ok");
    for size in [0, 1, 1_000, 16_384, 16_385, 100_000, 5_000_000] {
        assert!(is_pattern(&client.get(&format!("/bytes/{size}")).body, size), "{size}");
        assert!(is_pattern(&client.get(&format!("/chunked/{size}")).body, size), "{size}");
    }
    for status in [200, 201, 404, 429, 500, 503, 599] {
        assert_eq!(client.get(&format!("/status/{status}")).status, status);
    }
    assert_eq!(client.ask(&get("/status/204")).status, 204);
    assert_eq!(client.get("/bytes/67108865").status, 404);
    assert_eq!(client.get("/simple"), simple, "the connection is still good");
}

#[test]
fn a_body_of_64_mib_comes_whole() {
    let sink = Sink::start("--threads 1");
    assert!(is_pattern(&sink.connect().get("/bytes/67108864").body, 64 << 20));
}

#[test]
fn pipelined_responses_keep_their_order() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    let sizes: Vec<usize> = (0..3_000).map(|index| index * 7 % 997).collect();
    let requests: String = sizes.iter().map(|size| get(&format!("/bytes/{size}"))).collect();
    client.send(&requests);
    for size in sizes {
        assert!(is_pattern(&client.response().body, size), "{size}");
    }
}

/// Unread responses fill every buffer on the path; then they must all arrive.
#[test]
fn a_pipeline_of_any_depth_comes_through() {
    let sink = Sink::start("--threads 1");
    let depth = 200_000;
    let mut sender = sink.connect();
    let requests = get("/simple").repeat(1_000);
    thread::scope(|scope| {
        let mut receiver = sender.twin();
        scope.spawn(move || (0..depth / 1_000).for_each(|_| sender.send(&requests)));
        thread::sleep(Duration::from_millis(50));
        for index in 0..depth {
            assert_eq!(receiver.response().status, 200, "{index}");
        }
    });
    assert_eq!(number(&sink.stop(), "requests_served"), depth);
}

#[test]
fn requests_may_be_split_anywhere() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    let request = "POST /bytes/3 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
    for byte in request.chars().chain(get("/bytes/5").chars()) {
        client.send(&byte.to_string());
        thread::sleep(Duration::from_micros(100));
    }
    assert_eq!(client.response().body, b"012");
    assert_eq!(client.response().body, b"01234");
}

#[test]
fn request_bodies_are_consumed() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    let body = "x".repeat(1_000_000);
    let length = body.len();
    let request = format!("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}");
    assert_eq!(client.ask(&request).status, 200);
    let chunked = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5;x=y\r\nhello\r\n0\r\nTrailer: 1\r\n\r\n";
    assert_eq!(client.ask(chunked).status, 200);
    assert_eq!(client.get("/bytes/2").body, b"01");
    assert_eq!(number(&sink.stop(), "bytes_received"), {
        (request.len() + chunked.len() + get("/bytes/2").len()) as u64
    });
}

#[test]
fn heads_have_no_body() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    for path in ["/simple", "/bytes/500", "/chunked/500", "/status/500", "/healthz", "/stats"] {
        let full = client.get(path);
        client.send(&format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = client.head();
        assert_eq!(head.status, full.status);
        if path != "/stats" {
            assert_eq!(head.head, full.head, "{path}");
        }
    }
    assert_eq!(client.get("/bytes/1").body, b"0");
}

#[test]
fn connections_end_as_clients_ask() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    let response = client.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(response.says_close());
    assert_eq!(client.rest().unwrap(), b"");
    let mut client = sink.connect();
    assert!(client.ask("GET /bytes/9 HTTP/1.0\r\n\r\n").says_close());
    assert_eq!(client.rest().unwrap(), b"");
    let mut client = sink.connect();
    let old = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    assert!(client.ask(old).head.contains("Connection: keep-alive"));
    assert_eq!(client.ask(old).status, 200);
    let mut client = sink.connect();
    assert_eq!(client.ask("GET /chunked/70 HTTP/1.0\r\n\r\n").body.len(), 70);
}

#[test]
fn a_client_that_has_said_its_end_gets_its_answers() {
    let sink = Sink::start("--delay fixed:30ms");
    let mut client = sink.connect();
    client.send(&get("/simple").repeat(3));
    client.end();
    (0..3).for_each(|_| assert_eq!(client.response().status, 200));
    assert_eq!(client.rest().unwrap(), b"");
}

#[test]
fn a_client_can_wait_for_the_go_ahead() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(client.head().status, 100);
    assert_eq!(client.ask("abc").status, 200);
}

#[test]
fn what_is_not_http_is_refused_and_the_refusal_arrives() {
    let sink = Sink::start("");
    let long_head = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(100_000));
    let cases = [
        ("nonsense\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\u{fc}\x03\x03", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\nbody", 413),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
        (long_head.as_str(), 431),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: br\r\n\r\n", 501),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    ];
    for (text, status) in cases {
        let mut client = sink.connect();
        let response = client.ask(&format!("{}{text}", get("/simple")));
        assert_eq!(response.status, 200, "requests before it get a response");
        let response = client.response();
        assert_eq!(response.status, status, "{text:.60}");
        assert!(response.says_close());
        assert_eq!(client.rest().unwrap(), b"");
    }
    assert_eq!(number(&sink.stop(), "requests_refused"), cases.len() as u64);
}

#[test]
fn a_refusal_survives_a_client_that_goes_on_sending() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    let large = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n";
    client.send(&format!("{large}{}", "x".repeat(2_000_000)));
    thread::sleep(Duration::from_millis(50));
    assert_eq!(client.response().status, 413);
}

#[test]
fn a_connection_that_ends_does_not_wait_for_ever() {
    let sink = Sink::start("");
    let mut client = sink.connect();
    let begin = Instant::now();
    assert_eq!(client.ask("nonsense\r\n\r\n").status, 400);
    while number(&sink.stats(), "requests_refused") == 0 {}
    // The client does not close; after a second the sink stops waiting for that.
    thread::sleep(Duration::from_millis(1_200));
    client.send("x");
    assert!(begin.elapsed() < Duration::from_secs(15));
}
