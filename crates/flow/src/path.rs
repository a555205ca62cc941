//! Paths to a value of JSON: names and places, one inside the other.

use model::flow::Key;

/// Most steps of a path.
pub const STEPS_MAX: usize = 32;

/// Reads a path such as `$.items[0].id`.
pub fn parse(text: &str) -> Result<Vec<Key>, String> {
    let wrong = |why: String| {
        format!(
            "jsonpath \"{text}\": {why}; accepted are names, places and [*], as in $.items[0].id, \
             $['a b'] or $.items[*].id"
        )
    };
    let mut rest = text.trim().strip_prefix('$').ok_or_else(|| wrong("it has no $".into()))?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let (key, after) = key(rest).map_err(wrong)?;
        keys.push(key);
        rest = after;
    }
    match keys.len() <= STEPS_MAX {
        true => Ok(keys),
        false => Err(wrong(format!("it has more than {STEPS_MAX} steps"))),
    }
}

fn key(rest: &str) -> Result<(Key, &str), String> {
    if rest.starts_with("..") {
        return Err("it looks at every depth, and ceiling reads one value as it arrives".into());
    }
    if let Some(name) = rest.strip_prefix('.') {
        if name.starts_with('*') {
            return Err("it stands for any name".into());
        }
        let end = name.find(['.', '[', ' ']).unwrap_or(name.len());
        return match end {
            0 => Err("a name is missing after a dot".into()),
            _ => Ok((Key::Name(name[..end].to_string()), &name[end..])),
        };
    }
    let inside = rest.strip_prefix('[').ok_or_else(|| format!("'{rest}' is no step of a path"))?;
    if let Some(quote) = inside.chars().next().filter(|quote| "'\"".contains(*quote)) {
        let closing = format!("{quote}]");
        let (name, after) = inside[1..].split_once(&closing).ok_or("a name in [''] has no end")?;
        return Ok((Key::Name(name.to_string()), after));
    }
    let (place, after) = inside.split_once(']').ok_or("a [ is not closed")?;
    if place.trim() == "*" {
        return Ok((Key::All, after));
    }
    match place.trim().parse() {
        Ok(place) => Ok((Key::Nth(place), after)),
        Err(_) if place.starts_with('?') => Err("a filter looks at many values".into()),
        Err(_) if place.contains(['*', ':', ',']) => Err("it stands for many values".into()),
        Err(_) => Err(format!("[{place}] is no place from 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_are_read() {
        let name = |text: &str| Key::Name(text.to_string());
        for (text, keys) in [
            ("$", vec![]),
            ("$.token", vec![name("token")]),
            ("$.items[10].id", vec![name("items"), Key::Nth(10), name("id")]),
            ("$['a.b'][\"c d\"]", vec![name("a.b"), name("c d")]),
            ("$[0][1]", vec![Key::Nth(0), Key::Nth(1)]),
            ("$.a[*].b", vec![name("a"), Key::All, name("b")]),
        ] {
            assert_eq!(parse(text), Ok(keys), "{text}");
        }
    }

    #[test]
    fn what_stands_for_many_values_is_refused() {
        for text in ["$.*", "$..id", "$[?(@.a==1)]", "$[0:2]", "$[-1]", "id", "$.", "$[", "$['a"] {
            let why = parse(text).unwrap_err();
            assert!(why.contains("accepted are names, places"), "{text}: {why}");
        }
    }
}
