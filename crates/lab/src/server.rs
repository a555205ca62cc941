//! Finds the server's process when it is on this host.

use model::facts::ServerFacts;
use model::load::{ServerProcess, Trial};

/// The server's process tree, or a sentence that says why it is not watched.
pub fn identify(trial: &Trial) -> Result<ServerFacts, String> {
    let Some(address) = trial.addresses.first() else {
        return Err("no address".to_string());
    };
    let (pid, found_by) = match trial.server {
        ServerProcess::Unwatched => return Err("the server is not watched, as asked".to_string()),
        ServerProcess::Pid(pid) => (pid, "--server-pid"),
        ServerProcess::ByPort => {
            let pid = probe::find_server(*address)
                .map_err(|error| format!("the server is not watched: {error}"))?;
            (pid, "listening port")
        }
    };
    probe::server_facts(pid, address.port(), found_by)
        .map_err(|error| format!("the server is not watched: process {pid}: {error}"))
}
