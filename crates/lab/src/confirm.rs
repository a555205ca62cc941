//! Experiments that confirm the verdict: short interleaved blocks at the level with the highest
//! rate, in which one resource is smaller or larger.
//!
//! Blocks are not points: their rates belong to the experiment. Their readings go to the log like
//! all others.

use crate::burn::Burner;
use crate::crews::{CrewSize, Crews};
use crate::error::LabError;
use crate::level::{LevelContext, visit};
use crate::limits::{self, Tables};
use crate::record::RunBuilder;
use crate::silence::Silence;
use crate::visit::Visit;
use crate::watch::Watch;
use engine::Crew;
use judge::judge_run;
use judge::perturb::{self, BlockChange, Experiment, Facts, plan};
use model::check::Checks;
use model::event::Event;
use model::load::{DriverKind, Level, ServerProcess, Stop, Trial, Warmup};
use model::perturbation::{Confirm, Perturbation, Says};
use model::root::Root;
use model::run::Outcome;
use model::tuning::{Left, Step, TuneOrder};
use remote::{Call, Orders};
use std::sync::atomic::AtomicBool;
use tune::{Host, Journal, ServerChange, Taken};

/// How many times as many pairs again are added to an experiment whose blocks do not decide.
const ROUNDS_MAX: u32 = 3;
/// Load before each block's window, so that the change takes effect, nanoseconds.
const WARMUP_NS: u64 = 500_000_000;

/// Makes the experiments that tell most about the verdict so far.
pub(crate) fn run(
    run: &mut RunBuilder<'_>,
    watch: &mut Watch<'_>,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Event),
) {
    let Some(confirm) = run.trial.confirm.clone() else { return };
    let Some(at) = perturb::base_point(&run.points) else { return };
    if run.outcome != Outcome::Complete {
        return;
    }
    let verdict = judge_run(run.context(), &run.points, &run.observed);
    let based = (&run.levels[at], &run.points[at]);
    let facts = Facts::of(run.context(), based, &run.observed[at], &verdict);
    let planned = plan(&verdict, &facts, &confirm);
    if planned.is_empty() {
        let word = verdict.wall.word();
        let text = format!("--confirm: no allowed experiment tells more about {word}");
        run.notice(text, notify);
    }
    for experiment in planned {
        if run.outcome != Outcome::Complete {
            return;
        }
        let sides = Sides::of(run.trial, &facts.level, &experiment);
        let mut room =
            Headroom { run, watch, stop, notify, confirm: &confirm, visits: 0, stays: None };
        let mut blocks = Blocks::default();
        let failure = room.make(&experiment, &sides, &mut blocks).err();
        let stays = room.stays.take();
        let made = blocks.outcome(&experiment, failure);
        run.perturbations.push(made);
        if let Some(why) = stays {
            // Further experiments would not be about the server that was measured.
            let what = &experiment.what;
            let text = format!(
                "the server could not be restored after the experiment '{what}'; no more are \
                 made: {why}"
            );
            return run.notice(text, notify);
        }
    }
}

/// Which half of a pair a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Base,
    Changed,
}

/// The order of blocks: base, changed, changed, base, so that a drift hits both alike.
fn order(pairs: u32) -> impl Iterator<Item = Half> {
    let pattern = [Half::Base, Half::Changed, Half::Changed, Half::Base];
    pattern.into_iter().cycle().take(2 * pairs as usize)
}

/// What the generator does in both halves.
struct Sides {
    base: (Trial, Level),
    changed: (Trial, Level),
}

impl Sides {
    fn of(trial: &Trial, level: &Level, experiment: &Experiment) -> Self {
        let then = match &experiment.change {
            BlockChange::Load(then) => then.clone(),
            _ => level.clone(),
        };
        // One crew with room for both, so that connections stay open.
        let levels = vec![level.clone(), then.clone()];
        // Every block is as long as its experiment says, however slow the server is.
        let warmup = Warmup::ForNs(WARMUP_NS);
        let base = Trial { levels, warmup, window_max_ns: None, ..trial.clone() };
        let mut changed = base.clone();
        match &experiment.change {
            BlockChange::Threads(threads) => changed.threads = *threads,
            BlockChange::Route(route) => ask(&mut changed, route),
            _ => {}
        }
        Self { base: (base, level.clone()), changed: (changed, then) }
    }

