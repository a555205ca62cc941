//! The search against simulated systems whose truth is known.

use super::*;
use crate::fixture::Fixture;
use model::search::Purpose;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SECOND: u64 = 1_000_000_000;

/// A small generator (splitmix64): the same seed gives the same system.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn config() -> SearchConfig {
    SearchConfig {
        lowest: 100.0,
        highest: 1e6,
        precision: 0.02,
        budget_ns: 600 * SECOND,
        trial_ns: 5 * SECOND,
        answers_min: 1000,
        confidence: 0.95,
        errors_added_percent: None,
    }
}

/// Searches a system to the end; `system` gets rate and seconds and returns how the objective
/// stood.
fn search(
    config: SearchConfig,
    mut system: impl FnMut(f64, f64) -> (ObjectiveStanding, Trust),
) -> (Answer, Vec<SearchTrial>) {
    let mut search = Search::new(config);
    let mut spent_ns = 0;
    for _ in 0..1000 {
        match search.step() {
            NextTrial::Done(answer) => {
                assert!(spent_ns <= config.budget_ns, "{spent_ns} ns were spent");
                return (answer, search.trials().to_vec());
            }
            NextTrial::Trial { rate, duration_ns, .. } => {
                assert!(rate > 0.0 && duration_ns > 0);
                assert_eq!(search.step(), search.step(), "asking again changes nothing");
                let (standing, trust) = system(rate, duration_ns as f64 / 1e9);
                let elapsed_ns = duration_ns + SECOND;
                spent_ns += elapsed_ns;
                search.report(TrialResult { standing, trust, duration_ns, elapsed_ns });
            }
        }
    }
    panic!("the search does not end: {:?}", search.trials());
}

fn holds(met: bool) -> (ObjectiveStanding, Trust) {
    (if met { ObjectiveStanding::Met } else { ObjectiveStanding::Missed }, Trust::Sound)
}

/// How arrivals are spaced.
#[derive(Clone, Copy)]
enum Arrivals {
    Even,
    Poisson,
}

/// A queue before equal workers, with a service time that varies by a tenth.
#[derive(Clone, Copy)]
struct Queue {
    workers: usize,
    service_s: f64,
    arrivals: Arrivals,
    bound_s: f64,
}

impl Queue {
    /// The 99th percentile of latency over a trial; none with too few responses.
    fn p99_s(&self, random: &mut Random, rate: f64, duration_s: f64) -> Option<f64> {
        // Picoseconds, so that they have a total order.
        let ps = |seconds: f64| (seconds * 1e12) as u64;
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.workers).map(|_| Reverse(0)).collect();
        let mut latencies = Vec::new();
        let mut at_s = 0.0;
        loop {
            at_s += match self.arrivals {
                Arrivals::Even => 1.0 / rate,
                Arrivals::Poisson => -(1.0 - random.uniform()).ln() / rate,
            };
            if at_s > duration_s {
                break;
            }
            let Reverse(free_ps) = free.pop().expect("there are workers");
            let service_s = self.service_s * (0.95 + 0.1 * random.uniform());
            let done_ps = free_ps.max(ps(at_s)) + ps(service_s);
            free.push(Reverse(done_ps));
            latencies.push(done_ps - ps(at_s));
        }
        latencies.sort_unstable();
        let rank = (latencies.len() as f64 * 0.99).ceil() as usize;
        (latencies.len() >= 1000).then(|| latencies[rank - 1] as f64 / 1e12)
    }

    fn standing(&self, random: &mut Random, rate: f64, duration_s: f64) -> ObjectiveStanding {
        match self.p99_s(random, rate, duration_s) {
            None => ObjectiveStanding::Undecided,
            Some(p99_s) if p99_s < self.bound_s => ObjectiveStanding::Met,
            Some(_) => ObjectiveStanding::Missed,
        }
    }

    /// The rate that misses one trial in three, the middle of what the test tells apart.
    fn truth(&self, capacity: f64) -> f64 {
        let misses = |rate: f64| {
            let mut random = Random(99);
            let is_miss =
                |_: &u32| self.standing(&mut random, rate, 5.0) == ObjectiveStanding::Missed;
            (0..60).filter(is_miss).count()
        };
        let (mut low, mut high) = (capacity * 0.5, capacity * 1.2);
        while high / low > 1.003 {
            let middle = (low + high) / 2.0;
            if misses(middle) > 20 { high = middle } else { low = middle }
        }
        low
    }
}

