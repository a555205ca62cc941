//! autocannon: a closed loop, or at most a rate (`-R`).

use crate::ask::Ask;
use crate::order::{Order, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Autocannon,
    get: "npm install -g autocannon, or make peers",
    version: &["--version"],
    threads: Threads::Asked,
    order,
};

fn order(ask: &Ask) -> Result<Order, String> {
    ask.one_of_each_header("autocannon")?;
    let ends = match ask.stop {
        Stop::AfterNs(_) => format!("-d {}", ask.whole_seconds("autocannon")?),
        Stop::AfterRequests(count) => format!("-a {count}"),
    };
    let timeout_s = ask.timeout_s("autocannon")?;
    let first = format!("--no-progress -j -c {} {ends} -t {timeout_s}", ask.connections);
    let mut words = words(&first);
    let mut option = |name: &str, value: String| words.extend([name.to_string(), value]);
    if ask.depth > 1 {
        option("-p", ask.depth.to_string());
    }
    if ask.threads > 1 {
        option("-w", ask.threads.to_string());
    }
    if let Some(rate) = ask.whole_rate("autocannon")? {
        option("-R", rate.to_string());
    }
    if ask.method != "GET" {
        option("-m", ask.method.clone());
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}: {value}"));
    }
    if !ask.body.is_empty() {
        option("-b", ask.body_text("autocannon")?);
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
        let expected = "--no-progress -j -c 16 -d 3 -t 10 http://127.0.0.1:8083/read";
        assert_eq!(order(&ask()).unwrap().shown(), expected);
        let all = Ask {
            rate: Some(500.0),
            depth: 8,
            threads: 2,
            stop: Stop::AfterRequests(99),
            ..more()
        };
        let expected = "--no-progress -j -c 16 -a 99 -t 10 -p 8 -w 2 -R 500 -m PUT -H Accept: \
                        text/plain; q=\"1\" -b a\"b http://127.0.0.1:8083/read";
        assert_eq!(order(&all).unwrap().shown(), expected);
    }
}
