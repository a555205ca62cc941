//! What must hold: `p99<2ms,errors<0.1%`.
//!
//! An objective is a list of terms, each a figure of a point, a relation and a bound. Times and
//! shares are bounded from above, the rate from below. It is written in the record as it is typed,
//! and reads back the same.

use crate::units::{parse_duration_ns, parse_rate, show_count, show_ns};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Why a typed objective was refused. Its text is complete: what was typed, what is wrong with it,
/// an example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{typed}' {wrong}; for example {example}")]
pub struct ObjectiveError {
    /// The term, or the whole text when it has none.
    pub typed: String,
    /// What is wrong, with what is accepted.
    pub wrong: String,
    /// Something that works.
    pub example: &'static str,
}

/// What must hold: all terms together. Never empty, no figure twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    terms: Vec<Term>,
}

/// One condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// What is measured.
    pub figure: TermFigure,
    /// How it must compare with the bound.
    pub relation: Relation,
    /// In the unit of the figure: nanoseconds, percent (0 to 100) or per second.
    pub bound: f64,
}

/// A figure of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermFigure {
    /// Of `latency_ns`: a request without a good response counts as slower than all.
    Latency(Statistic),
    /// Of `latency_good_ns`: good responses alone, whatever the outcome of other requests.
    Good(Statistic),
    /// Of `service_ns`: from send, without the wait for a free slot. A request that was sent and
    /// got no good response counts as slower than all.
    Service(Statistic),
    /// Time to connect: from the planned instant where connections are planned. One that was never
    /// open counts as slower than all.
    Connect(Statistic),
    /// Requests without a good response, and planned connections that were never open, of those
    /// that were due.
    Errors,
    /// Responses with this class of status, of the requests that were due.
    Status(StatusClass),
    /// The main rate, per second: of completed good responses; for devices, of connections; in a
    /// fan-out, of events.
    Rate,
}

/// One figure of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// A percentile of the record.
    Percentile(Percentile),
    /// Arithmetic mean.
    Mean,
    /// Largest value.
    Max,
}

crate::named! {
    /// The percentiles of the record.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Percentile {
        /// Median.
        P50 = "p50",
        /// 75th.
        P75 = "p75",
        /// 90th.
        P90 = "p90",
        /// 95th.
        P95 = "p95",
        /// 99th.
        P99 = "p99",
        /// 99.9th.
        P99_9 = "p99.9",
        /// 99.99th.
        P99_99 = "p99.99",
    }
    /// As typed: `p99.9`.
    fn name, parse;
}

impl Percentile {
    /// The share of values below it, 0 to 1.
    pub fn quantile(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P75 => 0.75,
            Self::P90 => 0.9,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::P99_9 => 0.999,
            Self::P99_99 => 0.9999,
        }
    }
}

crate::named! {
    /// A class of status that can be bounded.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum StatusClass {
        /// 300 to 399.
        Redirect = "3xx",
        /// 400 to 499.
        ClientError = "4xx",
        /// 500 to 599.
        ServerError = "5xx",
    }
    /// Its key in the record.
    fn key;
}

crate::named! {
    /// How a figure must compare with its bound.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Relation {
        /// `<`
        Below = "<",
        /// `<=`
        AtMost = "<=",
        /// `>`
        Above = ">",
        /// `>=`
        AtLeast = ">=",
    }
    /// As typed.
    fn sign;
}

impl Relation {
    /// Whether `measured` compares so with `bound`.
    pub fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Self::Below => measured < bound,
            Self::AtMost => measured <= bound,
            Self::Above => measured > bound,
            Self::AtLeast => measured >= bound,
        }
    }

    fn is_upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }
}

/// The unit of a figure and its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoundUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Percent.
    #[serde(rename = "%")]
    Percent,
    /// Per second.
    #[serde(rename = "/s")]
    PerSecond,
}

impl BoundUnit {
    /// A figure with its unit, for a sentence.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Ns => show_ns(value),
            Self::Percent if value == 0.0 => "0%".to_string(),
            Self::Percent if value.fract() == 0.0 => format!("{value}%"),
            Self::Percent => format!("{value:.3}%"),
            Self::PerSecond => format!("{}/s", show_count(value)),
        }
    }
}

impl TermFigure {
    /// Its unit.
    pub fn unit(self) -> BoundUnit {
        match self {
            Self::Latency(_) | Self::Good(_) | Self::Service(_) | Self::Connect(_) => BoundUnit::Ns,
            Self::Errors | Self::Status(_) => BoundUnit::Percent,
            Self::Rate => BoundUnit::PerSecond,
        }
    }

