//! A server under test: started, ready, and stopped again.

use super::load::Transport;
use super::options::Programs;
use super::rows::{Target, Tickets};
use super::supervise::Supervisor;
use super::words::{Words, words};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a server may take to print its listening line.
const READY_PATIENCE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// A running server.
pub struct Server {
    process: u32,
    /// Where it listens, `IP:PORT`.
    address: String,
    /// Its listening line.
    listening: Value,
    stdout: PathBuf,
}

/// The command line of a target on a free port of an address; `None` without a server.
pub fn line(target: Target, programs: &Programs, ip: &str, certificates: &Path) -> Option<Words> {
    let line = |program: &Path, arguments: &[&str]| {
        let program = program.to_string_lossy().into_owned();
        Some(std::iter::once(program).chain(words(arguments)).collect())
    };
    match target {
        Target::Fasthttp => line(&programs.fasthttp, &["--addr", ip, "--port", "0"]),
        Target::NethttpTls(tickets) => {
            let file = |name| certificates.join(name).to_string_lossy().into_owned();
            let (chain, key) = (file("server.pem"), file("server.key"));
            let tickets = if tickets == Tickets::Offered { "on" } else { "off" };
            let place = ["--addr", ip, "--port", "0"];
            let secure = ["--tls-cert", &chain, "--tls-key", &key, "--tls-tickets", tickets];
            line(&programs.nethttp, &[&place[..], &secure].concat())
        }
        Target::H2o(transport) => {
            let secure = if transport == Transport::Tls { "tls" } else { "plain" };
            line(Path::new("bench/h2o"), &[ip, &certificates.to_string_lossy(), secure])
        }
        Target::Grpc => line(&programs.grpc, &["--port", "0"]),
        Target::Sink => line(&programs.sink, &["--addr", ip, "--port", "0", "--threads", "1"]),
        Target::Floor => line(&programs.floor, &["--serve", &format!("{ip}:0")]),
        Target::None => None,
    }
}

impl Server {
    /// Starts a target and waits until it responds.
    pub fn start(supervisor: &mut Supervisor, line: Words, scratch: &Path) -> Result<Self> {
        let (stdout, stderr) = (scratch.join("server.stdout"), scratch.join("server.stderr"));
        let name = line.join(" ");
        let process = supervisor.start(line, &stdout, &stderr)?;
        let deadline = Instant::now() + READY_PATIENCE;
        while Instant::now() < deadline {
            let printed = std::fs::read_to_string(&stdout).unwrap_or_default();
            if let Some((address, listening)) = printed.lines().next().and_then(listening) {
                return Ok(Self { process, address, listening, stdout });
            }
            if supervisor.wait(process, Instant::now() + LOOK_AGAIN)?.is_some() {
                let reason = std::fs::read_to_string(&stderr).unwrap_or_default();
                bail!("{name} ended at once: {}", reason.trim());
            }
        }
        supervisor.kill(process)?;
        bail!("{name} printed no listening line")
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// A number in its listening line.
    pub fn listening_number(&self, name: &str) -> Option<u64> {
        self.listening[name].as_u64()
    }

    /// The URL of a path.
    pub fn url(&self, transport: Transport, path: &str) -> String {
        let scheme = match transport {
            Transport::Tcp => "http",
            Transport::Tls => "https",
        };
        format!("{scheme}://{}{path}", self.address)
    }

    /// Stops it; returns its last line, with what it served.
    pub fn stop(self, supervisor: &mut Supervisor) -> Result<Value> {
        supervisor.stop(self.process, STOP_PATIENCE)?;
        let printed = std::fs::read_to_string(&self.stdout).context("a server has no output")?;
        let last = printed.lines().last().unwrap_or_default();
        Ok(serde_json::from_str(last).unwrap_or(Value::Null))
    }
}

/// The address in a listening line, and the line.
fn listening(line: &str) -> Option<(String, Value)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let address = line["addr"].as_str()?.to_owned();
    (line["event"] == "listening").then_some((address, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::built;

    #[test]
    fn the_address_stands_in_the_listening_line() {
        let line = r#"{"event":"listening","target":"sink","addr":"127.0.0.1:8083","pid":1}"#;
        assert_eq!(listening(line).unwrap().0, "127.0.0.1:8083");
        assert_eq!(listening("{\"event\":\"stopped\"}"), None);
        assert_eq!(listening("{\"event\":\"list"), None);
    }

    #[test]
    fn targets_listen_on_a_free_port() {
        let line = |target| {
            let line = line(target, &built(), "10.0.0.2", Path::new("c"));
            line.map(|line| line.join(" "))
        };
        let secure = "bin/target-nethttp --addr 10.0.0.2 --port 0 --tls-cert c/server.pem \
                      --tls-key c/server.key --tls-tickets off";
        assert_eq!(line(Target::NethttpTls(Tickets::Off)).as_deref(), Some(secure));
        let sink = "bin/target-sink --addr 10.0.0.2 --port 0 --threads 1";
        assert_eq!(line(Target::Sink).as_deref(), Some(sink));
        assert_eq!(line(Target::Floor).as_deref(), Some("bin/floor --serve 10.0.0.2:0"));
        let h2o = line(Target::H2o(Transport::Tls));
        assert_eq!(h2o.as_deref(), Some("bench/h2o 10.0.0.2 c tls"));
        assert_eq!(line(Target::None), None);
    }
}
