//! Children, conditions that are waited for, and a sampler that reads often.

use model::reading::{Data, Reading};
use probe::{Config, Sampler, server_facts};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A child that is killed when the test is over, with those it started.
pub struct Guard(Child);

impl Guard {
    /// Runs a shell script; its standard output is `output`.
    pub fn sh(script: &str, output: impl Into<Stdio>) -> Self {
        Self::sh_with(script, [Stdio::null(), output.into(), Stdio::null()])
    }

    /// Runs a shell script with these three standard streams.
    pub fn sh_with(script: &str, [input, output, errors]: [Stdio; 3]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(input).stdout(output).stderr(errors);
        Self(command.spawn().expect("run sh"))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let pids =
            server_facts(self.id(), Some(1), "test").map(|facts| facts.pids).unwrap_or_default();
        for pid in pids.iter().rev().map(ToString::to_string) {
            let _ = Command::new("kill").args(["-9", &pid]).stderr(Stdio::null()).status();
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long something that must happen may take; only a hang takes longer.
const PATIENCE: Duration = Duration::from_secs(240);

pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited for this: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until `pick` finds something in the readings that arrive, and returns all of them too.
pub fn wait_for_reading<T>(
    sampler: &Sampler,
    what: &str,
    mut pick: impl FnMut(&Data) -> Option<T>,
) -> (T, Vec<Reading>) {
    let mut readings = Vec::new();
    let found = wait_for(what, || {
        let arrived = sampler.take();
        let found = arrived.iter().find_map(|reading| pick(&reading.data));
        readings.extend(arrived);
        found
    });
    (found, readings)
}

pub fn config() -> Config {
    Config { period_ns: 20_000_000, ..Config::default() }
}
