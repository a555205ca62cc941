//! One connection, from the first byte to the last.

use super::door::Guest;
use super::last_words::{Patience, TURN, say, say_within};
use super::starting::Attendant;
use super::{Log, Look, Starter, Tuner};
use crate::frame::parse;
use crate::line::{Line, LineEnd, Stillness};
use crate::listening::{Named, find};
use crate::message::{
    Farewell, FromProbe, Hello, Pong, Purpose, Refusal, ToProbe, VERSION, Welcome, hello_version,
};
use crate::{FROM_PROBE_BYTES_MAX, HELLO_WITHIN, IDLE_MAX, TO_PROBE_BYTES_MAX, token};
use model::facts::{ServerFacts, Unreadable};
use model::reading::{Data, Reading};
use model::tuning::TuneOrder;
use model::units::{NS_PER_MS, NS_PER_S};
use probe::{Config, Ends, Sampler};
use rustls::{Connection, ServerConfig, ServerConnection};
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A client that takes no byte for this long, while there are some for it, is gone.
const STUCK_MAX: Duration = Duration::from_secs(10);
/// How often changed settings of the host are checked, while a client observes.
const LOOK: Duration = Duration::from_millis(500);
/// Smallest and largest period that a client may request, nanoseconds.
const PERIOD_NS: (u64, u64) = (10 * NS_PER_MS, 10 * NS_PER_S);
/// Readings held for a client that reads slowly, approximate bytes.
const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Everything a session works with.
pub(super) struct Session<'a> {
    /// How it is encrypted.
    pub config: &'a Arc<ServerConfig>,
    /// The secret.
    pub token: &'a str,
    /// Version of the program.
    pub program: &'a str,
    /// The server, when the probe was started with it.
    pub named: Option<&'a Named>,
    /// Where the server's runtime serves its figures.
    pub runtime: Option<SocketAddr>,
    /// Files about threads of the server that may stay open for this client.
    pub kept_files: usize,
    /// Checks the changed settings of the host, and changes it when allowed.
    pub tuner: Option<&'a dyn Tuner>,
    /// Starts servers, when allowed.
    pub starter: Option<&'a dyn Starter>,
    /// Set when the probe is to end.
    pub stop: &'a AtomicBool,
    /// Where lines go.
    pub log: &'a Log<'a>,
    /// The other end.
    pub peer: SocketAddr,
}

/// Why the probe does not serve a stranger.
enum Stranger {
    Silent,
    Ended(LineEnd),
    Refused(Refusal),
}

