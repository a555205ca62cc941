//! What differs between the cells of a plan: factors with levels, and a half of all combinations.
//!
//! A half of all combinations of two levels each keeps the cells whose levels are the second one an
//! even number of times. What is lost is known beforehand: each effect is confounded with the
//! interaction of all other factors (Box, Hunter and Hunter, Statistics for Experimenters,
//! chapter 6).

use crate::cell::Cell;
use model::analysis::Factor;
use model::experiment::Design;
use model::printable::printable;

/// With fewer factors, every half mixes an effect with that of another factor.
const HALVED_MIN: usize = 3;

/// The factors of cells whose names have these parts; `names` are those of the parts. None where
/// fewer than two parts differ.
pub(crate) fn of(names: &[String], parts: &[Vec<String>]) -> Vec<Factor> {
    let factor = |(at, name): (usize, &String)| {
        let mut levels: Vec<String> = Vec::new();
        let level = |part: &String| match levels.iter().position(|level| level == part) {
            Some(known) => known,
            None => {
                levels.push(part.clone());
                levels.len() - 1
            }
        };
        let of_cells = parts.iter().map(|of_cell| &of_cell[at]).map(level).collect();
        Factor { name: name.clone(), levels, of_cells }
    };
    let mut factors: Vec<Factor> = names.iter().enumerate().map(factor).collect();
    factors.retain(|factor| factor.levels.len() > 1);
    if factors.len() < 2 { Vec::new() } else { factors }
}

/// Keeps one half of the cells, that of the first levels included.
pub(crate) fn halve(
    text: &str,
    cells: &mut Vec<Cell>,
    factors: Vec<Factor>,
) -> Result<Vec<Factor>, String> {
    if text.trim() != "1/2" {
        return Err(format!(
            "fraction is '{text}', but takes \"1/2\": a smaller part mixes effects of single \
             factors with each other; for example fraction = \"1/2\""
        ));
    }
    if factors.len() < HALVED_MIN || factors.iter().any(|factor| factor.levels.len() != 2) {
        let listed: Vec<_> = factors
            .iter()
            .map(|factor| format!("{} has {}", factor.name, factor.levels.len()))
            .collect();
        let listed = if listed.is_empty() { "none".to_string() } else { listed.join(", ") };
        return Err(format!(
            "fraction takes {HALVED_MIN} or more factors of two levels each, and the factors of \
             this plan are: {listed}; leave fraction out to measure all combinations"
        ));
    }
    let is_kept =
        |cell: usize| factors.iter().map(|factor| factor.of_cells[cell]).sum::<usize>() % 2 == 0;
    let kept: Vec<usize> = (0..cells.len()).filter(|cell| is_kept(*cell)).collect();
    *cells = kept.iter().map(|cell| cells[*cell].clone()).collect();
    let halved = |factor: Factor| Factor {
        of_cells: kept.iter().map(|cell| factor.of_cells[*cell]).collect(),
        ..factor
    };
    Ok(factors.into_iter().map(halved).collect())
}

/// Keeps of the factors what differs between the cells that are measured. Effects are means over
/// all combinations of levels, so without some of these there are no factors.
pub(crate) fn keep_only(factors: &mut Vec<Factor>, is_kept: &[bool]) {
    for factor in &mut *factors {
        let kept = factor.of_cells.iter().zip(is_kept).filter(|(_, is_kept)| **is_kept);
        let of_cells: Vec<usize> = kept.map(|(level, _)| *level).collect();
        let mut used = of_cells.clone();
        used.sort_unstable();
        used.dedup();
        factor.of_cells =
            of_cells.iter().filter_map(|level| used.binary_search(level).ok()).collect();
        factor.levels = used.iter().map(|level| factor.levels[*level].clone()).collect();
    }
    factors.retain(|factor| factor.levels.len() > 1);
    let combinations: usize = factors.iter().map(|factor| factor.levels.len()).product();
    if factors.len() < 2 || factors.iter().any(|factor| factor.of_cells.len() != combinations) {
        factors.clear();
    }
}

