//! How probable each wall is, given which tests fired and which did not.
//!
//! A rule finds that a wall's signals are present. It cannot tell how often another wall causes the
//! same signals. The table counts that: how often each test fired in labelled runs, whose wall is
//! known by construction (`walls/`). Naive Bayes over the tests weighs the walls, starting with
//! equal probabilities. Tests of one group are correlated, so the weight of a group against a wall
//! is capped. The shares rank the walls; they are not calibrated probabilities, because nothing is
//! expected of the tests that come after a wall's own.
//!
//! In: which tests fired. Out: shares that add up to 1.
//! Never: a wall that no test can name.
//!
//! Source of the counts: `table.tsv`, written by `walls fit` from the part of the draws that is not
//! scored.

use crate::case::Case;
use crate::walls::{self, APPLICATION, CLIENT, COUNTED, PATH, SERVER, Test, WallGroup};
use model::order::OrderBy as _;
use model::verdict::{Alternative, Named};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Groups whose tests are weighed; each group is one witness. A broken measurement does not compete
/// with other walls.
const WEIGHED: [&WallGroup; 5] = [&COUNTED, &CLIENT, &SERVER, &APPLICATION, &PATH];
/// The most that one group of tests can say against a wall: odds of 1 to 50.
const GROUP_ODDS_MAX: f64 = 50.0;
/// Weight of a prior belief against counts, in draws.
const BELIEF_DRAWS: f64 = 2.0;
/// Prior: how often a wall's own test fires when the wall is present.
const OWN: f64 = 0.9;
/// Prior: how often the test of a wall that comes earlier in the order fires.
const OTHER: f64 = 0.03;
/// Prior: how often the test of a wall that comes later fires: that wall may be imitated.
const IMITATED: f64 = 0.3;
/// A share smaller than this is not worth a line.
const SHARE_MIN: f64 = 0.01;

/// How often each test fired where one wall was known to be present.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// By test: runs in which it fired, and runs in which it had its readings.
    pub spoke: BTreeMap<Named, (u32, u32)>,
}

/// Counts by the wall that was present.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OddsTable(pub BTreeMap<Named, Counts>);

impl OddsTable {
    /// Reads a table. Lines are `WALL TEST SPOKE TESTED`, separated by tabs; `#` starts a comment.
    /// Lines of any other form are ignored.
    pub fn parse(text: &str) -> Self {
        let mut table = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [wall, test, spoke, tested] = fields[..] else { continue };
            let (Some(wall), Some(test)) = (Named::parse(wall), Named::parse(test)) else {
                continue;
            };
            let (Ok(spoke), Ok(tested)) = (spoke.parse(), tested.parse()) else { continue };
            table.0.entry(wall).or_default().spoke.insert(test, (spoke, tested));
        }
        table
    }

    /// Adds one labelled run.
    pub fn add(&mut self, wall: Named, speaking: &Speaking) {
        let counts = self.0.entry(wall).or_default();
        for (test, spoke) in speaking.0.iter().flatten() {
            let (spoken, tested) = counts.spoke.entry(*test).or_default();
            *spoken += u32::from(*spoke);
            *tested += 1;
        }
    }

    /// The text that `parse` reads.
    pub fn text(&self) -> String {
        let mut text = "# wall\ttest\tspoke\ttested\n".to_string();
        for (wall, counts) in &self.0 {
            for (test, (spoke, tested)) in &counts.spoke {
                let (wall, test) = (wall.word(), test.word());
                text += &format!("{wall}\t{test}\t{spoke}\t{tested}\n");
            }
        }
        text
    }

    /// The counts that ship with this version.
    fn shipped() -> &'static Self {
        static TABLE: OnceLock<OddsTable> = OnceLock::new();
        TABLE.get_or_init(|| OddsTable::parse(include_str!("odds/table.tsv")))
    }

    /// Logarithm of the probability that `test` fired, or did not, if `wall` is present; each with
    /// its place in the order. A test after the wall's own may also stay silent without surprise.
    fn log(
        &self,
        (wall_at, wall): (usize, Named),
        (test_at, test): (usize, Named),
        spoke: bool,
    ) -> f64 {
        let belief = match test_at.cmp(&wall_at) {
            Ordering::Equal => OWN,
            Ordering::Greater if spoke => IMITATED,
            Ordering::Greater | Ordering::Less => OTHER,
        };
        let counted = self.0.get(&wall).and_then(|counts| counts.spoke.get(&test));
        let (counted, tested) = counted.copied().unwrap_or((0, 0));
        let speaks =
            (f64::from(counted) + BELIEF_DRAWS * belief) / (f64::from(tested) + BELIEF_DRAWS);
        if spoke { speaks.ln() } else { (1.0 - speaks).ln() }
    }
}

