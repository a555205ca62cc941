//! Interleaved rounds: each contender once per round, in a random order, against the same server.
//!
//! Machines drift, and neighbours come and go. Programs in the same round ran under the same
//! conditions, so ratios are computed within rounds; the order is drawn anew each time, so no
//! contender always follows the same one.

use super::contender::{Contender, last_line};
use super::count::Count;
use super::install::{self, Peers};
use super::load::{Load, Protocol, Reuse, Transport};
use super::machine::{self, Instantaneous};
use super::options::Setting;
use super::rows::{Place, Row, Target};
use super::server::{self, Server};
use super::slot::{Measured, RowResult, Slot};
use super::statistics::Random;
use super::supervise::{Exit, Supervisor};
use super::veth::{self, Namespaces};
use super::words::{Words, pinned, words};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub const SERVER_CPU: u32 = 0;
pub const CLIENT_CPU: u32 = 1;

/// How much longer than its load a slot may take.
const SLOT_PATIENCE: Duration = Duration::from_secs(30);

/// Everything that a row needs.
pub struct Bench {
    pub setting: Setting,
    pub supervisor: Supervisor,
    pub peers: Peers,
    pub random: Random,
}

/// A program that ran to its end.
pub struct Ran {
    name: String,
    pub exit: Exit,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Its output; an error when it failed.
    pub fn good(self) -> Result<String> {
        let Self { name, exit, stdout, stderr } = self;
        let reason = || last_line(&stderr, &stdout);
        anyhow::ensure!(exit.status.success(), "`{name}`: {}: {}", exit.status, reason());
        Ok(stdout)
    }
}

/// Where a row runs: the server, and the path to it.
struct Stage {
    namespaces: Option<Namespaces>,
    /// The command line of the server, if the row has one.
    line: Option<Words>,
    server: Option<Server>,
}

