//! Calls of gRPC against a server of another implementation: what the command counts is what the
//! server counts, by status; schemas come from it or from files; what cannot be called is said.

use crate::harness::certificates::Certificates;
use crate::harness::{Folder, Server, count, root, run, turn};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;
use wire::http2::{Said, say};

fn drivers() -> Vec<&'static str> {
    let has_uring = engine::driver::uring::check().is_ok();
    if has_uring { vec!["uring", "epoll"] } else { vec!["epoll"] }
}

fn url(server: &Server, path: &str) -> String {
    server.url(path).replace("http://", "grpc://")
}

fn fixture(name: &str) -> String {
    root().join("crates/schema/fixtures").join(name).display().to_string()
}

/// Makes calls; a short load may break a gate, which the caller does not care about.
fn load(arguments: &[&str]) -> Value {
    let said = run(&[&["load"], arguments, &["-t", "1", "--warmup", "0", "--json"]].concat());
    assert!(said.code == 0 || said.code == 4, "{}: {}", said.code, said.stderr);
    said.record()
}

#[test]
fn calls_are_counted_by_status_as_the_server_counts_them() {
    for driver in drivers() {
        let _turn = turn();
        let server = Server::start("target-grpc", &["--fail", "8", "--every", "10"]);
        let url = url(&server, "/shop.Catalog/Read");
        let sizes = ["-n", "3000", "-c", "3", "-p", "16", "--driver", driver];
        let record = load(&[&[url.as_str(), "-b", "{\"id\": 7}"], &sizes[..]].concat());
        let point = &record["points"][0];
        let statuses = json!({ "OK": 2700, "RESOURCE_EXHAUSTED": 300 });
        assert_eq!(point["status_codes"], statuses, "{driver}");
        assert_eq!(point["error_codes"], json!({ "RESOURCE_EXHAUSTED": 300 }), "{driver}");
        assert_eq!(count(point, "/status/4xx"), 300, "{driver}");
        assert_eq!(count(point, "/requests/completed"), 2700, "{driver}");
        assert_eq!(server.stop()["statuses"], statuses, "{driver}");
    }
}

/// The one sample of a load of which no call is good.
fn sample(arguments: &[&str]) -> Value {
    let said = run(&[&["load"], arguments, &["-t", "1", "--warmup", "0", "--json"]].concat());
    let samples = said.record()["points"][0]["samples"].as_array().unwrap().clone();
    assert_eq!(samples.len(), 1, "{samples:?}");
    samples[0].clone()
}

/// The first of each kind: what the server says of a status, and messages when they are asked for.
#[test]
fn a_failed_call_is_kept_with_what_the_server_says() {
    let (words, shown) = ("no \u{202e}more\u{7}", "no \\u{202e}more\\u{7}");
    let message = json!({ "code": 8, "words": words }).to_string();
    let fails = ["-b", &message, "-n", "60", "-c", "2", "-p", "4"];
    for driver in drivers() {
        let _turn = turn();
        let server = Server::start("target-grpc", &[]);
        let url = url(&server, "/shop.Catalog/Fail");
        let sample =
            |more: &[&str]| sample(&[&[&*url, "--driver", driver], &fails[..], more].concat());
        let call = json!({
            "method": "shop.Catalog/Fail", "status": "RESOURCE_EXHAUSTED", "message": words,
        });
        let (plain, asked) = (sample(&[]), sample(&["--sample-failures", "--keep-requests"]));
        assert_eq!(plain["call"], call, "{driver}: {plain}");
        assert!(plain["head"].to_string().contains("\"grpc-status: 8\""), "{driver}: {plain}");
        let request = json!([json!({ "code": 8, "words": words }).to_string()]);
        assert_eq!(asked["call"]["request"], request, "{driver}: {asked}");
        assert_eq!(asked["call"]["reply"], json!([]), "{driver}: {asked}");
        let said = run(&[&["load", &url, "-vv"], &fails[..]].concat());
        let said = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let hint = format!("With RESOURCE_EXHAUSTED the server says: '{shown}'.");
        assert!(said.contains(&hint), "{driver}: {said}");
    }
}

