//! `ceiling fleet stop`: stops all load.

use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use plan::BrokerOptions;

/// Stops all load of all agents at once, whichever controller ordered it. Agents keep running, and
/// send what they measured to the controller that ordered it. If a controller is lost, its load
/// ends by itself after 1.5 s.
///
/// Exit codes: 0 every agent that responds has stopped or was idle, 2 usage, 5 the broker does not
/// respond, or an agent does not take the order.
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
    let stopped = controller.stop("ceiling fleet stop").map_err(Failure::Fleet)?;
    let text = match stopped.as_slice() {
        [] => "no agent responds\n".to_string(),
        names => format!("stopping: {}\n", names.join(" ")),
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}