    fn get(&self, half: Half) -> &(Trial, Level) {
        match half {
            Half::Base => &self.base,
            Half::Changed => &self.changed,
        }
    }
}

/// Requests another path instead. The checks on responses do not apply to it.
fn ask(trial: &mut Trial, route: &str) {
    trial.requests.truncate(1);
    trial.targets.truncate(1);
    for request in &mut trial.requests {
        (request.path, request.target) = (route.to_string(), 0);
    }
    for target in &mut trial.targets {
        target.checks = Checks::default();
    }
}

/// The results of the blocks of one experiment.
#[derive(Debug, Default)]
struct Blocks {
    base: Vec<f64>,
    changed: Vec<f64>,
    /// Bytes per response in both halves.
    base_bytes: Vec<f64>,
    changed_bytes: Vec<f64>,
    /// Shares of the generator's CPUs that were burnt in the changed blocks.
    burned: Vec<f64>,
}

impl Blocks {
    fn add(&mut self, half: Half, visited: &Visit) {
        let gathered = &visited.gathered;
        let window_ns = gathered.window_end_ns().saturating_sub(visited.window_begin_ns);
        let arrived = gathered.arrived as f64;
        let rate = if window_ns > 0 { arrived * 1e9 / window_ns as f64 } else { 0.0 };
        let completed = gathered.measured.completed as f64;
        let bytes = gathered.measured.bytes_received as f64 / completed.max(1.0);
        match half {
            Half::Base => (self.base.push(rate), self.base_bytes.push(bytes)),
            Half::Changed => (self.changed.push(rate), self.changed_bytes.push(bytes)),
        };
    }

    /// The factor of a capacity that only the blocks can tell.
    fn factor(&self, change: &BlockChange) -> Option<f64> {
        let mean = judge::stats::mean;
        match change {
            BlockChange::Burn { .. } => mean(&self.burned).map(|burned| 1.0 - burned),
            // The path carries more responses as they shrink.
            BlockChange::Route(_) => Some(mean(&self.base_bytes)? / mean(&self.changed_bytes)?),
            _ => None,
        }
    }

    /// The result of all blocks so far.
    fn outcome(&self, experiment: &Experiment, failure: Option<String>) -> Perturbation {
        let factor = experiment.factor.or_else(|| self.factor(&experiment.change));
        let factor = factor.filter(|factor| factor.is_finite() && *factor > 0.0);
        let found =
            factor.and_then(|factor| perturb::elasticity(factor, &self.base, &self.changed));
        let found = found.filter(|_| failure.is_none());
        let (low, high) = found.and_then(|found| found.interval).unzip();
        let too_little = || {
            let text = "the capacity changed too little, or a block had no good response";
            text.to_string()
        };
        let made = Perturbation {
            resource: experiment.resource,
            what: experiment.what.clone(),
            factor,
            base: self.base.clone(),
            changed: self.changed.clone(),
            elasticity: found.map(|found| found.value),
            low,
            high,
            says: Says::Open,
            failure: failure.or_else(|| found.is_none().then(too_little)),
        };
        Perturbation { says: perturb::response(&made), ..made }
    }
}

/// Makes the blocks.
struct Headroom<'a, 'b, 'c> {
    run: &'a mut RunBuilder<'b>,
    watch: &'a mut Watch<'c>,
    stop: &'a AtomicBool,
    notify: &'a mut dyn FnMut(Event),
    confirm: &'a Confirm,
    /// Visits so far; the workers number them.
    visits: u32,
    /// Why a change at the server could not be reverted.
    stays: Option<String>,
}

