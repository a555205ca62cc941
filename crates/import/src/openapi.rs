//! Descriptions of an API (OpenAPI 3.0 and 3.1): one step for each operation.

use crate::at_once;
use crate::draft::{Body, Braces, Content, Draft, Item, Left, Pairs, Part, Step, Text, variable};
use crate::node::Node;
use crate::url::{self, part_encoded};
use flow::Wrong;

/// Members of a path that are operations.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// References that lead to another one.
const REFERENCES_MAX: usize = 16;
/// Objects in the sample of a body.
const DEPTH_MAX: usize = 8;
/// Values of the sample of a body.
const VALUES_MAX: usize = 2000;
/// Bodies that a sample can be made of, the best first.
const BODIES: [&str; 4] = ["json", "x-www-form-urlencoded", "multipart/form-data", "text/"];

/// Reads a description.
pub fn read(text: &str) -> Result<Draft, Wrong> {
    let document = Node::read(text)?;
    let version = document.at("openapi").text();
    if document.at("swagger").is_some() {
        return Err(at_once(
            "this is Swagger 2.0; accepted are OpenAPI 3.0 and 3.1, so convert it first",
        ));
    }
    if !version.starts_with("3.") {
        return Err(at_once(format!(
            "this is no description that is known: openapi is '{version}', and accepted are 3.0 \
             and 3.1"
        )));
    }
    let mut reader =
        Reader { document: &document, meanings: Vec::new(), values: 0, optional: Vec::new() };
    let mut items = Vec::new();
    for (path, item) in document.at("paths").members() {
        let item = reader.resolved(item);
        for (method, operation) in item.members() {
            if METHODS.contains(&method.as_str()) {
                items.push(reader.step(path, method, (item, operation)));
            }
        }
    }
    let notes = vec![
        "These are single requests. Order them, and carry values with [Captures].".to_string(),
    ];
    Ok(Draft { items, notes, meanings: reader.meanings, ..Draft::default() })
}

struct Reader<'a> {
    document: &'a Node,
    /// What variables are.
    meanings: Vec<(String, String)>,
    /// How many values the sample has that is made.
    values: usize,
    /// Members that it does not have.
    optional: Vec<String>,
}

impl<'a> Reader<'a> {
    /// What a reference leads to; null if that is in another file.
    fn resolved(&self, node: &'a Node) -> &'a Node {
        let mut node = node;
        for _ in 0..REFERENCES_MAX {
            let reference = node.at("$ref").text();
            if reference.is_empty() {
                return node;
            }
            let Some(path) = reference.strip_prefix("#/") else { return &Node::Null };
            let names = path.split('/').map(|name| name.replace("~1", "/").replace("~0", "~"));
            node = names.fold(self.document, |node, name| node.at(&url::decoded(&name)));
        }
        &Node::Null
    }

    fn step(&mut self, path: &str, method: &str, (item, operation): (&'a Node, &'a Node)) -> Item {
        let method = method.to_ascii_uppercase();
        let parameters = self.parameters(item, operation);
        let typed = format!("{}{}", self.server(item, operation), self.path(path, &parameters));
        let url = match url::read(&typed, Braces::Hole) {
            Ok(url) => url,
            Err(why) => {
                let why = why.split(';').next().unwrap_or_default();
                let what = format!("{method} {path}: {why}");
                return Item::Left(Left::new(&what, "without a URL of HTTP"));
            }
        };
        let title = [operation.at("summary").text(), operation.at("operationId").text()];
        let title = title.into_iter().find(|title| !title.is_empty());
        let mut step = Step {
            notes: title.map(str::to_string).into_iter().collect(),
            method,
            server: url.server,
            path: url.path,
            ..Step::default()
        };
        let mut optional = Vec::new();
        for parameter in parameters {
            let (name, place) = (parameter.at("name").text(), parameter.at("in").text());
            let is_own = ["accept", "content-type", "authorization"]
                .contains(&name.to_ascii_lowercase().as_str());
            match (place, parameter.at("required")) {
                ("path", _) => {}
                ("header", _) if is_own => {}
                (_, Node::Bool(true)) => {
                    let value = self.value(parameter, &variable(name));
                    add(&mut step, place, name, value);
                }
                _ => optional.push(name.to_string()),
            }
        }
        if !optional.is_empty() {
            step.notes.push(format!("Optional, left out: {}", optional.join(", ")));
        }
        self.security(&mut step, operation);
        self.body(&mut step, operation);
        let responses = operation.at("responses").members().iter();
        step.status = responses.filter_map(|(status, _)| status.parse().ok()).find(is_good);
        Item::Step(Box::new(step))
    }

    /// The parameters of a path and of its operation, which come first.
    fn parameters(&self, item: &'a Node, operation: &'a Node) -> Vec<&'a Node> {
        let mut parameters: Vec<&Node> = Vec::new();
        for one in operation.at("parameters").list().iter().chain(item.at("parameters").list()) {
            let one = self.resolved(one);
            let is_same = |known: &&Node| {
                known.at("name") == one.at("name") && known.at("in") == one.at("in")
            };
            if one.at("name").is_some() && !parameters.iter().any(is_same) {
                parameters.push(one);
            }
        }
        parameters
    }

