//! Options that `load` and `ramp` share. Names are those fingers know from wrk, then curl.

use crate::confirm::ConfirmOptions;
use crate::endpoints::WayOptions;
use crate::exit::Strictness;
use crate::remote_probe::ProbeOptions;
use crate::secure::Secure;
use clap::{Args, ValueEnum};
use model::check::{Digest, Lengths, Needle, Statuses};
use model::objective::{Objective, ObjectiveError};
use model::profile::ProfileChoice;
use model::units::{parse_count, parse_cpus, parse_duration_ns};
use report::Style;
use std::env;
use std::io::{IsTerminal, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What is asked of the target, and how.
#[derive(Debug, Args)]
pub struct Options {
    /// Where: http[s]://HOST[:PORT][/PATH]; with --targets, the server of their paths
    #[arg(required_unless_present = "targets")]
    pub url: Option<String>,

    /// File with a mix of requests: JSON lines, or what vegeta reads
    #[arg(short = 'i', long, value_name = "FILE",
          conflicts_with_all = ["method", "body", "body_file"])]
    pub targets: Option<PathBuf>,

    /// Requests in flight per connection (HTTP/1.1 pipelining)
    #[arg(short = 'p', long, value_name = "N", default_value = "1", value_parser = depth)]
    pub depth: u32,

    /// Worker threads, or auto: one per CPU, half of them when the server is on this host
    #[arg(short = 't', long, value_name = "N|auto", default_value = "auto", value_parser = threads)]
    pub threads: Threads,

    /// CPUs to pin the workers to, in turn: 1,2 or 4-7
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<CpuList>,

    /// How bytes move; auto takes uring when the kernel has what it needs
    #[arg(long, value_name = "DRIVER", default_value = "auto", hide_possible_values = false)]
    pub driver: DriverChoice,

    /// Load before measuring, or auto: until throughput settles (at most 3 s)
    #[arg(long, value_name = "T|auto", value_parser = warmup)]
    pub warmup: Option<WarmupChoice>,

    /// A request without a complete response after this time failed
    #[arg(short = 'T', long, value_name = "T", default_value = "10s", value_parser = duration)]
    pub timeout: u64,

    /// Pause after a thin poll: fewer wake-ups for up to this much latency; 0 is off
    #[arg(long, value_name = "T", default_value = "0", value_parser = coalesce)]
    pub coalesce: u64,

    /// A header, 'Name: value'; repeatable
    #[arg(short = 'H', long = "header", value_name = "LINE", value_parser = header)]
    pub headers: Vec<(String, String)>,

    /// A header whose value is a secret, beside Authorization, Cookie and the like; repeatable
    #[arg(long = "secret-header", value_name = "NAME", value_parser = header_name)]
    pub secret_headers: Vec<String>,

    /// Keep headers and bodies of requests in the record, secrets included
    #[arg(long)]
    pub keep_requests: bool,

    /// Method; POST when there is a body, else GET
    #[arg(short = 'X', long, short_alias = 'm', value_name = "METHOD")]
    pub method: Option<String>,

    /// Body of the request
    #[arg(short = 'b', long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<String>,

    /// File with the body of the request
    #[arg(short = 'f', long, value_name = "FILE")]
    pub body_file: Option<PathBuf>,

    #[command(flatten)]
    pub ways: WayOptions,

    #[command(flatten)]
    pub confirm: ConfirmOptions,

    /// What must hold, else exit 3: 'p99<2ms,errors<0.1%'; see below
    #[arg(long, value_name = "TERMS", value_parser = objective)]
    pub expect: Option<Objective>,

    /// Fill in templates like {{seq}}, {{random:1..9}}, {{uuid}} and {{csv:FILE:COLUMN}} in path,
    /// headers and body, in N requests that are sent in turn; without it {{ is plain text
    #[arg(long, value_name = "N", value_parser = positive)]
    pub expand: Option<u64>,

    #[command(flatten)]
    pub checks: CheckOptions,

    /// Seed of everything random; drawn and recorded when not given
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,

    /// The server's process, when it cannot be found by its port
    #[arg(long, value_name = "PID", value_parser = pid, conflicts_with = "probe")]
    pub server_pid: Option<u32>,

    /// Where the server's runtime tells about itself (Go targets: --debug-addr): garbage
    /// collection, waits for locks
    #[arg(long, value_name = "ADDR:PORT", value_parser = runtime, conflicts_with = "probe")]
    pub runtime: Option<SocketAddr>,

    /// Profile the server in whole seconds of the measured window: auto asks every process of it
    /// that has a Go endpoint (--debug-addr of the targets) and takes perf for the others; or name
    /// endpoints; or perf. load and churn profile their window and say so; ramp and find visit
    /// the best level once more, so that no figure includes the cost
    #[arg(long, value_name = "auto|ADDR:PORT,..|perf", value_parser = profile)]
    pub profile: Option<ProfileChoice>,

    #[command(flatten)]
    pub probe: ProbeOptions,

    /// Write a file, format by suffix: .json .csv .hlog .html; repeatable
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Vec<PathBuf>,

    /// Exit 4 when any validity check is broken, also one that leaves the figure asked for known
    #[arg(long)]
    pub strict: bool,

    /// Print the record on stdout instead of text
    #[arg(long)]
    pub json: bool,

    /// Print all percentiles
    #[arg(short = 'L', long)]
    pub latency: bool,

    /// No progress, and no text when -o or --json say where results go
    #[arg(short = 'q', long)]
    pub quiet: bool,

    #[command(flatten)]
    pub colour: Colour,

    #[command(flatten)]
    pub runs: Runs,

    #[command(flatten)]
    pub secure: Secure,
}

