//! wrk: a closed loop of threads. Method, body and depth need a script.

use crate::ask::Ask;
use crate::command_line::{
    Asks, COLD, CommandLine, HEADER, NO_LINE, Sets, TIME, ToolOption, option,
};
use crate::order::{Order, words};
use crate::{Peer, Threads};
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Wrk,
    get: "apt-get install wrk, or make peers",
    version: &["-v"],
    threads: Threads::Asked,
    harmless: &[],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine =
    CommandLine { tool: "wrk", options: OPTIONS, defaults: DEFAULTS, ..NO_LINE };

/// What wrk does when nothing is typed.
pub(crate) const DEFAULTS: &[(&[&str], &str)] =
    &[(&["-t"], "2"), (&["-c"], "10"), (TIME, "10s"), (&["-T"], "2s"), COLD];

const OPTIONS: &[ToolOption] = &[CONNECTIONS, THREADS, DURATION, LATENCY, TIMEOUT, HEADER, SCRIPT];

pub(crate) const CONNECTIONS: ToolOption =
    option(&["-c", "--connections"], Asks::Option("-c"), "connections, 10 when not given")
        .sets(Sets::Connections);
pub(crate) const THREADS: ToolOption =
    option(&["-t", "--threads"], Asks::Option("-t"), "threads, 2 when not given")
        .sets(Sets::Threads);
pub(crate) const DURATION: ToolOption =
    option(&["-d", "--duration"], Asks::Time("-d"), "how long, 10s when not given")
        .sets(Sets::Duration);
pub(crate) const LATENCY: ToolOption =
    option(&["--latency", "-L"], Asks::Layout, "print the distribution of latency");
pub(crate) const TIMEOUT: ToolOption = option(
    &["--timeout", "-T"],
    Asks::Time("-T"),
    "a response later than this is a failure, 2s when not given",
);
pub(crate) const SCRIPT: ToolOption = option(
    &["-s", "--script"],
    Asks::NoValue("scripts are not run; ceiling load takes -X, -b, -i FILE and -p"),
    "a script",
)
.sets(Sets::Script);

fn order(ask: &Ask) -> Result<Order, String> {
    ask.only_http1("wrk")?;
    ask.closed("wrk", "use wrk2, vegeta, k6, oha or autocannon")?;
    ask.one_of_each_header("wrk")?;
    let seconds = ask.whole_seconds("wrk")?;
    lines(ask, format!("-t{} -c{} -d{seconds}s --latency", ask.threads, ask.connections))
}

/// What is the same for wrk and wrk2.
pub(crate) fn lines(ask: &Ask, first: String) -> Result<Order, String> {
    let words = words(&first, &ask.folder);
    let mut order = Order { connections: ask.shared_connections(), ..Order::of(words) };
    order.words.push(format!("--timeout={}s", ask.timeout_s("wrk")?));
    for (name, value) in &ask.headers {
        order.words.extend(["-H".to_string(), format!("{name}: {value}")]);
    }
    let is_plain = ask.method == "GET" && ask.body.is_empty() && ask.depth == 1;
    if !is_plain {
        order.words.extend(["-s".to_string(), format!("{}/wrk.lua", ask.folder)]);
        order.files.push(("wrk.lua", script(ask).into_bytes()));
    }
    order.words.push(ask.url.clone());
    Ok(order)
}

/// A batch of `depth` requests counts as that many responses; the next one waits for all of them.
fn script(ask: &Ask) -> String {
    let (method, body) = (quoted(ask.method.as_bytes()), quoted(&ask.body));
    let mut text = format!("wrk.method = {method}\n");
    if !ask.body.is_empty() {
        text += &format!("wrk.body = {body}\n");
    }
    if ask.depth > 1 {
        text += &format!(
            "init = function(args)\n  batch = string.rep(wrk.format(), {})\nend\n\
             request = function()\n  return batch\nend\n",
            ask.depth
        );
    }
    text
}

/// A Lua string, with every byte that is not plain as its number.
fn quoted(bytes: &[u8]) -> String {
    let each = |byte: &u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\{byte:03}"),
    };
    format!("\"{}\"", bytes.iter().map(each).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::{ask, more};
    use crate::order::Connections;

    #[test]
    fn a_load_is_asked_like_this() {
        let shown = order(&ask()).unwrap().shown();
        let expected = "-t1 -c16 -d3s --latency --timeout=10s http://127.0.0.1:8083/read";
        assert_eq!(shown, expected);
        let deep = Ask { depth: 8, ..more() };
        insta::assert_snapshot!(order(&deep).unwrap().shown());
    }

    /// It opens `connections / threads` connections in each thread.
    #[test]
    fn connections_that_its_threads_do_not_share_are_not_opened_or_get_other_threads() {
        let uneven = Ask { connections: 10, threads: 4, ..ask() };
        assert_eq!(order(&uneven).unwrap().connections, Connections::Fewer(8));
        assert_eq!(uneven.threads_for(order), 2);
        assert_eq!(Ask { connections: 12, ..uneven }.threads_for(order), 4);
    }

    #[test]
    fn what_looks_like_our_folder_is_sent_as_it_was_written() {
        let text = "{folder}/x";
        let asked = Ask {
            url: format!("http://h/{text}"),
            headers: vec![("X-Path".into(), text.into())],
            body: text.into(),
            folder: "/tmp/a b".into(),
            ..ask()
        };
        let order = order(&asked).unwrap();
        let expected = ["X-Path: {folder}/x", "-s", "/tmp/a b/wrk.lua", "http://h/{folder}/x"];
        assert_eq!(order.words[6..], expected);
        assert!(order.shown().contains("wrk.body = \"{folder}/x\""), "{order:?}");
    }

    #[test]
    fn a_rate_is_refused_with_those_that_have_one() {
        let open = Ask { rate: Some(100.0), ..ask() };
        assert!(order(&open).unwrap_err().contains("use wrk2"));
    }
}
