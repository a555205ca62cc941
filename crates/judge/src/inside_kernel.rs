//! What programs in the kernel add to a verdict.
//!
//! In: a verdict, and what was seen in more visits of a level (`--evidence kernel`). Out: the same
//! verdict with that as evidence for or against it; or, where it named no wall, the wall whose
//! waits add up, or that light load shows ([`queue`]). Never: another wall in place of one that was
//! named.
//!
//! Readings of threads are samples, ten each second or fewer; the kernel's are sums of every wait.
//! Time over the window is the mean number of threads, or of requests, that were there (Little), so
//! that threads and requests can be added up as in the tests of A2 and A6.

mod queue;

pub use queue::{LightLoad, next_light};

use crate::case::percent;
use crate::next::load_with;
use crate::ramp::ceiling;
use crate::verdict::Context;
use crate::waits::{self, Waits};
use model::kernel::{Durations, KernelRecord, RanInstead, ThreadWaits, WaitFor, Whose};
use model::load::Question;
use model::route::Address;
use model::run::{Outcome, Point};
use model::units::{NS_PER_S, show_ns};
use model::verdict::{CeilingKind, Confidence, Evidence, Named, Verdict};
use model::wall::{Side, WallId};
use observe::Observed;

/// The visit is one of the same load when its rate is within this range of the point's: the
/// programs cost CPU time, and a server that they slow down by more is not the one that was judged.
const SAME_RATE: std::ops::RangeInclusive<f64> = 0.75..=1.25;
/// The split is of the requests of the load when it has this share of the responses. Those that
/// were in the server when the programs were attached or detached are in neither, so long requests
/// and short windows lower it; several that were read together count as one.
const COVERED: std::ops::RangeInclusive<f64> = 0.60..=1.10;
/// From here on in seconds of threads per second, delays on the run queue are worth a cause.
const DELAYED_MIN: f64 = 0.10;
/// Share of the delays of the server's threads after tasks of others, from which they support a
/// neighbour, and below which they contradict it.
const BY_OTHERS_MIN: f64 = 0.50;
const BY_OTHERS_FEW: f64 = 0.25;
/// Requests in flight from which there can be a queue.
const IN_FLIGHT_MIN: f64 = 2.0;
/// Requests and threads accounted for, over requests in flight, that count as adding up, as for
/// sampled readings.
const ADDS_UP: std::ops::RangeInclusive<f64> = 0.75..=1.30;
/// Share of the requests in flight that must wait unread before a pool of threads.
const UNREAD_MIN: f64 = 0.25;
/// Mean number of threads that wait for a disk from which nearly always one does.
const ALWAYS: f64 = 0.90;
/// Waits of a kind per response from which requests wait so, and not a task beside them.
const EACH_MIN: f64 = 0.50;

/// Requests and threads of the visit, means over its window.
struct Sums<'a> {
    record: &'a KernelRecord,
    threads: &'a ThreadWaits,
    seconds: f64,
    in_flight: f64,
    unread: f64,
    inside: f64,
}

impl<'a> Sums<'a> {
    /// Of a visit that is like the point; else why the split or the threads say nothing about it.
    fn of(record: &'a KernelRecord, point: &Point) -> Result<Self, String> {
        let readings = &record.readings;
        let parts = readings.split.as_ref().zip(readings.threads.as_ref());
        let (split, threads) = parts.ok_or("the split or the threads were not read")?;
        let seconds = Some(readings.seconds()).filter(|seconds| *seconds > 0.0);
        let (seconds, in_flight) =
            seconds.zip(record.in_flight).ok_or("the requests in flight are not known")?;
        let responses = record.answered_rate * seconds;
        let mean = |part: &Durations| part.sum_ns as f64 / NS_PER_S as f64 / seconds;
        let same = record.rate / point.rate;
        if !SAME_RATE.contains(&same) {
            return Err(format!("the rate of their visit was {} of the level's", percent(same)));
        }
        let covered = split.inside.count as f64 / responses;
        if !COVERED.contains(&covered) {
            return Err(format!("they saw {} of the responses", percent(covered)));
        }
        let (unread, inside) = (mean(&split.unread), mean(&split.inside));
        Ok(Self { record, threads, seconds, in_flight, unread, inside })
    }

