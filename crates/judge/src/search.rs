//! The highest rate that meets an objective, on noisy systems.
//!
//! Executive summary: the rate doubles until a trial misses; then the interval between the highest
//! rate that holds and the lowest that misses is halved in log space, with trials that grow longer
//! as it narrows; then both ends are repeated until a sequential test is sure of them. Finally a
//! run below the found rate must hold and one above the interval must miss.
//!
//! One trial proves little: a good rate misses now and then, and a bad rate holds by luck. Each
//! rate therefore keeps its evidence, and an end of the interval that turns out wrong is given up
//! again. The sequential test (Wald) weighs "misses at most one trial in ten" against "misses six
//! in ten". If a rate misses below one that holds, the lower one counts, as in MLRsearch
//! (draft-ietf-bmwg-mlrsearch), and the interval covers both.
//!
//! This is a pure state machine: [`Search::step`] says what to try, [`Search::report`] takes the
//! result.

mod evidence;

use crate::gates;
use crate::objective::connect_moved;
use evidence::{Evidence, Tested};
use figures::Value;
use model::figure::{Figure, Times};
use model::objective::{Objective, ObjectiveStanding, Term};
use model::run::Point;
use model::search::{Answer, Ended, Purpose, SearchCheck, SearchConfig, SearchTrial, Trust};
use model::units::show_count;
use model::verdict::{CeilingKind, Confidence};

/// Each growing step multiplies the rate by this.
const GROWTH: f64 = 2.0;
/// Shortest trial, as a share of a whole one.
const SHORTEST: f64 = 0.2;
/// Shortest trial, unless a whole one is shorter, nanoseconds: less says nothing about a queue.
const SHORTEST_NS: u64 = 500_000_000;
/// Trials are whole when the interval is at most this many times as wide as requested.
const WHOLE_WITHIN: f64 = 4.0;
/// A miss is repeated at once while trials are shorter than this share of a whole one.
const DOUBTED_BELOW: f64 = 0.5;
/// Slightly longer than the wanted number of responses needs: rates are met only on average.
const ANSWERS_MARGIN: f64 = 1.1;
/// The run below the found rate has this share of it.
const BELOW: f64 = 0.95;
/// The run above the interval has this multiple of its upper end.
const ABOVE: f64 = 1.05;
/// The most runs to confirm one side.
const CONFIRM_MAX: u32 = 3;
/// At most this share of the budget is kept for confirming.
const RESERVE_MAX: f64 = 0.25;
/// Time outside the measured window, assumed until the first trial: connecting and warming up.
const OVERHEAD_NS: u64 = 500_000_000;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextTrial {
    /// Try this.
    Trial {
        /// Rate to plan, per second.
        rate: f64,
        /// Length of the measured window, nanoseconds.
        duration_ns: u64,
        /// What the trial is for.
        purpose: Purpose,
    },
    /// The search is over.
    Done(Answer),
}

/// The result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialResult {
    /// How the objective stood.
    pub standing: ObjectiveStanding,
    /// Whether that result can be trusted.
    pub trust: Trust,
    /// Length of the measured window, nanoseconds; shorter than planned if it was cut.
    pub duration_ns: u64,
    /// Time for everything: connecting, warming up, measuring, draining; nanoseconds.
    pub elapsed_ns: u64,
}

/// A trial that was ordered and not yet reported.
#[derive(Debug, Clone, Copy)]
struct Pending {
    rate: f64,
    duration_ns: u64,
    purpose: Purpose,
}

/// Runs around the found rate so far.
#[derive(Debug, Clone, Copy, Default)]
struct Confirming {
    rate: f64,
    runs: u32,
    agree: u32,
    disagree: u32,
}

impl Confirming {
    /// Two runs that agree end it at once; otherwise it is repeated, and the majority counts.
    fn is_over(&self) -> bool {
        let first_agrees = self.agree > 0 && self.disagree == 0;
        first_agrees || self.agree.max(self.disagree) > CONFIRM_MAX / 2 || self.runs >= CONFIRM_MAX
    }

