//! Fields of messages: whatever pieces a message comes in, it is judged as by a reader that has all
//! of it.

use model::field::{Field, FieldValue};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::message::{Reading, Wanted};

/// A field of a message: numbers 1 and 2 are of any length, 3 and 4 of a fixed one, 5 is a text,
/// and 6 a message.
#[derive(Debug, Clone)]
enum Part {
    Plain(u32, FieldValue),
    Inside(Vec<Part>),
}

const INSIDE: u32 = 6;

fn plain() -> impl Strategy<Value = (u32, FieldValue)> {
    let number = prop_oneof![Just(0), Just(1), Just(300), Just(u64::MAX)];
    let text = prop::collection::vec(0u8..2, 0..3);
    (1u32..6, number, text).prop_map(|(field, number, text)| {
        let value = match field {
            3 => FieldValue::Fixed32(number as u32),
            4 => FieldValue::Fixed64(number),
            5 => FieldValue::Bytes(text),
            _ => FieldValue::Varint(number),
        };
        (field, value)
    })
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let leaf = plain().prop_map(|(number, value)| Part::Plain(number, value));
    let part = leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            2 => plain().prop_map(|(number, value)| Part::Plain(number, value)),
            1 => prop::collection::vec(inner, 0..5).prop_map(Part::Inside),
        ]
    });
    prop::collection::vec(part, 0..7)
}

/// A few fields, none of them twice.
fn wanted() -> impl Strategy<Value = Vec<Field>> {
    let field = (0usize..3, plain(), any::<bool>()).prop_map(|(depth, (number, value), is)| {
        let path = [vec![INSIDE; depth], vec![number]].concat();
        Field { path, value, is_default: is }
    });
    let message = (1usize..3).prop_map(|depth| Field {
        path: vec![INSIDE; depth],
        value: FieldValue::Message,
        is_default: false,
    });
    let all = prop::collection::vec(prop_oneof![3 => field, 1 => message], 1..4);
    all.prop_map(|fields| {
        let by_path = fields.into_iter().map(|field| (field.path.clone(), field));
        by_path.collect::<BTreeMap<_, _>>().into_values().collect()
    })
}

fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn encode(parts: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        let (number, kind) = match part {
            Part::Inside(_) => (INSIDE, 2),
            Part::Plain(number, FieldValue::Varint(_)) => (*number, 0),
            Part::Plain(number, FieldValue::Fixed64(_)) => (*number, 1),
            Part::Plain(number, FieldValue::Fixed32(_)) => (*number, 5),
            Part::Plain(number, _) => (*number, 2),
        };
        varint(u64::from(number << 3 | kind), &mut bytes);
        let text = match part {
            Part::Inside(parts) => encode(parts),
            Part::Plain(_, FieldValue::Bytes(text)) => text.clone(),
            Part::Plain(_, FieldValue::Varint(number)) => {
                varint(*number, &mut bytes);
                continue;
            }
            Part::Plain(_, FieldValue::Fixed32(number)) => {
                bytes.extend(number.to_le_bytes());
                continue;
            }
            Part::Plain(_, FieldValue::Fixed64(number)) => {
                bytes.extend(number.to_le_bytes());
                continue;
            }
            Part::Plain(_, FieldValue::Message) => unreachable!(),
        };
        varint(text.len() as u64, &mut bytes);
        bytes.extend(text);
    }
    bytes
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// The last value of each field.
fn values(parts: &[Part], within: &[u32], all: &mut BTreeMap<Vec<u32>, FieldValue>) {
    for part in parts {
        let path = |number: u32| [within, &[number]].concat();
        match part {
            Part::Plain(number, value) => {
                all.insert(path(*number), value.clone());
            }
            Part::Inside(parts) => {
                all.insert(path(INSIDE), FieldValue::Message);
                values(parts, &path(INSIDE), all);
            }
        }
    }
}

fn has(parts: &[Part], field: &Field) -> bool {
    let mut all = BTreeMap::new();
    values(parts, &[], &mut all);
    all.get(&field.path).map_or(field.is_default, |value| *value == field.value)
}

/// Whether all messages of a stream are right, given in pieces of a length.
fn holds(stream: &[u8], piece_max: usize, fields: &[Field]) -> bool {
    let (wanted, mut reading) = (Wanted::new(fields), Reading::default());
    stream.chunks(piece_max).for_each(|piece| reading.read(&wanted, piece));
    reading.holds()
}

proptest! {
    #[test]
    fn a_message_is_judged_as_a_whole(
        messages in prop::collection::vec(parts(), 0..3), fields in wanted(), piece_max in 1usize..9
    ) {
        let stream: Vec<u8> = messages.iter().flat_map(|parts| framed(&encode(parts))).collect();
        let right = messages.iter().all(|parts| fields.iter().all(|field| has(parts, field)));
        prop_assert_eq!(holds(&stream, piece_max, &fields), right);
        prop_assert_eq!(holds(&stream, stream.len().max(1), &fields), right, "at once");
    }

    /// What is no message is never right, and ends nothing.
    #[test]
    fn any_bytes_are_read(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        fields in wanted(),
        piece_max in 1usize..9,
    ) {
        let stream = framed(&bytes);
        prop_assert_eq!(
            holds(&stream, piece_max, &fields), holds(&stream, stream.len(), &fields)
        );
    }
}

#[test]
fn what_is_no_message_is_wrong() {
    let id = Field { path: vec![1], value: FieldValue::Varint(7), is_default: false };
    let deep = Field { path: vec![6, 1], ..id.clone() };
    let fields = [id, deep];
    let right = [8, 7, 0x32, 2, 8, 7];
    assert!(holds(&framed(&right), 1, &fields));
    let long = [8, 0x87, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x32, 2, 8, 7];
    assert!(holds(&framed(&long), 1, &fields), "a number may have more bytes than it needs");
    for (what, stream) in [
        ("cut short", framed(&right)[..10].to_vec()),
        ("a prefix alone", vec![0, 0, 0]),
        ("compressed", [&[1], &framed(&right)[1..]].concat()),
        ("a number that reaches beyond its message", framed(&[8, 7, 0x32, 2, 8, 0x87])),
        ("and into the next field", framed(&[8, 7, 0x32, 1, 8, 7])),
        ("a text that does", framed(&[8, 7, 0x32, 2, 0x2a, 9])),
        ("a kind that is not used any more", framed(&[8, 7, 0x32, 2, 8, 7, 0x0b])),
        ("a number without end", framed(&[&[8][..], &[0x87; 11], &right].concat())),
    ] {
        assert!(!holds(&stream, 1, &fields), "{what}");
        assert!(!holds(&stream, stream.len(), &fields), "{what}");
    }
    assert!(holds(&[], 1, &fields), "no message is wrong");
}
