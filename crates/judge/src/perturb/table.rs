//! Each resource, and the walls that it can be.

use crate::walls::{GROUPS, LOAD_LIMITS, Predicts, SOMETHING_WAITS};
use model::perturbation::Resource::{
    self, ClientCpu, ClientLoops, InFlight, OfferedRate, ResponseBytes, ServerCpu, ServerCpus,
};
use model::verdict::Named;
use model::wall::WallId;

/// The prediction of a wall; none if no experiment of this version can tell about it.
pub(super) fn of(wall: Named) -> Option<Predicts> {
    match wall {
        Named::None => Some(LOAD_LIMITS),
        Named::Unknown => Some(SOMETHING_WAITS),
        Named::Wall(wall) => {
            let mut listed = GROUPS.iter().flat_map(|group| group.walls);
            listed.find(|listed| listed.wall == wall)?.predicts
        }
    }
}

/// The wall that a limiting resource names when nothing else is known about it.
pub(super) fn wall_of(resource: Resource) -> WallId {
    match resource {
        InFlight => WallId::C3,
        OfferedRate => WallId::M2,
        ClientCpu => WallId::C1,
        ClientLoops => WallId::C2,
        ResponseBytes => WallId::K8,
        ServerCpu | ServerCpus => WallId::S1,
    }
}
