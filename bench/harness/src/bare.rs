//! `bench bare`: is a target as fast as its library?
//!
//! `/simple` of each target against the same response from a bare handler. Both servers run all the
//! time and are loaded in turn, so that other activity on the machine affects both. The targets of
//! fasthttp and Fiber should stay within 5 % of a bare handler, by the CPU time of the server for
//! each request, which a busy machine changes less than the rate.

use crate::contender::{Contender, Driver};
use crate::install::Peers;
use crate::load::{Load, Protocol, Reuse, Transport};
use crate::machine;
use crate::options::{self, Missing, Programs, Setting};
use crate::rounds::{Bench, CLIENT_CPU, SERVER_CPU};
use crate::server::Server;
use crate::statistics::Spread;
use crate::words::{pinned, words};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const LEAST: f64 = 0.95;
/// Libraries with a bound. net/http has no faster handler to compare with.
const HELD: [&str; 2] = ["fasthttp", "fiber"];

/// The command line.
#[derive(Debug, Args)]
pub struct Options {
    /// Rounds of each library
    #[arg(long, value_name = "N", env = "ROUNDS", default_value = "9")]
    rounds: u32,
    /// Load of each slot, whole seconds
    #[arg(long, value_name = "T", env = "ROUND_S", default_value = "2")]
    seconds: u32,
    #[arg(
        long,
        value_name = "LIST",
        env = "LIBRARIES",
        default_value = "fasthttp,fiber,nethttp",
        value_delimiter = ','
    )]
    libraries: Vec<String>,
    #[arg(long, value_name = "DIR", default_value = "out/bare")]
    out: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

/// Measures each library and prints a line for it.
pub fn run(options: Options) -> Result<ExitCode> {
    options::check_cpus()?;
    options::check_programs([&options.programs.floor])?;
    let mut bench = Bench::new(Setting {
        rounds: options.rounds,
        slot_ms: options.seconds * 1_000,
        seed: options::drawn_seed(),
        missing: Missing::LeaveOut,
        out: options.out,
        programs: options.programs,
    })?;
    let bare = bench.setting.out.join("bare");
    let output = std::env::current_dir()?.join(&bare);
    let built = Command::new("go")
        .args(["build", "-C", "targets/go", "-trimpath", "-o"])
        .arg(output)
        .arg("./cmd/bare")
        .status()
        .context("go cannot be started")?;
    ensure!(built.success(), "the bare handlers cannot be built");
    println!(
        "          target k/s  us/req         rate target/bare          CPU bare/target\n\
         met: the median of CPU bare/target is at least {LEAST}"
    );
    for library in &options.libraries {
        let target = format!("bin/target-{library}");
        let servers = [
            bench.serve("bare", pinned(SERVER_CPU, words(&[&*bare.to_string_lossy(), library])))?,
            bench.serve("target", pinned(SERVER_CPU, words(&[&*target, "--port", "0"])))?,
        ];
        let slots = bench.interleave(2, |bench, at| slot(bench, &servers[at]))?;
        println!("{}", line(library, &slots[0], &slots[1]));
        for server in servers {
            server.stop(&mut bench.supervisor)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a server did in a slot: requests per second, and microseconds of its CPU for each.
struct Slot {
    rate: f64,
    us: f64,
}

fn slot(bench: &mut Bench, server: &Server) -> Result<Slot> {
    let load = Load {
        url: server.url(Transport::Tcp, "/simple"),
        connections: 50,
        depth: 1,
        transport: Transport::Tcp,
        protocol: Protocol::Http1,
        reuse: Reuse::Kept,
        slot_ms: bench.setting.slot_ms,
        scratch: bench.setting.scratch(),
    };
    let floor = Contender::Floor(Driver::Uring);
    let line = floor.line(&load, &bench.setting.programs, &Peers::default());
    let before = machine::cpu_time(server.process());
    let [ran] = bench.run([pinned(CLIENT_CPU, line)])?;
    let used = machine::cpu_time(server.process()).saturating_sub(before);
    let count = floor.count(&ran.good()?).map_err(anyhow::Error::msg)?;
    Ok(Slot { rate: count.rate, us: used.as_secs_f64() * 1e6 / count.requests as f64 })
}

fn line(library: &str, bare: &[Slot], target: &[Slot]) -> String {
    let pairs = || bare.iter().zip(target);
    let speed = Spread::of(pairs().map(|(bare, target)| target.rate / bare.rate));
    let cpu = Spread::of(pairs().map(|(bare, target)| bare.us / target.us));
    let (rate, us) = (
        Spread::of(target.iter().map(|slot| slot.rate / 1e3)),
        Spread::of(target.iter().map(|slot| slot.us)),
    );
    let (Some(speed), Some(cpu), Some(rate), Some(us)) = (speed, cpu, rate, us) else {
        return format!("{library:<8} no round was measured");
    };
    let word = match HELD.contains(&library) {
        false => "",
        true if cpu.median >= LEAST => "  met",
        true => "  MISSED",
    };
    let (speed, cpu) = (speed.show(3), cpu.show(3));
    format!("{library:<8}{:>12.1}{:>8.2}{speed:>24}{cpu:>25}{word}", rate.median, us.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_costs_more_than_its_library_is_named() {
        let slots = |us| [Slot { rate: 1e5, us }, Slot { rate: 2e5, us }];
        let text = line("fiber", &slots(9.6), &slots(10.0));
        assert!(text.ends_with("1.000 (1.000..1.000)     0.960 (0.960..0.960)  met"), "{text}");
        assert!(line("fiber", &slots(9.0), &slots(10.0)).ends_with("MISSED"));
        assert!(line("nethttp", &slots(9.0), &slots(10.0)).ends_with(')'));
    }
}
