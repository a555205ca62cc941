//! Compares the slots of a row.

use super::bounds::{Bound, Judged, Measure};
use super::contender::Contender;
use super::slot::{Measured, RowResult};
use super::statistics::{self, Spread};

/// A row whose slots are compared.
pub struct Comparison<'r> {
    result: &'r RowResult,
    rounds: u32,
    subject: String,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub contender: String,
    pub cost_ns: Option<Spread>,
    pub user_share: Option<Spread>,
    pub rate: Option<Spread>,
    /// Its cost over that of the floor.
    pub over_floor: Option<Spread>,
    /// The cost of the subject over its own cost.
    pub subject_over: Option<Spread>,
    /// Share of TLS handshakes that resumed a session.
    pub resumed: Option<Spread>,
    pub p50_ns: Option<Spread>,
    pub p99_ns: Option<Spread>,
    /// Its first failure, if any.
    pub failure: Option<String>,
}

impl<'r> Comparison<'r> {
    /// Compares the results of `rounds` rounds.
    pub fn of(result: &'r RowResult, rounds: u32) -> Self {
        Self { result, rounds, subject: result.row.subject().name() }
    }

    /// The name of the row.
    pub fn row(&self) -> &'static str {
        self.result.row.name
    }

    /// The contender that the bounds are about.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Judges the row by one of its bounds.
    pub fn judge(&self, bound: Bound) -> Judged {
        let subject = self.subject();
        let measured = match bound.measure {
            Measure::CostOverFloor => match self.floor() {
                Some(floor) => self.cost_ratio(subject, floor),
                None => Err("no floor was measured".into()),
            },
            Measure::CostOver(peer) => self.cost_ratio(subject, peer),
            Measure::CostOverHttp1 => {
                self.cost_ratio(subject, &self.result.row.with_http1().name())
            }
            Measure::UserShareOver(peer) => self.user_share_ratio(subject, peer),
            Measure::RequestsPerCpuSecond => self.requests_per_cpu_second(subject),
            Measure::BytesPerConnection | Measure::Growth => {
                Err("a row of requests does not measure memory".into())
            }
        };
        bound.judge(self.row(), subject, measured)
    }

    /// The better of the floors by its median; within rounds the better one would be chosen by
    /// luck.
    pub fn floor(&self) -> Option<&'r str> {
        let names = self.result.contenders.iter().map(|(name, _)| name.as_str());
        let floors = names.filter(|name| name.starts_with("floor "));
        let costs = floors.filter_map(|name| Some((name, self.cost(name)?.median)));
        costs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name)
    }

    /// One line per contender, in the order of the table.
    pub fn summaries(&self) -> Vec<Summary> {
        self.result.contenders.iter().map(|(name, _)| self.summary(name)).collect()
    }

    /// Cost over cost, within rounds.
    pub fn cost_ratio(&self, above: &str, below: &str) -> Result<Spread, String> {
        let figure = self.result.row.figure;
        self.ratio(above, below, |measured| Some(measured.cost_ns(figure)))
    }

    /// Cost over cost: one value for each round that has both.
    pub fn cost_ratios(&self, above: &str, below: &str) -> Vec<f64> {
        let figure = self.result.row.figure;
        let costs = |name| self.values(name, |measured| Some(measured.cost_ns(figure)));
        statistics::ratios(&costs(above), &costs(below))
    }

    /// User-mode share over user-mode share, within rounds.
    pub fn user_share_ratio(&self, above: &str, below: &str) -> Result<Spread, String> {
        self.ratio(above, below, |measured| Some(measured.user_share()))
    }

    /// Requests per second of CPU time.
    pub fn requests_per_cpu_second(&self, contender: &str) -> Result<Spread, String> {
        let figure = self.result.row.figure;
        let values = self.values(contender, |measured| Some(1e9 / measured.cost_ns(figure)));
        let rate = Spread::of(values.into_iter().flatten());
        rate.filter(|rate| self.is_of_most(rate)).ok_or_else(|| self.why_missing(contender))
    }

    /// Whether at least half of the rounds have a figure. Those that failed may be the slow ones,
    /// so a median of the few others says nothing.
    fn is_of_most(&self, spread: &Spread) -> bool {
        2 * spread.count >= self.rounds as usize
    }

    fn summary(&self, name: &str) -> Summary {
        let spread = |of: fn(&Measured) -> Option<f64>| {
            Spread::of(self.values(name, of).into_iter().flatten())
        };
        let over_floor = self.floor().and_then(|floor| self.cost_ratio(name, floor).ok());
        Summary {
            contender: name.to_owned(),
            cost_ns: self.cost(name),
            user_share: spread(|measured| Some(measured.user_share())),
            rate: spread(|measured| Some(measured.rate)),
            over_floor,
            subject_over: self.cost_ratio(&self.subject, name).ok(),
            resumed: spread(|measured| measured.resumed),
            p50_ns: spread(|measured| measured.p50_ns.map(|ns| ns as f64)),
            p99_ns: spread(|measured| measured.p99_ns.map(|ns| ns as f64)),
            failure: self.failure(name),
        }
    }

    /// Nanoseconds per request over the rounds.
    pub fn cost(&self, contender: &str) -> Option<Spread> {
        let figure = self.result.row.figure;
        let values = self.values(contender, |measured| Some(measured.cost_ns(figure)));
        Spread::of(values.into_iter().flatten())
    }

    fn ratio(
        &self,
        above: &str,
        below: &str,
        of: impl Fn(&Measured) -> Option<f64>,
    ) -> Result<Spread, String> {
        let ratio = Spread::of_ratios(&self.values(above, &of), &self.values(below, &of));
        ratio.filter(|ratio| self.is_of_most(ratio)).ok_or_else(|| match self.failure(above) {
            Some(_) => self.why_missing(above),
            None => self.why_missing(below),
        })
    }

    /// One value per round; nothing where the contender failed.
    fn values(&self, contender: &str, of: impl Fn(&Measured) -> Option<f64>) -> Vec<Option<f64>> {
        let mut values = vec![None; self.rounds as usize];
        for slot in self.result.slots.iter().filter(|slot| slot.contender == contender) {
            if let Ok(measured) = &slot.result {
                values[slot.round as usize - 1] = of(measured);
            }
        }
        values
    }

    fn failure(&self, contender: &str) -> Option<String> {
        let mut slots = self.result.slots.iter().filter(|slot| slot.contender == contender);
        slots.find_map(|slot| slot.result.as_ref().err().cloned())
    }

    fn why_missing(&self, contender: &str) -> String {
        if let Some(reason) = &self.result.skipped {
            return reason.clone();
        }
        match self.failure(contender) {
            Some(reason) => format!("{contender} failed: {reason}"),
            None => format!("{contender} is absent"),
        }
    }
}

