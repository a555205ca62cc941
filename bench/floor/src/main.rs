//! The physical floor: what any closed-loop HTTP client on this kernel has to pay.
//!
//! It sends fixed bytes and counts received bytes. It does not read answers, and it takes no time
//! of any request. Whatever `ceiling` costs above this is the price of knowing what it says, and
//! that price is what `cargo xtask bench` prints.
//!
//! The shape is that of a pipelining client: each complete answer's worth of bytes that comes in
//! sends one request out. Answers have one size, learned before the load; `--answer-per-read` is
//! for those that do not, and takes each receive for one answer, which is checked afterwards.

mod options;

mod learn;
mod tally;

mod epoll;
mod uring;

mod alarm;
mod buffers;
mod load;
mod usage;

use load::{Load, Outcome};
use options::{Driver, Invocation, Options};
use std::io;
use std::process::ExitCode;
use tally::Rule;
use usage::Usage;

/// How far the bytes may be from the answers that were counted by reads.
const READS_TOLERANCE: f64 = 0.02;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match options::parse(&arguments) {
        Ok(Invocation::Run(options)) => options,
        Ok(Invocation::Help) => {
            print!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            eprintln!("floor: {reason}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<String> {
    let rule = learn::rule(options)?;
    let mut load = Load::open(options, rule)?;
    let before = Usage::now()?;
    alarm::set(options.duration)?;
    let started = std::time::Instant::now();
    let outcome = match options.driver {
        Driver::Epoll => epoll::run(&mut load),
        Driver::Uring => uring::run(&mut load),
    }?;
    let seconds = started.elapsed().as_secs_f64();
    let used = Usage::now()?.since(before);
    check_reads(rule, &load)?;
    Ok(line(options, &load, outcome, seconds, used))
}

/// With one answer per read, the bytes must agree with the mean size that was learned.
fn check_reads(rule: Rule, load: &Load) -> io::Result<()> {
    let Rule::PerRead { mean_bytes } = rule else { return Ok(()) };
    let expected_bytes = load.tally.answers() as f64 * mean_bytes;
    let off = load.tally.bytes() as f64 / expected_bytes - 1.0;
    if off.abs() <= READS_TOLERANCE {
        return Ok(());
    }
    let reason = format!(
        "a receive was not an answer: the bytes are {:+.1} % away from {} answers of \
         {mean_bytes:.0} bytes",
        off * 100.0,
        load.tally.answers()
    );
    Err(io::Error::other(reason))
}

fn line(options: &Options, load: &Load, outcome: Outcome, seconds: f64, used: Usage) -> String {
    format!(
        "{{\"driver\":\"{}\",\"connections\":{},\"depth\":{},\"requests\":{},\
         \"seconds\":{seconds:.6},\"bytes\":{},\
         \"cpu_user_ns\":{},\"cpu_system_ns\":{},\"turns\":{},\"sends\":{}}}",
        options.driver.name(),
        options.connections,
        options.depth,
        load.tally.answers(),
        load.tally.bytes(),
        used.user_ns,
        used.system_ns,
        outcome.turns,
        outcome.sends,
    )
}
