//! What users write: plan files, the list of targets, and the options of commands that make load.
//!
//! What this room is for: reading plans, the list of what they may start, and the words of a
//! command, and making cells and trials of them, each fully resolved, before anything runs.
//! In: the text of two files, words, and what [`Machine`] reports about the host. Out: cells,
//! targets, services and trials, or one line that says what is wrong and what is accepted.
//! Never: processes, files, a clock; a [`Machine`] has them. A plan starts nothing but targets and
//! services that the list names, except what needs trust, see [`untrusted`]. A list from another
//! person starts that person's programs.

mod allow;
mod cell;
mod cells;
mod check;
mod design;
mod duel;
mod factors;
mod hosts;
mod lasts;
mod load;
mod only;
mod rehearsal;
mod secrets;
mod target;
mod trust;
mod tune;

mod arrivals;
mod ask;
mod attempt;
mod auth;
mod calls;
mod confirm;
mod endpoints;
mod far_probe;
mod fleet;
mod flows;
mod http;
mod options;
mod punycode;
mod requests;
pub mod rerun;
mod secure;
mod shape;
mod trial;
mod way_syntax;
mod which_agents;

mod explain;
mod foreign;
mod kinds;
mod machine;
mod mix;
mod typed;
mod url;
mod usage;
pub mod values;

pub use cell::{Cell, Client, Server, Visit};
pub use cells::Plan;
pub use duel::{Change, Duel, proposed};
pub use hosts::{CLIENT, FarProbe, GivenHosts, Host, Origin, Place};
pub use lasts::{Lasts, rough};
pub use load::{Load, command, missing, trial_of};
pub use rehearsal::Surroundings;
pub use requests::unexpanded;
pub use secrets::without_secrets;
pub use target::{Target, Targets};
pub use trust::untrusted;
pub use tune::Tune;

pub use ask::{Ask, LoadCommand};
pub use attempt::{Attempt, Tried};
pub use calls::{Reach, SchemaFrom, SchemaQuestion};
pub use endpoints::WayError;
pub use explain::one_line;
pub use far_probe::ProbeOptions;
pub use fleet::{BrokerOptions, FleetChoice, FleetOptions};
pub use foreign::{FOREIGN, Foreign, Value};
pub use kinds::kinds;
pub use machine::Machine;
pub use mix::BYTES_MAX;
pub use options::{
    Against, CiOptions, Colour, DriverChoice, LiveOptions, Options, Runs, Verbosity,
};
pub use trial::PROFILED_WINDOW_MIN_NS;
pub use typed::{Kind, Typed, hint};
pub use url::{Scheme, Url, UrlError, is_url};
pub use usage::{Refusal, Usage};
pub use way_syntax::{SOURCES_MAX, Sources};
pub use which_agents::WhichAgents;

/// Schema of a plan file.
pub const SCHEMA: &str = "ceiling.plan/1";

/// Why a file is not a plan or not a list of targets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// It is not TOML, or contains an unknown key or value.
    #[error("{0}")]
    Text(String),
    /// The schema is missing or another one.
    #[error("schema is '{0}' where '{SCHEMA}' is accepted; for example schema = \"{SCHEMA}\"")]
    Schema(String),
    /// A cell asks for something impossible.
    #[error("cell '{cell}': {why}")]
    Cell {
        /// Name of the cell.
        cell: String,
        /// What is wrong, what is accepted, an example.
        why: String,
    },
}

/// The message of the TOML reader in one line, with its position.
fn text_error(error: &toml::de::Error, text: &str) -> PlanError {
    let line =
        error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let place = line.map_or(String::new(), |line| format!("line {line}: "));
    PlanError::Text(format!("{place}{}", error.message().replace('\n', ", ")))
}

#[cfg(test)]
mod tests;
