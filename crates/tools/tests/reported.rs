//! What others reported about outputs of tools, rebuilt small, and inputs of the same kinds: read
//! or refused with the reason, and judged by what cannot be.

use model::audit::{Account, Given, Loop, Outcome, Since};
use std::path::Path;
use tools::audit::{account, read};

/// The instant of all audits here, in January 2027.
const NOW_S: f64 = 1.8e9;

fn judged(text: &str) -> Account {
    let given = Given { now_s: Some(NOW_S), ..Given::default() };
    let told = read(&mut text.as_bytes(), &given).unwrap_or_else(|error| panic!("{error}\n{text}"));
    account("-".into(), String::new(), told, &given)
}

/// The names of the figures that cannot be.
fn refuted(text: &str) -> Vec<String> {
    let of = judged(text);
    let wrong = of.claims.iter().filter(|claim| claim.outcome == Outcome::Impossible);
    let mut names: Vec<String> = wrong.map(|claim| claim.name.clone()).collect();
    names.sort();
    names
}

fn corpus(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A real output with one text replaced by another.
fn changed(name: &str, from: &str, to: &str) -> String {
    let text = corpus(name);
    assert!(text.contains(from), "{name} has no `{from}`");
    text.replace(from, to)
}

/// wrk2 whose clock went wrong: 8 s were asked for.
#[test]
fn a_duration_cannot_be_shorter_than_a_latency_in_it() {
    let flash = "Running 8s test @ http://127.0.0.1:8085/\n  200 threads and 800 connections\n  \
                 Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     2.61s     \
                 1.44s    6.88s    61.20%\n    Req/Sec       -nan      -nan   0.00      0.00%\n  \
                 701200 requests in 1.40ms, 188.10MB read\nRequests/sec: 500857142.86\n\
                 Transfer/sec:    131.21GB\n";
    assert_eq!(refuted(flash), ["duration", "max", "mean"]);
    let marked =
        flash.replace("  200 threads", "  Thread calibration: mean lat.: 1ms\n  200 threads");
    assert_eq!(judged(&marked).foreign.tool, "wrk2");
    assert_eq!(refuted(&marked), ["duration", "max", "mean"]);
    // Of a run that ended early, whose times fit.
    let early = flash.replace("2.61s     1.44s    6.88s", "1.10ms  0.20ms   1.35ms");
    assert_eq!(refuted(&early), Vec::<String>::new());
    for (name, from, to) in [
        ("hey-healthy.txt", "Slowest:\t", "Slowest:\t9"),
        ("oha-text-healthy.txt", "Slowest:\t", "Slowest:\t999"),
        ("fortio-json-healthy.json", "\"Max\": ", "\"Max\": 9"),
        ("vegeta-json-healthy.json", "\"max\":", "\"max\":9999"),
    ] {
        let names = refuted(&changed(name, from, to));
        let both = ["duration", "max"].iter().all(|one| names.iter().any(|name| name == one));
        assert!(both, "{name}: {names:?}");
    }
}

/// The time since 1970 in the place of a duration, as tools print it whose start was never set.
#[test]
fn a_duration_cannot_be_longer_than_the_tool_exists() {
    for (name, from, to) in [
        ("wrk-healthy.txt", " requests in ", " requests in 495000.00h, 1B read\n x "),
        ("hey-healthy.txt", "Total:\t", "Total:\t1700000000 secs "),
        ("vegeta-json-healthy.json", "\"duration\":", "\"duration\":1700000000000000000,\"x\":"),
    ] {
        let names = refuted(&changed(name, from, to));
        assert!(names.iter().any(|name| name == "duration"), "{name}: {names:?}");
    }
    let rows = "timeStamp,elapsed,label,success\n0,250,a,true\n1700000000000,250,a,true\n";
    assert_eq!(refuted(rows), ["duration"]);
}

/// Clocks that went back, means of nothing, bounds of a number that no sample replaced.
#[test]
fn a_time_that_is_none_refutes_itself_in_every_format() {
    for (name, from, to, figure) in [
        ("hey-healthy.txt", "Fastest:\t", "Fastest:\t-3.1 secs ", "min"),
        ("hey-healthy.txt", "Average:\t", "Average:\tNaN secs ", "mean"),
        ("oha-text-healthy.txt", "Fastest:\t", "Fastest:\tinf ns ", "min"),
        ("oha-json-healthy.json", "\"fastest\": ", "\"fastest\": -", "min"),
        ("wrk-healthy.txt", "    Latency  ", "    Latency  -nanus ", "mean"),
        ("wrk2-healthy.txt", "    Latency  ", "    Latency  -1.00ms 1.00ms 5.00ms 9% ", "mean"),
        ("ab-healthy.txt", "Time taken for tests:   ", "Time taken for tests:   -", "duration"),
        ("h2load-healthy.txt", "time for request: ", "time for request: -1us ", "min"),
        ("vegeta-text-healthy.txt", "max]  ", "max]  -", "min"),
        ("vegeta-json-healthy.json", "\"min\":", "\"min\":-", "min"),
        (
            "autocannon-json-healthy.json",
            "\"latency\":{\"average\":",
            "\"latency\":{\"average\":-",
            "mean",
        ),
        ("fortio-json-healthy.json", "\"Min\": ", "\"Min\": -", "min"),
        ("fortio-text-healthy.txt", " avg ", " avg NaN was ", "mean"),
        ("gatling-text-healthy.txt", "> min response time ", "> min response time -9 ", "min"),
        ("jmeter-text-healthy.txt", "Min: ", "Min: -9 x ", "min"),
    ] {
        let names = refuted(&changed(name, from, to));
        assert!(names.iter().any(|name| name == figure), "{name}, {to}: {names:?}");
    }
    let k6 = "  http_req_duration....: avg=2ms min=-1ms med=2ms max=4ms p(90)=3ms p(95)=4ms\n  \
              http_reqs............: 100 10/s\n";
    assert_eq!(refuted(k6), ["min"]);
    let jmeter = r#"{"Total": {"sampleCount": 10, "errorCount": 0, "meanResTime": "NaN",
                 "minResTime": 1.0, "maxResTime": 9.0, "throughput": 10.0}}"#;
    assert_eq!(refuted(jmeter), ["mean"]);
}

