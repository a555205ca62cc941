//! Options that all commands with load share. Names follow those of wrk, then of curl.

use crate::calls::SchemaOptions;
use crate::confirm::ConfirmOptions;
use crate::endpoints::WayOptions;
use crate::far_probe::ProbeOptions;
use crate::fleet::FleetOptions;
use crate::flows::FlowValues;
use crate::secure::Secure;
use crate::values::{
    Body, BodyFile, Count, CpuList, Depth, Evidence, FlowFile, Header, HeaderName, JunitFile,
    KeepRuns, LinkText, Method, MixFile, OutFile, Pause, Pid, Profiles, RunPath, RunsFolder, Seed,
    Socket, SummaryFile, Threads, Time, TokenFile, UrlText, VariableName, Warmup, Window,
};
use clap::{Args, ValueEnum};
use model::across::Bound;
use model::check::{Digest, Json, Lengths, Needle, Statuses};
use model::objective::Objective;
use std::env;
use std::path::PathBuf;

/// What is sent to the target, and how.
#[derive(Debug, Args)]
pub struct Options {
    /// Where: http[s]://HOST[:PORT][/PATH]; with --targets, the server of their paths; for gRPC
    /// grpc[s]://HOST:PORT/package.Service/Method
    #[arg(required_unless_present_any = ["targets", "flow"])]
    pub url: Option<UrlText>,

