//! The process that measures a cell. It ends in order when the experiment receives a signal, and at
//! the latest with the experiment.

#![allow(unsafe_code, reason = "a child between fork and exec")]

use crate::hooks::{Measured, Ready};
use host::child::end_with_us;
use model::experiment::Fate;
use model::secret::Secrets;
use plan::Cell;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use std::env;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The word before a command line whose real words are on standard input, as a list in JSON. Those
/// behind it are for people: every user of the host can read a command line, and it has no secrets.
pub const ORDERED: &str = "ordered";

/// How often the flag is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Longest orderly end; after it a second signal ends the process at once, and its measurement is
/// lost. Requests are drained, and a busy host takes time to judge them; only a hang takes longer.
const ORDERLY_LIMIT: Duration = Duration::from_secs(60);

/// The exit code of ceiling when the target gave no response.
const UNREACHABLE: i32 = 5;
/// Its exit codes with which it made the whole run: good, an expectation that was missed, a figure
/// that is not valid (docs/reference/cli.md).
const WHOLE: [i32; 3] = [0, 3, 4];
/// Its exit code when it failed itself.
const FAILED: i32 = 1;

/// Measures one cell with a process of our own program: whatever a cell does to that process, or
/// the process to the machine, ends with it.
/// `environment` is added to ours: it says who shows the run while it goes on.
pub fn measure(
    cell: &Cell,
    ready: &Ready,
    runs: &Path,
    stop: &AtomicBool,
    environment: &[(&str, PathBuf)],
) -> Measured {
    let mut words = cell.words(&ready.addr, ready.pid, ready.probe.as_ref());
    let shown = Secrets::command(&[&["ceiling".to_string()], &words[..]].concat());
    words.extend(["--json".to_string(), "--quiet".to_string(), "--runs".to_string()]);
    words.extend([runs.display().to_string(), "--keep-runs=all".to_string()]);
    let fate = match measured(cell, &words, stop, environment).and_then(|run| stored_run(run, runs))
    {
        Ok(run) => Fate::Measured { run },
        Err(why) => Fate::Failed { why },
    };
    Measured { command: shown, fate }
}

fn measured(
    cell: &Cell,
    words: &[String],
    stop: &AtomicBool,
    environment: &[(&str, PathBuf)],
) -> Result<String, String> {
    if stop.load(Ordering::Relaxed) {
        return Err("interrupted before it was measured".to_string());
    }
    let program = env::current_exe().map_err(|error| format!("cannot find ceiling: {error}"))?;
    let (mut command, nice) = (Command::new(program), cell.client.nice);
    command
        .arg(ORDERED)
        .args(Secrets::command(words))
        .envs(environment.iter().map(|(name, value)| (name, value)));
    if nice != 0 {
        with_priority(&mut command, nice);
    }
    let order = serde_json::to_vec(words).unwrap_or_default();
    let output = output(command, &order, stop).map_err(|error| not_started(nice, &error))?;
    became(&output)
}

/// The run that ceiling reported, or why it does not count.
fn became(output: &Output) -> Result<String, String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.map(|line| line.replace("ceiling: ", ""));
    let record: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let Some((record, id)) = record.as_ref().and_then(|one| Some((one, one["id"].as_str()?)))
    else {
        return Err(last.unwrap_or_else(|| output.status.to_string()));
    };
    let code = output.status.code();
    match record["outcome"].as_str() {
        Some("interrupted") => Err(format!("interrupted; the part measured so far is run {id}")),
        Some("target-lost") => Err("the target stopped answering".to_string()),
        _ if code == Some(UNREACHABLE) => Err("the target gave no response".to_string()),
        _ if code.is_some_and(|code| WHOLE.contains(&code)) => Ok(id.to_string()),
        _ if code == Some(FAILED) && is_without_result(record) => Ok(id.to_string()),
        _ => {
            let why = last.map_or(String::new(), |line| format!(": {line}"));
            Err(format!("run {id} does not count, ceiling ended with {}{why}", output.status))
        }
    }
}

/// Whether it is a search without a result, which is a failure for ceiling.
fn is_without_result(record: &Value) -> bool {
    record["search"].is_object() && record["search"]["answer"].is_null()
}

/// Why ceiling was not started. Only the priority may be forbidden: we are that program ourselves.
fn not_started(nice: i32, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied if nice != 0 => format!(
            "client.nice is {nice}, a higher priority than this user may have (setpriority: \
             {error}); run as root, raise the limit with ulimit -e {}, or take, for example, nice \
             = 19",
            20 - nice
        ),
        _ => format!("cannot start ceiling: {error}"),
    }
}

/// A run that is in the folder. It may have been measured and reported while the disk was full.
fn stored_run(run: String, runs: &Path) -> Result<String, String> {
    match store::read_record(&runs.join(&run).join("run.json")) {
        Ok(_) => Ok(run),
        Err(error) => Err(format!("measured, but not kept: {error}")),
    }
}