/// Requests were sent, and nothing came: also a zero is not a time of a response.
#[test]
fn without_a_response_there_is_no_latency() {
    let nothing = r#"{"url":"http://127.0.0.1:8080/","requests":{"average":0,"total":0,"sent":980},
        "latency":{"average":0,"stddev":0,"min":0,"max":0,"p50":0,"p99":0},
        "throughput":{"average":0,"total":0},"errors":0,"timeouts":0,"duration":6.1,
        "connections":40,"pipelining":1,
        "non2xx":0,"1xx":0,"2xx":0,"3xx":0,"4xx":0,"5xx":0}"#;
    assert_eq!(refuted(nothing), ["max", "mean", "min", "p50", "p99", "stdev"]);
    let of = judged(nothing);
    let all = of.claims.iter().flat_map(|claim| &claim.findings);
    let said: Vec<&str> = all.map(|finding| finding.arithmetic.as_str()).collect();
    assert!(said.iter().any(|said| said.contains("no request of 980 got a response")), "{said:?}");
    assert!(!said.iter().any(|said| said.contains("1 of 1")), "{said:?}");
    let wrk = "Running 2s test @ http://127.0.0.1:8080/\n  1 threads and 4 connections\n  Thread \
               Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     0.00us    0.00us   \
               0.00us    -nan%\n    Req/Sec     0.00      0.00     0.00      -nan%\n  0 requests \
               in 2.00s, 0.00B read\n  Socket errors: connect 0, read 0, write 0, timeout 4\n\
               Requests/sec:      0.00\nTransfer/sec:       0.00B\n";
    assert_eq!(refuted(wrk), ["max", "mean", "stdev"]);
    let h2load = "starting benchmark...\nspawning thread #0: 4 total client(s). 100 total \
                  requests\n\nfinished in 2.00s, 0.00 req/s, 0B/s\nrequests: 100 total, 4 started, \
                  0 done, 0 succeeded, 100 failed, 100 errored, 0 timeout\nstatus codes: 0 2xx, 0 \
                  3xx, 0 4xx, 0 5xx\ntraffic: 0B (0) total\n                     min         max  \
                  mean         sd        +/- sd\ntime for request:        0us         0us         \
                  0us         0us    0.00%\n";
    assert_eq!(refuted(h2load), ["max", "mean", "min", "stdev"]);
}

