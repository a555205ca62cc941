//! The readings of a point, on each host in the times of its own clock.

use crate::observed::Observed;
use crate::tracked::Tracked;
use model::facts::HostFacts;
use model::reading::{Data, Reading, TuningNow};
use model::run::{Point, Record, Run, Target};

/// The far readings of a window reach its end when the last is within a tenth of the window of that
/// end. Of three periods one reading may be lost and one late, so the limit is at least a little
/// more than that; it is at most a second. Nanoseconds.
const REACHES_NS: (u64, u64) = (400_000_000, 1_000_000_000);

/// The raw readings of a run, each in time order by the clock of its own host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw<'a> {
    /// Of the generator's host.
    pub near: &'a [Reading],
    /// Of the server's host, when a probe there was read.
    pub far: &'a [Reading],
}

impl<'a> From<&'a Run> for Raw<'a> {
    fn from(run: &'a Run) -> Self {
        Self { near: &run.readings, far: &run.server_readings }
    }
}

impl<'a> Raw<'a> {
    /// Readings of the generator's host that belong to the window of a point ([`Window`]).
    pub fn near_in(self, point: &Point) -> impl Iterator<Item = &'a Reading> + use<'a> {
        inside(self.near, point.window_ns)
    }

    /// Readings of the server's host inside the window of a point for every offset of its clock
    /// within the error. None without a probe there.
    pub fn far_in(
        self,
        record: &Record,
        point: &Point,
    ) -> Option<impl Iterator<Item = &'a Reading> + use<'a>> {
        let probe = record.target.probe.as_ref()?;
        Some(inside(self.far, probe.clock.carry(point.window_ns)))
    }

    /// What was observed in the window of a point, on both hosts.
    pub fn observed(self, record: &Record, point: &Point) -> Observed {
        self.observed_in(record, point.window_ns)
    }

    /// What was observed in any window, monotonic nanoseconds of the generator's host.
    pub fn observed_in(self, record: &Record, window_ns: (u64, u64)) -> Observed {
        let near = inside(self.near, window_ns).cloned();
        let last_ns = self.far.iter().map(|reading| reading.end_ns).max().unwrap_or(0);
        let far = record.target.probe.as_ref().map(|probe| {
            let carried = probe.clock.carry(window_ns);
            inside(self.far, carried).filter(move |_| reach_end(carried, last_ns)).cloned()
        });
        Observed::of_both(near, far, &record.host, &record.target)
    }
}

impl Observed {
    /// What was observed in each window, monotonic nanoseconds of the generator's host, on both
    /// hosts. The readings of each host are taken in one after the other in time order, so their
    /// number does not matter.
    pub fn in_windows<E>(
        host: &HostFacts,
        target: &Target,
        windows_ns: &[(u64, u64)],
        near: impl IntoIterator<Item = Result<Reading, E>>,
        far: impl IntoIterator<Item = Result<Reading, E>>,
    ) -> Result<Vec<Self>, E> {
        let (near, _) = each(near, windows_ns, host.clock_tick_ns)?;
        let far: Vec<Option<Self>> = match &target.probe {
            None => near.iter().map(|_| None).collect(),
            Some(probe) => {
                let carried: Vec<_> =
                    windows_ns.iter().map(|one| probe.clock.carry(*one)).collect();
                let (far, last_ns) = each(far, &carried, probe.host.clock_tick_ns)?;
                let whole = far.into_iter().zip(carried).map(|(observed, carried)| {
                    Some(if reach_end(carried, last_ns) { observed } else { Self::default() })
                });
                whole.collect()
            }
        };
        let both = near.into_iter().zip(far);
        Ok(both.map(|(near, far)| near.beside(far, target)).collect())
    }
}

/// What the readings of one host say about each window, in times of that host, and the end of its
/// last reading.
fn each<E>(
    readings: impl IntoIterator<Item = Result<Reading, E>>,
    windows_ns: &[(u64, u64)],
    clock_tick_ns: u64,
) -> Result<(Vec<Observed>, u64), E> {
    let new = |one: &(u64, u64)| (Window::new(*one), Tracked::default());
    let mut all: Vec<_> = windows_ns.iter().map(new).collect();
    let mut last_ns = 0;
    for reading in readings {
        let reading = reading?;
        last_ns = last_ns.max(reading.end_ns);
        for (window, seen) in &mut all {
            if window.has(&reading) {
                seen.add(reading.clone());
            }
        }
    }
    Ok((all.into_iter().map(|(_, seen)| seen.finish(clock_tick_ns)).collect(), last_ns))
}

