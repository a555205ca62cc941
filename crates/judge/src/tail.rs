//! Why the slowest requests of a point are slow: what they fell into more often than by chance.
//!
//! In: the slowest requests, one by one, and what both hosts lost between their readings. Out: the
//! causes, each with how many requests it explains, and how many remain.
//!
//! Rules. A request meets a cause when the cause may have taken half of what the request took
//! over the median; it meets a packet that was resent when little was left of it then. Three
//! kinds of causes are looked at: those that are times of a host or of the planned rate, by a
//! permutation test ([`chance`]); the generator's own pauses, by arithmetic of the parts of
//! each request, where the percentile would be another one without them; and one target, one
//! connection or new connections, by counts against their share of all requests. A cause is
//! named when chance would let as many requests meet it in less than 1 % of cases, times the
//! number of causes looked at (Bonferroni), and when it explains a fifth of the requests, above
//! what chance lets meet it. The one that explains most comes first; each of the others must
//! explain a fifth of the requests that are left by those before it. The slowest thousandth is
//! a tenth of the slowest hundredth, too few for a fifth of it: where it has a cause that the
//! hundredth has not, or another first one, the verdict has both.

mod arrivals;
mod chance;

use self::arrivals::bursts;
use self::chance::{Chance, Moment, Times, chance};
use crate::case::Case;
use model::facts::ClockOffset;
use model::punctual::is_moved;
use model::slow::{SlowRequest, Slowest};
use model::tail::{TIMES_MAX, Tail, TailBeyond, TailCause, TailShare, TailUnread};
use model::units::NS_PER_MS;
use observe::{Losses, Span};
use statrs::distribution::{Binomial, DiscreteCDF};
use std::collections::BTreeMap;

/// Fewer requests have no slow end: of a thousand, ten are the slowest hundredth, and each cause
/// must have met two of them at least.
const FEWEST: u64 = 1000;
/// Of fewer kept requests nothing is said: each cause must have met two of them at least.
const FEWEST_KEPT: usize = 10;
/// The sets of slow requests that are looked at, as shares of all, until one has causes. In closed
/// loop a pause delays as many requests as there are connections, which may be far fewer than a
/// hundredth. In open loop the slowest hundredth may all have met the longest pause, and one pause
/// proves nothing.
const SETS: [f64; 3] = [0.01, 0.001, 0.05];
/// Least share of the slow requests that a cause explains above chance, of those that the causes
/// before it leave.
const EXPLAINED_MIN: f64 = 0.2;
/// How unlikely chance must be, over all causes.
const P_MAX: f64 = 0.01;
/// What chance does more often is not even mentioned.
const UNSURE_P_MAX: f64 = 0.5;
/// A more particular cause is named before one that explains more, unless that is by so much more.
const CLEARLY: f64 = 0.1;
/// A clock that may be off by more than half the interval between two readings says nothing about
/// instants, nanoseconds.
const CLOCK_ERROR_MAX_NS: u64 = 50 * NS_PER_MS;

/// The causes that are times of the server's host.
const OF_SERVER: [TailCause; 8] = [
    TailCause::Throttled,
    TailCause::Stolen,
    TailCause::Paused,
    TailCause::Storage,
    TailCause::Memory,
    TailCause::Softirq,
    TailCause::Others,
    TailCause::RunQueue,
];

/// Why the slowest requests of a point are slow; nothing where none were kept.
pub(crate) fn of(case: &Case<'_>) -> Option<Tail> {
    let slowest = case.point.slowest.as_ref()?;
    let unknown = |why: String| Some(Tail { unknown: Some(why), ..Tail::default() });
    if case.point.stopped.is_some() {
        return unknown("the target stopped responding".to_string());
    }
    if slowest.of < FEWEST {
        let of = slowest.of;
        return unknown(format!("only {of} requests were answered: {FEWEST} have a slow end"));
    }
    let latency = case.point.latency_good_ns.as_ref().unwrap_or(&case.point.latency_ns);
    let Some(median_ns) = latency.p50 else {
        return unknown("the median latency is not known".to_string());
    };
    let (times, unreadable) = times_of(case);
    let look = |each: Vec<&SlowRequest>| {
        let moments = moments(&each, median_ns);
        Looking { case, each, times: &times, moments }.tail(slowest)
    };
    let set = |share: &f64| slowest_of(slowest, *share).map(look);
    let [hundredth, rest @ ..] = &SETS;
    let Some(first) = set(hundredth) else {
        return unknown("too few of the slowest requests are known".to_string());
    };
    let has_causes = |tail: &Tail| !tail.causes.is_empty();
    let tail = if has_causes(&first) {
        let [thousandth, _] = rest;
        let beyond = set(thousandth).and_then(|slower| beyond(&first, slower));
        Tail { beyond, ..first }
    } else {
        rest.iter().filter_map(set).find(has_causes).unwrap_or(first)
    };
    Some(Tail { unreadable, ..tail })
}