    fn check(&self) -> Option<SearchCheck> {
        let agrees = (self.agree != self.disagree).then_some(self.agree > self.disagree);
        (self.runs > 0).then_some(SearchCheck { rate: self.rate, agrees, runs: self.runs })
    }
}

/// Whether a judged point counts as a trial. Gates that break because the target is overloaded do
/// not matter: the objective itself judges that. The generator spoils a trial if a term is open
/// because generator delay moved its figure across the bound; it does not move counts.
pub fn trust(objective: &Objective, point: &Point) -> Trust {
    if !gates::is_rate_known(point) {
        Trust::Invalid
    } else if generator_delay_matters(objective, point) || point.verdict.is_of_generator() {
        Trust::ClientLate
    } else {
        Trust::Sound
    }
}

fn generator_delay_matters(objective: &Objective, point: &Point) -> bool {
    let is_open = |term: &Term| {
        let left = match term.figure {
            Figure::Time(Times::Connect, statistic) => connect_moved(point, statistic),
            figure if figure.is_latency() => Value::left_by(point.standing.of(figure)),
            _ => None,
        };
        let is_between = |left: &Value| matches!(left, Value::Between { high: Some(_), .. });
        let left = left.filter(is_between);
        left.is_some_and(|left| left.holds(term.relation, term.bound).is_none())
    };
    objective.terms().iter().any(is_open)
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    config: SearchConfig,
    evidence: Evidence,
    trials: Vec<SearchTrial>,
    pending: Option<Pending>,
    spent_ns: u64,
    overhead_ns: u64,
    ended: Option<Ended>,
    below: Confirming,
    above: Confirming,
}

impl Search {
    /// A search that has tried nothing yet.
    pub fn new(config: SearchConfig) -> Self {
        Self {
            evidence: Evidence::new(config.confidence),
            config,
            trials: Vec::new(),
            pending: None,
            spent_ns: 0,
            overhead_ns: OVERHEAD_NS,
            ended: None,
            below: Confirming::default(),
            above: Confirming::default(),
        }
    }

    /// Every trial so far, in order.
    pub fn trials(&self) -> &[SearchTrial] {
        &self.trials
    }

    /// What to do now. Returns the same until the result of a trial is reported.
    pub fn step(&mut self) -> NextTrial {
        if self.pending.is_none() && self.ended.is_none() {
            match self.search().map(|pending| self.fitted(pending)) {
                Ok(Some(pending)) => self.pending = Some(pending),
                Ok(None) => self.ended = Some(Ended::BudgetSpent),
                Err(ended) => self.ended = Some(ended),
            }
        }
        if self.pending.is_none() {
            self.pending = self.confirm().filter(|pending| self.affords(pending, 0));
        }
        match self.pending {
            Some(Pending { rate, duration_ns, purpose }) => {
                NextTrial::Trial { rate, duration_ns, purpose }
            }
            None => NextTrial::Done(self.answer()),
        }
    }

    /// Takes the result of the trial that [`Search::step`] ordered; ignored if there is none.
    pub fn report(&mut self, result: TrialResult) {
        let Some(Pending { rate, purpose, .. }) = self.pending.take() else { return };
        let TrialResult { standing, trust, duration_ns, elapsed_ns } = result;
        self.spent_ns += elapsed_ns;
        self.overhead_ns = elapsed_ns.saturating_sub(duration_ns);
        let duration_s = duration_ns as f64 / 1e9;
        self.trials.push(SearchTrial { rate, duration_s, purpose, standing, trust });
        let met = match (standing, trust) {
            (ObjectiveStanding::Met, Trust::Sound | Trust::ClientLate) => Some(true),
            (ObjectiveStanding::Missed, Trust::Sound) => Some(false),
            _ => None,
        };
        let (confirming, wanted) = match purpose {
            Purpose::ConfirmBelow => (&mut self.below, true),
            Purpose::ConfirmAbove => (&mut self.above, false),
            Purpose::Grow | Purpose::Narrow | Purpose::Verify => {
                let share = duration_ns as f64 / self.whole_ns(rate) as f64;
                self.evidence.add(rate, share.min(1.0), purpose, &result);
                return;
            }
        };
        confirming.rate = rate;
        confirming.runs += 1;
        confirming.agree += u32::from(met == Some(wanted));
        confirming.disagree += u32::from(met == Some(!wanted));
        if confirming.is_over() && confirming.disagree > confirming.agree {
            // The system is not monotone, or it changed: the interval covers both.
            let settled = if wanted { ObjectiveStanding::Missed } else { ObjectiveStanding::Met };
            self.evidence.settle(rate, purpose, settled);
        }
    }

