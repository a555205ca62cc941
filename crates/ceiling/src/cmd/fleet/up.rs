//! `ceiling fleet up`: a trial fleet, with a broker and agents on this host.

use super::{Many, PatternText, Program};
use crate::exit::{Code, Failure};
use crate::screen::{to_stderr, to_stdout};
use crate::signals::stop_flag;
use clap::Args;
use fleet::process::keys::{self, BROKER, CONFIGURATION, CONTROLLER, Made, Wish};
use host::program;
use plan::Typed;
use plan::values::{Port, Threads};
use stage::keeper::{KeptProcess, Order};
use std::env;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Name of the fleet.
const NAME: &str = "local";
/// How long the broker and the agents may take to start.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How often to check whether one of them has ended.
const LOOK: Duration = Duration::from_millis(100);
/// How long the started processes may take to end in order.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many names are tried for the folder.
const FOLDERS_MAX: u32 = 100;
/// Where load may go by default. Many hosts resolve localhost to both addresses, and an agent must
/// be allowed to connect to each of them.
const ALLOW: [&str; 6] = [
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "http://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
    "https://localhost:*",
];

/// Starts nats-server on loopback with fresh keys, and agents that may load only this host. Prints
/// the next command and runs until Ctrl-C, which stops everything and removes the keys.
///
/// Agents on one host share its CPUs: this shows how a fleet works, not how fast it is.
#[derive(Debug, Args)]
#[command(after_help = "\
nats-server comes from Debian's package nats-server or from `make nats-server`.

Examples:
  ceiling fleet up
  ceiling fleet up --agents 2 --allow 'http://10.0.0.7:8080'")]
pub struct Up {
    /// Number of agents
    #[arg(long, value_name = "N", default_value = "4")]
    agents: Many,

    /// Port of the broker on loopback
    #[arg(long, value_name = "PORT", default_value = "4222")]
    port: Port,

    /// Where load may go [default: this host, any port]; repeatable, or separated by commas
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    allow: Vec<PatternText>,

    /// Worker threads of each agent, or auto: the CPUs divided by the agents
    #[arg(short = 't', long, value_name = "N|auto", default_value = "auto")]
    threads: Threads,

    /// Program of the broker [default: nats-server of the system, else the one that make built]
    #[arg(long, value_name = "FILE")]
    nats_server: Option<Program>,
}

/// A folder of keys that is removed on drop.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A new folder that only we can read. It never is one that exists, or a link: another user, or a
/// run that was killed, may have left keys there.
fn fresh(parent: &Path) -> Result<Folder, Failure> {
    let first = parent.join(format!("ceiling-fleet-{}", std::process::id()));
    let mut path = first.clone();
    for number in 2.. {
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < FOLDERS_MAX => {
                path = PathBuf::from(format!("{}-{number}", first.display()));
            }
            Err(error) => return Err(Failure::File(format!("{}: {error}", path.display()))),
        }
    }
    Ok(Folder(path))
}

pub fn run(command: Up) -> Result<Code, Failure> {
    let server = command.nats_server.as_ref().map_or_else(found, |given| Ok(given.0.clone()))?;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, command.port.0));
    if let Err(error) = std::net::TcpListener::bind(listen) {
        return Err(Failure::Usage(format!(
            "--port {}: cannot listen on {listen}: {error}; give a free port, for example --port \
             4333",
            command.port.0
        )));
    }
    let stop = stop_flag()?;
    let folder = fresh(&env::temp_dir())?;
    let names: Vec<String> = (1..=command.agents.0).map(|number| format!("a{number}")).collect();
    let wish = Wish {
        folder: folder.0.clone(),
        fleet: NAME.to_string(),
        agents: names.clone(),
        hosts: Vec::new(),
        listen: Some(listen),
    };
    let made = keys::make(&wish).map_err(|error| Failure::File(error.to_string()))?;
    let mut all =
        vec![(BROKER.to_string(), start(&broker(&server, &folder.0), &folder.0, BROKER)?)];
    await_listening(listen, &mut all, &folder.0, &stop)?;
    // Measured once for all agents: if they all measured at the same time they would disturb each
    // other.
    let rate = fleet::process::capacity::of_a_worker(&stop).ok();
    let is_stopped = || stop.load(Ordering::Relaxed);
    for name in names.iter().take_while(|_| !is_stopped()) {
        let order = agent(name, rate, &command, (&made, &wish))?;
        all.push((name.clone(), start(&order, &folder.0, name)?));
    }
    let url = format!("nats://{listen}/{NAME}");
    if !is_stopped() {
        await_agents(&url, &folder.0, &mut all, &stop)?;
    }
    if !is_stopped() {
        to_stdout(&next(&url, &folder.0, names.len()))?;
    }
    while !is_stopped() {
        watch(&mut all, &folder.0)?;
        thread::sleep(LOOK);
    }
    // Agents end first, so that none reports a lost broker.
    all.reverse();
    for (_, kept) in &mut all {
        kept.ask();
        let _ = kept.wait(PATIENCE);
    }
    Ok(Code::Good)
}

/// The next commands, ready to copy.
fn next(url: &str, folder: &Path, agents: usize) -> String {
    format!(
        "ceiling fleet: {agents} agents are ready; Ctrl-C stops them and the broker\n\
         Next, in another terminal, with a server on this host:\n  \
         export CEILING_FLEET={url}\n  \
         export CEILING_FLEET_KEYS={}\n  \
         ceiling load http://127.0.0.1:8083/ -R 1k\n",
        folder.join(CONTROLLER).display()
    )
}