impl Session<'_> {
    /// Serves one connection.
    pub fn run(&self, socket: TcpStream, mut guest: Guest<'_>) {
        let peer = self.peer;
        let tls = ServerConnection::new(Arc::clone(self.config)).map(Connection::from);
        let line = tls.ok().and_then(|tls| Line::new(socket, tls, TO_PROBE_BYTES_MAX).ok());
        let Some(mut line) = line else { return };
        let hello = match self.greet(&mut line, &mut guest) {
            Ok(hello) => hello,
            Err(Stranger::Refused(why)) => {
                self.log.tell_of_stranger(&format!("{peer}: refused: {why}"));
                return say(&mut line, &FromProbe::Refused { why }, self.stop);
            }
            Err(Stranger::Ended(end)) => {
                return self.log.tell_of_stranger(&format!("{peer}: not a client of ours: {end}"));
            }
            Err(Stranger::Silent) => {
                return self.log.tell_of_stranger(&format!("{peer}: sent no hello in time"));
            }
        };
        let welcome = self.welcome(&hello);
        if let (Purpose::Tune, Some(tuner)) = (hello.purpose, self.hands()) {
            line.send(&FromProbe::Welcome(Box::new(welcome)));
            return self.take_orders(&mut line, tuner);
        }
        if let (Purpose::Start, Some(starter)) = (hello.purpose, self.starter) {
            line.send(&FromProbe::Welcome(Box::new(welcome)));
            let (line, heard) = (&mut line, Instant::now());
            return Attendant { peer, log: self.log, stop: self.stop, line, starter, heard }.run();
        }
        let server_pid = welcome.server.as_ref().map(|server| server.pid);
        let inner_port = welcome.server.as_ref().and_then(ServerFacts::inner_port);
        self.log.tell(&match server_pid {
            Some(pid) => format!("{peer}: watches process {pid}"),
            None => format!("{peer}: watches this host, and no server process"),
        });
        line.send(&FromProbe::Welcome(Box::new(welcome)));
        let period_ns = hello.period_ns.clamp(PERIOD_NS.0, PERIOD_NS.1);
        let sampler = Sampler::start(Config {
            period_ns,
            server_pid,
            port: hello.port,
            inner_port,
            ends: Ends::Server,
            queue_bytes_max: QUEUE_BYTES_MAX,
            kept_files: self.kept_files,
            runtime: self.runtime,
            ..Config::default()
        });
        let (waiting, watch) = (VecDeque::new(), self.tuner.map(|tuner| tuner.watch()));
        let mut stream = Stream { line, sampler, waiting, watch, looked: None };
        let ends_after = hello.ends_after_ns.map(Duration::from_nanos);
        match stream.serve(self.stop, ends_after) {
            Ok(why) => {
                stream.finish(why, self.stop);
                self.log.tell(&format!("{peer}: ended: {}", farewell_words(why)));
            }
            Err(end) => self.log.tell(&format!("{peer}: gone: {end}")),
        }
    }

    /// The tuner, when it may change the host.
    fn hands(&self) -> Option<&dyn Tuner> {
        self.tuner.filter(|tuner| tuner.may_change())
    }

    /// Waits for a valid hello.
    fn greet(&self, line: &mut Line, guest: &mut Guest<'_>) -> Result<Hello, Stranger> {
        let begin = Instant::now();
        let bytes = loop {
            if let Some(bytes) = line.next_bytes(TURN).map_err(Stranger::Ended)? {
                break bytes;
            }
            if begin.elapsed() > HELLO_WITHIN || self.stop.load(Ordering::Relaxed) {
                return Err(Stranger::Silent);
            }
        };
        // Another version may have another form for the rest.
        if hello_version(&bytes).is_some_and(|version| version != VERSION) {
            return Err(Stranger::Refused(Refusal::Version { spoken: VERSION }));
        }
        let hello = match parse(&bytes) {
            Ok(ToProbe::Hello(hello)) => hello,
            // Quote nothing of it: the sender is unknown.
            Ok(_) | Err(_) => {
                let why = format!("it is not a hello of version {VERSION}");
                return Err(Stranger::Refused(Refusal::Hello(why)));
            }
        };
        if !token::is_same(&hello.token, self.token) {
            return Err(Stranger::Refused(Refusal::Token));
        }
        if hello.purpose == Purpose::Tune && self.hands().is_none() {
            return Err(Stranger::Refused(Refusal::Tuning));
        }
        if hello.purpose == Purpose::Start && self.starter.is_none() {
            return Err(Stranger::Refused(Refusal::Starting));
        }
        if !guest.becomes_client() {
            let clients_max = guest.clients_max();
            return Err(Stranger::Refused(Refusal::Busy { clients_max }));
        }
        Ok(hello)
    }

    /// Carries out orders, one at a time, until the client closes or falls silent. Changes stay,
    /// except those of experiments: the journal of this host records them, and every client with
    /// the token can restore them.
    fn take_orders(&self, line: &mut Line, tuner: &dyn Tuner) {
        let peer = self.peer;
        let mut heard = Instant::now();
        let mut experimenter = tuner.experimenter();
        while heard.elapsed() < IDLE_MAX && !self.stop.load(Ordering::Relaxed) {
            // Read nothing from a client that does not read: responses would pile up.
            if line.is_blocked() {
                if let Err(end) = line.flush(TURN) {
                    return self.log.tell(&format!("{peer}: gone: {end}"));
                }
                continue;
            }
            match line.next(TURN) {
                Ok(Some(ToProbe::Tune(order))) => {
                    self.log.tell(&format!("{peer}: orders {}", ordered(&order)));
                    let response = match &*order {
                        TuneOrder::Experiment { step } => experimenter(step),
                        order => tuner.carry_out(order),
                    };
                    let became = response.error.as_deref().unwrap_or("done");
                    self.log.tell(&format!("{peer}: {}: {became}", ordered(&order)));
                    say(line, &FromProbe::Tuned(Box::new(response)), self.stop);
                    heard = Instant::now();
                }
                Ok(Some(_)) => heard = Instant::now(),
                Ok(None) => {}
                Err(end) => return self.log.tell(&format!("{peer}: gone: {end}")),
            }
        }
        let why = match self.stop.load(Ordering::Relaxed) {
            true => Farewell::Stopped,
            false => Farewell::Unheard,
        };
        say(line, &FromProbe::Bye { why }, self.stop);
    }

    /// The first message to the client.
    fn welcome(&self, hello: &Hello) -> Welcome {
        let found = match (self.named, hello.port) {
            (Some(named), port) => {
                named.pid().and_then(|pid| server_facts(pid, port, "--server-pid"))
            }
            (None, Some(port)) => {
                find(hello.ip, port).and_then(|pid| server_facts(pid, Some(port), "listening port"))
            }
            (None, None) => Err("no port was named".to_string()),
        };
        let (server, unseen) = match found {
            Ok(server) => (Some(server), None),
            Err(why) => (None, Some(why)),
        };
        let privilege = probe::privilege(server.as_ref().map(|server| server.pid));
        let (program, host) = (self.program.to_string(), probe::host_facts());
        Welcome { program, host, server, unseen, privilege }
    }
}

