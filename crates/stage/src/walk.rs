//! Goes through the cells of a plan: starts what a cell needs, has it measured, and ends all of it.
//!
//! If a server dies, or a service that it needs, its cell fails, whatever was measured before,
//! because a partly dead server is a different server. Services live until the experiment ends.
//! With a design the cells are visited block by block, and after each block the experiment may end
//! early.

use crate::hooks::{Hooks, Measure, Places, Progress, Ready};
use crate::neighbour::Neighbours;
use crate::process::{How, Process, log_file};
use crate::service::{Owner, Services, filled};
use crate::started::Started;
use crate::stay::{self, After};
use crate::tuning::{Ground, Hands, Turned, When};
use model::experiment::{CellResult, Ended, Fate};
use model::load::ProbeChoice;
use model::shell;
use model::starting::StartOrder;
use plan::{Cell, Host, Plan, Server, Targets, Visit};
use remote::{Call, FarServer};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a pause checks whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// Gives access to the knobs of a host; the text says what they are changed for.
type HandsOf<'a> = dyn Fn(&Host, &str) -> Result<Hands, String> + 'a;

/// Makes all visits except the whole blocks in `before`, which an interrupted experiment made. When
/// the flag is set it ends after the current visit, which ends early.
pub fn walk(
    plan: &Plan,
    targets: &Targets,
    places: &Places,
    stop: &AtomicBool,
    before: &[CellResult],
    hooks: Hooks<'_>,
) -> (Vec<CellResult>, Option<Ended>) {
    let hands = |host: &Host, note: &str| match places.probes.get(&host.name) {
        Some(probe) => Ok(Hands::Far(Call::about_host(probe))),
        None if host.is_here() => Ok(Hands::Here(Ground::default(), note.to_string())),
        None => Err(format!("host {} is not known", host.name)),
    };
    walk_on(&hands, plan, targets, places, stop, before, hooks)
}

