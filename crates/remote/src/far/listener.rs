//! The thread that reads from a probe.

use super::{STOP_MAX, STOP_WITHIN, Shared, lock};
use crate::SILENCE_MAX;
use crate::line::{Line, LineEnd, Stillness};
use crate::message::{Farewell, FromProbe, Pong, ToProbe};
use crate::offset::{Part, RoundTrip};
use probe::monotonic_ns;
use probe::queue::Entrance;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of one read.
const TURN: Duration = Duration::from_millis(20);
/// Time between pings while load runs.
const PING: Duration = Duration::from_secs(1);
/// How long the client waits for the response to one ping before load.
const PONG_WITHIN: Duration = Duration::from_secs(1);
/// Round trips after load.
const TRIPS_AFTER: u32 = 8;

fn trip(pong: Pong) -> RoundTrip {
    let Pong { sent_ns, received_ns, wall_ns, answered_ns } = pong;
    RoundTrip { sent_ns, received_ns, wall_ns, answered_ns, back_ns: monotonic_ns() }
}

/// One ping and its response, before load. The first readings come in between: they declare the
/// sources.
pub fn exchange(line: &mut Line, entrance: &Entrance) -> Result<Option<RoundTrip>, String> {
    line.send(&ToProbe::Ping { sent_ns: monotonic_ns() });
    let begin = Instant::now();
    while begin.elapsed() < PONG_WITHIN {
        match line.next(TURN) {
            Ok(Some(FromProbe::Pong(pong))) => return Ok(Some(trip(pong))),
            Ok(Some(FromProbe::Bye { why })) => return Err(why.to_string()),
            Ok(Some(FromProbe::Reading(reading))) => entrance.push(reading),
            Ok(_) => {}
            Err(end) => return Err(end.to_string()),
        }
    }
    Ok(None)
}

/// Why there is no more to read.
enum Over {
    /// The client ended the session.
    AsAsked,
    /// It ended before the client was done.
    Lost(String),
}

/// State of the thread.
pub struct Listener {
    line: Line,
    shared: Arc<Mutex<Shared>>,
    stop: Arc<AtomicBool>,
    entrance: Entrance,
    trips_after: u32,
    silence: Stillness,
}

impl Listener {
    pub fn new(
        line: Line,
        shared: Arc<Mutex<Shared>>,
        stop: Arc<AtomicBool>,
        entrance: Entrance,
    ) -> Self {
        let silence = Stillness::new(line.received(), Instant::now());
        Self { line, shared, stop, entrance, trips_after: 0, silence }
    }

    /// Reads until `stop` is set or the connection ends.
    pub fn run(mut self) {
        let over = self.listen().and_then(|()| self.last_words());
        if let Err(Over::Lost(why)) = over {
            lock(&self.shared).lost = Some(why);
        }
    }

    fn listen(&mut self) -> Result<(), Over> {
        let mut pinged = Instant::now();
        self.ping();
        while !self.stop.load(Ordering::Relaxed) {
            if pinged.elapsed() > PING {
                pinged = Instant::now();
                self.ping();
            }
            self.turn(Part::During)?;
        }
        Ok(())
    }

    fn ping(&mut self) {
        if !self.line.is_blocked() {
            self.line.send(&ToProbe::Ping { sent_ns: monotonic_ns() });
        }
    }

    /// Reads one message, unless those before it fill the queue; an error when there will be no
    /// more.
    fn turn(&mut self, part: Part) -> Result<(), Over> {
        if self.entrance.is_filling() {
            // The queue is full; the other end is not silent.
            self.silence = Stillness::new(self.line.received(), Instant::now());
            thread::sleep(TURN);
            return Ok(());
        }
        match self.line.next(TURN) {
            Ok(Some(message)) => {
                self.silence = Stillness::new(self.line.received(), Instant::now());
                self.take(part, message)
            }
            Ok(None) if self.is_silent() => {
                Err(Over::Lost(format!("it sent nothing for {} s", SILENCE_MAX.as_secs())))
            }
            Ok(None) => Ok(()),
            Err(LineEnd::Closed) => Err(Over::Lost("it closed the connection".to_string())),
            Err(LineEnd::Frame(error)) => {
                Err(Over::Lost(format!("it sent {error}; use the same ceiling on both hosts")))
            }
            Err(end) => Err(Over::Lost(end.to_string())),
        }
    }

    fn is_silent(&mut self) -> bool {
        self.silence.lasted(self.line.received(), Instant::now()) > SILENCE_MAX
    }

    fn take(&mut self, part: Part, message: FromProbe) -> Result<(), Over> {
        match message {
            FromProbe::Reading(reading) => self.entrance.push(reading),
            FromProbe::Pong(pong) => {
                self.trips_after += u32::from(part == Part::After);
                lock(&self.shared).estimator.add(part, &trip(pong));
            }
            FromProbe::Bye { why: Farewell::Asked } => return Err(Over::AsAsked),
            FromProbe::Bye { why } => return Err(Over::Lost(why.to_string())),
            // Not part of this session.
            _ => {}
        }
        Ok(())
    }

    /// Compares the clocks once more, one ping at a time, and reads the last readings.
    fn last_words(&mut self) -> Result<(), Over> {
        let begin = Instant::now();
        self.silence = Stillness::new(self.line.received(), begin);
        for asked in 0..TRIPS_AFTER {
            self.ping();
            while self.trips_after <= asked && begin.elapsed() < STOP_WITHIN {
                self.turn(Part::After)?;
            }
        }
        self.line.send(&ToProbe::Stop);
        // The bye ends the wait, and so does silence.
        while begin.elapsed() < STOP_MAX {
            self.turn(Part::After)?;
        }
        Err(Over::Lost("it did not stop when asked".to_string()))
    }
}
