//! Things that come and go during a run: they rest, and last, in turn.

use crate::dice::Dice;
use std::time::Duration;

/// How long each rest and what follows it take: each time another length of a range, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spells {
    seed: u64,
    rest_s: (f64, f64),
    last_s: (f64, f64),
}

/// One rest, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spell {
    /// The rest.
    pub rest: Duration,
    /// How long what follows it lasts.
    pub last: Duration,
}

impl Spells {
    /// Spells whose lengths are drawn from these ranges.
    pub fn drawn(dice: &mut Dice, rest_s: (f64, f64), last_s: (f64, f64)) -> Self {
        Self::of(dice.whole("spells", 1, 1_000_000).into(), rest_s, last_s)
    }

    /// Those of this seed.
    pub fn of(seed: u64, rest_s: (f64, f64), last_s: (f64, f64)) -> Self {
        Self { seed, rest_s, last_s }
    }

    /// A beat: what takes this long begins every so often.
    pub fn beat(last: Duration, every: Duration) -> Self {
        let same = |length: Duration| (length.as_secs_f64(), length.as_secs_f64());
        Self { seed: 0, rest_s: same(every.saturating_sub(last)), last_s: same(last) }
    }

    /// The spell with this number, from 0.
    pub fn nth(&self, number: u32) -> Spell {
        let mut dice = Dice::new(self.seed, "spells", number);
        let mut draw = |name, (from, to)| Duration::from_secs_f64(dice.real(name, from, to));
        Spell { rest: draw("rest", self.rest_s), last: draw("last", self.last_s) }
    }

    /// As options of `walls burn`.
    pub fn words(&self) -> Vec<String> {
        let Self { seed, rest_s, last_s } = self;
        let range = |(from, to): &(f64, f64)| format!("{from}..{to}");
        let words = ["--seed", &seed.to_string(), "--rest-s", &range(rest_s)].map(str::to_owned);
        words.into_iter().chain(["--work-s".to_owned(), range(last_s)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spell_has_another_length_of_its_range() {
        let spells = Spells::of(7, (0.5, 1.5), (0.06, 0.12));
        let all: Vec<Spell> = (0..50).map(|number| spells.nth(number)).collect();
        let is_between = |length: Duration, (from, to)| (from..=to).contains(&length.as_secs_f64());
        assert!(all.iter().all(|one| is_between(one.rest, (0.5, 1.5))));
        assert!(all.iter().all(|one| is_between(one.last, (0.06, 0.12))));
        assert!(all.windows(2).all(|two| two[0] != two[1]));
        assert_eq!(spells.nth(3), spells.nth(3));
        let every = Duration::from_millis(500);
        let beat = Spells::beat(Duration::from_millis(60), every).nth(9);
        assert_eq!((beat.rest + beat.last, beat.last), (every, Duration::from_millis(60)));
    }
}
