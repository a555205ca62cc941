//! `ceiling man [DIR]`, and the page docs/reference/cli.md: both are made from the definitions of
//! the options.

use crate::cmd;
use crate::exit::{Code, Failure};
use crate::screen::document;
use clap::{Arg, Args, Command};
use clap_mangen::Man as Page;
use figures::book::of_points;
use judge::gates::GATES;
use model::figure::Better;
use plan::{hint, values::Folder};
use std::fmt::Write as _;
use std::fs;

/// Writes a manual page for ceiling and for each of its commands: ceiling.1, ceiling-load.1, ...
/// Without a directory it prints the page of ceiling itself.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling man | man -l -
  ceiling man /usr/local/share/man/man1")]
pub struct Man {
    /// Directory to write the pages to
    dir: Option<Folder>,
}

/// Writes the pages of `top` and of all commands below it.
pub fn run(command: &Man, top: Command) -> Result<Code, Failure> {
    let mut top = whole(top);
    top.build();
    let Some(Folder(folder)) = &command.dir else {
        document(&String::from_utf8_lossy(&page(&top)?))?;
        return Ok(Code::Good);
    };
    let wrong = |error: std::io::Error| Failure::File(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(wrong)?;
    for command in all(&top) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        fs::write(folder.join(format!("{name}.1")), page(command)?).map_err(wrong)?;
    }
    Ok(Code::Good)
}

/// All commands. Pages have sections for them, in place of the list in the help.
fn whole(top: Command) -> Command {
    top.after_help(None::<&str>).after_long_help(None::<&str>)
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let made = Page::new(command.clone()).render(&mut bytes);
    made.map(|()| bytes).map_err(|error| Failure::File(error.to_string()))
}

/// A command and all commands below it, except hidden ones.
fn all(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    std::iter::once(command).chain(below.flat_map(all)).collect()
}

/// Prints a page of the reference; `top` is the command line.
pub fn reference(top: Command, page: &str) -> Result<Code, Failure> {
    document(&if page == "figures" { figures_page() } else { reference_page(top) })?;
    Ok(Code::Good)
}

/// The figures of a point, and the columns of CSV.
fn figures_page() -> String {
    let about = "Made by `cargo xtask reference` from `crates/figures/src/book.rs`. A figure has \
                 this name in plans, journals, `--expect`, `--slo`, `--fail-if`, findings and CSV. \
                 The bounds of an objective are upper ones where less is better, and lower ones \
                 where more is. A failed gate that strikes a figure leaves bounds of it, or \
                 nothing.";
    let mut text = format!("# Figures\n\n{}\n\n", wrapped(about));
    text += "| figure | unit | better | meaning | gates that strike it |\n|---|---|---|---|---|\n";
    for (figure, entry) in of_points() {
        let gates = GATES.iter().filter(|gate| gate.strikes.contains(&figure.stands_with()));
        let gates: Vec<&str> = gates.map(|gate| gate.id.name()).collect();
        let better = match figure.better() {
            Some(Better::More) => "more",
            Some(Better::Less) => "less",
            None => "-",
        };
        let (unit, gates) = (figure.unit().word(), gates.join(", "));
        let _ = writeln!(text, "| `{figure}` | {unit} | {better} | {} | {gates} |", entry.meaning);
    }
    text += "\n## Columns of CSV\n\nOne row for each point, in this order. An empty cell was not \
             measured.\n\n| column | meaning |\n|---|---|\n";
    for column in report::csv::columns() {
        let _ = writeln!(text, "| `{}` | {} |", column.name, column.meaning);
    }
    text
}

fn reference_page(top: Command) -> String {
    let mut top = whole(top).term_width(100);
    top.build();
    let about = "Made by `cargo xtask reference`. Each option says what it takes, with an example.";
    let mut text = format!("# Command line\n\n{about}\n");
    let load = top.find_subcommand("load").map(rows).unwrap_or_default();
    for command in all(&top) {
        let is_load = command.get_name() == "load";
        section(&mut text, command, if is_load { &[] } else { &load });
    }
    text + &exit_codes()
}

/// The table of exit codes, which other programs depend on.
fn exit_codes() -> String {
    let mut text = "\n## Exit codes\n\nFor every command; 130, 5 and 4 take precedence over 3.\n\n"
        .to_string();
    text += "| code | meaning |\n|---|---|\n";
    for (code, meaning) in Code::ALL {
        let _ = writeln!(text, "| {} | {meaning} |", code as u8);
    }
    text
}

/// The section of a command. Rows in `known` are already in the section of `ceiling load`.
fn section(text: &mut String, command: &Command, known: &[String]) {
    let name = command.get_display_name().unwrap_or(command.get_name()).replace('-', " ");
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let _ = write!(text, "\n## {name}\n\n{}\n", wrapped(&about));
    let (shared, own): (Vec<_>, Vec<_>) =
        rows(command).into_iter().partition(|row| known.contains(row));
    if !own.is_empty() {
        text.push_str("\n| option | what it does | takes | example |\n|---|---|---|---|\n");
        text.extend(own);
    }
    let names: Vec<_> =
        shared.iter().filter_map(|row| row.split('|').nth(1)).map(str::trim).collect();
    if !names.is_empty() {
        let names = wrapped(&format!("As in `ceiling load`: {}.", names.join(", ")));
        let _ = write!(text, "\n{names}\n");
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        let _ = write!(text, "\n```text\n{after}\n```\n");
    }
}

/// Paragraphs in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    text.lines().flat_map(|paragraph| report::wrap(paragraph, 100)).collect::<Vec<_>>().join("\n")
}

/// `--help` and `--version`, which every command has.
fn is_common(argument: &Arg) -> bool {
    ["help", "version"].contains(&argument.get_id().as_str())
}

/// One row for each argument.
fn rows(command: &Command) -> Vec<String> {
    let shown = |argument: &&Arg| !argument.is_hide_set() && !is_common(argument);
    command.get_arguments().filter(shown).map(row).collect()
}

fn row(argument: &Arg) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let names = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        _ => format!("<{}>", argument.get_id().as_str().to_uppercase()),
    };
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = match defaults.is_empty() || argument.is_hide_default_value_set() {
        false if argument.get_action().takes_values() => format!(" [{}]", defaults.join(" ")),
        _ => String::new(),
    };
    let (takes, example) = hint(argument, &cmd::kinds()).unwrap_or_default();
    let example = if example.is_empty() { example } else { format!("`{}`", cell(&example)) };
    let (help, takes) = (cell(&(help + &default)), cell(&takes));
    format!("| `{names}` | {help} | {takes} | {example} |\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_page_says_what_the_options_say() {
        let page = include_str!("../../../../docs/reference/cli.md");
        assert!(page == reference_page(Cli::command()), "stale: run `cargo xtask reference`");
        let page = include_str!("../../../../docs/reference/figures.md");
        assert!(page == figures_page(), "stale: run `cargo xtask reference`");
    }

    #[test]
    fn the_help_names_every_exit_code() {
        let about = Cli::command().get_long_about().map(ToString::to_string).unwrap_or_default();
        let (_, codes) = about.split_once("Exit codes: ").unwrap();
        for (code, _) in Code::ALL {
            assert!(codes.contains(&format!("{} ", code as u8)), "{code:?} in {codes}");
        }
        let numbers: Vec<u8> = Code::ALL.iter().map(|(code, _)| *code as u8).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 130], "other programs depend on these");
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let mut top = whole(Cli::command());
        top.build();
        for command in all(&top) {
            let text = String::from_utf8(page(command).ok().unwrap()).unwrap();
            assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{text}");
        }
    }
}
