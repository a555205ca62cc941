//! Escapes untrusted text for markup and scripts.

use crate::page::is_drawable;
use model::printable::printable;
use serde::Serialize;
use serde_json::Value;

/// Text for an element or a quoted attribute of HTML or XML. Control characters and those that
/// change the direction of text become visible.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in printable(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON for a script element. The HTML parser looks for `</script` and `<!--` before the JSON is
/// parsed, so no `<` may remain; characters outside ASCII are escaped as well, including line
/// separators and marks that reverse the direction of text.
pub(super) fn json_for_script(value: &impl Serialize) -> String {
    // Keys are strings, and writing to memory cannot fail.
    let json = serde_json::to_string(value).expect("the data of a page is representable");
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{7f}'.. => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// Data of charts with six significant digits: more than a screen shows, at half the size. A value
/// that no axis can show is a gap: scripts draw the labels of an axis until they reach its end.
pub(super) fn shortened(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or(Value::Null);
    shorten(&mut value);
    value
}

fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Number(number) => {
            let Some(exact) = number.as_f64().filter(|_| number.is_f64()) else { return };
            let short: f64 = format!("{exact:.5e}").parse().unwrap_or(exact);
            if !is_drawable(short) {
                *value = Value::Null;
            } else if short.fract() == 0.0 && short.abs() < 1e15 {
                *value = Value::from(short as i64);
            } else {
                *value = Value::from(short);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_cannot_be_left() {
        let escaped = escape("</td><script>\"'&\u{202e}");
        assert_eq!(escaped, "&lt;/td&gt;&lt;script&gt;&quot;&#39;&amp;\\u{202e}");
    }

    #[test]
    fn a_script_cannot_be_left_and_json_stays_the_same() {
        let text = "</script><!-- \u{2028} \u{202e} räk 😀 & \\ \"";
        let json = json_for_script(&text);
        assert!(json.is_ascii() && !json.contains(['<', '>', '&']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn numbers_are_short_and_whole_where_they_can_be() {
        let json = shortened(&[400.0, 0.1234567891, 48_213.74]).to_string();
        assert_eq!(json, "[400,0.123457,48213.7]");
        assert_eq!(shortened(&u64::MAX).to_string(), u64::MAX.to_string());
        let odd = [f64::NAN, 1e308, -1e308, 5e-324, 0.0];
        assert_eq!(shortened(&odd).to_string(), "[null,null,null,null,0]");
    }
}
