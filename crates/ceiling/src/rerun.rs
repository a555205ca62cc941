//! The command to type to repeat a run: unchanged, with one option changed, or another command
//! that sends the same requests.
//!
//! In: the command line in a record, without its secrets, and the commands that a verdict proposes.
//! Out: commands that can be pasted into a shell, with a variable in the place of each secret.
//! Never: an option that is given twice, or a command that our own command line does not accept.

use crate::cli::Cli;
use clap::CommandFactory;
use model::load::Question;
use model::perturbation::Touch;
use model::run::Record;
use model::secret::Secrets;
use model::shell;
use model::verdict::Confidence;
use model::wall::Side;

/// Options that concern only one run and its files.
const FLAGS: &[&str] = &["--json", "--quiet", "-q"];
const VALUED: &[&str] =
    &["--server-pid", "--runs", "--keep-runs", "--out", "-o", "--junit", "--summary"];
/// Options that set the length of the load.
const LENGTHS: &[&str] = &["--duration", "-d", "--requests", "-n"];
/// Shapes of the rate that define their own end; a duration would contradict them.
const ENDING: &[&str] = &["--steps", "--ramp", "--replay"];
/// Options that let experiments change the server's limits.
const TOUCHING: &[&str] = &["--confirm", "--may-touch-server"];
/// Options that name the source of the server's telemetry.
const PROBES: &[&str] = &["--probe", "--probe-token-file", "--probe-pin", "--runtime"];

/// Options that a proposed command does not take over: they are not about requests, connections or
/// how they are observed. A proposed command has its own load, and a person reads its output.
const LEFT: &[&str] = &[
    "arrivals",
    "baseline",
    "confirm",
    "confirm-route",
    "connections",
    "devices",
    "duration",
    "expect",
    "fail-if",
    "json",
    "junit",
    "keep-runs",
    "latency",
    "max-connections",
    "may-touch-server",
    "no-color",
    "out",
    "profile",
    "quiet",
    "ramp",
    "rate",
    "repeats",
    "replay",
    "requests",
    "runs",
    "seed",
    "sine",
    "slo",
    "spike",
    "steps",
    "strict",
    "subscribers",
    "summary",
    "verbose",
    "visits",
    "warmup",
];

/// Adds the options that shaped the requests of a record to the commands that its verdicts propose.
/// Where a verdict proposes no command, an experiment that tests its wall is proposed.
pub fn complete(record: &mut Record) {
    let command = Secrets::command(&record.command);
    let of_points = record.points.iter_mut().map(|point| &mut point.verdict);
    for verdict in of_points.chain([&mut record.verdict]) {
        for next in &mut verdict.next {
            *next = completed(next, &command);
        }
    }
    let verdict = &mut record.verdict;
    let is_open = matches!(verdict.confidence, Confidence::Probable | Confidence::Suspected);
    let is_testable = matches!(verdict.side, Side::Server | Side::Path);
    let has_experiments = matches!(record.trial.question, Question::Load | Question::Ramp);
    if is_open
        && is_testable
        && has_experiments
        && record.fleet.is_none()
        && !verdict.next.iter().any(|next| next.starts_with("ceiling "))
    {
        match record.trial.confirm.as_ref().map(|confirm| confirm.touch) {
            None => verdict.next.push(confirmed(&command)),
            // The experiments on the client were made; those that touch the server are left.
            Some(Touch::ClientOnly)
                if record.target.server.is_some() && !record.perturbations.is_empty() =>
            {
                verdict.next.push(touching(&command));
            }
            Some(_) => {}
        }
    }
}

/// A proposed command with the options of `command` that shaped its requests. A proposal that is
/// not a command of ours stays as it is.
fn completed(next: &str, command: &[String]) -> String {
    let own: Vec<String> = next.split(' ').map(str::to_string).collect();
    let all = Cli::command();
    let find = |words: &[String]| words.get(1).and_then(|name| all.find_subcommand(name)).cloned();
    let (Some(to), Some(from)) = (find(&own), find(command)) else { return next.to_string() };
    if own[0] != "ceiling" {
        return next.to_string();
    }
    let own_options = given(&own[2..], &to);
    let is_new = |one: &Given| {
        let is_left = one.name.as_deref().is_none_or(|name| LEFT.contains(&name));
        let is_given = own_options.iter().any(|other| other.name == one.name);
        let is_known = to.get_arguments().any(|known| known.get_long() == one.name.as_deref());
        !is_left && !is_given && is_known
    };
    let command = given(&command[2..], &from).into_iter().filter(is_new);
    let mut words = own[1..].to_vec();
    words.extend(command.flat_map(|one| one.words));
    let whole = std::iter::once("ceiling".to_string()).chain(words.iter().cloned());
    match Cli::command().try_get_matches_from(whole) {
        Ok(_) => typed(&words),
        Err(_) => typed(&own[1..]),
    }
}

/// An option with its value, or a positional argument, which has no name.
struct Given {
    name: Option<String>,
    words: Vec<String>,
}

