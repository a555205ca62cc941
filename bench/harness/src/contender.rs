//! The contenders of a row: the floor, `ceiling` in its variants, and the peers.

use super::count::{self, Count};
use super::install::Peers;
use super::load::{Load, Protocol, Reuse, Transport};
use super::options::Programs;
use super::peers::Peer;
use super::words::{Words, words};
use std::path::Path;
use std::process::ExitStatus;

/// How bytes are sent and received, as in `--driver`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    Uring,
    Epoll,
    Null,
}

impl Driver {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
            Self::Null => "null",
        }
    }
}

/// Which build of `ceiling`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Build {
    #[default]
    This,
    /// An older one, for `bench guard`.
    Base,
}

/// A variant of `ceiling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ours {
    pub build: Build,
    pub driver: Driver,
    /// The bounded pause, microseconds; 0 is off.
    pub coalesce_us: u32,
    /// HTTP/1.1, in a row with HTTP/2.
    pub is_http1: bool,
}

/// The exit code of `ceiling` for a run that broke its own gates.
const NO_MEASUREMENT: i32 = 4;

/// One contender.
#[derive(Clone, Copy)]
pub enum Contender {
    Floor(Driver),
    Ceiling(Ours),
    Peer(&'static Peer),
}

impl Ours {
    /// This build without a pause.
    pub fn plain(driver: Driver) -> Self {
        Self { build: Build::This, driver, coalesce_us: 0, is_http1: false }
    }
}

impl Contender {
    /// Its name in tables.
    pub fn name(&self) -> String {
        match self {
            Self::Floor(driver) => format!("floor {}", driver.name()),
            Self::Ceiling(Ours { build, driver, coalesce_us, is_http1 }) => {
                let name = if *build == Build::Base { "base" } else { "ceiling" };
                let pause = format!(" +{coalesce_us}us");
                let pause = if *coalesce_us > 0 { pause.as_str() } else { "" };
                let http1 = if *is_http1 { " http1" } else { "" };
                format!("{name} {}{pause}{http1}", driver.name())
            }
            Self::Peer(peer) => peer.name.to_owned(),
        }
    }

    /// The command line for a load.
    pub fn line(&self, load: &Load, programs: &Programs, peers: &Peers) -> Words {
        match self {
            Self::Floor(driver) => floor(&programs.floor, *driver, load),
            Self::Ceiling(ours) => ceiling(programs, *ours, load),
            Self::Peer(peer) => behind(&peers.program(peer), peer.line(load)),
        }
    }

    /// The command line of a second call that prints the results of the first one.
    pub fn report(&self, load: &Load, peers: &Peers) -> Option<Words> {
        let Self::Peer(peer) = self else { return None };
        Some(behind(&peers.program(peer), (peer.report?)(load)))
    }

    /// What counts when its exit status is not 0: nothing, or what the failed gates of a run of
    /// `ceiling` leave.
    pub fn count_failed(
        &self,
        status: ExitStatus,
        output: &str,
        error: &str,
    ) -> Result<Count, String> {
        match (self, status.code()) {
            (Self::Ceiling(_), Some(NO_MEASUREMENT)) => count::ceiling_with_failed_gates(output),
            _ => Err(format!("{status}: {}", last_line(error, output))),
        }
    }