/// How much of one CPU other programs used during the slots of all rows.
pub fn foreign(results: &[RowResult]) -> Option<Spread> {
    let slots = results.iter().flat_map(|result| &result.slots);
    Spread::of(slots.filter_map(|slot| Some(slot.result.as_ref().ok()?.foreign_share())))
}

/// Whether a contender is `ceiling` with a pause.
pub fn is_coalesced(summary: &Summary, subject: &Contender) -> bool {
    summary.contender.starts_with(&format!("{} +", subject.name()))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::rows::ROWS;
    use crate::slot::Slot;
    use serde_json::Value;

    /// Two rounds of the first row, with these costs in nanoseconds per request.
    pub fn sample(costs: &[(&str, [Option<u64>; 2])]) -> RowResult {
        let mut slots = Vec::new();
        for (name, rounds) in costs {
            for (round, cost) in (1..).zip(rounds) {
                let measured = |cost: u64| Measured {
                    requests: 1000,
                    user_ns: 100 * 1000,
                    system_ns: (cost - 100) * 1000,
                    elapsed_ns: 10_000_000,
                    rate: 100_000.0,
                    foreign_ns: 1_000_000,
                    ..Measured::default()
                };
                let result = cost.map(measured).ok_or("it died".to_owned());
                slots.push(Slot { round, turn: 0, contender: (*name).to_owned(), result });
            }
        }
        let contenders = costs.iter().map(|(name, _)| ((*name).to_owned(), String::new()));
        let contenders = contenders.collect();
        RowResult { row: &ROWS[0], contenders, slots, skipped: None, served: Value::Null }
    }

    #[test]
    fn the_floor_is_the_better_of_both() {
        let result = sample(&[
            ("floor uring", [Some(1000), Some(1100)]),
            ("floor epoll", [Some(900), Some(1000)]),
            ("ceiling uring", [Some(990), Some(1200)]),
        ]);
        let comparison = Comparison::of(&result, 2);
        assert_eq!(comparison.floor(), Some("floor epoll"));
        let over = comparison.summaries()[2].over_floor.unwrap();
        assert_eq!((over.min, over.max), (1.1, 1.2));
    }

    #[test]
    fn rounds_with_a_failure_are_left_out_and_the_reason_is_kept() {
        let result = sample(&[
            ("ceiling uring", [Some(900), Some(900)]),
            ("wrk", [Some(1000), None]),
            ("oha", [None, None]),
        ]);
        let comparison = Comparison::of(&result, 2);
        let ratio = comparison.cost_ratio("ceiling uring", "wrk").unwrap();
        assert_eq!((ratio.median, ratio.count), (0.9, 1));
        let reason = comparison.cost_ratio("ceiling uring", "oha").unwrap_err();
        assert_eq!(reason, "oha failed: it died");
        let reason = comparison.cost_ratio("ceiling uring", "k6").unwrap_err();
        assert_eq!(reason, "k6 is absent");
        let summaries = comparison.summaries();
        assert_eq!(summaries[1].failure.as_deref(), Some("it died"));
        assert_eq!(summaries[2].cost_ns, None);
    }

    /// One good round of three met every bound.
    #[test]
    fn a_figure_of_few_rounds_is_none() {
        let result =
            sample(&[("ceiling uring", [Some(900), None]), ("wrk", [Some(1000), Some(1000)])]);
        let comparison = Comparison::of(&result, 3);
        let expected = "ceiling uring failed: it died";
        assert_eq!(comparison.cost_ratio("ceiling uring", "wrk").unwrap_err(), expected);
        assert_eq!(comparison.requests_per_cpu_second("ceiling uring").unwrap_err(), expected);
        assert!(comparison.requests_per_cpu_second("wrk").is_ok());
    }

    #[test]
    fn shares_and_rates_follow_from_the_slots() {
        let result =
            sample(&[("ceiling uring", [Some(1000), Some(1000)]), ("wrk", [Some(500), Some(500)])]);
        let comparison = Comparison::of(&result, 2);
        let ratio = comparison.user_share_ratio("ceiling uring", "wrk").unwrap();
        assert!((ratio.median - 0.5).abs() < 1e-9);
        let rate = comparison.requests_per_cpu_second("wrk").unwrap();
        assert_eq!(rate.median, 2e6);
        assert_eq!(foreign(std::slice::from_ref(&result)).unwrap().median, 0.1);
    }
}
