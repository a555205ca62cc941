//! One file per sub-command.

pub mod churn;
pub mod fanout;
pub mod find;
pub mod load;
pub mod probe;
pub mod ramp;

pub mod advise;
pub mod compare;
pub mod run;
pub mod show;
pub mod size;
pub mod tune;

pub mod completions;
