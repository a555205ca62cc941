//! Starts processes, waits for them with their CPU time, and never leaves one behind.
//!
//! One channel receives both the end of a process and Ctrl-C, so waiting costs nothing: a harness
//! that polled every few milliseconds would take CPU time from its contenders. Each process leads
//! its own group, which is killed as a whole.

use super::words::{Words, bound_to_us};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// How a process ended, and the CPU time of itself and of the children it waited for.
#[derive(Debug, Clone, Copy)]
pub struct Exit {
    pub status: ExitStatus,
    pub user: Duration,
    pub system: Duration,
}

/// The user pressed Ctrl-C, or sent another terminating signal.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

enum Event {
    Exited { process: u32, exit: std::io::Result<Exit> },
    Interrupted,
}

/// See the module. Dropping it kills what still runs.
pub struct Supervisor {
    sender: Sender<Event>,
    events: Receiver<Event>,
    running: Vec<u32>,
    exits: HashMap<u32, std::io::Result<Exit>>,
}

impl Supervisor {
    /// Starts to listen for signals.
    pub fn new() -> Result<Self> {
        let (sender, events) = channel();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let interrupts = sender.clone();
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if interrupts.send(Event::Interrupted).is_err() {
                    return;
                }
            }
        });
        Ok(Self { sender, events, running: Vec::new(), exits: HashMap::new() })
    }

    /// Starts a process with its output in two files; returns its id.
    pub fn start(&mut self, line: Words, stdout: &Path, stderr: &Path) -> Result<u32> {
        let line = bound_to_us(line);
        let create =
            |path: &Path| File::create(path).with_context(|| format!("{}", path.display()));
        let child = Command::new(&line[0])
            .args(&line[1..])
            .stdin(Stdio::null())
            .stdout(create(stdout)?)
            .stderr(create(stderr)?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("{} cannot be started", line[0]))?;
        let process = child.id();
        let sender = self.sender.clone();
        self.running.push(process);
        std::thread::spawn(move || {
            let exit = child.wait4().map(|used| Exit {
                status: used.status,
                user: used.rusage.utime,
                system: used.rusage.stime,
            });
            // The receiver is gone when the harness is exiting.
            let _ = sender.send(Event::Exited { process, exit });
        });
        Ok(process)
    }

    /// Waits until a process ends; `None` when it still runs at the deadline.
    pub fn wait(&mut self, process: u32, deadline: Instant) -> Result<Option<Exit>> {
        loop {
            if let Some(exit) = self.exits.remove(&process) {
                return Ok(Some(exit?));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => self.take(event)?,
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => bail!("the signal thread is gone"),
            }
        }
    }

    /// Whether a process has not ended yet.
    pub fn is_running(&self, process: u32) -> bool {
        self.running.contains(&process)
    }

    /// Sends SIGTERM to a process, and kills it if it does not exit within `patience`.
    pub fn stop(&mut self, process: u32, patience: Duration) -> Result<Option<Exit>> {
        self.signal(process, Signal::TERM);
        let exit = self.wait(process, Instant::now() + patience)?;
        if exit.is_none() {
            self.kill(process)?;
        }
        Ok(exit)
    }

    /// Kills all that still run.
    pub fn stop_all(&mut self) -> Result<()> {
        for process in self.running.clone() {
            self.kill(process)?;
        }
        Ok(())
    }

    /// Kills a process with all of its group.
    pub fn kill(&mut self, process: u32) -> Result<()> {
        self.signal(process, Signal::KILL);
        self.wait(process, Instant::now() + Duration::from_secs(10))?;
        Ok(())
    }

    fn signal(&self, process: u32, signal: Signal) {
        if let Some(group) = Pid::from_raw(process as i32)
            && self.is_running(process)
        {
            // It may have just exited by itself.
            let _ = kill_process_group(group, signal);
        }
    }

    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Interrupted => Err(Interrupted.into()),
            Event::Exited { process, exit } => {
                self.running.retain(|running| *running != process);
                self.exits.insert(process, exit);
                Ok(())
            }
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        for process in &self.running {
            self.signal(*process, Signal::KILL);
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.running.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(event) = self.events.recv_timeout(left) else { return };
            if let Event::Exited { process, .. } = event {
                self.running.retain(|running| *running != process);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    fn start(supervisor: &mut Supervisor, script: &str) -> u32 {
        let null = Path::new("/dev/null");
        supervisor.start(words(&["sh", "-c", script]), null, null).unwrap()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn an_exit_carries_status_and_cpu_time_of_children() {
        let mut supervisor = Supervisor::new().unwrap();
        let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let script = format!("sh -c '{burn}'; exit 3");
        let process = start(&mut supervisor, &script);
        let exit = supervisor.wait(process, soon()).unwrap().unwrap();
        assert_eq!(exit.status.code(), Some(3));
        assert!(exit.user > Duration::from_millis(5), "{:?}", exit.user);
        assert!(!supervisor.is_running(process));
    }

    #[test]
    fn what_does_not_end_is_stopped() {
        let mut supervisor = Supervisor::new().unwrap();
        let ready = std::env::temp_dir().join(format!("ceiling-supervise-{}", std::process::id()));
        let script = format!("trap '' TERM; : >'{}'; sleep 60", ready.display());
        let process = start(&mut supervisor, &script);
        while !ready.exists() {
            let early = Instant::now() + Duration::from_millis(50);
            assert!(supervisor.wait(process, early).unwrap().is_none());
        }
        std::fs::remove_file(&ready).unwrap();
        assert!(supervisor.is_running(process));
        assert!(supervisor.stop(process, Duration::from_millis(100)).unwrap().is_none());
        assert!(!supervisor.is_running(process));
    }

    #[test]
    fn nothing_outlives_the_supervisor() {
        let mut supervisor = Supervisor::new().unwrap();
        let process = start(&mut supervisor, "sleep 60 & sleep 60");
        drop(supervisor);
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    }
}
