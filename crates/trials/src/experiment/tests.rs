//! Experiments in virtual time: the truth about their cells is known.

use super::*;
use model::analysis::{Exclusion, Factor, LevelSeen};
use model::experiment::{Order, Restart};
use model::figure::{OfHost, Whose};
use model::random::Random;

/// A host that drifts from block to block, and cells that differ by known logarithms.
struct World {
    random: Random,
    block: f64,
    visit: f64,
}

impl World {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed, 0x776f_726c), block: 0.1, visit: 0.02 }
    }

    /// Visits of cells with these true logarithms.
    fn visits<'a>(&mut self, cells: &[(&'a str, f64)], blocks: u32) -> Vec<Visited<'a>> {
        let mut visits = Vec::new();
        for block in 1..=blocks {
            let drift = self.block * self.random.normal();
            for (cell, truth) in cells {
                let rate = 10_000.0 * (truth + drift + self.visit * self.random.normal()).exp();
                visits.push(visit(cell, block, rate));
            }
        }
        visits
    }
}

fn visit(cell: &str, block: u32, rate: f64) -> Visited<'_> {
    let figures = [(Figure::Rate, rate)].into();
    Visited { cell, block: Some(block), figures, ..Visited::default() }
}

fn design(cells: &[&str]) -> Design {
    Design {
        cells: cells.iter().map(|cell| (*cell).to_string()).collect(),
        blocks: 6,
        order: Order::Random,
        seed: 1,
        baseline: cells[0].to_string(),
        figure: Figure::Rate,
        same_within: 0.02,
        precision: None,
        until_decided: false,
        budget_ns: None,
        pause_ns: 0,
        restart: Restart::Cell,
        warmup_visits: 0,
        floor: None,
        factors: Vec::new(),
        fraction: None,
        exclude: Vec::new(),
    }
}

const SQUARE: [&str; 4] = ["a0 b0", "a0 b1", "a1 b0", "a1 b1"];

/// Two factors of two levels.
fn square() -> Design {
    let factor = |name: &str, of_cells: [usize; 4]| Factor {
        name: name.to_string(),
        levels: (0..2).map(|level| format!("{name}{level}")).collect(),
        of_cells: of_cells.to_vec(),
    };
    let factors = vec![factor("a", [0, 0, 1, 1]), factor("b", [0, 1, 0, 1])];
    Design { factors, ..design(&SQUARE) }
}

