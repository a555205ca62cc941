//! Text from the other end, made safe for a log and a terminal.

/// The text with each character that controls instead of prints replaced by its escape.
pub fn printable(text: &str) -> String {
    model::printable::printable(text).into_owned()
}
