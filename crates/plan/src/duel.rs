//! Plans that ceiling writes: the test of one change against none, in turns.

use crate::SCHEMA;
use crate::explain::one_line;
use crate::kinds::kinds;
use crate::load::{command, is_of_executor};
use crate::usage::Usage;
use clap::parser::ValueSource;
use model::advice::Candidate;
use model::experiment::PlannedPrediction;
use model::run::Record;
use model::secret::Secrets;
use model::tuning::Basis;
use std::fmt::Write as _;
use toml::{Table, Value};

/// How often each side is measured: in the order A B B A, so that drift affects both alike.
const TURNS: usize = 4;

/// The name of cells without the change.
const BASELINE: &str = "as it is";

/// A test of one change against none.
#[derive(Debug, Clone, PartialEq)]
pub struct Duel {
    /// The question that it answers.
    pub question: String,
    /// The server, as in `[server]`.
    pub server: Table,
    /// The load, as in `[load]`.
    pub load: Table,
    /// What is changed.
    pub change: Change,
    /// The prediction; its cells are filled in.
    pub predicted: PlannedPrediction,
}

/// One side of a test: what its cells have that the others do not.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A knob is turned, as in `tune`.
    Tune(Table),
    /// The load differs in these keys.
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
        let PlannedPrediction { knob: id, low, high, why, run, .. } = &self.predicted;
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

/// The text of the plan that tests a candidate against the run it was found in. `server` is the
/// table of the experiment that the run belongs to, if it belongs to one.
pub fn proposed(
    record: &Record,
    server: Option<Table>,
    best: &Candidate,
    change: Change,
) -> Result<String, Usage> {
    let mut load = keys_of(&record.id, &record.command)?;
    let server = server_of(record, server, &mut load);
    let prediction = &best.prediction;
    let predicted = PlannedPrediction {
        knob: best.knob.clone(),
        baseline: String::new(),
        change: String::new(),
        low: prediction.low.unwrap_or(-1.0),
        high: prediction.high,
        why: match prediction.basis {
            Basis::Unknown => format!("nothing is predicted: {}", prediction.arithmetic),
            Basis::NoEffect | Basis::Bounded => prediction.arithmetic.clone(),
        },
        run: record.id.clone(),
    };
    let question = format!("Does {} do what is predicted of it?", best.title());
    Ok(Duel { question, server, load, change, predicted }.text(&best.name))
}

/// The options of a run as keys of a plan, without those that `ceiling run` sets itself.
fn keys_of(id: &str, words: &[String]) -> Result<Table, Usage> {
    let unreadable =
        |why: String| Usage(format!("--plan: the command of run {id} cannot be read: {why}"));
    let commands = command();
    let words = Secrets::command(words);
    let matches = commands
        .clone()
        .try_get_matches_from(words)
        .map_err(|error| unreadable(one_line(&error, &[], &commands, &kinds())))?;
    let Some((name, matches)) = matches.subcommand() else {
        return Err(unreadable("it has no sub-command".to_string()));
    };
    let mut load = Table::new();
    load.insert("command".to_string(), Value::String(name.to_string()));
    let Some(command) = commands.find_subcommand(name) else { return Ok(load) };
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(long) = argument.get_long().filter(|_| is_given) else { continue };
        if is_of_executor(long) {
            continue;
        }
        let value = if argument.get_action().takes_values() {
            let words = matches.get_raw(id).into_iter().flatten();
            let mut words: Vec<_> =
                words.map(|word| Value::String(word.to_string_lossy().into_owned())).collect();
            if words.len() == 1 { words.remove(0) } else { Value::Array(words) }
        } else {
            Value::Boolean(true)
        };
        load.insert(long.to_string(), value);
    }
    Ok(load)
}

/// Where the server is: as in the experiment, else where it was in the run.
fn server_of(record: &Record, server: Option<Table>, load: &mut Table) -> Table {
    let (scheme, rest) = record.trial.url.split_once("://").unwrap_or(("http", ""));
    let (address, path_of_url) = rest.split_once('/').unwrap_or((rest, ""));
    let url = format!("{scheme}://{{addr}}/{path_of_url}");
    load.insert("url".to_string(), Value::String(url));
    let Some(mut server) = server else {
        let mut server = Table::new();
        server.insert("addr".to_string(), Value::String(address.to_string()));
        return server;
    };
    // Only what was measured on one host can be advised on here.
    server.remove("host");
    server
}

fn quoted(text: &str) -> String {
    Value::String(text.to_string()).to_string()
}

fn lines(table: &Table) -> String {
    table.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::read;

    #[test]
    fn a_plan_has_no_option_that_ceiling_run_sets_itself() {
        let typed = "ceiling load http://h/ -c 8 -q --json --live --junit j.xml --summary s.md \
                     --runs out --keep-runs 9 -o r.html --server-pid 7";
        let words: Vec<String> = typed.split(' ').map(str::to_string).collect();
        let load = read(&keys_of("1", &words).unwrap()).unwrap();
        assert_eq!(load.options, ["--connections=8"]);
    }
}