/// Whether the readings of the server's host, the last of which ended at this time, reach the end
/// of a window, all in times of that host: else what is missing may matter, and the window has
/// none.
pub fn reach_end(window_ns: (u64, u64), last_ns: u64) -> bool {
    last_ns.saturating_add(reach_ns(window_ns.1.saturating_sub(window_ns.0))) >= window_ns.1
}

/// How close to the end of a window the last reading must be.
fn reach_ns(window_ns: u64) -> u64 {
    (window_ns / 10).clamp(REACHES_NS.0, REACHES_NS.1).min(window_ns)
}

fn inside(readings: &[Reading], window_ns: (u64, u64)) -> impl Iterator<Item = &Reading> {
    let mut window = Window::new(window_ns);
    readings.iter().filter(move |reading| window.has(reading))
}

/// Chooses the readings of a window, one after the other in time order: those that lie wholly
/// inside it. A read of what `ceiling tune` changed covers all the time before it, so such reads
/// count until the first that starts after the window: a change by another program between two
/// reads shows in the second.
#[derive(Debug)]
pub struct Window {
    begin_ns: u64,
    end_ns: u64,
    /// Whether such a read started after the window.
    is_looked_over: bool,
}

impl Window {
    /// For a window, monotonic nanoseconds.
    pub fn new((begin_ns, end_ns): (u64, u64)) -> Self {
        Self { begin_ns, end_ns, is_looked_over: false }
    }

    /// Whether the next reading belongs to it.
    pub fn has(&mut self, reading: &Reading) -> bool {
        if reading.begin_ns < self.begin_ns {
            return false;
        }
        if !is_look(reading) {
            return reading.end_ns <= self.end_ns;
        }
        let is_first_over = !self.is_looked_over;
        self.is_looked_over |= reading.begin_ns >= self.end_ns;
        is_first_over
    }
}

/// Whether it is a read of what `ceiling tune` changed, even one that failed.
fn is_look(reading: &Reading) -> bool {
    match &reading.data {
        Data::Tuning(_) => true,
        Data::Unreadable(what) => what.source == TuningNow::SOURCE,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::NS_PER_MS;

    #[test]
    fn looks_count_until_the_first_that_begins_when_the_window_is_over() {
        let read = |begin_ns, end_ns, data| Reading { begin_ns, end_ns, data };
        let look = |at| read(at, at + 10, Data::Tuning(TuningNow { places: 1, drifted: vec![] }));
        let cpus = |at| read(at, at + 10, Data::Cpus(vec![]));
        let all: Vec<Reading> = (80..240).step_by(15).flat_map(|at| [look(at), cpus(at)]).collect();
        let chosen: Vec<u64> =
            inside(&all, (100, 200)).filter(|one| is_look(one)).map(|one| one.begin_ns).collect();
        assert_eq!(chosen, [110, 125, 140, 155, 170, 185, 200]);
        let others: Vec<u64> =
            inside(&all, (100, 200)).filter(|one| !is_look(one)).map(|one| one.begin_ns).collect();
        assert_eq!(others, [110, 125, 140, 155, 170, 185]);
        // None in the window, as on a host that had no time for it: the next one counts.
        let late = [look(90), look(250), look(300)];
        assert_eq!(inside(&late, (100, 200)).map(|one| one.begin_ns).collect::<Vec<_>>(), [250]);
    }

    #[test]
    fn what_may_be_missing_is_a_tenth_and_at_most_a_second() {
        let reaches = [(300, 300), (1000, 400), (5000, 500), (10_000, 1000), (60_000, 1000)];
        for (window_ms, reach_ms) in reaches {
            assert_eq!(reach_ns(window_ms * NS_PER_MS), reach_ms * NS_PER_MS, "{window_ms} ms");
        }
    }
}
