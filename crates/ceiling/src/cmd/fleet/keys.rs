//! `ceiling fleet keys DIR`: makes the keys of a fleet, in one folder for each machine.

use super::{AgentName, FleetName};
use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use fleet::process::keys::{BROKER, CONFIGURATION, CONTROLLER, Made, Wish, make};
use plan::values::{HostName, KeysFolder, Socket};

/// Makes the files that keep strangers out of a fleet: a configuration for nats-server with TLS and
/// one user for each agent, which may publish and subscribe only on its own subjects; a credentials
/// file for each agent; and the key that signs the controller's orders.
///
/// Existing keys are kept: run it again with the same folder to add agents. To remove an agent,
/// remove its file, run this again, and reload the configuration of the broker.
#[derive(Debug, Args)]
#[command(after_help = "\
Copy  DIR/nats/            to the broker's host; start: nats-server -c nats.conf
      DIR/agents/a1.creds  to the host of agent a1
      DIR/controller/      to the host that orders load; keep it secret

Examples:
  ceiling fleet keys fleet-keys --agents a1,a2,a3 --name staging \\
      --host nats.example
  ceiling fleet keys fleet-keys --agents a4 --name staging")]
pub struct Keys {
    /// Folder for the keys; made if absent
    folder: KeysFolder,

    /// Agents to make keys for; repeatable, or separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    agents: Vec<AgentName>,

    /// Name of the fleet: the part after the slash in --fleet and --nats
    #[arg(long, value_name = "NAME", default_value = crate::fleet::DEFAULT_NAME)]
    name: FleetName,

    /// A name or address of the broker for its certificate, in addition to localhost; repeatable,
    /// or separated by commas
    #[arg(long = "host", value_name = "HOST", value_delimiter = ',')]
    hosts: Vec<HostName>,

    /// Where the broker listens [default: where it listened before; 0.0.0.0:4222 if it is new]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<Socket>,
}

pub fn run(command: Keys) -> Result<Code, Failure> {
    let wish = Wish {
        folder: command.folder.0.clone(),
        fleet: command.name.0.clone(),
        agents: command.agents.iter().map(|name| name.0.clone()).collect(),
        hosts: command.hosts.iter().map(|host| host.0.clone()).collect(),
        listen: command.listen.as_ref().map(|listen| listen.0),
    };
    let made = make(&wish).map_err(|error| Failure::Usage(error.to_string()))?;
    to_stdout(&summary(&wish, &made))?;
    Ok(Code::Good)
}

fn summary(wish: &Wish, made: &Made) -> String {
    let folder = wish.folder.display();
    let names = |names: &[String]| match names {
        [] => "none".to_string(),
        names => names.join(" "),
    };
    format!(
        "fleet {}: new agents: {}; agents that had keys already: {}\n\
         broker      cd {folder}/{BROKER} && nats-server -c {CONFIGURATION}\n\
         agents      --nats nats://HOST:{port}/{} --credentials {folder}/agents/NAME.creds\n\
         \x20           --controller {}\n\
         controller  --fleet nats://HOST:{port}/{} --fleet-keys {folder}/{CONTROLLER}\n",
        wish.fleet,
        names(&made.new),
        names(&made.existing),
        wish.fleet,
        made.controller,
        wish.fleet,
        port = made.listen.port(),
    )
}
