//! How often the interval contains the truth, in worlds whose truth is known.

use super::*;

/// A small generator (splitmix64): the same seed gives the same world.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A server with one request per second at its wall, and how its visits scatter. Shares.
#[derive(Debug, Clone, Copy)]
struct World {
    /// Levels at or above the knee.
    plateau: usize,
    /// Visits of each level.
    visits: usize,
    /// Standard deviation from visit to visit.
    visit_sd: f64,
    /// Standard deviation from level to level, which the visits of a level share.
    level_sd: f64,
    /// Standard deviation of the batches of a window.
    batch_sd: f64,
    /// Correlation of a batch with the one before.
    memory: f64,
    /// Levels below the knee, where the rate follows the load.
    rising: usize,
    /// How far the rate falls from the knee to the last level.
    fall: f64,
    /// How far one visit of the plateau is too low.
    outlier: f64,
}

const WORLD: World = World {
    plateau: 6,
    visits: 1,
    visit_sd: 0.03,
    level_sd: 0.0,
    batch_sd: 0.02,
    memory: 0.0,
    rising: 3,
    fall: 0.0,
    outlier: 0.0,
};

/// Batches of a window.
const BATCHES: usize = 10;

/// A ramp: the true rate of each level, and for each visit the rates of its batches.
fn ramp(world: World, random: &mut Random) -> (Vec<f64>, Vec<Vec<Vec<f64>>>) {
    // The knee is anywhere between two levels; each level has twice the load of the last.
    let below = 0.5 + 0.5 * random.uniform();
    let rising = (0..world.rising).map(|at| below / 2f64.powi((world.rising - 1 - at) as i32));
    let step = world.fall / (world.plateau - 1).max(1) as f64;
    let flat = (0..world.plateau).map(|at| 1.0 - step * at as f64);
    let truth: Vec<f64> = rising.chain(flat).collect();
    let struck = world.rising + (random.uniform() * world.plateau as f64) as usize;
    let struck_visit = (random.uniform() * world.visits as f64) as usize;
    let measured = truth.iter().enumerate().map(|(at, rate)| {
        let level = 1.0 + world.level_sd * random.normal();
        let visits = (0..world.visits).map(|visit| {
            let is_low = at == struck && visit == struck_visit;
            let low = if is_low { 1.0 - world.outlier } else { 1.0 };
            let rate = rate * level * low * (1.0 + world.visit_sd * random.normal());
            let mut off = random.normal();
            let batch = |_| {
                let fresh = (1.0 - world.memory * world.memory).sqrt() * random.normal();
                off = world.memory * off + fresh;
                rate * (1.0 + world.batch_sd * off)
            };
            (0..BATCHES).map(batch).collect()
        });
        visits.collect()
    });
    let measured = measured.collect();
    (truth, measured)
}

/// In how many ramps the interval contains what it should, in per cent of those that have one.
#[derive(Debug, Clone, Copy, Default)]
struct Coverage {
    /// The mean of the true rates of the levels that were taken.
    of_the_levels: f64,
    /// The true mean of the plateau.
    of_the_plateau: f64,
    /// Ramps with an interval over visits.
    spoken: f64,
    /// Of these, those that report a drift.
    drifting: f64,
}

/// Ramps of each world.
const RAMPS: u64 = 2000;

/// What the interval of an estimate would be.
type Claim = fn(&[LoadRates], &[Vec<Vec<f64>>]) -> Option<(Plateau, f64, f64)>;

/// The interval as claimed at 95 %.
fn by_visits(levels: &[LoadRates], _: &[Vec<Vec<f64>>]) -> Option<(Plateau, f64, f64)> {
    let found = find(levels).filter(|found| found.is_flat(levels))?;
    match estimate(&levels[found.first..=found.last])?.interval? {
        (low, high, IntervalKind::Visits95) => Some((found, low, high)),
        _ => None,
    }
}

/// Batches of all levels near the best one, as if each batch were a visit.
fn by_batches(levels: &[LoadRates], batches: &[Vec<Vec<f64>>]) -> Option<(Plateau, f64, f64)> {
    let best = levels.iter().map(LoadRates::rate).fold(0.0, f64::max);
    let is_near = |at: &usize| levels[*at].rate() >= 0.95 * best;
    let near: Vec<usize> = (0..levels.len()).filter(is_near).collect();
    let all: Vec<f64> = near.iter().flat_map(|at| batches[*at].concat()).collect();
    let (low, high) = crate::stats::mean_interval(&all)?;
    Some((Plateau { first: *near.first()?, last: *near.last()?, near: 0.05 }, low, high))
}

