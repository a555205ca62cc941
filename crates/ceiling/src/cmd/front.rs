//! `ceiling wrk ..` and the like: the command line of another tool, made into one of ours, and the
//! result in that tool's layout with what it would not have told.

use crate::cli::{Cli, Command, one_line};
use crate::exit::{Code, Failure};
use crate::session::{self, Drawn};
use clap::{Args, Parser, Subcommand};
use model::tool::Tool;
use plan::Ask;

/// The tools whose command line we take.
#[derive(Debug, Subcommand)]
pub enum FrontCommand {
    /// The command line and the layout of wrk, and what it would not have told.
    #[command(after_help = help(Tool::Wrk))]
    Wrk(Words),
    /// The same of wrk2.
    #[command(after_help = help(Tool::Wrk2))]
    Wrk2(Words),
    /// The same of oha.
    #[command(after_help = help(Tool::Oha))]
    Oha(Words),
    /// The same of hey.
    #[command(after_help = help(Tool::Hey))]
    Hey(Words),
    /// The same of h2load, with HTTP/1.1.
    #[command(after_help = help(Tool::H2load))]
    H2load(Words),
}

/// What was typed for the tool.
#[derive(Debug, Args)]
pub struct Words {
    /// Its options and the URL, as that tool takes them
    #[arg(value_name = "WORDS", required = true, num_args = 1.., trailing_var_arg = true,
          allow_hyphen_values = true)]
    typed: Vec<String>,
}

fn help(tool: Tool) -> String {
    peers::front(tool).map(peers::help).unwrap_or_default()
}

pub fn run(command: FrontCommand) -> Result<Code, Failure> {
    let (tool, words) = match command {
        FrontCommand::Wrk(words) => (Tool::Wrk, words),
        FrontCommand::Wrk2(words) => (Tool::Wrk2, words),
        FrontCommand::Oha(words) => (Tool::Oha, words),
        FrontCommand::Hey(words) => (Tool::Hey, words),
        FrontCommand::H2load(words) => (Tool::H2load, words),
    };
    let front = peers::front(tool).ok_or_else(|| {
        Failure::Usage(format!("{} has no front end; use ceiling load", tool.name()))
    })?;
    let typed = peers::parse(front, &words.typed).map_err(Failure::Usage)?;
    let words = [vec!["ceiling".to_string()], typed.words.clone()].concat();
    let asked = Cli::try_parse_from(&words);
    let asked = asked.map_err(|error| {
        Failure::Usage(format!(
            "{} became `{}`: {}",
            tool.name(),
            words.join(" "),
            one_line(&error)
        ))
    })?;
    let Command::Load(load) = asked.command else {
        return Err(Failure::Usage(format!("`{}` makes no load", words.join(" "))));
    };
    let draw = |run: &model::run::Run| peers::drawn(front, &typed, run);
    session::run_drawn(&load as &dyn Ask, &words, Drawn::By(&draw))
}
