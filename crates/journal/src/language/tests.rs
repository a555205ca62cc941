//! The language with known figures, and with arbitrary texts and intervals.

use super::*;
use model::unit::Unit;
use proptest::prelude::*;

/// Figures of a synthetic journal.
struct Known;

impl Figures for Known {
    fn find(&self, path: &Path) -> Result<Value, String> {
        let (low, high) = (12_100.3, 12_600.9);
        let value = |value| Ok(Value::Quantity(value));
        let rate = Quantity::between(12_345.6, (low, high), Unit::PerSecond, Basis::Visits(8));
        match path.names()[..] {
            ["cells", "free", "rate"] => value(rate),
            ["cells", "as it is", "rate"] => {
                let ends = (5_000.0, 5_600.0);
                value(Quantity::between(5_200.0, ends, Unit::PerSecond, Basis::Range(3)))
            }
            ["cells", "free", "p99"] => value(Quantity::alone(0.001_234_5, Unit::Seconds)),
            ["cells", "free", "p50"] => {
                let ends = (0.000_9, 0.001_1);
                value(Quantity::between(0.001, ends, Unit::Seconds, Basis::Visits(8)))
            }
            ["cells", "free", "errors"] => value(Quantity::exact(0.0, Unit::Share)),
            ["cells", "free", "wall"] => Ok(Value::Word([("S1".to_string(), 8)].into())),
            ["cells", "mixed", "wall"] => {
                Ok(Value::Word([("S1".to_string(), 5), ("C1".to_string(), 1)].into()))
            }
            ["cells", "lost", "wall"] => Ok(Value::Word([("unknown".to_string(), 6)].into())),
            ["cells", "partly", "wall"] => {
                Ok(Value::Word([("S1".to_string(), 5), ("unknown".to_string(), 1)].into()))
            }
            ["cells", "failed", "rate"] => Ok(Value::Unknown("its server ended".to_string())),
            ["contrasts", "free-gz", "rate", "ratio"] => {
                value(Quantity::between(1.25, (1.2, 1.3), Unit::Number, Basis::Visits(6)))
            }
            ["foreign", "wrk", "rate"] => {
                let ends = (4_899_999.5, 4_900_000.5);
                value(Quantity::between(4_900_000.0, ends, Unit::PerSecond, Basis::Printed))
            }
            _ => Err("there is no such figure; there is cells.free".to_string()),
        }
    }
}

fn decided(text: &str) -> Decision {
    Condition::parse(text).unwrap().decide(&Known).unwrap()
}

#[test]
fn conditions_are_true_false_or_undecided() {
    use Truth::{False, True, Undecided};
    for (text, truth) in [
        ("cells.free.rate > 2 * cells.'as it is'.rate", True),
        ("cells.free.rate > 2.2*cells.\"as it is\".rate", Undecided),
        ("cells.free.rate < cells.'as it is'.rate", False),
        ("cells.free.rate - cells.'as it is'.rate > 6k/s", True),
        ("cells.free.rate > 12k", True),
        ("cells.free.rate > 12.6k/s", Undecided),
        ("cells.free.rate >= 12.7k", False),
        ("contrasts.free-gz.rate.ratio > 1.2", Undecided),
        ("contrasts.free-gz.rate.ratio >= 1.2", True),
        ("contrasts.free-gz.rate.ratio > 119%", True),
        ("contrasts.free-gz.rate.ratio != 2", True),
        ("contrasts.free-gz.rate.ratio == 1.25", Undecided),
        ("cells.free.errors == 0 and cells.free.rate > 10k", True),
        ("cells.free.errors == 0 and cells.free.rate > 12.5k", Undecided),
        ("cells.free.rate > 12.5k and cells.free.errors > 0", False),
        ("cells.free.p99 < 10ms", Undecided),
        ("cells.free.p50 < 1.2ms", True),
        ("cells.failed.rate > 1", Undecided),
        ("cells.free.rate * cells.free.p50 < 14", True),
        ("(1 + 2) * 3 == 9", True),
        ("10k/s == 10000/s and 1/2 < 0.6", True),
        ("1.001kB == 1001B and 1.1MB == 1100kB and 4.35MB == 4350000B", True),
        ("0.7% == 0.007 and 57% == 0.57 and 2.3us == 2300ns", True),
        ("cells.free.wall == S1", True),
        ("cells.free.wall != 'S1'", False),
        ("cells.mixed.wall == S1", Undecided),
        ("cells.mixed.wall == K1", False),
        ("cells.lost.wall == S1", Undecided),
        ("cells.lost.wall != S1", Undecided),
        ("cells.lost.wall == unknown", True),
        ("cells.partly.wall == S1", Undecided),
        ("cells.partly.wall != K1", Undecided),
        ("cells.free.wall == unknown", Undecided),
        ("foreign.wrk.rate > 4.8M", True),
        ("cells.free.rate within 12k/s to 13k/s", True),
        ("cells.free.rate within 13k/s to 12k/s", True),
        ("cells.free.rate within 12.5k/s to 13k/s", Undecided),
        ("cells.free.rate within 13k/s to 14k/s", False),
        ("cells.free.rate within 2.4 * cells.'as it is'.rate", True),
        ("cells.free.p99 within 1ms to 2ms", Undecided),
        ("least(2 to 4, 3, 5k) within 1.9 to 3.1", True),
        ("least(2 to 4, 3) < 3", Undecided),
        ("2 * (1 to 2) within 1.9 to 4.1", True),
    ] {
        let decision = decided(text);
        assert_eq!(decision.truth, truth, "{text}: {}", decision.why);
    }
}

