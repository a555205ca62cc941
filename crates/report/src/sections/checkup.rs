//! Whether a host is fit to measure on: every check, and what to do about those with a cost.

use crate::page::{Banner, Block, Column, List, Mark, Page, Table, Tone};
use crate::wording::plural;
use model::checkup::{Checked, Checkup, Fitness};

/// The page of `ceiling doctor`.
pub fn checkup(of: &Checkup) -> Page {
    let mut table = Table::new(vec![Column::words("check"), Column::words("found")]);
    for check in &of.checks {
        table.push(mark(check), vec![check.name.clone(), check.found.clone()]);
    }
    let mut blocks = vec![Block::Banner(banner(of)), Block::Table(table)];
    let has_cost = |check: &&Checked| !check.cost.is_empty();
    let item = |check: &Checked| {
        format!("{}: {}. To change it: {}.", check.name, check.cost, check.change)
    };
    let items: Vec<String> = of.checks.iter().filter(has_cost).map(item).collect();
    if !items.is_empty() {
        let lead = "What it costs, and how to change it:".to_string();
        blocks.push(Block::List(List { lead, items }));
    }
    Page {
        title: format!("ceiling doctor on {}", of.host),
        subtitle: format!("kernel {}, observed for {:.1} s without load", of.kernel, of.length_s),
        blocks,
    }
}

fn banner(of: &Checkup) -> Banner {
    let named = |fitness: Fitness| -> Vec<&str> {
        let those = of.checks.iter().filter(|check| check.fitness == fitness);
        those.map(|check| check.name.as_str()).collect()
    };
    let (unfit, caution) = (named(Fitness::Unfit), named(Fitness::Caution));
    let (tone, text) = match (unfit.is_empty(), caution.is_empty()) {
        (false, _) => (Tone::Bad, format!("NOT FIT TO MEASURE ON: {}.", unfit.join(", "))),
        (true, false) => {
            let count = plural(caution.len() as u64, "reservation");
            (Tone::Caution, format!("FIT TO MEASURE ON, with {count}: {}.", caution.join(", ")))
        }
        (true, true) => (Tone::Good, "FIT TO MEASURE ON.".to_string()),
    };
    Banner { tone, text, lines: vec![] }
}

fn mark(check: &Checked) -> Mark {
    match check.fitness {
        Fitness::Fit => Mark::None,
        Fitness::Caution | Fitness::NotKnown => Mark::Caution,
        Fitness::Unfit => Mark::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::checkup::SCHEMA;

    fn check(name: &str, fitness: Fitness, found: &str, cost: &str, change: &str) -> Checked {
        let [name, found, cost, change] = [name, found, cost, change].map(str::to_string);
        Checked { name, fitness, found, cost, change }
    }

    #[test]
    fn a_checkup_reads_like_this() {
        let taken =
            "the hypervisor runs other guests meanwhile: latencies have gaps that no server caused";
        let change = "use a machine with dedicated CPUs; shared ones differ from hour to hour";
        let mut of = Checkup {
            schema: SCHEMA.to_string(),
            host: "bench-1".to_string(),
            kernel: "6.12.0".to_string(),
            length_s: 3.02,
            fit: false,
            checks: vec![
                check("CPUs", Fitness::Fit, "4 of 4 may be used", "", ""),
                check("steal", Fitness::Unfit, "7.3 % of CPU time", taken, change),
                check("local ports", Fitness::NotKnown, "could not be read", "", ""),
                check("drivers", Fitness::Caution, "epoll; uring: seccomp", "more CPU", "allow it"),
            ],
        };
        let text = crate::text_checkup(&of, crate::Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!("checkup", text);
        let first = |of: &Checkup| banner(of).text;
        of.checks.remove(1);
        assert_eq!(first(&of), "FIT TO MEASURE ON, with 1 reservation: drivers.");
        of.checks.truncate(1);
        assert_eq!(first(&of), "FIT TO MEASURE ON.");
    }
}
