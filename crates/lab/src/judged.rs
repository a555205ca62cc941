//! Makes a judged point from a visit, and a record from judged points: at the end of a level or of
//! a run, and in between for watchers.

use crate::crews::Crews;
use crate::fanout::{self, Calendar, Stamps};
use crate::visit::Visit;
use crate::{mix, point, turnover};
use jiff::Timestamp;
use judge::objective;
use judge::observe::Observed;
use judge::{Context, judge_point, judge_run};
use model::facts::HostFacts;
use model::fleet::FleetRecord;
use model::kernel::KernelRecord;
use model::load::Trial;
use model::perturbation::Perturbation;
use model::profile::ProfileRecord;
use model::run::{Outcome, Point, Record, SCHEMA, Target};
use model::search::SearchRecord;
use model::series::Opening;
use model::subject::Subject;

/// What a point is made of, besides its visit.
pub(crate) struct Making<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) crews: &'a Crews,
    pub(crate) attempt: u32,
    /// Resident memory of the generator before it had any connections.
    pub(crate) before_bytes: u64,
    /// The clocks that stamp events.
    pub(crate) stamps: (&'a Stamps, Option<Calendar<'a>>),
}

impl Making<'_> {
    /// The point of a visit, judged.
    pub(crate) fn point(&self, visit: &Visit, openings: Vec<Opening>, of: &Observed) -> Point {
        let (trial, level) = (self.context.trial, &self.crews.level);
        let mut point = point::make(trial, &self.crews.asking, self.attempt, visit, of);
        point.load.connections = level.connections;
        let turnover = turnover::info(level, visit, openings, self.before_bytes);
        point.subject = Subject::of_life(Some(&level.life), turnover);
        if let Some(fanout) = &trial.fanout {
            point = fanout::complete(point, fanout, visit, of, self.stamps);
        }
        judge_point(self.context, point, of)
    }
}

/// What a record contains besides its points.
pub(crate) struct Head<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) command: &'a [String],
    pub(crate) started_at: Timestamp,
    pub(crate) host: HostFacts,
    pub(crate) target: Target,
    pub(crate) outcome: Outcome,
    pub(crate) search: Option<SearchRecord>,
    pub(crate) perturbations: Vec<Perturbation>,
    pub(crate) profile: Option<ProfileRecord>,
    pub(crate) kernel: Option<KernelRecord>,
    pub(crate) fleet: Option<FleetRecord>,
    pub(crate) notices: Vec<String>,
}

impl Head<'_> {
    /// Judges the points together and makes the record.
    pub(crate) fn record(self, points: Vec<Point>, observed: &[Observed]) -> Record {
        let Self { trial, started_at, .. } = self;
        let context = Context {
            trial,
            host: &self.host,
            target: &self.target,
            outcome: self.outcome,
            perturbations: &self.perturbations,
            kernel: self.kernel.as_ref(),
        };
        let verdict = judge_run(context, &points, observed);
        // A search makes trials that miss on purpose; its result stands for them all.
        let expect = trial.expect.as_ref().filter(|_| self.search.is_none());
        let expectations = expect
            .map_or_else(Vec::new, |expect| objective::over_run(expect, trial.visits, &points));
        let stamp = started_at.strftime("%Y%m%dT%H%M%S").to_string();
        Record {
            schema: SCHEMA.to_string(),
            id: format!("{stamp}-{:08x}", trial.seed as u32),
            version: env!("CARGO_PKG_VERSION").to_string(),
            started_at: started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: self.command.to_vec(),
            seed: trial.seed,
            outcome: self.outcome,
            trial: mix::for_record(trial),
            host: self.host,
            target: self.target,
            points,
            tool: None,
            verdict,
            expectations,
            search: self.search,
            perturbations: self.perturbations,
            profile: self.profile,
            kernel: self.kernel,
            fleet: self.fleet,
            notices: self.notices,
            definitions: figures::definitions(),
        }
    }
}
