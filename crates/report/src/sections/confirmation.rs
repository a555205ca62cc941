//! Experiments that test the verdict (`--confirm`).

use crate::page::{Block, Column, List, Mark, Table};
use crate::wording::{per_second, plural};
use model::perturbation::{Perturbation, Says};
use model::run::Run;

/// What was changed, how the rate responded, and the conclusion.
pub fn table(run: &Run) -> Vec<Block> {
    let made = &run.record.perturbations;
    if made.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::words("changed"), Column::numbers("capacity").rank(1)];
    columns.extend([Column::numbers("rate before"), Column::numbers("rate changed")]);
    columns.extend([Column::numbers("pairs").rank(2), Column::words("elasticity")]);
    columns.push(Column::words("says"));
    let mut table = Table::new(columns);
    for one in made.iter().filter(|one| !one.base.is_empty()) {
        let mark = if one.failure.is_some() { Mark::Caution } else { Mark::None };
        table.push(mark, cells(one));
    }
    let mut blocks = vec![Block::Text(
        "Elasticity: by how many percent the rate changes when a resource changes by 1 %. 1 for \
         what limits, 0 for what does not."
            .to_string(),
    )];
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    let items_made = made.iter().filter_map(|one| {
        let failure = one.failure.as_ref()?;
        Some(format!("{}: {failure}", one.what))
    });
    let items: Vec<String> = items_made.collect();
    if !items.is_empty() {
        let lead = "Not completed:".to_string();
        blocks.push(Block::List(List { lead, items }));
    }
    blocks
}

fn cells(made: &Perturbation) -> Vec<String> {
    vec![
        made.what.clone(),
        made.factor.map_or_else(|| "-".to_string(), |factor| format!("x{factor:.2}")),
        mean_rate(&made.base),
        mean_rate(&made.changed),
        made.changed.len().min(made.base.len()).to_string(),
        elasticity(made),
        words(made),
    ]
}

fn mean_rate(rates: &[f64]) -> String {
    if rates.is_empty() {
        return "-".to_string();
    }
    per_second(rates.iter().sum::<f64>() / rates.len() as f64)
}

fn elasticity(made: &Perturbation) -> String {
    match (made.elasticity, made.low, made.high) {
        (Some(value), Some(low), Some(high)) => format!("{value:.2} [{low:.2}, {high:.2}]"),
        (Some(value), ..) => format!("{value:.2}"),
        (None, ..) => "-".to_string(),
    }
}

/// The conclusion, in words.
pub(crate) fn words(made: &Perturbation) -> String {
    match made.says {
        Says::Limits => "it limits".to_string(),
        Says::LimitsInPart => "it limits in part".to_string(),
        Says::DoesNotLimit => "it does not limit".to_string(),
        Says::Open => {
            format!("undecided after {}", plural(made.changed.len() as u64, "pair"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::perturbation::Resource;

    fn made() -> Perturbation {
        Perturbation {
            resource: Resource::ServerCpu,
            what: "a server CPU quota of 80 %: 0.20 instead of 0.25 CPUs".to_string(),
            factor: Some(0.8),
            base: vec![10_000.0; 4],
            changed: vec![8_100.0; 4],
            elasticity: Some(0.944),
            low: Some(0.9),
            high: Some(0.99),
            says: Says::Limits,
            failure: None,
        }
    }

    fn drawn(perturbations: Vec<Perturbation>) -> Vec<Block> {
        let mut run = fixtures::ramp_quota();
        run.record.perturbations = perturbations;
        table(&run)
    }

    #[test]
    fn each_experiment_is_a_row_with_its_interval_and_words() {
        assert!(drawn(Vec::new()).is_empty(), "no section without experiments");
        let blocks = drawn(vec![made()]);
        let Block::Table(table) = &blocks[1] else { panic!("{blocks:?}") };
        let expected = [
            "a server CPU quota of 80 %: 0.20 instead of 0.25 CPUs",
            "x0.80",
            "10.0k/s",
            "8100/s",
            "4",
            "0.94 [0.90, 0.99]",
            "it limits",
        ];
        assert_eq!(table.rows[0].cells, expected);
        assert_eq!(blocks.len(), 2, "nothing failed");
    }

    #[test]
    fn one_that_was_not_made_says_why() {
        let unmade = Perturbation {
            base: Vec::new(),
            changed: Vec::new(),
            elasticity: None,
            low: None,
            high: None,
            says: Says::Open,
            failure: Some("permission denied".to_string()),
            ..made()
        };
        let blocks = drawn(vec![unmade]);
        let Block::List(list) = &blocks[1] else { panic!("{blocks:?}") };
        assert!(list.items[0].ends_with("0.25 CPUs: permission denied"), "{:?}", list.items);
    }
}
