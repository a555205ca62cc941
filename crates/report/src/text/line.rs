//! A line of painted spans.

use super::{Letters, Paint, Style};
use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// The role of a span; the style decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Strong,
    Faint,
    Good,
    Caution,
    Bad,
    /// A command that can be pasted.
    Command,
    /// What else can be done.
    Advice,
}

impl Ink {
    const ALL: [Self; 8] = [
        Self::Plain,
        Self::Strong,
        Self::Faint,
        Self::Good,
        Self::Caution,
        Self::Bad,
        Self::Command,
        Self::Advice,
    ];

    /// The escape of an ink, or the one that ends it, if a text begins with one.
    pub(super) fn escape_at(text: &str) -> Option<&str> {
        let rest = text.strip_prefix("\x1b[")?;
        let (code, behind) = rest.split_once('m')?;
        let is_ink = code == "0" || Self::ALL.iter().any(|ink| ink.code() == code);
        (is_ink && !code.is_empty()).then(|| &text[..text.len() - behind.len()])
    }

    /// The numbers of an ANSI escape. Only the sixteen colours that every terminal has and that
    /// follow the user's palette.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "1;32",
            Self::Caution => "1;33",
            Self::Bad => "1;31",
            Self::Command | Self::Advice => "36",
        }
    }
}

/// A line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextLine {
    spans: Vec<(Ink, String)>,
}

impl TextLine {
    pub(super) fn painted(ink: Ink, text: String) -> Self {
        Self { spans: vec![(ink, text)] }
    }

    pub(super) fn then(mut self, ink: Ink, text: String) -> Self {
        self.spans.push((ink, text));
        self
    }

    /// Appends the line with a line feed, without trailing white space.
    pub(super) fn write(&self, style: Style, text: &mut String) {
        let visible = self.spans.iter().rposition(|(_, span)| !span.trim_end().is_empty());
        for (index, (ink, span)) in self.spans.iter().enumerate() {
            let span = match visible {
                Some(last) if index < last => span.as_str(),
                Some(last) if index == last => span.trim_end(),
                _ => break,
            };
            let span = match style.letters {
                Letters::Unicode => Cow::Borrowed(span),
                Letters::Ascii => Cow::Owned(ascii(span)),
            };
            match (style.paint, ink.code()) {
                (Paint::None, _) | (Paint::Ansi, "") => text.push_str(&span),
                (Paint::Ansi, code) => text.push_str(&format!("\x1b[{code}m{span}\x1b[0m")),
            }
        }
        text.push('\n');
    }
}

/// The text in ASCII and as wide: blocks and lines become letters of about the same weight.
pub(super) fn ascii(text: &str) -> String {
    let letter = |letter: char| match letter {
        '█' | '▉' | '▊' | '▇' => '#',
        '▆' => '*',
        '▋' | '▅' => '+',
        '▄' => '=',
        '▃' => '-',
        '▂' => '.',
        '▁' => '_',
        '▌' | '▍' | '▎' | '▏' | '▕' | '│' | '┃' | '├' | '┤' => '|',
        '─' => '-',
        '•' | '●' => 'o',
        '×' => 'x',
        '░' => '.',
        '≤' => '<',
        '…' => '~',
        other if other.is_ascii() => other,
        _ => '?',
    };
    let as_wide = |one: char| std::iter::repeat_n(letter(one), one.width().unwrap_or(0));
    text.chars().flat_map(as_wide).collect()
}