    /// Its key in a point of the record: `latency_ns.p99`, `status.5xx`, `rate`. Failures have no
    /// key of their own there; `errors` stands for their share.
    pub fn key(self) -> String {
        match self {
            Self::Latency(statistic) => format!("latency_ns.{}", statistic.key()),
            Self::Good(statistic) => format!("latency_good_ns.{}", statistic.key()),
            Self::Service(statistic) => format!("service_ns.{}", statistic.key()),
            Self::Connect(statistic) => format!("connect_ns.{}", statistic.key()),
            Self::Errors => "errors".to_string(),
            Self::Status(class) => format!("status.{}", class.key()),
            Self::Rate => "rate".to_string(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(statistic) = text.strip_prefix("service.") {
            return Statistic::parse(statistic).map(Self::Service);
        }
        if let Some(statistic) = text.strip_prefix("good.") {
            return Statistic::parse(statistic).map(Self::Good);
        }
        if let Some(statistic) = text.strip_prefix("connect.") {
            return Statistic::parse(statistic).map(Self::Connect);
        }
        match text {
            "errors" => Some(Self::Errors),
            "status3xx" => Some(Self::Status(StatusClass::Redirect)),
            "status4xx" => Some(Self::Status(StatusClass::ClientError)),
            "status5xx" => Some(Self::Status(StatusClass::ServerError)),
            "rate" => Some(Self::Rate),
            other => Statistic::parse(other).map(Self::Latency),
        }
    }
}

impl Statistic {
    /// Its name in the record, where a dot would be a path.
    fn key(self) -> String {
        self.to_string().replace('.', "_")
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "mean" => Some(Self::Mean),
            "max" => Some(Self::Max),
            other => Percentile::parse(other).map(Self::Percentile),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Percentile(percentile) => percentile.name(),
            Self::Mean => "mean",
            Self::Max => "max",
        })
    }
}

impl fmt::Display for TermFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency(statistic) => statistic.fmt(f),
            Self::Good(statistic) => write!(f, "good.{statistic}"),
            Self::Service(statistic) => write!(f, "service.{statistic}"),
            Self::Connect(statistic) => write!(f, "connect.{statistic}"),
            Self::Errors => f.write_str("errors"),
            Self::Status(class) => write!(f, "status{}", class.key()),
            Self::Rate => f.write_str("rate"),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.figure, self.relation.sign())?;
        match self.figure.unit() {
            BoundUnit::Ns => f.write_str(&exact_ns(self.bound)),
            BoundUnit::Percent => write!(f, "{}%", self.bound),
            BoundUnit::PerSecond => f.write_str(&exact_rate(self.bound)),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if index > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// In the largest unit in which it is at least 1, with all digits so that nothing is lost.
fn exact_ns(value_ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let fitting = units.iter().find(|(scale, _)| value_ns >= *scale);
    fitting.map_or(format!("{value_ns}ns"), |(scale, unit)| format!("{}{unit}", value_ns / scale))
}

/// With a suffix only where that loses nothing.
fn exact_rate(rate: f64) -> String {
    let suffixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let fitting = suffixes.iter().find(|(scale, _)| rate >= *scale);
    let short = fitting.map(|(scale, suffix)| format!("{}{suffix}", rate / scale));
    short.filter(|text| parse_rate(text) == Ok(rate)).unwrap_or_else(|| rate.to_string())
}

impl Objective {
    /// The terms in the order typed.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The highest percentile with a bound: it determines how many responses a trial needs.
    pub fn highest_percentile(&self) -> Option<Percentile> {
        let percentile = |term: &Term| match term.figure {
            TermFigure::Latency(Statistic::Percentile(percentile))
            | TermFigure::Good(Statistic::Percentile(percentile))
            | TermFigure::Service(Statistic::Percentile(percentile))
            | TermFigure::Connect(Statistic::Percentile(percentile)) => Some(percentile),
            _ => None,
        };
        self.terms.iter().filter_map(percentile).max()
    }

    /// The same with a bound on failures, in percent, unless a term already bounds failures, a
    /// status or the rate: a server that rejects load at once is fast for what it still serves.
    pub fn bounding_failures(mut self, percent: f64) -> (Self, Option<Term>) {
        let bounds = |term: &Term| {
            matches!(term.figure, TermFigure::Errors | TermFigure::Status(_) | TermFigure::Rate)
        };
        if self.terms.iter().any(bounds) {
            return (self, None);
        }
        let added = Term { figure: TermFigure::Errors, relation: Relation::Below, bound: percent };
        self.terms.push(added);
        (self, Some(added))
    }
}

const EXAMPLE: &str = "'p99<2ms,errors<0.1%'";

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut terms: Vec<Term> = Vec::new();
        for part in text.split(',') {
            let part = part.trim();
            let term: Term = part.parse().map_err(|error: ObjectiveError| match part {
                "" => refused(text.trim(), "has an empty term", EXAMPLE),
                _ => error,
            })?;
            if terms.iter().any(|earlier| earlier.figure == term.figure) {
                let wrong = format!("bounds {} a second time", term.figure);
                return Err(refused(part, &wrong, EXAMPLE));
            }
            terms.push(term);
        }
        Ok(Self { terms })
    }
}

