//! Our end: a session with the probe on the server's host.
//!
//! A separate thread reads, so that responses to pings are timed when they arrive. It passes
//! readings on through a queue of bounded memory; while that is full it stops reading, so that the
//! probe's own queue fills, drops readings and reports it, with the times of its host.

mod error;
mod listener;
mod orders;
mod server;

pub use error::FarError;
pub use orders::{Orders, order};
pub use server::FarServer;

use crate::certificate::Pinned;
use crate::line::Line;
use crate::message::{FromProbe, Hello, Purpose, Refusal, ToProbe, VERSION, Welcome};
use crate::offset::{Estimator, Part, WallZero};
use crate::printable::printable;
use crate::{FROM_PROBE_BYTES_MAX, HELLO_WITHIN, token};
use error::{io_reason, of_end};
use listener::{Listener, exchange};
use model::facts::ClockOffset;
use model::load::ProbeChoice;
use model::reading::Reading;
use model::units::NS_PER_S;
use probe::queue::{self, Exit, QUEUE_BYTES_MAX};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// Round trips before load.
const TRIPS_BEFORE: usize = 16;
/// How long the last round trips may take.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// How long the client waits for the last readings, while they still arrive: over a slow link that
/// is minutes.
const STOP_MAX: Duration = Duration::from_secs(300);

/// How to reach a probe, and about what.
#[derive(Debug, Clone)]
pub struct Call {
    /// Host and port.
    pub address: String,
    /// File with the token.
    pub token_file: PathBuf,
    /// SHA-256 of the probe's certificate, lower-case hexadecimal.
    pub pin: String,
    /// The address under test, as we see it.
    pub ip: Option<IpAddr>,
    /// The port under test.
    pub port: Option<u16>,
    /// Time between rounds of reading, nanoseconds.
    pub period_ns: u64,
    /// When the probe ends by itself, nanoseconds from the welcome.
    pub ends_after_ns: Option<u64>,
}

impl Call {
    /// About the host of a probe only, without a server.
    pub fn about_host(probe: &ProbeChoice) -> Self {
        Self {
            address: probe.address.clone(),
            token_file: PathBuf::from(&probe.token_file),
            pin: probe.pin.clone(),
            ip: None,
            port: None,
            period_ns: NS_PER_S,
            ends_after_ns: None,
        }
    }
}

/// What the reader thread reports in addition to readings.
#[derive(Debug, Default)]
struct Shared {
    estimator: Estimator,
    lost: Option<String>,
}

/// A session with a probe. It ends when dropped.
#[derive(Debug)]
pub struct Far {
    shared: Arc<Mutex<Shared>>,
    stop: Arc<AtomicBool>,
    arrived: Exit,
    thread: Option<JoinHandle<()>>,
    clock_before: ClockOffset,
}

