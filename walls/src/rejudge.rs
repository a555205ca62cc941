//! A kept run, judged again with the present judge.

use judge::odds::Speaking;
use judge::rejudge::again;
use model::reading::{Data, Reading, Values};
use model::run::{Point, Record, Run};
use observe::Raw;

/// Which readings the judge may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Those of both sides.
    Both,
    /// Those of the generator's side only, as with a server that cannot be read.
    ClientOnly,
}

/// Whether the judge may see the experiments that confirm a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experiments {
    /// It may not.
    Hidden,
    /// It may.
    Shown,
}

/// The record with the present judge's verdict, from what it may see.
pub fn judged(run: &Run, sight: Sight, experiments: Experiments) -> Record {
    let mut record = run.record.clone();
    if experiments == Experiments::Hidden {
        record.perturbations.clear();
    }
    let near = match sight {
        Sight::Both => return again(record, Raw::from(run)),
        Sight::ClientOnly => without_the_server(&run.readings),
    };
    record.target.server = None;
    record.target.probe = None;
    again(record, Raw { near: &near, far: &[] })
}

/// The record with the verdict from the probe's readings that `other` kept at the same time.
pub fn judged_by(run: &Run, other: &Run) -> Record {
    let mut record = run.record.clone();
    record.perturbations.clear();
    record.target.server = None;
    record.target.probe = other.record.target.probe.clone();
    let near = without_the_server(&run.readings);
    again(record, Raw { near: &near, far: &other.server_readings })
}

/// Which tests fired in the run.
pub fn speaking(run: &Run) -> Option<Speaking> {
    let record = judged(run, Sight::Both, Experiments::Hidden);
    judge::rejudge::speaking(&record, Raw::from(run))
}

/// The point with the highest rate.
pub fn best(record: &Record) -> Option<&Point> {
    record.points.iter().max_by(|left, right| left.rate.total_cmp(&right.rate))
}

fn without_the_server(readings: &[Reading]) -> Vec<Reading> {
    let is_servers = |data: &Data| {
        matches!(
            data,
            Data::ServerThreads(_)
                | Data::ServerQuota(_)
                | Data::ServerFiles(_)
                | Data::ServerThreadsNow(_)
                | Data::Downstreams(_)
                | Data::Listeners(_)
                | Data::Inside(_)
        ) || data.source() == Values::SERVER_RUNTIME
    };
    readings.iter().filter(|reading| !is_servers(&reading.data)).cloned().collect()
}