impl Headroom<'_, '_, '_> {
    /// Makes as many blocks as needed, or returns why not. The server is put back in any case.
    fn make(
        &mut self,
        experiment: &Experiment,
        sides: &Sides,
        blocks: &mut Blocks,
    ) -> Result<(), String> {
        let mut server = ChangedServer::prepare(self.run, &experiment.change)?;
        let made = server.enter();
        let made = made.and_then(|()| self.make_blocks(experiment, sides, blocks, &mut server));
        let reverted = server.revert();
        self.stays = reverted.as_ref().err().cloned();
        made.and(reverted)
    }

    fn make_blocks(
        &mut self,
        experiment: &Experiment,
        sides: &Sides,
        blocks: &mut Blocks,
        server: &mut ChangedServer,
    ) -> Result<(), String> {
        let mut crew = None;
        for round in 1..=ROUNDS_MAX {
            for (index, half) in order(self.confirm.pairs).enumerate() {
                let each = 2 * self.confirm.pairs * round;
                let (of, block) = (each as usize, (each - 2 * self.confirm.pairs) as usize + index);
                let what = experiment.what.clone();
                (self.notify)(Event::Block { what, block: block + 1, of });
                server.set(half)?;
                self.block(&mut crew, (half, sides), &experiment.change, blocks)?;
            }
            let so_far = blocks.outcome(experiment, None);
            if so_far.failure.is_some() || so_far.says != Says::Open {
                break;
            }
        }
        Ok(())
    }

    /// Makes one block with the current workers, or with new ones if it needs different ones.
    fn block(
        &mut self,
        crew: &mut Option<(Half, Crew)>,
        (half, sides): (Half, &Sides),
        change: &BlockChange,
        blocks: &mut Blocks,
    ) -> Result<(), String> {
        let (trial, level) = sides.get(half);
        let fits = |made_for: Half| made_for == half || sides.base.0 == sides.changed.0;
        let (_, crew) = match crew {
            Some(at_hand) if fits(at_hand.0) => at_hand,
            none_or_other => {
                // The old ones close their connections before new ones are opened.
                drop(none_or_other.take());
                let started = self.start(trial).map_err(|error| error.to_string())?;
                none_or_other.insert((half, started))
            }
        };
        let burner = match (change, half) {
            (BlockChange::Burn { share, cpus }, Half::Changed) => {
                Some(Burner::start(*share, cpus)?)
            }
            _ => None,
        };
        let visited = self.visit(crew, trial, level).map_err(|error| error.to_string())?;
        blocks.burned.extend(burner.map(Burner::stop));
        match visited.ending {
            Outcome::Complete => blocks.add(half, &visited),
            Outcome::Interrupted => {
                self.run.outcome = Outcome::Interrupted;
                return Err("it was interrupted".to_string());
            }
            Outcome::TargetLost => return Err("the target stopped answering".to_string()),
        }
        Ok(())
    }

    /// Starts workers with room for both halves.
    fn start(&mut self, trial: &Trial) -> Result<Crew, LabError> {
        if !matches!(trial.driver, DriverKind::Null | DriverKind::Sim) {
            let CrewSize { connections_max, threads, .. } = CrewSize::of(trial);
            limits::allow_files(u64::from(connections_max), Tables::of(trial.driver, threads))?;
            limits::allow_ports(&trial.levels, &self.run.routes)?;
        }
        Ok(self.run.setting.start(&self.run.job(trial)?)?)
    }

    fn visit(&mut self, crew: &mut Crew, trial: &Trial, level: &Level) -> Result<Visit, LabError> {
        self.visits += 1;
        let mut context = LevelContext {
            setting: self.run.setting,
            crew,
            audience: None,
            trial,
            until: Stop::AfterNs(self.confirm.block_ns),
            stop: self.stop,
            notify: &mut *self.notify,
            watch: &mut *self.watch,
            profiler: None,
            evidence: None,
            interim: None,
            silence: Silence::default(),
        };
        visit(&mut context, &Crews::of(trial, level), self.visits)
    }
}

/// What an experiment changes at the server until it is reverted; most change nothing there.
enum ChangedServer {
    Nothing,
    /// On this host.
    Here(Box<ServerChange>),
    /// On the host of its probe, which reverts it when the session ends.
    Far(Box<Orders>),
}

