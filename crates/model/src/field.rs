//! Fields that a message of gRPC must have, by their numbers: what a schema makes of the JSON that
//! a user wrote.
//!
//! In: numbers and values, as protobuf encodes them
//! (<https://protobuf.dev/programming-guides/encoding/>). Never: names, which the schema has.

use serde::{Deserialize, Serialize};

/// Most fields that are asked for.
pub const FIELDS_MAX: usize = 64;
/// Most messages inside each other that they lie in.
pub const DEPTH_MAX: usize = 8;

/// A field and the value that it must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its number, behind those of the fields that it lies in.
    pub path: Vec<u32>,
    /// The value.
    pub value: FieldValue,
    /// A message without the field has this value too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
}

/// A value as it is encoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldValue {
    /// A number in as many bytes as it needs.
    Varint(u64),
    /// Four bytes.
    Fixed32(u32),
    /// Eight bytes.
    Fixed64(u64),
    /// A text or bytes.
    Bytes(Vec<u8>),
    /// A message, whatever its fields are.
    Message,
}