    /// A trial within what is left of the budget. While nothing is decided there is nothing to
    /// confirm, so nothing is kept for that, and a trial may be as short as the responses that a
    /// decision needs.
    fn fitted(&self, pending: Pending) -> Option<Pending> {
        if self.affords(&pending, self.reserve_ns()) {
            return Some(pending);
        }
        let left_ns = self.config.budget_ns.saturating_sub(self.spent_ns + self.overhead_ns);
        let duration_ns = pending.duration_ns.min(left_ns);
        let is_enough = duration_ns as f64 >= self.least_s(pending.rate) * 1e9;
        (self.has_decided_nothing() && is_enough).then_some(Pending { duration_ns, ..pending })
    }

    /// Seconds in which a rate gives the responses that a decision needs.
    fn least_s(&self, rate: f64) -> f64 {
        self.config.answers_min as f64 / rate
    }

    fn has_decided_nothing(&self) -> bool {
        self.trials.iter().all(|trial| trial.standing == ObjectiveStanding::Undecided)
    }

    fn affords(&self, pending: &Pending, reserve_ns: u64) -> bool {
        let cost_ns = pending.duration_ns + self.overhead_ns;
        self.spent_ns + cost_ns + reserve_ns <= self.config.budget_ns
    }

    /// Time reserved for the runs that confirm.
    fn reserve_ns(&self) -> u64 {
        let Some(low) = self.evidence.low() else { return 0 };
        let both_ns = 2 * (self.whole_ns(low.rate) + self.overhead_ns);
        both_ns.min((self.config.budget_ns as f64 * RESERVE_MAX) as u64)
    }

    /// Length of a trial that can decide a rate.
    fn whole_ns(&self, rate: f64) -> u64 {
        self.config.trial_ns.max(self.answers_ns(rate))
    }

    fn verify(&self, tested: &Tested) -> Pending {
        // A trial that was too short to decide is repeated for longer.
        let longer = 1 << tested.undecided.min(3);
        let duration_ns = self.whole_ns(tested.rate) * longer;
        Pending { rate: tested.rate, duration_ns, purpose: Purpose::Verify }
    }

    fn grow(&self, rate: f64) -> Pending {
        // Not whole: on the way up it does not matter if it is too short to decide.
        let shortest_ns = (self.config.trial_ns as f64 * SHORTEST) as u64;
        let duration_ns = shortest_ns.max(SHORTEST_NS).min(self.config.trial_ns);
        Pending { rate, duration_ns, purpose: Purpose::Grow }
    }

    /// The next trial of the search itself, or why there is none.
    fn search(&self) -> Result<Pending, Ended> {
        if let Some(open) = self.evidence.open() {
            return if open.is_hopeless() { Err(Ended::Undecidable) } else { Ok(self.again(open)) };
        }
        let (low, high) = (self.evidence.low(), self.evidence.high());
        match (low, high) {
            (None, None) => Ok(self.grow(self.config.lowest)),
            (Some(low), _) if self.evidence.client_limit().is_some() => {
                self.sure(low).ok_or(Ended::ClientLimited)
            }
            (None, _) if self.evidence.client_limit().is_some() => Err(Ended::ClientLimited),
            (Some(low), None) if low.rate >= self.config.highest => {
                self.sure(low).ok_or(Ended::HighestHolds)
            }
            (Some(low), None) => Ok(self.grow(rounded(low.rate * GROWTH).min(self.config.highest))),
            (None, Some(high)) => self.sure(high).ok_or(Ended::LowestMisses),
            (Some(low), Some(high)) => self.between(low, high),
        }
    }

