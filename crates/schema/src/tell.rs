//! What a schema has, as text and as documents.

use crate::message::{is_well_known, kind};
use crate::near::near;
use crate::{Schema, example, path_of};
use prost_reflect::{EnumDescriptor, Kind, MessageDescriptor, MethodDescriptor, ServiceDescriptor};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

/// A service and its methods.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServiceRow {
    /// Its full name.
    pub service: String,
    /// Its methods.
    pub methods: Vec<MethodRow>,
}

/// A method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodRow {
    /// Its name.
    pub name: String,
    /// The path of a call.
    pub path: String,
    /// Full names of its messages.
    pub request: String,
    /// See `request`.
    pub reply: String,
    /// Whether it takes more than one message.
    pub streams_requests: bool,
    /// Whether it sends more than one.
    pub streams_replies: bool,
}

/// One thing of a schema.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Described {
    /// Its full name.
    pub name: String,
    /// How a `.proto` file would have it.
    pub proto: String,
    /// A message as JSON: it, or what a method takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
}

impl Described {
    /// Whether it is a method.
    pub fn is_method(&self) -> bool {
        self.proto.starts_with("rpc ")
    }
}

impl Schema {
    /// Its services, by name.
    pub fn rows(&self) -> Vec<ServiceRow> {
        let mut rows: Vec<_> = self.services().map(|service| row(&service)).collect();
        rows.sort_by(|left, right| left.service.cmp(&right.service));
        rows
    }

    /// A service, a method or a message, with what belongs to it. A method is
    /// `package.Service/Method`, or with a point in the place of the slash.
    pub fn describe(&self, symbol: &str) -> Result<Vec<Described>, String> {
        let symbol = symbol.trim_start_matches('/');
        if let Some(service) = self.services().find(|one| one.full_name() == symbol) {
            return Ok(vec![of_service(&service)]);
        }
        if let Some(message) = self.pool.get_message_by_name(symbol) {
            return Ok(of_message(&message));
        }
        if let Some(of) = self.pool.get_enum_by_name(symbol) {
            return Ok(vec![of_enum(&of)]);
        }
        let all = self.services().flat_map(|service| service.methods().collect::<Vec<_>>());
        let mut names = Vec::new();
        for method in all {
            if [method.full_name(), path_of(&method).trim_start_matches('/')].contains(&symbol) {
                return Ok(of_method(&method));
            }
            names.push(method.full_name().to_string());
        }
        names.extend(self.services().map(|one| one.full_name().to_string()));
        names.extend(self.pool.all_messages().map(|one| one.full_name().to_string()));
        Err(format!("there is no {symbol}{}", near(symbol, &names)))
    }
}

fn row(service: &ServiceDescriptor) -> ServiceRow {
    let methods = service.methods().map(|method| MethodRow {
        name: method.name().to_string(),
        path: path_of(&method),
        request: method.input().full_name().to_string(),
        reply: method.output().full_name().to_string(),
        streams_requests: method.is_client_streaming(),
        streams_replies: method.is_server_streaming(),
    });
    ServiceRow { service: service.full_name().to_string(), methods: methods.collect() }
}

impl MethodRow {
    /// As a `.proto` file has it.
    pub fn line(&self) -> String {
        let stream = |is: bool| if is { "stream " } else { "" };
        format!(
            "rpc {}({}{}) returns ({}{})",
            self.name,
            stream(self.streams_requests),
            self.request,
            stream(self.streams_replies),
            self.reply
        )
    }
}

fn of_service(service: &ServiceDescriptor) -> Described {
    let row = row(service);
    let mut proto = format!("service {} {{\n", row.service);
    for method in &row.methods {
        let _ = writeln!(proto, "  {};", method.line());
    }
    Described { name: row.service, proto: proto + "}", example: None }
}

/// A method and its two messages.
fn of_method(method: &MethodDescriptor) -> Vec<Described> {
    let path = path_of(method);
    let line = row(method.parent_service()).methods.into_iter().find(|one| one.path == path);
    let proto = line.map_or(String::new(), |line| format!("{};", line.line()));
    let example = Some(example::of_method(method));
    let own = Described { name: path.trim_start_matches('/').to_string(), proto, example };
    let mut all = vec![own];
    let messages = of_message(&method.input()).into_iter().chain(of_message(&method.output()));
    for message in messages {
        if !all.iter().any(|known| known.name == message.name) {
            all.push(Described { example: None, ..message });
        }
    }
    all
}

/// A message, and the messages and lists of values inside it.
fn of_message(message: &MessageDescriptor) -> Vec<Described> {
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    let mut next = VecDeque::from([Kind::Message(message.clone())]);
    while let Some(one) = next.pop_front() {
        // Messages can hold themselves.
        if !name_of(&one).is_some_and(|name| known.insert(name)) {
            continue;
        }
        match one {
            Kind::Message(of) => {
                next.extend(of.fields().map(|field| field.kind()));
                all.extend((!of.is_map_entry()).then(|| shape(&of)));
            }
            Kind::Enum(of) => all.push(of_enum(&of)),
            _ => {}
        }
    }
    all
}

/// The name of a message or of a list of values; nothing for plain types, and for messages that
/// everybody knows.
fn name_of(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Message(of) if is_well_known(of) => None,
        Kind::Message(of) => Some(of.full_name().to_string()),
        Kind::Enum(of) => Some(of.full_name().to_string()),
        _ => None,
    }
}

fn shape(message: &MessageDescriptor) -> Described {
    let mut proto = format!("message {} {{\n", message.full_name());
    for field in message.fields() {
        let choice = field.containing_oneof().filter(|choice| !choice.is_synthetic());
        let choice =
            choice.map_or(String::new(), |choice| format!("  // one of {}", choice.name()));
        let _ =
            writeln!(proto, "  {} {} = {};{choice}", kind(&field), field.name(), field.number());
    }
    let name = message.full_name().to_string();
    Described { name, proto: proto + "}", example: Some(example::of(message)) }
}

fn of_enum(of: &EnumDescriptor) -> Described {
    let mut proto = format!("enum {} {{\n", of.full_name());
    for value in of.values() {
        let _ = writeln!(proto, "  {} = {};", value.name(), value.number());
    }
    Described { name: of.full_name().to_string(), proto: proto + "}", example: None }
}
