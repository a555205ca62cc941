//! Profiles by perf, which the kernel allows for root.

use crate::harness::{Server, measure, must_be_root, turn};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The runs of one test, removed at its end.
struct Runs(PathBuf);

impl Runs {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ceiling-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn only(&self) -> PathBuf {
        let mut runs = fs::read_dir(&self.0).unwrap().map(|run| run.unwrap().path());
        let only = runs.next().expect("a run is kept");
        assert!(runs.next().is_none());
        only
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn captures<'a>(record: &'a Value, kind: &str) -> Vec<&'a Value> {
    let captures = record["profile"]["captures"].as_array().unwrap();
    captures.iter().filter(|capture| capture["kind"] == kind).collect()
}

fn merged<'a>(record: &'a Value, kind: &str) -> &'a Value {
    let kinds = record["profile"]["kinds"].as_array().unwrap();
    kinds.iter().find(|merged| merged["kind"] == kind).unwrap_or(&Value::Null)
}

#[test]
fn a_server_without_an_endpoint_is_sampled_by_perf() {
    must_be_root();
    let _turn = turn();
    let runs = Runs::new("profile-perf");
    let server = Server::start("target-sink", &[]);
    let (url, pid) = (server.url("/simple"), server.pid.to_string());
    let load = ["load", &url, "-c", "8", "-d", "12", "--profile", "perf", "--server-pid", &pid];
    let (_, record) = measure(&[&load[..], &["--runs", runs.text()]].concat());
    assert_eq!(record["profile"]["failures"], serde_json::json!([]), "{}", record["profile"]);
    let captures = captures(&record, "perf");
    assert_eq!((captures.len(), &captures[0]["pid"]), (1, &server.pid.into()), "{captures:?}");
    let file = fs::read(runs.only().join(captures[0]["file"].as_str().unwrap())).unwrap();
    assert_eq!(file[..2], [0x1f, 0x8b], "pprof files are packed by gzip");
    assert!(merged(&record, "perf")["total"].as_u64().unwrap() > 0, "{}", record["profile"]);
}
