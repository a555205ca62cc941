//! The text of a tool, by its lines and their numbers.

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot<'a> {
    /// The piece.
    pub text: &'a str,
    /// Number of its line, from 1.
    pub line: u64,
}

/// A text.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a>(pub &'a str);

impl<'a> Page<'a> {
    /// Every line; for a line overwritten by a progress bar, what is visible in the end.
    pub fn lines(self) -> impl Iterator<Item = Spot<'a>> {
        let seen = |text: &'a str| text.trim_end_matches('\r').rsplit('\r').next().unwrap_or("");
        (1..).zip(self.0.lines()).map(move |(line, text)| Spot { text: seen(text), line })
    }

    /// The first line that is neither blank nor a command after a prompt.
    pub fn first(self) -> &'a str {
        let is_row = |spot: &Spot<'_>| !spot.text.trim().is_empty() && !spot.text.starts_with("$ ");
        self.lines().find(is_row).map_or("", |spot| spot.text)
    }

    /// Whether a text occurs.
    pub fn holds(self, text: &str) -> bool {
        self.0.contains(text)
    }

    /// What follows a label on the first line that contains it.
    pub fn after(self, label: &str) -> Option<Spot<'a>> {
        self.lines().find_map(|spot| {
            let (_, text) = spot.text.split_once(label)?;
            Some(Spot { text: text.trim_start(), ..spot })
        })
    }

    /// What follows a label at the start of a line, ignoring spaces.
    pub fn starting(self, label: &str) -> Option<Spot<'a>> {
        self.lines().find_map(|spot| spot.starting(label))
    }

    /// The word before a text.
    pub fn before(self, text: &str) -> Option<Spot<'a>> {
        self.lines().find_map(|spot| spot.before(text))
    }

    /// The lines after the first one that contains a label.
    pub fn below(self, label: &str) -> impl Iterator<Item = Spot<'a>> {
        self.lines().skip_while(move |spot| !spot.text.contains(label)).skip(1)
    }
}

impl<'a> Spot<'a> {
    /// What follows a label at the start of this piece, ignoring spaces.
    pub fn starting(self, label: &str) -> Option<Spot<'a>> {
        let text = self.text.trim_start().strip_prefix(label)?;
        Some(Spot { text: text.trim_start(), ..self })
    }

    /// What follows a label.
    pub fn after(self, label: &str) -> Option<Spot<'a>> {
        let (_, text) = self.text.split_once(label)?;
        Some(Spot { text: text.trim_start(), ..self })
    }

    /// The word before a text.
    pub fn before(self, text: &str) -> Option<Spot<'a>> {
        let (before, _) = self.text.split_once(text)?;
        let word = before.trim_end().rsplit([' ', '\t', '(']).next()?;
        Some(Spot { text: word, ..self })
    }

    /// Words between white space.
    pub fn words(self) -> Vec<&'a str> {
        self.text.split_whitespace().take(WORDS_MAX).collect()
    }

    /// A figure of this line.
    pub fn read<T>(self, read: impl Fn(&str, u64) -> Option<T>) -> Option<T> {
        read(self.text, self.line)
    }
}

/// Words of one line that are examined.
const WORDS_MAX: usize = 64;

/// The text without terminal colours.
pub fn without_colours(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let ends = |char: char| char.is_ascii_alphabetic();
        rest = match after.strip_prefix('[').and_then(|code| Some((code, code.find(ends)?))) {
            Some((code, end)) => &code[end + 1..],
            None => after,
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lead_to_what_stands_beside_them() {
        let page = Page("a\n  Total:\t1.5 secs\nx 5 of, 7 done, b\r\n10%\r20%\n");
        assert_eq!(page.starting("Total:"), Some(Spot { text: "1.5 secs", line: 2 }));
        assert_eq!(page.before(" done"), Some(Spot { text: "7", line: 3 }));
        assert_eq!(page.after("x "), Some(Spot { text: "5 of, 7 done, b", line: 3 }));
        assert_eq!(page.lines().last().map(|spot| spot.text), Some("20%"));
        assert_eq!(page.starting("Average"), None);
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(without_colours("a\u{1b}[1;32mb\u{1b}[0m c\u{1b}"), "ab c");
    }
}
