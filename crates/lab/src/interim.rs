//! The verdict on a run that is still under way: what it would be if the run ended now.
//!
//! A thread with the lowest priority judges. The conductor gives it a copy of the counts and
//! continues; it never waits for the thread. The next copy is made at least a second later, and so
//! much later that judging takes at most a fiftieth of one CPU.
//!
//! Requests in flight have no outcome yet, and count as if they had not been sent. There is no
//! verdict on a fan-out before a level has ended: what subscribers missed is counted last.

use crate::crews::Crews;
use crate::fanout::Stamps;
use crate::judged::{Head, Making};
use crate::visit::Visit;
use crate::watch::Snapshot;
use jiff::Timestamp;
use judge::Context;
use judge::observe::Observed;
use model::facts::HostFacts;
use model::load::Trial;
use model::run::{Outcome, Point, Run, Target};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Shortest time between two verdicts.
const PACE: Duration = Duration::from_secs(1);
/// Judging may take one part in this many of the time of one CPU.
const SHARE: u32 = 50;

/// One level, as far as it was measured.
#[derive(Debug)]
pub(crate) struct Moment {
    /// The number of the visit in the run.
    pub(crate) load: u32,
    pub(crate) crews: Crews,
    pub(crate) visit: Visit,
    pub(crate) readings: Snapshot,
}

enum Job {
    Ended(Box<(Point, Observed)>),
    Now(Box<Moment>),
}

/// The run so far, in a visit.
struct Judged {
    load: u32,
    run: Run,
    took: Duration,
}

/// The conductor's side of the thread.
pub(crate) struct Interim {
    jobs: Sender<Job>,
    judged: Receiver<Judged>,
    is_busy: bool,
    due: Instant,
}

impl Interim {
    /// Starts to judge a run that is about to start.
    pub(crate) fn start(bench: Bench) -> io::Result<Self> {
        let (jobs, to_judge) = channel();
        let (from_judge, judged) = channel();
        let body = move || bench.judge(&to_judge, &from_judge);
        thread::Builder::new().name("present verdict".to_string()).spawn(body)?;
        Ok(Self { jobs, judged, is_busy: false, due: Instant::now() + PACE })
    }

    /// Whether the thread may be given something to judge.
    pub(crate) fn is_due(&self) -> bool {
        !self.is_busy && Instant::now() >= self.due
    }

    /// Judges a level as far as it is measured.
    pub(crate) fn now(&mut self, moment: Moment) {
        self.is_busy = self.jobs.send(Job::Now(Box::new(moment))).is_ok();
        self.due = Instant::now() + PACE;
    }

    /// Adds a level that has ended.
    pub(crate) fn ended(&self, point: &Point, observed: &Observed) {
        // Without the thread there are no interim verdicts; nothing else changes.
        let _ = self.jobs.send(Job::Ended(Box::new((point.clone(), observed.clone()))));
    }

    /// The run as last judged, if its visit is still under way.
    pub(crate) fn take(&mut self, load: u32) -> Option<Run> {
        let judged = self.judged.try_recv().ok()?;
        self.is_busy = false;
        self.due = self.due.max(Instant::now() + judged.took * SHARE);
        (judged.load == load).then_some(judged.run)
    }
}

/// What the thread needs.
pub(crate) struct Bench {
    pub(crate) trial: Trial,
    pub(crate) command: Vec<String>,
    pub(crate) started_at: Timestamp,
    pub(crate) host: HostFacts,
    pub(crate) target: Target,
    pub(crate) before_bytes: u64,
    pub(crate) points: Vec<Point>,
    pub(crate) observed: Vec<Observed>,
}

impl Bench {
    fn judge(mut self, jobs: &Receiver<Job>, judged: &Sender<Judged>) {
        host::background::stand_back(&self.trial.cpus);
        for job in jobs {
            let moment = match job {
                Job::Ended(ended) => {
                    let (point, observed) = *ended;
                    self.points.push(point);
                    self.observed.push(observed);
                    continue;
                }
                Job::Now(moment) => moment,
            };
            let (begin, load) = (Instant::now(), moment.load);
            let run = self.run(*moment);
            if judged.send(Judged { load, run, took: begin.elapsed() }).is_err() {
                return;
            }
        }
    }

    fn run(&mut self, moment: Moment) -> Run {
        if let Some((probe, (clock, lost))) =
            self.target.probe.as_mut().zip(moment.readings.far_state())
        {
            (probe.clock, probe.lost) = (clock, lost.map(str::to_string));
        }
        let (near, far) = moment.readings.inside();
        let observed = Observed::of_both(near, far, &self.host, &self.target);
        let point = self.point(&moment, &observed);
        let points = self.points.iter().cloned().chain([point]).collect();
        self.observed.push(observed);
        let head = Head {
            trial: &self.trial,
            command: &self.command,
            started_at: self.started_at,
            host: self.host.clone(),
            target: self.target.clone(),
            outcome: Outcome::Complete,
            search: None,
            perturbations: Vec::new(),
            profile: None,
            kernel: None,
            fleet: None,
            notices: Vec::new(),
        };
        let record = head.record(points, &self.observed);
        self.observed.pop();
        let (readings, server_readings, latencies) = Default::default();
        Run { record, readings, server_readings, latencies }
    }

    fn point(&self, moment: &Moment, observed: &Observed) -> Point {
        let mut visit = moment.visit.clone();
        visit.gathered.settle();
        let context = Context {
            trial: &self.trial,
            host: &self.host,
            target: &self.target,
            outcome: Outcome::Complete,
            perturbations: &[],
            kernel: None,
        };
        let (crews, before_bytes) = (&moment.crews, self.before_bytes);
        let stamps = Stamps::Unknown(String::new());
        let making = Making { context, crews, attempt: 1, before_bytes, stamps: (&stamps, None) };
        let mut point = making.point(&visit, Vec::new(), observed);
        let load = |point: &Point| (point.load.connections, point.load.depth, point.load.rate);
        let before = self.points.iter().filter(|other| load(other) == load(&point));
        point.attempt += before.count() as u32;
        point
    }
}
