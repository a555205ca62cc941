//! What is wanted of a host, as typed, and the run that predicts.

use crate::cmd::show;
use crate::exit::Failure;
use crate::options::pid;
use clap::Args;
use clap::builder::PossibleValuesParser;
use model::claim::Claim;
use model::facts::Unreadable;
use model::root::Root;
use model::run::Run;
use model::tuning::{Signals, Wanted};
use std::fs;
use std::path::{Path, PathBuf};
use tune::{Host, Profile, Split, Wish};

/// How many of the newest runs are looked at for a valid one.
const LOOKED_AT: usize = 10;

/// Which knobs, for what, and where.
#[derive(Debug, Args)]
pub struct WishOptions {
    /// What tuning is for; seeds is what the journal of one million requests did to its server
    #[arg(long, value_name = "PROFILE", default_value = "throughput", value_parser = profiles())]
    profile: String,

    /// Only this network device; by default every one that carries load
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,

    /// CPUs for packets, a slash, CPUs for the server; by default all for both
    #[arg(long, value_name = "NET/SERVER", value_parser = split)]
    cpus: Option<String>,

    /// Only these knobs, by id or name: T5,somaxconn
    #[arg(long, value_name = "KNOBS", value_delimiter = ',', value_parser = tune::knob)]
    only: Vec<String>,

    /// The server's process: for knobs about it and its descendants
    #[arg(long, value_name = "PID", value_parser = pid)]
    server_pid: Option<u32>,
}

fn profiles() -> PossibleValuesParser {
    PossibleValuesParser::new(Profile::ALL.iter().map(|(name, _)| *name))
}

fn split(text: &str) -> Result<String, String> {
    Split::parse(text).map(|_| text.to_string())
}

impl WishOptions {
    /// As it goes over a line.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            profile: Some(self.profile.clone()),
            device: self.device.clone(),
            cpus: self.cpus.clone(),
            only: self.only.clone(),
            server_pid: self.server_pid,
        }
    }

    /// This host, looked at, and the wish, if this host can have it.
    pub fn resolve(&self) -> Result<(Host, Wish), Failure> {
        resolve(&self.wanted()).map_err(Failure::Usage)
    }
}

/// This host with the processes that are wanted, and the wish, if this host can have it.
pub fn resolve(wanted: &Wanted) -> Result<(Host, Wish), String> {
    let mut host = Host::look(Root::default());
    if let Some(pid) = wanted.server_pid {
        let tree = ::host::Tree::of(pid).map_err(|error| told(pid, &error))?;
        host.servers = tree.pids().to_vec();
    }
    let wish = Wish::resolve(wanted, &host)?;
    Ok((host, wish))
}

/// Why the processes of a server are not known.
pub fn told(pid: u32, error: &Unreadable) -> String {
    format!("--server-pid {pid}: {}: {}", error.source, error.why)
}

/// What a run says about the use of knobs: the one asked for, else the newest valid one that was
/// kept. Nothing without a run.
pub fn signals(asked: Option<&Path>, runs: Option<PathBuf>) -> Result<Option<Signals>, Failure> {
    let is_valid = |run: &Run| !matches!(run.record.claim(), Claim::NotKnown(_));
    let asked = match asked {
        Some(none) if none.as_os_str() == "none" => return Ok(None),
        Some(asked) => show::find(asked, runs)?,
        None => {
            let mut readable = newest(runs).into_iter().filter_map(|path| store::read(&path).ok());
            return Ok(readable.find(is_valid).map(|run| judge::signals(&run)));
        }
    };
    let run = store::read(&asked).map_err(|error| Failure::Usage(error.to_string()))?;
    if !is_valid(&run) {
        return Err(Failure::NotValid(format!(
            "--run {}: it is not a valid measurement ({}), and nothing can be predicted from it; \
             measure again, or give --run none",
            asked.display(),
            run.record.verdict.name
        )));
    }
    Ok(Some(judge::signals(&run)))
}

/// The newest runs of a directory, the last one first; their names begin with their time.
fn newest(runs: Option<PathBuf>) -> Vec<PathBuf> {
    let entries = runs.and_then(|runs| fs::read_dir(runs).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths.filter(|path| path.join("run.json").is_file()).collect();
    paths.sort_unstable_by(|left, right| right.cmp(left));
    paths.truncate(LOOKED_AT);
    paths
}