impl Options {
    /// Which broken gates make a measurement not valid.
    pub fn strictness(&self) -> Strictness {
        if self.strict { Strictness::EveryGate } else { Strictness::OfFigure }
    }
}

/// What a good response must be like; a response that is not so failed.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// Statuses that are good: 200 or 2xx,304
    #[arg(long = "check-status", value_name = "LIST")]
    pub status: Option<Statuses>,

    /// Length of the body in bytes: 16 or 100..4k
    #[arg(long = "check-length", value_name = "N|A..B")]
    pub length: Option<Lengths>,

    /// Text that the body must hold
    #[arg(id = "check_body", long = "check-body", value_name = "TEXT")]
    pub body: Option<Needle>,

    /// SHA-256 of the whole body
    #[arg(long = "check-sha256", value_name = "HEX")]
    pub sha256: Option<Digest>,
}

/// Where runs are.
#[derive(Debug, Args)]
pub struct Runs {
    /// Directory that runs are kept in, or none
    #[arg(long, value_name = "DIR|none", env = "CEILING_RUNS")]
    runs: Option<PathBuf>,
}

impl Runs {
    /// As asked, else in the user's state directory; nothing when asked for none or when there is
    /// no home.
    pub fn directory(&self) -> Option<PathBuf> {
        match &self.runs {
            Some(path) if path.as_os_str() == "none" => None,
            Some(path) => Some(path.clone()),
            None => {
                let state = env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty());
                let state = state.map(PathBuf::from).or_else(|| {
                    env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"))
                });
                state.map(|state| state.join("ceiling/runs"))
            }
        }
    }
}

/// Whether text has colours.
#[derive(Debug, Args)]
pub struct Colour {
    /// No colours, also on a terminal
    #[arg(long)]
    no_color: bool,
}

impl Colour {
    /// Colours on a terminal only, and not when the user says no (<https://no-color.org>).
    pub fn style(&self) -> Style {
        let refused = self.no_color || env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
        if stdout().is_terminal() && !refused { Style::Colour } else { Style::Plain }
    }
}

/// Worker threads as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    Auto,
    Exactly(u32),
}

/// Warm-up as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmupChoice {
    Auto,
    ForNs(u64),
}

/// CPUs in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

/// Drivers as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DriverChoice {
    /// The best this kernel has
    Auto,
    /// io_uring
    Uring,
    /// epoll
    Epoll,
    /// No sockets: measures ceiling's own user code
    Null,
}

