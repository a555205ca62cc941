//! Profiles of the server in the measured window of a visit.
//!
//! Every source has its own thread, which sleeps while the profile lasts and does not touch the
//! workers. A profile that cannot be taken becomes one sentence, and the run continues. The raw
//! bytes are parsed after the visit, when no measurement runs.

mod perf;
pub(crate) mod serving;
mod sources;

use self::serving::Captured;
use model::load::{Question, Trial};
use model::order::OrderBy as _;
use model::profile::{Capture, ProfileKind};
use model::run::{Outcome, Target};
use model::units::{NS_PER_MS, NS_PER_S};
use probe::ask::{self, Patience};
use profile::{Samples, pprof};
use sources::ProfileSource;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A profile starts this long after its window, so that it is entirely inside, nanoseconds.
const BEGIN_NS: u64 = 100 * NS_PER_MS;
/// It ends at least this long before the window: its handler may start late, nanoseconds.
const END_NS: u64 = 200 * NS_PER_MS;
const _: () = assert!(plan::PROFILED_WINDOW_MIN_NS == NS_PER_S + BEGIN_NS + END_NS);
/// How long to wait for responses after their time: names are looked up then, and text is made.
const LATE: Duration = Duration::from_secs(20);
/// The profiles requested from a Go server, and their paths.
const ASKED: [(ProfileKind, &str); 4] = [
    (ProfileKind::Cpu, "profile"),
    (ProfileKind::Block, "block"),
    (ProfileKind::Mutex, "mutex"),
    (ProfileKind::Heap, "heap"),
];

/// Takes profiles of one visit.
pub(crate) struct Profiler {
    sources: Vec<ProfileSource>,
    /// Inquiries that are ready for the next window.
    inquiries: Vec<Inquiry>,
    failures: Vec<String>,
    taking: Option<Taking>,
}

/// Profiles under way.
struct Taking {
    responses: Receiver<Fetched>,
    awaited: usize,
    given_up: Arc<AtomicBool>,
    until: Instant,
}

/// The response to one inquiry, and when that was made.
struct Fetched {
    source: String,
    begin_ns: u64,
    raw: Result<Raw, String>,
}

/// The raw bytes: parsing costs CPU time, and a window has none to spare.
enum Raw {
    /// From an endpoint.
    Endpoint { kind: ProfileKind, pid: Option<u32>, bytes: Vec<u8> },
    /// From `perf`, about processes that must have used CPU time.
    Perf(perf::Recorded),
    /// From `perf`, about processes that may have been idle.
    Beside(perf::Recorded),
}

/// The results of all inquiries.
#[derive(Default)]
pub(crate) struct Finished {
    /// Profiles, each with its origin.
    pub(crate) taken: Vec<(Capture, Taken)>,
    /// Why others are missing.
    pub(crate) failures: Vec<String>,
    /// The processes they cover.
    pub(crate) captured: BTreeMap<ProfileKind, Captured>,
}

