//! Where requests wait under load, from visits in which they do not wait for each other.
//!
//! In: the visit at the load, and visits with a quarter of its rate. Out: the wall that requests
//! wait at, that they wait at none, or why that is not known.
//! Never: a wall where the server computes, waits for a disk or for another service.
//!
//! Whatever has room for `k` requests and holds each for a time `s` is in use for `rate x s / k` of
//! the time (utilisation law), so with a quarter of the rate for at most a quarter of it. Requests
//! that come evenly then hardly wait for each other: even with holding times that vary like those
//! of an exponential distribution by 2 % of `s` (one place, D/M/1: `x = exp(-(1 - x) / 0.25)`,
//! `x = 0.02`, mean wait `s x / (1 - x)`). What a request takes at the server then is its own time;
//! what it takes longer under load is a queue, and the part of the split that grows is where.
//!
//! - Nothing grows: no wall.
//! - The requests lie unread, and take as long as before once they are read: the server holds no
//!   more of them at once than it does now, so that number is its places (A2).
//! - They wait inside, and the rate times the time of a request alone is far below one: nothing
//!   that a request holds is in use all the time, and yet they wait. Time itself limits (A4).
//! - They wait inside, and that product is one or more. Either it is the number of places (A2), or
//!   each request passes one section (A1), which is then in use all the time and held for one part
//!   in `rate`, and does something else beside. Then `m` requests that come at one instant decide:
//!   in places they do not wait; at one section the first waits for none, the last for `m - 1`
//!   others, all together on average `(m - 1) / (2 rate)`.

use super::{ADDS_UP, COVERED, Held, Queue, SAME_RATE, Sums, UNREAD_MIN, evidence};
use crate::case::{Case, percent};
use crate::walls::elimination::{OTHERWISE_MAX, at_cpus};
use model::kernel::{Durations, KernelRecord, LightVisit, RequestSplit, WaitFor};
use model::run::Point;
use model::units::{NS_PER_S, show_count, show_ns};
use model::verdict::Evidence;
use model::wall::WallId;

/// The rate of light visits over that of the load; see the module.
const LIGHT: f64 = 0.25;
/// Requests whose mean tells how long one takes: within a quarter, if their times vary like those
/// of an exponential distribution.
const SEEN_MIN: u64 = 20;
/// Requests, or groups that come at once, for which a light visit is made long enough: where times
/// vary by a tenth, their mean is then known within 1 %.
const WANTED: f64 = 100.0;
/// The longest visit that is proposed to tell more, seconds.
const LONGEST_S: f64 = 60.0;
/// Up to this much more than alone, two standard errors included, a request does not wait: a queue
/// has at most a tenth of them.
const STAYS: f64 = 1.10;
/// From this much more than alone, it waits for a third of its time.
const GROWS: f64 = 1.50;
/// Fewer places than this, two standard errors included, are none: where a request holds what
/// limits there is at least one.
const NONE_MAX: f64 = 0.3;
/// From here on there is a place.
const ONE_MIN: f64 = 0.7;
/// Below this there is one place.
const ONE_MAX: f64 = 1.5;
/// Growth of requests that come at once, over that at one section, up to which they do not wait for
/// each other, and the range in which they take turns: 0.3 of either is over 2.5 standard errors.
const APART_MAX: f64 = 0.3;
const IN_TURNS: std::ops::RangeInclusive<f64> = 0.7..=1.4;
/// Standard errors that the growth at one section must be.
const ERRORS_MIN: f64 = 4.0;
/// The part of that growth that requests which come at once may add by computing one after another,
/// or lose by coming one after another.
const ASIDE_MAX: f64 = 0.3;
/// Share of the server's CPUs that others may use where times at two loads are compared: from then
/// on they may lengthen the one more than the other.
const CROWDED: f64 = 0.15;
/// Share of the requests that may fail.
const FAILED_MAX: f64 = 0.01;

/// The load of a light visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LightLoad {
    /// Requests that are sent at one instant, at least 1.
    pub at_once: u32,
    /// Requests per second on average.
    pub rate: f64,
    /// How long the programs should see it, seconds.
    pub seconds: f64,
}

