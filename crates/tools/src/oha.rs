//! oha: a closed loop, or at most a rate (`-q`).

use crate::ask::Ask;
use crate::command_line::{Asks, COLD, COUNT, CommandLine, NO_LINE, Sets, ToolOption, option};
use crate::order::{Order, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Oha,
    get: "cargo install oha, or make peers",
    version: &["--version"],
    threads: Threads::EveryCpu,
    harmless: &[],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine = CommandLine {
    tool: "oha",
    options: OPTIONS,
    // A body does not make it a POST.
    defaults: &[(&["-c"], "50"), (COUNT, "200"), (&["-T"], "60s"), (&["-X"], "GET"), COLD],
    ..NO_LINE
};

const OPTIONS: &[ToolOption] = &[
    option(&["-n"], Asks::Option("-n"), "how many requests"),
    option(&["-c"], Asks::Option("-c"), "connections, 50 when not given").sets(Sets::Connections),
    option(&["-z"], Asks::Option("-d"), "how long, instead of -n").sets(Sets::Duration),
    option(&["-q"], Asks::Option("-R"), "requests per second").sets(Sets::Rate),
    option(
        &["--latency-correction"],
        Asks::Words(&[]),
        "latency from the planned instant, as -q always has here",
    ),
    option(&["-m", "--method"], Asks::Option("-X"), "method"),
    option(&["-H"], Asks::Option("-H"), "a header"),
    option(&["-d"], Asks::Option("-b"), "body"),
    option(&["-D"], Asks::Option("-f"), "file with the body"),
    option(&["-T"], Asks::Header("Content-Type"), "Content-Type"),
    option(
        &["-t", "--timeout"],
        Asks::Time("-T"),
        "a response later than this is a failure, 60s when not given (oha waits for ever)",
    ),
    option(&["-A"], Asks::Header("Accept"), "Accept"),
    option(&["--host"], Asks::Header("Host"), "Host header"),
    option(&["-x"], Asks::Option("-x"), "proxy"),
    option(
        &["--disable-keepalive"],
        Asks::Words(&["--requests-per-conn", "1"]),
        "a connection for each request",
    ),
    option(&["--no-color", "--disable-color"], Asks::Words(&[]), "nothing has a colour here"),
    option(&["--insecure"], Asks::Words(&["-k"]), "any certificate"),
    option(&["--no-tui"], Asks::Words(&[]), "no display during the run"),
    option(&["--disable-compression"], Asks::Words(&[]), "ask for no compressed bodies"),
    option(
        &["-r", "--redirect"],
        Asks::Made(|value| match value {
            "0" => Ok(vec![]),
            _ => Err("redirects are not followed here; give 0".into()),
        }),
        "how many redirects to follow: 0",
    ),
    option(
        &["-p"],
        Asks::NoValue("it is for HTTP/2; ceiling load has -p for HTTP/1.1"),
        "requests at once on a connection",
    )
    .sets(Sets::Depth),
    option(&["--http2"], Asks::No("requests are HTTP/1.1"), "HTTP/2"),
    option(
        &["--output-format", "-j"],
        Asks::NoValue("for JSON use ceiling load --json"),
        "an output other than text",
    ),
];

fn order(ask: &Ask) -> Result<Order, String> {
    ask.no_calls("oha")?;
    if !ask.is_http2 {
        ask.one_deep("oha")?;
    }
    ask.one_of_each_header("oha")?;
    let ends = match ask.stop {
        Stop::AfterNs(ns) => format!("-z {}", Ask::time(ns)),
        Stop::AfterRequests(count) => format!("-n {count}"),
    };
    // By itself it asks for compressed bodies, and versions before 1.15 follow redirects.
    let first = format!(
        "--no-tui --output-format json --redirect 0 --disable-compression -c {} {ends}",
        ask.connections
    );
    let mut words = words(&first, &ask.folder);
    if let Some(rate) = ask.whole_rate("oha")? {
        words.extend(["-q".to_string(), rate.to_string()]);
    }
    words.extend(["-t".to_string(), Ask::time(ask.timeout_ns)]);
    if ask.is_http2 {
        words.extend(["--http2".to_string(), "-p".to_string(), ask.depth.to_string()]);
    }
    if ask.method != "GET" {
        words.extend(["-m".to_string(), ask.method.clone()]);
    }
    for (name, value) in &ask.headers {
        words.extend(["-H".to_string(), format!("{name}: {value}")]);
    }
    if !ask.body.is_empty() {
        words.extend(["-d".to_string(), ask.body_text("oha")?]);
    }
    words.push(ask.url.clone());
    Ok(Order::of(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::{ask, more};

    #[test]
    fn a_load_is_asked_like_this() {
        let expected = "--no-tui --output-format json --redirect 0 --disable-compression -c 16 -z \
                        3s -t 10s http://127.0.0.1:8083/read";
        assert_eq!(order(&ask()).unwrap().shown(), expected);
        let all = Ask { rate: Some(500.0), stop: Stop::AfterRequests(99), ..more() };
        let expected = "--no-tui --output-format json --redirect 0 --disable-compression -c 16 -n \
                        99 -q 500 -t 10s -m PUT -H Accept: text/plain; q=\"1\" -d a\"b \
                        http://127.0.0.1:8083/read";
        assert_eq!(order(&all).unwrap().shown(), expected);
        assert!(order(&Ask { depth: 2, ..ask() }).is_err());
        let http2 = order(&Ask { depth: 2, is_http2: true, ..ask() }).unwrap().shown();
        assert!(http2.ends_with("-t 10s --http2 -p 2 http://127.0.0.1:8083/read"), "{http2}");
    }
}
