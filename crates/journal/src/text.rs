//! Reads a TOML file of the journal, or says in which line it is wrong.

use serde::de::DeserializeOwned;

/// Reads a file. The error is one line with the position; for an unknown key it lists the known
/// ones.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map(|span| text.get(..span.start).unwrap_or(text));
        let line = before.map(|before| 1 + before.matches('\n').count());
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        format!("{place}{}", error.message().replace('\n', ", "))
    })
}

/// Checks that a text is one line of at most this many characters.
pub fn check_line(key: &str, text: &str, letters_max: usize) -> Result<(), String> {
    let count = text.chars().count();
    if text.trim().is_empty() || count > letters_max || text.chars().any(char::is_control) {
        return Err(format!(
            "{key} is not one line of 1 to {letters_max} characters; for example {key} = \"Do \
             compressed responses help?\""
        ));
    }
    Ok(())
}
