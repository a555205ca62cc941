//! The entries of a file: a request each, and perhaps what its response must be like.

use crate::body::{self, Body, ReadFile};
use crate::lines::Lines;
use crate::names::{Given, Names};
use crate::options;
use crate::query::{self, Queries};
use crate::text::{self, is_over};
use crate::wrong::Wrong;
use model::check::Statuses;
use model::flow::{
    Assert, Capture, Comparison, Escape, Flow, Found, Operand, Piece, Query, Step, Test, Text,
};

/// Most steps of a flow.
pub const STEPS_MAX: usize = 1000;
/// Most bytes of a file.
pub const FILE_MAX: usize = 4 << 20;
/// Separates the parts of a body with several.
const BOUNDARY: &str = "----ceiling-7f3a91c2d4";

/// Sections of a request and of a response.
const OF_REQUESTS: &str = "[Query], [Form], [Multipart], [Cookies], [BasicAuth] and [Options]";
const OF_RESPONSES: &str = "[Captures] and [Asserts]";

/// Reads a file; `name` is that of the flow.
pub fn read(name: &str, text: &str, given: &Given, file: ReadFile<'_>) -> Result<Flow, Wrong> {
    if text.len() > FILE_MAX {
        return Err(Wrong::at(1, format!("the file has more than {} MiB", FILE_MAX >> 20)));
    }
    let (lines, names) = (Lines::new(text), Names::new(given));
    let mut reader = Reader { lines, names, file, base: given.base.clone() };
    let mut steps = Vec::new();
    while reader.lines.skip_blank().is_some() {
        if steps.len() == STEPS_MAX {
            let what = format!("a flow has at most {STEPS_MAX} steps");
            return Err(Wrong::at(reader.lines.number(), what));
        }
        steps.push(reader.step()?);
    }
    let example = "there is no request in it; for example GET http://127.0.0.1:8083/read";
    let base = reader.base.ok_or_else(|| Wrong::at(1, example))?;
    let variables = reader.names.into_variables();
    Ok(Flow { name: name.to_string(), steps, variables, base })
}

struct Reader<'a, 'b> {
    lines: Lines<'a>,
    names: Names<'a>,
    file: ReadFile<'b>,
    base: Option<String>,
}

/// A method, and what follows on its line.
fn request_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let (method, rest) = line.split_once([' ', '\t'])?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && method != "HTTP").then_some((method, rest))
}

/// The version and the status of a response, and what follows.
fn response_line(line: &str) -> Option<(&str, &str)> {
    let (version, rest) = query::word(line);
    let version = version.strip_prefix("HTTP")?;
    let is_version = version.is_empty() || version.starts_with('/');
    is_version.then_some((version.trim_start_matches('/'), rest))
}

