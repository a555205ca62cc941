//! Messages that a method takes, as JSON.

use crate::message::is_well_known;
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor};
use serde_json::{Map, Value, json};

/// Messages inside messages that are shown.
const DEPTH: u32 = 2;

/// What a method takes: a message, or a list of two.
pub(crate) fn of_method(method: &MethodDescriptor) -> Value {
    let one = of(&method.input());
    if method.is_client_streaming() { json!([one, one]) } else { one }
}

/// A message with all its fields, of which one of a choice.
pub(crate) fn of(message: &MessageDescriptor) -> Value {
    message_of(message, DEPTH)
}

fn message_of(message: &MessageDescriptor, depth: u32) -> Value {
    match message.full_name() {
        "google.protobuf.Timestamp" => return json!("2026-01-02T03:04:05Z"),
        "google.protobuf.Duration" => return json!("1.5s"),
        "google.protobuf.FieldMask" => return json!("name"),
        "google.protobuf.Any" => return json!({"@type": "type.googleapis.com/package.Message"}),
        "google.protobuf.Value" => return json!("any"),
        "google.protobuf.ListValue" => return json!(["any"]),
        "google.protobuf.Struct" => return json!({"any": "any"}),
        name if name.starts_with("google.protobuf.") && name.ends_with("Value") => {
            return message.fields().next().map_or(Value::Null, |field| value(&field, 0));
        }
        _ => {}
    }
    let is_shown = |field: &FieldDescriptor| {
        let choice = field.containing_oneof().filter(|choice| !choice.is_synthetic());
        choice.is_none_or(|choice| choice.fields().next().as_ref() == Some(field))
    };
    let fields = message.fields().filter(is_shown);
    let shown = fields.map(|field| (field.name().to_string(), value(&field, depth)));
    Value::Object(shown.collect::<Map<_, _>>())
}

/// A value of a field.
pub(crate) fn value(field: &FieldDescriptor, depth: u32) -> Value {
    if let (true, Kind::Message(entry)) = (field.is_map(), field.kind()) {
        let key = match value(&entry.map_entry_key_field(), 0) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let inner = value(&entry.map_entry_value_field(), depth);
        return Value::Object([(key, inner)].into_iter().collect());
    }
    let one = match field.kind() {
        Kind::Double | Kind::Float => json!(1.5),
        Kind::Bool => json!(true),
        Kind::String => json!("text"),
        // "text" in base64.
        Kind::Bytes => json!("dGV4dA=="),
        Kind::Message(inner) if depth == 0 && !is_well_known(&inner) => json!({}),
        Kind::Message(inner) => message_of(&inner, depth.saturating_sub(1)),
        Kind::Enum(inner) => json!(inner.values().last().map(|last| last.name().to_string())),
        _ => json!(1),
    };
    if field.is_list() { Value::Array(vec![one]) } else { one }
}