/// The light visit that would tell more about this visit of a point; none when no more would.
pub fn next_light(record: &KernelRecord, point: &Point) -> Option<LightLoad> {
    let sums = Sums::of(record, point).ok()?;
    let rate = LIGHT * record.answered_rate;
    let load =
        |at_once: u32| LightLoad { at_once, rate, seconds: WANTED * f64::from(at_once) / rate };
    if record.light.is_empty() {
        return Some(load(1));
    }
    let [even] = &record.light[..] else { return None };
    let Ok(Place::Inside { alone_ns }) = Compared::of(&sums, even).map(|both| both.place(&sums))
    else {
        return None;
    };
    let places = sums.places(alone_ns);
    // Half of the places: a section held for half of a request's time has as many.
    (places >= ONE_MIN).then(|| load((places / 2.0).ceil().max(2.0) as u32))
}

/// A request at the server under load and alone, nanoseconds.
struct Compared {
    unread_ns: f64,
    inside_ns: f64,
    alone_unread_ns: f64,
    alone_inside_ns: f64,
    /// Two standard errors of the time alone, as a share of it.
    error: f64,
}

/// Where requests wait.
enum Place {
    Nowhere,
    Unread,
    Inside { alone_ns: f64 },
    NotKnown,
}

/// The split of a light visit, if it is of the requests of its load; else why not.
fn seen(light: &LightVisit) -> Result<&RequestSplit, String> {
    let Some(split) = &light.split else {
        return Err("at light load the split of requests was not read".to_string());
    };
    let (count, asked) = (split.inside.count, light.asked_rate);
    let needed = SEEN_MIN * u64::from(light.at_once);
    if count < needed {
        let longer_s = (2.0 * needed as f64 / asked).ceil();
        return Err(format!(
            "{count} requests were seen at light load: -d {longer_s:.0}s would tell"
        ));
    }
    let share = count as f64 / (light.answered_rate * light.seconds);
    if !SAME_RATE.contains(&(light.answered_rate / asked)) || !COVERED.contains(&share) {
        return Err(format!(
            "at light load {}/s of {}/s were answered, and {} of them seen",
            show_count(light.answered_rate),
            show_count(asked),
            percent(share)
        ));
    }
    Ok(split)
}

/// The square of the standard error of the mean time at the server. Requests that come at once are
/// one sample of what happens to them.
fn square_error(split: &RequestSplit, at_once: u32) -> Option<f64> {
    let stdev_ns = |part: &Durations| part.stdev_ns.map(|ns| ns as f64);
    let variance = stdev_ns(&split.inside)?.powi(2) + stdev_ns(&split.unread)?.powi(2);
    Some(variance * f64::from(at_once) / split.inside.count.max(1) as f64)
}

impl Compared {
    fn of(sums: &Sums<'_>, even: &LightVisit) -> Result<Self, String> {
        let alone = seen(even)?;
        let mean_ns = |part: &Durations| part.mean_ns().unwrap_or(0.0);
        let split = sums.record.readings.split.as_ref();
        let split = split.ok_or("the split of requests was not read")?;
        let alone_ns = mean_ns(&alone.unread) + mean_ns(&alone.inside);
        let error_ns = 2.0 * square_error(alone, 1).unwrap_or(f64::INFINITY).sqrt();
        Ok(Self {
            error: error_ns / alone_ns,
            unread_ns: mean_ns(&split.unread),
            inside_ns: mean_ns(&split.inside),
            alone_unread_ns: mean_ns(&alone.unread),
            alone_inside_ns: mean_ns(&alone.inside),
        })
    }

    fn alone_ns(&self) -> f64 {
        self.alone_unread_ns + self.alone_inside_ns
    }

    fn place(&self, sums: &Sums<'_>) -> Place {
        let all = (self.unread_ns + self.inside_ns) / self.alone_ns();
        let inside = self.inside_ns / self.alone_inside_ns;
        let queued = sums.inside - sums.places(self.alone_inside_ns);
        if all * (1.0 + self.error) <= STAYS {
            Place::Nowhere
        } else if inside >= GROWS && queued >= UNREAD_MIN * sums.in_flight {
            // What lies unread as well waits for these.
            Place::Inside { alone_ns: self.alone_inside_ns }
        } else if inside <= GROWS && sums.unread >= UNREAD_MIN * sums.in_flight && all >= GROWS {
            Place::Unread
        } else {
            Place::NotKnown
        }
    }

