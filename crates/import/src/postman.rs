//! Collections of Postman, version 2.1: the requests of all folders, in their order.

use crate::draft::{Body, Braces, Content, Draft, Item, Left, Pairs, Part, Step, Text};
use crate::node::Node;
use crate::scope::Scope;
use crate::{at_line, at_once, json, script, url};
use flow::Wrong;
use model::secret;

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
    let document: Node = serde_json::from_str(text).map_err(|error| {
        let hint = "export it as Collection v2.1";
        at_line(error.line(), format!("this is no collection of Postman: {error}; {hint}"))
    })?;
    let Node::List(items) = document.at("item") else {
        let hint = match (document.at("requests"), document.at("values")) {
            (Node::List(_), _) => "it is of version 1; export it as v2.1",
            (_, Node::List(_)) => {
                "it is an environment; import the collection, and give its values as variables"
            }
            _ => "a collection has a list called item; export it as Collection v2.1",
        };
        return Err(at_once(format!("this is no collection of Postman: {hint}")));
    };
    let mut reader = Reader { scope: Scope::default(), items: Vec::new() };
    for one in document.at("variable").list() {
        reader.scope.set(one.at("key").text(), one.at("value").text());
    }
    reader.find_captured(items, 0);
    let mut around = Around { auth: document.at("auth"), titles: Vec::new() };
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
    auth: &'a Node,
    titles: Vec<&'a str>,
}

