//! Bodies with several parts, as a source wrote them.

use crate::draft::{Braces, Content, Part, Text};

/// The parts of a body; none if it has not the form that its type says.
pub fn parts(text: &str, media_type: &str, braces: Braces) -> Option<Vec<Part>> {
    let boundary = parameter(media_type, "boundary")?;
    let text = text.replace("\r\n", "\n");
    let mut parts = Vec::new();
    for part in text.split(&format!("--{boundary}")).skip(1) {
        if part.starts_with("--") {
            break;
        }
        let (head, content) = part.strip_prefix('\n')?.split_once("\n\n")?;
        let content = content.strip_suffix('\n').unwrap_or(content);
        let line = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(given, _)| given.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        let disposition = line("Content-Disposition")?;
        let media_type = line("Content-Type").unwrap_or_default().trim();
        // A file beside the source, as in request files.
        let path = content.trim().strip_prefix("< ").map(str::trim);
        let file = path.map(str::to_string).or_else(|| parameter(disposition, "filename"));
        let content = match file {
            Some(file) => Content::File(file, media_type.to_string()),
            None => Content::Text(Text::read(content, braces)),
        };
        parts.push(Part { name: parameter(disposition, "name")?, content });
    }
    (!parts.is_empty()).then_some(parts)
}

/// A parameter of a header: `; name="value"`.
fn parameter(header: &str, name: &str) -> Option<String> {
    let value = header.split(';').find_map(|part| {
        let (given, value) = part.split_once('=')?;
        given.trim().eq_ignore_ascii_case(name).then_some(value.trim())
    });
    value.map(|value| value.trim_matches('"').to_string())
}
