//! h2load: a closed loop.

use crate::ask::Ask;
use crate::command_line::{
    Asks, COLD, COUNT, CommandLine, HEADER, NO_LINE, Sets, ToolOption, option,
};
use crate::order::{Order, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::H2load,
    get: "apt-get install nghttp2-client, or make peers",
    version: &["--version"],
    threads: Threads::Asked,
    harmless: &[],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine = CommandLine {
    tool: "h2load",
    options: OPTIONS,
    defaults: &[(&["-c"], "1"), (&["-t"], "1"), (COUNT, "1"), (&["-T"], "60s"), COLD],
    ..NO_LINE
};

const OPTIONS: &[ToolOption] = &[
    option(&["--h1"], Asks::Words(&["--http", "1"]), "HTTP/1.1 instead of HTTP/2"),
    option(&["-n", "--requests"], Asks::Option("-n"), "how many requests"),
    option(&["-c", "--clients"], Asks::Option("-c"), "connections").sets(Sets::Connections),
    option(&["-t", "--threads"], Asks::Option("-t"), "threads").sets(Sets::Threads),
    option(
        &["-m", "--max-concurrent-streams"],
        Asks::Option("-p"),
        "requests in flight on a connection",
    )
    .sets(Sets::Depth),
    option(&["-D", "--duration"], Asks::Time("-d"), "how long, instead of -n").sets(Sets::Duration),
    option(&["--warm-up-time"], Asks::Time("--warmup"), "load that does not count"),
    HEADER,
    option(&["-d", "--data"], Asks::Option("-f"), "file with the body"),
    option(
        &["--rps", "-r", "--rate"],
        Asks::NoValue("it is per client; ceiling load has -R for all together"),
        "a rate",
    ),
];

/// The default of `--timeout`, nanoseconds.
const TIMEOUT_NS: u64 = 10_000_000_000;

fn order(ask: &Ask) -> Result<Order, String> {
    ask.closed("h2load", "its --rps is per client; use wrk2, vegeta, k6, oha or autocannon")?;
    if ask.timeout_ns != TIMEOUT_NS {
        let why = "h2load has no time-out for a response; leave --timeout out";
        return Err(why.to_string());
    }
    let ends = match ask.stop {
        Stop::AfterNs(_) => format!("-D {}", ask.whole_seconds("h2load")?),
        Stop::AfterRequests(count) => format!("-n {count}"),
    };
    let version = if ask.is_http2 { "" } else { "--h1 " };
    let first = format!("{version}-t {} -c {} {ends}", ask.threads, ask.connections);
    let mut order = Order::of(words(&first, &ask.folder));
    if ask.depth > 1 {
        order.words.extend(["-m".to_string(), ask.depth.to_string()]);
    }
    let is_usual = ask.method == if ask.body.is_empty() { "GET" } else { "POST" };
    if !is_usual {
        order.words.extend(["-H".to_string(), format!(":method: {}", ask.method)]);
    }
    for (name, value) in &ask.headers {
        order.words.extend(["-H".to_string(), format!("{name}: {value}")]);
    }
    if !ask.body.is_empty() {
        order.words.extend(["-d".to_string(), format!("{}/body", ask.folder)]);
        order.files.push(("body", ask.body.clone()));
    }
    order.words.push(ask.url.clone());
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::{ask, more};

    #[test]
    fn a_load_is_asked_like_this() {
        let expected = "--h1 -t 1 -c 16 -D 3 http://127.0.0.1:8083/read";
        assert_eq!(order(&ask()).unwrap().shown(), expected);
        let all = Ask { depth: 8, stop: Stop::AfterRequests(99), ..more() };
        let expected = "--h1 -t 1 -c 16 -n 99 -m 8 -H :method: PUT -H Accept: text/plain; q=\"1\" \
                        -d {folder}/body http://127.0.0.1:8083/read\n--- body\na\"b";
        assert_eq!(order(&all).unwrap().shown(), expected);
        let expected = "-t 1 -c 16 -D 3 http://127.0.0.1:8083/read";
        assert_eq!(order(&Ask { is_http2: true, ..ask() }).unwrap().shown(), expected);
        assert!(order(&Ask { rate: Some(1.0), ..ask() }).is_err());
        assert!(order(&Ask { timeout_ns: 1, ..ask() }).unwrap_err().contains("no time-out"));
    }
}
