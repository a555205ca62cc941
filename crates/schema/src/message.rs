//! JSON as a message of a schema, and what is wrong with it where it is none.

use crate::example;
use crate::near::near;
use prost::Message;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

/// A message with its prefix: not compressed, and its length
/// (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0][..], &length, message].concat()
}

/// The message that JSON describes, with its prefix. Without any it is one without fields.
pub(crate) fn encoded(of: &MessageDescriptor, json: &[u8]) -> Result<Vec<u8>, String> {
    if json.trim_ascii().is_empty() {
        return Ok(framed(&[]));
    }
    read_as(of, json).map(|(_, message)| framed(&message.encode_to_vec()))
}

/// The messages of a list, each with its prefix; what is no list is one message.
pub(crate) fn listed(of: &MessageDescriptor, json: &[u8]) -> Result<Vec<u8>, String> {
    if !json.trim_ascii().starts_with(b"[") {
        return encoded(of, json);
    }
    let json = value(of, json)?;
    let values = json.as_array().map_or(&[][..], Vec::as_slice);
    let framed = values.iter().zip(1..).map(|(value, nth)| match message(of, value) {
        Ok(message) => Ok(framed(&message.encode_to_vec())),
        Err(why) => Err(format!("message {nth} of {}: {why}", values.len())),
    });
    Ok(framed.collect::<Result<Vec<_>, String>>()?.concat())
}

/// JSON, and the message that it describes.
pub(crate) fn read_as(
    of: &MessageDescriptor,
    json: &[u8],
) -> Result<(Value, DynamicMessage), String> {
    let value = value(of, json)?;
    let message = message(of, &value)?;
    Ok((value, message))
}

fn value(of: &MessageDescriptor, json: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(json).map_err(|error| {
        format!("the message is not JSON ({error}); for example '{}'", example::of(of))
    })
}

fn message(of: &MessageDescriptor, value: &Value) -> Result<DynamicMessage, String> {
    read(of, value).map_err(|reason| wrong(of, value, "", &reason))
}

fn read(of: &MessageDescriptor, value: &Value) -> Result<DynamicMessage, String> {
    DynamicMessage::deserialize(of.clone(), value).map_err(|error| error.to_string())
}

/// What is wrong with a value that is no message, at the place `within` all of it. The reader knows
/// the rules; which field broke one is found by giving it one field at a time.
fn wrong(of: &MessageDescriptor, value: &Value, within: &str, reason: &str) -> String {
    let at =
        |name: &str| if within.is_empty() { name.to_string() } else { format!("{within}.{name}") };
    let fields = value.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|_| !is_well_known(of)) {
        let Some(field) = field(of, name) else {
            let names: Vec<String> = of.fields().map(|field| field.name().to_string()).collect();
            return format!("{} has no field '{}'{}", of.full_name(), at(name), near(name, &names));
        };
        let alone = Value::Object([(name.clone(), value.clone())].into_iter().collect());
        let Err(reason) = read(of, &alone) else { continue };
        let values = match value {
            Value::Array(values) if field.is_list() => values.iter().collect(),
            value if field.is_map() || field.is_list() => {
                return takes(&field, &at(name), value, &reason);
            }
            value => vec![value],
        };
        if let Kind::Message(inner) = field.kind()
            && let Some((wrong_one, reason)) =
                values.into_iter().find_map(|one| Some((one, read(&inner, one).err()?)))
            && wrong_one.is_object()
        {
            return wrong(&inner, wrong_one, &at(name), &reason);
        }
        return takes(&field, &at(name), value, &reason);
    }
    let place = if within.is_empty() { "the message" } else { within };
    format!("{place} is no {} ({reason}); for example '{}'", of.full_name(), example::of(of))
}

/// What a field takes, where a value is none of that.
fn takes(field: &FieldDescriptor, place: &str, value: &Value, reason: &str) -> String {
    let value = value.to_string();
    let shown: String = value.chars().take(40).collect();
    let more = if shown.len() < value.len() { ".." } else { "" };
    format!(
        "field '{place}' takes {}, not {shown}{more} ({reason}); for example {{\"{}\":{}}}",
        accepted(field),
        field.name(),
        example::value(field, 1)
    )
}

/// What a field holds, with the names that it may have.
fn accepted(field: &FieldDescriptor) -> String {
    let Kind::Enum(of) = field.kind() else { return kind(field) };
    let names: Vec<String> = of.values().map(|value| value.name().to_string()).collect();
    format!("{} ({})", kind(field), names.join(", "))
}

/// A field by either of its names.
fn field(of: &MessageDescriptor, name: &str) -> Option<FieldDescriptor> {
    of.get_field_by_json_name(name).or_else(|| of.get_field_by_name(name))
}

/// Whether a message has a form of its own in JSON.
pub(crate) fn is_well_known(of: &MessageDescriptor) -> bool {
    of.full_name().starts_with("google.protobuf.")
}

/// What a field holds, in the words of a `.proto` file.
pub(crate) fn kind(field: &FieldDescriptor) -> String {
    if field.is_map()
        && let Kind::Message(entry) = field.kind()
    {
        let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
        return format!("map<{}, {}>", kind(&key), kind(&value));
    }
    let name = match field.kind() {
        Kind::Message(of) => of.full_name().to_string(),
        Kind::Enum(of) => of.full_name().to_string(),
        plain => format!("{plain:?}").to_lowercase(),
    };
    if field.is_list() { format!("repeated {name}") } else { name }
}
