//! Programs inside the kernel that see what a server's threads waited for.
//!
//! What this room is for: the kernel calls small programs at its own hooks (raw tracepoints), and
//! they add up in maps what no counter has: how long a request lay unread in its socket, how long
//! the server had it, what its threads slept on, and who ran while they wanted to. The programs are
//! tables of instructions, assembled here with the offsets of the running kernel, so that neither a
//! compiler nor a generated file is needed.
//! In: processes and a port. Out: [`model::kernel::KernelReadings`].
//! Never: what was not read as zero. A hook that this kernel has not, or a user who may not attach
//! to it, is a sentence in `unreadable`.

mod asm;
mod bpf;
mod btf;
mod code;
mod disks;
mod drops;
pub mod fuzzing;
mod maps;
mod sockets;
mod stacks;
mod threads;
mod watch;

pub use bpf::program_ids;
pub use watch::{Asked, Scope, Watch, may_watch};
