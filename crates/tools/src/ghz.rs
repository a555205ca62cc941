//! ghz: calls of gRPC, in a closed loop of workers or at a rate.

use crate::ask::Ask;
use crate::command_line::{CommandLine, NO_LINE, Sets, flag};
use crate::order::{FOLDER, Order, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;
use serde_json::{Map, Value};

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Ghz,
    get: "go install github.com/bojand/ghz/cmd/ghz@latest, or make peers",
    version: &["--version"],
    threads: Threads::EveryCpu,
    harmless: &[],
    order,
};

/// Its command line. Its workers share connections.
pub(crate) const LINE: CommandLine = CommandLine {
    tool: "ghz",
    options: &[
        flag(&["-c", "--concurrency"], Sets::Connections),
        flag(&["-z", "--duration"], Sets::Duration),
        flag(&["-r", "--rps"], Sets::Rate),
        flag(&["-n", "--total"], Sets::Count),
    ],
    defaults: &[(&["-c"], "50")],
    ..NO_LINE
};

/// The file with the message.
const MESSAGE: &str = "message";
/// The length of a message and whether it is compressed stand before it.
const PREFIX_BYTES: usize = 5;
/// Fields of every call, which it writes itself.
const OF_CALLS: [&str; 2] = ["content-type", "te"];
const DEADLINE: &str = "grpc-timeout";

fn order(ask: &Ask) -> Result<Order, String> {
    if !ask.is_call {
        return Err("ghz makes calls of gRPC and nothing else; give a grpc:// URL".to_string());
    }
    ask.one_of_each_header("ghz")?;
    if ask.headers.iter().any(|(name, _)| name == DEADLINE) {
        return Err("ghz sends its time-out as the deadline; give --timeout instead of --deadline"
            .to_string());
    }
    let ends = match ask.stop {
        Stop::AfterNs(ns) => format!("-z {}", Ask::time(ns)),
        Stop::AfterRequests(count) => format!("-n {count}"),
    };
    let rate = ask.whole_rate("ghz")?.map_or(String::new(), |rate| format!("-r {rate}"));
    let line = format!(
        "--insecure --format json -c {} --connections {} {ends} {rate} -t {} -B {FOLDER}/{MESSAGE}",
        u64::from(ask.connections) * u64::from(ask.depth),
        ask.connections,
        Ask::time(ask.timeout_ns),
    );
    let rest = ask.url.split_once("://").map_or(ask.url.as_str(), |(_, rest)| rest);
    let (place, call) = rest.split_once('/').unwrap_or((rest, ""));
    let mut words = words(&line, &ask.folder);
    let own = ask.headers.iter().filter(|(name, _)| !OF_CALLS.contains(&name.as_str()));
    let metadata: Map<String, Value> =
        own.map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    if !metadata.is_empty() {
        words.extend(["-m".to_string(), Value::from(metadata).to_string()]);
    }
    words.extend(["--call".to_string(), call.to_string(), place.to_string()]);
    let message = ask.body.get(PREFIX_BYTES..).unwrap_or_default().to_vec();
    Ok(Order { files: vec![(MESSAGE, message)], ..Order::of(words) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::ask;

    #[test]
    fn a_load_is_asked_like_this() {
        let headers = [("content-type", "application/grpc"), ("x-tenant", "a")];
        let asked = Ask {
            url: "http://127.0.0.1:9000/shop.Catalog/Read".into(),
            headers: headers.map(|(name, value)| (name.into(), value.into())).to_vec(),
            body: vec![0, 0, 0, 0, 2, 8, 55],
            depth: 4,
            is_call: true,
            rate: Some(500.0),
            ..ask()
        };
        let expected = "--insecure --format json -c 64 --connections 16 -z 3s -r 500 -t 10s -B \
                        {folder}/message -m {\"x-tenant\":\"a\"} --call shop.Catalog/Read \
                        127.0.0.1:9000\n--- message\n\u{8}7";
        assert_eq!(order(&asked).unwrap().shown(), expected);
        let counted = Ask { stop: Stop::AfterRequests(9), rate: None, ..asked };
        assert!(order(&counted).unwrap().shown().contains("--connections 16 -n 9 -t 10s"));
        let headers = vec![(DEADLINE.to_string(), "20m".to_string())];
        assert!(order(&Ask { headers, ..counted }).unwrap_err().contains("--timeout"));
        assert!(order(&ask()).unwrap_err().contains("grpc://"));
    }
}
