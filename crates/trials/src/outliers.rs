//! Visits whose rate is far from that of their cell and block, and what may have caused it.
//!
//! A visit is named when its logarithm is more than 3.5 robust standard deviations from the median
//! of its cell, and also after the median of its block is subtracted (Iglewicz and Hoaglin 1993).
//! Both are required: of two cells in a block either may be the one that is off, and a drift moves
//! a whole block. A named visit stays in every figure: only a rule of the plan excludes visits. A
//! visit whose rate is zero has no logarithm, and is counted with the reservations of the
//! experiment instead.

use crate::visited::Visited;
use judge::stats;
use model::analysis::{Conditions, Outlier};
use model::figure::Figure;
use model::maps::IntoMap;
use model::units::show_ns;
use std::collections::BTreeMap;

/// Robust standard deviations.
const FAR: f64 = 3.5;
/// Standard deviation of a normal distribution over its median absolute deviation.
const NORMAL: f64 = 1.4826;
/// A visit that is less off than this is not worth naming, however little the others vary.
const LEAST: f64 = 0.02;
/// Fewer visits do not show what is usual.
const VISITS_MIN: usize = 8;
/// Share of CPU time that must be taken, beyond the median of all visits.
const TAKEN: f64 = 0.02;
/// Stalls that may matter, nanoseconds.
const STALL_NS: u64 = 10_000_000;
/// How many times the median of all visits a stall must last.
const STALLED: f64 = 3.0;

/// A share of CPU time that others took.
type Share = fn(&Conditions) -> Option<f64>;

/// The outliers among visits that count, in their order.
pub(crate) fn of(visits: &[Visited<'_>]) -> Vec<Outlier> {
    let rated = visits.iter().filter_map(|visit| {
        let rate = visit.figures.get(&Figure::Rate).filter(|rate| **rate > 0.0)?;
        Some((visit, rate.ln()))
    });
    let rated: Vec<(&Visited<'_>, f64)> = rated.collect();
    if rated.len() < VISITS_MIN {
        return Vec::new();
    }
    let all: Vec<f64> = rated.iter().map(|(_, rate)| *rate).collect();
    let of_cell = without(&all, rated.iter().map(|(visit, _)| visit.cell));
    let of_both = without(&of_cell, rated.iter().map(|(visit, _)| visit.block));
    let is_far = |apart: &[f64], at: usize| {
        let spread =
            NORMAL * stats::median(&apart.iter().map(|one| one.abs()).collect::<Vec<_>>())?;
        Some(apart[at].abs() > FAR * spread)
    };
    let far = (0..rated.len()).filter(|at| {
        let is_off = is_far(&of_cell, *at) == Some(true) && is_far(&of_both, *at) == Some(true);
        is_off && of_cell[*at].abs() > LEAST
    });
    far.map(|at| Outlier {
        cell: rated[at].0.cell.to_string(),
        block: rated[at].0.block.unwrap_or(0),
        change: of_cell[at].exp_m1(),
        causes: causes(&rated[at].0.conditions, visits),
    })
    .collect()
}

/// Values minus the median of their group.
fn without<K: Ord + Copy>(values: &[f64], groups: impl Iterator<Item = K>) -> Vec<f64> {
    let groups: Vec<K> = groups.collect();
    let mut of: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (group, value) in groups.iter().zip(values) {
        of.entry(*group).or_default().push(*value);
    }
    let medians: BTreeMap<K, f64> =
        of.iter().filter_map(|(group, values)| Some((*group, stats::median(values)?))).into_map();
    groups.iter().zip(values).map(|(group, value)| value - medians[group]).collect()
}

/// What this visit has and the other visits hardly have.
fn causes(own: &Conditions, visits: &[Visited<'_>]) -> Vec<String> {
    let mut causes = Vec::new();
    let usual = |figure: Share| {
        let all = visits.iter().filter_map(|visit| figure(&visit.conditions));
        stats::median(&all.collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let shares: [(&str, Share); 2] = [
        ("the hypervisor took CPU time (steal)", |of| of.steal),
        ("other processes used the server's CPUs", |of| of.neighbours),
    ];
    for (what, figure) in shares {
        let (share, usual) = (figure(own), usual(figure));
        if let Some(share) = share.filter(|share| *share > usual + TAKEN) {
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            causes.push(format!("{what}: {}, usually {}", percent(share), percent(usual)));
        }
    }
    let usual_ns = usual(|of| of.stall_ns.map(|ns| ns as f64));
    let own_ns = own.stall_ns.filter(|ns| *ns > STALL_NS && *ns as f64 > STALLED * usual_ns);
    if let Some(own_ns) = own_ns {
        let (own_ns, usual_ns) = (show_ns(own_ns as f64), show_ns(usual_ns));
        causes.push(format!("the generator stood still for {own_ns}, usually {usual_ns}"));
    }
    for gate in &own.gates {
        let broken = visits.iter().filter(|visit| visit.conditions.gates.contains(gate)).count();
        if broken * 2 < visits.len() {
            causes
                .push(format!("the gate {gate} is broken, in {broken} of {} visits", visits.len()));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Random;
    use model::verdict::GateId;

    fn visits(seed: u64, cells: &[&'static str], blocks: u32) -> Vec<Visited<'static>> {
        let mut random = Random::new(seed, 0x6f75);
        let mut all = Vec::new();
        for block in 1..=blocks {
            let drift = 0.05 * random.normal();
            for cell in cells {
                let rate = 10_000.0 * (drift + 0.02 * random.normal()).exp();
                let conditions = Conditions { steal: Some(0.001), ..Conditions::default() };
                let figures = [(Figure::Rate, rate)].into();
                let block = Some(block);
                all.push(Visited { cell, block, figures, conditions, ..Visited::default() });
            }
        }
        all
    }

    #[test]
    fn a_visit_that_lost_its_cpu_is_named_with_the_cause() {
        let mut all = visits(1, &["a", "b"], 8);
        *all[6].figures.get_mut(&Figure::Rate).unwrap() *= 0.4;
        all[6].conditions.steal = Some(0.3);
        all[6].conditions.gates = vec![GateId::Release];
        let found = of(&all);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].cell.as_str(), found[0].block), ("a", 4));
        assert!((found[0].change + 0.6).abs() < 0.1, "{found:?}");
        assert!(found[0].causes[0].contains("steal): 30.0 %, usually 0.1 %"), "{found:?}");
        assert!(found[0].causes[1].contains("release is broken, in 1 of 16"), "{found:?}");
        assert!(of(&all[..7]).is_empty(), "too few");
    }

    #[test]
    fn visits_that_are_not_off_are_seldom_named() {
        for cells in [&["a", "b"][..], &["a", "b", "c", "d"]] {
            let wrong = (0..500).filter(|seed| !of(&visits(*seed, cells, 6)).is_empty()).count();
            assert!(wrong <= 50, "{wrong} of 500 experiments with {} cells", cells.len());
        }
    }

    #[test]
    fn a_block_that_is_slow_as_a_whole_is_no_outlier() {
        let mut all = visits(2, &["a", "b", "c"], 8);
        for visit in all.iter_mut().filter(|visit| visit.block == Some(3)) {
            *visit.figures.get_mut(&Figure::Rate).unwrap() *= 0.5;
        }
        assert!(of(&all).is_empty(), "{:?}", of(&all));
    }
}
