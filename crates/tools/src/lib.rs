//! Other load generators: our load as their command line, their command line as our load, with its
//! result in their layout, and what they print checked by arithmetic.
//!
//! What this room is for: what is known of each tool, once: its options in one file for each, read
//! by what we run, by its front end and by the audit.
//! In: a trial; the words that a user typed for a tool; the output of a tool, hostile until parsed.
//! Out: words, files, texts, and accounts that hold or do not.
//! Never: a process, a file, a clock; an unknown option that is let through.

mod ask;
mod order;
pub use ask::Ask;
pub use order::{Connections, Order, Output};

mod command_line;
pub use command_line::{Asks, CommandLine, Sets, ToolOption};

mod audited;
mod autocannon;
mod ghz;
mod h2load;
mod hey;
mod k6;
mod oha;
mod vegeta;
mod wrk;
mod wrk2;

mod fronts;
mod hidden;
mod parse;
mod typed;
pub use fronts::{FRONTS, Front, front};
pub use parse::{help, parse};
pub use typed::Typed;

pub mod audit;

use model::run::Run;
use model::tool::Tool;

/// A tool as listed.
pub struct Peer {
    /// Which one.
    pub tool: Tool,
    /// How to get it.
    pub get: &'static str,
    /// The words that show its version.
    pub version: &'static [&'static str],
    /// How many threads it takes.
    pub threads: Threads,
    /// Exit codes other than 0 with which it has made the whole load: it judged the figures.
    pub harmless: &'static [i32],
    /// What is run for a load; an error says what the tool cannot do.
    pub order: fn(&Ask) -> Result<Order, String>,
}

/// How many threads a tool takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// As many as requested.
    Asked,
    /// One for each CPU that it may use.
    EveryCpu,
}

/// Every tool that can run in place of our engine.
pub const PEERS: &[Peer] = &[
    wrk::PEER,
    wrk2::PEER,
    oha::PEER,
    hey::PEER,
    h2load::PEER,
    vegeta::PEER,
    k6::PEER,
    autocannon::PEER,
    ghz::PEER,
];

/// The command lines of all tools that we know. ab and fortio are only audited.
pub(crate) const LINES: &[&CommandLine] = &[
    &wrk::LINE,
    &wrk2::LINE,
    &oha::LINE,
    &hey::LINE,
    &h2load::LINE,
    &audited::AB,
    &vegeta::LINE,
    &autocannon::LINE,
    &audited::FORTIO,
    &ghz::LINE,
    &k6::LINE,
];

/// The entry of a tool.
pub fn peer(tool: Tool) -> &'static Peer {
    let listed = PEERS.iter().find(|peer| peer.tool == tool);
    listed.expect("every tool is listed, as a test checks")
}

/// Our run in the layout of a tool, and below it what that layout leaves out.
pub fn drawn(front: &Front, typed: &Typed, run: &Run) -> String {
    let Some(point) = run.record.points.last() else {
        return hidden::nothing(front.tool, run);
    };
    let layout = (front.layout)(&fronts::Shown { run, point, typed });
    format!("{layout}{}", hidden::hidden_text(front.tool, run, point))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that keeps only the last would make another load than ours.
    #[test]
    fn a_header_that_is_there_twice_is_sent_twice_or_refused() {
        let header = |name: &str, value: &str| (name.to_string(), value.to_string());
        let twice = vec![header("X-Tag", "one"), header("x-tag", "two")];
        let rate = Some(100.0);
        for peer in PEERS {
            let is_call = peer.tool == Tool::Ghz;
            let headers = twice.clone();
            let asked = |rate| Ask { headers: headers.clone(), rate, is_call, ..ask::tests::ask() };
            let rate = if peer.tool == Tool::Wrk2 { rate } else { None };
            let ordered = (peer.order)(&asked(rate)).map(|order| order.shown());
            let name = peer.tool.name();
            match peer.tool {
                Tool::H2load | Tool::Vegeta => {
                    let shown = ordered.unwrap();
                    assert!(shown.contains("X-Tag: one"), "{name}: {shown}");
                    assert!(shown.contains("x-tag: two"), "{name}: {shown}");
                }
                _ => {
                    let why = ordered.unwrap_err();
                    assert!(why.starts_with(name) && why.contains("x-tag is there twice"), "{why}");
                    assert!(why.contains("for example -H 'x-tag: a, b'"), "{why}");
                }
            }
        }
    }

    #[test]
    fn a_tool_that_does_not_speak_http2_without_tls_says_which_do() {
        for peer in PEERS.iter().filter(|peer| peer.tool != Tool::Ghz) {
            let rate = Some(100.0).filter(|_| peer.tool == Tool::Wrk2);
            let ordered = (peer.order)(&Ask { is_http2: true, rate, ..ask::tests::ask() });
            let name = peer.tool.name();
            match peer.tool {
                Tool::H2load => assert!(!ordered.unwrap().shown().contains("--h1")),
                Tool::Oha => assert!(ordered.unwrap().shown().contains("--http2 -p 1")),
                Tool::Vegeta => assert!(ordered.unwrap().shown().contains(" -h2c")),
                _ => {
                    let why = ordered.unwrap_err();
                    assert!(why.starts_with(name) && why.contains("use h2load, oha"), "{why}");
                }
            }
        }
    }

    /// The status of a call is in trailers: of the others only h2load makes the load, blindly.
    #[test]
    fn a_tool_that_makes_no_calls_says_which_do() {
        for peer in PEERS {
            let rate = Some(100.0).filter(|_| peer.tool == Tool::Wrk2);
            let asked = Ask { is_http2: true, is_call: true, rate, ..ask::tests::ask() };
            match (peer.order)(&asked) {
                Ok(_) => assert!(matches!(peer.tool, Tool::H2load | Tool::Ghz)),
                Err(why) => assert!(why.contains("use ghz or h2load"), "{why}"),
            }
        }
    }

    /// The others end with 0 whatever the responses were.
    #[test]
    fn only_a_broken_threshold_of_k6_is_an_exit_code_that_is_no_failure() {
        for peer in PEERS {
            let expected: &[i32] = if peer.tool == Tool::K6 { &[99] } else { &[] };
            assert_eq!(peer.harmless, expected, "{}", peer.tool.name());
        }
    }

    /// What we run and what a front end takes are the same options.
    #[test]
    fn an_option_that_we_give_to_a_tool_is_in_its_list() {
        let rate = Some(1600.0);
        for front in FRONTS {
            let has_rate = matches!(front.tool, Tool::Wrk2 | Tool::Oha | Tool::Hey);
            let asked = Ask { rate: rate.filter(|_| has_rate), ..ask::tests::more() };
            let order = (peer(front.tool).order)(&asked).unwrap();
            for word in order.words.iter().filter(|word| word.starts_with('-')) {
                let mut names = front.line.options.iter().flat_map(|option| option.names);
                assert!(names.any(|name| word.starts_with(name)), "{} {word}", front.line.tool);
            }
        }
    }

    #[test]
    fn every_tool_is_listed_once() {
        let listed: Vec<Tool> = PEERS.iter().map(|peer| peer.tool).collect();
        assert_eq!(listed, Tool::ALL);
    }
}
