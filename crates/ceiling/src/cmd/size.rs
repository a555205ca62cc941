//! `ceiling size RUN --rate X`: how many client machines it takes to make the server the wall at a
//! rate, and how many of them a fleet has.

use super::runs;
use crate::exit::{Code, Failure};
use crate::screen::{detail, style, to_stdout};
use clap::Args;
use fleet::message::Facts;
use fleet::process::Seen;
use model::size::{Agent, Wish};
use plan::values::{Count, Link, Part, Rate, RunPath};
use plan::{BrokerOptions, Colour, Runs, Verbosity};
use report::Detail;

/// Calculates from what a run measured how many client machines a rate needs, so that the server is
/// the wall.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling size last --rate 5M --client-cpus 32 --link 25G
  ceiling size last --rate 5M --fleet nats://nats.example/staging \\
      --fleet-keys fleet-keys       and how much of it the agents can send")]
pub struct Size {
    /// last, an id or its beginning (ceiling runs), a directory, or a record written with --json
    run: RunPath,

    /// Requests per second to plan for, summed over all machines
    #[arg(short = 'R', long, value_name = "X")]
    rate: Rate,

    /// CPUs of one client machine [default: those of the run's host]
    #[arg(long, value_name = "N")]
    client_cpus: Option<Count>,

    /// Speed of a client machine's link in bits per second [default: that of the run's host]
    #[arg(long, value_name = "N")]
    link: Option<Link>,

    /// Share of a client machine's capacity to use, so that it is not the wall
    #[arg(long, value_name = "SHARE", default_value = "0.7")]
    headroom: Part,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    broker: BrokerOptions,

    #[command(flatten)]
    verbosity: Verbosity,

    #[command(flatten)]
    colour: Colour,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: Size) -> Result<Code, Failure> {
    let (_, run) = runs::read(&command.run, command.runs.directory())?;
    let (cpus, link) = judge::size::defaults(&run.record);
    let wish = Wish {
        rate: command.rate.0,
        client_cpus: command.client_cpus.as_ref().map_or(cpus, |cpus| cpus.0 as u32),
        link_bits_per_s: command.link.as_ref().map(|link| link.0).or(link),
        headroom: command.headroom.0,
    };
    let mut sizing = judge::size::size(&run.record, wish)
        .map_err(|why| Failure::NotValid(format!("{}: {why}", command.run.display())))?;
    if command.broker.given()?.is_some() {
        let controller = super::fleet::controller(&command.broker)?;
        let seen = controller.list().map_err(Failure::Fleet)?;
        judge::size::with_fleet(&mut sizing, &seen.iter().map(agent).collect::<Vec<_>>());
    }
    let text = if command.json {
        model::json::pretty(&sizing)
    } else {
        let detail = detail(&command.verbosity, Detail::Summary);
        report::text_sizing(&sizing, &run, detail, style(&command.colour))
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}

fn agent(seen: &Seen) -> Agent {
    let Facts { cpus, link_mbps, capacity, rate_max, .. } = &seen.facts;
    let limits = [*capacity, *rate_max];
    Agent {
        name: seen.name.clone(),
        cpus: *cpus,
        link_bits_per_s: link_mbps.map(|mbps| f64::from(mbps) * 1e6),
        rate_max: limits.into_iter().flatten().reduce(f64::min),
    }
}
