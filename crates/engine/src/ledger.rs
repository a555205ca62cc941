//! The account of requests: every request sent is later completed, failed or unanswered.
//!
//! Load comes in parts: the warm-up of a level, then its measured window. Each request belongs to
//! the part it was sent in, whenever its response comes. When a level is closed, requests still in
//! flight are written off as unanswered, and a response that comes later is not booked.
//!
//! Hot: runs for every response.

use model::check::Check;
use model::dist::Dist;
use model::tick::{Counters, ErrorClass, Parts, Tick, class_of};
use wire::response::Response;

/// Number of a part of the load; 0 is no part.
pub type Epoch = u32;

/// An open part.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    epoch: Epoch,
    in_flight: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Ledger {
    last_epoch: Epoch,
    warmup: Part,
    window: Part,
    timing: Timing,
}

/// When a request was due and sent, and in which part; requests sent together share it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// When it was due, nanoseconds; in closed loop when it was sent.
    pub planned_ns: u64,
    /// When it was handed to the driver, nanoseconds.
    pub sent_ns: u64,
    /// The part it was sent in.
    pub epoch: Epoch,
}

/// From which instant latency counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Timing {
    /// From the send.
    #[default]
    FromSend,
    /// From the planned instant; service time is recorded too, from the send.
    FromPlan,
}

/// Responses in a row to requests that were sent together; they share one latency.
#[derive(Debug, Clone, Copy)]
pub struct Streak {
    stamp: Stamp,
    /// 1 when the requests are measured, else 0.
    is_measured: u64,
    responses: u64,
    bytes: u64,
}

impl Ledger {
    /// Sets from which instant the latency of the next level counts.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Opens the account of a warm-up.
    pub fn open_warmup(&mut self) {
        self.last_epoch += 1;
        self.warmup = Part { epoch: self.last_epoch, in_flight: 0 };
    }

    /// Opens the account of what is sent outside of windows, if there was no warm-up: users go on
    /// after theirs.
    pub fn open_rest(&mut self) {
        if self.warmup.epoch == 0 {
            self.open_warmup();
        }
    }

    /// Opens the account of a measured window.
    pub fn open_window(&mut self) {
        self.last_epoch += 1;
        self.window = Part { epoch: self.last_epoch, in_flight: 0 };
    }

    /// Closes both accounts at `at_ns`; requests in flight become unanswered.
    pub fn close(&mut self, tick: &mut Tick, at_ns: u64) {
        if self.window.in_flight > 0 {
            tick.fate_ns = at_ns;
        }
        tick.measured.unanswered += self.window.in_flight;
        tick.unmeasured.unanswered += self.warmup.in_flight;
        (self.window, self.warmup) = (Part::default(), Part::default());
    }

    /// Requests of the measured window that are in flight.
    #[inline]
    pub fn window_in_flight(&self) -> u64 {
        self.window.in_flight
    }

