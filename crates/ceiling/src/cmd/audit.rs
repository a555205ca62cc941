//! `ceiling audit FILE..`: checks the figures of any load generator, or of a text.

use crate::exit::{Code, Failure};
use crate::screen::{style, to_stdout};
use clap::Args;
use jiff::Timestamp;
use model::audit::{Foreign, Given, Outcome};
use model::secret;
use plan::Colour;
use plan::values::{CommandLine, Count, Depth, ForeignFile, Link};
use std::fs::File;
use std::io::{Read, stdin};
use tools::audit::Unread;

/// Checks figures of any load generator, or of a text, by arithmetic: each figure holds, is
/// impossible or undecided.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads the output of wrk, wrk2, oha, hey, h2load, ab, vegeta, k6, autocannon,
fortio, ghz, Gatling and JMeter, and recognises the tool by the content. A
command line above the output, after `$ `, is read as well. docs/audit.md lists
the formats and checks.

Examples:
  wrk -t2 -c64 -d10s --latency URL | ceiling audit - --depth 1
  ceiling audit k6.json oha.txt --link 25G --client-cpus 32
  ceiling audit --text page.md --depth 100 --json

Exit codes: 0 nothing is refuted, 2 a file could not be read, 3 a figure cannot
be.")]
pub struct Audit {
    /// Output of a tool, or - for the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<ForeignFile>,

    #[command(flatten)]
    beside: Beside,

    /// Print one JSON document (ceiling.audit/1) instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,
}

/// Facts that the files do not contain.
#[derive(Debug, Args)]
pub struct Beside {
    /// The files are prose: take figures from sentences and tables
    #[arg(long)]
    text: bool,

    /// The command line of the tool, if the output does not contain it
    #[arg(long, value_name = "LINE")]
    command: Option<CommandLine>,

    /// Number of connections, if neither output nor command line gives it
    #[arg(short = 'c', long, value_name = "N")]
    connections: Option<Count>,

    /// Requests in flight on one connection, if neither output nor command line gives them
    #[arg(long, value_name = "N")]
    depth: Option<Depth>,

    /// Speed of the slowest link between the hosts, in bits per second
    #[arg(long, value_name = "N")]
    link: Option<Link>,

    /// Number of CPUs of the client host
    #[arg(long, value_name = "N")]
    client_cpus: Option<Count>,
}

impl Beside {
    /// The facts in the form that the audit takes.
    pub fn given(&self) -> Given {
        Given {
            command: self.command.as_ref().map(|line| without_secrets(line)),
            connections: self.connections.as_ref().map(|count| count.0),
            depth: self.depth.as_ref().map(|depth| u64::from(depth.0)),
            link_bits_per_s: self.link.as_ref().map(|link| link.0),
            client_cpus: self.client_cpus.as_ref().map(|count| count.0),
            now_s: Some(Timestamp::now().as_second() as f64),
        }
    }

    /// The accounts in one file, each with the name of its part.
    pub fn read(&self, mut source: &mut dyn Read) -> Result<Vec<(String, Foreign)>, Unread> {
        let given = self.given();
        match self.text {
            true => tools::audit::read_text(&mut source, &given),
            false => Ok(vec![(String::new(), tools::audit::read(&mut source, &given)?)]),
        }
    }
}

pub fn run(command: Audit) -> Result<Code, Failure> {
    let given = command.beside.given();
    let mut accounts: Vec<(String, String, Foreign)> = Vec::new();
    for file in &command.files {
        let name = file.display().to_string();
        let parts = read(file, &command.beside);
        let parts = parts.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        accounts.extend(parts.into_iter().map(|(part, foreign)| (name.clone(), part, foreign)));
    }
    let audited = tools::audit::audit(accounts, &given);
    let text = if command.json {
        model::json::pretty(&audited)
    } else {
        report::text_audit(&audited, style(&command.colour))
    };
    to_stdout(&text)?;
    let claims = audited.accounts.iter().flat_map(|account| &account.claims);
    let is_refuted = claims.into_iter().any(|claim| claim.outcome == Outcome::Impossible);
    Ok(if is_refuted { Code::Unmet } else { Code::Good })
}

/// The command line without its secrets, for printing. Quotes hold the words of a header together,
/// so secrets are looked for in the whole line before it is split.
fn without_secrets(line: &str) -> String {
    let words: Vec<String> = secret::text(line).split_whitespace().map(String::from).collect();
    secret::words(&words).join(" ")
}

/// Opens and reads one file.
fn read(file: &ForeignFile, beside: &Beside) -> Result<Vec<(String, Foreign)>, Unread> {
    let mut source: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(stdin().lock()),
        false => Box::new(File::open(&file.0)?),
    };
    beside.read(&mut source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_header_leaves_no_part_of_its_secret() {
        for line in [
            "wrk -H 'Authorization: Bearer abcd' -c 50 http://h/",
            "wrk -H \"X-Api-Key: zyxw abcd\" -c 50 http://h/",
            "wrk --header='Cookie: zyxw; abcd' -c 50 http://h/",
            "curl -u me:abcd -c 50 http://h/",
        ] {
            let kept = without_secrets(line);
            assert!(!kept.contains("abcd") && !kept.contains("zyxw"), "{kept}");
            assert!(kept.ends_with(" -c 50 http://h/"), "{kept}");
        }
    }
}
