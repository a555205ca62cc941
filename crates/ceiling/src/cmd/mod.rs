//! One file per sub-command.

pub mod churn;
pub mod find;
pub mod load;
pub mod probe;
pub mod ramp;

pub mod show;
pub mod size;

pub mod completions;
