//! The controller's side of a fleet: its session, and the thread that keeps it connected.

use super::error::AgentsError;
use super::line::{Came, Line, TURN};
use crate::control::{self, Event, From, Output, Session, To};
use crate::key::ControllerKey;
use crate::message::{Facts, Id};
use crate::subject;
use engine::clock;
use model::facts::ClockOffset;
use model::order::OrderBy as _;
use nats::{Credentials, Failure, Servers, Waker};
use plan::WhichAgents;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a broker may take to accept us.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);
/// How long agents may take to say hello: they do so when called, and every second.
const HEARD_WITHIN: Duration = Duration::from_millis(1500);
/// How long the chosen agents may take to appear.
const THERE_WITHIN: Duration = Duration::from_secs(15);
/// How long agents may take to receive the order to stop.
const STOPPED_WITHIN: Duration = Duration::from_secs(3);
/// How many notices are kept until the caller takes them.
const NOTICES_MAX: usize = 256;

/// How to reach a fleet, and the key that signs its orders.
#[derive(Debug)]
pub struct Settings {
    /// Its broker.
    pub servers: Servers,
    /// Name of the fleet.
    pub fleet: String,
    /// Our credentials for the broker.
    pub credentials: Credentials,
    /// Signs orders.
    pub key: ControllerKey,
}

/// An agent that responds.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// Facts about the agent and its host.
    pub facts: Facts,
    /// The job that it is carrying out, if any.
    pub job: Option<Id>,
    /// The offset of its clock against ours, once measured.
    pub clock: Option<ClockOffset>,
}

/// The state that the thread and the callers share.
#[derive(Debug)]
pub(crate) struct Desk {
    pub session: Session,
    /// Whether there is a connection to the broker, and if not, why.
    link: Link,
    /// What the broker does not allow us, if anything.
    forbidden: Option<String>,
    notices: VecDeque<String>,
}

#[derive(Debug, Clone)]
enum Link {
    Trying(String),
    Up,
    Denied(String, Failure),
}

#[derive(Debug)]
pub(crate) struct Shared {
    desk: Mutex<Desk>,
    /// Notified after each turn of the thread.
    turned: Condvar,
    waker: Waker,
    end: AtomicBool,
}

impl Shared {
    /// The desk, even if a thread that held the lock panicked.
    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, so that it sends what was just asked for.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Waits until `look` finds something in the session after a turn; `None` on timeout.
    pub(crate) fn wait<T>(
        &self,
        limit: Duration,
        mut look: impl FnMut(&mut Desk) -> Option<T>,
    ) -> Option<T> {
        let begin = Instant::now();
        let mut desk = self.desk();
        loop {
            if let Some(found) = look(&mut desk) {
                return Some(found);
            }
            let left = limit.checked_sub(begin.elapsed())?;
            let waited = self.turned.wait_timeout(desk, left.min(10 * TURN));
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The controller's side of a fleet. Dropping it ends the connection; then no lease is renewed, and
/// agents end their load.
#[derive(Debug)]
pub struct Controller {
    pub(crate) shared: Arc<Shared>,
    pub(crate) fleet: String,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    /// Connects to the broker.
    ///
    /// # Errors
    ///
    /// No broker responds within some seconds, or it refuses the credentials.
    pub fn connect(settings: Settings) -> Result<Self, AgentsError> {
        let Settings { servers, fleet, credentials, key } = settings;
        let subjects = [subject::hello(&fleet, "*"), subject::up(&fleet, "*")];
        let mut line = Line::new(&servers, &credentials, "controller", &subjects)?;
        let session = Session::new(&fleet, key, Id::random());
        let link = Link::Trying("no answer".to_string());
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk { session, link, forbidden: None, notices: VecDeque::new() }),
            turned: Condvar::new(),
            waker: line.waker(),
            end: AtomicBool::new(false),
        });
        let (ours, name) = (Arc::clone(&shared), fleet.clone());
        let work = move || {
            while !ours.end.load(Ordering::Relaxed) {
                turn(&ours, &name, &mut line);
            }
            turn(&ours, &name, &mut line);
            line.end();
        };
        let thread = thread::Builder::new().name("fleet".to_string()).spawn(work);
        let thread = Some(thread.map_err(AgentsError::Thread)?);
        let controller = Self { shared, fleet, thread };
        controller.await_link()?;
        Ok(controller)
    }

