//! Secrets of a draft become variables, whose values the user gives.

use crate::draft::{Body, Draft, Item, Piece, Place, Step, Text, variable};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::secret::{self, MASK, is_secret, is_secret_header};
use std::collections::BTreeMap;

/// A shorter value is sought nowhere else: any text may have it.
const SOUGHT_MIN_BYTES: usize = 6;
/// A shorter cookie with a harmless name is no secret.
const COOKIE_MIN_BYTES: usize = 8;
/// How a value of the header Authorization begins.
const SCHEMES: [&str; 4] = ["Bearer ", "Token ", "token ", "ApiKey "];

/// Makes a hole of each value that must not be in a file, the same for the same value.
pub fn hide(draft: &mut Draft) {
    let mut names = Names::default();
    for item in &mut draft.items {
        let Item::Step(step) = item else { continue };
        names.taken.extend(step.captures.iter().map(|capture| (capture.name.clone(), 1)));
        step.for_each_value(&mut |_, value| {
            names.taken.extend(value.holes().map(|name| (name.to_string(), 1)));
        });
    }
    for item in &mut draft.items {
        let Item::Step(step) = item else { continue };
        take_basic(step);
        step.for_each_value(&mut |place, value| match secret_of(place, value) {
            Some((name, at)) => names.replace(&name, value, at),
            None => names.replace_inside(place, value),
        });
    }
    // Also where they stand under another name, as in a form that asks twice.
    for item in &mut draft.items {
        let Item::Step(step) = item else { continue };
        if let Body::Text(text) = &step.body
            && text.as_plain().is_some_and(|plain| secret::text(plain) != plain)
        {
            step.notes.push("The body may have a secret; look at it.".to_string());
        }
        for (secret, name) in names.of_values.iter().filter(|(one, _)| is_sought(one)) {
            let mut is_changed = false;
            step.for_each_value(&mut |_, value| is_changed |= value.cut(secret, name));
        }
    }
}

fn is_sought(secret: &str) -> bool {
    secret.len() >= SOUGHT_MIN_BYTES
}

/// Name and password of a header are written as such.
fn take_basic(step: &mut Step) {
    let value = step.header("Authorization").and_then(Text::as_plain).unwrap_or_default();
    let encoded = value.strip_prefix("Basic ").unwrap_or_default().trim();
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some((user, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) {
        step.basic = Some((Text::plain(user), Text::plain(password)));
        step.drop_header("Authorization");
    }
}

/// The name of a secret, and where it begins in the value.
fn secret_of(place: Place<'_>, value: &Text) -> Option<(String, usize)> {
    let plain = value.as_plain().filter(|plain| !plain.is_empty())?;
    let whole = |name: &str| Some((name.to_string(), 0));
    match place {
        Place::Header(name) if name.eq_ignore_ascii_case("authorization") => {
            // A scheme alone, as before a login, is no secret.
            if SCHEMES.iter().any(|scheme| scheme.trim_end() == plain) {
                return None;
            }
            let scheme = SCHEMES.iter().find(|scheme| plain.starts_with(**scheme));
            Some(("token".to_string(), scheme.map_or(0, |scheme| scheme.len())))
        }
        Place::Header(name) if is_secret_header(name) => whole(name),
        Place::Cookie(name) if is_secret(name) || plain.len() >= COOKIE_MIN_BYTES => {
            Some((format!("cookie_{name}"), 0))
        }
        Place::Parameter(name) | Place::Member(name) if is_secret(name) => {
            // Numbers and texts; `true` is about a secret.
            (!["true", "false", "null"].contains(&plain)).then(|| whole(name)).flatten()
        }
        Place::Header(_) | Place::Cookie(_) | Place::Parameter(_) | Place::Member(_) => None,
        Place::Path | Place::Body => None,
    }
}

/// The variables of secrets.
#[derive(Default)]
struct Names {
    of_values: BTreeMap<String, String>,
    /// All names, also of captures and of holes of the source, with the last number behind each.
    taken: BTreeMap<String, usize>,
}

impl Names {
    fn replace(&mut self, name: &str, value: &mut Text, at: usize) {
        let plain = value.as_plain().unwrap_or_default().to_string();
        let (before, secret) = plain.split_at(at);
        let mut hole = Text::plain(before);
        hole.0.push(Piece::Hole(self.of(secret, name)));
        *value = hole;
    }

    /// The same for secrets in a longer text, such as those in a URL.
    fn replace_inside(&mut self, place: Place<'_>, value: &mut Text) {
        let plain = value.as_plain().unwrap_or_default().to_string();
        if !matches!(place, Place::Body | Place::Header(_)) && !plain.contains("://") {
            return;
        }
        let masked = secret::text(&plain);
        // Braces of a longer text could not stay beside holes.
        if plain.contains(MASK) || !masked.contains(MASK) || plain.contains("{{") {
            return;
        }
        let mut rest = plain.as_str();
        let mut written = Text::default();
        for (place, part) in masked.split(MASK).enumerate() {
            let Some(at) = (if part.is_empty() { Some(rest.len()) } else { rest.find(part) })
            else {
                return;
            };
            let at = if place == 0 { 0 } else { at };
            if at > 0 {
                written.0.push(Piece::Hole(self.of(&rest[..at], "secret")));
            }
            written.push_plain(part);
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        *value = written;
    }

    fn of(&mut self, secret: &str, name: &str) -> String {
        if let Some(known) = self.of_values.get(secret) {
            return known.clone();
        }
        // A variable of the environment can have this name, and `try` never shows its value.
        let name = variable(name).replace(['-', '.'], "_");
        let name = if is_secret(&name) { name } else { format!("secret_{name}") };
        let mut number = self.taken.get(&name).map_or(0, |last| *last);
        let free = loop {
            number += 1;
            let free = if number == 1 { name.clone() } else { format!("{name}_{number}") };
            if !self.taken.contains_key(&free) {
                break free;
            }
        };
        self.taken.insert(name, number);
        self.taken.entry(free.clone()).or_insert(1);
        self.of_values.insert(secret.to_string(), free.clone());
        free
    }
}
