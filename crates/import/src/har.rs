//! HAR files: what a browser recorded, entry by entry.
//!
//! A file may be large, and only what a flow can need of an entry stays in memory.

use crate::draft::{Body, Braces, Content, Draft, Item, Left, Pairs, Part, Recorded, Step, Text};
use crate::multipart;
use crate::url;
use crate::{at_line, at_once};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flow::Wrong;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;
use std::io::BufRead;

/// Of longer bodies of responses nothing is kept.
const BODY_MAX: usize = 1 << 20;
/// Of all bodies together, so much is kept.
const BODIES_MAX: usize = 32 << 20;
/// Header fields of a browser that say nothing to the server, or would change what it answers.
const OF_BROWSERS: [&str; 13] = [
    "accept-encoding",
    "alt-used",
    "cache-control",
    "cookie",
    "dnt",
    "if-modified-since",
    "if-none-match",
    "pragma",
    "priority",
    "purpose",
    "te",
    "upgrade-insecure-requests",
    "x-client-data",
];
/// Types of responses that a page needs and a flow does not, by their beginnings.
const ASSETS: &[(&str, &str)] = &[
    ("image/", "image"),
    ("font/", "font"),
    ("application/font", "font"),
    ("application/x-font", "font"),
    ("application/vnd.ms-fontobject", "font"),
    ("text/css", "stylesheet"),
    ("text/javascript", "script"),
    ("application/javascript", "script"),
    ("application/x-javascript", "script"),
    ("application/ecmascript", "script"),
    ("audio/", "recording"),
    ("video/", "recording"),
    ("application/wasm", "script"),
];
/// The same by the end of the path, where the type says nothing.
const ENDINGS: &[(&str, &str)] = &[
    (".css", "stylesheet"),
    (".gif", "image"),
    (".ico", "image"),
    (".jpeg", "image"),
    (".jpg", "image"),
    (".js", "script"),
    (".map", "script"),
    (".mjs", "script"),
    (".png", "image"),
    (".svg", "image"),
    (".ttf", "font"),
    (".webp", "image"),
    (".woff", "font"),
    (".woff2", "font"),
];

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    #[serde(deserialize_with = "items")]
    entries: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: Option<String>,
    time: Option<f64>,
    request: Request,
    response: Option<Response>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Field>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: Option<String>,
    text: Option<String>,
    #[serde(default)]
    params: Option<Vec<Param>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Param {
    name: String,
    value: Option<String>,
    file_name: Option<String>,
    content_type: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    status: Option<f64>,
    #[serde(default)]
    headers: Vec<Field>,
    content: Option<Kept>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    mime_type: Option<String>,
    text: Option<String>,
    encoding: Option<String>,
}

/// Reads a HAR file.
pub fn read(input: &mut dyn BufRead) -> Result<Draft, Wrong> {
    let begin = input.fill_buf().map_err(|error| at_once(error.to_string()))?;
    if begin.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    let file: File = serde_json::from_reader(input).map_err(|error| {
        let what = format!(
            "this is no HAR file: {error}; a HAR file begins with {{\"log\": {{\"entries\": [; \
             browsers save it in their developer tools, under Network"
        );
        at_line(error.line(), what)
    })?;
    let is_lost = |item: &&Item| match item {
        Item::Step(step) => step.recorded.as_ref().is_some_and(|one| one.is_body_lost),
        Item::Left(_) | Item::Title(_) => false,
    };
    let lost = file.log.entries.iter().filter(is_lost).count();
    let mut notes = vec![
        "Left out of each request: headers that only browsers need, and cookies that a response \
         set before; a user keeps those."
            .to_string(),
    ];
    if lost > 0 {
        notes
            .push(format!("Bodies of {lost} responses are too long to look for captures in them."));
    }
    Ok(Draft { items: file.log.entries, notes, ..Draft::default() })
}

/// Reads one entry after another, and keeps what a flow can need of it.
fn items<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Item>, D::Error> {
    struct Items;
    impl<'de> Visitor<'de> for Items {
        type Value = Vec<Item>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("a list of entries")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<Item>, A::Error> {
            let (mut items, mut room) = (Vec::new(), BODIES_MAX);
            while let Some(entry) = entries.next_element::<Entry>()? {
                items.push(match step_of(entry, &mut room) {
                    Ok(step) => Item::Step(Box::new(step)),
                    Err(left) => Item::Left(left),
                });
            }
            Ok(items)
        }
    }
    input.deserialize_seq(Items)
}

