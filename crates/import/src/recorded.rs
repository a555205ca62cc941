//! What a recording tells of steps besides their requests: think times, cookies that responses set,
//! and values of responses that later requests send.

use crate::draft::{Capture, Draft, Item, Place, Recorded, Step, variable};
use crate::write::{jsonpath, last_name, quoted};
use model::flow::Key;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A shorter value may be the same by chance.
const VALUE_MIN_BYTES: usize = 8;
/// A value without a digit may be a word up to here.
const WORD_MAX_BYTES: usize = 20;
/// A longer one is a document, and not a value.
const VALUE_MAX_BYTES: usize = 8192;
/// Most captures of a flow.
const CAPTURES_MAX: usize = 150;
/// A shorter time between two requests is the browser's, milliseconds.
const DELAY_MIN_MS: i64 = 100;
/// Values of one response that are looked at.
const VALUES_MAX: usize = 2000;
/// Values of all responses that are looked at.
const GIVEN_MAX: usize = 200_000;
/// Texts in which a value is sought: those of so many responses before the request.
const TEXTS_MAX: usize = 8;
/// Bytes of texts that are looked through for all values together.
const SOUGHT_MAX: usize = 8 << 30;
/// Bytes before a value that tell where it is.
const CONTEXT_MIN_BYTES: usize = 12;
const CONTEXT_MAX_BYTES: usize = 60;
/// Cookies that only count visits.
const COUNTERS: [&str; 9] =
    ["_ga", "_gid", "_gat", "_gcl", "_fbp", "_hj", "__utm", "_uetsid", "_clck"];
/// Header fields of requests whose values no response gives.
const OF_CLIENTS: [&str; 7] =
    ["accept", "accept-language", "content-type", "origin", "referer", "user-agent", "host"];
/// Header fields of responses that say nothing that is sent again.
const OF_SERVERS: [&str; 9] = [
    "cache-control",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "server",
    "set-cookie",
    "vary",
];

/// Adds to the steps of a draft what their recording tells.
pub fn link(draft: &mut Draft) {
    let mut steps: Vec<&mut Box<Step>> = draft.items.iter_mut().filter_map(step).collect();
    delays(&mut steps);
    jar(&mut steps);
    if !captures(&mut steps, SOUGHT_MAX) {
        draft.notes.push(format!(
            "Some values that a response gave may have no capture: there are at most \
             {CAPTURES_MAX}, and in a long recording not every page is looked through."
        ));
    }
}

fn step(item: &mut Item) -> Option<&mut Box<Step>> {
    match item {
        Item::Step(step) if step.recorded.is_some() => Some(step),
        _ => None,
    }
}

/// Think time is what passed since all requests before were answered.
fn delays(steps: &mut [&mut Box<Step>]) {
    let mut idle_ms: Option<i64> = None;
    for step in steps {
        let Some((begin, end)) = step.recorded.as_ref().and_then(|recorded| recorded.took_ms)
        else {
            continue;
        };
        let gap = idle_ms.map_or(0, |idle| begin - idle);
        if gap >= DELAY_MIN_MS {
            step.options.push(format!("delay: {}ms", gap - gap % 10));
        }
        idle_ms = Some(idle_ms.map_or(end, |idle| idle.max(end)));
    }
}

/// Leaves out cookies that a response before has set.
fn jar(steps: &mut [&mut Box<Step>]) {
    let mut set = BTreeSet::new();
    for step in steps {
        step.cookies.retain(|(name, _)| {
            let is_counter = COUNTERS.iter().any(|counter| name.starts_with(counter));
            !set.contains(name) && !is_counter
        });
        let headers = step.recorded.iter().flat_map(|recorded| &recorded.headers);
        for (_, value) in headers.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
            // Firefox writes all of them into one field, a line each.
            for line in value.lines() {
                set.extend(line.split_once('=').map(|(name, _)| name.trim().to_string()));
            }
        }
    }
}

/// Where a value of a response is.
#[derive(Clone)]
struct Source {
    step: usize,
    name: String,
    query: String,
}

