//! The load of a cell: a sub-command of ceiling and its long options, written as keys.

use crate::ask::{Ask, LoadCommand};
use crate::explain;
use crate::kinds::kinds;
use crate::machine::Machine;
use clap::{Arg, ArgAction, Command, FromArgMatches, Subcommand};
use model::load::Trial;
use model::option::{self, Reach};
use model::secret::{self, Secrets};
use std::collections::BTreeSet;
use std::iter;
use std::sync::LazyLock;
use toml::{Table, Value};

/// The load that ceiling puts on the server of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// `load`, `ramp`, `churn`, `find` or `fanout`.
    pub command: String,
    /// The URL, with `{addr}` in place of the server's address.
    pub url: String,
    /// Options in alphabetical order, as they would be typed.
    pub options: Vec<String>,
}

/// Sub-commands that make load.
const COMMANDS: [&str; 5] = ["load", "ramp", "churn", "find", "fanout"];

/// Whether it is an option that the executor sets itself.
pub(crate) fn is_of_executor(name: &str) -> bool {
    option::named(name).is_some_and(|facts| facts.reach == Reach::Run)
}

/// The commands that make load, as the command line has them.
pub fn command() -> Command {
    LoadCommand::augment_subcommands(Command::new("ceiling"))
}

/// The trial that words of the command line ask for, without the name of the program.
///
/// # Errors
///
/// The words are wrong; the error is the text that a user of the command line would read.
pub fn trial_of(words: &[String], machine: &dyn Machine) -> Result<Trial, String> {
    let words = iter::once("ceiling").chain(words.iter().map(String::as_str));
    let matches = command().try_get_matches_from(words).map_err(|error| error.to_string())?;
    let asked = LoadCommand::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    asked.trial(machine).map_err(|refusal| refusal.to_string())
}

impl Load {
    /// The command line of the load at an address, without what the executor adds. `more` are words
    /// about the hosts of the cell.
    pub fn words(&self, addr: &str, more: &[String]) -> Vec<String> {
        let first = [self.command.clone(), self.url.replace("{addr}", addr)];
        [&first[..], &self.options, more].concat()
    }

    /// Whether an option is among its own.
    pub fn has(&self, name: &str) -> bool {
        let is_it = |word: &String| word.trim_start_matches('-').split('=').next() == Some(name);
        self.options.iter().any(is_it)
    }

    /// Whether the command line accepts its words: known before anything is started.
    pub fn check(&self, more: &[String]) -> Result<(), String> {
        let own = self.words("127.0.0.1:1", more);
        let words = [vec!["ceiling".to_string()], own].concat();
        if let Some(word) = Secrets::missing(&words) {
            return Err(missing(word));
        }
        let known = Secrets::of_command(&words);
        let parsed = command().try_get_matches_from(&words);
        parsed.map(drop).map_err(|error| {
            secret::without(&explain::one_line(&error, &words, &command(), &kinds()), &known)
        })
    }
}

/// The error for a word of a command that still contains a mask.
pub fn missing(word: &str) -> String {
    format!(
        "'{word}': *** stands for a secret that the record does not keep; give the value, for \
         example -H \"Authorization: $AUTHORIZATION\""
    )
}

/// Reads the table `load` of a cell: each key is a long option, except `command`, `path`, `url`.
pub fn read(table: &Table) -> Result<Load, String> {
    // Another tool makes one level.
    let command = if table.contains_key("tool") { "load" } else { "ramp" };
    let mut load =
        Load { command: command.to_string(), url: "http://{addr}/".to_string(), options: vec![] };
    let text = |key: &str, value: &Value| {
        value.as_str().map(str::to_string).ok_or_else(|| format!("load.{key} must be a text"))
    };
    if table.contains_key("path") && table.contains_key("url") {
        return Err(
            "load.path and load.url exclude each other; for example path = \"/read\"".into()
        );
    }
    for (key, value) in table {
        match key.as_str() {
            "command" => load.command = text(key, value)?,
            "url" => load.url = text(key, value)?,
            "path" => {
                let path = text(key, value)?;
                if !path.starts_with('/') {
                    return Err(format!(
                        "load.path is '{path}', but must start with a slash; for example \
                         path = \"/read\""
                    ));
                }
                load.url = format!("http://{{addr}}{path}");
            }
            key if is_of_executor(key) => {
                return Err(format!("load.{key} is set by ceiling run itself; leave it out"));
            }
            _ => push(key, value, &mut load.options)?,
        }
    }
    if !COMMANDS.contains(&load.command.as_str()) {
        return Err(format!(
            "load.command is '{}', which is not one of {}; for example command = \"ramp\"",
            load.command,
            COMMANDS.join(", ")
        ));
    }
    Ok(load)
}

fn push(key: &str, value: &Value, options: &mut Vec<String>) -> Result<(), String> {
    let word = match value {
        Value::Boolean(true) => {
            options.push(format!("--{key}"));
            return Ok(());
        }
        Value::Boolean(false) if ALL.contains(key) => return Ok(()),
        Value::Boolean(false) => {
            return Err(format!(
                "load.{key} = false leaves an option out, and there is no option --{key}; for \
                 example threads = false"
            ));
        }
        Value::Array(values) if REPEATABLE.contains(key) => {
            return values.iter().try_for_each(|value| push(key, value, options));
        }
        Value::Array(values) if !values.is_empty() => {
            values.iter().map(word).collect::<Option<Vec<_>>>().map(|words| words.join(","))
        }
        value => word(value),
    };
    let word = word.ok_or_else(|| {
        format!(
            "load.{key} must be a text, a number, true, or a list of texts and numbers; for \
             example connections = \"4..64*2\" or connections = [100, 500, 1000]"
        )
    })?;
    options.push(format!("--{key}={word}"));
    Ok(())
}

/// A text or a number as it would be typed.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Options that may be given several times. For these a list is several values; for any other
/// option it is one value with commas.
static REPEATABLE: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| named(|argument| matches!(argument.get_action(), ArgAction::Append)));

/// All options.
static ALL: LazyLock<BTreeSet<String>> = LazyLock::new(|| named(|_| true));

/// The names of some options of all commands.
fn named(is_one: fn(&Arg) -> bool) -> BTreeSet<String> {
    let commands = command();
    let arguments = commands.get_subcommands().flat_map(Command::get_arguments);
    let names = |argument: &Arg| {
        let aliases = argument.get_all_aliases().unwrap_or_default().into_iter();
        aliases.chain(argument.get_long()).map(str::to_string).collect::<Vec<_>>()
    };
    arguments.filter(|argument| is_one(argument)).flat_map(names).collect()
}