/// Vegeta of 2014: other blanks, one value in most rows.
#[test]
fn a_report_of_vegeta_in_2014_is_read() {
    let text = "Requests        [total]                 12000\nDuration        [total]           \
                24.008s\nLatencies       [mean, 95, 99, max]     4.9ms, 2.1ms, 2.9s, 2.95s\nBytes \
                In        [total, mean]           7959600, 663.30\nBytes Out       [total, mean]  \
                0, 0.00\nSuccess         [ratio]                 100.00%\nStatus Codes    \
                [code:count]            200:12000  \nError Set:\n";
    let of = judged(text);
    let figure = |name: &str| {
        let claim = of.claims.iter().find(|claim| claim.name == name);
        claim.unwrap_or_else(|| panic!("no {name}")).figure.value
    };
    assert_eq!((figure("requests"), figure("duration"), figure("max")), (12_000.0, 24.008, 2.95));
    assert_eq!((figure("good"), figure("success"), figure("p99")), (12_000.0, 1.0, 2.9));
}

/// `ceiling wrk` and the others print how our engine measured below the layout of the tool.
#[test]
fn outputs_of_our_engine_are_read_by_what_it_measured() {
    let below = |name: &str, tool: &str, row: &str| {
        format!("{}\nWhat {tool} would not have reported:\n  loop        {row}\n", corpus(name))
    };
    let since = |text: &str| {
        let of = judged(text);
        (of.foreign.latencies[0].since, of.foreign.meaning.load)
    };
    let (closed, open) = ("closed: at most 16 requests in flight", "open: latency counts from");
    let wrk = corpus("wrk-healthy.txt");
    assert_eq!(since(&wrk).0, Since::SendWithAdded);
    for (name, tool) in [("wrk-healthy.txt", "wrk"), ("oha-text-healthy.txt", "oha")] {
        assert_eq!(since(&below(name, tool, closed)), (Since::Send, Loop::Closed), "{name}");
    }
    for (name, tool) in [("hey-healthy.txt", "hey"), ("oha-text-healthy.txt", "oha")] {
        assert_eq!(since(&below(name, tool, open)), (Since::Plan, Loop::Open), "{name}");
    }
    let other = below("hey-healthy.txt", "wrk", open);
    assert_eq!(since(&other), (Since::Send, Loop::Closed), "a text about another tool");
}

/// ghz has the percentiles of calls with status OK; a tenth failed, and are in p95 and p99 only if
/// they are counted as slower than all others.
#[test]
fn percentiles_that_leave_failed_calls_out_say_so_from_the_share_on_that_failed() {
    let of = judged(&corpus("ghz-text-some.txt"));
    let outcome = |name: &str| of.claims.iter().find(|one| one.name == name).unwrap().outcome;
    assert_ne!(outcome("p90"), Outcome::Undecided);
    for name in ["p95", "p99", "all.mean"] {
        assert_eq!(outcome(name), Outcome::Undecided, "{name}");
    }
}

/// By hey's own definition the data are the bodies, and their mean is of as many responses.
#[test]
fn bytes_are_those_of_one_response_times_the_responses() {
    for (name, each, other) in [
        ("hey-healthy.txt", "Size/request:\t16", "Size/request:\t87"),
        ("oha-text-healthy.txt", "Size/request:\t16", "Size/request:\t87"),
        ("oha-json-healthy.json", "\"sizePerRequest\": 16", "\"sizePerRequest\": 87"),
    ] {
        assert_eq!(refuted(&corpus(name)), Vec::<String>::new(), "{name}");
        assert_eq!(refuted(&changed(name, each, other)), ["bytes"], "{name}");
    }
}

/// What is known and not read says what to use instead.
#[test]
fn other_forms_are_refused_with_what_to_use() {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let utf16: Vec<u8> = "\u{feff}Running".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (file, words) in [
        (utf16, "Set-Content -Encoding utf8"),
        (bytes("response-time,DNS+dialup,DNS,Request-write\n0.1,0,0,0\n"), "without -o csv"),
        (bytes("metric_name,timestamp,metric_value,check\n"), "--summary-export"),
        (bytes("{\"attack\":\"\",\"seq\":0,\"code\":200,\"latency\":12}\n"), "vegeta report"),
        (bytes("1700000000000000000,200,12000,0,16,,eA==,,0\n"), "vegeta report"),
        (b"\x7f\xff\x81\x03\x01\x01\x06Result\x01\xff\x82\0".to_vec(), "vegeta report"),
        (bytes("Type,Name,Request Count,Failure Count\n"), "Locust"),
        (bytes("{\"aggregate\": {\"counters\": {\"vusers.created\": 4}}}\n"), "Artillery"),
        (bytes("\n \n"), "empty"),
        (bytes(""), "empty"),
    ] {
        let error = read(&mut &file[..], &Given::default()).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}