fn server_facts(pid: u32, port: Option<u16>, found_by: &str) -> Result<ServerFacts, String> {
    probe::server_facts(pid, port, found_by).map_err(|error| error.to_string())
}

/// An order in a word.
fn ordered(order: &TuneOrder) -> &'static str {
    match order {
        TuneOrder::Plan { .. } => "tune plan",
        TuneOrder::Apply { .. } => "tune apply",
        TuneOrder::Status { .. } => "tune status",
        TuneOrder::Extend { .. } => "tune extend",
        TuneOrder::Revert { .. } => "tune revert",
        TuneOrder::Experiment { .. } => "experiment on the server",
        TuneOrder::Keep { .. } => "tune keep",
    }
}

/// Why a session ended, for the probe's log.
fn farewell_words(why: Farewell) -> &'static str {
    match why {
        Farewell::Asked => "the client is done",
        Farewell::Over => "the time that the client set is over",
        Farewell::Stopped => "this probe was stopped",
        Farewell::Unheard => "the client stopped sending",
        Farewell::Untaken => "the client stopped reading",
    }
}

/// Readings for one client.
struct Stream {
    line: Line,
    sampler: Sampler,
    /// Taken from the sampler and not sent yet.
    waiting: VecDeque<Reading>,
    /// Checks the changed settings of this host.
    watch: Option<Look>,
    looked: Option<Instant>,
}

impl Stream {
    fn serve(
        &mut self,
        stop: &AtomicBool,
        ends_after: Option<Duration>,
    ) -> Result<Farewell, LineEnd> {
        let begin = Instant::now();
        let (mut heard, mut still) = (begin, Stillness::new(self.line.sent(), begin));
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(Farewell::Stopped);
            }
            if ends_after.is_some_and(|after| begin.elapsed() >= after) {
                return Ok(Farewell::Over);
            }
            // Read nothing from a client that does not read: responses would pile up.
            if self.line.is_blocked() {
                self.line.flush(TURN)?;
                let now = Instant::now();
                if still.lasted(self.line.sent(), now) > STUCK_MAX {
                    return Ok(Farewell::Untaken);
                }
                // What it sends meanwhile is not read.
                heard = now;
                continue;
            }
            still = Stillness::new(self.line.sent(), Instant::now());
            match self.line.next(TURN)? {
                Some(ToProbe::Ping { sent_ns }) => {
                    self.line.send(&FromProbe::Pong(Pong::now(sent_ns)));
                    heard = Instant::now();
                }
                Some(ToProbe::Stop) => return Ok(Farewell::Asked),
                Some(ToProbe::Hello(_) | ToProbe::Tune(_) | ToProbe::Start(_)) => {
                    heard = Instant::now()
                }
                None if heard.elapsed() > IDLE_MAX => return Ok(Farewell::Unheard),
                None => {}
            }
            self.hand_over();
        }
    }

    /// Sends readings, as far as the client reads them.
    fn hand_over(&mut self) {
        if self.waiting.is_empty() {
            self.waiting.extend(self.sampler.take());
            self.look();
        }
        while let Some(reading) = self.waiting.pop_front() {
            self.line.send(&FromProbe::Reading(bounded(reading)));
            if self.line.is_blocked() {
                return;
            }
        }
    }

    /// Checks whether changed settings of this host are still as written.
    fn look(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            self.waiting.extend(watch());
        }
    }

    /// Sends a last round, and the reason of the end.
    fn finish(mut self, why: Farewell, stop: &AtomicBool) {
        self.looked = None;
        self.look();
        self.waiting.extend(self.sampler.stop());
        let mut patience = Patience::new(self.line.sent(), Instant::now(), stop);
        while let Some(reading) = self.waiting.pop_front() {
            self.line.send(&FromProbe::Reading(bounded(reading)));
            while self.line.is_blocked() {
                let is_over = patience.is_over(self.line.sent(), Instant::now());
                if is_over || self.line.flush(TURN).is_err() {
                    return;
                }
            }
        }
        say_within(&mut self.line, &FromProbe::Bye { why }, patience);
    }
}

/// The reading, or an unreadable one when it does not fit in a message.
fn bounded(reading: Reading) -> Reading {
    /// A thread or a connection takes less than this as JSON; most readings have a few hundred.
    const ENTRY_BYTES: usize = 512;
    let entries = reading.data.entries();
    if entries * ENTRY_BYTES < FROM_PROBE_BYTES_MAX {
        return reading;
    }
    let why = format!("{entries} entries do not fit in a message");
    let data = Data::Unreadable(Unreadable { source: "probe line".to_string(), why });
    Reading { data, ..reading }
}
