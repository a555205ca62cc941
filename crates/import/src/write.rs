//! A draft as the text of a flow.
//!
//! Each step is read back alone before it is taken: one that a flow cannot have is left out, with
//! the reason.

use crate::draft::{BASE, Body, Content, Draft, Item, Left, Pairs, Part, Piece, Step, Text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flow::{Given, VARIABLES_MAX};
use model::flow::Key;
use model::secret;
use std::collections::BTreeSet;

/// Most bytes of all steps: the comments at the beginning of the flow have the rest.
const STEPS_BYTES_MAX: usize = flow::FILE_MAX / 4 * 3;
/// Requests in a row that are left out are listed up to here, and counted beyond.
const LISTED_MAX: usize = 3;
/// Variables that the summary names.
const GIVEN_MAX: usize = 6;
/// Columns of comments.
const COLUMNS: usize = 96;

/// A flow, and what is to be said of it.
#[derive(Debug)]
pub struct Written {
    /// The text of the file.
    pub text: String,
    /// What was left out, and which variables are to be given; a line each.
    pub summary: Vec<String>,
}

/// Writes a draft whose server is chosen; `from` is the name of its source.
pub fn write(mut draft: Draft, from: &str) -> Result<Written, String> {
    let server = draft.server.clone().unwrap_or_default();
    let mut needs = Needs::default();
    let mut body = String::new();
    let (mut lefts, mut row, mut steps) = (Vec::new(), Vec::new(), 0);
    for item in std::mem::take(&mut draft.items) {
        let left = match item {
            Item::Left(left) => left,
            Item::Title(title) => {
                body += &format!("{}\n{}", lefts_text(&mut row), comment(&title));
                continue;
            }
            Item::Step(step) => {
                let room = STEPS_BYTES_MAX.saturating_sub(body.len());
                match written(*step, &mut needs, steps + 1, room) {
                    Ok(text) => {
                        body += &lefts_text(&mut row);
                        body += &text;
                        steps += 1;
                        continue;
                    }
                    Err(left) => left,
                }
            }
        };
        lefts.push(left.clone());
        row.push(left);
    }
    if let (0, Some(first)) = (steps, lefts.first()) {
        return Err(format!("no request of it can be in a flow: {} ({})", first.what, first.why));
    }
    body += &lefts_text(&mut row);
    let counted = counted(steps, &lefts);
    let mut head = comment(&format!("{} from {from}", plural(steps, "step")));
    head += &needs.shown(&server, &draft.meanings);
    for note in draft.notes.iter().chain(&counted) {
        head += &comment(note);
    }
    let mut summary: Vec<String> = counted.into_iter().collect();
    summary.insert(0, format!("{} from {from}", plural(steps, "step")));
    let options = needs.options(&server);
    let more = match options.len().saturating_sub(GIVEN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more, which the flow lists at its beginning"),
    };
    let options = options[..options.len().min(GIVEN_MAX)].join(" ");
    summary.push(format!("give {options}{more}"));
    Ok(Written { text: format!("{head}\n{}", body.trim_start_matches('\n')), summary })
}

/// What is left out, counted by its reasons.
fn counted(steps: usize, lefts: &[Left]) -> Option<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for left in lefts {
        match reasons.iter_mut().find(|(why, _)| *why == left.why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((&left.why, 1)),
        }
    }
    // One word is a thing, which has a plural.
    let named = |why: &str, count: usize| match why.contains(' ') {
        true => format!("{count} {why}"),
        false => plural(count, why),
    };
    let reasons: Vec<String> = reasons.iter().map(|(why, count)| named(why, *count)).collect();
    let (left, all) = (lefts.len(), lefts.len() + steps);
    (left > 0).then(|| format!("{left} of {all} requests left out: {}", reasons.join(", ")))
}

