//! The tree of sub-commands, and one-line errors for wrong words.

use crate::cmd;
use crate::exit::Code;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use model::secret::{self, Secrets};
use std::process::ExitCode;

/// Finds the real ceiling of an HTTP server, names the wall it hit with evidence, and proves that
/// the measurement is honest.
///
/// Exit codes: 0 good, 1 internal, 2 usage, 3 an expectation was missed or is undecided,
/// 4 measurement not valid (a gate broke, or the generator was the wall), 5 target or probe
/// unreachable, 130 interrupted with partial results written. 130, 5 and 4 go before 3: what was
/// not measured well says nothing about an expectation.
#[derive(Debug, Parser)]
#[command(name = "ceiling", version, max_term_width = 80, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// How fast is this endpoint at one load: one number that can be defended.
    Load(cmd::load::Load),
    /// How far does it go, and what stops it: a series of loads on warm connections.
    Ramp(cmd::ramp::Ramp),
    /// How many new connections per second, or how many at once: devices that come and go.
    Churn(cmd::churn::Churn),
    /// How many events reach subscribers, how large a part, and how late: streams and writers.
    Fanout(cmd::fanout::Fanout),
    /// The highest rate that holds an objective, searched for and confirmed.
    Find(cmd::find::Find),
    /// Does this knob, version or flag help: walks the cells of a plan.
    Run(cmd::run::Run),
    /// Draws a run that was stored, in any format.
    Show(cmd::show::Show),
    /// Two stored runs side by side: what differs in figures, settings and profiles.
    Compare(cmd::compare::Compare),
    /// Knobs of this host: planned, applied with a journal, watched, and put back.
    Tune(cmd::tune::Tune),
    /// Lets a generator on another host see this one, where the server runs.
    Probe(cmd::probe::Probe),
    /// How many client machines make the server the wall at a rate, from a stored run.
    Size(cmd::size::Size),
    /// What to try next: every knob by what a stored run says of it; which advice was right.
    Advise(cmd::advise::Advise),
    /// Prints completions for a shell.
    Completions(cmd::completions::Completions),
}

/// Says in one line what is wrong with the command line, what is accepted, and an example; without
/// the secrets in its words.
pub fn explain(error: &clap::Error, words: &[String]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            let told = secret::without(&one_line(error), &Secrets::of_command(words));
            eprintln!("ceiling: {told}");
            Code::Usage.into()
        }
    }
}

