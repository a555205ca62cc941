//! `ceiling audit FILE..`: what can be said of the figures of any load generator, or of a text.

use crate::exit::{Code, Failure};
use crate::screen::{style, to_stdout};
use audit::Unread;
use clap::Args;
use model::audit::{Foreign, Given, Outcome};
use model::secret;
use plan::Colour;
use plan::values::{CommandLine, Count, Depth, ForeignFile, Link};
use std::fs::File;
use std::io::{Read, stdin};

/// Figures of any load generator, or of a text, held against arithmetic: each holds, cannot be, or
/// cannot be told.
#[derive(Debug, Args)]
#[command(after_help = "\
Read are the outputs of wrk, wrk2, oha, hey, h2load, ab, vegeta, k6, autocannon,
fortio, Gatling and JMeter, recognised by their content. A command line that
stands above the output after `$ ` is read as well. docs/audit.md has the list
of forms and checks.

Examples:
  wrk -t2 -c64 -d10s --latency URL | ceiling audit - --depth 1
  ceiling audit k6.json oha.txt --link 25G --client-cpus 32
  ceiling audit --text page.md --depth 100 --json

Exit codes: 0 nothing is refuted, 2 a file could not be read, 3 a figure cannot
be.")]
pub struct Audit {
    /// What a tool printed or wrote, or - for the standard input
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

/// What a file does not tell.
#[derive(Debug, Args)]
pub struct Beside {
    /// The files are texts of people: figures are taken from sentences and tables
    #[arg(long)]
    text: bool,

    /// The command line of the tool, where the output does not tell it
    #[arg(long, value_name = "LINE")]
    command: Option<CommandLine>,

    /// Connections, where neither output nor command line tells them
    #[arg(short = 'c', long, value_name = "N")]
    connections: Option<Count>,

    /// Requests in flight on one connection, where nothing tells them
    #[arg(long, value_name = "N")]
    depth: Option<Depth>,

    /// Speed of the slowest link between the hosts, in bits per second
    #[arg(long, value_name = "N")]
    link: Option<Link>,

    /// CPUs of the client's host
    #[arg(long, value_name = "N")]
    client_cpus: Option<Count>,
}

impl Beside {
    /// What was given beside the files.
    pub fn given(&self) -> Given {
        Given {
            command: self.command.as_ref().map(|line| without_secrets(line)),
            connections: self.connections.as_ref().map(|count| count.0),
            depth: self.depth.as_ref().map(|depth| u64::from(depth.0)),
            link_bits_per_s: self.link.as_ref().map(|link| link.0),
            client_cpus: self.client_cpus.as_ref().map(|count| count.0),
        }
    }

    /// What one file tells, by parts.
    pub fn read(&self, mut source: &mut dyn Read) -> Result<Vec<(String, Foreign)>, Unread> {
        let given = self.given();
        match self.text {
            true => audit::read_text(&mut source, &given),
            false => Ok(vec![(String::new(), audit::read(&mut source, &given)?)]),
        }
    }
}

pub fn run(command: Audit) -> Result<Code, Failure> {
    let given = command.beside.given();
    let mut told: Vec<(String, String, Foreign)> = Vec::new();
    for file in &command.files {
        let name = file.display().to_string();
        let accounts = read(file, &command.beside);
        let accounts = accounts.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        told.extend(accounts.into_iter().map(|(part, foreign)| (name.clone(), part, foreign)));
    }
    let audited = audit::audit(told, &given);
    let text = if command.json {
        let text = serde_json::to_string_pretty(&audited);
        text.map_err(|error| Failure::File(error.to_string()))? + "\n"
    } else {
        report::text_audit(&audited, style(&command.colour))
    };
    to_stdout(&text)?;
    let claims = audited.accounts.iter().flat_map(|account| &account.claims);
    let is_refuted = claims.into_iter().any(|claim| claim.outcome == Outcome::CannotBe);
    Ok(if is_refuted { Code::Unmet } else { Code::Good })
}

/// The command line as it may be printed.
fn without_secrets(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    secret::words(&words).join(" ")
}

/// What one file tells, by parts.
fn read(file: &ForeignFile, beside: &Beside) -> Result<Vec<(String, Foreign)>, Unread> {
    let mut source: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(stdin().lock()),
        false => Box::new(File::open(&file.0)?),
    };
    beside.read(&mut source)
}