impl Bench {
    /// A temporary file.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.setting.scratch().join(name)
    }

    /// Listens for signals and makes the folder for files; peers are located later.
    pub fn new(setting: Setting) -> Result<Self> {
        let scratch = setting.scratch();
        std::fs::create_dir_all(&scratch)
            .with_context(|| format!("{} cannot be made", scratch.display()))?;
        let random = Random::new(setting.seed);
        Ok(Self { setting, supervisor: Supervisor::new()?, peers: Peers::default(), random })
    }

    /// Measures one row.
    pub fn row(&mut self, row: &'static Row, contenders: &[Contender]) -> Result<RowResult> {
        let mut result = RowResult {
            row,
            contenders: Vec::new(),
            slots: Vec::new(),
            skipped: self.obstacle(row)?,
            served: Value::Null,
        };
        if result.skipped.is_some() {
            return Ok(result);
        }
        let mut stage = self.set_up(row)?;
        let load = self.load(row, &stage);
        self.warm_up(&load, &stage)?;
        for contender in contenders {
            let line = contender.line(&load, &self.setting.programs, &self.peers);
            result.contenders.push((contender.name(), stage.on_client(line).join(" ")));
        }
        let counts_handshakes = row.transport == Transport::Tls && row.reuse == Reuse::Closed;
        for round in 1..=self.setting.rounds {
            let mut order: Vec<&Contender> = contenders.iter().collect();
            self.random.shuffle(&mut order);
            for (turn, contender) in (0..).zip(order) {
                if counts_handshakes {
                    self.start_anew(&mut stage)?;
                }
                let load = self.load(row, &stage);
                let mut measured = self.slot(contender, &load, &stage)?;
                if let (true, Ok(measured)) = (counts_handshakes, &mut measured) {
                    measured.resumed = resumed(&self.stop(&mut stage)?);
                }
                let slot = Slot { round, turn, contender: contender.name(), result: measured };
                eprintln!("bench: {}", progress(row, &slot, self.setting.rounds));
                result.slots.push(slot);
            }
        }
        result.served = self.stop(&mut stage)?;
        Ok(result)
    }

    /// Runs each of `count` tasks once in each round, in a new random order. Returns the results by
    /// task and round.
    pub fn interleave<T>(
        &mut self,
        count: usize,
        mut each: impl FnMut(&mut Self, usize) -> Result<T>,
    ) -> Result<Vec<Vec<T>>> {
        let mut given: Vec<Vec<T>> = (0..count).map(|_| Vec::new()).collect();
        for _ in 0..self.setting.rounds {
            let mut order: Vec<usize> = (0..count).collect();
            self.random.shuffle(&mut order);
            for at in order {
                given[at].push(each(self, at)?);
            }
        }
        Ok(given)
    }

    /// Runs programs concurrently, each to its end.
    pub fn run<const N: usize>(&mut self, lines: [Words; N]) -> Result<[Ran; N]> {
        let mut started = Vec::new();
        for (at, line) in lines.into_iter().enumerate() {
            let files = ["stdout", "stderr"].map(|name| self.scratch(&format!("run-{at}.{name}")));
            let name = line.join(" ");
            started.push((name, self.supervisor.start(line, &files[0], &files[1])?, files));
        }
        let deadline =
            Instant::now() + Duration::from_millis(self.setting.slot_ms.into()) + SLOT_PATIENCE;
        let mut ran = Vec::new();
        for (name, process, [stdout, stderr]) in started {
            let exit = self.supervisor.wait(process, deadline)?;
            let exit = exit.with_context(|| format!("`{name}` did not end"))?;
            let text =
                |path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into();
            ran.push(Ran { name, exit, stdout: text(stdout), stderr: text(stderr) });
        }
        Ok(ran.try_into().unwrap_or_else(|_| unreachable!("one for each line")))
    }

    /// Starts a server; several can run at a time, under different names.
    pub fn serve(&mut self, name: &str, line: Words) -> Result<Server> {
        let folder = self.scratch(name);
        std::fs::create_dir_all(&folder)?;
        Server::start(&mut self.supervisor, line, &folder)
    }

    /// Why a row cannot be measured here, if so.
    fn obstacle(&mut self, row: &Row) -> Result<Option<String>> {
        if row.place == Place::Veth && !rustix::process::geteuid().is_root() {
            return Ok(Some("network namespaces need root".into()));
        }
        let needed: &[_] = match (row.place, row.target) {
            (Place::Veth, _) => &veth::NEEDED,
            (_, Target::H2o(_)) => &[("h2o", "h2o")],
            _ => return Ok(None),
        };
        let absent = install::need(&mut self.supervisor, &self.setting, needed)?;
        Ok((!absent.is_empty()).then(|| format!("{} is not installed", absent.join(" and "))))
    }

    fn set_up(&mut self, row: &Row) -> Result<Stage> {
        let namespaces = match row.place {
            Place::Loopback => None,
            Place::Veth => Some(Namespaces::set_up(CLIENT_CPU, SERVER_CPU)?),
        };
        let ip = namespaces.as_ref().map_or("127.0.0.1", Namespaces::server_ip);
        if row.transport == Transport::Tls {
            self.make_certificates()?;
        }
        let certificates = self.certificates();
        let line = server::line(row.target, &self.setting.programs, ip, &certificates);
        let line = line.map(|line| match &namespaces {
            Some(namespaces) => namespaces.on_server(line),
            None => pinned(SERVER_CPU, line),
        });
        let mut stage = Stage { namespaces, line, server: None };
        self.start_anew(&mut stage)?;
        Ok(stage)
    }

    /// Restarts the server of a row.
    fn start_anew(&mut self, stage: &mut Stage) -> Result<()> {
        self.stop(stage)?;
        let scratch = self.setting.scratch();
        let Some(line) = stage.line.clone() else { return Ok(()) };
        stage.server = Some(Server::start(&mut self.supervisor, line, &scratch)?);
        Ok(())
    }

    /// Stops the server of a row; returns its last line.
    fn stop(&mut self, stage: &mut Stage) -> Result<Value> {
        let server = stage.server.take();
        server.map_or(Ok(Value::Null), |server| server.stop(&mut self.supervisor))
    }

    fn certificates(&self) -> PathBuf {
        self.scratch("certificates")
    }

    fn make_certificates(&mut self) -> Result<()> {
        let program = self.setting.programs.certs.to_string_lossy();
        let line = words(&[&*program, "--out", &self.certificates().to_string_lossy()]);
        let [ran] = self.run([line])?;
        ran.good().map(drop).context("no certificates for the TLS rows")
    }

    fn load(&self, row: &Row, stage: &Stage) -> Load {
        let url = stage.server.as_ref().map(|server| server.url(row.transport, row.path));
        let url = url.unwrap_or_else(|| "http://null/".into());
        Load {
            url,
            connections: row.connections,
            depth: row.depth,
            transport: row.transport,
            protocol: row.protocol,
            reuse: row.reuse,
            slot_ms: self.setting.slot_ms,
            scratch: self.setting.scratch(),
        }
    }

    /// A second of unrecorded load, in which the server grows its memory.
    fn warm_up(&mut self, load: &Load, stage: &Stage) -> Result<()> {
        if stage.server.is_none() {
            return Ok(());
        }
        let load = Load { slot_ms: 1_000, ..load.clone() };
        std::fs::write(self.scratch("target.txt"), format!("GET {}\n", load.url))?;
        std::fs::write(self.scratch("call.bin"), Load::message_bytes())?;
        if load.transport == Transport::Tls || load.protocol != Protocol::Http1 {
            // The floor speaks neither, and the first contender finds the server cold.
            return Ok(());
        }
        let floor = Contender::Floor(super::contender::Driver::Epoll);
        self.slot(&floor, &load, stage)?.map(drop).or_else(|reason| {
            eprintln!("bench: the warm-up failed: {reason}");
            Ok(())
        })
    }

    /// Runs one contender. The inner error is its failure; the outer one ends the bench.
    fn slot(
        &mut self,
        contender: &Contender,
        load: &Load,
        stage: &Stage,
    ) -> Result<Result<Measured, String>> {
        let line = contender.line(load, &self.setting.programs, &self.peers);
        let (stdout, stderr) = (self.scratch("slot.stdout"), self.scratch("slot.stderr"));
        let (others, before) = (stage.others_cpu_time(), Instantaneous::now()?);
        let started = match self.supervisor.start(stage.on_client(line), &stdout, &stderr) {
            Ok(process) => process,
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        let deadline = Instant::now() + Duration::from_millis(load.slot_ms.into()) + SLOT_PATIENCE;
        let exit = self.supervisor.wait(started, deadline)?;
        let (busy, others) =
            (before.until(&Instantaneous::now()?), stage.others_cpu_time().saturating_sub(others));
        let Some(exit) = exit else {
            self.supervisor.kill(started)?;
            return Ok(Err(format!("it did not end within {} s", SLOT_PATIENCE.as_secs())));
        };
        stage.check(&self.supervisor)?;
        let count = self.count(contender, load, exit)?;
        Ok(count.map(|count| measured(count, exit, &busy, others)))
    }

    /// Reads the output of a contender.
    fn count(
        &mut self,
        contender: &Contender,
        load: &Load,
        exit: Exit,
    ) -> Result<Result<Count, String>> {
        let (stdout, stderr) = (self.scratch("slot.stdout"), self.scratch("slot.stderr"));
        let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into();
        if !exit.status.success() {
            let (output, error): (String, String) = (text(stdout), text(stderr));
            return Ok(contender.count_failed(exit.status, &output, &error));
        }
        let Some(line) = contender.report(load, &self.peers) else {
            let output: String = text(stdout);
            return Ok(contender.count(&output));
        };
        let process = self.supervisor.start(line, &stdout, &stderr)?;
        if self.supervisor.wait(process, Instant::now() + SLOT_PATIENCE)?.is_none() {
            self.supervisor.kill(process)?;
        }
        let output: String = text(stdout);
        Ok(contender.count(&output))
    }
}

