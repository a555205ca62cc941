//! Collections of Postman, version 2.1: the requests of all folders, in their order.

use crate::at_once;
use crate::draft::{Body, Braces, Content, Draft, Item, Left, Pairs, Part, Step, Text};
use crate::scope::Scope;
use crate::{script, url};
use flow::Wrong;
use model::secret;
use serde_json::Value;

/// Folders in folders.
const DEPTH_MAX: usize = 20;
/// Types of raw bodies by their language.
const LANGUAGES: &[(&str, &str)] = &[
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("html", "text/html"),
    ("javascript", "application/javascript"),
];

/// Reads a collection.
pub fn read(text: &str) -> Result<Draft, Wrong> {
    let document: Value = serde_json::from_str(text).map_err(|error| Wrong {
        line: u32::try_from(error.line()).unwrap_or(u32::MAX).max(1),
        what: format!("this is no collection of Postman: {error}; export it as Collection v2.1"),
    })?;
    let items = document["item"].as_array().ok_or_else(|| {
        let hint = match &document {
            _ if document["requests"].is_array() => "it is of version 1; export it as v2.1",
            _ if document["values"].is_array() => {
                "it is an environment; import the collection, and give its values as variables"
            }
            _ => "a collection has a list called item; export it as Collection v2.1",
        };
        at_once(format!("this is no collection of Postman: {hint}"))
    })?;
    let mut reader = Reader { scope: Scope::default(), items: Vec::new() };
    for one in list(&document["variable"]) {
        let value = string(&one["value"]);
        reader.scope.set(&string(&one["key"]), &value);
    }
    reader.find_captured(items, 0);
    let mut around = Around { auth: &document["auth"], titles: Vec::new() };
    reader.folder(items, &mut around);
    let mut draft = Draft { items: reader.items, ..Draft::default() };
    if !events(&document, "prerequest").trim().is_empty()
        || !events(&document, "test").trim().is_empty()
    {
        draft.notes.push("Left out: the scripts of the whole collection.".to_string());
    }
    draft.notes.push(
        "Postman follows redirects: write location: true under [Options] where one comes."
            .to_string(),
    );
    Ok(draft)
}

struct Reader {
    scope: Scope,
    items: Vec<Item>,
}

/// What holds for all requests of a folder.
struct Around<'a> {
    auth: &'a Value,
    titles: Vec<String>,
}

/// A list, or nothing.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text, or a number as text.
fn string(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        _ => String::new(),
    }
}