    /// Threads that wait for these.
    fn waiting(&self, kinds: &[WaitFor]) -> f64 {
        let waits = self.threads.waits.iter().filter(|wait| kinds.contains(&wait.what));
        waits.map(|wait| wait.total_s).sum::<f64>() / self.seconds
    }

    /// Waits for this per response.
    fn each(&self, what: WaitFor) -> f64 {
        let waits = self.threads.waits.iter().filter(|wait| wait.what == what);
        let count = waits.map(|wait| wait.count).sum::<u64>() as f64;
        count / (self.record.answered_rate * self.seconds)
    }

    /// Threads that hold requests with something other than a disk. Those behind a futex may wait
    /// for their turn at the disk.
    fn otherwise(&self) -> f64 {
        let kinds = [WaitFor::Timer, WaitFor::Socket, WaitFor::Pipe, WaitFor::Child];
        let of_requests = kinds.into_iter().filter(|what| self.each(*what) >= EACH_MIN);
        of_requests.map(|what| self.waiting(&[what])).sum()
    }

    /// Whether the unread requests and `held` others are all there are.
    fn adds_up(&self, held: f64) -> bool {
        ADDS_UP.contains(&((self.unread + held) / self.in_flight))
    }

    /// Where requests are, as evidence.
    fn requests(&self) -> Evidence {
        let value = format!("{:.1} unread; {:.1} in the server", self.unread, self.inside);
        let field = format!("of {:.1} requests in flight, by the kernel's clock", self.in_flight);
        evidence("sk_data_ready, sock_recv_length, sock_send_length", field, value, "a mean of all")
    }
}

fn evidence(hooks: &str, field: String, value: String, rule: &str) -> Evidence {
    Evidence {
        host: "server".to_string(),
        source: format!("kernel: {hooks}"),
        field,
        value,
        rule: rule.to_string(),
        read: Vec::new(),
    }
}

/// See the module.
pub(crate) fn apply(
    verdict: Verdict,
    context: Context<'_>,
    points: &[Point],
    observed: &[Observed],
) -> Verdict {
    let Some(record) = context.kernel else { return verdict };
    let at = points.get(record.point).zip(observed.get(record.point));
    let Some((point, observed)) = at else { return verdict };
    let is_of_neighbours =
        verdict.wall == Named::Wall(WallId::S6) || verdict.also.contains(&WallId::S6);
    let verdict = match &record.readings.threads {
        Some(threads) if is_of_neighbours => by_whom(verdict, threads, record.readings.seconds()),
        _ => verdict,
    };
    let case = context.case(point, observed);
    let has_slack = case.server_has_slack() == Some(true) && case.client_has_slack() == Some(true);
    let is_open = verdict.wall == Named::Unknown && verdict.side != Side::Measurement;
    let sums = match Sums::of(record, point) {
        Ok(sums) => sums,
        Err(why) if is_open => return left_open(verdict, &why),
        Err(_) => return verdict,
    };
    if !is_open || !has_slack || !point.is_of_requests() || sums.in_flight < IN_FLIGHT_MIN {
        return with_requests(verdict, &sums);
    }
    if let Some(held) = at_disks(&sums) {
        return name(verdict, &sums, held, point);
    }
    let queue = queue::seen_at(&sums, &case);
    match (queue, asleep(&sums)) {
        (Some(Queue::Wall(held)), _) => name(verdict, &sums, held, point),
        (Some(Queue::Nowhere(stays)), _) => no_wall(verdict, &sums, stays, point),
        (Some(Queue::Open(_)) | None, Some(held)) => name(verdict, &sums, held, point),
        (Some(Queue::Open(why)), None) => left_open(with_requests(verdict, &sums), &why),
        (None, None) => with_requests(verdict, &sums),
    }
}

