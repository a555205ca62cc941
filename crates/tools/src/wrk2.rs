//! wrk2: wrk with a rate that is always given; its latencies count from the planned instant.

use crate::ask::Ask;
use crate::command_line::{Asks, CommandLine, HEADER, NO_LINE, Sets, ToolOption, option};
use crate::order::Order;
use crate::wrk::{self, CONNECTIONS, DURATION, SCRIPT, THREADS, TIMEOUT};
use crate::{Peer, Threads};
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Wrk2,
    get: "build github.com/giltene/wrk2 and put its program wrk into the PATH as wrk2",
    version: &["-v"],
    threads: Threads::Asked,
    harmless: &[],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine =
    CommandLine { tool: "wrk2", options: OPTIONS, defaults: wrk::DEFAULTS, ..NO_LINE };

const OPTIONS: &[ToolOption] = &[
    CONNECTIONS,
    THREADS,
    DURATION,
    option(&["-R", "--rate"], Asks::Option("-R"), "requests per second").sets(Sets::Rate),
    option(
        &["--latency", "-L"],
        Asks::Layout,
        "print the distribution of latency from the planned instant",
    ),
    option(&["-U", "--u_latency"], Asks::Layout, "print the one from the send as well"),
    option(
        &["-B", "--batch_latency"],
        Asks::No("each response is timed by itself"),
        "time batches of a script",
    ),
    TIMEOUT,
    HEADER,
    SCRIPT,
];

fn order(ask: &Ask) -> Result<Order, String> {
    ask.only_http1("wrk2")?;
    let rate = ask.whole_rate("wrk2")?.ok_or("wrk2 needs a rate; for example -R 1k")?;
    ask.one_of_each_header("wrk2")?;
    let seconds = ask.whole_seconds("wrk2")?;
    let (threads, connections) = (ask.threads, ask.connections);
    let first = format!("-t{threads} -c{connections} -d{seconds}s -R{rate} --latency");
    wrk::lines(ask, first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::ask;
    use crate::order::Connections;

    #[test]
    fn a_load_is_asked_like_this() {
        let open = Ask { rate: Some(500.0), ..ask() };
        let expected = "-t1 -c16 -d3s -R500 --latency --timeout=10s http://127.0.0.1:8083/read";
        assert_eq!(order(&open).unwrap().shown(), expected);
        assert!(order(&ask()).unwrap_err().contains("-R 1k"));
        let uneven = order(&Ask { threads: 3, ..open }).unwrap();
        assert_eq!(uneven.connections, Connections::Fewer(15));
    }
}
