//! vegeta: an open loop; without a rate, as fast as its workers get their responses.

use crate::ask::Ask;
use crate::command_line::{CommandLine, NO_LINE, Sets, ToolOption, flag};
use crate::order::{Connections, FOLDER, Order, Output, words};
use crate::{Peer, Threads};
use model::load::Stop;
use model::tool::Tool;

pub(crate) const PEER: Peer = Peer {
    tool: Tool::Vegeta,
    get: "go install github.com/tsenart/vegeta/v12@latest, or make peers",
    version: &["-version"],
    threads: Threads::EveryCpu,
    harmless: &[],
    order,
};

/// Its command line.
pub(crate) const LINE: CommandLine = CommandLine { tool: "vegeta", options: OPTIONS, ..NO_LINE };

const OPTIONS: &[ToolOption] = &[
    flag(&["-max-workers", "--max-workers"], Sets::Connections),
    flag(&["-duration", "--duration"], Sets::Duration),
];

const RESULTS: &str = "vegeta.bin";
/// The header that asks for compressed bodies.
const ENCODING: &str = "Accept-Encoding";
/// Headers that it finds only as they are written here. It would send its own beside others
/// (lib/targets.go, Target.Request; net/http, Request.write).
const SPELLED: [&str; 3] = [ENCODING, "Host", "User-Agent"];

fn order(ask: &Ask) -> Result<Order, String> {
    ask.no_calls("vegeta")?;
    ask.one_deep("vegeta")?;
    let Stop::AfterNs(ns) = ask.stop else {
        return Err("vegeta stops after a time; for example --duration 10s".to_string());
    };
    let rate = ask.whole_rate("vegeta")?;
    let pace = match rate {
        Some(rate) => format!("-rate {rate}/1s"),
        None => format!("-rate 0 -workers {0} -max-workers {0}", ask.connections),
    };
    // By itself it follows redirects; with -1 it does not, and they count as good.
    let line = format!(
        "attack -targets {FOLDER}/target.txt {pace} -redirects=-1 -duration {} -timeout {} \
         -output {FOLDER}/{RESULTS}",
        Ask::time(ns),
        Ask::time(ask.timeout_ns)
    ) + if ask.is_http2 { " -h2c" } else { "" };
    let mut target = format!("{} {}\n", ask.method, ask.url);
    for (name, value) in &ask.headers {
        let spelled = SPELLED.into_iter().find(|known| name.eq_ignore_ascii_case(known));
        let name = spelled.unwrap_or(name);
        target += &format!("{name}: {value}\n");
    }
    if !ask.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(ENCODING)) {
        // It has no option for this, and by itself asks for gzip.
        target += &format!("{ENCODING}: identity\n");
    }
    let mut files = Vec::new();
    if !ask.body.is_empty() {
        target += &format!("@{}/body\n", ask.folder);
        files.push(("body", ask.body.clone()));
    }
    files.insert(0, ("target.txt", target.into_bytes()));
    let output = Output::Report(&["report", "-type", "json"], RESULTS);
    let connections = match rate {
        Some(_) => Connections::AsNeeded,
        None => Connections::AsAsked,
    };
    let words = words(&line, &ask.folder);
    Ok(Order { words, files, output, connections })
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

    #[test]
    fn what_looks_like_our_folder_is_sent_as_it_was_written() {
        let asked = Ask {
            url: "http://h/{folder}".into(),
            headers: vec![("X-Path".into(), "{folder}/x".into())],
            body: b"{folder}".to_vec(),
            folder: "/tmp/f".into(),
            ..ask()
        };
        let order = order(&asked).unwrap();
        let [(_, target), (_, body)] = &order.files[..] else { panic!("{:?}", order.files) };
        let expected = "GET http://h/{folder}\nX-Path: {folder}/x\nAccept-Encoding: identity\n\
                        @/tmp/f/body\n";
        assert_eq!((&target[..], &body[..]), (expected.as_bytes(), &b"{folder}"[..]));
        assert_eq!(order.words[1..3], ["-targets", "/tmp/f/target.txt"]);
    }

    #[test]
    fn a_host_that_was_asked_for_is_spelled_as_it_is_looked_for() {
        let names = ["hOST", "x-host", "user-agent"];
        let headers = names.map(|name| (name.to_string(), "a".to_string())).to_vec();
        let shown = order(&Ask { headers, ..ask() }).unwrap().shown();
        assert!(shown.contains("\nHost: a\nx-host: a\nUser-Agent: a\n"), "{shown}");
    }

    #[test]
    fn an_encoding_that_was_asked_for_is_the_only_one() {
        let headers = vec![("accept-encoding".into(), "br".into())];
        let shown = order(&Ask { headers, ..ask() }).unwrap().shown();
        assert!(shown.ends_with("\nAccept-Encoding: br\n"), "{shown}");
        assert!(!shown.contains("identity"), "{shown}");
    }
}