    /// Requests of both accounts that are in flight.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.window.in_flight + self.warmup.in_flight
    }

    /// Books requests sent in the warm-up.
    #[inline]
    pub fn send_warmup(&mut self, tick: &mut Tick, count: u64, bytes: u64) -> Epoch {
        self.warmup.in_flight += count;
        tick.unmeasured.sent += count;
        tick.unmeasured.bytes_sent += bytes;
        self.warmup.epoch
    }

    /// Books requests sent in the measured window.
    #[inline]
    pub fn send_measured(&mut self, tick: &mut Tick, count: u64, bytes: u64) -> Epoch {
        self.window.in_flight += count;
        tick.measured.sent += count;
        tick.measured.bytes_sent += bytes;
        self.window.epoch
    }

    /// The counters of a part, while its level goes on.
    pub fn counters<'a>(&self, tick: &'a mut Tick, epoch: Epoch) -> Option<&'a mut Counters> {
        match epoch {
            _ if !self.is_open(epoch) => None,
            _ if self.is_window(epoch) => Some(&mut tick.measured),
            _ => Some(&mut tick.unmeasured),
        }
    }

    /// Takes requests out of flight and returns the counters they belong to, if any.
    #[inline]
    fn land<'a>(
        &mut self,
        tick: &'a mut Tick,
        epoch: Epoch,
        count: u64,
    ) -> Option<&'a mut Counters> {
        if epoch == 0 {
            None
        } else if epoch == self.window.epoch {
            self.window.in_flight -= count;
            Some(&mut tick.measured)
        } else if epoch == self.warmup.epoch {
            self.warmup.in_flight -= count;
            Some(&mut tick.unmeasured)
        } else {
            None
        }
    }

    /// Whether a part is the measured window.
    #[inline]
    pub fn is_window(&self, epoch: Epoch) -> bool {
        epoch == self.window.epoch && epoch != 0
    }

    /// Whether requests of a part are booked: its level is not over.
    #[inline]
    pub fn is_open(&self, epoch: Epoch) -> bool {
        epoch != 0 && (epoch == self.window.epoch || epoch == self.warmup.epoch)
    }

    /// Books requests that failed without a response; `at_ns` is when that was known.
    pub fn fail(
        &mut self,
        tick: &mut Tick,
        at_ns: u64,
        epoch: Epoch,
        class: ErrorClass,
        count: u64,
    ) {
        self.note_fate(tick, at_ns, epoch);
        if let Some(counters) = self.land(tick, epoch, count) {
            counters.failed += count;
            counters.errors.add(class, count);
        }
    }

    /// Notes when the outcome of a measured request was known: a window with a budget ends with the
    /// last.
    #[inline]
    fn note_fate(&self, tick: &mut Tick, at_ns: u64, epoch: Epoch) {
        if self.is_window(epoch) {
            tick.fate_ns = at_ns;
        }
    }

    /// Starts a streak of responses to requests with this stamp.
    #[inline]
    pub fn streak(&self, stamp: Stamp) -> Streak {
        let is_measured = u64::from(self.is_window(stamp.epoch));
        Streak { stamp, is_measured, responses: 0, bytes: 0 }
    }

    /// Books one good response with status 200. They gather in `streak` until [`Ledger::settle`].
    /// Returns 1 when it answers a measured request, else 0.
    #[inline]
    pub fn ok(&mut self, streak: &mut Streak, response: Response) -> u64 {
        streak.responses += 1;
        streak.bytes += response.bytes;
        streak.is_measured
    }

    /// Books one good response with any status. Returns 1 when it answers a measured request, else
    /// 0.
    pub fn good(&mut self, tick: &mut Tick, at_ns: u64, stamp: Stamp, response: Response) -> u64 {
        let streak = self.streak(stamp);
        let one = Streak { responses: 1, bytes: response.bytes, ..streak };
        tick.codes.add(response.status, streak.is_measured);
        self.settle_as(tick, one, at_ns, response.status);
        streak.is_measured
    }

    /// Books one response that failed `check`, or failed by its status when `check` is `None`.
    /// Returns 1 when it answers a measured request, else 0.
    pub fn bad(
        &mut self,
        tick: &mut Tick,
        at_ns: u64,
        epoch: Epoch,
        response: Response,
        check: Option<Check>,
    ) -> u64 {
        let is_measured = self.is_window(epoch);
        if is_measured {
            tick.fate_ns = at_ns;
            tick.codes.add(response.status, 1);
            tick.error_codes.add(response.status, u64::from(check.is_none()));
        }
        if let Some(counters) = self.land(tick, epoch, 1) {
            counters.failed += 1;
            counters.status[class_of(response.status)] += 1;
            counters.bytes_received += response.bytes;
            if let Some(check) = check {
                counters.mismatches.add(check, 1);
            }
        }
        u64::from(is_measured)
    }

    /// Books what complete responses to requests of a part consist of.
    #[inline]
    pub fn consist(&self, tick: &mut Tick, epoch: Epoch, parts: &Parts) {
        if self.is_window(epoch) {
            tick.measured.parts += parts;
        } else if self.is_open(epoch) {
            tick.unmeasured.parts += parts;
        }
    }

    /// Books the good responses gathered so far, which were complete at `at_ns`.
    #[inline]
    pub fn settle(&mut self, tick: &mut Tick, streak: Streak, at_ns: u64) {
        if streak.responses > 0 {
            self.settle_as(tick, streak, at_ns, 200);
        }
    }

    #[inline]
    fn settle_as(&mut self, tick: &mut Tick, streak: Streak, at_ns: u64, status: u16) {
        let Streak { stamp, responses, bytes, .. } = streak;
        if self.is_window(stamp.epoch) {
            tick.histograms[Dist::Latency]
                .record_n(at_ns.saturating_sub(stamp.planned_ns), responses);
            if self.timing == Timing::FromPlan {
                tick.histograms[Dist::Service]
                    .record_n(at_ns.saturating_sub(stamp.sent_ns), responses);
            }
            tick.fate_ns = at_ns;
        } else if stamp.epoch == self.warmup.epoch && stamp.epoch != 0 {
            let took_ns = at_ns.saturating_sub(stamp.sent_ns);
            let fastest_ns = tick.warmup_fastest_ns.unwrap_or(took_ns).min(took_ns);
            tick.warmup_fastest_ns = Some(fastest_ns);
        }
        if let Some(counters) = self.land(tick, stamp.epoch, responses) {
            counters.completed += responses;
            counters.status[class_of(status)] += responses;
            counters.bytes_received += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Response = Response { status: 200, bytes: 100, reusable: true };
    const BAD: Response = Response { status: 503, bytes: 50, reusable: true };

    fn at(sent_ns: u64, epoch: Epoch) -> Stamp {
        Stamp { planned_ns: sent_ns, sent_ns, epoch }
    }

    /// Books one response by itself.
    fn book(
        ledger: &mut Ledger,
        tick: &mut Tick,
        at_ns: u64,
        stamp: Stamp,
        response: Response,
    ) -> u64 {
        let mut streak = ledger.streak(stamp);
        let measured = match response.status {
            200 => ledger.ok(&mut streak, response),
            ..400 => ledger.good(tick, at_ns, stamp, response),
            _ => ledger.bad(tick, at_ns, stamp.epoch, response, None),
        };
        ledger.settle(tick, streak, at_ns);
        measured
    }

    #[test]
    fn each_request_is_booked_where_it_was_sent() {
        let (mut ledger, mut tick): (Ledger, Tick) = Default::default();
        ledger.open_warmup();
        let warm = ledger.send_warmup(&mut tick, 3, 30);
        ledger.open_window();
        let measured = ledger.send_measured(&mut tick, 4, 40);
        assert_eq!((ledger.in_flight(), ledger.window_in_flight()), (7, 4));

        assert_eq!(book(&mut ledger, &mut tick, 9, at(1, warm), GOOD), 0);
        assert_eq!(book(&mut ledger, &mut tick, 9, at(5, measured), GOOD), 1);
        assert_eq!(book(&mut ledger, &mut tick, 9, at(5, measured), BAD), 1);
        ledger.fail(&mut tick, 9, measured, ErrorClass::Reset, 1);
        ledger.close(&mut tick, 9);

        let (window, warmup) = (tick.measured, tick.unmeasured);
        let fates = |counters: Counters| (counters.completed, counters.failed, counters.unanswered);
        assert_eq!((window.sent, fates(window)), (4, (1, 2, 1)));
        assert_eq!((warmup.sent, fates(warmup)), (3, (1, 0, 2)));
        assert_eq!((window.status, window.bytes_received), ([1, 0, 0, 1], 150));
        assert_eq!(
            (
                tick.histograms[Dist::Latency].count(),
                tick.histograms[Dist::Latency].quantile_ns(0.5)
            ),
            (1, Some(4))
        );
    }

    #[test]
    fn the_fastest_request_of_a_warmup_is_kept() {
        let (mut ledger, mut tick): (Ledger, Tick) = Default::default();
        ledger.open_warmup();
        let warm = ledger.send_warmup(&mut tick, 3, 30);
        ledger.open_window();
        let measured = ledger.send_measured(&mut tick, 1, 10);
        book(&mut ledger, &mut tick, 9, at(1, warm), BAD);
        assert_eq!(tick.warmup_fastest_ns, None, "a bad response takes no time");
        for sent_ns in [3, 5] {
            book(&mut ledger, &mut tick, 10, at(sent_ns, warm), GOOD);
        }
        book(&mut ledger, &mut tick, 10, at(8, measured), GOOD);
        assert_eq!(tick.warmup_fastest_ns, Some(5));
    }

    #[test]
    fn from_the_plan_both_times_are_kept() {
        let (mut ledger, mut tick): (Ledger, Tick) = Default::default();
        ledger.set_timing(Timing::FromPlan);
        ledger.open_window();
        let epoch = ledger.send_measured(&mut tick, 2, 20);
        for planned_ns in [100, 300] {
            let stamp = Stamp { planned_ns, sent_ns: 400, epoch };
            book(&mut ledger, &mut tick, 1000, stamp, GOOD);
        }
        let latency = tick.histograms[Dist::Latency].summary(0);
        assert_eq!((latency.count, latency.min, latency.max), (2, Some(700), Some(900)));
        let service = tick.histograms[Dist::Service].summary(0);
        assert_eq!((service.count, service.min, service.max), (2, Some(600), Some(600)));
    }

    #[test]
    fn a_response_after_the_close_is_booked_nowhere() {
        let (mut ledger, mut tick): (Ledger, Tick) = Default::default();
        ledger.open_window();
        let epoch = ledger.send_measured(&mut tick, 1, 10);
        ledger.close(&mut tick, 9);
        let before = tick.measured;
        assert_eq!(book(&mut ledger, &mut tick, 9, at(1, epoch), GOOD), 0);
        ledger.fail(&mut tick, 9, epoch, ErrorClass::Reset, 1);
        assert_eq!((tick.measured, tick.histograms[Dist::Latency].count()), (before, 0));
    }

    #[test]
    fn every_fate_of_a_measured_request_is_noted_when_it_is_known() {
        let (mut ledger, mut tick): (Ledger, Tick) = Default::default();
        ledger.open_warmup();
        let warm = ledger.send_warmup(&mut tick, 2, 20);
        ledger.open_window();
        let epoch = ledger.send_measured(&mut tick, 5, 50);
        book(&mut ledger, &mut tick, 10, at(1, epoch), GOOD);
        assert_eq!(tick.fate_ns, 10);
        book(&mut ledger, &mut tick, 20, at(1, epoch), BAD);
        assert_eq!(tick.fate_ns, 20, "an error status is a fate");
        ledger.bad(&mut tick, 30, epoch, GOOD, Some(Check::Body));
        assert_eq!(tick.fate_ns, 30, "a failed check is one");
        ledger.fail(&mut tick, 40, epoch, ErrorClass::Timeout, 1);
        assert_eq!(tick.fate_ns, 40, "no response in time is one");
        ledger.fail(&mut tick, 50, warm, ErrorClass::Timeout, 1);
        book(&mut ledger, &mut tick, 50, at(1, warm), BAD);
        assert_eq!(tick.fate_ns, 40, "requests of the warm-up do not count");
        ledger.close(&mut tick, 60);
        assert_eq!((tick.fate_ns, tick.measured.unanswered), (60, 1), "nor any response at all");
    }
}