/// A reply that lacks what it must have is kept from the next call on, which is followed.
#[test]
fn a_reply_that_fails_its_check_is_kept_as_json() {
    let _turn = turn();
    let server = Server::start("target-grpc", &[]);
    let url = url(&server, "/shop.Catalog/Echo");
    let check = ["-b", "{\"id\": 7, \"name\": \"n\"}", "--check-json", "{\"id\": 8}"];
    let sizes = ["-n", "60", "-c", "1", "-p", "4", "--sample-failures"];
    let sample = sample(&[&[&*url], &check[..], &sizes].concat());
    assert_eq!(sample["check"], "json");
    let reply = json!(["{\"id\":\"7\",\"name\":\"n\"}"]);
    let call = json!({ "method": "shop.Catalog/Echo", "status": "OK", "reply": reply });
    assert_eq!(sample["call"], call);
}

/// More bytes than the windows of HTTP/2 begin with, and messages of more than one frame.
#[test]
fn without_a_server_every_call_is_good() {
    let _turn = turn();
    let proto = fixture("shop.proto");
    let null = ["--driver", "null", "--proto", &proto, "-c", "2", "-p", "8"];
    let long = json!([{ "id": 1 }, { "name": "x".repeat(40_000) }, {}]).to_string();
    for (method, message, calls, replies) in [
        ("Read", "{\"id\":7}", 20_000, None),
        ("Watch", "{}", 20_000, Some(20_000)),
        ("Collect", "[{\"id\":1},{\"id\":2}]", 20_000, None),
        ("Talk", &long, 1_000, Some(3_000)),
    ] {
        let url = format!("grpc://null/shop.Catalog/{method}");
        let sizes = ["-b", message, "-n", &calls.to_string()];
        let record = load(&[&[&*url], &null[..], &sizes].concat());
        let point = &record["points"][0];
        assert_eq!(point["status_codes"], json!({ "OK": calls }), "{method}: {point}");
        assert_eq!(point["messages"]["received"].as_u64(), replies, "{method}: {point}");
    }
    let folder = Folder::new("grpc-null");
    let file = folder.file("mix.jsonl");
    let target = |method: &str, message: &str| {
        json!({ "url": format!("/shop.Catalog/{method}"), "body_text": message }).to_string()
    };
    std::fs::write(&file, [target("Talk", "[{}]"), target("Read", "{}")].join("\n")).unwrap();
    let mixed = run(&[&["load", "grpc://null", "-i", &file], &null[..]].concat());
    assert_eq!(mixed.code, 2, "{}", mixed.stderr);
    assert!(mixed.stderr.contains("conversations or other calls"), "{}", mixed.stderr);
}

/// The schema and the calls go through the same kind of connection.
#[test]
fn calls_go_through_tls() {
    let _turn = turn();
    let certificates = Certificates::new("grpc-tls");
    let (server, ca) =
        (certificates.server_of("target-grpc", "server", &[]), certificates.file("ca.pem"));
    let place = format!("grpcs://127.0.0.1:{}", server.port);
    let listed = run(&["grpc", "list", &place, "--cacert", &ca]);
    assert!(listed.stdout.contains("shop.Catalog"), "{}{}", listed.stdout, listed.stderr);
    let url = format!("{place}/shop.Catalog/Read");
    let record = load(&[&url, "--cacert", &ca, "-n", "300", "-c", "3", "-p", "4"]);
    assert_eq!(record["points"][0]["status_codes"], json!({ "OK": 300 }));
    let unknown = run(&["grpc", "list", &place]);
    assert_eq!(unknown.code, 5, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("no trusted authority"), "{}", unknown.stderr);
}

/// A status that is called good, a server with few streams, messages from templates, two methods.
#[test]
fn a_mix_of_calls_has_results_by_method() {
    let _turn = turn();
    let server = Server::start("target-grpc", &["--fail", "5", "--every", "3", "--streams", "4"]);
    let folder = Folder::new("grpc-mix");
    let read = json!({ "url": "/shop.Catalog/Read", "body_text": "{\"id\": \"{{seq}}\"}" });
    let echo = json!({ "url": "/shop.Catalog/Echo", "body_text": "{\"name\": \"n{{seq}}\"}" });
    let file = folder.file("mix.jsonl");
    std::fs::write(&file, format!("{read}\n{echo}\n")).unwrap();
    let options = ["-i", &file, "--expand", "100", "--check-status", "OK,NOT_FOUND"];
    let sizes = ["-n", "600", "-c", "2", "-p", "8"];
    let record = load(&[&[url(&server, "").as_str()], &options[..], &sizes].concat());
    let point = &record["points"][0];
    assert_eq!(point["status_codes"], json!({ "OK": 400, "NOT_FOUND": 200 }));
    assert_eq!(count(point, "/requests/completed"), 600, "both are good");
    let names: Vec<&str> = point["targets"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["shop.Catalog/Read", "shop.Catalog/Echo"]);
}

