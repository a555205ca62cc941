//! A seeded server for users of a flow, with faults, in virtual time.
//!
//! It gives each login a token, and answers what follows only with that token, in the path and as a
//! cookie. It counts what it was asked for, and what no user who keeps to the flow would ask.

use super::Stalls;
use super::agenda::Agenda;
use crate::driver::{Ahead, Buffer, Driver, End, Event, Sending, SlotId};
use crate::job::Job;
use model::tick::ErrorClass;
use std::collections::BTreeSet;
use std::ops::Range;
use wire::http1::Http1;
use wire::session::{Ending, Reply};

/// The paths, in the order of the flow: the third leads to the fourth.
pub const PATHS: [&str; 5] = ["/login", "/a", "/b", "/c", "/d"];

/// Time between pieces of a response, and from the last to the end of the connection.
const APART_NS: u64 = 1_000;

/// Faults, each in parts per thousand of its occasions, and how slow the server is.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShopFaults {
    /// A connection attempt is refused.
    pub refused: u64,
    /// A connection attempt gets no reply at all.
    pub unheard: u64,
    /// The response is an error status.
    pub error_status: u64,
    /// The response has not what is captured or asserted.
    pub empty: u64,
    /// The connection is reset instead of a response.
    pub reset: u64,
    /// No response ever comes.
    pub silent: u64,
    /// The response announces the end of the connection.
    pub last_response: u64,
    /// The connection is closed some time after the response.
    pub idle_close: u64,
    /// The redirect does not say where to.
    pub leads_nowhere: u64,
    /// The redirect keeps the method of its request.
    pub keeps_method: u64,
    /// A response arrives in random pieces.
    pub pieces: u64,
    /// Stalls of the generator, if any.
    pub stalls: Option<Stalls>,
    /// Shortest and longest service time, nanoseconds.
    pub service_ns: (u64, u64),
}

/// What the server saw.
#[derive(Debug, Clone, Default)]
pub struct ShopLog {
    /// Requests by path.
    pub requests: [u64; PATHS.len()],
    /// Responses without a fault of the server, by path.
    pub good: [u64; PATHS.len()],
    /// Requests that no user makes who keeps to the flow: with a token that was not given to them,
    /// with a cookie at the login, for another path, with a number that another request had, or
    /// after a redirect with a method that it does not ask for.
    pub strange: u64,
    /// When each request for the first path came, virtual nanoseconds.
    pub logins_ns: Vec<u64>,
    /// By path: the shortest time from the response before a request to it, nanoseconds.
    pub soonest_ns: [Option<u64>; PATHS.len()],
    /// Connections accepted.
    pub accepted: u64,
}

enum Happening {
    Opened,
    OpenFailed,
    Bytes(Vec<u8>),
    Ended(End),
}

/// See the module.
pub struct Shop {
    faults: ShopFaults,
    /// What the server saw.
    pub log: ShopLog,
    agenda: Agenda<Happening>,
    outboxes: Vec<Vec<u8>>,
    is_over: Vec<bool>,
    tokens: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// The method that the last redirect on each slot asks for.
    led: Vec<&'static str>,
    /// When the last response on each slot was complete.
    answered_ns: Vec<u64>,
    bytes: Vec<u8>,
}

impl Shop {
    /// A server for `slots` connections of a job; its faults are drawn from the job's seed.
    pub fn new(job: &Job, slots: u32, faults: ShopFaults) -> Self {
        Self {
            faults,
            log: ShopLog::default(),
            agenda: Agenda::new(job.seed, slots, faults.stalls),
            outboxes: vec![Vec::new(); slots as usize],
            is_over: vec![false; slots as usize],
            tokens: BTreeSet::new(),
            numbers: BTreeSet::new(),
            led: vec![""; slots as usize],
            answered_ns: vec![0; slots as usize],
            bytes: Vec::new(),
        }
    }

