//! How often the cells of an experiment are visited, in which order, and when it may end.
//!
//! A block visits each cell once. Drift over time affects the cells of one block alike, so they are
//! compared within blocks (Box, Hunter and Hunter, Statistics for Experimenters, chapter 4).

use crate::cell::{Cell, Server, Visit};
use crate::factors;
use model::analysis::{Exclusion, Factor};
use model::experiment::{Design, Order, Restart};
use model::figure::Figure;
use model::printable::printable;
use model::random::Random;
use model::units::parse_duration_ns;
use serde::Deserialize;
use std::ops::RangeInclusive;

/// The purpose of the seed of a plan's order.
const ORDER: u64 = 0x6f72_6465;
/// Most blocks: a typo must not ask for a year of load.
const BLOCKS_MAX: u32 = 1000;

/// What follows the name of the baseline in the name of the floor's cell.
const AGAIN: &str = ", again";

const ORDERS: [(&str, Order); 3] =
    [("random", Order::Random), ("abba", Order::Abba), ("plan", Order::Plan)];
const RESTARTS: [(&str, Restart); 2] = [("cell", Restart::Cell), ("block", Restart::Block)];

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
    figure: String,
    same_within: String,
    precision: Option<String>,
    until_decided: bool,
    budget: Option<String>,
    pause: String,
    restart: String,
    warmup_visits: u32,
    floor: bool,
    fraction: Option<String>,
    exclude: Vec<String>,
}

impl Default for DesignText {
    fn default() -> Self {
        Self {
            blocks: 5,
            order: "random".to_string(),
            seed: 1,
            baseline: None,
            figure: "rate".to_string(),
            same_within: "2%".to_string(),
            precision: None,
            until_decided: false,
            budget: None,
            pause: "0s".to_string(),
            restart: "cell".to_string(),
            warmup_visits: 0,
            floor: false,
            fraction: None,
            exclude: Vec::new(),
        }
    }
}

impl DesignText {
    /// Reads the values, and keeps of `cells` those that the fraction measures; `factors` are what
    /// differs between them. With a floor the last cell repeats the baseline.
    pub(crate) fn resolve(
        self,
        cells: &mut Vec<Cell>,
        factors: Vec<Factor>,
    ) -> Result<Design, String> {
        number("blocks", self.blocks, 1..=BLOCKS_MAX)?;
        number("warmup_visits", self.warmup_visits, 0..=BLOCKS_MAX)?;
        let order = word("order", &self.order, &ORDERS)?;
        let restart = word("restart", &self.restart, &RESTARTS)?;
        let figure = compared(&self.figure)?;
        let factors = match &self.fraction {
            Some(text) => factors::halve(text, cells, factors)?,
            None => factors,
        };
        let names = || cells.iter().map(|cell| cell.name.clone()).collect::<Vec<_>>();
        let baseline = self.baseline.or_else(|| names().first().cloned()).unwrap_or_default();
        let Some(mut base) = cells.iter().find(|cell| cell.name == baseline).cloned() else {
            let cells = names().join("; ");
            return Err(format!(
                "baseline is '{baseline}', which is not a cell; cells are {cells}"
            ));
        };
        let ns = |key: &str, text: &str| {
            parse_duration_ns(text).map_err(|error| format!("{key}: {error}"))
        };
        let exclude = self.exclude.iter().map(|text| Exclusion::parse(text));
        let exclude = exclude.collect::<Result<_, _>>().map_err(|why| format!("exclude: {why}"))?;
        let floor = self.floor.then(|| format!("{baseline}{AGAIN}"));
        if let Some(name) = &floor {
            if names().contains(name) {
                return Err(format!("floor names a cell '{name}', which is one of the plan"));
            }
            base.name.clone_from(name);
            cells.push(base);
        }
        Ok(Design {
            cells: cells.iter().map(|cell| cell.name.clone()).collect(),
            blocks: self.blocks,
            order,
            seed: self.seed,
            baseline,
            figure,
            same_within: share("same_within", &self.same_within)?,
            precision: self.precision.map(|text| share("precision", &text)).transpose()?,
            until_decided: self.until_decided,
            budget_ns: self.budget.map(|text| ns("budget", &text)).transpose()?,
            pause_ns: ns("pause", &self.pause)?,
            restart,
            warmup_visits: self.warmup_visits,
            floor,
            factors,
            fraction: self.fraction,
            exclude,
        })
    }
}

