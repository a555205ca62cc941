//! One run: builds the stage, runs the load, and removes everything.

use crate::actors::{self, Playing};
use crate::options::{Hosts, RunOptions, Watch};
use crate::ordinary::begin;
use crate::ports;
use crate::running::Running;
use crate::setup::{Allowance, Client, Host, Program, Setup};
use crate::stage::{self, Place, Seat, Stage};
use anyhow::{Context, Result, bail};
use model::run::Record;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// No run of a scenario takes longer, with experiments, unless something hangs.
const LONGEST: Duration = Duration::from_secs(240);
/// Directory of what a second watcher keeps.
const INSIDE: &str = "inside";
/// How long a second watcher may take to start.
const READS_WITHIN: Duration = Duration::from_secs(10);

/// The result of a run.
pub struct Performed {
    /// Directory of the run, when there is a record.
    pub directory: Option<PathBuf>,
    /// Directory of the readings of a second watcher.
    pub inside: Option<PathBuf>,
    /// The record.
    pub record: Option<Record>,
    /// Exit code of ceiling.
    pub code: Option<i32>,
    /// Its standard error.
    pub stderr: String,
}

/// Runs a command line of ceiling on a stage built for it. The run is kept below `folder`.
pub fn perform(
    setup: &Setup,
    words: &[String],
    options: &RunOptions,
    folder: &Path,
) -> Result<Performed> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let bin = &options.bin;
    let bin = bin.canonicalize().with_context(|| format!("no directory {}", bin.display()))?;
    let stage = Stage::build(setup, options.family.hosts())?;
    let _neglected = actors::start_neglected(&stage, &setup.actors, &bin)?;
    let downstream = match &setup.downstream {
        Some(program) => {
            let seat = (Host::Downstream, Place::Host);
            Some(start(&stage, program, seat, options, None)?)
        }
        None => None,
    };
    let asked = downstream
        .as_ref()
        .map(|begun| format!("{}:{}", stage.address(Host::Downstream), begun.port));
    let watch = setup.watched(options.watch);
    let place = if watch == Watch::Probe { Place::Host } else { Place::Container };
    let server = start(&stage, &setup.server, (Host::Server, place), options, asked)?;
    let Begun { port, pid: server_pid, .. } = server;
    if let Some(share) = setup.skew {
        ports::skew(&stage, port, share)?;
    }
    let mut beside: Vec<Running> = Vec::new();
    for (number, actor) in setup.actors.iter().enumerate() {
        beside.extend(actors::start(&stage, actor, number, port)?);
    }
    let (probe, probed) = match watch {
        Watch::Outside => (None, String::new()),
        Watch::Probe | Watch::Both => {
            let (probe, probed) = start_probe(&stage, &bin, server_pid)?;
            (Some(probe), probed)
        }
    };
    let second = match watch {
        Watch::Both => Some(Second::start(&stage, &bin, folder, port, &probed)?),
        _ => None,
    };
    let watched = match watch {
        Watch::Probe => probed,
        Watch::Outside | Watch::Both => format!("--server-pid {server_pid}"),
    };
    let url = format!("http://{}:{port}/", stage.address(Host::Server));
    let words = client_words(&setup.client, words, &url, &watched, folder)?;
    let seat = Seat {
        host: Host::Client,
        name: "generator",
        cpus: setup.client.cpus,
        allowance: setup.client.allowance,
        files: None,
        place: Place::Host,
    };
    let log = folder.join("said.txt");
    let mut command = stage.command(seat, &bin.join("ceiling"), &words)?;
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut client = Running(command.stdout(Stdio::null()).stderr(file).spawn()?);
    let playing: Vec<Playing> = setup
        .actors
        .iter()
        .filter_map(|actor| actors::play(actor, server_pid, client.0.id()))
        .collect();
    let code = wait(&mut client.0)?;
    let inside = second.map(Second::end).transpose()?;
    drop((playing, beside, probe, server, downstream));
    let stderr = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_file(&log);
    let directory = only_folder(folder);
    let record = directory.as_ref().and_then(|run| store::read(run).ok()).map(|run| run.record);
    Ok(Performed { directory, inside, record, code, stderr })
}

/// A second watcher of the same load: a generator that puts little load on its own server on the
/// same port, and keeps the readings of the probe in the container.
struct Second {
    generator: Running,
    _server: Running,
    folder: PathBuf,
}