fn analysed(design: &Design, visits: &[Visited<'_>]) -> Found {
    analyse(Some(design), visits, &[])
}

#[test]
fn two_factors_have_two_effects_and_an_interaction() {
    let cells: Vec<(&str, f64)> = SQUARE.into_iter().zip([0.0, 0.1, 0.2, 0.5]).collect();
    let mut world = World::new(1);
    world.visit = 1e-6;
    let found = analysed(&square(), &world.visits(&cells, 4));
    let effects: Vec<(String, f64)> = found
        .analysis
        .effects
        .iter()
        .map(|one| (one.levels.join(" with "), one.ratio.unwrap().ln()))
        .collect();
    let told: Vec<_> = effects.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(told, ["a1", "b1", "a1 with b1"]);
    for ((name, effect), truth) in effects.iter().zip([0.3, 0.2, 0.2]) {
        assert!((effect - truth).abs() < 1e-4, "{name}: {effect}");
    }
    assert_eq!(found.contrasts.len(), 3, "each cell has its contrast as well");
}

#[test]
fn a_half_says_what_an_effect_may_be() {
    let factor = |name: &str, at: usize| Factor {
        name: name.to_string(),
        levels: vec![format!("{name}0"), format!("{name}1")],
        of_cells: [0b000, 0b011, 0b101, 0b110].iter().map(|cell| cell >> at & 1).collect(),
    };
    let factors = vec![factor("a", 2), factor("b", 1), factor("c", 0)];
    let design = Design { factors, fraction: Some("1/2".into()), ..design(&SQUARE) };
    let planned = effects::of(&design);
    let told: Vec<_> =
        planned.iter().map(|one| (one.levels.join(" with "), &one.aliases)).collect();
    assert_eq!(told.len(), 3, "no interaction: each is a main effect {told:?}");
    assert_eq!(told[0].1, &["b with c".to_string()]);
}

#[test]
fn intervals_of_interactions_cover_the_truth_as_often_as_they_say() {
    let cells: Vec<(&str, f64)> = SQUARE.into_iter().zip([0.0, 0.1, 0.2, 0.34]).collect();
    let design = square();
    let planned = effects::of(&design);
    let covers = |seed: u64| {
        let visits = World::new(seed).visits(&cells, 4 + seed as u32 % 5);
        let series = Logs::of(&visits, Figure::Rate).series(&planned[2].weights);
        let contrast = Contrast::of_logs(&series).unwrap();
        contrast.low <= 0.04f64.exp() && 0.04f64.exp() <= contrast.high
    };
    let covered = (0..2000).filter(|seed| covers(*seed)).count();
    eprintln!("interactions: {covered} of 2000");
    assert!((1860..=1940).contains(&covered), "{covered} of 2000, 95 % asked");
}

#[test]
fn a_family_with_effects_errs_in_fewer_than_one_of_twenty_experiments() {
    let cells = SQUARE.map(|cell| (cell, 0.0));
    let design = square();
    let errs = |seed: u64| {
        let found = compare(&design, &World::new(seed).visits(&cells, 6), Rules::once(0.02));
        let differs =
            |one: Option<Conclusion>| matches!(one, Some(Conclusion::More | Conclusion::Less));
        found.contrasts.iter().any(|one| differs(one.conclusion))
            || found.effects.iter().any(|one| differs(one.conclusion))
    };
    let wrong = (0..1000).filter(|seed| errs(*seed)).count();
    eprintln!("families with effects: {wrong} of 1000");
    assert!(wrong <= 60, "{wrong} of 1000, 5 % allowed");
}

#[test]
fn a_difference_that_the_host_makes_by_itself_is_not_claimed() {
    let mut design = design(&["plain", "rps", "plain, again"]);
    design.floor = Some("plain, again".to_string());
    let mut world = World::new(5);
    world.visit = 0.001;
    // Something moves the second visit of a block, whatever its cell.
    let moved = [("plain", 0.0), ("rps", 0.03), ("plain, again", 0.03)];
    let found = analysed(&design, &world.visits(&moved, 6));
    let floor = found.analysis.floors[0];
    assert!((0.03..0.035).contains(&floor.share), "{floor:?}");
    assert_eq!(floor.conclusion, Conclusion::More, "the same cell differs from itself");
    assert_eq!(found.contrasts.len(), 1, "the floor is no contrast");
    let one = &found.contrasts[0];
    assert!(one.below_floor && one.conclusion == Some(Conclusion::Undecided), "{one:?}");
    let beyond = [("plain", 0.0), ("rps", 0.06), ("plain, again", 0.03)];
    let found = analysed(&design, &world.visits(&beyond, 6));
    assert_eq!(found.contrasts[0].conclusion, Some(Conclusion::More));
}

/// Something moves the cells with `a1` within blocks, and the second visit of the baseline.
#[test]
fn an_effect_that_the_host_makes_by_itself_is_not_claimed() {
    let mut design = square();
    design.cells.push("a0 b0, again".to_string());
    design.floor = Some("a0 b0, again".to_string());
    let mut world = World::new(5);
    world.visit = 0.001;
    let moved = [0.0, 0.0, 0.03, 0.03];
    let cells = |again: f64| -> Vec<(&str, f64)> {
        SQUARE.into_iter().zip(moved).chain([("a0 b0, again", again)]).collect()
    };
    let of_a = |found: &Found| {
        let effects = &found.analysis.effects;
        let one = effects.iter().find(|one| one.levels == ["a1"]).unwrap();
        (one.conclusion, one.more_blocks)
    };
    let found = analysed(&design, &world.visits(&cells(0.05), 6));
    assert_eq!(of_a(&found), (Some(Conclusion::Undecided), None));
    let found = analysed(&design, &world.visits(&cells(0.001), 6));
    assert_eq!(of_a(&found), (Some(Conclusion::More), None));
}

/// Two pairs of the baseline with itself say nothing about what the host varies.
#[test]
fn without_a_known_floor_no_difference_is_claimed() {
    let mut design = design(&["plain", "rps", "plain, again"]);
    design.floor = Some("plain, again".to_string());
    let cells = [("plain", 0.0), ("rps", 0.5), ("plain, again", 0.0)];
    let mut visits = World::new(7).visits(&cells, 6);
    visits.retain(|visit| visit.cell != "plain, again" || visit.block <= Some(2));
    let found = analysed(&design, &visits);
    assert!(found.analysis.floors.is_empty());
    let one = &found.contrasts[0];
    assert_eq!((one.conclusion, one.more_blocks), (Some(Conclusion::Undecided), Some(1)));
    assert!(!one.below_floor, "it is not known to be");
    design.floor = None;
    design.cells.pop();
    assert_eq!(analysed(&design, &visits).contrasts[0].conclusion, Some(Conclusion::More));
}

/// In three of eight blocks no response of a cell was good; in the others it is as fast.
#[test]
fn visits_without_a_good_response_are_not_left_out_of_a_conclusion() {
    let design = design(&["plain", "rps"]);
    let concluded = |of_rps: f64, zero: &str, blocks: u32| {
        let mut world = World::new(11);
        world.visit = 0.001;
        let mut visits = world.visits(&[("plain", 0.0), ("rps", of_rps)], 8);
        let is_zero = |visit: &&mut Visited<'_>| visit.cell == zero && visit.block <= Some(blocks);
        for visit in visits.iter_mut().filter(is_zero) {
            visit.figures.insert(Figure::Rate, 0.0);
        }
        let found = analysed(&design, &visits);
        let counted: u64 = found.summaries.iter().map(|one| one.visits).sum();
        assert_eq!(counted, 16, "zero is a figure");
        let one = &found.contrasts[0];
        (one.conclusion.unwrap(), one.more_blocks)
    };
    assert_eq!(concluded(0.0, "", 3).0, Conclusion::Same);
    assert_eq!(concluded(0.0, "rps", 3), (Conclusion::Undecided, None));
    assert_eq!(concluded(0.0, "plain", 3), (Conclusion::Undecided, None));
    assert_eq!(concluded(0.1, "rps", 3), (Conclusion::Undecided, None), "zero is less");
    assert_eq!(concluded(0.1, "plain", 3).0, Conclusion::More, "zero is even less");
    assert_eq!(concluded(-0.1, "rps", 3).0, Conclusion::Less);
    assert_eq!(concluded(0.0, "rps", 8), (Conclusion::Undecided, None), "no pair is left");
}

#[test]
fn what_warms_up_or_is_left_out_by_a_rule_is_in_no_figure() {
    let mut design = design(&["plain", "rps"]);
    design.exclude = vec![Exclusion::Steal(0.02)];
    let mut visits = World::new(9).visits(&[("plain", 0.0), ("rps", 0.0)], 5);
    let whole = analysed(&design, &visits);
    visits.insert(0, visit("plain", 0, 1.0));
    visits.push(visit("plain", 6, 1.0));
    visits.push(visit("rps", 6, 1e9));
    visits.last_mut().unwrap().conditions.steal = Some(0.5);
    let found = analysed(&design, &visits);
    assert_eq!(found.analysis.excluded.len(), 1);
    let excluded = &found.analysis.excluded[0];
    assert_eq!((excluded.cell.as_str(), excluded.block), ("rps", 6));
    assert_eq!(excluded.why, "steal > 2%: it was 50.0 %");
    assert_eq!(found.contrasts, whole.contrasts, "block 6 has no pair");
    assert_eq!(found.summaries[0].visits, 6, "its other visit still counts for the cell");
    assert_eq!(found.analysis.visits.len(), 13, "the document has them all");
}

#[test]
fn an_experiment_ends_when_its_cells_are_decided() {
    let mut design = design(&["plain", "rps"]);
    design.until_decided = true;
    let mut world = World::new(3);
    let far = world.visits(&[("plain", 0.0), ("rps", 0.5)], 6);
    assert_eq!(enough(&design, &far[..4], 2), None, "two blocks say nothing");
    assert_eq!(enough(&design, &far, 6), Some(Ended::Decided));
    design.figure = Figure::P99;
    assert_eq!(enough(&design, &far, 6), None, "the plan is about another figure");
    let as_p99 = |visit: &Visited<'static>| {
        let figures = BTreeMap::from([(Figure::P99, visit.figures[&Figure::Rate])]);
        Visited { figures, ..visit.clone() }
    };
    let late: Vec<_> = far.iter().map(as_p99).collect();
    assert_eq!(enough(&design, &late, 6), Some(Ended::Decided));
    design.figure = Figure::Rate;
    let alike = world.visits(&[("plain", 0.0), ("rps", 0.01)], 4);
    assert_eq!(enough(&design, &alike, 4), None);
    design.precision = Some(0.5);
    assert_eq!(enough(&design, &alike, 4), Some(Ended::Precise));
}

