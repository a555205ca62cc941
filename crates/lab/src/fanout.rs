//! Fan-out: the crew that listens, the clock that stamps events, and what became of the events.

use crate::error::LabError;
use crate::gather::Gathered;
use crate::mix;
use crate::setting::Setting;
use crate::visit::Visit;
use engine::job::Job;
use engine::{Crew, clock};
use judge::observe::Observed;
use model::dist::Dist;
use model::facts::{ClockOffset, ServerFacts};
use model::fanout::{Delivery, EventInfo, Subscribers};
use model::fleet::Share;
use model::load::{Fanout, Trial};
use model::route::Address;
use model::run::{CpuCost, Point, count_errors};
use model::subject::Subject;
use model::tick::ThreadKind;
use model::units::NS_PER_MS;
use remote::WallZero;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A wall clock that moved by more than this in a visit was set, nanoseconds.
const CLOCK_STEP_NS: u64 = NS_PER_MS;
/// How often both clocks are read to compare them.
const CLOCK_LOOKS: u32 = 5;

/// The clock that stamps events, where it is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Stamps {
    /// The wall clock of this host: what it shows when our clock shows zero, nanoseconds.
    Ours(i64),
    /// The wall clock of the server's host, as its probe reported it before the load: what it shows
    /// when our clock shows zero, nanoseconds.
    Far(i64),
    /// Why it is not known.
    Unknown(String),
}

/// The clocks of the server's host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calendar<'a> {
    /// Offset of its monotonic clock from ours.
    pub(crate) clock: ClockOffset,
    /// Its wall clock relative to its monotonic clock.
    pub(crate) wall: Option<WallZero>,
    /// Why its probe reports nothing more.
    pub(crate) lost: Option<&'a str>,
}

impl Calendar<'_> {
    /// What its wall clock shows at our zero, and by how much that may be off, nanoseconds.
    fn at_our_zero(&self) -> Option<(i64, u64)> {
        let wall = self.wall?;
        let zero_ns = wall.zero_ns.checked_add(self.clock.offset_ns)?;
        Some((zero_ns, wall.error_ns + self.clock.error_ns))
    }
}

impl Stamps {
    /// The server's clock is ours when its process was found here or it is reached by loopback. The
    /// clock of another host is known from its probe.
    pub(crate) fn of(
        address: Option<&Address>,
        server: Option<&ServerFacts>,
        far: Option<Calendar<'_>>,
    ) -> Self {
        if let Some((zero_ns, _)) = far.as_ref().and_then(Calendar::at_our_zero) {
            return Self::Far(zero_ns);
        }
        if server.is_some() || address.is_some_and(Address::is_loopback) {
            return Self::Ours(wall_clock_ns());
        }
        Self::Unknown(
            "the server is on another host, whose wall clock is not known; a probe there \
             reports it (--probe)"
                .to_string(),
        )
    }

    /// What it shows at our zero, for the workers.
    pub(crate) fn zero_ns(&self) -> Option<i64> {
        match self {
            Self::Ours(zero_ns) | Self::Far(zero_ns) => Some(*zero_ns),
            Self::Unknown(_) => None,
        }
    }

    /// By how much staleness may be off, nanoseconds, or why that is not known. The clock may have
    /// been set meanwhile.
    fn error_ns(&self, far: Option<Calendar<'_>>) -> Result<u64, String> {
        match self {
            Self::Unknown(why) => Err(why.clone()),
            Self::Ours(zero_ns) if zero_ns.abs_diff(wall_clock_ns()) > CLOCK_STEP_NS => {
                Err("the wall clock of this host was set during the run".to_string())
            }
            Self::Ours(_) => Ok(0),
            Self::Far(told_ns) => {
                let far = far.ok_or("the probe on the server's host was lost")?;
                if let Some(why) = far.lost {
                    return Err(format!(
                        "the probe on the server's host was lost ({why}), so it is unknown if the \
                         wall clock there was set"
                    ));
                }
                if far.wall.is_some_and(|wall| wall.was_set) {
                    return Err(
                        "the wall clock of the server's host was set during the run".to_string()
                    );
                }
                let known = far.at_our_zero().ok_or("the server's host reported no time")?;
                Ok(known.0.abs_diff(*told_ns) + known.1)
            }
        }
    }
}

/// What the wall clock shows when the monotonic one shows zero, nanoseconds. This thread may be
/// stopped between two clocks, so of several looks the shortest counts.
fn wall_clock_ns() -> i64 {
    let look = |_| {
        let begin_ns = clock::now_ns();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let took_ns = clock::now_ns().saturating_sub(begin_ns);
        let shown_ns = since.as_nanos() as i64;
        (took_ns, shown_ns.saturating_sub_unsigned(begin_ns + took_ns / 2))
    };
    (0..CLOCK_LOOKS).map(look).min().map_or(0, |(_, zero_ns)| zero_ns)
}

