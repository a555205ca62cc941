//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;
use std::path::PathBuf;

/// The options as given.
#[derive(Debug, Parser)]
#[command(
    name = "walls",
    version,
    about = "Scenarios whose wall is known, and the verdicts on them"
)]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print the scenarios: name, accepted walls, how they are built, what misleads
    List(ListOptions),
    /// Run draws and keep a run and a label of each; needs root for namespaces and control groups
    Run(RunOptions),
    /// Judge kept runs again and print how often the verdict is right
    Score(ScoreOptions),
    /// Judge runs that were watched in both ways, and compare the verdicts
    Beside(BesideOptions),
    /// Count which tests fired at which wall, for the odds of the judge
    Fit(FitOptions),
    /// (used by scenarios) Start connections and never finish them
    #[command(hide = true)]
    Knock(KnockOptions),
    /// (used by scenarios) Burn CPU time in spells of random length
    #[command(hide = true)]
    Burn(BurnOptions),
    /// (used by scenarios) Carry packets between two devices, with a delay
    #[command(hide = true)]
    Carry(CarryOptions),
    /// (used by scenarios) Print which listener serves which source port
    #[command(hide = true)]
    Ports(PortsOptions),
    /// (used by scenarios) Enter control groups on this machine and exec a program
    #[command(hide = true)]
    Seat(SeatOptions),
    /// (used by scenarios) End the programs that `seat` started on this machine
    #[command(hide = true)]
    Clear(ClearOptions),
    /// (used by scenarios) Run a line on the server's machine
    #[command(hide = true)]
    There(ThereOptions),
}

/// A family of scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// A server of this project, whose wall is a flag of its command line
    Lab,
    /// Third-party servers from package registries, configured as their users do
    Ordinary,
    /// Third-party servers that the judge was never fitted to: in software of no other family
    HeldOut,
    /// A server of this project at a load far below its capacity, some of whose requests are slow
    Tail,
    /// Scenarios of the lab on two virtual machines, each with its own kernel; run it with make
    /// walls-machines
    Machines,
}

/// The hosts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hosts {
    /// Network namespaces of one machine.
    #[default]
    Namespaces,
    /// Two virtual machines.
    Machines,
}

impl Family {
    /// The hosts of its scenarios.
    pub fn hosts(self) -> Hosts {
        match self {
            Self::Lab | Self::Ordinary | Self::HeldOut | Self::Tail => Hosts::Namespaces,
            Self::Machines => Hosts::Machines,
        }
    }
}

/// Which scenarios to print.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// Scenarios of this family
    #[arg(long, value_enum, default_value_t = Family::Lab)]
    pub family: Family,
}

/// How the server is watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watch {
    /// A probe in its network namespace (--probe)
    #[default]
    Probe,
    /// The generator, from outside: the server is in a container, and --server-pid names its
    /// process
    Outside,
    /// The generator from outside, and a probe in the container at the same time: for `beside`
    Both,
}

/// What else runs on the CPUs of server and generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Nothing that a scenario does not ask for
    #[default]
    Quiet,
    /// On each CPU a process that burns 30 % of it, in spells of random length
    Burners,
    /// A compiler, one optimised build after another, on all CPUs
    Build,
}

impl Noise {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Burners => "burners",
            Self::Build => "a build",
        }
    }
}

/// Which draws, and where they are kept.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Scenarios of this family
    #[arg(long, value_enum, default_value_t = Family::Lab)]
    pub family: Family,
    /// Only these scenarios
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Draws of each scenario
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub draws: u32,
    /// Seed of all random parameters
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Directory for the runs and their labels
    #[arg(long, value_name = "DIR", default_value = "out/walls")]
    pub keep: PathBuf,
    /// Directory of ceiling and the targets
    #[arg(long, value_name = "DIR", default_value = "bin")]
    pub bin: PathBuf,
    /// Directory of the start scripts of third-party software, a folder for each family
    #[arg(long, value_name = "DIR", default_value = "walls")]
    pub scripts: PathBuf,
    /// Skip the test of the labels: untested draws count only in their own column
    #[arg(long)]
    pub no_proof: bool,
    /// Another word for ceiling's command line in the kept runs: --with=--confirm
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub with: Vec<String>,
    /// How the server is watched
    #[arg(long, value_enum, default_value_t)]
    pub watch: Watch,
    /// What else runs during the kept runs; proofs of labels are made without it
    #[arg(long, value_enum, default_value_t)]
    pub noise: Noise,
    /// Take the proof of a label from the same draw kept there, instead of making it
    #[arg(long, value_name = "DIR")]
    pub proven_in: Option<PathBuf>,
}

