//! The command line. Every flag is defined once, here; [`Options::plan`] sets the defaults.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};

use crate::delay::Delay;
use crate::fault::{Faults, StatusShare};
use crate::plan::{
    Accept, ArrivalPlan, Clockwork, CloseAfter, Ending, Listeners, Notice, Pace, Plan, Service,
};
use crate::quantity::{cpus, share_flag, time, time_ns, unfit};
use crate::sys::now_ns;

const ABOUT: &str = "The smallest HTTP/1.1 responder of the lab: the reference for client plus \
kernel, and the ground truth for latency tests, because it records its own service times and can \
delay, corrupt and drop responses.";

const AFTER: &str = r#"PATHS
  /simple and any other   200, {"message":"hi"}
  /bytes/N  /chunked/N    200, a body of N bytes (up to 64 MiB), by length or in chunks
  /status/CODE            a response with that status, 200 to 599
  /healthz                200, ok; never delayed, never faulty
  GET /stats              the record so far, as one line of JSON; of such requests only the
                          connection is counted
  POST /stats/reset       clears the record, in all threads, before it responds

LINES ON STANDARD OUTPUT
  {"event":"listening",...} when connections are accepted, {"event":"stopped",...} after SIGTERM
  or SIGINT. In it, service_ns is the time from the recv that brought the last byte of a request
  to the end of the send that took the last byte of its response; all else counts from the start,
  or from the last reset.

EXAMPLES
  target-sink --threads 1 --cpus 0                  a reference server on one CPU
  target-sink --delay exp:1ms --seed 7              a server with known latency
  target-sink --delay stall:100ms/1s                a server that stops for 100 ms every second
  target-sink --delay fixed:20ms --serve-at-once 8  a server with a capacity of 400/s
  target-sink --single-listener --backlog 8 --accept-delay 5ms       an accept queue that fills up
  target-sink --close-after 100 --close-silently --reset             resets instead of responses

Exit codes: 0 stopped by a signal, 1 could not run, 2 wrong command line."#;

/// The options as given.
#[derive(Debug, Parser)]
#[command(name = "target-sink", version, about = ABOUT, after_help = AFTER, max_term_width = 100)]
pub struct Options {
    /// IP address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    addr: IpAddr,

    /// Port to listen on; 0 picks a free one, which the first line of output names
    #[arg(long, value_name = "PORT", default_value_t = 8083)]
    port: u16,

    /// Threads that serve, each with its own event loop; by default one per CPU of --cpus, or of
    /// the machine
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,

    /// CPUs to pin the threads to, one each, in turn: 0-3,6
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuList>,

    /// When responses are due, counted from the arrival of the request: fixed:1ms | exp:1ms (the
    /// mean) | uniform:1ms..5ms | bimodal:1ms,20ms@10% (10 % take 20 ms) | stall:100ms/1s (each
    /// second since the start begins with 100 ms without a response). Responses stay in order on
    /// each connection; waiting for the previous one is part of the record
    #[arg(long, value_name = "SPEC", help_heading = "Delay")]
    delay: Option<Delay>,