/// Calls and their messages, each as the server counts them.
#[test]
fn replies_that_stream_are_counted_by_message() {
    for driver in drivers() {
        let _turn = turn();
        let server = Server::start("target-grpc", &["--fail", "8", "--every", "10"]);
        let url = url(&server, "/shop.Catalog/Watch");
        let sizes = ["-n", "500", "-c", "3", "-p", "16", "--driver", driver];
        let record = load(&[&[url.as_str(), "-b", "{\"items\": 7}"], &sizes[..]].concat());
        let point = &record["points"][0];
        let statuses = json!({ "OK": 450, "RESOURCE_EXHAUSTED": 50 });
        assert_eq!(point["status_codes"], statuses, "{driver}");
        let messages = &point["messages"];
        let counts = ["received", "first_ns/count", "gap_ns/count"];
        let counts = counts.map(|name| count(messages, &format!("/{name}")));
        assert_eq!(counts, [3500, 500, 3000], "{driver}: {messages}");
        assert_eq!(messages["per_call"], json!(7.0), "{driver}");
        let stopped = server.stop();
        assert_eq!((&stopped["statuses"], &stopped["streamed"]), (&statuses, &json!(3500)));
    }
}

/// All messages of a call go out on one stream, as the windows of the server open.
#[test]
fn requests_that_stream_are_sent_whole() {
    let _turn = turn();
    let server = Server::start("target-grpc", &["--fail", "8", "--every", "10"]);
    let url = url(&server, "/shop.Catalog/Collect");
    let folder = Folder::new("grpc-collect");
    // More than the window of a stream.
    let sizes = [27_182, 8, 1_828, 45_904].map(|length| json!({ "name": "x".repeat(length) }));
    let file = folder.file("list.json");
    std::fs::write(&file, json!(sizes).to_string()).unwrap();
    let right = ["-f", &file, "--check-json", "{\"id\":4}", "-n", "200", "-c", "3", "-p", "16"];
    let record = load(&[&[&*url], &right[..]].concat());
    let point = &record["points"][0];
    let statuses = json!({ "OK": 180, "RESOURCE_EXHAUSTED": 20 });
    assert_eq!(point["status_codes"], statuses);
    assert_eq!(count(point, "/requests/completed"), 180);
    assert_eq!(point["messages"], Value::Null, "the reply is one");
    assert_eq!(server.stop()["received"], json!(200 * 4));
}

/// A message of a conversation leaves when the one before it was replied to, and each is counted as
/// the server counts it.
#[test]
fn conversations_are_counted_by_message() {
    let talk = ["-b", "[{\"id\":1},{\"id\":2},{\"name\":\"n\"},{},{\"id\":5}]"];
    for driver in drivers() {
        let _turn = turn();
        let server = Server::start("target-grpc", &["--fail", "8", "--every", "10"]);
        let url = url(&server, "/shop.Catalog/Talk");
        let sizes = ["-n", "500", "-c", "3", "-p", "16", "--driver", driver];
        let record = load(&[&[&*url], &talk[..], &sizes].concat());
        let point = &record["points"][0];
        let statuses = json!({ "OK": 450, "RESOURCE_EXHAUSTED": 50 });
        assert_eq!(point["status_codes"], statuses, "{driver}");
        let messages = &point["messages"];
        let counts = ["received", "due", "latency_ns/count", "first_ns/count", "gap_ns/count"];
        let counts = counts.map(|name| count(messages, &format!("/{name}")));
        assert_eq!(counts, [2500, 2500, 2500, 500, 2000], "{driver}: {messages}");
        assert_eq!(count(messages, "/latency_ns/censored"), 0, "{driver}: {messages}");
        let stopped = server.stop();
        assert_eq!((&stopped["received"], &stopped["streamed"]), (&json!(2500), &json!(2500)));
        // Calls are due on a schedule, and their messages follow.
        let server = Server::start("target-grpc", &[]);
        let url = self::url(&server, "/shop.Catalog/Talk");
        let sizes = ["-R", "400", "-n", "200", "-c", "3", "-p", "4", "--driver", driver];
        let record = load(&[&[&*url], &talk[..], &sizes].concat());
        let point = &record["points"][0];
        let (sent, messages) = (count(point, "/requests/sent"), &point["messages"]);
        let counts = ["received", "due"].map(|name| count(messages, &format!("/{name}")));
        assert_eq!(counts, [5 * sent; 2], "{driver}: {messages}");
        assert!(sent > 100 && server.stop()["received"] == json!(5 * sent), "{driver}: {sent}");
    }
}

