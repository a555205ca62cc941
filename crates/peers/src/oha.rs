//! oha: a closed loop, or at most a rate (`-q`).

use crate::ask::Ask;
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

fn order(ask: &Ask) -> Result<Order, String> {
    ask.one_deep("oha")?;
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
    }
}