/// Starts the workers that listen, in a fan-out, with the same means as those that write.
pub fn start(
    setting: Setting<'_>,
    trial: &Trial,
    job: &Job,
    stamps: &Stamps,
) -> Result<Option<Crew>, LabError> {
    let Some(fanout) = &trial.fanout else { return Ok(None) };
    let job = listening(trial, fanout, job)?;
    Ok(Some(setting.start_listening(&job, stamps.zero_ns())?))
}

/// Subscribers of the largest level.
pub fn subscribers_max(trial: &Trial) -> u32 {
    trial.levels.iter().map(|level| level.connections).max().unwrap_or(1)
}

/// The job of the workers that listen, from that of those that write.
pub fn listening(trial: &Trial, fanout: &Fanout, job: &Job) -> Result<Job, LabError> {
    let most = subscribers_max(trial);
    Ok(Job {
        tape: Arc::new(mix::tape(trial, job.http, &fanout.streams, 1)?),
        share: Share::alone(trial.threads.min(most)),
        connections_max: most,
        depth_max: 1,
        ..job.clone()
    })
}

/// Adds to a point of the writers what the subscribers received.
pub fn complete(
    mut point: Point,
    fanout: &Fanout,
    visit: &Visit,
    observed: &Observed,
    (stamps, far): (&Stamps, Option<Calendar<'_>>),
) -> Point {
    let Some(heard) = &visit.audience else { return point };
    let (duration_s, received) = (point.load.duration_s, heard.measured.completed);
    let (delivery, delivery_absent) =
        delivery(received, heard.events.numbered, || Delivery::of(&heard.subscriptions));
    let staleness_error = stamps.error_ns(far).and_then(|error_ns| {
        let is_stamped = heard.events.stamped == received;
        let missing = || "not all events say when they occurred (at_ns)".to_string();
        is_stamped.then_some(error_ns).ok_or_else(missing)
    });
    let window = &heard.window_loop;
    let each_us = |cpus: Option<f64>| {
        cpus.filter(|_| received > 0).map(|cpus| cpus * duration_s * 1e6 / received as f64)
    };
    let is_known = staleness_error.is_ok();
    point.subject = Subject::Events(EventInfo {
        streams: fanout.streams.len() as u64,
        writers: u64::from(fanout.writers),
        received,
        rate: if duration_s > 0.0 { received as f64 / duration_s } else { 0.0 },
        delivery_share: delivery.and_then(|delivery| delivery.share()),
        delivery,
        delivery_absent,
        repeated: heard.events.repeated,
        staleness_ns: is_known.then(|| heard.histograms[Dist::Latency].summary(0)),
        staleness_error_ns: staleness_error.as_ref().ok().copied(),
        staleness_absent: staleness_error.err(),
        early: if is_known { heard.events.early } else { 0 },
        subscribers: subscribers(heard),
        each: heard.requests_each(),
        socket_bytes: heard.level_loop.socket_bytes,
        client_us_per_event: each_us(point.cpu.client_cpus),
        server_us_per_event: each_us(point.cpu.server_cpus),
        busiest_thread: busiest(observed),
        turn_mean_ns: (window.turns > 0).then(|| window.turn_sum_ns as f64 / window.turns as f64),
        turn_max_ns: window.turn_max_ns,
        series: heard.series(),
    });
    // A write costs what its events cost.
    point.cpu = CpuCost {
        client_us_per_request: None,
        client_usr_us_per_request: None,
        server_us_per_request: None,
        ..point.cpu
    };
    // They are the writes, and the latency is that of events.
    point.slowest = None;
    point.per_100ms = heard.tenths.clone();
    point
}

/// The delivery figures from the numbers of events, or the reason why there are none.
fn delivery(
    received: u64,
    numbered: u64,
    count: impl FnOnce() -> Delivery,
) -> (Option<Delivery>, Option<String>) {
    let why = match (received, numbered) {
        (0, _) => "no event arrived",
        (received, numbered) if numbered < received => "not all events have a number (seq)",
        _ => return (Some(count()), None),
    };
    (None, Some(why.to_string()))
}

fn subscribers(heard: &Gathered) -> Subscribers {
    let connections = heard.connections();
    Subscribers {
        asked: heard.subscriptions.len() as u64,
        opened: connections.opened,
        accepted: connections.served,
        failed: connections.failed,
        refused: heard.events.refused,
        lost: heard.events.lost,
        errors: count_errors(&heard.measured),
        connect_ns: heard.histograms[Dist::Connect].summary(0),
    }
}

/// The largest share of the window in which one thread of the listening crew ran.
fn busiest(observed: &Observed) -> Option<f64> {
    let threads = observed.client_threads.as_ref()?;
    let listening =
        threads.iter().filter(|thread| ThreadKind::of(&thread.name) == Some(ThreadKind::Listening));
    listening.map(|thread| thread.run).max_by(f64::total_cmp)
}
