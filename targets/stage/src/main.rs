//! A server whose wall is chosen on the command line.
//!
//! What this room is for: scenarios whose limit is known by construction, on a server made of plain
//! threads, so that `/proc` shows from outside what each of them waits for.
//! In: HTTP/1.1 requests without bodies over TCP; a command line that says what limits.
//! Out: responses; two lines of JSON on standard output.
//! Never: another crate of this repository, because labels must not share bugs with what they
//! judge; more than one thread per request, from its first byte to its last.

mod options;
mod quantity;
mod usage;

mod listener;
mod loops;
mod pool;
mod threads;

mod connection;
mod http;

mod limiter;
mod service;
mod stream;

use crate::options::{Crew, Options, Plan};
use crate::service::Service;
use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: u8 = 2;

fn main() -> ExitCode {
    let plan = match Options::try_parse() {
        Ok(options) => options.plan(),
        Err(error) if error.exit_code() == 0 => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("target-stage: {}", usage::explain(&error));
            return ExitCode::from(USAGE);
        }
    };
    match serve(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("target-stage: {text}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal arrives. Threads end with the process: the kernel frees everything that
/// they hold.
fn serve(plan: Plan) -> Result<(), String> {
    end_all_on_panic();
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|error| error.to_string())?;
    let (address, sockets) = listener::open(&plan.door)
        .map_err(|error| format!("listen on {}: {error}", plan.door.address))?;
    let service = Service::new(plan.work).map_err(|error| format!("--fsync: {error}"))?;
    let service = Arc::new(service);
    let started = match plan.crew {
        Crew::Loops => loops::start(sockets, &plan.door, &service),
        Crew::Pool(workers) => pool::start(sockets, &plan.door, workers, &service),
        Crew::Threads => threads::start(sockets, &plan.door, &service),
    };
    started.map_err(|error| format!("start threads: {error}"))?;
    say(&format!(
        "{{\"event\":\"listening\",\"target\":\"stage\",\"addr\":\"{address}\",\"pid\":{}}}",
        std::process::id()
    ))?;
    signals.forever().next();
    let served = service.served();
    say(&format!("{{\"event\":\"stopped\",\"target\":\"stage\",\"requests_served\":{served}}}"))
}

fn say(line: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| format!("write to standard output: {error}"))
}

/// A panicked thread would leave its connections hanging: a different wall than the chosen one.
fn end_all_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        std::process::abort();
    }));
}