    /// Both times of both parts.
    fn evidence(&self, rule: &str) -> Evidence {
        let part = |alone_ns, ns| format!("{} and {}", show_ns(alone_ns), show_ns(ns));
        let value = format!(
            "unread {}; in the server {}",
            part(self.alone_unread_ns, self.unread_ns),
            part(self.alone_inside_ns, self.inside_ns)
        );
        let field = "a request with a quarter of the rate, and at this load".to_string();
        evidence("sk_data_ready, sock_recv_length, sock_send_length", field, value, rule)
    }
}

impl Sums<'_> {
    /// Requests that the server works on at once if each takes this long.
    fn places(&self, alone_ns: f64) -> f64 {
        self.record.answered_rate * alone_ns / NS_PER_S as f64
    }
}

/// See the module; none without a light visit.
pub(super) fn seen_at(sums: &Sums<'_>, case: &Case<'_>) -> Option<Queue> {
    let even = sums.record.light.first()?;
    let queue = Compared::of(sums, even).and_then(|both| {
        if !ADDS_UP.contains(&((sums.unread + sums.inside) / sums.in_flight)) {
            return Err(format!(
                "{:.1} of {:.1} requests in flight are at the server",
                sums.unread + sums.inside,
                sums.in_flight
            ));
        }
        at_place(sums, case, &both)
    });
    Some(queue.unwrap_or_else(Queue::Open))
}

fn at_place(sums: &Sums<'_>, case: &Case<'_>, both: &Compared) -> Result<Queue, String> {
    match both.place(sums) {
        Place::Nowhere if case.neighbours().is_none_or(|share| share > CROWDED) => {
            Err("other processes use the server's CPUs".to_string())
        }
        // Over a ramp, other levels may have had a queue.
        Place::Nowhere if case.point.is_closed_loop() && case.trial.levels.len() == 1 => {
            Ok(Queue::Nowhere(both.evidence("at most a tenth more: none waits for another")))
        }
        Place::Nowhere => Err("at this load no request waits for another".to_string()),
        Place::Unread => {
            let places = sums.inside;
            only_waits(sums, case, places)?;
            in_sockets(sums, both, places).map(Queue::Wall)
        }
        Place::Inside { alone_ns } => {
            let places = sums.places(alone_ns);
            only_waits(sums, case, places)?;
            inside(sums, case, both, places).map(Queue::Wall)
        }
        Place::NotKnown => Err(format!(
            "a request takes {} at the server, and {} with a quarter of the rate",
            show_ns(both.unread_ns + both.inside_ns),
            show_ns(both.alone_ns())
        )),
    }
}

/// Whether the places are in use for nothing that has a wall of its own; else for what.
fn only_waits(sums: &Sums<'_>, case: &Case<'_>, places: f64) -> Result<(), String> {
    let few = OTHERWISE_MAX * places.max(1.0);
    let requests = &case.point.requests;
    if requests.failed as f64 > FAILED_MAX * requests.sent.max(1) as f64 {
        return Err("too many requests failed".to_string());
    }
    if case.server.is_some_and(|server| server.passed_on_by.is_some()) {
        return Err("a program before the server passes connections on".to_string());
    }
    match at_cpus(case) {
        None => return Err("the CPU time of the server's threads was not read".to_string()),
        Some(busy) if busy > few => {
            return Err(format!("{busy:.1} threads of the server run or wait for a CPU"));
        }
        Some(_) => {}
    }
    let of_kernel = sums.waiting(&[WaitFor::Disk, WaitFor::KernelLock]) + sums.writing_pipes();
    if of_kernel > few {
        return Err(format!(
            "{of_kernel:.1} threads wait for a disk, a lock of the kernel or the reader of a pipe"
        ));
    }
    match case.far().downstreams.as_ref() {
        None => Err("the server's connections to other services were not read".to_string()),
        Some(all) if all.iter().map(|one| one.waiting).sum::<f64>() > few => {
            Err("the server waits for another service as well".to_string())
        }
        Some(_) => Ok(()),
    }
}

impl Sums<'_> {
    /// Threads that wait until another process reads a pipe.
    fn writing_pipes(&self) -> f64 {
        let writes = |name: &String| name.ends_with("pipe_write");
        let waits = self.threads.waits.iter().filter(|wait| wait.functions.iter().any(writes));
        waits.map(|wait| wait.total_s).sum::<f64>() / self.seconds
    }

    fn rate(&self) -> String {
        show_count(self.record.answered_rate)
    }
}

