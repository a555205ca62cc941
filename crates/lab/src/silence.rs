//! A target that takes requests and sends nothing any more.
//!
//! A hung or stopped process refuses nothing: its kernel goes on to accept connections and
//! requests. What tells is what never comes. The target counts as stopped when no byte came from
//! some instant on until the level was over, although requests were due and waited. Slow requests
//! alone do not look like that:
//! - The silence lasted for as long as the time-out of a request, to a tick.
//! - While requests were still due it lasted for over twice the longest silence that ended before,
//!   so neither a stall of the usual length nor a server with few responses is enough; or in all
//!   for over thirty times that, where it began as the last requests were sent.
//! - It is improbable that all requests that waited were merely slow. The share of time-outs before
//!   it, by the rule of succession, is the chance that one request is; a silence as many times
//!   longer than the longest before is as many times less probable, as in a tail of 1/x.
//!
//! In: ticks, and when the load of a level began. Out: the instant, if the target stopped.
//! Never: a verdict while bytes may still come, or about a target that never sent any.

use model::lost::Stopped;
use model::tick::{ErrorClass, Tick};

/// Ticks are this long: a silence is not known better, nanoseconds.
const TICK_NS: u64 = 100_000_000;
/// The silence must be this many times as long as any before, while requests are due.
const LONGER: u64 = 2;
/// And this many times where hardly any was due in it: the end of a pause would not have been seen.
const MUCH_LONGER: u64 = 30;
/// The largest chance that requests were slow and the target had not stopped.
const CHANCE_MAX: f64 = 0.01;
/// Without an end by the clock, a level ends when nothing came for so many time-outs.
const TIMEOUTS: u64 = 3;

/// What came, over the levels of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silence {
    /// Responses so far, of all levels.
    responses: u64,
    /// Requests that timed out before the present silence.
    timed_out: u64,
    /// Requests that timed out or were unanswered in it.
    waited: u64,
    /// When it began: the end of the last tick with bytes, or the start of the level's load.
    since_ns: Option<u64>,
    /// The longest that ended, nanoseconds.
    longest_ns: u64,
}

impl Silence {
    /// The load of a level begins.
    pub fn begin(&mut self, at_ns: u64) {
        self.since_ns.get_or_insert(at_ns);
    }

    /// A level is ordered: nothing is in flight.
    pub fn begin_level(&mut self) {
        (self.since_ns, self.waited) = (None, 0);
    }

    /// Adds a tick of the level.
    pub fn add(&mut self, tick: &Tick) {
        let both = [&tick.measured, &tick.unmeasured];
        self.responses += both.map(|counters| counters.responses()).iter().sum::<u64>();
        let lost =
            both.map(|counters| counters.errors.get(ErrorClass::Timeout) + counters.unanswered);
        self.waited += lost.iter().sum::<u64>();
        if tick.accounting.socket_bytes == 0 {
            return;
        }
        self.timed_out += std::mem::take(&mut self.waited);
        let since_ns = self.since_ns.get_or_insert(tick.begin_ns);
        self.longest_ns = self.longest_ns.max(tick.begin_ns.saturating_sub(*since_ns));
        *since_ns = tick.end_ns.max(*since_ns);
    }

    /// Whether bytes came at or after an instant.
    pub fn was_broken_since(&self, at_ns: u64) -> bool {
        self.since_ns.is_some_and(|since_ns| since_ns >= at_ns)
    }

    /// Whether a level that no clock ends should end, because nothing came for long.
    pub fn is_endless(&self, now_ns: u64, timeout_ns: u64) -> bool {
        let lasted_ns = self.lasted_ns(now_ns);
        lasted_ns > TIMEOUTS * timeout_ns && self.is_long(lasted_ns) && self.is_improbable(now_ns)
    }

    /// The target stopped responding, in a level whose requests were due until `due_until_ns` and
    /// which ended at `end_ns`.
    pub fn stopped(&self, due_until_ns: u64, end_ns: u64, timeout_ns: u64) -> Option<Stopped> {
        let since_ns = self.since_ns?;
        // It began in the tick before, when the first of these requests may have been sent.
        let is_stopped = self.lasted_ns(end_ns) + TICK_NS >= timeout_ns
            && (self.is_long(self.lasted_ns(due_until_ns.min(end_ns)))
                || self.lasted_ns(end_ns) > MUCH_LONGER * (self.longest_ns + TICK_NS))
            && self.is_improbable(end_ns);
        let silent_s = self.lasted_ns(end_ns) as f64 / 1e9;
        is_stopped.then_some(Stopped { at_ns: since_ns, silent_s, waited: self.waited })
    }

    fn lasted_ns(&self, until_ns: u64) -> u64 {
        self.since_ns.map_or(0, |since_ns| until_ns.saturating_sub(since_ns))
    }

