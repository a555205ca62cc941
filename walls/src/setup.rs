//! One run as data: the programs, their hosts and their limits.

use crate::dice::Dice;
use crate::options::{Noise, Watch};
use crate::spells::Spells;
use std::time::Duration;

/// One of the hosts of the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// Where the generator is.
    Client,
    /// Where the server is.
    Server,
    /// Where the downstream of the server is.
    Downstream,
    /// A third host, with a link to the server.
    Stranger,
}

/// Limits of a program, by its own control group.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Allowance {
    /// CPU quota in CPUs, per period of 100 ms; absent when unlimited.
    pub quota: Option<f64>,
    /// CPU quota of the parent group in CPUs, per period of 100 ms; absent when unlimited.
    pub parent_quota: Option<f64>,
    /// Weight against other programs on the same CPU; the stage as a whole has a high one.
    pub weight: Option<u64>,
    /// Writes per second on the disk of temporary files.
    pub writes: Option<u32>,
    /// Memory it may use, page cache included, megabytes.
    pub memory_mb: Option<u32>,
}

/// The origin of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This project: a program that prints its address.
    Own,
    /// Third party: `walls/ordinary/NAME/start` starts it, and the harness waits for its listener.
    Ordinary,
    /// Third party, in the same way: `walls/held-out/NAME/start` starts it.
    HeldOut,
}

impl Origin {
    /// The folder of the start scripts below `walls`, which is also the target that installs them;
    /// absent for this project.
    pub fn scripts(self) -> Option<&'static str> {
        match self {
            Self::Own => None,
            Self::Ordinary => Some("ordinary"),
            Self::HeldOut => Some("held-out"),
        }
    }
}

/// A server of the stage.
#[derive(Debug, Clone)]
pub struct Program {
    /// Who wrote it.
    pub origin: Origin,
    /// File name in the directory of programs, or folder of a start script.
    pub name: &'static str,
    /// Its command line, without address and port; for third-party software its settings,
    /// KEY=VALUE.
    pub words: Vec<String>,
    /// CPUs it may run on.
    pub cpus: &'static str,
    /// CPU time it may have.
    pub allowance: Allowance,
    /// Descriptors it may open; the default of the stage when absent.
    pub files: Option<u64>,
}

/// The generator.
#[derive(Debug, Clone)]
pub struct Client {
    /// Command line of ceiling; `{url}` stands for the server.
    pub words: Vec<String>,
    /// The shorter one that proves the label.
    pub proof_words: Vec<String>,
    /// CPUs it may run on.
    pub cpus: &'static str,
    /// CPU time it may have.
    pub allowance: Allowance,
    /// Content of the file `{file}`.
    pub file: Option<String>,
}

/// How received packets reach a host of the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receive {
    /// By a kernel thread for each link, on the CPU of the host; on a machine, by the interrupts of
    /// each queue, on all CPUs.
    Threaded,
    /// By the per-CPU backlog of the host's CPU (receive packet steering), which can overflow.
    Backlog,
    /// By the interrupts of all queues, on the host's CPU: on a machine only.
    Interrupts,
}

/// A queueing discipline.
#[derive(Debug, Clone)]
pub enum Shape {
    /// What the host sends to the first of its links.
    Sent(Host, String),
    /// Packets that the host receives, through a separate intermediate device.
    Received(Host, String),
    /// This many filters that match nothing, with which each received packet is compared.
    Filtered(Host, u32),
}

/// Something that happens during the load.
#[derive(Debug, Clone)]
pub enum Actor {
    /// Loops without work on a CPU, each with a weight against the rest of the stage.
    Burner {
        /// CPU.
        cpu: u32,
        /// Weight of the group.
        weight: u64,
    },
    /// Burns 30 % of a CPU in spells of random length, with the weight of a server.
    Busy {
        /// CPU.
        cpu: u32,
    },
    /// Loops without work on a CPU, with a weight against the rest of the stage, and rests.
    Guest {
        /// CPU.
        cpu: u32,
        /// Weight of the group.
        weight: u64,
        /// When.
        spells: Spells,
    },
    /// Writes a file of the server's host and waits until it is on disk, after each rest.
    Writer {
        /// Size of the file, megabytes.
        megabytes: u32,
        /// How long it rests; it writes for as long as that takes.
        spells: Spells,
    },
    /// Compiles one crate after another, on all CPUs, with the weight of a server.
    Build,
    /// Stops a process repeatedly.
    Pauser {
        /// Whose: the server's or the generator's.
        of: Host,
        /// When.
        spells: Spells,
    },
    /// Starts connections from a host to the server and never finishes them.
    Knocker {
        /// From where.
        from: Host,
        /// Attempts per second.
        rate: f64,
        /// Attempts in each instant.
        burst: u32,
        /// To where.
        to: Door,
    },
    /// Takes descriptors away from the generator after a while.
    FilesTaken {
        /// After this time.
        after: Duration,
        /// How many it keeps.
        left: u64,
    },
}