/// The factors in words, and what a fraction of them cannot tell apart.
pub(crate) fn rehearsed(design: &Design) -> String {
    let factors = &design.factors;
    let listed: Vec<_> = factors
        .iter()
        .map(|factor| format!("{} ({} levels)", printable(&factor.name), factor.levels.len()))
        .collect();
    let Some(fraction) = &design.fraction else {
        return match listed.len() {
            0 => String::new(),
            _ => format!("  factors: {}\n", listed.join(", ")),
        };
    };
    let lost = match factors.len() {
        3 => "each factor with the interaction of the two others: assume there is none",
        4 => "interactions of two factors with those of the two others",
        _ => "interactions of two factors with those of three or more, which are rare",
    };
    format!(
        "  factors: {}; {fraction} of all combinations, which mixes {lost}\n",
        listed.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use crate::{Plan, Targets};

    fn plan(design: &str, values: &[&str]) -> Result<Plan, String> {
        let vary = ["depth", "connections", "threads", "timeout"].iter().zip(values);
        let vary: String = vary
            .map(|(key, values)| format!("[[vary]]\nkey = \"load.{key}\"\nvalues = {values}\n"))
            .collect();
        let head = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n\
                    server = { addr = \"127.0.0.1:9\" }\n";
        let text = format!("{head}{vary}[design]\n{design}\n");
        Plan::parse(&text, &Targets::absent(String::new()), &crate::GivenHosts::default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_half_has_each_level_of_each_pair_of_factors_equally_often() {
        let plan = plan("fraction = \"1/2\"", &["[1, 2]", "[1, 2]", "[1, 2]", "[1, 2]"]).unwrap();
        let design = plan.design.as_ref().unwrap();
        assert_eq!((plan.cells.len(), design.factors.len()), (8, 4));
        assert_eq!(design.baseline, "depth 1, connections 1, threads 1, timeout 1");
        for one in &design.factors {
            for other in design.factors.iter().filter(|other| other.name != one.name) {
                let both = one.of_cells.iter().zip(&other.of_cells);
                assert_eq!(both.filter(|levels| *levels == (&1, &0)).count(), 2);
            }
        }
        let said = super::rehearsed(plan.design.as_ref().unwrap());
        assert!(said.contains("with those of the two others"), "{said}");
    }

    #[test]
    fn a_fraction_that_mixes_factors_is_refused() {
        let said = plan("fraction = \"1/2\"", &["[1, 2]", "[1, 2]"]).unwrap_err();
        assert!(said.contains("load.depth has 2, load.connections has 2"), "{said}");
        let said = plan("fraction = \"1/2\"", &["[1, 2]", "[1, 2]", "[1, 2, 3]"]).unwrap_err();
        assert!(said.contains("load.threads has 3"), "{said}");
        let said = plan("fraction = \"1/4\"", &["[1, 2]", "[1, 2]", "[1, 2]"]).unwrap_err();
        assert!(said.contains("\"1/2\""), "{said}");
    }

    #[test]
    fn the_design_of_some_cells_has_these_alone() {
        let chosen = |only: &[&str]| {
            let mut plan = plan("floor = true", &["[1, 2, 3]", "[4, 5]"]).unwrap();
            plan.choose(only).unwrap();
            let names: Vec<String> = plan.cells.iter().map(|cell| cell.name.clone()).collect();
            let design = plan.design.clone().unwrap();
            assert_eq!(design.cells, names, "{only:?}");
            assert_eq!(plan.visits().len(), 5 * names.len());
            design
        };
        let square = chosen(&["depth 1", "depth 3"]);
        assert_eq!(square.cells.len(), 5, "with the floor: {:?}", square.cells);
        assert_eq!(square.factors[0].levels, ["depth 1", "depth 3"]);
        assert_eq!(square.factors[0].of_cells, [0, 0, 1, 1]);
        assert_eq!(square.factors[1].of_cells, [0, 1, 0, 1]);
        assert!(square.floor.is_some());
        let line = chosen(&["depth 1"]);
        assert!(line.factors.is_empty(), "one thing differs: {line:?}");
        assert_eq!(line.compared().count(), 1);
        let corner = chosen(&["depth 1", "depth 2, connections 4"]);
        assert!(corner.factors.is_empty(), "a combination is missing: {corner:?}");
        let baseline = chosen(&["depth 1, connections 4"]);
        assert_eq!(baseline.cells, ["depth 1, connections 4", "depth 1, connections 4, again"]);
        assert_eq!(chosen(&[]).factors.len(), 2);
    }

    #[test]
    fn the_example_that_adds_the_baseline_can_be_typed() {
        let design = "baseline = \"depth 2, connections 4\"";
        let mut plan = plan(design, &["[1, 2]", "[4, 5]"]).unwrap();
        let said = plan.choose(&["depth 1"]).unwrap_err().0;
        let (_, example) = said.split_once("for example ").unwrap();
        let words = model::shell::words(example);
        let only = words.iter().map(String::as_str).filter(|word| *word != "--only");
        plan.choose(&only.collect::<Vec<_>>()).unwrap();
        let names: Vec<&str> = plan.cells.iter().map(|cell| cell.name.as_str()).collect();
        let all = ["depth 1, connections 4", "depth 1, connections 5", "depth 2, connections 4"];
        assert_eq!(names, all, "{said}");
    }

    #[test]
    fn a_part_of_a_half_is_none() {
        let mut plan = plan("fraction = \"1/2\"", &["[1, 2]", "[1, 2]", "[1, 2]"]).unwrap();
        plan.choose(&["depth 1"]).unwrap();
        let design = plan.design.unwrap();
        assert_eq!((design.cells.len(), design.fraction), (2, None));
        assert!(design.factors.is_empty());
    }

    #[test]
    fn one_factor_is_none() {
        let one = plan("", &["[1, 2]", "[4]"]).unwrap();
        assert!(one.design.unwrap().factors.is_empty());
        let two = plan("floor = true", &["[1, 2, 3]", "[4, 5]"]).unwrap();
        let design = two.design.unwrap();
        assert_eq!(design.factors[0].of_cells, [0, 0, 1, 1, 2, 2]);
        assert_eq!(design.cells.len(), 7, "the floor is not a combination");
        assert_eq!(design.factors[1].levels, ["connections 4", "connections 5"]);
    }
}