/// Looks for nats-server in the usual places.
fn found() -> Result<PathBuf, Failure> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let system = env::split_paths(&paths).chain(["/usr/sbin", "/usr/local/bin"].map(PathBuf::from));
    let here = env::current_exe().unwrap_or_default();
    let built = here.ancestors().map(|above| above.join(".cache/nats"));
    program::find_in("nats-server", system.chain(built)).map_err(|error| {
        Failure::Usage(format!(
            "--nats-server: {error}; install it (apt-get install nats-server), build it (make \
             nats-server in the repository), or give its path, for example --nats-server {}",
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

/// The order that starts an agent. `rate` is what a worker with a CPU of its own can send.
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
        format!("--nats=nats://{}/{NAME}", made.listen),
        format!("--name={name}"),
        format!("--credentials={}", credentials.display()),
        format!("--controller={}", made.controller),
        format!("--allow={allow}"),
        format!("--threads={threads}"),
    ];
    let words = words.into_iter().chain(capacity).collect();
    Ok(Order { words, patience: PATIENCE, ..Order::default() })
}

/// Starts a process under a keeper, which ends it when this process ends for any reason.
fn start(order: &Order, folder: &Path, name: &str) -> Result<KeptProcess, Failure> {
    let path = log(folder, name);
    let file = fs::File::create(&path);
    let file = file.map_err(|error| Failure::File(format!("{}: {error}", path.display())))?;
    let kept = KeptProcess::start(order, Stdio::null(), Stdio::from(file));
    kept.map(|(kept, _)| kept)
        .map_err(|why| Failure::File(format!("{name} could not be started: {why:?}")))
}

fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

/// Fails with the last line of a process that has ended.
fn look(all: &mut [(String, KeptProcess)], folder: &Path) -> Result<(), Failure> {
    for (name, kept) in all {
        if let Some(end) = end_of(name, kept, folder) {
            return Err(Failure::File(end));
        }
    }
    Ok(())
}

/// That a process has ended, and why: its keeper was killed, or the last line of its log.
fn end_of(name: &str, kept: &mut KeptProcess, folder: &Path) -> Option<String> {
    let why = match (kept.ended(), kept.lost()) {
        (None, None) => return None,
        (None, Some(lost)) => lost,
        _ => {
            let text = fs::read_to_string(log(folder, name)).unwrap_or_default();
            text.lines().last().unwrap_or("it printed nothing").to_string()
        }
    };
    Some(format!("{name} has ended: {why}"))
}

/// Reports agents that have ended and goes on, so that one can be killed on purpose. Fails when the
/// broker has ended.
fn watch(all: &mut Vec<(String, KeptProcess)>, folder: &Path) -> Result<(), Failure> {
    look(&mut all[..1], folder)?;
    all.retain_mut(|(name, kept)| {
        let end = end_of(name, kept, folder);
        if let Some(end) = &end {
            to_stderr(&format!("ceiling fleet: {end}"));
        }
        end.is_none()
    });
    Ok(())
}

fn await_listening(
    listen: SocketAddr,
    all: &mut [(String, KeptProcess)],
    folder: &Path,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let begin = Instant::now();
    while std::net::TcpStream::connect(listen).is_err() {
        look(all, folder)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        if begin.elapsed() > READY_WITHIN {
            return Err(Failure::File("nats-server does not listen".to_string()));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

fn await_agents(
    url: &str,
    folder: &Path,
    all: &mut [(String, KeptProcess)],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let controller = crate::fleet::connected(url, &folder.join(CONTROLLER))?;
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if controller.list().map_err(Failure::Fleet)?.len() + 1 >= all.len() {
            break;
        }
        look(all, folder)?;
        if begin.elapsed() > READY_WITHIN {
            return Err(Failure::File("not all agents have announced themselves".to_string()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::allow::Allow;
    use plan::Url;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_folder_is_new_and_ours_alone() {
        let parent = env::temp_dir().join(format!("fleet-up-test-{}", std::process::id()));
        let _ = fs::remove_dir_all(&parent);
        let other = parent.join("other");
        fs::create_dir_all(&other).unwrap();
        let first = parent.join(format!("ceiling-fleet-{}", std::process::id()));
        symlink(&other, &first).unwrap();
        let second = fresh(&parent).unwrap();
        let third = fresh(&parent).unwrap();
        assert!(second.0 != first && third.0 != second.0 && third.0 != first);
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode();
        assert_eq!((mode(&second.0) & 0o777, mode(&third.0) & 0o777), (0o700, 0o700));
        drop((second, third));
        assert!(first.is_symlink() && fs::read_dir(&other).unwrap().next().is_none());
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 2, "our folders are removed");
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn agents_may_load_localhost_at_both_of_its_addresses() {
        let list = Allow::new(ALLOW.map(|text| text.parse().unwrap()).to_vec());
        let both = ["127.0.0.1:8083", "[::1]:8083"].map(|address| address.parse().unwrap());
        for scheme in ["http", "https"] {
            let url = Url::parse(&format!("{scheme}://localhost:8083/")).unwrap();
            assert_eq!(list.check_addresses(&url, &both), Ok(()), "{scheme}");
        }
    }
}