    /// The URL of the first server, with its variables filled.
    fn server(&self, item: &'a Node, operation: &'a Node) -> String {
        let lists = [operation, item, self.document].map(|node| node.at("servers").list());
        let Some(server) = lists.into_iter().find_map(<[Node]>::first) else {
            return "{{server}}".to_string();
        };
        let mut url = server.at("url").text().to_string();
        for (name, facts) in server.at("variables").members() {
            let value = match facts.at("default").text() {
                "" => format!("{{{{{}}}}}", variable(name)),
                value => value.to_string(),
            };
            url = url.replace(&format!("{{{name}}}"), &value);
        }
        let url = url.trim_end_matches('/');
        match url.contains("://") || url.starts_with("{{") {
            true => url.to_string(),
            false => format!("{{{{server}}}}{}{url}", if url.is_empty() { "" } else { "/" })
                .replace("}}//", "}}/"),
        }
    }

    /// The path with values.
    fn path(&mut self, path: &str, parameters: &[&'a Node]) -> String {
        let (mut written, mut rest, mut before) = (String::new(), path, String::new());
        while let Some((plain, (name, after))) =
            rest.split_once('{').and_then(|(plain, rest)| Some((plain, rest.split_once('}')?)))
        {
            written += plain;
            if let Some(part) = plain.split('/').rfind(|part| !part.is_empty()) {
                before = part.to_string();
            }
            let is_short = ["id", "uuid", "name", "slug", "key"].contains(&name);
            let hole = if is_short { format!("{before}_{name}") } else { name.to_string() };
            let of_path = |one: &&&Node| one.at("in").text() == "path";
            let known = parameters.iter().filter(of_path).find(|one| one.at("name").text() == name);
            let value = known.map(|parameter| self.value(parameter, &variable(&hole)));
            match value.as_ref().and_then(Text::as_plain) {
                Some(value) if !value.is_empty() => written += &part_encoded(value),
                _ => written += &format!("{{{{{}}}}}", variable(&hole)),
            }
            rest = after;
        }
        written + rest
    }

    /// The value of a parameter, or a hole.
    fn value(&mut self, parameter: &'a Node, hole: &str) -> Text {
        let schema = self.resolved(parameter.at("schema"));
        let stated = self.stated(parameter).or_else(|| self.stated(schema));
        let items = self.resolved(schema.at("items"));
        match stated.or_else(|| self.stated(items)) {
            Some(Node::List(values)) => {
                let values: Vec<&str> = values.iter().map(Node::text).collect();
                Text::plain(values.join(","))
            }
            Some(value) if !value.text().is_empty() => Text::read(value.text(), Braces::Hole),
            _ => {
                self.mean(hole, schema, parameter.at("description").text());
                Text::hole(hole)
            }
        }
    }

    /// A value that the description states.
    fn stated(&self, node: &'a Node) -> Option<Node> {
        let first = |name: &str| node.at(name).list().first();
        let example = node.at("examples").members().first();
        let example = example.map(|(_, example)| self.resolved(example).at("value"));
        let stated = [
            Some(node.at("example")),
            example,
            first("examples"),
            Some(node.at("const")),
            Some(node.at("default")),
            first("enum"),
        ];
        stated.into_iter().flatten().find(|node| node.is_some()).cloned()
    }

    /// Takes note of what a variable is.
    fn mean(&mut self, name: &str, schema: &Node, description: &str) {
        let kinds = [schema.at("type").text(), schema.at("format").text()];
        let line = description.lines().next().unwrap_or_default();
        let line: String = line.chars().take(80).collect();
        let parts = kinds.into_iter().chain([line.as_str()]).filter(|part| !part.is_empty());
        let meaning = parts.collect::<Vec<&str>>().join(", ");
        if !meaning.is_empty() && !self.meanings.iter().any(|(known, _)| known == name) {
            self.meanings.push((name.to_string(), meaning));
        }
    }

    fn security(&self, step: &mut Step, operation: &Node) {
        let own = operation.at("security");
        let all = if own.is_some() { own } else { self.document.at("security") };
        let Some(first) = all.list().first() else { return };
        for (name, _) in first.members() {
            let schemes = self.document.at("components").at("securitySchemes");
            let scheme = self.resolved(schemes.at(name));
            let kind = (scheme.at("type").text(), scheme.at("scheme").text().to_lowercase());
            match (kind.0, kind.1.as_str()) {
                ("http", "basic") => {
                    step.basic = Some((Text::hole("user_name"), Text::hole("password")));
                }
                ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
                    let mut value = Text::plain("Bearer ");
                    value.0.extend(Text::hole("token").0);
                    step.headers.push(("Authorization".to_string(), value));
                }
                ("apiKey", _) => {
                    let (place, own) = (scheme.at("in").text(), scheme.at("name").text());
                    let hole = variable(&format!("{own}_secret")).replace(['-', '.'], "_");
                    add(step, place, own, Text::hole(&hole));
                }
                _ => step.notes.push(format!("Left out: authorization by {name}")),
            }
        }
    }

