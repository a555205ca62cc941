//! Knobs of a host: what they are, where they are, what they would do, and how they are put back.
//!
//! What this room is for: changing a host with care. A knob has the places of its values, a
//! proposal, a prediction for the figures of a run, and a check of the effect.
//! In: a host's files, a wish, the signals of a run. Out: rows of a plan; changes, each journalled
//! before it is made, read back by meaning, and put back by compare and swap.
//! Never: a change without an entry on disk, a foreign value overwritten, a command run.

use ::host::{clock, cpus, link, namespace, process, systemd};

mod advise;

mod host;
mod knob;
mod knobs;
mod place;
mod predict;

mod plan;
mod values;
mod wanted;

mod apply;
mod children;
mod export;
mod guard;
mod held;
mod journal;
mod reach;
mod revert;
mod server;
mod server_group;
mod status;

pub mod trust;

mod error;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use self::host::{Device, Host, Interrupt, Profile, Split, Wish};
pub use ::host::CpuSet;
pub use advise::{RunCommands, advise, by_hand, prediction};
pub use apply::{Applied, ApplyOptions, DEADLINE, DEADLINE_MAX, Disruption, Watch, apply, places};
pub use error::TuneError;
pub use export::{Durable, Form, export};
pub use guard::{Watched, extend, guard, keep, now_boot_ms};
pub use held::{is_changed, put_back_abandoned};
pub use journal::{Journal, journal_folder};
pub use knob::{Act, Ask, Effect, Knob, Proposal, Sign};
pub use knobs::{GENERATOR, REGISTRY, find};
pub use place::{DriverSetting, Format, Place, PlaceError, Seen};
pub use plan::{Change, Planned, plan};
pub use revert::{Which, revert};
pub use server::{ServerChange, Taken};
pub use server_group::ServerGroup;
pub use status::{InForce, drift, standing, status};
pub use values::{check_values, planned};
pub use wanted::knob;