/// Which tests fired, by group; tests without their readings are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Speaking(pub Vec<Vec<(Named, bool)>>);

impl Speaking {
    /// Runs all tests. Tests of the load itself stand for "no wall".
    pub fn of(case: &Case<'_>) -> Self {
        let groups = WEIGHED.iter().map(|group| {
            let spoke = |listed: &walls::Listed| match listed.ask(case) {
                Test::Seen(_) => Some((Named::Wall(listed.wall), true)),
                Test::NotSeen => Some((Named::Wall(listed.wall), false)),
                Test::Untested => None,
            };
            group.walls.iter().filter_map(spoke).collect()
        });
        let mut groups: Vec<Vec<_>> = groups.collect();
        let is_offered = walls::OFFERED.first_seen(case).is_some();
        groups.push(vec![(Named::None, is_offered)]);
        Self(groups)
    }

    /// As if this wall had no test, because something else has ruled it out.
    pub(crate) fn leave_out(&mut self, ruled_out: Named) {
        for group in &mut self.0 {
            group.retain(|(test, _)| *test != ruled_out);
        }
    }
}

/// What the evidence leaves possible, most probable first.
pub fn alternatives(speaking: &Speaking) -> Vec<Alternative> {
    weigh(OddsTable::shipped(), speaking)
}

/// Seeds of the draws from which the shipped counts were made, as the first line of the table says.
pub fn seeds() -> Vec<u64> {
    let first = include_str!("odds/table.tsv").lines().next().unwrap_or_default();
    let list = first.split("of seed ").nth(1).unwrap_or_default();
    list.split(", ").filter_map(|seed| seed.trim().parse().ok()).collect()
}

/// Whether there were labelled runs of a wall. The odds of other walls rest on priors.
pub fn was_counted(wall: Named) -> bool {
    OddsTable::shipped().0.contains_key(&wall)
}