/// Makes the visits of [`walk`] on the hosts that `hands` opens, which may be fake.
fn walk_on(
    hands: &HandsOf<'_>,
    plan: &Plan,
    targets: &Targets,
    places: &Places,
    stop: &AtomicBool,
    before: &[CellResult],
    hooks: Hooks<'_>,
) -> (Vec<CellResult>, Option<Ended>) {
    let services = Services::new(places, Owner::Experiment);
    let (after, kept, spoilt) = (After::Ends, None, None);
    let mut walk = Walk { hands, targets, places, stop, services, spoilt, after, kept };
    let Hooks { measure, tell, look } = hooks;
    let visits = plan.visits();
    let mut results: Vec<CellResult> = visits.iter().map(|visit| unreached(plan, visit)).collect();
    take_over(&mut results, before);
    let pause = Duration::from_nanos(plan.design.as_ref().map_or(0, |design| design.pause_ns));
    for (at, visit) in visits.iter().enumerate() {
        let begins_block = at > 0 && visits[at - 1].block != visit.block;
        // An experiment that goes on keeps what was measured behind this block.
        let is_measured = |one: &CellResult| matches!(one.fate, Fate::Measured { .. });
        let may_end = begins_block && !results[at..].iter().any(is_measured);
        if let Some(ended) = may_end.then(|| look(&results[..at])).flatten() {
            results.truncate(at);
            walk.end_waiting_server();
            return (results, Some(ended));
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if matches!(results[at].fate, Fate::Measured { .. }) {
            walk.end_waiting_server();
            continue;
        }
        rest(pause, stop);
        tell(Progress::Visit(at));
        walk.after = stay::after(plan, &visits, at);
        let cell = &plan.cells[visit.cell];
        if let Err(why) = walk.cell(at, cell, &mut results[at], measure, tell) {
            results[at].fate = Fate::Failed { why };
        }
        if let Some(why) = is_another(cell, &results, at) {
            results[at].fate = Fate::Failed { why };
        }
        tell(Progress::Ended(&results[at], &results));
    }
    walk.end_waiting_server();
    (results, None)
}

/// Takes over what was measured before: blocks of which every visit was, and visits of no block.
/// The visits of a block are compared with each other, so they must be of one part of the
/// experiment: a block with a gap is made again as a whole.
fn take_over(results: &mut [CellResult], before: &[CellResult]) {
    let is_of_block =
        |one: &CellResult, other: &CellResult| one.block.is_some() && one.block == other.block;
    let is_known = |(result, known): (&CellResult, &CellResult)| {
        let is_measured = matches!(known.fate, Fate::Measured { .. });
        is_measured && (&known.name, known.block) == (&result.name, result.block)
    };
    let mut at = 0;
    for block in results.chunk_by_mut(is_of_block) {
        let known = before.get(at..at + block.len()).unwrap_or_default();
        at += block.len();
        if !known.is_empty() && block.iter().zip(known).all(is_known) {
            block.clone_from_slice(known);
        }
    }
}

/// Why a visit does not belong to the earlier ones of its cell: its server was started with another
/// command, which for another host only its probe knows. Addresses of services change.
fn is_another(cell: &Cell, results: &[CellResult], at: usize) -> Option<String> {
    let has_services =
        matches!(&cell.server, Server::Started { services, .. } if !services.is_empty());
    let is_of_cell = |one: &&CellResult| {
        one.name == results[at].name && matches!(one.fate, Fate::Measured { .. })
    };
    let earlier = results[..at].iter().rfind(is_of_cell)?;
    let (was, is) = (&earlier.server, &results[at].server);
    let differs = was != is && matches!(results[at].fate, Fate::Measured { .. });
    (differs && !has_services).then(|| {
        format!(
            "its server was started with {}, and earlier visits were of {}; start a new experiment \
             for the other server",
            shell::line(is),
            shell::line(was)
        )
    })
}

/// Waits, unless the experiment is stopped.
fn rest(pause: Duration, stop: &AtomicBool) {
    let begin = Instant::now();
    while begin.elapsed() < pause && !stop.load(Ordering::Relaxed) {
        thread::sleep(LOOK.min(pause));
    }
}

fn unreached(plan: &Plan, visit: &Visit) -> CellResult {
    let cell = &plan.cells[visit.cell];
    CellResult {
        name: cell.name.clone(),
        host: cell
            .host
            .as_ref()
            .filter(|host| host.name != plan::CLIENT)
            .map(|host| host.name.clone()),
        block: visit.block,
        server: vec![],
        command: vec![],
        expected: cell.walls.clone(),
        fate: Fate::NotReached,
        tuned: Vec::new(),
        stopped: None,
    }
}

struct Walk<'a> {
    hands: &'a HandsOf<'a>,
    targets: &'a Targets,
    places: &'a Places,
    stop: &'a AtomicBool,
    services: Services,
    /// Why a host is not as it was before the experiment; nothing more is measured then.
    spoilt: Option<String>,
    /// What happens to the server of the current visit.
    after: After,
    /// A server that keeps running for the next visit.
    kept: Option<Running>,
}

