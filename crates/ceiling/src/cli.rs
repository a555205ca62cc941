//! The tree of sub-commands, and one-line errors for wrong words.

use crate::cmd;
use crate::exit::Code;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Finds the real ceiling of an HTTP server, names the wall it hit with evidence, and proves that
/// the measurement is honest.
///
/// Exit codes: 0 good, 1 internal, 2 usage, 4 measurement not valid (a gate broke, or the generator
/// was the wall), 5 target unreachable, 130 interrupted with partial results written.
#[derive(Debug, Parser)]
#[command(name = "ceiling", version, max_term_width = 90, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// How fast is this endpoint at one load: one number that can be defended.
    Load(cmd::load::Load),
    /// How far does it go, and what stops it: a series of loads on warm connections.
    Ramp(cmd::ramp::Ramp),
    /// Draws a run that was stored, in any format.
    Show(cmd::show::Show),
    /// Prints completions for a shell.
    Completions(cmd::completions::Completions),
}

/// Says in one line what is wrong with the command line, what is accepted, and an example.
pub fn explain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            eprintln!("ceiling: {}", one_line(error));
            Code::Usage.into()
        }
    }
}

fn one_line(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        Some(ContextValue::StyledStrs(texts)) => {
            Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string);
            format!("{}: {}", argument, reason.unwrap_or_else(|| format!("'{value}' is wrong")))
        }
        ErrorKind::InvalidValue => {
            let accepted = text(ContextKind::ValidValue).unwrap_or_default();
            let example = accepted.split(", ").next().unwrap_or_default().to_string();
            format!("{argument}: '{value}' is not one of {accepted}; for example {example}")
        }
        ErrorKind::UnknownArgument => {
            let meant = text(ContextKind::SuggestedArg);
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            format!("there is no option {argument}{meant} (see --help)")
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let meant = text(ContextKind::SuggestedSubcommand);
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            format!("there is no command '{name}'{meant} (see --help)")
        }
        ErrorKind::MissingRequiredArgument => {
            format!("{argument} is missing; for example ceiling load http://127.0.0.1:8083/")
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).unwrap_or_default();
            format!("{argument} cannot be used together with {other}")
        }
        _ => {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_string()
        }
    }
}
