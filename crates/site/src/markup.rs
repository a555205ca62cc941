//! Strings of a journal as markup. All of them are untrusted and are escaped here.

pub use report::html::escape;

/// Spaces that a tab is shown as.
pub const TAB: &str = "    ";

/// Paragraphs of a text, separated by empty lines.
pub fn paragraphs(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let parts = text.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    let paragraph = |part: &str| format!("<p>{}</p>\n", escape(&joined(part)));
    parts.map(paragraph).collect()
}

/// A text on one line.
pub fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text with its line breaks, for an element that preserves them.
pub fn lines(text: &str) -> String {
    let line = |line: &str| escape(&line.replace('\t', TAB)) + "\n";
    text.lines().map(line).collect()
}

/// A name as an anchor and as part of an address: other characters become `_` and their number, so
/// that two names never collide.
pub fn anchor(name: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' => letter.to_string(),
        other => format!("_{:x}_", other as u32),
    };
    name.chars().map(letter).collect()
}

/// A link. The address was made by ceiling or was checked.
pub fn link(address: &str, text: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escape(address), escape(text))
}

/// A number with its noun in the singular or plural, for example `3 entries`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_keep_their_parts_and_lose_their_markup() {
        let text = "One\nline <b>.\r\n\r\nTwo.\n\n\n";
        assert_eq!(paragraphs(text), "<p>One line &lt;b&gt;.</p>\n<p>Two.</p>\n");
        assert_eq!(lines("a\t<b>\n c"), "a    &lt;b&gt;\n c\n");
    }

    #[test]
    fn different_names_have_different_anchors() {
        let names = ["a b", "a_b", "a-b", "a+b", "a_20_b", "ä", "a/b", "A-B"];
        let anchors: std::collections::BTreeSet<_> = names.iter().map(|one| anchor(one)).collect();
        assert_eq!(anchors.len(), names.len());
        assert_eq!(anchor("a b"), "a_20_b");
        assert!(anchors.iter().all(|one| !one.contains([' ', '"', '<', '%'])));
    }
}