/// Five seeds: all within 3 % of the truth and of each other, sure and confirmed on both sides.
fn finds(queue: Queue, capacity: f64) {
    let truth = queue.truth(capacity);
    let answers: Vec<f64> = (1..=5)
        .map(|seed| {
            let mut random = Random(seed);
            let (answer, trials) = search(config(), |rate, duration_s| {
                (queue.standing(&mut random, rate, duration_s), Trust::Sound)
            });
            let rate = answer.rate.unwrap();
            let apart = rate / truth - 1.0;
            assert!(apart.abs() < 0.03, "seed {seed}: {rate} for {truth}: {answer:?} {trials:?}");
            assert_eq!(answer.ended, Ended::Narrowed, "seed {seed}: {trials:?}");
            assert_eq!(answer.kind, CeilingKind::Ceiling);
            assert!(answer.width.unwrap() <= 0.0201, "{answer:?}");
            assert!(answer.misses_at.unwrap() > rate);
            rate
        })
        .collect();
    let (low, high) = answers
        .iter()
        .fold((f64::MAX, 0f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    assert!(high / low < 1.03, "{answers:?}");
}

#[test]
fn eight_workers_of_20_ms_do_400_a_second() {
    let queue = Queue { workers: 8, service_s: 0.020, arrivals: Arrivals::Even, bound_s: 0.050 };
    assert!((queue.truth(400.0) / 400.0 - 1.0).abs() < 0.02, "{}", queue.truth(400.0));
    finds(queue, 400.0);
}

#[test]
fn noise_of_poisson_arrivals_is_seen_through() {
    let queue = Queue { workers: 8, service_s: 0.002, arrivals: Arrivals::Poisson, bound_s: 0.010 };
    finds(queue, 4000.0);
}

#[test]
fn a_cliff_is_found_and_confirmed() {
    let (answer, trials) = search(config(), |rate, _| holds(rate <= 7777.0));
    let rate = answer.rate.unwrap();
    assert!((7777.0 / 1.02..=7777.0).contains(&rate), "{answer:?}");
    assert!(answer.misses_at.unwrap() > 7777.0);
    assert_eq!((answer.ended, answer.confidence), (Ended::Narrowed, Confidence::Confirmed));
    let below = answer.below.unwrap();
    assert_eq!((below.agrees, below.runs), (Some(true), 1));
    assert!((below.rate / rate - 0.95).abs() < 1e-3);
    let above = answer.above.unwrap();
    assert_eq!(above.agrees, Some(true));
    assert!((above.rate / answer.misses_at.unwrap() - 1.05).abs() < 1e-3);
    assert!(answer.notes.is_empty(), "{:?}", answer.notes);
    assert_eq!(trials[0].rate, 100.0);
    assert!(trials[0].duration_s < 2.0, "far from the found rate trials are short");
    let last = trials.iter().rfind(|trial| trial.purpose == Purpose::Verify).unwrap();
    assert_eq!(last.duration_s, 5.0, "near it they are whole");
}

#[test]
fn a_flaky_system_is_not_taken_for_a_slow_one() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let (answer, trials) = search(config(), |rate, _| {
            let is_flaky = random.uniform() < 0.05;
            holds(rate <= 5000.0 && !is_flaky)
        });
        let rate = answer.rate.unwrap();
        assert!((rate / 5000.0 - 1.0).abs() < 0.03, "seed {seed}: {answer:?} {trials:?}");
    }
}