/// A whole number above zero, for counts that must fit in 32 bits.
pub fn positive(text: &str) -> Result<u64, String> {
    let error = || format!("'{text}' is not a whole number above 0; for example 50 or 5k");
    let value = parse_count(text).map_err(|_| error())?;
    if (1..=u64::from(u32::MAX)).contains(&value) { Ok(value) } else { Err(error()) }
}

/// A duration above zero.
pub fn duration(text: &str) -> Result<u64, String> {
    let ns = parse_duration_ns(text).map_err(|error| error.to_string())?;
    if ns > 0 {
        Ok(ns)
    } else {
        Err(format!("'{text}' is no time at all; for example 500ms or 10s"))
    }
}

fn depth(text: &str) -> Result<u32, String> {
    let error = || format!("'{text}' is not a depth from 1 to 10000; for example 1 or 16");
    let value = parse_count(text).map_err(|_| error())?;
    if (1..=10_000).contains(&value) { Ok(value as u32) } else { Err(error()) }
}

fn threads(text: &str) -> Result<Threads, String> {
    let error =
        || format!("'{text}' is not a number of threads from 1 to 1024, or auto; for example 2");
    if text == "auto" {
        return Ok(Threads::Auto);
    }
    let value = parse_count(text).map_err(|_| error())?;
    if (1..=1024).contains(&value) { Ok(Threads::Exactly(value as u32)) } else { Err(error()) }
}

fn cpus(text: &str) -> Result<CpuList, String> {
    let error = || format!("'{text}' is not a list of CPU numbers; for example 1,2 or 4-7");
    parse_cpus(text).map(CpuList).ok_or_else(error)
}

fn warmup(text: &str) -> Result<WarmupChoice, String> {
    if text == "auto" {
        return Ok(WarmupChoice::Auto);
    }
    let ns = parse_duration_ns(text).map_err(|error| format!("{error}, or auto"))?;
    Ok(WarmupChoice::ForNs(ns))
}

fn coalesce(text: &str) -> Result<u64, String> {
    let ns = parse_duration_ns(text).map_err(|error| error.to_string())?;
    let error = format!("'{text}' is not a pause of at most 10ms; for example 50us, or 0 for off");
    if ns <= 10_000_000 { Ok(ns) } else { Err(error) }
}

fn header_name(text: &str) -> Result<String, String> {
    let is_name = |byte: u8| byte.is_ascii_graphic() && !b":,;".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_name) {
        return Ok(text.to_string());
    }
    Err(format!("'{text}' is not the name of a header; for example X-Session"))
}

fn header(text: &str) -> Result<(String, String), String> {
    // It may hold a secret, so it is not told.
    let error =
        || "what is given is not 'Name: value'; for example 'Accept: text/html'".to_string();
    let (name, value) = text.split_once(':').ok_or_else(error)?;
    if name.is_empty() || name.contains(' ') {
        return Err(error());
    }
    Ok((name.to_string(), value.trim().to_string()))
}

/// What must hold.
pub fn objective(text: &str) -> Result<Objective, String> {
    text.parse().map_err(|error: ObjectiveError| error.to_string())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number; for example 42"))
}

/// An address of this host at which a runtime tells about itself.
pub fn runtime(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not an address and a port; for example 127.0.0.1:6060"))
}

/// Where profiles come from.
fn profile(text: &str) -> Result<ProfileChoice, String> {
    match text {
        "auto" => return Ok(ProfileChoice::Auto),
        "perf" => return Ok(ProfileChoice::Perf),
        _ => {}
    }
    let addresses: Result<Vec<SocketAddr>, _> = text.split(',').map(str::parse).collect();
    addresses.map(ProfileChoice::Addresses).map_err(|_| {
        format!(
            "'{text}' is not auto, perf or addresses with ports; for example auto or \
             127.0.0.1:6060,127.0.0.1:6061"
        )
    })
}

/// A process.
pub fn pid(text: &str) -> Result<u32, String> {
    let error = || format!("'{text}' is not a process id; for example 4711");
    text.parse().ok().filter(|pid| *pid > 0).ok_or_else(error)
}
