//! Notes of an entry: CommonMark and tables, rendered as harmless markup.
//!
//! In: the text in pieces, with references filled. Out: markup, and the words for the search. HTML
//! in the text is shown as text; links may go to the web, to mail or to a neighbouring page, and
//! other links are shown as text; pictures become links, because a page loads nothing.

use crate::markup::{TAB, escape};
use journal::language::{Fault, Filled, Piece, Value};
use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

/// Rendered notes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// For the page.
    pub markup: String,
    /// All words, for the search.
    pub words: String,
}

/// Delimiters of the number of a reference while CommonMark is parsed: private-use characters,
/// which are removed from the text first.
const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// Renders notes. `result` is the name of the result for paths that do not name one.
pub fn draw(pieces: &[Piece], result: &str) -> Drawn {
    let references = pieces.iter().filter_map(|piece| match piece {
        Piece::Reference(filled) => Some(filled),
        Piece::Text(_) => None,
    });
    let references: Vec<&Filled> = references.collect();
    let marked = marked(pieces);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(&marked, options);
    let (words, links) = (String::new(), Vec::new());
    let mut writer = Writer { references, result, words, links, code: None };
    let mut drawn = String::new();
    let written: Vec<Event<'_>> = events.flat_map(|event| writer.event(event)).collect();
    pulldown_cmark::html::push_html(&mut drawn, written.into_iter());
    Drawn { markup: drawn, words: writer.words }
}

/// The text with each reference replaced by its number.
fn marked(pieces: &[Piece]) -> String {
    let mut marked = String::new();
    let mut references = 0;
    for piece in pieces {
        match piece {
            Piece::Text(text) => marked.push_str(&text.replace([OPEN, CLOSE], "\u{fffd}")),
            Piece::Reference(_) => {
                marked.push_str(&format!("{OPEN}{references}{CLOSE}"));
                references += 1;
            }
        }
    }
    marked
}

struct Writer<'a> {
    references: Vec<&'a Filled>,
    result: &'a str,
    words: String,
    /// Open links, the outermost first.
    links: Vec<Link>,
    /// The text of the open code block.
    code: Option<String>,
}

impl<'a> Writer<'a> {
    fn event<'e>(&mut self, event: Event<'e>) -> Vec<Event<'e>> {
        match event {
            Event::Text(text) => self.text_event(&text),
            Event::Html(text) | Event::InlineHtml(text) => {
                vec![self.shown(&text)]
            }
            Event::Code(text) => {
                let inner = self.filled(&text);
                self.words(&text);
                vec![raw(format!("<code>{inner}</code>"))]
            }
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::SoftBreak | Event::HardBreak | Event::Rule => vec![event],
            // Extensions that are not enabled.
            _ => Vec::new(),
        }
    }

    fn text_event<'e>(&mut self, text: &str) -> Vec<Event<'e>> {
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return Vec::new();
        }
        vec![self.shown(text)]
    }

    fn start<'e>(&mut self, tag: Tag<'e>) -> Vec<Event<'e>> {
        match tag {
            // The page itself uses the first two levels.
            Tag::Heading { level, .. } => vec![raw(format!("<h{}>", lower(level)))],
            Tag::CodeBlock(_) => {
                self.code = Some(String::new());
                Vec::new()
            }
            Tag::Link { dest_url, link_type, .. } => {
                let mail = if link_type == LinkType::Email { "mailto:" } else { "" };
                self.open_link(&format!("{mail}{dest_url}"), "")
            }
            Tag::Image { dest_url, .. } => self.open_link(&dest_url, "picture: "),
            Tag::Table(_) => vec![raw(SCROLL.to_string()), Event::Start(tag)],
            // The text of the HTML follows in separate events.
            Tag::HtmlBlock => vec![raw("<p>".to_string())],
            other => vec![Event::Start(other)],
        }
    }

    fn end<'e>(&mut self, tag: TagEnd) -> Vec<Event<'e>> {
        match tag {
            TagEnd::Heading(level) => vec![raw(format!("</h{}>\n", lower(level)))],
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.words(&code);
                let inner: String = code.lines().map(|line| self.filled(line) + "\n").collect();
                vec![raw(format!("{PRE}{inner}</code></pre>\n"))]
            }
            TagEnd::Link | TagEnd::Image => match self.links.pop() {
                Some(Link::Followed) => vec![raw("</a>".to_string())],
                Some(Link::Address(address)) => vec![raw(format!(" ({})", escape(&address)))],
                Some(Link::Inner) | None => Vec::new(),
            },
            TagEnd::Table => vec![Event::End(tag), raw("</div>\n".to_string())],
            TagEnd::HtmlBlock => vec![raw("</p>\n".to_string())],
            other => vec![Event::End(other)],
        }
    }

    fn open_link<'e>(&mut self, address: &str, before: &str) -> Vec<Event<'e>> {
        let address = self.as_written(address);
        if !self.links.is_empty() {
            self.links.push(Link::Inner);
            return vec![raw(before.to_string())];
        }
        if is_safe(&address) {
            self.links.push(Link::Followed);
            return vec![raw(format!("<a href=\"{}\">{before}", escape(&address)))];
        }
        self.links.push(Link::Address(address));
        vec![raw(before.to_string())]
    }

    /// Text as markup; its words are added to the search.
    fn shown<'e>(&mut self, text: &str) -> Event<'e> {
        self.words(text);
        raw(self.filled(text))
    }

    fn words(&mut self, text: &str) {
        for part in self.parts(text) {
            match part {
                Part::Text(text) => self.words.push_str(text),
                Part::Reference(Filled { filled: Ok((_, shown)), .. }) => self.words += shown,
                Part::Reference(filled) => self.words += &filled.source,
            }
        }
        self.words.push(' ');
    }

    /// Escaped text, with figures in place of their numbers.
    fn filled(&self, text: &str) -> String {
        let shown = |part: Part<'_>| match part {
            Part::Text(text) => text
                .split('\n')
                .map(|line| escape(&line.replace('\t', TAB)))
                .collect::<Vec<_>>()
                .join("\n"),
            Part::Reference(filled) => reference(filled, self.result),
        };
        self.parts(text).into_iter().map(shown).collect()
    }

    /// An address with the source of each reference: figures are not filled in addresses.
    fn as_written(&self, address: &str) -> String {
        let written = |part: Part<'_>| match part {
            Part::Text(text) => text.to_string(),
            Part::Reference(filled) => format!("{{{{{}}}}}", filled.source),
        };
        self.parts(address).into_iter().map(written).collect()
    }

    fn parts<'t>(&self, text: &'t str) -> Vec<Part<'t>>
    where
        'a: 't,
    {
        let mut parts = Vec::new();
        for piece in text.split_inclusive(CLOSE) {
            let marked = piece.strip_suffix(CLOSE).and_then(|piece| piece.split_once(OPEN));
            let found = marked.and_then(|(before, nth)| {
                Some((before, self.references.get(nth.parse::<usize>().ok()?)?))
            });
            match found {
                Some((before, reference)) => {
                    parts.extend([Part::Text(before), Part::Reference(reference)]);
                }
                None => parts.push(Part::Text(piece)),
            }
        }
        parts
    }
}

