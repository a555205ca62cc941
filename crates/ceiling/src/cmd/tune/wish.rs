//! The options that say what to tune, and the run that predicts.

use crate::cmd::runs;
use crate::exit::Failure;
use clap::Args;
use clap::builder::PossibleValuesParser;
use model::claim::Claim;
use model::facts::Unreadable;
use model::root::Root;
use model::run::Run;
use model::tuning::{Signals, Wanted};
use model::units::parse_duration_ns;
use plan::values::{Device, Pid};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Directory;
use tune::DEADLINE_MAX;
use tune::{Host, Profile, Split, Wish};

/// How many of the newest runs are searched for a valid one.
const LOOKED_AT: usize = 10;

/// Which knobs to tune, for what, and where.
#[derive(Debug, Args)]
pub struct WishOptions {
    /// What to tune for; seeds is what the journal of one million requests did to its server
    #[arg(long, value_name = "PROFILE", default_value = "throughput", value_parser = profiles())]
    profile: String,

    /// Only this network device [default: every device that carries load]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,

    /// CPUs for packets, a slash, CPUs for the server [default: all for both]
    #[arg(long, value_name = "NET/SERVER")]
    cpus: Option<NetServer>,

    /// Only these knobs, by id or name, separated by commas: T5,somaxconn
    #[arg(long, value_name = "KNOBS", value_delimiter = ',')]
    only: Vec<Knob>,

    /// The server's process, for knobs of it and its descendants
    #[arg(long, value_name = "PID")]
    server_pid: Option<Pid>,
}

fn profiles() -> PossibleValuesParser {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name))
}

plan::typed! {
    /// A knob, by id or name.
    result Knob(String), "a knob's id or name", "T5,somaxconn", |text| tune::knob(text);
    /// CPUs for packets and CPUs for the server.
    result NetServer(String), "CPUs for packets, a slash, CPUs for the server", "0/1-3",
        |text| Split::parse(text).map(|_| text.to_string());
    /// When changes are put back if they are not kept.
    result Deadline(Duration), "a time from 1s to 60s", "30s", |text| {
        let time = parse_duration_ns(text).map(Duration::from_nanos);
        let time = time.map_err(|error| error.to_string())?;
        let fits = time >= Duration::from_secs(1) && time <= DEADLINE_MAX;
        fits.then_some(time).ok_or_else(|| format!("'{text}' is not a time from 1s to 60s"))
    };
}

impl WishOptions {
    /// The options in the form that is sent to a probe.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            profile: Some(self.profile.clone()),
            device: self.device.as_ref().map(|device| device.0.clone()),
            cpus: self.cpus.as_ref().map(|cpus| cpus.0.clone()),
            only: self.only.iter().map(|knob| knob.0.clone()).collect(),
            server_pid: self.server_pid.as_ref().map(|pid| pid.0),
            ..Wanted::default()
        }
    }

    /// The state of this host, and the wish, if it is possible on this host.
    pub fn resolve(&self) -> Result<(Host, Wish), Failure> {
        resolve(&self.wanted()).map_err(Failure::Usage)
    }
}

/// The state of this host with the processes of the server, and the wish, if it is possible here.
pub fn resolve(wanted: &Wanted) -> Result<(Host, Wish), String> {
    let mut host = Host::look(Root::default());
    if let Some(pid) = wanted.server_pid {
        let tree = ::host::Tree::of(pid).map_err(|error| unreadable_server(pid, &error))?;
        host.servers = tree.pids().to_vec();
    }
    let wish = Wish::resolve(wanted, &host)?;
    Ok((host, wish))
}

/// Why the processes of a server cannot be read.
pub fn unreadable_server(pid: u32, error: &Unreadable) -> String {
    format!("--server-pid {pid}: {}: {}", error.source, error.why)
}

/// The signals of a run from which knobs are predicted: the given run, otherwise the newest valid
/// one. `None` without a run.
pub fn signals(
    asked: Option<&Path>,
    directory: Option<PathBuf>,
) -> Result<Option<Signals>, Failure> {
    let is_valid = |run: &Run| !matches!(run.record.claim(), Claim::NotKnown(_));
    let Some(asked) = asked else {
        let mut readable = newest(directory).into_iter().filter_map(|run| store::read(&run).ok());
        return Ok(readable.find(is_valid).map(|run| judge::signals(&run)));
    };
    if asked.as_os_str() == "none" {
        return Ok(None);
    }
    let (_, run) = runs::read(asked, directory)?;
    if !is_valid(&run) {
        return Err(Failure::NotValid(format!(
            "--run {}: it is not a valid measurement ({}), so nothing can be predicted from it; \
             measure again, or give another run or none, for example --run none",
            asked.display(),
            run.record.verdict.name
        )));
    }
    Ok(Some(judge::signals(&run)))
}

/// The newest runs of a directory, the newest first.
fn newest(directory: Option<PathBuf>) -> Vec<PathBuf> {
    let entries = directory.and_then(|path| Directory::new(path).entries().ok());
    let ended = entries.into_iter().flatten().filter(|one| one.document().is_file());
    let runs = ended.filter(|one| !one.is_experiment).map(|run| run.path);
    runs.take(LOOKED_AT).collect()
}