/// Requests in a row that are left out, as comments; takes them.
fn lefts_text(row: &mut Vec<Left>) -> String {
    let row = std::mem::take(row);
    let mut text = String::new();
    if row.len() > LISTED_MAX {
        let counted = counted(0, &row).unwrap_or_default();
        let counted = counted.split_once(": ").map_or("", |(_, reasons)| reasons);
        return format!("\n{}", comment(&format!("Left out here: {counted}")));
    }
    for left in &row {
        text += &comment(&format!("Left out ({}): {}", left.why, left.what));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn plural(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Lines of a comment, without secrets.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    for line in secret::text(text).lines() {
        let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
        let indent = &line[..line.len() - line.trim_start().len()];
        let mut row = format!("#{indent}");
        for word in line.split_whitespace() {
            if row.chars().count() + word.chars().count() >= COLUMNS && row.len() > 4 {
                lines += &format!("{row}\n");
                row = format!("#{indent}  ");
            }
            row += if row.ends_with(' ') { "" } else { " " };
            row += word;
        }
        lines += &format!("{row}\n");
    }
    lines
}

/// Variables that the user gives.
#[derive(Default)]
struct Needs {
    captured: BTreeSet<String>,
    /// Name, and the step that needs it first.
    given: Vec<(String, usize)>,
}

impl Needs {
    /// Takes note of what a step needs and captures.
    fn take(&mut self, step: &mut Step, number: usize) {
        for name in holes(step) {
            let is_known = self.given.iter().any(|(given, _)| *given == name);
            let is_own = name == BASE || self.captured.contains(&name) || is_drawn(&name);
            if !is_known && !is_own {
                self.given.push((name, number));
            }
        }
        self.captured.extend(step.captures.iter().map(|capture| capture.name.clone()));
    }

    /// How many variables are captured together with those of a step.
    fn captured_with(&self, step: &Step) -> usize {
        let own = step.captures.iter().map(|capture| &capture.name);
        self.captured.iter().chain(own).collect::<BTreeSet<_>>().len()
    }

    /// The options of a command line that takes the flow.
    fn options(&self, server: &str) -> Vec<String> {
        let value = if is_known(server) { server } else { "URL" };
        let base = format!("--variable {BASE}={value}");
        let others = self.given.iter().map(|(name, _)| match secret::is_secret(name) {
            true => format!("--secret-env {name}"),
            false => format!("--variable {name}=VALUE"),
        });
        [base].into_iter().chain(others).collect()
    }

    fn shown(&self, server: &str, meanings: &[(String, String)]) -> String {
        let mut text = comment("Give these to ceiling:");
        for (place, option) in self.options(server).iter().enumerate() {
            let about = match place.checked_sub(1).map(|place| &self.given[place]) {
                None if is_known(server) => "the server".to_string(),
                None => format!("the server; {server} in the source"),
                Some((name, step)) => {
                    let meaning = meanings.iter().find(|(of, _)| of == name);
                    let meaning = meaning.map_or(String::new(), |(_, what)| format!("; {what}"));
                    format!("first in step {step}{meaning}")
                }
            };
            text += &comment(&format!("  {option} ({about})"));
        }
        text
    }
}

fn is_known(server: &str) -> bool {
    !server.is_empty() && !server.contains("{{")
}

/// Whether a flow fills such a hole itself.
fn is_drawn(name: &str) -> bool {
    ["newUuid", "newDate", "user", "seq"].contains(&name) || name.starts_with("random:")
}

/// The names of all holes of a step.
fn holes(step: &mut Step) -> Vec<String> {
    let mut names = Vec::new();
    step.for_each_value(&mut |_, value| names.extend(value.holes().map(str::to_string)));
    names
}

/// The text of a step, if a flow can have it.
fn written(mut step: Step, needs: &mut Needs, number: usize, room: usize) -> Result<String, Left> {
    let text = step_text(&mut step);
    let mut given = Given { base: Some("http://127.0.0.1".to_string()), ..Given::default() };
    let names = holes(&mut step).into_iter().chain([BASE.to_string()]);
    given.variables = names.map(|name| (name, "http://127.0.0.1".to_string())).collect();
    let what = step.title();
    let left = |why: &str| Err(Left::new(&what, why));
    let impossible = |why| Err(Left::new(&format!("{what}: {why}"), "impossible in a flow"));
    match flow::read("step", &text, &given, &mut |_| Ok(Vec::new())) {
        Ok(flow) if flow.steps.len() != 1 => {
            impossible("it reads as more than one step".to_string())
        }
        Err(wrong) => impossible(wrong.what),
        Ok(_) if text.len() > room => left(&format!("beyond {} MiB", STEPS_BYTES_MAX >> 20)),
        Ok(_) if needs.captured_with(&step) > VARIABLES_MAX => {
            left(&format!("beyond {VARIABLES_MAX} captured variables"))
        }
        Ok(_) => {
            needs.take(&mut step, number);
            Ok(text)
        }
    }
}

fn step_text(step: &mut Step) -> String {
    let body = body_text(step);
    let mut text = String::from("\n");
    for note in &step.notes {
        text += &comment(note);
    }
    for file in step.files() {
        text += &comment(&format!("Needs the file {file}"));
    }
    let path = if step.path.0.is_empty() { "/".to_string() } else { line(&step.path) };
    let mut url = format!("{{{{{BASE}}}}}{path}");
    let has_hole = step.query.has_hole();
    if !has_hole && !step.query.raw.is_empty() {
        url += &format!("?{}", line(&Text::plain(step.query.raw.clone())));
    }
    text += &format!("{} {url}\n", step.method);
    for (name, value) in &step.headers {
        match is_header_name(name) {
            true => text += &pair(name, value),
            false => text += &comment(&format!("Left out: the header {name}; the name is no name")),
        }
    }
    let mut options = step.options.clone();
    if let Some((user, password)) = &step.basic {
        let user = line(user).replace(':', "\\u{3a}");
        options.push(format!("user: {user}:{}", line(password)));
    }
    text += &section("Options", options.iter().map(|option| format!("{option}\n")));
    if has_hole {
        text += &pairs_text("Query", &step.query);
    }
    let (good, bad): (Vec<_>, Vec<_>) =
        step.cookies.iter().partition(|(name, _)| is_header_name(name));
    for (name, _) in bad {
        text += &comment(&format!("Left out: the cookie {name}; the name is no name"));
    }
    text += &section("Cookies", good.iter().map(|(name, value)| pair(name, value)));
    text += &body;
    match step.status {
        Some(status) => text += &format!("HTTP {status}\n"),
        None if !step.captures.is_empty() => text += "HTTP *\n",
        None => {}
    }
    let captures = step.captures.iter();
    text += &section(
        "Captures",
        captures.map(|capture| format!("{}: {}\n", capture.name, capture.query)),
    );
    text
}

fn section(name: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("[{name}]\n{lines}") }
}

fn pairs_text(name: &str, pairs: &Pairs) -> String {
    section(name, pairs.pairs.iter().map(|(name, value)| pair(&key(name), value)))
}

/// The body as text, without the header that it stands for.
fn body_text(step: &mut Step) -> String {
    let media_type = step.header("Content-Type").and_then(Text::as_plain).map(str::to_string);
    let is = |kind: &str| media_type.as_deref() == Some(kind);
    match std::mem::take(&mut step.body) {
        Body::None => String::new(),
        body @ Body::Json(_) => {
            let Body::Json(json) = &body else { return String::new() };
            let text = json.written();
            // Without the header a flow would add it; braces that are no holes stay as they are.
            let is_plain = media_type.is_none() || (!json.has_hole() && text.contains("{{"));
            let text = match is_plain {
                true => fenced(&Text::plain(text), json.has_hole()),
                false => format!("{text}\n"),
            };
            if is("application/json") && !is_plain {
                step.drop_header("Content-Type");
            }
            step.body = body;
            text
        }
        Body::Text(text) => {
            let written = fenced(&text, text.has_hole());
            step.body = Body::Text(text);
            written
        }
        Body::Form(pairs) => {
            if is("application/x-www-form-urlencoded") {
                step.drop_header("Content-Type");
            }
            let written = pairs_text("Form", &pairs);
            step.body = Body::Form(pairs);
            written
        }
        Body::Multipart(parts) => {
            step.drop_header("Content-Type");
            let lines = parts.iter().map(part_text).collect::<Vec<_>>();
            step.body = Body::Multipart(parts);
            section("Multipart", lines.into_iter())
        }
        Body::File(path) => {
            let written = format!("file,{};\n", path_text(&path));
            step.body = Body::File(path);
            written
        }
    }
}

fn part_text(part: &Part) -> String {
    match &part.content {
        Content::Text(text) => {
            let lost = text.0.last().is_some_and(
                |piece| matches!(piece, Piece::Plain(plain) if plain.trim_ascii_end() != plain),
            );
            let lost = match lost {
                true => comment(&format!("Left out: the spaces at the end of {}", part.name)),
                false => String::new(),
            };
            let value = line(text);
            let value = match value.strip_prefix("file,") {
                Some(rest) => format!("\\u{{66}}ile,{rest}"),
                None => value,
            };
            format!("{lost}{}: {value}\n", key(&part.name))
        }
        Content::File(path, media_type) => {
            let end = if media_type.is_empty() { String::new() } else { format!(" {media_type}") };
            format!("{}: file,{};{end}\n", key(&part.name), path_text(path))
        }
    }
}

fn path_text(path: &str) -> String {
    line(&Text::plain(path)).replace(';', "\\u{3b}")
}

/// A text between lines of three backquotes; as Base64 where that is not possible.
fn fenced(text: &Text, has_hole: bool) -> String {
    let mut inside = String::new();
    for piece in &text.0 {
        match piece {
            Piece::Plain(plain) => inside += plain,
            Piece::Hole(name) => inside += &format!("{{{{{name}}}}}"),
        }
    }
    let is_odd = inside.contains("```") || inside.ends_with('`');
    let is_line = !inside.contains(['`', '\\', '\n', '\r']) && inside.trim() == inside;
    match has_hole {
        false if is_odd => format!("base64,{};\n", STANDARD.encode(inside)),
        false if inside.contains("{{") => format!("```raw\n{inside}```\n"),
        _ if is_line => format!("`{inside}`\n"),
        _ => format!("```\n{inside}```\n"),
    }
}

fn pair(name: &str, value: &Text) -> String {
    format!("{name}: {}", line(value)).trim_end().to_string() + "\n"
}

/// A value that ends with its line.
fn line(text: &Text) -> String {
    let mut line = String::new();
    let has_hole = text.has_hole();
    for piece in &text.0 {
        let plain = match piece {
            Piece::Hole(name) => {
                line += &format!("{{{{{name}}}}}");
                continue;
            }
            Piece::Plain(plain) => plain,
        };
        let is_brace = plain.contains("{{") || (has_hole && plain.ends_with('{'));
        for letter in plain.chars() {
            match letter {
                '\\' | '#' => line.extend(['\\', letter]),
                '{' if is_brace => line += "\\{",
                '\n' => line += "\\n",
                '\r' => line += "\\r",
                '\t' => line += "\\t",
                _ if letter.is_control() || (line.is_empty() && letter.is_whitespace()) => {
                    line += &format!("\\u{{{:x}}}", u32::from(letter));
                }
                _ => line.push(letter),
            }
        }
    }
    line
}

/// The name of a parameter, in front of its colon.
fn key(name: &str) -> String {
    let mut key = String::new();
    for letter in name.chars() {
        let is_good = letter.is_alphabetic()
            || "_$".contains(letter)
            || !key.is_empty() && (letter.is_numeric() || "-.[]@".contains(letter));
        match is_good {
            true => key.push(letter),
            false => key += &format!("\\u{{{:x}}}", u32::from(letter)),
        }
    }
    key
}

/// Whether a line can begin with this name, and HTTP knows it as one.
fn is_header_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"!$%&'*+-.^_|~".contains(&byte);
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || "_.$".contains(letter))
        && name.bytes().all(is_good)
}

