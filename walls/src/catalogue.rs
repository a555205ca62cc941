//! The list of all scenarios.

use crate::held_out;
use crate::options::Family;
use crate::ordinary;
use crate::scenario::{self, Scenario};
use crate::tail;

impl Family {
    /// Its scenarios, in the order of the table.
    pub fn scenarios(self) -> &'static [&'static Scenario] {
        match self {
            Self::Lab => scenario::LAB,
            Self::Ordinary => ordinary::ALL,
            Self::HeldOut => held_out::ALL,
            Self::Tail => tail::ALL,
            Self::Machines => scenario::MACHINES,
        }
    }

    /// Whether the scenario with that name is one of them.
    pub fn has(self, name: &str) -> bool {
        self.scenarios().iter().any(|scenario| scenario.name == name)
    }
}

/// Every scenario, those of the lab first.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    let own = scenario::LAB.iter().chain([&&scenario::interrupts::SCENARIO]);
    own.chain(ordinary::ALL).chain(held_out::ALL).chain(tail::ALL).copied()
}

/// The scenario with that name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    all().find(|scenario| scenario.name == name)
}

/// Prints those of a family.
pub fn print_list(family: Family) {
    for scenario in family.scenarios() {
        println!("{:<22} {:<8} {}", scenario.name, scenario.truth.word(), scenario.construction);
        println!("{:31} trap: {}", "", scenario.trap);
    }
}
