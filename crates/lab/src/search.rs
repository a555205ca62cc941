//! The search for the highest rate that holds an objective: each trial of it is a visit of a level
//! of its own, on connections that stay warm.

use crate::conduct::{Bench, LabError};
use crate::level::{Stagehands, visit};
use judge::search::{Search, Step, TrialResult, trust};
use model::curve::Curve;
use model::event::Event;
use model::load::{Arrival, Level, Stop};
use model::objective::Standing;
use model::run::Outcome;
use model::search::{SearchConfig, SearchRecord, Trust};

/// Searches until there is an answer, or until the run ends for another reason.
pub(crate) fn run(
    bench: &mut Bench<'_>,
    hands: &mut Stagehands<'_, '_>,
    config: SearchConfig,
) -> Result<(), LabError> {
    // Nothing asked is nothing to search for.
    let Some(objective) = &bench.trial.expect else { return Ok(()) };
    let mut search = Search::new(config);
    let mut answer = None;
    let mut index = 0;
    while bench.outcome == Outcome::Complete {
        let (rate, duration_ns) = match search.step() {
            Step::Trial { rate, duration_ns, .. } => (rate, duration_ns),
            Step::Done(found) => {
                answer = Some(found);
                break;
            }
        };
        let Some(level) = level_at(bench, rate) else { break };
        (hands.notify)(Event::Level { index, of: 0, attempt: 1, level: level.clone() });
        index += 1;
        hands.until = Stop::AfterNs(duration_ns);
        let visited = visit(hands, &level, index as u32)?;
        let elapsed_ns = visited.visit_ns;
        let points = bench.points.len();
        bench.add_visit((&level, 1), visited, hands.watch, hands.notify);
        let point = bench.points.get(points);
        let (standing, trust) = point.map_or((Standing::Undecided, Trust::Invalid), |point| {
            (Standing::of(&point.expectations), trust(objective, point))
        });
        let duration_ns = point.map_or(0, |point| point.window_ns.1 - point.window_ns.0);
        search.report(TrialResult { standing, trust, duration_ns, elapsed_ns });
    }
    bench.search = Some(SearchRecord { config, trials: search.trials().to_vec(), answer });
    Ok(())
}

/// The level of a trial: what was asked, at this rate.
fn level_at(bench: &Bench<'_>, rate: f64) -> Option<Level> {
    let asked = bench.trial.levels.first()?;
    let Arrival::Open { arrivals, .. } = asked.arrival else { return None };
    let arrival = Arrival::Open { curve: Curve::constant(rate), arrivals };
    Some(Level { arrival, ..asked.clone() })
}
