//! A session in which the probe starts one server for a client. The server lives as long as the
//! session.

use super::last_words::{TURN, say};
use super::{Log, Starter};
use crate::IDLE_MAX;
use crate::line::{Line, LineEnd};
use crate::message::{Farewell, FromProbe, Pong, Started, ToProbe};
use model::secret;
use model::starting::{StartOrder, TargetExit};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the probe checks whether the server runs, and what it has written.
const LOOK: Duration = Duration::from_millis(200);

/// A server that was started for a client. It ends when dropped.
pub trait Running: Send {
    /// What the client may know about it.
    fn started(&self) -> Started;

    /// Lines that it wrote since the last call, without secrets; a bounded number in all.
    fn new_lines(&mut self) -> Vec<String>;

    /// Whether it still runs, or how it ended.
    fn alive(&mut self) -> Result<(), String>;

    /// Ends it in order, with all that was started for it; and the lines that it wrote since.
    fn end(self: Box<Self>) -> (TargetExit, Vec<String>);
}

/// What the client has sent, as far as it matters here.
enum Heard {
    Nothing,
    Order(Box<StartOrder>),
    Stop,
}

/// One client and its server.
pub(super) struct Attendant<'a, 'b> {
    pub(super) peer: SocketAddr,
    pub(super) log: &'a Log<'b>,
    pub(super) stop: &'a AtomicBool,
    pub(super) line: &'a mut Line,
    pub(super) starter: &'a dyn Starter,
    pub(super) heard: Instant,
}

impl Attendant<'_, '_> {
    /// Serves the client until it has gone; by then nothing that was started runs any more.
    pub(super) fn run(mut self) {
        let peer = self.peer;
        match self.attend() {
            Ok(why) => {
                say(self.line, &FromProbe::Bye { why }, self.stop);
                self.log.tell(&format!("{peer}: ended: {why}"));
            }
            Err(end) => self.log.tell(&format!("{peer}: gone: {end}")),
        }
    }

    fn attend(&mut self) -> Result<Farewell, LineEnd> {
        let order = loop {
            match self.hear()? {
                Heard::Order(order) => break order,
                Heard::Stop => return Ok(Farewell::Asked),
                Heard::Nothing => {}
            }
            if let Some(why) = self.farewell() {
                return Ok(why);
            }
        };
        let Some(server) = self.start(&order)? else { return Ok(Farewell::Asked) };
        self.stay(server, &order.server)
    }

    /// The next message of the client; pings get their response here.
    fn hear(&mut self) -> Result<Heard, LineEnd> {
        if self.line.is_blocked() {
            // Responses to a client that reads nothing would pile up.
            self.line.flush(TURN)?;
            return Ok(Heard::Nothing);
        }
        let Some(message) = self.line.next(TURN)? else { return Ok(Heard::Nothing) };
        self.heard = Instant::now();
        Ok(match message {
            ToProbe::Ping { sent_ns } => {
                self.line.send(&FromProbe::Pong(Pong::now(sent_ns)));
                Heard::Nothing
            }
            ToProbe::Start(order) => Heard::Order(order),
            ToProbe::Stop => Heard::Stop,
            ToProbe::Hello(_) | ToProbe::Tune(_) => Heard::Nothing,
        })
    }

