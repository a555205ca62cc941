//! `ceiling wrk ..` and the like: takes the command line of another tool, makes the load with our
//! engine, and prints the result in that tool's layout, with what the tool would not have reported.

use crate::exit::{Code, Failure};
use crate::session::{self, Drawn};
use clap::{Args, FromArgMatches, Subcommand};
use model::secret::{self, Secrets};
use model::tool::Tool;
use plan::values::ToolWord;
use plan::{Ask, LoadCommand};

/// The tools whose command line we accept.
#[derive(Debug, Subcommand)]
pub enum FrontCommand {
    /// Takes the options of wrk, prints in its layout, and adds what wrk would not have reported.
    #[command(after_help = help(Tool::Wrk))]
    Wrk(Words),
    /// The same for wrk2.
    #[command(after_help = help(Tool::Wrk2))]
    Wrk2(Words),
    /// The same for oha.
    #[command(after_help = help(Tool::Oha))]
    Oha(Words),
    /// The same for hey.
    #[command(after_help = help(Tool::Hey))]
    Hey(Words),
    /// The same for h2load.
    #[command(after_help = help(Tool::H2load))]
    H2load(Words),
}

/// The words typed for the tool.
#[derive(Debug, Args)]
pub struct Words {
    /// Options and the URL, as that tool takes them
    #[arg(value_name = "WORDS", required = true, num_args = 1.., trailing_var_arg = true,
          allow_hyphen_values = true)]
    typed: Vec<ToolWord>,
}

fn help(tool: Tool) -> String {
    tools::front(tool).map(tools::help).unwrap_or_default()
}

pub fn run(command: FrontCommand) -> Result<Code, Failure> {
    let (tool, words) = match command {
        FrontCommand::Wrk(words) => (Tool::Wrk, words),
        FrontCommand::Wrk2(words) => (Tool::Wrk2, words),
        FrontCommand::Oha(words) => (Tool::Oha, words),
        FrontCommand::Hey(words) => (Tool::Hey, words),
        FrontCommand::H2load(words) => (Tool::H2load, words),
    };
    let front = tools::front(tool).ok_or_else(|| {
        Failure::Usage(format!(
            "{} has no front end; use ceiling load, for example ceiling load \
             http://127.0.0.1:8083/",
            tool.name()
        ))
    })?;
    let words: Vec<String> = words.typed.into_iter().map(|word| word.0).collect();
    let typed = tools::parse(front, &words).map_err(Failure::Usage)?;
    let words = [vec!["ceiling".to_string()], typed.words.clone()].concat();
    let one_line =
        |error: &clap::Error| plan::one_line(error, &[], &plan::command(), &plan::kinds());
    let matches = plan::command().try_get_matches_from(&words);
    let load = matches.and_then(|matches| LoadCommand::from_arg_matches(&matches));
    let load = load.map_err(|error| {
        Failure::Usage(format!(
            "{} became `{}`: {}",
            tool.name(),
            Secrets::command(&words).join(" "),
            secret::without(&one_line(&error), &Secrets::of_command(&words))
        ))
    })?;
    let draw = |run: &model::run::Run| tools::drawn(front, &typed, run);
    session::run_drawn(&load as &dyn Ask, &words, Drawn::By(&draw))
}
