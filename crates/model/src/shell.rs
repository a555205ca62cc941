//! Command lines as a shell reads them.
//!
//! In: the words of a command, perhaps with masks in the place of secrets; or a line.
//! Out: a line that can be pasted into a POSIX shell; or its words.
//! Never: a word that a shell would split, expand or drop.

use crate::secret;

/// The words as one line. A masked secret becomes a variable such as `$AUTHORIZATION`.
pub fn line(words: &[String]) -> String {
    let mut before = "";
    let mut shown: Vec<String> = Vec::new();
    for word in words {
        shown.push(match word {
            word if word.contains(secret::MASK) => format!("\"{}\"", referred(word, before)),
            word if !word.is_empty() && word.chars().all(is_plain) => word.clone(),
            word => format!("'{}'", word.replace('\'', "'\\''")),
        });
        before = word;
    }
    shown.join(" ")
}

/// The words of a line, without their quotes; `;` and `|` are words of their own. If a quote is
/// never closed, quotes are letters, and only spaces divide words.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => match letters.next() {
                Some('\n') | None => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, ';' | '|') => {
                words.extend(word.take());
                words.push(letter.to_string());
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return line.split_whitespace().map(String::from).collect();
    }
    words.extend(word);
    words
}

/// Whether a character needs no quotes in any shell.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_@%+=:,./-".contains(letter)
}

/// A word for use between double quotes, with a variable in the place of each secret. A shell in
/// which the variable is not set prints an error and does not run the command.
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
            text += &format!("${{{}:?}}", variable(part, behind, before));
        }
    }
    text
}

/// The name of the variable of a secret, after the header, parameter or option that it belongs to.
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
    use std::process::Command;

    /// The words into which a POSIX shell splits a command.
    fn pasted(command: &str) -> Vec<String> {
        let script = format!("AUTHORIZATION=s1; printf '%s\\0' {command}");
        let said = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        said.trim_end_matches('\0').split('\0').map(str::to_string).collect()
    }

    #[test]
    fn a_line_is_split_by_a_shell_into_the_words_that_it_was_made_of() {
        let words_of = ["wrk", "-H", "it's: \"a b\"", "{\"n\": $x}", "http://h/?a=1&b=*", "~", ";"];
        let words_of = words_of.map(str::to_string);
        assert_eq!(pasted(&line(&words_of)), words_of);
        assert_eq!(words(&line(&words_of)), words_of);
        let masked = ["hey".to_string(), "-H".into(), "Authorization: ***".into()];
        assert_eq!(line(&masked), "hey -H \"Authorization: ${AUTHORIZATION:?}\"");
        assert_eq!(pasted(&line(&masked)), ["hey", "-H", "Authorization: s1"]);
    }

    #[test]
    fn quotes_hold_words_together_unless_one_is_left_open() {
        assert_eq!(words("a  'b -c 5' \"d\\\"e\" f\\ g ''"), ["a", "b -c 5", "d\"e", "f g", ""]);
        assert_eq!(words("a \\\n b"), ["a", "b"]);
        assert_eq!(words("a;b 'c;d' e\\;f|g"), ["a", ";", "b", "c;d", "e;f", "|", "g"]);
        assert_eq!(words("don't -c 5"), ["don't", "-c", "5"]);
    }
}