    /// Serve at most N requests at a time, each for its delay, first come first served over all
    /// connections: 8 of 20 ms are 400/s. The delay counts from when the service of a request
    /// starts
    #[arg(long, value_name = "N", requires = "delay", value_parser = hands,
          help_heading = "Delay")]
    serve_at_once: Option<usize>,

    /// Seed of delays and faults; each thread draws its own sequence from it
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Delay")]
    seed: u64,

    /// CPU time to burn for each request, for a server whose wall is the CPU: 20us
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = time,
          help_heading = "Delay")]
    burn: Duration,

    /// Write responses in pieces: 1/10ms is one byte every 10 ms (pieces up to 64 KiB)
    #[arg(long, value_name = "CHUNK/INTERVAL", value_parser = pace, help_heading = "Delay")]
    slow_bytes: Option<Pace>,

    /// How to sleep until responses are due; auto uses pwait2 where the kernel has it
    #[arg(long, value_name = "CLOCK", value_enum, default_value_t = ClockworkName::Auto,
          help_heading = "Delay")]
    clockwork: ClockworkName,

    /// Close each connection after N responses; the last one says so with Connection: close
    #[arg(long, value_name = "N", value_parser = responses, help_heading = "Faults")]
    close_after: Option<u64>,

    /// With --close-after: the last response does not say so
    #[arg(long, requires = "close_after", help_heading = "Faults")]
    close_silently: bool,

    /// With --close-after: close with RST instead of FIN
    #[arg(long, requires = "close_after", help_heading = "Faults")]
    reset: bool,

    /// Share of responses with another status: 500:1%; can be repeated
    #[arg(long, value_name = "CODE:SHARE", action = ArgAction::Append, help_heading = "Faults")]
    status: Vec<StatusShare>,

    /// Share of responses that end, with the connection, in the middle of the body: 1%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share_flag,
          help_heading = "Faults")]
    truncate: f64,

    /// Share of responses that are not HTTP: 1%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share_flag,
          help_heading = "Faults")]
    garbage: f64,

    /// Connections that can wait to be accepted; the kernel caps it at net.core.somaxconn
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = clap::value_parser!(u32).range(1..=65_535), help_heading = "Accepting")]
    backlog: u32,

    /// How long the acceptor sleeps before each accept: 5ms. Serving continues meanwhile
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time,
          help_heading = "Accepting")]
    accept_delay: Duration,

    /// One listening socket whose connections the first thread accepts and distributes in turn,
    /// instead of one socket for each thread
    #[arg(long, help_heading = "Accepting")]
    single_listener: bool,

    /// Descriptors this process may open (RLIMIT_NOFILE), by default the hard limit. When they are
    /// used up it keeps trying to accept, as a naive server does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(8..=1 << 30),
          help_heading = "Accepting")]
    max_fds: Option<u64>,

    /// Write the arrival of each request to FILE at the end: little-endian 64-bit nanoseconds of
    /// CLOCK_MONOTONIC, ascending, nothing else
    #[arg(long, value_name = "FILE", help_heading = "Record")]
    log_arrivals: Option<PathBuf>,

    /// Arrivals to reserve memory for, 8 bytes each; the last line says how many did not fit
    #[arg(long, value_name = "N", default_value_t = 50_000_000, value_parser = capacity,
          requires = "log_arrivals", help_heading = "Record")]
    log_capacity: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClockworkName {
    Auto,
    Pwait2,
    Timerfd,
}

/// A CPU list; its own type, so that clap does not take it for several values.
#[derive(Debug, Clone)]
struct CpuList(Vec<usize>);

impl Options {
    /// The plan. The error is about flags that cannot be combined, on one line.
    pub fn plan(self) -> Result<Plan, String> {
        let faults = Faults::new(self.garbage, self.truncate, &self.status).ok_or(
            "--garbage, --truncate and --status together take at most 100%, for example \
             --garbage 1% --status 500:2%",
        )?;
        let cpus = self.cpus.map_or_else(Vec::new, |list| list.0);
        let threads = self.threads.unwrap_or_else(|| match cpus.len() {
            0 => available_parallelism().map_or(1, usize::from),
            pinned => pinned,
        });
        let listeners = if self.single_listener { Listeners::Single } else { Listeners::PerThread };
        Ok(Plan {
            addr: SocketAddr::new(self.addr, self.port),
            threads,
            cpus,
            accept: Accept {
                listeners,
                backlog: self.backlog,
                delay_ns: self.accept_delay.as_nanos() as u64,
            },
            fds_max: self.max_fds,
            clockwork: match self.clockwork {
                ClockworkName::Auto => Clockwork::Auto,
                ClockworkName::Pwait2 => Clockwork::Pwait2,
                ClockworkName::Timerfd => Clockwork::TimerFd,
            },
            service: Service {
                delay: self.delay.unwrap_or(Delay::None),
                start_ns: now_ns(),
                faults,
                seed: self.seed,
                burn_ns: self.burn.as_nanos() as u64,
                close: CloseAfter {
                    responses: self.close_after.unwrap_or(u64::MAX),
                    notice: if self.close_silently { Notice::Silent } else { Notice::Said },
                    ending: if self.reset { Ending::Reset } else { Ending::Orderly },
                },
                pace: self.slow_bytes,
            },
            hands: self.serve_at_once,
            arrivals: self
                .log_arrivals
                .map(|path| ArrivalPlan { path, capacity: self.log_capacity }),
        })
    }
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|threads| (1..=1024).contains(threads)).ok_or_else(unfit)
}

fn hands(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|hands| (1..=65_536).contains(hands)).ok_or_else(unfit)
}

fn responses(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&responses| responses > 0).ok_or_else(unfit)
}

fn capacity(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&capacity| capacity <= 1 << 32).ok_or_else(unfit)
}

fn pace(text: &str) -> Result<Pace, String> {
    let (piece, interval) = text.split_once('/').ok_or_else(unfit)?;
    let piece_bytes = piece.parse().ok().filter(|bytes| (1..=65_536).contains(bytes));
    let interval_ns = time_ns(interval).filter(|&ns| ns > 0);
    Ok(Pace {
        piece_bytes: piece_bytes.ok_or_else(unfit)?,
        interval_ns: interval_ns.ok_or_else(unfit)?,
    })
}

fn cpu_list(text: &str) -> Result<CpuList, String> {
    cpus(text).map(CpuList)
}
