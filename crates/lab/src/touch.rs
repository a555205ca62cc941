//! What experiments change at the server, and how it is put back.
//!
//! The machine is borrowed. Before anything is changed a journal entry is on disk that says what
//! was before. Everything is put back when the experiment ends, fails or is interrupted; after a
//! crash the next start finds the entry and does it then. Nothing here outlives a reboot, and the
//! journal's folders do not either.

mod journal;
mod mask;
mod quota;

pub use journal::put_back_leftovers;
pub(crate) use mask::ServerMask;
pub(crate) use quota::ServerQuota;