impl<'a> Reader<'a, '_> {
    fn step(&mut self) -> Result<Step, Wrong> {
        let number = self.lines.number();
        let line = self.lines.take().unwrap_or_default();
        let wrong = |what: String| Wrong::at(number, what);
        let (method, rest) = request_line(line).ok_or_else(|| wrong(no_request(line)))?;
        let url = text::unquoted(rest, &self.names, Escape::Url).map_err(wrong)?;
        let path = self.below(&url).map_err(wrong)?;
        let mut step = Step { line: number, ..Step::new(method, path) };
        self.headers(&mut step)?;
        let mut body = Body::default();
        while let Some(section) = self.section() {
            self.of_request(&mut step, &mut body, section)?;
        }
        if self.lines.skip_blank().is_some_and(body::begins) {
            let number = self.lines.number();
            if !body.text.is_empty() {
                return Err(Wrong::at(number, "the request has a body already, from a section"));
            }
            body = body::read(&mut self.lines, &self.names, self.file)?;
        }
        step.body = body.text;
        if let Some(media_type) = body.media_type {
            add_header(&mut step, "Content-Type", Text::plain(media_type));
        }
        self.response(&mut step)?;
        Ok(step)
    }

    /// Path and query of a URL, whose server must be that of the flow.
    fn below(&mut self, url: &Text) -> Result<Text, String> {
        let Some(Piece::Plain(begin)) = url.0.first() else {
            // A captured URL, or a path.
            let why = "the first URL begins with http:// and a server; give the variable: \
                       --variable NAME=http://127.0.0.1:8083";
            return if self.base.is_some() { Ok(url.clone()) } else { Err(why.to_string()) };
        };
        let begin = String::from_utf8_lossy(begin).into_owned();
        let (scheme, rest) = begin.split_once("://").ok_or_else(|| {
            format!("'{begin}' is no URL; for example http://127.0.0.1:8083/read")
        })?;
        let end = rest.find(['/', '?']);
        let (authority, after) = rest.split_at(end.unwrap_or(rest.len()));
        let server = format!("{scheme}://{authority}");
        if self.names.given().base.is_none() {
            let base = self.base.get_or_insert_with(|| server.clone());
            if !base.eq_ignore_ascii_case(&server) {
                return Err(format!(
                    "'{server}' is another server than {base}, where the flow began; one flow goes \
                     to one server"
                ));
            }
        }
        // A hole behind the server is filled with a path.
        let is_hole = after.is_empty() && url.0.len() > 1;
        let mut path = Text::plain(if after.starts_with('/') || is_hole { "" } else { "/" });
        path.push_plain(after.as_bytes());
        path.push(&Text(url.0[1..].to_vec()));
        Ok(path)
    }

    /// Lines of `name: value` up to something else.
    fn pairs(&mut self) -> Result<Vec<(u32, &'a str, &'a str)>, Wrong> {
        let mut pairs = Vec::new();
        while let Some(line) = self.lines.skip_blank() {
            if request_line(line).is_some()
                || response_line(line).is_some()
                || section_name(line).is_some()
                || body::begins(line)
            {
                break;
            }
            let number = self.lines.number();
            let (name, value) = line.split_once(':').ok_or_else(|| {
                let line = line.trim();
                let what = format!(
                    "'{line}' is neither 'name: value' nor a request, a section, a body or HTTP \
                     with a status"
                );
                Wrong::at(number, what)
            })?;
            self.lines.take();
            pairs.push((number, name.trim(), value));
        }
        Ok(pairs)
    }

    fn headers(&mut self, step: &mut Step) -> Result<(), Wrong> {
        for (number, name, value) in self.pairs()? {
            if name.contains("{{") {
                return Err(Wrong::at(number, "the name of a header has no holes"));
            }
            let text = text::unquoted(value, &self.names, Escape::Raw);
            step.headers.push((name.to_string(), text.map_err(|what| Wrong::at(number, what))?));
        }
        Ok(())
    }

    /// Takes the line of a section, if it comes next.
    fn section(&mut self) -> Option<(u32, &'a str)> {
        let name = section_name(self.lines.skip_blank()?)?;
        let number = self.lines.number();
        self.lines.take();
        Some((number, name))
    }

    fn of_request(
        &mut self,
        step: &mut Step,
        body: &mut Body,
        (number, name): (u32, &str),
    ) -> Result<(), Wrong> {
        let pairs = match name {
            "Captures" | "Asserts" => {
                let what = format!("[{name}] comes after a line such as HTTP 200");
                return Err(Wrong::at(number, what));
            }
            _ => self.pairs()?,
        };
        let mut first = true;
        for (number, key, value) in pairs {
            let wrong = |what: String| Wrong::at(number, what);
            match name {
                "Query" | "QueryStringParams" => {
                    let has_query = text_has(&step.path, b'?');
                    step.path.push_plain(if has_query { b"&" } else { b"?" });
                    self.part(&mut step.path, (key, value)).map_err(wrong)?;
                }
                "Form" | "FormParams" => {
                    body.text.push_plain(if first { b"" } else { b"&" });
                    self.part(&mut body.text, (key, value)).map_err(wrong)?;
                    body.media_type = Some("application/x-www-form-urlencoded");
                }
                "Multipart" | "MultipartFormData" => {
                    self.multipart(&mut body.text, (key, value)).map_err(wrong)?;
                }
                "Cookies" => {
                    let value = text::unquoted(value, &self.names, Escape::Raw).map_err(wrong)?;
                    step.cookies.push((key.to_string(), value));
                }
                "BasicAuth" => basic(step, (key, value), &self.names).map_err(wrong)?,
                "Options" => options::read(step, (key, value), &mut self.names).map_err(wrong)?,
                _ => {
                    let what =
                        format!("[{name}] is no section of a request; accepted are {OF_REQUESTS}");
                    return Err(wrong(what));
                }
            }
            first = false;
        }
        if matches!(name, "Multipart" | "MultipartFormData") {
            body.text.push_plain(format!("--{BOUNDARY}--\r\n").as_bytes());
            let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
            add_header(step, "Content-Type", Text::plain(media_type));
        }
        if !is_of_request(name) {
            let what = format!("[{name}] is no section of a request; accepted are {OF_REQUESTS}");
            return Err(Wrong::at(number, what));
        }
        Ok(())
    }

    /// A parameter of a query or a form.
    fn part(&self, to: &mut Text, (key, value): (&str, &str)) -> Result<(), String> {
        let name = text::constant(key, &self.names)?;
        let mut bytes = Vec::new();
        Escape::Part.put(name.as_bytes(), &mut bytes);
        bytes.push(b'=');
        to.push_plain(&bytes);
        // What is written is encoded like what a hole is filled with.
        for piece in text::unquoted(value, &self.names, Escape::Raw)?.0 {
            match piece {
                Piece::Plain(plain) => {
                    let mut bytes = Vec::new();
                    Escape::Part.put(&plain, &mut bytes);
                    to.push_plain(&bytes);
                }
                Piece::Hole(source, _) => to.0.push(Piece::Hole(source, Escape::Part)),
                Piece::Base64(_) => {}
            }
        }
        Ok(())
    }

    fn multipart(&mut self, to: &mut Text, (key, value): (&str, &str)) -> Result<(), String> {
        let field = text::constant(key, &self.names)?;
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{field}\"");
        to.push_plain(head.as_bytes());
        match value.trim().strip_prefix("file,") {
            None => {
                to.push_plain(b"\r\n\r\n");
                to.push(&text::unquoted(value, &self.names, Escape::Raw)?);
            }
            Some(rest) => {
                let (path, media_type) = rest.split_once(';').ok_or("file, has no ; at its end")?;
                let path = text::constant(path, &self.names)?;
                let media_type = text::constant(media_type, &self.names)?;
                let media_type = match media_type.as_str() {
                    "" => "application/octet-stream",
                    named => named,
                };
                let base = path.rsplit('/').next().unwrap_or_default();
                let head = format!("; filename=\"{base}\"\r\nContent-Type: {media_type}\r\n\r\n");
                to.push_plain(head.as_bytes());
                let content = (self.file)(&path)?;
                if content.windows(BOUNDARY.len()).any(|part| part == BOUNDARY.as_bytes()) {
                    return Err(format!(
                        "{path} has the text that separates the parts: {BOUNDARY}"
                    ));
                }
                to.push_plain(&content);
            }
        }
        to.push_plain(b"\r\n");
        Ok(())
    }

    fn response(&mut self, step: &mut Step) -> Result<(), Wrong> {
        let Some((version, rest)) = self.lines.skip_blank().and_then(response_line) else {
            return Ok(());
        };
        let number = self.lines.number();
        self.lines.take();
        let wrong = |what: String| Wrong::at(number, what);
        let mut queries = Queries::default();
        let (status, after) = query::word(rest);
        if !is_over(after) {
            return Err(wrong(format!("'{}' comes after the status", after.trim())));
        }
        step.statuses = Some(match status {
            "*" => "2xx,3xx,4xx,5xx".parse().map_err(wrong)?,
            _ => statuses(status).map_err(wrong)?,
        });
        if !version.is_empty() {
            let version = if version == "2.0" { "2" } else { version };
            if !["1.0", "1.1", "2"].contains(&version) {
                return Err(wrong(format!(
                    "HTTP/{version} is not spoken; accepted are HTTP, HTTP/1.1 and HTTP/2"
                )));
            }
            let operand = Operand::Text(Text::plain(version));
            let text = format!("version == \"{version}\"");
            add_assert(step, &mut queries, Query::Version, (operand, text, number));
        }
        for (number, name, value) in self.pairs()? {
            let value = text::unquoted(value, &self.names, Escape::Raw);
            let value = value.map_err(|what| Wrong::at(number, what))?;
            let text = format!("header \"{name}\" == {}", value.shown());
            let query = Query::Header(name.to_ascii_lowercase());
            add_assert(step, &mut queries, query, (Operand::Text(value), text, number));
        }
        while let Some((number, name)) = self.section() {
            match name {
                "Captures" => self.captures(step, &mut queries)?,
                "Asserts" => self.asserts(step, &mut queries)?,
                _ => {
                    let what = format!(
                        "[{name}] is no section of a response; accepted are {OF_RESPONSES}"
                    );
                    return Err(Wrong::at(number, what));
                }
            }
        }
        if let Some(line) = self.lines.skip_blank().filter(|line| body::begins(line)) {
            let number = self.lines.number();
            let body = body::read(&mut self.lines, &self.names, self.file)?;
            if body.media_type.is_some() {
                let what = "a whole body of JSON is not compared; assert what matters of it, as in \
                            jsonpath \"$.id\" == 7 or body contains \"..\" or sha256 == hex,..;";
                return Err(Wrong::at(number, what));
            }
            let text = format!("body == {}", line.trim());
            add_assert(step, &mut queries, Query::Body, (Operand::Text(body.text), text, number));
        }
        step.queries = queries.0;
        Ok(())
    }

    /// Lines of a section that are no pairs, up to what begins something else.
    fn line(&mut self) -> Option<(u32, &'a str)> {
        let line = self.lines.skip_blank()?;
        let ends = request_line(line).is_some() || section_name(line).is_some();
        let is_body = line.trim_start().starts_with(['{', '[', '`', '<']);
        if ends || is_body {
            return None;
        }
        let number = self.lines.number();
        self.lines.take();
        Some((number, line))
    }

    fn captures(&mut self, step: &mut Step, queries: &mut Queries) -> Result<(), Wrong> {
        while let Some((number, line)) = self.line() {
            let wrong = |what: String| Wrong::at(number, what);
            let (name, rest) = line.split_once(':').ok_or_else(|| {
                let line = line.trim();
                wrong(format!("'{line}' captures nothing; for example token: jsonpath \"$.token\""))
            })?;
            let (from, rest) = queries.read(rest, &self.names).map_err(wrong)?;
            let (word, after) = query::word(rest);
            let variable = self.names.define(name.trim()).map_err(wrong)?;
            let rest = match word {
                "redact" => {
                    self.names.hide(variable);
                    after
                }
                _ => rest,
            };
            if !is_over(rest) {
                return Err(wrong(format!("'{}' comes after the query", rest.trim())));
            }
            step.captures.push(Capture { variable, from, line: number });
        }
        Ok(())
    }

    fn asserts(&mut self, step: &mut Step, queries: &mut Queries) -> Result<(), Wrong> {
        while let Some((number, line)) = self.line() {
            let wrong = |what: String| Wrong::at(number, what);
            let (of, rest) = queries.read(line, &self.names).map_err(wrong)?;
            let (is_not, test) = query::test(rest, &self.names).map_err(wrong)?;
            let text = line.trim().to_string();
            step.asserts.push(Assert { of, is_not, test, text, line: number });
        }
        Ok(())
    }
}

