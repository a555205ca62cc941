//! Busy neighbours of the generator, which starve it on purpose.

use crate::keeper::{KeptProcess, Order, Refused};
use crate::process::cpus_of;
use std::process::Stdio;

/// One busy process for each CPU, until this is dropped.
#[derive(Debug)]
pub struct Neighbours(Vec<KeptProcess>);

impl Neighbours {
    /// Starts one on each of the CPUs.
    pub fn start(cpus: &str) -> Result<Self, String> {
        let mut neighbours = Self(Vec::new());
        for cpu in cpus_of(cpus)? {
            let words = ["sh", "-c", "while :; do :; done"].map(str::to_string).to_vec();
            let order = Order { words, cpus: vec![cpu], ..Order::default() };
            let started = KeptProcess::start(&order, Stdio::null(), Stdio::null());
            let (kept, _) = started.map_err(|why| match why {
                Refused::Cpus => format!("cannot start a neighbour: this host has no CPU {cpu}"),
                Refused::Other(why) => format!("cannot start a neighbour on CPU {cpu}: {why}"),
            })?;
            neighbours.0.push(kept);
        }
        Ok(neighbours)
    }
}
