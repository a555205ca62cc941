//! Evidence from the kernel about a server of known delay, and who may not have it.

use crate::harness::{Server, ceiling, measure, turn};

const DELAY_NS: u64 = 20_000_000;

#[test]
fn the_delay_of_a_server_is_at_the_server_and_in_a_visit_of_its_own() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--delay", "fixed:20ms"]);
    let url = server.url("/");
    let load = vec!["load", &url, "-c", "4", "-d", "2"];
    let ramp = vec!["ramp", &url, "-c", "2..4*2", "-d", "2", "--repeats", "0"];
    for (asked, points) in [(load, 1), (ramp, 2)] {
        let (_, record) = measure(&[&asked[..], &["--evidence", "kernel"]].concat());
        assert_eq!(record["points"].as_array().unwrap().len(), points, "the visit is no point");
        let readings = &record["kernel"]["readings"];
        if readings["split"].is_null() {
            let unreadable = readings["unreadable"].as_array().unwrap();
            assert!(!unreadable.is_empty(), "{readings}");
            println!("skipped: {unreadable:?}");
            return;
        }
        // The server may stamp a request when it wakes up, a moment before it reads it.
        let sum = |part: &str, what: &str| readings["split"][part][what].as_u64().unwrap();
        let (at_server_ns, count) =
            (sum("unread", "sum_ns") + sum("inside", "sum_ns"), sum("inside", "count"));
        assert!(count > 0 && at_server_ns >= count * DELAY_NS, "{readings}");
        // Visits with few requests, where that one was like the level.
        for visit in record["kernel"]["light"].as_array().into_iter().flatten() {
            let (split, figure) = (&visit["split"], |key: &str| visit[key].as_f64().unwrap());
            let sum = |part: &str| split[part]["sum_ns"].as_u64().unwrap();
            let count = split["inside"]["count"].as_u64().unwrap();
            assert!(sum("unread") + sum("inside") >= count * DELAY_NS, "{visit}");
            let answered_rate = record["kernel"]["answered_rate"].as_f64().unwrap();
            assert!((figure("asked_rate") * 4.0 / answered_rate - 1.0).abs() < 1e-6, "{visit}");
        }
        let programs = readings["programs"].as_array().unwrap();
        assert!(programs.iter().any(|one| one["ns"].as_u64() > Some(0)), "{programs:?}");
    }
}

#[test]
fn evidence_that_cannot_be_had_is_refused_with_the_way_to_have_it() {
    let refused = |options: &[&str]| {
        let load = [&["load", "http://127.0.0.1:9/", "--evidence", "kernel"], options].concat();
        let output = ceiling(&load).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["-d", "1"]).contains("at least 1.3s"));
    assert!(refused(&["-n", "100"]).contains("at least 1.3s"));
    let far = refused(&["-d", "5", "--probe", "10.0.0.2:9999"]);
    assert!(far.contains("run ceiling there"), "{far}");
}