impl Walk<'_> {
    /// Ends, in order, what was kept for a visit that is not made.
    fn end_waiting_server(&mut self) {
        if let Some(started) = self.kept.take().and_then(|kept| kept.started) {
            started.end();
        }
    }

    /// Fills in the result of a cell; an error is why it failed.
    fn cell(
        &mut self,
        at: usize,
        cell: &Cell,
        result: &mut CellResult,
        measure: &mut Measure<'_>,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), String> {
        if let Some(why) = &self.spoilt {
            return Err(format!("not measured: {why}"));
        }
        let note = format!("ceiling run, cell {}", cell.name);
        let mut turned = Vec::new();
        for tune in &cell.tune {
            turned.push(Turned::new(tune, (self.hands)(&tune.host, &note)?, self.stop));
        }
        let before = turned.iter_mut().try_for_each(|one| one.turn(When::Before, None));
        let measured =
            before.and_then(|()| self.measured(at, cell, result, measure, tell, &mut turned));
        // What was changed last is put back first.
        let mut wrong: Vec<String> = measured.err().into_iter().collect();
        while let Some(one) = turned.pop() {
            let (rows, back) = one.put_back();
            result.tuned.splice(0..0, rows);
            if let Err(left) = back {
                self.spoilt.get_or_insert_with(|| left.clone());
                wrong.push(left);
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// The measurement of the cell, with the knobs that are set while the server runs.
    fn measured(
        &mut self,
        at: usize,
        cell: &Cell,
        result: &mut CellResult,
        measure: &mut Measure<'_>,
        tell: &mut dyn FnMut(Progress<'_>),
        turned: &mut [Turned<'_>],
    ) -> Result<(), String> {
        let mut server = match self.kept.take() {
            Some(kept) => kept,
            None => self.server(at, cell, tell)?,
        };
        let pid_of_server = server.ready.pid;
        let pid = |host: &Host| {
            let is_its = cell.host.as_ref().is_some_and(|of_server| of_server.is_same(host));
            pid_of_server.filter(|_| is_its)
        };
        for one in turned.iter_mut() {
            one.turn(When::Beside, pid(one.host()))?;
        }
        if let Some(started) = &server.started {
            result.server = started.words();
        }
        let neighbours = Neighbours::start(&cell.client.neighbours)?;
        let measured = measure(cell, &server.ready);
        drop(neighbours);
        (result.command, result.fate) = (measured.command, measured.fate);
        let held = turned.iter().try_for_each(|one| one.holds(pid(one.host())));
        let served = self.served(cell, server.started.as_ref());
        let is_good = matches!(result.fate, Fate::Measured { .. }) && served.is_ok();
        if let (After::Stays, true, Some(started)) = (self.after, is_good, server.started.as_mut())
        {
            started.alive()?;
            self.kept = Some(server);
            return held;
        }
        let Some(started) = server.started.take() else { return held };
        let name = started.name().to_string();
        let ended = started.end();
        result.stopped = ended.stopped;
        let lost = ended.fault.map(|fault| format!("target {name}: {fault}"));
        // A server whose service died may die of that.
        served.and(lost.map_or(held, Err))
    }

    /// Whether the services of a server on this host still run. The probe of another host looks
    /// after those there.
    fn served(&mut self, cell: &Cell, started: Option<&Started>) -> Result<(), String> {
        match (&cell.server, started) {
            (Server::Started { services, .. }, Some(Started::Here(_))) => {
                self.services.alive(services)
            }
            _ => Ok(()),
        }
    }

    fn server(
        &mut self,
        at: usize,
        cell: &Cell,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Running, String> {
        let probe = cell.host.as_ref().and_then(|host| self.places.probes.get(&host.name)).cloned();
        let started = match (&cell.server, &probe) {
            (Server::Running { addr }, _) => {
                let ready = Ready { addr: addr.clone(), pid: None, probe };
                return Ok(Running { ready, started: None });
            }
            (server, None) => Started::Here(self.start_here(at, server, tell)?),
            (server, Some(probe)) => Started::Far(self.start_far(at, server, probe)?),
        };
        let (addr, pid) = (started.addr().to_string(), Some(started.pid()));
        Ok(Running { ready: Ready { addr, pid, probe }, started: Some(started) })
    }

    fn start_here(
        &mut self,
        at: usize,
        server: &Server,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Process, String> {
        let Server::Started { target, args, cpus, env, services, limits } = server else {
            return Err("it is already running".to_string());
        };
        let addresses = self.services.need(services, cpus, self.targets, self.stop, tell)?;
        let args: Vec<String> = args.iter().map(|word| filled(word, &addresses)).collect();
        let target = self.targets.target(target)?;
        let journal = &self.places.journal;
        let (args, stop, folder) = (&args[..], self.stop, "");
        let how = How { args, env, cpus, limits, journal, open_files: None, folder, stop };
        Process::start(target, &how, &self.places.root, log_file(&self.log(at))?)
    }

    fn start_far(
        &self,
        at: usize,
        server: &Server,
        probe: &ProbeChoice,
    ) -> Result<FarServer, String> {
        let Server::Started { target, args, cpus, env, services, limits } = server else {
            return Err("it is already running".to_string());
        };
        let order = StartOrder {
            server: target.clone(),
            args: args.clone(),
            env: env.clone(),
            cpus: cpus.clone(),
            services: services.clone(),
            limits: *limits,
        };
        let started = FarServer::start(&Call::about_host(probe), &order, self.stop, &self.log(at));
        started.map_err(|error| error.to_string())
    }

    /// The file for a server's standard error.
    fn log(&self, at: usize) -> PathBuf {
        self.places.scratch.join(format!("cell-{:03}.log", at + 1))
    }
}

struct Running {
    ready: Ready,
    started: Option<Started>,
}

#[cfg(test)]
mod tests;
