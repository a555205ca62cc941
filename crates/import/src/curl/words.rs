//! Command lines as a POSIX shell splits them, with the `$'..'` of others.

use flow::Wrong;

/// One command: its line, and its words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Line of the file, from 1.
    pub line: u32,
    /// Without quotes.
    pub words: Vec<String>,
}

/// What Windows needs instead.
const WINDOWS: &str = "this is quoted for the Windows shell; in the browser, choose \"Copy as cURL \
                       (bash)\", or write every argument in 'single quotes'";

/// Splits a text. A line that begins with `-` goes on with the command before it.
pub fn split(text: &str) -> Result<Vec<Command>, Wrong> {
    let mut splitter = Splitter { rest: text, line: 1, word: None, commands: Vec::new() };
    splitter.commands.push(Command::default());
    while let Some(letter) = splitter.next() {
        splitter.take(letter)?;
    }
    splitter.end_word();
    splitter.commands.retain(|command| !command.words.is_empty());
    Ok(splitter.commands)
}

struct Splitter<'a> {
    rest: &'a str,
    line: u32,
    word: Option<String>,
    commands: Vec<Command>,
}

impl Splitter<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        self.line += u32::from(letter == '\n');
        Some(letter)
    }

    fn wrong<T>(&self, what: &str) -> Result<T, Wrong> {
        Err(Wrong { line: self.line, what: what.to_string() })
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let line = self.line;
        let Some(command) = self.commands.last_mut() else { return };
        if command.words.is_empty() {
            command.line = line;
        }
        command.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        self.commands.push(Command::default());
    }

    fn take(&mut self, letter: char) -> Result<(), Wrong> {
        match letter {
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some('\r') if self.rest.starts_with('\n') => {
                    self.next();
                }
                Some(escaped) => self.push(escaped),
            },
            '\'' => self.single()?,
            '"' => self.double()?,
            '$' if self.rest.starts_with('\'') => {
                self.next();
                self.dollar()?;
            }
            '^' if self.rest.starts_with(['"', '\n', '\r', '\\', '%', '^']) => {
                return self.wrong(WINDOWS);
            }
            '#' if self.word.is_none() => {
                while !self.rest.is_empty() && !self.rest.starts_with('\n') {
                    self.next();
                }
            }
            '\n' => {
                let goes_on = self.rest.trim_start().starts_with('-');
                self.end_word();
                if !goes_on {
                    self.end_command();
                }
            }
            ';' | '|' => self.end_command(),
            '&' if self.word.is_none() || self.rest.starts_with('&') => self.end_command(),
            '<' if self.rest.starts_with('<') => self.here_document()?,
            _ if letter.is_whitespace() => self.end_word(),
            _ => self.push(letter),
        }
        Ok(())
    }

    fn single(&mut self) -> Result<(), Wrong> {
        self.word.get_or_insert_default();
        let begin = self.line;
        while let Some(letter) = self.next() {
            if letter == '\'' {
                return Ok(());
            }
            self.push(letter);
        }
        Err(Wrong { line: begin, what: "the ' that opens here is not closed".to_string() })
    }

    fn double(&mut self) -> Result<(), Wrong> {
        self.word.get_or_insert_default();
        let begin = self.line;
        while let Some(letter) = self.next() {
            match letter {
                // In a POSIX shell it would vanish; for Windows it is one quote.
                '"' if self.rest.starts_with('"') && !self.rest.starts_with("\"\"\"") => {
                    return self.wrong(WINDOWS);
                }
                '"' => return Ok(()),
                '\\' if self.rest.starts_with(['"', '\\', '$', '`']) => {
                    let escaped = self.next().unwrap_or_default();
                    self.push(escaped);
                }
                '\\' if self.rest.starts_with('\n') => {
                    self.next();
                }
                _ => self.push(letter),
            }
        }
        Err(Wrong { line: begin, what: "the \" that opens here is not closed".to_string() })
    }

    /// Inside of `$'..'`, with the escapes of C.
    fn dollar(&mut self) -> Result<(), Wrong> {
        self.word.get_or_insert_default();
        let begin = self.line;
        while let Some(letter) = self.next() {
            let letter = match letter {
                '\'' => return Ok(()),
                '\\' => match self.next() {
                    Some('n') => '\n',
                    Some('r') => '\r',
                    Some('t') => '\t',
                    Some('u') => self.code(4),
                    Some('U') => self.code(8),
                    Some('x') => self.code(2),
                    Some(other) => other,
                    None => break,
                },
                _ => letter,
            };
            self.push(letter);
        }
        Err(Wrong { line: begin, what: "the $' that opens here is not closed".to_string() })
    }

    /// A letter by its number of so many digits at most.
    fn code(&mut self, most: usize) -> char {
        let digits = self.rest.bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
        let (digits, rest) = self.rest.split_at(digits);
        let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        self.rest = rest;
        code.unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Lines up to a word, which curl reads from `@-`; they become the word `<<` and the text.
    fn here_document(&mut self) -> Result<(), Wrong> {
        self.end_word();
        let rest = self.rest.trim_start_matches(['<', '-', ' ']);
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let end = line.trim().trim_matches(['\'', '"']);
        let found = after.lines().position(|line| line.trim() == end);
        let Some(count) = found.filter(|_| !end.is_empty()) else {
            return self.wrong("the here-document has no end");
        };
        let text: String = after.split_inclusive('\n').take(count).collect();
        let last = after.split_inclusive('\n').nth(count).unwrap_or_default().len();
        self.rest = &after[text.len() + last..];
        self.line += count as u32 + 2;
        self.word = Some("<<".to_string());
        self.end_word();
        self.word = Some(text);
        self.end_command();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        split(text).unwrap().into_iter().map(|command| command.words).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, is) in [
            ("a 'b  c'\\''d' \"e \\\"f\\\" \\n\"", vec!["a", "b  c'd", "e \"f\" \\n"]),
            ("a \\\n  b\\ c # no\n", vec!["a", "b c"]),
            ("a \\\r\n  b", vec!["a", "b"]),
            ("a $'b\\n\\u00e9\\'\\x41\\\\'", vec!["a", "b\né'A\\"]),
            ("a --next\n  -d x", vec!["a", "--next", "-d", "x"]),
            ("a http://h/?b=1&c=2 ''", vec!["a", "http://h/?b=1&c=2", ""]),
            ("a @- << 'EOF'\nb\n c\nEOF\n", vec!["a", "@-", "<<", "b\n c\n"]),
        ] {
            assert_eq!(words(text), [is], "{text}");
        }
        assert_eq!(words("a | b && c; d\n\ne &").len(), 5);
    }

    #[test]
    fn what_has_no_end_or_is_for_windows_is_refused_with_its_line() {
        for (text, line, what) in [
            ("\na 'b", 2, "the ' that opens here is not closed"),
            ("a \"b\n", 1, "the \" that opens here is not closed"),
            ("a $'b", 1, "the $' that opens here is not closed"),
            ("a ^\"b^\"", 1, "Copy as cURL (bash)"),
            ("a ^\n  b", 1, "Copy as cURL (bash)"),
            ("a \"{\"\"b\"\":1}\"", 1, "Copy as cURL (bash)"),
            ("a << EOF\nb", 1, "the here-document has no end"),
        ] {
            let wrong = split(text).unwrap_err();
            assert_eq!(wrong.line, line, "{text}");
            assert!(wrong.what.contains(what), "{text}: {}", wrong.what);
        }
    }
}
