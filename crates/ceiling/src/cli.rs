//! The tree of sub-commands, and one-line errors for wrong words.

use crate::cmd;
use crate::exit::Code;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use model::secret::{self, Secrets};
use plan::{Kind, LoadCommand};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Finds the real ceiling of an HTTP server, names the wall it hit with evidence, and proves that
/// the measurement is honest.
///
/// `ceiling URL` is short for `ceiling load URL`. `ceiling help COMMAND` explains a command.
///
/// Exit codes: 0 good, 1 internal, 2 usage, 3 an expectation was missed or is undecided,
/// 4 measurement not valid (a gate broke, or the generator was the wall), 5 target or probe
/// unreachable, 130 interrupted with partial results written. 130, 5 and 4 go before 3: what was
/// not measured well says nothing about an expectation.
#[derive(Debug, Parser)]
#[command(name = "ceiling", version, max_term_width = 80, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Load(LoadCommand),
    /// Does this knob, version or flag help: walks the cells of a plan.
    Run(cmd::run::Run),
    /// What is kept: lists runs and experiments, and removes old ones.
    Runs(cmd::runs::Runs),
    /// Draws a run that was stored, in any format.
    Show(cmd::show::Show),
    /// Two stored runs side by side: what differs in figures, settings and profiles.
    Compare(cmd::compare::Compare),
    /// Knobs of this host: planned, applied with a journal, watched, and put back.
    Tune(cmd::tune::Tune),
    /// Lets a generator on another host see this one, where the server runs.
    Probe(cmd::probe::Probe),
    /// Makes load on the order of a controller on another host.
    Agent(cmd::agent::Agent),
    /// Agents on other hosts as one generator: their keys, who is there, and some for trying out.
    Fleet(cmd::fleet::Fleet),
    /// How many client machines make the server the wall at a rate, from a stored run.
    Size(cmd::size::Size),
    /// What to try next: every knob by what a stored run says of it; which advice was right.
    Advise(cmd::advise::Advise),
    #[command(flatten)]
    Front(cmd::front::FrontCommand),
    /// Figures of any load generator, or of a text, held against arithmetic.
    Audit(cmd::audit::Audit),
    /// Entries about experiments, whose figures and findings are checked against their results.
    Journal(cmd::journal::Journal),
    /// Is this host fit to measure on: what would disturb a measurement, and how to change it.
    Doctor(cmd::doctor::Doctor),
    /// Prints completions for a shell.
    Completions(cmd::completions::Completions),
    /// Writes manual pages, one for each command.
    Man(cmd::man::Man),
    /// Prints docs/reference/cli.md.
    #[command(hide = true)]
    Reference,
    /// Starts and ends a server for the process at its standard input.
    #[command(name = lab::experiment::keeper::WORD, hide = true)]
    Keep,
}

/// The words of a command line, `load` put before a URL that stands in the place of a sub-command.
pub fn with_load(mut words: Vec<OsString>) -> Vec<OsString> {
    let shown = |word: &OsString| word.to_string_lossy().into_owned();
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
        return words;
    }
    let first = words.get(1).map(shown).unwrap_or_default();
    let asks_nothing = ["-h", "--help", "-V", "--version"].contains(&first.as_str());
    let is_command =
        |word: &String| Cli::command().get_subcommands().any(|one| one.get_name() == word);
    let is_load = match first.starts_with('-') {
        true if asks_nothing => false,
        true => words.iter().skip(1).map(shown).all(|word| !is_command(&word)),
        false => is_url(&first),
    };
    if is_load && words.iter().skip(1).map(shown).any(|word| is_url(&word)) {
        words.insert(1, "load".into());
    }
    words
}

/// Whether a word is a URL, with a scheme or without, and neither a file nor a sub-command.
fn is_url(word: &str) -> bool {
    !word.starts_with('-') && plan::is_url(word) && !Path::new(word).exists()
}

/// Says in one line what is wrong with the command line, what is accepted, and an example; without
/// the secrets in its words.
pub fn explain(error: &clap::Error, words: &[String]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            let told = secret::without(&one_line(error), &Secrets::of_command(words));
            eprintln!("ceiling: {told}");
            Code::Usage.into()
        }
    }
}

