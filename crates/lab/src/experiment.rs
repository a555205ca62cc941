//! Walks the cells of a plan: starts what a cell needs, has it measured, and ends all of it.
//!
//! A server that dies ends its cell as failed, whatever was measured until then: half a server is
//! another server. Services live as long as cells need them one after the other. With a design the
//! cells are visited block by block, and after each block the experiment may end early.

mod folder;
mod measurer;
mod neighbour;
mod process;
mod service;
mod stay;
mod tuning;

pub use folder::{Folder, list_above, server_of};
pub use measurer::measure;
pub use tuning::{Rehearsed, check as check_tuning, is_turned, way};

use model::experiment::{CellResult, Ended, Fate};
use model::secret;
use neighbour::Neighbours;
use plan::{Cell, Plan, Server, Targets, Visit};
use process::{How, Process};
use service::Services;
use stay::After;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
pub(crate) use tuning::Ground;
use tuning::{Turned, When};

/// How often a pause looks whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// A server that is ready to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// HOST:PORT.
    pub addr: String,
    /// Its process, when we started it.
    pub pid: Option<u32>,
}

/// Measures one cell, by whatever means, and says what became of it.
pub type Measure<'a> = dyn FnMut(&Cell, &Ready) -> Measured + 'a;

/// What a measurement left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// Words of the command.
    pub command: Vec<String>,
    /// The run, or why there is none.
    pub fate: Fate,
}

/// Where the parts of an experiment are.
#[derive(Debug, Clone)]
pub struct Places {
    /// Where the words of targets are run from.
    pub root: PathBuf,
    /// Where logs of servers and folders of services go.
    pub scratch: PathBuf,
}

/// What was measured so far decides after each block whether the experiment ends.
pub type Look<'a> = dyn FnMut(&[CellResult]) -> Option<Ended> + 'a;

/// How an experiment measures, tells of it, and ends.
pub struct Hooks<'a> {
    /// Measures a cell.
    pub measure: &'a mut Measure<'a>,
    /// Is given progress.
    pub tell: &'a mut dyn FnMut(Progress<'_>),
    /// Looks at what was measured after each block.
    pub look: &'a mut Look<'a>,
}

/// Progress of an experiment, for the user.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Something that takes a moment is begun.
    Starting(&'a str),
    /// A visit is begun: its number from 0.
    Visit(usize),
    /// A cell has ended; these are all as they stand now, those that are not reached included.
    Ended(&'a CellResult, &'a [CellResult]),
}

/// Makes all visits but those that are in `before`, which an interrupted experiment made. The flag
/// ends it after the visit that is under way, which ends early.
pub fn walk(
    plan: &Plan,
    targets: &Targets,
    places: &Places,
    stop: &AtomicBool,
    before: &[CellResult],
    hooks: Hooks<'_>,
) -> (Vec<CellResult>, Option<Ended>) {
    walk_on(Ground::default(), plan, targets, places, stop, before, hooks)
}

