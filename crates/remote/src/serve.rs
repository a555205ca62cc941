//! The probe's end: it accepts connections and runs a session for each client.
//!
//! A connection is a stranger until it has shown its token. The probe holds few strangers at a
//! time, for a few seconds, with a few kilobytes each; one too many closes the oldest, so that
//! silent strangers never keep a client out.

mod door;
mod files;
mod last_words;
mod session;
mod starting;

use crate::certificate::{Identity, IdentityError};
use crate::listening::{NOTICE, Named, accept};
use crate::metrics::Exporter;
use crate::printable::printable;
use crate::token::{self, TokenError};
use door::Door;
use model::reading::Reading;
use model::starting::StartOrder;
use model::tuning::{Step, TuneOrder, TuneOutcome};
use session::Session;
pub use starting::Running;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// Log lines about strangers per minute: a flood of connections must not fill the log.
const TOLD_PER_MINUTE: u32 = 20;

/// Checks the changed settings of the probe's host; `None` while there are none and were none at
/// the first check.
pub type Look = Box<dyn FnMut() -> Option<Reading>>;

/// Plans, changes and restores knobs of the probe's host.
pub trait Tuner: Send + Sync + std::fmt::Debug {
    /// Whether it may change anything, or only read.
    fn may_change(&self) -> bool;

    /// Carries out one order, which may take seconds; one at a time.
    fn carry_out(&self, order: &TuneOrder) -> TuneOutcome;

    /// Starts to check the changed settings, for one client.
    fn watch(&self) -> Look;

    /// Carries out the steps of experiments on servers, for one client. What is taken is given back
    /// when this is dropped.
    fn experimenter(&self) -> Box<dyn FnMut(&Step) -> TuneOutcome + '_>;
}

/// Starts servers of a list of the probe's host.
pub trait Starter: Send + Sync + std::fmt::Debug {
    /// Starts one and waits until it listens. An error is what was asked and what the list allows,
    /// or why it does not run. Once `stop` is set the wait ends.
    fn start(&self, order: &StartOrder, stop: &AtomicBool) -> Result<Box<dyn Running>, String>;
}

/// What a probe is to do.
#[derive(Debug)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The file with the token; made when absent.
    pub token_file: PathBuf,
    /// Most clients at a time.
    pub clients_max: u32,
    /// Where to serve Prometheus, if at all.
    pub prometheus: Option<SocketAddr>,
    /// The server's process; by default the listener on the port that a client names.
    pub server_pid: Option<u32>,
    /// Where the server's runtime serves its figures.
    pub runtime: Option<SocketAddr>,
    /// Port of the server whose figures Prometheus gets.
    pub server_port: Option<u16>,
    /// Version of the program, for clients.
    pub program: String,
    /// Checks the changed settings of the host, and changes it for clients where allowed.
    pub tuner: Option<Box<dyn Tuner>>,
    /// Starts servers for clients, where allowed.
    pub starter: Option<Box<dyn Starter>>,
}

/// Why a probe cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The token.
    #[error("--token-file {0}")]
    Token(#[from] TokenError),
    /// The certificate.
    #[error("the certificate next to the token: {0}")]
    Identity(#[from] IdentityError),
    /// The address.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's reason.
        error: io::Error,
    },
}

/// A probe that listens.
#[derive(Debug)]
pub struct Probe {
    settings: Settings,
    token: String,
    identity: Identity,
    listener: TcpListener,
    exporter: Option<Exporter>,
    /// The server's process, when it was given.
    named: Option<Named>,
    /// Files about threads that each client's readings may keep open.
    kept_files: usize,
}

impl Probe {
    /// Makes or reads token and certificate, and listens. Raises the limit of descriptors of this
    /// process to its maximum.
    pub fn open(settings: Settings) -> Result<Self, ServeError> {
        let cpus = probe::host_facts().cpus_online.len();
        let kept_files = files::kept_files(files::raise(), settings.clients_max, cpus);
        let token = token::read_or_make(&settings.token_file)?;
        let identity = Identity::read_or_make(&certificate_file(&settings.token_file))?;
        let listener = listen(settings.listen)?;
        let named = settings.server_pid.map(Named::of);
        let exporter = match settings.prometheus {
            Some(address) => {
                Some(Exporter::new(listen(address)?, named.clone(), settings.server_port))
            }
            None => None,
        };
        Ok(Self { settings, token, identity, listener, exporter, named, kept_files })
    }

