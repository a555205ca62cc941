//! autocannon: a closed loop, or at most a rate (`-R`).
//!
//! Each of several workers gets a copy of all options (`lib/manager.js`): the whole rate, and its
//! part of connections and requests, rounded down.

use crate::ask::Ask;
use crate::command_line::{CommandLine, NO_LINE, Sets, ToolOption, flag};
use crate::order::{Order, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Autocannon,
    get: "npm install -g autocannon, or make peers",
    version: &["--version"],
    threads: Threads::Asked,
    harmless: &[],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine =
    CommandLine { tool: "autocannon", options: OPTIONS, defaults: &[(&["-c"], "10")], ..NO_LINE };

const OPTIONS: &[ToolOption] = &[
    flag(&["-c", "--connections"], Sets::Connections),
    flag(&["-w", "--workers"], Sets::Threads),
    flag(&["-p", "--pipelining"], Sets::Depth),
    flag(&["-d", "--duration"], Sets::Duration),
    flag(&["-R", "--overallRate"], Sets::Rate),
    flag(&["-a", "--amount"], Sets::Count),
];

fn order(ask: &Ask) -> Result<Order, String> {
    ask.only_http1("autocannon")?;
    ask.one_of_each_header("autocannon")?;
    let rate = ask.whole_rate("autocannon")?;
    whole(ask, rate)?;
    let ends = match ask.stop {
        Stop::AfterNs(_) => format!("-d {}", ask.whole_seconds("autocannon")?),
        Stop::AfterRequests(count) => format!("-a {count}"),
    };
    let timeout_s = ask.timeout_s("autocannon")?;
    let first = format!("--no-progress -j -c {} {ends} -t {timeout_s}", ask.connections);
    let mut words = words(&first, &ask.folder);
    let mut option = |name: &str, value: String| words.extend([name.to_string(), value]);
    if ask.depth > 1 {
        option("-p", ask.depth.to_string());
    }
    if ask.threads > 1 {
        option("-w", ask.threads.to_string());
    }
    if let Some(rate) = rate {
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
    Ok(Order { connections: ask.shared_connections(), ..Order::of(words) })
}

/// Refuses what the workers together would not make as it was asked for.
fn whole(ask: &Ask, rate: Option<u64>) -> Result<(), String> {
    let threads = u64::from(ask.threads);
    match (rate, ask.stop) {
        (Some(rate), _) if threads > 1 => Err(format!(
            "autocannon gives the whole rate to each of its workers: {threads} of them would send \
             {} requests per second and not {rate}; for example --threads 1",
            rate.saturating_mul(threads)
        )),
        (_, Stop::AfterRequests(count)) if threads > 1 && !count.is_multiple_of(threads) => {
            Err(format!(
                "each worker of autocannon sends as many requests: {threads} of them would send {} \
                 and not {count}; give a multiple of the threads, for example -n {}, or leave \
                 --threads out",
                (count / threads).max(1) * threads,
                count.next_multiple_of(threads)
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::{ask, more};
    use crate::order::Connections;

    #[test]
    fn a_load_is_asked_like_this() {
        let expected = "--no-progress -j -c 16 -d 3 -t 10 http://127.0.0.1:8083/read";
        assert_eq!(order(&ask()).unwrap().shown(), expected);
        let all = Ask { depth: 8, threads: 2, stop: Stop::AfterRequests(98), ..more() };
        let expected = "--no-progress -j -c 16 -a 98 -t 10 -p 8 -w 2 -m PUT -H Accept: text/plain; \
                        q=\"1\" -b a\"b http://127.0.0.1:8083/read";
        assert_eq!(order(&all).unwrap().shown(), expected);
        let open = Ask { rate: Some(500.0), ..ask() };
        let expected = "--no-progress -j -c 16 -d 3 -t 10 -R 500 http://127.0.0.1:8083/read";
        assert_eq!(order(&open).unwrap().shown(), expected);
    }

    /// Its workers have copies of the options.
    #[test]
    fn what_the_workers_would_multiply_or_round_is_refused() {
        let of = |threads| Ask { threads, ..ask() };
        let why = order(&Ask { rate: Some(500.0), ..of(2) }).unwrap_err();
        assert!(why.contains("1000 requests per second and not 500"), "{why}");
        assert!(why.ends_with("--threads 1"), "{why}");
        let why = order(&Ask { stop: Stop::AfterRequests(99), ..of(2) }).unwrap_err();
        assert!(why.contains("would send 98 and not 99") && why.contains("-n 100"), "{why}");
    }

    /// As in a story: 1000 connections over 120 workers are 960.
    #[test]
    fn connections_that_the_workers_do_not_share_are_not_opened() {
        let opened = |connections, threads| {
            order(&Ask { connections, threads, ..ask() }).map(|order| order.connections)
        };
        assert_eq!(opened(1000, 120), Ok(Connections::Fewer(960)));
        assert_eq!(opened(5000, 30), Ok(Connections::Fewer(4980)));
        assert_eq!(opened(1000, 1), Ok(Connections::AsAsked));
    }

    #[test]
    fn threads_that_nobody_asked_for_divide_the_load() {
        let most = |ask: Ask| ask.threads_for(order);
        assert_eq!(most(Ask { threads: 6, ..ask() }), 4, "16 connections");
        let counted = Ask { threads: 6, stop: Stop::AfterRequests(98), ..ask() };
        assert_eq!(most(counted), 2, "16 connections and 98 requests");
        assert_eq!(most(Ask { threads: 6, rate: Some(500.0), ..ask() }), 1, "a rate");
    }
}
