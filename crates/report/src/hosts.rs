//! The hosts of a run, each with its name in words and what was observed there.

use model::run::{Point, Run};
use model::units::NS_PER_S;
use observe::{Observed, Raw};

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
