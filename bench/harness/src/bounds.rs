//! The bounds for `ceiling`, and whether a run met them.

use super::statistics::Spread;

/// The figure that a bound compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// CPU per request over that of the better floor.
    CostOverFloor,
    /// CPU per request over that of a peer.
    CostOver(&'static str),
    /// CPU per request over that of our own HTTP/1.1.
    CostOverHttp1,
    /// The share of CPU time in user mode over that of a peer.
    UserShareOver(&'static str),
    /// Requests per second of CPU time.
    RequestsPerCpuSecond,
    /// Own memory of one more connection.
    BytesPerConnection,
    /// Growth of memory during a run at full speed, 0.01 being one percent.
    Growth,
}

impl Measure {
    /// The peer that it needs.
    #[cfg(test)]
    pub fn peer(self) -> Option<&'static str> {
        match self {
            Self::CostOver(name) | Self::UserShareOver(name) => Some(name),
            _ => None,
        }
    }

    /// A value with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::CostOverFloor
            | Self::CostOver(_)
            | Self::CostOverHttp1
            | Self::UserShareOver(_) => format!("{value:.3}"),
            Self::RequestsPerCpuSecond => format!("{:.1} M/s", value / 1e6),
            Self::BytesPerConnection => format!("{value:.0} B"),
            Self::Growth => format!("{:.2} %", value * 100.0),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    AtMost,
    AtLeast,
}

/// One bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    pub measure: Measure,
    side: Side,
    pub limit: f64,
}

/// The result of a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Met,
    Missed,
    /// A program it needs is not on this machine, or the row was skipped.
    NotMeasured(String),
}

/// A bound with the measured figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub row: String,
    pub subject: String,
    pub bound: Bound,
    pub measured: Option<Spread>,
    pub verdict: Verdict,
}

impl Bound {
    /// Not more than this.
    pub const fn at_most(measure: Measure, limit: f64) -> Self {
        Self { measure, side: Side::AtMost, limit }
    }

    /// Not less than this.
    pub const fn at_least(measure: Measure, limit: f64) -> Self {
        Self { measure, side: Side::AtLeast, limit }
    }

    /// As a sentence without a subject.
    pub fn sentence(&self) -> String {
        let side = if self.side == Side::AtMost { "at most" } else { "at least" };
        let limit = self.limit;
        match self.measure {
            Measure::CostOverFloor => format!("{side} {limit:.2} x the floor"),
            Measure::CostOver(peer) => format!("{side} {limit:.2} x {peer}"),
            Measure::CostOverHttp1 => format!("{side} {limit:.2} x our HTTP/1.1"),
            Measure::UserShareOver(peer) => {
                format!("user share {side} {limit:.2} x {peer}'s")
            }
            Measure::RequestsPerCpuSecond => {
                format!("{side} {:.0} M requests per CPU second", limit / 1e6)
            }
            Measure::BytesPerConnection => format!("{side} {limit:.0} B per connection"),
            Measure::Growth => format!("memory grows by {side} {:.0} %", limit * 100.0),
        }
    }

    /// Judges a measured figure by its median.
    pub fn judge(self, row: &str, subject: &str, measured: Result<Spread, String>) -> Judged {
        let (row, subject) = (row.to_owned(), subject.to_owned());
        let (measured, verdict) = match measured {
            Err(reason) => (None, Verdict::NotMeasured(reason)),
            Ok(spread) => {
                let is_met = match self.side {
                    Side::AtMost => spread.median <= self.limit,
                    Side::AtLeast => spread.median >= self.limit,
                };
                (Some(spread), if is_met { Verdict::Met } else { Verdict::Missed })
            }
        };
        Judged { row, subject, bound: self, measured, verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bound: Bound, median: f64) -> Verdict {
        bound.judge("r", "ceiling", Ok(Spread::of([median]).unwrap())).verdict
    }

    #[test]
    fn the_limit_itself_is_met() {
        let most = Bound::at_most(Measure::CostOverFloor, 1.1);
        assert_eq!((verdict(most, 1.1), verdict(most, 1.1001)), (Verdict::Met, Verdict::Missed));
        let least = Bound::at_least(Measure::RequestsPerCpuSecond, 10e6);
        assert_eq!((verdict(least, 10e6), verdict(least, 9.9e6)), (Verdict::Met, Verdict::Missed));
    }

    #[test]
    fn what_was_not_measured_is_neither_met_nor_missed() {
        let judged = Bound::at_most(Measure::CostOver("oha"), 0.75).judge(
            "r",
            "ceiling",
            Err("oha is absent".into()),
        );
        assert_eq!(judged.verdict, Verdict::NotMeasured("oha is absent".into()));
        assert_eq!(judged.measured, None);
    }

    #[test]
    fn bounds_read_as_sentences() {
        for (bound, sentence, value) in [
            (Bound::at_most(Measure::CostOver("wrk"), 0.92), "at most 0.92 x wrk", "0.500"),
            (
                Bound::at_most(Measure::UserShareOver("wrk"), 0.5),
                "user share at most 0.50 x wrk's",
                "0.500",
            ),
            (
                Bound::at_least(Measure::RequestsPerCpuSecond, 10e6),
                "at least 10 M requests per CPU second",
                "0.0 M/s",
            ),
            (Bound::at_most(Measure::Growth, 0.01), "memory grows by at most 1 %", "50.00 %"),
        ] {
            assert_eq!(
                (bound.sentence().as_str(), bound.measure.show(0.5).as_str()),
                (sentence, value)
            );
        }
    }
}