/// Proposes evidence from the kernel where it may decide an unknown verdict and can be had.
pub(crate) fn propose(
    mut verdict: Verdict,
    context: Context<'_>,
    points: &[Point],
    observed: &[Observed],
) -> Verdict {
    let Context { trial, host, target, .. } = context;
    let is_had = context.kernel.is_some() || trial.evidence.is_some();
    let is_near = target.server.is_some() && target.probe.is_none();
    let is_tcp = trial.addresses.first().is_some_and(|address| Address::port(address).is_some());
    let is_asked = matches!(trial.question, Question::Load | Question::Ramp);
    let is_open = verdict.wall == Named::Unknown && verdict.side != Side::Measurement;
    let is_over = context.outcome == Outcome::Complete;
    if is_had || !is_near || !is_tcp || !is_asked || !is_open || !is_over || !host.may_watch_inside
    {
        return verdict;
    }
    let all = points.iter().zip(observed).filter(|(point, _)| point.is_of_requests());
    let Some((point, observed)) = all.max_by(|one, other| one.0.rate.total_cmp(&other.0.rate))
    else {
        return verdict;
    };
    let case = context.case(point, observed);
    let has_slack = case.server_has_slack() == Some(true) && case.client_has_slack() == Some(true);
    if has_slack && waits::of(&case) != Waits::No {
        verdict.next.insert(0, load_with(&case, ["--evidence", "kernel"]));
    }
    verdict
}

/// A verdict that stays unknown, and why.
fn left_open(mut verdict: Verdict, why: &str) -> Verdict {
    verdict.against.push(format!("programs in the kernel do not tell: {why}"));
    verdict
}

/// Where the requests are, beside the evidence of a wall that is about that, or of none.
fn with_requests(mut verdict: Verdict, sums: &Sums<'_>) -> Verdict {
    let is_about_queues = match verdict.wall {
        Named::Wall(wall) => wall.id().starts_with('A'),
        Named::Unknown => true,
        Named::None => false,
    };
    if is_about_queues {
        verdict.evidence.push(sums.requests());
    }
    verdict
}

/// What the requests of an unknown verdict wait for.
enum Queue {
    /// At a wall.
    Wall(Held),
    /// They do not: what shows that.
    Nowhere(Evidence),
    /// It does not decide, and why.
    Open(String),
}

/// What requests wait for or are held with.
struct Held {
    wall: WallId,
    sentence: String,
    fix: Option<String>,
    evidence: Vec<Evidence>,
    against: &'static str,
}

/// Threads that wait for a disk, with nearly all requests.
fn at_disks(sums: &Sums<'_>) -> Option<Held> {
    let disk = sums.waiting(&[WaitFor::Disk]);
    let each = sums.each(WaitFor::Disk);
    let is_most = disk >= ALWAYS && disk >= sums.otherwise();
    let is_it = is_most && each >= EACH_MIN && sums.adds_up(sums.inside);
    let field = "threads that wait for a disk on average; such waits per response".to_string();
    let value = format!("{disk:.1}; {each:.1}");
    let rule = "nearly always one, and in at least every second response";
    is_it.then(|| Held {
        wall: WallId::A6,
        sentence: format!(
            "on average {disk:.1} threads of the server wait for a disk, {each:.1} times in each \
             response"
        ),
        fix: None,
        evidence: vec![evidence("sched_switch", field, value, rule)],
        against: "threads that write beside the requests as often as these come look the same",
    })
}

/// Threads asleep with a request each, before which the others lie unread.
fn asleep(sums: &Sums<'_>) -> Option<Held> {
    let asleep = sums.waiting(&[WaitFor::Timer, WaitFor::Socket]);
    let is_queue = sums.unread >= UNREAD_MIN * sums.in_flight;
    let field = "threads asleep for a time or at a socket on average".to_string();
    let rule = "with the unread requests, all requests in flight";
    (is_queue && asleep >= 0.5 && sums.adds_up(asleep)).then(|| Held {
        wall: WallId::A2,
        sentence: format!(
            "{asleep:.1} threads of the server sleep with a request each, and {:.1} requests lie \
             unread before them",
            sums.unread
        ),
        fix: None,
        evidence: vec![evidence("sched_switch", field, format!("{asleep:.1}"), rule)],
        against: "a limiter that queues requests (A4) looks the same at one load; a ramp separates \
                  them",
    })
}

/// No wall where requests wait for nothing.
fn no_wall(verdict: Verdict, sums: &Sums<'_>, stays: Evidence, point: &Point) -> Verdict {
    let found = [stays, sums.requests()];
    Verdict {
        wall: Named::None,
        name: format!("no wall was reached; the limit is {}", point.limit_phrase()),
        side: Side::None,
        confidence: Confidence::Suspected,
        ceiling: ceiling(&[point], CeilingKind::AtLeast),
        alternatives: Vec::new(),
        evidence: found.into_iter().chain(verdict.evidence).collect(),
        ..verdict
    }
}

