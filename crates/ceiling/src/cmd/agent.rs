//! `ceiling agent`: this host makes load for a controller on another host.

use crate::cmd::fleet::{AgentName, ControllerText, Label, PatternText};
use crate::exit::{Code, Failure};
use crate::screen::{to_stderr, to_stdout};
use crate::signals::stop_flag;
use clap::Args;
use fleet::process::keys;
use plan::values::{CredentialsFile, FleetUrl, Rate, Threads};

/// Makes load as ordered by a controller on another host: `ceiling load --fleet` or any other
/// command with load. The agent connects to the fleet's broker, listens on no port, and carries out
/// one job at a time.
///
/// The agent accepts only orders that the controller's key has signed for this agent. It sends load
/// only to what --allow names, and stops 1.5 s after it loses the controller. It reads no files and
/// runs no commands on anyone's orders.
///
/// Exit codes: 0 ended by a signal, 2 usage, 5 the broker refuses the credentials.
#[derive(Debug, Args)]
#[command(after_help = "\
Addresses of this host and of its link (127.0.0.1, 169.254.169.254 and the like)
must be allowed literally: a name that resolves to one is refused.

Examples:
  ceiling agent --nats nats://nats.example:4222/staging --name a1 \\
      --credentials a1.creds --controller KEY \\
      --allow 'https://*.staging.example:443' --max-rate 200k --labels zone=a
  ceiling fleet up        four agents on this host, to try it out")]
pub struct Agent {
    /// Broker of the fleet, with the fleet's name after a slash
    #[arg(long, value_name = "nats://HOST[/NAME]")]
    nats: FleetUrl,

    /// Name of this agent in the fleet, as given to ceiling fleet keys
    #[arg(long, value_name = "NAME")]
    name: AgentName,

    /// This agent's credentials file, made by ceiling fleet keys or by nsc
    #[arg(long, value_name = "FILE")]
    credentials: CredentialsFile,

    /// Public key of the controller, as ceiling fleet keys printed it
    #[arg(long, value_name = "KEY")]
    controller: ControllerText,

    /// Where load may go: scheme, host or *.DOMAIN, port or *; repeatable, or separated by commas
    #[arg(long, value_name = "URL", required = true, value_delimiter = ',')]
    allow: Vec<PatternText>,

    /// Highest rate that this agent may send, requests per second; it then refuses a closed loop
    #[arg(long, value_name = "X")]
    max_rate: Option<Rate>,

    /// What this agent can send, requests per second; it sets the agent's share of a load. Without
    /// it the agent measures this at its start, for about a second
    #[arg(long, value_name = "X")]
    capacity: Option<Rate>,

    /// Labels by which --agents chooses; repeatable, or separated by commas
    #[arg(long, value_name = "LABEL=VALUE", value_delimiter = ',')]
    labels: Vec<Label>,

    /// Worker threads, or auto: one per CPU
    #[arg(short = 't', long, value_name = "N|auto", default_value = "auto")]
    threads: Threads,
}

pub fn run(command: Agent) -> Result<Code, Failure> {
    let file = &command.credentials;
    let credentials = keys::credentials(file).map_err(|error| {
        Failure::Usage(format!("--credentials {error}; for example fleet-keys/agents/a1.creds"))
    })?;
    let (fleet, servers) = crate::fleet::servers("--nats", &command.nats)?;
    let settings = fleet::process::agent::Settings {
        servers,
        fleet,
        credentials,
        name: command.name.0.clone(),
        controller: command.controller.0,
        allow: command.allow.iter().map(|pattern| pattern.0.clone()).collect(),
        rate_max: command.max_rate.as_ref().map(|rate| rate.0),
        capacity: command.capacity.as_ref().map(|rate| rate.0),
        labels: command.labels.iter().map(|label| label.0.clone()).collect(),
        threads: command.threads.0,
        version: env!("CARGO_PKG_VERSION").to_string(),
    };
    let stop = stop_flag()?;
    to_stdout(&format!(
        "ceiling agent: {} of {}, may load {}\n",
        command.name.0,
        command.nats.0,
        command.allow.iter().map(|one| one.0.to_string()).collect::<Vec<_>>().join(" ")
    ))?;
    let mut tell = |line: &str| {
        // Some texts are a controller's or a broker's. A closed stderr must not end the agent.
        to_stderr(&format!("ceiling agent: {}", line));
    };
    match fleet::process::agent::run(settings, &stop, &mut tell) {
        Ok(()) => Ok(Code::Good),
        Err(error) => Err(Failure::Fleet(error)),
    }
}
