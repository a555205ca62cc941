//! What a wall predicts about experiments: the resources that the rate must follow, and those that
//! it must not follow.

use model::perturbation::Resource::{
    self, ClientCpu, ClientLoops, InFlight, OfferedRate, ServerCpu, ServerCpus,
};

/// What a wall predicts about experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicts {
    /// The rate follows any of these; the experiment changes the first one that it can. Empty if
    /// the limit is nothing that we can change.
    pub follows: &'static [Resource],
    /// The rate does not follow these; the experiment changes the first one of each group that it
    /// can.
    pub stays: &'static [&'static [Resource]],
}

/// Load: more load changes nothing when something else is full.
pub const LOAD: &[Resource] = &[InFlight, OfferedRate];
/// The generator itself.
pub const CLIENT_CAN: &[Resource] = &[ClientCpu, ClientLoops];
/// The CPU of the server.
pub const SERVER_CPU: &[Resource] = &[ServerCpu, ServerCpus];
/// For a wall at the server: what the client contributes. Load comes first, as the least invasive.
pub const OTHER_SIDE: &[Resource] = &[InFlight, OfferedRate, ClientCpu];
const LOAD_OR_SERVER: &[Resource] = &[InFlight, OfferedRate, ServerCpu, ServerCpus];
const NOT_LOAD: &[Resource] = &[ClientCpu, ClientLoops, ServerCpu, ServerCpus];

/// The offered load limits.
pub const LOAD_LIMITS: Predicts = Predicts { follows: LOAD, stays: &[NOT_LOAD] };
/// Something limits that is neither load nor CPU: a pool, a lock, a limiter.
pub const SOMETHING_WAITS: Predicts =
    Predicts { follows: &[], stays: &[LOAD, CLIENT_CAN, SERVER_CPU] };
/// What the server allows on each connection limits.
pub const CONNECTIONS: Predicts =
    Predicts { follows: &[InFlight], stays: &[CLIENT_CAN, SERVER_CPU] };
/// The generator's CPUs limit.
pub const CLIENT_CPU: Predicts = Predicts { follows: &[ClientCpu], stays: &[LOAD_OR_SERVER] };
/// One thread of the generator limits.
pub const CLIENT_LOOPS: Predicts =
    Predicts { follows: &[ClientLoops, ClientCpu], stays: &[LOAD_OR_SERVER] };
