//! The command to type to repeat a run: unchanged, with one option changed, or another command
//! that sends the same requests.
//!
//! In: the command line in a record, without its secrets, and the commands that a verdict proposes.
//! Out: commands that can be pasted into a shell, with a variable in the place of each secret.
//! Never: an option that is given twice, or a command that our own command line does not accept.

use crate::load;
use clap::{Arg, Command};
use model::load::Question;
use model::option::{self, About, Facts, Reach};
use model::perturbation::Touch;
use model::run::Record;
use model::secret::Secrets;
use model::step::Step;
use model::verdict::Confidence;
use model::wall::Side;

/// Adds the options that shaped the requests of a record to the commands that its verdicts propose.
/// Where a verdict proposes no command, an experiment that tests its wall is proposed.
pub fn complete(record: &mut Record) {
    let command = Secrets::command(&record.command);
    let of_points = record.points.iter_mut().map(|point| &mut point.verdict);
    for verdict in of_points.chain([&mut record.verdict]) {
        for next in &mut verdict.next {
            if let Step::Command(words) = next {
                *next = completed(words, &command);
            }
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
        && !verdict.next.iter().any(Step::is_command)
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

/// A proposed command with the options of `command` that shaped its requests.
fn completed(own: &[String], command: &[String]) -> Step {
    let all = load::command();
    let (Some(to), Some(from)) = (find(&all, own), find(&all, command)) else {
        return Step::Command(own.to_vec());
    };
    let own_options = given(&own[2..], to);
    let is_new = |one: &Given| {
        let is_given = own_options.iter().any(|other| other.name == one.name);
        let is_known = to.get_arguments().any(|known| known.get_long() == one.name.as_deref());
        one.facts().is_some_and(Facts::is_carried) && !is_given && is_known
    };
    let more = given(&command[2..], from).into_iter().filter(is_new);
    let words: Vec<String> =
        own[1..].iter().cloned().chain(more.flat_map(|one| one.words)).collect();
    accepted(words).unwrap_or_else(|| Step::Command(own.to_vec()))
}

/// The sub-command that a command line names.
fn find<'a>(all: &'a Command, words: &[String]) -> Option<&'a Command> {
    words.get(1).and_then(|name| all.find_subcommand(name))
}

/// An option with its value, or a positional argument, which has no name.
struct Given {
    name: Option<String>,
    words: Vec<String>,
}

impl Given {
    fn facts(&self) -> Option<Facts> {
        option::named(self.name.as_deref()?)
    }
}

/// The single options of a command line: `-kHA:b` is two.
fn given(words: &[String], command: &Command) -> Vec<Given> {
    let by = |is: &dyn Fn(&Arg) -> bool| command.get_arguments().find(|one| is(one));
    let name = |one: Option<&Arg>| one.and_then(|one| one.get_long()).map(str::to_string);
    let takes = |one: Option<&Arg>| {
        one.is_some_and(|one| one.get_action().takes_values() && !one.is_require_equals_set())
    };
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
pub fn plain(command: &[String]) -> Step {
    Step::command(words_without(command, |_| false))
}

/// The command with a duration of 20 s; unchanged if its shape defines its own end.
pub fn longer(command: &[String]) -> Step {
    let has_its_end =
        options(command).iter().filter_map(Given::facts).any(|facts| facts.about == About::Shape);
    if has_its_end {
        return plain(command);
    }
    changed(command, |facts| facts.about == About::Length, &["-d", "20s"])
}

/// The command with experiments that test the wall.
pub fn confirmed(command: &[String]) -> Step {
    changed(command, |_| false, &["--confirm"])
}

/// The command with experiments that may also change the server's limits.
fn touching(command: &[String]) -> Step {
    changed(command, |_| false, &["--confirm", "--may-touch-server"])
}

/// The command with a probe on the server's host.
pub fn probed(command: &[String]) -> Step {
    changed(command, |facts| facts.about == About::Telemetry, &["--probe", "HOST:9200"])
}

/// The command without some options and with others in their place; unchanged if our command line
/// does not accept that.
fn changed(command: &[String], is_out: impl Fn(Facts) -> bool, more: &[&str]) -> Step {
    let is_given = |facts| more.iter().any(|word| option::typed(word) == Some(facts));
    let mut words = words_without(command, |facts| is_given(facts) || is_out(facts));
    words.extend(more.iter().map(|word| word.to_string()));
    accepted(words).unwrap_or_else(|| plain(command))
}

/// The words without the program, without options that concern only one run and its files, and
/// without some others.
fn words_without(command: &[String], is_out: impl Fn(Facts) -> bool) -> Vec<String> {
    let is_kept =
        |one: &Given| !one.facts().is_some_and(|facts| facts.reach == Reach::Run || is_out(facts));
    // Records of earlier versions still contain secrets.
    let command = Secrets::command(command);
    let name = command.get(1).cloned();
    let options = options(&command).into_iter().filter(is_kept);
    name.into_iter().chain(options.flat_map(|one| one.words)).collect()
}

/// The options of a command line; nothing for one that makes no load.
fn options(command: &[String]) -> Vec<Given> {
    let all = load::command();
    find(&all, command).map(|from| given(&command[2..], from)).unwrap_or_default()
}

/// The command, if our command line accepts it.
fn accepted(words: Vec<String>) -> Option<Step> {
    let whole = std::iter::once("ceiling".to_string()).chain(words.iter().cloned());
    load::command().try_get_matches_from(whole).ok().map(|_| Step::command(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    /// The words into which a POSIX shell splits a command.
    fn pasted(command: &str) -> Vec<String> {
        let script = format!("AUTHORIZATION=s1; printf '%s\\0' {command}");
        let said = process::Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        said.trim_end_matches('\0').split('\0').map(str::to_string).collect()
    }

    #[test]
    fn an_option_that_is_given_already_is_given_anew_and_once() {
        let command = words("/usr/bin/ceiling load http://h/ -c 8 -d 5s --json -o=x --runs none");
        assert_eq!(plain(&command).text(), "ceiling load http://h/ -c 8 -d 5s");
        assert_eq!(longer(&command).text(), "ceiling load http://h/ -c 8 -d 20s");
        for text in ["-d5s", "--duration=5s", "-n 100", "--requests 100"] {
            let command = words(&format!("ceiling load http://h/ {text}"));
            assert_eq!(longer(&command).text(), "ceiling load http://h/ -d 20s", "{text}");
        }
        let pin = "a".repeat(64);
        let text = format!("ceiling load http://h/ --confirm --probe a:1 --probe-pin {pin}");
        let command = words(&text);
        let probed = probed(&command).text();
        assert_eq!(probed, "ceiling load http://h/ --confirm --probe HOST:9200");
        let confirmed = confirmed(&command).text();
        assert!(confirmed.ends_with("--confirm"), "{confirmed}");
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
            plain(&command).text(),
            "ceiling load \"http://h/a?token=${TOKEN:?}&n=1\" \
             -H \"Authorization: ${AUTHORIZATION:?}\" -k -H \"X-Api-Key:${X_API_KEY:?}\" \
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
        let said = completed(&words("ceiling ramp http://h/a?b=1&c=2 -c 16..512"), &command);
        assert_eq!(
            said.text(),
            "ceiling ramp 'http://h/a?b=1&c=2' -c 16..512",
            "-i excludes -b and -X"
        );
        let command: Vec<String> =
            command.into_iter().filter(|word| word != "-i" && word != "it's.jsonl").collect();
        let said = completed(&words("ceiling ramp http://h/a?b=1&c=2 -c 16..512"), &command);
        assert_eq!(
            said.text(),
            "ceiling ramp 'http://h/a?b=1&c=2' -c 16..512 -k -H \"Authorization: \
             ${AUTHORIZATION:?}\" -b \"${BODY:?}\" -X PUT --probe=10.0.0.7:9900 --expand 10 -t 2"
        );
        let own =
            completed(&words("ceiling ramp http://h/ -t 4"), &words("ceiling ramp http://h/ -t 1"));
        assert_eq!(own.text(), "ceiling ramp http://h/ -t 4", "no option twice");
        let churn = words("ceiling churn tcp://h:1 --devices 5 --hold 1s --ramp-up 2s");
        let said = completed(&words("ceiling churn tcp://h:1 --devices 10 --hold 1s"), &churn);
        assert_eq!(said.text(), "ceiling churn tcp://h:1 --devices 10 --hold 1s --ramp-up 2s");
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
            let parsed = load::command().try_get_matches_from(&command);
            parsed.unwrap_or_else(|error| panic!("{command:?} {error}"));
            for said in [plain, longer, confirmed, probed].map(|of| of(&command).text()) {
                let parsed = load::command().try_get_matches_from(pasted(&said));
                assert!(parsed.is_ok(), "{said}: {}", parsed.err().unwrap());
            }
        }
        let steps = words("ceiling load http://h/ --steps 1k,2k/5s");
        assert_eq!(longer(&steps), plain(&steps), "steps define their own end");
    }
}
