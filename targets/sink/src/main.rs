//! The smallest HTTP/1.1 responder, used as the reference server.
//!
//! What this room is for: measuring what a client and the kernel cost when the server costs almost
//! nothing, and recording the true latency of every request, to check what clients report.
//! In: HTTP/1.1 requests over TCP; a command line that says how to delay, corrupt and drop
//! responses.
//! Out: responses; two lines of JSON on standard output; `/stats`; a file of arrivals.
//! Never: another crate of this repository, because a reference must not share bugs with what it
//! measures; an allocation or a log line per request; a lock per request, unless a capacity was
//! requested; a response before it is due.

#![allow(unsafe_code, reason = "rings shared with the kernel; it shares no code with the engine")]

mod options;
mod plan;
mod quantity;
mod usage;

mod crew;
mod listener;
mod worker;

mod peer;
mod poller;
mod timers;

mod connection;

mod chunks;
mod head;
mod prebuilt;
mod refusal;
mod request;
mod response;
mod route;

mod capacity;
mod delay;
mod fault;
mod random;

mod arrivals;
mod stats;

mod sys;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use clap::Parser;

use crate::arrivals::{Arrivals, Reserve, Tally};
use crate::capacity::Capacity;
use crate::connection::Clerk;
use crate::crew::Crew;
use crate::options::Options;
use crate::peer::Hands;
use crate::plan::{Listeners, Plan};
use crate::poller::Poller;
use crate::random::Random;
use crate::request::Memo;
use crate::sys::StopSignals;
use crate::worker::{Door, ForWhom, Worker};

const USAGE: u8 = 2;