/// Keeps of a design the cells that are measured, for each of its cells whether it is.
pub(crate) fn keep_only(design: &mut Design, is_kept: &[bool]) {
    if is_kept.iter().all(|is_kept| *is_kept) {
        return;
    }
    let mut each = is_kept.iter();
    design.cells.retain(|_| each.next() == Some(&true));
    design.floor = design.floor.take().filter(|floor| design.cells.contains(floor));
    factors::keep_only(&mut design.factors, is_kept);
    // What is left is no longer the half that it was.
    design.fraction = None;
}

/// The figure that an experiment is about.
fn compared(key: &str) -> Result<Figure, String> {
    let figure = Figure::parse(key).filter(|figure| Figure::of_visits().any(|one| one == *figure));
    figure.ok_or_else(|| {
        let keys = Figure::keys(Figure::of_visits());
        format!(
            "figure is '{key}', but must be one of {keys} (SIDE is client or server); for example \
             figure = \"p50\""
        )
    })
}

/// A whole number within bounds.
fn number(key: &str, number: u32, bounds: RangeInclusive<u32>) -> Result<(), String> {
    if bounds.contains(&number) {
        return Ok(());
    }
    let (least, most) = bounds.into_inner();
    Err(format!("{key} is {number}, but takes {least} to {most}; for example {key} = 6"))
}

/// One of some words.
fn word<T: Copy>(key: &str, text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let (last, first) = all.split_last().expect("there are words");
        let example = all[1];
        format!(
            "{key} is '{text}', but must be {} or {last}; for example {key} = \"{example}\"",
            first.join(", ")
        )
    })
}

/// A share in percent, above 0 and up to 100.
fn share(key: &str, text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| {
            format!("{key} is '{text}', but takes a share in percent; for example {key} = \"2%\"")
        })
}

/// The order of a number of cells in a block, which counts from 1. The order of a block depends on
/// the seed and its number alone, so that a resumed experiment continues in the same order.
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

/// All visits of a design, in their order: those that warm up, then block by block.
pub(crate) fn visits(design: &Design, cells: &[Cell]) -> Vec<Visit> {
    let of_block = |block| {
        let order = grouped(design, order(design, block, cells.len()), cells).into_iter();
        order.map(move |cell| Visit { cell, block: Some(block) })
    };
    let warmup = of_block(0).collect::<Vec<_>>().into_iter().cycle();
    let warmup = warmup.take(design.warmup_visits as usize);
    warmup.chain((1..=design.blocks).flat_map(of_block)).collect()
}

/// With one start of a server for each block, cells of the same server follow each other; servers
/// are in the order of their first cell.
fn grouped(design: &Design, order: Vec<usize>, cells: &[Cell]) -> Vec<usize> {
    if design.restart == Restart::Cell {
        return order;
    }
    let mut servers: Vec<&Server> = Vec::new();
    for cell in &order {
        if !servers.contains(&&cells[*cell].server) {
            servers.push(&cells[*cell].server);
        }
    }
    let of = |server: &&Server| {
        let server = *server;
        order.iter().copied().filter(move |cell| cells[*cell].server == *server).collect::<Vec<_>>()
    };
    servers.iter().flat_map(of).collect()
}

