//! The highest rate that holds an objective.

use crate::harness::{Server, run, turn};

#[test]
fn an_objective_that_nothing_holds_has_no_rate() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--status", "500:50%"]);
    let url = server.url("/read");
    let find = ["find", &url, "--slo", "errors<1%", "-R", "200..1k", "--trial", "500ms"];
    let said = run(&[&find[..], &["--budget", "8s"]].concat());
    assert!(said.stdout.contains("NO RATE WAS SHOWN TO HOLD errors<1%"), "{}", said.stdout);
    assert_eq!(said.code, 3, "{}", said.stdout);
}