    fn body(&mut self, step: &mut Step, operation: &'a Node) {
        let contents = self.resolved(operation.at("requestBody")).at("content").members();
        let best = BODIES
            .iter()
            .find_map(|kind| contents.iter().find(|(media_type, _)| media_type.contains(kind)));
        let Some((media_type, content)) = best.or(contents.first()) else { return };
        let header = media_type.replace("*/*", "application/json");
        self.values = 0;
        self.optional.clear();
        let schema = content.at("schema");
        if self.resolved(schema).at("format").text() == "binary" {
            step.headers.push(("Content-Type".to_string(), Text::plain(header)));
            step.body = Body::File("body".to_string());
            return;
        }
        let sample = self.stated(content).or_else(|| self.sample(schema, "body", 0));
        if !self.optional.is_empty() {
            let names = self.optional.join(", ");
            step.notes.push(format!("Optional in the body, left out: {names}"));
        }
        let Some(sample) = sample else {
            step.notes.push(format!("The body is missing; it is {media_type}"));
            return;
        };
        if media_type.contains("multipart/") {
            let resolved = self.resolved(schema);
            let parts = sample.members().iter().map(|(name, value)| {
                let facts = self.resolved(resolved.at("properties").at(name));
                self.part(name, value, facts)
            });
            step.body = Body::Multipart(parts.collect());
            return;
        }
        step.headers.push(("Content-Type".to_string(), Text::plain(header.clone())));
        if media_type.contains("x-www-form-urlencoded") {
            let pairs = sample
                .members()
                .iter()
                .map(|(name, value)| (name.clone(), Text::read(value.text(), Braces::Hole)));
            step.body = Body::Form(Pairs { raw: String::new(), pairs: pairs.collect() });
            return;
        }
        let text = match &sample {
            Node::Text(text) if !media_type.contains("json") => text.clone(),
            sample => sample.json(0),
        };
        step.body = Body::read(&text, Some(&header), Braces::Hole);
    }

