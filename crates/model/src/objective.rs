//! What must hold: `p99<2ms,errors<0.1%`.
//!
//! An objective is a list of terms, each a figure of a point, a relation and a bound. Times and
//! shares are bounded from above, the rate from below. It is written in the record as it is typed,
//! and reads back the same.

use crate::figure::{Better, Figure, Statistic};
use crate::unit::Unit;
use crate::units::{parse_duration_ns, parse_rate, parse_scaled, show_count};
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
    pub figure: Figure,
    /// How it must compare with the bound.
    pub relation: Relation,
    /// In the unit of the figure: nanoseconds, percent (0 to 100) or per second.
    pub bound: f64,
}

crate::named! {
    /// How two values must compare: in objectives a figure with its bound, by order alone.
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
        /// `==`
        Equal = "==",
        /// `!=`
        Unequal = "!=",
        /// All of the first lies in the interval of the second.
        Within = "within",
    }
    /// As typed.
    fn sign, parse;
}

impl Relation {
    /// Whether `measured` compares so with `bound`.
    pub fn holds(self, measured: f64, bound: f64) -> bool {
        self.holds_between((measured, measured), (bound, bound)) == Some(true)
    }

    /// Whether all values between two ends compare so with all between two others (true), or none
    /// with any (false); nothing where some do.
    pub fn holds_between(self, one: (f64, f64), two: (f64, f64)) -> Option<bool> {
        let decided = |all: bool, none: bool| match (all, none) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        match self {
            Self::Below => decided(one.1 < two.0, one.0 >= two.1),
            Self::AtMost => decided(one.1 <= two.0, one.0 > two.1),
            Self::Above => Self::Below.holds_between(two, one),
            Self::AtLeast => Self::AtMost.holds_between(two, one),
            Self::Equal => {
                let is_one = one.0 == one.1 && two.0 == two.1 && one.0 == two.0;
                decided(is_one, one.1 < two.0 || one.0 > two.1)
            }
            Self::Within => {
                decided(one.0 >= two.0 && one.1 <= two.1, one.1 < two.0 || one.0 > two.1)
            }
            Self::Unequal => Self::Equal.holds_between(one, two).map(|is_equal| !is_equal),
        }
    }