/// Three pairs that chance made alike have a narrow interval, and later looks are at risk, too.
#[test]
fn an_experiment_ends_when_its_cells_are_precise_at_the_risk_of_the_look() {
    let mut design = design(&["plain", "rps"]);
    design.precision = Some(0.06);
    let visits = World::new(3).visits(&[("plain", 0.0), ("rps", 0.0)], 5);
    let one = &analysed(&design, &visits[..6]).contrasts[0];
    let half = (one.high.unwrap() / one.low.unwrap()).sqrt() - 1.0;
    assert!(half < 0.06, "its 95 % interval is narrow: {half}");
    assert_eq!(enough(&design, &visits[..6], 3), None);
    assert_eq!(enough(&design, &visits, 5), Some(Ended::Precise));
    assert_eq!(Rules::of(&design, 3), Rules { band: 0.02, look: 1, looks: 4 });
}

/// The generator was late in every visit of the change: its p99 lies between 3 and 9 ms.
#[test]
fn a_conclusion_holds_at_both_ends_of_what_is_known() {
    let at = |cell, block, value: f64, bounds: Option<(f64, Option<f64>)>| Visited {
        figures: [(Figure::P99, value * (1.0 + 0.001 * f64::from(block)))].into(),
        bounds: bounds.map(|bounds| (Figure::P99, bounds)).into_iter().collect(),
        ..visit(cell, block, 1.0)
    };
    let design = Design { figure: Figure::P99, ..design(&["base", "change"]) };
    let concluded = |base: Option<(f64, Option<f64>)>, change: Option<(f64, Option<f64>)>| {
        let visits: Vec<_> = (1..=6)
            .flat_map(|block| [at("base", block, 4e6, base), at("change", block, 9e6, change)])
            .collect();
        analysed(&design, &visits).contrasts[0].conclusion.unwrap()
    };
    assert_eq!(concluded(None, None), Conclusion::More);
    assert_eq!(concluded(None, Some((3e6, Some(9.1e6)))), Conclusion::Undecided);
    assert_eq!(concluded(None, Some((8e6, None))), Conclusion::More, "at least");
    assert_eq!(concluded(Some((3e6, Some(5e6))), Some((8e6, Some(9.1e6)))), Conclusion::More);
    assert_eq!(concluded(Some((3e6, None)), None), Conclusion::Undecided);
    let same: Vec<_> = (1..=6)
        .flat_map(|block| {
            [at("base", block, 4e6, None), at("change", block, 4e6, Some((4e6, Some(5e6))))]
        })
        .collect();
    assert_eq!(analysed(&design, &same).contrasts[0].conclusion, Some(Conclusion::Undecided));
}

