//! Other load generators: how each is started, counted and installed.
//!
//! A new peer is one row in [`PEERS`], a function that reads its count of good responses, and a
//! fixture with its output.

use super::count::{self, Count};
use super::load::{Load, Protocol, Reuse, Transport};
use super::words::{Words, words};

/// How many requests a peer can have in flight on one connection of HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    One,
    Any,
}

/// Where to get a peer that is not on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Apt(&'static str),
    Npm(&'static str),
    Cargo(&'static str),
    Go(&'static str),
    /// It is measured only if it is installed.
    Nowhere,
}

/// The arguments of a program for a load.
type Arguments = fn(&Load) -> Words;

/// One load generator.
pub struct Peer {
    pub name: &'static str,
    /// With these arguments the program prints the text, in the line with its version. Other
    /// programs of the same name do not: Debian has a game called bombardier.
    pub version: (&'static [&'static str], &'static str),
    pub source: Source,
    pub depth: Depth,
    /// Further arguments for a connection per request; `None` if it cannot.
    pub closed: Option<&'static [&'static str]>,
    /// Further arguments for TLS with a self-signed certificate; `None` if it cannot.
    pub tls: Option<&'static [&'static str]>,
    /// Arguments for a load of each protocol, in which `{more}` stands for the further ones.
    pub speaks: &'static [(Protocol, Arguments)],
    /// Arguments of a second call, not charged, which prints the results of the first one.
    pub report: Option<fn(&Load) -> Words>,
    /// Reads its counts from standard output.
    pub count: fn(&str) -> Result<Count, String>,
    /// A note on its figures with many requests in flight.
    pub deep_note: Option<&'static str>,
}

