//! The sub-commands, and one-line errors for a wrong command line.

use crate::cmd;
use crate::exit::Code;
use crate::screen::to_stderr;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use model::secret::{self, Secrets};
use plan::LoadCommand;
use stage::ORDERED;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

/// Finds the real ceiling of an HTTP server, names the wall it hit with evidence, and proves that
/// the measurement is honest.
///
/// `ceiling URL` is short for `ceiling load URL`. `ceiling help COMMAND` explains a command.
///
/// Exit codes: 0 good, 1 internal, 2 usage, 3 an expectation was missed or is undecided, or none
/// was given and no good response came, 4 measurement not valid (its main figure is not known, or
/// the generator was the wall; with --strict also when a gate failed), 5 target or probe
/// unreachable, 130 interrupted with partial results written. 130, 5 and 4 take precedence over 3:
/// a measurement that is not valid decides no expectation.
#[derive(Debug, Parser)]
#[command(name = "ceiling", version, max_term_width = 80, disable_help_subcommand = true,
          override_usage = "ceiling URL [OPTIONS]\n       ceiling COMMAND ..",
          help_template = TEMPLATE, after_help = listed(named),
          after_long_help = listed(explained))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The commands come before the options.
const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\nOptions:\n{options}";

/// The commands that most people need, beside `ceiling URL`: where the ceiling is, the rate that
/// holds an objective, which version is better, what differs, what a run showed, and whether this
/// host is fit to measure on.
const FIRST: [&str; 6] = ["ramp", "find", "run", "compare", "show", "doctor"];

/// Width of the names of commands in the help, and that of the text beside them.
const NAMES: usize = 12;
const TEXT: usize = 66;

/// The list of commands: what is typed most comes first, and `more` shows the others.
fn listed(more: fn(&[&clap::Command]) -> String) -> String {
    let all = Command::augment_subcommands(clap::Command::new("ceiling"));
    let find = |name: &str| all.find_subcommand(name);
    let is_other = |one: &&clap::Command| {
        !one.is_hide_set() && one.get_name() != "load" && !FIRST.contains(&one.get_name())
    };
    let first: Vec<&clap::Command> = FIRST.iter().filter_map(|name| find(name)).collect();
    let others: Vec<&clap::Command> = all.get_subcommands().filter(is_other).collect();
    let url = find("load").map(|load| row("[load] URL", load)).unwrap_or_default();
    format!("Commands:\n{url}{}\nMore:\n{}", explained(&first), more(&others).trim_end())
}

/// Commands, each with what it answers.
fn explained(commands: &[&clap::Command]) -> String {
    commands.iter().map(|command| row(command.get_name(), command)).collect()
}

/// The names of commands.
fn named(commands: &[&clap::Command]) -> String {
    let names: Vec<&str> = commands.iter().map(|command| command.get_name()).collect();
    let text = format!("{} (ceiling --help explains them)", names.join(" "));
    report::wrap(&text, NAMES + TEXT).iter().map(|line| format!("  {line}\n")).collect()
}

fn row(name: &str, command: &clap::Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut label = name;
    let mut rows = String::new();
    for line in report::wrap(&about, TEXT) {
        rows += &format!("  {label:NAMES$}{line}\n");
        label = "";
    }
    rows
}

/// The sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Load(LoadCommand),
    /// Does this knob, version or flag help: measures the cells of a plan.
    Run(cmd::run::Run),
    /// Lists stored runs and experiments, and removes old ones.
    Runs(cmd::runs::Runs),
    /// Shows a stored run, in any format.
    Show(cmd::show::Show),
    /// Compares two stored runs: figures, settings and profiles.
    Compare(cmd::compare::Compare),
    /// Plans, applies, watches and reverts changes to this host's knobs.
    Tune(cmd::tune::Tune),
    /// Runs on the server's host and serves its counters to a generator on another host.
    Probe(cmd::probe::Probe),
    /// Makes load as ordered by a controller on another host.
    Agent(cmd::agent::Agent),
    /// Uses agents on other hosts as one generator: makes keys, lists agents, starts a trial fleet.
    Fleet(cmd::fleet::Fleet),
    /// How many client machines it takes to make the server the wall, from a stored run.
    Size(cmd::size::Size),
    /// What to try next: ranks the knobs from a stored run, and shows which advice was right.
    Advise(cmd::advise::Advise),
    #[command(flatten)]
    Front(cmd::front::FrontCommand),
    /// One pass of a flow, or one request, with everything shown: sent, came, captured, held.
    Try(cmd::attempt::Try),
    /// Writes a flow from requests that you have: curl, HAR, request files, OpenAPI, Postman.
    Import(cmd::import::Import),
    /// What a gRPC server can be asked: lists its services, describes methods and messages.
    Grpc(cmd::grpc::Grpc),
    /// Checks figures of any load generator, or of a text, by arithmetic.
    Audit(cmd::audit::Audit),
    /// Keeps entries about experiments, and checks their figures and findings against the results.
    Journal(cmd::journal::Journal),
    /// Is this host fit to measure on: what would disturb a measurement, and how to fix it.
    Doctor(cmd::doctor::Doctor),
    /// Prints completions for a shell.
    Completions(cmd::completions::Completions),
    /// Writes manual pages, one for each command.
    Man(cmd::man::Man),
    /// Prints a page of docs/reference.
    #[command(hide = true)]
    Reference {
        /// Its name.
        #[arg(value_parser = ["cli", "figures"])]
        page: String,
    },
    /// Starts and ends a server for the process at its standard input.
    #[command(name = stage::keeper::WORD, hide = true)]
    Keep,
}

