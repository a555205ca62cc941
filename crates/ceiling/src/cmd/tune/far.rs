//! Knobs of another host, through its probe.
//!
//! The probe does on its host what `ceiling tune` does on this one: with the same journal, the same
//! watchdog and the same way back. Predictions are made here, where the run is.

use super::journal::JournalOption;
use super::wish;
use crate::exit::Failure;
use host::Tree;
use lab::ThisHost;
use lab::drift::Looks;
use model::root::Root;
use model::tuning::{Fault, Left, Row, Scope, Signals, Step, TuneOrder, TuneOutcome, Wanted};
use plan::ProbeOptions;
use remote::{Call, Look, Tuner};
use stage::orders::{Bench, carry_out, start_watchdog};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tune::{Host, Journal, ServerChange, Taken, Wish};

/// Carries out orders on the probe's own host, one at a time.
#[derive(Debug)]
pub struct Hands {
    journal: PathBuf,
    may_change: bool,
    /// The server whose knobs are turned if an order names none.
    server: Mutex<FarServer>,
}

/// The server that the probe was started to watch.
#[derive(Debug)]
enum FarServer {
    /// None; a client may still name the process that listens on this port.
    Unnamed(Option<u16>),
    /// Its processes. After it has ended, no process with one of these ids is touched.
    Seen(Tree),
    /// The process did not exist when the probe started; the reason.
    Unseen(String),
}

impl FarServer {
    fn of(pid: Option<u32>, port: Option<u16>) -> Self {
        pid.map_or(Self::Unnamed(port), |pid| match Tree::of(pid) {
            Ok(tree) => Self::Seen(tree),
            Err(error) => Self::Unseen(wish::unreadable_server(pid, &error)),
        })
    }

    fn pids(&mut self) -> Result<Vec<u32>, String> {
        match self {
            Self::Unnamed(_) => Ok(Vec::new()),
            Self::Seen(tree) => {
                let refreshed = tree.refresh();
                refreshed.map_err(|error| wish::unreadable_server(tree.root(), &error))?;
                Ok(tree.pids().to_vec())
            }
            Self::Unseen(why) => Err(why.clone()),
        }
    }

    /// Checks that a process that a client names belongs to the server that the probe watches or to
    /// one that the probe has started: a client can reach no other process.
    fn watches(&mut self, pid: u32) -> Result<(), String> {
        let way_out = format!("start the probe with --server-pid {pid} to allow it");
        let is_below = self.pids().is_ok_and(|pids| pids.contains(&pid));
        match self {
            _ if is_below || is_started_by_us(pid) => Ok(()),
            Self::Unnamed(Some(port)) if listens(*port, pid) => Ok(()),
            Self::Unnamed(_) => Err(format!(
                "process {pid} is not one that this probe was started to watch; {way_out}"
            )),
            Self::Seen(tree) => Err(format!(
                "process {pid} is not below {}, which this probe was started to watch; {way_out}",
                tree.root()
            )),
            Self::Unseen(why) => Err(why.clone()),
        }
    }

    /// This host with the server's processes. Without a server, no knob of a process can be
    /// changed; other knobs can.
    fn look(&mut self, wanted: &Wanted) -> Result<(Host, Wish), String> {
        if let Some(pid) = wanted.server_pid {
            self.watches(pid)?;
            return wish::resolve(wanted);
        }
        let (mut host, wish) = wish::resolve(wanted)?;
        let is_of_server =
            |word: &String| tune::find(word).is_none_or(|knob| knob.scope == Scope::Process);
        host.servers = match self.pids() {
            Err(_) if !wish.only.is_empty() && !wish.only.iter().any(is_of_server) => Vec::new(),
            pids => pids?,
        };
        Ok((host, wish))
    }
}

/// Whether a process is a descendant of this one: the only lasting children of a probe are servers.
fn is_started_by_us(pid: u32) -> bool {
    let us = std::process::id();
    pid != us && Tree::of(us).is_ok_and(|tree| tree.pids().contains(&pid))
}

/// Whether a process belongs to the tree that listens on a port of this host.
fn listens(port: u16, pid: u32) -> bool {
    let owner = probe::find_server((Ipv4Addr::LOCALHOST, port).into()).ok();
    owner.and_then(|owner| Tree::of(owner).ok()).is_some_and(|tree| tree.pids().contains(&pid))
}

impl Hands {
    /// Hands that may change knobs, with the journal in this folder. Fails if no journal can be
    /// kept there.
    pub fn new(
        journal: &JournalOption,
        server_pid: Option<u32>,
        server_port: Option<u16>,
    ) -> Result<Self, Failure> {
        let journal = journal.open()?.folder().to_path_buf();
        let server = FarServer::of(server_pid, server_port);
        Ok(Self { journal, may_change: true, server: Mutex::new(server) })
    }

    /// Hands that change nothing, and only watch what others change.
    pub fn off(journal: &JournalOption) -> Self {
        let server = Mutex::new(FarServer::Unnamed(None));
        Self { journal: journal.folder(), may_change: false, server }
    }

    fn try_carry_out(
        &self,
        order: &TuneOrder,
        server: &mut FarServer,
    ) -> Result<TuneOutcome, String> {
        let root = Root::default();
        let watch = |transaction: &str| start_watchdog(transaction, &self.journal);
        let mut bench = Bench {
            root: &root,
            journal: &self.journal,
            look: &mut |wanted: &Wanted| server.look(wanted),
            watch: &watch,
            stop: None,
            note: "ordered through the probe",
        };
        carry_out(order, &mut bench)
    }
}