/// An open link.
enum Link {
    /// It can be followed.
    Followed,
    /// Its address must not be followed and is shown after its text.
    Address(String),
    /// It is nested in another link, which is possible for pictures.
    Inner,
}

enum Part<'t> {
    Text(&'t str),
    Reference(&'t Filled),
}

/// A figure, marked as data with its source; or the error of the reference.
fn reference(of: &Filled, result: &str) -> String {
    let source = escape(&of.source);
    match &of.filled {
        Ok((value, shown)) => {
            let paths: Vec<String> = of.paths.iter().map(ToString::to_string).collect();
            let is_of_result =
                |path: &&String| path.starts_with("cells.") || path.starts_with("contrasts.");
            let from = match paths.iter().any(|path| is_of_result(&path)) {
                true => format!("data: {} of {result}", paths.join(", ")),
                false => format!("data: {}", paths.join(", ")),
            };
            let class =
                if matches!(value, Value::Unknown(_)) { "figure unknown" } else { "figure" };
            let shown = match shown.split_once(" (") {
                Some((middle, interval)) => format!(
                    "{} <span class=\"interval\">({}</span>",
                    escape(middle),
                    escape(interval)
                ),
                None => escape(shown),
            };
            format!("<span class=\"{class}\" title=\"{}\">{shown}</span>", escape(&from))
        }
        Err(Fault::Dangling { path, why }) => format!(
            "<span class=\"dangling\" title=\"{source}\">[{}: {}]</span>",
            escape(path),
            escape(why)
        ),
        Err(Fault::Wrong(why)) => format!(
            "<span class=\"dangling\" title=\"{source}\">[{source}: {}]</span>",
            escape(why)
        ),
    }
}

/// Wide tables scroll, by keyboard as well.
const SCROLL: &str =
    "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Table of the notes\">\n";
/// Code scrolls as well.
const PRE: &str = "<pre tabindex=\"0\"><code>";

fn raw<'e>(markup: String) -> Event<'e> {
    Event::InlineHtml(CowStr::from(markup))
}

/// Notes are below a heading of level 2. Their own headings start at level 2, as in a new entry,
/// and are moved down without skipping a level.
fn lower(level: HeadingLevel) -> usize {
    (level as usize + 1).clamp(3, 6)
}

/// Whether a reader may follow an address: web, mail, or a neighbouring page.
fn is_safe(address: &str) -> bool {
    if address.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        return false;
    }
    let (scheme, has_scheme) = match address.find([':', '/', '?', '#']) {
        Some(at) => (address[..at].to_ascii_lowercase(), address[at..].starts_with(':')),
        None => (String::new(), false),
    };
    match has_scheme {
        true => ["http", "https", "mailto"].contains(&scheme.as_str()),
        // `//host` is another host, and browsers treat a backslash as a slash.
        false => {
            !address.is_empty()
                && !address.starts_with('/')
                && !address.contains('\\')
                && is_inside(address)
        }
    }
}

/// Whether a relative address stays in the site. The page of an entry is one folder below its root.
fn is_inside(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let mut depth = 1i64;
    path.split('/').all(|part| {
        // Browsers take `%2e` for a dot.
        match part.to_ascii_lowercase().replace("%2e", ".").as_str() {
            ".." => depth -= 1,
            "." | "" => {}
            _ => depth += 1,
        }
        depth >= 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_in_the_site_or_goes_to_the_web() {
        for address in [
            "b.html#entry-notes",
            "../tags.html",
            "a/plan.toml",
            "a/../../index.html",
            "#x",
            "?a=../../..",
            "https://example.org/../x",
            "mailto:a@example.org",
        ] {
            assert!(is_safe(address), "{address}");
        }
        for address in [
            "../../x",
            "a/../../../x",
            "%2e%2E/../x",
            ".%2e/.%2e/x",
            ".././../x",
            "javascript:x",
            "JavaScript:x",
            "//host/x",
            "/x",
            "a\\b",
            "",
            "data:text/html,x",
            "java\nscript:x",
        ] {
            assert!(!is_safe(address), "{address}");
        }
    }
}