/// What the slowest of these requests say that all of them do not.
fn beyond(all: &Tail, slower: Tail) -> Option<TailBeyond> {
    let is_known = |share: &TailShare| all.causes.iter().any(|known| known.cause == share.cause);
    let main = |causes: &[TailShare]| causes.first().map(|share| share.cause);
    let is_same = main(&slower.causes) == main(&all.causes) && slower.causes.iter().all(is_known);
    let (at_least_ns, quantile) = (slower.at_least_ns?, slower.quantile?);
    let unexplained = slower.unexplained?;
    let beyond = TailBeyond { at_least_ns, quantile, causes: slower.causes, unexplained };
    Some(beyond).filter(|beyond| !beyond.causes.is_empty() && !is_same)
}

/// The slowest requests that are this share of all, in the order in which they were due; nothing
/// where too few of them are kept, and where all that are kept are fewer than that share.
fn slowest_of(slowest: &Slowest, share: f64) -> Option<Vec<&SlowRequest>> {
    let mut took: Vec<u64> = slowest.each.iter().map(|slow| slow.took_ns).collect();
    took.sort_unstable();
    let known = slowest.requests as f64 / slowest.of as f64;
    // The first set is whatever is known of it. The engine keeps whole requests: 90 of 1809 are
    // all of the slowest twentieth.
    if slowest.requests < (slowest.of as f64 * share) as u64 && share > SETS[0] {
        return None;
    }
    let few = (took.len() as f64 * (share / known).min(1.0)).round() as usize;
    let at_least_ns = *took.get(took.len().saturating_sub(few)).filter(|_| few >= FEWEST_KEPT)?;
    Some(slowest.each.iter().filter(|slow| slow.took_ns >= at_least_ns).collect())
}

/// What each request needs to meet a cause: half of what it took over the median. One of which a
/// packet was resent takes a median after it, and little more: an eighth of what it took above.
fn moments(each: &[&SlowRequest], median_ns: u64) -> Vec<Moment> {
    let moment = |slow: &&SlowRequest| {
        let over_ns = slow.took_ns.saturating_sub(median_ns);
        Moment {
            begin_ns: slow.planned_ns,
            end_ns: slow.ended_ns(),
            need_ns: (over_ns / 2).max(1),
            after_ns: median_ns + over_ns / 8,
        }
    };
    each.iter().map(moment).collect()
}

/// The times at which each cause was at work, from the start of the window, and what was not read.
fn times_of(case: &Case<'_>) -> (Vec<(TailCause, Times)>, Vec<TailUnread>) {
    let far = case.observed.far.as_deref();
    let clock = far.and(case.clock);
    let is_coarse = |clock: &&ClockOffset| clock.error_ns > CLOCK_ERROR_MAX_NS;
    let mut losses = match clock.filter(is_coarse) {
        Some(_) => Losses::new(),
        None => carried(case, &case.far().lost, clock.map_or(0, |clock| clock.offset_ns)),
    };
    losses.extend(bursts(case.point).map(|spans| (TailCause::Arrivals, spans)));
    let unread = |cause: &TailCause| !losses.contains_key(cause);
    let causes: Vec<TailCause> = OF_SERVER.into_iter().filter(unread).collect();
    let why = match (clock.filter(is_coarse), case.server) {
        (Some(clock), _) => format!(
            "the clock of the server's host is known to within {} ms only",
            clock.error_ns / NS_PER_MS
        ),
        (None, None) => {
            "the server was not watched: --server-pid, or a probe on its host, would tell"
                .to_string()
        }
        (None, Some(_)) => {
            "its host does not tell, or was not read twice in the window".to_string()
        }
    };
    let unreadable = if causes.is_empty() { vec![] } else { vec![TailUnread { causes, why }] };
    let times = |(cause, spans)| match cause {
        TailCause::Resent => (cause, Times::of_instants(spans)),
        _ => (cause, Times::new(spans)),
    };
    // Each side resends for its own reasons: what both did may cover most of the time.
    let near = far.map(|_| carried(case, &case.observed.lost, 0)).unwrap_or_default();
    let near = near.into_iter().filter(|(cause, _)| *cause == TailCause::Resent);
    (losses.into_iter().chain(near).map(times).collect(), unreadable)
}

