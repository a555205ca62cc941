//! `perf record` on the server's processes, and `perf script` on what it wrote.
//!
//! Both write to pipes, so that no file is left behind. `perf` needs up to seconds to start on a
//! busy host. It is started before the load with its events off, and they are switched on for the
//! window alone, by the commands that `perf record --control` takes (perf 5.10). The text is made
//! after the visit, because looking up names costs CPU time that the server would lack.

use super::Taken;
use engine::clock::now_ns;
use model::profile::ProfileKind;
use profile::{perf, pprof};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Samples per second and CPU: not a divisor of the timer tick, so that it stays out of step with
/// it.
const SAMPLES_PER_S: i64 = 99;
/// What a sample stands for, nanoseconds of CPU time.
const PERIOD_NS: i64 = 1_000_000_000 / SAMPLES_PER_S;
/// Most bytes that are read from either program.
const BYTES_MAX: u64 = 256 << 20;

/// Cycles where the processor can count them, which it cannot in most virtual machines, and where
/// this process may sample the kernel.
pub(super) fn event() -> &'static str {
    let counters = ["cpu", "cpu_core", "armv8_pmuv3_0"];
    let has = |name: &&str| Path::new("/sys/bus/event_source/devices").join(name).exists();
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let may_sample_kernel =
        may_sample_kernel(paranoid.as_deref(), host::process::capabilities(&status));
    if may_sample_kernel && counters.iter().any(has) { "cycles" } else { "cpu-clock" }
}

/// Without the kernel, cycles are sampled more often, until there are as many samples per second as
/// of both: each would stand for less time than [`PERIOD_NS`] (`perf_adjust_period`, kernel/events/
/// core.c). The timer of `cpu-clock` keeps its pace.
fn may_sample_kernel(paranoid: Option<&str>, capabilities: Option<u64>) -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    const CAP_PERFMON: u64 = 1 << 38;
    let level = paranoid.and_then(|level| level.trim().parse::<i32>().ok());
    level.is_none_or(|level| level <= 1)
        || capabilities.is_some_and(|all| all & (CAP_SYS_ADMIN | CAP_PERFMON) != 0)
}

/// CPU time that a process can use between two samples; up to this it may well have none.
const UNSEEN_MAX_TICKS: u64 = 3;

/// `perf` writes this when a command has worked; its terminating zero follows.
const ACKNOWLEDGED: &str = "ack";
/// How often a wait checks whether its caller gave up.
const LOOK: Duration = Duration::from_millis(20);
/// How long `perf` may take to be ready, before the load: it reads what it needs about all threads.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// How long `perf` may take to end, on a host that is at its limit.
const END_LIMIT: Duration = Duration::from_secs(15);

/// A `perf record` whose events are off.
#[derive(Debug)]
pub(super) struct Recorder {
    pids: Vec<u32>,
    child: Child,
    commands: ChildStdin,
    /// One per command that worked.
    acknowledged: Receiver<()>,
    printed: Option<JoinHandle<Vec<u8>>>,
    complained: Option<JoinHandle<Vec<u8>>>,
}

/// What `perf record` wrote.
pub(super) struct Recorded {
    pub(super) pids: Vec<u32>,
    /// When its events were on.
    pub(super) begin_ns: u64,
    duration_ns: u64,
    bytes: Vec<u8>,
    /// CPU time that the processes used meanwhile, clock ticks.
    used_ticks: u64,
}

impl Recorder {
    /// Starts `perf` for some processes and what they start later, and waits until it is ready; it
    /// samples nothing yet.
    pub(super) fn open(pids: &[u32]) -> Result<Self, String> {
        let (rate, list) = (SAMPLES_PER_S.to_string(), list(pids));
        let mut record = program()?;
        record.args(["record", "-q", "-g", "-F", &rate, "-e", event(), "-o", "-", "-p", &list]);
        // Commands come from its standard input, and acknowledgements go to its standard error.
        record.args(["--delay", "-1", "--control", "fd:0,2"]);
        let mut child = spawn(record)?;
        let commands = child.stdin.take().ok_or("perf has no input")?;
        let printed = drain(child.stdout.take());
        let (acknowledged, complained) = listen(child.stderr.take());
        let (printed, complained) = (Some(printed), Some(complained));
        let pids = pids.to_vec();
        let mut opened = Self { pids, child, commands, acknowledged, printed, complained };
        let deadline = Instant::now() + READY_LIMIT;
        // They are already off: it responds once it is ready.
        let is_over = || Instant::now() > deadline;
        opened.order("disable", &is_over, "perf was not ready to sample within 30 s")?;
        Ok(opened)
    }

