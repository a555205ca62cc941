//! Request files (`.http`, `.rest`) of JetBrains, Visual Studio and VS Code.

use crate::draft::{Body, Braces, Capture, Draft, Item, Left, Step, Text, variable};
use crate::scope::Scope;
use crate::write::{jsonpath, last_name, quoted};
use crate::{json, multipart, script, url};
use flow::Wrong;
use model::flow::Key;
use model::secret::is_secret;

/// Methods of these files that are none of HTTP.
const OTHERS: [&str; 5] = ["GRPC", "RSOCKET", "WEBSOCKET", "WSS", "WS"];

/// Reads a request file.
pub fn read(text: &str) -> Result<Draft, Wrong> {
    let (text, captures) = references(&text.replace("\r\n", "\n"));
    let mut reader = Reader { scope: Scope::default(), captures };
    // Variables may be used above their lines.
    for line in text.lines() {
        reader.variable(line);
    }
    let blocks = blocks(&text);
    for block in &blocks {
        let captured = script::captures(&block.lines.join("\n"));
        reader.scope.captured.extend(captured.into_iter().map(|capture| capture.name));
    }
    let mut draft = Draft::default();
    for block in blocks {
        draft.items.extend(reader.item(&block));
    }
    draft.notes.push(
        "The editor follows redirects: write location: true under [Options] where one comes."
            .to_string(),
    );
    Ok(draft)
}

/// Lines between two of ###.
struct Block<'a> {
    title: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = vec![Block { title: "", lines: Vec::new() }];
    for line in text.lines() {
        match line.starts_with("###") {
            true => {
                let title = line.trim_matches(['#', ' ', '\t', '=', '-']);
                blocks.push(Block { title, lines: Vec::new() });
            }
            false => blocks.last_mut().expect("there is one").lines.push(line),
        }
    }
    blocks
}

/// The file with `{{login.response.body.$.token}}` as a hole of its own, and the captures that fill
/// it, each with the name of its request.
fn references(text: &str) -> (String, Vec<(String, Capture)>) {
    let (mut written, mut captures) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        written += before;
        written += "{{";
        rest = after;
        let end = after.find(['{', '}', '\n']).unwrap_or(after.len());
        let (inside, after) = after.split_at(end);
        let Some(after) = after.strip_prefix("}}") else { continue };
        let Some((request, from)) = inside.trim().split_once(".response.") else { continue };
        let Some((key, query)) = referred(from) else { continue };
        let name = variable(&format!("{request}_{key}"));
        written += &format!("{name}}}}}");
        rest = after;
        captures.push((request.to_string(), Capture { name, query }));
    }
    (written + rest, captures)
}

/// The last name of a reference, and its query: `body.$.token`, `headers.X-Id`.
fn referred(from: &str) -> Option<(String, String)> {
    if let Some(name) = from.strip_prefix("headers.") {
        return Some((name.to_string(), format!("header {}", quoted(name))));
    }
    let path = from.strip_prefix("body.")?;
    if path == "*" {
        return Some(("body".to_string(), "body".to_string()));
    }
    let mut keys = Vec::new();
    for part in path.trim_start_matches("$.").split(['.', '[']) {
        let part = part.trim_end_matches(']').trim_matches(['\'', '"']);
        keys.push(match part.parse() {
            Ok(place) => Key::Nth(place),
            Err(_) => Key::Name(part.to_string()),
        });
    }
    Some((last_name(&keys)?.to_string(), jsonpath(&keys)?))
}

struct Reader {
    scope: Scope,
    captures: Vec<(String, Capture)>,
}

impl Reader {
    /// Reads a line `@name = value`; false if it is none.
    fn variable(&mut self, line: &str) -> bool {
        let Some((name, value)) = line.trim().strip_prefix('@').and_then(|l| l.split_once('='))
        else {
            return false;
        };
        let value = value.trim();
        // What names a response keeps that name.
        match value.starts_with("{{") && value.ends_with("}}") && is_secret(name.trim()) {
            true => self.scope.alias(name.trim(), value),
            false => self.scope.set(name.trim(), value),
        }
        true
    }

