//! Maintenance commands of the repository.
//!
//! What this room is for: commands that check and generate files of the repository, such as `tidy`.
//! In: the files of the repository, as they are on disk.
//! Out: findings with advice, generated pages, and an exit code.
//! Never: shipped, used by another crate of ours, or needed to build one.

mod finding;
mod manifest;
mod reference;
mod rust;
mod tidy;
mod tree;

use std::process::ExitCode;

/// A command of `cargo xtask`. A new command is one file and one row in [`COMMANDS`].
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<ExitCode>,
}

const COMMANDS: &[Command] = &[
    Command { name: "tidy", about: tidy::ABOUT, run: tidy::run },
    Command { name: "reference", about: reference::ABOUT, run: reference::run },
];

/// The exit code for an invalid command line.
const USAGE_ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    if matches!(name.as_str(), "help" | "-h" | "--help") {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprint!("xtask: there is no command `{name}`\n\n{}", usage());
        return ExitCode::from(USAGE_ERROR);
    };
    match (command.run)(rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let rows = COMMANDS.iter().map(|command| format!("  {:<11} {}\n", command.name, command.about));
    format!("usage: cargo xtask <command>\n\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_names_every_command() {
        for command in COMMANDS {
            assert!(usage().contains(command.name), "{} is missing", command.name);
            assert!(usage().contains(command.about));
        }
    }
}
