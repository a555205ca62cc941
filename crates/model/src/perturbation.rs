//! Experiments that confirm a wall: one resource is made a little smaller or larger, and the rate
//! either follows or does not.
//!
//! The elasticity of a resource is d ln(rate) / d ln(capacity). At a single wall it is 1 for the
//! resource that limits and 0 for every other; resources that limit together share the 1.

use serde::{Deserialize, Serialize};

crate::named! {
    /// What is made smaller or larger.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Resource {
        /// Requests in flight.
        InFlight = "requests in flight",
        /// CPU time of the generator.
        ClientCpu = "the generator's CPU time",
        /// Event loops (threads) of the generator.
        ClientLoops = "the generator's threads",
        /// Bytes per response: capacity grows as they shrink.
        #[serde(rename = "answer_bytes")]
        ResponseBytes = "bytes per response",
        /// CPU time the server may use.
        ServerCpu = "the server's CPU time",
        /// CPUs the server may run on.
        ServerCpus = "the server's CPUs",
        /// Requested rate, in open loop.
        OfferedRate = "the asked rate",
    }
    /// In words.
    fn name;
}

/// Whether experiments may change what the server runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    /// Only the load and the generator are changed.
    ClientOnly,
    /// The server's CPU quota and CPU mask as well, for the length of a block.
    Server,
}

/// Which experiments to make to confirm a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    /// What may be changed.
    pub touch: Touch,
    /// Path on the same server with responses of another size; absent when there is none.
    pub route: Option<String>,
    /// Pairs of a base block and a changed one in each experiment.
    pub pairs: u32,
    /// Length of the measured window of each block, nanoseconds.
    pub block_ns: u64,
}

/// What an experiment shows about its resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// The rate follows it: it limits.
    Limits,
    /// The rate follows it in part, and certainly not fully.
    LimitsInPart,
    /// The rate does not depend on it.
    DoesNotLimit,
    /// The blocks do not decide.
    #[default]
    Open,
}

/// One experiment in interleaved blocks: base, changed, changed, base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Perturbation {
    /// What was changed.
    pub resource: Resource,
    /// In words, with figures: "32 instead of 64 requests in flight".
    pub what: String,
    /// Capacity of the resource while changed over its base; 0.8 for a fifth less. `null` when
    /// nothing set it and nothing was measured.
    pub factor: Option<f64>,
    /// Rates of the base blocks, per second.
    pub base: Vec<f64>,
    /// Rates of the changed blocks, in the same order.
    pub changed: Vec<f64>,
    /// d ln(rate) / d ln(capacity); `null` when the blocks do not decide.
    pub elasticity: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// What that interval says.
    pub says: Says,
    /// Why it was not run or not completed; absent when it was.
    pub failure: Option<String>,
}