    /// Samples from now until a time.
    pub(super) fn record(
        mut self,
        until_ns: u64,
        given_up: &AtomicBool,
    ) -> Result<Recorded, String> {
        let is_given_up = || given_up.load(Ordering::Relaxed);
        let until = Instant::now() + Duration::from_nanos(until_ns.saturating_sub(now_ns()));
        let is_late = "perf was not ready before the window ended";
        self.order("enable", &|| is_given_up() || Instant::now() > until, is_late)?;
        let (begin_ns, used_before) = (now_ns(), used_ticks(&self.pids));
        while now_ns() < until_ns && !is_given_up() {
            thread::sleep(LOOK.min(Duration::from_nanos(until_ns.saturating_sub(now_ns()))));
        }
        let end_ns = now_ns();
        let used_ticks = used_ticks(&self.pids).saturating_sub(used_before);
        let deadline = Instant::now() + END_LIMIT;
        let is_over = || is_given_up() || Instant::now() > deadline;
        self.order("disable", &is_over, "perf did not stop sampling")?;
        // It may end before it acknowledges this.
        let _ = self.commands.write_all(b"stop\n");
        let is_good = wait(&mut self.child, &is_over)?;
        let bytes = self.printed.take().and_then(|printed| printed.join().ok()).unwrap_or_default();
        if bytes.len() as u64 >= BYTES_MAX {
            return Err("perf wrote more than 256 MB".to_string());
        }
        if !is_good {
            return Err(self.complaint());
        }
        let duration_ns = end_ns.saturating_sub(begin_ns);
        let pids = std::mem::take(&mut self.pids);
        Ok(Recorded { pids, begin_ns, duration_ns, bytes, used_ticks })
    }