/// The same on ground that may be made up.
fn walk_on(
    ground: Ground,
    plan: &Plan,
    targets: &Targets,
    places: &Places,
    stop: &AtomicBool,
    before: &[CellResult],
    hooks: Hooks<'_>,
) -> (Vec<CellResult>, Option<Ended>) {
    let services = Services::new(places, stop);
    let (after, kept) = (After::Ends, None);
    let mut walk = Walk { ground, targets, places, stop, services, spoilt: None, after, kept };
    let Hooks { measure, tell, look } = hooks;
    let visits = plan.visits();
    let mut results: Vec<CellResult> = visits.iter().map(|visit| unreached(plan, visit)).collect();
    for (result, known) in results.iter_mut().zip(before) {
        let is_measured = matches!(known.fate, Fate::Measured { .. });
        if is_measured && (&known.name, known.block) == (&result.name, result.block) {
            *result = known.clone();
        }
    }
    let pause = Duration::from_nanos(plan.design.as_ref().map_or(0, |design| design.pause_ns));
    for (at, visit) in visits.iter().enumerate() {
        let begins_block = at > 0 && visits[at - 1].block != visit.block;
        if let Some(ended) = begins_block.then(|| look(&results[..at])).flatten() {
            results.truncate(at);
            walk.end_kept();
            return (results, Some(ended));
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if matches!(results[at].fate, Fate::Measured { .. }) {
            walk.end_kept();
            continue;
        }
        rest(pause, stop);
        tell(Progress::Visit(at));
        walk.after = stay::after(plan, &visits, at);
        let cell = &plan.cells[visit.cell];
        if let Err(why) = walk.cell(at, cell, &mut results[at], measure, tell) {
            results[at].fate = Fate::Failed { why };
        }
        tell(Progress::Ended(&results[at], &results));
    }
    walk.end_kept();
    (results, None)
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
    ground: Ground,
    targets: &'a Targets,
    places: &'a Places,
    stop: &'a AtomicBool,
    services: Services<'a>,
    /// Why the host is not what it was before the experiment, so that nothing more is measured.
    spoilt: Option<String>,
    /// What becomes of the server of the visit under way.
    after: After,
    /// A server that runs on for the next visit.
    kept: Option<Running>,
}

impl Walk<'_> {
    /// Ends in order what was kept for a visit that is not made.
    fn end_kept(&mut self) {
        if let Some(process) = self.kept.take().and_then(|kept| kept.process) {
            process.end();
        }
    }

    /// Fills in what became of a cell; an error is why it failed.
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
        let Some(tune) = &cell.tune else {
            return self.measured(at, cell, result, measure, tell, None);
        };
        let mut turned = Turned::new(tune, &cell.name, self.stop, &self.ground)?;
        let measured = turned
            .turn(When::Before, None)
            .and_then(|()| self.measured(at, cell, result, measure, tell, Some(&mut turned)));
        let (rows, back) = turned.put_back();
        result.tuned = rows;
        self.spoilt = back.as_ref().err().cloned();
        match (measured, back) {
            (Err(why), Err(left)) => Err(format!("{why}; {left}")),
            (measured, back) => measured.and(back),
        }
    }

    /// The measurement of the cell, with the knobs that are set while the server runs.
    fn measured(
        &mut self,
        at: usize,
        cell: &Cell,
        result: &mut CellResult,
        measure: &mut Measure<'_>,
        tell: &mut dyn FnMut(Progress<'_>),
        mut turned: Option<&mut Turned<'_>>,
    ) -> Result<(), String> {
        let mut server = match self.kept.take() {
            Some(kept) => kept,
            None => self.server(at, cell, tell)?,
        };
        if let Some(turned) = &mut turned {
            turned.turn(When::Beside, server.ready.pid)?;
        }
        if let Some(process) = &server.process {
            result.server = secret::words(process.words());
        }
        let neighbours = Neighbours::start(&cell.client.neighbours)?;
        let measured = measure(cell, &server.ready);
        drop(neighbours);
        (result.command, result.fate) = (measured.command, measured.fate);
        let held = turned.map_or(Ok(()), |turned| turned.holds(server.ready.pid));
        let is_measured = matches!(result.fate, Fate::Measured { .. });
        if let (After::Stays, true, Some(process)) =
            (self.after, is_measured, server.process.as_mut())
        {
            process.alive()?;
            self.kept = Some(server);
            return held;
        }
        let Some(process) = server.process.take() else { return held };
        let name = process.name().to_string();
        let ended = process.end();
        result.stopped = ended.stopped;
        let lost = ended.fault.map(|fault| format!("target {name}: {fault}"));
        lost.map_or(held, Err)
    }

    fn server(
        &mut self,
        at: usize,
        cell: &Cell,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Running, String> {
        let (target, args, cpus, env, services) = match &cell.server {
            Server::Running { addr } => {
                let ready = Ready { addr: addr.clone(), pid: None };
                return Ok(Running { ready, process: None });
            }
            Server::Started { target, args, cpus, env, services } => {
                (target, args, cpus, env, services)
            }
        };
        let addresses = self.services.need(services, cpus, self.targets, tell)?;
        let args: Vec<String> = args.iter().map(|word| filled(word, &addresses)).collect();
        let log = self.places.scratch.join(format!("cell-{:03}.log", at + 1));
        let target = self.targets.target(target)?;
        let how = How { args: &args, env, cpus, folder: "", stop: self.stop };
        let process = Process::start(target, &how, &self.places.root, &log)?;
        let ready = Ready { addr: process.addr().to_string(), pid: Some(process.pid()) };
        Ok(Running { ready, process: Some(process) })
    }
}

struct Running {
    ready: Ready,
    process: Option<Process>,
}

/// A word with where services are in the place of their names in braces.
fn filled(word: &str, addresses: &[(String, String)]) -> String {
    let mut word = word.to_string();
    for (name, address) in addresses {
        word = word.replace(&format!("{{{name}}}"), address);
    }
    word
}

#[cfg(test)]
mod tests;
