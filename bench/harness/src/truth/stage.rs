//! One sink, one generator, one measurement: the printed figures and the true ones.

use super::schedule::Stalls;
use crate::contender::last_line;
use crate::load::Transport;
use crate::options::Setting;
use crate::rounds::{CLIENT_CPU, SERVER_CPU};
use crate::server::Server;
use crate::supervise::{Exit, Supervisor};
use crate::words::{Words, pinned, with_open_files, words};
use anyhow::{Context, Result, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// How much longer than its load a measurement may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Open files of a program besides its connections.
const OTHER_FILES: u32 = 512;

/// The result of a measurement.
pub struct Played {
    /// When each request reached the sink, in order.
    pub arrivals_ns: Vec<u64>,
    /// The last line of the sink.
    pub served: Value,
    /// What the generator printed, or why there is nothing to read.
    pub printed: Result<String, String>,
}

/// A measurement to run.
pub struct Play<'p> {
    /// Options of the sink other than its address.
    pub sink: &'p [&'p str],
    /// The generator, for a URL.
    pub line: &'p dyn Fn(&str) -> Words,
    /// A second call, after the first one.
    pub report: Option<Words>,
    pub accepts: &'p dyn Fn(Option<i32>) -> bool,
    /// How many connections will be open.
    pub connections: u32,
    /// How many arrivals are expected.
    pub expected: u64,
    /// Start between two stalls, so that the load ends between two as well.
    pub stalls: Option<(u64, u64)>,
}

impl Play<'_> {
    fn open_files(&self) -> u32 {
        self.connections + OTHER_FILES
    }
}

/// Starts a sink, lets the generator run, and stops the sink.
pub fn play(supervisor: &mut Supervisor, setting: &Setting, play: &Play) -> Result<Played> {
    let scratch = setting.scratch();
    let log = scratch.join("arrivals.u64");
    let server = start(supervisor, setting, play, &log)?;
    let url = server.url(Transport::Tcp, "/simple");
    std::fs::write(scratch.join("target.txt"), format!("GET {url}\n"))?;
    let line = pinned(CLIENT_CPU, with_open_files(play.open_files(), (play.line)(&url)));
    let (stdout, stderr) = (scratch.join("run.stdout"), scratch.join("run.stderr"));
    if let Some((length_ns, period_ns)) = play.stalls {
        let origin_ns =
            server.listening_number("start_ns").context("the sink reported no start_ns")?;
        std::thread::sleep(until_calm(Stalls { origin_ns, length_ns, period_ns }, now_ns()));
    }
    let printed = match supervisor.start(line, &stdout, &stderr) {
        Err(error) => Err(format!("{error:#}")),
        Ok(process) => {
            let exit = finish(supervisor, process, setting.seconds())?;
            let text = |path: &Path| {
                String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
            };
            match exit {
                None => Err(format!("it did not end within {} s", PATIENCE.as_secs())),
                Some(exit) if !(play.accepts)(exit.status.code()) => {
                    let reason = last_line(&text(&stderr), &text(&stdout));
                    Err(format!("{}: {reason}", exit.status))
                }
                Some(_) => {
                    if let Some(report) = &play.report {
                        let process = supervisor.start(report.clone(), &stdout, &stderr)?;
                        finish(supervisor, process, 0)?;
                    }
                    Ok(text(&stdout))
                }
            }
        }
    };
    let served = server.stop(supervisor)?;
    Ok(Played { arrivals_ns: arrivals(&log)?, served, printed })
}

fn start(
    supervisor: &mut Supervisor,
    setting: &Setting,
    play: &Play,
    log: &Path,
) -> Result<Server> {
    let capacity = (play.expected * 2 + 65_536).to_string();
    let program = setting.programs.sink.to_string_lossy();
    let fixed = [&*program, "--addr", "127.0.0.1", "--port", "0", "--threads", "1"];
    let logged = ["--log-capacity", &capacity, "--log-arrivals", &log.to_string_lossy()];
    let line = [&fixed[..], &logged, play.sink].concat();
    let line = with_open_files(play.open_files(), words(&line));
    Server::start(supervisor, pinned(SERVER_CPU, line), &setting.scratch())
}

fn finish(supervisor: &mut Supervisor, process: u32, seconds: u32) -> Result<Option<Exit>> {
    let deadline = Instant::now() + Duration::from_secs(seconds.into()) + PATIENCE;
    let exit = supervisor.wait(process, deadline)?;
    if exit.is_none() {
        supervisor.kill(process)?;
    }
    Ok(exit)
}

/// How long to sleep until the middle of the time without a stall.
fn until_calm(stalls: Stalls, now_ns: u64) -> Duration {
    let middle_ns = (stalls.length_ns + stalls.period_ns) / 2;
    let phase_ns = stalls.phase_ns(now_ns);
    Duration::from_nanos((middle_ns + stalls.period_ns - phase_ns) % stalls.period_ns)
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The file of arrivals of the sink: 64-bit numbers only.
fn arrivals(path: &Path) -> Result<Vec<u64>> {
    let bytes = std::fs::read(path).with_context(|| format!("{}", path.display()))?;
    let (numbers, rest) = bytes.as_chunks::<8>();
    ensure!(rest.is_empty(), "{} ends with an incomplete number", path.display());
    Ok(numbers.iter().map(|number| u64::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_begins_between_two_stalls() {
        let ms = 1_000_000;
        let stalls = Stalls { origin_ns: 3 * ms, length_ns: 100 * ms, period_ns: 1_000 * ms };
        let sleep_ms = |after_ms: u64| until_calm(stalls, (3 + after_ms) * ms).as_millis();
        assert_eq!([0, 550, 551, 5_000].map(sleep_ms), [550, 0, 999, 550]);
    }
}
