//! Where readings go during a run: to the logs, and the latest of them to the progress display.
//!
//! There are two paths. A thread of ours reads this host; a probe on the server's host, if there is
//! one, reads that host. Each keeps its own times, and a window is converted by the offset of the
//! clocks when it is read.

use crate::drift::DriftWatch;
use crate::fanout::Calendar;
use crate::hosts_now::RecentHosts;
use crate::setting::Model;
use judge::observe::{Observed, Window, reach_end};
use model::facts::{ClockOffset, HostFacts};
use model::host_now::HostNow;
use model::order::OrderBy as _;
use model::reading::{Data, Reading};
use model::run::Target;
use probe::Sampler;
use remote::{Far, WallZero};
use std::collections::VecDeque;
use store::{Readings, ReadingsPart, StoreError};

/// How long a reading counts as recent, nanoseconds.
const RECENT_NS: u64 = 400_000_000;

/// The logs of a run's raw readings, each in the times of its host.
#[derive(Debug)]
pub struct Logs {
    /// Of this host.
    pub near: Readings,
    /// Of the server's host, as its probe read them; used when there is one.
    pub far: Option<Readings>,
}

/// A log, with the place where the readings of this level start.
struct Road<'a> {
    log: &'a mut Readings,
    level: u64,
}

impl<'a> Road<'a> {
    fn new(log: &'a mut Readings) -> Self {
        Self { log, level: 0 }
    }

    /// Readings of this level that belong to a window. Those that cannot be read back are missing.
    fn inside(&self, window_ns: (u64, u64)) -> impl Iterator<Item = Reading> {
        let mut window = Window::new(window_ns);
        let readings = self.log.since(self.level).map_while(Result::ok);
        readings.filter(move |reading| window.has(reading))
    }
}

/// Where readings of this host come from.
pub enum ReadingSource<'a> {
    /// Threads of ours that read it.
    Live(Sampler, Option<DriftWatch>),
    /// A model of it.
    Model(&'a dyn Model),
    /// Nothing more is read.
    Ended,
}

impl ReadingSource<'_> {
    /// Starts to watch the changes on this host, next to the sampler.
    pub fn live(sampler: Sampler) -> Self {
        Self::Live(sampler, DriftWatch::start())
    }

    /// The readings that have arrived.
    fn take(&self) -> Vec<Reading> {
        match self {
            Self::Live(sampler, drift) => {
                let mut arrived = sampler.take();
                if let Some(drift) = drift {
                    arrived.extend(drift.take());
                    arrived.order_by_key(|reading| reading.begin_ns);
                }
                arrived
            }
            Self::Model(model) => model.take_readings(),
            Self::Ended => Vec::new(),
        }
    }

    /// Stops it; returns the remaining readings.
    fn stop(self) -> Vec<Reading> {
        match self {
            Self::Live(sampler, _) => sampler.stop(),
            Self::Model(model) => model.take_readings(),
            Self::Ended => Vec::new(),
        }
    }
}

/// Writes the probes' readings as they arrive.
pub struct Watch<'a> {
    source: ReadingSource<'a>,
    near: Road<'a>,
    far: Option<FarWatch<'a>>,
    /// The server's threads in the last readings.
    recent: VecDeque<Reading>,
    /// The last second of both hosts, if a live view is open.
    hosts: Option<RecentHosts<'a>>,
}

/// The readings of a window that are on disk so far, for a thread that reads them while more are
/// written.
#[derive(Debug)]
pub(crate) struct Snapshot {
    near: ReadingsPart,
    far: Option<FarSnapshot>,
    window_ns: (u64, u64),
}

#[derive(Debug)]
struct FarSnapshot {
    part: ReadingsPart,
    /// Whether they reach the end of the window.
    reaches_end: bool,
    clock: ClockOffset,
    lost: Option<String>,
}

impl Snapshot {
    /// Those of this host, and those of the server's host as in [`Watch::far_inside`].
    pub(crate) fn inside(&self) -> (Vec<Reading>, Option<Vec<Reading>>) {
        let inside = |part: &ReadingsPart, window_ns| {
            let mut window = Window::new(window_ns);
            let readings = part.readings().map_while(Result::ok);
            readings.filter(move |reading| window.has(reading)).collect()
        };
        let far = self.far.as_ref().map(|far| match far.reaches_end {
            true => inside(&far.part, far.clock.carry(self.window_ns)),
            false => Vec::new(),
        });
        (inside(&self.near, self.window_ns), far)
    }

