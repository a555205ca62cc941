//! The slowest requests of a measured window, each by itself.
//!
//! For: what the engine passes on about such a request, and what a record keeps of it.
//! In: the instants of requests. Out: when each was due, sent and over, where, and how.
//! Never: requests whose response had a bad status or failed a check: they have no latency.

use serde::{Deserialize, Serialize};

/// Requests that a worker keeps, at most: a hundredth of 100 000, a twentieth of 20 000.
pub const SLOW_MAX: usize = 1024;
/// Requests that a record keeps of a point, at most.
pub const KEPT_MAX: usize = 512;
/// They are the slowest of so many: in open loop, the slowest hundredth may all have waited for the
/// same pause, the longest.
pub const ONE_OF: u64 = 20;

/// How a slow request ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowEnd {
    /// With a good response.
    #[default]
    Answered,
    /// It timed out.
    TimedOut,
    /// It had no response when the drain ended.
    Unanswered,
}

/// A slow request, as a worker saw it; instants are monotonic nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slow {
    /// When it was due; in closed loop when it was sent.
    pub planned_ns: u64,
    /// When it was first sent.
    pub sent_ns: u64,
    /// When its response was complete, or when it was given up.
    pub ended_ns: u64,
    /// For how much of the time in between its worker is known not to have looked at its
    /// connections, nanoseconds; pauses of up to 1 ms do not count.
    pub own_ns: u64,
    /// Number of its connection among all of the load.
    pub connection: u64,
    /// Responses that the connection had before, since it was opened.
    pub before: u64,
    /// Target of a mix, from 0.
    pub target: u32,
    /// How it ended.
    pub end: SlowEnd,
}

impl Slow {
    /// How long it took, or has taken so far, nanoseconds.
    #[inline]
    pub fn took_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.planned_ns)
    }
}

/// The slow end of the latencies of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Slowest {
    /// Requests of the window that had a good response, timed out, or had no response in the end.
    pub of: u64,
    /// How many of them are meant: at most a twentieth, the slowest.
    pub requests: u64,
    /// Each of these took at least so long, and all others at most, nanoseconds.
    pub at_least_ns: u64,
    /// Up to [`KEPT_MAX`] of these in the order in which they were due: where there are more, as
    /// many are left out between any two of them.
    pub each: Vec<SlowRequest>,
}

/// One slow request; instants count from the start of the window. A record has it as a line of
/// numbers in the order of these fields, without zeros at the end: `5000 7000 3 17` was due 5 us
/// after the start of the window, took 7 us, and was the eighteenth on the fourth connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SlowRequest {
    /// When it was due; in closed loop when it was sent.
    pub planned_ns: u64,
    /// From when it was due until its response was complete, or until it was given up, nanoseconds.
    pub took_ns: u64,
    /// Number of its connection, from 0.
    pub connection: u64,
    /// Responses that the connection had before, since it was opened.
    pub before: u64,
    /// From when it was due until it was sent, nanoseconds.
    pub send_delay_ns: u64,
    /// For how much of the time it took the generator is known not to have looked at its
    /// connection, nanoseconds; pauses of up to 1 ms count as zero. It is a lower bound: when a
    /// pause inside a sleep began is not known.
    pub own_ns: u64,
    /// Target of a mix, from 0.
    pub target: u32,
    /// How it ended: 0 answered, 1 timed out, 2 unanswered.
    pub end: SlowEnd,
}

impl From<SlowRequest> for String {
    fn from(slow: SlowRequest) -> Self {
        let SlowRequest { planned_ns, took_ns, connection, before, send_delay_ns, own_ns, .. } =
            slow;
        let (target, end) = (u64::from(slow.target), slow.end as u64);
        let all = [planned_ns, took_ns, connection, before, send_delay_ns, own_ns, target, end];
        let last = all.iter().rposition(|number| *number != 0).unwrap_or(0);
        all[..=last].iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
    }
}

impl TryFrom<String> for SlowRequest {
    type Error = String;

    fn try_from(line: String) -> Result<Self, String> {
        let wrong = || format!("'{line}' is no slow request: up to eight numbers");
        let mut words = line.split(' ');
        let mut next =
            || words.next().map_or(Ok(0), |word| word.parse::<u64>().map_err(|_| wrong()));
        let slow = Self {
            planned_ns: next()?,
            took_ns: next()?,
            connection: next()?,
            before: next()?,
            send_delay_ns: next()?,
            own_ns: next()?,
            target: u32::try_from(next()?).map_err(|_| wrong())?,
            end: match next()? {
                0 => SlowEnd::Answered,
                1 => SlowEnd::TimedOut,
                2 => SlowEnd::Unanswered,
                _ => return Err(wrong()),
            },
        };
        words.next().map_or(Ok(slow), |_| Err(wrong()))
    }
}