/// Losses in times from the start of the window.
fn carried(case: &Case<'_>, losses: &Losses, offset_ns: i64) -> Losses {
    let begin_ns = case.point.window_ns.0;
    let carry =
        |ns: u64| ns.saturating_add_signed(offset_ns.saturating_neg()).saturating_sub(begin_ns);
    let carry =
        |span: &Span| Span { begin_ns: carry(span.begin_ns), end_ns: carry(span.end_ns), ..*span };
    let each = losses.iter().map(|(cause, spans)| (*cause, spans.iter().map(carry).collect()));
    each.collect()
}

/// The slow requests, and what they may have met.
struct Looking<'a> {
    case: &'a Case<'a>,
    /// In the order in which they were due.
    each: Vec<&'a SlowRequest>,
    times: &'a [(TailCause, Times)],
    moments: Vec<Moment>,
}

/// A cause that explains some of the requests that are left.
struct Found {
    share: TailShare,
    /// Which of all requests met it.
    met: Vec<usize>,
}

impl Found {
    /// Parts of a request are no chance.
    fn is_no_chance(&self) -> bool {
        self.share.p.is_none_or(|p| p < P_MAX)
    }

    fn explained(&self) -> f64 {
        self.share.share - self.share.expected.unwrap_or(0.0)
    }
}