    /// The clock of the server's host, and why its readings end early if they do.
    pub(crate) fn far_state(&self) -> Option<(ClockOffset, Option<&str>)> {
        self.far.as_ref().map(|far| (far.clock, far.lost.as_deref()))
    }
}

/// The path from the server's host.
struct FarWatch<'a> {
    /// Until the end of the run.
    session: Option<Far>,
    road: Road<'a>,
    clock: ClockOffset,
    wall: Option<WallZero>,
    lost: Option<String>,
    /// End of the last reading, in that host's time.
    last_ns: u64,
    /// Start of the last look at changes there, in that host's time; `None` without a change.
    last_look_ns: Option<u64>,
}

impl<'a> Watch<'a> {
    /// Moves readings from their source to the log.
    pub fn new(source: ReadingSource<'a>, near: &'a mut Readings) -> Self {
        Self { source, near: Road::new(near), far: None, recent: VecDeque::new(), hosts: None }
    }

    /// Writes readings of the server's host to a separate log.
    pub fn with_far(mut self, session: Far, log: &'a mut Readings) -> Self {
        let (clock, wall) = (session.clock(), session.wall());
        let (session, road) = (Some(session), Road::new(log));
        let (lost, last_ns, last_look_ns) = (None, 0, None);
        self.far = Some(FarWatch { session, road, clock, wall, lost, last_ns, last_look_ns });
        self
    }

    /// Also keeps what the live view shows of the hosts.
    pub(crate) fn show(&mut self, hosts: RecentHosts<'a>) {
        self.hosts = Some(hosts);
    }

    /// What the hosts did in the last second, if a live view is open and it is time.
    pub(crate) fn hosts_now(&mut self, now_ns: u64) -> Option<Vec<HostNow>> {
        self.hosts.as_mut()?.now(now_ns)
    }

    /// Starts a level.
    pub fn begin_level(&mut self) {
        self.near.level = self.near.log.end();
        if let Some(far) = &mut self.far {
            far.road.level = far.road.log.end();
        }
    }

    /// Looks once more at changes on this host and waits for that, so that a window that has ended
    /// is looked at even if the looking thread is late.
    pub fn look(&self) {
        if let ReadingSource::Live(_, Some(drift)) = &self.source {
            drift.look();
        }
    }

    /// Writes what has arrived. Returns why the probe on the server's host was lost, if that
    /// happened since the last call.
    pub fn take(&mut self) -> Option<&str> {
        let arrived = self.source.take();
        self.near.log.add(&arrived);
        if let Some(hosts) = &mut self.hosts {
            hosts.near.add(&arrived);
        }
        let mut of_server = arrived;
        let far = self.far.as_mut();
        let was_lost = far.as_ref().is_some_and(|far| far.lost.is_some());
        if let Some(far) = far {
            let arrived = far.take();
            if let Some(hosts) = &mut self.hosts {
                hosts.far.add(&arrived);
            }
            of_server.extend(arrived);
        }
        self.remember(of_server);
        let lost = self.far.as_ref().and_then(|far| far.lost.as_deref());
        lost.filter(|_| !was_lost)
    }

    /// Ends both streams and writes the remaining readings.
    pub fn stop(&mut self) {
        let source = std::mem::replace(&mut self.source, ReadingSource::Ended);
        self.near.log.add(&source.stop());
        if let Some(far) = &mut self.far {
            far.stop();
        }
    }

    fn remember(&mut self, arrived: Vec<Reading>) {
        let of_server = |reading: &Reading| matches!(reading.data, Data::ServerThreads(_));
        self.recent.extend(arrived.into_iter().filter(of_server));
        let latest_ns = self.recent.back().map_or(0, |reading| reading.begin_ns);
        while self.recent.front().is_some_and(|old| old.begin_ns + RECENT_NS < latest_ns) {
            self.recent.pop_front();
        }
    }

