//! The message on a wrong command line: one line with the flag, its values and an example.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A flag, what it takes, and an example that works.
type Takes = (&'static str, &'static str, &'static str);

const TIME: &str = "a time in ns, us, ms or s up to 3600s";
const NOTHING: &str = "no value";

const TAKES: [Takes; 26] = [
    ("--addr", "an IP address", "--addr 127.0.0.1"),
    ("--port", "a number from 0 to 65535", "--port 8084"),
    ("--listeners", "a number from 1 to 64", "--listeners 2"),
    ("--workers", "a number from 1 to 1024", "--workers 8"),
    ("--thread-per-connection", NOTHING, "--thread-per-connection"),
    ("--sleep", TIME, "--sleep 20ms"),
    ("--sleep-connection", "a number from 1", "--sleep 20ms --sleep-connection 5"),
    ("--lock", TIME, "--lock 2ms"),
    ("--lock-path", "a path", "--lock 2ms --lock-path /slow"),
    ("--spin", TIME, "--spin 100us"),
    ("--spin-lock", TIME, "--spin-lock 20us"),
    ("--downstream", "an address with a port", "--downstream 127.0.0.1:8085"),
    ("--fsync", "a file name", "--fsync journal.log"),
    ("--limit", "a rate above zero", "--limit 250/s"),
    ("--limit-mode", "reject or delay", "--limit 250/s --limit-mode delay"),
    ("--requests-per-connection", "a number from 1", "--requests-per-connection 10"),
    ("--backlog", "a number from 1 to 65535", "--backlog 8"),
    ("--accept-delay", TIME, "--accept-delay 5ms"),
    ("--sndbuf", "bytes from 1", "--sndbuf 4096"),
    ("--body", "bytes from 0 to 67108864", "--body 16384"),
    ("--chunks", "a number from 1 to 1048576", "--chunks 5000"),
    ("--leave-out", "a number from 2", "--leave-out 10"),
    ("--nagle", NOTHING, "--nagle"),
    ("--help", NOTHING, "--help"),
    ("--version", NOTHING, "--version"),
    ("-h", NOTHING, "-h"),
];

/// The one line for an error of the parser.
pub fn explain(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.first().cloned().unwrap_or_default(),
        _ => String::new(),
    };
    let argument = text(ContextKind::InvalidArg);
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    let Some((_, takes, example)) = TAKES.iter().find(|(known, ..)| *known == flag) else {
        return format!("{argument:?} is not a flag of target-stage; --help lists the flags");
    };
    match error.kind() {
        ErrorKind::ArgumentConflict if text(ContextKind::PriorArg) != argument => {
            format!(
                "{flag} does not go with {}; one of them, for example {example}",
                text(ContextKind::PriorArg)
            )
        }
        ErrorKind::ArgumentConflict => {
            format!("{flag} can be given only once, for example {example}")
        }
        ErrorKind::MissingRequiredArgument => {
            format!("another flag needs {flag}, for example {example}")
        }
        _ => {
            let value = text(ContextKind::InvalidValue);
            let seen = if value.is_empty() { String::new() } else { format!(", not {value:?}") };
            format!("{flag} takes {takes}{seen}, for example {example}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::{CommandFactory, Parser};

    fn usage_error(line: &str) -> String {
        let words = ["target-stage"].into_iter().chain(line.split_whitespace());
        explain(&Options::try_parse_from(words).unwrap_err())
    }

    #[test]
    fn every_flag_has_a_text_and_every_example_works() {
        let mut command = Options::command();
        command.build();
        for argument in command.get_arguments() {
            let flag = format!("--{}", argument.get_long().expect("only long flags"));
            assert!(TAKES.iter().any(|(known, ..)| *known == flag), "{flag} has no text");
        }
        for (flag, takes, example) in &TAKES {
            assert!(example.contains(flag), "{flag}");
            let words = ["target-stage"].into_iter().chain(example.split(' '));
            let parsed = Options::try_parse_from(words);
            let is_shown = parsed.as_ref().is_err_and(|error| error.exit_code() == 0);
            assert!(parsed.is_ok() || (is_shown && *takes == NOTHING), "{example}");
        }
    }

    #[test]
    fn errors_name_the_flag_what_it_takes_and_an_example() {
        assert_eq!(
            usage_error("--sleep 5"),
            "--sleep takes a time in ns, us, ms or s up to 3600s, not \"5\", for example \
             --sleep 20ms"
        );
        assert!(usage_error("--limit 0/s").contains("a rate above zero, not \"0/s\""));
        assert!(usage_error("--port 1 --port 2").contains("--port can be given only once"));
        assert!(usage_error("--lock-path /x").contains("--lock"));
        let both = usage_error("--workers 2 --thread-per-connection");
        assert!(both.contains("--workers") && both.contains("--thread-per-connection"), "{both}");
        assert!(usage_error("--dely 1ms").contains("is not a flag"));
        for line in ["--sleep 5", "--x", "x", "--lock-path", "--port"] {
            assert!(!usage_error(line).contains('\n'), "{line}");
        }
    }
}