    fn await_link(&self) -> Result<(), AgentsError> {
        let found = self.shared.wait(CONNECTED_WITHIN, |desk| match &desk.link {
            Link::Up => Some(Ok(())),
            Link::Denied(server, why) => {
                Some(Err(AgentsError::Denied { server: server.clone(), why: why.clone() }))
            }
            Link::Trying(_) => None,
        });
        found.unwrap_or_else(|| match &self.shared.desk().link {
            Link::Trying(why) => Err(AgentsError::NoBroker(why.clone())),
            Link::Up | Link::Denied(..) => Ok(()),
        })
    }

    /// Calls all agents, waits for their responses, and lists the agents that responded.
    ///
    /// # Errors
    ///
    /// The broker does not let us call or hear them.
    pub fn list(&self) -> Result<Vec<Seen>, AgentsError> {
        self.call();
        let forbidden = |desk: &mut Desk| desk.forbidden.clone();
        match self.shared.wait(HEARD_WITHIN, forbidden) {
            Some(why) => Err(AgentsError::Forbidden(why)),
            None => Ok(self.seen()),
        }
    }

    /// Stops all load of all agents that respond, and returns their names.
    ///
    /// # Errors
    ///
    /// Some of them did not acknowledge the order, for example because another key signs theirs.
    pub fn stop(&self, why: &str) -> Result<Vec<String>, AgentsError> {
        let names: Vec<String> = self.list()?.into_iter().map(|seen| seen.name).collect();
        self.shared.desk().session.stop(clock::now_ns(), why);
        self.shared.wake();
        let is_delivered = |desk: &mut Desk| desk.undelivered(&names).is_empty().then_some(());
        if self.shared.wait(STOPPED_WITHIN, is_delivered).is_some() {
            return Ok(names);
        }
        Err(AgentsError::NotStopped(self.shared.desk().undelivered(&names).join(" ")))
    }

    /// Waits until the agents that a user chose respond and are idle, and returns them.
    ///
    /// # Errors
    ///
    /// Too few of them are idle within some seconds, or the broker does not let us call or hear
    /// them.
    pub fn choose(&self, which: &WhichAgents) -> Result<Vec<Seen>, AgentsError> {
        let begin = Instant::now();
        let mut seen = self.list()?;
        loop {
            let idle: Vec<Seen> = seen.iter().filter(|seen| seen.job.is_none()).cloned().collect();
            let chosen: Vec<Seen> = match which {
                WhichAgents::All => idle,
                WhichAgents::Count(count) => idle.into_iter().take(*count as usize).collect(),
                WhichAgents::Labelled(label, value) => {
                    let has = |seen: &Seen| seen.facts.labels.get(label) == Some(value);
                    idle.into_iter().filter(has).collect()
                }
            };
            let is_enough = match which {
                WhichAgents::Count(count) => chosen.len() == *count as usize,
                WhichAgents::All | WhichAgents::Labelled(..) => !chosen.is_empty(),
            };
            if is_enough {
                return Ok(chosen);
            }
            if begin.elapsed() >= THERE_WITHIN {
                return Err(AgentsError::TooFew(too_few(which, &seen)));
            }
            seen = self.list()?;
        }
    }

    /// Notices about agents since the last call, for people.
    pub fn notices(&self) -> Vec<String> {
        self.shared.desk().notices.drain(..).collect()
    }

    fn call(&self) {
        self.shared.desk().session.call();
        self.shared.wake();
    }

    fn seen(&self) -> Vec<Seen> {
        let desk = self.shared.desk();
        let seen = |agent: &control::Agent| Seen {
            name: agent.name().to_string(),
            facts: agent.hello().facts.clone(),
            job: agent.hello().job,
            clock: agent.clock(),
        };
        let mut all: Vec<Seen> = desk.session.agents().map(seen).collect();
        all.order_by(|one, other| one.name.cmp(&other.name));
        all
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Relaxed);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread needs no report here.
            let _ = thread.join();
        }
    }
}

fn too_few(which: &WhichAgents, seen: &[Seen]) -> String {
    let names = |is_busy: fn(&&Seen) -> bool| {
        let names: Vec<&str> = seen.iter().filter(is_busy).map(|seen| &*seen.name).collect();
        if names.is_empty() { "none".to_string() } else { names.join(" ") }
    };
    let wanted = match which {
        WhichAgents::All => "any agent".to_string(),
        WhichAgents::Count(count) => format!("{count} agents"),
        WhichAgents::Labelled(label, value) => format!("an agent with {label}={value}"),
    };
    format!(
        "the fleet does not have {wanted} idle: idle are {}, busy are {}; ceiling fleet list shows \
         all, and ceiling agent starts one",
        names(|seen| seen.job.is_none()),
        names(|seen| seen.job.is_some())
    )
}

