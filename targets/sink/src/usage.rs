//! The message on a wrong command line: one line with the flag, its values and an example.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What a flag takes, and an example that works.
struct Takes {
    flag: &'static str,
    takes: &'static str,
    example: &'static str,
}

const fn takes(flag: &'static str, takes: &'static str, example: &'static str) -> Takes {
    Takes { flag, takes, example }
}

const NOTHING: &str = "no value";

const TAKES: [Takes; 24] = [
    takes("--addr", "an IP address", "--addr 127.0.0.1"),
    takes("--port", "a number from 0 to 65535", "--port 8083"),
    takes("--threads", "a number from 1 to 1024", "--threads 2"),
    takes("--cpus", "CPU numbers with commas and ranges", "--cpus 0-3,6"),
    takes(
        "--delay",
        "fixed:T, exp:T, uniform:T..T, bimodal:T,T@P% or stall:T/T with times up to 3600s",
        "--delay bimodal:1ms,20ms@10%",
    ),
    takes("--serve-at-once", "a number from 1 to 65536", "--delay fixed:20ms --serve-at-once 8"),
    takes("--seed", "a whole number from 0", "--seed 7"),
    takes("--burn", "a time in ns, us, ms or s", "--burn 20us"),
    takes("--slow-bytes", "1 to 65536 bytes and a time above 0", "--slow-bytes 1/10ms"),
    takes("--clockwork", "auto, pwait2 or timerfd", "--clockwork auto"),
    takes("--close-after", "a number from 1", "--close-after 100"),
    takes("--close-silently", NOTHING, "--close-after 100 --close-silently"),
    takes("--reset", NOTHING, "--close-after 100 --reset"),
    takes("--status", "a code from 200 to 599 and a share up to 100%", "--status 500:1%"),
    takes("--truncate", "a share from 0% to 100%", "--truncate 1%"),
    takes("--garbage", "a share from 0% to 100%", "--garbage 1%"),
    takes("--backlog", "a number from 1 to 65535", "--backlog 4096"),
    takes("--accept-delay", "a time in ns, us, ms or s", "--accept-delay 5ms"),
    takes("--single-listener", NOTHING, "--single-listener"),
    takes("--max-fds", "a number from 8 to 1073741824", "--max-fds 64"),
    takes("--log-arrivals", "a file name", "--log-arrivals arrivals.u64"),
    takes(
        "--log-capacity",
        "a number from 0 to 4294967296",
        "--log-arrivals arrivals.u64 --log-capacity 50000000",
    ),
    takes("--help", NOTHING, "--help"),
    takes("--version", NOTHING, "--version"),
];

/// The one line for an error of the parser.
pub fn explain(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let known = TAKES.iter().find(|known| Some(known.flag) == argument.split([' ', '=']).next());
    match (error.kind(), known) {
        (ErrorKind::MissingRequiredArgument, _) => {
            // Some flags need another one; clap names the missing one.
            format!("another flag needs {argument}, for example {}", companion(&argument))
        }
        (ErrorKind::ArgumentConflict, Some(known)) => {
            format!("{} can be given only once, for example {}", known.flag, known.example)
        }
        (_, Some(known)) => {
            let value = text(ContextKind::InvalidValue).unwrap_or_default();
            let seen = if value.is_empty() { String::new() } else { format!(", not {value:?}") };
            format!("{} takes {}{seen}, for example {}", known.flag, known.takes, known.example)
        }
        (_, None) => {
            let hint = text(ContextKind::SuggestedArg)
                .map_or("--help lists the flags".to_owned(), |flag| format!("{flag} exists"));
            format!("{argument:?} is not a flag of target-sink; {hint}, for example --port 8083")
        }
    }
}

/// An example with the flag that was missing.
fn companion(missing: &str) -> &'static str {
    let wanted = missing.split(' ').next().unwrap_or_default();
    TAKES
        .iter()
        .find(|known| known.flag != wanted && known.example.contains(wanted))
        .map_or("--help", |known| known.example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::{CommandFactory, Parser};

    fn usage_error(line: &str) -> String {
        let words = ["target-sink"].into_iter().chain(line.split_whitespace());
        match Options::try_parse_from(words) {
            Ok(options) => options.plan().unwrap_err(),
            Err(error) => explain(&error),
        }
    }

    #[test]
    fn every_flag_has_a_text_and_every_example_works() {
        let mut command = Options::command();
        command.build();
        let flags: Vec<String> = command
            .get_arguments()
            .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
            .collect();
        for known in &TAKES {
            assert!(flags.iter().any(|flag| flag == known.flag), "{} is gone", known.flag);
        }
        for flag in &flags {
            assert!(TAKES.iter().any(|known| known.flag == flag), "{flag} has no text");
        }
        for known in TAKES.iter().filter(|known| !matches!(known.flag, "--help" | "--version")) {
            assert!(known.example.contains(known.flag));
            let words = ["target-sink"].into_iter().chain(known.example.split(' '));
            let options = Options::try_parse_from(words).expect(known.example);
            options.plan().expect(known.example);
        }
    }

    #[test]
    fn errors_name_the_flag_what_it_takes_and_an_example() {
        assert_eq!(
            usage_error("--burn 5"),
            "--burn takes a time in ns, us, ms or s, not \"5\", for example --burn 20us"
        );
        assert_eq!(
            usage_error("--port 70000"),
            "--port takes a number from 0 to 65535, not \"70000\", for example --port 8083"
        );
        assert!(usage_error("--delay").starts_with("--delay takes fixed:T, exp:T"));
        assert!(usage_error("--delay exp:1").contains("not \"exp:1\""));
        assert!(usage_error("--clockwork x").contains("auto, pwait2 or timerfd, not \"x\""));
        assert_eq!(
            usage_error("--port 1 --port 2"),
            "--port can be given only once, for example --port 8083"
        );
        assert!(usage_error("--reset=1").starts_with("--reset takes no value"));
        assert!(usage_error("--reset").contains("--close-after"), "{}", usage_error("--reset"));
        assert!(usage_error("--reset").ends_with("for example --close-after 100 --close-silently"));
        assert!(usage_error("--log-capacity 5").contains("--log-arrivals"));
        assert!(
            usage_error("--dely fixed:1ms").contains("--delay exists"),
            "{}",
            usage_error("--dely fixed:1ms")
        );
        assert!(usage_error("surprise").contains("\"surprise\" is not a flag"));
        assert!(usage_error("--garbage 60% --truncate 60%").contains("at most 100%"));
    }

    #[test]
    fn errors_are_one_line() {
        for line in ["--burn 5", "--x", "x", "--reset", "--port", "--delay exp:1ms --delay exp:1ms"]
        {
            assert!(!usage_error(line).contains('\n'), "{line}");
        }
    }
}
