//! Limits of this process, and a server that cannot be watched.

use crate::harness::{
    Finished, Server, alone, code_of, is_root, run_on_time, shown, signal, turn, wall,
};
use std::process::Command;

#[test]
fn too_few_descriptors_are_refused_beforehand_or_raised() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/");
    let limited = |limit: &str| {
        let shell = format!("{limit} && exec \"$@\"");
        let arguments = ["-c", &shell, "sh", env!("CARGO_BIN_EXE_ceiling"), "load", &url];
        let mut command = alone(Command::new("sh"));
        // Without the capability, the hard limit binds root as well.
        if is_root() {
            command = alone(Command::new("setpriv"));
            command.args(["--bounding-set", "-sys_resource", "--", "sh"]);
        }
        command.args(arguments).args(["-c", "200", "-n", "1000", "--json"]);
        Finished::of(command.output().unwrap())
    };
    let refused = limited("ulimit -Sn 150 && ulimit -Hn 150");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for word in ["C8", "300", "at most -c 50"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    let raised = limited("ulimit -Sn 150");
    assert!(raised.stderr.contains("raised the soft limit"), "{}", raised.stderr);
    let record = raised.record();
    assert_eq!(record["points"][0]["connections"]["opened"], 200, "{}", raised.stdout);
    assert_eq!(raised.code, code_of(&record), "{}", shown(&record));
}

#[test]
fn a_server_that_is_out_of_sight_is_unknown_with_a_next_step() {
    let _turn = turn();
    let mut server = Server::start("target-sink", &["--delay", "fixed:5ms"]);
    // A process that is not the server: its threads say nothing about the server.
    let url = server.url("/");
    let gone = run_on_time(&["load", &url, "-c", "8", "-d", "1", "--server-pid", "4194303"]);
    let record = gone.record();
    assert_eq!(wall(&record), "unknown", "{}", shown(&record));
    let next = record["verdict"]["next"][0]["advice"].as_str().unwrap();
    assert!(next.contains("--server-pid"), "{next}");
    assert!(gone.stderr.contains("the server is not watched"), "{}", gone.stderr);
    signal(server.pid, "KILL");
    server.kill();
}