    /// The trial that makes a rate sure; none if it is already sure.
    fn sure(&self, tested: &Tested) -> Option<Pending> {
        (!self.evidence.is_sure(tested)).then(|| self.verify(tested))
    }

    /// A trial that said nothing is repeated; while growing, unchanged.
    fn again(&self, open: &Tested) -> Pending {
        if open.purpose == Purpose::Grow && open.undecided == 0 {
            return self.grow(open.rate);
        }
        self.verify(open)
    }

    fn between(&self, low: &Tested, high: &Tested) -> Result<Pending, Ended> {
        let share = self.share(low.rate, high.rate);
        let length_ns = |rate: f64| {
            let share_ns = (self.config.trial_ns as f64 * share) as u64;
            share_ns.max(SHORTEST_NS).min(self.config.trial_ns).max(self.answers_ns(rate))
        };
        // Far from the found rate trials are short, and a miss by chance would cost the whole way
        // back, so it is repeated at once.
        if high.trials == 1 && share < DOUBTED_BELOW && !self.evidence.is_sure(high) {
            return Ok(Pending { duration_ns: length_ns(high.rate), ..self.verify(high) });
        }
        let middle = rounded((low.rate * high.rate).sqrt());
        let is_wide = high.rate / low.rate > 1.0 + self.config.precision;
        if is_wide && middle > low.rate && middle < high.rate {
            let duration_ns = length_ns(middle);
            return Ok(Pending { rate: middle, duration_ns, purpose: Purpose::Narrow });
        }
        let sure = self.sure(high).or_else(|| self.sure(low));
        sure.ok_or(Ended::Narrowed)
    }

    /// Time in which a rate gives the responses that a decision needs.
    fn answers_ns(&self, rate: f64) -> u64 {
        (self.config.answers_min as f64 * ANSWERS_MARGIN / rate * 1e9) as u64
    }

    /// The length of a trial as a share of a whole one: the wider the interval, the shorter.
    fn share(&self, low: f64, high: f64) -> f64 {
        let widths = (high / low).ln() / self.config.precision.ln_1p();
        (WHOLE_WITHIN / widths).clamp(SHORTEST, 1.0)
    }

    /// The next run around the found rate.
    fn confirm(&self) -> Option<Pending> {
        let run = |confirming: &Confirming, rate: f64, purpose| {
            let rate = if confirming.runs > 0 { confirming.rate } else { rounded(rate) };
            Some(Pending { rate, duration_ns: self.whole_ns(rate), purpose })
        };
        if !self.below.is_over() {
            let low = self.evidence.low()?;
            return run(&self.below, low.rate * BELOW, Purpose::ConfirmBelow);
        }
        let top = self.evidence.top()?;
        if self.above.is_over() || self.evidence.client_limit().is_some() {
            return None;
        }
        run(&self.above, top.rate * ABOVE, Purpose::ConfirmAbove)
    }

    fn answer(&self) -> Answer {
        let ended = self.ended.unwrap_or(Ended::BudgetSpent);
        let (low, top) = (self.evidence.low(), self.evidence.top());
        let is_open_above = self.evidence.high().is_none() || ended == Ended::ClientLimited;
        let shown = low.and_then(|low| self.shown(low.rate));
        let (rate, misses_at) = (shown, top.map(|top| top.rate));
        Answer {
            rate,
            kind: if is_open_above { CeilingKind::AtLeast } else { CeilingKind::Ceiling },
            misses_at,
            width: rate.zip(misses_at).map(|(low, high)| high / low - 1.0),
            ended,
            confidence: self.confidence(ended),
            below: self.below.check(),
            above: self.above.check(),
            notes: self.notes(ended),
        }
    }

