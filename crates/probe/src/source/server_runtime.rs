//! `GET /debug/runtime` at the server: what its language runtime reports about itself. For a Java
//! virtual machine without such an address, the file that it keeps for this purpose (`jvm.rs`).
//!
//! The response is one flat JSON object of numbers, such as `gc_pause_seconds` or `goroutines`; the
//! names are the server's own. Targets written in Go have it with `--debug-addr`; a server of yours
//! needs a handler of a few lines. It is requested only when its address is given.
//!
//! Caveats. The response costs the server a little and waits behind its other work. Names and
//! meanings are those of the runtime: Go updates CPU seconds only at each garbage collection.

use super::{Round, Scope, Source, jvm};
use crate::ask::{self, Patience};
use crate::scan::{self, ParseError};
use crate::tree::Tree;
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Values};
use model::unit::Unit;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Most figures accepted from one server.
const FIGURES_MAX: usize = 256;
/// The sources behind this one wait for the response, and a longer one is not what we asked for.
const PATIENCE: Patience = Patience {
    step: Duration::from_millis(50),
    whole: Duration::from_millis(200),
    bytes_max: 64 << 10,
};

/// Parses a flat JSON object of numbers; anything but numbers in it is refused.
pub fn parse(bytes: &[u8]) -> Result<BTreeMap<String, f64>, ParseError> {
    let error = || ParseError::new("a JSON object of numbers", bytes);
    let inner = bytes.trim_ascii().strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    let inner = inner.ok_or_else(error)?.trim_ascii();
    let mut figures = BTreeMap::new();
    let pairs = inner.split(|&byte| byte == b',').filter(|_| !inner.is_empty());
    for pair in pairs {
        let colon = pair.iter().position(|&byte| byte == b':').ok_or_else(error)?;
        let (name, value) = (pair[..colon].trim_ascii(), pair[colon + 1..].trim_ascii());
        let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
        let name = name.filter(|name| name.iter().all(is_plain)).ok_or_else(error)?;
        // Rust takes words such as `inf` for numbers, JSON does not.
        let is_number = value.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
        let value = std::str::from_utf8(value).ok().filter(|_| is_number);
        let value = value.and_then(|value| value.parse::<f64>().ok());
        // `1e999` becomes infinite, which JSON cannot represent: it could not be written down.
        let value = value.filter(|value| value.is_finite()).ok_or_else(error)?;
        if figures.len() >= FIGURES_MAX {
            return Err(ParseError::new("at most 256 figures", b"more"));
        }
        figures.insert(scan::text(name), value);
    }
    Ok(figures)
}

fn is_plain(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./-".contains(byte)
}

/// Parses a whole response, whose status must be 200. A truncated body is not an object any more.
pub fn parse_response(bytes: &[u8]) -> Result<BTreeMap<String, f64>, ParseError> {
    let body = ask::body(bytes);
    parse(body.ok_or_else(|| ParseError::new("an HTTP response with status 200", bytes))?)
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new(Values::SERVER_RUNTIME, "GET /debug/runtime, hsperfdata of Java")
        .counter("{name}_seconds", Unit::Seconds, "Time that the runtime of the server counted.")
        .counter("{name}_cycles", Unit::Count, "Cycles that the runtime of the server counted.")
        .max("{name}_bytes", Unit::Bytes, "Memory as the runtime of the server reports it.")
        .max("{name}", Unit::Count, "Other figures of the runtime of the server.")
}

/// Where the figures come from.
enum ServerRuntime {
    /// The server, at this address.
    Server(SocketAddr),
    /// The file of its Java virtual machine.
    Jvm(PathBuf),
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    let of_java = || {
        let tree = Tree::on(&scope.root, scope.server()?).ok()?;
        jvm::file_of(&scope.root, tree.pids()).map(ServerRuntime::Jvm)
    };
    let runtime = scope.runtime.map(ServerRuntime::Server).or_else(of_java)?;
    Some(Box::new(runtime))
}

impl Source for ServerRuntime {
    fn read(&mut self, _round: &Round<'_>) -> Result<Data, Unreadable> {
        let figures = match self {
            Self::Server(address) => figures_at(*address).map_err(|why| Unreadable {
                source: format!("http://{address}/debug/runtime"),
                why,
            }),
            Self::Jvm(file) => jvm::read(file),
        }?;
        Ok(Data::values(Values::SERVER_RUNTIME, figures))
    }
}

fn figures_at(address: SocketAddr) -> Result<BTreeMap<String, f64>, String> {
    let response = ask(address).map_err(|why| why.to_string())?;
    parse(&response).map_err(|why| why.to_string())
}

fn ask(address: SocketAddr) -> io::Result<Vec<u8>> {
    ask::get(address, "/debug/runtime", PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn figures_of_go() {
        let figures = parse_response(&fixture("go-1.26/debug_runtime")).unwrap();
        assert_eq!((figures["gomaxprocs"], figures["goroutines"]), (2.0, 17.0));
        assert!(figures["gc_pause_seconds"] > 0.0 && figures["gc_pause_seconds"] < 1.0);
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(parse(b"{}"), Ok(BTreeMap::new()));
        assert_eq!(parse(b"{\"a\": -1.5e3}").unwrap()["a"], -1500.0);
        for text in ["", "{", "[1]", "{\"a\":inf}", "{\"a\":\"b\"}", "{a:1}", "{\"a\":{\"b\":1}}"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["{\"a\":1e999}", "{\"a\":-1e999}"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["HTTP/1.0 404 No\r\n\r\n{}", "HTTP/1.0 200 OK\r\n", "200 200\r\n\r\n{}"] {
            assert!(parse_response(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_that_says_nothing_does_not_hold_the_probe() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let scope = Scope { runtime: silent.local_addr().ok(), ..Scope::default() };
        let why = open(&scope).unwrap().read(&Round { due_ns: 0, server: None }).unwrap_err();
        assert!(why.source.ends_with("/debug/runtime"), "{why:?}");
    }

    #[test]
    fn a_server_that_never_stops_is_left() {
        let endless = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = endless.local_addr().unwrap();
        let writer = std::thread::spawn(move || {
            let (mut stream, _) = endless.accept().unwrap();
            while stream.write_all(&[b'x'; 65_536]).is_ok() {}
        });
        assert!(ask(address).unwrap_err().to_string().contains("too long"));
        writer.join().unwrap();
    }
}
