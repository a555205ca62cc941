//! `ceiling fleet stop`: the end of all load.

use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use plan::BrokerOptions;

/// Ends all load of all agents at once, whoever ordered it. Agents stay, and what they measured
/// goes to who ordered it. Load of a controller that is gone ends by itself after 1.5 s.
///
/// Exit codes: 0 every agent that is there has stopped or did nothing, 2 usage, 5 the broker does
/// not respond.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ceiling fleet stop --fleet nats://nats.example:4222/staging \\
      --fleet-keys fleet-keys")]
pub struct Stop {
    #[command(flatten)]
    broker: BrokerOptions,
}

pub fn run(command: &Stop) -> Result<Code, Failure> {
    let controller = super::controller(&command.broker)?;
    let stopped = controller.stop("ceiling fleet stop");
    let text = match stopped.as_slice() {
        [] => "no agent is there\n".to_string(),
        names => format!("told to stop: {}\n", names.join(" ")),
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}
