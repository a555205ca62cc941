//! Profiles of the server in the measured window of a visit.
//!
//! Every source is asked on a thread of its own, which sleeps for as long as the profile lasts; the
//! workers know nothing of it. What cannot be had is one sentence, and the run goes on. What comes
//! back stays as it came until the visit is over, and is taken apart when nobody measures any more.

mod perf;
mod serving;
mod sources;

use crate::conduct::{Bench, LabError, make_point};
use crate::fanout;
use crate::level::{Ending, Stagehands, visit};
use judge::observe::Observed;
use judge::perturb;
use model::event::Event;
use model::load::{Question, Stop};
use model::profile::{Capture, PROFILE_KINDS, ProfileKind, ProfileRecord, Profiled};
use model::run::{Outcome, Point};
use model::units::{NS_PER_MS, NS_PER_S};
use probe::ask::{self, Patience};
use profile::{Samples, Weight, merged, pprof};
use serving::{Captured, Serving};
use sources::Source;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A profile begins this long after its window, so that it is wholly inside, nanoseconds.
const BEGIN_NS: u64 = 100 * NS_PER_MS;
/// It ends at least this long before the window does: its handler may begin late, nanoseconds.
const END_NS: u64 = 200 * NS_PER_MS;
/// Shortest window that has room for a profile, whose length is whole seconds, nanoseconds.
pub const WINDOW_MIN_NS: u64 = NS_PER_S + BEGIN_NS + END_NS;
/// How long responses are awaited after their time: names are looked up then, and text is made.
const LATE: Duration = Duration::from_secs(20);
/// Why waits and costs of a server of events are not held against requests.
const OF_STREAMS: &str = "streams wait for events: their waits are not waits of requests, and a \
                          write costs what its events cost";
/// What a Go server is asked for, and how.
const ASKED: [(ProfileKind, &str); 4] = [
    (ProfileKind::Cpu, "profile"),
    (ProfileKind::Block, "block"),
    (ProfileKind::Mutex, "mutex"),
    (ProfileKind::Heap, "heap"),
];

/// Takes profiles of one visit.
pub(crate) struct Profiler {
    sources: Vec<Source>,
    failures: Vec<String>,
    taking: Option<Taking>,
}

/// Profiles under way.
struct Taking {
    responses: Receiver<Response>,
    awaited: usize,
    given_up: Arc<AtomicBool>,
    until: Instant,
}

/// What came of one question, and when it was asked.
struct Response {
    source: String,
    begin_ns: u64,
    raw: Result<Raw, String>,
}

/// What was told, as it came: to take it apart costs CPU time, of which a window has none to spare.
enum Raw {
    /// Of an endpoint.
    Endpoint { kind: ProfileKind, pid: Option<u32>, bytes: Vec<u8> },
    /// Of `perf`, about processes that must have used CPU time.
    Perf(perf::Recorded),
    /// The same about processes that may have had nothing to do.
    Beside(perf::Recorded),
}

/// What came of all questions.
#[derive(Default)]
struct Finished {
    taken: Vec<(Capture, Taken)>,
    failures: Vec<String>,
    captured: BTreeMap<ProfileKind, Captured>,
}

/// A profile of one process.
struct Taken {
    kind: ProfileKind,
    pid: Option<u32>,
    samples: Samples,
    bytes: Vec<u8>,
}

impl Profiler {
    /// For a load with one level, whose visits are profiled while they are measured.
    pub(crate) fn of_the_point(bench: &Bench<'_>) -> Option<Self> {
        Self::of(bench).filter(|_| is_of_the_point(bench.trial.question))
    }

    /// Looks for what can be asked. Nothing when no profile is wanted.
    fn of(bench: &Bench<'_>) -> Option<Self> {
        let choice = bench.trial.profile.as_ref()?;
        let (sources, failures) = sources::find(choice, &bench.target, bench.trial);
        Some(Self { sources, failures, taking: None })
    }