/// More replies than messages, fewer, and none: the call has failed, and nothing hangs.
#[test]
fn replies_that_do_not_fit_fail_a_conversation() {
    let _turn = turn();
    let server = Server::start("target-grpc", &[]);
    let url = url(&server, "/shop.Catalog/Talk");
    let talk = ["-b", "[{\"id\":1},{\"id\":2}]", "-n", "20", "-c", "2"];
    for (replies, statuses, late, patience) in [
        ("twice", json!({ "INTERNAL": 20 }), 0, "20s"),
        ("first", json!({ "INTERNAL": 20 }), 0, "20s"),
        ("last", json!({}), 20, "300ms"),
    ] {
        let header = format!("item-replies: {replies}");
        let more = ["-H", &header, "--timeout", patience, "-t", "1", "--warmup", "0", "--json"];
        let said = run(&[&["load", &*url], &talk[..], &more].concat());
        let record = said.record();
        let point = &record["points"][0];
        assert_eq!(point["status_codes"], statuses, "{replies}: {}", said.stderr);
        assert_eq!(count(point, "/errors/timeout"), late, "{replies}: {point}");
        assert_eq!(count(point, "/requests/completed"), 0, "{replies}");
        assert!(count(&point["messages"], "/due") >= 20, "{replies}: {point}");
    }
    // A list of one is half closed with it, so all replies follow the last message.
    let one = ["-b", "{\"id\":1}", "-H", "item-replies: last", "-n", "20", "-c", "2"];
    let record = load(&[&[&*url], &one[..]].concat());
    assert_eq!(record["points"][0]["status_codes"], json!({ "OK": 20 }));
    let text = run(&["load", &url, talk[0], talk[1], "-n", "50", "-t", "1"]);
    assert!(text.stdout.contains("2 per call  first p50"), "{}", text.stdout);
    assert!(text.stdout.contains("message p50"), "{}", text.stdout);
}

/// A stream of none, one that ends at its deadline, and checks of each of its messages.
#[test]
fn a_stream_is_good_when_its_status_is_and_all_its_messages_are() {
    let _turn = turn();
    let server = Server::start("target-grpc", &[]);
    let url = url(&server, "/shop.Catalog/Watch");
    let record = load(&[&url, "-n", "20", "-c", "2"]);
    let point = &record["points"][0];
    assert_eq!(point["status_codes"], json!({ "OK": 20 }), "without a message");
    assert_eq!(count(point, "/messages/received"), 0);
    let named = ["-H", "item-name: a-b", "--check-json", "{\"name\":\"a-b\"}"];
    let record =
        load(&[&[&*url, "-b", "{\"items\":3}", "-n", "20", "-c", "2"], &named[..]].concat());
    assert_eq!(count(&record["points"][0], "/requests/completed"), 20);
    // The first of them is right.
    let one = ["--check-json", "{\"id\":1}", "-t", "1", "--warmup", "0", "--json"];
    let said =
        run(&[&["load", &*url, "-b", "{\"items\":3}", "-n", "20", "-c", "2"], &one[..]].concat());
    assert_eq!(count(&said.record()["points"][0], "/mismatches/json"), 20, "{}", said.stderr);
    let slow =
        ["-b", "{\"items\":100,\"everyMs\":20}", "--deadline", "300ms", "-n", "4", "-c", "2"];
    let good = ["--check-status", "DEADLINE_EXCEEDED", "-t", "1", "--warmup", "0", "--json"];
    let said = run(&[&["load", &*url], &slow[..], &good].concat());
    let record = said.record();
    let point = &record["points"][0];
    let late = point["status_codes"]["DEADLINE_EXCEEDED"].as_u64().unwrap_or(0);
    assert_eq!(late + count(point, "/errors/aborted"), 4, "{point}");
    let came = count(point, "/messages/received");
    assert!(came <= 4 * 15, "{came} messages came before the deadline, one in 20 ms");
    let text = run(&["load", &url, "-b", "{\"items\":5}", "-n", "50", "-t", "1"]);
    assert!(text.stdout.contains("5 per call  first p50"), "{}", text.stdout);
}

