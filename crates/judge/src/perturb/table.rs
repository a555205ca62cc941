//! What each wall predicts: the resource the rate must follow, and those it must not.

use model::perturbation::Resource::{
    self, ClientCpu, ClientLoops, Connections, InFlight, OfferedRate, ResponseBytes, ServerCpu,
    ServerCpus,
};
use model::verdict::Named;
use model::wall::WallId;

/// What a wall predicts of experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prediction {
    /// The rate follows any of these; the first that can be changed is. Empty where nothing that
    /// we can change is what limits.
    pub(super) follows: &'static [Resource],
    /// The rate does not follow these; of each group the first that can be changed is.
    pub(super) stays: &'static [&'static [Resource]],
}

/// Load: more of it changes nothing where something else is full.
pub(super) const LOAD: &[Resource] = &[InFlight, OfferedRate];
/// The generator itself.
pub(super) const CLIENT: &[Resource] = &[ClientCpu, ClientLoops];
/// The CPU of the server.
pub(super) const SERVER: &[Resource] = &[ServerCpu, ServerCpus];
/// Of a wall at the server: what the client brings. Load first, it is the least invasive.
const OTHER_SIDE: &[Resource] = &[InFlight, OfferedRate, ClientCpu];
const NOT_LOAD: &[Resource] = &[ClientCpu, ClientLoops, ServerCpu, ServerCpus];

const LOAD_LIMITS: Prediction = Prediction { follows: LOAD, stays: &[NOT_LOAD] };
/// Something that is neither load nor CPU: a pool, a lock, a limiter.
const SOMETHING_WAITS: Prediction = Prediction { follows: &[], stays: &[LOAD, CLIENT, SERVER] };

/// The prediction of a wall; nothing for those that no experiment of this version tells about.
pub(super) fn of(wall: Named) -> Option<Prediction> {
    let wall = match wall {
        Named::None => return Some(LOAD_LIMITS),
        Named::Unknown => return Some(SOMETHING_WAITS),
        Named::Wall(wall) => wall,
    };
    let prediction = |follows| Some(Prediction { follows, stays: &[OTHER_SIDE] });
    match wall {
        WallId::S1 | WallId::S2 | WallId::S3 | WallId::S4 => prediction(SERVER),
        WallId::C1 => Some(Prediction { follows: &[ClientCpu], stays: &[LOAD_OR_SERVER] }),
        WallId::C2 => {
            Some(Prediction { follows: &[ClientLoops, ClientCpu], stays: &[LOAD_OR_SERVER] })
        }
        WallId::M2 | WallId::C3 | WallId::N1 => Some(LOAD_LIMITS),
        WallId::C5 | WallId::K8 => prediction(&[ResponseBytes]),
        WallId::K9 | WallId::K14 | WallId::A8 => prediction(&[Connections]),
        WallId::A1 | WallId::A2 | WallId::A3 | WallId::A4 => Some(SOMETHING_WAITS),
        _ => None,
    }
}

const LOAD_OR_SERVER: &[Resource] = &[InFlight, OfferedRate, ServerCpu, ServerCpus];

/// The wall that is meant when a resource limits and nothing else is known of it.
pub(super) fn wall_of(resource: Resource) -> WallId {
    match resource {
        InFlight => WallId::C3,
        OfferedRate => WallId::M2,
        Connections => WallId::K9,
        ClientCpu => WallId::C1,
        ClientLoops => WallId::C2,
        ResponseBytes => WallId::K8,
        ServerCpu | ServerCpus => WallId::S1,
    }
}

/// A resource in words.
pub(super) fn name_of(resource: Resource) -> &'static str {
    match resource {
        InFlight => "requests in flight",
        OfferedRate => "the asked rate",
        Connections => "connections at the same number in flight",
        ClientCpu => "the generator's CPU time",
        ClientLoops => "the generator's threads",
        ResponseBytes => "bytes per response",
        ServerCpu => "the server's CPU time",
        ServerCpus => "the server's CPUs",
    }
}