    /// What a block has: a request, or nothing but comments and variables.
    fn item(&mut self, block: &Block<'_>) -> Option<Item> {
        let mut head = Head::default();
        let mut lines = block.lines.iter().copied().peekable();
        head.notes.extend((!block.title.is_empty()).then(|| block.title.to_string()));
        let first = loop {
            let line = lines.next()?;
            let trimmed = line.trim();
            let comment = trimmed.strip_prefix("//").or(trimmed.strip_prefix('#'));
            if let Some(comment) = comment {
                head.comment(comment.trim_start_matches('#').trim());
            } else if trimmed.starts_with("< {%") || trimmed.starts_with("<{%") {
                head.script = take_script(trimmed, &mut lines);
            } else if trimmed.is_empty() || self.variable(trimmed) {
            } else if is_request(trimmed) {
                break trimmed;
            } else {
                head.notes.push(format!("Left out: {trimmed}"));
            }
        };
        let mut target = first.to_string();
        // A URL may go on in lines with an indent.
        while let Some(more) = lines.next_if(|line| {
            line.starts_with([' ', '\t']) && line.trim_start().starts_with(['?', '&', '/'])
        }) {
            target += more.trim();
        }
        let mut headers = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.trim().is_empty()) {
            let trimmed = line.trim();
            if trimmed.starts_with("> ") || trimmed.starts_with("< ") {
                // No body, but a script.
                let body: Vec<&str> = [line].into_iter().chain(lines).collect();
                return Some(self.step(head, &target, headers, &body));
            }
            let is_comment = trimmed.starts_with('#') || trimmed.starts_with("//");
            match trimmed.split_once(':') {
                _ if is_comment => {}
                Some(header) => headers.push(header),
                None => head.notes.push(format!("Left out: {trimmed}")),
            }
        }
        let body: Vec<&str> = lines.collect();
        Some(self.step(head, &target, headers, &body))
    }

    fn step(&self, head: Head, target: &str, headers: Vec<(&str, &str)>, body: &[&str]) -> Item {
        let (method, typed) = method_of(target);
        let host = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let typed = match (typed.starts_with('/'), host) {
            (true, Some((_, host))) => format!("http://{}{typed}", host.trim()),
            _ => typed.to_string(),
        };
        let typed = self.scope.fill(&typed);
        let url = match url::read(&typed, Braces::Hole) {
            Ok(url) if !OTHERS.contains(&method) => url,
            _ => {
                let what = format!("{method} {}", typed.split('?').next().unwrap_or_default());
                return Item::Left(Left::new(&what, "without a URL of HTTP"));
            }
        };
        let is_graphql = method == "GRAPHQL"
            || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("x-request-type"));
        let mut step = Step {
            notes: head.notes,
            method: if is_graphql { "POST".to_string() } else { method.to_string() },
            server: url.server,
            path: url.path,
            query: url.query,
            ..Step::default()
        };
        script::note(&mut step, "Script before the request, left out", &head.script);
        for (name, value) in headers {
            self.header(&mut step, name.trim(), &self.scope.fill(value.trim()));
        }
        for (_, capture) in self.captures.iter().filter(|(name, _)| *name == head.name) {
            if !step.captures.contains(capture) {
                step.captures.push(capture.clone());
            }
        }
        let (text, scripts) = body_of(body);
        scripts.iter().for_each(|text| script::after(&mut step, text));
        let text = if is_graphql { graphql(&text) } else { text };
        if is_graphql && step.header("Content-Type").is_none() {
            step.headers.push(("Content-Type".into(), Text::plain("application/json")));
        }
        self.add_body(&mut step, &self.scope.fill(&text));
        Item::Step(Box::new(step))
    }

    fn header(&self, step: &mut Step, name: &str, value: &str) {
        let text = Text::read(value, Braces::Hole);
        match name.to_ascii_lowercase().as_str() {
            "accept-encoding" | "x-request-type" => {}
            // A name with a hole can only stand in the header.
            "cookie" if !value.starts_with("{{") => {
                step.add_cookies(value, Braces::Hole);
            }
            // Name and password may be written as they are.
            "authorization" if value.starts_with("Basic ") && value[6..].contains([':', ' ']) => {
                let (user, password) = value[6..].split_once([':', ' ']).unwrap_or_default();
                let read = |text: &str| Text::read(text.trim(), Braces::Hole);
                step.basic = Some((read(user), read(password)));
            }
            _ => step.headers.push((name.to_string(), text)),
        }
    }

    fn add_body(&self, step: &mut Step, text: &str) {
        let media_type = step.header("Content-Type").and_then(Text::as_plain).map(str::to_string);
        let media_type = media_type.unwrap_or_default();
        let path = text.strip_prefix("< ").or(text.strip_prefix("<@ ")).map(str::trim);
        if let Some(path) = path.filter(|path| !path.contains('\n')) {
            step.body = Body::File(path.to_string());
            return;
        }
        if media_type.starts_with("multipart/")
            && let Some(parts) = multipart::parts(text, &media_type, Braces::Hole)
        {
            step.body = Body::Multipart(parts);
            return;
        }
        let is_form = media_type.starts_with("application/x-www-form-urlencoded");
        let text = if is_form { form(text) } else { text.to_string() };
        step.body = Body::read(&text, Some(&media_type), Braces::Hole);
    }
}

