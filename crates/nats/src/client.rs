//! One connection to one of several servers, which reconnects by itself.
//!
//! In: servers, credentials, subjects, payloads. Out: [`Event`]s. One thread owns the client and
//! waits in [`Client::next`]; others end its wait with a [`Waker`].
//! Never: a payload queued while there is no connection: the caller sends again what must arrive.

use crate::address::{Server, Servers};
use crate::authority;
use crate::credentials::Credentials;
use crate::link::{Failure, Link, News, Terms};
use crate::subject::Subject;
use crate::wake::{Bell, Waker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ClientConfig;
use std::collections::VecDeque;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for connecting to one address.
const CONNECTED_WITHIN: Duration = Duration::from_secs(3);
/// The first pause before a server is tried again. It doubles up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The settings of a client.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The servers, tried in turn.
    pub servers: Servers,
    /// Our credentials, and the authorities of trusted servers.
    pub credentials: Credentials,
    /// Name of the client in the server's list of connections.
    pub name: String,
    /// The subjects to subscribe to.
    pub subjects: Vec<Subject>,
}

/// An event of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Connected, and the server accepted the credentials and subscriptions.
    Up {
        /// The server.
        server: String,
    },
    /// A connection has ended or could not be made; the client tries the next server by itself.
    Down {
        /// The server.
        server: String,
        /// Why.
        why: Failure,
    },
    /// A payload.
    Payload {
        /// The subject.
        subject: String,
        /// The bytes.
        payload: Vec<u8>,
    },
    /// The server does not allow a publication or a subscription.
    Refused {
        /// Its message.
        why: String,
    },
}

/// The state of the connection.
#[derive(Debug)]
enum State {
    Resting { until: Instant },
    Dialing { server: Server, result: Receiver<Result<TcpStream, String>> },
    Linked(Box<Link>),
}

/// A client; see the module.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    config: Arc<ClientConfig>,
    bell: Bell,
    waker: Waker,
    state: State,
    /// The index of the next server.
    turn: usize,
    pause: Duration,
    /// Events of a connection that has ended.
    events: VecDeque<Event>,
}

impl Client {
    /// A client that connects at the first [`Client::next`]. Fails if there are no trusted
    /// certificates, or no more file descriptors.
    pub fn new(settings: Settings) -> Result<Self, Failure> {
        let config = authority::config(&settings.credentials.authorities)?;
        let (bell, waker) = Bell::new().map_err(|error| Failure::Io(error.to_string()))?;
        let state = State::Resting { until: Instant::now() };
        Ok(Self {
            settings,
            config,
            bell,
            waker,
            state,
            turn: 0,
            pause: PAUSE,
            events: VecDeque::new(),
        })
    }

    /// A waker that ends the wait of this client from another thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Publishes a payload; fails if there is no connection now.
    pub fn publish(&mut self, subject: &Subject, payload: &[u8]) -> Result<(), Failure> {
        match &mut self.state {
            // The next turn reports the end of the link.
            State::Linked(link) => link.publish(subject, payload),
            State::Resting { .. } | State::Dialing { .. } => Err(Failure::NotUp),
        }
    }

    /// Waits until all published bytes have been sent, or until the timeout. Events that arrive
    /// meanwhile are lost, so call it at the end.
    ///
    /// # Errors
    ///
    /// The timeout, or there is no connection.
    pub fn flush(&mut self, wait: Duration) -> Result<(), Failure> {
        let until = Instant::now() + wait;
        loop {
            match &self.state {
                State::Linked(link) if !link.is_blocked() => return Ok(()),
                State::Linked(_) if Instant::now() < until => {}
                _ => return Err(Failure::NotUp),
            }
            let _ = self.next(until.saturating_duration_since(Instant::now()));
        }
    }

    /// The next event; `None` on timeout, or if a [`Waker`] has ended the wait.
    pub fn next(&mut self, wait: Duration) -> Option<Event> {
        let until = Instant::now() + wait;
        loop {
            if let Some(event) = self.events.pop_front().or_else(|| self.news()) {
                return Some(event);
            }
            let now = Instant::now();
            if let Some(event) = self.turn(now) {
                return Some(event);
            }
            // Return what the turn read first.
            if let Some(event) = self.news() {
                return Some(event);
            }
            if self.bell.answer().is_some() || now >= until {
                return None;
            }
            self.wait(until, now);
        }
    }

