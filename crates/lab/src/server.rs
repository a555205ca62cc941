//! Finds the server's process when it is on this host, and the probe when it is on another.

use model::facts::{FarHost, ServerFacts};
use model::load::{ProbeChoice, ServerProcess, Trial};
use model::route::Address;
use model::units::NS_PER_MS;
use remote::{Call, Far, FarError};
use std::path::PathBuf;

/// Time between two rounds of a probe on the server's host, nanoseconds.
const FAR_PERIOD_NS: u64 = 100 * NS_PER_MS;

/// The process tree of the server at an address, or a sentence that says why it is not watched.
pub fn identify(trial: &Trial, address: &Address) -> Result<ServerFacts, String> {
    let (pid, found_by) = match &trial.server {
        ServerProcess::Probe(_) => {
            return Err("the server is only watched by the probe on its own host".to_string());
        }
        ServerProcess::Pid(pid) => (*pid, "--server-pid"),
        ServerProcess::ByPort if trial.proxy.is_some() => {
            return Err("the server is not watched: it is behind a proxy; name its process with \
                        --server-pid"
                .to_string());
        }
        ServerProcess::ByPort => {
            let (found, by) = match address {
                Address::Tcp(address) => (probe::find_server(*address), "listening port"),
                Address::Unix(path) => (probe::find_unix_server(path), "unix socket"),
            };
            (found.map_err(|error| format!("the server is not watched: {error}"))?, by)
        }
    };
    let mut facts = probe::server_facts(pid, port_under_test(trial, address), found_by)
        .map_err(|error| format!("the server is not watched: process {pid}: {error}"))?;
    if let (Address::Tcp(address), None) = (address, &trial.proxy) {
        facts.passed_on_by = probe::passed_on_by(*address);
    }
    Ok(facts)
}

/// The notice about a program that passes connections on to the server.
pub fn passed_on(facts: &ServerFacts) -> Option<String> {
    let name = facts.passed_on_by.as_ref()?;
    Some(format!(
        "{name} accepts the connections and passes them on: requests that wait in it cannot be \
         told from those inside the server; use the address of the container to leave it out"
    ))
}

/// The port that the server listens on, also behind a proxy.
fn port_under_test(trial: &Trial, address: &Address) -> Option<u16> {
    let behind = trial.proxy.as_ref().and_then(|proxy| proxy.target.rsplit_once(':'));
    behind.and_then(|(_, port)| port.parse().ok()).or(address.port())
}

/// A session with the probe on the server's host, its report about that host, and a sentence if it
/// does not see the server.
pub fn call(
    trial: &Trial,
    choice: &ProbeChoice,
    address: &Address,
) -> Result<(Far, FarHost, Option<String>), FarError> {
    let ip = match address {
        Address::Tcp(address) if trial.proxy.is_none() => Some(address.ip()),
        _ => None,
    };
    let (far, welcome) = Far::connect(&Call {
        address: choice.address.clone(),
        token_file: PathBuf::from(&choice.token_file),
        pin: choice.pin.clone(),
        ip,
        port: port_under_test(trial, address),
        period_ns: FAR_PERIOD_NS,
        ends_after_ns: None,
    })?;
    let unseen = welcome.unseen.map(|why| {
        format!("the probe at {} sees its host but no server process: {why}", choice.address)
    });
    let host = FarHost {
        address: choice.address.clone(),
        host: welcome.host,
        server: welcome.server,
        privilege: welcome.privilege,
        clock: far.clock(),
        lost: None,
    };
    Ok((far, host, unseen))
}
