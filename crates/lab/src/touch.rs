//! What experiments change at the server, and how it is put back.
//!
//! The machine is borrowed. Before anything is changed a journal entry is on disk that says what
//! was before. Everything is put back when the experiment ends, fails or is interrupted; after a
//! crash, or when that did not work, the next start finds the entry and does it then. Nothing here
//! outlives a reboot, and the journal's folders do not either.

mod cgroup;
mod cpu_max;
mod journal;
mod mask;
mod quota;
#[cfg(test)]
mod testing;

pub use journal::{is_under_way, put_back_leftovers};
pub(crate) use mask::ServerMask;
pub(crate) use quota::ServerQuota;

use model::facts::Unreadable;

/// What could not be read, in a sentence.
fn told(error: Unreadable) -> String {
    format!("{}: {}", error.source, error.why)
}
