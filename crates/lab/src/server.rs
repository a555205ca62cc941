//! Finds the server's process when it is on this host.

use model::facts::ServerFacts;
use model::load::{ServerProcess, Trial};
use model::route::Address;

/// The process tree of the server at an address, or a sentence that says why it is not watched.
pub fn identify(trial: &Trial, address: &Address) -> Result<ServerFacts, String> {
    let (pid, found_by) = match trial.server {
        ServerProcess::Unwatched => return Err("the server is not watched, as asked".to_string()),
        ServerProcess::Pid(pid) => (pid, "--server-pid"),
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
    let behind = trial.proxy.as_ref().and_then(|proxy| proxy.target.rsplit_once(':'));
    let port = behind.and_then(|(_, port)| port.parse().ok()).or(address.port());
    probe::server_facts(pid, port, found_by)
        .map_err(|error| format!("the server is not watched: process {pid}: {error}"))
}