/// What each argument with a value takes, with an example.
const WANTED: &[(&str, &str, &str)] = &[
    ("<URL>", "http[s]://HOST[:PORT][/PATH]", "ceiling load http://127.0.0.1:8083/"),
    ("<RUN>", "a run's id, directory or record", "ceiling show 20260101T120000-0000002a"),
    ("<A>", "a run's id, directory or record", "ceiling compare before/ after/"),
    ("<B>", "a run's id, directory or record", "ceiling compare before/ after/"),
    ("<SHELL>", "bash, elvish, fish, powershell or zsh", "ceiling completions bash"),
    ("--devices", "a number", "--devices 2k"),
    ("--subscribers", "a number or a range", "-c 100..10k*10"),
    ("--posts", "a number", "--posts 100"),
    ("--writers", "a number", "--writers 4"),
    ("--write-rate", "a rate per second", "--write-rate 200"),
    ("--events", "a path", "--events '/events/{post}'"),
    ("--likes", "a path", "--likes '/like/{post}'"),
    ("--hold", "a time or forever", "--hold 1s±5%"),
    ("--requests-per-conn", "a number or two", "--requests-per-conn 1:10"),
    ("--ramp-up", "a time", "--ramp-up 5s"),
    ("--ramp-down", "a time", "--ramp-down 5s"),
    ("--rate", "a rate per second, or a range of them for ramp", "-R 20k"),
    ("--arrivals", "a spread", "--arrivals poisson"),
    ("--max-connections", "a number", "-R 1k --max-connections 500"),
    ("--steps", "rates and a time", "--steps 1k,5k,2k/10s"),
    ("--ramp", "two rates and a time", "--ramp 0:100k/30s"),
    ("--spike", "two rates and two times", "--spike 1k:20k/2s@5s"),
    ("--sine", "two rates and a time", "--sine 1k:5k/10s"),
    ("--replay", "a file", "--replay rates.csv"),
    ("--connections", "a number, or a range for ramp", "-c 50"),
    ("--duration", "a time", "-d 10s"),
    ("--requests", "a number", "-n 100k"),
    ("--repeats", "a number", "--repeats 2"),
    ("--visits", "a number", "--visits 3"),
    ("--depth", "a number", "-p 16"),
    ("--threads", "a number or auto", "-t 2"),
    ("--cpus", "a list of CPUs (tune: for packets/for the server)", "--cpus 1,2"),
    ("--driver", "a driver", "--driver epoll"),
    ("--warmup", "a time or auto", "--warmup 1s"),
    ("--timeout", "a time", "-T 10s"),
    ("--coalesce", "a time", "--coalesce 50us"),
    ("--header", "a header", "-H 'Accept: application/json'"),
    ("--secret-header", "the name of a header", "--secret-header X-Session"),
    ("--method", "a method", "-X PUT"),
    ("--body", "a text", "-b '{\"a\":1}'"),
    ("--body-file", "a file", "-f body.json"),
    ("--source", "local addresses, a net, or auto", "--source 127.0.0.1,127.0.0.2"),
    ("--connect-to", "hosts and ports", "--connect-to example.test:80:127.0.0.1:8083"),
    ("--resolve", "a host, a port and addresses", "--resolve example.test:80:127.0.0.1"),
    ("--unix-socket", "the path of a socket", "--unix-socket /run/server.sock"),
    ("--slo", "what must hold", "--slo 'p99<2ms,errors<0.1%'"),
    ("--precision", "a share", "--precision 2%"),
    ("--budget", "a time", "--budget 2m"),
    ("--trial", "a time", "--trial 3s"),
    ("--confirm-route", "a path", "--confirm --confirm-route /small"),
    ("--expect", "what must hold", "--expect 'p99<2ms,errors<0.1%'"),
    ("--targets", "a file", "-i targets.txt"),
    ("--expand", "a number", "--expand 1k"),
    ("--check-status", "a list of statuses", "--check-status 2xx,304"),
    ("--check-length", "a length or a range", "--check-length 100..4k"),
    ("--check-body", "a text", "--check-body '\"ok\":true'"),
    ("--check-sha256", "a SHA-256", "--check-sha256 $(sha256sum body | head -c 64)"),
    ("--seed", "a number", "--seed 42"),
    ("--server-pid", "a process id", "--server-pid 4711"),
    ("--runtime", "an address and a port", "--runtime 127.0.0.1:6060"),
    ("--profile", "auto, addresses and ports, or perf (tune: a profile)", "--profile auto"),
    ("--probe", "a host and a port", "--probe 192.0.2.7:9200"),
    ("--probe-token-file", "a file", "--probe-token-file probe.token"),
    ("--probe-pin", "the SHA-256 that ceiling probe serve printed", "--probe-pin 9f86d0..."),
    ("--listen", "an address and a port", "--listen 192.0.2.7:9200"),
    ("--token-file", "a file", "--token-file probe.token"),
    ("--max-clients", "a number", "--max-clients 4"),
    ("--prometheus", "an address and a port", "--prometheus 127.0.0.1:9201"),
    ("--server-port", "a port", "--server-port 8080"),
    ("--sni", "a host name", "--sni example.org"),
    ("--cacert", "a file", "--cacert ca.pem"),
    ("--cert", "a file", "--cert client.pem --key client.key"),
    ("--key", "a file", "--cert client.pem --key client.key"),
    ("--tls-resume", "on, off or a number", "--tls-resume off"),
    ("--tls-version", "1.2, 1.3 or 1.2..1.3", "--tls-version 1.3"),
    ("--ktls", "auto, on or off", "--ktls auto"),
    ("--proxy", "the URL of an HTTP proxy", "-x http://127.0.0.1:3128"),
    ("--out", "a file's name", "-o report.html"),
    ("--client-cpus", "a number", "--client-cpus 32"),
    ("--link", "bits per second", "--link 10G"),
    ("--headroom", "a share", "--headroom 0.7"),
    ("<PLAN>", "a plan file", "ceiling run experiments/04-ramp/plan.toml"),
    ("--only", "beginnings of the names of cells (tune: knobs)", "--only simple,read"),
    ("--plan", "a file", "--plan rps.toml"),
    ("--knob", "a knob's id or name", "--plan rps.toml --knob rps"),
    ("--targets-file", "a file", "--targets-file targets/targets.toml"),
    ("--device", "a network device", "--device eth0"),
    ("--run", "a run's id, directory or record, or none", "--run none"),
    ("--journal", "a folder", "--journal tune-journal"),
    ("--deadline", "a time up to 60s", "--deadline 30s"),
    ("--note", "a text", "--note 'RPS under load'"),
    ("--transaction", "the number of a transaction", "--transaction 17"),
    ("--form", "sysctl, udev, systemd or shell", "--form sysctl"),
    ("--runs", "a directory or none", "--runs none"),
];