    /// The server's threads recently.
    pub fn recent(&self) -> impl Iterator<Item = Reading> {
        self.recent.iter().cloned()
    }

    /// What is on disk of a window of this level, monotonic nanoseconds. `None` when the logs
    /// cannot be read a second time.
    pub(crate) fn snapshot(&self, window_ns: (u64, u64)) -> Option<Snapshot> {
        let near = self.near.log.part_since(self.near.level).ok()?;
        let far = match &self.far {
            None => None,
            Some(far) => Some(FarSnapshot {
                part: far.road.log.part_since(far.road.level).ok()?,
                reaches_end: far.reaches_end(window_ns),
                clock: far.clock,
                lost: far.lost.clone(),
            }),
        };
        Some(Snapshot { near, far, window_ns })
    }

    /// Readings of this host that belong to a window of this level, monotonic nanoseconds.
    pub fn inside(&self, window_ns: (u64, u64)) -> impl Iterator<Item = Reading> {
        self.near.inside(window_ns)
    }

    /// Readings of the server's host that are inside a window of ours for every clock offset within
    /// the error. `None` when they end before the window does, because the missing part may matter.
    pub fn far_inside(&self, window_ns: (u64, u64)) -> Option<Vec<Reading>> {
        let far = self.far.as_ref()?;
        let reaches_end = far.reaches_end(window_ns);
        let inside = far.road.inside(far.clock.carry(window_ns));
        Some(if reaches_end { inside.collect() } else { Vec::new() })
    }

    /// What was observed in windows of any level, by all readings that have arrived since then and
    /// by the clock as it is known now.
    pub(crate) fn observed(
        &self,
        host: &HostFacts,
        target: &Target,
        windows_ns: &[(u64, u64)],
    ) -> Result<Vec<Observed>, StoreError> {
        let near = self.near.log.since(0);
        let far = self.far.iter().flat_map(|far| far.road.log.since(0));
        Observed::in_windows(host, target, windows_ns, near, far)
    }

    /// Connections that waited to be accepted in all queues of the port, with the instant of each
    /// reading, monotonic nanoseconds of this host.
    pub fn accept_queues(&self, span_ns: (u64, u64)) -> Vec<(u64, u64)> {
        let look = |reading: Reading| {
            let data = match &reading.data {
                Data::Inside(data) => data,
                data => data,
            };
            let Data::Listeners(all) = data else { return None };
            Some((reading.at_ns(), all.iter().map(|one| u64::from(one.queued)).sum()))
        };
        let Some(far) = &self.far else {
            return self.near.inside(span_ns).filter_map(look).collect();
        };
        let here = |at_ns: u64| at_ns.saturating_add_signed(-far.clock.offset_ns);
        let inside = far.road.inside(far.clock.carry(span_ns)).filter_map(look);
        inside.map(|(at_ns, waiting)| (here(at_ns), waiting)).collect()
    }

    /// Whether the server's host may still send readings of a window's end that have not arrived,
    /// or a look at changes there since the window began.
    pub fn is_behind(&self, window_ns: (u64, u64)) -> bool {
        let far = self.far.as_ref().filter(|far| far.lost.is_none());
        far.is_some_and(|far| !far.reaches_end(window_ns) || far.lacks_look(window_ns))
    }

    /// The clock of the server's host, and why its readings end early if they do.
    pub fn far_state(&self) -> Option<(ClockOffset, Option<&str>)> {
        self.far.as_ref().map(|far| (far.clock, far.lost.as_deref()))
    }

    /// What dates events there: the clocks of that host, and why they are no longer known.
    pub(crate) fn far_calendar(&self) -> Option<Calendar<'_>> {
        let far = self.far.as_ref()?;
        Some(Calendar { clock: far.clock, wall: far.wall, lost: far.lost.as_deref() })
    }

    /// Why readings are missing, if they are.
    pub fn failure(&self) -> Option<&StoreError> {
        let far = self.far.as_ref().and_then(|far| far.road.log.failure());
        self.near.log.failure().or(far)
    }
}

/// The notice that the probe on the server's host was lost.
pub fn lost_notice(why: &str) -> String {
    format!("the probe on the server's host was lost: {why}; the run goes on without it")
}

