//! What reading each source costs, measured by reading it.

use crate::clock;
use crate::sampler::Config;
use crate::source::{REGISTRY, Round, Scope, SourceEntry};
use crate::tree::Tree;
use model::units::NS_PER_S;

/// The cost of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceCost {
    /// Its name.
    pub name: String,
    /// CPU time of one read, the middle one of several, nanoseconds.
    pub read_ns: u64,
    /// The interval that the registry asks for, nanoseconds.
    pub every_ns: u64,
    /// The interval at which the sampler reads it, which is longer when it is costly.
    pub paced_ns: u64,
}

impl SourceCost {
    /// CPUs' worth of time it takes.
    pub fn cpus(&self) -> f64 {
        self.read_ns as f64 / self.paced_ns as f64
    }
}

/// Reads every source `reads` times and returns the cost; sources that cannot be read are left out.
pub fn by_source(config: &Config, reads: u32) -> Vec<SourceCost> {
    let scope = config.scope();
    let tree = config.server_pid.map(|pid| Tree::on(&config.root, pid));
    let server = tree.as_ref().map(Result::as_ref);
    let mut costs = Vec::new();
    for entry in REGISTRY {
        let Some(read_ns) = read_ns(entry, &scope, server, reads) else { continue };
        let every_ns = entry.cadence.every_ns(config.window_ns).max(config.period_ns);
        let paced_ns = every_ns.max(crate::sampler::rest_ns(read_ns, config.window_ns));
        let name = (entry.declared)().name;
        costs.push(SourceCost { name, read_ns, every_ns, paced_ns });
    }
    costs
}

fn read_ns(
    entry: &SourceEntry,
    scope: &Scope,
    server: Option<Result<&Tree, &model::facts::Unreadable>>,
    reads: u32,
) -> Option<u64> {
    let mut source = scope.open(entry)?;
    let mut costs_ns = Vec::new();
    for read in 0..=u64::from(reads) {
        // A round in which nothing but the counters is due: looking for new threads is rare.
        let round = Round { due_ns: read * NS_PER_S / 10, server };
        let begin_ns = clock::thread_cpu_ns();
        source.read(&round).ok()?;
        costs_ns.push(clock::thread_cpu_ns() - begin_ns);
    }
    // The first read opens the files.
    costs_ns.remove(0);
    costs_ns.sort_unstable();
    costs_ns.get(costs_ns.len() / 2).copied()
}