    /// Whether a silence is longer than those before, as far as ticks can tell.
    fn is_long(&self, lasted_ns: u64) -> bool {
        lasted_ns > LONGER * (self.longest_ns + TICK_NS) + TICK_NS
    }

    /// Whether all requests that waited until now were hardly slow by chance.
    fn is_improbable(&self, now_ns: u64) -> bool {
        if self.responses == 0 || self.waited == 0 {
            return false;
        }
        let fates = self.responses + self.timed_out;
        let share = (self.timed_out + 1) as f64 / (fates + 2) as f64;
        let longer = (self.longest_ns + TICK_NS) as f64 / self.lasted_ns(now_ns).max(1) as f64;
        share.powf(self.waited as f64) * longer.min(1.0) < CHANCE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tick::Counters;

    const S: u64 = 1_000_000_000;

    /// One tick of a worker that ends at this tenth of a second.
    fn tick(tenth: u64, responses: u64, timed_out: u64) -> Tick {
        let mut measured = Counters { status: [responses, 0, 0, 0], ..Counters::default() };
        measured.errors.add(ErrorClass::Timeout, timed_out);
        let (begin_ns, end_ns) = ((tenth - 1) * TICK_NS, tenth * TICK_NS);
        let mut tick = Tick { begin_ns, end_ns, measured, ..Tick::default() };
        tick.accounting.socket_bytes = 100 * responses;
        tick
    }

    /// Responses in each tenth of a second, then requests that never get one.
    fn after(tenths: &[u64], waited: u64) -> Silence {
        let mut silence = Silence::default();
        silence.begin(0);
        for (tenth, responses) in (1..).zip(tenths) {
            silence.add(&tick(tenth, *responses, 0));
        }
        silence.add(&tick(tenths.len() as u64 + 1, 0, waited));
        silence
    }

    #[test]
    fn silence_after_a_steady_flow_is_a_stop_and_its_instant_is_known() {
        let stopped = after(&[10; 20], 4).stopped(4 * S, 5 * S, S).expect("it stopped");
        assert_eq!((stopped.at_ns, stopped.silent_s, stopped.waited), (2 * S, 3.0, 4));
        assert_eq!(after(&[1000; 20], 1).stopped(4 * S, 5 * S, S).map(|one| one.waited), Some(1));
    }

    #[test]
    fn a_target_that_is_merely_slow_has_not_stopped() {
        let holds = |silence: Silence, due_until_ns, end_ns, timeout_ns| {
            silence.stopped(due_until_ns, end_ns, timeout_ns).is_none()
        };
        assert!(holds(after(&[10; 20], 0), 4 * S, 5 * S, S), "nothing waited");
        assert!(holds(after(&[10; 20], 4), 4 * S, 5 * S, 4 * S), "not longer than its time-out");
        assert!(holds(after(&[10; 20], 4), 2 * S, 5 * S, S), "nothing else was due any more");
        assert!(!holds(after(&[10; 20], 4), 2 * S, 6 * S, S), "and yet it is too long");
        assert!(holds(after(&[0; 20], 400), 4 * S, 5 * S, S), "it never sent anything");
        let mut stalls = [10; 20];
        stalls[5..15].fill(0);
        assert!(holds(after(&stalls, 4), 4 * S, 5 * S, S), "it stalled for half as long before");
        // One connection, and half of its requests time out after a second.
        let mut slow = Silence::default();
        slow.begin(0);
        for round in 0..3 {
            slow.add(&tick(20 * round + 9, 1, 0));
            slow.add(&tick(20 * round + 20, 0, 1));
        }
        slow.add(&tick(70, 0, 2));
        assert!(holds(slow, 7 * S, 8 * S, S), "{slow:?}");
    }

    #[test]
    fn levels_before_count_as_responses_and_the_pause_between_them_as_no_silence() {
        let mut silence = after(&[10; 20], 0);
        silence.begin_level();
        assert_eq!(silence.stopped(9 * S, 9 * S, S), None, "no load yet");
        silence.begin(8 * S);
        silence.add(&tick(90, 0, 4));
        let stopped = silence.stopped(10 * S, 11 * S, S).expect("nothing came in this level");
        assert_eq!((stopped.at_ns, stopped.silent_s), (8 * S, 3.0));
        assert!(!silence.is_endless(10 * S, S) && silence.is_endless(12 * S, S));
    }

    #[test]
    fn a_silence_of_one_time_out_is_known_to_a_tick() {
        let silence = after(&[10; 20], 4);
        assert!(silence.stopped(5 * S, 12 * S - TICK_NS, 10 * S).is_some());
        assert!(silence.stopped(5 * S, 12 * S - TICK_NS - 1, 10 * S).is_none());
    }
}