#[test]
fn a_decision_shows_its_figures() {
    let why = |text| decided(text).why;
    assert_eq!(why("cells.free.rate > 10k"), "12,350/s (12,100 to 12,600) > 10,000/s");
    assert!(why("cells.free.p99 < 10ms").contains("1.234ms < 10ms, where a figure of one visit"));
    assert!(why("cells.failed.rate > 1").contains("cells.failed.rate (not known: its server"));
    assert_eq!(why("cells.mixed.wall == K1"), "C1 in 1 of 6 visits, S1 in 5 of 6 visits == K1");
}

#[test]
fn a_path_that_leads_nowhere_is_a_fault_and_never_false() {
    let condition = Condition::parse("cells.free.rate < 1 and cells.gone.rate > 1").unwrap();
    let fault = condition.decide(&Known).unwrap_err();
    assert!(matches!(&fault, Fault::Dangling { path, .. } if path == "cells.gone.rate"));
    for text in [
        "cells.free.rate > 2ms",
        "cells.free.p99 > 10",
        "cells.free.wall > 1",
        "cells.free.wall > S1",
        "cells.free.wall + 1 > 2",
        "cells.free.rate + cells.free.p50 > 1",
    ] {
        let fault = Condition::parse(text).unwrap().decide(&Known).unwrap_err();
        assert!(matches!(fault, Fault::Wrong(_)), "{text}: {fault}");
    }
}

#[test]
fn what_is_no_condition_is_told_in_one_line() {
    for (text, said) in [
        ("", "it is empty"),
        ("cells.free.rate", "a comparison is missing"),
        ("cells.free.rate > ", "a figure is missing"),
        ("cells.free.rate > 10q", "'q' is not a unit; units are k, M"),
        ("cell.free.rate > 1", "begins with 'cell' where cells, contrasts"),
        ("cells.free.rate = 1", "'=' is not understood"),
        ("cells.'free.rate > 1", "the quote ' is not closed"),
        ("cells..rate > 1", "a name is missing before '.rate > 1'"),
        ("(1 > 2", "a ) is missing"),
        ("1 > 2 > 3", "'>' is one word too many"),
        ("1 > 2 and", "a figure is missing"),
        ("1.2.3 > 1", "'1.2.3' is not a number"),
        ("1 within", "a figure is missing"),
        ("1 to 2 to 3 > 1", "a comparison is missing"),
        ("least 2 > 1", "'least' takes figures in parentheses"),
        ("least(2, 3 > 1", "a ) is missing"),
    ] {
        let error = Condition::parse(text).unwrap_err();
        assert!(error.contains(said) && error.lines().count() == 1, "{text}: {error}");
    }
    let deep = format!("{}1{} > 0", "(".repeat(60), ")".repeat(60));
    assert!(Condition::parse(&deep).unwrap_err().contains("more than 50"));
}

#[test]
fn references_are_filled_with_unit_and_interval() {
    let of = |text: &str| plain(&filled(text, &Known));
    for (text, shown) in [
        ("a {{cells.free.rate}} b", "a 12,350/s (12,100 to 12,600) b"),
        ("{{cells.free.rate|k/s|1}}", "12.3k/s (12.1 to 12.6)"),
        ("{{ cells.free.rate | M/s | 4 }}", "0.0123M/s (0.0121 to 0.0126)"),
        ("{{cells.'as it is'.rate}}", "5,200/s (5,000 to 5,600 in 3 visits)"),
        ("{{cells.free.p99}}", "1.234ms"),
        ("{{cells.free.p50|us|0}}", "1,000us (900 to 1,100)"),
        ("{{cells.free.errors}}", "0 %"),
        ("{{contrasts.free-gz.rate.ratio}}", "1.25 (1.20 to 1.30)"),
        ("{{contrasts.free-gz.rate.ratio - 1|%|0}}", "25 % (20 to 30)"),
        ("{{cells.free.wall}}", "S1"),
        ("{{(0.5 to 2) * cells.free.rate|k/s|0}}", "6 to 25k/s"),
        ("{{foreign.wrk.rate}}", "4,900,000/s"),
        ("{{cells.failed.rate}}", "not known (its server ended)"),
        ("{{cells.gone.rate}}", "[cells.gone.rate: there is no such figure; there is cells.free]"),
        ("`\\{{csv:FILE}}`", "`{{csv:FILE}}`"),
        ("no reference } { }}", "no reference } { }}"),
    ] {
        assert_eq!(of(text), shown, "{text}");
    }
    for (text, said) in [
        ("{{cells.free.rate|ms}}", "it is a rate and cannot be shown in 'ms'; for example k/s"),
        ("{{cells.free.rate|k/s|many}}", "'many' is not a number of decimals"),
        ("{{cells.free.rate|k/s|1|2}}", "more than unit and digits"),
        ("{{name}}", "name is not a path"),
        ("{{csv:FILE}}", "':' is not understood"),
        ("{{cells.free", "not closed"),
    ] {
        assert!(of(text).contains(said), "{text}: {}", of(text));
    }
}

