//! Values of JSON against those of another reader.

use super::*;
use proptest::prelude::*;
use serde_json::Value;

/// What a walk finds in a body that arrives in pieces.
fn found(body: &[u8], paths: &[Vec<Key>], cuts: &[usize]) -> Vec<Result<String, NoValue>> {
    let mut walk = Walk::new(paths.len(), 1 << 16);
    // What was looked at before must not matter.
    walk.read(paths, b"{\"a\":[{\"b\":");
    walk.restart();
    let mut from = 0;
    for cut in cuts.iter().map(|cut| cut % (body.len() + 1)).filter(|cut| *cut > 0) {
        if cut > from {
            walk.read(paths, &body[from..cut]);
            from = cut;
        }
    }
    walk.read(paths, &body[from..]);
    walk.end();
    (0..paths.len()).map(|path| walk.found(path).map(as_text)).collect()
}

/// A value in the form of [`expected`].
fn as_text(value: Json<'_>) -> String {
    let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
    match value {
        Json::Null => "null".into(),
        Json::Boolean(value) => value.to_string(),
        Json::Number(raw) => format!("{:?}", text(raw).parse::<f64>().unwrap()),
        Json::Text(letters) => format!("{:?}", text(letters)),
        Json::List(raw, count) | Json::Object(raw, count) => {
            let parsed: Value = serde_json::from_slice(raw).unwrap();
            format!("{parsed} of {count}")
        }
    }
}

/// The same as another reader has it.
fn expected(body: &Value, path: &[Key]) -> Result<String, NoValue> {
    let mut values = vec![body];
    for key in path {
        let below = |value: &&Value| match (key, *value) {
            (Key::Name(name), Value::Object(object)) => {
                object.get(name).cloned().into_iter().collect()
            }
            (Key::Nth(place), Value::Array(list)) => {
                list.get(*place as usize).cloned().into_iter().collect()
            }
            (Key::All, Value::Array(list)) => list.clone(),
            _ => Vec::new(),
        };
        let found: Vec<Value> = values.iter().flat_map(below).collect();
        values = found.leak().iter().collect();
    }
    if values.is_empty() {
        return Err(NoValue::Absent);
    }
    let all = Value::Array(values.iter().copied().cloned().collect());
    let value = if path.contains(&Key::All) { &all } else { values[0] };
    Ok(match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("{:?}", number.as_f64().unwrap()),
        Value::String(text) => format!("{text:?}"),
        Value::Array(list) => format!("{value} of {}", list.len()),
        Value::Object(object) => format!("{value} of {}", object.len()),
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a".to_string()), Just("b".into()), Just("ä\"\\\n".into()), "[a-c]{0,3}"]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        "[a\"\\\\{}\\[\\],: é\u{1F600}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn path() -> impl Strategy<Value = Vec<Key>> {
    prop::collection::vec(
        prop_oneof![name().prop_map(Key::Name), (0u32..4).prop_map(Key::Nth), Just(Key::All)],
        0..4,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever the body and however it is cut, each path has the value that another reader finds.
    #[test]
    fn values_are_those_of_another_reader(
        body in json(),
        paths in prop::collection::vec(path(), 1..5),
        is_pretty in any::<bool>(),
        mut cuts in prop::collection::vec(0usize..400, 0..8),
    ) {
        let text = match is_pretty {
            true => serde_json::to_string_pretty(&body).unwrap(),
            false => body.to_string(),
        };
        cuts.sort_unstable();
        let found = found(text.as_bytes(), &paths, &cuts);
        for (path, found) in paths.iter().zip(found) {
            prop_assert_eq!(found, expected(&body, path), "{:?} in {}", path, text);
        }
    }

    /// A text that another reader refuses is refused, and the other way round.
    #[test]
    fn no_json_is_no_json(text in "[\\[\\]{}\",:0-9a.eE+\\-truefalsn \\\\]{0,14}") {
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        let found = found(text.as_bytes(), &[vec![]], &[3, 7]);
        // What is between quotes is not examined further: escapes, and letters that are none.
        if !text.contains('\\') {
            prop_assert_eq!(found[0].is_ok(), is_json, "{:?} {:?}", text, found);
        }
    }

    /// Any bytes are survived.
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        found(&bytes, &[vec![], vec![Key::Name("a".into())]], &[10, 20]);
    }
}

#[test]
fn the_later_of_two_members_counts_and_long_values_are_said_to_be_long() {
    let path = [vec![Key::Name("a".into())]];
    let value = |body: &str| found(body.as_bytes(), &path, &[]).remove(0);
    assert_eq!(value("{\"a\":1,\"a\":2}"), Ok("2.0".to_string()));
    assert_eq!(value("{\"\\u0061\":1}"), Ok("1.0".to_string()));
    assert_eq!(value("{\"a\":1} x"), Err(NoValue::NotJson));
    assert_eq!(value("{\"a\":1"), Err(NoValue::NotJson));
    assert_eq!(value("{\"a\":01}"), Err(NoValue::NotJson));
    let long = format!("{{\"a\":\"{}\",\"{}\":1}}", "x".repeat(1 << 16), "a".repeat(300));
    assert_eq!(value(&long), Err(NoValue::TooLong));
    let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
    assert_eq!(value(&deep), Err(NoValue::NotJson));
}
