//! Text from the other end, made safe for a log and a terminal.

/// The text with each character that controls instead of prints replaced by its escape.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_is_escaped_and_the_rest_stays() {
        for text in ["", "it's \"C:\\\" – größer, 日本"] {
            assert_eq!(printable(text), text);
        }
        let hostile = "\x1b[2J\r\n\u{9b}1m\u{202e}\u{7f}";
        assert_eq!(printable(hostile), "\\u{1b}[2J\\r\\n\\u{9b}1m\\u{202e}\\u{7f}");
    }
}
