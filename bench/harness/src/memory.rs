//! The generator's memory: per connection, and over a long run at full speed.
//!
//! Read from outside, as `VmRSS` of the process: kernel memory for its sockets and rings is not
//! included. If this machine does not allow as many open files as needed, there are fewer
//! connections, and the table says how many.

use super::bounds::{Bound, Judged, Measure};
use super::contender::{Contender, Driver, Ours};
use super::load::{Load, Protocol, Reuse, Transport};
use super::machine;
use super::rounds::{Bench, CLIENT_CPU, SERVER_CPU};
use super::rows::Target;
use super::server::{self, Server};
use super::statistics::Spread;
use super::words::{pinned, with_open_files, words};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The name of the row.
pub const NAME: &str = "memory";

const FEW: u32 = 50;
const MANY_MAX: u32 = 20_000;
const OPEN_FILES_MAX: u32 = 65_536;
/// Files that a process opens on top of its connections.
const OTHER_FILES: u32 = 100;
/// Samples of a connection's memory hardly differ; three are enough to show that.
const ROUNDS_MAX: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Opening many connections takes a while.
const PATIENCE: Duration = Duration::from_secs(60);
/// When memory is first read in the long run: everything has been used once.
const EARLY: Duration = Duration::from_secs(10);
/// As deep as the deepest row, for the most responses per second.
const WATCHED_DEPTH: u32 = 100;
const DRIVERS: [Driver; 2] = [Driver::Uring, Driver::Epoll];

const PER_CONNECTION: Bound = Bound::at_most(Measure::BytesPerConnection, 2048.0);
const GROWTH: Bound = Bound::at_most(Measure::Growth, 0.01);

/// Memory of one run: the maximum.
struct Peak {
    round: u32,
    driver: Driver,
    connections: u32,
    result: Result<u64, String>,
}

/// Memory of a long run, early and late.
struct Watched {
    driver: Driver,
    result: Result<(u64, u64), String>,
}

/// All results.
pub struct Memory {
    peaks: Vec<Peak>,
    watched: Vec<Watched>,
    /// The larger of the two numbers of connections.
    many: u32,
    watch_seconds: u32,
}

/// When to read the memory of a running client.
struct Plan {
    open_files: u32,
    connections: u32,
    depth: u32,
    seconds: u32,
}

/// One reading: time since the start, and resident bytes.
type Look = (Duration, u64);

/// Measures both.
pub fn measure(bench: &mut Bench, watch_seconds: u32) -> Result<Memory> {
    let rounds = bench.setting.rounds.min(ROUNDS_MAX);
    let open_files = open_files();
    let many = MANY_MAX.min(open_files.saturating_sub(OTHER_FILES)).max(2 * FEW);
    let mut memory = Memory { peaks: Vec::new(), watched: Vec::new(), many, watch_seconds };
    for round in 1..=rounds {
        let mut order = [FEW, many].map(|count| DRIVERS.map(|driver| (driver, count))).concat();
        bench.random.shuffle(&mut order);
        for (driver, connections) in order {
            let plan = Plan { open_files, connections, depth: 1, seconds: bench.setting.seconds() };
            let looks = run(bench, driver, &plan)?;
            let result = looks.map(|looks| looks.iter().map(|look| look.1).max().unwrap_or(0));
            eprintln!("bench: {NAME} {round}/{rounds} {}", show_peak(driver, connections, &result));
            memory.peaks.push(Peak { round, driver, connections, result });
        }
    }
    for driver in DRIVERS {
        // A little longer than it is watched, to leave out its end.
        let (connections, seconds) = (FEW, watch_seconds + 2);
        let plan = Plan { open_files, connections, depth: WATCHED_DEPTH, seconds };
        let looks = run(bench, driver, &plan)?;
        let result = looks.and_then(|looks| early_and_late(&looks, watch_seconds));
        eprintln!("bench: {NAME} watched {watch_seconds} s, {}: {result:?}", driver.name());
        memory.watched.push(Watched { driver, result });
    }
    Ok(memory)
}