    /// Reads its output.
    pub fn count(&self, output: &str) -> Result<Count, String> {
        let count = match self {
            Self::Floor(_) => count::floor(output),
            Self::Ceiling(_) => count::ceiling(output),
            Self::Peer(peer) => (peer.count)(output),
        }?;
        if count.requests == 0 {
            return Err("it counted no good response".into());
        }
        Ok(count)
    }
}

fn floor(program: &Path, driver: Driver, load: &Load) -> Words {
    let (connections, depth) = (load.connections.to_string(), load.depth.to_string());
    let seconds = load.seconds().to_string();
    let flags =
        ["--driver", driver.name(), "-c", &connections, "-p", &depth, "-d", &seconds, &load.url];
    behind(&program.to_string_lossy(), words(&flags))
}

/// One thread, because there is one CPU, and no warm-up, because peers have none: everything is
/// counted and charged.
fn ceiling(programs: &Programs, ours: Ours, load: &Load) -> Words {
    let Ours { build, driver, coalesce_us, is_http1 } = ours;
    let program = if build == Build::Base { &programs.base } else { &programs.ceiling };
    let (connections, depth) = (load.connections.to_string(), load.depth.to_string());
    let (slot, coalesce) = (format!("{}ms", load.slot_ms), format!("{coalesce_us}us"));
    let mut line = behind(&program.to_string_lossy(), words(&["load", "-t", "1"]));
    line.extend(words(&["--driver", driver.name(), "-c", &connections, "-p", &depth]));
    line.extend(words(&["-d", &slot, "--warmup", "0", "--runs", "none", "-q", "--json"]));
    if load.reuse == Reuse::Closed {
        // As the peers do: the server closes first and has the TIME_WAIT. A cap of the client would
        // leave it here, and each connect would search for a port among tens of thousands.
        line.extend(words(&["-H", "Connection: close"]));
    }
    if load.transport == Transport::Tls {
        line.push("-k".into());
    }
    match load.protocol {
        Protocol::Http1 => {}
        Protocol::Http2 if is_http1 => line.extend(words(&["--http", "1"])),
        Protocol::Http2 => line.extend(words(&["--http", "2"])),
        Protocol::Grpc => line.extend(words(&["-b", Load::MESSAGE])),
    }
    if coalesce_us > 0 {
        line.extend(words(&["--coalesce", &coalesce]));
    }
    line.push(match load.protocol {
        Protocol::Grpc => load.url.replacen("http", "grpc", 1),
        _ => load.url.clone(),
    });
    line
}

/// The last line a program printed before it failed.
pub fn last_line(error: &str, output: &str) -> String {
    let lines = error.lines().rev().chain(output.lines().rev());
    let line = lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing");
    line.chars().take(200).collect()
}

fn behind(program: &str, arguments: Words) -> Words {
    std::iter::once(program.to_owned()).chain(arguments).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::built;

    #[test]
    fn names_tell_variants_apart() {
        let ceiling =
            |coalesce_us| Contender::Ceiling(Ours { coalesce_us, ..Ours::plain(Driver::Uring) });
        assert_eq!(ceiling(0).name(), "ceiling uring");
        assert_eq!(ceiling(50).name(), "ceiling uring +50us");
        assert_eq!(Contender::Floor(Driver::Epoll).name(), "floor epoll");
    }

    #[test]
    fn lines_carry_the_load() {
        let (load, ours) = (Load::sample(1), Ours::plain(Driver::Uring));
        let url = "http://127.0.0.1:8083/simple";
        assert_eq!(
            floor(Path::new("f"), Driver::Epoll, &load).join(" "),
            format!("f --driver epoll -c 50 -p 1 -d 3 {url}")
        );
        assert_eq!(
            ceiling(&built(), Ours { coalesce_us: 50, ..ours }, &load).join(" "),
            format!(
                "bin/ceiling load -t 1 --driver uring -c 50 -p 1 -d 3000ms --warmup 0 --runs \
                 none -q --json --coalesce 50us {url}"
            )
        );
    }

    #[test]
    fn command_lines_have_the_connection_and_the_layer() {
        let load = Load { reuse: Reuse::Closed, transport: Transport::Tls, ..Load::sample(1) };
        let line = ceiling(&built(), Ours::plain(Driver::Epoll), &load).join(" ");
        assert!(line.contains("-H Connection: close -k http"), "{line}");
    }

    #[test]
    fn a_failure_tells_the_last_words() {
        assert_eq!(last_line("a\nb\n\n", "c"), "b");
        assert_eq!(last_line("", "c\n"), "c");
        assert_eq!(last_line("", ""), "it said nothing");
    }

    #[test]
    fn nothing_counted_is_a_failure() {
        let floor = Contender::Floor(Driver::Uring);
        assert!(floor.count("{\"requests\":0,\"seconds\":1.0}").is_err());
        assert_eq!(floor.count("{\"requests\":7,\"seconds\":1.0}").unwrap().requests, 7);
    }
}
