//! Options about a fleet: load from agents on other machines.

use crate::values::{Agents, FleetUrl, KeysFolder};
use crate::which_agents::WhichAgents;
use clap::Args;
use std::path::PathBuf;

/// Where the fleet's broker is, and who may order load there.
#[derive(Debug, Clone, Args)]
pub struct BrokerOptions {
    /// Broker of a fleet, and the fleet's name after a slash; its agents then make the load
    #[arg(long = "fleet", value_name = "nats://HOST[/NAME]", env = "CEILING_FLEET")]
    pub broker: Option<FleetUrl>,

    /// Folder with the controller's keys, as ceiling fleet keys made it
    #[arg(long = "fleet-keys", value_name = "DIR", env = "CEILING_FLEET_KEYS")]
    pub keys: Option<KeysFolder>,
}

/// Load from a fleet.
#[derive(Debug, Clone, Args)]
pub struct FleetOptions {
    #[command(flatten)]
    broker: BrokerOptions,

    /// Agents of the fleet: how many, all, or those with a label [default: all]
    #[arg(long, value_name = "N|all|LABEL=VALUE", env = "CEILING_FLEET_AGENTS")]
    agents: Option<Agents>,
}

/// The fleet that makes the load.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetChoice {
    /// Its broker and name, as typed.
    pub url: String,
    /// Folder with the controller's keys.
    pub keys: PathBuf,
    /// Which of its agents.
    pub agents: WhichAgents,
}

impl FleetOptions {
    /// Whether load comes from a fleet.
    pub fn is_given(&self) -> bool {
        self.broker.broker.is_some()
    }

    /// The fleet, when one is requested.
    ///
    /// # Errors
    ///
    /// An option is given without another that it needs.
    pub fn choice(&self) -> Result<Option<FleetChoice>, crate::Usage> {
        let Some((url, keys)) = self.broker.given()? else {
            return match &self.agents {
                Some(agents) => Err(crate::Usage(format!(
                    "--agents {}: agents belong to a fleet, and --fleet is missing; for example \
                     --fleet nats://127.0.0.1:4222",
                    agents.0
                ))),
                None => Ok(None),
            };
        };
        let agents = self.agents.as_ref().map_or(WhichAgents::All, |agents| agents.0.clone());
        Ok(Some(FleetChoice { url, keys, agents }))
    }
}

impl FleetOptions {
    /// The options as environment variables, for commands that this one starts.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let broker = self.broker.broker.as_ref().map(|url| ("CEILING_FLEET", url.0.clone().into()));
        let keys = self.broker.keys.as_ref().map(|keys| ("CEILING_FLEET_KEYS", keys.0.clone()));
        let agents = self.agents.as_ref();
        let agents = agents.map(|agents| ("CEILING_FLEET_AGENTS", agents.0.to_string().into()));
        [broker, keys, agents].into_iter().flatten().collect()
    }
}

impl BrokerOptions {
    /// Broker and keys, when a broker is given.
    ///
    /// # Errors
    ///
    /// The keys are missing.
    pub fn given(&self) -> Result<Option<(String, PathBuf)>, crate::Usage> {
        let Some(FleetUrl(url)) = &self.broker else { return Ok(None) };
        let keys = self.keys.as_ref().ok_or_else(|| {
            crate::Usage(format!(
                "--fleet {url}: the controller's keys are missing: give --fleet-keys or set \
                 CEILING_FLEET_KEYS; ceiling fleet keys makes them; for example --fleet-keys \
                 fleet-keys"
            ))
        })?;
        Ok(Some((url.clone(), keys.0.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_a_number_all_or_those_with_a_label() {
        let read = |text: &str| text.parse::<WhichAgents>();
        assert_eq!(read("all"), Ok(WhichAgents::All));
        assert_eq!(read("4"), Ok(WhichAgents::Count(4)));
        assert_eq!(read("zone=a"), Ok(WhichAgents::Labelled("zone".into(), "a".into())));
        for wrong in ["", "0", "-1", "zone", "zone=", "=a"] {
            assert_eq!(read(wrong), Err(()), "{wrong}");
        }
    }
}
