//! The hosts of a run, each with its name in words and its observations.

use model::reading::{Data, Reading};
use model::run::{Point, Run};
use model::units::NS_PER_S;
use observe::{Observed, Raw, STATES, Shares, mean_shares};

/// A host, with its observations in the window of each point.
pub(crate) struct Host<'a> {
    /// Its name, for example `the client's host`.
    pub(crate) whose: &'static str,
    /// Each point with its observations, in the order of the record.
    pub(crate) points: Vec<(&'a Point, Observed)>,
}

/// Name of the host that the probe of this process reads: the generator's, or in a fleet the
/// controller's.
pub(crate) fn near(run: &Run) -> &'static str {
    let target = &run.record.target;
    let is_shared = target.probe.is_none() && target.server.is_some();
    match (run.record.fleet.is_some(), is_shared) {
        (false, true) => "the host of client and server",
        (false, false) => "the client's host",
        (true, true) => "the host of controller and server",
        (true, false) => "the controller's host",
    }
}

/// Name of the host that the far probe reads.
pub(crate) const FAR: &str = "the server's host";

/// The server's own interfaces, counters and sockets, where it shares the host.
pub(crate) const INSIDE: &str = "the server's network namespace";

/// The generator's host, then the server's host when a probe read it, or the server's network
/// namespace on the same host.
pub(crate) fn hosts(run: &Run) -> Vec<Host<'_>> {
    let raw = Raw::from(run);
    let has_probe = run.record.target.probe.is_some();
    let mut client = Host { whose: near(run), points: Vec::new() };
    let mut server = Host { whose: if has_probe { FAR } else { INSIDE }, points: Vec::new() };
    for point in &run.record.points {
        let mut observed = raw.observed(&run.record, point);
        // Figures of the whole host are drawn once.
        let (far, inside) = (observed.far.take(), observed.inside.take());
        let far = if has_probe { far } else { inside };
        server.points.extend(far.map(|far| (point, *far)));
        client.points.push((point, observed));
    }
    [client, server].into_iter().filter(|host| !host.points.is_empty()).collect()
}

/// Readings from the server's own network namespace, with the declarations of their sources; empty
/// where it has none.
pub(crate) fn inner(readings: &[Reading]) -> Vec<Reading> {
    let opened = |reading: &Reading| match &reading.data {
        Data::Inside(data) => Some(Reading {
            begin_ns: reading.begin_ns,
            end_ns: reading.end_ns,
            data: (**data).clone(),
        }),
        Data::Declared(_) => Some(reading.clone()),
        _ => None,
    };
    let kept: Vec<Reading> = readings.iter().filter_map(opened).collect();
    let has_any = readings.iter().any(|reading| matches!(reading.data, Data::Inside(_)));
    if has_any { kept } else { Vec::new() }
}

/// The zero of charts over the whole run.
pub(crate) fn origin_ns(run: &Run) -> u64 {
    let first_reading = run.readings.first().map(|reading| reading.begin_ns);
    let first_window = run.record.points.first().map(|point| point.window_ns.0);
    first_reading.into_iter().chain(first_window).min().unwrap_or(0)
}

/// Seconds since [`origin_ns`].
pub(crate) fn since_origin_s(run: &Run, at_ns: u64) -> f64 {
    at_ns.saturating_sub(origin_ns(run)) as f64 / NS_PER_S as f64
}

/// What the iowait of a host means. The kernel sets `in_iowait` while a task waits in io_uring for
/// completions, disk or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Waits {
    /// Time spent waiting for a disk, as far as is known.
    ForDisks,
    /// The generator waits in an io_uring ring.
    OfGenerator,
    /// More time than any disk was in use: the highest iowait in the window of a point, and the
    /// share of that window in which the busiest disk was in use, percent.
    WithoutDisks(f64, f64),
}

/// Below this, iowait is not questioned, percent.
const IOWAIT_WORTH: f64 = 5.0;
/// A disk that a task waits for is in use. Its sampled time in use may be off by this factor.
const DISK_FACTOR: f64 = 4.0;

