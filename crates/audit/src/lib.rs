//! Checks what other load generators print against arithmetic.
//!
//! What this room is for: recognising the output of a tool by its content, reading its figures with
//! the precision they were printed in, and asking about each figure what our own gates ask: whether
//! the other figures agree with it, exclude it, or leave it open.
//! In: text or rows of any tool, hostile until parsed; what a person knows in addition.
//! Out: `ceiling.audit/1` ([`model::audit`]).
//! Never: a file, a process, a clock, or a panic on foreign input; *cannot be* without arithmetic
//! that holds for every value that rounds to the printed digits.

mod printed;

mod document;
mod instant;
mod page;
mod rows;

mod command;
mod formats;
mod read;
pub use formats::{FORMATS, Format, REFUSED, Reader};
pub use read::{SIZE_MAX, Unread, read};

mod text;
pub use text::read_text;

mod bounds;

mod checks;
mod judge;
mod say;
pub use checks::{CHECKS, Listed};
pub use judge::{account, audit};