/// A query of a value in JSON, by the names and places on the way to it.
pub fn jsonpath(keys: &[Key]) -> Option<String> {
    let mut path = String::from("$");
    for key in keys {
        match key {
            Key::Nth(place) => path += &format!("[{place}]"),
            Key::All => return None,
            Key::Name(name) if name.contains(['\'', '"', '\\']) || name.is_empty() => return None,
            Key::Name(name) => {
                let is_word = name.chars().all(|one| one.is_alphanumeric() || "_-".contains(one));
                path += &match is_word {
                    true => format!(".{name}"),
                    false => format!("['{}']", name.replace('{', "\\{")),
                };
            }
        }
    }
    (keys.len() <= 32).then(|| format!("jsonpath \"{path}\""))
}

/// The last name on the way to a value.
pub fn last_name(keys: &[Key]) -> Option<&str> {
    keys.iter().rev().find_map(|key| match key {
        Key::Name(name) => Some(name.as_str()),
        Key::Nth(_) | Key::All => None,
    })
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in text.chars() {
        match letter {
            '\\' | '"' | '{' => quoted.extend(['\\', letter]),
            _ if letter.is_control() => quoted += &format!("\\u{{{:x}}}", u32::from(letter)),
            _ => quoted.push(letter),
        }
    }
    format!("\"{quoted}\"")
}
