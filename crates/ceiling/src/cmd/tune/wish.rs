//! What is wanted of a host, as typed, and the run that predicts.

use crate::exit::Failure;
use crate::options::pid;
use clap::{Args, ValueEnum};
use model::root::Root;
use model::tuning::Signals;
use std::path::{Path, PathBuf};
use tune::{CpuSet, Host, Profile, REGISTRY, Split, Wish};

/// Which knobs, for what, and where.
#[derive(Debug, Args)]
pub struct WishOptions {
    /// What tuning is for
    #[arg(long, value_name = "PROFILE", value_enum, default_value = "throughput")]
    profile: ProfileChoice,

    /// Only this network device; by default every one that carries load
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,

    /// CPUs for packets, a slash, CPUs for the server; by default all for both
    #[arg(long, value_name = "NET/SERVER", value_parser = split)]
    cpus: Option<Split>,

    /// Only these knobs, by id or name: T5,somaxconn
    #[arg(long, value_name = "KNOBS", value_delimiter = ',', value_parser = knob)]
    only: Vec<String>,

    /// The server's process: for knobs about it and its descendants
    #[arg(long, value_name = "PID", value_parser = pid)]
    server_pid: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileChoice {
    /// What the journal of one million requests did to its server
    Seeds,
    /// The most requests per second
    Throughput,
    /// The shortest answers at moderate load
    Latency,
    /// Many connections that come and go
    Churn,
}

impl ProfileChoice {
    fn profile(self) -> Profile {
        match self {
            Self::Seeds => Profile::Seeds,
            Self::Throughput => Profile::Throughput,
            Self::Latency => Profile::Latency,
            Self::Churn => Profile::Churn,
        }
    }
}

impl WishOptions {
    /// This host, looked at, and the wish, if this host can have it.
    pub fn resolve(&self) -> Result<(Host, Wish), Failure> {
        let mut host = Host::look(Root::default());
        if let Some(pid) = self.server_pid {
            let tree = probe::Tree::of(pid).map_err(|error| {
                Failure::Usage(format!("--server-pid {pid}: {}: {}", error.source, error.why))
            })?;
            host.servers = tree.pids().to_vec();
        }
        let has = |name: &String| host.devices.iter().any(|device| device.name == *name);
        if let Some(name) = self.device.as_ref().filter(|name| !has(name)) {
            let names: Vec<_> = host.devices.iter().map(|device| device.name.as_str()).collect();
            let here = match names[..] {
                [] => "there is none here but lo".to_string(),
                [first, ..] => {
                    format!("here are {}; for example --device {first}", names.join(", "))
                }
            };
            return Err(Failure::Usage(format!("--device {name}: no such device; {here}")));
        }
        if let Some(split) = &self.cpus {
            check_online(split, &host)?;
        }
        let wish = Wish {
            profile: self.profile.profile(),
            device: self.device.clone(),
            split: self.cpus.clone(),
            only: self.only.clone(),
        };
        Ok((host, wish))
    }
}

fn check_online(split: &Split, host: &Host) -> Result<(), Failure> {
    let usable = host.usable_cpus();
    for set in [&split.network, &split.server] {
        let not = set.without(&usable);
        if !not.is_empty() {
            return Err(Failure::Usage(format!(
                "--cpus {}/{}: CPUs {} are not usable here, {} are; for example --cpus {}/{}",
                split.network.list(),
                split.server.list(),
                not.list(),
                usable.list(),
                usable.list(),
                usable.list()
            )));
        }
    }
    Ok(())
}

fn split(text: &str) -> Result<Split, String> {
    let wrong = || format!("'{text}' is not CPUs/CPUs; for example --cpus 0-3/4-7");
    let (network, server) = text.split_once('/').ok_or_else(wrong)?;
    let set = |list: &str| CpuSet::parse_list(list).ok().filter(|set| !set.is_empty());
    let (network, server) = set(network).zip(set(server)).ok_or_else(wrong)?;
    Ok(Split { network, server })
}

fn knob(text: &str) -> Result<String, String> {
    let names = || REGISTRY.iter().map(|knob| knob.name).collect::<Vec<_>>().join(", ");
    let known = tune::find(text).map(|knob| knob.id.to_string());
    known.ok_or_else(|| {
        format!("there is no knob '{text}'; there are {}; for example --only rps", names())
    })
}

/// What a run says about the use of knobs; nothing without a run.
pub fn signals(asked: Option<&Path>, runs: Option<PathBuf>) -> Result<Option<Signals>, Failure> {
    let path = match asked {
        Some(asked) if asked.as_os_str() == "none" => return Ok(None),
        Some(asked) => crate::cmd::show::find(asked, runs)?,
        None => match runs.and_then(|runs| newest(&runs)) {
            Some(newest) => newest,
            None => return Ok(None),
        },
    };
    let run = store::read(&path).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Some(judge::signals(&run)))
}

/// The last run that ended; ids are in the order of time.
fn newest(runs: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path());
    folders.filter(|folder| folder.join("run.json").exists()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_two_lists() {
        let both = split("0-3/4,6").unwrap();
        assert_eq!((both.network.list(), both.server.list()), ("0-3".into(), "4,6".into()));
        for wrong in ["0-3", "/", "0/", "/1", "a/b", "1/2/3", "3-1/0"] {
            assert!(split(wrong).unwrap_err().contains("for example"), "{wrong}");
        }
    }

    #[test]
    fn knobs_are_known_by_id_and_by_name() {
        assert_eq!(knob("t5").unwrap(), "T5");
        assert_eq!(knob("SOMAXCONN").unwrap(), "T29");
        assert!(knob("no-such").unwrap_err().contains("somaxconn"));
    }
}