    fn serve(&mut self, slot: SlotId, request: &str) {
        let target = request.split(' ').nth(1).unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default();
        let Some(place) = PATHS.iter().position(|known| *known == path) else {
            self.log.strange += 1;
            return;
        };
        self.log.requests[place] += 1;
        self.see_time(slot, place);
        let (least, most) = self.faults.service_ns;
        let at_ns = self.agenda.now_ns + self.agenda.between(least, most);
        let faults = self.faults;
        if self.agenda.strikes(faults.silent) {
            return;
        }
        if self.agenda.strikes(faults.reset) {
            self.is_over[slot as usize] = true;
            return self.agenda.arrange(at_ns, slot, Happening::Ended(End::Reset));
        }
        let token = self.token(slot, place, request);
        let is_bad = self.agenda.strikes(faults.error_status);
        let is_empty = !is_bad && self.agenda.strikes(faults.empty);
        let body = if is_empty { "{}".to_string() } else { body_of(place, &token) };
        self.tokens.insert(token.clone());
        // An empty response matters only where something is looked for.
        let leads_nowhere = place == 2 && self.agenda.strikes(faults.leads_nowhere);
        let is_good = !is_bad && !leads_nowhere && (!is_empty || matches!(place, 2 | 4));
        self.log.good[place] += u64::from(is_good);
        let closes = self.agenda.strikes(faults.last_response);
        let cookie = format!("sid={token}; Path=/");
        let mut fields = vec![("Date", "now")];
        if place == 0 {
            fields.push(("Set-Cookie", &cookie));
        }
        if place == 2 && !is_bad {
            let keeps = self.agenda.strikes(faults.keeps_method);
            self.led[slot as usize] = if keeps { "POST" } else { "GET" };
            if !leads_nowhere {
                fields.push(("Location", "/c"));
            }
        }
        if closes {
            fields.push(("Connection", "close"));
        }
        let (status, reason) = match (is_bad, place) {
            (true, _) => (500, "Error"),
            (_, 2) if self.led[slot as usize] == "POST" => (307, "Temporary Redirect"),
            (_, 2) => (303, "See Other"),
            _ => (200, "OK"),
        };
        let mut bytes = Vec::new();
        let (fields, body) = (&fields[..], body.as_bytes());
        Http1::respond(&Reply { status, reason, fields, ending: Ending::Length, body }, &mut bytes);
        let last_ns = self.deliver(slot, at_ns, &bytes);
        self.answered_ns[slot as usize] = last_ns - APART_NS;
        if closes {
            self.is_over[slot as usize] = true;
            self.agenda.arrange(last_ns, slot, Happening::Ended(End::Closed));
        } else if self.agenda.strikes(faults.idle_close) {
            let wait_ns = self.agenda.between(1_000, 4_000_000);
            self.is_over[slot as usize] = true;
            self.agenda.arrange(last_ns + wait_ns, slot, Happening::Ended(End::Closed));
        }
    }

    fn see_time(&mut self, slot: SlotId, place: usize) {
        let now_ns = self.agenda.now_ns;
        if place == 0 {
            return self.log.logins_ns.push(now_ns);
        }
        let since_ns = now_ns.saturating_sub(self.answered_ns[slot as usize]);
        let soonest_ns = &mut self.log.soonest_ns[place];
        *soonest_ns = Some(soonest_ns.map_or(since_ns, |before| before.min(since_ns)));
    }

