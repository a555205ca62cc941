//! From options to a trial: everything "auto" is decided here.

use crate::calls::{self, Reach};
use crate::endpoints::WayError;
use crate::flows;
use crate::http;
use crate::machine::Machine;
use crate::options::{DriverChoice, Options, RetryChoice};
use crate::requests::{self, RequestPlan};
use crate::shape::Shape;
use crate::url::{Scheme, Url, UrlError};
use crate::usage::{Refusal, Usage};
use crate::values::{self, Evidence, LinkText, Profiles};
use model::figure::Whose;
use model::link::Links;
use model::load::{
    DriverKind, EvidenceFrom, Level, Manner, Question, Retry, ServerProcess, Stop, Trial, Warmup,
};
use model::profile::ProfileChoice;
use model::route::{Address, Resolution};
use model::sample::Bodies;
use std::net::IpAddr;

/// Longest warm-up that `auto` takes, nanoseconds.
const WARMUP_MAX_NS: u64 = 3_000_000_000;
/// How much longer than the time-out a drain may be, nanoseconds: requests that took too long are
/// looked for ten times a second, and all must have an outcome when the drain ends.
const DRAIN_SLACK_NS: u64 = 300_000_000;
/// Most worker threads for each CPU that this process may use.
const THREADS_PER_CPU: usize = 4;
/// Most worker threads for each CPU if connections come and go or are only held: each worker has a
/// table of files of its own, so that many workers hold more connections than one process may have
/// files.
const HOLDERS_PER_CPU: usize = 32;

/// Shortest window that has room for a profile, whose length is whole seconds, nanoseconds.
pub const PROFILED_WINDOW_MIN_NS: u64 = 1_300_000_000;

/// Decides everything and checks what can be checked without load.
pub fn resolve(options: &Options, shape: Shape, machine: &dyn Machine) -> Result<Trial, Refusal> {
    let cpus = cpus(options, machine)?;
    let threads_max = shape.levels.iter().map(Level::connections_max).max().unwrap_or(1);
    let seed = options.seed.as_ref().map_or_else(|| machine.seed(), |seed| seed.0);
    let RequestPlan { url, mut requests, mut targets, flow } =
        requests::resolve(options, seed, machine)?;
    let drain_ns = flows::drained(flow.as_ref(), options, &shape)?;
    let has_devices = shape.levels.iter().any(|level| level.life.hold.is_some());
    if url.scheme == Scheme::Tcp && !has_devices {
        let wrong = "is not HTTP, which this command needs (churn and find --hold do without)";
        let error = UrlError { typed: url.text, wrong: wrong.to_string() };
        return Err(Usage::from(error).into());
    }
    let no_requests = |level: &Level| level.life.requests == Some((0, 0));
    if has_devices && shape.levels.iter().all(no_requests) {
        requests::none_asked(options, &url)?;
    }
    let confirm = options.confirm.resolve(options.targets.as_ref(), &shape)?;
    let evidence = evidence(options, &shape)?;
    let (driver, driver_reason) = driver(options.driver, machine)?;
    let tls = options.secure.tls_for(&url, machine)?;
    let proxy = options.secure.proxy_for(&url);
    let way = way(options, &url, driver, &shape.levels, machine)?;
    let mut descriptors = Vec::new();
    if url.scheme.is_grpc() {
        let near = (&*way.addresses, &*url.authority);
        let reach = Reach::of(near, (tls.as_ref(), proxy.as_ref()), options.timeout.0);
        descriptors = calls::encode((&mut requests, &mut targets), options, reach, machine)?;
    }
    let server = server(options, machine)?;
    Ok(Trial {
        question: shape.question,
        requests,
        targets,
        // A thread without a connection has nothing to do.
        threads: threads(options, &shape, &way.addresses, machine)?.min(threads_max),
        warmup: warmup(options.warmup.as_ref(), shape.stop),
        stop: shape.stop,
        visits: shape.visits,
        repeats_max: shape.repeats_max,
        drain_ns: drain_ns.saturating_add(DRAIN_SLACK_NS),
        window_max_ns: None,
        timeout_ns: options.timeout.0,
        cpus,
        driver,
        driver_reason,
        manner: manner(options, &url, &shape)?,
        seed,
        server,
        links: links(&options.links, &way.addresses)?,
        runtime: options.runtime.as_ref().map(|at| at.0),
        sample_bodies: sample_bodies(options),
        descriptors,
        profile: profile(options, &shape)?,
        evidence,
        levels: shape.levels,
        tls,
        proxy,
        addresses: way.addresses,
        resolution: way.resolution,
        sources: way.sources,
        expect: options.expect.clone(),
        search: None,
        confirm,
        fanout: None,
        tool: None,
        flow,
        url: url.text,
    })
}