impl Looking<'_> {
    /// The verdict on them; they are some of the slowest.
    fn tail(&self, slowest: &Slowest) -> Tail {
        let (causes, left) = self.causes();
        let kept = self.each.len() as f64;
        let beyond = slowest.requests as f64 / slowest.of as f64;
        Tail {
            at_least_ns: self.each.iter().map(|slow| slow.took_ns).min(),
            quantile: Some(1.0 - beyond * kept / slowest.each.len() as f64),
            unsure: self.unsure(&causes, &left),
            causes,
            unexplained: Some(left.len() as f64 / kept),
            ..Tail::default()
        }
    }

    /// The causes, the one that explains most first, and the requests that they leave.
    fn causes(&self) -> (Vec<TailShare>, Vec<usize>) {
        let mut left: Vec<usize> = (0..self.moments.len()).collect();
        let mut causes: Vec<TailShare> = Vec::new();
        loop {
            let mut best: Option<Found> = None;
            for found in self.others(&causes, &left).filter(Found::is_no_chance) {
                // What the generator did not see says nothing of the server.
                if found.share.cause == TailCause::Generator {
                    best = Some(found);
                    break;
                }
                if best.as_ref().is_none_or(|best| found.explained() > best.explained() + CLEARLY) {
                    best = Some(found);
                }
            }
            let Some(found) = best else {
                // The generator's part is taken out first, and stands where it belongs.
                causes.sort_by(|one, other| other.share.total_cmp(&one.share));
                return (causes, left);
            };
            left.retain(|request| !found.met.contains(request));
            causes.push(found.share);
        }
    }

    /// What explains as much of the requests that are left, and may be chance: the least likely
    /// chance.
    fn unsure(&self, causes: &[TailShare], left: &[usize]) -> Option<TailShare> {
        let p = |share: &TailShare| share.p.filter(|p| *p < UNSURE_P_MAX);
        let unsure = self.others(causes, left).map(|found| found.share);
        // A part of the remainder that may be chance is not worth a word.
        let explained = |share: &TailShare| share.share - share.expected.unwrap_or(0.0);
        let unsure = unsure.filter(|share| p(share).is_some() && explained(share) >= EXPLAINED_MIN);
        unsure.min_by(|one, other| p(one).unwrap_or(1.0).total_cmp(&p(other).unwrap_or(1.0)))
    }

    /// What explains enough of the requests that are left, besides these causes, in their order.
    fn others<'s>(
        &'s self,
        causes: &'s [TailShare],
        left: &'s [usize],
    ) -> impl Iterator<Item = Found> + 's {
        let is_new = |cause: &TailCause| causes.iter().all(|named| named.cause != *cause);
        let new: Vec<TailCause> = TailCause::ALL.into_iter().filter(is_new).collect();
        let found = new.into_iter().filter_map(|cause| self.explained_by(cause, left));
        found.filter(|found| self.is_enough(found.explained(), left))
    }

    /// Whether this share of all requests is worth telling, of those that are left.
    fn is_enough(&self, share: f64, left: &[usize]) -> bool {
        left.len() >= FEWEST_KEPT
            && share * self.moments.len() as f64 >= EXPLAINED_MIN * left.len() as f64
    }

    /// How many causes are looked at.
    fn looked_at(&self) -> f64 {
        let counted = 3;
        SETS.len() as f64 * (self.times.len() + counted) as f64
    }

    /// What a cause explains of the requests that are left.
    fn explained_by(&self, cause: TailCause, left: &[usize]) -> Option<Found> {
        match cause {
            TailCause::Generator => self.of_generator(left),
            TailCause::Target => self.of_target(left),
            TailCause::Connection => self.of_connection(left),
            TailCause::NewConnection => self.of_new_connections(left),
            of_time => self.of_time(of_time, left),
        }
    }

    fn found(&self, cause: TailCause, met: Vec<usize>) -> Found {
        let share = TailShare {
            cause,
            wall: cause.wall().map(|wall| wall.id().to_string()),
            number: None,
            share: met.len() as f64 / self.moments.len().max(1) as f64,
            expected: None,
            events: met.len() as u64,
            p: None,
            times_ns: Vec::new(),
        };
        Found { share, met }
    }

    fn of_time(&self, cause: TailCause, left: &[usize]) -> Option<Found> {
        let times = self.times.iter().filter(|(of, _)| *of == cause).map(|(_, times)| times);
        let found = times.filter_map(|times| self.met(cause, times, left));
        found.max_by(|one, other| one.explained().total_cmp(&other.explained()))
    }

    /// What these times explain of the requests that are left.
    fn met(&self, cause: TailCause, times: &Times, left: &[usize]) -> Option<Found> {
        let meets = |request: &usize| times.meets(&self.moments[*request]);
        let mut found = self.found(cause, left.iter().copied().filter(meets).collect());
        if !self.is_enough(found.share.share, left) {
            return None;
        }
        let moments: Vec<Moment> = left.iter().map(|request| self.moments[*request]).collect();
        let (begin_ns, end_ns) = self.case.point.window_ns;
        let Chance { expected, p } =
            chance(&moments, times, found.met.len(), end_ns.saturating_sub(begin_ns));
        found.share.expected = Some(expected / self.moments.len() as f64);
        found.share.p = Some((p * self.looked_at()).min(1.0));
        let mut met = times.met_by(found.met.iter().map(|request| &self.moments[*request]));
        found.share.events = met.len() as u64;
        met.truncate(TIMES_MAX);
        found.share.times_ns = met;
        Some(found)
    }

    /// The parts of each request say how much of it was the generator's. Pauses that leave the
    /// percentile where it is do not matter, however many of the slowest requests met one. Parts
    /// are no chance, so that a larger set than the first tells nothing more.
    fn of_generator(&self, left: &[usize]) -> Option<Found> {
        let slowest = self.case.point.slowest.as_ref()?;
        let is_own = |request: &usize| self.each[*request].own_ns >= self.moments[*request].need_ns;
        let found = self.found(TailCause::Generator, left.iter().copied().filter(is_own).collect());
        let at_least_ns = self.each.iter().map(|slow| slow.took_ns).min()?;
        let without_ns = if self.each.len() < slowest.each.len() {
            self.without_pauses_ns(slowest)
        } else if slowest.requests as f64 <= SETS[0] * slowest.of as f64 {
            self.slower_by_rank_ns(slowest, found.share.share)
        } else {
            return None;
        };
        is_moved(without_ns.min(at_least_ns), at_least_ns).then_some(found)
    }

    /// Where these requests would begin without the generator's pauses, among all that are kept:
    /// the others took `at_least_ns` at most.
    fn without_pauses_ns(&self, slowest: &Slowest) -> u64 {
        let less = |slow: &SlowRequest| slow.took_ns.saturating_sub(slow.own_ns);
        let mut took: Vec<u64> = slowest.each.iter().map(less).collect();
        took.sort_unstable_by(|one, other| other.cmp(one));
        let last = self.each.len().saturating_sub(1);
        took.get(last).map_or(0, |took_ns| *took_ns).max(slowest.at_least_ns)
    }

    /// Where these requests would begin if this share of them were fast and no others are kept: as
    /// many others would take their place. The least that is known of these.
    fn slower_by_rank_ns(&self, slowest: &Slowest, share: f64) -> u64 {
        let slower = slowest.requests as f64 / slowest.of.max(1) as f64 * (1.0 + share);
        let latency = self.case.point.latency_good_ns.as_ref();
        let latency = latency.unwrap_or(&self.case.point.latency_ns);
        let known = [(0.01, latency.p99), (0.05, latency.p95), (0.1, latency.p90)];
        let by_rank = known.into_iter().find(|(beyond, _)| slower <= *beyond);
        by_rank.and_then(|(_, known_ns)| known_ns).unwrap_or(0)
    }

    /// By counts: those that were `expected` of all requests, against the others; `choices` such
    /// groups were there to choose from.
    fn counted(&self, mut found: Found, of: Counts, left: &[usize]) -> Option<Found> {
        let (all, met) = (left.len() as u64, found.met.len() as u64);
        let expected = of.expected.clamp(0.0, 1.0);
        let above = match met {
            0 => 1.0,
            met => Binomial::new(expected, all).ok()?.sf(met - 1),
        };
        found.share.number = of.number;
        found.share.expected = Some(expected * all as f64 / self.moments.len().max(1) as f64);
        found.share.p = Some((above * of.choices * self.looked_at()).min(1.0));
        Some(found)
    }

    fn of_target(&self, left: &[usize]) -> Option<Found> {
        let targets = &self.case.point.targets;
        let all: u64 = targets.iter().map(|target| target.requests.completed).sum();
        let (number, met) = self.most_of(left, |slow| u64::from(slow.target))?;
        let of = targets.get(number as usize)?.requests.completed;
        let expected = of as f64 / all.max(1) as f64;
        let choices = targets.len() as f64;
        let of = Counts { number: Some(number), expected, choices };
        self.counted(self.found(TailCause::Target, met), of, left)
    }

    /// A connection had at most as many requests as the one with the most.
    fn of_connection(&self, left: &[usize]) -> Option<Found> {
        let (number, met) = self.most_of(left, |slow| slow.connection)?;
        let connections = &self.case.point.connections;
        let expected = connections.requests_each.max? as f64 / self.of();
        let of = Counts { number: Some(number), expected, choices: connections.served as f64 };
        self.counted(self.found(TailCause::Connection, met), of, left)
    }

    /// Every connection of the level has one first request, at most.
    fn of_new_connections(&self, left: &[usize]) -> Option<Found> {
        let connections = &self.case.point.connections;
        let opened = connections.opened + connections.reopened;
        let is_first = |request: &usize| self.each[*request].before == 0;
        let met = left.iter().copied().filter(is_first).collect();
        let expected = opened as f64 / self.of();
        let of = Counts { number: None, expected, choices: 1.0 };
        self.counted(self.found(TailCause::NewConnection, met), of, left)
    }

    /// All requests that these are the slowest of.
    fn of(&self) -> f64 {
        self.case.point.slowest.as_ref().map_or(1.0, |slowest| slowest.of.max(1) as f64)
    }

    /// The group that most of the requests belong to.
    fn most_of(
        &self,
        left: &[usize],
        group: impl Fn(&SlowRequest) -> u64,
    ) -> Option<(u64, Vec<usize>)> {
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for request in left {
            groups.entry(group(self.each[*request])).or_default().push(*request);
        }
        // Of groups of the same size, the first.
        groups.into_iter().rev().max_by_key(|(_, met)| met.len())
    }
}

/// A group of requests: its number, its share of all, and how many groups there are.
struct Counts {
    number: Option<u64>,
    expected: f64,
    choices: f64,
}

#[cfg(test)]
mod tests;