/// Makes captures of values that responses give and later requests send; false if there may be
/// more. `room` is how many bytes of texts are looked through.
fn captures(steps: &mut [&mut Box<Step>], mut room: usize) -> bool {
    let mut is_whole = true;
    let mut given: BTreeMap<String, Source> = BTreeMap::new();
    let mut sent = BTreeSet::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for at in 0..steps.len() {
        let (before, rest) = steps.split_at_mut(at);
        let step = &mut rest[0];
        let mut found: Vec<(String, Source)> = Vec::new();
        step.for_each_value(&mut |place, value| {
            for word in words(place, value.as_plain().unwrap_or_default()) {
                if !names.contains_key(&word) && !sent.contains(&word) {
                    let source = given.get(&word).cloned();
                    let source = source.or_else(|| in_texts(before, &word, place, &mut room));
                    is_whole &= room > 0 && (source.is_none() || names.len() < CAPTURES_MAX);
                    if let Some(source) = source.filter(|_| names.len() < CAPTURES_MAX) {
                        let name = free(&source.name, &names);
                        names.insert(word.clone(), name);
                        found.push((word.clone(), source));
                    }
                }
                match names.get(&word) {
                    Some(name) => {
                        value.cut(&word, name);
                    }
                    None => {
                        sent.insert(word);
                    }
                }
            }
        });
        for (word, source) in found {
            let capture = Capture { name: names[&word].clone(), query: source.query };
            before[source.step].captures.push(capture);
        }
        if let Some(recorded) = &step.recorded {
            for (value, source) in values(recorded, at) {
                let is_new = !sent.contains(&value) && !names.contains_key(&value);
                if is_new && given.len() < GIVEN_MAX {
                    given.entry(value).or_insert(source);
                }
            }
        }
    }
    is_whole
}

/// Whether a value looks like one that a server drew, and not like a word of its language.
fn is_drawn(value: &str) -> bool {
    (VALUE_MIN_BYTES..VALUE_MAX_BYTES).contains(&value.len())
        && !value.contains(['\n', '\r'])
        && (value.bytes().any(|byte| byte.is_ascii_digit())
            || (value.len() >= WORD_MAX_BYTES && !value.contains(char::is_whitespace)))
}

/// The words of a request that a response may have given.
fn words(place: Place<'_>, value: &str) -> Vec<String> {
    let words: Vec<&str> = match place {
        Place::Path => value.split('/').collect(),
        Place::Header(name) if OF_CLIENTS.contains(&name.to_ascii_lowercase().as_str()) => {
            Vec::new()
        }
        Place::Header(_) => vec![value.rsplit(' ').next().unwrap_or(value)],
        Place::Parameter(_) | Place::Member(_) => vec![value],
        Place::Cookie(_) | Place::Body => Vec::new(),
    };
    words.into_iter().filter(|word| is_drawn(word)).map(str::to_string).collect()
}

/// A name that no other capture has.
fn free(name: &str, names: &BTreeMap<String, String>) -> String {
    let name = variable(name);
    let is_taken = |name: &String| names.values().any(|taken| taken == name) || name == "base";
    let more = (2..).map(|number| format!("{name}_{number}"));
    [name.clone()].into_iter().chain(more).find(|name| !is_taken(name)).unwrap_or(name)
}

/// The values of a response, each with where it is.
fn values(recorded: &Recorded, step: usize) -> Vec<(String, Source)> {
    let mut values = Vec::new();
    for (name, value) in &recorded.headers {
        if !OF_SERVERS.contains(&name.to_ascii_lowercase().as_str()) {
            let query = format!("header {}", quoted(name));
            values.push((value.clone(), Source { step, name: name.clone(), query }));
        }
    }
    if recorded.body.trim_start().starts_with(['{', '['])
        && let Ok(document) = serde_json::from_str::<Value>(&recorded.body)
    {
        in_json(&document, &mut Vec::new(), &mut |keys, value| {
            if values.len() < VALUES_MAX
                && let Some(query) = jsonpath(keys)
            {
                let name = last_name(keys).unwrap_or("value").to_string();
                values.push((value, Source { step, name, query }));
            }
        });
    }
    values.retain(|(value, _)| is_drawn(value));
    values
}