/// Requests lie unread, and the server holds this many.
fn in_sockets(sums: &Sums<'_>, both: &Compared, places: f64) -> Result<Held, String> {
    if places < ONE_MIN {
        return Err(format!(
            "requests lie unread while the server has CPU to spare, and it holds {places:.1} of \
             them on average: it does not read them, and what it does meanwhile is not seen"
        ));
    }
    let (each, unread) = (show_ns(both.inside_ns), sums.unread);
    Ok(Held {
        wall: WallId::A2,
        sentence: format!(
            "about {places:.0} places of a pool are always in use ({}/s, {each} each at any load); \
             {unread:.1} requests lie unread before them",
            sums.rate()
        ),
        fix: Some(format!(
            "give that pool more places (it has about {places:.0}), or shorten the {each} that a \
             request holds one"
        )),
        evidence: vec![both.evidence("a queue before places that hold each as long as alone")],
        against: "a lock or a limiter before the server reads (A1, A4) looks the same",
    })
}

/// Requests wait inside the server, and the rate keeps this many places in use.
fn inside(sums: &Sums<'_>, case: &Case<'_>, both: &Compared, places: f64) -> Result<Held, String> {
    let alone = show_ns(both.alone_inside_ns);
    let in_use = || {
        let value = format!("{places:.2} ({}/s x {alone})", sums.rate());
        let field = "requests that the server works on at once, if none waited".to_string();
        evidence("sock_recv_length, sock_send_length", field, value, "at one place or more: 1")
    };
    if places * (1.0 + both.error) < NONE_MAX {
        return Ok(Held {
            wall: WallId::A4,
            sentence: format!(
                "requests are let through at a fixed pace, {}/s: each takes {} here, and {alone} \
                 with a quarter of that",
                sums.rate(),
                show_ns(both.inside_ns)
            ),
            fix: None,
            evidence: vec![in_use(), both.evidence("a queue, and no place that a request holds")],
            against: "a server that does its work at fixed intervals looks the same",
        });
    }
    if places < ONE_MIN {
        return Err(format!("{places:.1} places would be in use: neither none nor one"));
    }
    let Some(burst) = sums.record.light.get(1) else {
        return Err(format!("{places:.1} places or one lock: no requests were sent at once"));
    };
    let at_once = burst.at_once;
    let growth = Growth::of(sums, &sums.record.light[0], burst)?;
    let rule = "at one section (m - 1) / 2 of its turns, in places nothing";
    let shown = [in_use(), both.evidence("a queue inside the server"), growth.evidence(rule)];
    match growth.share() {
        share if share <= APART_MAX && places >= ONE_MAX => Ok(Held {
            wall: WallId::A2,
            sentence: format!(
                "about {places:.0} places of a pool are always in use ({}/s, {alone} each); \
                 {at_once} requests at once do not wait for each other",
                sums.rate()
            ),
            fix: Some(format!(
                "give that pool more places (it has about {places:.0}), or shorten what a request \
                 waits for there"
            )),
            evidence: shown.to_vec(),
            against: "places of another service that is not seen (A3) look the same",
        }),
        share if IN_TURNS.contains(&share) && growth.computing(case) <= ASIDE_MAX => Ok(Held {
            wall: WallId::A1,
            sentence: format!(
                "requests pass one section one after the other, {} each ({}/s): {at_once} at once \
                 take turns",
                show_ns(NS_PER_S as f64 / sums.record.answered_rate),
                sums.rate()
            ),
            fix: None,
            evidence: shown.to_vec(),
            against: "a pool with one place (A2) looks the same",
        }),
        share => Err(format!(
            "{at_once} requests at once wait {} of what they would at one section",
            percent(share.max(0.0))
        )),
    }
}

/// How much longer requests take that come at once.
struct Growth {
    at_once: u32,
    more_ns: f64,
    /// The same at one section that is in use all the time under load.
    in_turns_ns: f64,
    rate: f64,
}

