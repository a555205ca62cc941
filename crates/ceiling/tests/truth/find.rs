//! The highest rate that holds an objective, against a server whose limit is known.

use crate::harness::{Server, count, run, turn};

#[test]
fn eight_connections_of_20_ms_hold_400_a_second() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:20ms"]);
    let url = server.url("/read");
    // One request at a time on each of 8 connections. At 460/s, a tenth of the requests of 1 s wait
    // longer than 150 ms.
    let slo = "p90<150ms,errors<2%";
    let find = ["find", &url, "--slo", slo, "-c", "8", "-R", "100..2k", "--trial", "1s"];
    let said = run(&[&find[..], &["--precision", "10%", "--budget", "25s", "--json"]].concat());
    let record = said.record();
    let response = &record["search"]["answer"];
    assert_eq!(record["trial"]["expect"], slo);
    let trials = record["search"]["trials"].as_array().unwrap();
    assert_eq!(trials.len(), record["points"].as_array().unwrap().len());
    assert_eq!(trials[0]["rate"], 100.0, "the search begins at the lowest rate");
    for point in record["points"].as_array().unwrap() {
        assert_eq!(point["load"]["model"], "open");
        assert_eq!(point["expectations"].as_array().unwrap().len(), 2);
        let [planned, sent, unsent] = ["planned", "sent", "unsent"]
            .map(|name| count(&point["requests"], &format!("/{name}")));
        assert_eq!(planned, sent + unsent);
    }
    let rate = response["rate"].as_f64().unwrap_or_else(|| panic!("{response}"));
    assert!(rate < 520.0, "more than the connections can carry: {response}");
    match said.code {
        0 => {
            let misses_at = response["misses_at"].as_f64().unwrap_or_else(|| panic!("{response}"));
            assert!(misses_at > rate && misses_at > 300.0, "{response}");
            // On a busy machine trials take longer and the budget may end first; it says so.
            assert!(rate > 300.0 || response["ended"] == "budget-spent", "{response}");
        }
        // Neighbours on the machine can make any generator late: then the search claims no rate.
        4 => assert_eq!(
            (&response["ended"], &response["kind"]),
            (&"client-limited".into(), &"at-least".into())
        ),
        code => panic!("exit {code}: {response}"),
    }
}