/// Which runs to judge.
#[derive(Debug, Args)]
pub struct ScoreOptions {
    /// Directories that `walls run` kept, with seeds that the odds were not counted in
    #[arg(value_name = "DIR", default_value = "out/walls")]
    pub runs: Vec<PathBuf>,
    /// Print every draw
    #[arg(long)]
    pub all: bool,
    /// Also write the table as a page
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// Which runs to compare.
#[derive(Debug, Args)]
pub struct BesideOptions {
    /// Directory that `walls run --watch both` kept
    #[arg(value_name = "DIR")]
    pub runs: PathBuf,
}

/// Which runs to count.
#[derive(Debug, Args)]
pub struct FitOptions {
    /// Directory that `walls run` kept, with a seed that is not scored
    #[arg(value_name = "DIR")]
    pub runs: PathBuf,
    /// Write the counts there instead of standard output
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// Connections that are started and not finished.
#[derive(Debug, Args)]
pub struct KnockOptions {
    /// Where
    pub address: SocketAddrV4,
    /// Attempts per second
    #[arg(long, default_value_t = 50.0)]
    pub rate: f64,
    /// Attempts in each burst; the rate is then that of bursts
    #[arg(long, default_value_t = 1)]
    pub burst: u32,
    /// How long an attempt is kept, milliseconds
    #[arg(long, default_value_t = 900)]
    pub keep_ms: u64,
}

/// A link with a delay.
#[derive(Debug, Args)]
pub struct CarryOptions {
    /// One device
    pub one: String,
    /// The other
    pub other: String,
    /// Time in each direction, microseconds
    pub one_way_us: u64,
    /// Share of the packets that are dropped
    #[arg(long, default_value_t = 0.0)]
    pub lost: f64,
}

/// Time that a process burns.
#[derive(Debug, Args)]
pub struct BurnOptions {
    /// Share of the time
    #[arg(long, default_value_t = 0.3)]
    pub share: f64,
    /// Seed of the lengths of its spells
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Length of each rest, seconds, in place of the share
    #[arg(long, value_name = "FROM..TO", value_parser = range, requires = "work_s")]
    pub rest_s: Option<(f64, f64)>,
    /// Length of each spell of work, seconds
    #[arg(long, value_name = "FROM..TO", value_parser = range, requires = "rest_s")]
    pub work_s: Option<(f64, f64)>,
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let parts =
        text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    parts.ok_or_else(|| format!("'{text}' is not FROM..TO"))
}

/// Source ports to try.
#[derive(Debug, Args)]
pub struct PortsOptions {
    /// Where
    pub address: SocketAddrV4,
    /// First port
    pub first: u16,
    /// How many
    pub count: u16,
}

/// A program's place on this machine.
#[derive(Debug, Args)]
pub struct SeatOptions {
    /// Tag of the stage
    #[arg(long)]
    pub stage: String,
    /// Name of the program's group
    #[arg(long)]
    pub name: String,
    /// CPUs it may run on
    #[arg(long)]
    pub cpus: String,
    /// CPU quota, in CPUs
    #[arg(long)]
    pub quota: Option<f64>,
    /// CPU quota of the parent group
    #[arg(long)]
    pub parent_quota: Option<f64>,
    /// Weight against the other programs of the stage
    #[arg(long)]
    pub weight: Option<u64>,
    /// Descriptors it may open
    #[arg(long)]
    pub files: Option<u64>,
    /// The program and its words
    #[arg(last = true, required = true)]
    pub program: Vec<String>,
}

/// Programs that `seat` started.
#[derive(Debug, Args)]
pub struct ClearOptions {
    /// Tag of the stage
    pub stage: String,
}

/// A script for the server's machine.
#[derive(Debug, Args)]
pub struct ThereOptions {
    /// A line of shell
    pub script: String,
}