/// A profile of one process.
pub(crate) struct Taken {
    pub(crate) kind: ProfileKind,
    pid: Option<u32>,
    pub(crate) samples: Samples,
    lacks_kernel: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Profiler {
    /// For a load with one level, whose visits are profiled while they are measured.
    pub(crate) fn of_the_point(trial: &Trial, target: &Target) -> Option<Self> {
        Self::of(trial, target).filter(|_| is_of_the_point(trial))
    }

    /// Looks for sources of profiles. None when no profile is requested.
    pub(crate) fn of(trial: &Trial, target: &Target) -> Option<Self> {
        let choice = trial.profile.as_ref()?;
        let (sources, failures) = sources::find(choice, target, trial);
        Some(Self { sources, inquiries: Vec::new(), failures, taking: None })
    }

    /// Prepares, before the load of a visit, the inquiries of its window.
    pub(crate) fn prepare(&mut self) {
        if self.inquiries.is_empty() {
            self.inquiries = self.sources.iter().flat_map(ProfileSource::inquiries).collect();
        }
    }

    /// Asks every source for a profile of the whole seconds inside a window. Returns at once.
    pub(crate) fn start(&mut self, window_ns: (u64, u64)) {
        let length_ns = window_ns.1.saturating_sub(window_ns.0);
        let seconds = length_ns.saturating_sub(BEGIN_NS + END_NS) / NS_PER_S;
        if seconds == 0 || window_ns.1 == u64::MAX {
            self.failures.push("the window is too short for a profile".to_string());
            return;
        }
        let (sender, responses) = channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let inquiries = std::mem::take(&mut self.inquiries);
        let awaited = inquiries.len();
        for inquiry in inquiries {
            let begin_ns = window_ns.0 + BEGIN_NS;
            inquiry.ask_at(begin_ns, seconds, sender.clone(), given_up.clone());
        }
        let until = Instant::now() + Duration::from_nanos(length_ns) + LATE;
        self.taking = Some(Taking { responses, awaited, given_up, until });
    }

    /// Whether any source was asked.
    pub(crate) fn has_begun(&self) -> bool {
        self.taking.as_ref().is_some_and(|taking| taking.awaited > 0)
    }

    /// Waits for the responses and parses them. After a visit that ended early it does not wait.
    pub(crate) fn finish(mut self, ending: Outcome) -> Finished {
        let failures = std::mem::take(&mut self.failures);
        let mut finished = Finished { failures, ..Finished::default() };
        let Some(taking) = self.taking.take() else { return finished };
        let mut responses = Vec::new();
        for _ in 0..taking.awaited {
            let left = match ending {
                Outcome::Complete => taking.until.saturating_duration_since(Instant::now()),
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
        finished.taken.order_by_key(|(capture, _)| by(capture));
        finished
    }
}

impl Finished {
    fn add(&mut self, response: Fetched, until: Instant) {
        let Fetched { source, begin_ns, raw } = response;
        let covered = raw.as_ref().map(Raw::covers).ok();
        let begin_ns = raw.as_ref().ok().and_then(Raw::begin_ns).unwrap_or(begin_ns);
        match raw.and_then(|raw| raw.take_apart(until)) {
            Ok(taken) => {
                if let Some((kind, pids)) = covered {
                    let captured = self.captured.entry(kind).or_default();
                    if pids.is_empty() {
                        captured.unknown.insert(source.clone());
                    }
                    captured.pids.extend(pids);
                }
                if taken.iter().any(|one| one.lacks_kernel) {
                    let why = format!(
                        "{source}: time in the kernel, which this user may not sample; to sample \
                         it, run as root or set kernel.perf_event_paranoid to 1"
                    );
                    // `perf` may be asked twice.
                    if !self.failures.contains(&why) {
                        self.failures.push(why);
                    }
                }
                let taken = taken.into_iter();
                self.taken.extend(taken.map(|one| (capture(&source, begin_ns, &one), one)));
            }
            Err(why) => self.failures.push(format!("{source}: {why}")),
        }
    }
}

impl Raw {
    /// Its kind, and its processes where they are known.
    fn covers(&self) -> (ProfileKind, Vec<u32>) {
        match self {
            Self::Endpoint { kind, pid, .. } => (*kind, pid.iter().copied().collect()),
            Self::Perf(recorded) | Self::Beside(recorded) => {
                (ProfileKind::Perf, recorded.pids.clone())
            }
        }
    }

    /// When it started, if that is later than requested.
    fn begin_ns(&self) -> Option<u64> {
        match self {
            Self::Endpoint { .. } => None,
            Self::Perf(recorded) | Self::Beside(recorded) => Some(recorded.begin_ns),
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
        lacks_kernel: taken.lacks_kernel,
    }
}

/// One inquiry to one source.
enum Inquiry {
    /// An endpoint.
    Endpoint(SocketAddr, Option<u32>, ProfileKind, &'static str),
    /// `perf`, about processes.
    Perf(Result<perf::Recorder, String>),
    /// `perf`, about processes that may be idle.
    Beside(Result<perf::Recorder, String>),
}

impl ProfileSource {
    /// Starts what needs time to get ready.
    fn inquiries(&self) -> Vec<Inquiry> {
        match self {
            Self::Endpoint(address, pid) => {
                ASKED.map(|(kind, name)| Inquiry::Endpoint(*address, *pid, kind, name)).into()
            }
            Self::Perf(pids) => vec![Inquiry::Perf(perf::Recorder::open(pids))],
            Self::Beside(pids) => vec![Inquiry::Beside(perf::Recorder::open(pids))],
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

    /// Makes the request on a separate thread, so that a slow source does not delay the others.
    fn ask_at(
        self,
        begin_ns: u64,
        seconds: u64,
        responses: Sender<Fetched>,
        given_up: Arc<AtomicBool>,
    ) {
        let until_ns = begin_ns + seconds * NS_PER_S;
        thread::spawn(move || {
            let wait_ns = begin_ns.saturating_sub(engine::clock::now_ns());
            thread::sleep(Duration::from_nanos(wait_ns));
            let (source, begin_ns) = (self.source(), engine::clock::now_ns());
            let record = |opened: Result<perf::Recorder, String>| {
                opened.and_then(|recorder| recorder.record(until_ns, &given_up))
            };
            let raw = match self {
                Self::Endpoint(address, pid, kind, name) => {
                    fetch(address, name, seconds).map(|bytes| Raw::Endpoint { kind, pid, bytes })
                }
                Self::Perf(opened) => record(opened).map(Raw::Perf),
                Self::Beside(opened) => record(opened).map(Raw::Beside),
            };
            // After a visit that ended early the receiver is gone.
            let _ = responses.send(Fetched { source, begin_ns, raw });
        });
    }
}

fn fetch(address: SocketAddr, name: &str, seconds: u64) -> Result<Vec<u8>, String> {
    let patience = Patience {
        step: Duration::from_secs(seconds) + LATE / 2,
        whole: Duration::from_secs(seconds) + LATE / 2,
        bytes_max: pprof::BYTES_MAX,
    };
    // With a duration, each of them is the difference between its end and its start.
    let path = format!("/debug/pprof/{name}?seconds={seconds}");
    ask::get(address, &path, patience).map_err(|error| error.to_string())
}

fn parse(kind: ProfileKind, pid: Option<u32>, bytes: Vec<u8>) -> Result<Vec<Taken>, String> {
    let samples = pprof::decode(&bytes, kind).map_err(|error| error.to_string())?;
    if kind == ProfileKind::Block && samples.stacks.is_empty() {
        // The handler itself waited all the time, which a block profile would show.
        return Err("block profiles are off there (runtime.SetBlockProfileRate)".to_string());
    }
    Ok(vec![Taken { kind, pid, samples, lacks_kernel: false, bytes }])
}

/// Whether visits are profiled while they are measured: for a load with one level, where every
/// figure belongs to the one visit. A series of levels is measured without profiles.
fn is_of_the_point(trial: &Trial) -> bool {
    matches!(trial.question, Question::Load | Question::Churn) && trial.levels.len() == 1
}