/// The single options of a command line: `-kHA:b` is two.
fn given(words: &[String], command: &clap::Command) -> Vec<Given> {
    let by = |is: &dyn Fn(&clap::Arg) -> bool| command.get_arguments().find(|one| is(one));
    let name = |one: Option<&clap::Arg>| one.and_then(|one| one.get_long()).map(str::to_string);
    let takes = |one: Option<&clap::Arg>| one.is_some_and(|one| one.get_action().takes_values());
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (long, has_value) =
                long.split_once('=').map_or((long, false), |(at, _)| (at, true));
            let one = by(&|one| {
                one.get_long() == Some(long)
                    || one.get_all_aliases().is_some_and(|names| names.contains(&long))
            });
            let mut words = vec![word.clone()];
            words.extend((takes(one) && !has_value).then(|| rest.next().cloned()).flatten());
            found.push(Given { name: name(one), words });
            continue;
        }
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
        let Some(letters) = letters else {
            found.push(Given { name: None, words: vec![word.clone()] });
            continue;
        };
        for (at, letter) in letters.char_indices() {
            let one = by(&|one| {
                one.get_short() == Some(letter)
                    || one.get_all_short_aliases().is_some_and(|names| names.contains(&letter))
            });
            let mut words = vec![format!("-{letter}")];
            if takes(one) {
                let behind = letters[at + letter.len_utf8()..].trim_start_matches('=');
                let value = Some(behind.to_string()).filter(|value| !value.is_empty());
                words.extend(value.or_else(|| rest.next().cloned()));
                found.push(Given { name: name(one), words });
                break;
            }
            found.push(Given { name: name(one), words });
        }
    }
    found
}

/// The command unchanged.
pub fn plain(command: &[String]) -> String {
    typed(&kept(command, FLAGS, VALUED))
}

/// The command with a duration of 20 s; unchanged if its shape defines its own end.
pub fn longer(command: &[String]) -> String {
    let has_its_end = command.iter().any(|word| ENDING.iter().any(|name| is(word, name)));
    if has_its_end {
        return plain(command);
    }
    changed(command, &[], LENGTHS, &["-d", "20s"])
}

/// The command with experiments that test the wall.
pub fn confirmed(command: &[String]) -> String {
    changed(command, &["--confirm"], &[], &["--confirm"])
}

/// The command with experiments that may also change the server's limits.
fn touching(command: &[String]) -> String {
    changed(command, TOUCHING, &[], TOUCHING)
}

/// The command with a probe on the server's host.
pub fn probed(command: &[String]) -> String {
    changed(command, &[], PROBES, &["--probe", "HOST:9200"])
}

/// The command without some options and with others in their place; unchanged if our command line
/// does not accept that.
fn changed(command: &[String], flags: &[&str], valued: &[&str], more: &[&str]) -> String {
    let mut words = kept(command, &[FLAGS, flags].concat(), &[VALUED, valued].concat());
    words.extend(more.iter().map(|word| word.to_string()));
    let whole = std::iter::once("ceiling".to_string()).chain(words.iter().cloned());
    match Cli::command().try_get_matches_from(whole) {
        Ok(_) => typed(&words),
        Err(_) => plain(command),
    }
}

/// Whether a word is an option, with its value or without.
fn is(word: &str, name: &str) -> bool {
    let rest = word.strip_prefix(name);
    let is_short = !name.starts_with("--");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || is_short)
}

/// The words without the program and without these options.
fn kept(command: &[String], flags: &[&str], valued: &[&str]) -> Vec<String> {
    let mut words = Vec::new();
    // Records of earlier versions still contain secrets.
    let command = Secrets::command(command);
    let mut all = command.iter().skip(1);
    while let Some(word) = all.next() {
        if valued.contains(&word.as_str()) {
            all.next();
        } else if !flags.contains(&word.as_str()) && !valued.iter().any(|name| is(word, name)) {
            words.push(word.clone());
        }
    }
    words
}