    /// Where it listens, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.settings.listen)
    }

    /// Where it serves Prometheus.
    pub fn prometheus(&self) -> Option<SocketAddr> {
        self.exporter.as_ref().map(Exporter::address)
    }

    /// SHA-256 of its certificate, hexadecimal.
    pub fn pin(&self) -> &str {
        &self.identity.pin
    }

    /// Serves until `stop` is set. `tell` gets a line for each event.
    pub fn run(&self, stop: &AtomicBool, tell: &(dyn Fn(&str) + Sync)) {
        let log = Log { tell, budget: Mutex::new((Instant::now(), 0)) };
        let door = Door::new(self.settings.clients_max);
        thread::scope(|scope| {
            if let Some(exporter) = &self.exporter {
                let spawned = named("metrics").spawn_scoped(scope, || exporter.run(stop));
                if let Err(error) = spawned {
                    log.tell(&format!("cannot start a thread for Prometheus: {error}"));
                }
            }
            let mut failed = None;
            while !stop.load(Ordering::Relaxed) {
                match accept(&self.listener, NOTICE) {
                    Ok(Some(knocking)) => {
                        failed = None;
                        self.admit(scope, &door, &log, knocking, stop);
                    }
                    Ok(None) => {}
                    // Logged once, until a connection is accepted.
                    Err(why) if failed == Some(why.kind()) => {}
                    Err(why) => {
                        failed = Some(why.kind());
                        log.tell_of_stranger(&format!("cannot accept connections: {why}"));
                    }
                }
            }
        });
    }

    /// A thread for a stranger, who may become a client.
    fn admit<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        door: &'env Door,
        log: &'env Log<'env>,
        (socket, peer): (TcpStream, SocketAddr),
        stop: &'env AtomicBool,
    ) {
        let Some(guest) = door.enter(&socket) else {
            return log.tell_of_stranger(&format!("{peer}: too many connections at once"));
        };
        let config = &self.identity.config;
        let (token, program) = (&self.token, &self.settings.program);
        let runtime = self.settings.runtime;
        let kept_files = self.kept_files;
        let tuner = self.settings.tuner.as_deref();
        let starter = self.settings.starter.as_deref();
        let session = Session {
            config,
            token,
            program,
            named: self.named.as_ref(),
            runtime,
            kept_files,
            tuner,
            starter,
            stop,
            log,
            peer,
        };
        let spawned = named("client").spawn_scoped(scope, move || session.run(socket, guest));
        if let Err(error) = spawned {
            log.tell_of_stranger(&format!("{peer}: cannot start a thread: {error}"));
        }
    }
}

/// The file of certificate and key, next to the token.
fn certificate_file(token_file: &Path) -> PathBuf {
    let mut name = token_file.as_os_str().to_os_string();
    name.push(".pem");
    PathBuf::from(name)
}

fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let made = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    made.map_err(|error| ServeError::Listen { address, error })
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_string())
}

/// Where lines go.
struct Log<'a> {
    tell: &'a (dyn Fn(&str) + Sync),
    /// Start of the minute, and lines about strangers in it.
    budget: Mutex<(Instant, u32)>,
}

impl Log<'_> {
    /// One line, whatever it contains: a stranger must not add lines to the log.
    fn tell(&self, line: &str) {
        (self.tell)(&printable(line));
    }

    /// At most [`TOLD_PER_MINUTE`] lines.
    fn tell_of_stranger(&self, line: &str) {
        let mut budget = self.budget.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if budget.0.elapsed() > Duration::from_secs(60) {
            *budget = (Instant::now(), 0);
        }
        budget.1 += 1;
        match budget.1 {
            ..=TOLD_PER_MINUTE => self.tell(line),
            told if told == TOLD_PER_MINUTE + 1 => {
                self.tell("more connections are refused; this minute's are not logged");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_one_line_whatever_is_in_it() {
        let told = Mutex::new(Vec::new());
        let tell = |line: &str| told.lock().unwrap().push(line.to_string());
        let log = Log { tell: &tell, budget: Mutex::new((Instant::now(), 0)) };
        log.tell("\x1b[2J1.2.3.4: watches\nprocess 1");
        log.tell_of_stranger("a\r\nb");
        let told = told.into_inner().unwrap();
        assert_eq!(told, ["\\u{1b}[2J1.2.3.4: watches\\nprocess 1", "a\\r\\nb"]);
    }
}