/// Where a knocker connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// At the server under test.
    Server,
    /// At an unused address of the server's network.
    Unused,
    /// At a listener of the server's host that never accepts.
    Neglected,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The server under test.
    pub server: Program,
    /// How it is watched, unless the command line says it.
    pub watch: Watch,
    /// Its downstream; the server then gets `--downstream`, or the setting DOWNSTREAM.
    pub downstream: Option<Program>,
    /// The generator.
    pub client: Client,
    /// How packets are received, by all hosts.
    pub receive: Receive,
    /// Delay of packets between client and server in each direction.
    pub one_way: Option<Duration>,
    /// Share of the packets that this link drops.
    pub lost: f64,
    /// Queueing disciplines.
    pub shapes: Vec<Shape>,
    /// Kernel parameters of a host's network.
    pub sysctls: Vec<(Host, &'static str, String)>,
    /// Length of the machine's per-CPU backlog, which is not per namespace.
    pub backlog_packets: Option<u32>,
    /// Connections that the machine's kernel tracks in each namespace; those of the server's
    /// namespace are then tracked.
    pub tracked: Option<u32>,
    /// Whether responses to the stranger are lost.
    pub stranger_is_deaf: bool,
    /// Source ports of which this share reaches the first of two listeners.
    pub skew: Option<f64>,
    /// Actors that run during the load.
    pub actors: Vec<Actor>,
}

/// The ramp of scenarios in which the shape matters.
pub const RAMP: &str = "ramp {url} -c 1..16*2 -d 1.5s --warmup 300ms";

/// Words of a command line.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

impl Program {
    /// The stage server with these flags, on CPU 0.
    pub fn stage(flags: &str) -> Self {
        let allowance = Allowance::default();
        Self {
            origin: Origin::Own,
            name: "target-stage",
            words: words(flags),
            cpus: "0",
            allowance,
            files: None,
        }
    }

    /// Ordinary software with these settings, on CPU 0.
    pub fn ordinary(name: &'static str, settings: &str) -> Self {
        Self { origin: Origin::Ordinary, name, ..Self::stage(settings) }
    }

    /// Held-out software with these settings, on CPU 0.
    pub fn held_out(name: &'static str, settings: &str) -> Self {
        Self { origin: Origin::HeldOut, ..Self::ordinary(name, settings) }
    }
}

impl Setup {
    /// A stage server with these flags, and a generator with this command line, for both the kept
    /// run and the proof, unless the proof has another.
    pub fn new(server: &str, client: &str) -> Self {
        Self {
            server: Program::stage(server),
            watch: Watch::Probe,
            downstream: None,
            client: Client {
                words: words(client),
                proof_words: words(client),
                cpus: "1",
                allowance: Allowance::default(),
                file: None,
            },
            receive: Receive::Threaded,
            one_way: None,
            lost: 0.0,
            shapes: Vec::new(),
            sysctls: Vec::new(),
            backlog_packets: None,
            tracked: None,
            stranger_is_deaf: false,
            skew: None,
            actors: Vec::new(),
        }
    }

    /// How the server is watched, given the command line.
    pub fn watched(&self, asked: Watch) -> Watch {
        if asked == Watch::Probe { self.watch } else { asked }
    }

    /// The setup with levels of the kept run that last at least this many seconds.
    pub fn lasting(mut self, seconds_min: f64) -> Self {
        let words = &mut self.client.words;
        let last = words.iter().position(|word| word == "-d").and_then(|at| words.get_mut(at + 1));
        if let Some(last) = last {
            let seconds = last.strip_suffix('s').and_then(|seconds| seconds.parse::<f64>().ok());
            if seconds.is_some_and(|seconds| seconds < seconds_min) {
                *last = format!("{seconds_min}s");
            }
        }
        self
    }

    /// The setup beside other work.
    pub fn beside(mut self, noise: Noise) -> Self {
        match noise {
            Noise::Quiet => {}
            Noise::Burners => self.actors.extend([0, 1].map(|cpu| Actor::Busy { cpu })),
            Noise::Build => self.actors.push(Actor::Build),
        }
        self
    }

    /// The setup with another command line for the proof.
    pub fn proven_by(mut self, client: &str) -> Self {
        self.client.proof_words = words(client);
        self
    }
}

/// Large bodies through a token bucket filter at the place that `place` returns.
pub fn full_link(dice: &mut Dice, factor: f64, place: impl Fn(String) -> Shape) -> Setup {
    let rate_mbit = dice.real("rate_mbit", 15.0, 40.0) * factor;
    let body_bytes = dice.whole("body_bytes", 12_000, 32_000);
    let server = format!("--workers 16 --body {body_bytes}");
    let mut setup = Setup::new(&server, RAMP).proven_by("load {url} -c 16 -d 2s");
    let filter = format!("tbf rate {rate_mbit:.2}mbit burst 20000 latency 100ms");
    setup.shapes = vec![place(filter)];
    setup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_levels_that_are_short_last_longer() {
        let line = |client| Setup::new("", client).lasting(3.0).client.words.join(" ");
        assert_eq!(line("ramp {url} -c 1..4 -d 1.5s"), "ramp {url} -c 1..4 -d 3s");
        assert_eq!(line("load {url} -d 4s -R 5"), "load {url} -d 4s -R 5");
        assert_eq!(line("load {url} -d 500ms"), "load {url} -d 500ms", "not in seconds");
    }
}
