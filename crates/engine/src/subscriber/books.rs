//! Books the events of a stream as they arrive.
//!
//! For: counting events where they arrive, and keeping what they say about delivery.
//! In: heads and events, from a session. Out: the counters of the tick and the numbers of one
//! subscription.
//! Never: connections, or a clock: the time of arrival is an argument.
//!
//! Hot: runs for every event.

use super::Stage;
use model::dist::Dist;
use model::fanout::Subscription;
use model::tick::Tick;
use wire::session::{StreamEvent, Witness};

/// Where the events of a stream are booked.
pub(super) struct Books<'a> {
    pub tick: &'a mut Tick,
    pub is_stream: &'a mut bool,
    pub last: &'a mut Option<u64>,
    pub seen: &'a mut Subscription,
    pub stage: Stage,
    /// Highest number of the stream in the window, among the subscribers of this worker.
    pub highest: u64,
    /// On the clock that stamps events.
    pub arrival_ns: Option<u64>,
}

impl Witness for Books<'_> {
    fn head(&mut self, status: u16) {
        *self.is_stream = status == 200;
        self.tick.events.refused += u64::from(status != 200);
    }

    #[inline]
    fn event(&mut self, event: StreamEvent) {
        // Servers count from 1; 0 must remain for what is before the first event.
        let event = StreamEvent { seq: event.seq.filter(|seq| *seq > 0), ..event };
        let is_new = event.seq.is_none_or(|seq| self.last.is_none_or(|last| seq > last));
        match self.stage {
            Stage::Measure { .. } => self.measure(event, is_new),
            Stage::Drain { .. } => {
                if let Some(seq) = event.seq.filter(|_| is_new) {
                    if seq <= self.highest {
                        self.seen.late += 1;
                    } else {
                        if self.seen.later == 0 {
                            self.seen.later_first = seq;
                        }
                        self.seen.later += 1;
                    }
                }
                self.tick.unmeasured.completed += 1;
            }
            Stage::Rest | Stage::Report => self.tick.unmeasured.completed += 1,
        }
        if is_new && event.seq.is_some() {
            *self.last = event.seq;
        }
    }
}

impl Books<'_> {
    #[inline]
    fn measure(&mut self, event: StreamEvent, is_new: bool) {
        self.tick.measured.completed += 1;
        let events = &mut self.tick.events;
        if let Some(seq) = event.seq {
            events.numbered += 1;
            if is_new {
                self.seen.before = self.seen.before.or(Some(seq - 1));
                self.seen.received += 1;
                self.seen.highest = Some(seq);
            } else {
                events.repeated += 1;
            }
        }
        if let Some(at_ns) = event.at_ns {
            events.stamped += 1;
            match self.arrival_ns.map(|arrival_ns| arrival_ns.checked_sub(at_ns)) {
                Some(Some(staleness_ns)) => {
                    self.tick.histograms[Dist::Latency].record_n(staleness_ns, 1)
                }
                Some(None) => events.early += 1,
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::http1::Http1;
    use wire::session::Session;

    /// However the body ends: with the connection, no response is complete before that.
    #[test]
    fn every_head_of_another_status_is_a_refusal() {
        for (text, refused) in [
            ("HTTP/1.1 503 Full\r\nContent-Length: 4\r\n\r\nbusy", 1),
            ("HTTP/1.1 503 Full\r\nConnection: close\r\n\r\nbusy", 1),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0),
        ] {
            let (mut tick, mut is_stream, mut last) = (Tick::default(), false, None);
            let mut seen = Subscription::default();
            let mut books = Books {
                tick: &mut tick,
                is_stream: &mut is_stream,
                last: &mut last,
                seen: &mut seen,
                stage: Stage::Rest,
                highest: 0,
                arrival_ns: None,
            };
            let (mut session, mut memory) = (Http1::new(), <Http1 as Session>::Memory::default());
            let expect = wire::response::Expect::Body;
            session.receive(&mut text.as_bytes(), expect, &mut memory, &mut books).unwrap();
            assert_eq!((tick.events.refused, is_stream), (refused, refused == 0), "{text}");
        }
    }
}