/// Passes what arrived to the session, lets its time advance, and sends its output.
fn turn(shared: &Shared, fleet: &str, line: &mut Line) {
    line.turn(|came| {
        let mut desk = shared.desk();
        // Read under the lock: to the session, time that goes back means that the clock was set.
        let now_ns = clock::now_ns();
        match came {
            Came::Message { subject, payload } => {
                let up = subject::agent_of_up(fleet, &subject).map(From::Up);
                let from = up.or_else(|| subject::agent_of_hello(fleet, &subject).map(From::Hello));
                if let Some(from) = from {
                    desk.session.receive(now_ns, from, &payload);
                }
            }
            Came::Up(_) => {
                desk.link = Link::Up;
                desk.session.reconnected(now_ns);
            }
            Came::Down { server, why: why @ Failure::Denied(_) } => {
                if matches!(desk.link, Link::Up) {
                    desk.note(format!("{server}: {why}"));
                }
                desk.link = Link::Denied(server, why);
            }
            Came::Down { server, why } => {
                let why = format!("{server}: {why}");
                if matches!(desk.link, Link::Up) {
                    desk.note(format!("the connection to the broker was lost: {why}"));
                }
                desk.link = Link::Trying(why);
            }
            Came::Refused(why) => {
                desk.note(format!("the broker does not allow it: {why}"));
                desk.forbidden.get_or_insert(why);
            }
        }
    });
    let mut desk = shared.desk();
    desk.session.tick(clock::now_ns());
    let mut sends = Vec::new();
    while let Some(output) = desk.session.poll_output() {
        match output {
            Output::Send { to, bytes } => sends.push((to, bytes)),
            Output::Event { agent, event } => {
                if let Some(text) = notice_of(&event) {
                    desk.note(format!("agent {agent} {text}"));
                }
            }
        }
    }
    drop(desk);
    for (to, bytes) in sends {
        let subject = match to {
            To::Call => subject::call(fleet),
            To::Down(agent) => subject::down(fleet, &agent),
        };
        line.send(&subject, &bytes);
    }
    shared.turned.notify_all();
}

/// The notice of an event, if people need one.
fn notice_of(event: &Event) -> Option<String> {
    match event {
        Event::Appeared | Event::Accepted | Event::Ended => None,
        Event::Refused(why) => Some(format!("refuses the load: {why}")),
        Event::CutOff => Some("is cut off: it sent nothing for 2 s".to_string()),
        Event::Back => Some("responds again".to_string()),
        Event::Halted(why) => Some(format!("ended its load: {why}")),
        Event::Lost(why) => Some(format!("is lost: {why}")),
        Event::ClockSet => Some("had its clock set".to_string()),
        Event::Doubled => Some("is two processes with one name".to_string()),
    }
}

impl Desk {
    /// Those of the named agents that have not acknowledged everything.
    fn undelivered(&self, names: &[String]) -> Vec<String> {
        let all = self.session.undelivered().map(str::to_string);
        all.filter(|name| names.contains(name)).collect()
    }

    fn note(&mut self, text: String) {
        if self.notices.len() < NOTICES_MAX {
            self.notices.push_back(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A broker that accepts one client, and allows it nothing.
    fn forbidding(listener: &TcpListener) {
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(b"INFO {\"max_payload\":1000000}\r\n").unwrap();
        let mut came = Vec::new();
        while !came.ends_with(b"PING\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            came.push(byte[0]);
        }
        let why = "-ERR 'Permissions Violation for Subscription to \"ceiling.f.hello.*\"'\r\n";
        client.write_all(format!("{why}PONG\r\n").as_bytes()).unwrap();
        // Until the client has gone.
        let _ = client.read_to_end(&mut came);
    }

    #[test]
    fn a_broker_that_allows_nothing_is_no_fleet_without_agents() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("nats://{}/f", listener.local_addr().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| forbidding(&listener));
            let settings = Settings {
                servers: url.parse().unwrap(),
                fleet: "f".to_string(),
                credentials: Credentials::default(),
                key: ControllerKey::of_seed(&[1; 32]),
            };
            let controller = Controller::connect(settings).unwrap();
            let error = controller.choose(&WhichAgents::All).unwrap_err();
            assert!(matches!(&error, AgentsError::Forbidden(_)), "{error}");
            assert!(error.is_unreachable() && error.to_string().contains("hello"), "{error}");
        });
    }
}