/// An order holds a command line, with a body in it.
const ORDER_BYTES_MAX: u64 = 64 << 20;

/// The words of a command line; those that `ceiling run` orders come on standard input, where no
/// other user can read them.
pub fn ordered(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|word| word != ORDERED) {
        return words;
    }
    let mut order = Vec::new();
    let read = io::stdin().take(ORDER_BYTES_MAX).read_to_end(&mut order);
    let order = read.ok().and_then(|_| serde_json::from_slice::<Vec<String>>(&order).ok());
    let ours = words.into_iter().take(1);
    ours.chain(order.unwrap_or_default().into_iter().map(OsString::from)).collect()
}

/// The words of a command line, with `load` inserted before a URL in the place of a sub-command.
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

/// Prints one line: what is wrong with the command line, what is accepted, and an example. Secrets
/// in the command line are masked.
pub fn explain(error: &clap::Error, words: &[String]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            let printable = secret::without(&one_line(error, words), &Secrets::of_command(words));
            to_stderr(&format!("ceiling: {printable}"));
            Code::Usage.into()
        }
    }
}

/// What is wrong, what is accepted, and an example; `words` is the command line.
fn one_line(error: &clap::Error, words: &[String]) -> String {
    plan::one_line(error, words, &Cli::command(), &cmd::kinds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::process;

    /// `-h` is for a first look and names every command; `--help` explains all of them.
    #[test]
    fn help_begins_with_what_most_people_need() {
        let mut top = Cli::command();
        let (short, long) = (top.render_help().to_string(), top.render_long_help().to_string());
        for help in [&short, &long] {
            let words: Vec<&str> = help.split_whitespace().collect();
            let is_named =
                |name: &str| words.contains(&name) || (name == "load" && words.contains(&"[load]"));
            for command in Cli::command().get_subcommands().filter(|one| !one.is_hide_set()) {
                assert!(is_named(command.get_name()), "{}: {help}", command.get_name());
            }
            let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
            let order =
                ["Usage: ceiling URL", "\n  [load] URL ", "\n  ramp ", "\nMore:", "\nOptions:"];
            assert!(order.map(at).is_sorted(), "{help}");
        }
        assert!(short.lines().count() < 30 && long.contains("\n  churn "), "{short}{long}");
    }

    /// Most people need twelve options; the others follow by what they are about.
    #[test]
    fn the_help_of_load_begins_with_twelve_options() {
        let mut top = Cli::command();
        let load = top.find_subcommand_mut("load").unwrap();
        let of = |help: &str| -> Vec<String> {
            let words = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
            let long = words
                .filter_map(|line| line.split(&[' ', '='][..]).find(|one| one.starts_with("--")));
            long.map(str::to_string).collect()
        };
        let (short, long) = (load.render_help().to_string(), load.render_long_help().to_string());
        let (short, all) = (of(&short), of(&long));
        assert_eq!(short.len(), 13, "twelve and --help: {short:?}");
        assert_eq!(all[..12], short[..12]);
        assert!(all.len() > 70 && long.contains("\nServer and hosts:\n"), "{long}");
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

    /// A hint for an option of ours would never be seen, and one that we refuse would mislead.
    #[test]
    fn spellings_of_others_are_not_ours_and_their_examples_are_accepted() {
        let load = Cli::command().find_subcommand("load").unwrap().clone();
        let is_ours = |name: &str| {
            load.get_arguments().any(|one| {
                let short = one.get_short().map(|letter| format!("-{letter}"));
                let long = one.get_long().map(|long| format!("--{long}"));
                [short, long].iter().flatten().any(|own| own == name)
            })
        };
        for one in plan::FOREIGN {
            for name in one.names.iter().filter(|name| is_ours(name)) {
                assert!(one.value != plan::Value::Any || *name == "--json", "{name} is ours");
            }
            let example = one.example.split(", with").next().unwrap().replace("{}", "10");
            let words = model::shell::words(&format!("ceiling load http://h/ {example}"));
            let parsed = Cli::try_parse_from(&words);
            assert!(parsed.is_ok(), "{words:?}: {}", parsed.err().unwrap());
        }
    }

    #[test]
    fn every_argument_with_a_value_has_an_example() {
        let (top, kinds) = (Cli::command(), cmd::kinds());
        // `probe serve` and the commands of `tune` are one level down.
        let below = top.get_subcommands().flat_map(|below| below.get_subcommands());
        for command in top.get_subcommands().chain(below) {
            for argument in command.get_arguments() {
                let is_flag = !argument.get_action().takes_values();
                let (name, id) = (command.get_name(), argument.get_id());
                assert!(is_flag || plan::hint(argument, &kinds).is_some(), "{name} {id}");
            }
        }
    }

    /// The words into which a POSIX shell splits a command.
    fn pasted(command: &str) -> Vec<String> {
        let script = format!("AUTHORIZATION=s1; printf '%s\\0' {command}");
        let said = process::Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        said.trim_end_matches('\0').split('\0').map(str::to_string).collect()
    }

    /// A shell splits every command in the goldens into words that our command line accepts.
    #[test]
    fn every_command_of_the_goldens_can_be_pasted() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/src/text/snapshots");
        let mut tried = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                let Some(begin) = line.trim_start().strip_prefix("Next ") else { continue };
                let mut command = begin.trim_start().to_string();
                while command.ends_with('\\') {
                    command = format!("{command}\n{}", lines.next().unwrap());
                }
                if command.starts_with("ceiling ") {
                    tried.insert(command);
                }
            }
        }
        assert!(tried.len() > 5, "{tried:?}");
        for command in tried {
            let parsed = Cli::try_parse_from(pasted(&command));
            assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
        }
    }
}