/// Every peer. Most bounds are about the first four.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "wrk",
        version: (&["-v"], "wrk "),
        source: Source::Apt("wrk"),
        depth: Depth::Any,
        closed: Some(&["-H", "Connection: close"]),
        tls: Some(&[]),
        speaks: &[(Protocol::Http1, wrk)],
        report: None,
        count: count::wrk,
        deep_note: Some(
            "wrk sends a batch and waits for all of its responses before the next; the others \
             refill one by one",
        ),
    },
    Peer {
        name: "oha",
        version: (&["--version"], "oha "),
        source: Source::Cargo("oha"),
        depth: Depth::One,
        closed: Some(&["--disable-keepalive"]),
        tls: Some(&["--insecure"]),
        speaks: &[
            (Protocol::Http1, |load| {
                line(
                    load,
                    "--no-tui --output-format json {more} -c {connections} -z {seconds}s {url}",
                )
            }),
            (Protocol::Http2, |load| {
                let flags = "--no-tui --output-format json {more} --http2 -p {depth}";
                line(load, &format!("{flags} -c {{connections}} -z {{seconds}}s {{url}}"))
            }),
        ],
        report: None,
        count: count::oha,
        deep_note: None,
    },
    Peer {
        name: "autocannon",
        version: (&["--version"], "autocannon v"),
        source: Source::Npm("autocannon"),
        depth: Depth::Any,
        closed: None,
        tls: None,
        speaks: &[(Protocol::Http1, |load| {
            line(load, "-j {more} -c {connections} -p {depth} -d {seconds} {url}")
        })],
        report: None,
        count: count::autocannon,
        deep_note: None,
    },
    Peer {
        name: "h2load",
        version: (&["--version"], "h2load "),
        source: Source::Apt("nghttp2-client"),
        depth: Depth::Any,
        closed: Some(&["-H", "Connection: close"]),
        tls: Some(&[]),
        speaks: &[
            (Protocol::Http1, |load| {
                // With a duration it waits forever for closed connections.
                let until = match load.reuse {
                    Reuse::Kept => "-D {seconds}",
                    Reuse::Closed => "-n {seconds}0000",
                };
                let flags = "--h1 {more} -t 1 -c {connections} -m {depth}";
                line(load, &format!("{flags} {until} {{url}}"))
            }),
            (Protocol::Http2, |load| {
                line(load, "{more} -t 1 -c {connections} -m {depth} -D {seconds} {url}")
            }),
            // The status of a call is in trailers, which it does not read.
            (Protocol::Grpc, |load| {
                let call = ["-H", "content-type: application/grpc", "-H", "te: trailers", "-d"];
                let rest = "{scratch}/call.bin -t 1 -c {connections} -m {depth} -D {seconds} {url}";
                words(&call).into_iter().chain(line(load, rest)).collect()
            }),
        ],
        report: None,
        count: count::h2load,
        deep_note: None,
    },
    Peer {
        name: "hey",
        version: (&["-h"], "Usage: hey"),
        source: Source::Go("github.com/rakyll/hey@latest"),
        depth: Depth::One,
        closed: Some(&["-disable-keepalive"]),
        tls: Some(&[]),
        speaks: &[(Protocol::Http1, |load| {
            line(load, "{more} -c {connections} -z {seconds}s {url}")
        })],
        report: None,
        count: count::hey,
        deep_note: None,
    },
    Peer {
        name: "ab",
        version: (&["-V"], "ApacheBench"),
        source: Source::Apt("apache2-utils"),
        depth: Depth::One,
        closed: Some(&[]),
        tls: Some(&[]),
        // It allocates memory for every request of -n, and the -t before it ends the run.
        speaks: &[(Protocol::Http1, |load| {
            let keep = if load.reuse == Reuse::Kept { "-k" } else { "" };
            let flags = "-q {more} -c {connections} -t {seconds} -n {seconds}000000 {url}";
            line(load, &format!("{keep} {flags}"))
        })],
        report: None,
        count: count::ab,
        deep_note: None,
    },
    Peer {
        name: "wrk2",
        version: (&["-v"], "wrk "),
        source: Source::Nowhere,
        depth: Depth::One,
        closed: Some(&["-H", "Connection: close"]),
        tls: Some(&[]),
        // Its loop is open: an unreachable rate makes it send whenever it can.
        speaks: &[(Protocol::Http1, |load| {
            line(load, "{more} -t1 -c{connections} -d{seconds}s -R10000000 {url}")
        })],
        report: None,
        count: count::wrk,
        deep_note: None,
    },
    Peer {
        name: "k6",
        version: (&["version"], "k6 v"),
        source: Source::Go("go.k6.io/k6@latest"),
        depth: Depth::One,
        closed: Some(&["--no-connection-reuse"]),
        tls: Some(&["--insecure-skip-tls-verify"]),
        speaks: &[(Protocol::Http1, |load| {
            let flags =
                "run --quiet {more} --no-usage-report --vus {connections} --duration {seconds}s";
            line(load, &format!("{flags} -e TARGET={{url}} bench/k6.js"))
        })],
        report: None,
        count: count::k6,
        deep_note: None,
    },
    Peer {
        name: "vegeta",
        version: (&["-version"], "Version: "),
        source: Source::Go("github.com/tsenart/vegeta/v12@latest"),
        depth: Depth::One,
        closed: Some(&["-keepalive=false"]),
        tls: Some(&["-insecure"]),
        speaks: &[(Protocol::Http1, |load| {
            let flags = "attack {more} -targets {scratch}/target.txt -rate 0 -duration {seconds}s";
            let to = "-workers {connections} -max-workers {connections}";
            line(load, &format!("{flags} {to} -output {{scratch}}/vegeta.bin"))
        })],
        report: Some(|load| line(load, "report -type json {scratch}/vegeta.bin")),
        count: count::vegeta,
        deep_note: None,
    },
    Peer {
        name: "ghz",
        version: (&["--version"], ""),
        source: Source::Go("github.com/bojand/ghz/cmd/ghz@latest"),
        depth: Depth::Any,
        closed: None,
        tls: None,
        speaks: &[(Protocol::Grpc, ghz)],
        report: None,
        count: count::ghz,
        deep_note: None,
    },
];

