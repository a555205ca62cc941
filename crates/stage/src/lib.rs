//! Goes through the cells of a plan: starts what a cell needs, has it measured, and ends all of it.
//!
//! What this room is for: servers, services and knobs around measurements, so that nothing that was
//! started or changed stays behind.
//! In: a plan, the list of what it may start, a function that measures a cell, a flag that asks to
//! stop. Out: the results of all visits, in a folder; or why a cell failed.
//! Never: load, which a process of its own makes; what the results mean; a server that outlives us.

mod begun;
mod folder;
mod hooks;
mod measurer;
mod stay;
mod walk;

mod data_folder;
mod neighbour;
mod process;
mod service;
mod started;
mod starter;

pub mod keeper;

pub mod orders;
mod tuning;

pub use begun::{BEGUN, Begun};
pub use folder::{Folder, is_safe, list_above, root_of, server_of};
pub use hooks::{Hooks, Look, Measure, Measured, Places, Progress, Ready};
pub use measurer::{ORDERED, measure};
pub use starter::Starter;
pub use tuning::{Rehearsed, check as check_tuning, check_here, is_turned, way};
pub use walk::walk;

#[cfg(test)]
#[path = "../../lab/src/fake_host.rs"]
mod fake_host;
#[cfg(test)]
mod testing;
