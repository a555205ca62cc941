//! A process whose monotonic clock differs from that of its host, as in a migrated container.

use crate::harness::{Finished, Server, count, must_be_root, shown, turn};
use std::process::Command;

#[test]
fn waits_take_as_long_with_a_clock_of_ones_own() {
    let _turn = turn();
    must_be_root();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/");
    for driver in ["uring", "epoll"] {
        // A wait until an instant of a clock that is a day ahead would last a day: only that bug
        // reaches the limit of two minutes.
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "120", "unshare", "--fork", "--kill-child", "-T"]);
        command.args(["--monotonic", "86400"]);
        command.arg(env!("CARGO_BIN_EXE_ceiling"));
        command.args(["load", &url, "-R", "10", "-c", "1", "-t", "1", "-n", "10", "--warmup", "0"]);
        command.args(["--driver", driver, "--json"]).env("CEILING_RUNS", "none");
        let said = Finished::of(command.output().unwrap());
        let record = said.record();
        let requests = &record["points"][0]["requests"];
        let [sent, unsent] = ["/sent", "/unsent"].map(|name| count(requests, name));
        assert_eq!(sent + unsent, 10, "{driver}: {}{}", said.stderr, shown(&record));
        assert_eq!(sent, 10, "{driver}: the window lasts until all are sent");
    }
}