    fn farewell(&self) -> Option<Farewell> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Farewell::Stopped);
        }
        (self.heard.elapsed() > IDLE_MAX).then_some(Farewell::Unheard)
    }

    /// Starts it while listening to the client; if the client goes, what was started is ended.
    fn start(&mut self, order: &StartOrder) -> Result<Option<Box<dyn Running>>, LineEnd> {
        let (peer, log) = (self.peer, self.log);
        log.tell(&format!("{peer}: asks for {}", shown(order)));
        let (starter, give_up) = (self.starter, AtomicBool::new(false));
        let (begun, gone) = self.meanwhile(|| starter.start(order, &give_up), Some(&give_up));
        match begun {
            Err(why) => {
                let why = secret::text(&why);
                log.tell(&format!("{peer}: not started: {why}"));
                say(self.line, &FromProbe::NotStarted { why }, self.stop);
                gone.map_or(Ok(None), Err)
            }
            Ok(server) => {
                let started = server.started();
                let Started { name, addr, pid, .. } = &started;
                log.tell(&format!("{peer}: {name} listens at {addr}, process {pid}"));
                if let Some(end) = gone {
                    self.end(server, &order.server);
                    return Err(end);
                }
                self.line.send(&FromProbe::Started(Box::new(started)));
                Ok(Some(server))
            }
        }
    }

    /// Stays until the client asks to end it or is gone, or the server has ended.
    fn stay(&mut self, mut server: Box<dyn Running>, name: &str) -> Result<Farewell, LineEnd> {
        let mut looked = Instant::now();
        let why = loop {
            match self.hear() {
                Ok(Heard::Stop) => break Ok(Farewell::Asked),
                Ok(_) => {}
                Err(end) => break Err(end),
            }
            if let Some(why) = self.farewell() {
                break Ok(why);
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.pass_on(server.new_lines());
                if server.alive().is_err() {
                    break Ok(Farewell::Asked);
                }
            }
        };
        let exit = self.end(server, name);
        if why.is_ok() {
            self.line.send(&FromProbe::Ended(Box::new(exit)));
        }
        why
    }

    fn pass_on(&mut self, lines: Vec<String>) {
        for text in lines {
            self.line.send(&FromProbe::Line { text });
        }
    }

    /// Ends it while listening to the client.
    fn end(&mut self, server: Box<dyn Running>, name: &str) -> TargetExit {
        let ((exit, last), _) = self.meanwhile(move || server.end(), None);
        self.pass_on(last);
        let became = exit.fault.as_deref().unwrap_or("ended in order");
        let became = secret::text(became);
        self.log.tell(&format!("{}: {name}: {became}", self.peer));
        TargetExit { fault: exit.fault.map(|fault| secret::text(&fault)), ..exit }
    }

    /// Does work that takes a while, and responds to pings meanwhile. Sets the flag when the client
    /// is gone or asks to stop, or the probe is to end; an end of the connection is returned too.
    fn meanwhile<T: Send>(
        &mut self,
        work: impl FnOnce() -> T + Send,
        give_up: Option<&AtomicBool>,
    ) -> (T, Option<LineEnd>) {
        let mut gone = None;
        let done = thread::scope(|scope| {
            let worker = scope.spawn(work);
            while !worker.is_finished() {
                let heard = match &gone {
                    None => self.hear(),
                    Some(_) => {
                        thread::sleep(TURN);
                        Ok(Heard::Nothing)
                    }
                };
                let is_over = matches!(heard, Ok(Heard::Stop)) || self.farewell().is_some();
                if let Err(end) = heard {
                    gone = Some(end);
                }
                if (is_over || gone.is_some())
                    && let Some(give_up) = give_up
                {
                    give_up.store(true, Ordering::Relaxed);
                }
            }
            worker.join()
        });
        // A panic of the worker goes on here.
        (done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), gone)
    }
}

/// An order for the log: no value of a variable.
fn shown(order: &StartOrder) -> String {
    let mut words = vec![order.server.clone()];
    words.extend(secret::words(&order.args));
    words.extend(order.env.keys().map(|name| format!("{name}=..")));
    words.extend(order.services.iter().map(|name| format!("with {name}")));
    if !order.cpus.is_empty() {
        words.push(format!("on CPUs {}", order.cpus));
    }
    if let Some(cpu) = order.limits.cpu {
        words.push(format!("limited to {cpu} CPUs"));
    }
    if let Some(bytes) = order.limits.memory_bytes {
        words.push(format!("limited to {bytes} bytes"));
    }
    words.join(" ")
}
