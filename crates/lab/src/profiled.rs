//! Which visit of a run is profiled, and what its profiles say in the record.

use crate::crews::Crews;
use crate::error::LabError;
use crate::level::{LevelContext, visit};
use crate::point;
use crate::profiler::serving::Serving;
use crate::profiler::{Finished, Profiler};
use crate::record::RunBuilder;
use judge::observe::Observed;
use judge::perturb;
use model::event::Event;
use model::load::Stop;
use model::profile::{Capture, ProfileKind, ProfileRecord, Profiled};
use model::run::{Outcome, Point};
use model::units::NS_PER_S;
use profile::{Samples, Weight, merged};

/// Why waits and costs of a server of events are not divided by requests.
const OF_STREAMS: &str = "streams wait for events: their waits are not waits of requests, and a \
                          write costs what its events cost";

/// Profiles the measured visit of a load with one level; for other loads makes one more visit.
pub(crate) fn run(
    run: &mut RunBuilder<'_>,
    context: &mut LevelContext<'_, '_>,
) -> Result<(), LabError> {
    if let Some(profiler) = context.profiler.take() {
        let Some(point) = run.points.last().cloned() else { return Ok(()) };
        let at = run.points.len() - 1;
        let serving = run.observed.get(at).map(|observed| serving(run, observed));
        let finished = profiler.finish(run.outcome);
        if let Some(serving) = serving {
            keep(run, (Profiled::Point, at), (&point, serving), finished, context.notify);
        }
        return Ok(());
    }
    if run.trial.profile.is_none() || run.outcome != Outcome::Complete {
        return Ok(());
    }
    let Some(at) = best(run) else { return Ok(()) };
    context.profiler = Profiler::of(run.trial, &run.target);
    let level = run.levels[at].clone();
    if let Some(config) = run.trial.search {
        context.until = Stop::AfterNs(config.trial_ns.max(3 * NS_PER_S));
    }
    let what = "a profiled visit of the best level".to_string();
    (context.notify)(Event::Block { what, block: 1, of: 1 });
    let crews = Crews::of(run.trial, &level);
    let visited = visit(context, &crews, run.levels.len() as u32 + 1)?;
    let window_ns = visited.window_ns();
    let Some(profiler) = context.profiler.take() else { return Ok(()) };
    let finished = profiler.finish(visited.ending);
    run.outcome = visited.ending;
    if window_ns.0 < window_ns.1 {
        let observed = run.observe(context.watch, window_ns);
        let point = point::make(run.trial, &crews.asking, 1, &visited, &observed);
        let serving = serving(run, &observed);
        keep(run, (Profiled::Repeat, at), (&point, serving), finished, context.notify);
    }
    Ok(())
}

/// The point whose level is profiled: the result of a search, else the one with the highest rate.
pub(crate) fn best(run: &RunBuilder<'_>) -> Option<usize> {
    let answer = run.search.as_ref().and_then(|search| search.answer.as_ref()?.rate);
    let is_answer = |point: &Point| answer.is_some() && point.load.rate == answer;
    run.points.iter().rposition(is_answer).or_else(|| perturb::base_point(&run.points))
}

/// The processes that served the requests of a visit.
fn serving(run: &RunBuilder<'_>, observed: &Observed) -> Result<Serving, String> {
    let (near, far) = (run.target.server.as_ref(), run.target.probe.as_ref());
    let server = far.map_or(near, |far| far.server.as_ref());
    let threads = observed.far.as_deref().unwrap_or(observed).server_threads.as_deref();
    let serving = Serving::of(server, threads)?;
    Ok(if far.is_some() { serving.elsewhere() } else { serving })
}

/// Puts the profiles into the record, and reports files and failures.
fn keep(
    run: &mut RunBuilder<'_>,
    (visit, at): (Profiled, usize),
    (point, serving): (&Point, Result<Serving, String>),
    Finished { taken, mut failures, captured }: Finished,
    notify: &mut dyn FnMut(Event),
) {
    let is_fanout = run.trial.fanout.is_some();
    let absent = |kind: ProfileKind| match &serving {
        _ if is_fanout => Some(OF_STREAMS.to_string()),
        Ok(serving) => serving.absent(kind, &captured),
        Err(why) => Some(why.clone()),
    };
    let mut kinds = Vec::new();
    for kind in ProfileKind::ALL {
        let of_kind = taken.iter().filter(|(_, taken)| taken.kind == kind);
        let samples: Vec<&Samples> = of_kind.map(|(_, taken)| &taken.samples).collect();
        let absent = absent(kind);
        let weight = match &absent {
            Some(why) => Weight::Absent(why),
            None => {
                Weight::Requests { rate: point.answered_rate(), in_flight: point.in_flight.mean }
            }
        };
        match merged(kind, &samples, weight) {
            _ if samples.is_empty() => {}
            Ok(merged) => kinds.push(merged),
            Err(why) => failures.push(format!("{} profiles together: {why}", kind.name())),
        }
    }
    for why in &failures {
        run.notice(format!("not profiled: {why}"), notify);
    }
    let mut captures = Vec::new();
    for (capture, taken) in taken {
        let path = format!("profiles/{}/{}", at + 1, file_name(&capture));
        captures.push(Capture { file: path.clone(), ..capture });
        notify(Event::Profile { path, bytes: taken.bytes });
    }
    run.profile = Some(ProfileRecord {
        visit,
        point: at,
        window_ns: point.window_ns,
        rate: point.rate,
        in_flight: point.in_flight.mean,
        p50_ns: point.latency_ns.p50,
        server_us_per_request: point.cpu.server_us_per_request.filter(|_| !is_fanout),
        captures,
        failures,
        kinds,
    });
}

/// A name from the process, or from the address if the process is not known.
fn file_name(capture: &Capture) -> String {
    let who = match capture.pid {
        Some(pid) => pid.to_string(),
        None => {
            let host = capture.source.trim_start_matches("http://").split('/').next();
            host.unwrap_or("unknown").replace(|c: char| !c.is_ascii_alphanumeric(), "-")
        }
    };
    format!("{who}-{}.pb.gz", capture.kind.name())
}
