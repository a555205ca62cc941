//! From options to a trial: everything "auto" is decided here.

use crate::cpus;
use crate::exit::Failure;
use crate::options::{DriverChoice, Options, Threads, WarmupChoice};
use crate::requests::{self, Asked};
use lab::target::{Scheme, Url, UrlError};
use model::load::{DriverKind, Level, Question, ServerProcess, Stop, Trial, Warmup};
use model::profile::ProfileChoice;
use model::route::{Address, Resolution};
use model::secret;
use std::net::IpAddr;
use std::thread::available_parallelism;

/// Longest warm-up that `auto` takes, nanoseconds.
const WARMUP_MAX_NS: u64 = 3_000_000_000;
/// How much longer than the time-out a drain may be, nanoseconds: requests that took too long are
/// looked for ten times a second, and all have a fate when it is over.
const DRAIN_SLACK_NS: u64 = 300_000_000;
/// Most worker threads for each CPU that this process may use.
const THREADS_PER_CPU: usize = 4;
/// The same for connections that come and go or are only held: each worker has a table of files of
/// its own, so that many workers hold more connections than one process may have files.
const HOLDERS_PER_CPU: usize = 32;

/// What differs between the commands.
pub struct Shape {
    /// What is asked.
    pub question: Question,
    /// The levels.
    pub levels: Vec<Level>,
    /// End of each level.
    pub stop: Stop,
    /// How often each level is visited.
    pub visits: u32,
    /// How often an unsteady level is repeated.
    pub repeats_max: u32,
}

/// Decides everything and checks what can be checked without load.
pub fn resolve(options: &Options, shape: Shape) -> Result<Trial, Failure> {
    let cpus = cpus(options)?;
    let threads_max = shape.levels.iter().map(Level::connections_max).max().unwrap_or(1);
    let seed = options.seed.unwrap_or_else(|| jiff::Timestamp::now().as_nanosecond() as u64 >> 10);
    let Asked { url, requests, targets } = requests::resolve(options, seed)?;
    if url.scheme == Scheme::Tcp && shape.question != Question::Churn {
        let wrong = "has no HTTP in it, which this command speaks (churn does without)";
        return Err(UrlError { typed: url.text, wrong: wrong.to_string() }.into());
    }
    let confirm = options.confirm.resolve(options, &shape)?;
    let (driver, driver_reason) = driver(options.driver)?;
    let tls = options.secure.tls_for(&url)?;
    let proxy = options.secure.proxy_for(&url);
    let way = way(options, &url, driver, &shape.levels)?;
    let server = match (options.server_pid, options.probe.choice()?) {
        (Some(pid), _) => ServerProcess::Pid(pid),
        (None, Some(probe)) => ServerProcess::Probe(probe),
        (None, None) => ServerProcess::ByPort,
    };
    Ok(Trial {
        question: shape.question,
        requests,
        targets,
        // A thread without a connection has nothing to do.
        threads: threads(options, shape.question, &way.addresses)?.min(threads_max),
        warmup: warmup(options.warmup, shape.stop),
        stop: shape.stop,
        visits: shape.visits,
        repeats_max: shape.repeats_max,
        drain_ns: options.timeout.saturating_add(DRAIN_SLACK_NS),
        window_max_ns: None,
        timeout_ns: options.timeout,
        cpus,
        driver,
        driver_reason,
        coalesce_ns: options.coalesce,
        seed,
        server,
        runtime: options.runtime,
        profile: profile(options, &shape)?,
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
        url: url.text,
    })
}