    fn news(&mut self) -> Option<Event> {
        let State::Linked(link) = &mut self.state else { return None };
        Some(match link.next_news()? {
            News::Up => {
                self.pause = PAUSE;
                Event::Up { server: link.server.to_string() }
            }
            News::Payload { subject, payload } => Event::Payload { subject, payload },
            News::Refused(why) => Event::Refused { why },
        })
    }

    /// Does as much as possible without waiting.
    fn turn(&mut self, now: Instant) -> Option<Event> {
        match &mut self.state {
            State::Resting { until } if now < *until => None,
            State::Resting { .. } => {
                let all = &self.settings.servers.all;
                let server = all[self.turn % all.len()].clone();
                self.turn += 1;
                let result = dial(server.clone(), self.waker.clone());
                self.state = State::Dialing { server, result };
                None
            }
            State::Dialing { server, result } => {
                let connected = match result.try_recv() {
                    Err(TryRecvError::Empty) => return None,
                    Err(TryRecvError::Disconnected) => Err("no thread could be made".to_string()),
                    Ok(connected) => connected,
                };
                let server = server.clone();
                let link = connected.and_then(|socket| {
                    Link::new(server.clone(), socket, now).map_err(|error| error.to_string())
                });
                match link {
                    Ok(link) => {
                        self.state = State::Linked(Box::new(link));
                        self.turn(now)
                    }
                    Err(why) => Some(self.down(&server, Failure::Io(why), now)),
                }
            }
            State::Linked(link) => {
                let terms = Terms {
                    credentials: &self.settings.credentials,
                    secrecy: self.settings.servers.secrecy,
                    name: &self.settings.name,
                    subjects: &self.settings.subjects,
                    config: &self.config,
                };
                let why = link.turn(now, &terms).err()?;
                let server = link.server.clone();
                // What arrived before the end goes first.
                while let Some(event) = self.news() {
                    self.events.push_back(event);
                }
                let down = self.down(&server, why, now);
                self.events.push_back(down);
                self.events.pop_front()
            }
        }
    }

    fn down(&mut self, server: &Server, why: Failure, now: Instant) -> Event {
        self.state = State::Resting { until: now + self.pause };
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Event::Down { server: server.to_string(), why }
    }

    fn wait(&self, until: Instant, now: Instant) {
        let bell = self.bell.fd();
        let mut fds = vec![PollFd::new(&bell, PollFlags::IN)];
        let at = match &self.state {
            State::Resting { until: rested } => (*rested).min(until),
            State::Dialing { .. } => until,
            State::Linked(link) => {
                let blocked = if link.is_blocked() { PollFlags::OUT } else { PollFlags::empty() };
                fds.push(PollFd::from_borrowed_fd(link.fd(), PollFlags::IN | blocked));
                link.next_at().min(until)
            }
        };
        let wait = at.saturating_duration_since(now);
        let wait = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        // A failure shows at the next read or write.
        let _ = poll(&mut fds, Some(&wait));
    }
}

/// Resolves a server and connects to the first address that works, on its own thread: the system's
/// resolver may take seconds.
fn dial(server: Server, waker: Waker) -> Receiver<Result<TcpStream, String>> {
    let (tell, result) = mpsc::channel();
    let work = move || {
        // The receiver may be gone.
        let _ = tell.send(connected(&server));
        waker.wake();
    };
    // If the thread cannot be started, the closed channel is reported as the reason.
    let _ = thread::Builder::new().name("nats-dial".to_string()).spawn(work);
    result
}

fn connected(server: &Server) -> Result<TcpStream, String> {
    let addresses = (server.host.as_str(), server.port).to_socket_addrs();
    let addresses = addresses.map_err(|error: io::Error| error.to_string())?;
    let mut why = "the name has no address".to_string();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECTED_WITHIN) {
            Ok(socket) => return Ok(socket),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}
