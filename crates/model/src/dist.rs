//! The distributions that a worker fills, and one value for each of them.
//!
//! For: what treats all distributions of a tick alike, such as adding up, sending and emptying.
//! In: a distribution. Out: its place in an array, and its path in the record.

use crate::histogram::Histogram;
use std::ops::{Index, IndexMut};

crate::named! {
    /// A distribution of a tick, in the order in which they are sent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Dist {
        /// Latency of completed measured requests, nanoseconds: from the send in closed loop, from
        /// the planned instant in open loop. For subscribers, staleness of events.
        Latency = "points[].latency_ns",
        /// Open loop only: from the send, nanoseconds. Where devices start on a schedule, this and
        /// the next two are about their connections: time to connect from the start of the attempt.
        Service = "points[].service_ns",
        /// Open loop only: sent minus planned, nanoseconds.
        SendDelay = "points[].send_delay_ns",
        /// Generator delay, nanoseconds. Open loop: sent minus planned or minus the instant a
        /// connection had a free slot, whichever was later. In closed loop only that of requests
        /// sent in a turn of the loop that took over 1 ms: they bear the stamp of its start.
        GeneratorDelay = "points[].generator_delay_ns",
        /// How long good responses to measured requests may have waited before they were stamped,
        /// because the worker did not run when it should, nanoseconds; those read in time are left
        /// out.
        Unseen = "points[].unseen_ns",
        /// How long measured requests without a response have waited at least, nanoseconds:
        /// timed-out ones until their time-out, unanswered ones until the end of the drain, unsent
        /// ones until the end of the window.
        AtLeast = "points[].latency_at_least_ns",
        /// Time to connect of every attempt that succeeded, without its TLS handshake, nanoseconds.
        Connect = "points[].connections.connect_ns",
        /// Time from the planned instant until a connection of the window was open, where devices
        /// start on a schedule, nanoseconds.
        PlannedConnect = "points[].turnover.starts.connect_ns",
        /// Time of every TLS handshake that succeeded, nanoseconds.
        Handshake = "points[].connections.handshake_ns",
        /// Time from there to the settings of the server, of every connection of HTTP/2 that was
        /// opened, nanoseconds.
        Settings = "points[].connections.streams.settings_ns",
        /// Time to the first message of measured calls whose replies stream, nanoseconds: from
        /// where latency counts. A call without any message is left out.
        FirstMessage = "points[].messages.first_ns",
        /// Time from each message of such a call to the next one, nanoseconds; zero between those
        /// that were read together.
        Gap = "points[].messages.gap_ns",
        /// Latency of messages of measured conversations that were replied to, nanoseconds: of the
        /// first one from where latency counts, of each other one from the reply before it.
        Message = "points[].messages.latency_ns",
        /// Time of whole flows of users who began in the window, without the time to think,
        /// nanoseconds: from the begin of the user to the end of the last step.
        Flow = "points[].users.flow_ns",
        /// Responses to measured requests per connection, with any status; filled in the last tick
        /// of a load order.
        PerConnection = "points[].connections.requests_each",
    }
    /// The path in the record of what is made of it.
    fn path;
}

/// One value for each distribution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ByDist<T>([T; Dist::ALL.len()]);

impl<T> ByDist<T> {
    /// All of them, in the order of [`Dist`].
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// All of them, to be changed, in the order of [`Dist`].
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// Something made of each.
    pub fn each<U>(&self, make: impl FnMut(&T) -> U) -> ByDist<U> {
        ByDist(self.0.each_ref().map(make))
    }
}

impl ByDist<Histogram> {
    /// Adds those of another worker or interval.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, part)| sum.merge(part));
    }
}

impl<T> Index<Dist> for ByDist<T> {
    type Output = T;

    #[inline]
    fn index(&self, dist: Dist) -> &T {
        &self.0[dist as usize]
    }
}

impl<T> IndexMut<Dist> for ByDist<T> {
    #[inline]
    fn index_mut(&mut self, dist: Dist) -> &mut T {
        &mut self.0[dist as usize]
    }
}
