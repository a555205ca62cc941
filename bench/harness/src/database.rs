//! `bench database`: `/db/read` of the targets compared with `pgbench -S -M prepared`.
//!
//! One PostgreSQL, the same CPUs, as many clients, a lookup by key for each response, a prepared
//! statement. The difference: pgbench has a connection for each client and a transaction for each
//! lookup; `/db/read` sends requests that arrive together in one transaction, on few connections.
//! `--route /db/read-alone` has a transaction for each lookup, and as many connections as pgbench.
//!
//! pgbench has no HTTP: a ratio of 1 means that a request to the target, with the load generator
//! that makes it, costs the machine as much as a transaction of pgbench. The table also has the
//! cost of one: the CPU time of client, target and database together.

use crate::count;
use crate::load::Transport;
use crate::machine;
use crate::options::{self, Missing, Programs, Setting};
use crate::rounds::Bench;
use crate::server::Server;
use crate::statistics::Spread;
use crate::words::{Words, words};
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The command line.
#[derive(Debug, Args)]
pub struct Options {
    #[arg(long, value_name = "N", env = "ROUNDS", default_value = "7")]
    rounds: u32,
    /// Load of each slot, whole seconds
    #[arg(long, value_name = "T", env = "SECONDS_EACH", default_value = "3")]
    seconds: u32,
    #[arg(long, value_name = "N", env = "CONNECTIONS", default_value = "64")]
    connections: u32,
    #[arg(
        long,
        value_name = "LIST",
        env = "TARGETS",
        default_value = "fasthttp,nethttp,fiber",
        value_delimiter = ','
    )]
    targets: Vec<String>,
    #[arg(long, value_name = "PATH", env = "ROUTE", default_value = "/db/read")]
    route: String,
    #[arg(long, value_name = "DIR", default_value = "out/database")]
    out: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

/// A private PostgreSQL. Dropping it stops it and removes its files.
struct Database {
    folder: PathBuf,
    url: String,
    /// Its main process, which starts all others.
    process: u32,
}