    /// Gives a command and waits until it has worked; `late` is the error when the caller gives up.
    fn order(
        &mut self,
        command: &str,
        is_given_up: &dyn Fn() -> bool,
        late: &str,
    ) -> Result<(), String> {
        // A `perf` that has ended says why on its standard error.
        let _ = self.commands.write_all(format!("{command}\n").as_bytes());
        loop {
            match self.acknowledged.recv_timeout(LOOK) {
                Ok(()) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.complaint()),
                Err(RecvTimeoutError::Timeout) if is_given_up() => return Err(late.to_string()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What it wrote on standard error, up to its end.
    fn complaint(&mut self) -> String {
        let complained = self.complained.take().and_then(|complained| complained.join().ok());
        complaint(&complained.unwrap_or_default())
    }
}

impl Drop for Recorder {
    /// Ends it, when a visit ended before its window.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Separates what `perf` writes on standard error into acknowledgements and complaints.
fn listen(pipe: Option<impl Read + Send + 'static>) -> (Receiver<()>, JoinHandle<Vec<u8>>) {
    let (sender, acknowledged) = channel();
    let complained = thread::spawn(move || {
        let mut complained = Vec::new();
        let Some(pipe) = pipe else { return complained };
        for line in BufReader::new(pipe.take(BYTES_MAX)).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            match line.trim_matches('\0') {
                ACKNOWLEDGED => drop(sender.send(())),
                "" => {}
                line => complained.extend_from_slice(format!("{line}\n").as_bytes()),
            }
        }
        complained
    });
    (acknowledged, complained)
}

/// The samples by process; none if they used no CPU time that could be seen.
pub(super) fn taken(recorded: Recorded, until: Instant) -> Result<Vec<Taken>, String> {
    let Recorded { pids, duration_ns, bytes, used_ticks, .. } = recorded;
    let mut script = program()?;
    script.args(["script", "-i", "-", "--no-inline", "-F", perf::FIELDS]);
    let text = output(script, bytes, &|| Instant::now() > until)?;
    let parsed = perf::parse(&text, PERIOD_NS).map_err(|error| error.to_string())?;
    let perf::Parsed { by_process, lacks_kernel } = parsed;
    if by_process.is_empty() && used_ticks > UNSEEN_MAX_TICKS {
        let list = list(&pids);
        return Err(format!("no samples of {list}, which used CPU time: perf may not see them"));
    }
    let taken = by_process.into_iter().map(|(pid, mut samples)| {
        samples.duration_ns = Some(duration_ns);
        let bytes = pprof::encode(&samples, PERIOD_NS);
        Taken { kind: ProfileKind::Perf, pid: Some(pid), samples, lacks_kernel, bytes }
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

/// Runs a program on an input; returns its output, or the first line of its complaint.
fn output(
    command: Command,
    input: Vec<u8>,
    is_given_up: &dyn Fn() -> bool,
) -> Result<Vec<u8>, String> {
    let mut child = spawn(command)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writer = thread::spawn(move || {
        // It may have ended before it read all of it.
        let _ = stdin.map(|mut stdin| stdin.write_all(&input));
    });
    let (printed, complained) = (drain(stdout), drain(stderr));
    let is_good = wait(&mut child, is_given_up)?;
    let _ = writer.join();
    let printed = printed.join().unwrap_or_default();
    let complained = complained.join().unwrap_or_default();
    if printed.len() as u64 >= BYTES_MAX {
        return Err("perf wrote more than 256 MB".to_string());
    }
    if is_good { Ok(printed) } else { Err(complaint(&complained)) }
}

fn program() -> Result<Command, String> {
    host::program::find("perf").map(Command::new).map_err(unstarted)
}

fn spawn(mut command: Command) -> Result<Child, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(unstarted)
}

fn unstarted(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "perf is not installed (Debian: apt install linux-perf)".to_string()
        }
        _ => format!("cannot start perf: {error}"),
    }
}

/// Reads to the end and keeps a limited part; the rest is dropped, so that the writer does not
/// block.
fn drain(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = (&mut pipe).take(BYTES_MAX).read_to_end(&mut bytes);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        bytes
    })
}

/// Whether it ended well. Kills it when its caller gives up.
fn wait(child: &mut Child, is_given_up: &dyn Fn() -> bool) -> Result<bool, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if is_given_up() => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("perf took too long".to_string());
            }
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("cannot wait for perf: {error}")),
        }
    }
}

/// The first line with content. Most often it is about permissions.
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
    fn cycles_are_sampled_only_with_the_kernel() {
        let may = |level, capabilities| may_sample_kernel(level, Some(capabilities));
        assert!(may(Some("1\n"), 0) && may(Some("-1\n"), 0) && may(None, 0));
        assert!(!may(Some("2\n"), 0) && !may(Some("4\n"), !(1 << 38 | 1 << 21)));
        assert!(may(Some("2\n"), 1 << 38) && may(Some("2\n"), 1 << 21));
        assert!(!may_sample_kernel(Some("2\n"), None));
    }

    #[test]
    fn refusals_are_one_line() {
        let printed = complaint(
            b"Error:\nAccess to performance monitoring is limited.\n\
            Consider adjusting /proc/sys/kernel/perf_event_paranoid setting\n",
        );
        assert_eq!(
            printed,
            "perf failed: Access to performance monitoring is limited.; it needs root, or \
             kernel.perf_event_paranoid at most 1"
        );
        assert_eq!(complaint(b""), "perf failed: no reason");
    }

    #[test]
    fn acknowledgements_are_no_complaints() {
        let (acknowledged, complained) = listen(Some(&b"ack\n\0WARNING: no kernel\nack\n\0"[..]));
        assert_eq!(complained.join().unwrap(), b"WARNING: no kernel\n");
        assert_eq!(acknowledged.iter().count(), 2);
    }

    #[test]
    fn an_abandoned_program_is_killed() {
        let mut sleep = Command::new("sleep");
        sleep.arg("60");
        let ended = output(sleep, Vec::new(), &|| true);
        assert_eq!(ended, Err("perf took too long".to_string()));
        let missing = output(Command::new("no-such-perf"), Vec::new(), &|| false);
        assert!(missing.unwrap_err().contains("not installed"));
    }
}
