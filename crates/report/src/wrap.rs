//! Measures and cuts text in columns of a terminal.

use model::printable::printable;
use unicode_width::UnicodeWidthChar;

/// The width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// The text in at most `room` columns; an ellipsis replaces the end when it does not fit.
pub(crate) fn fit(text: &str, room: usize) -> String {
    let text = printable(text);
    if width(&text) <= room {
        return text.into_owned();
    }
    let mut fitted = take(&text, room.saturating_sub(1)).to_string();
    if room > 0 {
        fitted.push('…');
    }
    fitted
}

/// The longest prefix that fits.
fn take(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += columns(character);
        if used > room {
            return &text[..at];
        }
    }
    text
}

/// Joins words that stay on one line: a figure and its name.
pub(crate) const NO_BREAK: char = '\u{a0}';

/// Words that stay on one line.
pub(crate) fn together(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// Lines of at most `room` columns, broken between words, or inside a word that is too long.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let text = printable(text);
    let room = room.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    // A double space inside a line is kept; spaces are dropped only at a break.
    for word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= room {
            if gap > 0 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        let mut rest = word;
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while width(rest) > room {
            let part = take(rest, room);
            if part.is_empty() {
                // A single character is wider than the room.
                lines.push("…".to_string());
                rest = rest.char_indices().nth(1).map_or("", |(at, _)| &rest[at..]);
                continue;
            }
            lines.push(part.to_string());
            rest = &rest[part.len()..];
        }
        line.push_str(rest);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines.iter().map(|line| line.trim_end().replace(NO_BREAK, " ")).collect()
}

/// Like [`wrap`], with an ellipsis where lines beyond `lines_max` are left out.
pub(crate) fn wrap_at_most(text: &str, room: usize, lines_max: usize) -> Vec<String> {
    let mut lines = wrap(text, room);
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        if let Some(last) = lines.last_mut() {
            let kept = take(last, room.saturating_sub(1)).to_string();
            *last = format!("{kept}…");
        }
    }
    lines
}

/// Padded with spaces on the right.
pub(crate) fn left(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(width(text))))
}

/// Padded with spaces on the left.
pub(crate) fn right(text: &str, room: usize) -> String {
    format!("{}{text}", " ".repeat(room.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("日本"), 4);
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("日a", 1), ["…", "a"]);
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(wrap_at_most("one two three four", 5, 2), ["one", "two…"]);
    }
}
