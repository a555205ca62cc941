//! What trials have shown about each rate, and how sure that is.

use super::TrialResult;
use model::objective::ObjectiveStanding;
use model::search::{Purpose, Trust};

/// A rate holds when it misses at most this share of trials.
const GOOD_MISSES: f64 = 0.1;
/// A rate misses when it misses at least this share.
const BAD_MISSES: f64 = 0.6;
/// After this many trials, the majority decides.
const TRIALS_MAX: u32 = 9;
/// Trials that said nothing, after which a rate is given up.
const SILENT_MAX: u32 = 3;
/// Missed trials with a late generator, after which the generator is the limit.
const LATE_MAX: u32 = 2;
/// The weight of a trial that was too short to decide and showed no miss.
const HINT: f64 = 0.01;

/// The evidence about one rate.
#[derive(Debug, Clone, Copy)]
pub struct Tested {
    /// Per second.
    pub rate: f64,
    /// Trials made.
    pub trials: u32,
    /// Trials that were too short to decide.
    pub undecided: u32,
    /// Trials that missed while the generator was late.
    late: u32,
    /// Trials that could not be trusted.
    invalid: u32,
    /// What the first of them was for.
    pub purpose: Purpose,
    /// Logarithm of how much likelier the trials are if the rate misses than if it holds.
    leaning: f64,
}

impl Tested {
    /// Tried too often without a result.
    pub fn is_hopeless(&self) -> bool {
        self.undecided + self.invalid >= SILENT_MAX
    }
}

/// All rates tried, rising.
#[derive(Debug, Clone)]
pub struct Evidence {
    tested: Vec<Tested>,
    /// A leaning this strong is sure.
    sure: f64,
}

impl Evidence {
    /// Nothing tried yet. A rate is sure when its trials decide it with this confidence.
    pub fn new(confidence: f64) -> Self {
        let confidence = confidence.clamp(0.5, 0.9999);
        Self { tested: Vec::new(), sure: (confidence / (1.0 - confidence)).ln() }
    }

    /// Adds a trial; `share` is its length as a share of one that can decide.
    pub fn add(&mut self, rate: f64, share: f64, purpose: Purpose, result: &TrialResult) {
        let at = self.tested.partition_point(|tested| tested.rate < rate);
        if self.tested.get(at).is_none_or(|tested| tested.rate > rate) {
            let (trials, undecided, late, invalid, leaning) = (0, 0, 0, 0, 0.0);
            let fresh = Tested { rate, trials, undecided, late, invalid, purpose, leaning };
            self.tested.insert(at, fresh);
        }
        let tested = &mut self.tested[at];
        tested.trials += 1;
        let hold = ((1.0 - BAD_MISSES) / (1.0 - GOOD_MISSES)).ln();
        let miss = (BAD_MISSES / GOOD_MISSES).ln();
        match (result.standing, result.trust) {
            (_, Trust::Invalid) => tested.invalid += 1,
            (ObjectiveStanding::Met, _) => tested.leaning += hold * share,
            // Overload shows early, so a short miss says more than a short hold.
            (ObjectiveStanding::Missed, Trust::Sound) => {
                tested.leaning += miss * (1.0 + share) / 2.0
            }
            (ObjectiveStanding::Missed, Trust::ClientLate) => tested.late += 1,
            (ObjectiveStanding::Undecided, Trust::ClientLate) => tested.late += 1,
            (ObjectiveStanding::Undecided, _) if purpose == Purpose::Grow => {
                tested.leaning += hold * HINT
            }
            (ObjectiveStanding::Undecided, _) => tested.undecided += 1,
        }
    }

    /// A rate whose trials have said nothing, and which is not above the generator's limit.
    pub fn open(&self) -> Option<&Tested> {
        let is_open = |tested: &&Tested| tested.leaning == 0.0 && tested.late < LATE_MAX;
        self.tested.iter().find(is_open)
    }

    /// Takes over what a majority of other trials said.
    pub fn settle(&mut self, rate: f64, purpose: Purpose, standing: ObjectiveStanding) {
        let result = TrialResult { standing, trust: Trust::Sound, duration_ns: 0, elapsed_ns: 0 };
        self.add(rate, 1.0, purpose, &result);
        let sure = self.sure;
        if let Some(tested) = self.tested.iter_mut().find(|tested| tested.rate == rate) {
            tested.leaning = if standing == ObjectiveStanding::Met { -sure } else { sure };
        }
    }

    /// Whether the trials of a rate decide it with the requested confidence.
    pub fn is_certain(&self, tested: &Tested) -> bool {
        tested.leaning.abs() >= self.sure
    }

    /// Whether enough was tried: the rate is certain, or will not become so.
    pub fn is_sure(&self, tested: &Tested) -> bool {
        self.is_certain(tested) || tested.trials >= TRIALS_MAX
    }

    /// The lowest rate that misses.
    pub fn high(&self) -> Option<&Tested> {
        self.tested.iter().find(|tested| tested.leaning > 0.0)
    }

    /// The highest rate that holds, below all rates that miss or that the generator cannot produce.
    pub fn low(&self) -> Option<&Tested> {
        let limits = [self.high().map(|high| high.rate), self.client_limit()];
        let limit = limits.into_iter().flatten().fold(f64::INFINITY, f64::min);
        let holds = |tested: &&Tested| tested.leaning < 0.0 && tested.rate < limit;
        self.tested.iter().rev().find(holds)
    }

    /// The highest rate that holds although a lower one misses.
    pub fn held_above(&self, rate: f64) -> Option<&Tested> {
        let holds = |tested: &&Tested| tested.leaning < 0.0 && tested.rate > rate;
        self.tested.iter().rev().find(holds)
    }

    /// The lowest rate that misses, above all rates that hold.
    pub fn top(&self) -> Option<&Tested> {
        let held = self.held_above(0.0).map_or(0.0, |held| held.rate);
        self.tested.iter().find(|tested| tested.leaning > 0.0 && tested.rate > held)
    }

    /// The lowest rate that the generator could not produce in time, while nothing shows that the
    /// target misses it. A trial that is met shows that the generator can produce the rate, so late
    /// trials must outnumber those: a shared host holds the generator up now and then.
    pub fn client_limit(&self) -> Option<f64> {
        let hold = ((1.0 - BAD_MISSES) / (1.0 - GOOD_MISSES)).ln();
        let is_limit = |tested: &&Tested| {
            let met = tested.leaning / hold;
            tested.late >= LATE_MAX && met >= 0.0 && f64::from(tested.late) > met
        };
        self.tested.iter().find(is_limit).map(|tested| tested.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_that_is_late_now_and_then_is_no_limit() {
        let with = |trials: &[(ObjectiveStanding, Trust)]| {
            let mut evidence = Evidence::new(0.95);
            for (standing, trust) in trials {
                let (standing, trust) = (*standing, *trust);
                let result = TrialResult { standing, trust, duration_ns: 0, elapsed_ns: 0 };
                evidence.add(400.0, 1.0, Purpose::Verify, &result);
            }
            evidence.client_limit()
        };
        let (met, late) = (
            (ObjectiveStanding::Met, Trust::Sound),
            (ObjectiveStanding::Missed, Trust::ClientLate),
        );
        assert_eq!(with(&[late, late]), Some(400.0));
        assert_eq!(with(&[met, met, met, late, late]), None, "it can produce the rate");
        assert_eq!(with(&[met, late, late]), Some(400.0), "by luck");
        let missed = (ObjectiveStanding::Missed, Trust::Sound);
        assert_eq!(with(&[missed, late, late]), None, "the target misses it");
    }
}
