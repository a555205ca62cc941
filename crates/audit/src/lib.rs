//! What other load generators print, held against arithmetic.
//!
//! What this room is for: recognising the output of a tool by its content, reading its figures with
//! the precision they were printed in, and asking of each what our own gates ask: whether the
//! other figures agree with it, exclude it, or leave it open.
//! In: text or rows of any tool, hostile until parsed; what a person knows beside them.
//! Out: `ceiling.audit/1` ([`model::audit`]).
//! Never: a file, a process, a clock, or a panic on foreign input; *cannot be* without arithmetic
//! that holds for every value which rounds to the printed digits.

mod printed;

mod document;
mod page;

mod command;
mod formats;
mod read;
pub use formats::{FORMATS, Format};
pub use read::{SIZE_MAX, Unread, read};

mod bounds;

mod checks;
mod judge;
mod say;
pub use checks::{CHECKS, Listed};
pub use judge::{account, audit};