fn refused(typed: &str, wrong: &str, example: &'static str) -> ObjectiveError {
    ObjectiveError { typed: typed.to_string(), wrong: wrong.to_string(), example }
}

impl FromStr for Term {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FIGURES: &str = "names no figure; these can be bounded: p50, p75, p90, p95, p99, \
                               p99.9, p99.99, mean, max (service.p99 and so on for times from \
                               send, connect.p99 for times to connect), errors, status3xx, \
                               status4xx, status5xx, rate";
        let Some(at) = text.find(['<', '>']) else {
            return Err(refused(text, "has no < or >", EXAMPLE));
        };
        let (figure, rest) = text.split_at(at);
        let signs =
            [Relation::AtMost, Relation::AtLeast, Relation::Below, Relation::Above].into_iter();
        let mut signs = signs.filter_map(|sign| Some((sign, rest.strip_prefix(sign.sign())?)));
        let (relation, bound) = signs.next().expect("the rest begins with < or >");
        let figure =
            TermFigure::parse(figure.trim()).ok_or_else(|| refused(text, FIGURES, EXAMPLE))?;
        let bound = bound.trim();
        let is_upper = figure != TermFigure::Rate;
        if relation.is_upper() != is_upper {
            let (wrong, example) = if is_upper {
                ("sets a lower bound on a figure that takes only an upper bound", EXAMPLE)
            } else {
                ("bounds the rate from above; it is bounded from below", "'rate>=10k'")
            };
            return Err(refused(text, wrong, example));
        }
        let value = match figure.unit() {
            BoundUnit::Ns => parse_time(bound),
            BoundUnit::Percent => parse_share(bound),
            BoundUnit::PerSecond => parse_rate(bound).ok(),
        };
        let (wrong, example) = match figure.unit() {
            BoundUnit::Ns => ("needs a time with its unit (ns, us, ms, s, m, h)", "'p99<2ms'"),
            BoundUnit::Percent => ("needs a share from 0% to 100%, with its sign", "'errors<0.1%'"),
            BoundUnit::PerSecond => {
                ("needs a rate per second above zero, optionally with k, M or G", "'rate>=10k'")
            }
        };
        let value = value.ok_or_else(|| refused(text, wrong, example))?;
        if relation == Relation::Below && value == 0.0 {
            return Err(refused(text, "can never hold: nothing is below zero", "'errors<=0%'"));
        }
        Ok(Self { figure, relation, bound: value })
    }
}

/// A bare number would be seconds elsewhere; for a bound on latency that is a typo.
fn parse_time(text: &str) -> Option<f64> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    has_unit.then(|| parse_duration_ns(text).ok()).flatten().map(|ns| ns as f64)
}

fn parse_share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim_end();
    let is_plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value: f64 = number.parse().ok().filter(|_| is_plain)?;
    (0.0..=100.0).contains(&value).then_some(value)
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How one term of an objective stands, at a point or over a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The term, as [`Objective`] writes it.
    pub term: String,
    /// The figure in `unit`; `null` when it was not measured or lies among requests without a
    /// response.
    pub measured: Option<f64>,
    /// What it was compared with, in `unit`.
    pub bound: f64,
    /// The unit of both numbers.
    pub unit: BoundUnit,
    /// Whether it holds; `null` when that is not known.
    pub met: Option<bool>,
    /// One sentence: what was found.
    pub why: String,
}

impl Expectation {
    /// How far the figure is from its bound, as a share of the bound. Absent without a figure, and
    /// for a bound of zero.
    pub fn margin(&self) -> Option<Margin> {
        let beyond = self.measured? / self.bound - 1.0;
        let is_over = if beyond < 0.0 { Side::Under } else { Side::Over };
        let is_room = self.met == Some(true);
        (self.bound > 0.0 && beyond.is_finite()).then_some(Margin {
            share: beyond.abs(),
            side: if is_room { Side::Inside } else { is_over },
        })
    }
}

