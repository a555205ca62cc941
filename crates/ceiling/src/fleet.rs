//! The fleet that makes the load of a command.

use crate::exit::Failure;
use crate::screen::to_stderr;
use fleet::process::{Controller, Lead, Settings, keys};
use model::load::Trial;
use nats::Servers;
use plan::{DriverChoice, FleetChoice, Options};
use std::path::Path;

/// The name of a fleet whose URL has none.
pub const DEFAULT_NAME: &str = "default";

/// A connected fleet, and the choice of its agents.
pub struct Chosen {
    controller: Controller,
    choice: FleetChoice,
}

/// The name of the fleet in the URL of its broker, and the broker's servers.
pub fn servers(option: &str, url: &str) -> Result<(String, Servers), Failure> {
    let servers: Servers =
        url.parse().map_err(|error| Failure::Usage(format!("{option}: {error}")))?;
    let name = servers.name.clone().unwrap_or_else(|| DEFAULT_NAME.to_string());
    Ok((name, servers))
}

/// The controller's side of a fleet, connected to the broker.
pub fn connected(url: &str, folder: &Path) -> Result<Controller, Failure> {
    let (fleet, servers) = servers("--fleet", url)?;
    let (credentials, key) = keys::of_folder(folder).map_err(|error| {
        Failure::Usage(format!(
            "--fleet-keys {error}; give the folder that ceiling fleet keys made, for example \
             --fleet-keys fleet-keys"
        ))
    })?;
    let settings = Settings { servers, fleet, credentials, key };
    Controller::connect(settings).map_err(Failure::Fleet)
}

/// The fleet of the options, if any; an error if the trial is not one for a fleet.
pub fn of_options(options: &Options, trial: &Trial) -> Result<Option<Chosen>, Failure> {
    let Some(choice) = options.fleet.choice()? else { return Ok(None) };
    if let Some(tool) = trial.tool {
        return Err(Failure::Usage(format!(
            "{} runs on this host only, and --fleet is for our own engine; leave out one of them, \
             for example --tool",
            tool.name()
        )));
    }
    let own = [
        ("--threads", options.threads.0.is_some()),
        ("--cpus", options.cpus.is_some()),
        ("--driver", options.driver != DriverChoice::Auto),
        ("--server-pid", options.server_pid.is_some()),
        ("--runtime", options.runtime.is_some()),
    ];
    if let Some((name, _)) = own.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Usage(format!(
            "{name} is about this host, and with --fleet other hosts make the load; leave it out, \
             or give it to ceiling agent if that has the option, for example ceiling agent \
             --threads 2"
        )));
    }
    if trial.confirm.is_some() {
        return Err(Failure::Usage(
            "--confirm makes experiments with the load of this host, and with --fleet other hosts \
             make the load; leave one of them out"
                .to_string(),
        ));
    }
    if !trial.sources.is_empty() {
        return Err(Failure::Usage(
            "--source is an address of this host, and with --fleet other hosts make the load; \
             leave one of them out"
                .to_string(),
        ));
    }
    let controller = connected(&choice.url, &choice.keys)?;
    Ok(Some(Chosen { controller, choice }))
}

impl Chosen {
    /// The available agents, with the trial divided among them.
    pub fn lead(&self, trial: &mut Trial) -> Result<Lead<'_>, Failure> {
        let agents = self.controller.choose(&self.choice.agents).map_err(Failure::Fleet)?;
        let lead = Lead::new(&self.controller, trial, agents).map_err(Failure::Fleet)?;
        let names = lead.names();
        // A closed stderr must not end the run.
        to_stderr(&format!("ceiling: {} agents: {}", names.len(), names.join(" ")));
        for notice in lead.shared_hosts() {
            to_stderr(&format!("ceiling: agents {notice}"));
        }
        Ok(lead)
    }

    /// What happened to agents since the last call.
    pub fn notices(&self) -> Vec<String> {
        self.controller.notices()
    }
}
