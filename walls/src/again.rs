//! A kept run, judged again with what the judge knows today.

use judge::observe::Observed;
use judge::{Context, judge_point, judge_run};
use model::reading::{Data, Reading};
use model::run::{Point, Run};
use model::verdict::Verdict;

/// Whose readings the judge may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Those of both sides.
    Both,
    /// Those of the generator's side only, as with a server of somebody else.
    ClientOnly,
}

impl Sight {
    /// Whether this reading is among them.
    fn sees(self, data: &Data) -> bool {
        let is_servers = matches!(
            data,
            Data::ServerThreads(_)
                | Data::ServerQuota(_)
                | Data::ServerFiles(_)
                | Data::Listeners(_)
        );
        self == Self::Both || !is_servers
    }
}

/// What the readings of a point say.
pub fn observe(run: &Run, point: &Point, sight: Sight) -> Observed {
    let (begin_ns, end_ns) = point.window_ns;
    let is_inside = |reading: &&Reading| {
        reading.begin_ns >= begin_ns && reading.end_ns <= end_ns && sight.sees(&reading.data)
    };
    let readings = run.readings.iter().filter(is_inside).cloned();
    Observed::of(readings, run.record.host.clock_tick_ns)
}

/// The verdict of today.
pub fn verdict(run: &Run, sight: Sight) -> Verdict {
    let record = &run.record;
    let mut target = record.target.clone();
    if sight == Sight::ClientOnly {
        target.server = None;
    }
    let context = Context {
        trial: &record.trial,
        host: &record.host,
        target: &target,
        outcome: record.outcome,
    };
    let observed: Vec<_> = record.points.iter().map(|point| observe(run, point, sight)).collect();
    let points: Vec<Point> = record
        .points
        .iter()
        .zip(&observed)
        .map(|(point, observed)| judge_point(context, point.clone(), observed))
        .collect();
    judge_run(context, &points, &observed)
}
