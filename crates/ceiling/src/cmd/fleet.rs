//! `ceiling fleet ..`: makes keys, starts a trial fleet, lists agents, and stops all load.

mod keys;
mod list;
mod stop;
mod up;

use crate::exit::{Code, Failure};
use clap::{Args, Subcommand};
use fleet::allow::Pattern;
use fleet::key::PublicKey;
use fleet::subject::is_name;
use plan::{BrokerOptions, typed};
use std::path::PathBuf;

typed! {
    /// The name of an agent.
    option AgentName(String), "a name of letters, digits, - and _", "a1",
        |text| is_name(text).then(|| text.to_string());
    /// The name of a fleet.
    option FleetName(String), "a name of letters, digits, - and _", "staging",
        |text| is_name(text).then(|| text.to_string());
    /// The public key of a controller.
    result ControllerText(PublicKey), "a key as ceiling fleet keys prints it",
        "ceiling-controller:4uhfedKj7XQUOucpeBKUNPBQPs3WacJBJaFQ0LokE6I=",
        |text| text.parse::<PublicKey>().map_err(|error| format!("'{text}': {error}"));
    /// Where an agent may send load.
    result PatternText(Pattern), "SCHEME://HOST[:PORT] with *.DOMAIN, * or a port *",
        "'https://*.staging.example:443'",
        |text| text.parse::<Pattern>().map_err(|error| error.to_string());
    /// A label of an agent.
    option Label((String, String)), "LABEL=VALUE", "zone=a", |text| {
        let (label, value) = text.split_once('=')?;
        let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        (is_word(label) && is_word(value)).then(|| (label.to_string(), value.to_string()))
    };
    /// The number of agents of a trial fleet.
    option Many(u32), "a number of agents from 1 to 64", "4",
        |text| text.parse().ok().filter(|count| (1..=64).contains(count));
    /// A program.
    file Program(PathBuf), "a program", "/usr/sbin/nats-server";
}

/// Commands for fleets.
#[derive(Debug, Args)]
pub struct Fleet {
    #[command(subcommand)]
    command: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Starts a trial fleet on this host: a broker and some agents, with fresh keys.
    Up(up::Up),
    /// Lists the agents: their hosts, clocks, versions, and what they are doing.
    List(list::List),
    /// Stops all load of all agents, whichever controller ordered it.
    Stop(stop::Stop),
    /// Makes the keys of a fleet: for its broker, its controller and each agent.
    Keys(keys::Keys),
}

pub fn run(command: Fleet) -> Result<Code, Failure> {
    match command.command {
        What::Up(command) => up::run(command),
        What::List(command) => list::run(&command),
        What::Stop(command) => stop::run(&command),
        What::Keys(command) => keys::run(command),
    }
}

/// The controller's side of a fleet, connected to the broker.
pub fn controller(broker: &BrokerOptions) -> Result<fleet::process::Controller, Failure> {
    let (url, folder) = broker.given()?.ok_or_else(|| {
        Failure::Usage(
            "--fleet is missing: give the URL of the broker, or set CEILING_FLEET; for example \
             --fleet nats://127.0.0.1:4222"
                .to_string(),
        )
    })?;
    crate::fleet::connected(&url, &folder)
}