#[test]
fn what_always_holds_is_at_least_the_highest() {
    let config = SearchConfig { highest: 50_000.0, ..config() };
    let (answer, trials) = search(config, |_, _| holds(true));
    assert_eq!((answer.rate, answer.misses_at), (Some(50_000.0), None));
    assert_eq!((answer.kind, answer.ended), (CeilingKind::AtLeast, Ended::HighestHolds));
    assert_eq!(answer.confidence, Confidence::Confirmed);
    assert!(trials.iter().all(|trial| trial.rate <= 50_000.0));
}

#[test]
fn what_never_holds_has_no_rate() {
    let (answer, trials) = search(config(), |_, _| holds(false));
    assert_eq!((answer.rate, answer.misses_at), (None, Some(100.0)));
    assert_eq!((answer.ended, answer.confidence), (Ended::LowestMisses, Confidence::Probable));
    assert!(trials.len() <= 5, "{trials:?}");
}

#[test]
fn a_gap_below_the_result_widens_the_interval_and_is_noted() {
    let gap = 2700.0..2850.0;
    let (answer, _) = search(config(), |rate, _| holds(rate < 2950.0 && !gap.contains(&rate)));
    let rate = answer.rate.unwrap();
    assert!(rate < 2700.0, "the highest that holds with no miss below it: {answer:?}");
    assert!(answer.misses_at.unwrap() > 2950.0, "{answer:?}");
    assert_eq!(answer.below.as_ref().unwrap().agrees, Some(false));
    assert_eq!(answer.confidence, Confidence::Suspected);
    assert!(answer.notes.iter().any(|note| note.starts_with("not monotone")), "{answer:?}");
}

#[test]
fn a_hold_above_the_interval_is_noted() {
    let config = SearchConfig { lowest: 1000.0, ..config() };
    // Halving between 2828 and 4000 falls into it.
    let gap = 3300.0..3400.0;
    let (answer, _) = search(config, |rate, _| holds(rate < 3600.0 && !gap.contains(&rate)));
    assert!(answer.rate.unwrap() < 3300.0, "{answer:?}");
    assert_eq!(answer.above.as_ref().unwrap().agrees, Some(false));
    assert_eq!(answer.confidence, Confidence::Suspected);
    assert!(answer.misses_at.unwrap() > 3600.0, "above all that hold: {answer:?}");
    assert!(answer.notes.iter().any(|note| note.starts_with("not monotone")), "{answer:?}");
}

#[test]
fn a_budget_that_is_spent_leaves_what_was_shown() {
    let short = SearchConfig { budget_ns: 30 * SECOND, ..config() };
    let (answer, trials) = search(short, |rate, _| holds(rate <= 7777.0));
    let (rate, misses_at) = (answer.rate.unwrap(), answer.misses_at.unwrap());
    assert!(rate <= 7777.0 && misses_at > 7777.0, "{answer:?}");
    assert_eq!((answer.ended, answer.confidence), (Ended::BudgetSpent, Confidence::Suspected));
    assert!(answer.width.unwrap() > 0.02);
    assert!(answer.below.is_some(), "time is kept to confirm: {trials:?}");

    let none = SearchConfig { budget_ns: SECOND / 2, ..config() };
    let (answer, trials) = search(none, |_, _| holds(true));
    assert_eq!((answer.rate, trials.len()), (None, 0));
    assert_eq!(answer.confidence, Confidence::Unknown);
}

#[test]
fn a_late_client_only_adds_latency() {
    let (answer, _) = search(config(), |rate, _| match rate <= 5000.0 {
        true => (ObjectiveStanding::Met, Trust::ClientLate),
        false => (ObjectiveStanding::Missed, Trust::Sound),
    });
    assert!((answer.rate.unwrap() / 5000.0 - 1.0).abs() < 0.021, "{answer:?}");
    assert_eq!(answer.confidence, Confidence::Confirmed);
}

