//! `ceiling try`: one pass of a flow, or one request, with everything shown.

use crate::exit::{Code, Failure};
use crate::screen::{style, to_stdout};
use clap::Args;
use lab::ThisHost;
use lab::pass::{Setting, pass};
use model::pass::{Pass, SCHEMA, Taken};
use plan::{Attempt, Colour};
use report::{PassDetail, text_pass_end, text_taken};

/// Takes the steps of a flow once, as one user, and shows each request as it was sent, each
/// response as it came, what was captured, and which condition failed first. Nothing is measured.
///
/// A flow is a file of Hurl: requests one after the other, each with the status, captures and
/// asserts that its response must meet. docs/flows.md says what of Hurl can be used.
///
/// Exit codes: 0 every step was good, 2 usage, 3 a step failed, 5 the server does not respond.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ceiling try shop.hurl
  ceiling try shop.hurl --variable base=http://127.0.0.1:8083 --secret-env PASSWORD
  ceiling try http://127.0.0.1:8083/read -H 'X-Trace: on'
  ceiling try shop.hurl --json | jq '.requests[].answer.status'")]
pub struct Try {
    #[command(flatten)]
    attempt: Attempt,

    /// Show secrets: Authorization, cookies, variables called password or token, and the like
    #[arg(long)]
    show_secrets: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// Show whole bodies, up to 64 KiB
    #[arg(short = 'v', long, conflicts_with = "quiet")]
    verbose: bool,

    /// Show only a request that failed
    #[arg(short = 'q', long)]
    quiet: bool,

    #[command(flatten)]
    colour: Colour,
}

pub fn run(command: &Try) -> Result<Code, Failure> {
    let tried = command.attempt.resolve(&ThisHost)?;
    let reach = tried.reach();
    let setting =
        Setting { reach: &reach, http: tried.http, timeout_ns: tried.timeout_ns, seed: tried.seed };
    let detail = match (command.quiet, command.verbose) {
        (true, _) => PassDetail::Failures,
        (_, true) => PassDetail::All,
        _ => PassDetail::Usual,
    };
    let style = style(&command.colour);
    let mut mask = tried.mask.clone();
    let (mut requests, mut printed): (Vec<Taken>, _) = (Vec::new(), Ok(()));
    let is_good = pass(&tried.flow, &setting, &mut |taken| {
        let mut taken = taken.clone();
        if !command.show_secrets {
            mask.apply(&mut taken);
        }
        let number = requests.len() as u32 + 1;
        if !command.json && printed.is_ok() {
            printed = to_stdout(&text_taken(&taken, number, detail, style));
        }
        requests.push(taken);
    });
    printed?;
    let is_good = is_good.map_err(|error| Failure::NoAddress(error.to_string()))?;
    let pass = Pass {
        schema: SCHEMA.to_string(),
        flow: tried.flow.name.clone(),
        server: tried.flow.base.clone(),
        is_good,
        steps: tried.flow.steps.len() as u32,
        requests,
    };
    to_stdout(&match command.json {
        true => model::json::pretty(&pass),
        false => text_pass_end(&pass, style),
    })?;
    Ok(if is_good { Code::Good } else { Code::Unmet })
}