impl Second {
    fn start(stage: &Stage, bin: &Path, folder: &Path, port: u16, probed: &str) -> Result<Self> {
        let folder = folder.join(INSIDE);
        let seat = |name| Seat {
            host: Host::Client,
            name,
            cpus: "1",
            allowance: Allowance::default(),
            files: None,
            place: Place::Host,
        };
        let words = crate::setup::words(&format!("--addr 127.0.0.1 --port {port}"));
        let mut command =
            stage.command(seat("second-server"), &bin.join("target-stage"), &words)?;
        let mut server = Running(command.stdout(Stdio::piped()).spawn()?);
        let output = server.0.stdout.as_mut().context("the server has no output")?;
        BufReader::new(output).read_line(&mut String::new())?;
        let words = format!(
            "load http://127.0.0.1:{port}/ -c 1 -R 2 -d {}s -t 1 -q --runs {} {probed}",
            LONGEST.as_secs(),
            folder.display()
        );
        let words = crate::setup::words(&words);
        let mut command = stage.command(seat("second"), &bin.join("ceiling"), &words)?;
        let spawned = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let second = Self { generator: Running(spawned), _server: server, folder };
        // Readings before its first one would be missing on one side only.
        let begin = Instant::now();
        while only_folder(&second.folder).is_none() && begin.elapsed() < READS_WITHIN {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(second)
    }

    /// Ends it like Ctrl-C; returns the directory of its run.
    fn end(mut self) -> Result<PathBuf> {
        let pid = i32::try_from(self.generator.0.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("a process has a number")?, Signal::INT)?;
        wait(&mut self.generator.0)?;
        only_folder(&self.folder).context("the second watcher kept no run")
    }
}

/// The command line of ceiling. Only this function decides how the server is watched.
fn client_words(
    client: &Client,
    words: &[String],
    url: &str,
    watched: &str,
    folder: &Path,
) -> Result<Vec<String>> {
    let file = folder.join("file");
    if let Some(text) = &client.file {
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let fill = |word: &String| {
        let word = word.replace("{url}", url);
        word.replace("{file}", &file.display().to_string())
    };
    let folder = folder.display().to_string();
    let always = ["-q", "--no-color", "--runs", &folder];
    let threads: &[&str] = if words.iter().any(|word| word == "-t") { &[] } else { &["-t", "1"] };
    let rest = always.into_iter().chain(threads.iter().copied()).map(str::to_owned);
    Ok(words.iter().map(fill).chain(rest).chain(crate::setup::words(watched)).collect())
}

/// A server that listens.
struct Begun {
    _program: Running,
    port: u16,
    /// Its pid, as its host sees it.
    pid: u32,
}

/// Starts a server of the stage and waits until it listens.
fn start(
    stage: &Stage,
    program: &Program,
    (host, place): (Host, Place),
    options: &RunOptions,
    asked: Option<String>,
) -> Result<Begun> {
    let name = format!("{host:?}").to_lowercase();
    let seat = Seat {
        host,
        name: &name,
        cpus: program.cpus,
        allowance: program.allowance,
        files: program.files,
        place,
    };
    if let Some(family) = program.origin.scripts() {
        let (program, port) = begin(stage, (family, program), seat, &options.scripts, asked)?;
        return Ok(Begun { pid: pid_of(&program, place)?, _program: program, port });
    }
    let mut words = crate::setup::words("--addr 0.0.0.0 --port 0");
    let asked = asked.map(|asked| ["--downstream".to_owned(), asked]);
    let files = stage.folder(&name)?.display().to_string();
    let own = program.words.iter().map(|word| word.replace("{files}", &files));
    words.extend(own.chain(asked.into_iter().flatten()));
    let path = options.bin.canonicalize()?.join(program.name);
    let mut command = stage.command(seat, &path, &words)?;
    let mut server = Running(command.stdout(Stdio::piped()).spawn()?);
    let mut line = String::new();
    let output = server.0.stdout.as_mut().context("the server has no output")?;
    BufReader::new(output).read_line(&mut line)?;
    let listening: serde_json::Value = serde_json::from_str(&line)
        .with_context(|| format!("{} did not start: {words:?}: {line}", program.name))?;
    let port =
        listening["addr"].as_str().and_then(|address| address.rsplit(':').next()?.parse().ok());
    let port = port.with_context(|| format!("no address in {line}"))?;
    let pid = match options.family.hosts() {
        Hosts::Namespaces => pid_of(&server, place)?,
        Hosts::Machines => {
            let pid = listening["pid"].as_u64().and_then(|pid| pid.try_into().ok());
            pid.with_context(|| format!("no process in {line}"))?
        }
    };
    Ok(Begun { _program: server, port, pid })
}

/// The process of a server itself.
fn pid_of(server: &Running, place: Place) -> Result<u32> {
    match place {
        Place::Host => Ok(server.0.id()),
        Place::Container => stage::contained(server.0.id()).context("no server in its container"),
    }
}

/// Starts the probe in the server's namespace; returns the flags to connect to it.
fn start_probe(stage: &Stage, bin: &Path, pid: u32) -> Result<(Running, String)> {
    let seat = Seat {
        host: Host::Server,
        name: "probe",
        cpus: stage.cpus_of_probe(),
        allowance: Allowance::default(),
        files: None,
        place: Place::Host,
    };
    let file = stage.folder("probe")?.join("token");
    let token = file.display();
    let words = format!("probe serve --listen 0.0.0.0:0 --server-pid {pid} --token-file {token}");
    let mut command = stage.command(seat, &bin.join("ceiling"), &crate::setup::words(&words))?;
    let mut probe = Running(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?);
    let mut ready = String::new();
    let output = probe.0.stdout.as_mut().context("the probe has no output")?;
    BufReader::new(output).read_line(&mut ready)?;
    let (port, pin) = address_of(&ready).with_context(|| format!("no probe: {ready}"))?;
    stage.bring(&file)?;
    let address = stage.address(Host::Server);
    let flags = format!("--probe {address}:{port} --probe-token-file {token} --probe-pin {pin}");
    Ok((probe, flags))
}

/// Port and pin of a ready line.
fn address_of(ready: &str) -> Option<(u16, &str)> {
    let (address, rest) = ready.split_once("ready on ")?.1.split_once(", pin ")?;
    let port = address.split(',').next()?.rsplit(':').next()?.parse().ok()?;
    Some((port, rest.split(';').next()?))
}

fn wait(child: &mut Child) -> Result<Option<i32>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if begin.elapsed() > LONGEST {
            bail!("ceiling did not end within {} s", LONGEST.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The one directory in a folder.
fn only_folder(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let is_run = |path: &PathBuf| path.is_dir() && !path.ends_with(INSIDE);
    entries.map(|entry| entry.path()).find(is_run)
}
