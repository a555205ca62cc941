//! One line for words that are not a command: what is wrong, what is accepted, and an example.

use crate::foreign;
use crate::typed::{Kind, hint};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// The first argument of a command or one of its sub-commands that a usage shows like this: `--out
/// <FILE>`; with the words that start an example of it.
fn find<'a>(command: &'a Command, shown: &str, path: &str) -> Option<(&'a Arg, String)> {
    let name = shown.split([' ', ',']).next().unwrap_or_default().trim_end_matches("...");
    let is_it = |argument: &&Arg| match argument.get_long() {
        Some(long) => name.strip_prefix("--") == Some(long),
        None => {
            let shown = argument.get_value_names().into_iter().flatten();
            let mut names = shown.map(|name| name.to_string());
            let id = argument.get_id().as_str().to_uppercase();
            name == format!("<{id}>") || names.any(|shown| name == format!("<{shown}>"))
        }
    };
    let own = command.get_arguments().find(is_it).map(|argument| (argument, path.to_string()));
    own.or_else(|| {
        let below = command.get_subcommands();
        { below }.find_map(|below| find(below, shown, &format!("{path} {}", below.get_name())))
    })
}

/// The sub-command that a usage line is about, and the words that start an example of it.
fn typed_in<'a>(command: &'a Command, usage: &str) -> (&'a Command, String) {
    let mut meant = (command, command.get_name().to_string());
    let words = usage.split_whitespace().skip_while(|word| *word != command.get_name());
    for word in words.skip(1) {
        let Some(below) = meant.0.find_subcommand(word) else { break };
        meant = (below, format!("{} {word}", meant.1));
    }
    meant
}

/// What an argument takes and an example, by how a usage shows it. The example of an option is the
/// option alone; that of a positional argument is its command with all positional arguments.
fn wanted((command, usage): (&Command, &str), shown: &str, kinds: &[Kind]) -> (String, String) {
    let (meant, path) = typed_in(command, usage);
    let unknown = || ("a value".to_string(), format!("{path} --help"));
    let found = find(meant, shown, &path).or_else(|| find(command, shown, command.get_name()));
    let Some((argument, path)) = found else { return unknown() };
    let Some((takes, example)) = hint(argument, kinds) else { return unknown() };
    match (argument.get_short(), argument.get_long()) {
        (Some(short), _) => (takes, format!("-{short} {example}")),
        (None, Some(long)) => (takes, format!("--{long} {example}")),
        (None, None) => {
            let names = path.split(' ').skip(1);
            let owner = { names }.try_fold(command, |at, name| at.find_subcommand(name));
            let places = owner.into_iter().flat_map(Command::get_positionals);
            let words = places.filter_map(|place| Some(hint(place, kinds)?.1));
            (takes, format!("{path} {}", words.collect::<Vec<_>>().join(" ")))
        }
    }
}

/// A word that no option and no argument takes: what another tool means by it, or which option of
/// ours has nearly its name.
fn unknown(argument: &str, meant: Option<String>, near: Option<String>) -> String {
    match (argument.starts_with('-'), meant) {
        (true, Some(meant)) => format!("there is no option {meant}"),
        (true, None) => {
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            format!("there is no option {argument}{near} (see --help)")
        }
        (false, meant) => {
            let meant = meant.map_or(String::new(), |meant| format!("; {meant}"));
            format!(
                "'{argument}' is one word too many, or the value of an option that is missing\
                 {meant}"
            )
        }
    }
}

/// What is wrong with the words of a command, what is accepted, and an example.
pub fn one_line(
    error: &clap::Error,
    words: &[String],
    command: &Command,
    kinds: &[Kind],
) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        Some(ContextValue::StyledStrs(texts)) => {
            Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    let usage = text(ContextKind::Usage).unwrap_or_default();
    let wanted = |argument: &str| wanted((command, &usage), argument, kinds);
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    let meant = foreign::hint(words, &argument, command);
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(&argument, meant, text(ContextKind::SuggestedArg)),
        ErrorKind::ValueValidation if meant.is_some() => {
            format!("{argument}: '{value}' is not for it; {}", meant.unwrap_or_default())
        }
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string);
            let reason = reason.unwrap_or_else(|| format!("'{value}' is wrong"));
            if reason.contains("for example") {
                return format!("{argument}: {reason}");
            }
            format!("{argument}: {reason}; for example {}", wanted(&argument).1)
        }
        ErrorKind::InvalidValue if text(ContextKind::ValidValue).is_none_or(|v| v.is_empty()) => {
            let (takes, example) = wanted(&argument);
            format!("{argument} needs a value: {takes}; for example {example}")
        }
        ErrorKind::InvalidValue => {
            let accepted = text(ContextKind::ValidValue).unwrap_or_default();
            let (_, example) = wanted(&argument);
            format!("{argument}: '{value}' is not one of {accepted}; for example {example}")
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            if name.contains(['/', ':']) {
                let url = "http[s]://HOST[:PORT][/PATH]";
                return format!("'{name}' is not a URL: {url}; for example http://127.0.0.1:8083/");
            }
            let meant = text(ContextKind::SuggestedSubcommand);
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            format!("there is no command '{name}'{meant} (see --help)")
        }
        ErrorKind::MissingRequiredArgument => {
            let (takes, example) = wanted(&argument);
            format!("{argument} is missing: {takes}; for example {example}")
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).unwrap_or_default();
            let once = |shown: &str| match shown.contains('<') {
                true => format!(", for example {}", wanted(shown).1),
                false => String::new(),
            };
            if argument == other {
                return format!("{argument} was given twice; give it once{}", once(&argument));
            }
            format!("{argument} cannot be used together with {other}")
        }
        _ => {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_string()
        }
    }
}
