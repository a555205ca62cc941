//! From a trial to a run: set up, visit the levels, profile, confirm, judge.

use crate::crews::Crews;
use crate::error::LabError;
use crate::fanout::{self, Stamps};
use crate::interim::Interim;
use crate::level::{LevelContext, visit};
use crate::profiler::Profiler;
use crate::record::RunBuilder;
use crate::setting::Setting;
use crate::silence::Silence;
use crate::watch::{Logs, Watch};
use crate::{confirm, inside_kernel, profiled, search, tool};
use model::event::Event;
use model::load::Trial;
use model::run::{Outcome, Run};
use std::sync::atomic::AtomicBool;

/// How a run reports while it goes on.
pub struct Reporting<'a> {
    /// Gets what happens, as it happens; the run waits for it.
    pub notify: &'a mut dyn FnMut(Event),
    /// How much is judged before the end.
    pub verdicts: Verdicts,
}

/// How much is judged before the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdicts {
    /// Each level when it has ended.
    OfLevels,
    /// Also the current level, about once a second ([`Event::Present`]), and what the hosts do
    /// ([`Event::Hosts`]).
    AlsoMeanwhile,
}

/// Runs a trial on this host. `stop` may be set at any time: the run then ends in order with what
/// it has. `command` is the command line, for the record. Raw readings are written to `logs` as
/// they arrive; the caller loads them into the run.
pub fn run(
    trial: &Trial,
    command: &[String],
    logs: &mut Logs,
    stop: &AtomicBool,
    report: Reporting<'_>,
) -> Result<Run, LabError> {
    if let Some(tool) = trial.tool {
        return tool::run(tool, trial, command, logs, (stop, report.notify));
    }
    run_in(Setting::Live, trial, command, logs, stop, report)
}

/// Runs a trial in any setting; otherwise as [`run`].
pub fn run_in(
    setting: Setting<'_>,
    trial: &Trial,
    command: &[String],
    logs: &mut Logs,
    stop: &AtomicBool,
    Reporting { notify, verdicts }: Reporting<'_>,
) -> Result<Run, LabError> {
    let started_at = setting.timestamp();
    let mut run = RunBuilder::set_up(setting, trial, notify)?;
    run.before_bytes = setting.resident_bytes().unwrap_or(0);
    let job = run.job(trial)?;
    let mut crew = setting.start(&job)?;
    let mut watch = Watch::new(run.source(), &mut logs.near);
    if let (Some(far), Some(log)) = (run.far.take(), &mut logs.far) {
        watch = watch.with_far(far, log);
    }
    let server = run.target.server.as_ref();
    run.stamps = Stamps::of(trial.addresses.first(), server, watch.far_calendar());
    let mut audience = fanout::start(setting, trial, &job, &run.stamps)?;
    if verdicts == Verdicts::AlsoMeanwhile {
        watch.show(run.recent_hosts());
    }
    let interim = match verdicts {
        // There is no verdict on a fan-out before a level has ended.
        Verdicts::AlsoMeanwhile if trial.fanout.is_none() => {
            Interim::start(run.bench(command, started_at)).ok()
        }
        Verdicts::AlsoMeanwhile | Verdicts::OfLevels => None,
    };
    let mut context = LevelContext {
        setting,
        crew: &mut crew,
        audience: audience.as_mut(),
        watch: &mut watch,
        trial,
        until: trial.stop,
        stop,
        notify: &mut *notify,
        profiler: Profiler::of_the_point(trial, &run.target),
        evidence: None,
        interim,
        silence: Silence::default(),
    };
    match trial.search {
        None => visit_levels(&mut run, &mut context)?,
        Some(config) => search::run(&mut run, &mut context, config)?,
    }
    profiled::run(&mut run, &mut context)?;
    inside_kernel::run(&mut run, &mut context)?;
    drop(crew);
    drop(audience);
    if let Some(account) = setting.finish_fleet() {
        run.add_fleet(account);
    } else {
        confirm::run(&mut run, &mut watch, stop, notify);
    }
    watch.stop();
    run.observe_again(&watch);
    if let Some(failure) = watch.failure() {
        run.notice(format!("raw readings are missing from the end: {failure}"), notify);
    }
    run.look_for_tls(notify);
    Ok(run.finish(command, started_at))
}

/// Visits every level in turn, as often as requested; again if its last visit was not steady.
fn visit_levels(
    run: &mut RunBuilder<'_>,
    context: &mut LevelContext<'_, '_>,
) -> Result<(), LabError> {
    let trial = run.trial;
    let (of, mut load) = (trial.levels.len(), 0);
    for (index, crews) in Crews::of_all(trial).iter().enumerate() {
        for attempt in 1..=trial.visits + trial.repeats_max {
            if run.outcome != Outcome::Complete {
                return Ok(());
            }
            load += 1;
            (context.notify)(Event::Level { index, of, attempt, level: crews.level.clone() });
            let visit = visit(context, crews, load)?;
            let is_steady = run.add_visit((crews, attempt), visit, context);
            if is_steady && attempt >= trial.visits {
                break;
            }
        }
    }
    Ok(())
}
