//! A server on the probe's host, started and ended by the probe for us.
//!
//! A separate thread shows the probe that we are there, and keeps what the server writes. The probe
//! ends the server with the session: when we ask, when we are gone, and when the probe itself ends.

use super::{Call, FarError, greet, of_end};
use crate::SILENCE_MAX;
use crate::line::Line;
use crate::message::{FromProbe, Purpose, Started, ToProbe};
use crate::printable::printable;
use crate::token;
use model::secret;
use model::starting::{StartOrder, TargetExit};
use probe::monotonic_ns;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time limit of one read.
const TURN: Duration = Duration::from_millis(50);
/// Time between signs of life.
const PING: Duration = Duration::from_secs(1);
/// How long a server may take to end, its services and what they left behind included.
const END_WITHIN: Duration = Duration::from_secs(60);

/// Most bytes of a log: whatever the other end sends, the disk is ours.
const LOG_BYTES_MAX: usize = 8 << 20;

/// A server that a probe has started. It ends when dropped.
#[derive(Debug)]
pub struct FarServer {
    started: Started,
    addr: String,
    stop: Arc<AtomicBool>,
    fate: Arc<Mutex<Option<TargetExit>>>,
    thread: Option<JoinHandle<()>>,
}

fn lock(fate: &Mutex<Option<TargetExit>>) -> MutexGuard<'_, Option<TargetExit>> {
    fate.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FarServer {
    /// Makes the probe start the server, and waits until it listens. What it writes on standard
    /// error goes to the log. Once `stop` is set the wait ends.
    pub fn start(
        call: &Call,
        order: &StartOrder,
        stop: &AtomicBool,
        log: &Path,
    ) -> Result<Self, FarError> {
        let file = File::create(log).map_err(|error| FarError::Log {
            path: log.display().to_string(),
            why: error.to_string(),
        })?;
        let token = token::read(&call.token_file)?;
        let (line, _) = greet(call, token, Purpose::Start)?;
        let mut session = Session::new(line, file);
        session.line.send(&ToProbe::Start(Box::new(order.clone())));
        let started = session.await_start(call, order, stop)?;
        let addr = reached(&started.addr, &call.address).map_err(|why| FarError::NotStarted {
            address: call.address.clone(),
            server: order.server.clone(),
            why,
        })?;
        let (stop, fate) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (flag, kept) = (Arc::clone(&stop), Arc::clone(&fate));
        let run = move || {
            let exit = session.attend(&flag);
            *lock(&kept) = Some(exit);
        };
        let spawned = thread::Builder::new().name("far server".to_string()).spawn(run);
        let thread = spawned.map_err(|error| FarError::NoThread(error.to_string()))?;
        Ok(Self { started, addr, stop, fate, thread: Some(thread) })
    }

    /// Its name in the list of the probe.
    pub fn name(&self) -> &str {
        &self.started.name
    }

    /// Words it was started with, as the probe shows them.
    pub fn words(&self) -> &[String] {
        &self.started.words
    }

    /// HOST:PORT as we reach it: the probe's host where the server listens on all of its addresses.
    pub fn addr(&self) -> &str {
        &self.addr
    }

    /// Its process on the probe's host.
    pub fn pid(&self) -> u32 {
        self.started.pid
    }

    /// Whether it still runs, or how it ended.
    pub fn alive(&mut self) -> Result<(), String> {
        match &*lock(&self.fate) {
            None => Ok(()),
            Some(exit) => {
                let why = exit.fault.as_deref().unwrap_or("ended by itself");
                Err(format!("target {}: {why}", self.started.name))
            }
        }
    }

    /// Ends it in order.
    pub fn end(mut self) -> TargetExit {
        let was_over = lock(&self.fate).is_some();
        self.finish();
        let exit = lock(&self.fate).take().unwrap_or_else(|| TargetExit {
            stopped: None,
            fault: Some("our thread that attends to it ended".to_string()),
        });
        let by_itself = || "ended by itself during the cell".to_string();
        let fault = exit.fault.or_else(|| was_over.then(by_itself));
        TargetExit { fault, ..exit }
    }

    fn finish(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread has a deadline of its own. A panic in it leaves no fate.
            let _ = thread.join();
        }
    }
}

impl Drop for FarServer {
    /// Waits until the probe reports its end, so that the next one finds an idle host.
    fn drop(&mut self) {
        self.finish();
    }
}

/// Our end of the connection.
struct Session {
    line: Line,
    log: File,
    logged: usize,
    pinged: Instant,
    heard: Instant,
}

impl Session {
    fn new(line: Line, log: File) -> Self {
        let now = Instant::now();
        Self { line, log, logged: 0, pinged: now, heard: now }
    }

    /// The next message other than a sign of life or a line of the server; or why there is none.
    fn turn(&mut self) -> Result<Option<FromProbe>, crate::LineEnd> {
        if self.pinged.elapsed() > PING && !self.line.is_blocked() {
            self.pinged = Instant::now();
            self.line.send(&ToProbe::Ping { sent_ns: monotonic_ns() });
        }
        let message = self.line.next(TURN)?;
        if message.is_some() {
            self.heard = Instant::now();
        }
        match message {
            Some(FromProbe::Pong(_)) => Ok(None),
            Some(FromProbe::Line { text }) => {
                self.keep(&text);
                Ok(None)
            }
            message => Ok(message),
        }
    }