impl Growth {
    /// Unless their times vary too much, or the generator was late.
    fn of(sums: &Sums<'_>, even: &LightVisit, burst: &LightVisit) -> Result<Self, String> {
        let (alone, at_once) = (seen(even)?, seen(burst)?);
        let rate = sums.record.answered_rate;
        let turn_ns = NS_PER_S as f64 / rate;
        let in_turns_ns = f64::from(burst.at_once.saturating_sub(1)) / 2.0 * turn_ns;
        let squares = square_error(alone, 1).zip(square_error(at_once, burst.at_once));
        let (one, other) = squares.ok_or("how much the times of requests vary was not read")?;
        let times = ERRORS_MIN * (one + other).sqrt() / in_turns_ns;
        if times > 1.0 {
            // An error falls with the square root of the time.
            let longer_s = (burst.seconds * times.powi(2)).ceil();
            let vary = "the times of requests vary too much to tell places from a lock";
            return Err(match longer_s <= LONGEST_S {
                true => format!("{vary}: -d {longer_s:.0}s would tell"),
                false => vary.to_string(),
            });
        }
        if burst.late_ns.is_none_or(|late_ns| late_ns as f64 > ASIDE_MAX / 2.0 * turn_ns) {
            return Err(format!(
                "the generator cannot send {} requests at once on this host ({} late)",
                burst.at_once,
                burst.late_ns.map_or("-".to_string(), |ns| show_ns(ns as f64))
            ));
        }
        let mean_ns = |split: &RequestSplit| {
            Some(split.unread.mean_ns().unwrap_or(0.0) + split.inside.mean_ns()?)
        };
        let means = mean_ns(alone).zip(mean_ns(at_once));
        let (one, other) = means.ok_or("no request was seen at light load")?;
        Ok(Self { at_once: burst.at_once, more_ns: other - one, in_turns_ns, rate })
    }

    fn share(&self) -> f64 {
        self.more_ns / self.in_turns_ns
    }

    /// The largest part of it that they may spend on one CPU one after the other: each waits for
    /// the CPU time of half of the others, at a section for half of their turns.
    fn computing(&self, case: &Case<'_>) -> f64 {
        case.point.cpu.server_cpus.map_or(f64::INFINITY, |cpus| cpus * self.rate / case.point.rate)
    }

    fn evidence(&self, rule: &str) -> Evidence {
        let field = format!("{} requests at once take longer than alone by", self.at_once);
        let value = format!(
            "{}, of {} at one section",
            show_ns(self.more_ns.max(0.0)),
            show_ns(self.in_turns_ns)
        );
        evidence("sk_data_ready, sock_recv_length, sock_send_length", field, value, rule)
    }
}

#[cfg(test)]
mod tests {
    use super::{LightLoad, next_light};
    use crate::fixture::Fixture;
    use crate::inside_kernel::tests::{SECONDS, judged_of, seen};
    use model::kernel::{Durations, KernelRecord, KernelWait, LightVisit, RequestSplit, WaitFor};
    use model::units::NS_PER_MS;
    use model::verdict::{Named, Verdict};
    use model::wall::{Side, WallId};
    use observe::DownstreamUse;
    use std::slice;

    /// Requests of a light visit: 250 per second for ten seconds.
    const COUNT: u64 = 2500;

    /// That many requests of this many milliseconds, known within a tenth of one.
    fn part(ms: f64) -> Durations {
        let sum_ns = (ms * (COUNT * NS_PER_MS) as f64) as u64;
        let stdev_ns = Some((0.1 * ms * NS_PER_MS as f64) as u64);
        Durations { count: COUNT, sum_ns, stdev_ns, ..Durations::default() }
    }

    fn light(at_once: u32, unread_ms: f64, inside_ms: f64) -> LightVisit {
        LightVisit {
            at_once,
            asked_rate: 250.0,
            answered_rate: 250.0,
            late_ns: Some(20_000),
            seconds: SECONDS as f64,
            split: Some(RequestSplit {
                unread: part(unread_ms),
                inside: part(inside_ms),
                acknowledged: None,
            }),
        }
    }

    /// Eight requests in flight at 1000/s, 8 ms each: these many milliseconds unread and inside.
    fn loaded(unread_ms: f64, inside_ms: f64, light: &[LightVisit]) -> KernelRecord {
        KernelRecord { light: light.to_vec(), ..seen(unread_ms, inside_ms, &[]) }
    }

