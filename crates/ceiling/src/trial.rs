//! From options to a trial: everything "auto" is decided here.

use crate::exit::Failure;
use crate::options::{DriverChoice, Options, Threads, WarmupChoice};
use lab::target::Url;
use model::load::{
    Arrival, DriverKind, Level, Question, Request, ServerProcess, Stop, Trial, Warmup,
};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::thread::available_parallelism;

/// Longest warm-up that `auto` takes, nanoseconds.
const WARMUP_MAX_NS: u64 = 3_000_000_000;
/// How long answers are awaited after the last send, nanoseconds.
const DRAIN_NS: u64 = 2_000_000_000;

/// What differs between the commands.
pub struct Shape {
    /// What is asked.
    pub question: Question,
    /// Connections of each level.
    pub connections: Vec<u32>,
    /// End of each level.
    pub stop: Stop,
    /// How often an unsteady level is repeated.
    pub repeats_max: u32,
}

/// Decides everything and checks what can be checked without load.
pub fn resolve(options: &Options, shape: Shape) -> Result<Trial, Failure> {
    let url = Url::parse(&options.url)?;
    let (driver, driver_reason) = driver(options.driver)?;
    let addresses = if driver == DriverKind::Null {
        Vec::new()
    } else {
        url.resolve().map_err(|error| {
            Failure::Usage(format!("cannot find host '{}' of {}: {error}", url.host, url.text))
        })?
    };
    let level = |connections: &u32| Level {
        connections: *connections,
        depth: options.depth,
        arrival: Arrival::Closed,
    };
    let server = match options.server_pid {
        Some(pid) => ServerProcess::Pid(pid),
        None => ServerProcess::ByPort,
    };
    Ok(Trial {
        question: shape.question,
        request: request(options, &url)?,
        threads: threads(options, &addresses),
        levels: shape.connections.iter().map(level).collect(),
        warmup: warmup(options.warmup, shape.stop),
        stop: shape.stop,
        repeats_max: shape.repeats_max,
        drain_ns: DRAIN_NS.min(options.timeout),
        timeout_ns: options.timeout,
        cpus: options.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default(),
        driver,
        driver_reason,
        coalesce_ns: options.coalesce,
        seed: options.seed.unwrap_or_else(|| jiff::Timestamp::now().as_nanosecond() as u64 >> 10),
        server,
        addresses,
        url: url.text,
    })
}

fn driver(choice: DriverChoice) -> Result<(DriverKind, String), Failure> {
    let asked = "asked for".to_string();
    match choice {
        DriverChoice::Auto => Ok(engine::choose_driver()),
        DriverChoice::Epoll => Ok((DriverKind::Epoll, asked)),
        DriverChoice::Null => Ok((DriverKind::Null, asked)),
        DriverChoice::Uring => match engine::driver::uring::check() {
            Ok(()) => Ok((DriverKind::Uring, asked)),
            Err(reason) => Err(Failure::Usage(format!(
                "--driver uring: this kernel does not offer it ({reason}); use --driver epoll"
            ))),
        },
    }
}

/// A count-based stop promises exactly that many requests, so it has no warm-up unless asked.
fn warmup(choice: Option<WarmupChoice>, stop: Stop) -> Warmup {
    match (choice, stop) {
        (Some(WarmupChoice::ForNs(ns)), _) => Warmup::ForNs(ns),
        (None, Stop::AfterRequests(_)) => Warmup::ForNs(0),
        (Some(WarmupChoice::Auto) | None, _) => Warmup::SettleWithinNs(WARMUP_MAX_NS),
    }
}

fn request(options: &Options, url: &Url) -> Result<Request, Failure> {
    let body = match (&options.body, &options.body_file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(path)) => fs::read(path).map_err(|error| {
            Failure::Usage(format!("--body-file: cannot read {}: {error}", path.display()))
        })?,
        (None, None) => Vec::new(),
    };
    let has_body = options.body.is_some() || options.body_file.is_some();
    let method = if has_body { "POST" } else { "GET" };
    let request = Request {
        method: options.method.clone().unwrap_or_else(|| method.to_string()),
        path: url.path.clone(),
        host: url.authority.clone(),
        headers: options.headers.clone(),
        body,
    };
    // Encoding it is the check.
    wire::tape::Tape::new(std::slice::from_ref(&request), 1)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(request)
}

fn threads(options: &Options, addresses: &[SocketAddr]) -> u32 {
    let cpus = match &options.cpus {
        Some(cpus) => cpus.0.len(),
        None => available_parallelism().map_or(1, usize::from),
    };
    let shares_host = addresses.iter().any(|address| is_loopback(address.ip()));
    match options.threads {
        Threads::Exactly(threads) => threads,
        Threads::Auto if options.cpus.is_none() && shares_host => (cpus / 2).max(1) as u32,
        Threads::Auto => cpus as u32,
    }
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback(),
        IpAddr::V6(v6) => {
            v6.is_loopback() || v6.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }
    }
}
