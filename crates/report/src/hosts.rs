//! The hosts of a run, each with its name in words and what was observed there.

use model::run::{Point, Run};
use model::units::NS_PER_S;
use observe::{Observed, Raw, STATES, Shares};

/// A host, and what was observed there in the window of each point.
pub(crate) struct Host<'a> {
    /// Whose it is, for example `the client's host`.
    pub(crate) whose: &'static str,
    /// Each point with what was observed, in the order of the record.
    pub(crate) points: Vec<(&'a Point, Observed)>,
}

/// Whose host the readings of the generator's probe are of.
pub(crate) fn near(run: &Run) -> &'static str {
    let target = &run.record.target;
    match (&target.probe, &target.server) {
        (None, Some(_)) => "the host of client and server",
        _ => "the client's host",
    }
}

/// Whose host the readings of the far probe are of.
pub(crate) const FAR: &str = "the server's host";

/// The generator's host, then the server's when a probe there was read.
pub(crate) fn hosts(run: &Run) -> Vec<Host<'_>> {
    let raw = Raw::from(run);
    let mut client = Host { whose: near(run), points: Vec::new() };
    let mut server = Host { whose: FAR, points: Vec::new() };
    for point in &run.record.points {
        let mut observed = raw.observed(&run.record, point);
        server.points.extend(observed.far.take().map(|far| (point, *far)));
        client.points.push((point, observed));
    }
    [client, server].into_iter().filter(|host| !host.points.is_empty()).collect()
}

/// The instant that charts over the whole run call zero.
pub(crate) fn origin_ns(run: &Run) -> u64 {
    let first_reading = run.readings.first().map(|reading| reading.begin_ns);
    let first_window = run.record.points.first().map(|point| point.window_ns.0);
    first_reading.into_iter().chain(first_window).min().unwrap_or(0)
}

/// Seconds since [`origin_ns`].
pub(crate) fn since_origin_s(run: &Run, at_ns: u64) -> f64 {
    at_ns.saturating_sub(origin_ns(run)) as f64 / NS_PER_S as f64
}

/// Why the iowait of a host is not shown.
pub(crate) const RING_NOTE: &str = "The generator waits in io_uring, and the kernel counts such a \
    wait as I/O wait although no disk is involved: iowait is shown as idle. The readings keep it.";

/// Whether a process that waits in io_uring is known on a host: the generator with the driver
/// `uring`. The kernel sets `in_iowait` while a task waits for completions, disk or not.
pub(crate) fn has_ring(run: &Run, whose: &str) -> bool {
    whose != FAR && run.record.points.iter().any(|point| point.load.driver == "uring")
}

/// Shares by state, percent, in the order of `STATES`. Where waits in a ring are counted as
/// iowait, it is absent and part of idle.
pub(crate) fn as_shown(run: &Run, whose: &str, shares: Shares) -> [Option<f64>; STATES.len()] {
    let [.., iowait, idle] = shares;
    let mut shown = shares.map(Some);
    if has_ring(run, whose) {
        let [.., shown_iowait, shown_idle] = &mut shown;
        (*shown_iowait, *shown_idle) = (None, Some(idle + iowait));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn waits_in_a_ring_are_idle() {
        let mut run = fixtures::ramp_two_hosts();
        let shares = [10.0, 7.0, 0.0, 0.0, 0.0, 43.0, 40.0];
        let shown = as_shown(&run, near(&run), shares);
        assert_eq!(shown[5..], [None, Some(83.0)]);
        assert_eq!(as_shown(&run, FAR, shares), shares.map(Some), "the server's host has no ring");
        run.record.points.iter_mut().for_each(|point| point.load.driver = "epoll".to_string());
        assert_eq!(as_shown(&run, near(&run), shares), shares.map(Some));
    }
}