    /// File with a mix of requests: JSON lines, or what vegeta reads
    #[arg(short = 'i', long, value_name = "FILE",
          conflicts_with_all = ["method", "body", "body_file"])]
    pub targets: Option<MixFile>,

    /// A flow (a file of Hurl): each of -c connections is a user, who takes its steps and begins
    /// again; docs/flows.md
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["targets", "method", "body", "body_file"])]
    pub flow: Option<FlowFile>,

    #[command(flatten)]
    pub(crate) flow_values: FlowValues,

    /// Requests in flight per connection: pipelining in HTTP/1.1, streams in HTTP/2
    #[arg(short = 'p', long, value_name = "N", default_value = "1")]
    pub depth: Depth,

    /// Version of HTTP. auto offers both by ALPN and speaks what the server takes, on all
    /// connections alike; without TLS it is 1
    #[arg(long, value_name = "1|2|auto", hide_possible_values = true)]
    pub http: Option<HttpText>,

    /// Speak HTTP/2 from the first byte: the same as --http 2
    #[arg(long, conflicts_with = "http")]
    pub http2_prior_knowledge: bool,

    /// Bytes of bodies that a server of HTTP/2 may send ahead, on each stream and on a connection
    /// (there at least 65535, with which the protocol starts). Without it as many as there can be
    #[arg(long, value_name = "SIZE")]
    pub window: Option<Window>,

    /// Worker threads, or auto: one per CPU, or one per two when the server is on this host
    #[arg(short = 't', long, value_name = "N|auto", default_value = "auto")]
    pub threads: Threads,

    /// CPUs to pin the workers to, in turn: 1,2 or 4-7
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,

    /// System calls that move the bytes; auto takes uring when the kernel has what it needs
    #[arg(long, value_name = "DRIVER", default_value = "auto", hide_possible_values = false)]
    pub driver: DriverChoice,

    /// Load before measuring, or auto: until throughput settles (at most 3 s)
    #[arg(long, value_name = "T|auto")]
    pub warmup: Option<Warmup>,

    /// Fail a request that has no complete response within T
    #[arg(short = 'T', long, value_name = "T", default_value = "10s")]
    pub timeout: Time,

    /// Send a request again, on a new connection, when the server closed the connection before any
    /// byte of its response: only idempotent methods, or any (RFC 9112, 9.3.1). Its latency counts
    /// from the first send
    #[arg(long, value_name = "idempotent|any", num_args = 0..=1, require_equals = true,
          default_missing_value = "idempotent", hide_possible_values = true)]
    pub retry_unprocessed: Option<RetryChoice>,

    /// Batch receives: if a poll returns few events, wait up to T for more. Saves CPU, adds up to
    /// T of latency. 0 disables
    #[arg(long, value_name = "T", default_value = "0")]
    pub coalesce: Pause,

    /// A header, 'Name: value'; repeatable
    #[arg(short = 'H', long = "header", value_name = "LINE")]
    pub headers: Vec<Header>,

    /// Send Authorization with the value of this variable, such as 'Bearer abc'; a single word is
    /// sent as Bearer. The value is in no command line and in no record
    #[arg(long, value_name = "NAME", conflicts_with = "bearer_file")]
    pub auth_env: Option<VariableName>,

    /// Send Authorization: Bearer with the token in this file
    #[arg(long, value_name = "FILE")]
    pub bearer_file: Option<TokenFile>,

    /// A header whose value is a secret, besides Authorization, Cookie and the like; repeatable
    #[arg(long = "secret-header", value_name = "NAME")]
    pub secret_headers: Vec<HeaderName>,

    /// Keep headers and bodies of requests in the record, including secrets
    #[arg(long)]
    pub keep_requests: bool,

    /// Keep up to 1 KiB of the body with the first failed response of each kind; for gRPC the
    /// messages of the reply as JSON, and with --keep-requests also those of the request
    #[arg(long)]
    pub sample_failures: bool,

    /// Method; POST when there is a body, else GET
    #[arg(short = 'X', long, short_alias = 'm', value_name = "METHOD")]
    pub method: Option<Method>,

    /// Body of the request; for gRPC the message as JSON, or a list of them where requests stream
    #[arg(short = 'b', long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<Body>,

    #[command(flatten)]
    pub(crate) schema: SchemaOptions,

    /// For gRPC: what calls say how long they may take (grpc-timeout); the server ends them then.
    /// --timeout is when ceiling gives up
    #[arg(long, value_name = "T")]
    pub deadline: Option<Time>,

    /// File with the body of the request
    #[arg(short = 'f', long, value_name = "FILE")]
    pub body_file: Option<BodyFile>,

    #[command(flatten)]
    pub(crate) ways: WayOptions,

    #[command(flatten)]
    pub(crate) confirm: ConfirmOptions,

    /// Exit 3 unless this holds: 'p99<2ms,errors<0.1%'; --help has the terms
    #[arg(long, value_name = "TERMS")]
    pub expect: Option<Objective>,

    /// What the run is compared with.
    #[command(flatten)]
    pub against: Against,

    /// Fill in templates like {{seq}}, {{random:1..9}}, {{uuid}} and {{csv:FILE:COLUMN}} in path,
    /// headers and body, in N requests that are sent in turn; without it {{ is plain text
    #[arg(long, value_name = "N")]
    pub expand: Option<Count>,

    #[command(flatten)]
    pub(crate) checks: CheckOptions,

    /// Seed of everything random; drawn and recorded when not given
    #[arg(long, value_name = "N")]
    pub seed: Option<Seed>,

    /// The server's process as this host sees it, also in a container, when it cannot be found by
    /// its address and port
    #[arg(long, value_name = "PID", conflicts_with = "probe")]
    pub server_pid: Option<Pid>,

    /// Limits of the link, where its driver does not report them, as in a virtual machine: bits per
    /// second each way, and packets per second both ways; for both hosts, or client=.. and
    /// server=..; repeatable
    #[arg(long = "link", value_name = "[SIDE=]LIMITS")]
    pub links: Vec<LinkText>,

    /// Address of the server's runtime statistics (Go targets: --debug-addr): garbage collection,
    /// waits for locks
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "probe")]
    pub runtime: Option<Socket>,

    /// Profile the server during the measured window: auto uses the Go endpoint of every server
    /// process that has one (--debug-addr of the targets) and perf for the others; or name
    /// endpoints, also as ADDR:PORT-PORT; or perf. load, and churn with one level, profile their
    /// window and say so; the others visit the best level once more, so that no figure includes the
    /// cost
    #[arg(long, value_name = "auto|ADDR:PORT,..|perf")]
    pub profile: Option<Profiles>,

    /// More evidence about a server on this host, in visits of its own, so that no figure includes
    /// its cost. kernel: programs in the kernel time how long requests lie unread, how long the
    /// server has them, at this load and with few requests, and what its threads sleep on
    /// meanwhile, count dropped packets by reason, and name who ran on its CPUs instead; as root
    #[arg(long, value_name = "kernel")]
    pub evidence: Option<Evidence>,

    #[command(flatten)]
    pub(crate) probe: ProbeOptions,

    /// Load from agents on other machines.
    #[command(flatten)]
    pub fleet: FleetOptions,

    /// Write a file, format by suffix: .json .csv .hlog .html; repeatable
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Vec<OutFile>,

    /// Exit 4 when any gate fails, even one that does not affect the headline
    #[arg(long)]
    pub strict: bool,

    /// Print the record on stdout instead of text
    #[arg(long)]
    pub json: bool,

    /// Print all percentiles as well
    #[arg(short = 'L', long)]
    pub latency: bool,

    /// No progress and no text: only errors and expectations that were missed
    #[arg(short = 'q', long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// How much text.
    #[command(flatten)]
    pub verbosity: Verbosity,

    /// Whether text has colours.
    #[command(flatten)]
    pub colour: Colour,

    /// How to watch the run.
    #[command(flatten)]
    pub live: LiveOptions,

    /// Files for CI.
    #[command(flatten)]
    pub ci: CiOptions,

    /// Where runs are kept.
    #[command(flatten)]
    pub runs: Runs,

    /// How many runs to keep, or all; the oldest are removed [default: 200 and at most 1 GB in the
    /// default directory, all in one that --runs names]
    #[arg(long, value_name = "N|all", env = "CEILING_KEEP_RUNS")]
    pub keep_runs: Option<KeepRuns>,

    #[command(flatten)]
    pub(crate) secure: Secure,
}