/// How the server is found.
fn server(options: &Options, machine: &dyn Machine) -> Result<ServerProcess, Usage> {
    Ok(match (&options.server_pid, options.probe.choice(machine)?) {
        (Some(pid), _) => ServerProcess::Pid(pid.0),
        (None, Some(probe)) => ServerProcess::Probe(probe),
        (None, None) => ServerProcess::ByPort,
    })
}

fn manner(options: &Options, url: &Url, shape: &Shape) -> Result<Manner, Usage> {
    Ok(Manner {
        coalesce_ns: options.coalesce.0,
        retry_unprocessed: retry(options.retry_unprocessed, shape)?,
        http: http::choice(options, url, shape)?,
        window: http::window(options, url, shape)?,
    })
}

fn sample_bodies(options: &Options) -> Bodies {
    match (options.sample_failures, options.keep_requests) {
        (false, _) => Bodies::Dropped,
        (true, false) => Bodies::Kept,
        (true, true) => Bodies::KeptWithRequests,
    }
}

/// Which requests are sent again.
fn retry(choice: Option<RetryChoice>, shape: &Shape) -> Result<Retry, Usage> {
    let retry = match choice {
        None => return Ok(Retry::Never),
        Some(RetryChoice::Idempotent) => Retry::Idempotent,
        Some(RetryChoice::Any) => Retry::Any,
    };
    match shape.levels.iter().any(Level::plans_starts) {
        true => Err(Usage(
            "--retry-unprocessed: connections are due here, not requests, so that a request has no \
             other connection; leave it out, or leave --rate out"
                .to_string(),
        )),
        false => Ok(retry),
    }
}

/// Limits of both links. A side that was named keeps its own.
fn links(stated: &[LinkText], addresses: &[Address]) -> Result<Links, Usage> {
    if !stated.is_empty() && !addresses.is_empty() && addresses.iter().all(Address::is_loopback) {
        return Err(Usage(
            "--link: the load goes over loopback, which is not a link; leave --link out"
                .to_string(),
        ));
    }
    let last = |side| stated.iter().rev().find(|one| one.side == side).map(|one| one.limits);
    let both = last(None);
    let of = |side| last(Some(side)).or(both);
    Ok(Links { client: of(Whose::Client), server: of(Whose::Server) })
}

/// Further evidence as requested, when there is a level to visit and a server to watch.
fn evidence(options: &Options, shape: &Shape) -> Result<Option<EvidenceFrom>, Usage> {
    let Some(Evidence(from)) = options.evidence else { return Ok(None) };
    let is_long = matches!(shape.stop, Stop::AfterNs(ns) if ns >= PROFILED_WINDOW_MIN_NS);
    let why = match shape.question {
        _ if options.probe.is_given() => {
            "watches a server of this host, and --probe is about another one; run ceiling there, \
             with a load like this"
        }
        Question::Load | Question::Ramp if is_long => return Ok(Some(from)),
        Question::Load | Question::Ramp => {
            "needs a window of at least 1.3s whose end is known; for example -d 10s"
        }
        Question::Find | Question::Churn | Question::Fanout => {
            "is for requests of ceiling load and ceiling ramp; ask for it at the level that they \
             show"
        }
    };
    Err(Usage(format!("--evidence {} {why}", from.name())))
}

/// Profiles as requested, when there is a window to take them in.
fn profile(options: &Options, shape: &Shape) -> Result<Option<ProfileChoice>, Usage> {
    let Some(Profiles(choice)) = &options.profile else { return Ok(None) };
    match shape.stop {
        Stop::AfterNs(ns) if ns >= PROFILED_WINDOW_MIN_NS || shape.question == Question::Find => {
            Ok(Some(choice.clone()))
        }
        Stop::AfterNs(_) => Err(Usage(
            "--profile takes whole seconds inside the window, so -d is at least 1.3s; for \
             example -d 10s"
                .to_string(),
        )),
        Stop::AfterRequests(_) => Err(Usage(
            "--profile needs a window whose end is known, which --requests does not give; for \
             example -d 10s"
                .to_string(),
        )),
    }
}

/// The way to the target, decided.
struct Way {
    resolution: Resolution,
    addresses: Vec<Address>,
    sources: Vec<IpAddr>,
}