impl SlowRequest {
    /// When its response was complete, or when it was given up.
    pub fn ended_ns(&self) -> u64 {
        self.planned_ns.saturating_add(self.took_ns)
    }
}

impl Slowest {
    /// The slow end, from what the workers kept. Requests that took as long as `all_above_ns` or
    /// less may be missing there. `of` requests have a latency, or have waited so long that they
    /// count; none where too few are known to say anything.
    pub fn of(kept: &[Slow], all_above_ns: u64, of: u64, window_begin_ns: u64) -> Option<Self> {
        let mut slow: Vec<&Slow> =
            kept.iter().filter(|slow| slow.took_ns() > all_above_ns).collect();
        slow.sort_unstable_by_key(|slow| std::cmp::Reverse(slow.took_ns()));
        slow.truncate(usize::try_from(of / ONE_OF).unwrap_or(usize::MAX));
        let at_least_ns = slow.last()?.took_ns();
        let requests = slow.len();
        slow.sort_unstable_by_key(|slow| (slow.planned_ns, slow.connection, slow.before));
        let kept = requests.min(KEPT_MAX);
        // The middle one of each of `kept` equal parts.
        let each = (0..kept).map(|nth| slow[(2 * nth + 1) * requests / (2 * kept)]);
        let request = |slow: &Slow| SlowRequest {
            planned_ns: slow.planned_ns.saturating_sub(window_begin_ns),
            send_delay_ns: slow.sent_ns.saturating_sub(slow.planned_ns),
            took_ns: slow.took_ns(),
            own_ns: slow.own_ns,
            connection: slow.connection,
            before: slow.before,
            target: slow.target,
            end: slow.end,
        };
        let each = each.map(request).collect();
        Some(Self { of, requests: requests as u64, at_least_ns, each })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(planned_ns: u64, took_ns: u64) -> Slow {
        let (sent_ns, ended_ns) = (planned_ns + 1, planned_ns + took_ns);
        Slow { planned_ns, sent_ns, ended_ns, ..Slow::default() }
    }

    #[test]
    fn it_is_a_twentieth_and_what_may_be_missing_is_not_in_it() {
        let kept: Vec<Slow> = (0..100).map(|nth| slow(1000 + 5 * nth, 500 - nth)).collect();
        let of = |all_above_ns, of| Slowest::of(&kept, all_above_ns, of, 1000);
        let ten = of(0, 219).unwrap();
        assert_eq!((ten.requests, ten.at_least_ns, ten.each.len()), (10, 491, 10));
        assert_eq!((ten.each[1].planned_ns, ten.each[1].send_delay_ns), (5, 1));
        assert_eq!(of(495, 200).unwrap().requests, 5, "others took 495 too, and were not kept");
        assert_eq!(of(500, 200), None);
        assert_eq!(of(0, 19), None);
    }

    #[test]
    fn a_record_keeps_some_spread_over_the_whole_window() {
        let kept: Vec<Slow> = (0..5120).rev().map(|nth| slow(10 * nth, 7 + nth % 3)).collect();
        let all = Slowest::of(&kept, 0, 102_400, 0).unwrap();
        assert_eq!((all.requests, all.each.len()), (5120, KEPT_MAX));
        let first: Vec<u64> = all.each[..3].iter().map(|one| one.planned_ns).collect();
        assert_eq!((first, all.each[511].planned_ns), (vec![50, 150, 250], 51_150));
    }

    #[test]
    fn a_record_says_little_about_an_ordinary_one() {
        let one = SlowRequest { planned_ns: 5, took_ns: 7, connection: 3, ..Default::default() };
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(text, r#""5 7 3""#);
        let read = |text: &str| serde_json::from_str::<SlowRequest>(text);
        assert_eq!(read(&text).unwrap(), one);
        let late = SlowRequest { own_ns: 9, target: 2, end: SlowEnd::Unanswered, ..one };
        let text = serde_json::to_string(&late).unwrap();
        assert_eq!((text.as_str(), read(&text).unwrap()), (r#""5 7 3 0 0 9 2 2""#, late));
        for wrong in ["", "5 x", "5  7", "1 2 3 4 5 6 7 3", "1 2 3 4 5 6 7 0 0", "-1", "5 7 "] {
            assert!(read(&format!("\"{wrong}\"")).is_err(), "{wrong}");
        }
    }
}