    /// The token of a request; counts what no user does who keeps to the flow.
    fn token(&mut self, slot: SlotId, place: usize, request: &str) -> String {
        if place == 0 {
            self.log.strange += u64::from(request.contains("\r\nCookie:"));
            return format!("t{}", self.log.requests[0]);
        }
        let target = request.split(' ').nth(1).unwrap_or_default();
        let value = |name: &str| {
            let found = target.split(name).nth(1).unwrap_or_default();
            found.split('&').next().unwrap_or_default().to_string()
        };
        let token = value("t=");
        // Where a redirect leads the token is a cookie alone.
        let is_known = match place {
            3 => request.contains("\r\nCookie: sid=t"),
            _ => {
                let cookie = format!("\r\nCookie: sid={token}\r\n");
                self.tokens.contains(&token) && request.contains(&cookie)
            }
        };
        let is_asked = match place {
            3 => request.starts_with(self.led[slot as usize]),
            4 => self.numbers.insert(value("n=")),
            _ => true,
        };
        self.log.strange += u64::from(!is_known) + u64::from(!is_asked);
        token
    }

    fn deliver(&mut self, slot: SlotId, at_ns: u64, bytes: &[u8]) -> u64 {
        let most = if self.agenda.strikes(self.faults.pieces) { 40 } else { bytes.len() };
        let mut at_ns = at_ns;
        for piece in bytes.chunks(most) {
            self.agenda.arrange(at_ns, slot, Happening::Bytes(piece.to_vec()));
            at_ns += APART_NS;
        }
        at_ns
    }
}

/// What a path answers to the user with a token.
fn body_of(place: usize, token: &str) -> String {
    match place {
        0 => format!("{{\"token\": \"{token}\"}}"),
        1 => format!("{{\"you\": \"{token}\"}}"),
        3 => "{\"items\": [{\"id\": 4}, {\"id\": 5}]}".to_string(),
        _ => "{\"ok\": true}".to_string(),
    }
}

impl Driver for Shop {
    fn now_ns(&self) -> u64 {
        self.agenda.now_ns
    }

    fn cpu_ns(&self) -> (u64, u64) {
        (0, 0)
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        let at_ns = self.agenda.now_ns + self.agenda.between(20_000, 200_000);
        self.is_over[slot as usize] = false;
        if self.agenda.strikes(self.faults.unheard) {
            return;
        }
        let is_refused = self.agenda.strikes(self.faults.refused);
        let happening = if is_refused { Happening::OpenFailed } else { Happening::Opened };
        self.agenda.arrange(at_ns, slot, happening);
    }

    fn send(&mut self, _slot: SlotId, _span: Range<usize>, _ahead: Ahead) -> Sending {
        unreachable!("requests of a flow are on no tape")
    }

    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        &mut self.outboxes[slot as usize]
    }

    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        let request = std::mem::take(&mut self.outboxes[slot as usize]);
        let text = String::from_utf8(request).expect("the flow of the tests is text");
        // What comes after the end of the connection is not read.
        if !text.is_empty() && !self.is_over[slot as usize] {
            self.serve(slot, &text);
        } else if let Some(place) = PATHS.iter().position(|path| text.contains(path)) {
            self.log.requests[place] += 1;
        }
        Sending::Done
    }

    fn close(&mut self, slot: SlotId) {
        self.agenda.close(slot);
        self.outboxes[slot as usize].clear();
    }

    fn wait(&mut self, _now_ns: u64, until_ns: u64) -> u64 {
        self.agenda.wait(until_ns);
        self.agenda.now_ns
    }

    fn next(&mut self) -> Option<Event> {
        let (slot, happening) = self.agenda.next()?;
        let at_ns = self.agenda.now_ns;
        Some(match happening {
            Happening::Opened => {
                self.log.accepted += 1;
                Event::Opened { slot, at_ns }
            }
            Happening::OpenFailed => Event::OpenFailed { slot, class: ErrorClass::Connect, at_ns },
            Happening::Bytes(bytes) => {
                self.bytes = bytes;
                let buffer = Buffer { id: 0, length: self.bytes.len() as u32 };
                Event::Received { slot, at_ns, buffer }
            }
            Happening::Ended(end) => Event::Ended { slot, end, at_ns },
        })
    }

    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.bytes[..buffer.length as usize]
    }

    fn release(&mut self, _buffer: Buffer) {}
}
