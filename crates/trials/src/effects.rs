//! Effects of the factors of an experiment, as sums over its cells.
//!
//! The effect of a level is the mean of the logarithms of the cells that have it, minus that of the
//! cells that have the first level; the other factors are in both with all their levels. The
//! interaction of two factors is how much the effect of one differs with the other: zero if the two
//! multiply (Box, Hunter and Hunter, Statistics for Experimenters, chapter 5).

use model::analysis::Factor;
use model::experiment::Design;

/// An effect, before it is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned<'a> {
    /// The level, or the two levels of an interaction.
    pub levels: Vec<String>,
    /// The first levels of the same factors.
    pub against: Vec<String>,
    /// Interactions that a fraction cannot tell from this effect.
    pub aliases: Vec<String>,
    /// Its cells with their weights.
    pub weights: Vec<(&'a str, f64)>,
}

/// Main effects, then interactions of two factors.
pub fn of(design: &Design) -> Vec<Planned<'_>> {
    let factors = &design.factors;
    let mut effects: Vec<Planned<'_>> = (0..factors.len())
        .flat_map(|at| levels(&factors[at]).map(move |level| main(design, at, level)))
        .collect();
    for one in 0..factors.len() {
        for other in one + 1..factors.len() {
            if has_own_figure(design, one) {
                let pairs = levels(&factors[one])
                    .flat_map(|i| levels(&factors[other]).map(move |j| (i, j)));
                effects.extend(pairs.map(|(i, j)| interaction(design, (one, i), (other, j))));
            }
        }
    }
    effects
}

/// All levels but the first.
fn levels(factor: &Factor) -> std::ops::Range<usize> {
    1..factor.levels.len()
}

/// Whether interactions that start with this factor have figures of their own. In a half fraction
/// of three factors each interaction is the main effect of the third factor; with four factors,
/// half of the interactions are the other half.
fn has_own_figure(design: &Design, one: usize) -> bool {
    match (&design.fraction, design.factors.len()) {
        (Some(_), 3) => false,
        (Some(_), 4) => one == 0,
        _ => true,
    }
}

/// The factors of a half fraction that remain when these are removed: their interaction looks the
/// same.
fn aliases(design: &Design, of: &[usize]) -> Vec<String> {
    let names = design.factors.iter().enumerate().filter(|(at, _)| !of.contains(at));
    let names: Vec<&str> = names.map(|(_, factor)| factor.name.as_str()).collect();
    let is_likely = design.fraction.is_some() && names.len() <= 2;
    is_likely.then(|| names.join(" with ")).into_iter().collect()
}

fn main(design: &Design, at: usize, level: usize) -> Planned<'_> {
    let factor = &design.factors[at];
    let is = |wanted: usize| move |cell: usize| design.factors[at].of_cells[cell] == wanted;
    Planned {
        levels: vec![factor.levels[level].clone()],
        against: vec![factor.levels[0].clone()],
        aliases: aliases(design, &[at]),
        weights: sum(design, vec![mean(design, is(level), 1.0), mean(design, is(0), -1.0)]),
    }
}

fn interaction(design: &Design, one: (usize, usize), other: (usize, usize)) -> Planned<'_> {
    let (left, right) = (&design.factors[one.0], &design.factors[other.0]);
    let both = |i: usize, j: usize| {
        move |cell: usize| left.of_cells[cell] == i && right.of_cells[cell] == j
    };
    let parts = vec![
        mean(design, both(one.1, other.1), 1.0),
        mean(design, both(one.1, 0), -1.0),
        mean(design, both(0, other.1), -1.0),
        mean(design, both(0, 0), 1.0),
    ];
    Planned {
        levels: vec![left.levels[one.1].clone(), right.levels[other.1].clone()],
        against: vec![left.levels[0].clone(), right.levels[0].clone()],
        aliases: aliases(design, &[one.0, other.0]),
        weights: sum(design, parts),
    }
}

/// The mean over the cells of a kind, times a sign, as weights of the cells.
fn mean(design: &Design, is_one: impl Fn(usize) -> bool, sign: f64) -> Vec<f64> {
    let cells = design.factors[0].of_cells.len();
    let count = (0..cells).filter(|cell| is_one(*cell)).count().max(1) as f64;
    (0..cells).map(|cell| if is_one(cell) { sign / count } else { 0.0 }).collect()
}

fn sum(design: &Design, parts: Vec<Vec<f64>>) -> Vec<(&str, f64)> {
    let weight = |cell: usize| parts.iter().map(|part| part[cell]).sum::<f64>();
    let cells = design.cells.iter().take(design.factors[0].of_cells.len());
    let weighed = cells.enumerate().map(|(at, name)| (name.as_str(), weight(at)));
    weighed.filter(|(_, weight)| *weight != 0.0).collect()
}
