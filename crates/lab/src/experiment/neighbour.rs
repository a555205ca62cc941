//! Busy neighbours of the generator: what starves it on purpose.

use super::process::{cpus_of, live_with_us};
use std::process::{Child, Command, Stdio};

/// One busy process for each CPU, until this is dropped.
#[derive(Debug)]
pub struct Neighbours(Vec<Child>);

impl Neighbours {
    /// Starts one on each of the CPUs.
    pub fn start(cpus: &str) -> Result<Self, String> {
        let mut neighbours = Self(Vec::new());
        for cpu in cpus_of(cpus)? {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            live_with_us(&mut command, vec![cpu]);
            let child = command
                .spawn()
                .map_err(|error| format!("cannot start a neighbour on CPU {cpu}: {error}"))?;
            neighbours.0.push(child);
        }
        Ok(neighbours)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