/// Cases of the interoperability tests of gRPC that concern a client
/// (<https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md>).
#[test]
fn cases_of_the_interoperability_tests_hold() {
    let _turn = turn();
    let server = Server::start("target-grpc", &[]);
    let folder = Folder::new("grpc-interop");
    let large = folder.file("large.json");
    let name = "x".repeat(271_828);
    std::fs::write(&large, json!({ "name": name }).to_string()).unwrap();
    let list = folder.file("list.json");
    let sizes = [27_182, 8, 1_828, 45_904].map(|length| json!({ "name": "x".repeat(length) }));
    std::fs::write(&list, json!(sizes).to_string()).unwrap();
    // Behind prefix and field number, and with the length of the name in three bytes.
    let length = (5 + 1 + 3 + name.len()).to_string();
    let odd = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1f608}\t\n";
    let of_status = |words: &str| json!({ "code": 2, "words": words }).to_string();
    let (plain, special) = (of_status("test status message"), of_status(odd));
    let proto = folder.file("more.proto");
    let text = "syntax = \"proto3\"; package shop; message M {} \
                service Catalog { rpc None(M) returns (M); } \
                service Other { rpc None(M) returns (M); }";
    std::fs::write(&proto, text).unwrap();
    let bytes = "item-name-bin: CgsK";
    for (case, method, options, status) in [
        ("empty_unary", "Catalog/Echo", &["-b", "{}", "--check-length", "5"][..], "OK"),
        ("large_unary", "Catalog/Echo", &["-f", &large, "--check-length", &length], "OK"),
        ("client_streaming", "Catalog/Collect", &["-f", &list, "--check-json", "{\"id\":4}"], "OK"),
        (
            "an empty client_streaming",
            "Catalog/Collect",
            &["-b", "[]", "--check-json", "{\"id\":0}"],
            "OK",
        ),
        ("ping_pong", "Catalog/Talk", &["-f", &list, "--check-length", "74955"], "OK"),
        ("empty_stream", "Catalog/Talk", &["-b", "[]", "--check-length", "0"], "OK"),
        ("server_streaming", "Catalog/Watch", &["-b", "{\"items\":4}"], "OK"),
        ("status_code_and_message", "Catalog/Fail", &["-b", &plain], "UNKNOWN"),
        ("special_status_message", "Catalog/Fail", &["-b", &special], "UNKNOWN"),
        ("unimplemented_method", "Catalog/None", &["--proto", &proto], "UNIMPLEMENTED"),
        ("unimplemented_service", "Other/None", &["--proto", &proto], "UNIMPLEMENTED"),
        (
            "custom_metadata",
            "Catalog/Read",
            &["-H", bytes, "--check-json", "{\"name\":\"\\n\\u000b\\n\"}"],
            "OK",
        ),
    ] {
        let url = url(&server, &format!("/shop.{method}"));
        let good = ["-n", "30", "-c", "2", "-p", "3", "--check-status", status];
        let sizes = ["-t", "1", "--warmup", "0", "--json"];
        let said = run(&[&["load", &*url], options, &good, &sizes].concat());
        assert!(said.code == 0 || said.code == 4, "{case}: {}: {}", said.code, said.stderr);
        let record = said.record();
        let point = &record["points"][0];
        assert_eq!(point["status_codes"], json!({ status: 30 }), "{case}");
        assert_eq!(count(point, "/requests/completed"), 30, "{case}");
    }
}

