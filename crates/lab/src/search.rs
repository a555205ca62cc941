//! The search for the highest rate that holds an objective: each trial is a visit of a new level,
//! on connections that stay warm.

use crate::crews::Crews;
use crate::error::LabError;
use crate::level::{LevelContext, visit};
use crate::record::RunBuilder;
use judge::search::{NextTrial, Search, TrialResult, trust};
use model::curve::Curve;
use model::event::Event;
use model::load::{Arrival, Level, Stop};
use model::objective::ObjectiveStanding;
use model::run::Outcome;
use model::search::{SearchConfig, SearchRecord, Trust};

/// Searches until there is a result, or until the run ends for another reason.
pub(crate) fn run(
    run: &mut RunBuilder<'_>,
    context: &mut LevelContext<'_, '_>,
    config: SearchConfig,
) -> Result<(), LabError> {
    let Some(objective) = &run.trial.expect else { return Ok(()) };
    let mut search = Search::new(config);
    let mut answer = None;
    let mut index = 0;
    while run.outcome == Outcome::Complete {
        let (rate, duration_ns) = match search.step() {
            NextTrial::Trial { rate, duration_ns, .. } => (rate, duration_ns),
            NextTrial::Done(found) => {
                answer = Some(found);
                break;
            }
        };
        let Some(level) = level_at(run, rate) else { break };
        (context.notify)(Event::Level { index, of: 0, attempt: 1, level: level.clone() });
        index += 1;
        context.until = Stop::AfterNs(duration_ns);
        let crews = Crews::of(run.trial, &level);
        let visited = visit(context, &crews, index as u32)?;
        let elapsed_ns = visited.visit_ns;
        let points = run.points.len();
        run.add_visit((&crews, 1), visited, context);
        let point = run.points.get(points);
        let (standing, trust) = point
            .map_or((ObjectiveStanding::Undecided, Trust::Invalid), |point| {
                (ObjectiveStanding::of(&point.expectations), trust(objective, point))
            });
        let duration_ns = point.map_or(0, |point| point.window_ns.1 - point.window_ns.0);
        search.report(TrialResult { standing, trust, duration_ns, elapsed_ns });
    }
    run.search = Some(SearchRecord { config, trials: search.trials().to_vec(), answer });
    Ok(())
}

/// The level of a trial: the requested load, at this rate.
fn level_at(run: &RunBuilder<'_>, rate: f64) -> Option<Level> {
    let asked = run.trial.levels.first()?;
    let Arrival::Open { arrivals, .. } = asked.arrival else { return None };
    let arrival = Arrival::Open { curve: Curve::constant(rate), arrivals };
    Some(Level { arrival, ..asked.clone() })
}