    /// Asks every source for the whole seconds inside a window. Returns at once.
    pub(crate) fn start(&mut self, window_ns: (u64, u64)) {
        let length_ns = window_ns.1.saturating_sub(window_ns.0);
        let seconds = length_ns.saturating_sub(BEGIN_NS + END_NS) / NS_PER_S;
        if seconds == 0 || window_ns.1 == u64::MAX {
            self.failures.push("the window is too short for a profile".to_string());
            return;
        }
        let (sender, responses) = channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let mut awaited = 0;
        for source in &self.sources {
            for inquiry in source.inquiries() {
                let begin_ns = window_ns.0 + BEGIN_NS;
                awaited += 1;
                inquiry.ask_at(begin_ns, seconds, sender.clone(), given_up.clone());
            }
        }
        let until = Instant::now() + Duration::from_nanos(length_ns) + LATE;
        self.taking = Some(Taking { responses, awaited, given_up, until });
    }

    /// Whether anybody was asked.
    pub(crate) fn has_begun(&self) -> bool {
        self.taking.as_ref().is_some_and(|taking| taking.awaited > 0)
    }

    /// Waits for the responses and takes them apart. Of a visit that ended early none is awaited.
    fn finish(mut self, ending: Ending) -> Finished {
        let failures = std::mem::take(&mut self.failures);
        let mut finished = Finished { failures, ..Finished::default() };
        let Some(taking) = self.taking.take() else { return finished };
        let mut responses = Vec::new();
        for _ in 0..taking.awaited {
            let left = match ending {
                Ending::Complete => taking.until.saturating_duration_since(Instant::now()),
                _ => Duration::ZERO,
            };
            let Ok(response) = taking.responses.recv_timeout(left) else {
                finished.failures.push("a profile did not end with the visit".to_string());
                break;
            };
            responses.push(response);
        }
        taking.given_up.store(true, Ordering::Relaxed);
        let until = Instant::now() + LATE;
        responses.into_iter().for_each(|response| finished.add(response, until));
        let by = |capture: &Capture| (capture.kind, capture.pid, capture.source.clone());
        finished.taken.sort_by_key(|(capture, _)| by(capture));
        finished
    }
}

impl Finished {
    fn add(&mut self, response: Response, until: Instant) {
        let Response { source, begin_ns, raw } = response;
        let covered = raw.as_ref().map(Raw::covers).ok();
        match raw.and_then(|raw| raw.take_apart(until)) {
            Ok(taken) => {
                if let Some((kind, pids)) = covered {
                    let captured = self.captured.entry(kind).or_default();
                    if pids.is_empty() {
                        captured.unknown.insert(source.clone());
                    }
                    captured.pids.extend(pids);
                }
                let taken = taken.into_iter();
                self.taken.extend(taken.map(|one| (capture(&source, begin_ns, &one), one)));
            }
            Err(why) => self.failures.push(format!("{source}: {why}")),
        }
    }
}

impl Raw {
    /// What it is of, and of which processes as far as they are known.
    fn covers(&self) -> (ProfileKind, Vec<u32>) {
        match self {
            Self::Endpoint { kind, pid, .. } => (*kind, pid.iter().copied().collect()),
            Self::Perf(recorded) | Self::Beside(recorded) => {
                (ProfileKind::Perf, recorded.pids.clone())
            }
        }
    }

    fn take_apart(self, until: Instant) -> Result<Vec<Taken>, String> {
        match self {
            Self::Endpoint { kind, pid, bytes } => parse(kind, pid, bytes),
            Self::Perf(recorded) => {
                let pids = recorded.pids.clone();
                match perf::taken(recorded, until)? {
                    taken if taken.is_empty() => {
                        Err(format!("no samples of {pids:?}: they used no CPU time"))
                    }
                    taken => Ok(taken),
                }
            }
            Self::Beside(recorded) => perf::taken(recorded, until),
        }
    }
}

fn capture(source: &str, begin_ns: u64, taken: &Taken) -> Capture {
    Capture {
        kind: taken.kind,
        pid: taken.pid,
        source: source.to_string(),
        file: String::new(),
        begin_ns,
        end_ns: begin_ns + taken.samples.duration_ns.unwrap_or(0),
        duration_ns: taken.samples.duration_ns,
        samples: taken.samples.count().try_into().unwrap_or(0),
        total: taken.samples.total(),
    }
}