    /// The fixture's server calls no other service, and computes little.
    fn fixture() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.1, 0.01);
        fixture.point.cpu.server_cpus = Some(0.1);
        fixture.observed.downstreams = Some(Vec::new());
        fixture
    }

    fn judged(record: &KernelRecord) -> Verdict {
        judged_of(&fixture(), crate::undecided(), record)
    }

    fn is_open(verdict: &Verdict, why: &str) {
        assert_eq!(verdict.wall, Named::Unknown, "{verdict:?}");
        assert!(verdict.against.iter().any(|one| one.contains(why)), "{verdict:?}");
    }

    #[test]
    fn requests_at_once_tell_a_semaphore_from_a_lock() {
        // Four places, or a millisecond under a lock and three beside it.
        let with = |burst_ms: f64| loaded(0.1, 7.9, &[light(1, 0.0, 4.0), light(2, 0.0, burst_ms)]);
        let places = judged(&with(4.0));
        assert_eq!(places.wall, Named::Wall(WallId::A2), "{places:?}");
        assert!(places.sentence.as_ref().unwrap().contains("about 4 places"), "{places:?}");
        let lock = judged(&with(4.5));
        assert_eq!(lock.wall, Named::Wall(WallId::A1), "{lock:?}");
        assert!(lock.sentence.as_ref().unwrap().contains("1.00ms each"), "{lock:?}");
        is_open(&judged(&with(4.25)), "2 requests at once wait 50.0 %");
        is_open(&judged(&with(6.0)), "2 requests at once wait");
    }

    #[test]
    fn one_place_is_a_section_that_all_requests_pass() {
        let record = loaded(0.1, 7.9, &[light(1, 0.0, 1.0), light(2, 0.0, 1.5)]);
        let verdict = judged(&record);
        assert_eq!(verdict.wall, Named::Wall(WallId::A1));
        assert!(verdict.against[0].contains("one place (A2)"), "{verdict:?}");
        let apart = loaded(0.1, 7.9, &[light(1, 0.0, 1.0), light(2, 0.0, 1.0)]);
        is_open(&judged(&apart), "2 requests at once wait 0.0 %");
    }

    #[test]
    fn a_queue_without_a_place_is_a_pace() {
        let verdict = judged(&loaded(0.1, 7.9, &[light(1, 0.0, 0.1)]));
        assert_eq!(verdict.wall, Named::Wall(WallId::A4));
        assert!(verdict.sentence.as_ref().unwrap().contains("1000/s"), "{verdict:?}");
        let between = loaded(0.1, 7.9, &[light(1, 0.0, 0.5)]);
        is_open(&judged(&between), "neither none nor one");
        let mut vary = light(1, 0.0, 0.25);
        vary.split.as_mut().unwrap().inside.stdev_ns = Some(10 * NS_PER_MS);
        is_open(&judged(&loaded(0.1, 7.9, &[vary])), "neither none nor one");
    }

    #[test]
    fn what_lies_unread_before_requests_as_long_as_alone_waits_for_a_place() {
        let verdict = judged(&loaded(6.0, 2.0, &[light(1, 0.0, 1.9)]));
        assert_eq!(verdict.wall, Named::Wall(WallId::A2));
        assert!(verdict.sentence.as_ref().unwrap().contains("about 2 places"), "{verdict:?}");
        let unseen = loaded(7.8, 0.2, &[light(1, 0.0, 0.2)]);
        is_open(&judged(&unseen), "it does not read them");
    }

    #[test]
    fn requests_that_take_as_long_as_alone_wait_at_no_wall() {
        let record = loaded(0.1, 7.9, &[light(1, 0.1, 7.8)]);
        let mut fixture = fixture();
        let verdict = judged_of(&fixture, crate::undecided(), &record);
        assert_eq!((verdict.wall, verdict.side), (Named::None, Side::None));
        fixture.trial.levels.push(fixture.trial.levels[0].clone());
        let ramp = judged_of(&fixture, crate::undecided(), &record);
        is_open(&ramp, "no request waits for another");
        fixture.observed.cpus.as_mut().unwrap().iter_mut().for_each(|cpu| {
            (cpu.shares.idle, cpu.shares.user) = (0.0, 1.0);
        });
        let crowded = judged_of(&fixture, crate::undecided(), &record);
        is_open(&crowded, "other processes");
        is_open(&judged(&loaded(0.1, 7.9, &[light(1, 0.1, 6.6)])), "with a quarter of the rate");
    }

    #[test]
    fn places_in_use_for_something_else_are_no_wall_of_their_own() {
        let record = loaded(0.1, 7.9, &[light(1, 0.0, 4.0), light(2, 0.0, 4.0)]);
        let mut calls = fixture();
        let to = DownstreamUse { connections: 4.0, waiting: 3.9, ..DownstreamUse::default() };
        calls.observed.downstreams = Some(vec![to]);
        is_open(&judged_of(&calls, crate::undecided(), &record), "another service");
        calls.observed.downstreams = None;
        is_open(&judged_of(&calls, crate::undecided(), &record), "were not read");
        let mut busy = fixture();
        busy.server_thread(0.4, 0.1);
        let one = loaded(0.1, 7.9, &[light(1, 0.0, 1.0), light(2, 0.0, 1.5)]);
        is_open(&judged_of(&busy, crate::undecided(), &one), "wait for a CPU");
        let mut writes = record.clone();
        let wait = KernelWait {
            what: WaitFor::Pipe,
            functions: vec!["anon_pipe_write".to_string()],
            is_uninterruptible: false,
            count: 10,
            total_s: 2.0 * SECONDS as f64,
        };
        writes.readings.threads.as_mut().unwrap().waits.push(wait);
        is_open(&judged(&writes), "the reader of a pipe");
    }

    #[test]
    fn thin_evidence_says_what_it_lacks() {
        let even = light(1, 0.0, 4.0);
        let with = |even: &LightVisit, burst: &LightVisit| {
            judged(&loaded(0.1, 7.9, &[even.clone(), burst.clone()]))
        };
        let burst = light(2, 0.0, 4.0);
        let mut few = even.clone();
        few.split.as_mut().unwrap().inside.count = 19;
        is_open(&with(&few, &burst), "19 requests were seen at light load: -d 1s would tell");
        let slow = LightVisit { answered_rate: 180.0, ..even.clone() };
        is_open(&with(&slow, &burst), "180/s of 250/s were answered");
        let mut vary = burst.clone();
        vary.split.as_mut().unwrap().inside.stdev_ns = Some(8 * NS_PER_MS);
        // Four times sqrt((0.4^2 + 2 x 8^2) / 2500) ms, 0.9 ms, of 0.5 ms: 3.3 times as long.
        is_open(&with(&even, &vary), "vary too much to tell places from a lock: -d 33s would tell");
        vary.split.as_mut().unwrap().inside.stdev_ns = Some(80 * NS_PER_MS);
        assert!(with(&even, &vary).against.iter().any(|why| why.ends_with("from a lock")));
        let late = LightVisit { late_ns: Some(NS_PER_MS), ..burst.clone() };
        is_open(&with(&even, &late), "cannot send 2 requests at once");
        let alone = loaded(0.1, 7.9, slice::from_ref(&even));
        is_open(&judged(&alone), "no requests were sent at once");
        let elsewhere = KernelRecord { in_flight: Some(20.0), ..alone };
        is_open(&judged(&elsewhere), "8.0 of 20.0 requests in flight");
    }

    #[test]
    fn light_visits_follow_from_what_is_known() {
        let point = fixture().point;
        let next = |light: &[LightVisit]| next_light(&loaded(0.1, 7.9, light), &point);
        let LightLoad { at_once, rate, seconds } = next(&[]).unwrap();
        assert_eq!((at_once, rate, seconds), (1, 250.0, 0.4));
        let at_once = |alone_ms| next(&[light(1, 0.0, alone_ms)]).map(|load| load.at_once);
        assert_eq!(at_once(0.1), None, "a pace");
        assert_eq!(at_once(7.8), None, "no queue");
        assert_eq!([1.0, 2.0, 4.0, 5.0].map(at_once), [Some(2), Some(2), Some(2), Some(3)]);
        assert_eq!(next(&[light(1, 0.0, 4.0), light(2, 0.0, 4.0)]), None);
        let unread = KernelRecord { light: Vec::new(), ..seen(6.0, 0.0, &[]) };
        let unlike = KernelRecord { rate: 100.0, ..unread };
        assert_eq!(next_light(&unlike, &point), None, "another load than that of the point");
    }
}
