//! `perf record` on the server's processes, and `perf script` on what it wrote.
//!
//! Both write to pipes, so that no file is left behind. The text is made after the visit: looking
//! up names costs CPU time that would be the server's.

use super::Taken;
use model::profile::ProfileKind;
use profile::{perf, pprof};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Samples per second and CPU: not a divisor of the timer tick, with which it would march in step.
const SAMPLES_PER_S: i64 = 99;
/// What a sample stands for, nanoseconds of CPU time.
const PERIOD_NS: i64 = 1_000_000_000 / SAMPLES_PER_S;
/// Most bytes that are taken of either program.
const BYTES_MAX: u64 = 256 << 20;

/// Cycles where the processor can count them; in most virtual machines it cannot.
pub(super) fn event() -> &'static str {
    let counters = ["cpu", "cpu_core", "armv8_pmuv3_0"];
    let has = |name: &&str| Path::new("/sys/bus/event_source/devices").join(name).exists();
    if counters.iter().any(has) { "cycles" } else { "cpu-clock" }
}

/// CPU time that a process can use between two samples; then to have none is no wonder.
const UNSEEN_MAX_TICKS: u64 = 3;

/// What `perf record` wrote.
pub(super) struct Recorded {
    pub(super) pids: Vec<u32>,
    seconds: u64,
    bytes: Vec<u8>,
    /// CPU time that the processes used meanwhile, clock ticks.
    used_ticks: u64,
}

/// Samples some processes and what they start, over whole seconds.
pub(super) fn record(
    pids: &[u32],
    seconds: u64,
    given_up: &AtomicBool,
) -> Result<Recorded, String> {
    let (rate, length) = (SAMPLES_PER_S.to_string(), seconds.to_string());
    let used_before = used_ticks(pids);
    let mut record = Command::new("perf");
    record.args(["record", "-q", "-g", "-F", &rate, "-e", event(), "-o", "-", "-p", &list(pids)]);
    record.args(["--", "sleep", &length]);
    let bytes = output(record, Vec::new(), &|| given_up.load(Ordering::Relaxed))?;
    let used_ticks = used_ticks(pids).saturating_sub(used_before);
    Ok(Recorded { pids: pids.to_vec(), seconds, bytes, used_ticks })
}

/// The samples by process; none when they used no CPU time that could be seen.
pub(super) fn taken(recorded: Recorded, until: Instant) -> Result<Vec<Taken>, String> {
    let Recorded { pids, seconds, bytes, used_ticks } = recorded;
    let mut script = Command::new("perf");
    script.args(["script", "-i", "-", "--no-inline", "-F", perf::FIELDS]);
    let text = output(script, bytes, &|| Instant::now() > until)?;
    let by_process = perf::parse(&text, PERIOD_NS).map_err(|error| error.to_string())?;
    if by_process.is_empty() && used_ticks > UNSEEN_MAX_TICKS {
        let list = list(&pids);
        return Err(format!("no samples of {list}, which used CPU time: they may not be seen"));
    }
    let taken = by_process.into_iter().map(|(pid, mut samples)| {
        samples.duration_ns = Some(seconds * 1_000_000_000);
        let bytes = pprof::encode(&samples, PERIOD_NS);
        Taken { kind: ProfileKind::Perf, pid: Some(pid), samples, bytes }
    });
    Ok(taken.collect())
}

fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn used_ticks(pids: &[u32]) -> u64 {
    let stats = pids.iter().filter_map(|pid| host::process::stat(*pid).ok());
    stats.map(|stat| stat.user_ticks + stat.system_ticks).sum()
}

/// Runs a program over its input; its output, or the first line in which it complains.
fn output(
    mut command: Command,
    input: Vec<u8>,
    is_given_up: &dyn Fn() -> bool,
) -> Result<Vec<u8>, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            "perf is not installed (Debian: apt install linux-perf)".to_string()
        }
        _ => format!("perf does not start: {error}"),
    })?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writer = thread::spawn(move || {
        // It may have ended before it had read all of it.
        let _ = stdin.map(|mut stdin| stdin.write_all(&input));
    });
    let (said, complained) = (drain(stdout), drain(stderr));
    let is_good = wait(&mut child, is_given_up)?;
    let _ = writer.join();
    let said = said.join().unwrap_or_default();
    let complained = complained.join().unwrap_or_default();
    if said.len() as u64 >= BYTES_MAX {
        return Err("perf says more than 256 MB".to_string());
    }
    if is_good { Ok(said) } else { Err(complaint(&complained)) }
}

/// Reads to the end and keeps a limited part; the rest is dropped, so that the writer does not
/// block.
fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = (&mut pipe).take(BYTES_MAX).read_to_end(&mut bytes);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        bytes
    })
}

/// Whether it ended well. It is killed when its caller gives up.
fn wait(child: &mut Child, is_given_up: &dyn Fn() -> bool) -> Result<bool, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if is_given_up() => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("perf took longer than it is waited for".to_string());
            }
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("perf cannot be awaited: {error}")),
        }
    }
}

/// The first line that says something. Most often it is about rights.
fn complaint(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let refused = text.contains("perf_event_paranoid") || text.contains("Permission denied");
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "Error:" && !line.starts_with("[ perf record"));
    let first: String = lines.next().unwrap_or("no reason").chars().take(160).collect();
    let hint =
        if refused { "; it needs root, or kernel.perf_event_paranoid at most 1" } else { "" };
    format!("perf failed: {first}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_one_line() {
        let said = complaint(
            b"Error:\nAccess to performance monitoring is limited.\n\
            Consider adjusting /proc/sys/kernel/perf_event_paranoid setting\n",
        );
        assert_eq!(
            said,
            "perf failed: Access to performance monitoring is limited.; it needs root, or \
             kernel.perf_event_paranoid at most 1"
        );
        assert_eq!(complaint(b""), "perf failed: no reason");
    }

    #[test]
    fn an_abandoned_program_is_killed() {
        let mut sleep = Command::new("sleep");
        sleep.arg("60");
        let ended = output(sleep, Vec::new(), &|| true);
        assert_eq!(ended, Err("perf took longer than it is waited for".to_string()));
        let missing = output(Command::new("no-such-perf"), Vec::new(), &|| false);
        assert!(missing.unwrap_err().contains("not installed"));
    }
}