/// The scripts of an item, of one kind.
fn events(item: &Node, kind: &str) -> String {
    let own = item.at("event").list().iter().filter(|event| event.at("listen").text() == kind);
    let texts = own.map(|event| match event.at("script").at("exec") {
        Node::List(lines) => lines.iter().map(Node::text).collect::<Vec<_>>().join("\n"),
        other => other.text().to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn is_off(value: &Node) -> bool {
    *value.at("disabled") == Node::Bool(true)
}

impl Reader {
    /// Notes which variables scripts set from responses: the values of the file are not theirs.
    fn find_captured(&mut self, items: &[Node], depth: usize) {
        for item in items {
            let captures = script::captures(&events(item, "test"));
            self.scope.captured.extend(captures.into_iter().map(|capture| capture.name));
            if depth < DEPTH_MAX {
                self.find_captured(item.at("item").list(), depth + 1);
            }
        }
    }

    fn folder<'a>(&mut self, items: &'a [Node], around: &mut Around<'a>) {
        for item in items {
            let name = item.at("name").text();
            if let Node::List(inside) = item.at("item") {
                let outer = around.auth;
                if let own @ Node::Map(_) = item.at("auth") {
                    around.auth = own;
                }
                around.titles.push(name);
                self.items.push(Item::Title(format!("Folder: {}", around.titles.join(" / "))));
                if around.titles.len() < DEPTH_MAX {
                    self.folder(inside, around);
                }
                around.titles.pop();
                around.auth = outer;
            } else {
                let step = self.step(item, around.auth, name);
                self.items.push(step);
            }
        }
    }

    fn text(&self, value: &Node) -> Text {
        Text::read(&self.scope.fill(value.text()), Braces::Hole)
    }

    fn step(&self, item: &Node, auth: &Node, name: &str) -> Item {
        let request = item.at("request");
        let typed = if let Node::Text(_) = request { request } else { request.at("url") };
        let typed_url = if let Node::Text(text) = typed { text } else { typed.at("raw").text() };
        let url = url::read(&self.with_places(typed_url, typed), Braces::Hole);
        let url = match url {
            Ok(url) => url,
            Err(why) => {
                let what = format!("{name}: {}", why.split(';').next().unwrap_or_default());
                return Item::Left(Left::new(&what, "without a URL of HTTP"));
            }
        };
        let method = request.at("method").text().to_ascii_uppercase();
        let mut step = Step {
            notes: vec![name.to_string()],
            method: if method.is_empty() { "GET".to_string() } else { method },
            server: url.server,
            path: url.path,
            query: url.query,
            ..Step::default()
        };
        for header in request.at("header").list().iter().filter(|header| !is_off(header)) {
            let value = self.text(header.at("value"));
            let name = header.at("key").text();
            if !name.eq_ignore_ascii_case("accept-encoding") {
                step.headers.push((name.to_string(), value));
            }
        }
        self.body(&mut step, request.at("body"));
        let own = request.at("auth");
        self.auth(&mut step, if let Node::Map(_) = own { own } else { auth });
        script::note(&mut step, "Script before the request, left out", &events(item, "prerequest"));
        script::after(&mut step, &events(item, "test"));
        Item::Step(Box::new(step))
    }

    /// The URL with the values of `/:id`.
    fn with_places(&self, typed: &str, url: &Node) -> String {
        let known =
            |name: &str| url.at("variable").list().iter().find(|one| one.at("key").text() == name);
        let (path, query) = match typed.find('?') {
            Some(at) => typed.split_at(at),
            None => (typed, ""),
        };
        let parts = path.split('/').map(|part| match part.strip_prefix(':') {
            Some(name) if !name.is_empty() => {
                let value = known(name).map(|one| one.at("value").text()).unwrap_or_default();
                let is_missing = value.is_empty() || value.starts_with(':');
                if is_missing { format!("{{{{{name}}}}}") } else { value.to_string() }
            }
            _ => part.to_string(),
        });
        let path = parts.collect::<Vec<_>>().join("/");
        self.scope.fill(&format!("{path}{query}"))
    }

    fn body(&self, step: &mut Step, body: &Node) {
        if is_off(body) {
            return;
        }
        let add = |step: &mut Step, media_type: &str| {
            if step.header("Content-Type").is_none() {
                step.headers.push(("Content-Type".to_string(), Text::plain(media_type)));
            }
        };
        match body.at("mode").text() {
            "raw" => {
                let text = self.scope.fill(body.at("raw").text());
                let language = body.at("options").at("raw").at("language").text();
                let known = LANGUAGES.iter().find(|(name, _)| *name == language);
                if !text.trim().is_empty() {
                    add(step, known.map_or("text/plain", |(_, media_type)| media_type));
                    let media_type = step.header("Content-Type").and_then(Text::as_plain);
                    step.body = Body::read(&text, media_type, Braces::Hole);
                }
            }
            "urlencoded" => {
                let pairs = body.at("urlencoded").list().iter().filter(|pair| !is_off(pair));
                let pairs = pairs
                    .map(|pair| (pair.at("key").text().to_string(), self.text(pair.at("value"))));
                add(step, "application/x-www-form-urlencoded");
                step.body = Body::Form(Pairs { raw: String::new(), pairs: pairs.collect() });
            }
            "formdata" => {
                let parts = body.at("formdata").list().iter().filter(|part| !is_off(part));
                step.body = Body::Multipart(parts.flat_map(|part| self.parts(part)).collect());
            }
            "graphql" => {
                let of = body.at("graphql");
                let text = json::graphql(of.at("query").text(), of.at("variables").text());
                add(step, "application/json");
                let media_type = Some("application/json");
                step.body = Body::read(&self.scope.fill(&text), media_type, Braces::Hole);
            }
            "file" => {
                let path = body.at("file").at("src").text();
                match path.is_empty() {
                    true => step
                        .notes
                        .push("The body is a file that the collection does not name.".to_string()),
                    false => step.body = Body::File(path.to_string()),
                }
            }
            _ => {}
        }
    }

    /// A field of a form, which may have several files.
    fn parts(&self, part: &Node) -> Vec<Part> {
        let name = part.at("key").text();
        let of = |content| Part { name: name.to_string(), content };
        if part.at("type").text() != "file" {
            return vec![of(Content::Text(self.text(part.at("value"))))];
        }
        let files = match part.at("src") {
            Node::List(files) => files.iter().map(Node::text).collect(),
            one if one.text().is_empty() => vec![name],
            one => vec![one.text()],
        };
        let media_type = part.at("contentType").text();
        let file = |path: &str| Content::File(path.to_string(), media_type.to_string());
        files.into_iter().map(|path| of(file(path))).collect()
    }

    fn auth(&self, step: &mut Step, auth: &Node) {
        let kind = auth.at("type").text();
        let of = |key: &str| match auth.at(kind) {
            Node::List(pairs) => {
                let found = pairs.iter().find(|pair| pair.at("key").text() == key);
                found.map_or(Text::default(), |pair| self.text(pair.at("value")))
            }
            members => self.text(members.at(key)),
        };
        match kind {
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
