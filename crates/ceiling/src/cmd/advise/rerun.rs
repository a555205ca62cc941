//! The command of a run as one would type it again, as it was or with one option changed.
//!
//! No option is given twice, and what our own command line would not take is not advised.

use crate::cli::Cli;
use clap::CommandFactory;
use model::secret::{self, Secrets};

/// What is about one run and its files only.
const FLAGS: &[&str] = &["--json", "--quiet", "-q"];
const VALUED: &[&str] = &["--server-pid", "--runs", "--out", "-o"];
/// Options that say how long the load is.
const LENGTHS: &[&str] = &["--duration", "-d", "--requests", "-n"];
/// Shapes of the rate with an end of their own, which a duration would contradict.
const ENDING: &[&str] = &["--steps", "--ramp", "--replay"];
/// Where the server's telemetry comes from.
const PROBES: &[&str] = &["--probe", "--probe-token-file", "--probe-pin", "--runtime"];

/// As it was.
pub fn plain(command: &[String]) -> String {
    typed(&kept(command, FLAGS, VALUED))
}

/// For 20 s; as it was where its length is not for us to say.
pub fn longer(command: &[String]) -> String {
    let has_its_end = command.iter().any(|word| ENDING.iter().any(|name| is(word, name)));
    if has_its_end {
        return plain(command);
    }
    changed(command, &[], LENGTHS, &["-d", "20s"])
}

/// With a confirmation of the wall.
pub fn confirmed(command: &[String]) -> String {
    changed(command, &["--confirm"], &[], &["--confirm"])
}

/// With a probe on the server's host.
pub fn probed(command: &[String]) -> String {
    changed(command, &[], PROBES, &["--probe", "HOST:9200"])
}

/// Without some options and with others in their place, if our command line takes it.
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
    // Records of earlier versions have them.
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

/// As a shell takes it. Where the record has a mask there is a variable: `$AUTHORIZATION`.
fn typed(words: &[String]) -> String {
    let mut before = "";
    let mut shown = vec!["ceiling".to_string()];
    for word in words {
        shown.push(match word {
            word if word.contains(secret::MASK) => format!("\"{}\"", referred(word, before)),
            word if word.contains([' ', '\'', '"', '$']) => {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
            word => word.clone(),
        });
        before = word;
    }
    shown.join(" ")
}

/// A word between double quotes, with a variable in the place of each secret.
fn referred(word: &str, before: &str) -> String {
    let mut parts = word.split(secret::MASK).peekable();
    let mut text = String::new();
    while let Some(part) = parts.next() {
        for letter in part.chars() {
            if "\\\"$`".contains(letter) {
                text.push('\\');
            }
            text.push(letter);
        }
        if let Some(behind) = parts.peek() {
            text += &format!("${{{}}}", variable(part, behind, before));
        }
    }
    text
}

/// What the variable of a secret is called: as what it belongs to.
fn variable(ahead: &str, behind: &str, before: &str) -> String {
    let is_short = ahead.starts_with('-') && !ahead.starts_with("--");
    let ahead = if is_short { ahead.split_once('H').map_or("", |(_, name)| name) } else { ahead };
    let name = ahead.trim_end().strip_suffix([':', '=']);
    let name = name.map(|name| {
        let begin =
            name.rfind(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
        name[begin.map_or(0, |at| at + 1)..].trim_matches('-')
    });
    let option = before.trim_start_matches('-');
    let name = match name {
        _ if behind.starts_with('@') => "password",
        Some(name) if !name.is_empty() => name,
        _ if option == "H" => "header",
        _ if ahead.is_empty() && option.len() > 1 && before.starts_with("--") => option,
        _ => "body",
    };
    name.to_ascii_uppercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
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
            "ceiling load \"http://h/a?token=${TOKEN}&n=1\" -H \"Authorization: ${AUTHORIZATION}\" \
             \"-kHX-Api-Key:${X_API_KEY}\" -b \"${BODY}\" \"--proxy=http://u:${PASSWORD}@p:1\" \
             --header 'A: $b'"
        );
        assert_eq!(plain(&Secrets::command(&command)), plain(&command));
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
                let parsed = Cli::try_parse_from(words(&said));
                assert!(parsed.is_ok(), "{said}: {}", parsed.err().unwrap());
            }
        }
        let steps = words("ceiling load http://h/ --steps 1k,2k/5s");
        assert_eq!(longer(&steps), plain(&steps), "it has an end of its own");
    }
}
