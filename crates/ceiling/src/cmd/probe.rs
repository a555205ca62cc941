//! `ceiling probe serve`: shows the server's host to a generator on another host.

use crate::cmd::tune::{Hands, JournalOption};
use crate::exit::{Code, Failure};
use crate::screen::{to_stderr, to_stdout};
use crate::signals::stop_flag;
use clap::{Args, Subcommand};
use plan::Targets;
use plan::values::{Clients, LocalAddress, Pid, Port, ServersFile, Socket, TokenFile};
use remote::{Probe as Served, Settings, Tuner};
use stage::Starter;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// Commands of the probe.
#[derive(Debug, Args)]
pub struct Probe {
    #[command(subcommand)]
    command: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Serves this host's counters to clients that have the token.
    Serve(Serve),
}

/// Runs on the server's host, or inside the server's container, and reads the counters of the
/// kernel. It runs no command, sends nothing to clients without the token, and changes nothing.
/// With --allow-tune, clients may turn the knobs of `ceiling tune` and no others; with
/// --allow-start, they may start the servers of its list and no others, within the limits of the
/// list. Start it, copy the token file to the generator's host, and use the flags of the ready line
/// there.
///
/// What it can read depends on its user: as any user, the host only; as the server's user, also the
/// server's processes; as root, everything. What it cannot read is reported as unreadable, never as
/// zero.
#[derive(Debug, Args)]
#[command(after_help = "\
Connections use TLS with a certificate that is made at the first start and kept
next to the token (FILE.pem). Clients check its SHA-256, the pin.

Examples:
  ceiling probe serve --token-file probe.token
  ceiling probe serve --listen 192.0.2.7:9200 --token-file probe.token
  ceiling probe serve --token-file probe.token \\
      --allow-start targets/targets.toml
  ceiling load http://192.0.2.7:8080/ --probe 192.0.2.7:9200 \\
      --probe-token-file probe.token --probe-pin PIN")]
struct Serve {
    /// Where to listen
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9200")]
    listen: Socket,

    /// File with the token that clients must have; made if it does not exist
    #[arg(long, value_name = "FILE")]
    token_file: TokenFile,

    /// Most clients at a time
    #[arg(long, value_name = "N", default_value = "4")]
    max_clients: Clients,

    /// The server's process, if it is not the one that listens on the port under test
    #[arg(long, value_name = "PID")]
    server_pid: Option<Pid>,

    /// Address of the server's runtime statistics (Go targets: --debug-addr)
    #[arg(long, value_name = "ADDR:PORT")]
    runtime: Option<Socket>,

    /// Serve metrics for Prometheus here, at /metrics: plain HTTP, no token
    #[arg(long, value_name = "ADDR:PORT")]
    prometheus: Option<Socket>,

    /// Port of the server that /metrics covers in addition to this host
    #[arg(long, value_name = "PORT", requires = "prometheus")]
    server_port: Option<Port>,

    /// Allow /metrics on an address that other hosts can reach
    #[arg(long, requires = "prometheus")]
    prometheus_open: bool,

    /// Let clients change knobs of this host with ceiling tune apply --probe; needs root
    #[arg(long)]
    allow_tune: bool,

    /// Let clients start the servers of this list, within the limits of each [target.allow]; they
    /// end when the client disconnects
    #[arg(long, value_name = "FILE")]
    allow_start: Option<ServersFile>,

    /// Address on which started servers listen, if the list names none [default: loopback]
    #[arg(long, value_name = "ADDR", requires = "allow_start")]
    start_address: Option<LocalAddress>,

    #[command(flatten)]
    journal: JournalOption,
}

pub fn run(command: Probe) -> Result<Code, Failure> {
    let What::Serve(serve) = command.command;
    if let Some(Socket(address)) = serve.prometheus
        && !address.ip().is_loopback()
        && !serve.prometheus_open
    {
        return Err(Failure::Usage(format!(
            "--prometheus {address}: other hosts may reach it, and it needs no token; give a \
             loopback address, or add --prometheus-open to allow it; for example --prometheus \
             127.0.0.1:{}",
            address.port()
        )));
    }
    let server_pid = serve.server_pid.as_ref().map(|pid| pid.0);
    let server_port = serve.server_port.as_ref().map(|port| port.0);
    let hands = match serve.allow_tune {
        true => Hands::new(&serve.journal, server_pid, server_port)?,
        false => Hands::off(&serve.journal),
    };
    let tuner: Option<Box<dyn Tuner>> = Some(Box::new(hands));
    let starter = serve.allow_start.as_ref();
    let starter = starter.map(|list| start_from(list, &serve)).transpose()?;
    let stop = stop_flag()?;
    let probe = Served::open(Settings {
        listen: serve.listen.0,
        token_file: serve.token_file.0.clone(),
        clients_max: serve.max_clients.0,
        prometheus: serve.prometheus.as_ref().map(|at| at.0),
        server_pid,
        runtime: serve.runtime.as_ref().map(|at| at.0),
        server_port,
        program: env!("CARGO_PKG_VERSION").to_string(),
        tuner,
        starter,
    });
    let probe = probe.map_err(|error| Failure::Usage(error.to_string()))?;
    to_stdout(&ready(&probe, &serve))?;
    probe.run(&stop, &|line| {
        // A closed stderr must not end the probe.
        to_stderr(&format!("ceiling probe: {line}"));
    });
    Ok(Code::Good)
}

/// The starter for the servers of a list.
fn start_from(list: &Path, serve: &Serve) -> Result<Box<dyn remote::Starter>, Failure> {
    let wrong = |why: String| {
        let list = list.display();
        Failure::Usage(format!("--allow-start {list}: {why}; for example targets/targets.toml"))
    };
    let text = fs::read_to_string(list).map_err(|error| wrong(error.to_string()))?;
    let targets = Targets::parse(&text).map_err(|error| wrong(error.to_string()))?;
    let root = stage::root_of(list).map_err(wrong)?;
    let targets = match &serve.start_address {
        Some(address) => targets.listening_on(address.0),
        None => targets,
    };
    Ok(Box::new(Starter::new(targets, root, serve.journal.folder())))
}

/// The ready line: the address, the pin, and the options for the generator's host.
fn ready(probe: &Served, serve: &Serve) -> String {
    let address = probe.address();
    let prometheus = probe.prometheus();
    let prometheus = prometheus.map(|at| format!(", metrics on http://{at}/metrics"));
    format!(
        "ceiling probe: ready on {address}{}, pin {pin}; on the client, with a copy of the token: \
         --probe {reached} --probe-token-file {token} --probe-pin {pin}\n",
        prometheus.unwrap_or_default(),
        pin = probe.pin(),
        reached = reached_at(address),
        token = serve.token_file.display(),
    )
}

/// The address for clients: this host's name if the probe listens on all addresses.
fn reached_at(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "HOST" } else { name.trim() };
    format!("{name}:{}", address.port())
}