impl Database {
    fn start() -> Result<Self> {
        // A folder that the user postgres can enter; out/ may not be one.
        let folder = std::env::temp_dir().join(format!("bench-database-{}", std::process::id()));
        let output = Command::new("scripts/postgres").arg("start").arg(&folder).output()?;
        let mut database = Self { folder, url: String::new(), process: 0 };
        let reason = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}", reason.trim());
        let printed = String::from_utf8_lossy(&output.stdout);
        database.url = printed.lines().next().unwrap_or_default().to_owned();
        let file = std::fs::read_to_string(database.folder.join("data/postmaster.pid"))?;
        database.process = file.lines().next().unwrap_or_default().trim().parse()?;
        Ok(database)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // It may not have started; then there is only a folder.
        let _ = Command::new("scripts/postgres").arg("stop").arg(&self.folder).output();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The program that serves lookups.
enum Side {
    Pgbench,
    Target(Server),
}

/// What a side did in a slot: lookups per second, and microseconds of CPU for each.
#[derive(Clone, Copy)]
struct Slot {
    rate: f64,
    us: f64,
}

/// Measures all rounds, and prints ratios to pgbench within rounds.
pub fn run(options: Options) -> Result<ExitCode> {
    options::check_programs([&options.programs.ceiling])?;
    let mut bench = Bench::new(Setting {
        rounds: options.rounds,
        slot_ms: options.seconds * 1_000,
        seed: options::drawn_seed(),
        missing: Missing::LeaveOut,
        out: options.out.clone(),
        programs: options.programs.clone(),
    })?;
    let database = Database::start()?;
    let pgbench = pgbench();
    let filled = Command::new(&pgbench).args(["-i", "-q", "-s", "1", &database.url]).output()?;
    ensure!(filled.status.success(), "{pgbench}: {}", String::from_utf8_lossy(&filled.stderr));
    let (mut sides, mut names) = (vec![Side::Pgbench], vec!["pgbench"]);
    for target in &options.targets {
        let (program, pool) = (format!("bin/target-{target}"), options.connections.to_string());
        let line = [&*program, "--port", "0", "--db", &database.url, "--pool", &pool];
        sides.push(Side::Target(bench.serve(target, words(&line))?));
        names.push(target);
    }
    let slots = bench.interleave(sides.len(), |bench, at| {
        let slot = slot(bench, &options, &database, &pgbench, &sides[at])?;
        eprintln!("bench: {} {:.0} per second, {:.1} us each", names[at], slot.rate, slot.us);
        Ok(slot)
    })?;
    println!(
        "{} and pgbench -S -M prepared, {} connections, medians of {} rounds:",
        options.route, options.connections, options.rounds
    );
    for (name, own) in names.iter().zip(&slots) {
        println!("{}", line(name, &slots[0], own));
    }
    for (name, side) in names.iter().zip(sides) {
        if let Side::Target(server) = side {
            println!("{}", transactions(name, &server)?);
            server.stop(&mut bench.supervisor)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The pgbench of the newest server, not a wrapper that chooses one.
fn pgbench() -> String {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs = versions.map(|version| version.path().join("bin/pgbench"));
    let newest = programs.filter(|program| program.is_file()).max();
    newest.map_or("pgbench".into(), |program| program.to_string_lossy().into_owned())
}

fn slot(
    bench: &mut Bench,
    options: &Options,
    database: &Database,
    pgbench: &str,
    side: &Side,
) -> Result<Slot> {
    let (line, target) = match side {
        Side::Pgbench => (pgbench_line(options, pgbench, &database.url), None),
        Side::Target(server) => {
            let url = server.url(Transport::Tcp, &options.route);
            (ceiling_line(options, &url), Some(server.process()))
        }
    };
    let others = || {
        machine::family_cpu_time(database.process)
            + target.map_or_else(Default::default, machine::cpu_time)
    };
    let before = others();
    let [ran] = bench.run([line])?;
    let used = others().saturating_sub(before) + ran.exit.user + ran.exit.system;
    let (requests, rate) = match side {
        Side::Pgbench => of_pgbench(&ran.good()?)?,
        // Exit code 4 means that other programs disturbed the run, as they disturb pgbench. Here it
        // matters only that each request got a good response.
        Side::Target(_) => of_ceiling(&ran.stdout)?,
    };
    Ok(Slot { rate, us: used.as_secs_f64() * 1e6 / requests as f64 })
}

fn pgbench_line(options: &Options, pgbench: &str, url: &str) -> Words {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let (clients, seconds) = (options.connections.to_string(), options.seconds.to_string());
    let flags = ["-n", "-S", "-M", "prepared", "-c", &clients, "-j", &threads, "-T", &seconds, url];
    words(&[&[pgbench][..], &flags].concat())
}

fn ceiling_line(options: &Options, url: &str) -> Words {
    let (connections, seconds) = (options.connections.to_string(), format!("{}s", options.seconds));
    let flags = ["load", url, "-c", &connections, "-d", &seconds, "-t", "1", "--warmup", "500ms"];
    let program = options.programs.ceiling.to_string_lossy();
    words(&[&[&*program][..], &flags, &["--runs", "none", "--json"]].concat())
}

/// Transactions, and their rate without the time to open connections.
fn of_pgbench(output: &str) -> Result<(u64, f64)> {
    let after = |text: &str| {
        let rest = output.split_once(text)?.1.trim_start();
        rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.parse::<f64>().ok()
    };
    let all = after("transactions actually processed:").context("pgbench printed no count")?;
    Ok((all as u64, after("tps =").context("pgbench printed no rate")?))
}

fn of_ceiling(output: &str) -> Result<(u64, f64)> {
    let record: Value = serde_json::from_str(output).unwrap_or_default();
    let classes = record["points"][0]["status"].as_object().into_iter().flatten();
    let bad = classes.filter(|(class, count)| *class != "2xx" && count.as_u64() > Some(0));
    ensure!(bad.count() == 0, "some responses were not 2xx");
    let count = count::ceiling(output).map_err(anyhow::Error::msg)?;
    Ok((count.requests, count.rate))
}

fn line(name: &str, pgbench: &[Slot], own: &[Slot]) -> String {
    let pairs = || pgbench.iter().zip(own);
    let speed = Spread::of(pairs().map(|(base, own)| own.rate / base.rate));
    let cost = Spread::of(pairs().map(|(base, own)| base.us / own.us));
    let rate = Spread::of(own.iter().map(|slot| slot.rate));
    let us = Spread::of(own.iter().map(|slot| slot.us));
    let (Some(speed), Some(cost), Some(rate), Some(us)) = (speed, cost, rate, us) else {
        return format!("  {name:<10} no round was measured");
    };
    format!(
        "  {name:<10} {:8.0} per second  ratio {}   {:5.1} us of CPU each  ratio {}",
        rate.median,
        speed.show(2),
        us.median,
        cost.show(2)
    )
}

/// How many lookups shared a transaction, as the target counted them.
fn transactions(name: &str, server: &Server) -> Result<String> {
    let address = server.url(Transport::Tcp, "");
    let mut stream = TcpStream::connect(address.trim_start_matches("http://"))?;
    stream.write_all(b"GET /db/stats HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let stats: Value = serde_json::from_str(body).context("/db/stats is not JSON")?;
    let number = |name: &str| stats[name].as_f64().unwrap_or(0.0);
    let (lookups, all) = (number("lookups"), number("connections"));
    Ok(if lookups > 0.0 {
        let each = lookups / number("trips");
        let used = number("read_connections");
        format!(
            "  {name:<10} {each:5.1} lookups in a transaction, on at most {used:.0} of {all:.0} \
             connections"
        )
    } else {
        format!("  {name:<10} a transaction for each lookup, on at most {all:.0} connections")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pgbench_is_read_by_its_own_words() {
        let output = "number of transactions actually processed: 31415\nlatency average = 1 ms\n\
                      tps = 10471.500000 (without initial connection time)\n";
        assert_eq!(of_pgbench(output).unwrap(), (31415, 10471.5));
        assert!(of_pgbench("").is_err());
    }

    #[test]
    fn a_bad_status_is_no_lookup() {
        let record = r#"{"points":[{"status":{"2xx":5,"5xx":1}}]}"#;
        assert!(of_ceiling(record).unwrap_err().to_string().contains("not 2xx"));
    }
}