    fn part(&self, name: &str, value: &Node, facts: &Node) -> Part {
        let is_file =
            facts.at("format").text() == "binary" || facts.at("contentMediaType").is_some();
        let content = match is_file {
            true => Content::File(variable(name), String::new()),
            false => {
                let text = match value.text() {
                    "" => value.json(0),
                    text => text.to_string(),
                };
                Content::Text(Text::read(&text, Braces::Hole))
            }
        };
        Part { name: name.to_string(), content }
    }

    /// A value of a schema: what is stated, and variables for what must be there.
    fn sample(&mut self, schema: &'a Node, name: &str, depth: usize) -> Option<Node> {
        let schema = self.resolved(schema);
        self.values += 1;
        if depth > DEPTH_MAX || self.values > VALUES_MAX || !schema.is_some() {
            return None;
        }
        if let Some(stated) = self.stated(schema) {
            return Some(stated);
        }
        for kind in ["oneOf", "anyOf"] {
            let mut all = schema.at(kind).list().iter();
            if let Some(found) = all.find_map(|one| self.sample(one, name, depth + 1)) {
                return Some(found);
            }
        }
        let mut members = Vec::new();
        for one in schema.at("allOf").list() {
            match self.sample(one, name, depth + 1) {
                Some(Node::Map(more)) => members.extend(more),
                Some(other) if schema.at("allOf").list().len() == 1 => return Some(other),
                _ => {}
            }
        }
        let kinds = [schema.at("type")].into_iter().chain(schema.at("type").list());
        let kind = kinds.map(Node::text).find(|kind| !kind.is_empty() && *kind != "null");
        let hole = variable(name);
        match kind {
            _ if schema.at("properties").is_some() || !members.is_empty() => {
                self.members(schema, &mut members, depth);
                Some(Node::Map(members))
            }
            Some("object") => Some(Node::Map(members)),
            Some("array") => {
                let item = self.sample(schema.at("items"), name, depth + 1);
                Some(Node::List(item.into_iter().collect()))
            }
            Some("integer" | "number" | "boolean") => {
                self.mean(&hole, schema, schema.at("description").text());
                Some(Node::Number(format!("{{{{{hole}}}}}")))
            }
            Some(_) => {
                self.mean(&hole, schema, schema.at("description").text());
                Some(Node::Text(format!("{{{{{hole}}}}}")))
            }
            None => None,
        }
    }

    /// Adds the members that must be there, and those whose value is stated.
    fn members(&mut self, schema: &'a Node, members: &mut Vec<(String, Node)>, depth: usize) {
        for (name, facts) in schema.at("properties").members() {
            let facts = self.resolved(facts);
            let is_known = members.iter().any(|(known, _)| known == name);
            if is_known || *facts.at("readOnly") == Node::Bool(true) {
                continue;
            }
            let is_required = schema.at("required").list().iter().any(|one| one.text() == name);
            let value = match is_required {
                true => self.sample(facts, name, depth + 1),
                false => self.stated(facts),
            };
            match value {
                Some(value) => members.push((name.clone(), value)),
                None => self.optional.push(name.clone()),
            }
        }
    }
}

fn is_good(status: &u16) -> bool {
    (200..300).contains(status)
}

/// Adds a value where its place says.
fn add(step: &mut Step, place: &str, name: &str, value: Text) {
    match place {
        "query" => step.query.push(name.to_string(), value),
        "cookie" => step.cookies.push((name.to_string(), value)),
        _ => step.headers.push((name.to_string(), value)),
    }
}
