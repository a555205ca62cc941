//! JSON as the fields that a message must have, by their numbers.

use crate::message::{is_well_known, read_as};
use model::field::{DEPTH_MAX, FIELDS_MAX, Field, FieldValue};
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _, Value,
};
use serde_json::Value as Json;

/// The fields that JSON names.
pub(crate) fn of(message: &MessageDescriptor, json: &[u8]) -> Result<Vec<Field>, String> {
    let (json, read) = read_as(message, json)?;
    let mut fields = Vec::new();
    collect(&read, Some(&json), (&[], ""), &mut fields)?;
    if fields.len() > FIELDS_MAX {
        return Err(format!("{} fields are asked for; {FIELDS_MAX} at most", fields.len()));
    }
    Ok(fields)
}

/// Adds the fields of a message that JSON names; where it has another form there, all of them.
fn collect(
    message: &DynamicMessage,
    json: Option<&Json>,
    (path, within): (&[u32], &str),
    fields: &mut Vec<Field>,
) -> Result<(), String> {
    let of = message.descriptor();
    let named = json.and_then(Json::as_object).filter(|_| !is_well_known(&of));
    for field in of.fields() {
        let written = match named {
            Some(named) => named.get(field.json_name()).or_else(|| named.get(field.name())),
            None => None,
        };
        if named.is_some() && written.is_none() {
            continue;
        }
        let name = match within {
            "" => field.name().to_string(),
            _ if named.is_some() => format!("{within}.{}", field.name()),
            _ => within.to_string(),
        };
        add(message, (&field, written), (path, &name), fields)?;
    }
    Ok(())
}

fn add(
    message: &DynamicMessage,
    (field, written): (&FieldDescriptor, Option<&Json>),
    (path, name): (&[u32], &str),
    fields: &mut Vec<Field>,
) -> Result<(), String> {
    if field.is_list() || field.is_map() {
        return Err(format!(
            "field '{name}' is a list or a map, which is not looked into; ask for others"
        ));
    }
    if written.is_some_and(Json::is_null) {
        return Err(format!("field '{name}' is null, which is no value to ask for; leave it out"));
    }
    let path = [path, &[field.number()]].concat();
    if path.len() > DEPTH_MAX {
        return Err(format!("field '{name}' lies too deep; {DEPTH_MAX} fields at most"));
    }
    let value = message.get_field(field);
    if let Value::Message(inner) = value.as_ref() {
        let before = fields.len();
        collect(inner, written, (&path, name), fields)?;
        if fields.len() == before {
            fields.push(Field { path, value: FieldValue::Message, is_default: false });
        }
        return Ok(());
    }
    let is_default = !field.supports_presence() && *value == field.default_value();
    fields.push(Field { path, value: encoded(&field.kind(), &value), is_default });
    Ok(())
}

/// A value as the wire has it.
fn encoded(kind: &Kind, value: &Value) -> FieldValue {
    use FieldValue::{Bytes, Fixed32, Fixed64, Varint};
    // Negative numbers have all 64 bits; those of sint lie between the others.
    let zigzag = |number: i64| (number << 1 ^ number >> 63) as u64;
    match (value, kind) {
        (Value::Bool(is), _) => Varint(u64::from(*is)),
        (Value::EnumNumber(number), _) => Varint(i64::from(*number) as u64),
        (Value::I32(number), Kind::Sfixed32) => Fixed32(*number as u32),
        (Value::I32(number), Kind::Sint32) => Varint(zigzag(i64::from(*number))),
        (Value::I32(number), _) => Varint(i64::from(*number) as u64),
        (Value::I64(number), Kind::Sfixed64) => Fixed64(*number as u64),
        (Value::I64(number), Kind::Sint64) => Varint(zigzag(*number)),
        (Value::I64(number), _) => Varint(*number as u64),
        (Value::U32(number), Kind::Fixed32) => Fixed32(*number),
        (Value::U32(number), _) => Varint(u64::from(*number)),
        (Value::U64(number), Kind::Fixed64) => Fixed64(*number),
        (Value::U64(number), _) => Varint(*number),
        (Value::F32(number), _) => Fixed32(number.to_bits()),
        (Value::F64(number), _) => Fixed64(number.to_bits()),
        (Value::String(text), _) => Bytes(text.clone().into_bytes()),
        (Value::Bytes(bytes), _) => Bytes(bytes.to_vec()),
        (Value::Message(_) | Value::List(_) | Value::Map(_), _) => FieldValue::Message,
    }
}