#[test]
fn paths_are_written_as_they_are_read() {
    for text in ["cells.free.rate", "cells.'as it is'.rate", "runs.20260101T120000-2a.p99"] {
        let Expression::Path(path) = Expression::parse(text).unwrap() else { panic!("{text}") };
        assert_eq!(path.to_string(), text);
    }
}

fn interval() -> impl Strategy<Value = (f64, f64, f64)> {
    (-10.0..10.0f64, 0.0..10.0f64, 0.0..1.0f64)
        .prop_map(|(low, width, at)| (low, low + width * at, low + width))
}

/// The value at this share of an interval.
fn within((low, _, high): (f64, f64, f64), at: f64) -> f64 {
    (low + (high - low) * at).clamp(low, high)
}

fn figure((low, value, high): (f64, f64, f64)) -> Quantity {
    Quantity::between(value, (low, high), Unit::Number, Basis::Visits(6))
}

proptest! {
    /// Whatever the true values in two intervals, the result is in the computed interval.
    #[test]
    fn no_possible_value_is_left_out(
        one in interval(), two in interval(), a in 0.0..=1.0f64, b in 0.0..=1.0f64,
    ) {
        let (x, y) = (within(one, a), within(two, b));
        let (one, two) = (figure(one), figure(two));
        let all = [
            (one.plus(two).unwrap(), x + y),
            (one.minus(two).unwrap(), x - y),
            (one.times(two), x * y),
            (one.to(two).unwrap(), x),
            (one.to(two).unwrap(), y),
            (one.least(two).unwrap(), x.min(y)),
        ];
        for (made, value) in all {
            prop_assert!(made.low <= value && value <= made.high, "{made:?} {value}");
        }
        if let Ok(made) = one.over(two) && y != 0.0 {
            prop_assert!(made.low <= x / y && x / y <= made.high, "{made:?} {}", x / y);
        }
    }

    /// A decision on intervals holds for every pair of values in them.
    #[test]
    fn what_is_decided_holds_for_all_values(
        one in interval(), two in interval(), a in 0.0..=1.0f64, b in 0.0..=1.0f64,
    ) {
        struct Two(Quantity, Quantity);
        impl Figures for Two {
            fn find(&self, path: &Path) -> Result<Value, String> {
                Ok(Value::Quantity(if path.names()[1] == "a" { self.0 } else { self.1 }))
            }
        }
        let (x, y) = (within(one, a), within(two, b));
        let two = Two(figure(one), figure(two));
        let middle = (two.1.low, two.1.high);
        for (sign, holds) in [
            ("within", middle.0 <= x && x <= middle.1), ("<", x < y), ("<=", x <= y), (">", x > y),
            (">=", x >= y), ("==", x == y), ("!=", x != y),
        ] {
            let condition = Condition::parse(&format!("cells.a {sign} cells.b")).unwrap();
            match condition.decide(&two).unwrap().truth {
                Truth::True => prop_assert!(holds, "{sign} {x} {y}"),
                Truth::False => prop_assert!(!holds, "{sign} {x} {y}"),
                Truth::Undecided => {}
            }
        }
    }

    /// Any text is parsed, or refused in one line; and any text can be filled.
    #[test]
    fn no_text_is_too_strange(text in "[a-z0-9.'\"{}|<>=+*/() %\\\\-]{0,60}") {
        if let Err(error) = Condition::parse(&text) {
            prop_assert!(error.lines().count() <= 1, "{error}");
        }
        let _ = Expression::parse(&text).map(|expression| expression.value(&Known));
        let _ = plain(&filled(&text, &Known));
        let _ = plain(&filled(&format!("x{{{{{text}}}}}"), &Known));
    }

    /// Text without braces is unchanged.
    #[test]
    fn plain_text_stays(text in "[^{]{0,60}") {
        prop_assert_eq!(plain(&filled(&text, &Known)), text);
    }
}
