//! `ceiling size RUN --rate X`: how many client machines make the server the wall at a rate.

use super::show;
use crate::exit::{Code, Failure};
use crate::options::{self, Runs};
use crate::session;
use clap::Args;
use model::size::{Sizing, Wish};
use model::units::{parse_count, parse_rate, show_count};
use std::path::PathBuf;

/// How many client machines are needed at a rate, from what a run measured.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ceiling size 20260101T120000-0000002a --rate 5M --client-cpus 32 --link 25G")]
pub struct Size {
    /// A run by id, its directory, or a record written with --json
    run: PathBuf,

    /// Requests per second to plan for, over all machines
    #[arg(short = 'R', long, value_name = "X", value_parser = rate)]
    rate: f64,

    /// CPUs of one client machine; by default those of the run's host
    #[arg(long, value_name = "N", value_parser = options::positive)]
    client_cpus: Option<u64>,

    /// Speed of a client machine's link in bits per second; by default that of the run's host
    #[arg(long, value_name = "N", value_parser = link)]
    link: Option<f64>,

    /// Share of a client machine to plan for, so that it is not the wall
    #[arg(long, value_name = "SHARE", default_value = "0.7", value_parser = headroom)]
    headroom: f64,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: Size) -> Result<Code, Failure> {
    let path = show::find(&command.run, command.runs.directory())?;
    let run = store::read(&path).map_err(|error| Failure::Usage(error.to_string()))?;
    let (cpus, link) = judge::size::defaults(&run.record.host);
    let wish = Wish {
        rate: command.rate,
        client_cpus: command.client_cpus.map_or(cpus, |cpus| cpus as u32),
        link_bits_per_s: command.link.or(link),
        headroom: command.headroom,
    };
    let sizing = judge::size::size(&run.record, wish)
        .map_err(|why| Failure::NotValid(format!("{}: {why}", command.run.display())))?;
    let text = if command.json {
        let text = serde_json::to_string_pretty(&sizing);
        text.map_err(|error| Failure::File(error.to_string()))? + "\n"
    } else {
        text(&sizing)
    };
    session::to_stdout(&text)?;
    Ok(Code::Good)
}

fn text(sizing: &Sizing) -> String {
    let (wish, machines) = (&sizing.wish, &sizing.machines);
    let noun = if machines.high == 1 { "machine" } else { "machines" };
    let mut text = format!(
        "{} client {noun} of {} CPUs for {}/s ({} to {}), each used to {:.0} % at most\n\n",
        machines.high,
        wish.client_cpus,
        show_count(wish.rate),
        machines.low,
        machines.high,
        wish.headroom * 100.0
    );
    for step in &sizing.steps {
        text += &format!("  {:<23} {}\n", step.what, step.arithmetic);
    }
    if !sizing.cautions.is_empty() {
        text += "\n";
    }
    for caution in &sizing.cautions {
        text += &format!("  ~ {caution}\n");
    }
    text
}

fn rate(text: &str) -> Result<f64, String> {
    parse_rate(text).map_err(|error| format!("{error}; for example --rate 5M"))
}

fn link(text: &str) -> Result<f64, String> {
    match parse_count(text) {
        Ok(0) => Err("a link of 0 bit/s carries nothing; for example --link 10G".to_string()),
        Ok(bits) => Ok(bits as f64),
        Err(error) => Err(format!("{error}; for example --link 10G")),
    }
}

fn headroom(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| {
        format!("'{text}' is no share above 0 and up to 1; for example --headroom 0.7")
    })
}
