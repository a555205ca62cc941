//! Untrusted text, made safe to display.
//!
//! A URL, a header or a server's command line may contain control characters that drive a terminal,
//! or marks that reverse the direction of text and make a line read as something else. Everything
//! that shows text passes it through this module.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with each control character replaced by its escape.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(controls) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if controls(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", c as u32);
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character controls what shows it, or is none.
pub fn controls(character: char) -> bool {
    let direction = matches!(character, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{feff}')
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let tag_or_selector = matches!(character, '\u{e0000}'..='\u{e0fff}' | '\u{fff9}'..='\u{fffb}');
    // XML cannot contain them.
    let no_character = matches!(character, '\u{fffe}' | '\u{ffff}');
    character.is_control() || direction || tag_or_selector || no_character
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_untouched() {
        for text in ["", "GET /räksmörgås?x=1", "日本語", "p99 < 2 ms"] {
            assert!(matches!(printable(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn controls_become_visible() {
        assert_eq!(printable("\x1b[31mred\x07"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(printable("a\r\nb\tc"), "a\\r\\nb\\tc");
        assert_eq!(printable("exe\u{202e}txt.\u{9b}"), "exe\\u{202e}txt.\\u{9b}");
        assert_eq!(printable("a\u{fffe}\u{ffff}\u{fffd}"), "a\\u{fffe}\\u{ffff}\u{fffd}");
    }
}