/// A change that helps at few connections and costs at many.
#[test]
fn levels_are_compared_one_by_one_and_together() {
    let truth = [(16, 0.2), (64, 0.0), (256, -0.2)];
    let mut world = World::new(11);
    world.visit = 0.004;
    let mut visits = Vec::new();
    for block in 1..=8 {
        let drift = world.block * world.random.normal();
        for (cell, share) in [("base", 0.0), ("change", 1.0)] {
            let levels = truth.map(|(load, change)| {
                let noise = world.visit * world.random.normal();
                let rate = 100.0 * load as f64 * (share * change + drift + noise).exp();
                let figures = [(Figure::Rate, rate)].into();
                LevelSeen { load, figures, bounds: BTreeMap::new() }
            });
            let best = levels[2].figures[&Figure::Rate];
            visits.push(Visited { levels: levels.to_vec(), ..visit(cell, block, best) });
        }
    }
    let found = analysed(&design(&["base", "change"]), &visits);
    let seen: Vec<_> =
        found.levels.iter().map(|one| (one.load, one.contrast.conclusion.unwrap())).collect();
    let (more, same, less) = (Conclusion::More, Conclusion::Same, Conclusion::Less);
    let expected = [(Some(16), more), (Some(64), same), (Some(256), less), (None, same)];
    assert_eq!(seen, expected);
    for (one, (load, change)) in found.levels.iter().zip(truth) {
        assert!((one.contrast.ratio.unwrap().ln() - change).abs() < 0.02, "{load}");
        let (base, changed) = (one.base.unwrap(), one.changed.unwrap());
        assert!(((changed / base).ln() - change).abs() < 0.1, "{load}: {base} {changed}");
    }
    assert_eq!(found.levels[3].base, None, "all levels have no rate");
    assert_eq!(found.contrasts[0].conclusion, Some(less), "the best level alone");
}