/// The scripts of an item, of one kind.
fn events(item: &Value, kind: &str) -> String {
    let own = list(&item["event"]).iter().filter(|event| event["listen"] == kind);
    let texts = own.map(|event| match &event["script"]["exec"] {
        Value::Array(lines) => lines.iter().map(string).collect::<Vec<_>>().join("\n"),
        other => string(other),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn is_off(value: &Value) -> bool {
    value["disabled"] == true
}

impl Reader {
    /// Notes which variables scripts set from responses: the values of the file are not theirs.
    fn find_captured(&mut self, items: &[Value], depth: usize) {
        for item in items {
            let captures = script::captures(&events(item, "test"));
            self.scope.captured.extend(captures.into_iter().map(|capture| capture.name));
            if depth < DEPTH_MAX {
                self.find_captured(list(&item["item"]), depth + 1);
            }
        }
    }

    fn folder<'a>(&mut self, items: &'a [Value], around: &mut Around<'a>) {
        for item in items {
            let name = string(&item["name"]);
            if item["item"].is_array() {
                let outer = around.auth;
                if item["auth"].is_object() {
                    around.auth = &item["auth"];
                }
                around.titles.push(name);
                self.items.push(Item::Title(format!("Folder: {}", around.titles.join(" / "))));
                if around.titles.len() < DEPTH_MAX {
                    self.folder(list(&item["item"]), around);
                }
                around.titles.pop();
                around.auth = outer;
            } else {
                let step = self.step(item, around.auth, &name);
                self.items.push(step);
            }
        }
    }

    fn text(&self, value: &Value) -> Text {
        Text::read(&self.scope.fill(&string(value)), Braces::Hole)
    }

    fn step(&self, item: &Value, auth: &Value, name: &str) -> Item {
        let request = &item["request"];
        let typed = if request.is_string() { request } else { &request["url"] };
        let typed_url = if typed.is_string() { string(typed) } else { string(&typed["raw"]) };
        let url = url::read(&self.with_places(&typed_url, typed), Braces::Hole);
        let url = match url {
            Ok(url) => url,
            Err(why) => {
                let what = format!("{name}: {}", why.split(';').next().unwrap_or_default());
                return Item::Left(Left::new(&what, "without a URL of HTTP"));
            }
        };
        let method = string(&request["method"]).to_ascii_uppercase();
        let mut step = Step {
            notes: vec![name.to_string()],
            method: if method.is_empty() { "GET".to_string() } else { method },
            server: url.server,
            path: url.path,
            query: url.query,
            ..Step::default()
        };
        for header in list(&request["header"]).iter().filter(|header| !is_off(header)) {
            let value = self.text(&header["value"]);
            if !string(&header["key"]).eq_ignore_ascii_case("accept-encoding") {
                step.headers.push((string(&header["key"]), value));
            }
        }
        self.body(&mut step, &request["body"]);
        let own = &request["auth"];
        self.auth(&mut step, if own.is_object() { own } else { auth });
        script::note(&mut step, "Script before the request, left out", &events(item, "prerequest"));
        script::after(&mut step, &events(item, "test"));
        Item::Step(Box::new(step))
    }

    /// The URL with the values of `/:id`.
    fn with_places(&self, typed: &str, url: &Value) -> String {
        let known = |name: &str| list(&url["variable"]).iter().find(|one| one["key"] == name);
        let (path, query) = match typed.find('?') {
            Some(at) => typed.split_at(at),
            None => (typed, ""),
        };
        let parts = path.split('/').map(|part| match part.strip_prefix(':') {
            Some(name) if !name.is_empty() => {
                let value = known(name).map(|one| string(&one["value"])).unwrap_or_default();
                let is_missing = value.is_empty() || value.starts_with(':');
                if is_missing { format!("{{{{{name}}}}}") } else { value }
            }
            _ => part.to_string(),
        });
        let path = parts.collect::<Vec<_>>().join("/");
        self.scope.fill(&format!("{path}{query}"))
    }

    fn body(&self, step: &mut Step, body: &Value) {
        if is_off(body) {
            return;
        }
        let add = |step: &mut Step, media_type: &str| {
            if step.header("Content-Type").is_none() {
                step.headers.push(("Content-Type".to_string(), Text::plain(media_type)));
            }
        };
        match string(&body["mode"]).as_str() {
            "raw" => {
                let text = self.scope.fill(&string(&body["raw"]));
                let language = string(&body["options"]["raw"]["language"]);
                let known = LANGUAGES.iter().find(|(name, _)| *name == language);
                if !text.trim().is_empty() {
                    add(step, known.map_or("text/plain", |(_, media_type)| media_type));
                    let media_type = step.header("Content-Type").and_then(Text::as_plain);
                    step.body = Body::read(&text, media_type, Braces::Hole);
                }
            }
            "urlencoded" => {
                let pairs = list(&body["urlencoded"]).iter().filter(|pair| !is_off(pair));
                let pairs = pairs.map(|pair| (string(&pair["key"]), self.text(&pair["value"])));
                add(step, "application/x-www-form-urlencoded");
                step.body = Body::Form(Pairs { raw: String::new(), pairs: pairs.collect() });
            }
            "formdata" => {
                let parts = list(&body["formdata"]).iter().filter(|part| !is_off(part));
                step.body = Body::Multipart(parts.flat_map(|part| self.parts(part)).collect());
            }
            "graphql" => {
                let query = Value::String(string(&body["graphql"]["query"])).to_string();
                let variables = string(&body["graphql"]["variables"]);
                let variables = if variables.trim().is_empty() { "{}" } else { &variables };
                let text = format!("{{\"query\": {query}, \"variables\": {variables}}}");
                add(step, "application/json");
                let media_type = Some("application/json");
                step.body = Body::read(&self.scope.fill(&text), media_type, Braces::Hole);
            }
            "file" => {
                let path = string(&body["file"]["src"]);
                step.notes.push(match path.is_empty() {
                    true => "The body is a file that the collection does not name.".to_string(),
                    false => format!("Needs the file {path}"),
                });
                if !path.is_empty() {
                    step.body = Body::File(path);
                }
            }
            _ => {}
        }
    }

    /// A field of a form, which may have several files.
    fn parts(&self, part: &Value) -> Vec<Part> {
        let name = string(&part["key"]);
        let of = |content| Part { name: name.clone(), content };
        if part["type"] != "file" {
            return vec![of(Content::Text(self.text(&part["value"])))];
        }
        let files = match &part["src"] {
            Value::Array(files) => files.iter().map(string).collect(),
            one if string(one).is_empty() => vec![name.clone()],
            one => vec![string(one)],
        };
        let media_type = string(&part["contentType"]);
        files.into_iter().map(|file| of(Content::File(file, media_type.clone()))).collect()
    }

    fn auth(&self, step: &mut Step, auth: &Value) {
        let kind = string(&auth["type"]);
        let of = |key: &str| match &auth[kind.as_str()] {
            Value::Array(pairs) => {
                let found = pairs.iter().find(|pair| pair["key"] == key);
                found.map_or(Text::default(), |pair| self.text(&pair["value"]))
            }
            members => self.text(&members[key]),
        };
        match kind.as_str() {
            "" | "noauth" => {}
            "bearer" if step.header("Authorization").is_none() => {
                let mut value = Text::plain("Bearer ");
                value.0.extend(or_hole(of("token"), "token").0);
                step.headers.push(("Authorization".to_string(), value));
            }
            "bearer" => {}
            "basic" => {
                let password = or_hole(of("password"), "password");
                step.basic = Some((or_hole(of("username"), "user_name"), password));
            }
            "apikey" => {
                let name = of("key").as_plain().unwrap_or("X-API-Key").to_string();
                let value = or_hole(of("value"), "api_key");
                match of("in").as_plain() {
                    Some("query") => step.query.push(name, value),
                    _ => step.headers.push((name, value)),
                }
            }
            other => step.notes.push(format!(
                "Left out: authorization of the kind {}; give a header with -H",
                secret::text(other)
            )),
        }
    }
}

/// A value that the collection does not have is a variable.
fn or_hole(text: Text, name: &str) -> Text {
    if text.0.is_empty() { Text::hole(name) } else { text }
}
