//! The commands that make load, and the trial of each: the only way from words to load, for the
//! command line and for the cells of a plan.

mod churn;
mod fanout;
mod find;
mod load;
mod ramp;

use crate::machine::Machine;
use crate::options::Options;
use crate::usage::Refusal;
use clap::{Arg, Subcommand};
use model::load::Trial;
use model::option;

/// A command that makes load.
pub trait Ask {
    /// The options that all of them share.
    fn options(&self) -> &Options;

    /// The trial, fully resolved for a host: everything "auto" is decided.
    fn trial(&self, machine: &dyn Machine) -> Result<Trial, Refusal>;
}

/// An option where its facts say that help shows it.
fn shown(argument: Arg) -> Arg {
    let heading = argument.get_long().and_then(option::named).and_then(option::Facts::heading);
    argument.hide_short_help(heading.is_some()).help_heading(heading)
}

/// The commands that make load.
#[derive(Debug, Subcommand)]
pub enum LoadCommand {
    /// How fast is this endpoint at one load: one number that can be defended.
    Load(Box<load::Load>),
    /// How far does it go, and what stops it: a series of loads on warm connections.
    Ramp(Box<ramp::Ramp>),
    /// How many new connections per second, or how many at once: clients that come and go.
    Churn(Box<churn::Churn>),
    /// How many events reach subscribers, what share, and how late: streams and writers.
    Fanout(Box<fanout::Fanout>),
    /// The highest rate that holds an objective, searched for and confirmed.
    Find(Box<find::Find>),
}

impl LoadCommand {
    fn inner(&self) -> &dyn Ask {
        match self {
            Self::Load(command) => &**command,
            Self::Ramp(command) => &**command,
            Self::Churn(command) => &**command,
            Self::Fanout(command) => &**command,
            Self::Find(command) => &**command,
        }
    }
}

impl Ask for LoadCommand {
    fn options(&self) -> &Options {
        self.inner().options()
    }

    fn trial(&self, machine: &dyn Machine) -> Result<Trial, Refusal> {
        self.inner().trial(machine)
    }
}