/// The peer with that name.
pub fn named(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

fn wrk(load: &Load) -> Words {
    let mut words = line(load, "{more} -t1 -c{connections} -d{seconds}s");
    if load.depth > 1 {
        words.extend(line(load, "-s bench/pipeline.lua {url} -- {depth}"));
    } else {
        words.push(load.url.clone());
    }
    words
}

/// As many workers as calls in flight.
fn ghz(load: &Load) -> Words {
    let flags = "--insecure --format json --cpus 1 --connections {connections} -z {seconds}s";
    let (place, call) = load.place();
    let workers = (load.connections * load.depth).to_string();
    let mut words = line(load, flags);
    words.extend(super::words::words(&["-c", &workers, "--call", call, "-d", Load::MESSAGE]));
    words.push(place.to_owned());
    words
}

impl Peer {
    /// Whether it supports this protocol, transport and reuse.
    pub fn can(&self, protocol: Protocol, transport: Transport, reuse: Reuse) -> bool {
        let speaks = self.speaks.iter().any(|(spoken, _)| *spoken == protocol);
        speaks
            && (reuse == Reuse::Kept || self.closed.is_some())
            && (transport == Transport::Tcp || self.tls.is_some())
    }

    /// The arguments for a load.
    pub fn line(&self, load: &Load) -> Words {
        let closed = self.closed.filter(|_| load.reuse == Reuse::Closed);
        let tls = self.tls.filter(|_| load.transport == Transport::Tls);
        let more: Vec<&str> = closed.into_iter().chain(tls).flatten().copied().collect();
        let place = |word: String| if word == MORE { words(&more) } else { vec![word] };
        let spoken = self.speaks.iter().find(|(spoken, _)| *spoken == load.protocol);
        spoken
            .map_or(Words::new(), |(_, arguments)| arguments(load))
            .into_iter()
            .flat_map(place)
            .collect()
    }
}

const MORE: &str = "{more}";

/// Words from a template. [`Peer::line`] adds the further arguments, which may have spaces.
fn line(load: &Load, template: &str) -> Words {
    let filled = |word: &str| {
        word.replace("{connections}", &load.connections.to_string())
            .replace("{depth}", &load.depth.to_string())
            .replace("{seconds}", &load.seconds().to_string())
            .replace("{scratch}", &load.scratch.to_string_lossy())
            .replace("{url}", &load.url)
    };
    words(&template.split_whitespace().map(filled).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, depth: u32) -> String {
        named(name).unwrap().line(&Load::sample(depth)).join(" ")
    }

    #[test]
    fn names_are_unique_and_templates_are_filled() {
        for (index, peer) in PEERS.iter().enumerate() {
            assert!(PEERS[..index].iter().all(|other| other.name != peer.name));
            let line = of(peer.name, 1);
            assert!(!line.contains(['{', '}']), "{line}");
        }
    }

    #[test]
    fn streams_and_calls_have_arguments_of_their_own() {
        let http2 = Load { protocol: Protocol::Http2, ..Load::sample(32) };
        let url = "http://127.0.0.1:8083/simple";
        let line = |name: &str, load: &Load| named(name).unwrap().line(load).join(" ");
        assert_eq!(line("h2load", &http2), format!("-t 1 -c 50 -m 32 -D 3 {url}"));
        assert!(line("oha", &http2).contains("--http2 -p 32 -c 50"));
        let call = Load { protocol: Protocol::Grpc, ..Load::sample(2) };
        assert!(line("ghz", &call).ends_with(r#"-c 100 --call simple -d {"id":7} 127.0.0.1:8083"#));
        assert!(line("h2load", &call).contains("-H te: trailers -d out/bench/call.bin"));
        assert!(!named("ghz").unwrap().can(Protocol::Http1, Transport::Tcp, Reuse::Kept));
    }

    #[test]
    fn wrk_pipelines_with_a_script() {
        let url = "http://127.0.0.1:8083/simple";
        assert_eq!(of("wrk", 1), format!("-t1 -c50 -d3s {url}"));
        assert_eq!(of("wrk", 100), format!("-t1 -c50 -d3s -s bench/pipeline.lua {url} -- 100"));
    }

    #[test]
    fn further_arguments_stand_in_their_place_and_stay_one_word() {
        let load = Load { reuse: Reuse::Closed, transport: Transport::Tls, ..Load::sample(1) };
        let words = named("wrk").unwrap().line(&load);
        assert_eq!(words[..3], ["-H", "Connection: close", "-t1"]);
        let k6 = named("k6").unwrap().line(&load).join(" ");
        assert!(
            k6.starts_with("run --quiet --no-connection-reuse --insecure-skip-tls-verify --no")
        );
        let kept = named("ab").unwrap().line(&Load::sample(1)).join(" ");
        let closed = named("ab").unwrap().line(&load).join(" ");
        assert!(kept.starts_with("-k -q -c") && closed.starts_with("-q -c"));
        for peer in PEERS {
            let can = peer.can(Protocol::Http1, Transport::Tcp, Reuse::Closed);
            assert_eq!(can, peer.closed.is_some());
            let is_left = peer.line(&load).iter().any(|word| word.contains('{'));
            assert!(!is_left, "{}", peer.name);
        }
        assert!(!named("autocannon").unwrap().can(Protocol::Http1, Transport::Tcp, Reuse::Closed));
    }

    #[test]
    fn every_peer_that_can_be_had_says_how() {
        let had = PEERS.iter().filter(|peer| peer.source != Source::Nowhere);
        assert_eq!(
            had.map(|peer| peer.name).collect::<Vec<_>>(),
            ["wrk", "oha", "autocannon", "h2load", "hey", "ab", "k6", "vegeta", "ghz"]
        );
    }
}