/// What the evidence leaves possible with the given counts, most probable first.
pub fn weigh(table: &OddsTable, speaking: &Speaking) -> Vec<Alternative> {
    if !speaking.0.iter().flatten().any(|(_, spoke)| *spoke) {
        // Silence does not favour one wall over another.
        return Vec::new();
    }
    let classes: Vec<Named> = speaking.0.iter().flatten().map(|(test, _)| *test).collect();
    let mut logs = vec![0.0; classes.len()];
    let mut first = 0;
    for group in &speaking.0 {
        let of_class = |class: (usize, &Named)| {
            let log = |(at, (test, spoke)): (usize, &(Named, bool))| {
                table.log((class.0, *class.1), (first + at, *test), *spoke)
            };
            group.iter().enumerate().map(log).sum::<f64>()
        };
        let sums: Vec<f64> = classes.iter().enumerate().map(of_class).collect();
        first += group.len();
        let best = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (log, sum) in logs.iter_mut().zip(sums) {
            *log += sum.max(best - GROUP_ODDS_MAX.ln());
        }
    }
    let best = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - best).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut all: Vec<Alternative> = classes
        .into_iter()
        .zip(weights)
        .map(|(wall, weight)| Alternative { wall, share: weight / sum })
        .filter(|alternative| alternative.share >= SHARE_MIN)
        .collect();
    all.order_by(|left, right| right.share.total_cmp(&left.share));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::wall::WallId;
    use proptest::prelude::*;

    const TESTS: [Named; 4] =
        [Named::Wall(WallId::K1), Named::Wall(WallId::K3), Named::Wall(WallId::S2), Named::None];

    fn speaking(spoke: [bool; 4]) -> Speaking {
        let [k1, k3, s2, none] = TESTS.into_iter().zip(spoke).collect::<Vec<_>>()[..] else {
            unreachable!()
        };
        Speaking(vec![vec![k1, k3], vec![s2], vec![none]])
    }

    #[test]
    fn without_the_load_silence_names_no_wall() {
        let mut only_the_load = speaking([false, false, false, true]);
        assert_eq!(weigh(&OddsTable::default(), &only_the_load)[0].wall, Named::None);
        only_the_load.leave_out(Named::None);
        assert_eq!(weigh(&OddsTable::default(), &only_the_load), Vec::new());
    }

    #[test]
    fn without_counts_the_first_test_that_fires_wins() {
        let all = weigh(&OddsTable::default(), &speaking([false, true, false, false]));
        assert_eq!(all[0].wall, Named::Wall(WallId::K3));
        assert!(all[0].share > 0.9, "{all:?}");
        let two = weigh(&OddsTable::default(), &speaking([true, true, false, false]));
        assert_eq!(two[0].wall, Named::Wall(WallId::K1), "the imitated wall comes later: {two:?}");
    }

    #[test]
    fn counts_tell_a_wall_from_what_imitates_it() {
        let mut table = OddsTable::default();
        for _ in 0..10 {
            // Without descriptors the accept queue overflows as well; the reverse is not so.
            table.add(Named::Wall(WallId::K3), &speaking([true, true, true, false]));
            table.add(Named::Wall(WallId::K1), &speaking([true, false, false, false]));
        }
        let all = weigh(&table, &speaking([true, true, true, false]));
        assert_eq!(all[0].wall, Named::Wall(WallId::K3));
        assert!(all[0].share > 0.9, "{all:?}");
        assert_eq!(OddsTable::parse(&table.text()), table);
    }

    #[test]
    fn other_text_says_nothing() {
        assert_eq!(
            OddsTable::parse("K1\tK1\t-1\t2\nZZ\tK1\t1\t2\n\nK1 K1 1 2\n"),
            OddsTable::default()
        );
    }

    #[test]
    fn the_shipped_table_is_read() {
        let lines = include_str!("odds/table.tsv").lines().filter(|line| !line.starts_with('#'));
        let counted: usize = OddsTable::shipped().0.values().map(|counts| counts.spoke.len()).sum();
        assert_eq!(counted, lines.count());
    }

    #[test]
    fn every_listed_test_is_weighed_once() {
        let fixture = Fixture::good();
        let speaking = Speaking::of(&fixture.case());
        let mut tests: Vec<Named> = speaking.0.iter().flatten().map(|(test, _)| *test).collect();
        let count = tests.len();
        tests.sort();
        tests.dedup();
        assert_eq!(tests.len(), count);
    }

    #[test]
    fn the_shipped_table_says_which_seeds_it_was_counted_in() {
        assert!(!seeds().is_empty());
    }

    proptest! {
        #[test]
        fn shares_add_up_when_a_test_fires(
            spoke in any::<[bool; 4]>(),
            counts in proptest::array::uniform4(0u32..20),
        ) {
            let mut table = OddsTable::default();
            for (wall, count) in TESTS.into_iter().zip(counts) {
                (0..count).for_each(|_| table.add(wall, &speaking(spoke)));
            }
            if spoke == [false; 4] {
                return Ok(());
            }
            let sum: f64 = weigh(&table, &speaking(spoke)).iter().map(|one| one.share).sum();
            prop_assert!((0.95..=1.0 + 1e-9).contains(&sum), "{sum}");
        }
    }
}
