//! Programs and changes that run during the load.

use crate::running::Running;
use crate::setup::{Actor, Allowance, Door, Host};
use crate::spells::{Spell, Spells};
use crate::stage::{self, Place, Seat, Stage};
use anyhow::{Context, Result};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Port of the listener that never accepts.
pub const NEGLECTED_PORT: u16 = 8099;

/// Compiles a crate of two thousand functions without end: the compiler's own threads come and go
/// as in any build.
const COMPILER: &str = "seq 2000 | sed 's/.*/pub fn f&(x: \\&[u64]) -> u64 { \
    x.iter().map(|y| y ^ &).filter(|y| y % & < 7).sum() }/' > build.rs; \
    while :; do rustc --crate-type lib -O build.rs -o build.rlib; done";

/// How often a writer writes at most: no run of a scenario takes longer.
const WRITES_MAX: u32 = 100;

/// A thread that is stopped when this value is dropped.
pub struct Playing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts an actor that is a separate program.
pub fn start(
    stage: &Stage,
    actor: &Actor,
    number: usize,
    server_port: u16,
) -> Result<Option<Running>> {
    let name = format!("actor-{number}");
    let this_program = || std::env::current_exe().context("no path of this program");
    let shell = |line: &str| ("/bin/sh".into(), vec!["-c".to_owned(), line.to_owned()]);
    let (host, cpus, weight, (program, words)) = match actor {
        Actor::Burner { cpu, weight } => {
            let loops = shell("while :; do :; done");
            (Host::Server, cpu.to_string(), Some(*weight), loops)
        }
        Actor::Busy { cpu } => {
            let words = ["burn", "--seed", &(cpu + 1).to_string()].map(str::to_owned);
            (Host::Server, cpu.to_string(), None, (this_program()?, words.into()))
        }
        Actor::Guest { cpu, weight, spells } => {
            let words = std::iter::once("burn".to_owned()).chain(spells.words()).collect();
            (Host::Server, cpu.to_string(), Some(*weight), (this_program()?, words))
        }
        Actor::Writer { megabytes, spells } => {
            let file = stage.folder(&name)?.join("file");
            let write = format!(
                "dd if=/dev/zero of={} bs=1M count={megabytes} conv=fsync 2>/dev/null",
                file.display()
            );
            let lines = (0..WRITES_MAX)
                .map(|nth| format!("sleep {:.3}; {write}\n", spells.nth(nth).rest.as_secs_f64()));
            (Host::Server, "0-1".to_owned(), None, shell(&lines.collect::<String>()))
        }
        Actor::Build => {
            let folder = stage.folder(&name)?;
            let line = format!("cd {} && {COMPILER}", folder.display());
            (Host::Server, "0-1".to_owned(), None, shell(&line))
        }
        Actor::Knocker { from, rate, burst, to } => {
            let address = match to {
                Door::Server => format!("{}:{server_port}", stage::server_seen_from(*from)),
                Door::Neglected => format!("{}:{NEGLECTED_PORT}", stage::server_seen_from(*from)),
                Door::Unused => format!("{}:{server_port}", stage::unused_address()),
            };
            let words = ["knock", &address, "--rate", &rate.to_string(), "--burst"];
            let mut words: Vec<String> = words.map(str::to_owned).into();
            words.push(burst.to_string());
            (*from, stage::cpu_of(*from).to_string(), None, (this_program()?, words))
        }
        Actor::Pauser { .. } | Actor::FilesTaken { .. } => return Ok(None),
    };
    let allowance = Allowance { weight, ..Allowance::default() };
    let seat = Seat { host, name: &name, cpus: &cpus, allowance, files: None, place: Place::Host };
    let mut command = stage.command(seat, &program, &words)?;
    Ok(Some(Running(command.stdout(Stdio::null()).spawn()?)))
}

/// Starts the listener that never accepts, if a knocker needs it.
pub fn start_neglected(stage: &Stage, actors: &[Actor], bin: &Path) -> Result<Option<Running>> {
    let wants = |actor: &Actor| matches!(actor, Actor::Knocker { to: Door::Neglected, .. });
    if !actors.iter().any(wants) {
        return Ok(None);
    }
    let line = format!(
        "--addr 0.0.0.0 --port {NEGLECTED_PORT} --backlog 1 --accept-delay 3600s --workers 1"
    );
    let seat = Seat {
        host: Host::Server,
        name: "neglected",
        cpus: "0",
        allowance: Allowance::default(),
        files: None,
        place: Place::Host,
    };
    let mut command =
        stage.command(seat, &bin.join("target-stage"), &crate::setup::words(&line))?;
    Ok(Some(Running(command.stdout(Stdio::null()).spawn()?)))
}

/// Starts an actor that only needs the processes.
pub fn play(actor: &Actor, server: u32, client: u32) -> Option<Playing> {
    let of = |host| if host == Host::Client { client } else { server };
    let act: Box<dyn FnOnce(&AtomicBool) + Send> = match *actor {
        Actor::Pauser { of: host, spells } => {
            let process = of(host);
            Box::new(move |end| pause(process, spells, end))
        }
        Actor::FilesTaken { after, left } => {
            Box::new(move |end| take_files(client, after, left, end))
        }
        Actor::Burner { .. }
        | Actor::Busy { .. }
        | Actor::Guest { .. }
        | Actor::Writer { .. }
        | Actor::Build
        | Actor::Knocker { .. } => return None,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let end = stop.clone();
    Some(Playing { stop, thread: Some(thread::spawn(move || act(&end))) })
}

/// Stops a process repeatedly, and leaves it running at the end.
fn pause(process: u32, spells: Spells, end: &AtomicBool) {
    let Some(process) = Pid::from_raw(process as i32) else { return };
    let mut begin = Instant::now();
    for Spell { rest, last } in (0..).map(|number| spells.nth(number)) {
        begin += rest;
        thread::sleep(begin.saturating_duration_since(Instant::now()));
        if end.load(Ordering::Relaxed) {
            return;
        }
        // An ended process cannot be stopped; the thread then ends by its flag.
        let _ = kill_process(process, Signal::STOP);
        thread::sleep(last);
        let _ = kill_process(process, Signal::CONT);
        begin += last;
    }
}

fn take_files(process: u32, after: Duration, left: u64, end: &AtomicBool) {
    thread::sleep(after);
    let Some(process) = Pid::from_raw(process as i32) else { return };
    if !end.load(Ordering::Relaxed) {
        let limit = Rlimit { current: Some(left), maximum: Some(left) };
        // It fails for an ended process.
        let _ = prlimit(Some(process), Resource::Nofile, limit);
    }
}
