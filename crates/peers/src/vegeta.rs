//! vegeta: an open loop; without a rate, as fast as its workers get their responses.

use crate::ask::Ask;
use crate::order::{Connections, FOLDER, Order, Output, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Vegeta,
    get: "go install github.com/tsenart/vegeta/v12@latest, or make peers",
    version: &["-version"],
    threads: Threads::EveryCpu,
    order,
};

const RESULTS: &str = "vegeta.bin";

fn order(ask: &Ask) -> Result<Order, String> {
    ask.one_deep("vegeta")?;
    let Stop::AfterNs(ns) = ask.stop else {
        return Err("vegeta stops after a time; for example --duration 10s".to_string());
    };
    let rate = ask.whole_rate("vegeta")?;
    let pace = match rate {
        Some(rate) => format!("-rate {rate}/1s"),
        None => format!("-rate 0 -workers {0} -max-workers {0}", ask.connections),
    };
    let line = format!(
        "attack -targets {FOLDER}/target.txt {pace} -duration {} -timeout {}s \
         -output {FOLDER}/{RESULTS}",
        Ask::time(ns),
        ask.timeout_s()
    );
    let mut target = format!("{} {}\n", ask.method, ask.url);
    for (name, value) in &ask.headers {
        target += &format!("{name}: {value}\n");
    }
    let mut files = Vec::new();
    if !ask.body.is_empty() {
        target += &format!("@{FOLDER}/body\n");
        files.push(("body", ask.body_text("vegeta")?));
    }
    files.insert(0, ("target.txt", target));
    let output = Output::Report(&["report", "-type", "json"], RESULTS);
    let connections = match rate {
        Some(_) => Connections::AsNeeded,
        None => Connections::AsAsked,
    };
    Ok(Order { words: words(&line), files, output, connections })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::tests::{ask, more};

    #[test]
    fn a_load_is_asked_like_this() {
        let bound = |rate| order(&Ask { rate, ..ask() }).unwrap().connections;
        assert_eq!(bound(None), Connections::AsAsked);
        assert_eq!(bound(Some(9.0)), Connections::AsNeeded);
        insta::assert_snapshot!(order(&ask()).unwrap().shown());
        let open = Ask { rate: Some(500.0), ..more() };
        insta::assert_snapshot!("open", order(&open).unwrap().shown());
    }
}
