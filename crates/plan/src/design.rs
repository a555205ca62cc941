//! How often the cells of an experiment are visited, in which order, and when it may end.
//!
//! A block visits each cell once. What drifts with time is alike for the cells of one block, so
//! that they are compared within blocks (Box, Hunter and Hunter, Statistics for Experimenters,
//! chapter 4).

use crate::cells::Cell;
use model::experiment::{Design, Order};
use model::random::Random;
use model::units::parse_duration_ns;
use serde::Deserialize;

/// The purpose of the seed of a plan's order.
const ORDER: u64 = 0x6f72_6465;
/// Blocks at most: a slip of the pen must not ask for a year of load.
const BLOCKS_MAX: u32 = 1000;

/// Blocks whose order is shown before an experiment.
const BLOCKS_SHOWN: u32 = 4;

/// The table `[design]` as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DesignText {
    blocks: u32,
    order: String,
    seed: u64,
    baseline: Option<String>,
    same_within: String,
    precision: Option<String>,
    until_decided: bool,
    budget: Option<String>,
    pause: String,
}

impl Default for DesignText {
    fn default() -> Self {
        Self {
            blocks: 5,
            order: "random".to_string(),
            seed: 1,
            baseline: None,
            same_within: "2%".to_string(),
            precision: None,
            until_decided: false,
            budget: None,
            pause: "0s".to_string(),
        }
    }
}

impl DesignText {
    /// Reads the values; `cells` are the names of the cells.
    pub(crate) fn resolve(self, cells: &[String]) -> Result<Design, String> {
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            return Err(format!(
                "blocks is {}, and takes 1 to {BLOCKS_MAX}; for example blocks = 6",
                self.blocks
            ));
        }
        let order = match self.order.as_str() {
            "random" => Order::Random,
            "abba" => Order::Abba,
            "plan" => Order::Plan,
            other => {
                return Err(format!(
                    "order is '{other}', and is random, abba or plan; for example order = \"abba\""
                ));
            }
        };
        let baseline = self.baseline.or_else(|| cells.first().cloned()).unwrap_or_default();
        if !cells.contains(&baseline) {
            return Err(format!(
                "baseline is '{baseline}', which is no cell; cells are {}",
                cells.join("; ")
            ));
        }
        let ns = |key: &str, text: &str| {
            parse_duration_ns(text).map_err(|error| format!("{key}: {error}"))
        };
        Ok(Design {
            cells: cells.to_vec(),
            blocks: self.blocks,
            order,
            seed: self.seed,
            baseline,
            same_within: share("same_within", &self.same_within)?,
            precision: self.precision.map(|text| share("precision", &text)).transpose()?,
            until_decided: self.until_decided,
            budget_ns: self.budget.map(|text| ns("budget", &text)).transpose()?,
            pause_ns: ns("pause", &self.pause)?,
        })
    }
}

/// A share in percent, above 0 and up to 100.
fn share(key: &str, text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| {
            format!("{key} is '{text}', and takes a share in percent; for example {key} = \"2%\"")
        })
}

/// The order of a number of cells in a block, which counts from 1. The order of a block depends on
/// the seed and its number alone, so that an experiment that goes on later goes on in the same one.
pub fn order(design: &Design, block: u32, cells: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells).collect();
    match design.order {
        Order::Plan => {}
        Order::Abba if block.is_multiple_of(2) => order.reverse(),
        Order::Abba => {}
        Order::Random => {
            let mut random = Random::new(design.seed, ORDER ^ u64::from(block) << 32);
            // Fisher and Yates, from the end.
            for last in (1..cells).rev() {
                order.swap(last, random.between(0, last as u64) as usize);
            }
        }
    }
    order
}

/// The design in words, with the orders of the first blocks.
pub(crate) fn rehearsed(design: &Design, cells: &[Cell]) -> String {
    let mut text = format!(
        "\n{} blocks of {} cells, {} visits; each cell against {}\n",
        design.blocks,
        cells.len(),
        design.blocks as usize * cells.len(),
        design.baseline
    );
    for block in 1..=design.blocks.min(BLOCKS_SHOWN) {
        let order = order(design, block, cells.len());
        let names: Vec<&str> = order.iter().map(|cell| cells[*cell].name.as_str()).collect();
        text += &format!("  block {block}  {}\n", names.join("; "));
    }
    if design.blocks > BLOCKS_SHOWN {
        text += "  ...\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Design, String> {
        let cells = ["a".to_string(), "b".to_string()];
        toml::from_str::<DesignText>(text)
            .map_err(|error| error.message().to_string())?
            .resolve(&cells)
    }

    #[test]
    fn what_is_left_out_has_a_value() {
        let design = read("").unwrap();
        assert_eq!(
            (design.blocks, design.order, design.baseline.as_str()),
            (5, Order::Random, "a")
        );
        assert_eq!((design.same_within, design.precision, design.budget_ns), (0.02, None, None));
        let all = "blocks = 8\norder = \"abba\"\nseed = 7\nbaseline = \"b\"\nprecision = \"1%\"\n\
                   same_within = \"0.5%\"\nuntil_decided = true\nbudget = \"2h\"\npause = \"5s\"";
        let design = read(all).unwrap();
        assert_eq!((design.budget_ns, design.pause_ns), (Some(7_200_000_000_000), 5_000_000_000));
        assert_eq!((design.same_within, design.precision), (0.005, Some(0.01)));
    }

    #[test]
    fn what_cannot_be_is_said_with_an_example() {
        for (text, part) in [
            ("blocks = 0", "blocks = 6"),
            ("blocks = 1001", "1 to 1000"),
            ("order = \"latin\"", "random, abba or plan"),
            ("baseline = \"c\"", "cells are a; b"),
            ("same_within = \"2\"", "\"2%\""),
            ("precision = \"0%\"", "\"2%\""),
            ("budget = \"soon\"", "a duration"),
            ("repeats = 3", "unknown field"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }

    #[test]
    fn abba_turns_every_other_block_round() {
        let design = read("order = \"abba\"").unwrap();
        assert_eq!(order(&design, 1, 3), [0, 1, 2]);
        assert_eq!(order(&design, 2, 3), [2, 1, 0]);
    }

    #[test]
    fn at_random_each_cell_is_first_about_as_often() {
        let design = read("").unwrap();
        let design = &design;
        let first =
            |cell: usize| (1..=900).filter(move |block| order(design, *block, 3)[0] == cell);
        for cell in 0..3 {
            assert!((240..=360).contains(&first(cell).count()), "{}", first(cell).count());
        }
    }

    proptest! {
        #[test]
        fn a_block_visits_each_cell_once_and_the_seed_repeats_it(
            seed in any::<u64>(), block in 1u32..1000, cells in 1usize..40,
        ) {
            let design = Design { seed, ..read("").unwrap() };
            let mut visited = order(&design, block, cells);
            prop_assert_eq!(&visited, &order(&design, block, cells));
            visited.sort_unstable();
            prop_assert_eq!(visited, (0..cells).collect::<Vec<_>>());
        }
    }
}