/// A level without a figure in one cell is no pair, and takes part in nothing over all levels.
#[test]
fn a_level_that_failed_is_no_pair() {
    let with = |cell, block, second: Option<f64>| {
        let level = |load, rate: Option<f64>| LevelSeen {
            load,
            figures: rate.map(|rate| (Figure::Rate, rate)).into_iter().collect(),
            bounds: BTreeMap::new(),
        };
        let rate = 100.0 + f64::from(block);
        let levels = vec![level(1, Some(rate)), level(2, second)];
        Visited { levels, ..visit(cell, block, rate) }
    };
    let visits: Vec<_> = (1..=4)
        .flat_map(|block| [with("base", block, Some(50.0)), with("change", block, None)])
        .collect();
    let seen = |visits: &[Visited<'_>]| -> Vec<_> {
        let levels = analysed(&design(&["base", "change"]), visits).levels;
        levels.iter().map(|one| (one.load, one.contrast.pairs, one.changed)).collect()
    };
    assert_eq!(seen(&visits), [(Some(1), 4, Some(102.5)), (Some(2), 0, None)]);
    let found = analysed(&design(&["base", "change"]), &visits);
    assert_eq!(found.levels[1].contrast.conclusion, None);
    // One visit ended before its first level.
    let mut short = visits;
    short[1].levels.remove(0);
    assert_eq!(seen(&short), [(Some(1), 3, Some(103.0)), (Some(2), 0, None)]);
}

/// The generator was late at the second level of the change: that may be a third slower or not, and
/// so may all levels together.
#[test]
fn bounds_of_one_level_are_bounds_of_all() {
    let with = |cell, block, value: f64, bounds: Option<(f64, Option<f64>)>| {
        let level = |load, bounds: Option<(f64, Option<f64>)>| LevelSeen {
            load,
            figures: [(Figure::P99, value * (1.0 + 0.001 * f64::from(block)))].into(),
            bounds: bounds.map(|bounds| (Figure::P99, bounds)).into_iter().collect(),
        };
        Visited { levels: vec![level(1, None), level(2, bounds)], ..visit(cell, block, 1.0) }
    };
    let concluded = |bounds| {
        let both = |block| [with("base", block, 4e6, None), with("change", block, 6e6, bounds)];
        let visits: Vec<_> = (1..=6).flat_map(both).collect();
        let levels = analysed(&design(&["base", "change"]), &visits).levels;
        let concluded = levels.iter().map(|one| (one.load, one.contrast.conclusion.unwrap()));
        concluded.collect::<Vec<_>>()
    };
    let (more, open) = (Conclusion::More, Conclusion::Undecided);
    assert_eq!(concluded(None), [(Some(1), more), (Some(2), more), (None, more)]);
    let late = concluded(Some((2e6, Some(6.1e6))));
    assert_eq!(late, [(Some(1), more), (Some(2), open), (None, open)]);
    let little = concluded(Some((5e6, Some(6.1e6))));
    assert_eq!(little, [(Some(1), more), (Some(2), more), (None, more)]);
}

