//! Checks what other load generators print against arithmetic.
//!
//! It recognises the output of a tool by its content, reads its figures with the precision they
//! were printed in, and asks about each figure what our own gates ask: whether the other figures
//! agree with it, exclude it, or leave it open.
//! In: text or rows of any tool, hostile until parsed; what a person knows in addition.
//! Out: `ceiling.audit/1` ([`model::audit`]).
//! Never: a file, a process, a clock, or a panic on foreign input; *impossible* without arithmetic
//! that holds for every value that rounds to the printed digits.

mod printed;

mod document;
mod instant;
mod page;
mod rows;

mod command;
mod formats;
mod read;
mod unread;
pub use formats::{FORMATS, Format, REFUSED, Reader};
pub use read::read;
pub use unread::{SIZE_MAX, Unread};

mod text;
pub use text::read_text;

mod bounds;

mod checks;
mod judge;
mod say;
pub use checks::{CHECKS, Listed};
pub use judge::{account, audit};