#[test]
fn a_miss_of_a_late_client_ends_the_search_there() {
    let (answer, trials) = search(config(), |rate, _| match rate <= 3000.0 {
        true => (ObjectiveStanding::Met, Trust::Sound),
        false => (ObjectiveStanding::Missed, Trust::ClientLate),
    });
    assert_eq!((answer.ended, answer.confidence), (Ended::ClientLimited, Confidence::Probable));
    assert_eq!((answer.rate, answer.kind), (Some(1600.0), CeilingKind::AtLeast));
    assert_eq!(answer.misses_at, None, "it is not known what the target does there");
    assert!(answer.notes[0].contains("3200/s"), "{answer:?}");
    let beyond = trials.iter().filter(|trial| trial.rate > 3000.0).count();
    assert_eq!(beyond, 2, "once more, to be sure: {trials:?}");
}

#[test]
fn one_late_trial_is_tried_again() {
    let mut is_first = true;
    let (answer, _) = search(config(), |rate, _| {
        if rate > 2000.0 && std::mem::take(&mut is_first) {
            return (ObjectiveStanding::Missed, Trust::ClientLate);
        }
        holds(rate <= 5000.0)
    });
    assert!((answer.rate.unwrap() / 5000.0 - 1.0).abs() < 0.021, "{answer:?}");
}

#[test]
fn what_cannot_be_believed_counts_as_neither() {
    let mut random = Random(7);
    let (answer, _) = search(config(), |rate, _| {
        let trust = if random.uniform() < 0.15 { Trust::Invalid } else { Trust::Sound };
        let met = if trust == Trust::Invalid { random.uniform() < 0.5 } else { rate <= 5000.0 };
        (holds(met).0, trust)
    });
    assert!((answer.rate.unwrap() / 5000.0 - 1.0).abs() < 0.021, "{answer:?}");

    let (answer, trials) = search(config(), |_, _| (ObjectiveStanding::Met, Trust::Invalid));
    assert_eq!((answer.rate, answer.ended), (None, Ended::Undecidable));
    assert_eq!(trials.len(), 3);
}

#[test]
fn rates_too_low_for_a_percentile_get_longer_trials() {
    let config = SearchConfig { lowest: 20.0, ..config() };
    let (answer, trials) = search(config, |rate, duration_s| {
        if rate * duration_s < 1000.0 {
            return (ObjectiveStanding::Undecided, Trust::Sound);
        }
        holds(rate <= 130.0)
    });
    assert!((answer.rate.unwrap() / 130.0 - 1.0).abs() < 0.021, "{answer:?} {trials:?}");
    assert_eq!(answer.confidence, Confidence::Confirmed);
}

#[test]
fn generator_delay_counts_where_it_moves_a_figure_across_its_bound() {
    let objective: Objective = "p99<100ms,errors<1%".parse().unwrap();
    let between = |low: f64, high: f64| {
        let mut point = Fixture::point(8, 1000.0);
        let by = "the generator sent requests late".to_string();
        let standing = model::standing::Standing::Bounded { low, high: Some(high), by };
        point.standing.add(Figure::P99, standing);
        point
    };
    assert_eq!(trust(&objective, &between(80e6, 99e6)), Trust::Sound, "both ends hold");
    assert_eq!(trust(&objective, &between(101e6, 150e6)), Trust::Sound, "both ends miss");
    let mut point = between(80e6, 120e6);
    assert_eq!(trust(&objective, &point), Trust::ClientLate);
    let rate_only: Objective = "rate>=1k".parse().unwrap();
    assert_eq!(trust(&rate_only, &point), Trust::Sound, "generator delay moves no count");
    point = Fixture::point(8, 1000.0);
    point.verdict.side = model::wall::Side::Client;
    assert_eq!(trust(&objective, &point), Trust::ClientLate);
    Fixture::strike(&mut point);
    assert_eq!(trust(&objective, &point), Trust::Invalid);
}

#[test]
fn what_was_never_met_is_no_answer() {
    // Too short to decide until a miss, and then the budget ends.
    let config = SearchConfig { budget_ns: 9 * SECOND, ..config() };
    let (answer, trials) = search(config, |rate, _| match rate < 500.0 {
        true => (ObjectiveStanding::Undecided, Trust::Sound),
        false => holds(false),
    });
    assert!(trials.iter().all(|trial| trial.standing != ObjectiveStanding::Met), "{trials:?}");
    assert_eq!((answer.rate, answer.confidence), (None, Confidence::Unknown));
}