/// Addresses and sources for the connections of the levels. The null driver has none.
fn way(
    options: &Options,
    url: &Url,
    driver: DriverKind,
    levels: &[Level],
    machine: &dyn Machine,
) -> Result<Way, Refusal> {
    // The proxy resolves the target's name.
    let near = options.secure.proxy().map_or(url, |proxy| &proxy.url);
    if driver == DriverKind::Null {
        if url.scheme.is_secure() || options.secure.proxy().is_some() {
            return Err(Refusal::Usage(Usage(
                "--driver null has no sockets, so neither TLS nor a proxy; for example ceiling \
                 load http://null/ --driver null"
                    .to_string(),
            )));
        }
        let (addresses, sources) = (Vec::new(), Vec::new());
        return Ok(Way { resolution: Resolution::default(), addresses, sources });
    }
    if let Some(why) = options.ways.without_effect(&near.host, near.port) {
        return Err(Refusal::Usage(Usage(why)));
    }
    let (resolution, addresses) =
        options.ways.find(&near.host, near.port, machine).map_err(|error| {
            let explained = format!("{error}; it comes from {} or from --connect-to", near.text);
            match error {
                WayError::Unknown { .. } => Refusal::NoAddress(explained),
                _ => Refusal::Usage(Usage(explained)),
            }
        })?;
    let sources = match &options.ways.source {
        Some(asked) => machine.sources(asked, levels, &addresses).map_err(Usage)?,
        None => Vec::new(),
    };
    Ok(Way { resolution, addresses, sources })
}

/// CPUs to pin to. Without this check the kernel would refuse a CPU only when the workers start.
fn cpus(options: &Options, machine: &dyn Machine) -> Result<Vec<usize>, Usage> {
    let asked = options.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default();
    let allowed = machine.cpus();
    let Some(refused) = asked.iter().find(|cpu| !allowed.contains(cpu)) else { return Ok(asked) };
    Err(Usage(format!(
        "--cpus: this process may not use CPU {refused}, only {}; for example \
         --cpus {}",
        listed(&allowed),
        allowed[0]
    )))
}

fn driver(choice: DriverChoice, machine: &dyn Machine) -> Result<(DriverKind, String), Usage> {
    let asked = "asked for".to_string();
    match choice {
        DriverChoice::Auto => Ok(machine.driver()),
        DriverChoice::Epoll => Ok((DriverKind::Epoll, asked)),
        DriverChoice::Null => Ok((DriverKind::Null, asked)),
        DriverChoice::Uring => match machine.uring() {
            Ok(()) => Ok((DriverKind::Uring, asked)),
            Err(reason) => Err(Usage(format!(
                "--driver uring: this kernel does not offer it ({reason}); use --driver epoll"
            ))),
        },
    }
}

/// A count-based stop promises exactly that many requests, so it has no warm-up unless requested.
fn warmup(choice: Option<&values::Warmup>, stop: Stop) -> Warmup {
    match (choice, stop) {
        (Some(values::Warmup(Some(ns))), _) => Warmup::ForNs(*ns),
        (None, Stop::AfterRequests(_)) => Warmup::ForNs(0),
        (Some(values::Warmup(None)) | None, _) => Warmup::SettleWithinNs(WARMUP_MAX_NS),
    }
}

fn threads(
    options: &Options,
    shape: &Shape,
    addresses: &[Address],
    machine: &dyn Machine,
) -> Result<u32, Usage> {
    let cpus = match &options.cpus {
        Some(cpus) => cpus.0.len(),
        None => machine.parallelism(),
    };
    let shares_host = addresses.iter().any(Address::is_loopback);
    match options.threads.0 {
        // A tool gets what its user typed, because that is what is measured.
        Some(threads) if shape.tool.is_some() => Ok(threads),
        Some(threads) => affordable(threads, shape.question, machine.cpus().len()),
        None if options.cpus.is_none() && shares_host => Ok((cpus / 2).max(1) as u32),
        None => Ok(cpus as u32),
    }
}

/// Threads beyond a few per CPU only take turns, and the wait for a turn counts as latency.
fn affordable(threads: u32, question: Question, cpus: usize) -> Result<u32, Usage> {
    let each = if question == Question::Churn { HOLDERS_PER_CPU } else { THREADS_PER_CPU };
    let threads_max = cpus * each;
    if threads as usize <= threads_max {
        return Ok(threads);
    }
    Err(Usage(format!(
        "--threads {threads}: threads that share a CPU wait for each other, and that would count \
         as latency; at most {threads_max} here ({each} x {cpus} CPUs); for example \
         --threads {cpus}"
    )))
}

/// CPUs in order as a list that `--cpus` takes: `0-3,6`.
fn listed(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|left, right| left + 1 == *right);
    let shown = runs.map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_threads_per_cpu_are_let_through() {
        let most = 4 * THREADS_PER_CPU as u32;
        assert_eq!(affordable(most, Question::Load, 4).ok(), Some(most));
        assert!(affordable(most + 1, Question::Load, 4).is_err());
        assert_eq!(affordable(most + 1, Question::Churn, 4).ok(), Some(most + 1));
    }

    #[test]
    fn lists_are_written_as_they_are_read() {
        for text in ["0", "0-1", "0-3,6", "1,3,5-7"] {
            assert_eq!(listed(&model::units::parse_cpus(text).unwrap()), text);
        }
    }
}
