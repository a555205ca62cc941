//! Documents of JSON or YAML, with the members of an object in their order.

use crate::at_line;
use flow::Wrong;
use granit_parser::{Event, Parser, ScalarStyle};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Objects in objects.
const DEPTH_MAX: usize = 120;
/// Bytes of a document with everything that it repeats by a name (`*name`).
const BYTES_MAX: usize = 128 << 20;
/// Bytes of a value besides its text.
const VALUE_BYTES: usize = 64;

/// A value of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// `null`, or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written; in a sample perhaps a hole.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Members in their order.
    Map(Vec<(String, Node)>),
}

static NULL: Node = Node::Null;

impl Node {
    /// Reads a document.
    pub fn read(text: &str) -> Result<Self, Wrong> {
        if !text.trim_start().starts_with('{') {
            return yaml(text);
        }
        serde_json::from_str(text)
            .map_err(|error| at_line(error.line(), format!("this is no JSON: {error}")))
    }

    /// The member of a name; null if there is none.
    pub fn at(&self, name: &str) -> &Self {
        let found = self.members().iter().find(|(given, _)| given == name);
        found.map_or(&NULL, |(_, value)| value)
    }

    /// The members of an object; none of others.
    pub fn members(&self) -> &[(String, Self)] {
        if let Self::Map(members) = self { members } else { &[] }
    }

    /// The elements of a list; none of others.
    pub fn list(&self) -> &[Self] {
        if let Self::List(values) = self { values } else { &[] }
    }