/// Adds an assert that something is equal to a value.
fn add_assert(
    step: &mut Step,
    queries: &mut Queries,
    query: Query,
    (operand, text, line): (Operand, String, u32),
) {
    queries.0.push(query);
    let of = Found { query: (queries.0.len() - 1) as u16, filters: Vec::new() };
    let test = Test::Compare(Comparison::Equal, operand);
    step.asserts.push(Assert { of, is_not: false, test, text, line });
}

/// Sends name and password (RFC 7617).
pub fn basic(
    step: &mut Step,
    (user, password): (&str, &str),
    names: &Names<'_>,
) -> Result<(), String> {
    let mut inside = text::unquoted(user, names, Escape::Raw)?;
    inside.push_plain(b":");
    inside.push(&text::unquoted(password, names, Escape::Raw)?);
    let mut value = Text::plain("Basic ");
    value.0.push(Piece::Base64(inside));
    step.headers.push(("Authorization".to_string(), value));
    Ok(())
}

fn add_header(step: &mut Step, name: &str, value: Text) {
    let is_given = step.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    if !is_given {
        step.headers.push((name.to_string(), value));
    }
}

fn statuses(status: &str) -> Result<Statuses, String> {
    let is_one = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    match is_one {
        true => status.parse(),
        false => Err(format!("'HTTP {status}' has no status; for example HTTP 200 or HTTP *")),
    }
}