/// Runs it to its end with this input and returns its output. Once `stop` is set it gets SIGTERM,
/// because a process that a shell started in the background may ignore SIGINT. A key on the
/// terminal must not reach it as well, because the second of two signals would end it at once.
fn output(mut command: Command, input: &[u8], stop: &AtomicBool) -> io::Result<Output> {
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // It is our own program and a single process, so it needs no keeper.
    end_with_us(&mut command, Signal::TERM);
    let mut child = command.spawn()?;
    // A child that has ended already says why by itself.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A descriptor, unlike a number, always refers to the same process.
    let process = match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())).transpose() {
        Ok(process) => process,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error.into());
        }
    };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut asked: Option<Instant> = None;
            while !is_over.load(Ordering::Relaxed) {
                let is_due = asked.is_none_or(|at| at.elapsed() > ORDERLY_LIMIT);
                if let Some(process) = &process
                    && is_due
                    && stop.load(Ordering::Relaxed)
                {
                    let _ = pidfd_send_signal(process, Signal::TERM);
                    asked = Some(Instant::now());
                }
                thread::park_timeout(LOOK);
            }
        });
        let output = child.wait_with_output();
        is_over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        output
    })
}

/// Starts a child with this priority, or not at all.
fn with_priority(command: &mut Command, nice: i32) {
    let prepare = move || {
        rustix::process::setpriority_process(None, nice)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call; it neither allocates nor
    // takes a lock.
    unsafe { command.pre_exec(prepare) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_it_prints_and_how_it_ends_is_known() {
        let said = output(shell("cat; echo two >&2; exit 3"), b"one\n", &AtomicBool::new(false));
        let said = said.unwrap();
        assert_eq!(
            (said.stdout.as_slice(), said.stderr.as_slice()),
            (&b"one\n"[..], &b"two\n"[..])
        );
        assert_eq!(said.status.code(), Some(3));
    }

    #[test]
    fn it_is_interrupted_once_and_what_it_still_says_is_kept() {
        let stop = AtomicBool::new(false);
        let ready = std::env::temp_dir().join(format!("ceiling-measurer-{}", std::process::id()));
        let script = format!(
            "trap 'echo interrupted; exit 7' TERM; echo ready; : >'{}'; \
             while :; do sleep 0.05; done",
            ready.display()
        );
        let said = thread::scope(|scope| {
            scope.spawn(|| {
                while !ready.exists() {
                    thread::sleep(Duration::from_millis(10));
                }
                stop.store(true, Ordering::Relaxed);
            });
            output(shell(&script), b"", &stop).unwrap()
        });
        std::fs::remove_file(&ready).unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "ready\ninterrupted\n");
        assert_eq!(said.status.code(), Some(7));
    }

    #[test]
    fn a_run_counts_only_if_ceiling_ended_as_it_does_after_a_whole_run() {
        let after = |record: &str, end: &str| {
            let script = format!("echo '{record}'; echo 'ceiling: no space' >&2; {end}");
            became(&output(shell(&script), b"", &AtomicBool::new(false)).unwrap())
        };
        let whole = r#"{"id":"r","outcome":"complete"}"#;
        for code in [0, 3, 4] {
            assert_eq!(after(whole, &format!("exit {code}")).as_deref(), Ok("r"), "{code}");
        }
        let why = after(whole, "exit 1").unwrap_err();
        assert_eq!(why, "run r does not count, ceiling ended with exit status: 1: no space");
        let why = after(whole, "kill -KILL $$").unwrap_err();
        assert!(why.contains("signal: 9") && why.ends_with("no space"), "{why}");
        assert_eq!(after(whole, "exit 5").unwrap_err(), "the target gave no response");
        assert_eq!(after("no record", "exit 0").unwrap_err(), "no space");
        let search = r#"{"id":"s","outcome":"complete","search":{"answer":null}}"#;
        assert_eq!(after(search, "exit 1").as_deref(), Ok("s"), "a search without a result");
        assert!(after(search, "kill -KILL $$").is_err());
    }

    #[test]
    fn a_priority_is_applied_or_nothing_starts() {
        let at = |nice: i32| -> Result<String, String> {
            let mut command = shell("nice");
            with_priority(&mut command, nice);
            let said = output(command, b"", &AtomicBool::new(false));
            let said = said.map_err(|error| not_started(nice, &error))?;
            Ok(String::from_utf8_lossy(&said.stdout).trim().to_string())
        };
        assert_eq!(at(19), Ok("19".to_string()));
        // With the privilege it has it; without, it must not run at another one.
        let above = at(-5);
        let is_refused = |why: &String| why.contains("client.nice is -5") && why.contains("-e 25");
        assert!(
            above == Ok("-5".to_string()) || above.as_ref().is_err_and(is_refused),
            "{above:?}"
        );
    }

    #[test]
    fn a_run_that_was_not_kept_has_failed() {
        let why = stored_run("20260101T120000-0000002a".to_string(), Path::new("/no/such/folder"));
        let why = why.unwrap_err();
        assert!(why.starts_with("measured, but not kept: /no/such/folder/20260101T"), "{why}");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let missing = output(Command::new("/no/such/program"), b"", &AtomicBool::new(false));
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
