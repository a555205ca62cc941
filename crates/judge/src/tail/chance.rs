//! How many slow requests meet a cause, and how many would if they came at other times.
//!
//! Requests that are close in time are one cluster: what made one slow may have made all of them
//! slow. By chance, clusters are where they are for a reason of their own. So the null hypothesis
//! keeps each cluster whole and the distances between them as they are, draws the order of the
//! clusters and that of the distances, and lets all of it begin at any instant of the window, which
//! is a circle. Slow requests that come at a regular beat keep that beat, so two beats that agree
//! by chance are no evidence; a cause that is always at work is met as often by chance.
//!
//! Source: Davison and Hinkley, Bootstrap Methods and their Application, sections 4.3 and 8.2;
//! Gruen, Data-driven significance estimation for precise spike correlation (2009), on shuffling
//! the distances of events.

use model::random::Random;
use observe::Span;

/// How often the null hypothesis is drawn: the least p is 1 / 5001, and 14 causes may be looked at
/// in three sets of requests, so that a cause can be as unlikely as 0.008.
const DRAWS: u32 = 5000;
/// After so many draws it is over when as many requests met the cause in several of them: it cannot
/// become as unlikely as it must be.
const DRAWS_MIN: u32 = 400;
const SEVERAL: u32 = 4;
/// Requests closer than this belong to one cluster, nanoseconds: the interval between readings of
/// control groups and network counters. Closer ones may meet the same reading.
const CLOSE_NS: u64 = 200_000_000;
/// A cluster is cut where it is longer than this part of the window: a whole window of slow
/// requests would be one, and no draw would move it.
const CUT: u64 = 8;

/// A slow request; instants count from the start of the window, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// When it was due.
    pub begin_ns: u64,
    /// When it was over.
    pub end_ns: u64,
    /// It meets what took at least so much of its time; at least 1.
    pub need_ns: u64,
    /// For how long it was still under way at most after an instant that ended its wait.
    pub after_ns: u64,
}

/// The spans of one cause, in time order, from the start of the window.
#[derive(Debug, Clone, Default)]
pub(super) struct Times {
    spans: Vec<Span>,
    longest_ns: u64,
    /// Something that ended a wait happened at one instant of each span.
    are_instants: bool,
}

impl Times {
    pub fn new(mut spans: Vec<Span>) -> Self {
        spans.sort_unstable_by_key(|span| (span.begin_ns, span.end_ns));
        let longest_ns = spans.iter().map(|span| span.end_ns - span.begin_ns).max().unwrap_or(0);
        Self { spans, longest_ns, are_instants: false }
    }

    /// Each span has an instant at which a wait ended.
    pub fn of_instants(spans: Vec<Span>) -> Self {
        Self { are_instants: true, ..Self::new(spans) }
    }

    /// Twice, one window after the other, for requests that are moved around.
    fn twice(&self, window_ns: u64) -> Self {
        let moved = |span: &Span| Span {
            begin_ns: span.begin_ns + window_ns,
            end_ns: span.end_ns + window_ns,
            ..*span
        };
        let later = self.spans.iter().map(moved);
        let spans = self.spans.iter().copied().chain(later).collect();
        Self { are_instants: self.are_instants, ..Self::new(spans) }
    }

    /// The spans that a request meets.
    fn over(&self, moment: &Moment) -> impl Iterator<Item = &Span> {
        let end_ns = moment.end_ns;
        let begin_ns = if self.are_instants {
            end_ns.saturating_sub(moment.after_ns).max(moment.begin_ns)
        } else {
            moment.begin_ns
        };
        let earliest_ns = begin_ns.saturating_sub(self.longest_ns);
        let first = self.spans.partition_point(|span| span.begin_ns < earliest_ns);
        let reached = self.spans[first..].iter().take_while(move |span| span.begin_ns < end_ns);
        reached.filter(move |span| span.end_ns > begin_ns)
    }

    /// Whether a request may have lost as much as it needs: what was lost in a span may have been
    /// lost at any instant of it. Its wait was as long as it was if an instant ended it.
    pub fn meets(&self, moment: &Moment) -> bool {
        let mut lost_ns = 0u64;
        self.over(moment).any(|span| {
            if self.are_instants {
                return true;
            }
            let both_ns = span.end_ns.min(moment.end_ns) - span.begin_ns.max(moment.begin_ns);
            lost_ns += span.lost_ns.min(both_ns);
            lost_ns >= moment.need_ns
        })
    }

