//! Bytes per second and the share of a link that they are name one link.
//!
//! Its speed may be stated, or the rows of a table give it: each row has bytes and a share, and all
//! of them are of one link. Where most rows agree, the others are refuted.

use super::{Listed, compared, open, settled};
use crate::audit::bounds::Range;
use crate::audit::say::{bytes, percent, rate};
use model::audit::{Account, Figure, Finding, Foreign, Given, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "link_share",
    asks: "Do bytes per second, their share of a link and its speed agree, in every row?",
    source: "share = bytes per second / speed of the link",
    check,
};

/// Megabytes of 10^6 or 2^20 bytes, and headers that one figure includes and the other does not.
const UNITS: f64 = 0.1;
/// The rows of a table have the same units.
const ROWS: f64 = 0.02;

/// People calculate the share from the other two, so it is what may be refuted.
const SHARE: [&str; 1] = ["link_share"];
/// Every share that a link can carry.
const ALL: Range = Range { low: 0.0, high: 1.0 };

const DIVIDE: &str = "divide the bytes per second by the speed of the link again";
const SETTLE: &str = "read the counters of the interface: `ceiling load --probe`";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let (Some(link), Some(carried)) = (&report.link_rate, &report.bytes_rate) else {
        return Vec::new();
    };
    let (quotient, speed) = ((Range::read(carried) / Range::read(link)).wider(UNITS), link.value);
    let words = format!(
        "{}/s of {}/s are {}",
        bytes(carried.value),
        bytes(speed),
        percent(carried.value / speed.max(1.0))
    );
    vec![match &report.link_share {
        Some(share) => {
            let words = format!("{words}, and {} is reported", percent(share.value));
            match quotient.excludes(Range::read(share)) {
                true => open(Outcome::Impossible, &SHARE, words, DIVIDE),
                false => settled(Outcome::Holds, &["bytes_rate", SHARE[0], "link_rate"], words),
            }
        }
        None => compared(quotient, ALL, &["bytes_rate", "link_rate"], words),
    }]
}

/// What the accounts of one file say about each other's links: for each finding its account.
pub(crate) fn between(accounts: &[Account]) -> Vec<(usize, Finding)> {
    let mut findings = Vec::new();
    let key = |of: &Account| Some((of.file.clone(), of.foreign.table?));
    let mut tables: Vec<_> = accounts.iter().filter_map(key).collect();
    tables.dedup();
    for table in tables {
        let rows = accounts.iter().enumerate().filter(|(_, one)| key(one).as_ref() == Some(&table));
        findings.extend(of_rows(&rows.collect::<Vec<_>>()));
    }
    findings.extend(same_rate(accounts));
    let name = |finding: Finding| Finding { check: LISTED.id.into(), ..finding };
    findings.into_iter().map(|(at, finding)| (at, name(finding))).collect()
}

/// The speed of the link by the bytes and the share of a row.
fn link_of(of: &Foreign) -> Option<Range> {
    let (carried, share) = (of.bytes_rate.as_ref()?, of.link_share.as_ref()?);
    Some((Range::read(carried) / Range::read(share)).wider(ROWS))
}

fn of_rows(rows: &[(usize, &Account)]) -> Vec<(usize, Finding)> {
    let links: Vec<(usize, Range)> =
        rows.iter().filter_map(|(at, one)| Some((*at, link_of(&one.foreign)?))).collect();
    if links.len() < 2 {
        return Vec::new();
    }
    // The speed that most rows allow lies at the least speed of one of them.
    let agree = |speed: f64| -> Vec<usize> {
        let allows = links.iter().filter(|(_, link)| link.low <= speed && speed <= link.high);
        allows.map(|(at, _)| *at).collect()
    };
    let most = links.iter().map(|(_, link)| (agree(link.low), link.low));
    let Some((most, speed)) = most.max_by_key(|(rows, _)| rows.len()) else { return Vec::new() };
    let is_most = most.len() * 2 > links.len();
    let claims = ["bytes_rate", SHARE[0]];
    let finding = |(at, link): &(usize, Range)| {
        let own = format!("{}/s to {}/s by this row", bytes(link.low), bytes(link.high));
        let count = format!("{} of {} rows", most.len(), links.len());
        let finding = match most.contains(at) {
            true if most.len() == links.len() => {
                settled(Outcome::Holds, &claims, format!("a link of {own}, as by all rows"))
            }
            true if is_most => {
                settled(Outcome::Holds, &claims, format!("a link of {own}, as by {count}"))
            }
            _ if is_most => {
                let words = format!("a link of {own}, but {}/s by {count}", bytes(speed));
                open(Outcome::Impossible, &SHARE, words, DIVIDE)
            }
            _ => {
                let words = format!(
                    "a link of {own}, and other speeds by other rows: these cannot be one link"
                );
                open(Outcome::Impossible, &SHARE, words, DIVIDE)
            }
        };
        (*at, finding)
    };
    links.iter().map(finding).collect()
}

/// Two shares at one rate are of two loads, or one is wrong.
fn same_rate(accounts: &[Account]) -> Vec<(usize, Finding)> {
    let known = |of: &Account| Some((of.foreign.rate.clone()?, of.foreign.link_share.clone()?));
    let shares = accounts.iter().enumerate().filter_map(|(at, one)| Some((at, one, known(one)?)));
    let shares: Vec<_> = shares.take(PAIRS_MAX).collect();
    let mut findings = Vec::new();
    for (at, one, (own_rate, own)) in &shares {
        let differs = |(_, other, (other_rate, share)): &&(usize, &Account, _)| {
            let is_same = |a: &Figure, b: &Figure| !Range::read(a).excludes(Range::read(b));
            let connections =
                one.foreign.connections.as_ref().zip(other.foreign.connections.as_ref());
            other.file == one.file
                && is_same(own_rate, other_rate)
                && !is_same(own, share)
                && connections.is_none_or(|(a, b)| is_same(a, b))
        };
        if let Some((_, _, (_, share))) = shares.iter().find(differs) {
            let words = format!(
                "{} is {} of a link, and {} in line {}: of another load, or wrong",
                rate(own_rate.value),
                percent(own.value),
                percent(share.value),
                share.line
            );
            findings.push((*at, open(Outcome::Undecided, &SHARE, words, SETTLE)));
        }
    }
    findings
}

/// Accounts with a share that are compared with each other.
const PAIRS_MAX: usize = 500;
