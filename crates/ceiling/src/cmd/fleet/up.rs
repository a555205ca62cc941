//! `ceiling fleet up`: a broker and agents on this host, for trying out.

use super::{Many, PatternText, Program};
use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use crate::signals::stop_flag;
use agents::keys::{self, BROKER, CONFIGURATION, CONTROLLER, Made, Wish};
use clap::Args;
use lab::experiment::keeper::{Kept, Order};
use plan::Typed;
use plan::values::{Port, Threads};
use std::env;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Name of the fleet.
const NAME: &str = "local";
/// How long broker and agents may take to be there.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How often their ends are looked for.
const LOOK: Duration = Duration::from_millis(100);
/// How long what was started may take to end in order.
const PATIENCE: Duration = Duration::from_secs(3);
/// Where load may go unless told otherwise.
const ALLOW: [&str; 4] =
    ["http://127.0.0.1:*", "http://localhost:*", "https://127.0.0.1:*", "https://localhost:*"];

/// Starts nats-server on loopback with fresh keys, and agents that may load this host alone. It
/// prints the next command and runs until Ctrl-C, which ends all of it and removes the keys.
///
/// Agents that share a host share its CPUs: this shows how a fleet works, and not how fast it is.
#[derive(Debug, Args)]
#[command(after_help = "\
nats-server is Debian's package nats-server, or what `make nats-server` built.

Examples:
  ceiling fleet up
  ceiling fleet up --agents 2 --allow 'http://10.0.0.7:8080'")]
pub struct Up {
    /// How many agents
    #[arg(long, value_name = "N", default_value = "4")]
    agents: Many,

    /// Where the broker listens on loopback
    #[arg(long, value_name = "PORT", default_value = "4222")]
    port: Port,

    /// Where load may go [default: this host, any port]; repeatable, or with commas
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    allow: Vec<PatternText>,

    /// Worker threads of each agent, or auto: the CPUs divided by the agents
    #[arg(short = 't', long, value_name = "N|auto", default_value = "auto")]
    threads: Threads,

    /// The broker's program [default: nats-server where programs are, or as make built it]
    #[arg(long, value_name = "FILE")]
    nats_server: Option<Program>,
}

/// A folder that is removed with its keys.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn run(command: Up) -> Result<Code, Failure> {
    let server = command.nats_server.as_ref().map_or_else(found, |given| Ok(given.0.clone()))?;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, command.port.0));
    if let Err(error) = std::net::TcpListener::bind(listen) {
        return Err(Failure::Usage(format!(
            "--port {}: {listen} cannot be listened on: {error}; for example --port 4333",
            command.port.0
        )));
    }
    let stop = stop_flag()?;
    let folder = env::temp_dir().join(format!("ceiling-fleet-{}", std::process::id()));
    let folder = Folder(folder);
    let names: Vec<String> = (1..=command.agents.0).map(|number| format!("a{number}")).collect();
    let wish = Wish {
        folder: folder.0.clone(),
        fleet: NAME.to_string(),
        agents: names.clone(),
        hosts: Vec::new(),
        listen,
    };
    let made = keys::make(&wish).map_err(|error| Failure::File(error.to_string()))?;
    let mut all =
        vec![(BROKER.to_string(), start(&broker(&server, &folder.0), &folder.0, BROKER)?)];
    await_listening(listen, &mut all, &folder.0, &stop)?;
    // Once for all, because agents that measured at the same time would disturb each other.
    let rate = agents::capacity::of_a_worker(&stop).ok();
    for name in &names {
        let order = agent(name, rate, &command, (&made, &wish))?;
        all.push((name.clone(), start(&order, &folder.0, name)?));
    }
    let url = format!("nats://{listen}/{NAME}");
    await_agents(&url, &folder.0, &mut all, &stop)?;
    to_stdout(&next(&url, &folder.0, names.len()))?;
    while !stop.load(Ordering::Relaxed) {
        watch(&mut all, &folder.0)?;
        thread::sleep(LOOK);
    }
    // Agents first, so that none complains of a broker that is gone.
    all.reverse();
    for (_, kept) in &mut all {
        kept.ask();
        let _ = kept.wait(PATIENCE);
    }
    Ok(Code::Good)
}

/// What to do next, in words that can be copied.
fn next(url: &str, folder: &Path, agents: usize) -> String {
    format!(
        "ceiling fleet: {agents} agents are there; Ctrl-C ends them and the broker\n\
         Next, in another terminal, with a server of this host:\n  \
         export CEILING_FLEET={url}\n  \
         export CEILING_FLEET_KEYS={}\n  \
         ceiling load http://127.0.0.1:8083/ -R 1k\n",
        folder.join(CONTROLLER).display()
    )
}