/// Fields of every reply, of one method and of a mix in which each has its own.
#[test]
fn replies_are_checked_by_their_fields() {
    let _turn = turn();
    let server = Server::start("target-grpc", &[]);
    let read = url(&server, "/shop.Catalog/Read");
    let sizes = ["-b", "{\"id\":7}", "-n", "300", "-c", "2", "-p", "8"];
    for (json, completed) in [
        ("{\"id\":\"7\",\"name\":\"an item\",\"colour\":\"ANY\"}", 300),
        ("{\"id\":7,\"name\":\"an\"}", 0),
    ] {
        let options = ["--check-json", json, "-t", "1", "--warmup", "0", "--json"];
        let said = run(&[&["load", &read][..], &sizes, &options].concat());
        let point = &said.record()["points"][0];
        assert_eq!(count(point, "/requests/completed"), completed, "{json}: {}", said.stderr);
        assert_eq!(count(point, "/mismatches/json"), 300 - completed, "{json}");
        assert_eq!(point["status_codes"], json!({ "OK": 300 }), "{json}");
    }
    let folder = Folder::new("grpc-checks");
    let line = |id: u32, right: u32| {
        let check = json!({ "json": { "id": right } });
        let body = json!({ "id": id }).to_string();
        json!({ "url": "/shop.Catalog/Read", "body_text": body, "check": check })
    };
    let file = folder.file("mix.jsonl");
    std::fs::write(&file, format!("{}\n{}\n", line(1, 1), line(2, 3))).unwrap();
    let record = load(&[&url(&server, ""), "-i", &file, "-n", "200", "-c", "2", "-p", "4"]);
    let failed = record["points"][0]["targets"].as_array().unwrap().iter();
    let failed: Vec<u64> = failed.map(|target| count(target, "/mismatched")).collect();
    assert_eq!(failed, [0, 100]);
}

/// With a status or, since it looks at the deadline in two places, with a reset of the stream; on
/// a busy host all end with the second, and then no call was good.
#[test]
fn the_server_ends_a_call_after_its_deadline() {
    let _turn = turn();
    let server = Server::start("target-grpc", &[]);
    let url = url(&server, "/shop.Catalog/Slow");
    let good = ["--check-status", "DEADLINE_EXCEEDED"];
    let sizes = ["-n", "10", "-c", "2", "--deadline", "20ms", "-t", "1", "--warmup", "0"];
    let said = run(&[&["load", url.as_str(), "--json"], &sizes[..], &good].concat());
    assert!([0, 4, 5].contains(&said.code), "{}: {}", said.code, said.stderr);
    let record = said.record();
    let point = &record["points"][0];
    let late = point["status_codes"]["DEADLINE_EXCEEDED"].as_u64().unwrap_or(0);
    assert_eq!(late + count(point, "/errors/aborted"), 10, "{point}");
}

#[test]
fn statuses_have_their_names_in_the_text() {
    let _turn = turn();
    let server = Server::start("target-grpc", &["--fail", "14", "--every", "2"]);
    let url = url(&server, "/shop.Catalog/Echo");
    let said = run(&["load", &url, "-n", "100", "-t", "1"]);
    for words in ["OK 50.0 %  UNAVAILABLE 50.0 %", "requests failed: UNAVAILABLE 50.0 %"] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
}

#[test]
fn a_server_tells_what_it_can_be_asked() {
    let _turn = turn();
    for which in ["both", "v1alpha"] {
        let server = Server::start("target-grpc", &["--reflection", which]);
        let place = format!("127.0.0.1:{}", server.port);
        let listed = run(&["grpc", "list", &place]);
        let words = "shop.Catalog\n  rpc Read(shop.ReadRequest) returns (shop.Item)\n";
        assert!(listed.stdout.contains(words), "{which}: {}{}", listed.stdout, listed.stderr);
        let described = run(&["grpc", "describe", &place, "shop.Catalog/Read"]);
        for words in [
            "message shop.ReadRequest {\n  int64 id = 1;\n}",
            &format!("ceiling grpc://{place}/shop.Catalog/Read -b '{{\"id\":1}}'"),
        ] {
            assert!(described.stdout.contains(words), "{which}: {}", described.stdout);
        }
        let document = run(&["grpc", "describe", &place, "shop.ReadRequest", "--json"]);
        let document: Value = serde_json::from_str(&document.stdout).unwrap();
        assert_eq!(document["described"][0]["example"], json!({ "id": 1 }), "{which}");
    }
}