/// How far a figure is from its bound: `37 % to spare`, `12 % over`, `3.1 % under`, and from twice
/// the bound on `100 times the bound`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// The distance as a share of the bound: 0.5 is half of it.
    pub share: f64,
    /// Where the figure is.
    pub side: Side,
}

/// On which side of its bound a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The bound holds.
    Inside,
    /// Above a bound that does not hold.
    Over,
    /// Below a bound that does not hold.
    Under,
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.share * 100.0;
        let word = match self.side {
            Side::Inside => "to spare",
            Side::Over => "over",
            Side::Under => "under",
        };
        match percent {
            v if v >= 99.5 && self.side == Side::Over => {
                write!(f, "{} times the bound", show_count(self.share + 1.0))
            }
            v if v >= 9_999.5 => write!(f, "{} times {word}", show_count(self.share)),
            v if v >= 9.95 || v == 0.0 => write!(f, "{v:.0} % {word}"),
            v => write!(f, "{v:.1} % {word}"),
        }
    }
}

/// How a whole objective stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectiveStanding {
    /// Every term holds.
    Met,
    /// At least one term does not.
    Missed,
    /// None is known to be missed, and at least one is open.
    Undecided,
}

impl ObjectiveStanding {
    /// The standing of all terms together. One miss decides; without terms it is met.
    pub fn of(expectations: &[Expectation]) -> Self {
        if expectations.iter().any(|term| term.met == Some(false)) {
            Self::Missed
        } else if expectations.iter().any(|term| term.met.is_none()) {
            Self::Undecided
        } else {
            Self::Met
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        text.parse::<Objective>().unwrap_or_else(|error| panic!("{error}")).to_string()
    }

    fn refusal(text: &str) -> String {
        text.parse::<Objective>().unwrap_err().to_string()
    }

    #[test]
    fn a_margin_says_how_far_and_on_which_side() {
        let margin = |measured: Option<f64>, bound: f64, met: Option<bool>| {
            let (term, why, unit) = ("p99<5ms".to_string(), String::new(), BoundUnit::Ns);
            let one = Expectation { term, measured, bound, unit, met, why };
            one.margin().map(|margin| margin.to_string())
        };
        let shown = |measured, bound, met| margin(Some(measured), bound, Some(met)).unwrap();
        assert_eq!(shown(3.15, 5.0, true), "37 % to spare");
        assert_eq!(shown(5.6, 5.0, false), "12 % over");
        assert_eq!(shown(4.845, 5.0, false), "3.1 % under");
        assert_eq!(shown(5e9, 5.0, false), "1.00G times the bound");
        assert_eq!(shown(500.0, 5.0, false), "100 times the bound");
        assert_eq!(shown(0.0, 5.0, false), "100 % under");
        assert_eq!(shown(5.0, 5.0, false), "0 % over");
        assert_eq!(margin(None, 5.0, None), None);
        assert_eq!(margin(Some(0.0), 0.0, Some(true)), None, "no share of nothing");
    }

    #[test]
    fn objectives_are_read_as_typed() {
        let all = "p99<2ms,errors<0.1%,p50<=800us,rate>=10k,mean<1.5ms,max<1s,status5xx<0.01%,\
                   service.p99.9<3ms,p99.99<250ns,status4xx<=0%,good.p99<1ms,good.max<2s";
        assert_eq!(shown(all), all);
        assert_eq!(shown(" p99 < 2000us , rate > 1500/s"), "p99<2ms,rate>1.5k");
        let objective: Objective = "errors<0.5%,p99.9<2ms".parse().unwrap();
        assert_eq!(objective.terms()[0].bound, 0.5, "hundredths");
        assert_eq!(objective.terms()[1].bound, 2e6, "nanoseconds");
        assert_eq!(objective.highest_percentile(), Some(Percentile::P99_9));
        assert_eq!("mean<1s".parse::<Objective>().unwrap().highest_percentile(), None);
    }

    #[test]
    fn failures_are_bounded_unless_a_term_does() {
        let bounded = |text: &str| {
            let (objective, added) = text.parse::<Objective>().unwrap().bounding_failures(1.0);
            (objective.to_string(), added.map(|term| term.to_string()))
        };
        let added = Some("errors<1%".to_string());
        assert_eq!(bounded("p99<2ms"), ("p99<2ms,errors<1%".to_string(), added.clone()));
        assert_eq!(bounded("good.p99<2ms").1, added);
        for text in ["p99<2ms,errors<5%", "p99<2ms,status5xx<1%", "p99<2ms,rate>=1k"] {
            assert_eq!(bounded(text), (text.to_string(), None));
        }
    }

    #[test]
    fn a_figure_has_a_place_in_the_record() {
        let keys = "p99.9<1s,good.max<1s,service.mean<1s,errors<1%,status5xx<1%,rate>1,\
                    connect.p50<1s";
        let objective: Objective = keys.parse().unwrap();
        let keys: Vec<String> = objective.terms().iter().map(|term| term.figure.key()).collect();
        let expected = [
            "latency_ns.p99_9",
            "latency_good_ns.max",
            "service_ns.mean",
            "errors",
            "status.5xx",
            "rate",
            "connect_ns.p50",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn what_is_wrong_is_told_with_an_example() {
        for (text, words) in [
            ("", &["empty"][..]),
            ("p99<2ms,", &["empty"]),
            ("p99", &["no < or >"]),
            ("p98<2ms", &["p98<2ms", "no figure", "p99.9"]),
            ("p99<2", &["unit", "ms"]),
            ("p99<2 parsecs", &["unit"]),
            ("p99>2ms", &["upper bound"]),
            ("rate<10k", &["from below", "rate>=10k"]),
            ("rate>=0", &["above zero"]),
            ("errors<0.1", &["sign", "errors<0.1%"]),
            ("errors<101%", &["100%"]),
            ("errors<0%", &["below zero", "errors<=0%"]),
            ("errors<nan%", &["0% to 100%"]),
            ("p99<2ms,p99<3ms", &["p99 a second time"]),
            ("p99=2ms", &["no < or >"]),
            ("p99<<2ms", &["unit"]),
        ] {
            let error = refusal(text);
            for word in words.iter().chain(&["for example"]) {
                assert!(error.contains(word), "'{text}': '{word}' in {error}");
            }
        }
    }

    #[test]
    fn one_miss_decides_and_an_open_term_is_never_a_hold() {
        let term = |met| Expectation {
            term: String::new(),
            measured: None,
            bound: 1.0,
            unit: BoundUnit::Ns,
            met,
            why: String::new(),
        };
        let standing = |met: &[Option<bool>]| {
            ObjectiveStanding::of(&met.iter().map(|met| term(*met)).collect::<Vec<_>>())
        };
        assert_eq!(standing(&[Some(true), Some(true)]), ObjectiveStanding::Met);
        assert_eq!(standing(&[Some(true), None]), ObjectiveStanding::Undecided);
        assert_eq!(standing(&[None, Some(false), Some(true)]), ObjectiveStanding::Missed);
    }

    fn any_term() -> impl Strategy<Value = String> {
        let times = (
            prop::sample::select(vec![
                "p50",
                "p75",
                "p90",
                "p95",
                "p99",
                "p99.9",
                "p99.99",
                "mean",
                "max",
                "service.p50",
                "service.p99.9",
                "service.max",
                "good.p99",
                "good.mean",
                "connect.p99",
                "connect.max",
            ]),
            prop::sample::select(vec!["<", "<="]),
            1u64..3_000_000_000_000_000,
            prop::sample::select(vec!["ns", "us", "ms", "s"]),
        )
            .prop_map(|(figure, sign, ns, unit)| {
                let scale = match unit {
                    "ns" => 1.0,
                    "us" => 1e3,
                    "ms" => 1e6,
                    _ => 1e9,
                };
                format!("{figure}{sign}{}{unit}", ns as f64 / scale)
            });
        let shares = (
            prop::sample::select(vec!["errors", "status3xx", "status4xx", "status5xx"]),
            1e-9f64..100.0,
        )
            .prop_map(|(figure, share)| format!("{figure}<{share}%"));
        let rates = (1e-3f64..1e8).prop_map(|rate| format!("rate>={rate}"));
        prop_oneof![times, shares, rates]
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back_the_same(
            terms in prop::collection::vec(any_term(), 1..5),
        ) {
            let text = terms.join(",");
            let objective = match text.parse::<Objective>() {
                Ok(objective) => objective,
                Err(error) => {
                    prop_assert!(error.wrong.contains("second time"), "{error}");
                    return Ok(());
                }
            };
            let again: Objective = objective.to_string().parse().unwrap();
            prop_assert_eq!(&again, &objective);
            prop_assert_eq!(again.to_string(), objective.to_string());
            let json = serde_json::to_string(&objective).unwrap();
            prop_assert_eq!(serde_json::from_str::<Objective>(&json).unwrap(), objective);
        }

        #[test]
        fn nothing_typed_panics(text in "[pservicatmnx0-9.<>=%,kMus ]{0,40}") {
            let _ = text.parse::<Objective>();
        }
    }
}