/// Experiments of one client on a server that this probe has started.
struct Experimenter<'a> {
    journal: &'a Path,
    under_way: Option<ServerChange>,
}

impl Experimenter<'_> {
    fn carry_out(&mut self, step: &Step) -> Result<(), String> {
        let none = || "no experiment was prepared".to_string();
        match step {
            Step::Prepare { .. } if self.under_way.is_some() => {
                Err("another experiment is under way".to_string())
            }
            Step::Prepare { server_pid, left } => {
                if !is_started_by_us(*server_pid) {
                    return Err(format!(
                        "process {server_pid} is not a server that this probe has started; let a \
                         plan start it, for example with ceiling probe serve --allow-start \
                         targets/targets.toml"
                    ));
                }
                let journal = Journal::open(self.journal).map_err(|error| error.to_string())?;
                let taken = match left {
                    Left::CpuTime(cpus) => Taken::CpuTime(*cpus),
                    Left::Cpus(cpus) => Taken::Cpus(cpus),
                };
                let host = Host::look(Root::default());
                let change = ServerChange::prepare(host, journal, *server_pid, &taken)?;
                self.under_way.insert(change).enter()
            }
            Step::Take => self.under_way.as_ref().ok_or_else(none)?.begin(),
            Step::Give => self.under_way.as_ref().ok_or_else(none)?.end(),
            Step::End => self.under_way.take().ok_or_else(none)?.revert(),
        }
    }
}

impl Tuner for Hands {
    fn may_change(&self) -> bool {
        self.may_change
    }

    fn carry_out(&self, order: &TuneOrder) -> TuneOutcome {
        // The journal is on disk, so a panic in an earlier order has not damaged it.
        let mut server = self.server.lock().unwrap_or_else(|broken| broken.into_inner());
        let done = self.try_carry_out(order, &mut server);
        done.unwrap_or_else(|why| TuneOutcome { error: Some(why), ..TuneOutcome::default() })
    }

    fn experimenter(&self) -> Box<dyn FnMut(&Step) -> TuneOutcome + '_> {
        let mut experimenter = Experimenter { journal: &self.journal, under_way: None };
        Box::new(move |step| {
            let error = experimenter.carry_out(step).err();
            TuneOutcome { error, ..TuneOutcome::default() }
        })
    }

    fn watch(&self) -> Look {
        let mut looks = Looks::at(self.journal.clone());
        Box::new(move || looks.look())
    }
}

/// Sends an order to the probe, if the options name one.
pub fn order(probe: &ProbeOptions, order: TuneOrder) -> Result<Option<TuneOutcome>, Failure> {
    let Some(choice) = probe.choice(&ThisHost)? else { return Ok(None) };
    let call = Call {
        address: choice.address,
        token_file: PathBuf::from(choice.token_file),
        pin: choice.pin,
        ip: None,
        port: None,
        period_ns: 1_000_000_000,
        ends_after_ns: None,
    };
    remote::order(&call, order).map(Some).map_err(Failure::Far)
}

/// Rows of a plan of another host, with the predictions of a run on this host.
pub fn predicted(mut rows: Vec<Row>, signals: Option<&Signals>) -> Vec<Row> {
    for row in &mut rows {
        let knob = tune::find(&row.knob);
        row.prediction = knob.zip(signals).map(|(knob, signals)| tune::prediction(knob, signals));
    }
    rows
}

/// Why an order failed on a probe's host, with the exit code that it would have on this host.
pub fn failure(response: &TuneOutcome) -> Option<Failure> {
    let why = format!("the probe's host: {}", response.error.as_ref()?);
    Some(match response.fault {
        _ if response.left > 0 => Failure::Left(why),
        // An older probe does not say whose fault it is. What was begun failed on its host.
        Fault::Order if response.transaction.is_none() => Failure::Usage(why),
        _ => Failure::File(why),
    })
}

/// The response, unless it has an error.
pub fn all_well(response: TuneOutcome) -> Result<TuneOutcome, Failure> {
    match failure(&response) {
        None => Ok(response),
        Some(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::{self, Command};

    fn refused(server: &mut FarServer, pid: u32) -> String {
        let wanted = Wanted { server_pid: Some(pid), ..Wanted::default() };
        server.look(&wanted).err().unwrap_or_default()
    }

    /// A client must not reach process 1, which belongs to root.
    #[test]
    fn a_client_reaches_no_process_but_those_the_probe_watches() {
        let us = process::id();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut untold = FarServer::of(None, None);
        for pid in [1, us] {
            let why = refused(&mut untold, pid);
            assert!(why.contains(&format!("--server-pid {pid}")), "{why}");
        }
        assert_eq!(refused(&mut untold, child.id()), "", "we started it");
        let mut ours = FarServer::of(Some(us), None);
        assert_eq!(refused(&mut ours, us), "");
        assert_eq!(refused(&mut ours, child.id()), "", "it is below");
        let why = refused(&mut ours, 1);
        assert!(why.contains("process 1 is not below"), "{why}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut by_port = FarServer::of(None, Some(listener.local_addr().unwrap().port()));
        assert_eq!(refused(&mut by_port, us), "");
        assert!(refused(&mut by_port, 1).contains("not one that this probe"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