    /// A text or a number as text; empty for others.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Number(text) => text,
            Self::Bool(true) => "true",
            Self::Bool(false) => "false",
            _ => "",
        }
    }

    /// Whether there is something.
    pub fn is_some(&self) -> bool {
        *self != Self::Null
    }

    /// As JSON with an indent.
    pub fn json(&self, indent: usize) -> String {
        let inner = " ".repeat(indent + 2);
        let outer = " ".repeat(indent);
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let lines = |open: &str, lines: Vec<String>, close: &str| match lines.is_empty() {
            true => format!("{open}{close}"),
            false => {
                format!("{open}\n{inner}{}\n{outer}{close}", lines.join(&format!(",\n{inner}")))
            }
        };
        match self {
            Self::Null => "null".to_string(),
            Self::Bool(is) => is.to_string(),
            Self::Number(number) => number.clone(),
            Self::Text(text) => quoted(text),
            Self::List(values) => {
                lines("[", values.iter().map(|value| value.json(indent + 2)).collect(), "]")
            }
            Self::Map(members) => {
                let members = members
                    .iter()
                    .map(|(name, value)| format!("{}: {}", quoted(name), value.json(indent + 2)));
                lines("{", members.collect(), "}")
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Node;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Null)
            }

            fn visit_bool<E>(self, is: bool) -> Result<Node, E> {
                Ok(Node::Bool(is))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
                Ok(Node::Number(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
                Ok(Node::Number(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
                Ok(Node::Number(serde_json::Value::from(number).to_string()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Node, E> {
                Ok(Node::Text(text.to_string()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Node, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = input.next_element()? {
                    values.push(value);
                }
                Ok(Node::List(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Node, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = input.next_entry()? {
                    members.push(member);
                }
                Ok(Node::Map(members))
            }
        }
        input.deserialize_any(Any)
    }
}

/// What is open while a document is read.
struct Open {
    anchor: usize,
    /// The name of the next member, in an object.
    key: Option<String>,
    /// The names of the members, in an object.
    names: HashSet<String>,
    node: Node,
}

impl Open {
    fn new(anchor: usize, node: Node) -> Self {
        Self { anchor, key: None, names: HashSet::new(), node }
    }
}

/// Reads the first document of a text.
fn yaml(text: &str) -> Result<Node, Wrong> {
    let mut open: Vec<Open> = Vec::new();
    let mut anchors: HashMap<usize, (Node, usize)> = HashMap::new();
    let mut bytes = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            at_line(error.marker().line(), format!("this is no YAML: {}", error.info()))
        })?;
        let too_large = || {
            let what = "the document has too many values, or too many inside each other";
            at_line(span.start.line(), what)
        };
        bytes += VALUE_BYTES;
        let (anchor, node) = match event {
            Event::SequenceStart(_, anchor, _) => {
                open.push(Open::new(anchor, Node::List(Vec::new())));
                continue;
            }
            Event::MappingStart(_, anchor, _) => {
                open.push(Open::new(anchor, Node::Map(Vec::new())));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(ended) => (ended.anchor, ended.node),
                None => continue,
            },
            Event::Scalar(text, style, anchor, _) => (anchor, scalar(&text, style)),
            Event::Alias(id) => {
                let known = anchors.get(&id);
                bytes += known.map_or(0, |(_, size)| *size);
                if bytes > BYTES_MAX {
                    return Err(too_large());
                }
                (0, known.map_or(Node::Null, |(node, _)| node.clone()))
            }
            _ => continue,
        };
        let size = if anchor > 0 { size(&node) } else { 0 };
        bytes += size;
        if bytes > BYTES_MAX || open.len() > DEPTH_MAX {
            return Err(too_large());
        }
        if anchor > 0 {
            anchors.insert(anchor, (node.clone(), size));
        }
        match open.last_mut() {
            None => return Ok(node),
            Some(outer) => add(outer, node),
        }
    }
    Ok(Node::Null)
}

/// Adds a value to the list or the object that it is in.
fn add(outer: &mut Open, node: Node) {
    match (&mut outer.node, outer.key.take()) {
        (Node::List(values), _) => values.push(node),
        (Node::Map(_), None) => outer.key = Some(node.text().to_string()),
        // Members of another object, which stand for those that this one has not.
        (Node::Map(members), Some(key)) if key == "<<" => {
            for (name, value) in node.members() {
                if outer.names.insert(name.clone()) {
                    members.push((name.clone(), value.clone()));
                }
            }
        }
        (Node::Map(members), Some(key)) => {
            if !outer.names.insert(key.clone()) {
                members.retain(|(known, _)| *known != key);
            }
            members.push((key, node));
        }
        _ => {}
    }
}

/// Bytes of a value with all values inside.
fn size(node: &Node) -> usize {
    let values = node.list().iter().map(size);
    let members = node.members().iter().map(|(name, value)| name.len() + size(value));
    VALUE_BYTES + node.text().len() + values.chain(members).sum::<usize>()
}

fn scalar(text: &str, style: ScalarStyle) -> Node {
    match (style, text) {
        (ScalarStyle::Plain, "" | "~" | "null" | "Null" | "NULL") => Node::Null,
        (ScalarStyle::Plain, "true" | "True" | "TRUE") => Node::Bool(true),
        (ScalarStyle::Plain, "false" | "False" | "FALSE") => Node::Bool(false),
        (ScalarStyle::Plain, _) if serde_json::from_str::<serde_json::Number>(text).is_ok() => {
            Node::Number(text.to_string())
        }
        _ => Node::Text(text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_are_the_same_document() {
        let yaml =
            "z: &one\n  a: [1, '2', true, ~]\n  b: |\n    x\n    y\nc:\n  <<: *one\n  b: 3.1.0\n";
        let json = r#"{"z": {"a": [1, "2", true, null], "b": "x\ny\n"},
            "c": {"a": [1, "2", true, null], "b": "3.1.0"}}"#;
        let (yaml, json) = (Node::read(yaml).unwrap(), Node::read(json).unwrap());
        assert_eq!(yaml, json);
        assert_eq!(json.members()[0].0, "z", "members keep their order");
        assert_eq!(Node::read(&json.json(0)).unwrap(), json);
    }

    #[test]
    fn documents_that_grow_or_have_no_end_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_string();
        for level in 1..9 {
            let names = vec![format!("*a{}", level - 1); 9].join(", ");
            text += &format!("a{level}: &a{level} [{names}]\n");
        }
        let deep = "[".repeat(1000);
        let long = format!("a: &a {}\nb: [{}]", "x".repeat(1 << 20), ["*a"; 200].join(", "));
        let named = (0..100).map(|at| format!("&n{at} [")).collect::<String>();
        let named = format!("{named}{}{}", ["x"; 50_000].join(", "), "]".repeat(100));
        for (text, what) in [
            (text.as_str(), "too many values"),
            (&long, "too many values"),
            (&named, "too many values"),
            (&deep, ""),
            ("a: [b", "this is no YAML"),
            ("{\"a\": ", "this is no JSON"),
        ] {
            let wrong = Node::read(text).unwrap_err();
            assert!(wrong.what.contains(what), "{}", wrong.what);
        }
    }
}