fn main() -> ExitCode {
    let plan = match Options::try_parse() {
        Ok(options) => options.plan(),
        Err(error) if error.exit_code() == 0 => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(usage::explain(&error)),
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(text) => {
            eprintln!("target-sink: {text}");
            return ExitCode::from(USAGE);
        }
    };
    match serve(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("target-sink: {text}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal comes.
fn serve(plan: Plan) -> Result<(), String> {
    end_all_on_panic();
    sys::limit_fds(plan.fds_max)
        .map_err(|error| format!("set the limit of descriptors (--max-fds): {error}"))?;
    let mut file = ArrivalFile::create(&plan)?;
    let signals = StopSignals::hold().map_err(|error| format!("hold signals: {error}"))?;
    let (addr, sockets) = listener::open(plan.addr, plan.threads, plan.accept)
        .map_err(|error| explain_listen(plan.addr, &error))?;
    let crew = Crew::new(plan.threads, plan.service.start_ns)
        .map_err(|error| format!("start threads: {error}"))?;
    let crew = Arc::new(crew);
    let workers = workers(&plan, &crew, sockets, file.reserve())
        .map_err(|error| format!("start threads: {error}"))?;
    let threads = start(&plan, workers).map_err(|error| format!("start threads: {error}"))?;

    crew.ledger.reset();
    say(&format!(
        "{{\"event\":\"listening\",\"target\":\"sink\",\"addr\":\"{addr}\",\"pid\":{},\
         \"threads\":{},\"start_ns\":{}}}",
        process::id(),
        plan.threads,
        plan.service.start_ns
    ))?;
    signals.wait().map_err(|error| format!("wait for signals: {error}"))?;
    crew.stop();
    let mut arrivals = Vec::new();
    for thread in threads {
        let result = thread.join().map_err(|_| "a thread has panicked".to_owned())?;
        arrivals.extend(result.map_err(|error| format!("wait for events: {error}"))?);
    }
    // The record is read first, so that writing the arrivals is not charged to the requests.
    let line = crew.ledger.line("stopped");
    let tally = file.write(&arrivals)?;
    say(&with_tally(line, tally))
}

/// One worker for each thread, with every start-up step that can fail already done.
fn workers(
    plan: &Plan,
    crew: &Arc<Crew>,
    sockets: Vec<OwnedFd>,
    reserve: Option<&Arc<Reserve>>,
) -> io::Result<Vec<Worker>> {
    let mut sockets = sockets.into_iter();
    let for_whom = match plan.accept.listeners {
        Listeners::PerThread => ForWhom::Self_,
        Listeners::Single => ForWhom::InTurn(0),
    };
    let capacity = plan.hands.map(Capacity::new);
    (0..plan.threads)
        .map(|thread| {
            let clerk = Clerk {
                service: plan.service.clone(),
                memo: Memo::default(),
                random: Random::new(plan.service.seed, thread),
                arrivals: reserve.map(|reserve| Arrivals::new(reserve.clone())),
                capacity: capacity.clone(),
            };
            let hands = Hands::new(Poller::new(plan.clockwork)?, clerk);
            let delay_ns = plan.accept.delay_ns;
            let door = sockets.next().map(|socket| Door { socket, delay_ns, for_whom });
            Worker::new(thread, crew.clone(), hands, door)
        })
        .collect()
}

type Thread = JoinHandle<io::Result<Option<Arrivals>>>;

fn start(plan: &Plan, workers: Vec<Worker>) -> io::Result<Vec<Thread>> {
    let pins = plan.cpus.iter().copied().map(Some).cycle();
    let pins = pins.chain(std::iter::repeat(None));
    workers
        .into_iter()
        .zip(pins)
        .enumerate()
        .map(|(number, (worker, cpu))| {
            let name = format!("sink-{number}");
            let (ready, is_ready) = std::sync::mpsc::channel();
            let thread = thread::Builder::new().name(name).spawn(move || {
                let prepared = cpu.map_or(Ok(()), sys::pin_to).and_then(|()| sys::sharpen_timers());
                let failed = prepared.is_err();
                let _ = ready.send(prepared);
                if failed { Ok(None) } else { worker.run() }
            })?;
            let gone = |_| io::Error::other("a thread has ended");
            is_ready.recv().map_err(gone)??;
            Ok(thread)
        })
        .collect()
}

/// The file of arrivals, which is created at the start so that a wrong name fails at once.
struct ArrivalFile {
    open: Option<(File, String, Arc<Reserve>)>,
}

impl ArrivalFile {
    fn create(plan: &Plan) -> Result<Self, String> {
        let Some(wanted) = &plan.arrivals else { return Ok(Self { open: None }) };
        let name = wanted.path.display().to_string();
        let file = File::create(&wanted.path)
            .map_err(|error| format!("--log-arrivals cannot write {name}: {error}"))?;
        Ok(Self { open: Some((file, name, Reserve::new(wanted.capacity))) })
    }

    fn reserve(&self) -> Option<&Arc<Reserve>> {
        self.open.as_ref().map(|(_, _, reserve)| reserve)
    }

    fn write(&mut self, threads: &[Arrivals]) -> Result<Option<Tally>, String> {
        let Some((file, name, _)) = &mut self.open else { return Ok(None) };
        arrivals::write(threads, &mut BufWriter::new(file))
            .map(Some)
            .map_err(|error| format!("--log-arrivals cannot write {name}: {error}"))
    }
}

/// Appends the tally of the arrivals to the last line.
fn with_tally(line: String, tally: Option<Tally>) -> String {
    let Some(tally) = tally else { return line };
    let open = line.strip_suffix('}').unwrap_or(&line);
    format!("{open}{}}}", tally.json())
}

fn say(line: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| format!("write to standard output: {error}"))
}

fn explain_listen(addr: SocketAddr, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::AddrInUse {
        return format!(
            "{addr} is in use by another process; stop that process or choose another port, for \
             example --port 0"
        );
    }
    format!("listen on {addr}: {error}")
}

/// A panicked thread would leave its connections hanging, which looks like a slow server.
fn end_all_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        process::abort();
    }));
}