fn step_of(entry: Entry, room: &mut usize) -> Result<Step, Left> {
    let Entry { request, response, .. } = entry;
    let left = |why: &str| {
        let url = request.url.split(['?', '#']).next().unwrap_or_default();
        Left::new(&format!("{} {url}", request.method), why)
    };
    let url = url::read(&request.url, Braces::Plain).map_err(|_| left("without HTTP"))?;
    if let Some(why) = asset(&request, response.as_ref()) {
        return Err(left(why));
    }
    let status = response.as_ref().and_then(|response| response.status);
    let status = status.map(|status| status as u16);
    match (request.method.as_str(), status) {
        ("OPTIONS", _) => return Err(left("before requests to other servers")),
        ("CONNECT", _) => return Err(left("to a proxy")),
        (_, Some(0)) => return Err(left("without a response")),
        _ => {}
    }
    let mut step = Step {
        method: request.method.clone(),
        server: url.server,
        path: url.path,
        query: url.query,
        // What a browser had already would come whole.
        status: status.map(|status| if status == 304 { 200 } else { status }),
        ..Step::default()
    };
    for Field { name, value } in &request.headers {
        let small = name.to_ascii_lowercase();
        if small == "cookie" {
            step.add_cookies(value, Braces::Plain);
        }
        let is_of_browser = OF_BROWSERS.contains(&small.as_str()) || small.starts_with("sec-");
        if !is_of_browser && !small.starts_with(':') {
            step.headers.push((name.clone(), Text::plain(value.trim())));
        }
    }
    if let Some(data) = request.post_data {
        add_body(&mut step, data);
    }
    let took_ms = entry.started_date_time.and_then(|text| text.parse::<Timestamp>().ok());
    let took_ms = took_ms.map(|begin| {
        let begin = begin.as_millisecond();
        (begin, begin.saturating_add(entry.time.unwrap_or(0.0).max(0.0) as i64))
    });
    let mut recorded = Recorded { took_ms, ..Recorded::default() };
    if let Some(response) = response {
        let headers = response.headers.into_iter().map(|field| (field.name, field.value));
        recorded.headers = headers.collect();
        recorded.body = response.content.and_then(body_of).unwrap_or_default();
        if recorded.body.len() > BODY_MAX.min(*room) {
            recorded.body = String::new();
            recorded.is_body_lost = true;
        }
        *room -= recorded.body.len();
    }
    step.recorded = Some(Box::new(recorded));
    Ok(step)
}

/// What a page needs and a flow does not.
fn asset(request: &Request, response: Option<&Response>) -> Option<&'static str> {
    let content = response.and_then(|response| response.content.as_ref());
    let media_type = content.and_then(|content| content.mime_type.as_deref()).unwrap_or_default();
    let media_type = media_type.to_ascii_lowercase();
    let path = request.url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let by_type = ASSETS.iter().find(|(begin, _)| media_type.starts_with(begin));
    let is_silent = ["", "x-unknown", "application/octet-stream", "text/plain"]
        .contains(&media_type.split(';').next().unwrap_or_default());
    let by_path = ENDINGS.iter().find(|(end, _)| is_silent && path.ends_with(end));
    by_type.or(by_path).filter(|_| request.method == "GET").map(|(_, what)| *what)
}

fn body_of(content: Kept) -> Option<String> {
    let text = content.text?;
    match content.encoding.as_deref() {
        Some("base64") => String::from_utf8(STANDARD.decode(text).ok()?).ok(),
        _ => Some(text),
    }
}

fn add_body(step: &mut Step, data: PostData) {
    let header = step.header("Content-Type").and_then(Text::as_plain).map(str::to_string);
    let media_type = header.clone().or(data.mime_type).unwrap_or_default();
    let params = data.params.unwrap_or_default();
    let text = data.text.unwrap_or_default();
    if media_type.starts_with("multipart/") {
        let parts: Vec<Part> = params.into_iter().map(part_of).collect();
        let parts = match parts.is_empty() {
            true => multipart::parts(&text, &media_type, Braces::Plain),
            false => Some(parts),
        };
        step.body = parts.map_or(Body::Text(Text::plain(text)), Body::Multipart);
        return;
    }
    let text = match text.is_empty() {
        true => {
            let pairs = params.into_iter().map(|param| {
                (url::decoded(&param.name), url::decoded(&param.value.unwrap_or_default()))
            });
            Pairs::of(pairs).raw
        }
        false => text,
    };
    if header.is_none() && !text.is_empty() && !media_type.is_empty() {
        step.headers.push(("Content-Type".to_string(), Text::plain(media_type.clone())));
    }
    step.body = Body::read(&text, Some(&media_type), Braces::Plain);
}

fn part_of(param: Param) -> Part {
    let content = match param.file_name {
        Some(file) => Content::File(file, param.content_type.unwrap_or_default()),
        None => Content::Text(Text::plain(param.value.unwrap_or_default())),
    };
    Part { name: param.name, content }
}