/// Of hundreds of levels without any difference, few experiments claim one.
#[test]
fn levels_share_the_risk_of_a_false_difference() {
    let loads = [1, 2, 4, 8, 16, 32];
    let cells = ["base", "a", "b", "c"];
    let claims = |seed: u64| {
        let mut random = Random::new(seed, 0x6c76);
        let mut visits = Vec::new();
        for block in 1..=6 {
            for cell in cells {
                let mut level = |load| LevelSeen {
                    load,
                    figures: [(Figure::Rate, 1000.0 * (0.05 * random.normal()).exp())].into(),
                    bounds: BTreeMap::new(),
                };
                let levels = loads.map(&mut level).to_vec();
                visits.push(Visited { levels, ..visit(cell, block, 1000.0) });
            }
        }
        let found = analysed(&design(&cells), &visits);
        let is_claim = |one: &LevelContrast| {
            matches!(one.contrast.conclusion, Some(Conclusion::More | Conclusion::Less))
        };
        found.levels.iter().any(is_claim)
    };
    let wrong = (0..60).filter(|seed| claims(*seed)).count();
    assert!(wrong <= 8, "{wrong} of 60 experiments, 3 expected");
}

/// Visits with figures of a host: the server is a third busier in the second cell, and nothing was
/// dropped in any.
fn with_hosts(visits: &mut [Visited<'_>]) {
    for visit in visits {
        let busy = if visit.cell == "a" { 0.3 } else { 0.4 };
        let of_host = |of| Figure::Host(of, Whose::Server);
        visit.figures.insert(of_host(OfHost::Busy), busy);
        visit.figures.insert(of_host(OfHost::ListenDrops), 0.0);
    }
}

fn document(design: &Design, found: Found) -> Experiment {
    let text = serde_json::json!({
        "schema": experiment::SCHEMA, "id": "", "version": "", "started_at": "", "plan": "",
        "question": "", "cells": [], "predictions": [],
    });
    let empty: Experiment = serde_json::from_value(text).unwrap();
    Experiment {
        design: Some(design.clone()),
        summaries: found.summaries,
        contrasts: found.contrasts,
        analysis: Some(found.analysis),
        ..empty
    }
}

#[test]
fn contrasts_of_hosts_are_made_when_they_are_asked_for() {
    let busy = Figure::Host(OfHost::Busy, Whose::Server);
    let design = design(&["a", "b"]);
    let mut visits = World::new(3).visits(&[("a", 0.0), ("b", 0.1)], 5);
    with_hosts(&mut visits);
    let found = analysed(&design, &visits);
    let figures: BTreeSet<Figure> = found.contrasts.iter().map(|one| one.figure).collect();
    assert_eq!(figures, [Figure::Rate].into(), "the tables show no other");
    assert_eq!(found.summaries.len(), 2);
    assert_eq!(found.analysis.visits[0].figures[&busy], 0.3, "the visit keeps it");
    let asked = Design { figure: busy, ..design.clone() };
    let of_plan = analysed(&asked, &visits);
    let contrast = |all: &[experiment::Contrast]| {
        all.iter().find(|one| one.figure == busy).expect("a contrast").clone()
    };
    let further = further(&document(&design, found));
    let (now, then) = (contrast(&further), contrast(&of_plan.contrasts));
    assert_eq!(now, then, "the risk is that of one figure, whenever it is made");
    assert!((now.ratio.unwrap() - 4.0 / 3.0).abs() < 1e-9);
    assert_eq!(now.conclusion, Some(Conclusion::More));
    let drops = further.iter().find(|one| one.figure != busy).expect("another");
    let none = (0, None, Some(Conclusion::Undecided));
    assert_eq!((drops.pairs, drops.ratio, drops.conclusion), none, "0 to 0 is no ratio");
    assert_eq!(super::further(&document(&asked, of_plan)).len(), 1, "the drops alone");
}
