//! Levels as people list them: all are visited, in their order, each with what was asked of it.

use crate::harness::{Server, code_of, count, measure, shown, turn};
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
    let (code, record) = measure(&[&ramp[..], &["-c", "1,3,5..10+5,20"]].concat());
    assert_eq!(code, code_of(&record), "{}", shown(&record));
    let connections: Vec<_> =
        points(&record).iter().map(|point| count(point, "/load/connections")).collect();
    assert_eq!(connections, [1, 3, 5, 10, 20]);
    assert!(points(&record).iter().all(|point| count(point, "/requests/completed") > 0));

    let (_, record) = measure(&[&ramp[..], &["-R", "50,200,350", "-c", "4"]].concat());
    let planned: Vec<_> =
        points(&record).iter().map(|point| count(point, "/requests/planned")).collect();
    assert_eq!(planned, [10, 40, 70], "a fifth of a second of each rate");
    server.stop();
}