/// Profiles as asked, when there is a window to take them in.
fn profile(options: &Options, shape: &Shape) -> Result<Option<ProfileChoice>, Failure> {
    let Some(choice) = &options.profile else { return Ok(None) };
    match shape.stop {
        Stop::AfterNs(ns)
            if ns >= lab::PROFILED_WINDOW_MIN_NS || shape.question == Question::Find =>
        {
            Ok(Some(choice.clone()))
        }
        Stop::AfterNs(_) => Err(Failure::Usage(
            "--profile takes whole seconds inside the window, so -d is at least 1.3s; for \
             example -d 10s"
                .to_string(),
        )),
        Stop::AfterRequests(_) => Err(Failure::Usage(
            "--profile needs a window whose end is known, which --requests has not; for example \
             -d 10s"
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

/// Addresses and sources for so many connections. The null driver goes nowhere.
fn way(options: &Options, url: &Url, driver: DriverKind, levels: &[Level]) -> Result<Way, Failure> {
    // The proxy resolves the target's name.
    let near = options.secure.proxy().map_or(url, |proxy| &proxy.url);
    if driver == DriverKind::Null {
        if url.scheme == Scheme::Https || options.secure.proxy().is_some() {
            return Err(Failure::Usage(
                "--driver null has no sockets, so neither TLS nor a proxy; for example ceiling \
                 load http://null/ --driver null"
                    .to_string(),
            ));
        }
        let (addresses, sources) = (Vec::new(), Vec::new());
        return Ok(Way { resolution: Resolution::default(), addresses, sources });
    }
    let ways = options.ways.ways();
    let (resolution, addresses) = ways.find(&near.host, near.port).map_err(|error| {
        Failure::Usage(format!("{error}; it is that of {} or of --connect-to", near.text))
    })?;
    let sources = ways.find_sources(levels, &addresses);
    let sources = sources.map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Way { resolution, addresses, sources })
}

/// The URL, with a scheme in any case (RFC 3986, 3.1); told and recorded as typed, without secrets.
pub fn url(typed: &str) -> Result<Url, Failure> {
    let plain = match typed.split_once("://") {
        Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()),
        None => typed.to_string(),
    };
    let typed = secret::text(typed);
    match Url::parse(&plain) {
        Ok(url) => Ok(Url { text: typed, ..url }),
        Err(error) => Err(UrlError { typed, ..error }.into()),
    }
}

/// CPUs to pin to. The kernel would refuse one that is not ours when the workers start.
fn cpus(options: &Options) -> Result<Vec<usize>, Failure> {
    let asked = options.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default();
    let allowed = cpus::allowed();
    let Some(refused) = asked.iter().find(|cpu| !allowed.contains(cpu)) else { return Ok(asked) };
    Err(Failure::Usage(format!(
        "--cpus: CPU {refused} is not one that this process may use, which are {}; for example \
         --cpus {}",
        cpus::listed(&allowed),
        allowed[0]
    )))
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

fn threads(options: &Options, question: Question, addresses: &[Address]) -> Result<u32, Failure> {
    let cpus = match &options.cpus {
        Some(cpus) => cpus.0.len(),
        None => available_parallelism().map_or(1, usize::from),
    };
    let shares_host = addresses.iter().any(Address::is_loopback);
    match options.threads {
        Threads::Exactly(threads) => affordable(threads, question),
        Threads::Auto if options.cpus.is_none() && shares_host => Ok((cpus / 2).max(1) as u32),
        Threads::Auto => Ok(cpus as u32),
    }
}

/// Threads beyond a few per CPU only take turns, and what waits for its turn is booked as latency.
fn affordable(threads: u32, question: Question) -> Result<u32, Failure> {
    let cpus = cpus::allowed().len();
    let each = if question == Question::Churn { HOLDERS_PER_CPU } else { THREADS_PER_CPU };
    let threads_max = cpus * each;
    if threads as usize <= threads_max {
        return Ok(threads);
    }
    Err(Failure::Usage(format!(
        "--threads {threads}: threads that share a CPU wait for each other, and that would count \
         as latency; at most {threads_max} here ({each} x {cpus} CPUs); for example \
         --threads {cpus}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_may_be_in_any_case_and_stays_as_typed() {
        let parsed = url("HTTP://Example.test/A?b=C://D").unwrap();
        assert_eq!(parsed.text, "HTTP://Example.test/A?b=C://D");
        assert_eq!((parsed.host.as_str(), parsed.path.as_str()), ("Example.test", "/A?b=C://D"));
        assert_eq!(url("HTTPS://x/").unwrap().port, 443);
        let secret = url("http://h/a?token=b&c=d").unwrap();
        assert_eq!(
            (secret.text.as_str(), secret.path.as_str()),
            ("http://h/a?token=***&c=d", "/a?token=b&c=d")
        );
        let refused = url("http://me:pw@h/").err().unwrap().to_string();
        assert!(refused.contains("'http://me:***@h/' has a user name"), "{refused}");
        let refused = url("FTP://x/").err().unwrap().to_string();
        assert!(refused.contains("'FTP://x/'") && refused.contains("https"), "{refused}");
    }

    #[test]
    fn a_few_threads_per_cpu_are_let_through() {
        let most = (cpus::allowed().len() * THREADS_PER_CPU) as u32;
        let load = Question::Load;
        assert_eq!(affordable(most, load).ok(), Some(most));
        assert!(affordable(most + 1, load).is_err());
        assert_eq!(affordable(most + 1, Question::Churn).ok(), Some(most + 1));
    }
}