/// What an argument takes and an example, by its usage: `--out <FILE>`.
fn wanted(argument: &str) -> (&'static str, &'static str) {
    let name = argument.split(' ').next().unwrap_or_default().trim_end_matches("...");
    let found = WANTED.iter().find(|(listed, ..)| *listed == name);
    found.map_or(("a value", "ceiling load --help"), |(_, takes, example)| (takes, example))
}

/// How an argument looks when it is given once; flags need no telling.
fn once(argument: &str) -> String {
    let takes_value = argument.contains('<');
    if takes_value { format!(", for example {}", wanted(argument).1) } else { String::new() }
}

/// What is wrong, what is accepted, and an example.
pub fn one_line(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        Some(ContextValue::StyledStrs(texts)) => {
            Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string);
            format!("{}: {}", argument, reason.unwrap_or_else(|| format!("'{value}' is wrong")))
        }
        ErrorKind::InvalidValue if text(ContextKind::ValidValue).is_none_or(|v| v.is_empty()) => {
            let (takes, example) = wanted(&argument);
            format!("{argument}: nothing is given where {takes} belongs; for example {example}")
        }
        ErrorKind::InvalidValue => {
            let accepted = text(ContextKind::ValidValue).unwrap_or_default();
            let example = accepted.split(", ").next().unwrap_or_default().to_string();
            format!("{argument}: '{value}' is not one of {accepted}; for example {example}")
        }
        ErrorKind::UnknownArgument => {
            let meant = text(ContextKind::SuggestedArg);
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            format!("there is no option {argument}{meant} (see --help)")
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let meant = text(ContextKind::SuggestedSubcommand);
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            format!("there is no command '{name}'{meant} (see --help)")
        }
        ErrorKind::MissingRequiredArgument => {
            let (takes, example) = wanted(&argument);
            format!("{argument} is missing: {takes}; for example {example}")
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).unwrap_or_default();
            if argument == other {
                return format!("{argument} was given twice; give it once{}", once(&argument));
            }
            format!("{argument} cannot be used together with {other}")
        }
        _ => {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    /// `-kH'A: b'` is taken apart in the record as it is on the command line.
    #[test]
    fn the_letters_of_flags_are_known_where_secrets_are_masked() {
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                let Some(letter) = argument.get_short() else { continue };
                // Only those that have requests have headers.
                let is_flag = !argument.get_action().takes_values();
                let has_headers = command.get_arguments().any(|one| one.get_id() == "headers");
                let is_known = secret::FLAGS.contains(letter);
                assert!(!has_headers || is_flag == is_known, "{} -{letter}", command.get_name());
            }
        }
    }

    /// An option that comes later needs trust in a plan until it is known to be harmless.
    #[test]
    fn options_that_a_plan_needs_trust_for_are_these() {
        let top = Cli::command();
        let loads = ["load", "ramp", "churn", "find", "fanout"];
        let loads = loads.map(|name| top.find_subcommand(name).unwrap());
        let arguments = loads.iter().flat_map(|command| command.get_arguments());
        let all: BTreeSet<&str> = arguments.filter_map(|one| one.get_long()).collect();
        let needs: Vec<_> =
            all.iter().copied().filter(|name| !plan::HARMLESS.contains(name)).collect();
        let set_by_run = ["json", "out", "quiet", "runs", "server-pid"];
        let needs: Vec<_> = needs.into_iter().filter(|name| !set_by_run.contains(name)).collect();
        let expected = "body-file cacert cert confirm confirm-route connect-to key \
                        may-touch-server probe probe-pin probe-token-file profile proxy replay \
                        resolve runtime targets unix-socket";
        assert_eq!(needs.join(" "), expected);
    }

    #[test]
    fn every_argument_with_a_value_has_an_example() {
        let mut taken = BTreeSet::new();
        let top = Cli::command();
        for command in top.get_subcommands().chain(top.get_subcommands().flat_map(|below| {
            // `probe serve`, and those of `tune`.
            below.get_subcommands()
        })) {
            let valued = command.get_arguments().filter(|arg| arg.get_action().takes_values());
            taken.extend(valued.map(|arg| match arg.get_long() {
                Some(long) => format!("--{long}"),
                None => format!("<{}>", arg.get_id().as_str().to_uppercase()),
            }));
        }
        let listed: BTreeSet<_> = WANTED.iter().map(|(name, ..)| (*name).to_string()).collect();
        assert_eq!(taken, listed);
    }
}