fn coverage(world: World, claim: Claim) -> Coverage {
    let mut found = Coverage::default();
    for seed in 0..RAMPS {
        let (truth, measured) = ramp(world, &mut Random(seed * 7919 + 11));
        let level = |(at, visits): (usize, &Vec<Vec<f64>>)| LoadRates {
            load: 1 << at,
            rates: visits.iter().filter_map(|batches| mean(batches)).collect(),
        };
        let levels: Vec<LoadRates> = measured.iter().enumerate().map(level).collect();
        let Some((Plateau { first, last, .. }, low, high)) = claim(&levels, &measured) else {
            continue;
        };
        let taken = &levels[first..=last];
        let holds = |rates: &[f64]| count((low..=high).contains(&mean(rates).unwrap()));
        found.of_the_levels += holds(&truth[first..=last]);
        found.of_the_plateau += holds(&truth[world.rising..]);
        found.drifting += count(estimate(taken).unwrap().drift.is_some());
        found.spoken += 1.0;
    }
    let share = 100.0 / found.spoken;
    Coverage {
        of_the_levels: found.of_the_levels * share,
        of_the_plateau: found.of_the_plateau * share,
        spoken: found.spoken * 100.0 / RAMPS as f64,
        drifting: found.drifting * share,
    }
}

fn count(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// An interval exists often enough, and it contains both truths in 90 to 98 of a hundred ramps.
fn covers(world: World, spoken_min: f64) {
    let found = coverage(world, by_visits);
    let Coverage { of_the_levels, of_the_plateau, spoken, .. } = found;
    let as_claimed = 90.0..=98.0;
    assert!(as_claimed.contains(&of_the_levels), "{world:?}: {found:?}");
    assert!(as_claimed.contains(&of_the_plateau), "{world:?}: {found:?}");
    assert!(spoken >= spoken_min, "{world:?}: {found:?}");
}

/// Every scatter of visits with every length of plateau. If visits scatter much, the ends of a
/// short plateau are often not seen, and there is no interval at 95 %.
fn worlds() -> impl Iterator<Item = (World, f64)> {
    let scatters = [(0.01, 95.0), (0.03, 65.0), (0.08, 40.0)];
    let lengths = [3, 4, 6, 8, 12];
    scatters.into_iter().flat_map(move |(visit_sd, spoken)| {
        lengths.map(|plateau| (World { visit_sd, plateau, ..WORLD }, spoken))
    })
}

#[test]
fn the_interval_covers_a_flat_plateau_as_often_as_it_says() {
    for (world, spoken) in worlds() {
        covers(world, spoken);
        covers(World { rising: 0, ..world }, spoken);
    }
}

#[test]
fn the_interval_covers_a_plateau_that_falls_within_the_scatter() {
    for (world, spoken) in worlds() {
        covers(World { fall: world.visit_sd, ..world }, spoken);
    }
}

#[test]
fn one_visit_that_is_low_does_not_break_the_interval() {
    for (world, spoken) in worlds() {
        covers(World { outlier: 3.0 * world.visit_sd, ..world }, spoken);
    }
}

#[test]
fn what_happens_inside_a_window_neither_widens_nor_narrows_it() {
    for (batch_sd, memory) in [(0.02, 0.0), (0.02, 0.9), (0.05, 0.5), (0.10, 0.0), (0.10, 0.8)] {
        covers(World { batch_sd, memory, ..WORLD }, 90.0);
        covers(World { batch_sd, memory, plateau: 12, ..WORLD }, 90.0);
    }
}

#[test]
fn several_visits_of_a_level_are_not_taken_for_more_than_they_are() {
    for plateau in [3, 6] {
        for level_sd in [0.0, 0.03] {
            covers(World { plateau, level_sd, visits: 3, ..WORLD }, 99.0);
        }
    }
}

/// The scatter inside windows says nothing about the scatter between visits, so batches are not
/// pooled.
#[test]
fn batches_as_if_they_were_visits_would_cover_less_than_half() {
    let found = coverage(WORLD, by_batches);
    assert!(found.of_the_plateau < 50.0, "{found:?}");
}

#[test]
fn a_plateau_that_falls_by_more_than_visits_scatter_is_named() {
    for plateau in [6, 8, 12] {
        let world = World { plateau, visit_sd: 0.005, batch_sd: 0.01, fall: 0.05, ..WORLD };
        let found = coverage(world, by_visits);
        // The interval then also contains the fall, so it is wider than its claim.
        assert!(found.of_the_levels >= 95.0 && found.drifting >= 90.0, "{world:?}: {found:?}");
        let flat = coverage(World { fall: 0.0, ..world }, by_visits);
        assert!(flat.drifting <= 6.0, "{flat:?}");
    }
}

fn singles(rates: &[f64]) -> Vec<LoadRates> {
    rates
        .iter()
        .enumerate()
        .map(|(at, rate)| LoadRates { load: 1 << at, rates: vec![*rate] })
        .collect()
}

/// Listed levels are not evenly spaced: a straight line through them is not noise.
#[test]
fn levels_that_are_listed_bend_no_line() {
    let loads = [100u64, 500, 1000, 2000, 5000, 10_000];
    // 1 % with every doubling.
    let line = |load: u64| 1000.0 + 10.0 * (load as f64 / 100.0).log2();
    let level = |load: &u64| LoadRates { load: *load, rates: vec![line(*load)] };
    let levels: Vec<LoadRates> = loads.iter().map(level).collect();
    assert!(noise(&levels).unwrap() < 1e-9, "{:?}", noise(&levels));
    let drift = estimate(&levels).unwrap().drift.unwrap();
    let mean = mean(&levels.iter().map(LoadRates::rate).collect::<Vec<_>>()).unwrap();
    assert!((drift - 10.0 * 100f64.log2() / mean).abs() < 1e-9, "{drift}");
}

fn ends(rates: &[f64]) -> (usize, usize) {
    let Plateau { first, last, .. } = find(&singles(rates)).unwrap();
    (first, last)
}

#[test]
fn the_plateau_is_a_range_of_loads() {
    // A soft knee is not on the line, and a rise does not count as noise.
    assert_eq!(ends(&[500.0, 910.0, 990.0, 1000.0, 1000.0]), (2, 4));
    assert_eq!(ends(&[500.0, 800.0, 860.0, 930.0, 1000.0]), (3, 4));
    // A low visit in between counts.
    assert_eq!(ends(&[500.0, 1000.0, 800.0, 990.0, 1010.0]), (1, 4));
    // The plateau ends where the rate falls for good.
    assert_eq!(ends(&[500.0, 1000.0, 990.0, 700.0, 500.0]), (1, 2));
    // With more noise the ends are searched farther down.
    assert_eq!(ends(&[400.0, 900.0, 1080.0, 920.0, 1100.0, 880.0, 1000.0]), (1, 6));
    assert_eq!(find(&[]), None);
    assert_eq!(find(&singles(&[0.0, 0.0])), None);
}

/// The ramp of README.md, thousands per second.
#[test]
fn a_ramp_on_a_shared_machine_has_a_wide_interval() {
    let visits: [&[f64]; 8] =
        [&[59.5], &[63.6], &[50.4], &[60.9], &[58.9, 59.0], &[44.0, 52.1, 59.0], &[50.2], &[51.2]];
    let level = |(at, rates): (usize, &&[f64])| LoadRates { load: 4 << at, rates: rates.to_vec() };
    let levels: Vec<LoadRates> = visits.iter().enumerate().map(level).collect();
    let Plateau { first, last, .. } = find(&levels).unwrap();
    assert_eq!((first, last), (0, 7));
    let found = estimate(&levels).unwrap();
    let (low, high, kind) = found.interval.unwrap();
    assert_eq!((found.visits, kind, found.drift), (11, IntervalKind::Visits95, None));
    assert!((found.mean - 55.345).abs() < 0.01 && (low - 51.01).abs() < 0.01, "{found:?}");
    assert!((high - 59.68).abs() < 0.01, "{found:?}");
}

#[test]
fn what_still_grows_is_not_flat() {
    let is_flat = |rates: &[f64]| {
        let levels = singles(rates);
        find(&levels).unwrap().is_flat(&levels)
    };
    assert!(!is_flat(&[500.0, 800.0, 860.0, 930.0, 1000.0]), "by 7 % with twice the load");
    assert!(is_flat(&[500.0, 800.0, 900.0, 960.0, 1000.0]));
    assert!(is_flat(&[450.0, 720.0, 1120.0, 1847.0, 1947.0]), "latency takes 92 % of the load");
    assert!(is_flat(&[500.0, 1000.0, 700.0]), "it falls");
    assert!(!is_flat(&[250.0, 500.0, 1000.0]));
}

#[test]
fn an_estimate_says_what_its_visits_allow() {
    let of = |rates: &[f64]| estimate(&singles(rates)).unwrap();
    assert_eq!(of(&[100.0]).interval, None);
    assert_eq!(of(&[100.0, 90.0]).interval, Some((90.0, 100.0, IntervalKind::MinMax)));
    let (low, high, kind) = of(&[98.0, 100.0, 102.0]).interval.unwrap();
    // t(2) = 4.303, s = 2, three visits.
    assert!((high - low - 2.0 * 4.3027 * 2.0 / 3f64.sqrt()).abs() < 1e-3);
    assert_eq!(kind, IntervalKind::Visits95);
    assert_eq!(estimate(&[]), None);
    let falling = of(&[100.0, 98.1, 96.0, 93.9, 92.0]);
    assert!((falling.drift.unwrap() + 0.0839).abs() < 0.001, "{falling:?}");
    assert_eq!(of(&[100.0, 92.0, 101.0, 93.0, 99.0]).drift, None);
    // Three levels whose visits agree but which differ: three, not nine.
    let level = |load, rate: f64| LoadRates { load, rates: vec![rate, rate + 0.1, rate - 0.1] };
    let nested = estimate(&[level(1, 100.0), level(2, 96.0), level(4, 104.0)]).unwrap();
    let (low, high, _) = nested.interval.unwrap();
    assert_eq!(nested.visits, 9);
    assert!((high - low - 2.0 * 4.303 * 4.0 / 3f64.sqrt()).abs() < 0.01, "{low} {high}");
}