/// The result of a session.
#[derive(Debug)]
pub struct SessionEnd {
    /// Readings that were not taken yet.
    pub readings: Vec<Reading>,
    /// The clocks, over the whole session.
    pub clock: ClockOffset,
    /// The wall clock of that host, over the whole session.
    pub wall: Option<WallZero>,
    /// Why readings are missing from the end, if they are.
    pub lost: Option<String>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Far {
    /// Connects, shows the token, and compares the clocks for the first time.
    pub fn connect(call: &Call) -> Result<(Self, Welcome), FarError> {
        let token = token::read(&call.token_file)?;
        let (mut line, welcome) = greet(call, token, Purpose::Watch)?;
        let silent = |why: String| FarError::Silent { address: call.address.clone(), why };
        let (entrance, arrived) = queue::queue(QUEUE_BYTES_MAX);
        let mut estimator = Estimator::default();
        for _ in 0..TRIPS_BEFORE {
            let trip = exchange(&mut line, &entrance).map_err(silent)?;
            trip.iter().for_each(|trip| estimator.add(Part::Before, trip));
        }
        let clock_before = estimator.offset();
        let clock_before =
            clock_before.ok_or_else(|| silent("it did not respond to a ping".to_string()))?;
        let shared = Arc::new(Mutex::new(Shared { estimator, lost: None }));
        let stop = Arc::new(AtomicBool::new(false));
        let listener = Listener::new(line, Arc::clone(&shared), Arc::clone(&stop), entrance);
        let spawned = thread::Builder::new().name("far".to_string()).spawn(|| listener.run());
        let thread = spawned.map_err(|error| FarError::NoThread(error.to_string()))?;
        Ok((Self { shared, stop, arrived, thread: Some(thread), clock_before }, welcome))
    }

    /// What has arrived since the last take, oldest first.
    pub fn take(&self) -> Vec<Reading> {
        self.arrived.take()
    }

    /// The clocks as far as is known.
    pub fn clock(&self) -> ClockOffset {
        lock(&self.shared).estimator.offset().unwrap_or(self.clock_before)
    }

    /// The wall clock of that host as far as is known.
    pub fn wall(&self) -> Option<WallZero> {
        lock(&self.shared).estimator.wall()
    }

    /// Why readings stopped, when they did.
    pub fn lost(&self) -> Option<String> {
        lock(&self.shared).lost.clone()
    }

    /// Asks for a last round of everything, compares the clocks again, and ends.
    pub fn stop(mut self) -> SessionEnd {
        self.stop.store(true, Ordering::Relaxed);
        let mut readings = Vec::new();
        if let Some(thread) = self.thread.take() {
            // The thread has a deadline of its own. It stops reading while the queue is full.
            while !thread.is_finished() {
                readings.extend(self.arrived.take());
                thread::sleep(Duration::from_millis(10));
            }
            // A panic in it would be our error; it is reported as a loss.
            if thread.join().is_err() {
                lock(&self.shared).lost = Some("our reader thread ended".to_string());
            }
        }
        readings.extend(self.arrived.take());
        SessionEnd { readings, clock: self.clock(), wall: self.wall(), lost: self.lost() }
    }
}

impl Drop for Far {
    /// The thread sees this and ends by itself; there is no need to wait.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A connection to the first address that accepts one.
fn reach(call: &Call) -> Result<TcpStream, FarError> {
    let unreachable = |why: String| FarError::Unreachable { address: call.address.clone(), why };
    let found = call.address.to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|error| unreachable(error.to_string()))?.collect();
    let mut why = "the name has no address".to_string();
    for address in found {
        match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
            Ok(socket) => return Ok(socket),
            Err(error) => why = io_reason(&error),
        }
    }
    Err(unreachable(why))
}

/// A welcome with texts that are safe for a terminal; a report makes all its text safe itself.
fn shown(welcome: Welcome) -> Welcome {
    Welcome { unseen: welcome.unseen.map(|why| printable(&why)), ..welcome }
}

/// Handshake, hello, welcome.
fn greet(call: &Call, token: String, purpose: Purpose) -> Result<(Line, Welcome), FarError> {
    let address = || call.address.clone();
    let silent = |why: String| FarError::Silent { address: address(), why };
    let socket = reach(call)?;
    let (config, pinned) = Pinned::client(&call.pin);
    let peer = socket.peer_addr().map_err(|error| silent(error.to_string()))?;
    // An address as name: nothing is sent in clear, and only the pin is checked.
    let name = ServerName::IpAddress(peer.ip().into());
    let tls = ClientConnection::new(config, name).map_err(|error| silent(error.to_string()))?;
    let line = Line::new(socket, Connection::from(tls), FROM_PROBE_BYTES_MAX);
    let mut line = line.map_err(|error| silent(error.to_string()))?;
    // TLS holds this back until the certificate has the pin.
    line.send(&ToProbe::Hello(Hello {
        version: VERSION,
        token,
        ip: call.ip,
        port: call.port,
        period_ns: call.period_ns,
        ends_after_ns: call.ends_after_ns,
        purpose,
    }));
    let begin = Instant::now();
    loop {
        match line.next(Duration::from_millis(50)) {
            Ok(Some(FromProbe::Welcome(welcome))) => return Ok((line, shown(*welcome))),
            Ok(Some(FromProbe::Refused { why })) => {
                let why = match why {
                    Refusal::Hello(why) => Refusal::Hello(printable(&why)),
                    why => why,
                };
                return Err(FarError::Refused { address: address(), why });
            }
            Ok(Some(_)) => {
                let why = "its first message is not a welcome".to_string();
                return Err(FarError::NotAProbe { address: address(), why });
            }
            Ok(None) if begin.elapsed() > HELLO_WITHIN => {
                let why = format!("no response within {} s", HELLO_WITHIN.as_secs());
                return Err(silent(why));
            }
            Ok(None) => {}
            Err(end) => return Err(of_end(&call.address, &call.pin, end, pinned.refused())),
        }
    }
}