/// One thing to ask one source.
enum Inquiry {
    /// An endpoint.
    Endpoint(SocketAddr, Option<u32>, ProfileKind, &'static str),
    /// `perf`, about processes.
    Perf(Vec<u32>),
    /// `perf`, about processes that may have nothing to do.
    Beside(Vec<u32>),
}

impl Source {
    fn inquiries(&self) -> Vec<Inquiry> {
        match self {
            Self::Endpoint(address, pid) => ASKED
                .map(|(kind, name)| Inquiry::Endpoint(*address, *pid, kind, name))
                .into_iter()
                .collect(),
            Self::Perf(pids) => vec![Inquiry::Perf(pids.clone())],
            Self::Beside(pids) => vec![Inquiry::Beside(pids.clone())],
        }
    }
}

impl Inquiry {
    fn source(&self) -> String {
        match self {
            Self::Endpoint(address, _, _, name) => format!("http://{address}/debug/pprof/{name}"),
            Self::Perf(_) | Self::Beside(_) => format!("perf {}", perf::event()),
        }
    }

    /// Asks on a thread of its own, so that whoever is slow holds up nobody.
    fn ask_at(
        self,
        begin_ns: u64,
        seconds: u64,
        responses: Sender<Response>,
        given_up: Arc<AtomicBool>,
    ) {
        thread::spawn(move || {
            let wait_ns = begin_ns.saturating_sub(engine::clock::now_ns());
            thread::sleep(Duration::from_nanos(wait_ns));
            let (source, begin_ns) = (self.source(), engine::clock::now_ns());
            let record = |pids: &[u32]| perf::record(pids, seconds, &given_up);
            let raw = match self {
                Self::Endpoint(address, pid, kind, name) => {
                    fetch(address, name, seconds).map(|bytes| Raw::Endpoint { kind, pid, bytes })
                }
                Self::Perf(pids) => record(&pids).map(Raw::Perf),
                Self::Beside(pids) => record(&pids).map(Raw::Beside),
            };
            // Nobody listens any more after a visit that ended early.
            let _ = responses.send(Response { source, begin_ns, raw });
        });
    }
}

fn fetch(address: SocketAddr, name: &str, seconds: u64) -> Result<Vec<u8>, String> {
    let patience = Patience {
        step: Duration::from_secs(seconds) + LATE / 2,
        whole: Duration::from_secs(seconds) + LATE / 2,
        bytes_max: pprof::BYTES_MAX,
    };
    // With a time each of them is the difference between its end and its begin.
    let path = format!("/debug/pprof/{name}?seconds={seconds}");
    ask::get(address, &path, patience).map_err(|error| error.to_string())
}

fn parse(kind: ProfileKind, pid: Option<u32>, bytes: Vec<u8>) -> Result<Vec<Taken>, String> {
    let samples = pprof::decode(&bytes, kind).map_err(|error| error.to_string())?;
    if kind == ProfileKind::Block && samples.stacks.is_empty() {
        // The handler itself waited all the time.
        return Err("block profiles are off there (runtime.SetBlockProfileRate)".to_string());
    }
    Ok(vec![Taken { kind, pid, samples, bytes }])
}

/// Profiles the measured visit of a load that has one level; of the others one more visit.
pub(crate) fn run(bench: &mut Bench<'_>, hands: &mut Stagehands<'_, '_>) -> Result<(), LabError> {
    if let Some(profiler) = hands.profiler.take() {
        let Some(point) = bench.points.last().cloned() else { return Ok(()) };
        let at = bench.points.len() - 1;
        let serving = bench.observed.get(at).map(|observed| serving(bench, observed));
        let ending = match bench.outcome {
            Outcome::Complete => Ending::Complete,
            _ => Ending::Interrupted,
        };
        let finished = profiler.finish(ending);
        if let Some(serving) = serving {
            keep(bench, (Profiled::Point, at), (&point, serving), finished, hands.notify);
        }
        return Ok(());
    }
    if bench.trial.profile.is_none() || bench.outcome != Outcome::Complete {
        return Ok(());
    }
    let Some(at) = best(bench) else { return Ok(()) };
    hands.profiler = Profiler::of(bench);
    let level = bench.levels[at].clone();
    if let Some(config) = bench.trial.search {
        hands.until = Stop::AfterNs(config.trial_ns.max(3 * NS_PER_S));
    }
    let what = "a profiled visit of the best level".to_string();
    (hands.notify)(Event::Block { what, block: 1, of: 1 });
    let visited = visit(hands, &level, bench.levels.len() as u32 + 1)?;
    let window_ns = (visited.window_begin_ns, visited.gathered.window_end_ns());
    let Some(profiler) = hands.profiler.take() else { return Ok(()) };
    let finished = profiler.finish(visited.ending);
    match visited.ending {
        Ending::Complete => {}
        Ending::Interrupted => bench.outcome = Outcome::Interrupted,
        Ending::TargetLost => bench.outcome = Outcome::TargetLost,
    }
    if window_ns.0 < window_ns.1 {
        let observed = bench.observe(hands.watch, window_ns);
        let asking = fanout::asking(bench.trial, &level);
        let point = make_point(bench.trial, &asking, 1, &visited, window_ns, &observed);
        let serving = serving(bench, &observed);
        keep(bench, (Profiled::Repeat, at), (&point, serving), finished, hands.notify);
    }
    Ok(())
}

/// Which visits are profiled while they are measured: those of a load with one level, where every
/// figure belongs to the one visit. A series of levels is measured without.
fn is_of_the_point(question: Question) -> bool {
    matches!(question, Question::Load | Question::Churn)
}

/// The point whose level is profiled: the answer of a search, else the one with the highest rate.
fn best(bench: &Bench<'_>) -> Option<usize> {
    let answer = bench.search.as_ref().and_then(|search| search.answer.as_ref()?.rate);
    let is_answer = |point: &Point| answer.is_some() && point.load.rate == answer;
    bench.points.iter().rposition(is_answer).or_else(|| perturb::base_point(&bench.points))
}

/// Who served the requests of a visit.
fn serving(bench: &Bench<'_>, observed: &Observed) -> Result<Serving, String> {
    let (near, far) = (bench.target.server.as_ref(), bench.target.probe.as_ref());
    let server = far.map_or(near, |far| far.server.as_ref());
    let threads = observed.far.as_deref().unwrap_or(observed).server_threads.as_deref();
    let serving = Serving::of(server, threads)?;
    Ok(if far.is_some() { serving.elsewhere() } else { serving })
}

/// Puts what was taken into the record, and tells the files and the failures.
fn keep(
    bench: &mut Bench<'_>,
    (visit, at): (Profiled, usize),
    (point, serving): (&Point, Result<Serving, String>),
    Finished { taken, mut failures, captured }: Finished,
    notify: &mut dyn FnMut(Event),
) {
    let is_fanout = bench.trial.fanout.is_some();
    let absent = |kind: ProfileKind| match &serving {
        _ if is_fanout => Some(OF_STREAMS.to_string()),
        Ok(serving) => serving.absent(kind, &captured),
        Err(why) => Some(why.clone()),
    };
    let mut kinds = Vec::new();
    for kind in PROFILE_KINDS {
        let of_kind = taken.iter().filter(|(_, taken)| taken.kind == kind);
        let samples: Vec<&Samples> = of_kind.map(|(_, taken)| &taken.samples).collect();
        let absent = absent(kind);
        let weight = match &absent {
            Some(why) => Weight::Absent(why),
            None => {
                Weight::Requests { rate: point.answered_rate(), in_flight: point.in_flight.mean }
            }
        };
        match merged(kind, &samples, weight) {
            _ if samples.is_empty() => {}
            Ok(merged) => kinds.push(merged),
            Err(why) => failures.push(format!("{} profiles together: {why}", kind.name())),
        }
    }
    for why in &failures {
        bench.notice(format!("not profiled: {why}"), notify);
    }
    let mut captures = Vec::new();
    for (capture, taken) in taken {
        let path = format!("profiles/{}/{}", at + 1, file_name(&capture));
        captures.push(Capture { file: path.clone(), ..capture });
        notify(Event::Profile { path, bytes: taken.bytes });
    }
    bench.profile = Some(ProfileRecord {
        visit,
        point: at,
        window_ns: point.window_ns,
        rate: point.rate,
        in_flight: point.in_flight.mean,
        p50_ns: point.latency_ns.p50,
        server_us_per_request: point.cpu.server_us_per_request.filter(|_| !is_fanout),
        captures,
        failures,
        kinds,
    });
}

/// A name from the process, or from the address where that is not known.
fn file_name(capture: &Capture) -> String {
    let who = match capture.pid {
        Some(pid) => pid.to_string(),
        None => {
            let host = capture.source.trim_start_matches("http://").split('/').next();
            host.unwrap_or("unknown").replace(|c: char| !c.is_ascii_alphanumeric(), "-")
        }
    };
    format!("{who}-{}.pb.gz", capture.kind.name())
}
