//! An agent: its session, its connection to the broker, and its current load.
//!
//! One thread runs the session and the connection; a second one makes the load while there is a
//! job; a third one is the [switch](super::switch).

use super::capacity;
use super::error::AgentsError;
use super::line::{Came, Line};
use super::load::{Begin, Load, LoadMessage, Shared, locked};
use super::switch::Switch;
use crate::admit::Limits;
use crate::agent::{From, Output, Session, To};
use crate::allow::{Allow, Pattern};
use crate::key::PublicKey;
use crate::message::{Ended, Facts, Id};
use crate::subject;
use engine::clock;
use model::maps::IntoMap;
use model::tick::ThreadKind;
use nats::{Credentials, Failure, Servers, Waker};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// A random id of this start of the kernel.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// How long an agent that gets a signal may take to deliver its measurements.
const FAREWELL: Duration = Duration::from_secs(8);
/// How long it goes on after the end of its load, so that its last message arrives.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The identity of an agent, and what its user allows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its broker.
    pub servers: Servers,
    /// Name of the fleet.
    pub fleet: String,
    /// Its credentials for the broker.
    pub credentials: Credentials,
    /// Its name in the fleet.
    pub name: String,
    /// The key that signs valid orders.
    pub controller: PublicKey,
    /// Where load may go.
    pub allow: Vec<Pattern>,
    /// Highest rate that it may send, requests per second; absent for no limit.
    pub rate_max: Option<f64>,
    /// Labels and their values.
    pub labels: Vec<(String, String)>,
    /// Worker threads; absent for one per CPU.
    pub threads: Option<u32>,
    /// What it can send, requests per second; absent to measure it at the start.
    pub capacity: Option<f64>,
    /// Version of the program.
    pub version: String,
}

/// Works for the controller until `stop` is set. Calls `tell` with a line for each event that a
/// person needs to see.
///
/// # Errors
///
/// The broker refuses the credentials on the first connection, or the agent cannot be set up.
pub fn run(
    settings: Settings,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<(), AgentsError> {
    let Settings { fleet, name, .. } = &settings;
    let subjects = [subject::call(fleet), subject::down(fleet, name)];
    let threads = settings.threads.unwrap_or_else(cpus);
    let capacity = settings.capacity.or_else(|| measured(threads, stop, tell));
    let mut line = Line::new(&settings.servers, &settings.credentials, name, &subjects)?;
    let mut agent = Agent::new(&settings, capacity, line.waker(), tell)?;
    while !stop.load(Ordering::Relaxed) {
        agent.turn(&mut line)?;
    }
    let begin = Instant::now();
    locked(&agent.session).halt(clock::now_ns(), "the agent was told to end".to_string());
    agent.switch.stop();
    let mut ended = None;
    while begin.elapsed() < FAREWELL
        && ended.is_none_or(|ended: Instant| ended.elapsed() < LAST_WORD)
    {
        agent.turn(&mut line)?;
        if agent.load.is_none() {
            ended = ended.or(Some(Instant::now()));
        }
    }
    line.end();
    Ok(())
}

struct Agent<'a> {
    settings: &'a Settings,
    allow: Allow,
    subjects: (String, String),
    session: Shared,
    waker: Waker,
    switch: Switch,
    load: Option<Load>,
    /// Whether the broker has ever accepted us.
    was_up: Option<()>,
    /// The last message about the connection.
    last_message: String,
    tell: &'a mut dyn FnMut(&str),
}

impl<'a> Agent<'a> {
    fn new(
        settings: &'a Settings,
        capacity: Option<f64>,
        waker: Waker,
        tell: &'a mut dyn FnMut(&str),
    ) -> Result<Self, AgentsError> {
        let allow = Allow::new(settings.allow.clone());
        let (fleet, name) = (&settings.fleet, &settings.name);
        let of_session = crate::agent::Settings {
            fleet: fleet.clone(),
            agent: name.clone(),
            controller: settings.controller,
            limits: Limits { allow: allow.clone(), rate_max: settings.rate_max },
            facts: Facts { capacity, ..facts(settings, &allow) },
        };
        let session = Session::new(of_session, Id::random(), clock::now_ns());
        Ok(Self {
            settings,
            allow,
            subjects: (subject::hello(fleet, name), subject::up(fleet, name)),
            session: Arc::new(Mutex::new(session)),
            waker,
            switch: Switch::start()?,
            load: None,
            was_up: None,
            last_message: String::new(),
            tell,
        })
    }

    /// Waits for a moment, and handles what has arrived.
    fn turn(&mut self, line: &mut Line) -> Result<(), AgentsError> {
        let mut came = Vec::new();
        let session = Arc::clone(&self.session);
        line.turn(|what| match what {
            Came::Message { subject, payload } => {
                let from = if subject.ends_with(".down") { From::Down } else { From::Call };
                let mut session = locked(&session);
                session.receive(clock::now_ns(), from, &payload);
            }
            other => came.push(other),
        });
        for what in came {
            self.connection(what)?;
        }
        self.hear();
        let until_ns = {
            let mut session = locked(&self.session);
            session.tick(clock::now_ns());
            session.load_until_ns()
        };
        self.switch.renew(until_ns);
        loop {
            // The output is carried out without the lock, because the load's thread needs the lock.
            let Some(output) = locked(&self.session).poll_output() else { return Ok(()) };
            self.carry_out(output, line);
        }
    }