/// One that does not describe itself is called with a schema from a file.
#[test]
fn a_schema_can_come_from_a_file() {
    let _turn = turn();
    let server = Server::start("target-grpc", &["--reflection", "off"]);
    let (url, proto) = (url(&server, "/shop.Catalog/Echo"), fixture("shop.proto"));
    let without = run(&["load", &url, "-n", "10"]);
    assert_eq!(without.code, 5, "{}", without.stderr);
    for words in ["does not describe itself", "--proto FILE", "--protoset FILE"] {
        assert!(without.stderr.contains(words), "{words}: {}", without.stderr);
    }
    let record = load(&[&url, "--proto", &proto, "-b", "{\"colour\":\"RED\"}", "-n", "10"]);
    assert_eq!(record["points"][0]["status_codes"], json!({ "OK": 10 }));
    let listed = run(&["grpc", "list", "--proto", &proto, "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["services"][0]["methods"][4]["streams_replies"], json!(true));
}

/// One line each, before any load.
#[test]
fn what_cannot_be_called_is_said() {
    let _turn = turn();
    let server = Server::start("target-grpc", &[]);
    let of = |path: &str| url(&server, path);
    let other = Server::start("target-sink", &["--threads", "1"]);
    let http = format!("grpc://127.0.0.1:{}/shop.Catalog/Read", other.port);
    let refusing = "grpc://127.0.0.1:1/shop.Catalog/Read".to_string();
    for (url, more, code, words) in [
        (of("/shop.Catalog/Red"), &[][..], 2, "did you mean Read?"),
        (of("/shop.Shop/Read"), &[], 2, "there is no service shop.Shop"),
        (of("/"), &[], 2, "grpc://HOST:PORT/package.Service/Method"),
        (of("/shop.Catalog/Read"), &["-b", "{\"id\":\"x\"}"], 2, "field 'id' takes int64"),
        (of("/shop.Catalog/Read"), &["-b", "{\"id\":\"{{seq}}\"}"], 2, "--expand 1000"),
        (of("/shop.Catalog/Collect"), &["-b", "[{\"id\":{}}]"], 2, "message 1 of 1: field 'id'"),
        (of("/shop.Catalog/Read"), &["--http", "1"], 2, "gRPC needs HTTP/2"),
        (of("/shop.Catalog/Read"), &["--check-json", "{\"idd\":1}"], 2, "did you mean id?"),
        (
            of("/shop.Catalog/Read").replace("grpc:", "http:"),
            &["--check-json", "{\"id\":1}"],
            2,
            "--check-json is about calls of gRPC",
        ),
        (of("/shop.Catalog/Read"), &["-X", "PUT"], 2, "every call is a POST"),
        (of("/shop.Catalog/Read"), &["-H", "te: trailers"], 2, "every call has it"),
        (
            of("/shop.Catalog/Read").replace("grpc:", "http:"),
            &["--deadline", "1s"],
            2,
            "calls of gRPC",
        ),
        (http, &[], 5, "does not speak HTTP/2"),
        (refusing, &[], 5, "ceiling: 127.0.0.1:1: connect: Connection refused"),
    ] {
        let said = run(&[&["load", &url, "-n", "10"], more].concat());
        assert_eq!(said.code, code, "{url}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{url}: {}", said.stderr);
        assert_eq!(said.stderr.trim_end().lines().count(), 1, "{}", said.stderr);
    }
    let fanned = run(&["fanout", &of("/shop.Catalog/Read"), "-c", "2"]);
    assert!(
        fanned.stderr.contains("gRPC: a fan-out of calls is not possible"),
        "{}",
        fanned.stderr
    );
}

/// Each of its bytes comes in time, and the answer never does.
#[test]
fn a_server_that_says_little_for_ever_is_given_up() {
    let _turn = turn();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut words = Vec::new();
        say(&Said::Settings { streams: None, window: None }, &mut words);
        while stream.write_all(&std::mem::take(&mut words)).is_ok() {
            thread::sleep(Duration::from_millis(50));
            say(&Said::Ping, &mut words);
        }
    });
    let said = run(&["grpc", "list", &address, "-T", "200ms"]);
    assert_eq!(said.code, 5, "{}", said.stderr);
    assert!(said.stderr.contains("has not described itself within 1.2s"), "{}", said.stderr);
}