/// The command quoted for a shell.
fn typed(words: &[String]) -> String {
    format!("ceiling {}", shell::line(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    /// The words into which a POSIX shell splits a command.
    fn pasted(command: &str) -> Vec<String> {
        let script = format!("AUTHORIZATION=s1; printf '%s\\0' {command}");
        let said = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        said.trim_end_matches('\0').split('\0').map(str::to_string).collect()
    }

    #[test]
    fn an_option_that_is_given_already_is_given_anew_and_once() {
        let command = words("/usr/bin/ceiling load http://h/ -c 8 -d 5s --json -o=x --runs none");
        assert_eq!(plain(&command), "ceiling load http://h/ -c 8 -d 5s");
        assert_eq!(longer(&command), "ceiling load http://h/ -c 8 -d 20s");
        for text in ["-d5s", "--duration=5s", "-n 100", "--requests 100"] {
            let command = words(&format!("ceiling load http://h/ {text}"));
            assert_eq!(longer(&command), "ceiling load http://h/ -d 20s", "{text}");
        }
        let pin = "a".repeat(64);
        let text = format!("ceiling load http://h/ --confirm --probe a:1 --probe-pin {pin}");
        let command = words(&text);
        let probed = probed(&command);
        assert_eq!(probed, "ceiling load http://h/ --confirm --probe HOST:9200");
        assert!(confirmed(&command).ends_with("--confirm"), "{}", confirmed(&command));
    }

    #[test]
    fn secrets_are_referred_to() {
        let command = [
            "ceiling",
            "load",
            "http://h/a?token=s1&n=1",
            "-H",
            "Authorization: Bearer s2",
            "-kHX-Api-Key:s3",
            "-b",
            "s4",
            "--proxy=http://u:s5@p:1",
            "--header",
            "A: $b",
        ];
        let command = command.map(str::to_string);
        assert_eq!(
            plain(&command),
            "ceiling load \"http://h/a?token=${TOKEN:?}&n=1\" \
             -H \"Authorization: ${AUTHORIZATION:?}\" \"-kHX-Api-Key:${X_API_KEY:?}\" \
             -b \"${BODY:?}\" \"--proxy=http://u:${PASSWORD:?}@p:1\" --header 'A: $b'"
        );
        assert_eq!(plain(&Secrets::command(&command)), plain(&command));
    }

    #[test]
    fn proposed_commands_send_the_same_requests() {
        let command = [
            "ceiling",
            "load",
            "http://h/a?b=1&c=2",
            "-kqH",
            "Authorization: Bearer s2",
            "-b{\"a\": 1}",
            "-X",
            "PUT",
            "-c",
            "64",
            "-d5s",
            "--probe=10.0.0.7:9900",
            "--expand",
            "10",
            "-i",
            "it's.jsonl",
            "--json",
            "-t2",
        ];
        let command = Secrets::command(&command.map(str::to_string));
        let said = completed("ceiling ramp http://h/a?b=1&c=2 -c 16..512", &command);
        assert_eq!(said, "ceiling ramp 'http://h/a?b=1&c=2' -c 16..512", "-i excludes -b and -X");
        let command: Vec<String> =
            command.into_iter().filter(|word| word != "-i" && word != "it's.jsonl").collect();
        let said = completed("ceiling ramp http://h/a?b=1&c=2 -c 16..512", &command);
        assert_eq!(
            said,
            "ceiling ramp 'http://h/a?b=1&c=2' -c 16..512 -k -H \"Authorization: \
             ${AUTHORIZATION:?}\" -b \"${BODY:?}\" -X PUT --probe=10.0.0.7:9900 --expand 10 -t 2"
        );
        let own = completed("ceiling ramp http://h/ -t 4", &words("ceiling ramp http://h/ -t 1"));
        assert_eq!(own, "ceiling ramp http://h/ -t 4", "no option twice");
        let churn = words("ceiling churn tcp://h:1 --devices 5 --hold 1s --ramp-up 2s");
        let said = completed("ceiling churn tcp://h:1 --devices 10 --hold 1s", &churn);
        assert_eq!(said, "ceiling churn tcp://h:1 --devices 10 --hold 1s --ramp-up 2s");
        let sentence = "raise the quota of that group by 20 %";
        assert_eq!(completed(sentence, &churn), sentence);
    }

    /// A shell splits every command in the goldens into words that our command line accepts.
    #[test]
    fn every_command_of_the_goldens_can_be_pasted() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/src/text/snapshots");
        let mut tried = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                let Some(begin) = line.trim_start().strip_prefix("Next ") else { continue };
                let mut command = begin.trim_start().to_string();
                while command.ends_with('\\') {
                    command = format!("{command}\n{}", lines.next().unwrap());
                }
                if command.starts_with("ceiling ") {
                    tried.insert(command);
                }
            }
        }
        assert!(tried.len() > 5, "{tried:?}");
        for command in tried {
            let parsed = Cli::try_parse_from(pasted(&command));
            assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
        }
    }

    #[test]
    fn whatever_is_advised_our_command_line_takes() {
        for command in [
            "ceiling load http://h/",
            "ceiling load http://h/ -d 5s --confirm -c 4",
            "ceiling load http://h/ -n 1k",
            "ceiling load http://h/ --steps 1k,2k/5s",
            "ceiling ramp http://h/ -c 1..8 -d 2s",
            "ceiling find http://h/ --slo p99<2ms",
            "ceiling churn http://h/ --devices 10 -d 5s",
        ] {
            let command = words(command);
            Cli::try_parse_from(&command).unwrap_or_else(|error| panic!("{command:?} {error}"));
            for said in [plain, longer, confirmed, probed].map(|of| of(&command)) {
                let parsed = Cli::try_parse_from(pasted(&said));
                assert!(parsed.is_ok(), "{said}: {}", parsed.err().unwrap());
            }
        }
        let steps = words("ceiling load http://h/ --steps 1k,2k/5s");
        assert_eq!(longer(&steps), plain(&steps), "steps define their own end");
    }
}