    /// Handles a change of the connection.
    fn connection(&mut self, came: Came) -> Result<(), AgentsError> {
        let text = match came {
            Came::Up(server) => {
                self.was_up = Some(());
                locked(&self.session).reconnected();
                format!("connected to {server}")
            }
            Came::Down { server, why: why @ Failure::Denied(_) } if self.was_up.is_none() => {
                return Err(AgentsError::Denied { server, why });
            }
            Came::Down { server, why } => format!("{server}: {why}; trying again"),
            Came::Refused(why) => format!("the broker does not allow it: {why}"),
            Came::Message { .. } => return Ok(()),
        };
        // Reported once for each reason, not for each attempt.
        if text != self.last_message {
            (self.tell)(&text);
            self.last_message = text;
        }
        Ok(())
    }

    /// Handles the messages of the load's thread.
    fn hear(&mut self) {
        while let Some(message) = self.load.as_ref().and_then(Load::next_message) {
            let mut session = locked(&self.session);
            let now_ns = clock::now_ns();
            match message {
                LoadMessage::Ready(addresses) => {
                    if let Err(why) = session.prepared(now_ns, &addresses) {
                        (self.tell)(&format!("refused: {why}"));
                        self.switch.stop();
                    }
                }
                LoadMessage::Refused(refusal) => {
                    (self.tell)(&format!("refused: {}", refusal.why));
                    session.refuse(now_ns, refusal);
                    self.load = None;
                }
                LoadMessage::Ended(ended, record) => {
                    let is_halted = self.load.as_ref().is_some_and(|load| load.is_halted.is_some());
                    let ended = match ended {
                        Ended::Complete if is_halted => Ended::Halted,
                        ended => ended,
                    };
                    (self.tell)(match &ended {
                        Ended::Complete => "the load is complete",
                        Ended::Halted => "the load was ended before its time",
                        Ended::Failed(why) => why,
                    });
                    session.ended(now_ns, ended, record.as_deref());
                    self.load = None;
                }
            }
        }
    }

    fn carry_out(&mut self, output: Output, line: &mut Line) {
        match output {
            Output::Send { to, bytes } => {
                let (hello, up) = &self.subjects;
                line.send(if to == To::Hello { hello } else { up }, &bytes);
            }
            Output::Prepare { job, offer, url } => {
                (self.tell)(&format!("job {job}: {}", offer.trial.url));
                self.load = Some(Load::begin(Begin {
                    agent: self.settings.name.clone(),
                    offer,
                    url,
                    allow: self.allow.clone(),
                    session: Arc::clone(&self.session),
                    waker: self.waker.clone(),
                    switch: self.switch.clone(),
                }));
            }
            Output::Begin { .. } => {}
            Output::Order { crew, order } => self.order(crew, order),
            Output::Halt(why) => {
                (self.tell)(&format!("the load ends: {}", why.text()));
                if let Some(load) = &mut self.load {
                    load.is_halted = Some(());
                }
                self.switch.stop();
            }
            Output::Finish => {
                self.order(ThreadKind::Requesting, engine::job::Order::Quit);
            }
            Output::Notice(text) => (self.tell)(&text),
        }
    }

    fn order(&self, crew: ThreadKind, order: engine::job::Order) {
        if let Some(load) = &self.load {
            load.order((crew, order));
        }
    }
}

fn cpus() -> u32 {
    available_parallelism().map_or(1, usize::from) as u32
}

/// The rate that this many workers of this host can send.
fn measured(threads: u32, stop: &AtomicBool, tell: &mut dyn FnMut(&str)) -> Option<f64> {
    match capacity::of_a_worker(stop) {
        Ok(rate) => Some(rate * f64::from(threads)),
        // Then the number of its workers sets its share of a load.
        Err(why) => {
            tell(&format!("the rate that this host can send is not known: {why}"));
            None
        }
    }
}

/// What an agent reports about its host. The caller adds the capacity.
fn facts(settings: &Settings, allow: &Allow) -> Facts {
    let host = probe::host_facts();
    let ports = host.sysctls.get("net.ipv4.ip_local_port_range").and_then(|range| {
        let mut ends = range.split_whitespace().map(str::parse::<u32>);
        let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
        (high + 1).checked_sub(low)
    });
    Facts {
        version: settings.version.clone(),
        hostname: host.hostname,
        kernel: host.kernel,
        cpus: settings.threads.unwrap_or_else(cpus),
        memory_bytes: host.memory_bytes,
        addresses: Vec::new(),
        ports,
        link_mbps: host.nics.iter().filter_map(|nic| nic.speed_mbps).max(),
        labels: settings.labels.iter().cloned().into_map(),
        capacity: None,
        rate_max: settings.rate_max,
        allow: allow.typed(),
        boot: fs::read_to_string(BOOT).unwrap_or_default().trim().to_string(),
    }
}