/// A wall where none was named.
fn name(verdict: Verdict, sums: &Sums<'_>, held: Held, point: &Point) -> Verdict {
    let Held { wall, sentence, fix, evidence, against } = held;
    let found = evidence.into_iter().chain([sums.requests()]);
    let of_level = || ceiling(&[point], CeilingKind::Ceiling);
    Verdict {
        wall: Named::Wall(wall),
        name: wall.name().to_string(),
        side: wall.side(),
        confidence: Confidence::Suspected,
        ceiling: verdict.ceiling.or_else(of_level),
        sentence: Some(sentence),
        fix,
        alternatives: Vec::new(),
        evidence: found.chain(verdict.evidence).collect(),
        against: std::iter::once(against.to_string()).chain(verdict.against).collect(),
        ..verdict
    }
}

/// Who ran while the server's threads waited for a CPU, for or against a neighbour.
fn by_whom(mut verdict: Verdict, threads: &ThreadWaits, seconds: f64) -> Verdict {
    let all: f64 = threads.ran_instead.iter().map(|one| one.delayed_s).sum();
    if seconds <= 0.0 || all / seconds < DELAYED_MIN {
        return verdict;
    }
    let share = |whose: Whose| {
        let rows = threads.ran_instead.iter().filter(|one| one.whose == whose);
        rows.map(|one| one.delayed_s).sum::<f64>() / all
    };
    let (others, own) = (share(Whose::Other), share(Whose::Server));
    let of_others = threads.ran_instead.iter().find(|one| one.whose == Whose::Other);
    let first = of_others.map_or(String::new(), |one: &RanInstead| {
        format!(", most of it after {} ({})", one.name, one.pid)
    });
    if others >= BY_OTHERS_MIN {
        let field = "time of its threads on a run queue after another process had run".to_string();
        let value = format!("{}{first}", percent(others));
        verdict.evidence.push(evidence("sched_switch", field, value, "at least half"));
    } else if others < BY_OTHERS_FEW {
        let mean = threads.run_queue.mean_ns().map_or("-".to_string(), show_ns);
        verdict.against.insert(
            0,
            format!(
                "its threads waited {mean} each for a CPU, and before the longer of these waits \
                 another process had run in {} of the time, its own threads in {}",
                percent(others),
                percent(own)
            ),
        );
        if let Named::Wall(wall) = verdict.wall
            && verdict.also == [WallId::S6]
        {
            // What it wanted its CPUs for remains.
            verdict.also.clear();
            verdict.sentence = Some(wall.reason().to_string());
            verdict.name = wall.name().to_string();
        }
        if matches!(verdict.confidence, Confidence::Probable | Confidence::CoLimited) {
            verdict.confidence = Confidence::Suspected;
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::{apply, propose};
    use crate::fixture::Fixture;
    use crate::verdict::Context;
    use model::kernel::{
        Durations, KernelReadings, KernelRecord, KernelWait, RanInstead, RequestSplit, ThreadWaits,
        WaitFor, Whose,
    };
    use model::load::{EvidenceFrom, Question};
    use model::run::Target;
    use model::step::Step;
    use model::units::NS_PER_S;
    use model::verdict::{Confidence, Named, Verdict};
    use model::wall::{Side, WallId};
    use std::slice;

    /// The point of the fixture has eight requests in flight and 1000 responses per second; ten
    /// seconds of it.
    pub(super) const SECONDS: u64 = 10;
    const RESPONSES: u64 = 10_000;

    /// Responses with this many of them in a part on average.
    fn part(mean: f64) -> Durations {
        let sum_ns = (mean * (SECONDS * NS_PER_S) as f64) as u64;
        Durations { count: RESPONSES, sum_ns, ..Durations::default() }
    }

    pub(super) fn seen(unread: f64, inside: f64, waits: &[(WaitFor, f64)]) -> KernelRecord {
        let wait = |(what, threads): &(WaitFor, f64)| KernelWait {
            what: *what,
            functions: Vec::new(),
            is_uninterruptible: false,
            count: RESPONSES,
            total_s: threads * SECONDS as f64,
        };
        KernelRecord {
            point: 0,
            rate: 1000.0,
            answered_rate: 1000.0,
            in_flight: Some(8.0),
            readings: KernelReadings {
                window_ns: (0, SECONDS * NS_PER_S),
                split: Some(RequestSplit {
                    unread: part(unread),
                    inside: part(inside),
                    acknowledged: None,
                }),
                threads: Some(ThreadWaits {
                    waits: waits.iter().map(wait).collect(),
                    ..ThreadWaits::default()
                }),
                ..KernelReadings::default()
            },
            light: Vec::new(),
        }
    }

    fn judged(verdict: Verdict, record: &KernelRecord) -> Verdict {
        judged_of(&Fixture::good(), verdict, record)
    }

    pub(super) fn judged_of(fixture: &Fixture, verdict: Verdict, record: &KernelRecord) -> Verdict {
        let target = Target { server: fixture.server.clone(), ..Target::default() };
        let context = Context { kernel: Some(record), ..fixture.context(&target) };
        let points = slice::from_ref(&fixture.point);
        apply(verdict, context, points, slice::from_ref(&fixture.observed))
    }

    fn unknown(record: &KernelRecord) -> Verdict {
        judged(crate::undecided(), record)
    }

    #[test]
    fn requests_that_wait_in_memory_while_threads_are_at_the_disk_wait_for_storage() {
        // An event loop has read all of them; two threads write for it.
        let record = seen(0.1, 7.5, &[(WaitFor::Disk, 1.9), (WaitFor::Events, 0.9)]);
        let verdict = unknown(&record);
        assert_eq!(verdict.wall, Named::Wall(WallId::A6));
        assert_eq!((verdict.side, verdict.confidence), (Side::Server, Confidence::Suspected));
        assert_eq!(verdict.evidence[0].value, "1.9; 1.0");
        assert!(verdict.sentence.unwrap().starts_with("on average 1.9 threads"));
        let seldom = seen(0.1, 7.5, &[(WaitFor::Disk, 0.5)]);
        assert_eq!(unknown(&seldom).wall, Named::Unknown, "the disk is free half of the time");
        let mut beside = record.clone();
        beside.readings.threads.as_mut().unwrap().waits[0].count = RESPONSES / 10;
        assert_eq!(unknown(&beside).wall, Named::Unknown, "a writer of its own");
        let sleepers = seen(0.1, 7.5, &[(WaitFor::Disk, 1.9), (WaitFor::Timer, 3.0)]);
        assert_eq!(unknown(&sleepers).wall, Named::Unknown, "they sleep for longer");
        let elsewhere = seen(0.1, 2.0, &[(WaitFor::Disk, 1.9)]);
        assert_eq!(unknown(&elsewhere).wall, Named::Unknown, "most requests are not at the server");
    }

    #[test]
    fn sleepers_and_unread_requests_that_add_up_are_a_pool() {
        let pool = seen(6.0, 1.9, &[(WaitFor::Timer, 2.0)]);
        let verdict = unknown(&pool);
        assert_eq!(verdict.wall, Named::Wall(WallId::A2));
        assert!(verdict.against[0].contains("A4"), "{verdict:?}");
        let locked = seen(6.0, 1.9, &[(WaitFor::Futex, 2.0)]);
        assert_eq!(unknown(&locked).wall, Named::Unknown, "a lock or a pool");
        let other = seen(3.0, 4.9, &[(WaitFor::Timer, 2.0)]);
        assert_eq!(unknown(&other).wall, Named::Unknown, "three requests are unaccounted for");
    }

    #[test]
    fn a_visit_unlike_the_point_or_a_split_of_few_requests_proves_nothing() {
        let pool = seen(6.0, 1.9, &[(WaitFor::Timer, 2.0)]);
        let is_open = |record: &KernelRecord, why: &str| {
            let verdict = unknown(record);
            assert_eq!((verdict.wall, verdict.evidence.len()), (Named::Unknown, 0));
            assert!(verdict.against[0].ends_with(why), "{verdict:?}");
        };
        let slowed = KernelRecord { rate: 700.0, ..pool.clone() };
        is_open(&slowed, "the rate of their visit was 70.0 % of the level's");
        let mut few = pool.clone();
        few.readings.split.as_mut().unwrap().inside.count = RESPONSES / 2;
        is_open(&few, "they saw 50.0 % of the responses");
        let mut unread = pool;
        unread.readings.split = None;
        is_open(&unread, "were not read");
    }

    #[test]
    fn evidence_from_the_kernel_is_proposed_where_it_may_decide() {
        let proposed = |change: &dyn Fn(&mut Fixture), verdict: Verdict| {
            let mut fixture = Fixture::good();
            fixture.host.may_watch_inside = true;
            change(&mut fixture);
            let target = Target { server: fixture.server.clone(), ..Target::default() };
            let context = fixture.context(&target);
            let points = slice::from_ref(&fixture.point);
            let verdict = propose(verdict, context, points, slice::from_ref(&fixture.observed));
            verdict.next.first().map(Step::text)
        };
        let unknown = crate::undecided;
        let step = proposed(&|_| {}, unknown()).unwrap();
        assert_eq!(step, "ceiling load http://127.0.0.1:8083/read -c 8 --evidence kernel");
        let named = Verdict { wall: Named::Wall(WallId::A2), ..unknown() };
        assert_eq!(proposed(&|_| {}, named), None);
        let never = [
            proposed(&|fixture| fixture.host.may_watch_inside = false, unknown()),
            proposed(&|fixture| fixture.server = None, unknown()),
            proposed(&|fixture| fixture.trial.evidence = Some(EvidenceFrom::Kernel), unknown()),
            proposed(&|fixture| fixture.trial.question = Question::Find, unknown()),
            proposed(&|fixture| fixture.server_thread(0.9, 0.05), unknown()),
        ];
        assert_eq!(never, [None, None, None, None, None]);
    }

    #[test]
    fn a_named_wall_keeps_its_name() {
        let pool = seen(6.0, 1.9, &[(WaitFor::Timer, 2.0)]);
        let named = Verdict { wall: Named::Wall(WallId::A1), ..crate::undecided() };
        let verdict = judged(named, &pool);
        assert_eq!((verdict.wall, verdict.evidence.len()), (Named::Wall(WallId::A1), 1));
        let none = Verdict { wall: Named::None, ..crate::undecided() };
        assert_eq!(judged(none.clone(), &pool), none);
    }

    #[test]
    fn who_ran_instead_speaks_for_or_against_a_neighbour() {
        let mut record = seen(0.1, 7.5, &[]);
        let ran = |whose, delayed_s| RanInstead {
            name: "burn".to_string(),
            pid: 7,
            whose,
            count: 10,
            delayed_s,
        };
        let neighbour = || Verdict {
            wall: Named::Wall(WallId::S6),
            confidence: Confidence::Probable,
            ..crate::undecided()
        };
        let mut of = |verdict: Verdict, rows: &[RanInstead]| {
            record.readings.threads.as_mut().unwrap().ran_instead = rows.to_vec();
            judged(verdict, &record)
        };
        let beside = Verdict {
            wall: Named::Wall(WallId::S1),
            also: vec![WallId::S6],
            confidence: Confidence::CoLimited,
            ..crate::undecided()
        };
        let both = of(beside.clone(), &[ran(Whose::Other, 8.0), ran(Whose::Server, 2.0)]);
        assert_eq!((both.also, both.confidence), (vec![WallId::S6], Confidence::CoLimited));
        let alone = of(beside, &[ran(Whose::Server, 9.0), ran(Whose::Other, 1.0)]);
        assert_eq!((alone.wall, alone.also), (Named::Wall(WallId::S1), vec![]));
        assert_eq!((alone.name.as_str(), alone.confidence), ("server CPUs", Confidence::Suspected));
        let mut with = |rows: &[RanInstead]| of(neighbour(), rows);
        let by_others = with(&[ran(Whose::Other, 8.0), ran(Whose::Server, 2.0)]);
        assert!(by_others.evidence[0].value.contains("burn (7)"), "{by_others:?}");
        assert_eq!(by_others.confidence, Confidence::Probable);
        let by_itself = with(&[ran(Whose::Server, 9.0), ran(Whose::Other, 1.0)]);
        assert!(by_itself.against[0].contains("its own threads in 90"), "{by_itself:?}");
        assert_eq!(by_itself.confidence, Confidence::Suspected);
        let little = with(&[ran(Whose::Server, 0.5)]);
        assert_eq!(little, neighbour(), "half a second of ten is no reason");
    }
}