/// What a good response must be like; any other response counts as failed.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// Statuses that are good: 200 or 2xx,304; for gRPC OK,NOT_FOUND
    #[arg(long = "check-status", value_name = "LIST")]
    pub status: Option<Statuses>,

    /// Length of the body in bytes: 16 or 100..4k
    #[arg(long = "check-length", value_name = "N|A..B")]
    pub length: Option<Lengths>,

    /// Text that the body must contain
    #[arg(id = "check_body", long = "check-body", value_name = "TEXT")]
    pub body: Option<Needle>,

    /// SHA-256 of the whole body
    #[arg(long = "check-sha256", value_name = "HEX")]
    pub sha256: Option<Digest>,

    /// For gRPC: fields that each message of a reply must have: '{"id":7}'
    #[arg(id = "check_json", long = "check-json", value_name = "JSON")]
    pub json: Option<Json>,
}

impl CheckOptions {
    /// Whether any was given.
    pub fn is_given(&self) -> bool {
        let Self { status, length, body, sha256, json } = self;
        status.is_some() || length.is_some() || body.is_some() || sha256.is_some() || json.is_some()
    }
}

/// What a run is compared with when it is done.
#[derive(Debug, Args)]
pub struct Against {
    /// Compare the run with this stored one: last, an id or its beginning, a directory or a record
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<RunPath>,

    /// With --baseline: exit 3 when a figure changed by more than this: 'rate<-50%,p99>100%'; see
    /// ceiling compare
    #[arg(long, value_name = "CHANGES", value_delimiter = ',', requires = "baseline")]
    pub fail_if: Vec<Bound>,
}

/// How to watch a run while it goes on.
#[derive(Debug, Args)]
pub struct LiveOptions {
    /// Serve a page of the run while it goes on, on a free port of this host or at ADDR:PORT; its
    /// URL is printed
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:0")]
    pub live: Option<Socket>,

    /// Draw the run in the terminal while it goes on
    #[arg(long, conflicts_with = "quiet")]
    pub tui: bool,
}

/// Files that CI reads.
#[derive(Debug, Args)]
pub struct CiOptions {
    /// Write JUnit XML: a case for each expectation, else for each level or cell
    #[arg(long, value_name = "FILE")]
    pub junit: Option<JunitFile>,

    /// Append a summary in Markdown, for example to "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE")]
    pub summary: Option<SummaryFile>,
}

/// Where runs are.
#[derive(Debug, Args)]
pub struct Runs {
    /// Directory that runs are kept in, or none
    #[arg(long, value_name = "DIR|none", env = "CEILING_RUNS")]
    runs: Option<RunsFolder>,
}

impl Runs {
    /// Whether it is the default directory.
    pub fn is_default(&self) -> bool {
        self.runs.is_none()
    }

    /// As given, else in the user's state directory; nothing for `none` or when there is no home.
    pub fn directory(&self) -> Option<PathBuf> {
        match &self.runs {
            Some(RunsFolder(path)) if path.as_os_str() == "none" => None,
            Some(RunsFolder(path)) => Some(path.clone()),
            None => {
                // A relative path there is not valid (XDG Base Directory Specification).
                let named = |name| env::var_os(name).map(PathBuf::from);
                let absolute = |name| named(name).filter(|path| path.is_absolute());
                let home = || Some(absolute("HOME")?.join(".local/state"));
                Some(absolute("XDG_STATE_HOME").or_else(home)?.join("ceiling/runs"))
            }
        }
    }
}

/// How much text.
#[derive(Debug, Args)]
pub struct Verbosity {
    /// More text: -v adds the evidence, all tables and charts; -vv also what holds, what was not
    /// tested, and the setup
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Whether text has colours.
#[derive(Debug, Args)]
pub struct Colour {
    /// No colours, also on a terminal
    #[arg(long)]
    pub no_color: bool,
}

impl Colour {
    /// Whether the user wants no colours, here or everywhere (<https://no-color.org>).
    pub fn is_plain(&self) -> bool {
        self.no_color || env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty())
    }
}

/// Which requests are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RetryChoice {
    /// Those with an idempotent method
    Idempotent,
    /// Any
    Any,
}

/// Versions of HTTP as requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HttpText {
    /// HTTP/1.1
    #[value(name = "1", alias = "1.1")]
    One,
    /// HTTP/2
    #[value(name = "2")]
    Two,
    /// What the server takes
    Auto,
}

/// Drivers as requested.
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