/// How many files a process can open here, up to the number wanted.
fn open_files() -> u32 {
    let line = with_open_files(OPEN_FILES_MAX, words(&["true"]));
    let raised = Command::new(&line[0]).args(&line[1..]).stderr(Stdio::null()).status();
    if raised.is_ok_and(|status| status.success()) {
        return OPEN_FILES_MAX;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    limit.map_or(OPEN_FILES_MAX, |limit| limit.min(OPEN_FILES_MAX.into()) as u32)
}

/// Runs `ceiling` against a separate server and reads its memory until it ends.
fn run(bench: &mut Bench, driver: Driver, plan: &Plan) -> Result<Result<Vec<Look>, String>> {
    let line = server::line(Target::Sink, &bench.setting.programs, "127.0.0.1", Path::new(""));
    let line = line.expect("the sink is a program");
    let line = with_open_files(plan.open_files, pinned(SERVER_CPU, line));
    let server = match Server::start(&mut bench.supervisor, line, &bench.setting.scratch()) {
        Ok(server) => server,
        Err(error) => return Ok(Err(format!("{error:#}"))),
    };
    let load = Load {
        transport: Transport::Tcp,
        protocol: Protocol::Http1,
        reuse: Reuse::Kept,
        url: server.url(Transport::Tcp, "/simple"),
        connections: plan.connections,
        depth: plan.depth,
        slot_ms: plan.seconds * 1_000,
        scratch: bench.setting.scratch(),
    };
    let contender = Contender::Ceiling(Ours::plain(driver));
    let line = contender.line(&load, &bench.setting.programs, &bench.peers);
    let line = with_open_files(plan.open_files, pinned(CLIENT_CPU, line));
    let (stdout, stderr) = (bench.scratch("slot.stdout"), bench.scratch("slot.stderr"));
    let started = Instant::now();
    let process = bench.supervisor.start(line, &stdout, &stderr)?;
    let deadline = started + Duration::from_secs(plan.seconds.into()) + PATIENCE;
    let mut looks = Vec::new();
    let exit = loop {
        let exit = bench.supervisor.wait(process, Instant::now() + LOOK_AGAIN)?;
        if exit.is_some() || Instant::now() > deadline {
            break exit;
        }
        let bytes = machine::resident_bytes(process);
        looks.extend(bytes.map(|bytes| (started.elapsed(), bytes)));
    };
    let Some(exit) = exit else {
        bench.supervisor.kill(process)?;
        server.stop(&mut bench.supervisor)?;
        return Ok(Err("it did not end in time".into()));
    };
    server.stop(&mut bench.supervisor)?;
    if !exit.status.success() {
        let reason = std::fs::read_to_string(stderr).unwrap_or_default();
        let reason = reason.trim().lines().last().unwrap_or_default().to_owned();
        return Ok(Err(format!("{}: {reason}", exit.status)));
    }
    let output = std::fs::read_to_string(stdout)?;
    Ok(contender.count(&output).map(|_| looks))
}

/// The last readings not after the two times.
fn early_and_late(looks: &[Look], watch_seconds: u32) -> Result<(u64, u64), String> {
    let until = |time: Duration| looks.iter().rfind(|look| look.0 <= time).map(|look| look.1);
    let late = until(Duration::from_secs(watch_seconds.into()));
    let pair = until(EARLY).zip(late);
    pair.ok_or_else(|| format!("it ended before {} s", EARLY.as_secs()))
}

impl Memory {
    /// Bytes per connection in each round, by driver.
    fn per_connection(&self, driver: Driver) -> Result<Spread, String> {
        let rounds = self.peaks.iter().map(|peak| peak.round).max().unwrap_or(0);
        let of = |round, connections| {
            let is_it = |peak: &&Peak| {
                (peak.round, peak.driver, peak.connections) == (round, driver, connections)
            };
            Some(*self.peaks.iter().find(is_it)?.result.as_ref().ok()? as f64)
        };
        let per_connection = (1..=rounds).filter_map(|round| {
            Some((of(round, self.many)? - of(round, FEW)?) / f64::from(self.many - FEW))
        });
        Spread::of(per_connection).ok_or_else(|| {
            let mut own = self.peaks.iter().filter(|peak| peak.driver == driver);
            let reason = own.find_map(|peak| peak.result.as_ref().err().cloned());
            format!("ceiling {} failed: {}", driver.name(), reason.unwrap_or_default())
        })
    }

    fn growth(&self, driver: Driver) -> Result<Spread, String> {
        let watched = self.watched.iter().find(|watched| watched.driver == driver);
        let result = watched.map(|watched| watched.result.clone());
        let (early, late) = result.ok_or("it was not watched")??;
        let growth = (late as f64 - early as f64) / early as f64;
        Spread::of([growth]).ok_or_else(|| "there is no growth".into())
    }

    /// Both bounds for both drivers.
    pub fn judge(&self) -> Vec<Judged> {
        let of = |driver: Driver| {
            let subject = format!("ceiling {}", driver.name());
            [
                PER_CONNECTION.judge(NAME, &subject, self.per_connection(driver)),
                GROWTH.judge(NAME, &subject, self.growth(driver)),
            ]
        };
        DRIVERS.into_iter().flat_map(of).collect()
    }

    /// The title of the row.
    pub fn title(&self) -> String {
        format!(
            "own memory (VmRSS): {} against {FEW} connections to the sink; \
             {} s to {} s at depth {WATCHED_DEPTH}",
            self.many,
            EARLY.as_secs(),
            self.watch_seconds
        )
    }

    /// For bench.json.
    pub fn record(&self) -> Value {
        let peak = |peak: &Peak| {
            json!({
                "round": peak.round,
                "driver": peak.driver.name(),
                "connections": peak.connections,
                "vm_rss_bytes": peak.result.as_ref().ok(),
                "failed": peak.result.as_ref().err(),
            })
        };
        let watched = |watched: &Watched| {
            let bytes = watched.result.as_ref().ok();
            json!({
                "driver": watched.driver.name(),
                "early_s": EARLY.as_secs(),
                "late_s": self.watch_seconds,
                "early_vm_rss_bytes": bytes.map(|bytes| bytes.0),
                "late_vm_rss_bytes": bytes.map(|bytes| bytes.1),
                "failed": watched.result.as_ref().err(),
            })
        };
        json!({
            "few": FEW,
            "many": self.many,
            "peaks": self.peaks.iter().map(peak).collect::<Vec<_>>(),
            "watched": self.watched.iter().map(watched).collect::<Vec<_>>(),
        })
    }
}

fn show_peak(driver: Driver, connections: u32, result: &Result<u64, String>) -> String {
    let said = match result {
        Ok(bytes) => format!("{} KiB", bytes / 1024),
        Err(reason) => format!("failed: {reason}"),
    };
    format!("{}, {connections} connections: {said}", driver.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Verdict;

    fn peak(round: u32, connections: u32, result: Result<u64, String>) -> Peak {
        Peak { round, driver: Driver::Uring, connections, result }
    }

    #[test]
    fn memory_of_a_connection_is_what_many_have_more_than_few() {
        let peaks = vec![
            peak(1, FEW, Ok(1_000_000)),
            peak(1, MANY_MAX, Ok(1_000_000 + 19_950 * 1000)),
            peak(2, FEW, Ok(1_000_000)),
            peak(2, MANY_MAX, Err("no".into())),
        ];
        let watched = vec![Watched { driver: Driver::Uring, result: Ok((1_000_000, 1_020_000)) }];
        let memory = Memory { peaks, watched, many: MANY_MAX, watch_seconds: 60 };
        let judged = memory.judge();
        let verdicts: Vec<_> = judged.iter().map(|judged| &judged.verdict).collect();
        assert_eq!(verdicts[..2], [&Verdict::Met, &Verdict::Missed]);
        let per_connection = judged[0].measured.unwrap();
        assert_eq!((per_connection.median, per_connection.count), (1000.0, 1));
        assert_eq!(judged[1].measured.unwrap().median, 0.02);
        assert!(matches!(verdicts[2], Verdict::NotMeasured(_)));
    }

    #[test]
    fn the_looks_before_both_times_are_taken() {
        let looks: Vec<Look> =
            (1..=62).map(|second| (Duration::from_secs(second), second * 100)).collect();
        assert_eq!(early_and_late(&looks, 60), Ok((1000, 6000)));
        assert!(early_and_late(&looks[11..], 60).is_err());
    }
}
