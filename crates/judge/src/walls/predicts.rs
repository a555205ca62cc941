//! What a wall predicts of experiments: the resources that the rate must follow, and those that it
//! must not.

use model::perturbation::Resource::{
    self, ClientCpu, ClientLoops, InFlight, OfferedRate, ServerCpu, ServerCpus,
};

/// What a wall predicts of experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicts {
    /// The rate follows any of these; the first that can be changed is. Empty where nothing that
    /// we can change is what limits.
    pub follows: &'static [Resource],
    /// The rate does not follow these; of each group the first that can be changed is.
    pub stays: &'static [&'static [Resource]],
}

/// Load: more of it changes nothing where something else is full.
pub const LOAD: &[Resource] = &[InFlight, OfferedRate];
/// The generator itself.
pub const CLIENT_CAN: &[Resource] = &[ClientCpu, ClientLoops];
/// The CPU of the server.
pub const SERVER_CPU: &[Resource] = &[ServerCpu, ServerCpus];
/// Of a wall at the server: what the client brings. Load first, it is the least invasive.
pub const OTHER_SIDE: &[Resource] = &[InFlight, OfferedRate, ClientCpu];
const LOAD_OR_SERVER: &[Resource] = &[InFlight, OfferedRate, ServerCpu, ServerCpus];
const NOT_LOAD: &[Resource] = &[ClientCpu, ClientLoops, ServerCpu, ServerCpus];

/// The load that was offered limits.
pub const LOAD_LIMITS: Predicts = Predicts { follows: LOAD, stays: &[NOT_LOAD] };
/// Something that is neither load nor CPU: a pool, a lock, a limiter.
pub const SOMETHING_WAITS: Predicts =
    Predicts { follows: &[], stays: &[LOAD, CLIENT_CAN, SERVER_CPU] };
/// The generator's CPUs limit.
pub const CLIENT_CPU: Predicts = Predicts { follows: &[ClientCpu], stays: &[LOAD_OR_SERVER] };
/// One thread of the generator limits.
pub const CLIENT_LOOPS: Predicts =
    Predicts { follows: &[ClientLoops, ClientCpu], stays: &[LOAD_OR_SERVER] };
