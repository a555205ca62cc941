//! Labelled scenarios: servers, generators and links whose wall is known, and the verdicts on them.
//!
//! What this room is for: measuring how often the judge is right, wrong or silent, and whether it
//! is better than two simple rules in common use.
//! In: names of scenarios and a seed; a directory of kept runs.
//! Out: runs with a label each, in that directory; a table.
//! Never: an untested label (if its limit does not move the result, it is void); anything left on
//! the host: see `stage.rs`; a judge that sees the label.

mod options;

mod catalogue;
mod held_out;
mod ordinary;
mod scenario;
mod tail;

mod dice;
mod setup;
mod spells;

mod stage;

mod actors;
mod perform;
mod running;

mod draw;
mod label;
mod proof;

mod baseline;
mod beside;
mod fit;
mod rejudge;
mod score;
mod table;

mod burn;
mod knock;
mod ports;
mod seat;

use crate::options::{Action, Options};
use clap::Parser;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let done = match Options::parse().action {
        Action::List(options) => {
            catalogue::print_list(options.family);
            Ok(())
        }
        Action::Run(options) => draw::run_all(&options),
        Action::Score(options) => table::print(&options),
        Action::Beside(options) => beside::print(&options),
        Action::Fit(options) => fit::run(&options),
        Action::Knock(options) => knock::run(&options),
        Action::Burn(options) => burn::run(&options),
        Action::Carry(options) => {
            let one_way = Duration::from_micros(options.one_way_us);
            stage::carry([&options.one, &options.other], one_way, options.lost)
        }
        Action::Ports(options) => ports::run(&options),
        Action::Seat(options) => seat::take(&options),
        Action::Clear(options) => seat::clear(&options),
        Action::There(options) => stage::relay(&options.script),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("walls: {error:#}");
            ExitCode::FAILURE
        }
    }
}
