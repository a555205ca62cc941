//! The states of CPUs: every instant of a CPU is in one of them, so their shares add up to all.
//!
//! A text often leaves out some states, so a sum below all is refuted only where none is missing.
//! *busy* is what people call anything but idle: it may leave out the wait for disks.

use super::{Listed, open, settled};
use crate::audit::bounds::Range;
use crate::audit::say::percent;
use model::audit::{Finding, Foreign, Given, Outcome, Tally};

pub(super) const LISTED: Listed = Listed {
    id: "cpu_states",
    asks: "Do the shares of the CPUs' states add up to 100 %?",
    source: "proc_stat(5): the time of a CPU in each state",
    check,
};

/// Every state that is not idle, as mpstat prints them.
const STATES: [&str; 7] = ["usr", "nice", "sys", "iowait", "irq", "soft", "steal"];
/// What is a part of *busy* in every tool.
const BUSY: [&str; 5] = ["usr", "nice", "sys", "irq", "soft"];
/// The share of states that a text leaves out without saying so: those near zero.
const LEFT_OUT: f64 = 0.05;

const SETTLE: &str = "print every state: `mpstat 1`, or `ceiling load --probe` for both hosts";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |names: &[&str]| -> Vec<&Tally> {
        report.cpu.iter().filter(|one| names.contains(&one.name.as_str())).collect()
    };
    let (parts, busy) = (of(&BUSY), of(&["busy"]));
    let all = of(&[&STATES[..], &["idle"]].concat());
    let mut findings = Vec::new();
    findings.extend(whole(&all));
    if let ([busy], false) = (&busy[..], parts.is_empty()) {
        findings.extend(more(&parts, busy));
    }
    let of_idle = [&busy[..], &of(&["idle"])].concat();
    findings.extend(whole(&of_idle));
    findings
}

fn claims(of: &[&Tally]) -> Vec<String> {
    of.iter().map(|one| format!("cpu.{}", one.name)).collect()
}

fn sum(of: &[&Tally]) -> (Range, String) {
    let zero = Range::of(0.0);
    let sum = of.iter().fold(zero, |sum, one| sum + Range::read(&one.count));
    let value: f64 = of.iter().map(|one| one.count.value).sum();
    let names: Vec<&str> = of.iter().map(|one| one.name.as_str()).collect();
    (sum, format!("{} = {}", names.join(" + "), percent(value)))
}

/// States that are parts of all. Where they need not be all, they may not be more.
fn whole(of: &[&Tally]) -> Option<Finding> {
    let (sum, words) = sum(of);
    let has = |names: &[&str]| names.iter().all(|name| of.iter().any(|one| one.name == *name));
    let is_all = has(&["usr", "sys", "idle"]) || has(&["busy", "idle"]);
    let rest = percent((1.0 - sum.high).max(0.0));
    let is_complete = of.len() > STATES.len();
    let claims = claims(of);
    Some(match () {
        () if sum.low > 1.0 => {
            open(Outcome::Impossible, &claims, format!("{words}, more than all"), SETTLE)
        }
        () if is_complete && sum.high < 1.0 => {
            open(Outcome::Impossible, &claims, format!("{words}, and no state is missing"), SETTLE)
        }
        () if !is_all => return None,
        () if sum.high < 1.0 - LEFT_OUT => {
            let words = format!("{words}: at least {rest} is in states without a figure, or wrong");
            open(Outcome::Undecided, &claims, words, SETTLE)
        }
        () => settled(Outcome::Holds, &claims, words),
    })
}

/// States that are parts of *busy*.
fn more(parts: &[&Tally], busy: &Tally) -> Option<Finding> {
    let (sum, words) = sum(parts);
    let is_more = sum.low > Range::read(&busy.count).high;
    let words = format!("{words}, more than busy, {}", percent(busy.count.value));
    let all: Vec<&Tally> = parts.iter().copied().chain([busy]).collect();
    is_more.then(|| open(Outcome::Impossible, &claims(&all), words, SETTLE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::printed::{digits, scaled};

    fn said(states: &[(&str, &str)]) -> Vec<Outcome> {
        let one = |(name, share): &(&str, &str)| Tally {
            name: (*name).into(),
            count: scaled(digits(share).unwrap(), 0.01, 1, share),
        };
        let report = Foreign { cpu: states.iter().map(one).collect(), ..Foreign::default() };
        check(&report, &Given::default()).into_iter().map(|finding| finding.outcome).collect()
    }

    #[test]
    fn states_add_up_to_all_or_to_less_where_some_are_left_out() {
        use Outcome::{Holds, Impossible, Undecided};
        assert_eq!(said(&[("usr", "2.25"), ("sys", "2.27"), ("idle", "93.75")]), [Holds]);
        assert_eq!(said(&[("usr", "60"), ("sys", "30"), ("idle", "25")]), [Impossible]);
        assert_eq!(said(&[("usr", "20"), ("sys", "25"), ("idle", "15")]), [Undecided]);
        let complete = |idle: &str| {
            let rest = ["nice", "iowait", "irq", "soft", "steal"].map(|name| (name, "0.0"));
            said(&[&[("usr", "20.0"), ("sys", "25.0"), ("idle", idle)][..], &rest].concat())
        };
        assert_eq!(complete("15.0"), [Impossible]);
        assert_eq!(complete("55.0"), [Holds]);
        assert!(said(&[("usr", "20")]).is_empty());
    }

    #[test]
    fn busy_is_what_is_not_idle() {
        use Outcome::{Holds, Impossible, Undecided};
        assert_eq!(said(&[("busy", "85"), ("idle", "15")]), [Holds]);
        assert_eq!(said(&[("busy", "85"), ("idle", "40")]), [Impossible]);
        assert_eq!(said(&[("busy", "20"), ("idle", "40")]), [Undecided]);
        assert_eq!(said(&[("usr", "50"), ("sys", "30"), ("busy", "60")]), [Impossible]);
        assert!(said(&[("usr", "50"), ("idle", "30")]).is_empty(), "sys is not named");
    }
}