fn section_name(line: &str) -> Option<&str> {
    let inside = line.trim().strip_prefix('[')?;
    let (name, rest) = inside.split_once(']')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_name && is_over(rest) && !["true", "false", "null"].contains(&name)).then_some(name)
}

fn is_of_request(name: &str) -> bool {
    let all =
        ["Query", "QueryStringParams", "Form", "FormParams", "Multipart", "MultipartFormData"];
    all.contains(&name) || ["Cookies", "BasicAuth", "Options"].contains(&name)
}

fn text_has(text: &Text, byte: u8) -> bool {
    text.0.iter().any(|piece| matches!(piece, Piece::Plain(bytes) if bytes.contains(&byte)))
}

/// What a line is that should have been a request.
fn no_request(line: &str) -> String {
    let line = line.trim();
    let (word, _) = query::word(line);
    let is_lower = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    match word.to_ascii_uppercase() {
        upper
            if is_lower && ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"].contains(&&*upper) =>
        {
            format!("a method is written in capitals: {upper}")
        }
        _ if line.starts_with('{') && line.contains("\"log\"") => {
            "this looks like a HAR file; write a flow from it: ceiling import har FILE".to_string()
        }
        _ => format!(
            "'{}' begins no request; for example GET http://127.0.0.1:8083/read",
            line.chars().take(60).collect::<String>()
        ),
    }
}
