//! The physical floor: the cost that any closed-loop HTTP client on this kernel must pay.
//!
//! It sends fixed bytes and counts received bytes. It does not parse responses and does not time
//! requests. The cost of `ceiling` above this is the price of its figures; `make bench` prints it.
//!
//! It works like a pipelining client: each complete response sends one request. The program learns
//! before the load what makes a response complete: the size of all responses or, when sizes differ,
//! the position of the length in the head.

#![allow(unsafe_code, reason = "rings shared with the kernel; it shares no code with the engine")]

mod options;

mod learn;
mod tally;

mod epoll;
mod serve;
mod uring;

mod alarm;
mod buffers;
mod load;
mod usage;

use load::{Load, Outcome};
use options::{Driver, Invocation, Options};
use std::io;
use std::process::ExitCode;
use usage::Usage;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match options::parse(&arguments) {
        Ok(Invocation::Run(options)) => options,
        Ok(Invocation::Serve(address)) => return served(serve::run(address)),
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

fn served(result: io::Result<()>) -> ExitCode {
    if let Err(error) = result {
        eprintln!("floor: {error}");
    }
    ExitCode::FAILURE
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
    Ok(line(options, &load, outcome, seconds, used))
}

fn line(options: &Options, load: &Load, outcome: Outcome, seconds: f64, used: Usage) -> String {
    format!(
        "{{\"driver\":\"{}\",\"connections\":{},\"depth\":{},\"requests\":{},\
         \"seconds\":{seconds:.6},\"bytes\":{},\
         \"cpu_user_ns\":{},\"cpu_system_ns\":{},\"turns\":{},\"sends\":{}}}",
        options.driver.name(),
        options.connections,
        options.depth,
        load.tally.responses(),
        load.tally.bytes(),
        used.user_ns,
        used.system_ns,
        outcome.turns,
        outcome.sends,
    )
}