/// A point of a server that serves 10k/s in 1 ms and the rest of the rate with 503 at once.
fn shedding(rate: f64, duration_s: f64) -> Point {
    let due = (rate * duration_s) as u64;
    let good = due.min((10_000.0 * duration_s) as u64);
    let mut point = Fixture::point(8, good as f64 / duration_s);
    let mut fast = model::histogram::Histogram::new();
    fast.record_n(1_000_000, good);
    (point.requests.sent, point.requests.completed) = (due, good);
    point.requests.failed = due - good;
    point.status.insert("5xx".to_string(), due - good);
    // As in a record that leaves failures out of its ranks.
    point.latency_ns = fast.summary(0);
    point.latency_good_ns = Some(fast.summary(0));
    point
}

#[test]
fn a_server_that_sheds_load_is_never_confirmed_above_what_it_serves() {
    for (asked, most) in [
        // 1 % of failures: of 10 101 requests, 10 000 are good.
        ("p99<50ms", 10_101.0),
        ("p50<50ms", 10_101.0),
        ("good.p99<50ms", 10_101.0),
        ("p99<50ms,errors<10%", 10_101.0),
        ("good.p99<50ms,errors<10%", 11_111.0),
        // Bounded by the ranks only: half of the requests are good.
        ("p50<50ms,rate>=1", 20_000.0),
    ] {
        let typed: Objective = asked.parse().unwrap();
        let (objective, added) = typed.bounding_failures(1.0);
        let errors_added_percent = added.map(|term| term.bound);
        let config = SearchConfig { highest: 40_000.0, errors_added_percent, ..config() };
        let (answer, _) = search(config, |rate, duration_s| {
            let point = shedding(rate, duration_s);
            let stands = crate::objective::at_point(&objective, &point);
            (ObjectiveStanding::of(&stands), trust(&objective, &point))
        });
        let rate = answer.rate.unwrap();
        assert!((most / 1.021..=most * 1.001).contains(&rate), "{asked}: {answer:?}");
        assert_eq!(answer.kind, CeilingKind::Ceiling);
        assert_eq!(answer.confidence, Confidence::Confirmed);
        let says = answer.notes.iter().any(|note| note.starts_with("errors<1% was added"));
        assert_eq!(says, added.is_some(), "{asked}: {:?}", answer.notes);
    }
}

/// Three short trials took the budget, and nothing said what would decide.
#[test]
fn a_budget_that_decides_nothing_says_what_would() {
    let config = |budget_s: u64| SearchConfig {
        lowest: 50.0,
        highest: 200.0,
        trial_ns: 3 * SECOND,
        budget_ns: budget_s * SECOND,
        ..config()
    };
    // The objective is met, and seen to be met with 1000 responses.
    let system = |rate: f64, seconds: f64| match rate * seconds >= 1000.0 {
        true => holds(true),
        false => (ObjectiveStanding::Undecided, Trust::Sound),
    };
    let (answer, trials) = search(config(8), system);
    assert_eq!((answer.rate, answer.ended), (None, Ended::BudgetSpent));
    let note = answer.notes.iter().find(|note| note.contains("nothing was decided")).unwrap();
    assert!(note.contains("1000 responses") && note.contains("5.0 s at 200/s"), "{note}");
    assert!(trials.len() >= 3, "{trials:?}");
    let asked = note.split("--budget ").nth(1).and_then(|rest| rest.split('s').next()).unwrap();
    let (answer, _) = search(config(asked.parse().unwrap()), system);
    assert_eq!(answer.rate, Some(200.0), "with the budget that it proposes: {asked}");
    // All that is left goes into the one trial that can decide.
    let (answer, trials) = search(config(12), system);
    assert_eq!(answer.rate, Some(200.0), "{trials:?}");
    assert!(trials.last().is_some_and(|last| last.duration_s <= 5.5), "{trials:?}");
}
