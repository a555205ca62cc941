//! What the tests of this crate share: fixtures, folders, child processes and made-up hosts.

pub use crate::fake_host::*;
pub use ::host::testing::*;