/// The kinds of values of all options.
pub fn kinds() -> Vec<Kind> {
    [plan::kinds(), cmd::fleet::kinds(), cmd::tune::kinds(), cmd::journal::kinds()].concat()
}

/// What is wrong, what is accepted, and an example.
pub fn one_line(error: &clap::Error) -> String {
    plan::one_line(error, &Cli::command(), &kinds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `-kH'A: b'` is taken apart in the record as it is on the command line.
    #[test]
    fn the_letters_of_flags_are_known_where_secrets_are_masked() {
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                let Some(letter) = argument.get_short() else { continue };
                // Only those that have requests have headers.
                let is_flag = !argument.get_action().takes_values();
                let has_headers = command.get_arguments().any(|one| one.get_id() == "headers");
                let is_known = secret::FLAGS.contains(letter);
                assert!(!has_headers || is_flag == is_known, "{} -{letter}", command.get_name());
            }
        }
    }

    #[test]
    fn a_url_in_the_place_of_a_command_is_loaded() {
        let with = |text: &str| {
            let words = text.split(' ').map(OsString::from).collect();
            let words = with_load(words).into_iter().map(|word| word.into_string().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        for (typed, meant) in [
            ("ceiling http://h/", "ceiling load http://h/"),
            ("ceiling localhost:8080/x -c 5", "ceiling load localhost:8080/x -c 5"),
            ("ceiling example.test", "ceiling load example.test"),
            ("ceiling localhost", "ceiling load localhost"),
            ("ceiling -c 5 http://h/", "ceiling load -c 5 http://h/"),
            ("ceiling laod http://h/", "ceiling laod http://h/"),
            ("ceiling help", "ceiling --help"),
            ("ceiling help load", "ceiling load --help"),
            ("ceiling --help", "ceiling --help"),
            ("ceiling -c 5 ramp http://h/", "ceiling -c 5 ramp http://h/"),
            ("ceiling ramp http://h/", "ceiling ramp http://h/"),
            ("ceiling Cargo.toml", "ceiling Cargo.toml"),
            ("ceiling", "ceiling"),
        ] {
            assert_eq!(with(typed), meant);
        }
    }

    /// An option that comes later needs trust in a plan until it is known to be harmless.
    #[test]
    fn options_that_a_plan_needs_trust_for_are_these() {
        let top = Cli::command();
        let loads = ["load", "ramp", "churn", "find", "fanout"];
        let loads = loads.map(|name| top.find_subcommand(name).unwrap());
        let arguments = loads.iter().flat_map(|command| command.get_arguments());
        let all: BTreeSet<&str> = arguments.filter_map(|one| one.get_long()).collect();
        let needs: Vec<_> = all.iter().copied().filter(|name| !plan::is_harmless(name)).collect();
        let set_by_run = [
            "json",
            "junit",
            "keep-runs",
            "live",
            "out",
            "quiet",
            "runs",
            "server-pid",
            "summary",
            "tui",
        ];
        let needs: Vec<_> = needs.into_iter().filter(|name| !set_by_run.contains(name)).collect();
        let expected = "agents auth-env bearer-file body-file cacert cert confirm confirm-route \
                        connect-to fleet fleet-keys key may-touch-server probe probe-pin \
                        probe-token-file profile proxy replay resolve runtime sample-failures \
                        targets unix-socket";
        assert_eq!(needs.join(" "), expected);
    }

    #[test]
    fn every_argument_with_a_value_has_an_example() {
        let (top, kinds) = (Cli::command(), kinds());
        // `probe serve`, and those of `tune`, are below others.
        let below = top.get_subcommands().flat_map(|below| below.get_subcommands());
        for command in top.get_subcommands().chain(below) {
            for argument in command.get_arguments() {
                let is_flag = !argument.get_action().takes_values();
                let (name, id) = (command.get_name(), argument.get_id());
                assert!(is_flag || plan::hint(argument, &kinds).is_some(), "{name} {id}");
            }
        }
    }
}