/// The design in words, with the orders of the first blocks.
pub(crate) fn rehearsed(design: &Design, cells: &[Cell]) -> String {
    let count = cells.len();
    let mut text = format!(
        "\n{} blocks of {count} cells, {} visits; each cell against {}\n",
        design.blocks,
        visits(design, cells).len(),
        printable(&design.baseline)
    );
    if design.warmup_visits > 0 {
        text +=
            &format!("  {} of the visits warm up and count in no figure\n", design.warmup_visits);
    }
    if let Some(floor) = &design.floor {
        let floor = printable(floor);
        text += &format!("  '{floor}' repeats the baseline: what the host varies by itself\n");
    }
    text += &factors::rehearsed(design);
    for rule in &design.exclude {
        text += &format!("  a visit is left out of all figures by the rule '{rule}'\n");
    }
    for block in 1..=design.blocks.min(BLOCKS_SHOWN) {
        let order = grouped(design, order(design, block, count), cells);
        let names: Vec<&str> = order.iter().map(|cell| cells[*cell].name.as_str()).collect();
        text += &format!("  block {block}  {}\n", printable(&names.join("; ")));
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

    fn cell(name: &str) -> Cell {
        let text = format!(
            "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n[[cell]]\nname = \"{name}\"\n\
             server = {{ addr = \"127.0.0.1:9\" }}\n"
        );
        let targets = crate::Targets::absent(String::new());
        crate::Plan::parse(&text, &targets, &crate::GivenHosts::default()).unwrap().cells.remove(0)
    }

    fn read(text: &str) -> Result<Design, String> {
        let mut cells = ["a", "b"].map(cell).to_vec();
        toml::from_str::<DesignText>(text)
            .map_err(|error| error.message().to_string())?
            .resolve(&mut cells, Vec::new())
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
                   same_within = \"0.5%\"\nuntil_decided = true\nbudget = \"2h\"\npause = \"5s\"\n\
                   figure = \"p99\"";
        let design = read(all).unwrap();
        assert_eq!((design.budget_ns, design.pause_ns), (Some(7_200_000_000_000), 5_000_000_000));
        assert_eq!((design.same_within, design.precision), (0.005, Some(0.01)));
        assert_eq!((read("").unwrap().figure, design.figure), (Figure::Rate, Figure::P99));
    }

    #[test]
    fn what_cannot_be_is_said_with_an_example() {
        for (text, part) in [
            ("blocks = 0", "blocks = 6"),
            ("blocks = 1001", "1 to 1000"),
            ("order = \"latin\"", "random, abba or plan"),
            ("baseline = \"c\"", "cells are a; b"),
            ("figure = \"p98\"", "rate, p50, p99, cpu.client, cpu.server, p90"),
            ("same_within = \"2\"", "\"2%\""),
            ("precision = \"0%\"", "\"2%\""),
            ("budget = \"soon\"", "a duration"),
            ("repeats = 3", "unknown field"),
            ("restart = \"never\"", "cell or block"),
            ("warmup_visits = 2000", "0 to 1000"),
            ("fraction = \"1/2\"", "the factors of this plan are: none"),
            ("exclude = [\"steal\"]", "steal > 2%"),
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
    fn visits_that_warm_up_come_first_and_are_no_block() {
        let cells = ["a", "b"].map(cell).to_vec();
        let design = read("order = \"plan\"\nwarmup_visits = 3\nblocks = 1").unwrap();
        let all = visits(&design, &cells);
        let blocks: Vec<_> = all.iter().map(|visit| (visit.cell, visit.block)).collect();
        let warm = [(0, Some(0)), (1, Some(0)), (0, Some(0))];
        assert_eq!(blocks, [&warm[..], &[(0, Some(1)), (1, Some(1))]].concat());
    }

    #[test]
    fn the_floor_is_the_baseline_once_more() {
        let design = read("floor = true\nbaseline = \"b\"").unwrap();
        assert_eq!(design.cells, ["a", "b", "b, again"]);
        assert_eq!(design.floor.as_deref(), Some("b, again"));
    }

    #[test]
    fn cells_of_one_server_follow_each_other_when_it_is_kept() {
        let mut cells = ["a", "b", "c", "d"].map(cell).to_vec();
        for at in [1, 3] {
            cells[at].server = Server::Running { addr: "127.0.0.1:10".to_string() };
        }
        let design = read("restart = \"block\"").unwrap();
        for block in 1..20 {
            let order = grouped(&design, order(&design, block, 4), &cells);
            assert_eq!(order[0] % 2, order[1] % 2, "{order:?}");
            assert_eq!(order[2] % 2, order[3] % 2, "{order:?}");
        }
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
