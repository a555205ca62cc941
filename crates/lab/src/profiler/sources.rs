//! The sources of profiles of the server.

use model::load::Trial;
use model::maps::IntoMap;
use model::profile::ProfileChoice;
use model::run::Target;
use probe::ask::{self, Patience};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Timeout of the check whether an address has profiles.
const LOOK: Patience = Patience {
    step: Duration::from_millis(300),
    whole: Duration::from_secs(1),
    bytes_max: 1 << 20,
};
/// Addresses that are checked.
const ADDRESSES_MAX: usize = 256;
/// A process without an endpoint matters if it used at least one part in this many of all CPU time.
const CPU_PART_MIN: u64 = 100;

/// A source of profiles.
pub(super) enum ProfileSource {
    /// An endpoint of a Go server, and its process when that is known.
    Endpoint(SocketAddr, Option<u32>),
    /// `perf`, about these processes.
    Perf(Vec<u32>),
    /// `perf`, about processes of a server that has endpoints as well: they may be idle.
    Beside(Vec<u32>),
}

/// All sources of profiles, and why processes have none.
pub(super) fn find(
    choice: &ProfileChoice,
    target: &Target,
    trial: &Trial,
) -> (Vec<ProfileSource>, Vec<String>) {
    let pids = target.server.as_ref().map_or(Vec::new(), |server| tree(server.pid));
    let unknown = || {
        "the server's processes are not known on this host; name its endpoints, for example \
         --profile 127.0.0.1:6060"
            .to_string()
    };
    match choice {
        ProfileChoice::Addresses(addresses) => {
            let owners = probe::listened_by(&pids).unwrap_or_default();
            let source = |address: &SocketAddr| {
                ProfileSource::Endpoint(*address, owners.get(address).copied())
            };
            (addresses.iter().map(source).collect(), Vec::new())
        }
        ProfileChoice::Ports(address, first, last) => {
            let owners = probe::listened_by(&pids).unwrap_or_default();
            let asked = (*first..=*last).map(|port| SocketAddr::new(*address, port));
            let found: Vec<ProfileSource> = asked
                .filter(|address| has_profiles(*address))
                .map(|address| ProfileSource::Endpoint(address, owners.get(&address).copied()))
                .collect();
            let none = || format!("no port of {address} from {first} to {last} has an endpoint");
            let failures = if found.is_empty() { vec![none()] } else { Vec::new() };
            (found, failures)
        }
        _ if pids.is_empty() => (Vec::new(), vec![unknown()]),
        ProfileChoice::Perf => (vec![ProfileSource::Perf(pids)], Vec::new()),
        ProfileChoice::Auto => {
            let ports = trial.addresses.iter().filter_map(|address| address.port()).collect();
            match endpoints(&pids, &ports) {
                Ok(endpoints) => (with_perf(endpoints, &pids), Vec::new()),
                Err(why) => (vec![ProfileSource::Perf(pids)], vec![why]),
            }
        }
    }
}

/// The current processes of the server: workers may have been added since the run started.
fn tree(pid: u32) -> Vec<u32> {
    host::Tree::of(pid).map_or_else(|_| Vec::new(), |tree| tree.pids().to_vec())
}

/// The addresses of these processes that respond like net/http/pprof. The port under test is not
/// tried, because the server counts its requests.
fn endpoints(pids: &[u32], tested: &BTreeSet<u16>) -> Result<BTreeMap<SocketAddr, u32>, String> {
    let found = probe::listened_by(pids).map_err(|failed| {
        format!("listening sockets cannot be read ({}: {})", failed.source, failed.why)
    })?;
    let asked = found.into_iter().filter(|(address, _)| !tested.contains(&address.port()));
    Ok(asked.take(ADDRESSES_MAX).filter(|(address, _)| has_profiles(*address)).into_map())
}

fn has_profiles(address: SocketAddr) -> bool {
    ask::get(address, "/debug/pprof/", LOOK).is_ok_and(|body| {
        let body = String::from_utf8_lossy(&body);
        body.contains("goroutine") && body.contains("profile")
    })
}

/// Endpoints, and `perf` for the processes without one that do some of the work.
fn with_perf(endpoints: BTreeMap<SocketAddr, u32>, pids: &[u32]) -> Vec<ProfileSource> {
    let covered: BTreeSet<u32> = endpoints.values().copied().collect();
    let used =
        |pid: &u32| host::process::stat(*pid).map_or(0, |stat| stat.user_ticks + stat.system_ticks);
    let all: u64 = pids.iter().map(used).sum();
    let does_work = |pid: &u32| covered.is_empty() || used(pid) * CPU_PART_MIN > all;
    let others: Vec<u32> =
        pids.iter().copied().filter(|pid| !covered.contains(pid) && does_work(pid)).collect();
    let mut sources: Vec<ProfileSource> = endpoints
        .into_iter()
        .map(|(address, pid)| ProfileSource::Endpoint(address, Some(pid)))
        .collect();
    match sources.is_empty() {
        _ if others.is_empty() => {}
        true => sources.push(ProfileSource::Perf(others)),
        false => sources.push(ProfileSource::Beside(others)),
    }
    sources
}