fn in_json(value: &Value, keys: &mut Vec<Key>, each: &mut dyn FnMut(&[Key], String)) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                keys.push(Key::Name(name.clone()));
                in_json(value, keys, each);
                keys.pop();
            }
        }
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                keys.push(Key::Nth(place as u32));
                in_json(value, keys, each);
                keys.pop();
            }
        }
        Value::String(text) => each(keys, text.clone()),
        Value::Number(number) => each(keys, number.to_string()),
        Value::Bool(_) | Value::Null => {}
    }
}

/// A value in the page, or in a longer header, of a response before; none if the room is used up.
fn in_texts(
    before: &[&mut Box<Step>],
    value: &str,
    place: Place<'_>,
    room: &mut usize,
) -> Option<Source> {
    let name = match place {
        Place::Parameter(name) | Place::Header(name) | Place::Member(name) => name,
        Place::Cookie(_) | Place::Path | Place::Body => "id",
    };
    let source = |step, query| Source { step, name: name.to_string(), query };
    for (at, step) in before.iter().enumerate().rev().take(TEXTS_MAX) {
        let Some(recorded) = &step.recorded else { continue };
        let location =
            recorded.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
        if let Some(pattern) = location.and_then(|(_, text)| pattern(text, value)) {
            return Some(source(at, format!("header \"Location\" regex {pattern}")));
        }
        if recorded.body.trim_start().starts_with(['{', '[']) {
            continue;
        }
        *room = room.saturating_sub(recorded.body.len());
        if *room == 0 {
            return None;
        }
        if let Some(pattern) = pattern(&recorded.body, value) {
            return Some(source(at, format!("regex {pattern}")));
        }
    }
    None
}

/// A regular expression whose group is the value, by what is before and behind it.
fn pattern(text: &str, value: &str) -> Option<String> {
    let at = crate::draft::place_of(text, value)?;
    let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let mut first = at.saturating_sub(CONTEXT_MAX_BYTES).max(line);
    while !text.is_char_boundary(first) {
        first += 1;
    }
    // From the begin of a word that is far enough away, or else from the first letter.
    let is_end = |letter: char| letter.is_whitespace() || "<>,;{".contains(letter);
    let words = text[first..at].rmatch_indices(is_end).map(|(end, word)| first + end + word.len());
    let far = words.filter(|begin| at - begin >= CONTEXT_MIN_BYTES).chain([first]);
    let begin = far.into_iter().find(|begin| text.find(&text[*begin..at]) == Some(*begin))?;
    let before = &text[begin..at];
    if before.is_empty() {
        return None;
    }
    let behind = text[at + value.len()..].chars().next();
    let group = match behind {
        Some(end) if value.contains(end) => return None,
        Some(end) if !end.is_whitespace() => format!("([^{}]+)", escaped(&end.to_string())),
        _ if value.contains(char::is_whitespace) => return None,
        _ => "([^ \\t\\r\\n]+)".to_string(),
    };
    Some(quoted(&format!("{}{group}", escaped(before))))
}

/// The text as a part of a regular expression.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Text;

    #[test]
    fn so_many_bytes_are_looked_through_and_no_more() {
        let captured = |room| {
            let recorded = Recorded { body: "<a id=\"value-1234\">".into(), ..Recorded::default() };
            let page = Step { recorded: Some(Box::new(recorded)), ..Step::default() };
            let path = Text::plain("/value-9999/value-1234");
            let next = Step { path, recorded: Some(Box::default()), ..Step::default() };
            let mut steps = [Box::new(page), Box::new(next)];
            let is_whole = captures(&mut steps.each_mut(), room);
            (steps[0].captures.len(), is_whole)
        };
        assert_eq!(captured(1000), (1, true));
        assert_eq!(captured(25), (0, false), "of the second value no byte");
    }
}