/// Where nats-server usually is.
fn found() -> Result<PathBuf, Failure> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let system = env::split_paths(&paths).chain(["/usr/sbin", "/usr/local/bin"].map(PathBuf::from));
    let here = env::current_exe().unwrap_or_default();
    let built = here.ancestors().map(|above| above.join(".cache/nats")).collect::<Vec<_>>();
    let all = system.chain(built).map(|folder| folder.join("nats-server"));
    all.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        Failure::Usage(format!(
            "--nats-server: there is no program nats-server here: apt-get install nats-server, \
             make nats-server in the repository, or name one; for example --nats-server {}",
            Program::EXAMPLE
        ))
    })
}

fn broker(server: &Path, folder: &Path) -> Order {
    let words = [server.display().to_string(), "-c".into(), CONFIGURATION.into()];
    Order {
        words: words.to_vec(),
        folder: folder.join(BROKER),
        patience: PATIENCE,
        ..Order::default()
    }
}

/// What starts an agent. `rate` is what a worker that has a CPU can send.
fn agent(
    name: &str,
    rate: Option<f64>,
    command: &Up,
    (made, wish): (&Made, &Wish),
) -> Result<Order, Failure> {
    let program = env::current_exe();
    let program = program.map_err(|error| Failure::File(format!("this program: {error}")))?;
    let cpus = thread::available_parallelism().map_or(1, usize::from) as u32;
    let threads = command.threads.0.unwrap_or((cpus / command.agents.0).max(1));
    let credentials = wish.folder.join("agents").join(format!("{name}.creds"));
    let allow = match command.allow.as_slice() {
        [] => ALLOW.join(","),
        given => given.iter().map(|one| one.0.to_string()).collect::<Vec<_>>().join(","),
    };
    let all_threads = threads * command.agents.0;
    let capacity = rate.map(|rate| {
        let rate = rate * f64::from(all_threads.min(cpus)) / f64::from(command.agents.0);
        format!("--capacity={rate:.0}")
    });
    let words = [
        program.display().to_string(),
        "agent".to_string(),
        format!("--nats=nats://{}/{NAME}", wish.listen),
        format!("--name={name}"),
        format!("--credentials={}", credentials.display()),
        format!("--controller={}", made.controller),
        format!("--allow={allow}"),
        format!("--threads={threads}"),
    ];
    let words = words.into_iter().chain(capacity).collect();
    Ok(Order { words, patience: PATIENCE, ..Order::default() })
}

/// Starts one of them under a keeper, which ends it when this process ends, however it does.
fn start(order: &Order, folder: &Path, name: &str) -> Result<Kept, Failure> {
    let path = log(folder, name);
    let file = fs::File::create(&path);
    let file = file.map_err(|error| Failure::File(format!("{}: {error}", path.display())))?;
    let kept = Kept::start(order, Stdio::null(), Stdio::from(file));
    kept.map(|(kept, _)| kept)
        .map_err(|why| Failure::File(format!("{name} could not be started: {why:?}")))
}

fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

/// Fails with the last line of what has ended.
fn look(all: &mut [(String, Kept)], folder: &Path) -> Result<(), Failure> {
    for (name, kept) in all {
        if kept.ended().is_some() || kept.is_lost() {
            return Err(Failure::File(end_of(name, folder)));
        }
    }
    Ok(())
}

/// That something has ended, and the last line that it said.
fn end_of(name: &str, folder: &Path) -> String {
    let text = fs::read_to_string(log(folder, name)).unwrap_or_default();
    format!("{name} has ended: {}", text.lines().last().unwrap_or("it said nothing"))
}

/// Tells of agents that have ended, so that one can be killed on purpose; without the broker there
/// is no fleet.
fn watch(all: &mut Vec<(String, Kept)>, folder: &Path) -> Result<(), Failure> {
    look(&mut all[..1], folder)?;
    all.retain_mut(|(name, kept)| {
        let is_there = kept.ended().is_none() && !kept.is_lost();
        if !is_there {
            eprintln!("ceiling fleet: {}", end_of(name, folder));
        }
        is_there
    });
    Ok(())
}

fn await_listening(
    listen: SocketAddr,
    all: &mut [(String, Kept)],
    folder: &Path,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let begin = Instant::now();
    while std::net::TcpStream::connect(listen).is_err() {
        look(all, folder)?;
        if stop.load(Ordering::Relaxed) || begin.elapsed() > READY_WITHIN {
            return Err(Failure::File("nats-server does not listen".to_string()));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

fn await_agents(
    url: &str,
    folder: &Path,
    all: &mut [(String, Kept)],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let controller = crate::fleet::connected(url, &folder.join(CONTROLLER))?;
    let begin = Instant::now();
    while controller.list().len() + 1 < all.len() {
        look(all, folder)?;
        if stop.load(Ordering::Relaxed) || begin.elapsed() > READY_WITHIN {
            return Err(Failure::File("not all agents said hello".to_string()));
        }
    }
    Ok(())
}