impl Stage {
    fn on_client(&self, line: Words) -> Words {
        match &self.namespaces {
            Some(namespaces) => namespaces.on_client(line),
            None => pinned(CLIENT_CPU, line),
        }
    }

    /// CPU time so far of the processes of the row other than the client.
    fn others_cpu_time(&self) -> Duration {
        let server = self.server.as_ref().map(|server| machine::cpu_time(server.process()));
        let napi = self.namespaces.as_ref().map(Namespaces::napi_cpu_time);
        server.unwrap_or_default() + napi.unwrap_or_default()
    }

    /// Fails when the server of the row has died.
    fn check(&self, supervisor: &Supervisor) -> Result<()> {
        let is_gone = |server: &Server| !supervisor.is_running(server.process());
        anyhow::ensure!(!self.server.as_ref().is_some_and(is_gone), "the server died");
        Ok(())
    }
}

/// The share of resumed handshakes, from the last line of a server.
fn resumed(served: &Value) -> Option<f64> {
    let all = served["tls_handshakes"].as_f64().filter(|all| *all > 0.0)?;
    Some(served["tls_resumed"].as_f64()? / all)
}

fn measured(count: Count, exit: Exit, busy: &machine::Busy, others: Duration) -> Measured {
    let ns = |time: Duration| time.as_nanos() as u64;
    let ours = exit.user + exit.system + others;
    let all: Duration = busy.cpus.iter().sum();
    let client_cpu = busy.cpus.get(CLIENT_CPU as usize).copied().unwrap_or_default();
    Measured {
        requests: count.requests,
        rate: count.rate,
        resumed: None,
        user_ns: ns(exit.user),
        system_ns: ns(exit.system),
        elapsed_ns: ns(busy.elapsed),
        client_cpu_busy_ns: ns(client_cpu),
        foreign_ns: ns(all.saturating_sub(ours)),
        p50_ns: count.p50_ns,
        p99_ns: count.p99_ns,
    }
}

fn progress(row: &Row, slot: &Slot, rounds: u32) -> String {
    let said = match &slot.result {
        Ok(measured) => format!("{:.3} us/request", measured.cost_ns(row.figure) / 1e3),
        Err(reason) => format!("failed: {reason}"),
    };
    format!("{} {}/{rounds} {}: {said}", row.name, slot.round, slot.contender)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn foreign_time_is_what_no_process_accounts_for() {
        let ms = Duration::from_millis;
        let exit =
            Exit { status: std::process::ExitStatus::from_raw(0), user: ms(100), system: ms(500) };
        let busy = machine::Busy { elapsed: ms(1000), cpus: vec![ms(900), ms(700)] };
        let count = Count { requests: 10, ..Count::default() };
        let measured = measured(count, exit, &busy, ms(850));
        assert_eq!(measured.foreign_ns, 150_000_000);
        assert_eq!(measured.client_cpu_busy_ns, 700_000_000);
        assert_eq!((measured.user_ns, measured.system_ns), (100_000_000, 500_000_000));
    }
}