    fn is_upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.figure, self.relation.sign())?;
        match self.figure.unit() {
            Unit::Ns => f.write_str(&exact_ns(self.bound)),
            Unit::Us => f.write_str(&exact_ns(self.bound * 1e3)),
            Unit::Percent => write!(f, "{}%", self.bound),
            Unit::Share => write!(f, "{}%", self.bound * 100.0),
            Unit::Bytes => write!(f, "{}B", exact_count(self.bound)),
            _ => f.write_str(&exact_count(self.bound)),
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
fn exact_count(count: f64) -> String {
    let suffixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let fitting = suffixes.iter().find(|(scale, _)| count >= *scale);
    let short = fitting.map(|(scale, suffix)| format!("{}{suffix}", count / scale));
    short.filter(|text| parse_scaled(text) == Some(count)).unwrap_or_else(|| count.to_string())
}

impl Objective {
    /// The terms in the order typed.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The highest percentile with a bound: it determines how many responses a trial needs.
    pub fn highest_percentile(&self) -> Option<Statistic> {
        let statistics = self.terms.iter().filter_map(|term| term.figure.statistic());
        statistics.filter(|one| one.quantile().is_some()).max()
    }

    /// The objective with a bound on failures, in percent, unless a term already bounds failures, a
    /// status or the rate: a server that rejects load at once is fast for what it still serves.
    /// Also returns the term that was added.
    pub fn bounding_failures(mut self, percent: f64) -> (Self, Option<Term>) {
        let bounds =
            |term: &Term| matches!(term.figure, Figure::Errors | Figure::Status(_) | Figure::Rate);
        if self.terms.iter().any(bounds) {
            return (self, None);
        }
        let added = Term { figure: Figure::Errors, relation: Relation::Below, bound: percent };
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
                               p99_9, p99_99, mean, max (service.p99 and so on for times from \
                               send, connect.p99 for times to connect)";
        let Some(at) = text.find(['<', '>']) else {
            return Err(refused(text, "has no < or >", EXAMPLE));
        };
        let (figure, rest) = text.split_at(at);
        let signs =
            [Relation::AtMost, Relation::AtLeast, Relation::Below, Relation::Above].into_iter();
        let mut signs = signs.filter_map(|sign| Some((sign, rest.strip_prefix(sign.sign())?)));
        let (relation, bound) = signs.next().expect("the rest begins with < or >");
        let can_be_bounded =
            |figure: &Figure| figure.better().is_some() && *figure != Figure::Ceiling;
        let figure = Figure::parse(figure.trim()).filter(can_be_bounded).ok_or_else(|| {
            let others = Figure::all().filter(can_be_bounded).filter(|one| !one.is_time());
            let others = Figure::keys(others);
            let all = format!("{FIGURES}, {others}; SIDE is client or server");
            refused(text, &all, EXAMPLE)
        })?;
        let bound = bound.trim();
        let is_upper = figure.better() == Some(Better::Less);
        if relation.is_upper() != is_upper {
            let (wrong, example) = if is_upper {
                ("sets a lower bound on a figure that takes only an upper bound", EXAMPLE)
            } else {
                ("sets an upper bound on a figure that takes only a lower bound", "'rate>=10k'")
            };
            return Err(refused(text, wrong, example));
        }
        let value = match figure.unit() {
            Unit::Ns => parse_time(bound),
            Unit::Us => parse_time(bound).map(|ns| ns / 1e3),
            Unit::Percent => parse_share(bound),
            Unit::Share => parse_share(bound).map(|percent| percent / 100.0),
            Unit::PerSecond if is_upper => parse_scaled(bound.strip_suffix("/s").unwrap_or(bound)),
            Unit::PerSecond => parse_rate(bound).ok(),
            Unit::Bytes => bound.strip_suffix('B').and_then(parse_scaled),
            _ => parse_scaled(bound),
        };
        let (wrong, example) = match figure.unit() {
            Unit::Ns | Unit::Us => {
                ("needs a time with its unit (ns, us, ms, s, m, h)", "'p99<2ms'")
            }
            Unit::Percent | Unit::Share => {
                ("needs a share from 0% to 100%, with its sign", "'errors<0.1%'")
            }
            Unit::Bytes => ("needs bytes, optionally in kB, MB or GB", "'memory.server<512MB'"),
            Unit::PerSecond if is_upper => {
                ("needs a rate per second, optionally with k, M or G", "'interrupts.server<100k'")
            }
            Unit::PerSecond => {
                ("needs a rate per second above zero, optionally with k, M or G", "'rate>=10k'")
            }
            _ => ("needs a number, optionally with k, M or G", "'cores.server<3.5'"),
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
    pub unit: Unit,
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
            let (term, why, unit) = ("p99<5ms".to_string(), String::new(), Unit::Ns);
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
    fn a_relation_holds_between_all_values_or_none_or_is_open() {
        let of = |relation: Relation| {
            let two = (2.0, 4.0);
            let others = [(1.0, 1.5), (1.0, 2.0), (3.0, 3.0), (4.0, 5.0), (4.5, 5.0)];
            others.map(|one| match relation.holds_between(one, two) {
                Some(true) => 'y',
                Some(false) => 'n',
                None => '?',
            })
        };
        assert_eq!(of(Relation::Below), ['y', '?', '?', 'n', 'n']);
        assert_eq!(of(Relation::AtMost), ['y', 'y', '?', '?', 'n']);
        assert_eq!(of(Relation::Above), ['n', 'n', '?', '?', 'y']);
        assert_eq!(of(Relation::AtLeast), ['n', '?', '?', 'y', 'y']);
        assert_eq!(of(Relation::Equal), ['n', '?', '?', '?', 'n']);
        assert_eq!(of(Relation::Unequal), ['y', '?', '?', '?', 'y']);
        assert!(Relation::Equal.holds(2.0, 2.0) && Relation::AtMost.holds(2.0, 2.0));
        assert!(!Relation::Below.holds(2.0, 2.0) && !Relation::Unequal.holds(2.0, 2.0));
    }

    #[test]
    fn objectives_are_read_as_typed() {
        let all = "p99<2ms,errors<0.1%,p50<=800us,rate>=10k,mean<1.5ms,max<1s,status.5xx<0.01%,\
                   cpu.server<20us,events.delivery>=99.5%,service.p99_9<3ms,p99_99<250ns,\
                   status.4xx<=0%,good.p99<1ms,good.max<2s";
        assert_eq!(shown(all), all);
        let of_hosts = "busy.server<80%,cores.client<=3.5,interrupts.server<100k,\
                        listen.drops.server<=0,accept.queue.server<1k,memory.server<512MB,\
                        link.sent.server<90%,fairness.server>=95%";
        assert_eq!(shown(of_hosts), of_hosts);
        assert_eq!(
            shown("memory.server<1500B,packets.client<2k/s"),
            "memory.server<1.5kB,packets.client<2k"
        );
        assert_eq!(shown(" p99 < 2000us , rate > 1500/s"), "p99<2ms,rate>1.5k");
        let objective: Objective = "errors<0.5%,p99_9<2ms".parse().unwrap();
        assert_eq!(objective.terms()[0].bound, 0.5, "hundredths");
        assert_eq!(objective.terms()[1].bound, 2e6, "nanoseconds");
        assert_eq!(objective.highest_percentile(), Some(Statistic::P99_9));
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
        for text in ["p99<2ms,errors<5%", "p99<2ms,status.5xx<1%", "p99<2ms,rate>=1k"] {
            assert_eq!(bounded(text), (text.to_string(), None));
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_an_example() {
        for (text, words) in [
            ("", &["empty"][..]),
            ("busy.server<0.8", &["sign", "0% to 100%"]),
            ("memory.client<1MB", &["no figure", "memory.SIDE"]),
            ("memory.server<512", &["bytes", "memory.server<512MB"]),
            ("received.client>1M", &["no figure"]),
            ("fairness.server<90%", &["lower bound"]),
            ("accept.queue.server<-1", &["needs a number"]),
            ("p99<2ms,", &["empty"]),
            ("p99", &["no < or >"]),
            ("p98<2ms", &["p98<2ms", "no figure", "p99_9"]),
            ("p99<2", &["unit", "ms"]),
            ("p99<2 parsecs", &["unit"]),
            ("p99>2ms", &["upper bound"]),
            ("rate<10k", &["lower bound", "rate>=10k"]),
            ("bytes>=1M", &["no figure", "events.delivery"]),
            ("cpu.server<20", &["unit", "ms"]),
            ("events.delivery>=2", &["0% to 100%"]),
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
            unit: Unit::Ns,
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
                "p99_9",
                "p99_99",
                "mean",
                "max",
                "service.p50",
                "service.p99_9",
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
            prop::sample::select(vec!["errors", "status.3xx", "status.4xx", "status.5xx"]),
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