    /// The highest rate up to the end of the interval at which a trial was met: the end itself,
    /// unless its trials were too short to decide, which is good enough only on the way up.
    fn shown(&self, low: f64) -> Option<f64> {
        let is_met = |trial: &&SearchTrial| {
            trial.rate <= low
                && trial.standing == ObjectiveStanding::Met
                && trial.trust != Trust::Invalid
        };
        self.trials.iter().filter(is_met).map(|trial| trial.rate).max_by(f64::total_cmp)
    }

    fn confidence(&self, ended: Ended) -> Confidence {
        let is_sure = |end: Option<&Tested>| end.is_some_and(|end| self.evidence.is_certain(end));
        let (low, top) = (self.evidence.low(), self.evidence.top());
        if low.and_then(|low| self.shown(low.rate)).is_none() {
            let is_known = ended == Ended::LowestMisses && is_sure(self.evidence.high());
            return if is_known { Confidence::Probable } else { Confidence::Unknown };
        }
        let checks = [self.below.check(), self.above.check()];
        let disagrees = checks.iter().flatten().any(|check| check.agrees == Some(false));
        let is_limited = matches!(ended, Ended::HighestHolds | Ended::ClientLimited);
        let ends_sure = is_sure(low) && (is_sure(top) || is_limited);
        if disagrees || !ends_sure {
            return Confidence::Suspected;
        }
        let agrees = |check: &Option<SearchCheck>| {
            check.as_ref().is_some_and(|check| check.agrees == Some(true))
        };
        // If the generator gave way first, the highest rate is only known to be more.
        let is_above = agrees(&checks[1]) || ended == Ended::HighestHolds;
        let is_confirmed = agrees(&checks[0]) && is_above;
        if is_confirmed { Confidence::Confirmed } else { Confidence::Probable }
    }

    fn notes(&self, ended: Ended) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(percent) = self.config.errors_added_percent {
            notes.push(format!(
                "errors<{percent}% was added: the objective bounds neither failures nor the rate"
            ));
        }
        if let Some(limit) = self.evidence.client_limit() {
            notes.push(format!(
                "at {}/s the generator was late and the objective was missed: the limit may \
                 be the generator's own",
                show_count(limit)
            ));
        }
        if let Some((high, above)) =
            self.evidence.high().and_then(|high| Some((high, self.evidence.held_above(high.rate)?)))
        {
            let (high, above) = (show_count(high.rate), show_count(above.rate));
            notes.push(format!("not monotone: {high}/s missed but {above}/s held"));
        }
        if ended == Ended::BudgetSpent && self.has_decided_nothing() {
            let rate = self.trials.last().map_or(self.config.lowest, |trial| trial.rate);
            let needed_s = self.least_s(rate);
            // The trial that decides, one on each side of it, and what was spent on the way.
            let whole_s = 3.0 * (self.whole_ns(rate) + self.overhead_ns) as f64 / 1e9;
            let budget_s = (whole_s + self.spent_ns as f64 / 1e9).ceil();
            notes.push(format!(
                "nothing was decided: that takes {} responses in one trial, which is {needed_s:.1} \
                 s at {}/s, and the budget ended first; for example --budget {budget_s}s, or a \
                 lower percentile",
                self.config.answers_min,
                show_count(rate),
            ));
        } else if ended == Ended::BudgetSpent {
            notes.push("the budget ended before the interval was narrow and sure".to_string());
        }
        for (check, side) in [(self.below.check(), "below"), (self.above.check(), "above")] {
            match check {
                Some(SearchCheck { rate, agrees: Some(false), .. }) => {
                    let wrong = if side == "below" { "missed" } else { "held" };
                    let rate = show_count(rate);
                    notes.push(format!("the run {side} the found rate, at {rate}/s, {wrong}"));
                }
                Some(SearchCheck { rate, agrees: None, .. }) => {
                    let rate = show_count(rate);
                    notes.push(format!(
                        "the run {side} the found rate, at {rate}/s, was not decided"
                    ));
                }
                _ => {}
            }
        }
        notes
    }
}

/// Five significant digits: more would only look precise.
fn rounded(rate: f64) -> f64 {
    let scale = 10f64.powf(4.0 - rate.log10().floor());
    (rate * scale).round() / scale
}

#[cfg(test)]
mod tests;