/// What stands above a request.
#[derive(Default)]
struct Head {
    name: String,
    notes: Vec<String>,
    script: String,
}

impl Head {
    fn comment(&mut self, text: &str) {
        match text.strip_prefix("@name") {
            Some(name) => self.name = name.trim_matches([' ', '=']).to_string(),
            None if text.starts_with('@') || text.is_empty() => {}
            None => self.notes.push(text.to_string()),
        }
    }
}

/// Whether a line is the first of a request.
fn is_request(line: &str) -> bool {
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let is_method = !rest.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    is_method || ["http://", "https://", "{{"].iter().any(|begin| line.starts_with(begin))
}

/// Method and URL of a request line, without the version.
fn method_of(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let (method, url) = match word.bytes().all(|byte| byte.is_ascii_uppercase()) {
        true => (word, rest.trim()),
        false => ("GET", line),
    };
    let url = match url.rsplit_once([' ', '\t']) {
        Some((url, version)) if version.starts_with("HTTP/") => url,
        _ => url,
    };
    (method, url.trim())
}

/// A script up to `%}`, which may be lines away.
fn take_script<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let inside = first.split_once("{%").map_or("", |(_, inside)| inside);
    let mut script = String::new();
    let mut line = Some(inside);
    while let Some(text) = line {
        if let Some((text, _)) = text.split_once("%}") {
            return script + text;
        }
        script += &format!("{text}\n");
        line = lines.next();
    }
    script
}

/// The body, and the scripts behind it.
fn body_of(lines: &[&str]) -> (String, Vec<String>) {
    let (mut body, mut scripts) = (Vec::new(), Vec::new());
    let mut lines = lines.iter().copied();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        let handler = trimmed.strip_prefix('>').map(str::trim_start);
        match handler {
            Some(handler) if handler.starts_with("{%") => {
                scripts.push(take_script(handler, &mut lines));
            }
            Some(handler) if handler.ends_with(".js") => {
                scripts.push(format!("the file {handler}"));
            }
            // Where the response is to be kept.
            Some(handler) if handler.starts_with('>') => {}
            None if trimmed.starts_with("<>") => {}
            _ if body.is_empty() && (trimmed.is_empty() || trimmed.starts_with("// ")) => {}
            _ => body.push(line),
        }
    }
    (body.join("\n").trim_end().to_string(), scripts)
}

/// A form whose parts may have lines of their own, with spaces around them.
fn form(text: &str) -> String {
    let parts = text.split('&').map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let encoded = |text: &str| text.trim().replace(' ', "%20").replace('\n', "");
        format!("{}={}", encoded(name), encoded(value))
    });
    parts.collect::<Vec<_>>().join("&")
}

/// A query of GraphQL, and perhaps variables behind an empty line, as JSON.
fn graphql(text: &str) -> String {
    let (query, variables) = match text.rsplit_once("\n\n") {
        Some((query, variables)) if variables.trim_start().starts_with('{') => (query, variables),
        _ => (text, ""),
    };
    json::graphql(query, variables)
}