    /// The separate times at which these requests met it: spans that touch are one.
    pub fn met_by<'a>(&self, moments: impl Iterator<Item = &'a Moment>) -> Vec<(u64, u64)> {
        let met = moments.flat_map(|moment| self.over(moment));
        let mut met: Vec<(u64, u64)> = met.map(|span| (span.begin_ns, span.end_ns)).collect();
        met.sort_unstable();
        let mut times: Vec<(u64, u64)> = Vec::new();
        for (begin_ns, end_ns) in met {
            match times.last_mut() {
                Some(last) if begin_ns <= last.1 => last.1 = last.1.max(end_ns),
                _ => times.push((begin_ns, end_ns)),
            }
        }
        times
    }
}

/// What chance does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Chance {
    /// How many requests it lets meet the cause, on average.
    pub expected: f64,
    /// How often it lets as many meet it as did.
    pub p: f64,
}

/// Requests that are close in time.
struct Cluster {
    /// The requests, from the start of the cluster.
    moments: Vec<Moment>,
    length_ns: u64,
}

/// What chance does with these requests, in order of `begin_ns`, of which `met` met the cause.
pub(super) fn chance(moments: &[Moment], times: &Times, met: usize, window_ns: u64) -> Chance {
    let (mut clusters, mut gaps_ns) = clusters(moments, window_ns);
    let around = times.twice(window_ns);
    let mut random = Random::new(moments.len() as u64, u64::from_be_bytes(*b"the tail"));
    let (mut sum, mut as_many, mut draws) = (0u64, 0u32, 0u32);
    while draws < DRAWS_MIN || draws < DRAWS && as_many < SEVERAL {
        draws += 1;
        shuffle(&mut clusters, &mut random);
        shuffle(&mut gaps_ns, &mut random);
        let mut at_ns = random.between(0, window_ns.max(1) - 1);
        let mut drawn = 0;
        for (cluster, gap_ns) in clusters.iter().zip(&gaps_ns) {
            let moved = cluster.moments.iter().filter(|moment| {
                let begin_ns = (at_ns + moment.begin_ns) % window_ns.max(1);
                let end_ns = begin_ns + (moment.end_ns - moment.begin_ns);
                around.meets(&Moment { begin_ns, end_ns, ..**moment })
            });
            drawn += moved.count();
            at_ns += cluster.length_ns + gap_ns;
        }
        sum += drawn as u64;
        as_many += u32::from(drawn >= met);
    }
    Chance {
        expected: sum as f64 / f64::from(draws),
        p: f64::from(as_many + 1) / f64::from(draws + 1),
    }
}