impl Waits {
    /// What it means on a host of a run.
    pub(crate) fn of(run: &Run, whose: &str) -> Self {
        // The workers of a fleet are on the hosts of its agents.
        let has_ring = whose != FAR
            && run.record.fleet.is_none()
            && run.record.points.iter().any(|point| point.load.driver == "uring");
        let hosts = hosts(run);
        let of = |observed: &Observed| {
            let [.., iowait, _] = mean_shares(observed.cpus.as_deref()?)?;
            let disk = observed.disk_busy.map(|share| share * 100.0);
            (iowait >= IOWAIT_WORTH).then_some((iowait, disk))
        };
        let points = hosts.iter().filter(|host| host.whose == whose).flat_map(|host| &host.points);
        let seen: Vec<(f64, Option<f64>)> = points.filter_map(|(_, seen)| of(seen)).collect();
        let without_disk = |(iowait, disk): &(f64, Option<f64>)| {
            disk.filter(|disk| disk * DISK_FACTOR < *iowait).map(|disk| (*iowait, disk))
        };
        if has_ring {
            let is_for_disk =
                |one: &(f64, Option<f64>)| one.1.is_some() && without_disk(one).is_none();
            return if seen.iter().any(is_for_disk) { Self::ForDisks } else { Self::OfGenerator };
        }
        let unexplained: Option<Vec<(f64, f64)>> = seen.iter().map(without_disk).collect();
        let most = unexplained.and_then(|all| all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)));
        most.map_or(Self::ForDisks, |(iowait, disk)| Self::WithoutDisks(iowait, disk))
    }

    /// Why iowait is not shown, if so.
    pub(crate) fn note(self) -> Option<String> {
        match self {
            Self::ForDisks => None,
            Self::OfGenerator => Some(
                "The generator waits in io_uring, and the kernel counts that as I/O wait: iowait \
                 is shown as idle. The raw readings keep it."
                    .to_string(),
            ),
            Self::WithoutDisks(iowait, disk) => Some(format!(
                "The kernel counted up to {iowait:.0} % as iowait while the busiest disk was in \
                 use for {disk:.1} % of the time: no disk explains it, but threads that wait in \
                 io_uring do. iowait is shown as idle. The raw readings keep it."
            )),
        }
    }

    /// Shares by state, percent, in the order of `STATES`. Where iowait is not caused by disks, it
    /// is absent and counted as idle.
    pub(crate) fn shown(self, shares: Shares) -> [Option<f64>; STATES.len()] {
        let [.., iowait, idle] = shares;
        let mut shown = shares.map(Some);
        if self != Self::ForDisks {
            let [.., shown_iowait, shown_idle] = &mut shown;
            (*shown_iowait, *shown_idle) = (None, Some(idle + iowait));
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::reading::{CpuTimes, Disk};

    const SHARES: Shares = [10.0, 7.0, 0.0, 0.0, 0.0, 43.0, 40.0];

    #[test]
    fn waits_of_the_generator_in_a_ring_are_idle() {
        let mut run = fixtures::ramp_two_hosts();
        let shown = Waits::of(&run, near(&run)).shown(SHARES);
        assert_eq!(shown[5..], [None, Some(83.0)]);
        assert_eq!(Waits::of(&run, FAR), Waits::ForDisks, "the server's host has no ring");
        assert_eq!(Waits::ForDisks.shown(SHARES), SHARES.map(Some));
        run.record.points.iter_mut().for_each(|point| point.load.driver = "epoll".to_string());
        assert_eq!(Waits::of(&run, near(&run)), Waits::ForDisks);
    }

    /// A host read at both ends of each window, with 40 % iowait in the windows and a disk
    /// that was in use for this share.
    fn with_iowait(disk_share: f64) -> Run {
        let mut run = fixtures::ramp_quota();
        run.record.points.iter_mut().for_each(|point| point.load.driver = "epoll".to_string());
        let tick_ns = run.record.host.clock_tick_ns;
        let windows: Vec<(u64, u64)> = run.record.points.iter().map(|p| p.window_ns).collect();
        run.readings.clear();
        for at_ns in windows.into_iter().flat_map(|(begin_ns, end_ns)| [begin_ns, end_ns]) {
            let part = |share: f64| (at_ns as f64 * share / tick_ns as f64) as u64;
            let cpu = CpuTimes {
                cpu: 0,
                user: part(0.2),
                iowait: part(0.4),
                idle: part(0.4),
                ..CpuTimes::default()
            };
            let disk = Disk { busy_ms: (at_ns as f64 * disk_share / 1e6) as u64, ..disk() };
            for data in [Data::Cpus(vec![cpu]), Data::Disks(vec![disk])] {
                run.readings.push(Reading { begin_ns: at_ns, end_ns: at_ns, data });
            }
        }
        run
    }

    fn disk() -> Disk {
        Disk { name: "vda".to_string(), ..Disk::default() }
    }

    #[test]
    fn iowait_that_no_disk_explains_is_idle_and_said() {
        let run = with_iowait(0.01);
        let waits = Waits::of(&run, near(&run));
        assert_eq!(waits.shown(SHARES)[5..], [None, Some(83.0)]);
        let note = waits.note().unwrap();
        assert!(note.contains("up to 40 % as iowait"), "{note}");
        assert!(note.contains("in use for 1.0 % of the time"), "{note}");
    }

    #[test]
    fn a_ring_explains_iowait_only_where_no_disk_does_and_workers_run() {
        let of = |driver: &str, disk_share: f64| {
            let mut run = with_iowait(disk_share);
            run.record.points.iter_mut().for_each(|one| one.load.driver = driver.to_string());
            run
        };
        let run = of("uring", 0.01);
        assert_eq!(Waits::of(&run, near(&run)), Waits::OfGenerator);
        let run = of("uring", 0.9);
        assert_eq!(Waits::of(&run, near(&run)), Waits::ForDisks);
        let mut run = of("uring", 0.01);
        run.record.fleet = fixtures::load_fleet().record.fleet;
        let waits = Waits::of(&run, near(&run));
        assert!(matches!(waits, Waits::WithoutDisks(..)), "agents have the workers: {waits:?}");
    }

    #[test]
    fn iowait_of_a_disk_stays() {
        let run = with_iowait(0.4);
        assert_eq!(Waits::of(&run, near(&run)), Waits::ForDisks);
        let mut unread = with_iowait(0.0);
        unread.readings.retain(|reading| !matches!(reading.data, Data::Disks(_)));
        assert_eq!(Waits::of(&unread, near(&unread)), Waits::ForDisks, "not known");
    }
}