impl FarWatch<'_> {
    /// Whether the readings reach the end of a window of ours.
    fn reaches_end(&self, window_ns: (u64, u64)) -> bool {
        reach_end(self.clock.carry(window_ns), self.last_ns)
    }

    /// Whether something is changed there that was not looked at since a window of ours began.
    fn lacks_look(&self, window_ns: (u64, u64)) -> bool {
        self.last_look_ns.is_some_and(|last_ns| last_ns < self.clock.carry(window_ns).0)
    }

    fn take(&mut self) -> Vec<Reading> {
        let Some(session) = &self.session else { return Vec::new() };
        let arrived = session.take();
        (self.clock, self.wall, self.lost) = (session.clock(), session.wall(), session.lost());
        self.write(&arrived);
        arrived
    }

    fn stop(&mut self) {
        if let Some(session) = self.session.take() {
            let ended = session.stop();
            (self.clock, self.wall) = (ended.clock, ended.wall);
            self.lost = ended.lost;
            self.write(&ended.readings);
        }
    }

    fn write(&mut self, arrived: &[Reading]) {
        self.road.log.add(arrived);
        let latest_ns = arrived.iter().map(|reading| reading.end_ns).max();
        self.last_ns = self.last_ns.max(latest_ns.unwrap_or(0));
        let looks = arrived.iter().filter(|reading| matches!(reading.data, Data::Tuning(_)));
        self.last_look_ns = looks.map(|look| look.begin_ns).max().max(self.last_look_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::{NS_PER_MS, NS_PER_S};
    use probe::Config;

    /// Far readings each tenth of a second, the last of them at this time.
    fn far(log: &mut Readings, until_ns: u64) -> FarWatch<'_> {
        let clock = ClockOffset { offset_ns: 0, error_ns: 0, ..ClockOffset::default() };
        let road = Road::new(log);
        let (session, lost, last_ns, last_look_ns) = (None, None, 0, None);
        let mut far = FarWatch { session, road, clock, wall: None, lost, last_ns, last_look_ns };
        let times = (0..=until_ns).step_by(100 * NS_PER_MS as usize);
        let read = |at_ns| Reading { begin_ns: at_ns, end_ns: at_ns, data: Data::Cpus(Vec::new()) };
        far.write(&times.map(read).collect::<Vec<_>>());
        far
    }

    #[test]
    fn a_short_window_whose_probe_died_at_its_beginning_is_not_whole() {
        let (begin_ns, second) = (10 * NS_PER_S, (10 * NS_PER_S, 11 * NS_PER_S));
        let (mut near, mut log) = (Readings::nameless().unwrap(), Readings::nameless().unwrap());
        let source = ReadingSource::live(Sampler::start(Config::default()));
        let mut watch = Watch::new(source, &mut near);
        watch.far = Some(far(&mut log, begin_ns + 200 * NS_PER_MS));
        assert_eq!(watch.far_inside(second), Some(Vec::new()));
        assert!(watch.is_behind(second), "more may come");
        watch.far.as_mut().unwrap().lost = Some("it was killed".to_string());
        assert!(!watch.is_behind(second), "nothing more comes");
        let mut log = Readings::nameless().unwrap();
        let mut watch = Watch { far: Some(far(&mut log, begin_ns + 700 * NS_PER_MS)), ..watch };
        assert_eq!(watch.far_inside(second).map(|readings| readings.len()), Some(8));
        assert!(!watch.is_behind(second));
        watch.stop();
    }

    #[test]
    fn a_change_there_that_was_not_looked_at_in_the_window_is_awaited() {
        let second = (10 * NS_PER_S, 11 * NS_PER_S);
        let mut log = Readings::nameless().unwrap();
        let mut far = far(&mut log, second.1);
        assert!(!far.lacks_look(second), "nothing is changed there");
        let data = || Data::Tuning(model::reading::TuningNow { places: 1, drifted: Vec::new() });
        let look = |at_ns| Reading { begin_ns: at_ns, end_ns: at_ns, data: data() };
        far.write(&[look(second.0 - 1)]);
        assert!(far.lacks_look(second));
        far.write(&[look(second.1 + 1)]);
        assert!(!far.lacks_look(second), "what happened until then shows in it");
    }
}