/// The clusters, and the distances between them: the last is that to the first, around the window.
fn clusters(moments: &[Moment], window_ns: u64) -> (Vec<Cluster>, Vec<u64>) {
    let (mut clusters, mut gaps_ns): (Vec<Cluster>, Vec<u64>) = Default::default();
    let (mut begin_ns, mut end_ns) = (0, 0);
    for moment in moments {
        let is_long = moment.begin_ns - begin_ns > window_ns / CUT;
        if clusters.is_empty() || moment.begin_ns > end_ns + CLOSE_NS || is_long {
            if !clusters.is_empty() {
                gaps_ns.push(moment.begin_ns.saturating_sub(end_ns));
            }
            clusters.push(Cluster { moments: Vec::new(), length_ns: 0 });
            (begin_ns, end_ns) = (moment.begin_ns, moment.end_ns);
        }
        end_ns = end_ns.max(moment.end_ns);
        let since = |ns: u64| ns - begin_ns;
        let moved =
            Moment { begin_ns: since(moment.begin_ns), end_ns: since(moment.end_ns), ..*moment };
        if let Some(cluster) = clusters.last_mut() {
            cluster.moments.push(moved);
            cluster.length_ns = since(end_ns);
        }
    }
    let first_ns = moments.first().map_or(0, |moment| moment.begin_ns);
    gaps_ns.push((window_ns + first_ns).saturating_sub(end_ns));
    (clusters, gaps_ns)
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for at in (1..items.len()).rev() {
        items.swap(at, random.between(0, at as u64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const WINDOW_NS: u64 = 10_000 * MS;

    /// What was lost in each of these spans, milliseconds.
    fn times(spans: &[(u64, u64, u64)]) -> Times {
        let span = |(begin_ms, end_ms, lost_ms): &(u64, u64, u64)| Span {
            begin_ns: begin_ms * MS,
            end_ns: end_ms * MS,
            lost_ns: lost_ms * MS,
        };
        Times::new(spans.iter().map(span).collect())
    }

    fn moment(begin_ms: u64, took_ms: u64) -> Moment {
        let (begin_ns, end_ns) = (begin_ms * MS, (begin_ms + took_ms) * MS);
        Moment { begin_ns, end_ns, need_ns: took_ms * MS / 2, after_ns: 10 * MS }
    }

    #[test]
    fn a_request_meets_what_may_have_taken_half_of_its_time() {
        let times = times(&[(0, 100, 30), (100, 200, 0), (200, 300, 100)]);
        for (begin_ms, took_ms, meets) in [
            (50, 60, true),
            (50, 70, false),
            (90, 50, false),
            (80, 40, true),
            (100, 100, false),
            (190, 30, true),
            (190, 15, false),
            (300, 20, false),
            (20, 500, false),
            (50, 250, true),
        ] {
            assert_eq!(times.meets(&moment(begin_ms, took_ms)), meets, "{begin_ms} {took_ms}");
        }
    }

    #[test]
    fn an_instant_that_ends_a_wait_is_near_the_end_of_the_request() {
        let times = Times::of_instants(times(&[(100, 200, 100), (500, 600, 100)]).spans);
        for (begin_ms, took_ms, meets) in [
            (50, 60, true),
            (50, 50, false),
            (50, 159, true),
            (50, 170, false),
            (195, 200, false),
            (199, 4, true),
        ] {
            assert_eq!(times.meets(&moment(begin_ms, took_ms)), meets, "{begin_ms} {took_ms}");
        }
        let moments = [moment(50, 150), moment(300, 215)];
        assert_eq!(
            times.met_by(moments.iter()),
            [(100 * MS, 200 * MS), (500 * MS, 600 * MS)],
            "not what was over before"
        );
    }

    #[test]
    fn spans_that_touch_are_one_time() {
        let times = times(&[(0, 100, 50), (100, 200, 50), (500, 600, 50), (900, 950, 9)]);
        let moments = [moment(50, 100), moment(510, 10), moment(520, 10)];
        assert_eq!(times.met_by(moments.iter()), [(0, 200 * MS), (500 * MS, 600 * MS)]);
    }

    #[test]
    fn clusters_and_distances_fill_the_circle() {
        let moments = [moment(100, 50), moment(130, 10), moment(900, 80), moment(9_990, 40)];
        let (clusters, gaps_ns) = clusters(&moments, WINDOW_NS);
        let shapes: Vec<_> =
            clusters.iter().map(|one| (one.moments.len(), one.length_ns / MS)).collect();
        assert_eq!(shapes, [(2, 50), (1, 80), (1, 40)]);
        let all_ns = gaps_ns.iter().sum::<u64>() + 170 * MS;
        assert_eq!((gaps_ns.len(), all_ns), (3, WINDOW_NS));
    }

    /// Twelve stops at irregular instants, each with slow requests.
    fn stops() -> (Vec<Moment>, Times) {
        let at = [300, 1000, 1900, 2500, 3600, 4100, 5300, 6200, 6900, 7700, 8800, 9400];
        let moments = at.iter().flat_map(|at| (0..5).map(move |nth| moment(at + nth, 80)));
        let spans: Vec<_> = at.iter().map(|at| (at - 10, at + 90, 80)).collect();
        (moments.collect(), times(&spans))
    }

    #[test]
    fn what_coincides_again_and_again_is_no_chance() {
        let (moments, times) = stops();
        let seen = chance(&moments, &times, moments.len(), WINDOW_NS);
        assert!(seen.p < 0.001 && seen.expected < 15.0, "{seen:?}");
        assert_eq!(seen, chance(&moments, &times, moments.len(), WINDOW_NS), "the same again");
    }

    #[test]
    fn what_is_always_there_and_what_happened_once_may_be_chance() {
        let (moments, _) = stops();
        let always: Vec<_> = (0..100).map(|nth| (100 * nth, 100 * nth + 100, 60)).collect();
        let seen = chance(&moments, &times(&always), moments.len(), WINDOW_NS);
        assert!(seen.p > 0.99 && seen.expected > 59.0, "{seen:?}");
        let once: Vec<Moment> = (0..50).map(|nth| moment(5000 + nth, 80)).collect();
        let seen = chance(&once, &times(&[(4990, 5090, 80)]), 50, WINDOW_NS);
        assert!(seen.p > 0.005, "one of a hundred places: {seen:?}");
    }

    #[test]
    fn two_beats_that_agree_are_no_evidence() {
        let moments: Vec<Moment> =
            (0..10).flat_map(|nth| [moment(1000 * nth, 80), moment(1000 * nth + 3, 80)]).collect();
        let beat: Vec<_> = (0..10).map(|nth| (1000 * nth, 1000 * nth + 100, 80)).collect();
        let seen = chance(&moments, &times(&beat), moments.len(), WINDOW_NS);
        assert!(seen.p > 0.02, "{seen:?}");
    }
}