impl ChangedServer {
    fn prepare(run: &RunBuilder<'_>, change: &BlockChange) -> Result<Self, String> {
        let left = match change {
            BlockChange::ServerQuota { cpus } => Left::CpuTime(*cpus),
            BlockChange::ServerMask { cpus } => Left::Cpus(cpus.clone()),
            _ => return Ok(Self::Nothing),
        };
        let unseen = "the server is not watched, here or by a probe";
        if let (ServerProcess::Probe(choice), Some(far)) = (&run.trial.server, &run.target.probe) {
            let server_pid = far.server.as_ref().map(|server| server.pid).ok_or(unseen)?;
            let orders = Orders::begin(&Call::about_host(choice));
            let mut far = Self::Far(Box::new(orders.map_err(|error| error.to_string())?));
            far.step(Step::Prepare { server_pid, left })?;
            return Ok(far);
        }
        let server = run.target.server.as_ref();
        let pid = server.map(|server| server.pid).ok_or(unseen)?;
        let taken = match &left {
            Left::CpuTime(cpus) => Taken::CpuTime(*cpus),
            Left::Cpus(cpus) => Taken::Cpus(cpus),
        };
        let journal = Journal::open(&tune::journal_folder()).map_err(|why| why.to_string())?;
        let host = Host::look(Root::default());
        ServerChange::prepare(host, journal, pid, &taken).map(Box::new).map(Self::Here)
    }

    /// One step of an experiment on another host.
    fn step(&mut self, step: Step) -> Result<(), String> {
        let Self::Far(orders) = self else { return Ok(()) };
        let outcome = orders.give(TuneOrder::Experiment { step });
        let outcome = outcome.map_err(|error| error.to_string())?;
        outcome.error.map_or(Ok(()), |why| Err(format!("on the host of the probe: {why}")))
    }

    /// What must be done once, before the first block.
    fn enter(&self) -> Result<(), String> {
        match self {
            Self::Here(server) => server.enter(),
            // It was done during the preparation.
            Self::Nothing | Self::Far(_) => Ok(()),
        }
    }

    fn set(&mut self, half: Half) -> Result<(), String> {
        match (self, half) {
            (Self::Nothing, _) => Ok(()),
            (Self::Here(server), Half::Changed) => server.begin(),
            (Self::Here(server), Half::Base) => server.end(),
            (far, Half::Changed) => far.step(Step::Take),
            (far, Half::Base) => far.step(Step::Give),
        }
    }

    fn revert(mut self) -> Result<(), String> {
        match self {
            Self::Nothing => Ok(()),
            Self::Here(server) => server.revert(),
            Self::Far(_) => self.step(Step::End),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::perturbation::Resource;

    #[test]
    fn blocks_are_in_an_order_that_a_drift_does_not_favour() {
        let places = |half| -> usize {
            order(4).enumerate().filter(|(_, one)| *one == half).map(|(at, _)| at).sum()
        };
        assert_eq!(order(4).count(), 8);
        assert_eq!(places(Half::Base), places(Half::Changed));
    }

    fn finished(change: BlockChange, blocks: Blocks) -> Perturbation {
        let what = "a change".to_string();
        let resource = Resource::ResponseBytes;
        blocks.outcome(&Experiment { resource, change, what, factor: None }, None)
    }

    #[test]
    fn capacities_that_only_the_blocks_tell_are_taken_from_them() {
        let rates =
            || Blocks { base: vec![100.0; 3], changed: vec![200.0; 3], ..Blocks::default() };
        let smaller =
            Blocks { base_bytes: vec![1000.0; 3], changed_bytes: vec![500.0; 3], ..rates() };
        let found = finished(BlockChange::Route("/small".to_string()), smaller);
        assert_eq!((found.factor, found.failure), (Some(2.0), None));
        assert!((found.elasticity.unwrap() - 1.0).abs() < 1e-9);
        let same = Blocks { base_bytes: vec![9.0; 3], changed_bytes: vec![9.0; 3], ..rates() };
        let found = finished(BlockChange::Route("/same".to_string()), same);
        assert_eq!(found.elasticity, None);
        assert!(found.failure.unwrap().contains("too little"));
        let burned = Blocks { burned: vec![0.15, 0.25, 0.2], ..rates() };
        let found = finished(BlockChange::Burn { share: 0.2, cpus: vec![0] }, burned);
        assert!((found.factor.unwrap() - 0.8).abs() < 1e-9);
        let found = finished(BlockChange::Burn { share: 0.2, cpus: vec![0] }, rates());
        assert_eq!((found.factor, found.elasticity), (None, None), "the factor was not measured");
    }
}