    fn keep(&mut self, text: &str) {
        let line = secret::text(&printable(text)) + "\n";
        self.logged = self.logged.saturating_add(line.len());
        if self.logged <= LOG_BYTES_MAX {
            // A full disk is no reason to end a measurement.
            let _ = self.log.write_all(line.as_bytes());
        }
    }

    fn silence(&self) -> Option<String> {
        let why = || format!("it has sent nothing for {} s", SILENCE_MAX.as_secs());
        (self.heard.elapsed() > SILENCE_MAX).then(why)
    }

    fn await_start(
        &mut self,
        call: &Call,
        order: &StartOrder,
        stop: &AtomicBool,
    ) -> Result<Started, FarError> {
        let (address, server) = (call.address.clone(), order.server.clone());
        loop {
            if stop.load(Ordering::Relaxed) {
                // The connection closes, and the probe ends what it has started.
                return Err(FarError::Interrupted { server });
            }
            match self.turn() {
                Ok(Some(FromProbe::Started(started))) => return Ok(shown(*started)),
                Ok(Some(FromProbe::NotStarted { why })) => {
                    return Err(FarError::NotStarted { address, server, why: printable(&why) });
                }
                Ok(Some(FromProbe::Bye { why })) => {
                    return Err(FarError::Silent { address, why: why.to_string() });
                }
                Ok(_) => {}
                Err(end) => return Err(of_end(&call.address, &call.pin, end, None)),
            }
            if let Some(why) = self.silence() {
                return Err(FarError::Silent { address, why });
            }
        }
    }

    /// Stays until the server has ended, as requested or by itself.
    fn attend(&mut self, stop: &AtomicBool) -> TargetExit {
        let lost = |why: String| TargetExit {
            stopped: None,
            fault: Some(format!("the probe that started it was lost: {why}")),
        };
        let mut asked: Option<Instant> = None;
        loop {
            if asked.is_none() && stop.load(Ordering::Relaxed) {
                asked = Some(Instant::now());
                self.line.send(&ToProbe::Stop);
            }
            match self.turn() {
                Ok(Some(FromProbe::Ended(exit))) => {
                    let fault = exit.fault.map(|fault| printable(&fault));
                    return TargetExit { fault, ..*exit };
                }
                Ok(Some(FromProbe::Bye { why })) => return lost(why.to_string()),
                Ok(_) => {}
                Err(end) => return lost(end.to_string()),
            }
            if let Some(why) = self.silence() {
                return lost(why);
            }
            if asked.is_some_and(|asked| asked.elapsed() > END_WITHIN) {
                return lost(format!("it did not end the server in {} s", END_WITHIN.as_secs()));
            }
        }
    }
}

/// What the probe reports about the server, safe for a terminal.
fn shown(started: Started) -> Started {
    let safe = |text: &String| printable(text);
    Started {
        name: safe(&started.name),
        words: started.words.iter().map(safe).collect(),
        addr: safe(&started.addr),
        ..started
    }
}

/// Where we reach what listens at `addr` on the host of the probe. Loopback there is not ours: a
/// load on our own would measure another server, or none.
fn reached(addr: &str, probe: &str) -> Result<String, String> {
    let parts = addr.rsplit_once(':').zip(probe.rsplit_once(':'));
    let Some(((host, port), (probe_host, _))) = parts else { return Ok(addr.to_string()) };
    let host: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    match host {
        Ok(host) if host.is_unspecified() => Ok(format!("{probe_host}:{port}")),
        Ok(host) if host.is_loopback() && !is_here(probe) => Err(format!(
            "it listens on {addr} there, the loopback of that host, which we do not reach; start \
             the probe with --start-address and an address that we reach, for example {}",
            probe_host.trim_matches(['[', ']'])
        )),
        _ => Ok(addr.to_string()),
    }
}

/// Whether a probe is reached by loopback, so that its host is ours.
fn is_here(probe: &str) -> bool {
    let found = probe.to_socket_addrs();
    found.is_ok_and(|mut found| found.any(|address| address.ip().is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_at_the_host_of_its_probe() {
        for (addr, probe, expected) in [
            ("0.0.0.0:8080", "192.0.2.7:9200", "192.0.2.7:8080"),
            ("[::]:8080", "db.example:9200", "db.example:8080"),
            ("0.0.0.0:8080", "[2001:db8::7]:9200", "[2001:db8::7]:8080"),
            ("127.0.0.1:8080", "127.0.0.1:9200", "127.0.0.1:8080"),
            ("[::1]:8080", "localhost:9200", "[::1]:8080"),
            ("198.51.100.7:80", "192.0.2.7:9200", "198.51.100.7:80"),
            ("nonsense", "192.0.2.7:9200", "nonsense"),
        ] {
            assert_eq!(reached(addr, probe).as_deref(), Ok(expected), "{addr}");
        }
        for addr in ["127.0.0.1:8080", "[::1]:8080", "127.1.2.3:80"] {
            let why = reached(addr, "192.0.2.7:9200").unwrap_err();
            assert!(why.contains("--start-address") && why.contains("192.0.2.7"), "{why}");
        }
    }
}
