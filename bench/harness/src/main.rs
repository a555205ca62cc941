//! The bench: cost and accuracy of `ceiling`, compared with its peers, the floor and older builds.
//!
//! What this room is for: one harness for every measurement that compares programs. It starts
//! them, lets them run in interleaved rounds and prints ratios.
//! In: built programs, installed peers, and a command line.
//! Out: tables on stdout, and files under `out/`.
//! Never: a test, or code that the product needs. bench/README.md says how to read the tables.

mod guard;
mod options;
mod rows;

mod bounds;
mod contender;
mod contest;
mod load;
mod peers;

mod install;
mod machine;
mod server;
mod supervise;
mod veth;
mod words;

mod memory;
mod rounds;
mod slot;

mod compare;
mod count;
mod statistics;

mod record;
mod table;

mod truth;

mod bare;
mod database;
mod size;
mod steering;

use clap::Parser;
use std::process::ExitCode;
use supervise::Interrupted;

/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// The commands of the bench. A new command is one file and one row here.
#[derive(Parser)]
#[command(name = "bench", about = "Compares ceiling with its peers, the floor and its past")]
enum Command {
    /// The cost of a request, compared with the peers and the floor
    Rows(contest::Options),
    /// The cost of a request of two builds of ceiling, paired
    Guard(guard::Options),
    /// The targets, compared with bare handlers of their libraries
    Bare(bare::Options),
    /// /db/read of the targets, compared with pgbench on one PostgreSQL
    Database(database::Options),
    /// CPU that `ceiling size` predicts for two generators, and CPU that they use
    Size(size::Options),
    /// Predictions for RPS and RFS, and their measured effect; needs root
    Steering(steering::Options),
    /// Percentiles that load generators report, compared with the true ones
    Truth(truth::Options),
}

fn main() -> ExitCode {
    let ended = match Command::parse() {
        Command::Rows(options) => contest::run(options),
        Command::Guard(options) => guard::run(options),
        Command::Bare(options) => bare::run(options),
        Command::Database(options) => database::run(options),
        Command::Size(options) => size::run(options),
        Command::Steering(options) => steering::run(options),
        Command::Truth(options) => truth::run(options),
    };
    match ended {
        Ok(code) => code,
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("bench: interrupted; no process was left running");
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Command::command().debug_assert();
    }
}
