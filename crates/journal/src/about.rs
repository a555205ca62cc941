//! `journal.toml`: title and description of the journal.

use crate::text::{check_line, parse};
use serde::{Deserialize, Serialize};

/// Title and description of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its title.
    pub title: String,
    /// What it is about, in a few sentences; empty when not given.
    #[serde(default)]
    pub description: Option<String>,
    /// Where its site is published, for the feed; nothing when it is not published.
    #[serde(default)]
    pub url: Option<String>,
}

/// Most characters of a description.
const DESCRIPTION_MAX: usize = 2000;

impl About {
    /// Reads `journal.toml`. The error says what is wrong and what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let about: Self = parse(text)?;
        check_line("title", &about.title, 200)?;
        if about.description.as_ref().is_some_and(|text| text.len() > DESCRIPTION_MAX) {
            return Err(format!("description has more than {DESCRIPTION_MAX} characters"));
        }
        let is_web = |url: &String| {
            let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_graphic()))
        };
        match &about.url {
            Some(url) if !is_web(url) => Err(format!(
                "url '{url}' is not an http or https address; for example url = \
                 \"https://example.org/journal/\""
            )),
            _ => Ok(about),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_all_that_is_needed() {
        let about = About::parse("title = \"Ours\"").unwrap();
        assert_eq!((about.title.as_str(), about.url), ("Ours", None));
        for (text, said) in [
            ("", "missing field `title`"),
            ("titel = \"a\"", "line 1: unknown field `titel`, expected one of `title`"),
            ("title = \"a\"\nurl = \"javascript:x\"", "for example url"),
            ("title = \"\"", "1 to 200 characters"),
        ] {
            let error = About::parse(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
