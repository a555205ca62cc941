//! Plans that are written and not read: the test of one change against leaving it, in turns.

use crate::SCHEMA;
use model::experiment::Foretold;
use std::fmt::Write as _;
use toml::{Table, Value};

/// How often each side is measured: in the order A B B A, so that what drifts touches both alike.
const TURNS: usize = 4;

/// The name of cells without the change.
const BASELINE: &str = "as it is";

/// A test of one change against none.
#[derive(Debug, Clone, PartialEq)]
pub struct Duel {
    /// What it is to answer.
    pub question: String,
    /// The server, as in `[server]`.
    pub server: Table,
    /// What is asked of it, as in `[load]`.
    pub load: Table,
    /// What is changed.
    pub change: Change,
    /// What is said beforehand; its cells are filled in.
    pub predicted: Foretold,
}

/// One side of a test: what its cells have that the others do not.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A knob is turned, as in `tune`.
    Tune(Table),
    /// The load is another one in these keys.
    Load(Table),
}

impl Duel {
    /// The text of the plan.
    pub fn text(&self, knob: &str) -> String {
        let mut text =
            format!("schema = {}\nquestion = {}\n", quoted(SCHEMA), quoted(&self.question));
        for (name, table) in [("server", &self.server), ("load", &self.load)] {
            let _ = write!(text, "\n[{name}]\n{}", lines(table));
        }
        let (key, own) = match &self.change {
            Change::Tune(table) => ("tune", table),
            Change::Load(table) => ("load", table),
        };
        for turn in 1..=TURNS {
            let plain = format!("\n[[cell]]\nname = {}\n", quoted(&format!("{BASELINE}, {turn}")));
            let changed = format!(
                "\n[[cell]]\nname = {}\n{key} = {}\n",
                quoted(&format!("{knob}, {turn}")),
                Value::Table(own.clone())
            );
            let pair = if turn % 2 == 1 { [plain, changed] } else { [changed, plain] };
            text.extend(pair);
        }
        let Foretold { knob: id, low, high, why, run, .. } = &self.predicted;
        let high = high.map_or(String::new(), |high| format!("high = {high:?}\n"));
        let _ = write!(
            text,
            "\n[[prediction]]\nknob = {}\nbaseline = {}\nchange = {}\nlow = {low:?}\n{high}why = \
             {}\nrun = {}\n",
            quoted(id),
            quoted(BASELINE),
            quoted(knob),
            quoted(why),
            quoted(run)
        );
        text
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_string()).to_string()
}

fn lines(table: &Table) -> String {
    table.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}
